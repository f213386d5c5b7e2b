"""A GPU that is not there, for tests of what is done with one."""

from collections.abc import Callable
from typing import Any

import pytest

from jt_edu.cuda import compiler, device
from tests.floors.cuda.fake_driver import FakeLibrary


@pytest.fixture
def card(monkeypatch) -> Callable[..., Any]:
    """A function that brings a fake GPU, or several, and a compiler for it."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def brought(library: Any = None) -> Any:
        library = library or FakeLibrary()
        cards = device.Cards(library)
        monkeypatch.setattr(device, "cards", lambda: cards)
        monkeypatch.setattr(device._mine, "number", 0)
        monkeypatch.setattr(device, "_has_compiler", lambda: True)
        monkeypatch.setattr(compiler, "compiled", getattr(library, "compile", None))
        return library

    return brought
