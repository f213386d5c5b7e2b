"""einops: rearrange, reduce and repeat axes that have names, by the library einops; here it learns what a Var is.

    from jt_edu.einops import rearrange

    rearrange(images, "b c (h p) (w q) -> (b h w) (p q c)", p=4, q=4)      patches, as rows

The library is installed apart: pip install einops.
"""

from __future__ import annotations

from typing import Any

from einops import EinopsError, asnumpy, einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
from einops._backends import AbstractBackend

from jt_edu.ops.concat import concat, stack
from jt_edu.ops.create import arange
from jt_edu.ops.einsum import einsum as contract
from jt_edu.ops.repeat import tile
from jt_edu.variable.var import Var, array

__all__ = ["EinopsError", "asnumpy", "einsum", "pack", "parse_shape", "rearrange", "reduce", "repeat", "unpack"]


class Backend(AbstractBackend):
    """What the library asks of a framework. It finds this class by itself."""

    framework_name = "jt_edu"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, Var)

    def from_numpy(self, x: Any) -> Var:
        return array(x)

    def to_numpy(self, x: Var) -> Any:
        return x.numpy()

    def arange(self, start: int, stop: int) -> Var:
        return arange(start, stop)

    def stack_on_zeroth_dimension(self, tensors: list[Var]) -> Var:
        return stack(tensors)

    def tile(self, x: Var, repeats: Any) -> Var:
        return tile(x, repeats)

    def concat(self, tensors: list[Var], axis: int) -> Var:
        return concat(tensors, axis)

    def add_axis(self, x: Var, new_position: int) -> Var:
        return x.unsqueeze(new_position)

    def is_float_type(self, x: Var) -> bool:
        return x.dtype.is_float

    def einsum(self, pattern: str, *x: Var) -> Var:
        return contract(pattern, *x)
