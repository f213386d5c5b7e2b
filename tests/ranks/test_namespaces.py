"""A cell in several namespaces: what ranks get, what they keep, what they share, and what they tell."""

import builtins
import io
import random
import signal
import sys
import threading
import time
from dataclasses import dataclass, field

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.mpi.base.errors import DeadlockError, MismatchError
from jt_edu.mpi.notebook.cell import Cell, learners_lines
from jt_edu.mpi.notebook.namespaces import Namespaces
from jt_edu.mpi.notebook.process import Page, divided
from jt_edu.mpi.simulator import scheduler
from jt_edu.mpi.simulator.faults import Faults
from jt_edu.mpi.simulator.threads import run_ranks
from tests.patience import LONG
from tests.ranks.faulty import all_end_but, threads_of_ranks, until


@pytest.fixture
def ranks():
    before = sys.stdout, builtins.open, builtins.input, builtins.__import__, np.random.rand, sys.modules["__main__"]
    threads = threads_of_ranks()
    yield Namespaces(3)
    after = sys.stdout, builtins.open, builtins.input, builtins.__import__, np.random.rand, sys.modules["__main__"]
    assert after == before
    all_end_but(threads)


def home(text, **names):
    """A notebook in which this was run."""
    space = {"__name__": "__main__", **names}
    exec(text, space)  # noqa: S102 - a text of these tests
    return space


def values(run):
    run.raise_failure()
    return run.values


def test_each_rank_has_names_of_its_own_which_stay(ranks):
    run = ranks.run("x = comm.allreduce(rank)\nmine = [rank] * size\nx")

    assert values(run) == [3, 3, 3]
    assert ranks[2].mine == [2, 2, 2]
    assert ranks["mine"] == [[0, 0, 0], [1, 1, 1], [2, 2, 2]]
    assert values(ranks.run("mine.append(9)\nlen(mine), x")) == [(4, 3)] * 3


def test_a_name_that_no_rank_has_is_an_error_with_the_names_that_it_has(ranks):
    ranks.run("loss = rank")

    with pytest.raises(jt.UnknownNameError, match=r"rank 1 has no lost; found its names .*loss"):
        _ = ranks[1].lost
    with pytest.raises(jt.ArgumentError, match="from 0 to 2, or a name; found 3"):
        _ = ranks[3]


def test_ranks_get_copies_of_what_the_cell_reads(ranks):
    notebook = home("data = [1, 2]\nunread = object()")

    run = ranks.run("data.append(rank)\ndata", notebook)

    assert values(run) == [[1, 2, 0], [1, 2, 1], [1, 2, 2]]
    assert notebook["data"] == [1, 2]
    assert "unread" not in ranks.spaces[0]


def test_what_was_assigned_last_counts_in_the_notebook_or_on_the_rank(ranks):
    notebook = home("x = 1")
    ranks.run("x += rank", notebook)

    assert values(ranks.run("x", notebook)) == [1, 2, 3]
    notebook["x"] = 10
    assert values(ranks.run("x", notebook)) == [10, 10, 10]


def test_what_a_rank_assigned_is_not_replaced_by_something_older(ranks):
    notebook = home("loss = 'old'")
    ranks.run("loss = rank", notebook)

    assert values(ranks.run("loss", notebook)) == [0, 1, 2]


def test_a_function_of_the_notebook_sees_the_names_of_its_rank(ranks):
    notebook = home(
        "scale = 10\ndef f(a, kept=[]):\n    kept.append(a)\n    return g(a) * scale, kept\ndef g(a): return a + 1"
    )

    assert values(ranks.run("scale = scale + rank\nf(1)", notebook)) == [(20, [1]), (22, [1]), (24, [1])]
    assert notebook["f"].__defaults__ == ([],)


def test_closures_and_functions_that_call_themselves_travel(ranks):
    notebook = home(
        "def outer():\n    n = 0\n    def count():\n        nonlocal n\n        n += 1\n        return n\n"
        "    def down(k): return 0 if k == 0 else 1 + down(k - 1)\n    return count, down\ncount, down = outer()"
    )

    assert values(ranks.run("[count() for _ in range(rank + 1)][-1], down(4)", notebook)) == [(1, 4), (2, 4), (3, 4)]
    assert notebook["count"]() == 1


def test_decorated_functions_travel(ranks):
    notebook = home(
        "import functools\nimport jt_edu as jt\nscale = 2\n"
        "def loud(f):\n    @functools.wraps(f)\n    def inner(x): return f(x) * 10\n    return inner\n"
        "@loud\ndef f(x): return x * scale\n"
        "@jt.no_grad()\ndef g(x): return (x * scale).requires_grad\n"
        "@functools.lru_cache\ndef h(x): return x * scale\n"
    )

    run = ranks.run("scale += rank\nx = jt.ones(1)\nx.start_grad()\nf(1), g(x), h(1)", notebook)

    assert values(run) == [(20, False, 2), (30, False, 3), (40, False, 4)]
    assert run.notes == []


CLASSES = """
from dataclasses import dataclass, field
from jt_edu import nn, optim
factor = 2
class Base(nn.Module):
    made = 0
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
    def execute(self, x): return self.layer(x) * factor
    @property
    def twice(self): return factor * 2
    @staticmethod
    def one(): return 1
    @classmethod
    def name(cls): return cls.__name__
class Net(Base):
    def execute(self, x): return super().execute(x) + 1
@dataclass
class Point:
    x: int
    tags: list = field(default_factory=list)
net, point = Net(), Point(3)
optimizer = optim.SGD(net.parameters(), lr=0.1)
"""


def test_classes_and_their_objects_travel_as_a_copy_of_their_own(ranks):
    notebook = home(CLASSES)

    run = ranks.run("factor += rank\nsame = type(net) is Net\nnet.twice, net.one(), net.name(), same, point", notebook)

    for rank, (twice, one, name, same, point) in enumerate(values(run)):
        assert (twice, one, name, same) == (2 * (2 + rank), 1, "Net", True)
        assert repr(point) == "Point(x=3, tags=[])"
        assert type(point) is not notebook["Point"]
    assert ranks[0].Net is not ranks[1].Net


def test_a_network_and_its_optimiser_share_parameters_even_if_they_come_in_different_cells(ranks):
    notebook = home(CLASSES)
    ranks.run("net", notebook)

    run = ranks.run("[a is b for a, b in zip(net.parameters(), optimizer.param_groups[0]['params'])]", notebook)

    assert values(run) == [[True, True]] * 3
    assert len({id(ranks[r].net.layer.weight) for r in range(3)}) == 3


def test_vars_are_copied_and_can_be_used_in_the_notebook_afterwards(ranks):
    notebook = home("import jt_edu as jt\nx = jt.array([1.0, 2.0])\nx.start_grad()")

    ranks.run("y = x * (rank + 1)\nx.assign(x + 1)", notebook)

    assert notebook["x"].numpy().tolist() == [1, 2]
    total = ranks[1].y + notebook["x"] * ranks[2].y
    assert total.numpy().tolist() == [2 + 3, 4 + 12]


def test_what_cannot_be_copied_is_shared_and_named(ranks):
    notebook = home("steps = (k for k in range(9))\ngood = 3")

    run = ranks.run("next(steps), good", notebook)

    assert values(run) == [(0, 3), (1, 3), (2, 3)]
    assert "steps is the notebook's own thing, for all ranks: it cannot be copied (TypeError" in run.notes[0]


def test_names_that_ranks_are_given_are_not_taken_from_the_notebook_and_that_is_said(ranks):
    run = ranks.run("rank, size", home("size = 100\nrank = 7"))

    assert values(run) == [(0, 3), (1, 3), (2, 3)]
    assert run.notes == ["rank and size: here the ranks' own, and not what the notebook calls so"]


def test_what_a_rank_prints_is_on_its_page_and_the_notebook_prints_as_ever(ranks, capsys):
    run = ranks.run("import sys\nprint('out', rank)\nprint('err', rank, file=sys.stderr)")
    print("notebook")

    assert [told.page.pieces for told in run.ranks] == [
        [("stdout", f"out {rank}\n"), ("stderr", f"err {rank}\n")] for rank in range(3)
    ]
    assert capsys.readouterr().out == "notebook\n"


def test_a_rank_that_prints_without_end_is_cut_off():
    page = Page(0)
    for _ in range(3):
        page.write("stdout", "x" * 600_000)

    assert 1_000_000 < len(page.text) < 1_000_100
    assert "and more, which is not kept" in page.text


def test_a_semicolon_says_that_the_value_is_not_shown(ranks):
    assert [t.shown for t in ranks.run("3").ranks] == [{"text/plain": "3"}] * 3
    assert [t.shown for t in ranks.run("3;").ranks] == [None] * 3


def test_the_text_form_puts_ranks_that_say_the_same_together(ranks):
    run = ranks.run("print('odd' if rank == 1 else 'even')")

    assert repr(run) == "ranks 0, 2\n    even\nrank 1\n    odd"


def test_a_deadlock_is_explained_and_the_ranks_go_on_afterwards(ranks):
    run = ranks.run("comm.recv(source=(rank + 1) % size)")

    with pytest.raises(DeadlockError, match="circle: 0 -> 1 -> 2 -> 0"):
        run.raise_failure()
    assert run.ranks[1].trouble.splitlines()[:2] == ["line 1", "    comm.recv(source=(rank + 1) % size)"]
    assert values(ranks.run("comm.allreduce(1)")) == [3, 3, 3]


def test_ranks_that_disagree_are_named(ranks):
    run = ranks.run("comm.allreduce(1) if rank else comm.bcast(1)")

    with pytest.raises(MismatchError, match="rank 0 calls bcast"):
        run.raise_failure()


def test_an_error_is_told_with_the_lines_of_the_cell_only(ranks):
    run = ranks.run(
        "import numpy as np\ndef f():\n    np.ones(3).reshape(2, 2)\nif rank == 1:\n    f()\ncomm.barrier()"
    )

    assert run.ranks[1].trouble.splitlines() == [
        "line 5", "    f()", "line 3 in f", "    np.ones(3).reshape(2, 2)",
        "ValueError: cannot reshape array of size 3 into shape (2,2)",
    ]  # fmt: skip
    assert run.ranks[0].trouble == "line 6\n    comm.barrier()\nstopped here, because another rank failed"
    assert run.explanation.startswith("rank 1 failed, and with it all ranks: ValueError")
    with pytest.raises(jt.base.errors.RankError, match="on rank 1") as caught:
        run.raise_failure()
    assert isinstance(caught.value.__cause__, ValueError)


def test_lines_of_libraries_are_left_out_and_those_of_the_learners_modules_stay():
    try:
        np.linalg.inv(np.zeros((2, 3)))
    except np.linalg.LinAlgError as error:
        rows = learners_lines(error)

    assert rows == [
        "test_namespaces.py, line " + rows[0].rpartition(" ")[0].split()[2] + " in " + rows[0].rpartition(" ")[2],
        "    np.linalg.inv(np.zeros((2, 3)))",
    ]


def test_a_communicator_and_its_groups_go_on_in_the_next_cell(ranks):
    ranks.run("kept = comm\nsub = comm.Split(rank % 2)\ntwin = comm.Dup()")

    run = ranks.run("kept is comm, sub.allgather(rank), twin.allreduce(1), comm.Dup().allreduce(rank)")

    assert values(run) == [(True, [0, 2], 3, 3), (True, [1], 3, 3), (True, [0, 2], 3, 3)]


def test_a_communicator_of_a_cell_that_failed_says_so(ranks):
    ranks.run("sub = comm.Dup()")
    ranks.run("comm.recv(source=0)")

    run = ranks.run("sub.barrier()")

    with pytest.raises(jt.base.errors.RankError, match="lasts as long as its run"):
        run.raise_failure()


def test_a_function_that_speaks_goes_on_in_the_next_cell_and_after_a_failure(ranks):
    ranks.run("import jt_edu as jt\ndef total(x): return x.mpi_all_reduce()\nx = jt.ones(2) * rank\ny = total(x)")
    assert [v.numpy().tolist() for v in ranks["y"]] == [[3, 3]] * 3

    ranks.run("z = total(x)")
    ranks.run("1 / rank")
    again = ranks.run("total(x).numpy().tolist()")

    assert values(again) == [[3, 3]] * 3


def test_messages_that_nobody_asked_for_are_sent_before_the_cell_ends(ranks):
    ranks.run("import jt_edu as jt\ny = (jt.ones(2) * rank).mpi_all_reduce()\nif rank == 1:\n    print(y)")

    assert [v.numpy().tolist() for v in ranks["y"]] == [[3, 3]] * 3


def test_what_a_failed_cell_had_still_to_say_is_not_said_in_the_next_one(ranks):
    ranks.run("import jt_edu as jt\nx = jt.ones(2)")
    ranks.run("if rank < 2:\n    y = x.mpi_all_reduce()\nif rank == 1:\n    1 / 0\ncomm.recv(source=1)")

    assert values(ranks.run("comm.allgather(rank), x.mpi_all_reduce().sum().item()")) == [([0, 1, 2], 6.0)] * 3


def test_a_message_that_fails_at_the_end_of_a_cell_is_a_failure_of_its_rank(ranks):
    run = ranks.run("import jt_edu as jt\nx = jt.ones(2)\nif rank == 0:\n    y = x.mpi_all_reduce()")

    assert isinstance(run.failure, DeadlockError)
    assert [told.ended for told in run.ranks] == [False, True, True]
    assert run.ranks[0].trouble != ""


def test_what_ranks_have_told_so_far_can_be_seen_while_they_run(ranks, tmp_path):
    seen = []

    def look():
        seen.append([(t.page.text, t.trouble) for t in ranks.running])
        if seen[-1][0][0]:
            (tmp_path / "seen").touch()

    text = "import os\nprint('begun')\nwhile not os.path.exists(seen):\n    pass"
    ranks.run(text, {"__name__": "__main__", "seen": str(tmp_path / "seen")}, while_waiting=look)

    assert ("begun\n", "") in [zero for zero, *_ in seen]
    assert [t.trouble for t in ranks.running] == ["", "", ""]


def test_objects_of_a_class_of_the_cell_can_be_sent(ranks):
    run = ranks.run(
        "class Thing:\n    pass\nt = Thing()\nt.x = rank\n[(o.x, type(o) is Thing) for o in comm.allgather(t)]"
    )

    assert values(run) == [[(0, True), (1, True), (2, True)]] * 3


def test_numpys_and_pythons_random_numbers_are_each_ranks_own(ranks):
    text = "import random\nimport numpy as np\nnp.random.seed(rank)\nrandom.seed(rank)\na = np.random.randn(3)\n"
    run = ranks.run(text + "comm.barrier()\nb = np.random.randn(3)\na.tolist(), b.tolist(), random.random()")

    for rank, (a, b, c) in enumerate(values(run)):
        state = np.random.RandomState(rank)
        assert (a, b) == (state.randn(3).tolist(), state.randn(3).tolist())
        assert c == random.Random(rank).random()


def test_random_numbers_of_ranks_leave_those_of_the_notebook_alone(ranks):
    np.random.seed(5)  # noqa: NPY002 - what is asked about
    random.seed(5)
    ranks.run("import numpy as np\nimport random\nnp.random.seed(1)\nnp.random.rand(100)\nrandom.random()")

    assert np.random.rand() == np.random.RandomState(5).rand()  # noqa: NPY002 - as above
    assert random.random() == random.Random(5).random()


def test_a_rank_goes_on_drawing_where_it_was(ranks):
    ranks.run("import numpy as np\nnp.random.seed(0)\na = np.random.rand()")

    assert values(ranks.run("np.random.rand()")) == [np.random.RandomState(0).rand(2)[1]] * 3


def test_ranks_have_no_keyboard(ranks):
    run = ranks.run("input('name? ')")

    with pytest.raises(jt.base.errors.RankError, match=r"ranks have no keyboard.*input\(\) on rank 0"):
        run.raise_failure()


@pytest.mark.parametrize("how", ["open(path, 'w').close()", "from pathlib import Path; Path(path).write_text('x')"])
def test_two_ranks_that_write_one_file_are_told(ranks, tmp_path, how):
    run = ranks.run(how, {"__name__": "__main__", "path": str(tmp_path / "out.txt")})

    assert [n for n in run.notes if "ranks 0 and 1 both write" in n and "out.txt" in n] == run.notes
    assert len(run.notes) == 1


def test_reading_one_file_on_all_ranks_and_writing_one_each_is_fine(ranks, tmp_path):
    (tmp_path / "in.txt").write_text("x")

    text = "with open(f'{path}/in.txt') as f:\n    f.read()\nopen(f'{path}/{rank}.txt', 'w').close()"
    run = ranks.run(text, {"__name__": "__main__", "path": str(tmp_path)})

    assert run.notes == []


def test_flags_of_the_notebook_hold_for_ranks_and_those_of_a_rank_are_its_own(ranks):
    with jt.flag_scope(backend="python"):
        ranks.run("import jt_edu as jt\nif rank == 1:\n    jt.flags.fuse = False")
        assert values(ranks.run("jt.flags.backend, jt.flags.fuse")) == [("python", r != 1) for r in range(3)]
    assert values(ranks.run("jt.flags.backend")) == [jt.flags.backend] * 3


@pytest.mark.parametrize("text", ["%time 1", "!ls", "x = 1\n%matplotlib inline"])
def test_magics_have_no_place_on_ranks(text):
    with pytest.raises(jt.ArgumentError, match="ranks run Python; found line"):
        Cell.parse(text)


def test_faults_and_policies_are_arguments_of_a_cell(ranks):
    run = ranks.run("comm.compute(100)\ncomm.now", faults=Faults(slow={1: 3.0}))

    assert values(run) == [100, 300, 100]
    again = ranks.run("comm.barrier()", policy="random", seed=3)
    assert values(again) == [None] * 3
    assert again.record.policy == "random"


def lines_of(rank):
    """The lines of cells that ranks of this number are at; an earlier test may have left one behind."""
    threads = [thread.ident for thread in threading.enumerate() if thread.name == f"jt_edu rank {rank}"]
    frames = [frame for ident, frame in sys._current_frames().items() if ident in threads]
    return [frame.f_lineno for frame in frames if frame.f_code.co_name == "<module>"]


def test_an_interrupt_ends_a_cell_that_runs_for_ever_soon(ranks, monkeypatch):
    monkeypatch.setattr(scheduler, "ENDING", LONG)  # for a rank that has to wait for its turn
    begun, sent = threading.Event(), []

    def interrupt():
        import _thread  # noqa: PLC0415

        begun.wait(LONG)
        until(lambda: 4 in lines_of(1))
        sent.append(time.process_time())  # which passes while rank 1 runs, and not while other processes do
        _thread.interrupt_main()

    threading.Thread(target=interrupt).start()
    run = ranks.run(
        "print('begun')\nif rank == 0:\n    comm.barrier()\nwhile True: pass",
        while_waiting=lambda: begun.set() if ranks.running[1].page.text else None,
    )

    assert time.process_time() - sent[0] < 10
    assert isinstance(run.failure, KeyboardInterrupt)
    assert run.ranks[0].page.text == "begun\n"
    cause = "because the cell was interrupted"
    assert run.ranks[0].trouble == f"line 3\n    comm.barrier()\nstopped here, {cause}"
    assert run.ranks[1].trouble == f"line 4\n    while True: pass\nstopped here, {cause}"
    assert run.ranks[2].trouble == f"stopped, {cause}"  # before it had a turn
    assert values(ranks.run("comm.allreduce(1)")) == [3, 3, 3]


def test_an_interrupt_that_finds_a_finalizer_at_work_is_not_lost(ranks, monkeypatch):
    """Python tells it to `sys.unraisablehook`, and raises nothing."""

    class Last:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(scheduler, "ENDING", LONG)  # for a rank that has to wait for its turn
    dropped, held = [], [Last()]
    monkeypatch.setattr(sys, "unraisablehook", lambda told: dropped.append(told.exc_type))
    run = ranks.run("while True: pass", while_waiting=held.clear)

    assert dropped == [KeyboardInterrupt]
    assert isinstance(run.failure, KeyboardInterrupt)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_who_handles_interrupts_in_another_way_still_does():
    heard, before = threading.Event(), signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, lambda *_: heard.set())
    try:
        told = run_ranks(
            1, lambda comm: heard.wait(60), while_waiting=lambda: heard.is_set() or signal.raise_signal(signal.SIGINT)
        )
    finally:
        signal.signal(signal.SIGINT, before)

    assert told.error is None
    assert told.results == [True]


def test_failing_cells_leave_nothing_behind(ranks):
    before = threads_of_ranks()
    for _ in range(10):
        ranks.run("comm.recv(source=(rank + 1) % size)")

    all_end_but(before)


def test_what_a_process_has_once_is_put_back_even_after_an_error():
    before = builtins.open, io.open, sys.stdout, np.random.rand
    with pytest.raises(ZeroDivisionError), divided(lambda rank: pytest.fail("nothing is imported")):
        _ = 1 / 0

    assert (builtins.open, io.open, sys.stdout, np.random.rand) == before


def test_a_cell_without_python_is_a_syntax_error():
    with pytest.raises(SyntaxError):
        Cell.parse("1 +")


@dataclass
class Mine:
    """Kept, so that importing dataclass here has a use: objects of importable classes travel by name."""

    x: int = 1
    tags: list = field(default_factory=list)


def test_objects_of_modules_travel_by_the_name_of_their_class(ranks):
    run = ranks.run("m.tags.append(rank)\nm", {"__name__": "__main__", "m": Mine()})

    assert values(run) == [Mine(1, [0]), Mine(1, [1]), Mine(1, [2])]
