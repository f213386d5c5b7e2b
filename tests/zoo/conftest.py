"""A small training: digits, of which there are few."""

import numpy as np
import pytest

from jt_edu.data import Subset
from jt_edu.zoo.training import run, source


@pytest.fixture
def few(monkeypatch):
    """64 digits to train with, and 40 others to measure with."""
    whole = source.named("digits")
    train, held_out = (Subset(part, np.arange(n)) for part, n in ((whole.train, 64), (whole.held_out, 40)))
    small = source.Source(train, held_out, whole.classes, 1, 8, whole.mean, whole.std)
    monkeypatch.setattr(run, "named", lambda *_: small)
    return small
