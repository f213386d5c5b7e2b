"""The fault matrix, second half: messages that do not come, come late or do not fit; ranks that are slow or gone."""

import contextlib

import numpy as np
import pytest

from jt_edu.base.errors import ArgumentError, DtypeError
from jt_edu.mpi.base.constants import ANY_SOURCE
from jt_edu.mpi.base.errors import DeadlockError, LookedInVainError, LostRankError, RankTimeoutError, TruncationError
from jt_edu.mpi.simulator.faults import Faults
from jt_edu.mpi.simulator.threads import run_ranks, simulate
from jt_edu.mpi.trace.network import Network
from tests.ranks.faulty import everyone_is_told, fails

# sends and receives


@pytest.mark.parametrize("synchronous", [True, False])
def test_two_ranks_that_send_to_each_other_head_to_head(synchronous):
    def program(comm):
        (comm.send if synchronous else comm.ssend)("x", dest=1 - comm.rank)
        comm.recv(source=1 - comm.rank)

    name = "send" if synchronous else "ssend"
    run = fails(
        program, 2, DeadlockError, f"rank 0 waits in {name}(dest=1, tag=0)", f"rank 1 waits in {name}(dest=0, tag=0)",
        "a circle: 0 -> 1 -> 0", "sendrecv", "let one of the two receive first", synchronous=synchronous,
    )  # fmt: skip
    everyone_is_told(run, "a circle: 0 -> 1 -> 0", "at test_faults_of")
    assert ("since synchronous=True" in str(run.error)) is synchronous
    assert [w["peers"] for w in run.record.waits] == [[1], [0]]


def test_three_ranks_in_a_circle():
    def program(comm):
        comm.Ssend(np.zeros(1), (comm.rank + 1) % 3, tag=5)
        comm.Recv(np.zeros(1), (comm.rank - 1) % 3)

    run = fails(
        program, 3, DeadlockError, "rank 2 waits in Ssend(dest=0, tag=5)", "a circle: 0 -> 1 -> 2 -> 0",
        "every other rank receive first",
    )  # fmt: skip
    everyone_is_told(run, "a circle: 0 -> 1 -> 2 -> 0")


def test_a_receive_whose_message_has_another_tag():
    def program(comm):
        if comm.rank == 0:
            comm.send("x", dest=1, tag=3)
        else:
            comm.recv(source=0, tag=4)

    fails(
        program, 2, DeadlockError, "rank 1 waits in recv(source=0, tag=4)", "send(dest=1, tag=3) at test_faults_of",
        "the same tag where it is sent and where it is received",
    )  # fmt: skip


def test_a_receive_whose_message_went_through_another_communicator():
    def program(comm):
        other = comm.Dup()
        if comm.rank == 0:
            other.send("x", dest=1)
        else:
            comm.recv(source=0)

    fails(program, 2, DeadlockError, "through another communicator", "through the same communicator")


def test_a_receive_from_a_rank_that_has_ended():
    def program(comm):
        if comm.rank == 1:
            comm.Recv(np.zeros(1), source=0, tag=1)

    run = fails(
        program, 2, DeadlockError, "rank 1 waits in Recv(source=0, tag=1)", "rank 0 has ended, without a call",
        "one send more on rank 0, or one receive less on rank 1",
    )  # fmt: skip
    everyone_is_told(run, "Recv(source=0, tag=1)", but=(0,))


def test_a_receive_from_oneself():
    fails(
        lambda c: c.recv(source=c.rank), 1, DeadlockError, "rank 0 waits in recv(source=0", "a circle: 0 -> 0", "isend"
    )


def test_a_message_that_the_wildcard_took():
    """The race: recv(any) may take what recv(source=1) waits for."""

    def program(comm):
        if comm.rank == 0:
            comm.recv(source=ANY_SOURCE)
            comm.recv(source=1)
        elif comm.rank == 1:
            comm.send("from 1", dest=0)
        else:
            comm.compute(1000)
            comm.send("from 2", dest=0)

    good = [run_ranks(3, program, policy="random", seed=seed).error is None for seed in range(20)]
    assert any(good) and not all(good)
    bad = good.index(False)
    fails(
        program, 3, DeadlockError, "rank 0 waits in recv(source=1, tag=any)",
        "recv(source=any, tag=any) at test_faults_of", "took the message of rank 1, send(dest=0, tag=0)",
        "receive from one source there", policy="random", seed=bad,
    )  # fmt: skip


def test_a_probe_that_nobody_answers():
    fails(
        lambda c: c.probe(source=1 - c.rank, tag=2),
        2,
        DeadlockError,
        "rank 0 waits in probe(source=1, tag=2)",
        "a circle",
    )


def test_who_looks_again_and_again_for_what_will_not_come_is_told():
    def program(comm):
        request = comm.irecv(source=1, tag=8)
        while comm.rank == 0 and not request.test()[0]:
            pass
        comm.barrier()

    fails(
        program,
        2,
        LookedInVainError,
        "rank 0 looks again and again for irecv(source=1, tag=8)",
        "rank 1 waits in barrier()",
    )


@pytest.mark.parametrize("policy", ["round_robin", "random", "clock"])
def test_who_looks_again_and_again_is_not_told_when_it_comes_late(policy):
    def program(comm):
        if comm.rank == 0:
            while not comm.iprobe(source=1):
                pass
            return comm.recv(source=1)
        for _ in range(20):
            comm.compute(1_000_000)
            comm.iprobe(source=0)
        return comm.send("late", dest=0)

    assert simulate(2, policy=policy)(program) == ["late", None]


# buffers


def test_a_message_that_is_longer_than_the_room_for_it():
    def program(comm):
        if comm.rank == 0:
            comm.Send(np.zeros(5), dest=1, tag=2)
        else:
            comm.Recv(np.zeros(3), source=0, tag=2)

    run = fails(
        program, 2, TruncationError, "Recv has room for 3 numbers", "5 numbers of float64 from rank 0", "on rank 1"
    )
    assert "at test_faults_of" in str(run.error) and "comm.Recv" in str(run.error)


def test_a_buffer_of_another_type_than_what_comes():
    def program(comm):
        if comm.rank == 0:
            comm.Send(np.zeros(2, "f4"), dest=1)
        else:
            comm.Recv(np.zeros(2), source=0)

    fails(program, 2, DtypeError, "float64", "float32", "on rank 1")


def test_an_object_that_a_buffer_cannot_take():
    def program(comm):
        if comm.rank == 0:
            comm.send("text", dest=1)
        else:
            comm.Recv(np.zeros(2), source=0)

    fails(program, 2, DtypeError, "an object", "on rank 1")


# faults that are injected


def test_a_slow_rank_is_slow_by_exactly_its_factor():
    """Each computes 10 µs and meets the others: the time of the step is that of the slowest."""

    def program(comm):
        for _ in range(3):
            comm.compute(10_000)
            comm.barrier()
        return comm.now

    free = Network(0, 0, 0, 0)
    assert simulate(4, network=free)(program) == [30_000] * 4
    for factor in (1.5, 3.0, 7.0):
        assert simulate(4, network=free, faults=Faults(slow={2: factor}))(program) == [30_000 * factor] * 4
    usual, slow = simulate(4)(program)[0], simulate(4, faults=Faults(slow={2: 3.0}))(program)[0]
    assert slow - usual == 3 * 20_000


def test_who_is_slow_off_the_critical_path_costs_nothing():
    def program(comm):
        comm.compute(1_000 if comm.rank == 1 else 10_000)
        comm.barrier()
        return comm.now

    assert simulate(3, faults=Faults(slow={1: 10.0}))(program) == simulate(3)(program)


def test_a_dropped_rank_is_named_on_all_others():
    def program(comm):
        for _ in range(5):
            comm.allreduce(1)

    run = fails(
        program, 3, LostRankError, "rank 1 was dropped at its call 3, allreduce(op=SUM) at test_faults_of",
        "ranks 0 and 2 wait in allreduce", faults=Faults(drop={1: 3}),
    )  # fmt: skip
    everyone_is_told(run, "dropped at its call 3")


def test_a_dropped_rank_does_not_harm_those_who_do_not_need_it():
    run = run_ranks(3, lambda c: c.send(1, 2) if c.rank < 2 else c.recv(source=0), faults=Faults(drop={1: 1}))

    assert run.error is None and run.results == [None, None, 1]
    assert "dropped" in run.record.ends[1] and run.record.ends[::2] == ["", ""]


def test_a_dropped_rank_cannot_catch_it():
    def program(comm):
        for _ in range(4):
            with contextlib.suppress(BaseException):  # it says nothing any more, whatever it catches
                comm.send("x", dest=1 - comm.rank)
        return comm.rank

    run = run_ranks(2, program, faults=Faults(drop={0: 2}))

    assert sum(m.source == 0 for m in run.record.messages) == 1


def test_a_lost_message_is_named():
    def program(comm):
        if comm.rank == 0:
            return [comm.send(word, dest=1, tag=1) for word in "abc"]
        return [comm.recv(source=0, tag=1) for _ in range(3)]

    fails(
        program, 2, DeadlockError, "rank 1 waits in recv(source=0, tag=1)",
        "the message of rank 0, send(dest=1, tag=1) at test_faults_of", "was lost on its way",
        "wait(timeout=seconds)",
        faults=Faults(lose={(0, 1): 2}),
    )  # fmt: skip


def test_a_delayed_message_comes_later_by_exactly_that():
    def program(comm):
        if comm.rank == 0:
            comm.send("x", dest=1)
        else:
            comm.recv(source=0)
        return comm.now

    usual, delayed = simulate(2)(program), simulate(2, faults=Faults(delay={(0, 1): 5_000}))(program)

    assert (delayed[0], delayed[1]) == (usual[0], usual[1] + 5_000)


def test_faults_refuse_what_makes_no_sense():
    for wrong in (
        {"slow": {0: -1.0}},
        {"drop": {0: 0}},
        {"delay": {(0, 1): -5}},
        {"lose": {(0, 1): 0}},
        {"slow": {0: True}},
    ):
        with pytest.raises(ArgumentError):
            Faults(**wrong)


# things that were begun and never ended


def test_a_message_that_nobody_received_is_told_at_the_end():
    run = run_ranks(2, lambda c: c.send("x", 1, tag=6) if c.rank == 0 else None)

    (warning,) = run.record.warnings
    assert "nobody received the message of rank 0, send(dest=1, tag=6) at test_faults_of" in warning


def test_a_request_that_nobody_waited_for_is_told_at_the_end():
    def program(comm):
        comm.isend("x", dest=1 - comm.rank)
        comm.recv(source=1 - comm.rank)
        if comm.rank == 1:
            comm.irecv(source=0, tag=7)

    warnings = run_ranks(2, program).record.warnings

    assert [w.split(" at ")[0] for w in warnings] == [
        "rank 0 did not wait for its isend(dest=1, tag=0)", "rank 1 did not wait for its isend(dest=0, tag=0)",
        "rank 1 did not wait for its irecv(source=0, tag=7)",
    ]  # fmt: skip


def test_a_collective_in_the_background_that_nobody_waited_for_is_told_and_does_not_hang():
    def program(comm, algorithm):
        comm.Iallreduce(np.ones(1), np.zeros(1), algorithm=algorithm)

    for algorithm in ("native", "naive"):
        run = run_ranks(2, lambda c, a=algorithm: program(c, a))
        assert run.error is None
        assert len(run.record.warnings) == 2 and "Iallreduce" in run.record.warnings[0]


def test_a_program_that_ends_all_that_it_begins_gets_no_warning():
    assert run_ranks(3, lambda c: c.sendrecv(1, (c.rank + 1) % 3, source=(c.rank - 1) % 3)).record.warnings == []


# timeouts


def test_a_wait_can_be_given_up():
    def program(comm):
        if comm.rank == 1:
            comm.compute(5_000_000_000)
            comm.send("late", dest=0)
            return None
        request = comm.irecv(source=1)
        with pytest.raises(
            RankTimeoutError,
            match=r"waited 2 s of virtual time for irecv\(source=1, tag=any\), at test_faults_of(.|\n)*rank 1 ",
        ):
            request.wait(timeout=2)
        at = comm.now
        return at, request.wait(), comm.now > 5_000_000_000

    for policy in ("round_robin", "clock", "random"):
        assert simulate(2, policy=policy)(program)[0] == (2_000_000_000, "late", True)


def test_a_timeout_names_the_ranks_that_did_not_come():
    def program(comm):
        if comm.rank in (1, 3):
            comm.compute(3_000_000_000)
        comm.barrier()

    for policy in ("round_robin", "clock", "random"):
        run = fails(
            program,
            4,
            RankTimeoutError,
            "ranks 1 and 3 had not come by then",
            "waited 1 s of virtual time for barrier()",
            timeout=1.0,
            policy=policy,
        )
        assert run.failed_rank in (0, 2)


def test_a_world_with_a_timeout_does_not_wait_for_a_lost_message():
    run = fails(
        lambda c: c.send(1, 1) if c.rank == 0 else c.recv(source=0), 2, RankTimeoutError,
        "rank 1 waited 0.5 s of virtual time for recv(source=0, tag=any)", "rank 0 had not come by then", timeout=0.5,
        faults=Faults(lose={(0, 1): 1}),
    )  # fmt: skip
    assert run.failed_rank == 1


@pytest.mark.parametrize("policy", ["round_robin", "clock", "random"])
@pytest.mark.parametrize("buffers", [False, True])
def test_a_sendrecv_that_is_given_up_leaves_the_message_to_the_next_receive(buffers, policy):
    def program(comm):
        other, room = 1 - comm.rank, np.zeros(1)
        if comm.rank == 0:
            with pytest.raises(RankTimeoutError, match="waited 2 s"):
                comm.Sendrecv(np.ones(1), other, 0, room, other) if buffers else comm.sendrecv(1.0, other, source=other)
            return comm.Recv(room, other) or room[0] if buffers else comm.recv(source=other)
        comm.compute(3_000_000_000)
        return comm.Send(np.full(1, 7.0), other) if buffers else comm.send(7.0, other)

    assert simulate(2, timeout=2.0, policy=policy)(program)[0] == 7.0


def test_a_probe_of_a_message_that_comes_too_late_is_given_up_whatever_the_schedule():
    def program(comm):
        if comm.rank == 0:
            comm.compute(2_000_000_000)
            comm.send("late", 1)
        else:
            comm.probe(source=0)

    for policy in ("round_robin", "clock", "random"):
        fails(program, 2, RankTimeoutError, "rank 0 had not come by then", timeout=1.0, policy=policy)


def test_what_comes_in_time_is_not_given_up():
    assert simulate(2, timeout=1e-3)(lambda c: c.allreduce(1)) == [2, 2]
