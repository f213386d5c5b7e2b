"""What a learner reads: the words are pinned, because they are what simulated ranks are for."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from jt_edu.mpi.base.constants import ANY_SOURCE
from jt_edu.mpi.base.deadlock_hints import COLLECTIVE, RECEIVE, SEND, Wait, advice, circle_in, ranks_named
from jt_edu.mpi.simulator.deadlock_report import standstill, waits
from jt_edu.mpi.simulator.threads import run_ranks, simulate
from tests.ranks import zoo


def told(name, **options):
    (animal,) = [a for a in {*zoo.ZOO, *zoo.HANGS} if a.name == name]
    return str(run_ranks(animal.ranks, zoo.program(animal), **options).error)


def test_a_circle_of_receives():
    assert told("both listen") == (
        "deadlock: every rank waits for another; found none that can go on:\n"
        "  rank 0 waits in recv(source=1, tag=any)\n    at <both listen>:2\n"
        "  rank 1 waits in recv(source=0, tag=any)\n    at <both listen>:2\n"
        "  a circle: 0 -> 1 -> 0\n"
        "  try: let one of the two send before it receives; or sendrecv, which does both at once"
    )


def test_a_circle_of_sends_that_works_by_luck():
    assert told("both talk", synchronous=True) == (
        "deadlock: every rank waits for another; found none that can go on:\n"
        "  rank 0 waits in send(dest=1, tag=0)\n    at <both talk>:2\n"
        "  rank 1 waits in send(dest=0, tag=0)\n    at <both talk>:2\n"
        "  each send waits until it is received, since synchronous=True\n"
        "  a circle: 0 -> 1 -> 0\n"
        "  try: sendrecv, which does both at once; or let one of the two receive first"
    )


def test_a_send_behind_a_barrier():
    assert told("behind the barrier", synchronous=True).endswith(
        "  a circle: 0 -> 1 -> 0\n  try: let rank 1 receive what rank 0 sends before it calls barrier"
    )


def test_a_collective_that_only_one_rank_calls():
    assert told("only rank 0") == (
        "deadlock: every rank waits for another; found none that can go on:\n"
        "  rank 0 waits in barrier()\n    at <only rank 0>:2\n"
        "  rank 1 has ended, without a call\n  rank 2 has ended, without a call\n"
        "  try: let every rank of the group call barrier, ranks 1 and 2 too"
    )


def test_a_message_under_another_tag():
    assert told("the wrong tag") == (
        "deadlock: every rank waits for another; found none that can go on:\n"
        "  rank 1 waits in recv(source=0, tag=2)\n    at <the wrong tag>:4\n"
        "  rank 0 has ended, after send(dest=1, tag=1) at <the wrong tag>:2\n"
        "  rank 1 has got another message, of rank 0, send(dest=1, tag=1) at <the wrong tag>:2\n"
        "  try: the same tag where it is sent and where it is received"
    )


def test_a_message_that_a_receive_of_any_tag_took():
    def program(comm):
        if comm.rank == 0:
            comm.send("x", 1, tag=7)
        else:
            comm.recv(source=0), comm.recv(source=0, tag=7)

    text = str(run_ranks(2, program).error)

    assert (
        "recv(source=0, tag=any) at test_words.py" in text and "took the message of rank 0, send(dest=1, tag=7)" in text
    )
    assert text.endswith("try: receive from one source there, or give the messages different tags")


def test_one_receive_too_many():
    assert told("one too many").endswith("\n  try: one send more on rank 0, or one receive less on rank 1")


def test_two_collectives_side_by_side():
    assert told("two collectives") == (
        "all ranks of a group meet in their collective number 1; found different ones:\n"
        "  rank 0 calls allreduce(op=SUM)\n    at <two collectives>:2\n"
        "  rank 1 calls bcast(root=0)\n    at <two collectives>:4\n"
        "  try: the same calls in the same order on every rank; look for a branch that only some ranks take"
    )


def test_a_background_request_is_waited_for_and_not_in():
    error = run_ranks(1, lambda c: c.irecv(source=0, tag=3).wait()).error

    assert "rank 0 waits for irecv(source=0, tag=3)\n    at test_words.py:" in str(error)


def test_a_message_inside_of_a_call_tells_the_call():
    error = run_ranks(2, lambda c: c.allreduce(1, algorithm="naive") if c.rank == 0 else None).error
    assert "rank 0 waits in recv(source=1, tag=0), a part of allreduce(op=SUM, algorithm=naive)" in str(error)

    error = run_ranks(2, lambda c: c.sendrecv(1, 1 - c.rank, source=1 - c.rank, recvtag=5)).error
    assert "a part of sendrecv(dest=1, source=1)" in str(error)


def test_a_receive_from_anyone_waits_for_all_others():
    run = run_ranks(3, lambda c: c.recv(source=ANY_SOURCE) if c.rank == 0 else c.barrier())

    assert run.record.waits[0]["peers"] == [1, 2]
    assert "ranks 1 and 2 wait in barrier()" in str(run.error)


def test_a_hundred_ranks_that_wait_in_one_line_are_one_row():
    error = run_ranks(100, lambda c: c.barrier() if c.rank else None).error

    assert "ranks 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 87 more wait in barrier()" in str(error)
    assert len(str(error)) < 600


def test_a_hundred_ranks_that_wait_for_different_things_are_cut_short():
    error = run_ranks(100, lambda c: c.recv(source=(c.rank + 1) % 100)).error

    assert "and 88 more ranks that wait" in str(error)


@pytest.mark.parametrize(
    ("ranks", "text"), [([3], "rank 3"), ([0, 1], "ranks 0 and 1"), ([0, 1, 4], "ranks 0, 1 and 4")]
)
def test_ranks_are_named(ranks, text):
    assert ranks_named(ranks) == text


@pytest.mark.parametrize(
    ("peers", "circle"),
    [
        ({0: [1], 1: [0]}, [0, 1, 0]),
        ({0: [1], 1: [2], 2: [1]}, [1, 2, 1]),
        ({0: [1], 1: [2]}, []),
        ({0: [0]}, [0, 0]),
        ({0: [1, 2], 2: [0]}, [0, 2, 0]),
        ({}, []),
    ],
)
def test_circles_are_found(peers, circle):
    assert circle_in(peers) == circle


def entry(rank, words, *peers):
    kind = SEND if "dest" in words else RECEIVE if "source" in words else COLLECTIVE
    return Wait(rank, words, "", peers, kind)


@pytest.mark.parametrize(
    ("entries", "circle", "way"),
    [
        ([entry(0, "recv(source=0)", 0)], [0, 0], "isend"),
        ([entry(0, "send(dest=1)", 1), entry(1, "recv(source=0)", 0)], [0, 1, 0], "each send meets its receive"),
        ([entry(0, "barrier()", 1), entry(1, "recv(source=0)", 0)], [0, 1, 0], "let rank 0 send what rank 1 waits for"),
        ([entry(0, "barrier()", 1), entry(1, "bcast(root=0)", 0)], [0, 1, 0], "collectives of several groups"),
        ([entry(0, "ssend(dest=1)", 1)], [], "a receive on rank 1 for it, or one send less on rank 0"),
        ([entry(0, "recv(source=1)", 1)], [], "one send more on rank 1"),
        ([entry(0, "allreduce(op=SUM)", 1, 2)], [], "allreduce, ranks 1 and 2 too"),
    ],
)
def test_the_way_out_fits_the_case(entries, circle, way):
    assert way in advice(entries, {}, circle, ())


def test_real_ranks_are_explained_by_the_same_words():
    error = standstill([entry(0, "recv(source=1, tag=any)", 1)], {}, {1: ", after barrier() at a.py:3"})

    assert "rank 0 waits in recv(source=1, tag=any)\n  rank 1 has ended, after barrier() at a.py:3" in str(error)


def test_the_error_of_one_rank_tells_where_the_others_were():
    def program(comm):
        if comm.rank == 1:
            raise ValueError("no more")
        comm.barrier()

    with pytest.raises(RuntimeError) as found:
        simulate(3)(program)

    rows = str(found.value).splitlines()
    assert rows[0] == "every rank finishes, and rank 1 did not; found ValueError: no more"
    assert rows[1].startswith("    at test_words.py:") and rows[1].endswith('raise ValueError("no more")')
    assert rows[2].startswith("  rank 0 was stopped in barrier() at test_words.py:")
    assert rows[3] == "  rank 2 was stopped before its first call, because rank 1 failed."


def test_a_circle_is_found_whichever_way_the_search_goes_first():
    assert circle_in({0: [1, 2], 1: [3], 2: [0]}) == [0, 2, 0]
    assert circle_in({0: [1], 1: [2, 3], 2: [4], 3: [1], 4: []}) == [1, 3, 1]
    assert circle_in({0: [1, 2], 1: [2], 2: []}) == []
    assert circle_in({rank: [rank + 1] for rank in range(5000)} | {5000: [0]}) == [*range(5001), 0]


@dataclass(eq=False)
class Waiting:
    """As much of a task as an explanation needs."""

    rank: int
    awaits: dict


def test_the_one_that_is_said_to_look_again_and_again_is_the_one_that_does():
    """A rank between them has got what it waits for, and has no row."""

    def task(rank, done):
        comm = SimpleNamespace(name="world", world=SimpleNamespace(open_calls={}))
        facts = {"words": f"recv(source={rank})", "line": "", "peers": (), "kind": RECEIVE, "tag": 0, "at_once": False}
        request = SimpleNamespace(done=done, comm=comm, **facts)
        return Waiting(rank, {id(request): request})

    tasks = [task(0, True), task(1, False), task(2, False)]

    assert [(wait.rank, wait.looks) for wait in waits(tasks, tasks[1])] == [(1, True), (2, False)]


def test_a_rank_that_is_gone_is_named_first():
    said = str(standstill([entry(0, "recv(source=1, tag=any)", 1)], {1: "was dropped"}, {}))
    several = str(standstill([entry(0, "barrier()", 1, 2)], {1: "was dropped", 2: "was dropped"}, {}))

    assert said.startswith("rank 1 is gone, and others wait for it; found these, which cannot go on:\n  rank 0 waits")
    assert several.startswith("ranks 1 and 2 are gone, and others wait for them; ")
