"""The baton: whose turn it is, how a run is stopped, and what ranks may do that nobody thought of."""

import signal
import sys
import threading
import time

import numpy as np
import pytest

from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError, RankError
from jt_edu.mpi.base.constants import Op
from jt_edu.mpi.communicator.request import Request
from jt_edu.mpi.simulator import scheduler
from jt_edu.mpi.simulator.threads import SoloComm, run_ranks, simulate
from tests.patience import LONG
from tests.ranks.faulty import all_end_but, threads_of_ranks, until


def ring(comm):
    return comm.sendrecv(comm.rank, (comm.rank + 1) % comm.size, source=(comm.rank - 1) % comm.size)


def turns(policy, seed=0):
    """Who was first to come to each point."""
    order = []

    def program(comm):
        for _ in range(3):
            order.append(comm.rank)
            comm.compute(10 ** (3 + comm.rank))
            comm.isend(None, comm.rank).wait()
            comm.recv()

    simulate(3, policy=policy, seed=seed)(program)
    return order


# turns


def test_round_robin_gives_each_its_turn():
    assert turns("round_robin") == [0, 1, 2] * 3


def test_by_the_clock_the_earliest_goes_first():
    assert turns("clock")[:5] == [0, 1, 2, 0, 0]


def test_random_turns_depend_on_the_seed():
    assert turns("random", 1) == turns("random", 1)
    assert len({tuple(turns("random", seed)) for seed in range(5)}) > 1


def test_policies_that_do_not_exist_are_refused():
    with pytest.raises(ArgumentError, match="fifo"):
        run_ranks(2, ring, policy="fifo")
    for size in (0, -1, 5000, 2.0, True, "2"):
        with pytest.raises(ArgumentError, match="1 to 4096 ranks"):
            run_ranks(size, ring)
    for timeout in (0, -1.0, True):
        with pytest.raises(ArgumentError, match="timeout"):
            run_ranks(2, ring, timeout=timeout)


def test_who_looks_in_vain_lets_the_others_catch_up_whatever_the_policy():
    def program(comm):
        request = comm.irecv(source=1 - comm.rank)
        if comm.rank == 1:
            comm.compute(10**9)
        comm.send(comm.rank, 1 - comm.rank)
        while not (found := request.test())[0]:
            pass
        return found[1]

    for policy in ("round_robin", "random", "clock"):
        assert simulate(2, policy=policy)(program) == [1, 0]


# the end


def test_fifty_runs_good_and_bad_leave_no_thread():
    def bad(comm):
        if comm.rank == 1:
            raise ValueError("no")
        comm.recv(source=1)

    before = threads_of_ranks()
    for _ in range(25):
        assert simulate(3)(ring) == [2, 0, 1]
        assert run_ranks(3, bad).error is not None

    all_end_but(before)


def test_a_thousand_ranks_meet_in_few_turns():
    """Ten rounds of 1,024 messages: what the lesson on dissemination shows. `tests.bench ranks` says how long."""

    def barrier(comm):
        k, nothing = 1, np.zeros(1, np.uint8)
        while k < comm.size:
            comm.Sendrecv(nothing, (comm.rank + k) % comm.size, 0, nothing.copy(), (comm.rank - k) % comm.size, 0)
            k *= 2
        return comm.now

    run = run_ranks(1024, barrier)

    assert len(set(run.results)) == 1
    assert len(run.record.schedule) <= 2 * 1024  # nobody waits for what is there already


def interrupted(program, size=3):
    """Run a program that goes on for ever, and interrupt it as a notebook does, while this thread waits for it.

    Answers (seconds of the processor until it was over, what was raised).
    """
    main, waits, at = threading.main_thread().ident, threading.Event(), []

    def strike():
        waits.wait(LONG)
        at.append(time.process_time())
        signal.pthread_kill(main, signal.SIGINT)

    striker = threading.Thread(target=strike)
    striker.start()
    try:
        with pytest.raises((KeyboardInterrupt, RankError)) as found:
            run_ranks(size, program, while_waiting=waits.set)
        return time.process_time() - at[0], found.value
    finally:
        waits.set()
        striker.join()


def spin(comm):
    while True:
        pass


def spin_through_calls(comm):
    while True:
        ring(comm)


def spin_and_catch(comm):
    while True:
        try:
            ring(comm)
            for _ in range(100):
                pass
        except Exception:  # noqa: BLE001, S110 - what learners write
            pass


def numbers(comm):
    x = np.ones((200, 200))
    while True:
        x = x @ x / 200


def nested(comm):
    return simulate(2)(spin)


@pytest.mark.parametrize("program", [spin, spin_through_calls, spin_and_catch, numbers, nested])
def test_an_interrupt_ends_all_ranks_soon(program, monkeypatch):
    monkeypatch.setattr(scheduler, "ENDING", LONG)  # for a rank that has to wait for its turn
    before = threads_of_ranks()

    took, raised = interrupted(program)

    assert took < 10 and isinstance(raised, KeyboardInterrupt)  # seconds in which a rank computed all the time
    all_end_but(before)
    assert simulate(2)(ring) == [1, 0]


def test_an_interrupt_names_the_rank_that_cannot_be_stopped_and_ends_the_others():
    before, over = threads_of_ranks(), threading.Event()

    _, raised = interrupted(lambda c: over.wait(LONG) if c.rank == 1 else ring(c))

    assert isinstance(raised, RankError) and isinstance(raised.__cause__, KeyboardInterrupt)
    assert "rank 1, at test_baton.py" in str(raised) and "over.wait(LONG)" in str(raised)
    until(lambda: [thread.name for thread in threads_of_ranks() - before] == ["jt_edu rank 1"])
    assert simulate(2)(ring) == [1, 0]
    over.set()
    all_end_but(before)


def test_an_interrupt_before_all_have_begun(monkeypatch):
    monkeypatch.setattr(scheduler, "ENDING", LONG)
    before = threads_of_ranks()

    took, raised = interrupted(lambda c: spin(c) if c.rank == 0 else ring(c), size=50)

    assert took < 10 and isinstance(raised, KeyboardInterrupt)
    all_end_but(before)


def test_who_waits_for_the_ranks_can_do_something_meanwhile():
    seen = threading.Event()

    assert run_ranks(2, lambda c: seen.wait(LONG), while_waiting=seen.set).results == [True, True]


# wild ways


def test_a_thread_of_a_rank_that_speaks_is_told():
    def program(comm):
        errors = []

        def speak():
            try:
                comm.send("x", dest=0)
            except RankError as error:
                errors.append(str(error))

        thread = threading.Thread(target=speak, name="helper")
        thread.start()
        thread.join()
        return errors[0]

    (said,) = simulate(1)(program)

    assert "rank 0 communicates from the thread that it runs in" in said and "'helper'" in said


def test_the_communicator_of_another_rank_is_told():
    shared = {}

    def program(comm):
        shared.setdefault("comm", comm)
        comm.barrier()
        shared["comm"].send("x", dest=0)

    run = run_ranks(2, program)

    assert isinstance(run.error, RankError)
    assert "this is that of rank 0; found rank 1 uses it" in str(run.error)


def test_a_communicator_that_was_kept_after_the_run_is_told():
    kept = simulate(2)(lambda comm: comm)[1]
    failed = (
        run_ranks(2, lambda comm: (kept_of_failure.append(comm), 1 / 0))
        if (kept_of_failure := []) is not None
        else None
    )

    for comm in (kept, kept_of_failure[0]):
        for call in (comm.barrier, lambda c=comm: c.send(1, 0), lambda c=comm: c.irecv(), lambda c=comm: c.iprobe()):
            with pytest.raises(RankError, match="lasts as long as its run"):
                call()
    assert failed.error is not None


def test_ranks_in_ranks():
    def program(comm):
        inner = simulate(3)(lambda other: other.allreduce(other.rank + 10 * comm.rank))
        return comm.allgather(inner[0])

    assert simulate(2)(program) == [[3, 33], [3, 33]]


def test_a_failure_inside_of_ranks_in_ranks_reaches_the_outside():
    def program(comm):
        simulate(2)(lambda other: other.recv(source=1 - other.rank))

    run = run_ranks(2, program)

    assert "a circle: 0 -> 1 -> 0" in str(run.error)


def test_sys_exit_ends_a_rank_well_unless_it_says_otherwise():
    def program(comm):
        if comm.rank == 0:
            sys.exit(code)
        return comm.rank

    code = 0
    assert simulate(2)(program) == [None, 1]
    code = 3
    with pytest.raises(RankError, match=r"rank 0 did not; found sys.exit\(3\)\n    at test_baton.py"):
        simulate(2)(program)


def test_an_exception_that_is_none_of_the_usual_ones_ends_all():
    class Odd(BaseException):
        pass

    def program(comm):
        if comm.rank == 1:
            raise Odd("odd")
        comm.barrier()

    with pytest.raises(RankError, match="rank 1 did not; found Odd: odd"):
        simulate(2)(program)


def test_recursion_without_an_end_is_an_error_of_its_rank():
    def deeper(comm):
        return deeper(comm) + 1

    with pytest.raises(RankError, match="rank 0 did not; found RecursionError"):
        simulate(2)(lambda comm: deeper(comm) if comm.rank == 0 else comm.barrier())


def test_generators_may_speak_between_their_items():
    def words(comm):
        for k in range(3):
            yield ring(comm) + 10 * k

    assert simulate(2)(lambda comm: list(words(comm))) == [[1, 11, 21], [0, 10, 20]]


def test_requests_may_be_waited_for_in_another_function_but_not_on_another_rank():
    box = {}

    def program(comm):
        box[comm.rank] = comm.irecv(source=comm.rank)
        comm.barrier()
        box[1 - comm.rank].wait()

    run = run_ranks(2, program)

    assert isinstance(run.error, RankError) and "its own communicator" in str(run.error)


def test_an_algorithm_in_the_background_runs_in_the_context_of_its_rank():
    def program(comm):
        mine, seen = current(), []

        def add(a, b):
            seen.append(current() is mine)
            return a + b

        request = comm.Iallreduce(np.ones(1), room := np.zeros(1), Op.Create(add), algorithm="naive")
        request.wait()
        return room[0], all(seen)

    assert simulate(2)(program) == [(2, True)] * 2


def test_who_runs_alone_does_not_hang():
    comm = SoloComm()
    with pytest.raises(RankError, match="a circle: 0 -> 0"):
        comm.recv()
    assert comm.allreduce(3) == 3
    assert Request.waitall([comm.isend("x", 0), comm.irecv()]) == [None, "x"]
