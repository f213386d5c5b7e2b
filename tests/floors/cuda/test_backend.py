"""Graphs on a GPU, all but the GPU: kernels that were printed run on arrays in its memory."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import backends
from jt_edu.base.errors import ArgumentError, BackendError
from jt_edu.mpi import run_ranks
from tests.floors.cuda.fake_driver import FakeLibrary


def numbers(*shape):
    return np.random.default_rng(shape).standard_normal(shape).astype("float32")


GRAPHS = {
    "elementwise and a sum": lambda x, y: (x * y + x).sum(),
    "softmax": lambda x, y: jt.nn.softmax(x + y, 1),
    "a product": lambda x, y: x @ y.transpose(1, 0),
    "a gradient by number": lambda x, y: jt.grad((x[jt.array([1, 0, 1])] * 3).sum(), [x])[0] + y,
    "a view": lambda x, y: x[1:, ::2] - y.reshape(7, 5)[:, 0:1].sum(),
    "a sort, which a CPU does": lambda x, y: jt.sort(x * y)[0] + 1,
    "halves": lambda x, y: (x.cast("bfloat16") + y.cast("bfloat16")).cast("float32"),
    "random numbers": lambda x, y: (jt.set_global_seed(3), jt.rand(5, 7) + x)[1],
}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_gives_a_cpus_numbers(gpu, name):
    a, b = numbers(5, 7), numbers(5, 7)
    expected = GRAPHS[name](jt.array(a), jt.array(b)).numpy()

    jt.flags.use_cuda = 1
    found = GRAPHS[name](jt.array(a), jt.array(b)).numpy()

    assert gpu.launches
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_what_was_computed_there_stays_there_until_somebody_asks(gpu):
    jt.flags.use_cuda = 1
    x = jt.array(numbers(5, 7))
    y = (x * 2).sync()
    z = (y + 1).sync()

    assert (y.device, z.device) == ("cuda", "cuda")
    assert "cuMemcpyDtoHAsync_v2" not in gpu.calls
    np.testing.assert_allclose(z.numpy(), numbers(5, 7) * 2 + 1, rtol=1e-6)


def test_a_var_is_moved_and_computed_there_without_the_flag(gpu):
    x = jt.array(numbers(5, 7)).cuda()

    assert ((x * 2).device, jt.flags.backend) == ("cuda", "numba")
    np.testing.assert_allclose((x * 2).cpu().numpy(), numbers(5, 7) * 2)
    with pytest.raises(ArgumentError, match=r"on cuda and .* on cpu|on cpu and .* on cuda"):
        (x + jt.array(numbers(5, 7))).numpy()


def test_a_network_trains_with_a_cpus_losses(gpu):
    def losses():
        jt.set_global_seed(3)
        net = jt.nn.Sequential(jt.nn.Linear(20, 12), jt.nn.ReLU(), jt.nn.Dropout(0.2), jt.nn.Linear(12, 3))
        optimizer = jt.optim.Adam(net.parameters(), 0.01)
        images, labels, found = jt.array(numbers(8, 20)), jt.array([0, 1, 2, 0, 1, 2, 0, 1]), []
        for _ in range(3):
            loss = jt.nn.cross_entropy_loss(net(images), labels)
            optimizer.step(loss)
            found.append(loss.item())
        return found

    expected = losses()
    jt.flags.use_cuda = 1
    found = losses()

    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert len(gpu.launches) > 10


COLLECTIVES = {"all_reduce": ("add",), "reduce": ("add", 1), "broadcast": (1,)}
DOWN, UP = ("cuda", "cpu"), ("cpu", "cuda")
WAY = "cuda -> main memory -> ranks -> main memory -> cuda"


def through_ranks(name, place, gradient=False):
    """For each of two ranks a device, numbers, and the copies that a trace tells of; and the lines of all calls."""

    def rank(_):
        jt.flags.use_cuda = int(place == "flag")
        x = jt.array(np.arange(3, dtype="float32") + jt.rank + 1)
        x = (x.cuda() if place == "cuda" else x + 0).sync()
        with jt.trace() as trace:
            y = getattr(jt.mpi, name)(x, *COLLECTIVES[name[name.index("_") + 1 :]])
            y = (jt.grad((y * y).sum(), x) if gradient else y).sync()
        return y.device, y.numpy().tolist(), [(c.source, c.target) for c in trace.copies]

    run = run_ranks(2, rank)
    return run.results, [call.line for call in run.record.calls]


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("name", COLLECTIVES)
@pytest.mark.parametrize(("by", "place"), [("nccl", "cuda"), ("mpi", "cuda"), ("mpi", "flag"), ("nccl", "flag")])
def test_what_lies_on_a_gpu_goes_through_main_memory_and_trace_and_record_tell_it(gpu, by, place, name, gradient):
    expected, plain = through_ranks(f"mpi_{name}", "cpu", gradient)

    found, told = through_ranks(f"{by}_{name}", place, gradient)

    assert [numbers for _, numbers, _ in found] == [numbers for _, numbers, _ in expected]
    for device, _, copies in found:
        assert device == "cuda"
        assert (copies[0], copies[-1], copies.count(UP)) == (DOWN, UP, 1 + gradient)
    assert "cuMemcpyDtoHAsync_v2" in gpu.calls
    assert len(told) == 2 + 2 * gradient
    assert all(line.endswith(WAY) for line in told)
    assert not any("main memory" in line for line in plain)


def test_a_collective_of_gpus_refuses_what_lies_on_the_cpu(gpu):
    with pytest.raises(BackendError, match=r"from GPU to GPU; found a Var on the device cpu. Try: mpi_reduce"):
        jt.mpi.nccl_reduce(jt.ones(2))


def test_without_a_gpu_the_flag_and_the_move_say_why(monkeypatch, card):
    card(FakeLibrary(names=()))
    backends._loaded.pop("cuda", None)

    with pytest.raises(BackendError, match="on a GPU; found error 100"):
        jt.flags.use_cuda = 1
    with pytest.raises(AttributeError, match="everything is on the CPU"):
        jt.array([1.0]).cuda()
    with pytest.raises(BackendError, match="GPU"):
        jt.flags.backend = "cuda"
    assert (jt.array([1.0]) * 2).tolist() == [2.0]
