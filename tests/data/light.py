"""Light: what tests of transforms share."""

import pytest

import jt_edu as jt

LEVEL = 1 / 255  # of light: what two pixels that are neighbours in brightness differ by


@pytest.fixture(autouse=True)
def python_backend():
    """Nothing is compiled in a file that imports this."""
    with jt.flag_scope(backend="python"):
        yield
