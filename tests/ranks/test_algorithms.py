"""Every collective by every algorithm: the right numbers, on any number of ranks, in any length and dtype."""

import re

import numpy as np
import pytest

from jt_edu.base.dtypes import DTYPES
from jt_edu.base.errors import ArgumentError
from jt_edu.mpi.algorithms import ALGORITHMS, combine, find
from jt_edu.mpi.base.constants import Op
from jt_edu.mpi.mpi4py_backend.mpi_calls import ARGUMENTS, OBJECTS
from jt_edu.mpi.perf_model.model import CLOSED
from jt_edu.mpi.perf_model.schedules import SCHEDULES
from jt_edu.mpi.simulator.threads import run_ranks, simulate
from tests.ranks.calls import ROOTED, call, expected


def each(keys):
    """A test for each collective and algorithm."""
    return pytest.mark.parametrize(("name", "algorithm"), keys, ids=["-".join(key) for key in keys])


BY_ALGORITHM = each(list(ALGORITHMS))
REDUCING = ("reduce", "allreduce", "reduce_scatter", "scan", "exscan")
REORDER = {("allreduce", "ring"), ("allreduce", "rabenseifner"), ("allreduce", "hierarchical"),
           ("reduce_scatter", "ring"), ("reduce_scatter", "halving")}  # fmt: skip
CUTS = {("allreduce", "ring"), ("allreduce", "rabenseifner"), ("allreduce", "hierarchical")}  # arrays only
JOIN = Op.Create(lambda a, b: a + b, commute=True)
THE_LAST = Op.Create(lambda a, b: b)  # of all contributions, in the order of ranks


def roots(name, ranks):
    return {0, ranks // 2, ranks - 1} if name in ROOTED else {0}


def same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def refused(words, program, ranks=4):
    """The program ends in an error that says so."""
    error = run_ranks(ranks, program).error

    assert isinstance(error, ArgumentError)
    assert re.search(words, str(error)), error


def test_an_algorithm_stands_in_every_table_and_in_the_same_place():
    """To run it, to draw its messages, to count its time; of several that are equally good, the first one is taken."""
    assert list(ALGORITHMS) == list(SCHEDULES) == list(CLOSED)


def test_every_collective_is_native_to_simulated_ranks_and_to_real_ones():
    names = {name for name, _ in ALGORITHMS} - {"barrier"}
    buffers = {name.lower().removesuffix("_block").removesuffix("v") for name in ARGUMENTS}

    assert names | {"barrier"} <= set(combine.RULES)
    assert names == buffers
    assert names - {"reduce_scatter"} <= set(OBJECTS)  # which mpi4py has for buffers only


@pytest.mark.parametrize("ranks", range(1, 10))
@BY_ALGORITHM
def test_every_algorithm_gives_each_rank_what_numpy_says(name, algorithm, ranks):
    for count in (0, 1, 5, 12):
        for root in roots(name, ranks):
            found = simulate(ranks)(lambda comm: call(comm, name, algorithm, count, root))  # noqa: B023

            same(found, expected(name, ranks, count, root))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in ("bool", "bfloat16")])
def test_every_algorithm_adds_up_every_dtype_and_keeps_it(dtype):
    for name, algorithm in ALGORITHMS:
        found = simulate(3)(lambda comm: call(comm, name, algorithm, 4, dtype=dtype))  # noqa: B023

        same(found, expected(name, 3, 4, dtype=dtype))
        assert {a.dtype for a in found if a is not None} <= {np.dtype(dtype)}


@pytest.mark.parametrize("algorithm", [a for n, a in ALGORITHMS if n == "allreduce"])
def test_truth_is_reduced_by_every_algorithm(algorithm):
    def program(comm):
        out = np.empty(5, bool)
        comm.Allreduce(np.arange(5) == comm.rank, out, op="lor", algorithm=algorithm)
        return out

    same(simulate(4)(program), [np.arange(5) < 4] * 4)


@BY_ALGORITHM
def test_no_algorithm_relies_on_messages_that_are_kept_for_later(name, algorithm):
    for ranks in (2, 3, 6, 8):
        told = run_ranks(ranks, lambda comm: call(comm, name, algorithm, 5, ranks - 1), synchronous=True)  # noqa: B023

        assert told.error is None, told.error
        same(told.results, expected(name, ranks, 5, ranks - 1))


@pytest.mark.parametrize("policy", ["random", "clock"])
@BY_ALGORITHM
def test_the_numbers_do_not_depend_on_who_runs_next(name, algorithm, policy):
    for seed in range(3):
        found = simulate(5, policy=policy, seed=seed)(lambda comm: call(comm, name, algorithm, 7))

        same(found, expected(name, 5, 7))


@each([key for key in ALGORITHMS if key[0] != "barrier"])
def test_every_algorithm_can_run_in_the_background(name, algorithm):
    found = simulate(3)(lambda comm: call(comm, name, algorithm, 4, begin=True))

    same(found, expected(name, 3, 4))


@pytest.mark.parametrize("algorithm", [a for n, a in ALGORITHMS if n == "allreduce"])
def test_a_part_of_the_ranks_goes_by_an_algorithm_of_its_own(algorithm):
    def program(comm):
        group, out = comm.Split(comm.rank % 2), np.empty(4)
        group.Allreduce(np.full(4, float(comm.rank)), out, algorithm=algorithm)
        return out[0]

    assert simulate(7)(program) == [12, 9, 12, 9, 12, 9, 12]


# objects


@each([key for key in ALGORITHMS if key[0] != "reduce_scatter"])  # which mpi4py has for buffers only
def test_objects_go_by_the_same_algorithms(name, algorithm):
    def program(comm, by):
        given = {"barrier": (), "scatter": ([(comm.rank, k) for k in range(comm.size)],)}
        given |= {"alltoall": given["scatter"]}
        return getattr(comm, name)(*given.get(name, ("abcdefg"[comm.rank],)), algorithm=by)

    if (name, algorithm) in CUTS:
        refused("cuts arrays into pieces; found str", lambda comm: comm.allreduce("a", op=JOIN, algorithm=algorithm))
        return
    for ranks in (1, 2, 5, 7):
        found, wanted = (simulate(ranks)(lambda comm: program(comm, by)) for by in (algorithm, "native"))  # noqa: B023

        assert found == wanted


@pytest.mark.parametrize("shape", [(), (2, 3), (0,)])
@pytest.mark.parametrize("algorithm", [a for n, a in ALGORITHMS if n == "allreduce"])
def test_an_array_as_an_object_keeps_its_shape(algorithm, shape):
    found = simulate(3)(lambda comm: comm.allreduce(np.full(shape, comm.rank), algorithm=algorithm))

    same(found, [np.full(shape, 3)] * 3)


# order


@each([key for key in ALGORITHMS if key[0] in REDUCING and key not in REORDER])
def test_a_reduction_that_does_not_commute_is_done_in_the_order_of_ranks(name, algorithm):
    words = "abcdefghi"

    for ranks in range(1, 10):
        for root in roots(name, ranks):
            rooted = {"root": root} if name in ROOTED else {}

            def program(comm, by):
                if name == "reduce_scatter":
                    out = np.zeros(2)
                    comm.Reduce_scatter_block(np.full(2 * comm.size, 1.0 * comm.rank), out, op=THE_LAST, algorithm=by)
                    return out.tolist()
                spelt = Op.Create(lambda a, b: a + b)
                return getattr(comm, name)(words[comm.rank], op=spelt, algorithm=by, **rooted)  # noqa: B023

            found, wanted = (simulate(ranks)(lambda comm: program(comm, by)) for by in (algorithm, "native"))  # noqa: B023

            assert found == wanted


@each(sorted(REORDER))
def test_a_reduction_that_does_not_commute_is_refused_by_what_changes_the_order(name, algorithm):
    def program(comm):
        method = comm.Allreduce if name == "allreduce" else comm.Reduce_scatter_block
        method(
            np.zeros(4), np.zeros(4 if name == "allreduce" else 1), op=Op.Create(lambda a, b: b), algorithm=algorithm
        )

    refused("does not commute.*algorithm='tree'", program)


def test_rank_order_gives_the_bits_of_native_and_the_ring_does_not():
    def program(comm):
        x = np.random.default_rng(comm.rank).normal(size=100_000).astype(np.float32)
        outs = [np.empty_like(x) for _ in range(3)]
        for out, algorithm in zip(outs, ("native", "rank_order", "ring"), strict=True):
            comm.Allreduce(x, out, algorithm=algorithm)
        return outs

    for native, rank_order, ring in simulate(4)(program):
        np.testing.assert_array_equal(rank_order, native)
        np.testing.assert_allclose(ring, native, rtol=1e-3, atol=1e-6)
        assert 0.1 < np.mean(ring != native) < 0.6


# what travels


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_a_ring_takes_two_times_p_minus_one_steps_and_as_many_pths_of_the_bytes(ranks):
    told = run_ranks(ranks, lambda comm: comm.Allreduce(np.zeros(120), np.zeros(120), algorithm="ring"))

    for rank in range(ranks):
        sent = [m for m in told.record.messages if m.source == rank]
        assert len(sent) == 2 * (ranks - 1)
        assert {m.dest for m in sent} == {(rank + 1) % ranks}
        assert sum(m.bytes for m in sent) == 2 * (ranks - 1) * 960 // ranks


def test_pieces_of_different_lengths_are_gathered_and_exchanged():
    def program(comm, by):  # by: the name of an algorithm -> which is taken
        counts = [3, 0, 2, 4][: comm.size]
        mine, room = np.full(counts[comm.rank], float(comm.rank)), np.zeros(sum(counts))
        out, exchanged = np.zeros(counts[comm.rank]), np.zeros(comm.size * counts[comm.rank])
        comm.Gatherv(mine, [room, counts], root=2, algorithm=by("naive"))
        everyone = [np.zeros(sum(counts)) for _ in range(3)]
        for each, algorithm in zip(everyone, ("naive", "ring", "doubling"), strict=True):
            comm.Allgatherv(mine, [each, counts], algorithm=by(algorithm))
        comm.Scatterv([np.arange(9.0), counts] if comm.rank == 1 else None, out, root=1, algorithm=by("naive"))
        comm.Alltoallv(
            [np.repeat(float(comm.rank), sum(counts)), counts],
            [exchanged, [counts[comm.rank]] * comm.size], algorithm=by("pairwise"),
        )  # fmt: skip
        return [room, *everyone, out, exchanged]

    found = simulate(4)(lambda comm: program(comm, lambda name: name))
    wanted = simulate(4)(lambda comm: program(comm, lambda name: "native"))

    for one, other in zip(found, wanted, strict=True):
        same(one, other)


@pytest.mark.parametrize("name", ["Gatherv", "Scatterv"])
def test_a_tree_refuses_pieces_of_different_lengths(name):
    def program(comm):
        given = (
            ([np.zeros(3), [1, 2]], np.zeros(1 + comm.rank))
            if name == "Scatterv"
            else (np.zeros(1 + comm.rank), [np.zeros(3), [1, 2]])
        )
        getattr(comm, name)(*given, algorithm="tree")

    refused(f"of equal length; found {name}", program, ranks=2)


def test_an_unknown_algorithm_is_named_beside_the_known_ones():
    refused(
        "scan goes by native, linear, doubling; found 'snake'", lambda comm: comm.scan(1, algorithm="snake"), ranks=2
    )


def test_the_name_that_books_give_to_doubling_is_taken_where_it_is_the_same_and_shown_by_ours():
    def program(comm):
        return comm.allreduce(comm.rank, algorithm="doubling" if comm.rank else "recursive_doubling")

    run = run_ranks(4, program)

    assert run.results == [6] * 4
    assert {call.algorithm for call in run.record.calls if call.parent < 0} == {"doubling"}


@pytest.mark.parametrize(("asked", "meant"), [("recursive_doubling", "doubling"), ("rings", "ring"), ("?", "native")])
def test_an_algorithm_that_is_not_there_is_refused_with_the_one_that_looks_like_it(asked, meant):
    with pytest.raises(ArgumentError, match=f"algorithm='{meant}'"):
        find("allgather", asked)
