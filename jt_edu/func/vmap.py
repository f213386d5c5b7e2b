"""vmap: a function of one example becomes a function of many at once.

    def distance(x, y): return ((x - y) ** 2).sum()         two points
    vmap(distance)(xs, ys)                                  many pairs of points
    vmap(distance, in_dims=(0, None))(xs, y)                many points, and the same other one
    vmap(grad(loss), in_dims=(None, 0))(w, xs)              the gradient of each example by itself

The function is run once. What it built for one example is built again with one more axis (batched_graph.py), and is
then fused and compiled like everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, NamedTuple

from jt_edu.base.context import flag_scope
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.func.batched_graph import EXAMPLE, Batch, example
from jt_edu.func.structures import beside, each, only_vars
from jt_edu.ir.builders import short
from jt_edu.ir.node import inputs_first
from jt_edu.ops.arguments import axis_of, choice, whole
from jt_edu.ops.concat import concat
from jt_edu.ops.deferred_outputs import riders
from jt_edu.ops.transpose import moveaxis
from jt_edu.variable.index_bounds import put_back
from jt_edu.variable.pytree import replaced, vars_in
from jt_edu.variable.var import Var

RANDOMNESS = ("error", "different", "same")


class Wish(NamedTuple):
    """What vmap is asked for."""

    in_dims: Any
    out_dims: Any
    randomness: str
    at_once: int | None


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """`func` for many examples at once: its arguments have one more axis, and so have its answers.

    The function sees one example, a Var with a shape and no numbers. So a condition (`if x > 0`) raises; `jt.where`
    does not. Arguments and answers are Vars, or structures of them.

    Args:
        in_dims: along which axis the examples of an argument lie; None if it is the same for all of them. One number
            for all arguments, or a tuple with one for each; where an argument is a structure, that may be a structure
            of the same form. Arguments that are given by name are the same for all examples.
        out_dims: along which axis the examples of an answer are to lie; None if it is the same for all of them.
        randomness: random numbers inside are "different" for each example or the "same" for all; "error" refuses them.
        chunk_size: how many examples are computed at a time; fewer take less memory.

    Raises:
        ArgumentError: there is no argument to go along; the function looks at numbers, or returns what is no Var.
        ShapeError: the arguments have different numbers of examples.

    Example:
        >>> dot, xs = lambda x, y: (x * y).sum(), jt.array([[1.0, 2.0], [3.0, 4.0]])
        >>> vmap(dot)(xs, xs).tolist(), vmap(dot, in_dims=(0, None))(xs, jt.array([1.0, 0.0])).tolist()
        ([5.0, 25.0], [1.0, 3.0])
        >>> vmap(vmap(dot, (None, 0)), (0, None))(xs, xs).tolist()  # all pairs
        [[5.0, 11.0], [11.0, 25.0]]
    """
    if not callable(func):
        raise ArgumentError("vmap takes a function", short(func), "jt.vmap(func)(x)")
    choice("vmap", "randomness", randomness, RANDOMNESS)
    at_once = None if chunk_size is None else whole("vmap", "chunk_size", chunk_size, 1)
    wish = Wish(in_dims, out_dims, randomness, at_once)
    return wraps(func)(lambda *args, **named: _mapped(func, each((args, named), lambda v: v), wish))


def _mapped(func: Callable[..., Any], given: Any, wish: Wish) -> Any:
    """The answer for all examples: `func` is run once, and what it built is built again for each chunk of them."""
    args, named = given
    dims = [*beside("in_dims of vmap", wish.in_dims, args), *(None for _ in vars_in(named))]
    batches, size = _batches(vars_in(given), dims)
    step = max(size, 1) if wish.at_once is None else wish.at_once
    with flag_scope(lazy_execution=True):
        pairs = zip(vars_in(given), batches, strict=True)
        ones = [Var._of(v.node) if b is None else example(b.shape[1:], b.node) for v, b in pairs]
        examples = [one.node for one in ones]  # before the function changes its arguments in place
        args, named = replaced(given, ones)
        answer = func(*args, **named)
        found = only_vars("vmap", answer)
        parts = []
        for lo in range(0, max(size, 1), step):
            chunk = [b if b is None or step >= size else b[lo : lo + step] for b in batches]
            twins = {one: b.node for one, b in zip(examples, chunk, strict=True) if b is not None}
            batch = Batch(min(step, size - lo), twins, wish.randomness, lo)
            if lo == 0:
                _refuse_changes(batch, found)
                wanted = beside("out_dims of vmap", wish.out_dims, answer)
            parts.append(list(_placed(batch, found, batch.of([v.node for v in found]), wanted)))
    return replaced(answer, map(_joined, zip(*parts, strict=True), wanted))


def _joined(chunks: tuple[Var, ...], dim: Any) -> Var:
    return chunks[0] if dim is None or len(chunks) == 1 else concat(list(chunks), dim)


def _batches(variables: list[Var], dims: list[Any]) -> tuple[list[Var | None], int]:
    """Each Var with its examples along axis 0, or None; and how many examples there are."""
    batches: list[Var | None] = []
    for v, dim in zip(variables, dims, strict=True):
        axis = None if dim is None else axis_of("vmap", dim, v.ndim, verb="goes along an axis of")
        batches.append(None if axis is None else moveaxis(v, axis, 0) if axis else v)
    sizes = {b.shape[0] for b in batches if b is not None}
    if len(sizes) > 1:
        found = " and ".join(
            f"{b.shape[0]} in a Var of shape {v.shape}"
            for v, b in zip(variables, batches, strict=True)
            if b is not None
        )
        raise ShapeError("vmap takes as many examples of each argument", found, "None in in_dims, for what all share")
    if not sizes:
        raise ArgumentError("vmap goes along an axis of at least one Var", f"in_dims {dims} for {len(variables)} Vars")
    return batches, sizes.pop()


def _placed(batch: Batch, found: list[Var], nodes: list[Any], dims: list[Any]) -> Iterator[Var]:
    """Each answer, with the examples along the axis that was asked for."""
    for v, node, dim in zip(found, nodes, dims, strict=True):
        if dim is None and node is not None:
            raise ArgumentError("out_dims None is for what is the same for all examples", f"{v.shape}, which differs")
        if dim is None:
            yield v
        else:
            every = Var._of(batch.whole(v.node))
            axis = axis_of("vmap", dim, every.ndim, verb="answers")
            yield moveaxis(every, 0, axis) if axis else every


def _refuse_changes(batch: Batch, answer: list[Var]) -> None:
    """Raise if the function changed something outside of it, such as running statistics: which example would decide?"""
    own = {v.node for v in answer}
    changed = [v for v in riders() if v.node not in own and batch.of([v.node])[0] is not None]
    if changed:
        order = inputs_first([v.node for v in changed])
        for one in [n for n in order if n.op is EXAMPLE]:
            put_back(order, one)
        asked = "vmap takes a function that changes nothing outside of it"
        raise ArgumentError(asked, f"{short(changed[0])}, changed inside", "net.eval(), for running statistics")
