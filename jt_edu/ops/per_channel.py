"""Per channel: how does a number for each channel stand beside (n, c, ...)?

out[n, c, y, x] = numbers[c]        one view: no reshape before it, and its gradient is one sum into (c,)
"""

from __future__ import annotations

from functools import lru_cache

from jt_edu.base.errors import ShapeError
from jt_edu.ir.index_expr import counter
from jt_edu.ir.meta_ops import Reindex, reindex
from jt_edu.ir.node import Node, Shape
from jt_edu.variable.var import Var


def per_channel(numbers: Var, shape: Shape) -> Var:
    """Numbers (c,) as a view of `shape` (n, c, ...): each is read wherever its channel is.

    Raises:
        ShapeError: other lengths than (c,).

    Example:
        >>> per_channel(array([1, 2]), (1, 2, 3)).numpy()
        array([[[1, 1, 1],
                [2, 2, 2]]])
    """
    if numbers.shape != shape[1:2]:
        raise ShapeError("there is one number for each channel", f"shape {numbers.shape} for {shape}")
    return Var._of(Node(_view(shape), (numbers.node,), shape, numbers.dtype))


@lru_cache(maxsize=1 << 12)
def _view(shape: Shape) -> Reindex:
    return reindex("broadcast", shape[1:2], shape, (counter(1),))
