"""SIMD math: how is a mathematical formula turned into machine instructions?

A function of this package is called in two ways. With NumPy scalars (backend `python`) NumPy answers. While numba
compiles a kernel, the same function is called once more, with a `Lane` for each argument: a number that is not known
yet. Arithmetic on Lanes writes LLVM instructions into the kernel, and no call, no branch, so that LLVM can run the loop
around it on 16 numbers at once (one number in each lane of a vector register; hence the name).

    kernel source          while compiling                  in the machine
    exp(a0[at(i0)])   ->   formula(Lane(float32))      ->   vmulps, vfmadd213ps, ...

The flag `contract` (a * b + c in one step) is set on every instruction and keeps numba from adding the flags of the
kernel: sums inside a formula are never reordered, so that tricks with rounding stay right.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partialmethod, wraps
from types import FunctionType
from typing import Any

import numpy as np
from llvmlite import ir
from numba import core
from numba import extending as numba_extending

from jt_edu.backends.mathlib import nvvm

types: Any = core.types
extending: Any = numba_extending
Number = Any  # a NumPy scalar while Python runs, a Lane while numba compiles

FLAGS = ("contract",)
SIGNED = {"udiv": "sdiv", "urem": "srem", "lshr": "ashr"}  # instructions that ask whether a number may be negative


class Lane:
    """One number of a kernel that is being written: its numba type, its LLVM value, and the place to write to."""

    __slots__ = ("builder", "type", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, builder: Any, kind: Any, value: Any) -> None:
        self.builder, self.type, self.value = builder, kind, value

    def const(self, number: Any) -> Lane:
        """The number as a constant of the same type."""
        return Lane(self.builder, self.type, ir.Constant(self.value.type, number))

    def like(self, other: Any) -> Lane:
        """A Lane as it is; a number as a constant of the same type."""
        return other if isinstance(other, Lane) else self.const(other)

    def _write(self, floating: str, whole: str, swap: bool, other: Any) -> Lane:
        a, b = self.value, self.like(other).value
        a, b = (b, a) if swap else (a, b)
        if isinstance(self.type, types.Float):
            if floating == "frem" and nvvm.on_gpu(self.builder):
                return Lane(self.builder, self.type, nvvm.written(self.builder, floating, a, b))
            return Lane(self.builder, self.type, getattr(self.builder, floating)(a, b, flags=FLAGS))
        whole = SIGNED.get(whole, whole) if self.signed else whole
        return Lane(self.builder, self.type, getattr(self.builder, whole)(a, b))

    def _compare(self, sign: str, other: Any) -> Lane:
        a, b = self.value, self.like(other).value
        if isinstance(self.type, types.Float):
            compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
            return Lane(self.builder, types.boolean, compare(sign, a, b, flags=FLAGS))
        compare = self.builder.icmp_signed if self.signed else self.builder.icmp_unsigned
        return Lane(self.builder, types.boolean, compare(sign, a, b))

    __add__ = __radd__ = partialmethod(_write, "fadd", "add", False)
    __sub__ = partialmethod(_write, "fsub", "sub", False)
    __rsub__ = partialmethod(_write, "fsub", "sub", True)
    __mul__ = __rmul__ = partialmethod(_write, "fmul", "mul", False)
    __truediv__ = partialmethod(_write, "fdiv", "udiv", False)  # of integers: towards zero, as in C
    __rtruediv__ = partialmethod(_write, "fdiv", "udiv", True)
    __mod__ = partialmethod(_write, "frem", "urem", False)  # C's fmod and %
    __and__ = partialmethod(_write, "", "and_", False)
    __or__ = partialmethod(_write, "", "or_", False)
    __xor__ = partialmethod(_write, "", "xor", False)
    __lshift__ = partialmethod(_write, "", "shl", False)
    __rshift__ = partialmethod(_write, "", "lshr", False)
    __lt__, __le__ = partialmethod(_compare, "<"), partialmethod(_compare, "<=")
    __gt__, __ge__ = partialmethod(_compare, ">"), partialmethod(_compare, ">=")
    __eq__, __ne__ = partialmethod(_compare, "=="), partialmethod(_compare, "!=")

    def __neg__(self) -> Lane:
        if isinstance(self.type, types.Float):
            if nvvm.on_gpu(self.builder):
                return self._write("fsub", "", True, -0.0)
            return Lane(self.builder, self.type, self.builder.fneg(self.value))
        return self._write("", "sub", True, 0)

    @property
    def signed(self) -> bool:
        """Whether an integer may be negative."""
        return isinstance(self.type, types.Integer) and self.type.signed

    @property
    def width(self) -> int:
        """How many bits the number has."""
        return 1 if self.type == types.boolean else int(self.type.bitwidth)

    def either(self, single: Any, double: Any) -> Any:
        """What a formula needs to know in 32 or in 64 bits."""
        return single if self.width == 32 else double

    def to(self, kind: Any) -> Lane:
        """The same number (if it fits) in another type."""
        if kind == self.type:
            return self
        target, b = llvm(kind), self.builder
        if isinstance(self.type, types.Float):
            if isinstance(kind, types.Float):
                write = b.fpext if kind.bitwidth > self.width else b.fptrunc
            else:
                write = b.fptosi if kind.signed else b.fptoui
        elif isinstance(kind, types.Float):
            write = b.sitofp if self.signed else b.uitofp
        elif target.width > self.width:
            write = b.sext if self.signed else b.zext
        else:
            write = b.trunc
        return Lane(b, kind, write(self.value, target) if target != self.value.type else self.value)

    def seen_as(self, kind: Any) -> Lane:
        """The same bits, read as another type of the same width."""
        same = llvm(kind) == self.value.type
        return Lane(self.builder, kind, self.value if same else self.builder.bitcast(self.value, llvm(kind)))

    def is_nan(self) -> Lane:
        """Whether the number is not equal to itself."""
        return self._compare("!=", self)

    def bits(self) -> Lane:
        """The bits of a float as a signed integer."""
        return self.seen_as(types.Integer.from_bitwidth(self.width, signed=True))

    def number(self) -> Lane:
        """Bits (32 or 64 of them) read as a float."""
        return self.seen_as(self.either(types.float32, types.float64))


def llvm(kind: Any) -> Any:
    """The LLVM type of a number in a register."""
    if isinstance(kind, types.Float):
        return {16: ir.HalfType(), 32: ir.FloatType(), 64: ir.DoubleType()}[kind.bitwidth]
    return ir.IntType(1 if kind == types.boolean else kind.bitwidth)


def where(condition: Lane, yes: Any, no: Any) -> Any:
    """`yes` where the condition holds, else `no`: both are computed, nothing is jumped over."""
    first = yes if isinstance(yes, Lane) else no
    yes, no = first.like(yes), first.like(no)
    return Lane(first.builder, first.type, first.builder.select(condition.value, yes.value, no.value))


def instruction(name: str, *args: Lane, flags: tuple[str, ...] = ()) -> Lane:
    """An LLVM intrinsic, such as `llvm.maximum`, that gives a number of its arguments' type."""
    kind, builder, values = args[0].value.type, args[0].builder, [a.value for a in args]
    if isinstance(args[0].type, types.Float) and nvvm.on_gpu(builder):
        value = nvvm.written(builder, name, *values)
        if value is not None:
            return Lane(builder, args[0].type, value)
    call = builder.module.declare_intrinsic(name, [kind], ir.FunctionType(kind, [kind] * len(args)))
    return Lane(builder, args[0].type, builder.call(call, values, fastmath=flags))


def alone(x: Lane, y: Lane) -> Lane:
    """The product of two floats, rounded by itself: no sum takes it in."""
    on_gpu = nvvm.on_gpu(x.builder)  # where all products are contracted, whatever their flags say
    values = x.value, y.value
    product = nvvm.written(x.builder, "alone", *values) if on_gpu else x.builder.fmul(*values, flags=("arcp",))
    return Lane(x.builder, x.type, product)


def entry(name: str, words: Sequence[int], index: Lane) -> Lane:
    """One of many 64-bit words, which the kernel brings along under a name."""
    builder, kind = index.builder, ir.ArrayType(ir.IntType(64), len(words))
    table = builder.module.globals.get(name)
    if table is None:
        table = ir.GlobalVariable(builder.module, kind, name)
        table.linkage, table.global_constant, table.initializer = "weak_odr", True, kind(words)
    place = builder.gep(table, [ir.IntType(64)(0), index.value], inbounds=True)
    return Lane(builder, types.uint64, builder.load(place))


def series(x: Any, coefficients: Any) -> Any:
    """c0 + c1 x + c2 x^2 + ..., from the last term to the first (Horner)."""
    *lower, total = coefficients
    for c in reversed(lower):
        total = x * total + c
    return total


Rule = Callable[..., Any]  # from the types of the arguments to the type of the result; None refuses them


def kind_of(kind: Any) -> str:
    """b(ool), i(nteger), u(nsigned), f(loat) or c(omplex)."""
    if isinstance(kind, types.Integer):
        return "i" if kind.signed else "u"
    letters = {types.Boolean: "b", types.Float: "f", types.Complex: "c"}
    return next((letter for group, letter in letters.items() if isinstance(kind, group)), "?")


def alike(kinds: str, result: Any = None) -> Rule:
    """All arguments have one type, of these kinds; the result has the same, unless it is stated."""

    def rule(*args: Any) -> Any:
        first, *others = (types.unliteral(a) for a in args)
        if kind_of(first) not in kinds or any(o != first for o in others):
            return None
        return result(first) if isinstance(result, FunctionType) else result or first

    return rule


def kernel_function(
    python: Callable[..., Any], rule: Rule, compiled: dict[str, Callable[..., Any]] | None = None
) -> Callable[..., Any]:
    """Make a formula callable from Python (`python` answers) and from a kernel (the formula writes instructions).

    Complex numbers are computed by their parts, where `complex_parts` knows a formula. Else they are left to numba,
    which compiles `python`; where `compiled` names a function for a kind of arguments, numba compiles that.
    """
    others = {"c": python if isinstance(python, FunctionType) else _calling(python)} | (compiled or {})

    def bind(formula: Callable[..., Any]) -> Callable[..., Any]:
        function: Any

        @wraps(formula)  # type: ignore[no-redef]
        def function(*args: Any) -> Any:
            if any(isinstance(a, Lane) for a in args):
                return formula(*args)
            by_parts = function.of_complex and np.iscomplexobj(args[0])
            return function.of_complex(*args) if by_parts else python(*args)

        def typer(*args: Any) -> Any:
            return rule(*args)

        def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds = [types.unliteral(kind) for kind in signature.args]
            if kind_of(kinds[0]) == "c" and function.of_complex:
                return function.of_complex(*args, builder=builder, kinds=(*kinds, signature.return_type))
            if kind_of(kinds[0]) in others:
                return context.compile_internal(builder, others[kind_of(kinds[0])], signature, args)
            return formula(*(Lane(builder, k, v) for k, v in zip(kinds, args, strict=True))).value

        function.of_complex = None
        typer.__signature__ = inspect.signature(formula)  # type: ignore[attr-defined]
        return in_kernels(function, typer, lower)  # type: ignore[no-any-return]

    return bind


def in_kernels(function: Any, rule: Rule, lower: Callable[..., Any]) -> Any:
    """Have kernels call a function: `rule` tells the type of its result, `lower` writes its instructions."""
    extending.type_callable(function)(lambda context: rule)
    extending.lower_builtin(function, types.VarArg(types.Any))(lower)
    function.rule, function.lower = rule, lower  # for `text_to_llvm`
    return function


def _calling(ufunc: Any) -> Callable[..., Any]:
    """A plain function, which numba can compile, around a function of NumPy."""

    def one(a: Any) -> Any:
        return ufunc(a)

    def two(a: Any, b: Any) -> Any:
        return ufunc(a, b)

    return two if getattr(ufunc, "nin", 1) == 2 else one
