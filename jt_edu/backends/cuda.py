"""Cuda: with how many bits does a GPU multiply matrices of float32? As `torch.backends.cuda` has it.

    jt.set_float32_matmul_precision("high")        or jt.backends.cuda.matmul.allow_tf32 = True

    "highest"    float32, 23 bits behind the first one: what is done unless somebody asks for less
    "high"       TF32: numbers are rounded to 10 bits, and tensor cores multiply them
    "medium"     bfloat16: rounded to 7 bits

Sums are float32 in each. Halves are multiplied by tensor cores without being asked, since nothing is lost. A CPU
multiplies with all bits, and so does a GPU before 8.0, which has no tensor cores for these. Convolutions have a setting
of their own: `jt.backends.conv.allow_tf32`. Like those, this one belongs to the rank that sets it.
"""

from __future__ import annotations

from typing import Any

from jt_edu.backends.convolve.options import options, set_options
from jt_edu.base.did_you_mean import suggest
from jt_edu.base.errors import ArgumentError

__all__ = ["get_float32_matmul_precision", "matmul", "set_float32_matmul_precision"]

PRECISIONS = ("highest", "high", "medium")


def set_float32_matmul_precision(precision: str) -> None:
    """Say with how many bits a GPU multiplies matrices of float32.

    Args:
        precision: "highest" for float32, "high" for TF32, "medium" for bfloat16.

    Raises:
        ArgumentError: it is another word.

    Example:
        >>> jt.set_float32_matmul_precision("high")
        >>> jt.backends.cuda.matmul.allow_tf32
        True
        >>> jt.set_float32_matmul_precision("highest")

    Source: PyTorch's documentation, `torch.set_float32_matmul_precision`.
    """
    if precision not in PRECISIONS:
        raise ArgumentError(f"a precision is one of {', '.join(PRECISIONS)}", repr(precision), '"high"')
    set_options(options()._replace(matmul_precision=precision))


def get_float32_matmul_precision() -> str:
    """With how many bits a GPU multiplies matrices of float32: "highest", "high" or "medium".

    Example:
        >>> jt.get_float32_matmul_precision()
        'highest'
    """
    return options().matmul_precision


class Matmul:
    """The settings of products of matrices."""

    __slots__ = ()

    @property
    def allow_tf32(self) -> bool:
        """Whether float32 may be rounded before it is multiplied; True sets the precision "high"."""
        return options().matmul_precision != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value: Any) -> None:
        if value not in (0, 1):
            raise ArgumentError("jt.backends.cuda.matmul.allow_tf32 is True or False", repr(value), "True")
        set_float32_matmul_precision("high" if value else "highest")

    def __repr__(self) -> str:
        return f"jt.backends.cuda.matmul: allow_tf32={self.allow_tf32}"


suggest(Matmul, "jt.backends.cuda.matmul", "jt.backends.cuda.matmul")
matmul = Matmul()
