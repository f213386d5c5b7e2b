"""Complex lanes: how does a kernel compute with many complex numbers at once?

    z    ... | re re re re | im im im im | ...        LANES complex numbers: their real parts, then their imaginary ones

Each lane is a row of its own, so all lanes do the same and none waits for another. `read` and `write` bring complex
numbers from an array into this order and back, and `butterfly` is the Fourier transform of a few numbers in each lane.

A function is written once, and called in two ways. In Python its arguments are arrays and numbers. While a kernel is
compiled it is called with a `Handle` and a `Lane` in their places, and the `Complex` numbers that it gets and puts
write an instruction for each operator. So loops over a constant, and tests of it, are over when the kernel runs.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from jt_edu.backends.convolve import llvm
from jt_edu.backends.convolve.llvm import INT, SHORT, lanes, types, vector_of, written
from jt_edu.backends.mathlib.simd_math import Lane

FAST = ("reassoc", "contract")  # what `numba_pipeline` allows the rest of a kernel
LINE = 64  # bytes of a line of the cache
RADICES = (2, 3, 4, 5, 7, 8, 11, 13)
Body = Callable[..., None]


class Handle:
    """An array while a kernel is compiled. Its numbers are counted as floats: a complex one is two."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        number = getattr(kind.dtype, "underlying_float", kind.dtype)
        self.vector = vector_of(ir.FloatType() if number.bitwidth == 32 else ir.DoubleType())
        data = context.make_array(kind)(context, builder, value).data
        self.builder, self.data = builder, builder.bitcast(data, self.vector.element.as_pointer())

    def load(self, i: Lane, mask: Any = None) -> Any:
        """LANES numbers from i on, or those of a mask."""
        place = self.builder.gep(self.data, [i.value])
        if mask:
            return llvm.load_some(self.builder, place, self.vector, mask)
        return llvm.load(self.builder, place, self.vector)

    def store(self, i: Lane, value: Any, mask: Any = None) -> None:
        """Write them."""
        place = self.builder.gep(self.data, [i.value])
        if mask:
            llvm.store_some(self.builder, value, place, mask)
        else:
            llvm.store(self.builder, value, place)

    def spread(self, i: Lane) -> Any:
        """Number i in every lane, of an array that nobody writes to."""
        number = self.builder.load(self.builder.gep(self.data, [i.value]))
        number.set_metadata("invariant.load", self.builder.module.add_metadata([]))
        return llvm.spread(self.builder, number, self.vector)


class Complex:
    """LANES complex numbers while a kernel is compiled."""

    def __init__(self, builder: Any, re: Any, im: Any) -> None:
        self.builder, self.re, self.im = builder, re, im

    def __add__(self, other: Complex) -> Complex:
        return self._both("fadd", other)

    def __sub__(self, other: Complex) -> Complex:
        return self._both("fsub", other)

    def __mul__(self, w: Any) -> Complex:
        """By other lanes, or by a constant: 1, -i and real numbers spare work."""
        b, kind = self.builder, self.re.type
        if isinstance(w, Complex):
            p, q, r, s = (b.fmul(x, y, flags=FAST) for x in (self.re, self.im) for y in (w.re, w.im))
            return Complex(b, b.fsub(p, s, flags=FAST), b.fadd(q, r, flags=FAST))
        if w in (1, -1j):
            return self if w == 1 else Complex(b, self.im, b.fneg(self.re))
        re, im = (ir.Constant(kind, [part] * kind.count) for part in (w.real, w.imag))
        return self._both("fmul", Complex(b, re, re)) if w.imag == 0 else self * Complex(b, re, im)

    def _both(self, instruction: str, other: Complex) -> Complex:
        write = getattr(self.builder, instruction)
        return Complex(self.builder, write(self.re, other.re, flags=FAST), write(self.im, other.im, flags=FAST))


def in_kernels(body: Body) -> Body:
    """Let kernels call a function that returns nothing: it is called while they are compiled."""

    def given(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        if isinstance(kind, types.Array):
            return Handle(context, builder, kind, value)
        number = kind if isinstance(kind, types.Float) else types.int64
        return Lane(builder, number, context.cast(builder, value, kind, number))

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        body(*(given(context, builder, k, value) for k, value in zip(signature.args, args, strict=True)))
        return context.get_dummy_value()

    return written(llvm.nothing, lower)(body)


def get(z: Any, i: Any, apart: int = 0) -> Any:
    """The lanes at i; their imaginary parts come LANES, or `apart`, numbers behind the real ones."""
    if isinstance(z, Handle):
        return Complex(z.builder, z.load(i), z.load(i + (apart or z.vector.count)))
    n = lanes(z)
    return z[i : i + n] + 1j * z[i + (apart or n) :][:n]


def put(z: Any, i: Any, a: Any) -> None:
    """Write lanes to i."""
    if isinstance(z, Handle):
        z.store(i, a.re)
        z.store(i + z.vector.count, a.im)
    else:
        z[i:][: len(a)], z[i + len(a) :][: len(a)] = a.real, a.imag


def twiddle(table: Any, i: Any) -> Any:
    """One complex number of a table, in every lane."""
    if isinstance(table, Handle):
        return Complex(table.builder, table.spread(i), table.spread(i + 1))
    return table[i] + 1j * table[i + 1]


def transform(a: Sequence[Any]) -> list[Any]:
    """The Fourier transform of a few numbers, as Cooley and Tukey say: even ones, odd ones, and then both.

        y[k] = sum over j of  a[j] * exp(-2 pi i j k / n)

    Of an odd count, two that face each other have the same cosine and opposite sines: half as many products.
    """
    n, half = len(a), range(1, (len(a) + 1) // 2)
    if n == 1:
        return [*a]
    if n % 2 == 0:
        even, odd = transform(a[::2]), [x * root(k, n) for k, x in enumerate(transform(a[1::2]))]
        pairs = list(zip(even, odd, strict=True))
        return [x + y for x, y in pairs] + [x - y for x, y in pairs]
    sums, differences = [a[j] + a[n - j] for j in half], [a[j] - a[n - j] for j in half]
    y = [_added([a[0], *sums])] * n
    for k in half:
        powers = [root(j * k, n) for j in half]
        even = _added([a[0], *(x * w.real for x, w in zip(sums, powers, strict=True))])
        odd = _added([x * -w.imag for x, w in zip(differences, powers, strict=True)]) * -1j
        y[k], y[n - k] = even + odd, even - odd
    return y


def _added(numbers: Sequence[Any]) -> Any:
    total = numbers[0]
    for x in numbers[1:]:
        total = total + x
    return total


def root(k: int, n: int) -> complex:
    """exp(-2 pi i k / n); quarters of a turn are exact."""
    quarter, rest = divmod(4 * k, n)
    return (-1j) ** (quarter % 4) if rest == 0 else cmath.exp(-2j * cmath.pi * (k % n) / n)


@in_kernels
def butterfly(z: Any, source: Any, far: Any, target: Any, near: Any, table: Any, w: Any, r: Any) -> None:
    """Transform r numbers `far` apart; multiply all but the first by twiddles of the table; put them `near` apart.

    While a kernel is compiled, r is not known yet: it jumps to one of those that are written down.
    """

    def of(r: int) -> None:
        y = transform([get(z, source + far * k) for k in range(r)])
        put(z, target, y[0])
        for k in range(1, r):
            put(z, target + near * k, y[k] * twiddle(table, w + 2 * (k - 1)))

    if not isinstance(z, Handle):
        of(r)
        return
    b = z.builder
    nowhere, end = b.append_basic_block(), b.append_basic_block()
    cases = {known: b.append_basic_block() for known in RADICES}
    switch = b.switch(r.value, nowhere)
    b.position_at_end(nowhere)
    b.unreachable()
    for known, block in cases.items():
        switch.add_case(INT(known), block)
        b.position_at_end(block)
        of(known)
        b.branch(end)
    b.position_at_end(end)


@in_kernels
def weigh(z: Any, source: Any, target: Any, table: Any, each: Any, w: Any) -> None:
    """Multiply by a twiddle for each lane, of a list of 16, and by one for all."""
    put(z, target, get(z, source) * get(table, each, 16) * twiddle(table, w))


@in_kernels
def read(x: Any, begin: Any, count: Any, z: Any, to: Any, swap: Any) -> None:
    """LANES numbers of a complex array, or as many as there are; `swap` = LANES exchanges their parts."""
    if not isinstance(x, Handle):
        n = lanes(z)
        part = x.reshape(-1)[begin : begin + min(count, n)]
        z[to : to + 2 * n] = 0
        z[to + swap :][: len(part)], z[to + n - swap :][: len(part)] = part.real, part.imag
        return
    n = x.vector.count

    def move(*masks: Any) -> None:
        first, second = (x.load(begin * 2 + k * n, mask) for k, mask in enumerate(masks))
        z.store(to + swap, llvm.picked(z.builder, first, second, range(0, 2 * n, 2)))
        z.store(to - swap + n, llvm.picked(z.builder, first, second, range(1, 2 * n, 2)))

    _all_or_some(count, n, move)


@in_kernels
def write(z: Any, source: Any, out: Any, begin: Any, count: Any, swap: Any, scale: Any) -> None:
    """Lanes, times `scale`, to a complex array, or as many as there are places."""
    if not isinstance(z, Handle):
        n = lanes(z)
        part = out.reshape(-1)[begin : begin + min(count, n)]
        part.real, part.imag = (z[source + k :][: len(part)] * scale for k in (swap, n - swap))
        return
    b, n, factor = z.builder, z.vector.count, llvm.spread(z.builder, scale.value, z.vector)
    re, im = (b.fmul(z.load(source + k), factor) for k in (swap, swap * -1 + n))
    woven = [llvm.picked(b, re, im, [k // 2 + k % 2 * n for k in range(s, s + n)]) for s in (0, n)]

    def move(*masks: Any) -> None:
        for k, mask in enumerate(masks):
            out.store(begin * 2 + k * n, woven[k], mask)

    _all_or_some(count, n, move)


def _all_or_some(count: Any, n: int, move: Callable[..., None]) -> None:
    """Move two vectors, or so many pairs of them as there are, under masks."""
    b = count.builder
    with b.if_else((count >= n).value, likely=True) as (every, some):
        with every:
            move(None, None)
        with some:
            move(*(llvm.first_lanes(b, b.trunc((count * 2 - k * n).value, SHORT), n) for k in range(2)))


def _lower_line(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    z = Handle(context, builder, signature.args[0], args[0])
    size = 4 if z.vector.element == ir.FloatType() else 8
    return builder.udiv(builder.and_(builder.neg(builder.ptrtoint(z.data, INT)), INT(LINE - 1)), INT(size))


@written(lambda z: types.int64, _lower_line)
def first_line(z: Any) -> int:
    """Which number of an array is the first that begins a line of the cache: vectors that span two of them are slow."""
    del z
    return 0
