"""A GPU that is not there, for tests of what is done with one."""

from collections.abc import Callable

import pytest

from jt_edu.cuda import compiler, device
from tests.floors.cuda.fake_driver import FakeLibrary


@pytest.fixture
def card(monkeypatch) -> Callable[..., FakeLibrary]:
    """A function that brings a fake GPU, or several, and a compiler for it."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def brought(library: FakeLibrary | None = None) -> FakeLibrary:
        library = library or FakeLibrary()
        cards = device.Cards(library)
        monkeypatch.setattr(device, "cards", lambda: cards)
        monkeypatch.setattr(device._mine, "number", 0)
        monkeypatch.setattr(device, "_has_compiler", lambda: True)
        monkeypatch.setattr(compiler, "compiled", library.compile)
        return library

    return brought
