"""A notebook's job: what goes in, what comes back, and that it is gone afterwards, whatever happens to the notebook."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from types import NoneType, SimpleNamespace

import numpy as np
import pytest

from jt_edu.base.errors import ArgumentError, RankError
from jt_edu.mpi.base.errors import LostRankError, MismatchError
from jt_edu.mpi.mpi4py_backend import abort, launch
from jt_edu.mpi.mpi4py_backend.abort import wait_until_read
from jt_edu.mpi.mpirun_jobs.job import run_job
from jt_edu.mpi.simulator.threads import run_ranks
from tests.mpi.jobs import HEAD, LONG, MPIS, OTHER, ROOT, Late, left, need, on_each_mpi, printed, start, well
from tests.patience import until

PROC = Path("/proc")


@on_each_mpi
def test_a_job_gives_back_what_ranks_print_and_report(mpi):
    job = start(
        "import sys\nprint('I am', rank)\nprint('oh', file=sys.stderr)\nreport(rank, {'n': np.arange(2)})", 2, mpi
    )

    told = well(job)
    assert [t[0] for t in told] == [0, 1] and told[1][1]["n"].tolist() == [0, 1]
    assert job.outputs == ["I am 0\n", "I am 1\n"] and job.warnings == ["oh\n", "oh\n"]
    assert job.code == 0 and "ended well" in repr(job)
    assert job.launcher.startswith({"mpich": "MPICH", "openmpi": "Open MPI"}[mpi])


def test_a_program_from_a_file_gets_its_arguments(tmp_path):
    (tmp_path / "beside.py").write_text("NUMBER = 42")
    program = tmp_path / "train.py"
    program.write_text(HEAD + "import sys, beside\nreport(sys.argv[1:], beside.NUMBER, __name__)")

    need()
    job = run_job(program, 2, arguments=["--epochs", "3"], timeout=LONG)

    assert well(job) == [[["--epochs", "3"], 42, "__main__"]] * 2


def test_the_environment_is_that_of_the_notebook_and_what_is_given():
    job = start("import os; report(os.environ['COLOUR'], os.environ['HOME'])", environment={"COLOUR": "green"})

    assert well(job) == [["green", os.environ["HOME"]]] * 2


def test_classes_of_the_program_travel_between_its_ranks():
    job = start("class Thing: pass\nreport(type(comm.bcast(Thing())).__name__)\nreport(Thing())")

    told = well(job)
    assert told[0][0] == "Thing"
    assert "cannot be unpickled here" in told[0][1]


def test_the_record_looks_like_that_of_simulated_ranks():
    text = "comm.allreduce(rank)\ncomm.Allreduce(np.ones(4), np.zeros(4), algorithm='ring')\n"
    text += "comm.send('x', 1) if rank == 0 else comm.recv(source=0)\ncomm.Split(rank).barrier()\n"

    job = start(text)
    well(job)

    def program(comm):
        exec(text, {"comm": comm, "rank": comm.rank, "np": np})  # noqa: S102 - the same text

    simulated = run_ranks(2, program).record
    for rank in (0, 1):
        mine, theirs = (
            [
                (c.name, c.words, c.sequence, c.group, c.peer, c.algorithm, c.parent >= 0)
                for c in r.calls
                if c.rank == rank
            ]
            for r in (job.record, simulated)
        )
        assert mine == theirs
    assert [(m.source, m.dest, m.tag) for m in job.record.messages if m.call >= 0 and m.taker >= 0][-1] == (0, 1, 0)
    assert len(job.record.messages) == len(simulated.messages)
    assert all(m.taken >= m.sent >= 0 and m.done >= m.taken for m in job.record.messages)
    assert all(c.ended >= c.began >= 0 and c.leave >= c.ready >= c.enter for c in job.record.calls)
    assert all("cell.py" in c.line for c in job.record.calls)
    assert {c.meeting for c in job.record.calls if c.sequence >= 0} == set(
        range(len({c.meeting for c in simulated.calls if c.meeting >= 0}))
    )


@on_each_mpi
def test_who_was_late_can_be_read_from_the_record(mpi):
    text = "import time\ncomm.barrier()\nstates = comm.journal.board.states\n"
    text += "while rank == 1 and not states()[0].said.startswith('allreduce'):\n    pass\n"
    job = start(text + "time.sleep(0.1 * rank)\ncomm.allreduce(1)", mpi=mpi)

    well(job)
    late = {c.rank: c for c in job.record.calls if c.name == "allreduce"}
    assert late[1].enter - late[0].enter > 0.1e9
    assert late[0].ready == late[1].enter


def test_what_goes_on_can_be_read_meanwhile():
    seen = set()

    def look(folder):
        seen.update(printed(folder, 1).split())
        if seen:
            (folder / "seen").touch()

    text = "import os\nfrom pathlib import Path\nprint('early', flush=True)\n"
    text += "while not Path(os.environ['JT_EDU_MPI_FOLDER'], 'seen').exists():\n    pass\nprint('late')"
    assert well(start(text, meanwhile=look)) == [[], []]

    assert "early" in seen


@on_each_mpi
def test_an_interrupt_ends_all_ranks(mpi):
    def interrupt(folder):
        if all((folder / f"{rank}.out").exists() for rank in (0, 1)):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        start("comm.recv(source=rank)", 2, mpi, debug=False, meanwhile=interrupt)

    assert left() == []


@on_each_mpi
def test_ranks_that_do_not_listen_to_their_launcher_end_too(mpi):
    text = "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    text += "if os.fork() == 0:\n    os.setsid()\n    print('a child')\ntime.sleep(600)"

    with Late() as late:
        job = start(
            text, mpi=mpi, timeout=600, debug=False,
            meanwhile=lambda folder: late.when(printed(folder, 0) and printed(folder, 1)),
        )  # fmt: skip

    assert "within 600 s" in str(job.error)
    assert left() == []


@pytest.mark.skipif(not PROC.is_dir(), reason="/proc tells which processes there are")
def test_a_job_ends_when_the_notebook_is_killed(tmp_path):
    need()
    here = f"from pathlib import Path\nPath({str(tmp_path)!r}, str(rank)).touch()\nimport time\ntime.sleep(600)"
    text = f"from jt_edu.mpi.mpirun_jobs.job import run_job\nrun_job({HEAD + here!r}, 2, timeout=600)"
    notebook = subprocess.Popen([sys.executable, "-c", text], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    until(lambda: len(list(tmp_path.iterdir())) == 2)
    assert len(left(notebook.pid)) >= 3, "the launcher and two ranks"

    notebook.kill()
    notebook.wait()

    until(lambda: left(notebook.pid) == [])


@on_each_mpi
def test_a_job_after_a_failed_one_knows_nothing_of_it(mpi):
    assert start("comm.recv(source=1 - rank)", mpi=mpi).error is not None

    assert well(start("report(comm.allgather(rank))", mpi=mpi)) == [[[0, 1]], [[0, 1]]]


ENDS = [
    "comm.barrier()",
    "if rank == 1:\n    1 / 0\ncomm.barrier()",
    "comm.barrier() if rank else comm.bcast(1)",
    "import os\nif rank == 1:\n    os._exit(1)\ncomm.recv(source=1)",
    "import sys; sys.exit(rank)",
]


def test_nothing_is_left_after_twenty_jobs():
    """Some at a time, for a job mostly waits; those of one notebook do not know of each other. The MPIs take turns."""
    for mpi in MPIS:
        need(mpi)
    threads, files = set(threading.enumerate()), len(list((PROC / "self" / "fd").iterdir())) if PROC.is_dir() else 0
    order = [(program, mpi) for mpi in islice(cycle(MPIS), 4) for program in ENDS]
    with ThreadPoolExecutor(5) as pool:
        jobs = list(pool.map(lambda job: start(job[0], 2, job[1]), order))

    assert [type(job.error) for job in jobs[:5]] == [NoneType, RankError, MismatchError, LostRankError, RankError]
    assert [type(job.error) for job in jobs] == [type(job.error) for job in jobs[:5]] * 4
    assert left() == []
    assert set(threading.enumerate()) <= threads
    if PROC.is_dir():
        assert len(list((PROC / "self" / "fd").iterdir())) <= files + 1


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({"ranks": 0}, "0"), ({"ranks": 2.5}, "2.5"), ({"timeout": -1}, "-1"), ({"timeout": "x"}, "'x'")],
)
def test_arguments_that_make_no_sense_are_refused(wrong, named):
    with pytest.raises(ArgumentError, match=named):
        run_job("1", **wrong)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"nothing\.py"):
        run_job(tmp_path / "nothing.py")


# the program under a plain mpirun


def mpirun(command, mpi="mpich", **environment):
    launcher, known = need(mpi, **environment)
    return subprocess.run(
        launcher.command(2, [sys.executable, *command]), env=launch.surroundings(launcher, 2, known), cwd=ROOT,
        capture_output=True, text=True, timeout=LONG, check=False,
    )  # fmt: skip


def test_the_runner_ends_all_ranks_when_one_fails(tmp_path):
    program = tmp_path / "p.py"
    program.write_text(HEAD + "print(f'I am {rank}')\nif rank == 1:\n    1 / 0\ncomm.recv(source=1)")

    done = mpirun(["-m", "jt_edu.run", str(program)])

    assert done.returncode != 0
    assert "rank 1 of 2:\nTraceback" in done.stderr and "ZeroDivisionError" in done.stderr


@on_each_mpi
def test_what_does_not_fit_together_is_explained_by_the_runner_unless_that_is_switched_off(mpi, tmp_path):
    program = tmp_path / "p.py"
    program.write_text(HEAD + "x = np.ones(1 + rank % 2)\ncomm.Bcast(x if comm.journal.board else np.ones(1))")
    run = ["-m", "jt_edu.run", str(program)]

    told, quiet = mpirun(run, mpi, TMPDIR=str(tmp_path)), mpirun(run, mpi, JT_EDU_MPI_DEBUG="0", TMPDIR=str(tmp_path))

    assert told.returncode != 0
    assert "rank 0 calls Bcast(root=0, count=1" in told.stderr and "rank 1 calls Bcast(root=0, count=2" in told.stderr
    assert quiet.returncode == 0, quiet.stderr
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("jt_edu")] == []


def test_a_module_can_be_run(tmp_path):
    done = mpirun(["-m", "jt_edu.run", "-m", "tests.mpi.programs.hello", "--loud"])

    assert sorted(done.stdout.split("\n")) == ["", "HELLO 0", "HELLO 1"]
    assert re.fullmatch(r"\[i \d{4} [\d:.]+ 00 launch\.py\] Found mpicc\([\d.]+\) at .*mpicc\.", done.stderr.strip())


def test_a_plain_program_explains_itself_in_debug_mode(tmp_path):
    program = tmp_path / "p.py"
    program.write_text(HEAD + "comm.recv(source=1 - rank)")

    done = mpirun([str(program)], JT_EDU_MPI_DEBUG="1", TMPDIR=str(tmp_path))

    assert done.returncode != 0
    assert done.stderr.count("rank 0 waits in recv(source=1, tag=any)") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["p.py"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("if rank == 0:\n    comm.barrier()", "rank 1 has ended, without a call"),
        ("comm.barrier()\nif rank == 0:\n    comm.barrier()", "rank 1 has ended, after barrier() at p.py:6"),
        ("if rank == 0:\n    comm.ssend(1, dest=1)", "rank 0 waits in ssend(dest=1, tag=0)"),
    ],
    ids=["a skipped call", "an extra call", "a send"],
)
def test_debug_mode_explains_itself_when_a_rank_has_come_to_its_end(text, said, tmp_path):
    program = tmp_path / "p.py"
    program.write_text(HEAD + text)

    done = mpirun([str(program)], JT_EDU_MPI_DEBUG="1", TMPDIR=str(tmp_path))

    assert done.returncode != 0
    assert done.stderr.count("DeadlockError") == 1 and said in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["p.py"]


def test_debug_mode_leaves_nothing_behind_a_program_that_ends_well(tmp_path):
    program = tmp_path / "p.py"
    program.write_text(HEAD + "comm.barrier()")

    assert mpirun([str(program)], JT_EDU_MPI_DEBUG="1", TMPDIR=str(tmp_path)).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["p.py"]


def test_a_plain_program_that_fails_ends_all_ranks(tmp_path):
    program = tmp_path / "p.py"
    program.write_text(HEAD + "if rank == 1:\n    1 / 0\ncomm.recv(source=1)")

    done = mpirun([str(program)])

    assert done.returncode != 0
    assert "rank 1 of 2:" in done.stderr


@pytest.fixture
def pipe():
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_all_ranks_end_only_when_the_launcher_has_read_what_this_one_wrote(pipe):
    """Else its last words are lost now and then, on a busy machine."""
    took, (source, target) = [], pipe
    os.write(target, b"my last words")

    def launcher():
        time.sleep(0.05)
        took.append("words")
        os.read(source, 100)

    reader = threading.Thread(target=launcher)
    reader.start()
    world = SimpleNamespace(Abort=lambda code: took.append(code))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(abort, "wait_until_read", lambda _, seconds: wait_until_read((target,), 60))
        abort.abort(SimpleNamespace(COMM_WORLD=world), 3)
    reader.join()

    assert took == ["words", 3]


def test_a_launcher_that_does_not_read_is_not_waited_for_for_ever(pipe, tmp_path):
    os.write(pipe[1], b"my last words")
    with (tmp_path / "words").open("w+b") as file:
        file.write(b"no pipe")

        wait_until_read((pipe[1], file.fileno(), 10**6), 0.01)


if OTHER:  # an environment with two MPIs, as .ci/run makes it

    def library(mpi):
        known = {**os.environ, **MPIS[mpi]}
        return str(launch.need(known).library)

    def test_the_library_of_another_mpi_than_the_launchers_is_refused():
        job = start("report(size)", 2, "mpich", environment={"MPI4PY_LIBMPI": library("openmpi")})

        assert "must belong to the same MPI; found a launcher of 2 ranks, and the library Open MPI" in str(job.error)
        assert "which sees 1" in str(job.error) and "MPI4PY_LIBMPI" in str(job.error)

    def test_the_launcher_of_open_mpi_refuses_another_library_before_it_can_crash():
        job = start("report(size)", 2, "openmpi", environment={"MPI4PY_LIBMPI": library("mpich")})

        assert "must belong to the same MPI; found a launcher of Open MPI, and the library MPICH" in str(job.error)


PROBES = """
from jt_edu.mpi import MPI
for thing in ("short", "long" * 10_000):
    if rank == 0:
        comm.send(thing, 1)
    else:
        seen, got = MPI.Status(), MPI.Status()
        comm.probe(0, status=seen)
        assert comm.recv(source=0, status=got) == thing
        report(seen.bytes == got.bytes, seen.bytes < 100, got.bytes > len(thing))
"""


@on_each_mpi
def test_a_probe_tells_the_same_of_an_object_on_simulated_and_on_real_ranks(mpi):
    told = []

    def program(comm):
        exec(PROBES, {"comm": comm, "rank": comm.rank, "report": lambda *said: told.append(said)})  # noqa: S102

    assert run_ranks(2, program).error is None

    assert told == [(True, True, True), (False, True, True)]
    assert well(start(PROBES, 2, mpi))[1] == [item for said in told for item in said]
