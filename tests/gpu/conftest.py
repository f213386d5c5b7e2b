"""The fake GPU of tests/floors/cuda, on which graphs are computed."""

from tests.floors.cuda.conftest import card, gpu

__all__ = ["card", "gpu"]
