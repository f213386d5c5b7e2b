"""The fault matrix on simulated ranks: within a second each is named, with ranks, calls and lines, on every rank."""

import contextlib

import numpy as np
import pytest

from jt_edu.base.errors import RankError
from jt_edu.mpi.base.constants import MAX, SUM
from jt_edu.mpi.base.errors import CallError, DeadlockError, MismatchError, TruncationError
from jt_edu.mpi.simulator.threads import run_ranks, simulate
from tests.ranks import zoo
from tests.ranks.faulty import everyone_is_told, fails, threads_of_ranks, until

# ranks that call one collective differently


@pytest.mark.parametrize(
    ("odd", "even", "words"),
    [
        (lambda c: c.allreduce(1), lambda c: c.bcast(1), ("allreduce(op=SUM)", "bcast(root=0)", "different ones")),
        (lambda c: c.allreduce(1, MAX), lambda c: c.allreduce(1), ("op=MAX", "op=SUM", "the same op on every rank")),
        (lambda c: c.bcast(1, root=1), lambda c: c.bcast(1, root=0), ("root=1", "root=0", "the same root")),
        (
            lambda c: c.Bcast(np.zeros(2, "f4")), lambda c: c.Bcast(np.zeros(2)),
            ("dtype=float32", "dtype=float64", "the same dtype"),
        ),
        (
            lambda c: c.Allreduce(np.zeros(2), np.zeros(2)), lambda c: c.Allreduce(np.zeros(3), np.zeros(3)),
            ("count=2", "count=3", "the same count"),
        ),
        (lambda c: c.Bcast(np.zeros((2, 2))), lambda c: c.Bcast(np.zeros(5)), ("count=4", "count=5")),
        (
            lambda c: c.Bcast(np.zeros(2)), lambda c: c.bcast(np.zeros(2)),
            ("Bcast(", "bcast(", "small letters are for objects"),
        ),
        (
            lambda c: c.Ibcast(np.zeros(2)).wait(), lambda c: c.Bcast(np.zeros(2)),
            ("Ibcast(", "Bcast(", "comes back at once"),
        ),
        (
            lambda c: c.allreduce(1, algorithm="naive"), lambda c: c.allreduce(1),
            ("algorithm=naive", "the same algorithm"),
        ),
        (lambda c: c.Split(0), lambda c: c.barrier(), ("Split()", "barrier()")),
    ],
)  # fmt: skip
def test_different_calls_are_shown_side_by_side_on_every_rank(odd, even, words):
    run = fails(lambda c: (odd if c.rank % 2 else even)(c), 2, MismatchError, "collective number 1", *words)

    everyone_is_told(run, "rank 0 calls", "rank 1 calls", "at test_faults.py", *words)


def test_of_many_ranks_those_that_differ_are_told_apart():
    def program(comm):
        if comm.rank == 2:
            comm.reduce(1)
        else:
            comm.allreduce(1)

    fails(program, 4, MismatchError, "ranks 0 and 1 call allreduce(op=SUM)", "rank 2 calls reduce(root=0, op=SUM)")


def test_parts_that_are_longer_than_the_room_for_them_are_named():
    def program(comm):
        room = [np.zeros(3), [2, 1]] if comm.rank == 0 else None
        comm.Gatherv(np.zeros(2), room)

    fails(program, 2, TruncationError, "Gatherv has room for 1 number for what rank 1 sends", "2 of them", "on rank 0")


def test_an_op_that_fails_is_told_to_all():
    run = fails(
        lambda c: c.allreduce([1] if c.rank else 1), 3, RankError, "allreduce(op=SUM)", "TypeError", "unsupported"
    )

    everyone_is_told(run, "TypeError")


# calls too few, and too many


def test_a_rank_that_skips_a_collective():
    def program(comm):
        if comm.rank != 1:
            comm.barrier()

    fails(
        program, 3, DeadlockError, "ranks 0 and 2 wait in barrier()", "rank 1 has ended, without a call",
        "let every rank of the group call barrier, rank 1 too",
    )  # fmt: skip


def test_a_rank_that_calls_one_more():
    def program(comm):
        comm.barrier()
        if comm.rank == 1:
            comm.allreduce(1)

    run = fails(
        program, 3, DeadlockError, "rank 1 waits in allreduce(op=SUM)", "rank 0 has ended, after barrier()",
        "rank 2 has ended, after barrier()",
    )  # fmt: skip
    everyone_is_told(run, "allreduce", but=(0, 2))


def test_collectives_of_two_groups_in_different_order():
    def program(comm):
        other = comm.Dup()
        for group in (comm, other) if comm.rank else (other, comm):
            group.barrier()

    fails(
        program, 2, DeadlockError, "rank 0 waits in barrier() in the group of ranks 0 and 1",
        "rank 1 waits in barrier()",
        "same order",
    )  # fmt: skip


# exceptions


@pytest.mark.parametrize("failing", [0, 2])
@pytest.mark.parametrize("when", ["before", "inside", "after"])
def test_an_exception_ends_all_ranks_and_says_whose_it_was(failing, when):
    def broken(a, b):
        raise KeyError("inside of the op")

    def program(comm):
        if when == "before" and comm.rank == failing:
            raise KeyError("on the way")
        comm.allreduce(1, broken if when == "inside" else SUM)
        if when == "after" and comm.rank == failing:
            raise KeyError("on the way")
        comm.barrier()

    run = fails(
        program, 3, *((RankError, "KeyError", "inside of the op") if when == "inside" else (KeyError, "on the way"))
    )
    everyone_is_told(run, *(["test_faults.py"] if when == "inside" else []))
    if when != "inside":
        assert run.failed_rank == failing
        others = [str(e) for rank, e in enumerate(run.errors) if rank != failing]
        assert all("was stopped" in e and f"because rank {failing} failed" in e for e in others)
        with pytest.raises(
            RankError, match=rf"rank {failing} did not(.|\n)*KeyError(.|\n)*at test_faults.py:\d+: raise"
        ) as e:
            simulate(3)(program)
        assert isinstance(e.value.__cause__, KeyError)


def test_the_error_of_a_wrong_argument_names_rank_and_line():
    run = fails(lambda c: c.send(1, dest=9) if c.rank == 1 else c.barrier(), 2, CallError, "9", "on rank 1")

    assert "at test_faults.py" in str(run.error)


def test_a_rank_that_catches_everything_is_left_behind_without_a_hang():
    def program(comm):
        begun.append(comm.rank)
        if comm.rank == 0:
            comm.iprobe()
            raise ValueError("enough")
        while True:
            with contextlib.suppress(BaseException):  # what nobody should write
                comm.recv(source=0)

    begun, threads = [], threads_of_ranks()
    run = run_ranks(2, program)

    assert isinstance(run.error, ValueError) and begun == [0, 1]
    until(lambda: [one.name for one in threads_of_ranks() - threads] == ["jt_edu rank 1"])  # it sleeps for ever


# the end of a run


def test_abort_ends_all_ranks():
    run = fails(lambda c: c.Abort(7) if c.rank == 1 else c.barrier(), 3, RankError, "rank 1 called Abort", "7")

    everyone_is_told(run)


def test_a_run_after_one_that_failed_works():
    def bad(comm):
        comm.recv(source=(comm.rank + 1) % comm.size)

    for _ in range(3):
        assert isinstance(run_ranks(3, bad).error, DeadlockError)
        assert simulate(3)(lambda c: c.allreduce(1)) == [3, 3, 3]


# the zoo


@pytest.mark.parametrize("animal", zoo.ZOO + zoo.HANGS, ids=lambda a: a.name)
def test_the_verdict_on_each_animal_of_the_zoo(animal):
    for synchronous in (False, True):
        if animal.verdict == "works" or (animal.verdict == "luck" and not synchronous):
            assert run_ranks(animal.ranks, zoo.program(animal), synchronous=synchronous).error is None
            continue
        kind = MismatchError if animal.name == "two collectives" else DeadlockError
        says = () if synchronous and animal.verdict == "hang" else animal.says
        fails(zoo.program(animal), animal.ranks, kind, *says, synchronous=synchronous)
