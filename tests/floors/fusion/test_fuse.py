"""Fusion: how many kernels does a graph become, what do they say, and when is one compiled?

The first table holds the graphs that were measured in Jittor 1.3.11, and how many kernels they became there: ours may
be fewer, never more. The second holds what this design promises beyond that. All of it is read from the trace.
"""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.base.context import rank_context
from jt_edu.codegen import loop_ir
from jt_edu.ir.node import needed
from jt_edu.runtime.plan import make_plan

pytestmark = pytest.mark.usefixtures("python_backend", "quiet")


def held(*vars):
    """Compute these together, as one asks for several results; the trace of it."""
    with jt.trace() as t:
        jt.sync(list(vars))
    return t


def matrix(rows=4, columns=3, seed=0):
    return jt.array(np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32))


def told(t):
    """What to print when there are too many kernels."""
    return "\n\n".join(k.source for k in t.kernels)


# ------------------------------------------------------------------------------------------------ measured in Jittor


def _relu_layer_gradients():
    x, w, b = matrix(5, 4), matrix(4, 3, 1), matrix(1, 3, 2).reshape(3)
    jt.sync([x, w, b])
    loss = jt.relu(x @ w + b).sum()
    return jt.grad(loss, [x, w])


def _shared_product():
    t = matrix() * matrix(seed=1)
    return [t + 1, t * 2]


def _kept_product():
    t = matrix() * matrix(seed=1)
    return [t, t + 1]


def _sum_and_max():
    e = jt.exp(matrix())
    return [e.sum(), e.max()]


def _broadcast_and_sum():
    t = jt.array([1.0, 2.0, 3.0]).broadcast((4, 3))
    return [t + 1, t.sum(0)]


def _pool():
    return (
        matrix(16, 16)
        .reshape(1, 1, 16, 16)
        .reindex((1, 1, 8, 8, 2, 2), lambda n, c, i, j, p, q: (n, c, i * 2 + p, j * 2 + q))
        .max((4, 5))
    )


JITTOR = (
    # (graph, how it is built, kernels in Jittor)
    ("a * b + c", lambda: matrix() * matrix(seed=1) + matrix(seed=2), 1),
    ("(a * b).sum()", lambda: (matrix() * matrix(seed=1)).sum(), 1),
    ("((a * b).sum() + 1) * a", lambda: ((matrix() * matrix(seed=1)).sum() + 1) * matrix(), 4),
    ("x - x.mean(1, keepdims)", lambda: (lambda x: x - x.mean(1, keepdims=True))(matrix()), 2),
    ("softmax over dim 1", lambda: jt.softmax(matrix(), 1), 3),
    ("t + 1 and t * 2 of t = a * b", _shared_product, 1),
    ("t = a * b and t + 1, both asked for", _kept_product, 2),
    ("matmul by broadcast, multiply, sum",
     lambda: (matrix(4, 5).broadcast((4, 5, 3), [2]) * matrix(5, 3).broadcast((4, 5, 3), [0])).sum(1), 1),
    ("relu(x @ w + b)", lambda: jt.relu(matrix(4, 5) @ matrix(5, 3) + jt.array([1.0, 2.0, 3.0])), 2),
    ("dX and dW of that", _relu_layer_gradients, 5),
    ("a.sum(0)", lambda: matrix().sum(0), 1),
    ("a.sum(1)", lambda: matrix().sum(1), 1),
    ("e.sum() and e.max() of e = exp(a)", _sum_and_max, 1),
    ("t + 1 and t.sum(0) of a broadcast t", _broadcast_and_sum, 1),
    ("a.transpose(1, 0) + b", lambda: matrix().transpose(1, 0) + matrix(3, 4), 1),  # fuse_transpose; plain transpose: 2
    ("2x2 max pool by reindex and max", _pool, 1),
    ("a[1:5] + 1", lambda: matrix(8, 3)[1:5] + 1, 2),
)  # fmt: skip


@pytest.mark.parametrize(("graph", "build", "most"), JITTOR, ids=[r[0] for r in JITTOR])
def test_a_graph_becomes_no_more_kernels_than_in_jittor(graph, build, most):
    built = build()

    t = held(*(built if isinstance(built, list) else [built]))

    assert 1 <= len(t.kernels) <= most, told(t)


def layer_norm(x, w, b):
    centred = x - x.mean(-1, keepdims=True)
    return centred / jt.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * w + b


def _batch_norm():
    x = matrix(6, 4)
    mean = x.mean(0, keepdims=True)
    return [mean, (x * x).mean(0, keepdims=True) - mean * mean]


def _cross_entropy():
    return jt.cross_entropy_loss(matrix(4, 3), jt.array([0, 2, 1, 1]))


DESIGN = (
    # (graph, how it is built, kernels that the design promises)
    ("(a * b + c).sum()", lambda: (matrix() * matrix(seed=1) + matrix(seed=2)).sum(), 1),
    ("softmax over the last axis", lambda: jt.softmax(matrix(4, 6)), 1),
    ("log_softmax over the last axis", lambda: jt.log_softmax(matrix(4, 6)), 1),
    ("softmax of three axes", lambda: jt.softmax(matrix(4, 6).reshape(2, 2, 6)), 1),
    ("layer norm over the last axis", lambda: layer_norm(matrix(4, 6), jt.ones(6), jt.zeros(6)), 1),
    ("the statistics of batch norm", _batch_norm, 1),
    ("x - x.mean over the last axis", lambda: (lambda x: x - x.mean(-1, True))(matrix()), 1),
    ("logsumexp over the last axis", lambda: jt.logsumexp(matrix(4, 6), -1), 1),
    ("argmax over the last axis", lambda: jt.argmax(matrix(4, 6), -1), 1),
    ("var over the last axis", lambda: matrix(4, 6).var(-1), 1),
    ("norm", lambda: jt.norm(matrix(), dim=1), 1),
    ("relu", lambda: jt.relu(matrix()), 1),
    ("gelu", lambda: jt.gelu(matrix()), 1),
    ("twenty operators in a row", lambda: (lambda x: [x := x * 1.5 + 1 for _ in range(10)][-1])(matrix()), 1),
    ("views in a row", lambda: matrix(6, 4).reshape(3, 2, 4).transpose(0, 2)[1:, ::-1].flip(0) * 2, 1),
    ("concat", lambda: jt.concat([matrix(), matrix() * 2, matrix() + 1]), 1),
    ("pad and crop", lambda: matrix().pad((1, -1, 2, 0)) + 1, 1),
    ("one_hot", lambda: jt.one_hot(jt.array([1, 0, 2]), 3), 1),
    ("gather", lambda: jt.gather(matrix(), 1, np.array([[0], [1], [2], [0]])) * 2, 1),
    ("zeros, arange and a Var", lambda: jt.arange(3).float() + jt.zeros(3) + matrix(), 1),
    ("random numbers and arithmetic", lambda: jt.rand(4, 3) * 2 - 1, 1),
    ("max pooling", lambda: jt.max_pool2d(matrix(16, 4).reshape(1, 1, 8, 8), 2), 1),
    ("mean pooling", lambda: jt.avg_pool2d(matrix(16, 4).reshape(1, 1, 8, 8), 2), 1),
    ("matmul", lambda: matrix(4, 5) @ matrix(5, 3), 1),
    ("batched matmul", lambda: matrix(6, 4).reshape(3, 2, 4) @ matrix(12, 2).reshape(3, 4, 2), 1),
)  # fmt: skip


@pytest.mark.parametrize(("graph", "build", "most"), DESIGN, ids=[r[0] for r in DESIGN])
def test_a_graph_becomes_as_few_kernels_as_the_design_promises(graph, build, most):
    built = build()

    t = held(*(built if isinstance(built, list) else [built]))

    assert len(t.kernels) == most, told(t)


def test_the_first_example_is_one_kernel_and_runs_when_it_is_asked_for():
    a, b, c = matrix(), matrix(seed=1), jt.array([1.0, 2.0, 3.0])
    with jt.trace() as t:
        y = (a * b + c).sum()

        assert t.kernels == []

        y.numpy()

    assert len(t.kernels) == 1
    np.testing.assert_allclose(y.item(), (a.numpy() * b.numpy() + c.numpy()).sum(), rtol=1e-5)


def test_its_gradient_is_one_kernel_more_at_most():
    a, b, c = matrix(), matrix(seed=1), jt.array([1.0, 2.0, 3.0])

    t = held(*jt.grad((a * b + c).sum(), [a, b, c]))

    assert len(t.kernels) <= 3, told(t)


def test_without_fusion_each_operator_is_a_kernel():
    with jt.flag_scope(fuse=False):
        t = held(matrix() * matrix(seed=1) + matrix(seed=2))

    assert len(t.kernels) == 2


def test_what_is_held_is_computed_once():
    t = matrix() * matrix(seed=1)
    y = t + 1
    y.sync()

    later = held(t * 2, t)

    assert len(later.kernels) == 1, told(later)
    assert "0 kernels" in repr(held(t))


def test_what_nobody_holds_is_not_stored():
    y = ((matrix() * 2 + 1) * 3).sum(1)

    t = held(y)

    assert [len(k.stored) for k in t.kernels] == [1]


def test_every_edge_between_operators_is_decided_and_says_why():
    x = matrix()
    with jt.trace() as t:
        jt.softmax(x @ x.transpose(0, 1)).sync()

    made = {b.id for b in t.built if b.op != "number"}
    edges = {(i, b.id) for b in t.built for i in b.inputs if i in made}

    assert edges == {(d.source, d.target) for d in t.decisions}
    assert all(d.rule and d.reason for d in t.decisions)


# ------------------------------------------------------------------------------------------- no shape is compiled twice

LENGTHS = (((4, 6), (7, 5)), ((4, 6), (32, 2)), ((3, 4), (4, 3)), ((5, 7), (9, 11)))
GENERIC = (
    ("a * b + c", lambda r, c: matrix(r, c) * matrix(r, c, 1) + matrix(r, c, 2)),
    ("(a * b + c).sum()", lambda r, c: (matrix(r, c) * matrix(r, c, 1) + matrix(r, c, 2)).sum()),
    ("a broadcast row", lambda r, c: matrix(r, c) + matrix(r, c)[0]),
    ("sum over the first axis", lambda r, c: matrix(r, c).sum(0)),
    ("sum over the last axis", lambda r, c: matrix(r, c).sum(1)),
    ("sum over the middle axis", lambda r, c: matrix(r * 2, c).reshape(r, 2, c).sum(1)),
    ("mean", lambda r, c: matrix(r, c).mean(1, True)),
    ("softmax", lambda r, c: jt.softmax(matrix(r, c))),
    ("softmax over the first axis", lambda r, c: jt.softmax(matrix(r, c), 0)),
    ("layer norm", lambda r, c: layer_norm(matrix(r, c), matrix(r, c)[0], matrix(r, c)[1])),
    ("cross entropy", lambda r, c: jt.cross_entropy_loss(matrix(r, c), jt.arange(r) % 2)),
    ("argmax", lambda r, c: jt.argmax(matrix(r, c), 1)),
    ("matmul", lambda r, c: matrix(r, c) @ matrix(c, r)),
    ("a perceptron", lambda r, c: jt.relu(matrix(r, c) @ matrix(c, r) + matrix(1, r)[0])),
    ("transpose", lambda r, c: matrix(r, c).transpose(0, 1) * 2),
    ("a slice", lambda r, c: matrix(r, c)[1:, :-1] + 1),
    ("flip", lambda r, c: matrix(r, c).flip(0) + 1),
    ("pad", lambda r, c: matrix(r, c).pad((1, 2)) + 1),
    ("concat", lambda r, c: jt.concat([matrix(r, c), matrix(r + 1, c)])),
    ("repeat", lambda r, c: matrix(r, c).repeat(2, 3)),
    ("gather", lambda r, c: matrix(r, c)[jt.array([1, 0, 1])]),
    ("assignment", lambda r, c: _assigned(matrix(r, c))),
    ("random numbers", lambda r, c: jt.rand(r, c) + 1),
    ("arange", lambda r, c: jt.arange(r * c).reshape(r, c) * 2),
    ("reshape", lambda r, c: matrix(r, c * 2).reshape(r, c, 2).transpose(1, 2) + 1),
    ("conv2d",
     lambda r, c: jt.conv2d(matrix(r * 8, c * 4).reshape(r, 2, 4, c * 4), matrix(6, 6).reshape(2, 2, 3, 3), padding=1)),
    ("max pooling", lambda r, c: jt.max_pool2d(jt.array(matrix(r * 4, c * 4).numpy().reshape(r, 1, 4, c * 4)), 2)),
    ("the gradient of softmax", lambda r, c: _gradient(lambda x: (jt.softmax(x) * x).sum(), matrix(r, c))),
    ("the gradient of a perceptron", lambda r, c: _gradient(lambda x: jt.relu(x @ matrix(c, r)).sum(), matrix(r, c))),
    ("the gradient of conv2d",
     lambda r, c: _gradient(
         lambda w: jt.conv2d(matrix(r * 8, c * 4).reshape(r, 2, 4, c * 4), w, padding=1).sum(),
         matrix(6, 6).reshape(2, 2, 3, 3))),
)  # fmt: skip


def _assigned(x):
    x[1:, 0] = 7
    return x


def _gradient(function, x):
    return jt.grad(function(x), x)


@pytest.mark.parametrize("long", [1, 1 << 60], ids=["in pieces", "whole"])
@pytest.mark.parametrize(("graph", "build"), GENERIC, ids=[r[0] for r in GENERIC])
def test_another_shape_compiles_nothing(graph, build, long, monkeypatch):
    """But once: where a row with conditions becomes so long that its loop is cut."""
    monkeypatch.setattr(loop_ir, "LONG", long)
    for first, second in LENGTHS:
        with rank_context():
            held(build(*first))

            t = held(build(*second))

        assert t.compiled == 0, f"{first} then {second}\n{told(t)}"


BATCHES = (2, 3, 8, 1)


SOME = ("softmax", "sum over the last axis", "a * b + c", "argmax", "conv2d", "max pooling")


@pytest.mark.parametrize(
    ("graph", "build"), [r for r in GENERIC if r[0] in SOME], ids=lambda r: r if isinstance(r, str) else ""
)
def test_a_batch_of_one_compiles_nothing_where_no_axis_is_broadcast(graph, build):
    held(build(4, 5))
    for batch in BATCHES:
        t = held(build(batch, 5))

        assert t.compiled == 0, f"batch {batch}\n{told(t)}"


def test_another_number_compiles_nothing():
    held(matrix() * 3 + 4)

    t = held(matrix() * 5.5 + 6)  # not inside of the assert: pytest would hold what is on the way

    assert t.compiled == 0


def test_the_same_graph_compiles_nothing_a_second_time_and_makes_no_plan():
    for _ in range(2):
        t = held(jt.softmax(matrix(4, 6)) @ matrix(6, 2))

    assert t.compiled == 0


def test_the_same_graph_gives_the_same_text_wherever_its_parts_lie_in_memory():
    x, classes = matrix(3, 4), jt.array([0, 1, 2])
    loss = jt.cross_entropy_loss(x, classes, reduction="none", label_smoothing=0.3)
    slope = jt.grad(loss.sum(), x)
    order = needed([loss.node, slope.node])
    wanted = {n for n in order if n.pending and n.holders}

    plans, between = [], []
    for count in range(20):
        plans.append(make_plan(order, wanted, True))
        between.append([object() for _ in range(count)])

    assert len({"".join(step.source.text for step in plan.steps) for plan in plans}) == 1


def test_a_plan_that_was_made_before_a_trace_was_opened_tells_its_decisions_too():
    def result(x):
        return (x * 2 + 1).sum() * 3

    def rules(t):
        return [(d.fused, d.rule) for d in t.decisions]

    with rank_context():
        result(matrix()).sync()
        late = held(result(matrix()))
    with rank_context():
        early = held(result(matrix()))

    assert rules(late) == rules(early) != []


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_two_expensive_values_of_one_operator_do_not_share_a_row(backend):
    """exp is read forwards and backwards by two loops of the same row; each needs numbers of its own."""
    x = np.random.default_rng(0).normal(size=(3, 4))
    e = np.exp(x)
    r = e[:, ::-1]

    with jt.flag_scope(backend=backend):
        e_, v = jt.array(x).exp(), None
        r_ = e_[:, ::-1]
        v = (e_ * r_) / (e_ + r_ * 2).max(1, keepdims=True)
        del e_, r_

        np.testing.assert_allclose(v.numpy(), (e * r) / (e + 2 * r).max(1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_an_index_array_is_looked_into_only_where_the_guard_around_it_lets_it(backend):
    with jt.flag_scope(backend=backend):
        c = jt.concat([jt.arange(4)[jt.array([0, 1, 3])], jt.array([9])])

        np.testing.assert_array_equal((c[1:] - c[:-1]).numpy(), [1, 2, 6])


def test_when_too_many_plans_are_known_the_one_unused_for_longest_goes(monkeypatch):
    made, make = [], jt.runtime.execute.make_plan
    monkeypatch.setattr(jt.runtime.execute, "PLANS", 3)
    monkeypatch.setattr(jt.runtime.execute, "make_plan", lambda *args: made.append(1) or make(*args))
    with rank_context() as context, jt.flag_scope(backend="python"):
        for n in (1, 2, 3, 1, 4, 5, 1, 4, 5, 2):
            (jt.ones(n) * 2).numpy()

        assert len(context.rank_state["plans"]) == 3
        assert len(made) == 6  # 1, 2, 3, 4, 5, and 2 once more: it had gone when 4 came


def test_a_full_kernel_is_cut_where_a_value_is_read_by_others_too():
    x, c, largest = matrix(), matrix(seed=1), []
    jt.sync([x, c])
    with jt.trace() as t:
        for k in range(60):
            c = (c - x) * (x + k)
            largest.append(c.max())
        jt.sync(largest)

    op = {b.id: b.op for b in t.built}
    full = {d.source for d in t.decisions if d.rule == "kernel full" or "(kernel full)" in d.reason}
    assert {op[k] for k in full} == {"multiply"}


def _episode(moments):
    """The gradient of a loop of so many moments, each with a small layer and the logarithm of a chance in it."""
    w, b = matrix(3, 2), matrix(2, 1).reshape(2)
    states = [matrix(1, 3, k) for k in range(moments)]
    jt.sync([w, b, *states])
    chosen = [jt.log_softmax(s @ w + b, 1)[0, k % 2] for k, s in enumerate(states)]
    return jt.grad(sum(-c for c in chosen), [w, b])


def test_a_loop_that_is_longer_by_one_is_made_of_kernels_that_are_known():
    known, fresh = set(), {}
    for moments in range(8, 30):
        sources = {k.source for k in held(*_episode(moments)).kernels}
        fresh[moments] = len(sources - known)
        known |= sources

    assert fresh[8] >= 3
    assert [fresh[moments] for moments in range(24, 30)] == [0] * 6  # by then a chain has ended in every length


def test_a_long_chain_is_cut_into_longer_parts_where_its_loops_are_long():
    def kernels(columns):
        x = y = matrix(4, columns).sync()
        for _ in range(60):
            y = y.sin() + x
        return len(held(y).kernels)

    assert (kernels(8), kernels(256)) == (4, 1)


@pytest.mark.parametrize("count", [3, 9])
def test_at_most_four_products_of_one_matrix_share_a_kernel(count):
    w, xs = matrix(3, 2), [matrix(4, 3, k) for k in range(count)]
    jt.sync([w, *xs])

    made = [k for k in held(*[x @ w for x in xs]).kernels if k.kind == "product"]

    assert [len(k.stored) for k in made] == [4] * (count // 4) + [count % 4]


def _ring(x, assignments):
    for k in range(assignments):
        x[k % 10] = x[(k + 1) % 10] + 1
    return x


def _fibonacci(x):
    for k in range(2, len(x)):
        x[k] = x[k - 1] + x[k - 2]
    return x


def test_the_text_of_pending_assignments_grows_with_their_number():
    lines = {n: sum(k.source.count("\n") for k in held(_ring(jt.zeros(10), n)).kernels) for n in (4, 8, 16, 32)}

    assert all(lines[n] <= 25 * n for n in lines)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_pending_assignments_give_the_numbers_of_numpy(backend):
    with jt.flag_scope(backend=backend):
        ring, fibonacci = _ring(jt.zeros(10), 32).numpy(), _fibonacci(jt.ones(30)).numpy()

    np.testing.assert_array_equal(ring, _ring(np.zeros(10, np.float32), 32))
    np.testing.assert_array_equal(fibonacci, _fibonacci(np.ones(30, np.float32)))


def test_what_many_ways_lead_to_is_stored_and_the_rule_says_so():
    x = jt.rand(2048)
    for k in range(7):
        x = x + x.roll(k + 1)

    assert "many ways" in {d.rule for d in held(x).decisions}


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_sums_of_one_number_each_are_read_by_the_next_loop_number_by_number(shape):
    x = jt.array(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))

    def alone(v):
        return v.reindex_reduce("add", shape, lambda *counters: counters)

    with jt.flag_scope(backend="python"):
        np.testing.assert_array_equal((alone(alone(x) * 2) + alone(x)).numpy(), x.numpy() * 3)
