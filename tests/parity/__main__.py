"""The parity table, as a table: what is compared with NumPy and PyTorch, function by function.

    python -m tests.parity              a row for each function, and the totals
    python -m tests.parity totals       the totals alone

Counted are the rows of `families()`, as the tests run them on the python backend: one case is one row with one dtype,
one set of shapes and one layout in memory. What a row calls, and which meta-operators it is made of, is found out by
running it. Brackets, reductions by axes, convolutions, losses and creation have tables and tests of their own, which
are not counted here.
"""

import functools
import inspect
import math
import sys
from dataclasses import dataclass, field

import numpy as np

import jt_edu as jt
from jt_edu.lens.ops_table import COPY, KINDS, identity, identity_at, operators
from tests.floors.variable.test_autograd import SMOOTH_BINARY, SMOOTH_UNARY
from tests.parity import test_families
from tests.parity.families import families
from tests.parity.inputs import LAYOUTS, both, seed_of
from tests.parity.table import VIEWS

ALL_LAYOUTS = (((3, 4),), ((3, 1), (1, 4)), ((2, 3), (2, 3)))  # of the core's element functions


@dataclass
class Line:
    """All that is known of one function."""

    name: str
    rows: int = 0
    cases: int = 0
    dtypes: set[str] = field(default_factory=set)
    orders: set[int] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)

    def cells(self):
        made = " ".join(name for kind, name in KINDS.items() if kind in self.kinds)
        orders = " ".join(map(str, sorted(self.orders - {0}))) or "-"
        return [self.name, str(self.rows), str(self.cases), str(len(self.dtypes)), orders, made]


def cases(family, row):
    """How often a row is compared on the python backend."""
    if family != "core":
        return sum(1 for _ in test_families.cases(row))
    if row.numpy is None:
        return 0
    layouts = [len(LAYOUTS) if row in VIEWS or shapes in ALL_LAYOUTS else 1 for shapes in row.shapes]
    return sum(layouts) * len(row.dtypes)


def orders(family, row):
    """The orders of gradients that are compared."""
    if family == "core":
        found = 2 if row in SMOOTH_UNARY or row in SMOOTH_BINARY or (row in VIEWS) else 0
    else:
        found = row.orders if "float64" in row.dtypes else 0
    return set(range(1, found + 1))


@functools.cache
def public():
    """The identity of each public function, method and operator of Vars, and the name it is known by."""
    found = {}
    for name in dir(jt.Var):
        member = inspect.getattr_static(jt.Var, name)
        function = getattr(member, "fget", member)
        if inspect.isfunction(function) and name not in ("__init__", "__del__"):
            found[identity(function)] = f"x.{name}"
    return {**found, **{identity(f): names[0] for f, names in operators().items()}}


@functools.cache
def codes():
    """The codes of these functions, to tell quickly what is none of them."""
    return {COPY, *(code for code, *_ in public())}


@functools.cache
def names_of():
    """All names of a function, by the one it is known by."""
    return {names[0]: {n.rpartition(".")[2] for n in names} for names in operators().values()}


class Calls:
    """Which public functions are called by somebody who is not one of them."""

    def __init__(self):
        self.names, self.depth = [], 0

    def __enter__(self):
        sys.setprofile(self.listen)
        return self

    def __exit__(self, *error):
        sys.setprofile(None)

    def listen(self, frame, event, _):
        if event not in ("call", "return") or frame.f_code not in codes():
            return
        name = public().get(identity_at(frame))
        if name is None:
            return
        if event == "call" and self.depth == 0:
            self.names.append(name)
        self.depth += 1 if event == "call" else -1


def look(row):
    """Run a row on its smallest shapes: (the functions it calls, the kinds of what it builds)."""
    sizes = {shapes: sum(math.prod(s) for s in shapes) for shapes in row.shapes}
    shapes = min((s for s in sizes if sizes[s]), key=sizes.get, default=row.shapes[0])
    dtype = next((d for d in ("float32", "int64") if d in row.dtypes), row.dtypes[0])
    inputs = [both(seed_of(row.name, k), s, dtype, row.domain)[0] for k, s in enumerate(shapes)]
    codes()
    with jt.trace() as t, Calls() as calls:
        row.ours(*inputs)
    return calls.names, {b.kind for b in t.built} & set(KINDS)


def function_of(row, called):
    """The function that a row is about: one that is in its name, or else the last one it calls that is no operator."""
    words = set(row.name.replace("(", " ").replace(".", " ").split())
    named = [name for name in called if names_of().get(name, {name}) & words]
    plain = [name for name in called if not name.startswith("x.__")]
    return (named or plain or called or [row.name])[-1]


def table():
    """One line for each function."""
    lines = {}
    with jt.flag_scope(backend="python"), np.errstate(all="ignore"):
        for family, rows in families().items():
            for row in rows:
                called, kinds = look(row)
                name = function_of(row, called)
                line = lines.setdefault(name, Line(name))
                line.rows += 1
                line.cases += cases(family, row)
                line.dtypes |= set(row.dtypes)
                line.orders |= orders(family, row)
                line.kinds |= kinds
    return [lines[name] for name in sorted(lines, key=lambda n: (n.startswith("x."), n.lower()))]


def totals(lines):
    """(functions and operators, rows, cases, how many have gradients of both orders)."""
    return len(lines), sum(x.rows for x in lines), sum(x.cases for x in lines), sum({1, 2} <= x.orders for x in lines)


def report(lines):
    rows = [["function", "rows", "cases", "dtypes", "gradients", "made of"], *(line.cells() for line in lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *numbers, made in rows:
        figures = "  ".join(n.rjust(w) for n, w in zip(numbers, widths[1:-1], strict=True))
        print(f"{name.ljust(widths[0])}  {figures}  {made}".rstrip())


def main(arguments):
    lines = table()
    if "totals" not in arguments:
        report(lines)
        print()
    functions, rows, count, smooth = totals(lines)
    print(f"{functions} functions and operators, {rows} rows, {count:,} cases; gradients of order 1 and 2 of {smooth}")
    left = [names[0] for names in operators().values() if names[0] not in {line.name for line in lines}]
    print(f"{len(left)} public functions of Vars have no row here: {', '.join(sorted(left))}")


if __name__ == "__main__":
    main(sys.argv[1:])
