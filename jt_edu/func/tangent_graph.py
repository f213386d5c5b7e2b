"""Tangent graph: how do the answers change when the inputs move in a direction?

    x, moving by t       ->      y = f(x), moving by J t             J: the Jacobian, which nobody writes down

The inputs come first, and then each node is asked how fast it moves. As for gradients, the answer is a graph beside
the graph, built by one rule for each of the three meta-operators:

    Reindex          reads the tangent where it reads x
    ReindexReduce    adds the tangents where it adds x
    Elementwise      multiplies the tangent by the derivative: so does its gradient rule, which is linear in `dout`

Everything else (maxima, products of many, kernels by hand, a Function of the learner's) has a gradient rule
u -> v = J* u. This rule is linear in u, so *its* gradient, seeded with t, is J t: going back twice leads forward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from operator import add

from jt_edu.base.context import current
from jt_edu.base.errors import GradientError
from jt_edu.ir.meta_ops import Elementwise, Op, Reindex, ReindexReduce
from jt_edu.ir.node import Node, age, behind, history, inputs_first, reached
from jt_edu.ir.scalar_ops import CONJ, MULTIPLY, SIGN
from jt_edu.variable.autograd import Tape, gradients
from jt_edu.variable.var import Var

Moves = dict[Node, list[Var]]  # the tangent of a node, as terms that add up to it


def tangents(outputs: Sequence[Var], inputs: Sequence[Var], directions: Sequence[Var]) -> list[Var | None]:
    """The tangent of each output while the inputs move in these directions; None where it does not depend on them.

    Raises:
        GradientError: on the way there is work whose gradient cannot be differentiated again.
    """
    moves: Moves = {x.node: [t.cast(x.dtype)] for x, t in zip(inputs, directions, strict=True)}
    order = sorted({n for y in outputs for n in history(y.node)}, key=age)
    reach = reached(order, set(moves), behind)
    moment = current().threads.now
    outer = moment.twin
    try:
        for node in order:
            if node in reach and node not in moves:
                moment.twin = node  # a tangent belongs to the line of what it is the tangent of
                terms = _terms(node, moves)
                if terms:
                    moves[node] = terms
    finally:
        moment.twin = outer
    return [_total(moves, y.node) if y.node in moves else None for y in outputs]


def _total(moves: Moves, node: Node) -> Var:
    moves[node] = _summed(moves[node])
    return moves[node][0]


def _terms(node: Node, moves: Moves) -> list[Var]:
    """How fast a node moves: terms that are to be added."""
    op, inputs = node.op, node.inputs
    if node.tape is not None:
        return _summed(_of_function(node, node.tape, moves))
    moving = [k for k, (i, rule) in enumerate(zip(inputs, op.gradients, strict=False)) if i in moves and rule]
    if not moving:
        return []
    if isinstance(op, Reindex):
        return [_again(_without_fill(op), node, _total(moves, inputs[0]))]
    if isinstance(op, ReindexReduce) and op.reducer == "add":  # of a product of matrices: two such products
        return _summed([_again(op, node, term) for term in moves[inputs[0]]])
    if op is MULTIPLY:
        return [_total(moves, inputs[k]) * Var._of(inputs[1 - k]) for k in moving]
    slopes = _slopes if isinstance(op, Elementwise) and _has_derivative(node, moving) else _twice
    return _summed([part for k in moving for part in slopes(node, k, _total(moves, inputs[k]))])


def _summed(terms: list[Var]) -> list[Var]:
    return [reduce(add, terms)] if terms else []


def _again(op: Op, node: Node, tangent: Var) -> Var:
    """The same reading, or adding, of tangents."""
    return Var._of(Node(op, (tangent.node, *node.inputs[1:]), node.shape, node.dtype))


@lru_cache(maxsize=1 << 14)
def _without_fill(op: Reindex) -> Reindex:
    """What is filled in does not move."""
    plain = op.fill in (None, 0) and op.within is None
    return op if plain else replace(op, fill=None if op.fill is None else 0, within=None)


def _has_derivative(node: Node, moving: list[int]) -> bool:
    """Whether it is a number by which one multiplies; |z| and conj(z) of a complex z have none."""
    alike = all(node.inputs[k].dtype.kind == node.dtype.kind for k in moving)
    return alike and (node.dtype.kind == "f" or node.op not in (CONJ, SIGN))


def _slopes(node: Node, k: int, tangent: Var) -> list[Var]:
    """The tangent times the derivative; a gradient rule multiplies by its conjugate."""
    rule, out = node.op.gradients[k], Var._of(node)
    assert rule is not None, "who asks has looked"
    slope = rule(out, tangent.cast(out.dtype).conj(), *map(Var._of, node.inputs))
    return [slope.conj().cast(out.dtype)]


def _twice(node: Node, k: int, tangent: Var) -> list[Var]:
    """The gradient, towards the tangent, of a gradient rule."""
    rule, u = node.op.gradients[k], _seed(node)
    assert rule is not None, "who asks has looked"
    return _back(rule(Var._of(node), u, *map(Var._of, node.inputs)), u, tangent, node)


def _of_function(node: Node, tape: Tape, moves: Moves) -> list[Var]:
    """The same for a Function: its own `grad` is the rule."""
    u = _seed(node)
    mine = [output() is node for output in tape.outputs]
    given = [u if is_it else Var._of(zeros()) for is_it, zeros in zip(mine, tape.zeros, strict=True)]
    found = zip(tape.sources, tape.backward(*given), strict=True)
    return [part for i, v in found if i in moves for part in _back(v, u, _total(moves, i), node)]


def _seed(node: Node) -> Var:
    """Some u of the shape of a node; its numbers do not matter, since what is differentiated is linear in it."""
    u = Var._of(node).zeros_like()
    u.node.tracked = True
    return u


def _back(v: Var | None, u: Var, tangent: Var, node: Node) -> list[Var]:
    """J t, if v = J* u."""
    if v is None:
        return []
    (found,) = gradients(v, [u], tangent.cast(v.dtype), allow_unused=True)
    if found is not None:
        return [found.cast(node.dtype)]
    if u.node in inputs_first([v.node]):
        asked = f"forward differentiation needs a gradient of {node.op.name} that has a gradient itself"
        raise GradientError(asked, "one that has none", "jt.func.vjp or jacrev, which go backwards").at(node.line)
    return []
