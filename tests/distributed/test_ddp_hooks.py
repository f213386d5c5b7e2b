"""What may happen to a bucket on its way: hooks, compared with PyTorch's over gloo."""

import multiprocessing
import warnings

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.distributed.launch import kept_port
from jt_edu.distributed.power_sgd import _Round
from tests.distributed.ranks import BACKENDS, dist, run, simulated

SHAPES = [(6, 9), (9,), (12, 6), (2, 3), (3, 4, 5)]
STEPS = 5
POWER = {"matrix_approximation_rank": 2, "start_powerSGD_iter": 2, "min_compression_rate": 1.2}
WAYS = {
    "allreduce": {}, "fp16": {}, "bf16": {}, "power": {}, "power_1": {"matrix_approximation_rank": 1},
    "power_cold": {"warm_start": False}, "power_lossy": {"use_error_feedback": False},
    "power_rank_3": {"matrix_approximation_rank": 3}, "power_epsilon": {"orthogonalization_epsilon": 1e-2},
}  # fmt: skip


def factors(rank, step):
    """d loss / d parameter on a rank, for each shape."""
    numbers = np.random.RandomState(100 * rank + step)
    return [numbers.randn(*shape).astype("float32") for shape in SHAPES]


class Bilinear(jt.nn.Module):
    """A loss whose gradients are what one likes."""

    def __init__(self):
        self.weights = [jt.nn.Parameter(np.zeros(shape, "float32")) for shape in SHAPES]

    def execute(self, factors):
        return sum((w * jt.array(f)).sum() for w, f in zip(self.weights, factors, strict=True))


class State(dist.PowerSGDState):
    """Begins with the Q with which PyTorch begins."""

    def directions(self, shapes, dtype):
        torch = pytest.importorskip("torch")
        torch.manual_seed(self.rng.randint(1_000_000_000))
        return [jt.array(torch.randn(1, *s).numpy()[0]) for s in shapes]


def hook_of(way):
    if way.startswith("power"):
        return State(None, **{**POWER, **WAYS[way]}), dist.powerSGD_hook
    return None, {"allreduce": dist.allreduce_hook, "fp16": dist.fp16_compress_hook, "bf16": dist.bf16_compress_hook}[
        way
    ]


def ours(way, size=2):
    """The gradients of each step, on rank 0; and the state of the hook."""

    def program(rank):
        with jt.flag_scope(backend="python"):
            ddp = dist.DistributedDataParallel(Bilinear())
            state, hook = hook_of(way)
            ddp.register_comm_hook(state, hook)
            found = []
            for step in range(STEPS):
                ddp.zero_grad()
                ddp(factors(rank, step)).backward()
                found.append([p.grad.numpy() for p in ddp.module.parameters()])
            return found, state

    return simulated(size, program)


def _theirs(rank, port, answer):
    try:
        found = _with_torch(rank, port)
    except BaseException as error:  # noqa: BLE001  the test fails with it
        found = repr(error)
    if rank == 0:
        answer.put(found)


def _with_torch(rank, port):
    import torch  # noqa: PLC0415  by the processes that compare only
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook  # noqa: PLC0415

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(s)) for s in SHAPES])

        def forward(self, factors):
            return sum((w * torch.tensor(f)).sum() for w, f in zip(self.weights, factors, strict=True))

    hooks = {"allreduce": default_hooks.allreduce_hook, "fp16": default_hooks.fp16_compress_hook,
             "bf16": lambda state, bucket: default_hooks.bf16_compress_hook(state, bucket)}  # fmt: skip
    results = {}
    for way, more in WAYS.items():
        ddp = torch.nn.parallel.DistributedDataParallel(Net())
        state, hook = None, hooks.get(way)
        if hook is None:
            state, hook = powerSGD_hook.PowerSGDState(None, **{**POWER, **more}), powerSGD_hook.powerSGD_hook
        ddp.register_comm_hook(state, hook)
        results[way] = []
        for step in range(STEPS):
            ddp.zero_grad()
            ddp(factors(rank, step)).backward()
            results[way].append([p.grad.numpy().copy() for p in ddp.module.parameters()])
        if state is not None:
            results[way + " stats"] = state.compression_stats()
    torch.distributed.destroy_process_group()
    return results


@pytest.fixture(scope="module")
def theirs():
    """What PyTorch's hooks answer on two processes that speak through gloo."""
    pytest.importorskip("torch")
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    with kept_port() as port:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            others = [context.Process(target=_theirs, args=(rank, port, answer)) for rank in range(2)]
            for one in others:
                one.start()
        try:
            yield answer.get(timeout=300)
        finally:
            for one in others:
                one.join(20)
                if one.is_alive():
                    one.kill()
                    one.join()


@pytest.mark.parametrize("way", WAYS)
def test_hooks_answer_what_those_of_pytorch_answer(way, theirs):
    (found, state), (other, _) = ours(way)

    tolerance = {"fp16": 1e-3, "bf16": 2e-2}.get(way, 2e-5)
    for mine, second, wanted in zip(found, other, theirs[way], strict=True):
        for a, b, c in zip(mine, second, wanted, strict=True):
            np.testing.assert_allclose(a, c, rtol=0, atol=tolerance)
            np.testing.assert_array_equal(a, b)  # all ranks have the same
    if state is not None:
        assert state.compression_stats()[1:] == theirs[way + " stats"][1:]


def test_a_hook_is_given_the_bucket_and_its_answer_becomes_the_gradients():
    seen = []

    def hook(state, bucket):
        names = {id(p): p.name for p in bucket.parameters()}
        assert [g.shape for g in bucket.gradients()] == [p.shape for p in bucket.parameters()]
        assert bucket.buffer().size == sum(g.size for g in bucket.gradients())
        state.append((bucket.index(), bucket.is_last(), list(names.values())))
        future = dist.Future()
        future.set_result(jt.ones_like(bucket.buffer()) * 7)
        return future

    def program(rank):
        ddp = dist.DistributedDataParallel(jt.nn.Linear(3, 2), bucket_cap_mb=1e-6)
        ddp.register_comm_hook(seen, hook)
        ddp(jt.ones(1, 3)).sum().backward()
        return [p.grad.tolist() for p in ddp.module.parameters()]

    assert simulated(1, program) == [[[[7.0] * 3] * 2, [7.0] * 2]]
    assert seen == [(0, False, ["bias"]), (1, True, ["weight"])]


def test_a_hook_may_put_other_numbers_into_the_bucket():
    def hook(state, bucket):
        bucket.set_buffer(bucket.buffer() * 3)
        with pytest.raises(jt.ShapeError, match="set_buffer keeps the shape"):
            bucket.set_buffer(jt.ones(1))
        with pytest.raises(jt.ArgumentError, match="set_buffer takes a Var"):
            bucket.set_buffer([1.0])
        return dist.allreduce_hook(state, bucket)

    def program(rank):
        ddp = dist.DistributedDataParallel(jt.nn.Linear(1, 1))
        ddp.register_comm_hook(None, hook)
        ddp(jt.array([[float(rank)]])).sum().backward()
        return ddp.module.weight.grad.item()

    assert simulated(2, program) == [1.5, 1.5]


@pytest.mark.parametrize(("hook", "error", "words"), [
    (lambda state, bucket: 3, "ArgumentError", "returns a future"),
    (lambda state, bucket: dist.Finished(jt.ones(1)).get_future(), "ShapeError", "brings the 2 numbers"),
    (lambda state, bucket: 1 / 0, "KernelError", "ZeroDivisionError"),
])  # fmt: skip
def test_a_hook_that_answers_something_else_is_told(hook, error, words):
    def program(rank):
        ddp = dist.DistributedDataParallel(jt.nn.Linear(1, 1))
        ddp.register_comm_hook(None, hook)
        ddp(jt.ones(1, 1)).sum().backward()

    with pytest.raises(jt.RankError, match=f"{error}[\\s\\S]*{words}"):
        simulated(1, program)


def test_a_module_has_one_hook():
    def program(rank):
        ddp = dist.DistributedDataParallel(jt.nn.Linear(1, 1))
        with pytest.raises(jt.ArgumentError, match="'x'"):
            ddp.register_comm_hook(None, "x")
        ddp.register_comm_hook(None, dist.allreduce_hook)
        with pytest.raises(jt.ArgumentError, match="a second one"):
            ddp.register_comm_hook(None, dist.allreduce_hook)

    simulated(1, program)


@pytest.mark.parametrize("backend", BACKENDS)
def test_halves_are_divided_before_they_are_added_up(backend):
    def program(rank):
        ddp = dist.DistributedDataParallel(jt.nn.Linear(1, 1, bias=False))
        ddp.register_comm_hook(None, dist.fp16_compress_hook)
        ddp(jt.array([[60000.0]])).sum().backward()  # twice that is no half any more
        return ddp.module.weight.grad.item()

    assert run(backend, 2, program) == [60000.0, 60000.0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_parameters_may_be_halves(dtype):
    def program(rank):
        net = jt.nn.Linear(2, 1).cast(dtype)
        ddp = dist.DistributedDataParallel(net)
        ddp(jt.full((1, 2), 1.0 + rank).cast(dtype)).sum().backward()
        return net.weight.grad.dtype, net.weight.grad.float().tolist()

    assert simulated(2, program) == [(dtype, [[1.5, 1.5]])] * 2


def test_a_matrix_travels_in_two_slim_ones_if_that_is_worth_it():
    state = dist.PowerSGDState(matrix_approximation_rank=2, min_compression_rate=2)

    assert [state.shrinks(s) for s in [(9, 9), (8, 8), (100, 50), (7,), (), (3, 3, 3)]] == [2, 0, 2, 0, 0, 0]
    state.count([(100, 50), (7,)])
    assert state.compression_stats() == ((5000 + 7) / (2 * 150 + 7), 5007, 307)


def test_error_feedback_brings_back_what_was_left_over():
    def mean_of(feedback):
        def program(rank):
            with jt.flag_scope(backend="python"):
                ddp = dist.DistributedDataParallel(Bilinear())
                state = dist.PowerSGDState(start_powerSGD_iter=2, min_compression_rate=1, use_error_feedback=feedback)
                ddp.register_comm_hook(state, dist.powerSGD_hook)
                total = 0.0
                for step in range(42):
                    ddp.zero_grad()
                    ddp(factors(rank, 0)).backward()
                    total = total + (ddp.module.weights[0].grad.numpy() if step >= 2 else 0.0)
                return total / 40

        wanted = (factors(0, 0)[0] + factors(1, 0)[0]) / 2
        return np.abs(simulated(2, program)[0] - wanted).max()

    assert mean_of(True) < 0.25 * mean_of(False)


def test_columns_are_of_length_1_and_at_right_angles():
    class Holder(_Round):
        def __init__(self):
            self.state = dist.PowerSGDState()

    x = np.random.RandomState(0).randn(7, 3)
    q = Holder()._orthogonal(jt.array(x)).numpy()
    none = Holder()._orthogonal(jt.zeros(3, 2)).numpy()

    np.testing.assert_allclose(q.T @ q, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(q @ q.T @ x, x, atol=1e-12)
    assert not none.any()


@pytest.mark.parametrize(("arguments", "words"), [
    ({"matrix_approximation_rank": 0}, "matrix_approximation_rank"),
    ({"start_powerSGD_iter": -1}, "start_powerSGD_iter"),
    ({"start_powerSGD_iter": 1}, "2 or more"),
    ({"min_compression_rate": "x"}, "min_compression_rate"),
    ({"orthogonalization_epsilon": -1.0}, "orthogonalization_epsilon"),
])  # fmt: skip
def test_settings_of_power_sgd_that_make_no_sense_are_refused(arguments, words):
    with pytest.raises(jt.ArgumentError, match=words):
        dist.PowerSGDState(**arguments)
    dist.PowerSGDState(start_powerSGD_iter=0, use_error_feedback=False, warm_start=False)


def test_the_seed_decides_where_power_sgd_begins():
    def first(seed):
        return dist.PowerSGDState(random_seed=seed).directions([(3, 1)], jt.float32)[0].tolist()

    assert first(1) == first(1) != first(2)


def test_a_future_that_becomes_another_one_can_be_waited_for():
    def program(rank):
        first = dist.all_reduce(jt.ones(1), async_op=True).get_future()
        second = first.then(lambda f: dist.all_reduce(f.value()[0] * 10, async_op=True).get_future())
        return second.then(lambda f: f.value()[0].item()).wait()

    assert simulated(2, program) == [40.0, 40.0]
