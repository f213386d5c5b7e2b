"""The fake GPU of tests/floors/cuda, on which graphs are computed."""

import pytest

from jt_edu import backends
from tests.floors.cuda.conftest import card

__all__ = ["card", "gpu"]


@pytest.fixture
def gpu(card, monkeypatch):
    monkeypatch.delitem(backends._loaded, "cuda", raising=False)
    yield card()
    backends._loaded.pop("cuda", None)
