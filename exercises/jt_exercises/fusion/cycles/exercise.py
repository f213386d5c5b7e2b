"""03.3: operators are cut into groups, none of which waits for itself."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask, short

Groups = Mapping[str, Hashable]
DRAWN = 60  # graphs


class Graph(NamedTuple):
    """Operators in the order in which you wrote them, what each reads, and the edges along which two may fuse."""

    order: tuple[str, ...]
    inputs: dict[str, tuple[str, ...]]
    may: frozenset[tuple[str, str]]


DIAMOND = Graph(  # the smallest graph in which fusing whatever may be fused goes wrong
    order=("scale", "matmul", "add"),
    inputs={"scale": (), "matmul": ("scale",), "add": ("scale", "matmul")},
    may=frozenset({("scale", "add")}),
)
AGAIN = DIAMOND._replace(may=frozenset({("scale", "add"), ("matmul", "add")}))  # the first pair, after the other
ONE, EMPTY = Graph(("exp",), {"exp": ()}, frozenset()), Graph((), {}, frozenset())


def graphs() -> list[Graph]:
    """The smallest first, but for the one that is empty: a message about it would help nobody."""
    return [*sorted([ONE, DIAMOND, AGAIN, *map(_drawn, range(DRAWN))], key=lambda g: len(g.order)), EMPTY]


def _drawn(k: int) -> Graph:
    """A graph of 2 to 9 operators, a quarter of which is never fused, as matrix products are."""
    draw = random(k)
    order = tuple("abcdefghi"[: draw.integers(2, 10)])
    inputs = {}
    for at, name in enumerate(order):
        count = min(at, int(draw.choice([1, 1, 2, 2, 3])))
        inputs[name] = tuple(sorted(draw.choice(order[:at], count, replace=False).tolist()))
    alone = {name for name in order if draw.random() < 0.25}
    return Graph(order, inputs, frozenset((i, n) for n in order for i in inputs[n] if not alone & {i, n}))


@exercise(
    "03.3",
    "groups without a cycle",
    points=3,
    hints=(
        """Begin with a group for each name. For each pair whose two names are in different groups, copy your answer and
        merge those groups in the copy. Keep the copy if its groups can still run one after another.""",
        """Can they run? Repeatedly remove every group that reads only from itself and from removed groups. If some can
        never be removed, there is a cycle.""",
        "A pair that made a cycle at first may be fused after others have been. So go through the pairs again.",
    ),
    why="A compiler that forgets this waits for ever, or reads what is not there yet.",
)
def cycles(answer: Callable[..., Any]) -> str:
    """Hold groups to four laws: complete, along allowed edges, no cycle, and nothing left to fuse."""
    every = graphs()
    for g in every:
        found = _complete(g, ask(answer, g.order, g.inputs, g.may, name="group"))
        _allowed(g, found)
        if cycle := cycle_of(g, found):
            needs = "; ".join(f"{a} needs {b}" for a, b in itertools.pairwise(cycle))
            raise RefusedError(f"{_told(g, found)}\n{needs}: none of them can run first")
        for a, b in sorted(g.may):
            joined = {name: found[a] if home == found[b] else home for name, home in found.items()}
            if found[a] != found[b] and not cycle_of(g, joined):
                raise RefusedError(f"{_told(g, found)}\n`{a}` and `{b}` may fuse, and that would make no cycle")
    return f"{len(every)} graphs, each cut into kernels that can run one after the other"


def _complete(g: Graph, found: Any) -> Groups:
    """A group for each name."""
    if not isinstance(found, Mapping) or set(found) != set(g.order):
        raise RefusedError(f"the answer is a dict with a group for each of ({', '.join(g.order)}), not {short(found)}")
    try:
        set(found.values())
    except TypeError:
        raise RefusedError(f"a group is a number or a name; these are {short(found)}") from None
    return found


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


def cycle_of(g: Graph, found: Groups) -> list[str]:
    """Groups that wait for each other, in words, the first one again at the end; or [] where all can run."""
    needs = {home: {found[i] for n in g.order if found[n] == home for i in g.inputs[n]} for home in found.values()}
    waiting = {home: needs[home] - {home} for home in needs}
    while ready := [home for home, others in waiting.items() if not others]:
        waiting = {home: others - set(ready) for home, others in waiting.items() if home not in ready}
    if not waiting:
        return []
    way = [next(iter(waiting))]
    while (after := min(waiting[way[-1]], key=str)) not in way:
        way.append(after)
    return [_members(g, found, home) for home in (*way[way.index(after) :], after)]


def _told(g: Graph, found: Groups) -> str:
    reads = "; ".join(f"{n} reads {', '.join(g.inputs[n])}" for n in g.order if g.inputs[n])
    homes = dict.fromkeys(found[n] for n in g.order)
    return f"where {reads}, your groups are {' '.join(_members(g, found, home) for home in homes)}"


def _members(g: Graph, found: Groups, home: Hashable) -> str:
    return "{" + ", ".join(n for n in g.order if found[n] == home) + "}"
