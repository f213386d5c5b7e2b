"""Derivatives: transforms of functions, and PyTorch's autograd.functional."""

import numpy as np

import jt_edu as jt
from jt_edu import func, nn
from jt_edu.autograd import functional
from tests.arguments.inputs import some
from tests.arguments.rows import Row, refuses, shows

X, TABLE = some(3), some(2, 3)
NET = nn.Linear(3, 2)
NAMES = ("jacobian", "hessian", "vjp", "jvp", "vhp", "hvp")


def x() -> jt.Var:
    return jt.array(X)


def table() -> jt.Var:
    return jt.array(TABLE)


def built(call) -> list[int]:
    """The rows of each running sum that a call builds."""
    with jt.trace() as seen:
        call()
    return [n.shape[0] for n in seen.built if n.op == "cumsum"]


def sums(v):
    return jt.cumsum(v, 0)


def last(v):
    """A number made of three, by way of a running sum."""
    return (sums(v)[2] ** 3).sum()


def doubly(v):
    """(answer, what else there is to say)."""
    return (v * v).sum(), v * 3


def drawn(**given):
    """How many different numbers three examples draw."""
    return len(np.unique(jt.vmap(lambda v: v + jt.rand(), **given)(jt.zeros(3)).numpy()))


BATCHES = [
    *shows(jt.vmap, "in_dims", 1, lambda **k: jt.vmap(jt.sum, **k)(table()), TABLE.sum(0)),
    *shows(jt.vmap, "out_dims", 1, lambda **k: jt.vmap(jt.square, **k)(table()), (TABLE**2).T),
    *shows(jt.vmap, "randomness", "different", drawn, 3),
    *shows(jt.vmap, "chunk_size", 1, lambda **k: max(built(lambda: jt.vmap(sums, **k)(table()))), 1),
]


def second(make, **given):
    """A derivative by the first or the second of two arguments."""
    function = (lambda a, b: a**3 + b**2) if make in (func.jacrev, func.jacfwd) else lambda a, b: (a**3 + b**2).sum()
    found = make(function, **given)(x(), x())
    return found[0] if make is func.grad_and_value else found


def told(make, **given):
    """What else a function has to say."""
    if make in (func.vjp, func.linearize):
        return make(doubly, x(), **given)[-1 if given else 0]
    if make is func.jvp:
        return make(doubly, (x(),), (x(),), **given)[-1 if given else 0]
    found = make(doubly, **given)(x())[1]
    return found[1] if make is func.grad_and_value else found


ROW, SQUARE = 2 * X, 2 * np.diag(X)
FACTS = {func.grad: ROW, func.grad_and_value: ROW, func.jacrev: SQUARE, func.jacfwd: SQUARE,
         func.hessian: 2 * np.eye(3)}  # fmt: skip
SPEAK = (func.grad, func.grad_and_value, func.jacrev, func.jacfwd, func.vjp, func.jvp, func.linearize)
TRANSFORMS = [
    *[row for m, fact in FACTS.items() for row in shows(m, "argnums", 1, lambda m=m, **k: second(m, **k), fact)],
    *[row for make in SPEAK for row in shows(make, "has_aux", True, lambda m=make, **k: told(m, **k), X * 3)],
    *shows(func.jacrev, "chunk_size", 2, lambda **k: max(built(lambda: func.jacrev(sums, **k)(x()))), 2),
]  # fmt: skip


class Scaled(nn.Module):
    def __init__(self):
        self.scale = jt.array(1.0)

    def execute(self, x=1.0):
        return self.scale * x


def doubled(**given):
    """What a module answers whose parameter is 2."""
    return func.functional_call(Scaled(), {"scale": jt.array(2.0)}, **given).item()


def tied(**given):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    func.functional_call(net, {"0.weight": jt.ones(2, 2)}, jt.ones(1, 2), **given)


NETWORKS = [
    *shows(func.functional_call, "args", 3.0, doubled, 6.0),
    *shows(func.functional_call, "kwargs", {"x": 3.0}, doubled, 6.0),
    *refuses(func.functional_call, "tie_weights", False, tied),
    *refuses(
        func.functional_call, "strict", True, lambda **k: func.functional_call(NET, {}, jt.ones(1, 3), **k)
    ),
]  # fmt: skip


def answer(name, function, *vector, **given):
    """What autograd.functional answers about a function, and not what that answers."""
    found = getattr(functional, name)(function, x() * 1, *vector, **given)
    return found if name in NAMES[:2] else found[1]


def connected(name, **given):
    vector = [] if name in NAMES[:2] else [x()]
    return answer(name, sums if name in ("vjp", "jvp", "jacobian") else last, *vector, **given).requires_grad


def independent(name, **given):
    """A function that does not depend on its input."""
    return answer(name, lambda v: jt.ones(1), *([] if name in (*NAMES[:2], "vjp") else [x()]), **given)


def of_one(name, **given):
    """At a single number the vector may be left out."""
    return getattr(functional, name)(lambda v: v**3, jt.array(1.0), **given)[1].item()


PLACES = [
    *[row for name in NAMES for row in shows(
        getattr(functional, name), "create_graph", True, lambda n=name, **k: connected(n, **k))],
    *[row for name in NAMES for row in refuses(
        getattr(functional, name), "strict", True, lambda n=name, **k: independent(n, **k))],
    *[row for name, fact in zip(NAMES[2:], (6.0, 6.0, 12.0, 12.0), strict=True) for row in shows(
        getattr(functional, name), "v", jt.array(2.0), lambda n=name, **k: of_one(n, **k), fact)],
    *shows(functional.jacobian, "vectorize", True, lambda **k: max(built(lambda: answer("jacobian", sums, **k))), 3),
    *shows(functional.hessian, "vectorize", True, lambda **k: max(built(lambda: answer("hessian", last, **k))), 3),
    *shows(functional.jacobian, "strategy", "forward-mode",  # three numbers move, one is answered
           lambda **k: len(built(lambda: answer("jacobian", last, **k))) > 2),
    *shows(functional.hessian, "outer_jacobian_strategy", "forward-mode",
           lambda **k: len(built(lambda: answer("hessian", last, **k))) > 8),
]  # fmt: skip

ROWS: list[Row] = [*BATCHES, *TRANSFORMS, *NETWORKS, *PLACES]
