"""A GPU that is not there, for tests of what is done with one."""

from collections.abc import Callable
from typing import Any

import pytest

import jt_edu as jt
from jt_edu import backends
from jt_edu.cuda import compiler, device
from tests.floors.cuda.fake_driver import FakeLibrary


@pytest.fixture
def card(monkeypatch) -> Callable[..., Any]:
    """A function that brings a fake GPU, or several, and a compiler for it."""
    device.cards()  # those that are there, before the environment shows others
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


@pytest.fixture
def gpu(card, monkeypatch) -> Any:
    """A fake GPU, on which graphs are computed where use_cuda is 1."""
    library = card()
    monkeypatch.delitem(backends._loaded, "cuda", raising=False)
    yield library
    jt.flags.use_cuda = 0
    backends._loaded.pop("cuda", None)
