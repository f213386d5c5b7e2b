"""What can be said about real ranks without one: who starts them, what they would read, what their notes become."""

import inspect
import multiprocessing
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from jt_edu.base.errors import ArgumentError, RankError
from jt_edu.mpi.base.constants import TAG_LIMIT
from jt_edu.mpi.base.deadlock_hints import COLLECTIVE, RECEIVE, SEND
from jt_edu.mpi.base.errors import DeadlockError, LostRankError
from jt_edu.mpi.mpi4py_backend import launch
from jt_edu.mpi.mpi4py_backend.call_log import Journal
from jt_edu.mpi.mpi4py_backend.communicator import MPIComm
from jt_edu.mpi.mpi4py_backend.debug import why_still
from jt_edu.mpi.mpi4py_backend.progress import Progress
from jt_edu.mpi.mpi4py_backend.status_board import Board, State
from jt_edu.mpi.mpirun_jobs.job import error_from
from jt_edu.mpi.mpirun_jobs.merge import merged, notes
from jt_edu.mpi.notebook.program import run_script
from jt_edu.mpi.simulator.threads import SoloComm, ThreadComm

ROOT = Path(__file__).resolve().parents[2]
OPEN_MPI = 'echo "mpirun (Open MPI) 4.1.4"'
MPICH = 'echo "HYDRA build details:"; echo "    Version:      4.2.3"'


def program(folder, name, text="exit 1"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return path


# which mpirun


def test_the_mpirun_beside_the_interpreter_comes_first(tmp_path):
    program(tmp_path / "env", "mpirun", OPEN_MPI)
    program(tmp_path / "env", "mpicc")
    program(tmp_path / "system", "mpirun", MPICH)

    found = launch.find({"PATH": str(tmp_path / "system")}, str(tmp_path / "env" / "python"))

    assert str(found) == f"Found mpicc(4.1.4) at {tmp_path / 'env' / 'mpicc'}"
    assert found.kind == "Open MPI"


def test_else_it_is_the_one_on_path(tmp_path):
    program(tmp_path / "system", "mpirun", MPICH)

    found = launch.find({"PATH": f"{tmp_path / 'nothing'}:{tmp_path / 'system'}"}, str(tmp_path / "env" / "python"))

    assert (found.kind, found.version, found.mpicc) == ("MPICH", "4.2.3", None)
    assert str(found) == f"Found mpirun(4.2.3) at {tmp_path / 'system' / 'mpirun'}"


def test_mpicc_path_overrides_both(tmp_path):
    program(tmp_path / "env", "mpirun", MPICH)
    program(tmp_path / "mine", "mpirun", OPEN_MPI)
    mine = program(tmp_path / "mine", "mpicc-4")

    found = launch.find({"PATH": "", "mpicc_path": str(mine)}, str(tmp_path / "env" / "python"))

    assert str(found) == f"Found mpicc-4(4.1.4) at {mine}"


def test_an_override_that_leads_nowhere_finds_nothing_and_says_so(tmp_path):
    program(tmp_path / "env", "mpirun", MPICH)
    known = {"PATH": "", "mpicc_path": str(tmp_path / "gone" / "mpicc")}

    assert launch.find(known, str(tmp_path / "env" / "python")) is None
    with pytest.raises(RankError, match=r"none beside mpicc_path=.*gone.mpicc.*pip install mpi4py mpich"):
        launch.need(known)


def test_where_there_is_none_the_error_says_where_was_looked_and_what_works_instead(tmp_path, monkeypatch):
    monkeypatch.setattr(launch, "find", lambda environment: None)

    with pytest.raises(RankError, match=rf"none beside {sys.executable}, and none on PATH.*jt\.simulate\(4\)"):
        launch.need({"PATH": ""})


def test_a_launcher_without_mpi4py_is_not_enough(tmp_path, monkeypatch):
    mine = program(tmp_path, "mpicc")
    program(tmp_path, "mpirun", MPICH)
    monkeypatch.setattr(launch, "_version_of", lambda package: "")

    with pytest.raises(RankError, match="but no mpi4py"):
        launch.need({"mpicc_path": str(mine)})


def test_a_program_that_says_nothing_we_know_is_no_trouble(tmp_path):
    mine = program(tmp_path, "mpicc", "exit 3")
    program(tmp_path, "mpirun", "echo hello")

    assert str(launch.find({"mpicc_path": str(mine)})) == f"Found mpicc(of unknown version) at {mine}"


def test_the_status_is_one_line_in_jittors_shape(tmp_path, monkeypatch):
    mine = program(tmp_path, "mpicc")
    program(tmp_path, "mpirun", OPEN_MPI)
    monkeypatch.setenv("mpicc_path", str(mine))

    said = launch.status()

    assert said.startswith("[i ") and "\n" not in said
    assert f"] Found mpicc(4.1.4) at {mine}, " in said


def test_the_library_beside_the_launcher_is_the_one_that_ranks_take(tmp_path):
    mine = launch.Launcher(program(tmp_path / "bin", "mpirun"), None, "", "")
    assert mine.library is None

    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libmpi.so.40").touch()

    assert launch.surroundings(mine, 2, {})["MPI4PY_LIBMPI"] == str(tmp_path / "lib" / "libmpi.so.40")
    assert launch.surroundings(mine, 2, {"MPI4PY_LIBMPI": "other"})["MPI4PY_LIBMPI"] == "other"


def test_ranks_share_out_the_threads_and_carry_no_marks_of_another_job(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    mine = launch.Launcher(Path("mpirun"), None, "", "")

    known = launch.surroundings(mine, 4, {"PMI_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3", "OMP_NUM_THREADS": "1"})

    assert known["NUMBA_NUM_THREADS"] == "2" and known["OMP_NUM_THREADS"] == "1"
    assert not {"PMI_RANK", "OMPI_COMM_WORLD_SIZE"} & known.keys()
    assert Path(known["PYTHONPATH"].split(os.pathsep)[0]) == ROOT


# inside of a launch


@pytest.mark.parametrize(
    ("marks", "told"),
    [
        ({"PMI_RANK": "2", "PMI_SIZE": "4"}, (2, 4)),
        ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "3", "PMIX_RANK": "0"}, (0, 3)),
        ({"PMIX_RANK": "1"}, (1, -1)),
        ({"PMI_RANK": ""}, None),
        ({}, None),
    ],
)
def test_a_launcher_is_known_by_its_marks(marks, told):
    assert launch.told(marks) == told
    assert launch.inside(marks) is (told is not None)


def test_a_worker_process_of_a_rank_is_no_rank(monkeypatch):
    marks = {"PMI_RANK": "0", "PMI_SIZE": "2"}
    assert launch.inside(marks)

    monkeypatch.setattr(multiprocessing, "parent_process", lambda: "the rank")

    assert not launch.inside(marks)


# real ranks look like simulated ones


def test_both_communicators_have_the_same_names_and_signatures():
    def surface(kind):
        names = [n for n in dir(kind) if not n.startswith("_")]
        return {n: str(inspect.signature(v)) if callable(v := getattr(kind, n)) else "" for n in names}

    own = {"journal"}  # where a real rank notes down what it does
    threads = {"world", "go_on"}  # the ranks of one process; from cell to cell
    mine = {n: s for n, s in surface(MPIComm).items() if n not in own}
    assert mine == {n: s for n, s in surface(ThreadComm).items() if n not in threads}
    assert ThreadComm.is_simulated and not MPIComm.is_simulated


def test_a_job_reads_errors_of_ranks_as_they_were_and_others_with_their_rank():
    told = {"kind": "DeadlockError", "parts": ["asked", "found", "attempt"], "text": "", "traceback": "", "time": 1}
    assert isinstance(error_from(told, 3), DeadlockError) and error_from(told, 3).attempt == "attempt"

    told = {"kind": "KeyError", "parts": [], "text": "'x'", "traceback": "", "time": 1}
    assert str(error_from(told, 3)) == "every rank finishes, and rank 3 did not; found KeyError: 'x'."


def test_a_request_of_simulated_ranks_is_not_waited_for_among_those_of_mpi():
    request = SoloComm().irecv(source=0)

    with pytest.raises(RankError, match="another communicator's world"):
        journal(0)[1].wait_for([request])


# notes of ranks become one record


def journal(rank, size=2):
    mine = Journal(rank, size, 0, keep=True)
    return mine, Progress(mine, mpi=None)


def test_messages_are_brought_together_in_their_order():
    (sender, a), (receiver, b) = journal(0), journal(1)
    for tag, size in ((0, 10), (1, 20), (0, 30)):
        call = sender.enter(a, "send", f"send {size}", "line")
        sender.sent(call, "world", 1, tag, size, False)
        sender.leave(a, call)
    for tag in (1, 0):
        call = receiver.enter(b, "recv", f"recv {tag}", "line")
        receiver.took(call, "world", 0, tag)
        receiver.leave(b, call)

    record = merged(2, [notes(receiver), notes(sender)])

    words = {c.number: c.words for c in record.calls}
    assert [(m.bytes, words.get(m.taker)) for m in record.messages] == [(10, "recv 0"), (20, "recv 1"), (30, None)]
    assert [c.number for c in record.calls] == list(range(5))


def test_a_collective_is_ready_when_its_last_rank_has_come():
    told = []
    for rank in (0, 1):
        mine, task = journal(rank)
        for sequence in (0, 1):
            call = mine.enter(task, "barrier", "barrier()", "line", sequence=sequence)
            mine.meets(call, f"world {sequence}")
            mine.leave(task, call)
        told.append(notes(mine))
    early, late = told[0]["calls"][1], told[1]["calls"][1]
    early["enter"], late["enter"] = 1000, 5000
    early["leave"] = late["leave"] = 6000

    record = merged(2, told)

    assert {(c.rank, c.ready) for c in record.calls if c.sequence == 1} == {(0, 5000), (1, 5000)}
    assert sorted(c.meeting for c in record.calls) == [0, 0, 1, 1]


def test_a_rank_that_told_nothing_is_missing_in_the_record():
    mine, task = journal(0, 3)
    mine.leave(task, mine.enter(task, "barrier", "barrier()", "line"))

    assert [c.rank for c in merged(3, [notes(mine)]).calls] == [0]


# the board, and what is read from it


def test_the_board_can_be_read_by_others_and_after_the_end(tmp_path):
    mine, other = Board(tmp_path / "board", 2, 0), Board(tmp_path / "board", 2)
    before = other.counts()

    mine.called("recv(source=1)", "cell.py:3")
    mine.waits("recv(source=1)", "cell.py:3", [1], None)

    state = other.states()[0]
    assert other.counts()[0] > before[0]
    assert (state.said, state.waits["peers"], state.pid) == ("recv(source=1)", [1], os.getpid())
    assert other.states()[1] == State()
    mine.close()
    other.close()


def test_the_board_has_room_for_long_lines(tmp_path):
    mine = Board(tmp_path / "board", 1, 0)

    mine.waits("x" * 10_000, 'ä"' * 10_000, range(1000), ("p" * 100, 3))

    assert mine.states()[0].waits["words"] == "x" * 700
    mine.close()


@pytest.mark.parametrize("letter", ["x", "雪", "😀", '"', "\n", "\x01", "\ud800"])
def test_the_board_has_room_for_every_kind_of_letter(tmp_path, letter):
    mine, long = Board(tmp_path / "board", 1, 0), letter * 5_000

    mine.called(long, long)
    mine.waits(long, long, range(100_000, 200_000), ("p" * 5_000, 3), kind=COLLECTIVE, tag=TAG_LIMIT, at_once=False)
    mine.ends(long)

    state = mine.states()[0]
    assert state.pid == os.getpid() and state.waits["peers"][0] == 100_000
    assert all(100 < len(text) <= 700 for text in (state.said, state.line, state.waits["words"], state.waits["line"]))
    mine.close()


def waits(words, *peers, place=None, tag=-1):
    kind = SEND if "dest" in words else RECEIVE if "source" in words else COLLECTIVE
    told = {"words": words, "line": "l", "peers": list(peers), "place": place, "kind": kind, "tag": tag}
    return State(pid=os.getpid(), said=words, line="l", waits=told | {"at_once": False})


WELL = State(pid=os.getpid(), said="barrier()", line="l", ended="well")


@pytest.mark.parametrize(
    "states",
    [
        [waits("recv(source=1, tag=0)", 1), State(pid=os.getpid(), said="x")],  # rank 1 computes
        [waits("barrier()", 1, place=["w", 1]), waits("barrier()", 0, place=["w", 1])],  # both are there
        [waits("Send(dest=1, tag=4)", 1, tag=4), waits("Recv(source=0, tag=any)", 0)],  # a long message
        [WELL, WELL],
    ],
)
def test_what_may_still_move_is_no_standstill(states):
    assert why_still(states) is None


@pytest.mark.parametrize(
    ("states", "kind"),
    [
        ([waits("recv(source=1, tag=0)", 1), waits("recv(source=0, tag=0)", 0)], DeadlockError),
        ([waits("send(dest=1, tag=1)", 1, tag=1), waits("recv(source=0, tag=2)", 0, tag=2)], DeadlockError),
        ([waits("barrier()", 1, place=["w", 1]), waits("barrier()", 0, place=["w", 2])], DeadlockError),
        ([waits("barrier()", 1, place=["w", 1]), WELL], DeadlockError),
        ([waits("recv(source=1, tag=0)", 1), State(pid=os.getpid(), ended="KeyError")], LostRankError),
    ],
)
def test_what_can_not_move_any_more_is_explained(states, kind):
    error = why_still(states)

    assert type(error) is kind
    assert "rank 0 waits in" in str(error) or "ranks 0 and 1 wait in" in str(error)


# a program from a file, on simulated ranks


def launched(*arguments):
    command = [sys.executable, "-m", "jt_edu.launch", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=120)


def test_a_program_runs_on_simulated_ranks_with_its_arguments_and_names(tmp_path):
    path = tmp_path / "p.py"
    (tmp_path / "beside.py").write_text("NUMBER = 6")
    path.write_text(
        "import sys, beside, jt_edu as jt\nclass Own: pass\nmine = [jt.rank]\n"
        "kind = type(jt.mpi.communicator().bcast(Own())) is Own\n"
        "print(jt.rank, jt.world_size, sys.argv[1:], beside.NUMBER, __name__, kind, mine)\n"
    )

    done = launched("-np", "3", str(path), "--epochs", "2")

    assert done.returncode == 0, done.stderr
    rows = [f"{rank} 3 ['--epochs', '2'] 6 __main__ True [{rank}]" for rank in range(3)]
    assert sorted(done.stdout.splitlines()) == rows


def test_a_module_runs_on_simulated_ranks():
    done = launched("-np", "2", "-m", "this")

    assert done.stdout.count("Beautiful is better than ugly") in (1, 2)
    assert done.returncode == 0


def test_a_failure_has_its_rank_and_an_exit_code(tmp_path):
    path = tmp_path / "p.py"
    path.write_text("import jt_edu as jt\nif jt.rank == 1:\n    1 / 0\njt.mpi.communicator().barrier()")

    done = launched("-np", "2", str(path))

    assert done.returncode == 1
    assert done.stderr.startswith("rank 1 of 2:\n") and "ZeroDivisionError" in done.stderr


def test_the_exit_code_is_that_of_the_rank_that_ends(tmp_path):
    path = tmp_path / "p.py"
    path.write_text("import sys, jt_edu as jt\nsys.exit(5 * jt.rank)")

    assert launched("-np", "2", str(path)).returncode == 5


def test_a_rank_that_exits_lets_the_others_finish_and_nothing_internal_is_shown(tmp_path):
    path = tmp_path / "p.py"
    path.write_text(
        "import sys, jt_edu as jt\njt.mpi.communicator().barrier()\n"
        "if jt.rank == 0:\n    sys.exit(4)\nif jt.rank == 1:\n    sys.exit('no luck')\nprint('rank', jt.rank)"
    )

    done = launched("-np", "4", str(path))

    assert (done.returncode, sorted(done.stdout.splitlines()), done.stderr) == (4, ["rank 2", "rank 3"], "no luck\n")


@pytest.mark.parametrize("arguments", [[], ["-np"], ["-np", "two", "x.py"], ["-np", "2"], ["-np", "2", "-m"], ["x.py"]])
def test_a_wrong_command_is_told_the_usage(arguments):
    done = launched(*arguments)

    assert done.returncode == 2
    assert done.stderr.startswith("usage: python -m jt_edu.launch -np")


def test_a_program_that_is_not_there_is_refused():
    with pytest.raises(ArgumentError, match=r"nothing\.py"):
        run_script(2, "nothing.py")
    with pytest.raises(ArgumentError, match="no_such_module"):
        run_script(2, "no_such_module", is_module=True)


def test_the_process_is_as_before_afterwards(tmp_path):
    path = tmp_path / "p.py"
    path.write_text("x = 1")
    before = sys.argv, list(sys.path), sys.stdout, sys.modules["__main__"]

    run_script(2, str(path), ["a"])

    assert (sys.argv, list(sys.path), sys.stdout, sys.modules["__main__"]) == before
