"""Complex numbers: their parts, and how to put them together. The gradient of z is the conjugate one, as in PyTorch.

z.real * 2    z.real()    real(z)    z.real = x        the same part, as an attribute, a method and a function
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from jt_edu.base.dtypes import float_of
from jt_edu.base.errors import DtypeError, ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ops.arguments import beside, function, yes_or_no
from jt_edu.ops.create import index
from jt_edu.ops.trigonometry import COS, SIN
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var, as_var, method

__all__ = ["abs", "absolute", "angle", "arg", "complex", "conj", "conj_physical", "conjugate", "imag", "polar", "real",
           "view_as_complex", "view_as_real"]  # fmt: skip
_function = partial(function, __name__)

real = _function(f.REAL, "Real part.", "real(array(1 + 2j)).item()", "1.0")
imag = _function(f.IMAG, "Imaginary part; 0 of a real number.", "imag(array(1 + 2j)).item()", "2.0")
absolute = _function(f.ABSOLUTE, "Magnitude.", "absolute(array(3 + 4j)).item()", "5.0", "abs")
abs = absolute


class Part(Var):
    """The real or imaginary part: a Var that returns itself when it is called, so that `z.real()` is `z.real`.

    Example:
        >>> z = array([1 + 2j, 3 - 4j])
        >>> (z.real * 2).tolist(), z.imag().tolist()
        ([2.0, 6.0], [2.0, -4.0])
        >>> z.imag = 0; z.tolist()
        [(1+0j), (3+0j)]
    """

    __slots__ = ()

    def __call__(self) -> Var:
        """The part itself."""
        return self


def _part(k: int) -> property:
    """Part k of complex numbers as an attribute of Vars; what is assigned to it joins the other part."""

    def put(z: Var, value: Any) -> None:
        parts = [z.apply(f.REAL), z.apply(f.IMAG)]
        parts[k] = parts[k].beside(value).stretched(z.shape)
        if k and z.dtype.kind != "c":
            raise DtypeError(f"a Var of {z.dtype} has no imaginary part", "one to assign", "jt.complex(x, y)")
        z.become(complex(*parts) if z.dtype.kind == "c" else parts[0])

    op = (f.REAL, f.IMAG)[k]
    return property(lambda z: Part._of(z.apply(op).node), put, doc=f"The {op.name} part of each number.")


Var.real, Var.imag = _part(0), _part(1)  # type: ignore[attr-defined]


def conj(x: Any) -> Var:
    """The complex conjugate: the imaginary part changes sign. A real number stays the same.

    Example:
        >>> conj(array(1 + 2j)).item()
        (1-2j)
    """
    return as_var(x).conj()


conjugate = conj_physical = conj
method(conj, "conjugate")
method(conj, "conj_physical")


@method
def angle(x: Any, deg: bool = False) -> Var:
    """The angle of a complex number, from -pi to pi, or in degrees; of a real one 0 or pi.

    Example:
        >>> angle(array(2j), deg=True).item()
        90.0
    """
    turn = as_var(x).apply(f.ANGLE)
    return turn * (180 / math.pi) if yes_or_no("angle", "deg", deg) else turn


arg = angle
method(angle, "arg")


def complex(real: Any, imag: Any) -> Var:
    """The complex number with these two parts: complex64 from float32, complex128 from float64 and whole numbers.

    Raises:
        DtypeError: a part is complex itself.

    Example:
        >>> complex(array(1.0), array(-2.0)).item()
        (1-2j)
    """
    return beside(real, imag).apply(f.COMPLEX, imag)


@castable
def polar(abs: Any, angle: Any) -> Var:
    """The complex number of this magnitude and angle: abs * (cos(angle) + 1j * sin(angle)).

    Example:
        >>> polar(array(2.0), array(0.0)).item()
        (2+0j)
    """
    size = beside(abs, angle)
    turn = size.beside(angle)
    if size.dtype.kind == "c" or turn.dtype.kind == "c":
        raise DtypeError("polar needs real numbers", f"dtypes {size.dtype} and {turn.dtype}", "abs(z) and angle(z)")
    turn = turn.cast(float_of(turn.dtype))
    return (size * turn.apply(COS)).apply(f.COMPLEX, size * turn.apply(SIN))


@method
def view_as_real(x: Any) -> Var:
    """Complex numbers as pairs of real ones, on a new last axis: (...) -> (..., 2).

    Raises:
        DtypeError: x is real already.

    Example:
        >>> view_as_real(array([1 + 2j])).numpy()
        array([[1., 2.]], dtype=float32)
    """
    v = as_var(x)
    if v.dtype.kind != "c":
        raise DtypeError("view_as_real splits complex numbers", f"dtype {v.dtype}", "x itself")
    part = index((2,), 0)  # 0, 1
    pairs = v.reshape((*v.shape, 1))
    return pairs.apply(f.IMAG).where_not(part == 0, pairs.apply(f.REAL))


@method
@castable
def view_as_complex(x: Any) -> Var:
    """Pairs of real numbers on the last axis as complex ones: (..., 2) -> (...).

    Raises:
        ShapeError: the last axis does not have length 2.

    Example:
        >>> view_as_complex(array([[1.0, 2.0]])).numpy()
        array([1.+2.j], dtype=complex64)
    """
    v = as_var(x)
    if v.ndim == 0 or v.shape[-1] != 2:
        raise ShapeError("view_as_complex takes pairs, on a last axis of length 2", f"shape {v.shape}")
    return complex(v[..., 0], v[..., 1])
