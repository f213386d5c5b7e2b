"""Checks of notebook 03: each takes a learner's answer and says whether it is right; verdict.py knows how."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

import jt_edu as jt
from jt_edu.introspect.explain import Explanation
from jt_edu.lens.fusion_passes import passes
from jt_exercises.fusion.cases import Graph, Pair, all_graphs, fate, pairs
from jt_exercises.verdict import NotDoneError, RefusedError, ask, exercise

Groups = Mapping[str, Hashable]


@exercise("1 the kernels of an expression")
def check_groups(expression: Callable[[], jt.Var], answer: Mapping[str, int | None] | None) -> str:
    """Compare guessed kernel numbers, by name of operator, with the plan; the order of the numbers is free."""
    if answer is None or all(number is None for number in answer.values()):
        raise NotDoneError
    missing = [name for name, number in answer.items() if number is None]
    if missing:
        raise RefusedError(f"which kernel computes `{missing[0]}`? It still has None")
    e = jt.explain(expression())
    nodes = {n.op.name: n for n in e.order if any(n.id in k.nodes for k in e.kernels)}
    unknown = [name for name in answer if name not in nodes]
    if unknown:
        raise RefusedError(f"there is no operator `{unknown[0]}` here; there are {', '.join(nodes)}")
    lost = [name for name in nodes if name not in answer]
    if lost:
        raise RefusedError(f"which kernel computes `{lost[0]}`? The answer leaves it out")
    homes = {name: next(k for k, run in enumerate(e.kernels) if nodes[name].id in run.nodes) for name in answer}
    for a, b in itertools.pairwise(answer):
        together = homes[a] == homes[b]
        if (answer[a] == answer[b]) != together:
            said, is_so = ("apart", "share a kernel") if together else ("together", "do not share one")
            raise RefusedError(f"you have `{a}` and `{b}` {said}, but they {is_so}: {fate(e, nodes[a], nodes[b])[1]}")
    for a, b in itertools.combinations(answer, 2):
        if (answer[a] == answer[b]) != (homes[a] == homes[b]):
            raise RefusedError(f"`{a}` and `{b}` are in two kernels; something between them needs a whole array")
    return f"{len(e.kernels)} kernels"


@exercise("2 can_inline")
def check_can_inline(can_inline: Callable[..., bool]) -> str:
    """Compare a rule with what the framework does, in real expressions."""
    count = 0
    for pair in pairs():
        case = f"{pair.a}, {pair.b}, times={pair.times:g}"
        answer = ask(can_inline, pair.a, pair.b, pair.times, case=case)
        if bool(answer) != pair.fused:
            does = "computes it there" if pair.fused else "does not"
            raise RefusedError(
                f"`{pair.a.name}` is read by `{pair.b.name}`, {pair.times:g} times each element, and you say {answer}. "
                f"The framework {does}: {_why(pair)}. It asked about\n    a = {pair.a}\n    b = {pair.b}"
            )
        count += 1
    return f"you decide as the framework does, in {count} of {count} cases"


def _why(pair: Pair) -> str:
    """The framework's reason; where the two share a kernel all the same, what is nevertheless there."""
    a, b = f"`{pair.a.name}`", f"`{pair.b.name}`"
    if pair.fused or not pair.one_kernel:
        return pair.reason
    if pair.a.held:
        return f"{a} becomes an array, since somebody wants it. They share a kernel, but {a} is stored there"
    return f"{a} has a loop of its own, and is complete only after it. They share a kernel: {b} comes after that loop"


@exercise("3 groups without a cycle")
def check_three_groups(group: Callable[..., Groups]) -> str:
    """Hold groups to four laws: complete, along allowed edges, no cycle, and nothing left to fuse."""
    graphs = all_graphs()
    for g in graphs:
        found = ask(group, g.order, dict(g.inputs), set(g.may))
        _complete(g, found)
        _allowed(g, found)
        cycle = cycle_of(g, found)
        if cycle:
            raise RefusedError(f"{_told(g, found)}\n{_words(cycle)}: neither can run first")
        for a, b in sorted(g.may):
            joined = {name: found[a] if home == found[b] else home for name, home in found.items()}
            if found[a] != found[b] and not cycle_of(g, joined):
                raise RefusedError(f"{_told(g, found)}\n`{a}` and `{b}` may fuse, and that would make no cycle")
    return f"{len(graphs)} graphs, each cut into kernels that can run one after the other"


def _complete(g: Graph, found: Groups) -> None:
    if not isinstance(found, Mapping) or set(found) != set(g.order):
        raise RefusedError(f"the answer is a dict with a group for each of {', '.join(g.order)}, not {found!r}")


def _allowed(g: Graph, found: Groups) -> None:
    """Each group hangs together by edges along which two may fuse."""
    for home in set(found.values()):
        members = [name for name in g.order if found[name] == home]
        reached = {members[0]}
        for _ in members:
            reached |= {y for x in reached for y in members if (x, y) in g.may or (y, x) in g.may}
        if len(reached) < len(members):
            lost = next(m for m in members if m not in reached)
            raise RefusedError(f"{_told(g, found)}\nno allowed edge joins `{lost}` to the rest of its group")


def cycle_of(g: Graph, found: Groups) -> list[list[str]]:
    """Groups that wait for each other, as lists of names, or [] where all can run."""
    needs = {home: {found[i] for n in g.order if found[n] == home for i in g.inputs[n]} for home in found.values()}
    waiting = {home: needs[home] - {home} for home in needs}
    while ready := [home for home, others in waiting.items() if not others]:
        waiting = {home: others - set(ready) for home, others in waiting.items() if home not in ready}
    if not waiting:
        return []
    way = [next(iter(waiting))]
    while (after := min(waiting[way[-1]], key=str)) not in way:
        way.append(after)
    return [[n for n in g.order if found[n] == home] for home in way[way.index(after) :]]


def _words(cycle: list[list[str]]) -> str:
    names = ["{" + ", ".join(members) + "}" for members in cycle]
    return "; ".join(f"{a} needs {b}" for a, b in itertools.pairwise([*names, names[0]]))


def _told(g: Graph, found: Groups) -> str:
    reads = "; ".join(f"{n} reads {', '.join(g.inputs[n])}" for n in g.order if g.inputs[n])
    homes: dict[Hashable, list[str]] = {}
    for name in g.order:
        homes.setdefault(found[name], []).append(name)
    groups = " ".join("{" + ", ".join(members) + "}" for members in homes.values())
    return f"where {reads}, your groups are {groups}"


@exercise("4 store or compute twice")
def check_store_or_recompute(seconds: Callable[..., tuple[float, float]]) -> str:
    """Compare (seconds if stored, seconds if recomputed) with the two sums of the text, on made-up machines."""
    tried = 0
    for value, inputs, work, readers, bandwidth, peak in itertools.product(
        (4e6, 4e3), (4e6, 12e6), (1e6, 4e8), (2, 1000), (1e10,), (1e11, 1e9)
    ):
        stored = (inputs + value * (1 + readers)) / bandwidth + work / peak
        again = readers * (inputs / bandwidth + work / peak)
        case = f"value={value:g}, inputs={inputs:g}, work={work:g}, readers={readers}, {bandwidth:g}, {peak:g}"
        answer = ask(seconds, value, inputs, work, readers, bandwidth, peak, case=case)
        if np.shape(answer) != (2,):
            raise RefusedError(f"the answer is two numbers, (stored, again), not {answer!r}")
        for name, mine, right in zip(("stored", "again"), answer, (stored, again), strict=True):
            if not math.isclose(mine, right, rel_tol=1e-6):
                raise RefusedError(_where_costs_went(name, mine, right, case))
        tried += 1
    return f"{tried} cases"


def _where_costs_went(name: str, mine: float, right: float, case: str) -> str:
    hints = {
        "stored": "read the inputs once, compute once, write the value once, and read it once for each reader",
        "again": "each reader reads the inputs and computes; nothing is written",
    }
    return f"seconds({case}): `{name}` is {mine:.6g}, and should be {right:.6g}: {hints[name]}. Add the times"


@exercise("5 softmax in two passes")
def check_softmax_step(step: Callable[[float, float, float], tuple[float, float]]) -> str:
    """Fold rows through the learner's step, and compare with the maximum and the sum of exponentials."""
    random = np.random.default_rng(5)
    rows = [[1.0, 2.0], [2.0, 1.0], [3.0, 3.0, 3.0], [-1e4, 0.0, 1e4], [1e4, 1e4 - 1], [-math.inf, 1.0, -math.inf]]
    rows += [list(random.normal(0, 30, length)) for length in (5, 100)]
    for row in rows:
        m, s = -math.inf, 0.0
        for v in row:
            answer = ask(step, m, s, v)
            if np.shape(answer) != (2,):
                raise RefusedError(f"step({m:g}, {s:g}, {v:g}) is two numbers, the new m and s, not {answer!r}")
            m, s = answer
        right = math.fsum(math.exp(v - max(row)) for v in row)
        if math.isnan(m) or math.isnan(s):
            raise RefusedError(_where_nan_began(step, row))
        shown = [round(v, 2) for v in row[:5]] + ["..."] * (len(row) > 5)
        if m != max(row):
            raise RefusedError(f"after {shown} m is {m:g}, and the largest number is {max(row):g}")
        if not math.isclose(s, right, rel_tol=1e-9):
            raise RefusedError(
                f"after {shown} s is {s:.6g}, and the sum of exp(v - m) is {right:.6g}. When m grows from m to new, "
                f"every exp(v - m) that is in s already has to become exp(v - new)"
            )
    return f"{len(rows)} rows, each read once for both"


def _where_nan_began(step: Callable[[float, float, float], tuple[float, float]], row: list[float]) -> str:
    """The first number of a row that the learner's step makes nan of."""
    m, s, v = -math.inf, 0.0, row[0]
    for v in row:
        after = step(m, s, v)
        if any(map(math.isnan, after)):
            break
        m, s = after
    hint = "-inf - -inf is nan: as long as m is -inf nothing has been added, and s stays 0"
    return f"step({m:g}, {s:g}, {v:g}) is ({after[0]:g}, {after[1]:g})" + (f". {hint}" if m == -math.inf else "")


@exercise("6 arrays that fusion removes")
def check_removed(removed: Callable[..., tuple[int, int]]) -> str:
    """Compare (arrays, bytes) that were never stored with what the passes of the fusion view count."""
    x, w = jt.array(np.ones((50, 30), np.float32)), jt.array(np.ones(30, np.float32))
    cases = {
        "x * 2": x * 2,
        "(x * 2 + 1).abs()": (x * 2 + 1).abs(),
        "(x * w + 1).sum(1)": (x * w + 1).sum(1),
        "jt.softmax(x * 3, 1)": jt.softmax(x * 3, 1),
        "x.exp().sum(0) + w": x.exp().sum(0) + w,
    }
    for text, y in cases.items():
        e, values = explained(y)
        steps = passes(jt.document(y))
        right = tuple(steps[1][key] - steps[-1][key] for key in ("temporaries", "temporary_bytes"))
        answer = ask(removed, e.kernels, values, case=f"kernels of {text}")
        if np.shape(answer) != (2,):
            raise RefusedError(f"for {text} the answer is two numbers, (arrays, bytes), not {answer!r}")
        if tuple(answer) != right:
            raise RefusedError(
                f"for {text} you count {answer[0]} arrays of {answer[1]:,} B, and fusion removes {right[0]} of "
                f"{right[1]:,} B. It has the kernels\n" + "\n".join(_kernel_row(k, values) for k in e.kernels)
            )
    return f"{len(cases)} expressions"


def explained(*wanted: jt.Var) -> tuple[Explanation, dict[int, tuple[str, int]]]:
    """An explanation, and for each number of a value its operator and its bytes."""
    e = jt.explain(*wanted)
    return e, {n.id: (n.op.name, math.prod(n.shape) * n.dtype.size) for n in e.order}


def _kernel_row(kernel: Any, values: Mapping[int, tuple[str, int]]) -> str:
    names = ", ".join(values[n][0] + (" (stored)" if n in kernel.stored else "") for n in kernel.nodes)
    return f"    {kernel.name}: {names}"
