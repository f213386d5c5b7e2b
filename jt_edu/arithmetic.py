"""Arithmetic: what Python's operators mean for Vars. Each builds one node of the table in functions.py.

`x += y` moves the handle x to the sum (`assign`); the old value stays what it was, for whoever still reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from jt_edu import functions as f
from jt_edu.dtypes import DType
from jt_edu.errors import DtypeError
from jt_edu.meta import Elementwise

if TYPE_CHECKING:
    from jt_edu.var import Var


class Arithmetic:
    """The operators of a Var; `apply`, `assign` and `beside` are the Var's own."""

    __slots__ = ()

    if TYPE_CHECKING:  # what the Var brings along

        @property
        def dtype(self) -> DType:
            """Kind of number."""

        def apply(self, op: Elementwise, *others: Any) -> Var:
            """`op` at each index."""

        def assign(self, value: Any) -> Var:
            """Point this handle to another value."""

        def beside(self, value: Any) -> Var:
            """A number or an array as a Var that stands beside this one."""

    def __add__(self, other: Any) -> Var:
        return self.apply(f.ADD, other)

    def __sub__(self, other: Any) -> Var:
        return self.apply(f.SUBTRACT, other)

    def __mul__(self, other: Any) -> Var:
        return self.apply(f.MULTIPLY, other)

    def __truediv__(self, other: Any) -> Var:
        return self.apply(f.DIVIDE, other)

    def __floordiv__(self, other: Any) -> Var:
        return self.apply(f.FLOOR_DIVIDE, other)

    def __mod__(self, other: Any) -> Var:
        return self.apply(f.REMAINDER, other)

    def __and__(self, other: Any) -> Var:
        return self.apply(f.BITWISE_AND, other)

    def __or__(self, other: Any) -> Var:
        return self.apply(f.BITWISE_OR, other)

    def __xor__(self, other: Any) -> Var:
        return self.apply(f.BITWISE_XOR, other)

    def __lshift__(self, other: Any) -> Var:
        return self.apply(f.LEFT_SHIFT, other)

    def __rshift__(self, other: Any) -> Var:
        return self.apply(f.RIGHT_SHIFT, other)

    def __radd__(self, other: Any) -> Var:
        return self.beside(other).apply(f.ADD, self)

    def __rsub__(self, other: Any) -> Var:
        return self.beside(other).apply(f.SUBTRACT, self)

    def __rmul__(self, other: Any) -> Var:
        return self.beside(other).apply(f.MULTIPLY, self)

    def __rtruediv__(self, other: Any) -> Var:
        return self.beside(other).apply(f.DIVIDE, self)

    def __rfloordiv__(self, other: Any) -> Var:
        return self.beside(other).apply(f.FLOOR_DIVIDE, self)

    def __rmod__(self, other: Any) -> Var:
        return self.beside(other).apply(f.REMAINDER, self)

    def __rand__(self, other: Any) -> Var:
        return self.beside(other).apply(f.BITWISE_AND, self)

    def __ror__(self, other: Any) -> Var:
        return self.beside(other).apply(f.BITWISE_OR, self)

    def __rxor__(self, other: Any) -> Var:
        return self.beside(other).apply(f.BITWISE_XOR, self)

    def __rlshift__(self, other: Any) -> Var:
        return self.beside(other).apply(f.LEFT_SHIFT, self)

    def __rrshift__(self, other: Any) -> Var:
        return self.beside(other).apply(f.RIGHT_SHIFT, self)

    def __iadd__(self, other: Any) -> Var:
        return self.assign(self.apply(f.ADD, other))

    def __isub__(self, other: Any) -> Var:
        return self.assign(self.apply(f.SUBTRACT, other))

    def __imul__(self, other: Any) -> Var:
        return self.assign(self.apply(f.MULTIPLY, other))

    def __itruediv__(self, other: Any) -> Var:
        return self.assign(self.apply(f.DIVIDE, other))

    def __ifloordiv__(self, other: Any) -> Var:
        return self.assign(self.apply(f.FLOOR_DIVIDE, other))

    def __imod__(self, other: Any) -> Var:
        return self.assign(self.apply(f.REMAINDER, other))

    def __iand__(self, other: Any) -> Var:
        return self.assign(self.apply(f.BITWISE_AND, other))

    def __ior__(self, other: Any) -> Var:
        return self.assign(self.apply(f.BITWISE_OR, other))

    def __ixor__(self, other: Any) -> Var:
        return self.assign(self.apply(f.BITWISE_XOR, other))

    def __ilshift__(self, other: Any) -> Var:
        return self.assign(self.apply(f.LEFT_SHIFT, other))

    def __irshift__(self, other: Any) -> Var:
        return self.assign(self.apply(f.RIGHT_SHIFT, other))

    def __eq__(self, other: object) -> Var:  # type: ignore[override]
        return self.apply(f.EQUAL, other)

    def __ne__(self, other: object) -> Var:  # type: ignore[override]
        return self.apply(f.NOT_EQUAL, other)

    def __lt__(self, other: Any) -> Var:
        return self.apply(f.LESS, other)

    def __le__(self, other: Any) -> Var:
        return self.apply(f.LESS_EQUAL, other)

    def __gt__(self, other: Any) -> Var:
        return self.apply(f.GREATER, other)

    def __ge__(self, other: Any) -> Var:
        return self.apply(f.GREATER_EQUAL, other)

    def __neg__(self) -> Var:
        return self.apply(f.NEGATIVE)

    def __abs__(self) -> Var:
        return self.apply(f.ABSOLUTE)

    def __invert__(self) -> Var:
        return self.apply(f.INVERT)

    def __pow__(self, other: Any) -> Var:
        if type(other) in (int, float) and self.dtype.is_float:
            if other == 2:
                return self * self
            if other == 1:
                return self.apply(f.MULTIPLY, 1)
            if other == 0.5:
                return self.apply(f.SQRT)
        if isinstance(other, int) and other < 0 and not self.dtype.is_float:
            raise DtypeError(
                "a whole number to a negative power is a fraction", f"{self.dtype} ** {other}", "x.float() ** k"
            )
        return self.apply(f.POWER, other)

    def __rpow__(self, other: Any) -> Var:
        return self.beside(other).apply(f.POWER, self)

    def __divmod__(self, other: Any) -> tuple[Var, Var]:
        return self // other, self % other

    def __round__(self, digits: int = 0) -> Var:
        scale = 10.0**digits
        return self.apply(f.ROUND) if digits == 0 else (self * scale).apply(f.ROUND) / scale

    def __pos__(self) -> Self:
        return self

    __hash__ = object.__hash__
