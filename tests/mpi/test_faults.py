"""What goes wrong on real ranks is named: who, in which call, where. Nothing hangs, and nothing is left.

The fault matrix of simulated ranks (tests/ranks/test_faults.py) under both MPIs. Where every rank is told and can go
on, Open MPI, which takes a second to start, has one job for all cases.
"""

import json
import os
import pickle
import re
import sys
import threading
import time
from functools import cache

import numpy as np
import pytest

from jt_edu.base.errors import RankError
from jt_edu.mpi.base.deadlock_hints import RECEIVE, SEND
from jt_edu.mpi.base.errors import DeadlockError, LostRankError, MismatchError, RankTimeoutError, TruncationError
from jt_edu.mpi.mpi4py_backend import debug
from jt_edu.mpi.mpi4py_backend.call_log import Journal
from jt_edu.mpi.mpi4py_backend.status_board import Board
from jt_edu.mpi.mpirun_jobs.job import Job, Running
from jt_edu.mpi.mpirun_jobs.merge import notes
from jt_edu.mpi.mpirun_jobs.remote import run_under_mpi
from jt_edu.mpi.mpirun_jobs.run import as_document
from jt_edu.mpi.notebook.cell import Cell
from jt_edu.mpi.simulator.threads import run_ranks
from tests.mpi.jobs import HEAD, LONG, MPIS, Late, left, need, on_each_mpi, printed, receives, start, well

HEAD_LINES = "\n" * HEAD.count("\n")

EXCEPTIONS = {
    "before": "if rank == {rank}:\n    1 / 0\ncomm.barrier()",
    "inside": "from jt_edu.mpi import MPI\ndef add(a, b):\n    return a + b if rank != {rank} else 1 / 0\n"
    "comm.allreduce(1, MPI.Op.Create(add))\ncomm.barrier()",
    "after": "comm.barrier()\nif rank == {rank}:\n    1 / 0\ncomm.barrier()",
}
RACE = """\
if rank == 0:
    comm.recv()
    comm.recv(source=1)
elif rank == 1:
    comm.ssend("from 1", 0)
    comm.send("rank 0 has it", 2)
else:
    comm.recv(source=1)
    comm.send("from 2", 0)
"""
# What happens: a sentence, the program, how many ranks, the error, what it says.
CASES = [
    (
        "another op", "comm.Allreduce(np.ones(3), np.ones(3), 'SUM' if rank else 'MAX')", 2, MismatchError,
        ["another op", r"rank 0 calls Allreduce\(op=MAX", r"rank 1 calls Allreduce\(op=SUM", "cell.py:6"],
    ),
    (
        "another root", "comm.bcast('x', root=rank)", 2, MismatchError,
        ["another root", r"rank 0 calls bcast\(root=0", r"rank 1 calls bcast\(root=1"],
    ),
    (
        "another dtype", "x = np.ones(3, 'f4' if rank else 'f8'); comm.Allreduce(x, x.copy())", 2, MismatchError,
        ["another dtype", "dtype=float64", "dtype=float32"],
    ),
    (
        "another length", "x = np.ones(3 + rank); comm.Allreduce(x, x.copy())", 2, MismatchError,
        ["another count", "count=3", "count=4"],
    ),
    (
        "another algorithm", "x = np.ones(3); comm.Allreduce(x, x.copy(), algorithm='ring' if rank else 'tree')", 2,
        MismatchError, ["another algorithm", "algorithm=tree", "algorithm=ring"],
    ),
    (
        "another collective", "comm.barrier() if rank else comm.bcast(1)", 2, MismatchError,
        ["different ones", r"rank 0 calls bcast", r"rank 1 calls barrier"],
    ),
    (
        "another collective in the background",
        "x = np.ones(3); (comm.Iallreduce(x, x.copy()) if rank else comm.Ibcast(x)).wait()", 2, MismatchError,
        ["Ibcast", "Iallreduce"],
    ),
    (
        "a skipped call", "if rank == 0:\n    comm.barrier()", 2, DeadlockError,
        [r"rank 0 waits in barrier\(\)\n +at cell.py:7", "rank 1 has ended, without a call"],
    ),
    (
        "an extra call", "comm.allreduce(1)\nif rank == 0:\n    comm.barrier()", 2, DeadlockError,
        [r"rank 0 waits in barrier\(\)\n +at cell.py:8", r"rank 1 has ended, after allreduce.* at cell.py:6"],
    ),
    *(
        (f"an exception {when} a collective, on rank {rank}", program.format(rank=rank), 2, RankError,
         [f"rank {rank} did not", "ZeroDivisionError"])
        for when, program in EXCEPTIONS.items() for rank in (0, 1)
    ),
    (
        "an exception while others receive", "if rank == 1:\n    1 / 0\ncomm.recv(source=1)", 2, RankError,
        ["rank 1 did not", "ZeroDivisionError"],
    ),
    (
        "two receives that wait for each other", "comm.recv(source=1 - rank)", 2, DeadlockError,
        [r"rank 0 waits in recv\(source=1, tag=any\)\n +at cell.py:6", r"rank 1 waits in recv\(source=0", "a circle"],
    ),
    (
        "two sends that wait for each other", "comm.ssend('x', 1 - rank)\ncomm.recv()", 2, DeadlockError,
        [r"rank 0 waits in ssend\(dest=1, tag=0\)", r"rank 1 waits in ssend\(dest=0, tag=0\)", "0 -> 1 -> 0"],
    ),
    (
        "long sends that rely on buffers", "comm.Send(np.ones(10 ** 6), 1 - rank)\ncomm.Recv(np.ones(10 ** 6))", 2,
        DeadlockError, [r"rank 0 waits in Send\(dest=1", r"rank 1 waits in Send\(dest=0"],
    ),
    (
        "a circle of three", "comm.Ssend(np.ones(1), (rank + 1) % 3)\ncomm.Recv(np.ones(1))", 3, DeadlockError,
        [r"0 -> 1 -> 2 -> 0", r"rank 2 waits in Ssend\(dest=0"],
    ),
    (
        "a message that the wildcard took", RACE, 3, DeadlockError,
        [r"rank 0 waits in recv\(source=1, tag=any\)\n +at cell.py:8", r"rank 1 has ended, after send\(dest=2"],
    ),
    (
        "a receive that nobody sends to", "if rank == 0:\n    comm.irecv(source=1, tag=7).wait()", 2, DeadlockError,
        [r"rank 0 waits for irecv\(source=1, tag=7\)", "rank 1 has ended, without a call"],
    ),
    (
        "a message under another tag", "comm.ssend(1, 1, tag=5) if rank == 0 else comm.recv(source=0, tag=6)", 2,
        DeadlockError, [r"ssend\(dest=1, tag=5\)", r"recv\(source=0, tag=6\)"],
    ),
    (
        "ranks in different groups", "half = comm.Dup()\ncomm.barrier() if rank else half.barrier()", 2, DeadlockError,
        [r"rank 0 waits in barrier\(\) in the group of ranks 0 and 1", r"rank 1 waits in barrier\(\)\n"],
    ),
    (
        "a rank that is gone", "import os\nif rank == 1:\n    os._exit(3)\ncomm.barrier()", 2, LostRankError,
        [r"rank 1 is gone, without a call\n +its process had the exit code 3\n", "rank 0 wa"],
    ),
    (
        "a rank that is killed", "import os\ncomm.barrier()\nif rank == 1:\n    os.kill(os.getpid(), 9)\ncomm.recv()",
        2, LostRankError, [r"rank 1 is gone, after barrier.*\n +its process was ended by SIGKILL\n", "rank 0 wa"],
    ),
    (
        "a message that is too long", "comm.Send(np.ones(4), 1) if rank == 0 else comm.Recv(np.ones(2), 0)", 2,
        TruncationError, [r"Recv\(source=0"],
    ),
    (
        "Abort", "if rank == 1:\n    comm.Abort(7)\ncomm.barrier()", 2, RankError,
        ["rank 1 called Abort", "error code 7"],
    ),
    (
        "an end that is no good", "import sys\nif rank == 1:\n    sys.exit('no data')\ncomm.barrier()", 2, RankError,
        ["rank 1 did not", "SystemExit: no data"],
    ),
]  # fmt: skip
MISMATCHES = [case for case in CASES if case[3] is MismatchError]
TRIED = [(mpi, *c) for mpi in MPIS for c in CASES if mpi == "mpich" or c not in MISMATCHES[1:]]


@pytest.mark.parametrize(
    ("mpi", "what", "program", "ranks", "kind", "said"), TRIED, ids=[f"{c[0]}-{c[1]}" for c in TRIED]
)
def test_a_fault_is_named_and_everything_ends(mpi, what, program, ranks, kind, said):
    job = start(program, ranks, mpi)

    assert type(job.error) is kind, f"{job.error!r}\n{job.log}"
    for pattern in said:
        assert re.search(pattern, str(job.error)), f"{pattern} is not in:\n{job.error}"
    assert job.record.failure.endswith(str(job.error))
    assert job.seconds < LONG, "it ends by itself, and not at the end of its time"
    assert left() == []


MANY = """
from jt_edu.mpi.base.errors import MismatchError
for program in {programs}:
    try:
        exec(compile({lines!r} + program, "cell.py", "exec"))
    except MismatchError as error:
        report(str(error))
report(comm.allreduce(1))
"""


@cache
def caught(mpi):
    """What each rank was told of each mismatch, in one job that catches them all; and the sum of a one from each."""
    return well(start(MANY.format(lines=HEAD_LINES, programs=[case[1] for case in MISMATCHES]), 2, mpi))


@pytest.mark.parametrize("number", range(len(MISMATCHES)), ids=[case[0] for case in MISMATCHES])
@on_each_mpi
def test_a_mismatch_that_is_caught_was_told_to_every_rank_and_they_go_on(mpi, number):
    *told, total = zip(*caught(mpi), strict=True)

    assert total == (2, 2) and len(told) == len(MISMATCHES)
    for said in told[number]:
        for pattern in MISMATCHES[number][-1]:
            assert re.search(pattern, said), f"{pattern} is not in:\n{said}"


@on_each_mpi
def test_a_mismatch_is_named_on_every_rank(mpi):
    job = start("comm.allreduce(rank, op='SUM' if rank else 'MAX')", 3, mpi)

    assert len({str(error) for error in job.errors}) == 1
    assert [type(error) for error in job.errors] == [MismatchError] * 3
    for told in job.warnings:
        assert "calls allreduce(op=MAX)" in told and "call allreduce(op=SUM)" in told


def test_a_traceback_has_the_rank_and_the_learners_lines_only():
    job = start("def deep():\n    comm.recv(source=9)\nif rank == 1:\n    deep()\ncomm.barrier()")

    told = job.warnings[1]
    assert told.startswith("rank 1 of 2:\nTraceback")
    assert re.findall(r'File ".*?(\w+\.py)", line (\d+)', told) == [("cell.py", "9"), ("cell.py", "7")]
    assert job.failed_rank == 1


def test_at_the_end_of_its_time_a_job_tells_the_last_call_of_each_rank():
    program = "import time\ncomm.barrier()\nwhile rank == 1:\n    print() or time.sleep(0.1)\ncomm.recv(source=1)"
    with Late() as late:
        job = start(program, timeout=600, meanwhile=lambda at: late.when(printed(at, 1) and receives(0, at)))

    assert type(job.error) is RankTimeoutError
    assert "within 600 s" in str(job.error)
    assert re.search(r"rank 0 waits in recv\(source=1, tag=any\)\n +at cell.py:10", str(job.error))
    assert re.search(
        r"rank 1 computes, after barrier\(\) at cell.py:7.*\n +at cell.py:(8: while|9: print)", str(job.error)
    )
    assert left() == []


@on_each_mpi
def test_the_rank_that_went_first_is_singled_out_and_the_others_are_not_blamed(mpi):
    job = start("import os\ncomm.allreduce(1)\nif rank == 1:\n    os._exit(5)\ncomm.barrier()", 3, mpi)

    assert job.failed_rank == 1
    assert str(job.error).count("is gone") == 1
    assert re.search(
        r"rank 1 is gone, after allreduce.* at cell.py:7.*\n +its process had the exit code 5", str(job.error)
    )


def test_a_rank_that_misses_the_lost_one_before_the_launcher_ends_it_is_not_blamed(tmp_path):
    running = Running(Job(2, "a launcher that is slow to end the others"), tmp_path, os.environ)
    board, other = (Board(tmp_path / "board", 2, rank) for rank in (1, 0))
    board.called("allreduce(1)", "cell.py:7")
    other.waits("barrier()", "cell.py:10", [1], None)
    lost = LostRankError("rank 1 is gone, and others wait for it", "rank 0 in barrier()", "see why rank 1 is gone")
    told = {**notes(Journal(0, 2, 0)), "error": as_document(lost, "")}
    (tmp_path / "0.json").write_text(json.dumps(told))
    (tmp_path / "0.pickle").write_bytes(pickle.dumps([]))
    (tmp_path / "codes").write_text("1 5\n0 1\n")

    running.go([sys.executable, "-c", "raise SystemExit(5)"], 60, None)
    board.close()
    other.close()

    assert running.job.failed_rank == 1
    assert re.search(
        r"rank 1 is gone, after allreduce.* at cell.py:7.*\n +its process had the exit code 5\n"
        r" +rank 0 waited in barrier\(\)\n +at cell.py:10", str(running.job.error)
    )  # fmt: skip


COLUMNS = {
    "comm.recv(source=1 - rank)": ["line 1", "    comm.recv(source=1 - rank)", "waits here, and would for ever"],
    "from tests.mpi.jobs import receives\nif rank:\n    while not receives(0):\n        pass\n    1 / 0\n"
    "comm.recv(source=1)": [
        "line 6",
        "    comm.recv(source=1)",
        "stopped here, because rank 1 failed",
    ],
    "import time\nwhile rank == 0: print() or time.sleep(0.1)\ncomm.recv()": [
        "line 2",
        "    while rank == 0: print() or time.sleep(0.1)",
        "was here at the end of the time",
    ],
    "import os\nif rank:\n    os._exit(5)\ncomm.recv()": ["stopped", "because rank 1 is gone"],
}


@pytest.mark.parametrize("text", COLUMNS)
def test_the_column_of_a_rank_that_was_ended_says_where_it_was(text):
    need()

    def look(ranks):
        late.when("while rank == 0" in text and ranks[0].page.text)

    with Late() as late:
        run, _ = run_under_mpi(Cell.parse(text), 2, {}, timeout=600, while_waiting=look)

    trouble = run.ranks[0].trouble
    assert all(row in trouble for row in COLUMNS[text]), trouble


def test_a_rank_that_computes_for_long_is_no_deadlock():
    long = "from jt_edu.mpi.mpi4py_backend import debug\ndebug.STILL = 2\nboard = comm.journal.board\n"
    long += "while rank == 1 and board.looked()[0] < 10:\n    pass\nreport(comm.allreduce(rank))"

    assert well(start(long)) == [[1], [1]]


def test_without_debug_mode_a_failure_still_ends_all_ranks():
    job = start("if rank == 1:\n    1 / 0\ncomm.recv(source=1)", debug=False)

    assert "ZeroDivisionError" in str(job.error)
    assert left() == []


def test_what_ranks_printed_and_reported_before_a_failure_is_kept():
    job = start("print('before', rank); report(rank); comm.barrier()\nif rank == 1:\n    1 / 0\ncomm.recv(source=1)")

    assert job.outputs == ["before 0\n", "before 1\n"]
    assert job.results[1] == [1]
    assert [c.name for c in job.record.calls if c.rank == 1] == ["barrier"]


LEFT_OVER = """
if rank == 0:
    comm.send("for nobody", 1, tag=6)
    comm.send("for a receive", 1, tag=7)
comm.isend("x", 1 - rank)
comm.recv(source=1 - rank, tag=0)
if rank == 1:
    comm.irecv(source=0, tag=7)
    comm.irecv(source=0, tag=8)
comm.Iallreduce(np.ones(1), np.zeros(1))
"""


@on_each_mpi
def test_what_was_begun_and_never_ended_is_told_in_the_words_of_simulated_ranks(mpi):
    def program(comm):
        exec(compile(HEAD_LINES + LEFT_OVER, "cell.py", "exec"), {"comm": comm, "rank": comm.rank, "np": np})  # noqa: S102

    job = start(LEFT_OVER, 2, mpi)

    well(job)
    told, wanted = ([w.split(": ")[0] for w in r.warnings] for r in (job.record, run_ranks(2, program).record))
    assert told == wanted
    assert told[0] == "nobody received the message of rank 0, send(dest=1, tag=6) at cell.py:8"
    assert sum("did not wait for its" in words for words in told) == len(told) - 1 == 6


BACKGROUND = """
from jt_edu.mpi import MPI
def wrong(a, b):
    raise ValueError("my own operation")
sum_of_all = comm.Iallreduce(np.ones(4), np.zeros(4), MPI.Op.Create(wrong, commute=True), algorithm="ring")
other = comm.irecv(source=1 - rank)
while not sum_of_all.get_status():
    pass
report(other.test()[0])
comm.barrier()
comm.send("well", 1 - rank)
report(other.wait())
try:
    sum_of_all.wait()
except ValueError as error:
    report(str(error))
"""


@on_each_mpi
def test_what_goes_wrong_in_the_background_is_raised_by_its_own_request(mpi):
    for said in well(start(BACKGROUND, 2, mpi)):
        assert said == [False, "well", "my own operation"]


@pytest.fixture
def boards(tmp_path, monkeypatch):
    """(board of rank 0, board of rank 1, what rank 0's watch has told), where rank 0 sends what rank 1 receives."""
    monkeypatch.setattr(debug, "LOOK", 0.001)
    mine, other, found = Board(tmp_path / "board", 2, 0), Board(tmp_path / "board", 2, 1), []
    mine.waits("send(dest=1, tag=0)", "a.py:1", [1], None, kind=SEND, tag=0)
    over = threading.Event()
    debug.watch(mine, lambda error: (found.append(other.looked()[1]), other.ends_well()), over.set)
    yield mine, other, found
    while not over.wait(0.001):
        other.looks()
    mine.close()
    other.close()


def looks(mine, other, times):
    """Rank 1 looks some times, and rank 0 at least as often."""
    for _ in range(times):
        other.looks()
        until = mine.looked()[0] + 2
        while mine.looked()[0] < until and not mine.state.ended:
            time.sleep(0.001)


def test_a_message_that_may_be_on_its_way_is_waited_for_before_anybody_speaks_of_a_standstill(boards):
    mine, other, found = boards
    other.waits("recv(source=0, tag=0)", "a.py:2", [0], None, kind=RECEIVE, tag=0)

    looks(mine, other, debug.PATIENCE - 1)
    assert found == [] and debug.PATIENCE >= 10 * debug.STILL
    looks(mine, other, 3)

    assert len(found) == 1 and debug.PATIENCE < found[0] <= debug.PATIENCE + 2


def test_a_rank_that_stands_still_because_the_machine_is_busy_is_not_taken_for_one_that_waits_in_vain(boards):
    mine, other, found = boards
    other.waits("recv(source=0, tag=7)", "a.py:2", [0], None, kind=RECEIVE, tag=7)

    while mine.looked()[0] < 2 * debug.PATIENCE:
        time.sleep(0.001)
    assert found == []
    looks(mine, other, debug.STILL + 2)

    assert len(found) == 1 and found[0] > debug.STILL
