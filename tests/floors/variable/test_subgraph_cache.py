"""Templates: a copied graph is the graph that the function would have built, and what cannot be copied is built."""

import sys
from threading import Thread

import numpy as np
import pytest

import jt_edu as jt
import jt_edu.variable.subgraph_cache as jt_template
from jt_edu.ir.node import inputs_first
from jt_edu.variable.subgraph_cache import template

pytestmark = pytest.mark.usefixtures("python_backend")


def counted(function):
    """The function as a template, and how often its Python ran."""
    runs = []

    def body(*args, **named):
        runs.append(1)
        return function(*args, **named)

    return template(body), runs


def described(y, x):
    """Every node between x and y, without its number."""
    nodes = inputs_first([y.node])
    place = {n: k for k, n in enumerate(nodes)}
    return [
        (n.op, [place[i] for i in n.inputs], n.shape, n.dtype, n.tracked, n.data if n.op.kind == "source" else None)
        for n in nodes
        if n is not x.node
    ]


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_the_copied_graph_is_the_one_that_the_function_builds(shape):
    def plain(x):
        return (x * 2 + 1).relu().sum() / x.exp().sum()

    function, runs = counted(plain)
    function(jt.array(np.ones(shape, "float32")))
    x = jt.array(np.full(shape, 0.5, "float32"))

    copied = function(x)

    assert len(runs) == 1
    assert described(copied, x) == described(plain(x), x)


def test_a_copied_graph_gives_numbers_and_gradients_of_both_orders():
    function, runs = counted(lambda x, y: (x * x * y).sum())
    for k in (1.0, 2.0, 3.0):
        x, y = jt.array([k, 2 * k]), jt.array([3.0, 4.0])

        out = function(x, y)
        dx = jt.grad(out, x)
        ddx = jt.grad(dx.sum(), x)

        assert out.item() == 3 * k**2 + 16 * k**2
        np.testing.assert_array_equal(dx.numpy(), [6 * k, 16 * k])
        np.testing.assert_array_equal(ddx.numpy(), [6, 8])
    assert len(runs) == 1


def test_one_var_given_twice_is_another_kind_than_two_vars():
    function, _ = counted(lambda x, y: x * 10 + y)
    a, b = jt.array([1.0]), jt.array([2.0])

    found = [function(a, a).item(), function(a, b).item(), function(b, a).item(), function(b, b).item()]

    assert found == [11.0, 12.0, 21.0, 22.0]


PAIRS = [(0.0, -0.0), (1, True), (1, 1.0), ((1, 2), (1.0, 2.0)), ((1, 0), (True, False)), ((0.0, 1), (-0.0, 1)),
         (np.float32(0.0), np.float32(-0.0)), (0j, -0j), (0j, complex(0.0, -0.0))]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_arguments_that_are_equal_and_not_the_same_are_told_apart(one, other):
    seen = []

    @template
    def function(x, k):
        seen.append(repr(k))
        return x * 2

    for k in (one, other, one, other):
        function(jt.array([1.0]), k)

    assert seen == [repr(one), repr(other)]


def test_shapes_dtypes_names_and_no_grad_make_kinds_of_their_own():
    function, runs = counted(lambda x, k=1: x * k)
    x = jt.array([1.0, 2.0])

    assert function(x).requires_grad
    with jt.no_grad():
        assert not function(x).requires_grad
    assert not function(x.detach()).requires_grad
    assert str(function(x.double()).dtype) == "float64"
    assert function(x, k=2).tolist() == [2.0, 4.0]
    assert function(jt.array([[1.0]])).shape == (1, 1)
    assert len(runs) == 6


def test_random_numbers_are_drawn_anew_by_every_call():
    function, runs = counted(lambda x: x + jt.rand(3))
    x = jt.zeros(3)

    assert function(x).tolist() != function(x).tolist()
    assert len(runs) == 2


def test_a_var_from_elsewhere_is_read_anew_by_every_call():
    outside = {"now": jt.array([1.0])}
    function, _ = counted(lambda x: x + outside["now"] * 2)
    x = jt.array([0.0])
    assert function(x).item() == 2.0

    outside["now"] = jt.array([5.0])

    assert function(x).item() == 10.0


def test_what_is_handed_through_stays_the_same_var():
    function, _ = counted(lambda x, skip: x if skip else x * 2)
    x = jt.array([1.0])
    assert all(function(x, True) is x for _ in range(3))
    several, _ = counted(lambda x, y: (x * y, x))
    y = jt.array([2.0])
    for _ in range(3):
        product, same = several(x, y)
        assert (product.item(), same is x) == (2.0, True)


def test_a_gradient_of_ones_own_is_kept():
    class Tripled(jt.Function):
        def execute(self, x):
            return x * 1

        def grad(self, dout):
            return dout * 3

    function, _ = counted(lambda x: Tripled()(x) * 2)
    for _ in range(2):
        x = jt.array([1.0])
        assert jt.grad(function(x).sum(), x).item() == 6.0


def test_arguments_that_cannot_be_looked_up_build_the_graph_themselves():
    function, runs = counted(lambda x, shape: x.reshape(shape))
    for _ in range(2):
        assert function(jt.ones(4), [2, 2]).shape == (2, 2)
    assert len(runs) == 2


def test_a_mistake_is_an_error_each_time():
    function, runs = counted(lambda x: x.reshape(3))
    for _ in range(2):
        with pytest.raises(jt.ShapeError, match=r"\(4,\)") as error:
            function(jt.ones(4))
        assert error.value.__context__ is None
    assert len(runs) == 2


def test_a_copied_node_belongs_to_the_line_that_called():
    function, _ = counted(lambda x: x * 2)
    x = jt.array([1.0])
    function(x)
    here = function(x)  # this line
    assert "this line" in here.node.line


def test_a_trace_sees_the_copied_nodes():
    function, _ = counted(lambda x: (x * 2).sum())
    x = jt.array([1.0])
    function(x)
    with jt.trace() as t:
        function(x)
    assert [b.op for b in t.built] == ["number", "multiply", "sum"]


def test_several_answers_are_handed_out_as_a_tuple():
    function, runs = counted(lambda x: (x * 2, x + 1))
    for _ in range(2):
        a, b = function(jt.array([3.0]))
        assert (a.item(), b.item()) == (6.0, 4.0)
    assert len(runs) == 1


@pytest.mark.parametrize("call", [jt.mean, jt.std, jt.softmax, jt.argmax, jt.cumsum], ids=lambda f: f.__name__)
def test_a_var_in_place_of_a_number_is_read_each_time(call):
    x = jt.array([[1.0, 2.0], [3.0, 7.0]])

    for axis in (0, 1, 0):
        np.testing.assert_array_equal(call(x, jt.array(axis)).numpy(), call(x, axis).numpy())


# ------------------------------------------------------------------------------------------------------------- folded


def folded(var):
    return type(var.node.behind) is not tuple


def curve(x):
    return (x * 2 + 1).relu() / (x * x + 3)


@pytest.mark.parametrize("gradients", [jt.no_grad, jt.enable_grad])
def test_a_copy_is_one_node_until_somebody_looks(gradients):
    function, _ = counted(curve)
    with gradients():
        function(jt.array([0.5]))
        x = jt.array([0.25])
        copied = function(x)
        built = curve(x)

    assert folded(copied)
    assert described(copied, x) == described(built, x)
    assert not folded(copied)
    numbers = [n.id for n in inputs_first([copied.node])]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] < built.node.id


@pytest.mark.parametrize("run", [False, True])
def test_a_gradient_looks_behind_a_copy_that_was_run_or_not(run):
    function, _ = counted(curve)
    for number in (0.5, 0.25, -1.0):
        x = jt.array([number])
        copied, built = function(x), curve(x)
        if run:
            jt.sync([copied, built])

        found = jt.grad(copied.sum(), x)

        assert not folded(copied)
        assert found.item() == jt.grad(built.sum(), x).item()
        assert jt.grad(found.sum(), x).item() == jt.grad(jt.grad(built.sum(), x).sum(), x).item()


def test_what_led_to_a_copy_that_nobody_can_differentiate_is_forgotten():
    function, _ = counted(curve)
    for _ in range(3):
        x = jt.array([0.25])
        kept, lost = function(x), function(jt.array([0.75]))

        jt.sync([kept, lost])

        assert (bool(kept.node.behind), lost.node.behind) == (True, ())


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_folded_copies_are_computed_as_they_are_with_the_numbers_of_their_own_arrays(backend, rng):
    half, curved = counted(lambda v: v / 2 + 0.25)[0], counted(curve)[0]

    def net(x, y):
        h = curved(x) + half(y)
        return curved(h) * half(h) - half(h + 1), h

    with jt.flag_scope(backend=backend), jt.no_grad():
        for k in range(7):
            x, y = (rng.standard_normal((2, 3)).astype("float32") for _ in range(2))
            out, kept = net(jt.array(x), jt.array(y))
            if k % 2:
                del kept  # another structure: nobody holds what is on the way
            np.testing.assert_allclose(out.numpy(), numpy_net(x, y), rtol=1e-5)


def numpy_net(x, y):
    def curved(v):
        return np.maximum(v * 2 + 1, 0) / (v * v + 3)

    def half(v):
        return v / 2 + 0.25

    h = curved(x) + half(y)
    return curved(h) * half(h) - half(h + 1)


def test_one_graph_folded_in_part_and_whole_gives_the_same_numbers():
    function, _ = counted(curve)
    found = []
    with jt.no_grad():
        for k in range(6):
            first = function(jt.array([0.5, -2.0]))
            second = function(first)
            if k % 3 == 1:
                inputs_first([first.node])
            if k % 3 == 2:
                inputs_first([second.node])
            found.append(second.numpy().tolist())

    assert found == [found[0]] * 6


def test_a_graph_that_was_folded_is_explained_and_traced_as_any_other():
    function, _ = counted(curve)
    x = jt.array([0.5, -2.0])
    with jt.no_grad():
        for _ in range(2):
            function(x).sync()
        copied, built = function(x), curve(x)

    assert folded(copied)
    with jt.trace(values=True) as t:
        copied.sync()
    with jt.trace(values=True) as other:
        built.sync()

    assert [v.mean for v in t.values] == [v.mean for v in other.values]
    assert [(k.name, k.bytes, k.flops) for k in t.kernels] == [(k.name, k.bytes, k.flops) for k in other.kernels]
    assert t.built == []


def test_an_error_in_a_folded_copy_names_the_line_that_called(monkeypatch):
    function, _ = counted(lambda x: (x @ x) @ x)
    x = jt.array(np.ones((7, 7), "float32"))

    def net():
        copied = function(x)  # this one
        return copied, copied + 1

    with jt.no_grad():
        for _ in range(2):
            copied, y = net()
            y.sync()
        copied, y = net()
        assert folded(copied)
        monkeypatch.setattr("jt_edu.backends.PythonBackend.empty", lambda *_: 1 / 0)

        with pytest.raises(jt.KernelError, match="# this one"):
            y.sync()

    assert folded(copied)


def test_two_functions_that_end_alike_are_not_taken_for_each_other():
    twice, square = counted(lambda x: x * 2 + x)[0], counted(lambda x: x * x + x)[0]
    x = jt.array([3.0])

    with jt.no_grad():
        found = [(twice(x).item(), square(x).item()) for _ in range(3)]

    assert found == [(9.0, 12.0)] * 3


def test_what_checks_its_indices_is_not_folded():
    function, _ = counted(lambda x, k: x[k] * 2)
    x = jt.array([1.0, 2.0, 3.0])
    with jt.no_grad():
        for k in (0, 1, 2):
            assert function(x, jt.array([k])).item() == 2.0 * (k + 1)
        with pytest.raises(jt.RangeError, match="the index 7"):
            function(x, jt.array([7])).sync()


def test_asking_for_one_var_twice_among_others_gives_each_its_own_numbers():
    for _ in range(3):
        x = jt.array([1.0])
        a, b = x + 1, x + 2

        jt.sync([a, a, b, a])

        assert (a.item(), b.item()) == (2.0, 3.0)


def test_threads_that_ask_for_one_new_graph_at_once_all_get_its_numbers():
    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for n in range(51, 71):  # lengths that no other test has: each graph is planned
            function, _ = counted(curve)
            with jt.no_grad():
                wanted = function(jt.array(np.ones(n, "float32"))).tolist()
                copied, found = function(jt.array(np.ones(n, "float32"))), []
                threads = [Thread(target=lambda c=copied, f=found: f.append((c * 1).tolist())) for _ in range(4)]
                for t in threads:
                    t.start()
                for t in threads:
                    t.join()
            assert found == [wanted] * 4
    finally:
        sys.setswitchinterval(often)


def test_an_interrupt_while_a_copy_is_unfolded_costs_nothing(monkeypatch):
    function, _ = counted(curve)
    function(jt.array([0.5]))
    x = jt.array([0.25])
    copied, seen = function(x), []
    whole = jt_template.made

    def interrupted(*given):
        seen.append(1)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return whole(*given)

    monkeypatch.setattr(jt_template, "made", interrupted)
    with pytest.raises(KeyboardInterrupt):
        inputs_first([copied.node])

    assert described(copied, x) == described(curve(x), x)


def test_a_list_stays_a_list():
    function, _ = counted(lambda x: [x + 1, x + 2])

    assert [type(function(jt.array([1.0]))) for _ in range(3)] == [list] * 3


def test_a_number_that_a_function_casts_and_reads_is_read_each_time():
    function, _ = counted(lambda x, y: x.cast("float64") + y * x)
    y = jt.array([1.0])

    assert [function(y.sum().beside(number), y).item() for number in (2.0, 3.0, 4.0)] == [4.0, 6.0, 8.0]
