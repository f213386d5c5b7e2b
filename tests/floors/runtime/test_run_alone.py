"""One operator on arrays that are there: the shortest way does what the way of any graph does."""

import subprocess
import sys
import weakref
from functools import partial

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.base.context import rank_context
from jt_edu.ir.node import callers_line
from jt_edu.runtime import execute

OFTEN = execute.AGAIN + 3  # runs, after which the shortest way is taken


@pytest.fixture(params=["python", "numba"], autouse=True)
def backend(request):
    with rank_context(), jt.flag_scope(backend=request.param):  # nothing ran before
        yield request.param


@pytest.fixture
def searched(monkeypatch):
    """How often a plan was searched for in the way of any graph."""
    seen = []
    found = execute.recall
    monkeypatch.setattr(execute, "recall", lambda *given: seen.append(1) or found(*given))
    return seen


def row(*numbers, dtype="float32"):
    return jt.array(np.array(numbers, dtype))


def often(call, *kinds):
    """The answers to each kind of arguments, asked by turns until all of them take the shortest way."""
    return [[call(*kind).tolist() for kind in kinds] for _ in range(OFTEN)][-1]


def test_what_ran_before_is_not_searched_for_any_more(searched):
    x = row(1, 2)
    for k in range(OFTEN):
        assert (x + row(k, 0)).tolist() == [1 + k, 2]
    before = len(searched)

    assert (x + row(30, 5)).tolist() == [31, 7]

    assert len(searched) == before > 0


def test_the_same_array_twice_is_not_taken_for_two():
    x, y = row(1, 2), row(10, 20)

    assert often(lambda a, b: a - b, (x, y), (x, x), (y, x)) == [[-9, -18], [0, 0], [9, 18]]


def test_shapes_kinds_and_numbers_are_told_apart():
    x, whole = row(1, 2), row(1, 2, dtype="int32")
    table, double = row(1, 2).reshape(2, 1).sync(), row(1, 2, dtype="float64")

    found = often(lambda a, b: a * b, (x, 3), (x, 4.5), (whole, 3), (whole, x), (table, x), (double, double), (x, x))

    assert found == [[3, 6], [4.5, 9], [3, 6], [1, 4], [[1, 2], [2, 4]], [1, 4], [1, 4]]


def test_arrays_of_other_lengths_and_other_kinds_with_answers_of_one_kind_are_told_apart():
    arrays = [row(1, 2), row(1, 2, 3), row(1, 2, dtype="int32"), row(1, 2, 3, 4, dtype="uint8"), row(1, 2).cast("bool")]

    assert often(jt.sum, *[(v.sync(),) for v in arrays]) == [3, 6, 3, 10, 2]
    assert often(lambda v: v.double(), *[(v,) for v in arrays[:3]]) == [[1, 2], [1, 2, 3], [1, 2]]
    assert often(lambda v: v[:2], *[(v,) for v in arrays]) == [[1, 2], [1, 2], [1, 2], [1, 2], [True, True]]


def test_operators_and_functions_of_several_operators_are_told_apart():
    calls = [lambda v: v.exp(), lambda v: v.sin(), lambda v: jt.softmax(v, 0), lambda v: jt.softmax(v, 1), jt.silu]
    given = np.array([[0.5, -1.0], [2.0, 0.0]], "float32")
    x = jt.array(given)
    e = np.exp(given)
    wanted = [e, np.sin(given), e / e.sum(0), e / e.sum(1, keepdims=True), given / (1 + 1 / e)]

    for _ in range(OFTEN):
        for call, numbers in zip(calls, wanted, strict=True):
            np.testing.assert_allclose(call(x).numpy(), numbers, rtol=1e-5)


def test_without_inputs_the_shape_and_the_dtype_count():
    for _ in range(OFTEN):
        assert jt.arange(3).tolist() == [0, 1, 2]
        assert jt.arange(5).tolist() == [0, 1, 2, 3, 4]
        assert jt.index((2, 3), 1).tolist() == [[0, 1, 2]] * 2
        assert jt.index((3, 2), 1).tolist() == [[0, 1]] * 3


def test_a_gradient_flows_through_what_was_run_alone():
    for k in range(OFTEN):
        w = row(1.0 + k, 2.0)
        y = w.exp()
        y.sync()
        z = y * 3
        z.sync()

        assert np.allclose(jt.grad(z.sum(), w).numpy(), 3 * np.exp([1.0 + k, 2.0]))


def test_history_that_leads_nowhere_is_forgotten_and_other_history_is_kept():
    w, stopped = row(1, 2), row(3, 4).stop_grad()
    for _ in range(OFTEN):
        kept, lost, untracked = w.exp(), row(5, 6).exp(), stopped.exp()
        for v in (kept, lost, untracked):
            v.sync()

        assert [bool(v.node.inputs) for v in (kept, lost, untracked)] == [True, False, False]


def test_an_index_out_of_range_names_its_line_each_time():
    x = row(1, 2, 3)
    for _ in range(OFTEN):
        assert x[jt.array([2, 0])].tolist() == [3, 1]
    for _ in range(2):
        with pytest.raises(jt.RangeError, match=r"the index 9(.|\n)*# nine"):
            x[jt.array([9, 0])].sync()  # nine

    assert x[jt.array([1, 1])].tolist() == [2, 2]


def test_another_flag_asks_for_another_plan(searched, backend):
    x = row(1, 4)
    for _ in range(OFTEN):
        jt.softmax(x).sync()
    for other in ({"fuse": False}, {"backend": "numba" if backend == "python" else "python"}):
        before = len(searched)

        with jt.flag_scope(**other):
            np.testing.assert_allclose(jt.softmax(x).numpy(), [0.0474, 0.9526], atol=1e-4)

        assert len(searched) == before + 1


def test_a_message_that_is_due_travels_with_it():
    x, other = row(1, 2), row(5, 7)
    for _ in range(OFTEN):
        (x + 1).sync()
        due = other * 2
        execute.current().due.append(due.node)

        assert (x + 1).tolist() == [2, 3]
        assert not due.node.pending


def test_while_a_step_is_captured_nothing_runs():
    x = row(1, 2)
    for _ in range(OFTEN):
        (x + 1).sync()
    step = jt.compile(lambda v: (v + 1).sync() * 2)

    assert [step(x).tolist() for _ in range(4)] == [[4, 6]] * 4


def test_a_function_that_runs_alone_keeps_no_history_alive():
    class Own(jt.Function):
        def execute(self, x):
            return (x * 0.5).sync()

        def grad(self, dout):
            return dout * 0.5

    x, nodes = row(1, 2), []
    for _ in range(4 * OFTEN):
        x = Own.apply(x)
        x.sync()
        nodes.append(weakref.ref(x.node))

    assert sum(ref() is not None for ref in nodes) <= 2


def test_the_allocator_in_charge_makes_room_for_what_is_small_too():
    x = row(1, 2)
    for _ in range(OFTEN):
        (x + 1).sync()

    with jt.allocator(jt.TracingAllocator()) as seen:
        (x + 1).sync()
    (x + 1).sync()

    assert [(a.bytes, "test_run_alone.py" in a.line) for a in seen.allocations] == [(8, True)]


def test_the_line_of_a_value_is_the_one_that_asked_for_it_however_it_is_built():
    x = row(1, 2)
    built = {
        "operator": x + x, "number": 2 * x, "method": x.exp(), "function": jt.silu(x), "folded": jt.softmax(x, 0),
        "copied": [jt.softmax(x, 0) for _ in range(3)][-1], "three": jt.where(x > 1, x, 0), "item": x[0],
    }  # fmt: skip

    for name, y in built.items():
        assert f'"{name}"' in y.node.line, name


def test_a_node_that_is_made_at_the_top_of_a_program_has_a_line():
    program = "from jt_edu.base.dtypes import float32\nfrom jt_edu.ir.meta_ops import SOURCE\n"
    program += "from jt_edu.ir.node import Node\n"
    program += "print(Node(SOURCE, (), (), float32).where[0].co_name)"

    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "<module>"


def test_a_subclass_of_the_usual_allocator_is_asked_for_what_is_small_too():
    class Mine(jt.CachingAllocator):
        asked = 0

        def empty(self, shape, dtype):
            self.asked += 1
            return super().empty(shape, dtype)

    x = row(1, 2)
    with jt.allocator(Mine()) as mine:
        for _ in range(OFTEN):
            (x + 1).sync()

    assert mine.asked == OFTEN


def test_a_line_is_found_where_nobody_else_led_here():
    told = []
    call = partial(callers_line, 10_000)  # more callers than there are

    told.append(call())

    assert told[0][0].co_name == "test_a_line_is_found_where_nobody_else_led_here"
