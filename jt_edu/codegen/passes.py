"""Passes: rewrite a nest of loops into a better one.

collapse     two loops that walk through memory in order become one     for i: for j: a[i, j]  ->  for k: a[k]
choose_span  which loop may be split among threads
"""

from __future__ import annotations

from jt_edu.codegen.tree import Access, Block, Loop, Nest, accesses, arithmetic
from jt_edu.index import counter, counters_of


def collapse(nest: Nest) -> Nest:
    """Merge neighbouring loops as long as every array is walked through in order."""
    while (pair := _mergeable(nest)) is not None:
        outer, inner = pair
        nest.extents[outer] *= nest.extents.pop(inner)
        for access in accesses(nest.top):
            _merge_access(access, outer, inner, nest.extents[outer])
        _merge_loops(nest.top, outer, inner)
        for kept in nest.kept:
            kept.discard(inner)
    return nest


def _mergeable(nest: Nest) -> tuple[int, int] | None:
    pairs = _nested_pairs(nest.top)
    fixed = frozenset().union(*map(counters_of, arithmetic(nest.top)))
    everywhere = accesses(nest.top)
    for outer, inner in pairs:
        if (
            outer not in fixed
            and inner not in fixed
            and all(_in_order(a, outer, inner, nest.extents) for a in everywhere)
        ):
            return outer, inner
    return None


def _nested_pairs(block: Block) -> list[tuple[int, int]]:
    """(outer, inner) wherever a loop contains nothing but another loop, and does so each time it occurs."""
    found: dict[tuple[int, int], bool] = {}
    inside: dict[int, set[int | None]] = {}
    around: dict[int, set[int | None]] = {}
    waiting: list[tuple[int | None, Block]] = [(None, block)]
    while waiting:
        axis, body = waiting.pop()
        only = body.items[0].axis if len(body.items) == 1 and isinstance(body.items[0], Loop) else None
        if axis is not None:
            inside.setdefault(axis, set()).add(only)
            if only is not None:
                found[axis, only] = True
        for item in body.items:
            if isinstance(item, Loop):
                around.setdefault(item.axis, set()).add(axis)
                waiting.append((item.axis, item.body))
    return [(p, q) for p, q in found if inside[p] == {q} and around[q] == {p}]


def _in_order(access: Access, outer: int, inner: int, extents: dict[int, int]) -> bool:
    """Whether the access reads [..., outer, inner, ...] over the whole of both axes, or neither of them."""
    used = frozenset().union(*map(counters_of, access.where))
    if outer not in used and inner not in used:
        return True
    if counter(outer) not in access.where or counter(inner) not in access.where:
        return False
    p, q = access.where.index(counter(outer)), access.where.index(counter(inner))
    rest = [w for k, w in enumerate(access.where) if k not in (p, q)]
    alone = not frozenset().union(*map(counters_of, rest)) & {outer, inner}
    return q == p + 1 and alone and access.shape[p] == extents[outer] and access.shape[q] == extents[inner]


def _merge_access(access: Access, outer: int, inner: int, extent: int) -> None:
    if counter(inner) in access.where:
        p = access.where.index(counter(outer))
        access.where = access.where[: p + 1] + access.where[p + 2 :]
        access.shape = (*access.shape[:p], extent, *access.shape[p + 2 :])


def _merge_loops(block: Block, outer: int, inner: int) -> None:
    for item in block.items:
        if isinstance(item, Loop):
            if item.axis == outer and isinstance(item.body.items[0], Loop):
                item.body = item.body.items[0].body
            _merge_loops(item.body, outer, inner)


def choose_span(nest: Nest) -> Nest:
    """The outermost loop that every output is indexed by: its iterations do not meet, so threads may share them.

    Scratch accumulators of a row must be indexed by nothing else, so that each thread can have a row of its own.
    """
    common = set.intersection(*nest.kept) if nest.kept else set()
    order = _loops_in_order(nest.top)
    free = [a for a in order if a in common and not _is_arithmetic_of_scratch(nest, a)]
    nest.span = free[0] if free else None
    return nest


def _is_arithmetic_of_scratch(nest: Nest, axis: int) -> bool:
    """A loop over scratch cells can only be split when the scratch has no other axis."""
    scratch = [a for a in accesses(nest.top) if a.role == "scratch"]
    cells = [a for a in scratch if axis in frozenset().union(*map(counters_of, a.where))]
    return any(len(a.where) != 1 for a in cells) or (bool(cells) and len(cells) != len(scratch))


def _loops_in_order(block: Block) -> list[int]:
    found: list[int] = []
    for item in block.items:
        if isinstance(item, Loop):
            found += [a for a in (item.axis, *_loops_in_order(item.body)) if a not in found]
    return found
