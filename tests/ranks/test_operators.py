"""Messages as nodes of the graph: their values, their gradients (adjoints), and the order that laziness keeps."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.mpi import run_ranks
from jt_edu.mpi.differentiable_collectives import (
    added,
    mpi_all_gather,
    mpi_all_to_all,
    mpi_gather,
    mpi_reduce_scatter,
    mpi_scatter,
    mpi_send_recv,
)

SIZES = [1, 2, 3, 4]


def on_ranks(size, program, **options):
    def run():
        jt.flags.backend = "python"
        return program()

    return jt.simulate(size, **options)(run)


def numbers(*shape, dtype="float64"):
    """Other numbers on every rank."""
    return np.random.default_rng(jt.rank + 7).normal(size=shape).astype(dtype)


def row(x):
    return mpi_send_recv(x, (jt.rank + 1) % jt.world_size, (jt.rank - 1) % jt.world_size)


# name: (operator, rows of x that depend on the number of ranks)
OPERATORS = {
    "all_reduce": (lambda x: x.mpi_all_reduce(), False),
    "all_reduce mean": (lambda x: x.mpi_all_reduce("mean"), False),
    "reduce": (lambda x: x.mpi_reduce("add", jt.world_size - 1), False),
    "reduce mean": (lambda x: x.mpi_reduce("mean", 0), False),
    "broadcast": (lambda x: x.mpi_broadcast(jt.world_size - 1), False),
    "all_gather": (mpi_all_gather, False),
    "reduce_scatter": (mpi_reduce_scatter, True),
    "all_to_all": (mpi_all_to_all, True),
    "gather": (lambda x: mpi_gather(x, jt.world_size - 1), False),
    "scatter": (lambda x: mpi_scatter(x, jt.world_size - 1), True),
    "send_recv": (row, False),
    "added, several at once": (lambda x: sum(v.sum() * (k + 1) for k, v in enumerate(added([x, x * 2]))), False),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", OPERATORS)
def test_the_gradient_is_the_adjoint_with_other_gradients_on_every_rank(name, size):
    operator, rows = OPERATORS[name]

    def program():
        x = jt.array(numbers(jt.world_size if rows else 2, 3))
        y = operator(x)
        dy = numbers(*y.shape)
        dx = jt.grad((y * jt.array(dy)).sum(), x)
        return float((y.numpy() * dy).sum()), float((x.numpy() * dx.numpy()).sum())

    found = np.array(on_ranks(size, program))

    np.testing.assert_allclose(found[:, 0].sum(), found[:, 1].sum(), rtol=1e-10)  # <A x, dy> = <x, A' dy>


@pytest.mark.parametrize("name", OPERATORS)
def test_the_gradient_of_a_gradient_is_that_of_the_same_sum_on_one_rank(name):
    operator, rows = OPERATORS[name]

    def program():
        x = jt.array(numbers(3 if rows else 2, 3))
        dx = jt.grad((operator(x) ** 3).sum(), x)
        return jt.grad((dx * jt.array(numbers(*x.shape))).sum(), x).numpy(), x.numpy()

    def differences(step=1e-5):
        """d <dx, v> / dx by shifting the x of rank 0 alone."""

        def program(shift):
            x = jt.array(numbers(3 if rows else 2, 3) + shift * (jt.rank == 0))
            dx = jt.grad((operator(x) ** 3).sum(), x)
            return float((dx.numpy() * numbers(*x.shape)).sum())

        there, back = (sum(on_ranks(3, lambda s=s: program(s))) for s in (step, -step))
        return (there - back) / (2 * step)

    second, _ = on_ranks(3, program)[0]
    assert np.isclose(second.sum(), differences(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", SIZES)
def test_what_each_rank_gets_is_what_numpy_says(size):
    def program():
        x = np.arange(size * 2.0).reshape(size, 2) + 10 * jt.rank
        v = jt.array(x)
        return [f(v).numpy() for f in (
            lambda v: v.mpi_all_reduce(), lambda v: v.mpi_all_reduce("mean"), lambda v: v.mpi_reduce(root=size - 1),
            lambda v: v.mpi_broadcast(size - 1), mpi_all_gather, mpi_reduce_scatter, mpi_all_to_all,
            lambda v: mpi_gather(v, 0), lambda v: mpi_scatter(v, 0), row,
        )]  # fmt: skip

    xs = np.stack([np.arange(size * 2.0).reshape(size, 2) + 10 * r for r in range(size)])
    for r, got in enumerate(on_ranks(size, program)):
        nothing = np.zeros_like(xs)
        expected = [
            xs.sum(0), xs.mean(0), xs.sum(0) * (r == size - 1), xs[size - 1], xs, xs.sum(0)[r], xs[:, r],
            xs if r == 0 else nothing, xs[0][r], xs[(r - 1) % size],
        ]  # fmt: skip
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_sums_of_jittor_for_three_ranks():
    def program():
        x = jt.array([1.0, 2.0])
        total, mean = x.mpi_all_reduce("add"), x.mpi_all_reduce("mean")
        upstream = float(jt.rank + 1)
        return [
            v.tolist() for v in (
                total, jt.grad(total.sum(), x), jt.grad((total * upstream).sum(), x), mean, jt.grad(mean.sum(), x),
                jt.grad((mean * upstream).sum(), x), jt.grad(x.mpi_broadcast(1).sum(), x),
                jt.grad((x.mpi_reduce("add", 0) * upstream).sum(), x),
            )
        ]  # fmt: skip

    for rank, got in enumerate(on_ranks(3, program)):
        there = 3.0 if rank == 1 else 0.0
        np.testing.assert_allclose(
            got, [[3, 6], [3, 3], [6, 6], [1, 2], [1, 1], [2, 2], [there, there], [1, 1]], rtol=1e-6
        )


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "float16", "bfloat16", "float32",
                                   "float64", "complex64", "complex128"])  # fmt: skip
def test_every_dtype_is_added_as_itself(dtype):
    def program():
        x = jt.array([1, 0, 1]).cast(dtype)
        total = x.mpi_all_reduce()
        return str(total.dtype), total.cast("complex128").numpy().real.tolist()

    expected = [1.0, 0.0, 1.0] if dtype == "bool" else [3.0, 0.0, 3.0]
    assert on_ranks(3, program) == [(dtype, expected)] * 3


def test_large_whole_numbers_stay_exact_and_halves_are_added_as_floats():
    def program():
        big = jt.array(np.array([2**60 + 1])).mpi_all_reduce().item()
        half = jt.array(np.array([2048.0 if jt.rank == 0 else 1.0], "float16")).mpi_all_reduce().item()
        return big, half

    assert on_ranks(3, program) == [(3 * (2**60 + 1), 2050.0)] * 3


def test_empty_arrays_travel():
    assert on_ranks(2, lambda: jt.zeros((0, 3)).mpi_all_reduce().shape) == [(0, 3)] * 2


def test_received_arrays_belong_to_the_rank():
    def program():
        x = jt.array([1.0, 2.0])
        y = x.mpi_broadcast(0)
        y.sync()
        if jt.rank == 1:
            y[...] = 99.0
        jt.mpi.comm.barrier()
        return x.tolist(), jt.array([1.0]).mpi_all_reduce().item()

    assert on_ranks(3, program) == [([1.0, 2.0], 3.0)] * 3


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda x: x.mpi_all_reduce("max"), "'add', 'sum' or 'mean'.*'max'"),
        (lambda x: x.mpi_reduce("add", 2), "0 to 1 as root.*2"),
        (lambda x: x.mpi_broadcast(-1), "0 to 1 as root.*-1"),
        (lambda x: x.mpi_broadcast(True), "as root.*True"),
        (lambda x: mpi_send_recv(x, 7, 0), "0 to 1 as dest; found 7"),
        (lambda x: mpi_send_recv(x, 0, 7), "0 to 1 as source; found 7"),
        (lambda x: mpi_scatter(x), "a row for each of 2 ranks.*\\(3,\\)"),
        (lambda x: mpi_all_to_all(x), "a row for each of 2 ranks"),
    ],
)
def test_wrong_arguments_are_refused_where_they_are_written(wrong, words):
    def program():
        with pytest.raises(ValueError, match=words):
            wrong(jt.array([1.0, 2.0, 3.0]))

    on_ranks(2, program)


def test_alone_there_is_nobody_to_speak_to():
    assert not jt.mpi and jt.rank == 0 and jt.world_size == 1 and not jt.in_mpi
    with pytest.raises(jt.RankError, match="runs alone"):
        jt.array([1.0]).mpi_all_reduce()


def test_shapes_that_differ_are_named_with_their_ranks_and_lines():
    def program():
        return jt.ones(2 + jt.rank).mpi_all_reduce().sync()

    with pytest.raises(jt.RankError, match=r"(?s)rank 0 calls Allreduce.*count=2.*test_operators.py.*rank 1.*count=3"):
        on_ranks(2, program)


# order


def test_a_print_on_one_rank_delays_messages_and_changes_none():
    def program():
        x = jt.array([jt.rank + 1.0])
        a = x.mpi_all_reduce()
        b = (a * 2).mpi_broadcast(1)
        c = x.mpi_reduce()
        if jt.rank == 0:
            assert c.item() == 6.0  # runs everything that is due here, and only here
        d = (b + c).mpi_all_reduce()
        return d.item()

    assert on_ranks(3, program) == [36.0 + 6.0] * 3


FOUR = (
    lambda x, rng: x.mpi_all_reduce(), lambda x, rng: x.mpi_broadcast(rng.integers(3)), lambda x, rng: row(x),
    lambda x, rng: mpi_all_gather(x).sum(0),
)  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_random_flush_points_change_no_result(seed):
    def program():
        rng = np.random.default_rng([seed, jt.rank])  # each rank looks at other moments
        same = np.random.default_rng(seed)
        x = jt.array(np.arange(3.0) + jt.rank)
        held = []
        for _ in range(12):
            y = FOUR[same.integers(4)](x, same)
            held.append(y)
            x = y * 0.5 + 1
            if rng.random() < 0.4:
                held[rng.integers(len(held))].numpy()
        return x.tolist()

    flushed = on_ranks(3, program, policy="random", seed=seed)
    assert len({tuple(np.round(r, 9)) for r in flushed}) <= 3
    np.testing.assert_allclose(flushed, _eagerly(seed), rtol=1e-12)


def _eagerly(seed):
    """The same program in NumPy, all ranks at once."""
    same = [np.random.default_rng(seed) for _ in range(3)]
    xs = np.stack([np.arange(3.0) + r for r in range(3)])
    for _ in range(12):
        kind = same[0].integers(4)
        if kind in (0, 3):
            ys = np.stack([xs.sum(0)] * 3)
        elif kind == 1:
            ys = np.stack([xs[same[0].integers(3)]] * 3)
        else:
            ys = np.stack([xs[(r - 1) % 3] for r in range(3)])
        xs = ys * 0.5 + 1
    return xs


def test_a_message_that_nobody_looks_at_is_sent_all_the_same():
    told = run_ranks(2, lambda comm: jt.array([1.0]).mpi_all_reduce() and None)

    assert [c.name for c in told.record.calls] == ["Allreduce"] * 2


def test_speaking_by_hand_sends_what_is_due_first():
    def program():
        y = jt.array([1.0]).mpi_all_reduce()
        if jt.rank == 0:
            y.sync()
        jt.mpi.comm.barrier()
        return y.item()

    assert on_ranks(2, program) == [2.0, 2.0]


def test_a_compiled_step_speaks_at_each_replay():
    def program():
        w = jt.array([1.0])

        @jt.compile
        def step(x):
            w.update(w + x.mpi_all_reduce())
            return w.sum()

        return [step(np.array([jt.rank + 1.0], "float32")).item() for _ in range(3)]

    assert on_ranks(2, program) == [[4.0, 7.0, 10.0]] * 2


def test_single_process_scope_runs_on_one_rank_as_if_it_were_alone():
    @jt.single_process_scope(rank=1)
    def report(x):
        return not jt.mpi, jt.rank, jt.world_size, x + 1

    assert on_ranks(3, lambda: report(jt.rank)) == [None, (True, 0, 1, 2), None]
    assert report(5) == (True, 0, 1, 6)


def test_parameters_and_running_statistics_become_those_of_root():
    def program():
        jt.set_global_seed(jt.rank)
        net = jt.nn.Sequential(jt.nn.Linear(3, 4), jt.nn.BatchNorm(4))
        net(jt.randn(5, 3)).sync()
        net.mpi_param_broadcast(root=1)
        return {name: v.numpy() for name, v in net.state_dict().items()}

    found = on_ranks(3, program)
    for other in (found[0], found[2]):
        for name, array in found[1].items():
            np.testing.assert_array_equal(other[name], array)


@pytest.mark.parametrize("name", ["nccl_all_reduce", "nccl_reduce", "nccl_broadcast"])
def test_the_device_path_says_that_there_is_none(name):
    def program():
        with pytest.raises(jt.BackendError, match=f"{name} communicates from GPU to GPU.*mpi_"):
            getattr(jt.mpi, name)(jt.ones(2))

    on_ranks(2, program)


SINGLE = {name: operator for name, (operator, _) in OPERATORS.items() if "mean" not in name}


@pytest.mark.parametrize("name", SINGLE)
def test_a_line_that_speaks_of_integers_and_then_of_floats_has_the_gradient_of_floats(name):
    def program():
        for numbers in ([1, 2], [1.0, 2.0]):
            x = jt.array(numbers)
            y = SINGLE[name](x)
        return jt.grad(y.sum(), x).shape

    assert on_ranks(2, program) == [(2,)] * 2


MEANS = {"all_reduce": lambda x: x.mpi_all_reduce("mean"), "reduce": lambda x: x.mpi_reduce("mean")}


@pytest.mark.parametrize("name", MEANS)
def test_the_mean_of_integers_is_not_cut_off(name):
    assert on_ranks(2, lambda: MEANS[name](jt.array([1 + jt.rank])).item())[0] == 1.5


@pytest.mark.parametrize("name", MEANS)
def test_the_mean_of_halves_is_divided_before_it_is_narrow(name):
    def program():
        mean = MEANS[name](jt.array([30000.0]).float16())
        return str(mean.dtype), mean.item()

    assert on_ranks(4, program)[0] == ("float16", 30000.0)
