"""What goes wrong is told on every rank, in time, and a group that failed is not used any more."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.distributed import socket_mesh
from jt_edu.distributed.launch import kept_port
from jt_edu.distributed.monitored_barrier import LONGER
from jt_edu.distributed.tcp_group import ReceiveWork
from jt_edu.mpi import Faults, run_ranks
from jt_edu.mpi.base.errors import LostRankError, MismatchError, RankTimeoutError
from tests.distributed.ranks import BACKENDS, LONG, dist, heard, outcomes, run, until
from tests.house.plan import ROOT

MISMATCHES = {
    "another collective": (lambda x: dist.all_reduce(x), lambda x: dist.broadcast(x, 0), "allreduce", "bcast"),
    "another reduction": (lambda x: dist.all_reduce(x), lambda x: dist.all_reduce(x, "MAX"), "SUM", "MAX"),
    "another root": (lambda x: dist.broadcast(x, 0), lambda x: dist.broadcast(x, 1), "root=0", "root=1"),
    "another size": (lambda x: dist.all_reduce(x), lambda x: dist.all_reduce(jt.ones(3)), "2", "3"),
    "another dtype": (lambda x: dist.all_reduce(x), lambda x: dist.all_reduce(x.double()), "float32", "float64"),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", MISMATCHES)
def test_a_mismatch_is_told_with_both_calls(backend, case):
    mine, theirs, word, other = MISMATCHES[case]

    with pytest.raises(MismatchError, match=r"rank 0[\s\S]*rank 1") as caught:
        run(backend, 2, lambda rank: (mine if rank == 0 else theirs)(jt.ones(2)))

    assert word in str(caught.value) and other in str(caught.value)


@pytest.mark.parametrize("case", MISMATCHES)
def test_over_sockets_a_mismatch_is_told_on_every_rank_with_its_number(case):
    mine, theirs, _, _ = MISMATCHES[case]

    def program(rank):
        dist.barrier()
        (mine if rank == 0 else theirs)(jt.ones(2))

    _, errors = outcomes(2, program)

    assert set(errors) == {0, 1} and all(isinstance(e, jt.RankError) for e in errors.values())
    assert all("number 2" in str(e) for e in errors.values())


def test_over_sockets_shapes_of_the_same_size_differ_too():
    _, errors = outcomes(2, lambda rank: dist.all_reduce(jt.ones(2, 3) if rank else jt.ones(3, 2)))

    assert any("(2, 3)" in str(e) and "(3, 2)" in str(e) for e in errors.values())


def test_a_rank_that_does_not_come_is_named_with_the_call_and_its_number_in_time():
    all_were_told = threading.Barrier(3)

    def program(rank):
        dist.barrier()
        said = ""
        if rank != 2:
            dist.group.WORLD.set_timeout(0.1 if rank == 0 else LONG)
            if rank == 0:
                heard(1)
            with pytest.raises(jt.RankError) as caught:
                dist.all_reduce(jt.ones(2))
            said = str(caught.value)
        all_were_told.wait(LONG)  # rank 2 has not come up to now
        return said

    zero, one, _ = run("tcp", 3, program)

    for text in (zero, one):
        assert "allreduce number 2, allreduce(op=SUM, shape=(2,), dtype=float32)" in text
        assert "no rank 2 within 0.1 s" in text
    assert "rank 0 gave up allreduce number 2" in one


def test_a_group_that_failed_refuses_further_use_and_a_new_one_works():
    def program(rank):
        if rank == 0:
            with pytest.raises(jt.RankError):
                dist.all_reduce(jt.ones(1))
        else:
            with pytest.raises(jt.RankError):
                dist.broadcast(jt.ones(1), 0)
        with pytest.raises(jt.RankError, match=r"one that failed in .* number 1"):
            dist.barrier()
        dist.destroy_process_group()
        dist.init_process_group("tcp", f"tcp://127.0.0.1:{port}", LONG, 2, rank)
        x = jt.ones(1)
        dist.all_reduce(x)
        return x.item()

    with kept_port() as port:
        assert run("tcp", 2, program) == [2.0, 2.0]


def test_a_failed_group_does_not_spoil_the_others():
    def program(rank):
        some = dist.new_group([0, 1])
        with pytest.raises(jt.RankError):
            dist.all_reduce(jt.ones(1) if rank else jt.ones(2), group=some)
        x = jt.ones(1)
        dist.all_reduce(x)
        return x.item()

    assert run("tcp", 2, program) == [2.0, 2.0]


def test_a_failure_in_the_background_is_told_by_the_work_and_by_the_next_call():
    def program(rank):
        x = jt.ones(1)
        work = dist.all_reduce(x, "SUM" if rank else "MAX", async_op=True)
        until(work.is_completed)
        assert not work.is_success() and isinstance(work.exception(), jt.RankError)
        with pytest.raises(jt.RankError):
            work.wait()
        with pytest.raises(jt.RankError):
            work.get_future().wait()
        with pytest.raises(jt.RankError, match="group that is whole"):
            dist.barrier()
        return x.item()

    assert run("tcp", 2, program) == [1.0, 1.0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_wait_may_be_shorter_than_the_groups_patience(backend):
    was_told = threading.Event()

    def program(rank):
        if rank == 1:
            if backend == "threads":
                dist.group.WORLD.comm.compute(10_000_000_000)
            else:
                was_told.wait(LONG)
            return None
        with pytest.raises(RankTimeoutError, match="allreduce number") as caught:
            dist.all_reduce(jt.ones(1), async_op=True).wait(0.1)
        was_told.set()
        return str(caught.value)

    assert any(word in run(backend, 2, program)[0] for word in ("rank 1", "1 had not come"))


def test_among_simulated_ranks_a_timeout_counts_virtual_seconds():
    def program(rank):
        if rank == 1:
            dist.group.WORLD.comm.compute(2_000_000_000)
        dist.all_reduce(jt.ones(1))

    run("threads", 2, program, timeout=3)
    with pytest.raises(RankTimeoutError, match=r"rank 1|1 had not come"):
        run("threads", 2, program, timeout=1)


def test_a_simulated_rank_that_is_dropped_is_named_at_once():
    def program(comm):
        dist.init_process_group()
        for _ in range(3):
            dist.all_reduce(jt.ones(1))

    told = run_ranks(3, program, faults=Faults(drop={2: 4}))

    assert isinstance(told.error, jt.RankError) and "rank 2 was dropped" in str(told.error)
    assert "allreduce number" in str(told.error)
    assert told.record.duration < 1e9, "virtual ns: the patience of the group has half an hour"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_monitored_barrier_names_one_missing_rank_or_all(backend):
    all_were_told = threading.Barrier(4)

    def program(rank):
        said = []
        for every in (False, True) if rank in (0, 2) else ():
            patience = LONG if backend == "tcp" and rank == 2 else 0.1
            if rank == 0:
                heard(2)
            with pytest.raises(RankTimeoutError, match="monitored_barrier") as caught:
                dist.monitored_barrier(timeout=patience, wait_all_ranks=every)
            said.append(str(caught.value))
        if backend == "tcp":
            all_were_told.wait(LONG)
        return said

    zero, _, two, _ = run(backend, 4, program)

    for said in (zero, two):
        assert "no rank 1." in said[0] and "no rank 1, 3." in said[1]


@pytest.mark.parametrize("every", [False, True])
def test_who_comes_last_is_told_the_ranks_that_are_missing_and_not_rank_0(every):
    def program(rank):
        if rank in (1, 2):
            return None
        with pytest.raises(RankTimeoutError, match="monitored_barrier") as caught:
            dist.monitored_barrier(timeout=0.3, wait_all_ranks=every)
        return str(caught.value)

    said = run("threads", 5, program)

    missing = "no rank 1, 2." if every else "no rank 1."
    assert all(missing in said[rank] for rank in (0, 3, 4)), said


def test_a_rank_0_that_comes_late_but_in_time_is_not_the_missing_one(monkeypatch):
    monkeypatch.setattr(sys.modules["jt_edu.distributed.monitored_barrier"], "LONGER", 0.1)

    def program(rank):
        if rank == 1:
            return None
        if rank == 0:
            dist.group.WORLD.comm.compute(900_000_000)
        with pytest.raises(RankTimeoutError, match="monitored_barrier") as caught:
            dist.monitored_barrier(timeout=1)
        return str(caught.value)

    zero, _, two = run("threads", 3, program)

    assert "no rank 1." in zero and "no rank 1." in two


def test_over_sockets_the_patience_for_who_is_missing_begins_when_rank_0_has_come(monkeypatch):
    asked, wait = {0: [], 2: []}, ReceiveWork._await
    all_were_told = threading.Barrier(3)

    def waited(work, seconds):
        asked[dist.get_rank()].append(seconds)
        return wait(work, seconds if dist.get_rank() == 0 else LONG)

    def program(rank):
        if rank != 1:
            if rank == 0:
                heard(2)  # which has waited for some time
            with pytest.raises(RankTimeoutError, match=r"within 0\.1 s; found no rank 1\."):
                dist.monitored_barrier(timeout=0.1)
        all_were_told.wait(LONG)

    monkeypatch.setattr(ReceiveWork, "_await", waited)
    run("tcp", 3, program)

    assert asked[2] == [0.1, 0.1 + LONGER]


# a connection


@pytest.fixture
def connection():
    """Two ends of one connection, and the inbox of the second."""
    here, there = socket.socketpair()
    inbox = socket_mesh.Inbox()
    ends = socket_mesh.Peer(socket_mesh.Inbox(), 1, here), socket_mesh.Peer(inbox, 0, there)
    yield *ends, inbox
    for end in ends:
        end.close()


def test_after_a_part_of_a_message_nothing_else_is_sent_through_the_connection(connection):
    mine, theirs, inbox = connection
    with pytest.raises(RankTimeoutError, match="rank 1 takes its messages"):
        mine.send(socket_mesh.NUMBERS, 0, 1, np.arange(1_000_000.0), time.monotonic() + 0.1)
    theirs.start()

    with pytest.raises(LostRankError, match="took only a part of a message"):
        mine.send(socket_mesh.NUMBERS, 0, 2, np.full(1_000_000, 7.0), time.monotonic() + LONG)
    with inbox.changed:
        inbox.changed.wait_for(lambda: inbox.gone, LONG)

    assert not inbox.frames and inbox.gone == {0: "ended without a goodbye"}


def test_a_message_of_which_nothing_was_sent_leaves_the_connection_whole(connection):
    mine, theirs, inbox = connection
    mine.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    with contextlib.suppress(BlockingIOError):  # now it is full of whole frames
        while True:
            mine.connection.send(socket_mesh.HEADER.pack(socket_mesh.NUMBERS, 0, 1, b"|u1", 0), socket.MSG_DONTWAIT)
    with pytest.raises(RankTimeoutError):
        mine.send(socket_mesh.NUMBERS, 0, 2, np.ones(1), time.monotonic() + 0.01)
    theirs.start()

    mine.send(socket_mesh.NUMBERS, 0, 3, np.ones(1), time.monotonic() + LONG)

    assert inbox.take(0, socket_mesh.NUMBERS, [0], 3, time.monotonic() + LONG).payload.tolist() == [1.0]


def test_a_message_that_no_buffer_has_room_for_arrives_whole(connection):
    mine, theirs, inbox = connection
    numbers = np.arange(3_000_000.0)
    theirs.start()

    for tag in (1, 2):
        mine.send(socket_mesh.NUMBERS, 0, tag, numbers, time.monotonic() + LONG)

    for tag in (1, 2):
        came = inbox.take(0, socket_mesh.NUMBERS, [0], tag, time.monotonic() + LONG)
        np.testing.assert_array_equal(came.payload, numbers)


# processes


PROGRAM = """
import os, sys, time
import numpy as np
import jt_edu as jt
from tests.distributed.ranks import LONG, dist, heard
dist.init_process_group(timeout=LONG)
rank, how = dist.get_rank(), sys.argv[1]
dist.barrier()
if rank == 2 and how == "kill":
    dist.all_reduce(np.ones(4_000_000, "f4"), async_op=True)
    os.kill(os.getpid(), 9)
if rank == 2 and how == "stop":
    time.sleep(10 * LONG)
if rank == 2 and how == "raise":
    1 / 0
if rank == 0 and how == "stop":
    heard(1)
    dist.group.WORLD.set_timeout(0.2)
try:
    for _ in range(5):
        dist.all_reduce(np.ones(4_000_000, "f4"))
    print("went well", flush=True)
except jt.RankError as error:
    print(f"{type(error).__name__}: {error}", flush=True)
    try:
        dist.barrier()
    except jt.RankError as error:
        print("refused:", error, flush=True)
"""


@pytest.fixture
def start():
    """A function: start three ranks, of which rank 2 does not do what it should."""
    ranks = []

    def begin(how):
        known = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "PYTHONPATH": str(ROOT)}
        ranks.extend(
            subprocess.Popen(
                [sys.executable, "-c", PROGRAM, how], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env={**known, "RANK": str(rank), "WORLD_SIZE": "3"},
            )
            for rank in range(3)
        )  # fmt: skip
        return ranks

    with kept_port() as port:
        yield begin
    for rank in ranks:
        rank.kill()
        rank.communicate()


@pytest.mark.parametrize("how", ["kill", "raise"])
def test_processes_whose_fellow_dies_inside_of_all_reduce_say_who_and_where(start, how):
    told = [rank.communicate(timeout=2 * LONG)[0] for rank in start(how)]

    for text in told[:2]:
        assert "allreduce number" in text and "rank 2" in text and "refused: barrier" in text
        assert "RankTimeoutError" not in text, "they are told at once, and not when their patience ends"


def test_processes_whose_fellow_hangs_time_out_and_name_it(start):
    told = [rank.communicate(timeout=2 * LONG)[0] for rank in start("stop")[:2]]

    for text in told:
        assert "allreduce number 2" in text and "no rank 2 within 0.2 s" in text
    assert "rank 0 gave up" in told[1]


def test_a_rank_that_left_well_is_missed_too():
    def program(rank):
        dist.barrier()
        if rank == 1:
            return
        with pytest.raises(LostRankError, match="rank 1 has left the group"):
            dist.all_reduce(jt.ones(1))

    run("tcp", 2, program)
