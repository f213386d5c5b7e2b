"""Math: the module math for a kernel. Of a float32 it makes a float32, as a GPU does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class Math:
    """Stands in the place of the name `math` in a kernel.

    Example:
        >>> from jt_edu.cuda.math32 import Math
        >>> type(Math().sqrt(np.float32(2))).__name__, type(Math().sqrt(2.0)).__name__
        ('float32', 'float')
    """

    def __getattr__(self, name: str) -> Any:
        function = getattr(math, name)
        if not callable(function):
            return function

        def call(*given: Any) -> Any:
            floats = [g for g in given if isinstance(g, (float, np.floating))]
            narrow = floats and all(isinstance(g, np.float32) for g in floats)
            plain = [float(g) if isinstance(g, np.floating) else g for g in given]
            try:
                found = function(*plain)
            except (ValueError, OverflowError):  # on a GPU a logarithm of 0 is -inf, and no error
                if not hasattr(np, name):
                    raise
                found = float(getattr(np, name)(*plain))
            return np.float32(found) if narrow and isinstance(found, float) else found

        return call
