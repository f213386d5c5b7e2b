"""Plans that are run again on a GPU: one graph in place of many launches, and the same numbers."""

import gc
import threading
import time

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import cuda
from jt_edu.codegen.emit_python import Source
from jt_edu.cuda import graphs
from jt_edu.cuda.repeated_plan import Piece
from jt_edu.runtime.plan import living
from tests.floors.cuda.fake_driver import FakeLibrary
from tests.floors.cuda.test_backend import GRAPHS

RUNS = 6
ADD, READY, CHANGE, LAUNCH = (
    "cuGraphAddKernelNode_v2", "cuGraphInstantiateWithFlags", "cuGraphExecKernelNodeSetParams_v2", "cuGraphLaunch"
)  # fmt: skip


def numbers(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype("float32")


def two_kernels(x):
    """Two kernels, the first of which has two launches: sums of rows, those of columns, and what is made of them."""
    return jt.nn.softmax(x, 1).sum(0) * 3


def each_run(graph, library=None):
    """The numbers of some runs on arrays of their own; what they asked the driver for."""
    found, calls = [], []
    for run in range(RUNS):
        xs = [jt.array(numbers(5, 7, seed=run + k)) for k in range(2)]
        before = len(library.calls) if library else 0
        found.append(graph(*xs).numpy())
        calls.append(library.calls[before:] if library else [])
    return found, calls


@pytest.mark.parametrize("flag", [True, False], ids=["as a graph", "one by one"])
@pytest.mark.parametrize("name", GRAPHS)
def test_each_run_of_a_plan_gives_a_cpus_numbers(gpu, name, flag):
    expected, _ = each_run(GRAPHS[name])

    with jt.flag_scope(use_cuda=1, cuda_graphs=flag):
        found, _ = each_run(GRAPHS[name])

    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def test_from_its_fourth_run_on_a_plan_is_launched_as_one_graph(gpu):
    jt.flags.use_cuda = 1
    _, calls = each_run(lambda x, y: two_kernels(x + y), gpu)

    assert [(run.count("cuLaunchKernel"), run.count(LAUNCH)) for run in calls] == [(3, 0)] * 3 + [(0, 1)] * 3
    assert calls[3].count(ADD) == 3


def test_without_the_flag_no_graph_is_made(gpu):
    with jt.flag_scope(use_cuda=1, cuda_graphs=False):
        _, calls = each_run(lambda x, y: two_kernels(x + y), gpu)

    assert not [call for run in calls for call in run if "Graph" in call]
    assert [run.count("cuLaunchKernel") for run in calls] == [3] * RUNS


def test_one_kernel_is_launched_as_it_was(gpu):
    jt.flags.use_cuda = 1
    _, calls = each_run(lambda x, y: x * y, gpu)

    assert [(run.count("cuLaunchKernel"), run.count(LAUNCH)) for run in calls] == [(1, 0)] * RUNS


def test_numbers_of_a_graph_are_those_of_the_run(gpu):
    factors = (2.0, 3.0, 3, 0.0, -0.0, 1e30, float("nan"), 1, 0.0, -0.0, 2, 5, 1e-30)
    x = jt.array(numbers(5, 7)).cuda().sync()
    found = [(jt.nn.softmax(x, 1).sum(0) * k).numpy() for k in factors]

    for k, ours in zip(factors, found, strict=True):
        expected = np.float32(k) * jt.nn.softmax(jt.array(numbers(5, 7)), 1).numpy().sum(0)
        np.testing.assert_allclose(ours, expected, rtol=1e-5)
        assert np.array_equal(np.signbit(ours), np.signbit(expected))


def test_an_explanation_and_a_trace_say_how_kernels_are_launched(gpu):
    jt.flags.use_cuda = 1
    x = jt.array(numbers(5, 7))
    for _ in range(RUNS):
        two_kernels(x).sync()
    with jt.trace() as trace:
        two_kernels(x).sync()
    said = "After 3 runs all kernels are launched at once, as a CUDA graph; while a trace is open, each by itself."

    assert gpu.calls[-2:] == ["cuLaunchKernel"] * 2
    assert said in repr(trace)
    assert said in jt.explain(two_kernels(x)).text
    assert "2 of 4 kernels" in jt.explain(two_kernels(jt.sort(x * 2)[0])).text
    assert "Each kernel is launched by itself." in jt.explain(x * 2).text
    with jt.flag_scope(cuda_graphs=False):
        assert "Each kernel is launched by itself: jt.flags.cuda_graphs is False." in jt.explain(two_kernels(x)).text
    jt.flags.use_cuda = 0
    assert "launched" not in jt.explain(two_kernels(jt.array(numbers(5, 7)))).text


@pytest.mark.parametrize("compiled", [True, False], ids=["jt.compile", "as written"])
def test_random_numbers_go_on_as_those_of_a_cpu(gpu, compiled):
    def drawn():
        jt.set_global_seed(5)
        draw = lambda x: jt.nn.softmax(jt.rand(2, 3) + x, 1).sum(0) * jt.rand(3)  # noqa: E731
        draw, x = jt.compile(draw) if compiled else draw, jt.ones((2, 3))
        return [draw(x).numpy() for _ in range(RUNS)]

    expected = drawn()
    jt.flags.use_cuda = 1
    found = drawn()

    assert LAUNCH in gpu.calls
    np.testing.assert_allclose(found, expected, rtol=1e-5)


# ----------------------------------------------------------------------------------------------------------- training


def training(optimizer=jt.optim.SGD, compiled=True, keep=True, steps=12):
    """The losses of some steps, of which the last one or all are held."""
    jt.set_global_seed(3)
    net = jt.nn.Sequential(jt.nn.Linear(6, 5), jt.nn.ReLU(), jt.nn.Linear(5, 3))
    chosen, losses = optimizer(net.parameters(), 0.1), []
    images, labels = jt.array(numbers(4, 6)), jt.array([0, 1, 2, 0])

    def step(x, y):
        loss = jt.nn.cross_entropy_loss(net(x), y)
        chosen.step(loss)
        return loss

    step = jt.compile(step) if compiled else step
    for _ in range(steps):
        losses[0 if keep else -1 :] = [*losses, step(images, labels)][0 if keep else -1 :]
    return [loss.item() for loss in losses]


@pytest.mark.parametrize("compiled", [True, False], ids=["jt.compile", "as written"])
@pytest.mark.parametrize("optimizer", [jt.optim.SGD, jt.optim.Adam])
def test_a_network_trains_with_a_cpus_losses_though_its_arrays_move(gpu, optimizer, compiled):
    expected = training(optimizer, compiled)

    jt.flags.use_cuda = 1
    found = training(optimizer, compiled)

    assert gpu.calls.count(LAUNCH) >= 10
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("compiled", [True, False], ids=["jt.compile", "as written"])
def test_arrays_take_turns_so_after_some_steps_nothing_in_a_graph_is_changed(gpu, compiled):
    jt.flags.use_cuda = 1
    training(compiled=compiled, keep=False, steps=7)
    settled = len(gpu.calls)
    training_calls = gpu.calls[:settled]

    assert training_calls.count(CHANGE) > 0
    last = training_calls[len(training_calls) - training_calls[::-1].index(READY) :]
    assert last.count(LAUNCH) >= 2
    assert "cuLaunchKernel" not in last


def test_a_result_that_somebody_holds_is_not_written_again(gpu):
    jt.flags.use_cuda = 1
    step = jt.compile(lambda x: (jt.nn.softmax(x, 1).sum(0), x * 2))
    held = [step(jt.array(numbers(5, 7, seed=k)).cuda()) for k in range(RUNS)]
    shown = [pair[1].reshape(35).sync() for pair in held]
    del held[::2]
    step(jt.array(numbers(5, 7)).cuda())
    gc.collect()

    for k, view in enumerate(shown):
        np.testing.assert_allclose(view.numpy(), 2 * numbers(5, 7, seed=k).ravel())
    for k, (sums, _) in zip(range(1, RUNS, 2), held, strict=True):
        np.testing.assert_allclose(sums.numpy(), jt.nn.softmax(jt.array(numbers(5, 7, seed=k)), 1).numpy().sum(0), 1e-5)


def test_an_input_that_is_handed_out_is_itself(gpu):
    step = jt.compile(lambda x: (x, two_kernels(x)))
    x = jt.array(numbers(5, 7)).cuda().sync()

    for _ in range(RUNS):
        assert np.array_equal(step(x)[0].numpy(), numbers(5, 7))


def test_memory_goes_back_with_the_step_and_so_do_its_graphs(gpu):
    jt.flags.use_cuda = 1
    x = jt.array(numbers(5, 7)).cuda().sync()
    before = cuda.memory_stats()["used"]
    step = jt.compile(two_kernels)
    for _ in range(RUNS):
        step(x)
    assert cuda.memory_stats()["used"] > before
    assert gpu.graphs
    del step
    jt.flags.use_cuda = 0
    gc.collect()

    assert cuda.memory_stats()["used"] == before
    assert (gpu.graphs, gpu.nodes) == ({}, {})


def test_where_there_is_no_room_steps_let_go_of_what_they_keep(gpu):
    xs = [jt.array(numbers(5 + k, 32)).cuda().sync() for k in range(4)]
    steps = [jt.compile(lambda x: (jt.nn.softmax(x, 1) * 2, two_kernels(x))) for _ in xs]
    for step, x in zip(steps, xs, strict=True):
        for _ in range(4):
            step(x)
    gpu.room = gpu.taken + 512
    found = [step(x)[0].numpy() for _ in range(3) for step, x in zip(steps[::-1], xs, strict=True)]
    more = cuda.device_array(3_000, "uint8")

    assert more.pointer
    for ours, x in zip(found, xs * 3, strict=True):
        np.testing.assert_allclose(ours, 2 * jt.nn.softmax(jt.array(x.numpy()), 1).numpy(), rtol=1e-5)


# --------------------------------------------------------------------------------------- what is no kernel, and errors


def test_a_plan_is_cut_where_something_is_done_by_a_cpu(gpu):
    def graph(x, y):
        waves = jt.fft.rfft(jt.nn.softmax(x, 1).sum(0) * y[0], 13).real
        return two_kernels(two_kernels(x * y) + waves + x)

    expected, _ = each_run(graph)
    jt.flags.use_cuda = 1
    found, calls = each_run(graph, gpu)

    assert calls[-1].count(LAUNCH) == 2
    assert "cuLaunchKernel" not in calls[-1]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_index_arrays_are_looked_at_before_the_launch_once_while_they_stay(gpu):
    jt.flags.use_cuda = 1
    table = jt.array(numbers(5, 7)).cuda().sync()
    step = jt.compile(lambda rows: jt.nn.softmax(table[rows], 1).sum(0))
    rows = jt.array([4, 0, 1]).cuda().sync()
    for _ in range(RUNS):
        step(rows)
    before = len(gpu.calls)
    step(rows)

    assert "cuMemcpyDtoHAsync_v2" not in gpu.calls[before:]
    for wrong in (jt.array([5, 0, 1]).cuda().sync(), jt.array([5, 0, 1])):
        with pytest.raises(jt.RangeError, match="found the index 5"):
            step(wrong)
    np.testing.assert_allclose(step(rows).numpy(), step(jt.array([4, 0, 1])).numpy())


def test_indices_in_memory_that_is_used_again_are_looked_at_again(gpu):
    jt.flags.use_cuda = 1
    table = jt.array(numbers(5, 7)).cuda().sync()
    make, look = jt.compile(lambda x: (x + 1).int64()), jt.compile(lambda rows: two_kernels(table[rows]))

    def rows(number):
        make(jt.array([0.0, 0.0]))  # results take turns: so those of the next call lie where they lay before
        return make(jt.array([float(number), 0.0]))

    for number in (0, 1, 2, 3):
        look(rows(number))
    with pytest.raises(jt.RangeError, match="found the index 5"):
        look(rows(4))


def test_indices_that_the_plan_computes_are_looked_at_before_they_are_used(gpu):
    table = jt.array(numbers(5, 7)).cuda().sync()
    step = jt.compile(lambda x: two_kernels(table[(two_kernels(x) * 0 + x[0]).int32()]))
    x = np.array([[4, 0, 1]], "float32")
    found = [step(jt.array(x).cuda()).numpy() for _ in range(RUNS)]

    np.testing.assert_allclose(found, [two_kernels(jt.array(numbers(5, 7)[[4, 0, 1]])).numpy()] * RUNS, rtol=1e-5)
    with pytest.raises(jt.RangeError, match=r"(?s)found the index 5.*two_kernels\(table\["):
        step(jt.array(x + 1).cuda())


@pytest.mark.parametrize(("name", "code"), [("cuGraphCreate", 2), (ADD, 801), (READY, 2), (CHANGE, 1), (LAUNCH, 1)])
def test_where_no_graph_can_be_made_kernels_are_launched_one_by_one_and_that_is_told_once(gpu, name, code):
    expected = training()
    jt.flags.use_cuda = 1
    gpu.fails[name] = code
    with pytest.warns(UserWarning, match=f"kernels are launched one by one .* error {code}.* while") as told:
        found = training()

    gc.collect()

    assert len(told) == 1
    assert not gpu.graphs
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_an_older_driver_has_no_graphs_and_launches_one_by_one(gpu, monkeypatch):
    jt.flags.use_cuda = 1
    monkeypatch.delattr(FakeLibrary, "cuGraphInstantiateWithFlags")
    with pytest.warns(UserWarning, match=r"has cuGraphInstantiateWithFlags; found an older driver"):
        found, _ = each_run(lambda x, y: two_kernels(x + y), gpu)

    assert len(found) == RUNS


def test_a_kernel_that_goes_wrong_in_a_graph_is_told_at_the_next_wait(gpu, monkeypatch):
    jt.flags.use_cuda = 1
    step, x = jt.compile(two_kernels), jt.array(numbers(5, 7)).cuda().sync()
    for _ in range(RUNS):
        step(x)
    gpu.fails[LAUNCH] = 700
    with pytest.raises(jt.KernelError, match=r"error 700 .* while launching a graph"):
        step(x)

    assert not cuda.is_available()


def test_a_launch_that_is_refused_names_the_line_of_its_operator(gpu):
    step, x = jt.compile(two_kernels), jt.array(numbers(5, 7)).cuda().sync()
    for _ in range(RUNS):
        step(x)
    gpu.fails["cuLaunchKernel"] = 1
    with (
        jt.flag_scope(cuda_graphs=False),
        pytest.raises(jt.BackendError, match=r"(?s)while launching .*softmax\(x, 1\)"),
    ):
        step(x)


def test_a_plan_of_one_gpu_runs_on_another_as_well(card, monkeypatch):
    card(FakeLibrary(("Fake A", "Fake B")))
    monkeypatch.delitem(jt.backends._loaded, "cuda", raising=False)
    found = []
    for number in (0, 1, 0):
        cuda.set_device(number)
        found += [two_kernels(jt.array(numbers(5, 7)).cuda()).numpy() for _ in range(RUNS)]
    jt.backends._loaded.pop("cuda", None)

    for ours in found[1:]:
        assert np.array_equal(ours, found[0])


def test_threads_share_a_plan(gpu, monkeypatch):
    put = Piece._put_numbers
    monkeypatch.setattr(Piece, "_put_numbers", lambda *given: (time.sleep(0.002), put(*given)))  # others come between
    found = {}
    xs = [jt.array(numbers(5, 7, seed=k)).cuda().sync() for k in range(graphs.SETS + 2)]
    for _ in range(4):
        two_kernels(xs[0]).sync()

    def work(k):
        found[k] = [two_kernels(xs[k]).numpy() for _ in range(4)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(xs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, x in enumerate(xs):
        expected = two_kernels(jt.array(x.numpy())).numpy()
        for ours in found[k]:
            np.testing.assert_allclose(ours, expected, rtol=1e-5)


def test_an_edited_kernel_runs_in_place_of_the_one_that_was_written_down(gpu):
    jt.flags.use_cuda = 1
    x = jt.array(numbers(5, 7)).cuda().sync()
    found = [two_kernels(x).numpy() for _ in range(5)]
    steps = [
        (plan, step) for plan in living.values() for step in plan.steps if plan.device and "* c0" in step.source.text
    ]
    before = [(step.source, step.program) for _, step in steps]
    for plan, step in steps:  # what jt.edit_kernel does, once a process of its own has tried the text
        text = step.source.text.replace("* c0", "+ c0")
        step.written, step.source = (step.source, step.lines), Source(text, step.source.parameters)
        step.program = plan.device.compile(step.source)
    edited = [two_kernels(x).numpy() for _ in range(2)]
    for (_, step), (source, program) in zip(steps, before, strict=True):
        step.source, step.program, step.written = source, program, None
    found += [two_kernels(x).numpy() for _ in range(2)]

    for ours in edited:
        np.testing.assert_allclose(ours, found[0] / 3 + 3, rtol=1e-5)
    for ours in found:
        assert np.array_equal(ours, found[0])


def test_more_sets_of_addresses_than_there_are_graphs_change_the_nearest(gpu):
    step = jt.compile(two_kernels)
    xs = [jt.array(numbers(5, 7, seed=k)).cuda().sync() for k in range(graphs.SETS + 3)]
    step(xs[0])
    gpu.calls.clear()
    found = [step(x).numpy() for _ in range(3) for x in xs]

    assert gpu.calls.count(READY) == graphs.SETS
    for ours, x in zip(found, xs * 3, strict=True):
        np.testing.assert_allclose(ours, two_kernels(jt.array(x.numpy())).numpy(), rtol=1e-5)
