"""A plan that is written down as Python does what the executor does with its steps."""

import math
import threading

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import backends
from jt_edu.base.allocator import LARGE
from jt_edu.base.context import current
from jt_edu.ir.meta_ops import HostCall
from jt_edu.ir.node import Node
from jt_edu.runtime import execute
from jt_edu.runtime.plan import read_slot
from jt_edu.runtime.plan_source import OWNED, Script

pytestmark = pytest.mark.usefixtures("python_backend")


def planned(*wanted):
    """The nodes behind some Vars, a compiled plan for them, and the page."""
    context = current()
    order = execute.needed([v.node for v in wanted])
    plan = execute.plan_for(order, [v.node for v in wanted], context)
    backend = backends.get(context.flags.backend)
    execute.compile_plan(plan, backend)
    return order, plan, Script(plan, backend)


def both_ways(*wanted):
    """What the executor computes, and what the page computes when it is run twice."""
    order, plan, script = planned(*wanted)
    slots = [order.index(v.node) for v in wanted]
    answers = []
    for run in (execute.run_plan, *[lambda *_: None] * 2):
        arrays = run(plan, order, current())
        if arrays is None:
            arrays = [n.data for n in order]
            script(arrays, order)
        answers.append([read_slot(plan, arrays, s) for s in slots])
    return answers, script


def on_host(run, x):
    """A node that NumPy computes."""
    return jt.Var._of(Node(HostCall("told", run), (x.node,), x.shape, x.dtype))


def weights():
    return jt.array(np.random.default_rng(0).standard_normal((4, 1, 3, 3)).astype("float32"))


def image(x):
    """A picture that is made of x (3, 4), of float32."""
    return x.reshape(1, 1, 3, 4).float().tile(2, 1, 6, 5)


GRAPHS = {
    "one kernel": lambda x: [x * 2 + 1],
    "a product between loops": lambda x: [((x + 1) @ (x + 2).transpose(0, 1)).exp().sum()],
    "scratch and reductions": lambda x: [(x * x).sum(0), x.softmax(1).sum(0)],
    "reshapes of temporaries": lambda x: [((x @ x.transpose(0, 1)).reshape(-1) * 2).cumsum(0).reshape(3, 3)],
    "reshapes that are kept": lambda x: [x.reshape(4, 3), (x @ x.transpose(0, 1)).reshape(9)],
    "half floats": lambda x: [(x.half().cumsum(0) * 2).sum(1), x.bfloat16().cumsum(0) + 1],
    "temporaries of halves": lambda x: [(x.half() @ x.half().transpose(0, 1)).exp()],
    "index arrays": lambda x: [x[jt.array([0, 2])].sum(1)],
    "numpy's work": lambda x: [on_host(lambda a: a[::-1], x * 2) + 1],
    "numpy's answer is its input": lambda x: [on_host(lambda a: a, x * 2), (x * 3) @ jt.array(np.eye(4))],
    "scratch in pieces": lambda x: [(x.reshape(-1).repeat(3000) * 1.5).reshape(2, -1).sum(0)],
    "convolutions": lambda x: [jt.conv2d(image(x), weights()).relu().sum((0, 2, 3)), image(x).sum()],
    "a convolution that is prepared": lambda x: [jt.conv_transpose2d(image(x), weights()[:1])],
    "a convolution of a view": lambda x: [jt.conv2d(image(x)[:, :, ::2], weights()).exp()],
    "sums of a convolution": lambda x: [jt.nn.functional.batch_norm(jt.conv2d(image(x), weights()), training=True)],
    "a gradient": lambda x: jt.grad((x.tanh() @ x.transpose(0, 1)).sum(), [x]),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("backend", ["python", "numba"])
def test_the_page_computes_what_the_steps_compute(name, backend, rng):
    with jt.flag_scope(backend=backend):
        (expected, *found), _ = both_ways(*GRAPHS[name](jt.array(rng.standard_normal((3, 4)))))

    for answers in found:
        for a, b in zip(expected, answers, strict=True):
            np.testing.assert_array_equal(a, b)


def test_answers_of_one_run_are_not_touched_by_the_next():
    step = jt.compile(lambda x: ((x @ x).reshape(4), x @ x + 1))
    answers = [step(np.full((2, 2), k)) for k in (1.0, 2.0, 3.0)]

    assert [(a.tolist(), b.tolist()) for a, b in answers] == [
        ([2.0 * k * k] * 4, [[2.0 * k * k + 1] * 2] * 2) for k in (1.0, 2.0, 3.0)
    ]


def test_small_temporaries_are_made_once_and_share_memory_when_one_is_read_no_more():
    x = jt.array(np.eye(2))
    y = x
    for _ in range(6):
        y = y @ x
    _, plan, script = planned(y)

    rooms = [line for line in script.text.splitlines() if "room(" in line]
    own = {id(memory) for memory in script._own.values()}
    assert (len(plan.steps), len(rooms), len(own)) == (6, 1, 2)


def test_a_large_temporary_is_lent_anew_in_each_run():
    n = math.ceil((OWNED / 8) ** 0.5)
    x = jt.array(np.zeros((n, n)))
    smaller = jt.array(np.zeros((n - 1, n - 1)))

    assert planned((x @ x) @ x)[2].text.count("room(") == 2
    assert planned((smaller @ smaller) @ smaller)[2].text.count("room(") == 1


def test_a_run_that_finds_the_temporaries_taken_has_its_own():
    x = jt.array([[1.0, 2.0], [3.0, 4.0]])
    order, plan, script = planned((x @ x) @ x)
    arrays = [n.data for n in order]

    with script._busy:
        script(arrays, order)

    np.testing.assert_array_equal(arrays[plan.keep[0]], x.numpy() @ x.numpy() @ x.numpy())


def test_threads_that_replay_one_step_do_not_meet():
    step = jt.compile(lambda x: ((x @ x) @ x).sum())
    wrong = []

    def work(k):
        a = np.full((8, 8), k)
        wrong.extend(k for _ in range(50) if step(a).item() != ((a @ a) @ a).sum())

    workers = [threading.Thread(target=work, args=(float(k),)) for k in range(1, 4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()

    assert not wrong


def test_an_error_in_a_kernel_names_the_line_in_a_replay_too(monkeypatch):
    step = jt.compile(lambda x: ((x @ x) + 1).exp())
    x = np.ones((2, 2))
    step(x)
    step(x)
    ((replay,),) = step.replays.values()

    def broken(*_):
        raise ZeroDivisionError("on purpose")

    after = replay.plan.steps[1]
    monkeypatch.setattr(after, "program", after.program._replace(call=broken))
    with pytest.raises(jt.KernelError, match=r"on purpose[\s\S]*test_plan_source.py:\d+: step = jt.compile"):
        step(x)
    monkeypatch.undo()
    assert step(x).tolist() == np.exp(x @ x + 1).tolist()


@pytest.mark.parametrize("n", [4, 1_000_000])
def test_a_kernel_put_in_the_place_of_another_runs_at_once_and_goes_when_it_is_taken_back(n):
    with jt.flag_scope(backend="numba"):
        step = jt.compile(lambda x: x + 1)
        twin, x = jt.compile(lambda x: x * 3), np.ones(n)
        assert [step(x).max().item(), step(x).max().item(), twin(x).max().item()] == [2, 2, 3]
        (mine,), (theirs,) = (r.plan.steps for s in (step, twin) for (r,) in s.replays.values())
        own, mine.program = mine.program, theirs.program._replace()

        changed = step(np.full(n, 5.0)).max().item()
        mine.program = own

    assert (changed, step(np.full(n, 5.0)).max().item()) == (5, 6)


def test_too_little_memory_is_told_with_the_line(monkeypatch):
    step = jt.compile(lambda x: x + 1)
    x = np.ones(LARGE)
    step(x)
    step(x)
    ((replay,),) = step.replays.values()

    def full(*_):
        raise MemoryError("full")

    monkeypatch.setitem(replay.script._space, "room", full)
    with pytest.raises(MemoryError, match=r"shape \(65536,\)[\s\S]*test_plan_source.py"):
        step(x)


def test_an_allocator_that_hands_out_nonsense_is_told_with_the_line():
    class Wrong:
        def empty(self, shape, dtype):
            return np.empty((*shape, 2), dtype)

    step = jt.compile(lambda x: x + 1)
    step(np.ones(3))
    step(np.ones(3))

    with jt.allocator(Wrong()), pytest.raises(jt.ArgumentError, match=r"\(3, 2\)[\s\S]*test_plan_source.py"):
        step(np.ones(3))


def test_an_index_out_of_range_names_its_own_line_once():
    step = jt.compile(lambda x, k: x[k] * 2)
    step(np.ones(3), np.array([0]))
    step(np.ones(3), np.array([0]))

    with pytest.raises(jt.RangeError, match="the index 7") as caught:
        step(np.ones(3), np.array([7]))

    assert str(caught.value).count("test_plan_source.py") == 1


def test_the_allocator_in_charge_makes_room_for_what_outlives_the_run():
    step = jt.compile(lambda x: (x @ x) + 1)
    x = np.ones((2, 2))
    step(x)
    step(x)

    with jt.allocator(jt.TracingAllocator()) as seen:
        step(x)

    assert [(a.bytes, "step(x)" in a.line) for a in seen.allocations] == [(32, True)]


def ran(count, build, *given):
    """The answers of a graph that is built and run so often, and its plan."""
    answers = []
    for _ in range(count):
        y = build(*given)
        order = execute.needed([y.node])
        plan = execute.plan_for(order, [y.node], current())
        answers.append(y.numpy(copy=True))
    return answers, plan


@pytest.mark.parametrize("name", [name for name in GRAPHS if "numpy" not in name])  # those are another graph each time
def test_a_plan_that_ran_a_few_times_is_written_down_and_computes_the_same(name, rng):
    x = jt.array(rng.standard_normal((3, 4)))

    answers, plan = ran(execute.AGAIN + 2, lambda: GRAPHS[name](x)[0])

    assert plan.page is not None
    for a in answers[1:]:
        np.testing.assert_array_equal(a, answers[0])


def test_the_page_of_a_plan_owns_no_memory_and_serves_all_threads_at_once():
    x = jt.array([[1.0, 2.0], [3.0, 4.0]])
    _, plan = ran(execute.AGAIN, lambda: (x @ x) @ x)

    assert plan.page._own == {}
    assert plan.page.text.count("room(") == 2
    with plan.page._busy:
        assert ran(1, lambda: (x @ x) @ x)[0][0].tolist() == (x.numpy() @ x.numpy() @ x.numpy()).tolist()


def test_a_page_that_owns_no_memory_lends_it_to_its_convolutions_and_takes_it_back():
    x, w = jt.array(np.ones((2, 24, 12, 12), "float32")), jt.array(np.ones((24, 24, 5, 5), "float32"))
    _, plan = ran(execute.AGAIN, lambda: jt.grad(jt.conv2d(x, w).exp().sum(), [x])[0])

    text = plan.page.text
    assert [step.kind for step in plan.steps].count("convolution") == 2
    assert "do(" not in text
    assert "p = room(" in text and "p = None" in text


def test_a_run_by_the_page_looks_at_the_programs_and_names_the_line_of_an_error(monkeypatch):
    x = jt.array([1.0, 2.0])
    _, plan = ran(execute.AGAIN, lambda: x * 3 + 1)

    def broken(*_):
        raise ZeroDivisionError("on purpose")

    (step,) = plan.steps
    monkeypatch.setattr(step, "program", step.program._replace(call=broken))
    with pytest.raises(jt.KernelError, match=r"on purpose[\s\S]*test_plan_source.py:\d+: ran\(1, lambda: x"):
        ran(1, lambda: x * 3 + 1)


def test_who_watches_sees_every_kernel_of_a_plan_that_is_written_down():
    x = jt.array([1.0, 2.0])
    ran(execute.AGAIN + 1, lambda: x * 5 - 1)

    with jt.trace() as t:
        ran(1, lambda: x * 5 - 1)

    assert len(t.kernels) == 1
