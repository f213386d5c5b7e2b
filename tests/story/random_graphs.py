"""Random programs over a few arrays, which NumPy and jt_edu both can run.

    program = draw(pick)              a list of steps; lengths of axes are letters (p, q, r) until it runs
    run_numpy(program, arrays)        what NumPy says, step by step; an exception where NumPy refuses
    run_jt(program, arrays)           the same steps on Vars, and nothing computed before the end

`pick(n)` answers a number below n: hypothesis draws it (and makes it small when a test fails), or a seeded generator
does. Every value carries what is known of it: how large it can be, and whether its numbers are exact (multiples of a
power of two). Only exact numbers are compared, rounded or looked up by, so that both sides must agree.
"""

import itertools
import math
import warnings
from dataclasses import dataclass, field, replace

import numpy as np

import jt_edu as jt

DTYPES = ("float64", "float32", "int64", "bool")
LARGE = 1e5  # no step makes numbers beyond it


@dataclass(frozen=True)
class Value:
    """What is known of a value before it is computed."""

    dims: tuple
    dtype: str
    bound: float  # finite numbers are no larger
    grain: float | None  # all numbers are multiples of it; None: rounded
    wild: bool = False  # there may be nan and inf

    @property
    def kind(self):
        return np.dtype(self.dtype).kind

    @property
    def exact(self):
        return self.grain is not None and self.bound / self.grain < 2**20


@dataclass(frozen=True)
class Step:
    op: str
    inputs: tuple
    options: tuple = ()


@dataclass
class Program:
    """Leaves and steps; value k is leaf k, or else step k - len(leaves)."""

    leaves: list
    steps: list = field(default_factory=list)
    values: list = field(default_factory=list)
    held: tuple = ()  # values that the learner keeps a Var of
    together: bool = True  # all asked for at once, or one after the other

    def __repr__(self):
        rows = [f"v{k} = {v.dtype}{list(v.dims)}{' wild' * v.wild}" for k, v in enumerate(self.leaves)]
        for k, s in enumerate(self.steps, len(self.leaves)):
            rows.append(f"v{k} = {s.op}({', '.join([*(f'v{i}' for i in s.inputs), *map(str, s.options)])})")
        held = ", ".join(f"v{k}" for k in self.held)
        return "\n".join([*rows, f"held: {held} {'together' if self.together else 'one by one'}"])


# ------------------------------------------------------------------------------------------------ lengths


def length(dim, sizes):
    """The number that a symbolic length stands for."""
    match dim:
        case int():
            return dim
        case str():
            return sizes[dim]
        case ("plus", a, b):
            return length(a, sizes) + length(b, sizes)
        case ("times", a, b):
            return length(a, sizes) * length(b, sizes)
        case ("cut", a, start, stop, step):
            return len(range(*slice(start, stop, step).indices(length(a, sizes))))
    raise AssertionError(dim)


def shape_of(dims, sizes):
    return tuple(length(d, sizes) for d in dims)


def plus(a, b):
    return a + b if isinstance(a, int) and isinstance(b, int) else ("plus", a, b)


def times(a, b):
    return b if a == 1 else a if b == 1 else ("times", a, b)


def broadcast_dims(*all_dims):
    """The common dims, or None."""
    out = []
    for column in itertools.zip_longest(*map(reversed, all_dims), fillvalue=1):
        long = {d for d in column if d != 1}
        if len(long) > 1:
            return None
        out.append(long.pop() if long else 1)
    return tuple(reversed(out))


# ------------------------------------------------------------------------------------------------ the table of steps

OPS = {}  # name -> Op


@dataclass(frozen=True)
class Op:
    """`offer` answers (options, Value) for given inputs, or None if this step makes no sense for them."""

    arity: int
    offer: object  # (pick, *values) -> (options, Value) or None
    numpy: object  # (sizes, options, *arrays) -> array
    jt: object  # (sizes, options, *vars) -> Var
    smooth: bool = False  # fit for a check of gradients


def op(name, arity, numpy, jt, smooth=False):
    def put(offer):
        OPS[name] = Op(arity, offer, numpy, jt, smooth)
        return offer

    return put


def dtype_after(function, *values):
    with np.errstate(all="ignore"):
        return str(function(*(np.ones(1, v.dtype) for v in values)).dtype)


def limited(options, value):
    return (options, value) if value is not None and value.bound <= LARGE else None


def unary(name, np_function, jt_function, kinds, after, smooth=False):
    """after: value -> (bound, grain, wild), or None."""

    @op(name, 1, lambda sizes, o, x: np_function(x), lambda sizes, o, x: jt_function(x), smooth)
    def offer(pick, x):
        known = after(x) if x.kind in kinds else None
        return known and limited((), Value(x.dims, dtype_after(np_function, x), *known))


def same(x):
    return x.bound, x.grain, x.wild


def rounds(x):
    return (x.bound + 1, 1, x.wild) if x.exact else None


unary("negative", lambda x: -x, lambda x: -x, "fi", same, True)
unary("absolute", abs, abs, "fi", same, True)
unary("square", lambda x: x * x, lambda x: x * x, "fi", lambda x: (x.bound**2, x.grain and x.grain**2, x.wild), True)
unary("sin", np.sin, jt.sin, "fi", lambda x: (1, None, x.wild), True)
unary("tanh", np.tanh, jt.tanh, "fi", lambda x: (1, None, x.wild), True)
unary("exp", np.exp, jt.exp, "fi", lambda x: (math.exp(x.bound), None, x.wild) if x.bound < 6 else None, True)
unary("sqrt", np.sqrt, jt.sqrt, "f", lambda x: (x.bound + 1, None, True) if x.exact else None)
unary(
    "softened",
    lambda x: np.sqrt(x * x + 1),
    lambda x: (x * x + 1).sqrt(),
    "f",
    lambda x: (x.bound + 1, None, x.wild),
    True,
)
unary("floor", np.floor, jt.floor, "f", rounds)
unary("round", np.round, jt.round, "f", rounds)
unary("sign", np.sign, jt.sign, "f", rounds)
unary("relu", lambda x: np.where(x <= 0, x.dtype.type(0), x), lambda x: x.relu(), "fi", same, True)
unary("isnan", np.isnan, jt.isnan, "f", lambda x: (1, 1, False))
unary("invert", lambda x: ~x, lambda x: ~x, "ib", lambda x: (x.bound + 1, 1, False))
unary("less_number", lambda x: x < 1, lambda x: x < 1, "fi", lambda x: (1, 1, False) if x.exact else None)
unary("add_number", lambda x: x + 1, lambda x: x + 1, "fi", lambda x: (x.bound + 1, x.grain, x.wild), True)
unary("halved", lambda x: x * 0.5, lambda x: x * 0.5, "fi", lambda x: (x.bound, x.grain and x.grain / 2, x.wild), True)
unary("from_number", lambda x: 2 - x, lambda x: 2 - x, "fi", lambda x: (x.bound + 2, x.grain, x.wild), True)
unary("copy", np.copy, jt.copy, "fib", same, True)
unary("stopped", np.copy, lambda x: x.detach(), "f", same)


def binary(name, np_function, jt_function, kinds, after, smooth=False):
    @op(name, 2, lambda sizes, o, x, y: np_function(x, y), lambda sizes, o, x, y: jt_function(x, y), smooth)
    def offer(pick, x, y):
        dims = broadcast_dims(x.dims, y.dims)
        kind = np.result_type(x.dtype, y.dtype).kind
        known = after(x, y) if dims is not None and kind in kinds else None
        return known and limited((), Value(dims, dtype_after(np_function, x, y), *known))


def finer(x, y):
    return min(x.grain, y.grain) if x.grain and y.grain else None


def added(x, y):
    return x.bound + y.bound, finer(x, y), x.wild or y.wild


def larger(x, y):
    return max(x.bound, y.bound), finer(x, y), x.wild or y.wild


def multiplied(x, y):
    return x.bound * y.bound, x.grain and y.grain and x.grain * y.grain, x.wild or y.wild


def divided(x, y):
    return (x.bound / y.grain, None, True) if y.exact else None


def compared(x, y):
    return (1, 1, False) if x.exact and y.exact else None


def whole_division(x, y):
    return (x.bound / y.grain + 1, 1, True) if x.exact and y.exact and not (x.wild or y.wild) else None


def remainder(x, y):
    return (y.bound, finer(x, y), True) if x.exact and y.exact and not (x.wild or y.wild) else None


def bits(x, y):
    return 2 * max(x.bound, y.bound) + 1, 1, False


binary("add", lambda x, y: x + y, lambda x, y: x + y, "fib", added, True)
binary("subtract", lambda x, y: x - y, lambda x, y: x - y, "fi", added, True)
binary("multiply", lambda x, y: x * y, lambda x, y: x * y, "fib", multiplied, True)
binary("maximum", np.maximum, jt.maximum, "fib", larger, True)
binary("minimum", np.minimum, jt.minimum, "fib", larger, True)
binary("divide", lambda x, y: x / y, lambda x, y: x / y, "fi", divided)
binary("floor_divide", lambda x, y: x // y, lambda x, y: x // y, "fi", whole_division)
binary("remainder", lambda x, y: x % y, lambda x, y: x % y, "fi", remainder)
binary("less", lambda x, y: x < y, lambda x, y: x < y, "fib", compared)
binary("greater_equal", lambda x, y: x >= y, lambda x, y: x >= y, "fib", compared)
binary("equal", lambda x, y: x == y, lambda x, y: x == y, "fib", compared)
binary("and", lambda x, y: x & y, lambda x, y: x & y, "ib", bits)
binary("xor", lambda x, y: x ^ y, lambda x, y: x ^ y, "ib", bits)


@op("where", 3, lambda sizes, o, c, x, y: np.where(c, x, y), lambda sizes, o, c, x, y: jt.where(c, x, y))
def _where(pick, c, x, y):
    dims = broadcast_dims(c.dims, x.dims, y.dims)
    if dims is not None and c.kind == "b":
        return (), Value(dims, dtype_after(np.where, c, x, y), *larger(x, y))
    return None


@op("cast", 1, lambda sizes, o, x: x.astype(o[0]), lambda sizes, o, x: x.cast(o[0]))
def _cast(pick, x):
    wanted = DTYPES[pick(4)]
    if wanted == "int64" and x.kind == "f" and (x.wild or not x.exact):
        return None
    if wanted == "bool":
        return ((wanted,), Value(x.dims, wanted, 1, 1)) if x.exact else None
    return (wanted,), replace(x, dtype=wanted, grain=1 if wanted == "int64" else x.grain)


# reductions


def some_axes(pick, x):
    """None for all, or a few."""
    axes = tuple(k for k in range(len(x.dims)) if pick(2))
    return None if len(axes) == len(x.dims) else axes or (pick(len(x.dims)),)


def dims_without(x, axes, keep):
    gone = range(len(x.dims)) if axes is None else axes
    return tuple(1 if k in gone else d for k, d in enumerate(x.dims) if keep or k not in gone)


FOUR = 16  # no axis is longer than this when programs run: bounds of sums count on it


def reduction(name, kinds, after, smooth=False):
    def by_numpy(sizes, o, x):
        return np.asarray(getattr(np, name)(x, axis=o[0], keepdims=o[1]))

    @op(name, 1, by_numpy, lambda sizes, o, x: getattr(jt, name)(x, o[0], o[1]), smooth)
    def offer(pick, x):
        known = after(x) if x.kind in kinds else None
        if known is None:
            return None
        axes, keep = some_axes(pick, x) if x.dims else None, bool(pick(2))
        count = FOUR ** (len(x.dims) if axes is None else len(axes))
        bound, grain, wild = known(count) if callable(known) else known
        dtype = str(by_numpy((), (None, False), np.ones((1,), x.dtype)).dtype)
        return limited((axes, keep), Value(dims_without(x, axes, keep), dtype, bound, grain, wild))


reduction("sum", "fib", lambda x: lambda n: (x.bound * n, x.grain, x.wild), True)
reduction("max", "fib", same, True)
reduction("min", "fib", same, True)
reduction("mean", "fib", lambda x: (x.bound, None, True), True)
reduction(
    "prod",
    "fib",
    lambda x: lambda n: (max(x.bound, 1) ** n, None, x.wild) if x.bound <= 1 else (LARGE + 1, 1, True),
    True,
)
reduction("var", "f", lambda x: (x.bound**2, None, True) if not x.wild else None, True)
reduction("any", "fib", lambda x: (1, 1, False) if x.exact else None)
reduction("all", "fib", lambda x: (1, 1, False) if x.exact else None)


def position(name):
    def by_numpy(sizes, o, x):
        return np.asarray(getattr(np, name)(x, axis=o[0], keepdims=o[1]))

    @op(name, 1, by_numpy, lambda sizes, o, x: getattr(jt, name)(x, o[0], o[1]))
    def offer(pick, x):
        if x.kind in "fi" and x.exact and x.dims:
            axis, keep = pick(len(x.dims)), bool(pick(2))
            return (axis, keep), Value(dims_without(x, (axis,), keep), "int64", FOUR, 1)
        return None


position("argmax")
position("argmin")


def numpy_softmax(x, axis):
    weights = np.exp(x - x.max(axis, keepdims=True)) if x.shape[axis] else np.exp(x)
    return weights / weights.sum(axis, keepdims=True)


@op("softmax", 1, lambda sizes, o, x: numpy_softmax(x, o[0]), lambda sizes, o, x: jt.softmax(x, o[0]), True)
def _softmax(pick, x):
    if x.kind == "f" and x.dims and not x.wild:
        return (pick(len(x.dims)),), replace(x, bound=1, grain=None)
    return None


# views


@op("permute", 1, lambda sizes, o, x: np.transpose(x, o), lambda sizes, o, x: x.permute(o), True)
def _permute(pick, x):
    left = list(range(len(x.dims)))
    order = tuple(left.pop(pick(len(left))) for _ in x.dims)
    return (order, replace(x, dims=tuple(x.dims[k] for k in order))) if len(order) > 1 else None


@op("flip", 1, lambda sizes, o, x: np.flip(x, o[0]), lambda sizes, o, x: x.flip(o[0]), True)
def _flip(pick, x):
    return ((pick(len(x.dims)),), x) if x.dims else None


def at(axis, part):
    return (*[slice(None)] * axis, part)


def cut_of(o):
    return at(o[0], slice(*o[1:]))


@op("cut", 1, lambda sizes, o, x: x[cut_of(o)], lambda sizes, o, x: x[cut_of(o)], True)
def _cut(pick, x):
    if not x.dims:
        return None
    axis, part = pick(len(x.dims)), CUTS[pick(len(CUTS))]
    dims = list(x.dims)
    dims[axis] = ("cut", dims[axis], *part)
    return (axis, *part), replace(x, dims=tuple(dims))


CUTS = [
    (1, None, None),
    (None, -1, None),
    (None, None, 2),
    (None, None, -1),
    (None, None, -2),
    (1, 3, None),
    (-2, 0, -1),
]


@op("number_at", 1, lambda sizes, o, x: x[at(*o)], lambda sizes, o, x: x[at(*o)], True)
def _number_at(pick, x):
    if x.dims:
        axis = pick(len(x.dims))
        return (axis, (0, -1)[pick(2)]), replace(x, dims=x.dims[:axis] + x.dims[axis + 1 :])
    return None


@op("unsqueeze", 1, lambda sizes, o, x: np.expand_dims(x, o[0]), lambda sizes, o, x: x.unsqueeze(o[0]), True)
def _unsqueeze(pick, x):
    axis = pick(len(x.dims) + 1)
    return ((axis,), replace(x, dims=(*x.dims[:axis], 1, *x.dims[axis:]))) if len(x.dims) < 4 else None


@op(
    "merge",
    1,
    lambda sizes, o, x: x.reshape(shape_of(o[1], sizes)),
    lambda sizes, o, x: x.reshape(shape_of(o[1], sizes)),
    True,
)
def _merge(pick, x):
    if len(x.dims) < 2:
        return None
    k = pick(len(x.dims) - 1)
    dims = (*x.dims[:k], times(x.dims[k], x.dims[k + 1]), *x.dims[k + 2 :])
    return (k, dims), replace(x, dims=dims)


@op(
    "part",
    1,
    lambda sizes, o, x: x.reshape(shape_of(o[1], sizes)),
    lambda sizes, o, x: x.reshape(shape_of(o[1], sizes)),
    True,
)
def _part(pick, x):
    for k, d in enumerate(x.dims):
        if isinstance(d, tuple) and d[0] == "times":
            dims = (*x.dims[:k], d[1], d[2], *x.dims[k + 1 :])
            return (k, dims), replace(x, dims=dims)
    return None


def pad_pairs(x, axis, before, after):
    return [(before, after) if k == axis else (0, 0) for k in range(x.ndim)]


@op(
    "pad", 1, lambda sizes, o, x: np.pad(x, pad_pairs(x, *o), constant_values=1),
    lambda sizes, o, x: x.pad([w for pair in reversed(pad_pairs(x, *o)) for w in pair], value=1), True,
)  # fmt: skip
def _pad(pick, x):
    if x.dims and x.kind != "b":
        axis, before, after = pick(len(x.dims)), pick(3), pick(2)
        dims = (*x.dims[:axis], plus(x.dims[axis], before + after), *x.dims[axis + 1 :])
        return (axis, before, after), Value(dims, x.dtype, max(x.bound, 1), x.grain and min(x.grain, 1), x.wild)
    return None


@op(
    "concat",
    2,
    lambda sizes, o, x, y: np.concatenate([x, y], o[0]),
    lambda sizes, o, x, y: jt.concat([x, y], o[0]),
    True,
)
def _concat(pick, x, y):
    if not x.dims or len(x.dims) != len(y.dims):
        return None
    for axis in range(len(x.dims)):
        if x.dims[:axis] + x.dims[axis + 1 :] == y.dims[:axis] + y.dims[axis + 1 :]:
            dims = (*x.dims[:axis], plus(x.dims[axis], y.dims[axis]), *x.dims[axis + 1 :])
            return (axis,), Value(dims, str(np.result_type(x.dtype, y.dtype)), *larger(x, y))
    return None


@op("stack", 2, lambda sizes, o, x, y: np.stack([x, y], o[0]), lambda sizes, o, x, y: jt.stack([x, y], o[0]), True)
def _stack(pick, x, y):
    if x.dims == y.dims and len(x.dims) < 4:
        axis = pick(len(x.dims) + 1)
        dims = (*x.dims[:axis], 2, *x.dims[axis:])
        return (axis,), Value(dims, str(np.result_type(x.dtype, y.dtype)), *larger(x, y))
    return None


@op(
    "broadcast", 1, lambda sizes, o, x: np.broadcast_to(x, shape_of(o, sizes)),
    lambda sizes, o, x: x.broadcast_to(shape_of(o, sizes)), True,
)  # fmt: skip
def _broadcast(pick, x):
    dims = tuple("pqr"[pick(3)] if d == 1 else d for d in x.dims)
    dims = ("pqr"[pick(3)], *dims) if len(dims) < 3 and pick(2) else dims
    return (dims, replace(x, dims=dims)) if dims != x.dims else None


@op("repeat", 1, lambda sizes, o, x: np.tile(x, o), lambda sizes, o, x: x.repeat(*o), True)
def _repeat(pick, x):
    if x.dims:
        k = pick(len(x.dims))
        counts = tuple(2 if a == k else 1 for a in range(len(x.dims)))
        return counts, replace(x, dims=(*x.dims[:k], times(2, x.dims[k]), *x.dims[k + 1 :]))
    return None


def change(counters, axis, function):
    return tuple(function(i) if k == axis else i for k, i in enumerate(counters))


@op(
    "roll", 1, lambda sizes, o, x: np.roll(x, 1, o[0]),
    lambda sizes, o, x: x.reindex(x.shape,
     lambda *i: change(i, o[0], lambda j: (j + x.shape[o[0]] - 1) % max(x.shape[o[0]], 1))),
    True,
)  # fmt: skip
def _roll(pick, x):
    return ((pick(len(x.dims)),), x) if x.dims else None


def numpy_shift(x, axis):
    out = np.full(x.shape, 3, x.dtype)
    out[at(axis, slice(None, -1))] = x[at(axis, slice(1, None))]
    return out


@op(
    "shift", 1, lambda sizes, o, x: numpy_shift(x, o[0]),
    lambda sizes, o, x: x.reindex(x.shape, lambda *i: change(i, o[0], lambda j: j + 1), fill=3), True,
)  # fmt: skip
def _shift(pick, x):
    if x.dims and x.kind != "b":
        return (pick(len(x.dims)),), replace(x, bound=max(x.bound, 3), grain=x.grain and min(x.grain, 1))
    return None


def stretched(x, axis):
    return (*x.shape[:axis], 2 * x.shape[axis], *x.shape[axis + 1 :])


@op(
    "stretch", 1, lambda sizes, o, x: np.repeat(x, 2, o[0]),
    lambda sizes, o, x: x.reindex(stretched(x, o[0]), [f"i{k}/2" if k == o[0] else f"i{k}" for k in range(x.ndim)]),
    True,
)  # fmt: skip
def _stretch(pick, x):
    if x.dims:
        k = pick(len(x.dims))
        return (k,), replace(x, dims=(*x.dims[:k], times(2, x.dims[k]), *x.dims[k + 1 :]))
    return None


@op(
    "diagonal", 1, lambda sizes, o, x: np.diagonal(x, 0, *o),
    lambda sizes, o, x: x.reindex(
        (*(n for k, n in enumerate(x.shape) if k not in o), x.shape[o[0]]),
        lambda *i: [(j := iter(i[:-1])), [i[-1] if k in o else next(j) for k in range(x.ndim)]][1],
    ), True,
)  # fmt: skip
def _diagonal(pick, x):
    for a, b in itertools.combinations(range(len(x.dims)), 2):
        if x.dims[a] == x.dims[b]:
            return (a, b), replace(x, dims=(*(d for k, d in enumerate(x.dims) if k not in (a, b)), x.dims[a]))
    return None


@op(
    "triangle", 1, lambda sizes, o, x: np.tril(x),
    lambda sizes, o, x: x.reindex(x.shape, lambda *i: i, valid=lambda *i: i[-1] <= i[-2]), True,
)  # fmt: skip
def _triangle(pick, x):
    return ((), x) if len(x.dims) > 1 else None


def set_part(x, o):
    x[cut_of(o)] = 2
    return x


@op("set_part", 1, lambda sizes, o, x: set_part(x.copy(), o), lambda sizes, o, x: set_part(x.copy(), o), True)
def _set_part(pick, x):
    if x.dims and x.kind != "b":
        part = CUTS[pick(len(CUTS))]
        return (pick(len(x.dims)), *part), replace(x, bound=max(x.bound, 2), grain=x.grain and min(x.grain, 1))
    return None


# looking up, scattering, products


def column(i, x, axis):
    """Positions made of whole numbers, always inside axis (unless it is empty)."""
    return i % max(x.shape[axis], 1)


@op(
    "look_up", 2, lambda sizes, o, x, i: x[at(o[0], column(i, x, o[0]))],
    lambda sizes, o, x, i: x[at(o[0], column(i, x, o[0]))], True,
)  # fmt: skip
def _look_up(pick, x, i):
    if x.dims and i.dtype == "int64" and len(x.dims) + len(i.dims) < 5:
        axis = pick(len(x.dims))
        return (axis,), replace(x, dims=(*x.dims[:axis], *i.dims, *x.dims[axis + 1 :]))
    return None


def numpy_halve(x, reducer):
    n = (x.shape[0] + 1) // 2
    out = np.zeros((n, *x.shape[1:]), x.dtype)
    if reducer == "add":
        np.add.at(out, np.arange(x.shape[0]) // 2, x)
    else:
        out = np.full_like(out, -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min)
        np.maximum.at(out, np.arange(x.shape[0]) // 2, x)
    return out


@op(
    "halve", 1, lambda sizes, o, x: numpy_halve(x, *o),
    lambda sizes, o, x: x.reindex_reduce(o[0], ((x.shape[0] + 1) // 2, *x.shape[1:]), lambda i, *rest: (i // 2, *rest)),
    True,
)  # fmt: skip
def _halve(pick, x):
    if x.dims and x.kind in "fi" and 2 * x.bound < LARGE:
        return (("add", "maximum")[pick(2)],), replace(
            x, dims=(("cut", x.dims[0], None, None, 2), *x.dims[1:]), bound=2 * x.bound
        )
    return None


def numpy_scatter(x, i):
    out = np.zeros((3, *x.shape[1:]), x.dtype)
    np.add.at(out, i % 3, x)
    return out


@op(
    "scatter", 2, lambda sizes, o, x, i: numpy_scatter(x, i),
    lambda sizes, o, x, i: x.reindex_reduce("add", (3, *x.shape[1:]), ["@e0(i0)", *(f"i{k}" for k in range(1, x.ndim))],
     extras=[i % 3]),
    True,
)  # fmt: skip
def _scatter(pick, x, i):
    if x.dims and x.kind in "fi" and i.dtype == "int64" and i.dims == x.dims[:1] and FOUR * x.bound < LARGE:
        return (), replace(x, dims=(3, *x.dims[1:]), bound=FOUR * x.bound)
    return None


@op("matmul", 2, lambda sizes, o, x, y: np.matmul(x, y), lambda sizes, o, x, y: x @ y, True)
def _matmul(pick, x, y):
    if x.kind == "b" or y.kind == "b" or not x.dims or not y.dims:
        return None
    row, inner = x.dims[-2:-1], y.dims[-2] if len(y.dims) > 1 else y.dims[0]
    batch = broadcast_dims(x.dims[:-2], y.dims[:-2])
    if x.dims[-1] != inner or batch is None:
        return None
    bound, grain, wild = multiplied(x, y)
    out = Value(
        (*batch, *row, *y.dims[-1:][: len(y.dims) > 1]),
        str(np.result_type(x.dtype, y.dtype)),
        bound * FOUR,
        grain,
        wild,
    )
    return limited((), out)


@op("gram", 1, lambda sizes, o, x: x @ np.swapaxes(x, -1, -2), lambda sizes, o, x: x @ x.transpose(-1, -2), True)
def _gram(pick, x):
    if len(x.dims) > 1 and x.kind in "fi":
        bound, grain, wild = multiplied(x, x)
        return limited((), Value((*x.dims[:-1], x.dims[-2]), x.dtype, bound * FOUR, grain, wild))
    return None


# ------------------------------------------------------------------------------------------------ drawing a program


def draw(pick, *, smooth=False, most=15):
    """A program of 3 to `most` steps over 1 to 4 leaves; `smooth`: float64 leaves, and only steps with a gradient."""
    wild = not smooth and pick(6) == 5
    leaves = [_leaf(pick, smooth, wild, k) for k in range(1 + pick(4))]
    program = Program(leaves, [], list(leaves))
    names = [n for n, o in OPS.items() if o.smooth or not smooth]
    for _ in range(3 + pick(most - 2)):
        _grow(program, pick, names)
    count = len(program.values)
    kept = {k for k in range(len(leaves), count) if pick(4) == 3} | {count - 1}
    program.held, program.together = tuple(sorted(kept)), pick(4) < 3
    return program


def _leaf(pick, smooth, wild, number):
    dtype = "float64" if smooth else DTYPES[pick(4)]
    dims = tuple(("p", "q", "r", 1)[pick(4)] for _ in range(pick(4) if number else 1 + pick(3)))
    if dtype == "bool":
        return Value(dims, dtype, 1, 1)
    return Value(dims, dtype, 2, 1 if dtype == "int64" else 0.25, wild and dtype.startswith("f"))


def _grow(program, pick, names):
    """One more step: the first that fits, from a random place in the table on."""
    start = pick(len(names))
    recent = list(range(len(program.values)))
    for k in range(len(names)):
        name = names[(start + k) % len(names)]
        op = OPS[name]
        for _ in range(3):
            inputs = tuple(recent[len(recent) - 1 - min(pick(len(recent)), pick(len(recent)))] for _ in range(op.arity))
            offered = op.offer(pick, *(program.values[i] for i in inputs))
            if offered:
                program.steps.append(Step(name, inputs, offered[0]))
                program.values.append(offered[1])
                return


# ------------------------------------------------------------------------------------------------ running it


def draw_arrays(program, sizes, rng):
    return [_numbers(v, shape_of(v.dims, sizes), rng) for v in program.leaves]


def _numbers(value, shape, rng):
    if value.dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if value.dtype == "int64":
        return rng.integers(-2, 3, shape)
    numbers = (rng.integers(-8, 9, shape) * 0.25).astype(value.dtype)
    if value.wild:
        numbers = np.where(rng.random(shape) < 0.2, rng.choice([np.nan, np.inf, -np.inf, -0.0], shape), numbers)
    return numbers.astype(value.dtype)


def run_numpy(program, arrays, sizes):
    """Each value as NumPy computes it; an exception where it refuses, None behind one."""
    found = list(arrays)
    for step in program.steps:
        inputs = [found[i] for i in step.inputs]
        if any(i is None or isinstance(i, Exception) for i in inputs):
            found.append(None)
            continue
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # the mean of nothing
                found.append(np.asarray(OPS[step.op].numpy(sizes, step.options, *inputs)))
        except (ValueError, IndexError) as error:
            found.append(error)
    return found


def run_jt(program, arrays, sizes, answers):
    """The held values as Vars, all computed; where NumPy refused, jt_edu must refuse too."""
    found = build(program, [jt.array(a) for a in arrays], sizes, answers)
    held = {k: found[k] for k in program.held if isinstance(found[k], jt.Var)}
    del found
    if program.together:
        jt.sync(list(held.values()))
    return {k: v.numpy() for k, v in held.items()}


def build(program, leaves, sizes, answers):
    found = list(leaves)
    for step, answer in zip(program.steps, answers[len(leaves) :], strict=True):
        if answer is None:
            found.append(None)
        elif isinstance(answer, Exception):
            found.append(_refused(step, [found[i] for i in step.inputs], sizes, answer))  # None
        else:
            found.append(OPS[step.op].jt(sizes, step.options, *(found[i] for i in step.inputs)))
    return found


def _refused(step, inputs, sizes, answer):
    """None, if jt_edu refuses as NumPy does (no exception is kept: it would keep Vars alive)."""
    try:
        result = OPS[step.op].jt(sizes, step.options, *inputs).numpy()
    except jt.JtError:
        return
    if step.op != "look_up" or result.size:  # an empty result looks nothing up, so nothing is found to be wrong
        raise AssertionError(f"{step.op}{step.options}: NumPy raises {answer!r}, jt_edu answers {result!r}")


def compare(program, wanted, found):
    """Equal dtype and shape; equal numbers where they are exact, close ones where they are rounded."""
    for k, array in found.items():
        value, answer = program.values[k], wanted[k]
        assert array.dtype == answer.dtype, f"v{k}: dtype {array.dtype}, NumPy {answer.dtype}"
        assert array.shape == answer.shape, f"v{k}: shape {array.shape}, NumPy {answer.shape}"
        if value.exact:
            np.testing.assert_array_equal(array, answer, f"v{k}")
        else:
            small = 1e-4 if any(v.dtype == "float32" for v in program.values) else 1e-9
            np.testing.assert_allclose(array, answer, small, small * max(value.bound, 1), err_msg=f"v{k}")


# ------------------------------------------------------------------------------------------------ making it smaller


def shrunk(program, fails):
    """The smallest program found for which `fails(program)` still holds: values and steps are left out one by one."""
    tried = True
    while tried:
        tried = next(
            (p for p in _smaller(program) if p and p.held and len(p.steps) < len(program.steps) and fails(p)), None
        )
        program = tried or program
    return program


def _smaller(program):
    """Programs with fewer steps, or None."""
    first = len(program.leaves)
    for k in range(first, len(program.values)):
        yield _only(program, [k])
        yield _only(program, [h for h in program.held if h != k])
        for i in program.steps[k - first].inputs:
            like = (
                program.values[i].dims == program.values[k].dims and program.values[i].dtype == program.values[k].dtype
            )
            yield _without(program, k, i) if like else None
        if all(isinstance(d, int | str) for d in program.values[k].dims):
            yield _as_leaf(program, k)


def _only(program, held):
    """What is needed for the values `held`."""
    first, needed, waiting = len(program.leaves), set(held), list(held)
    while waiting:
        k = waiting.pop()
        new = [i for i in program.steps[k - first].inputs if i not in needed] if k >= first else []
        needed.update(new)
        waiting += new
    order = sorted(needed)
    place = {k: n for n, k in enumerate(order)}
    steps = [
        replace(program.steps[k - first], inputs=tuple(place[i] for i in program.steps[k - first].inputs))
        for k in order
        if k >= first
    ]
    leaves = [program.leaves[k] for k in order if k < first]
    kept = tuple(sorted(place[h] for h in held if h >= first))
    return Program(leaves, steps, [program.values[k] for k in order], kept, program.together)


def _without(program, k, instead):
    """Value k replaced by one of the inputs it was made of."""

    def place(i):
        return instead if i == k else i

    steps = [replace(s, inputs=tuple(map(place, s.inputs))) for s in program.steps]
    held = sorted({place(h) for h in program.held})
    return _only(Program(program.leaves, steps, program.values, tuple(held), program.together), held)


def _as_leaf(program, k):
    """Value k as an array of its own."""
    old, first = program.values[k], len(program.leaves)
    leaf = Value(old.dims, old.dtype, 1 if old.dtype == "bool" else 2, 0.25 if old.kind == "f" else 1)

    def place(i):
        return first if i == k else i + (i >= first)

    steps = [replace(s, inputs=tuple(map(place, s.inputs))) for s in program.steps]
    values = [*program.values[:first], leaf, *program.values[first:]]
    held = [place(h) for h in program.held if h != k]
    return _only(Program([*program.leaves, leaf], steps, values, tuple(held), program.together), held) if held else None
