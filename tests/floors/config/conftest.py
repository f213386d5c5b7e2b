"""yacs, for a second opinion."""

import pytest


@pytest.fixture(scope="session")
def yacs():
    """The module yacs.config."""
    return pytest.importorskip("yacs.config", reason="yacs is not installed")
