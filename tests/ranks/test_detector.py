"""The detector: what works only because simulated ranks share a process is told, and nothing else is."""

import importlib
import itertools
import os
import sys
import time
import types

import numpy as np
import pytest

from jt_edu.mpi.notebook import sharing_detector
from jt_edu.mpi.notebook.cell import Cell
from jt_edu.mpi.notebook.namespaces import Namespaces

TALLY = """
import itertools
import numpy as np
import jt_edu as jt

seen = []
names = {"a": 1}
table = {"rows": [[0]]}
once = set()
ids = itertools.count()
weights = np.zeros(4)
big = np.zeros(3_000_000)
parameter = jt.zeros(2)
total = 0
CONSTANT = (1, 2, [3])
words = ["read", "only"]
_cache = {}


class Counter:
    made = 0
    kept = []

    def __init__(self):
        self.here = 0

    def count(self):
        self.here += 1


counter = Counter()


def add(x, kept=[]):
    kept.append(x)


def add_by_name(x, *, kept=[]):
    kept.append(x)


def bump():
    global total
    total += 1


def mark():
    mark.calls = getattr(mark, "calls", 0) + 1


def maker():
    n = 0

    def inc():
        nonlocal n
        n += 1

    return inc


inc = maker()


def read():
    return len(seen) + len(words) + CONSTANT[2][0] + names["a"] + Counter.made
"""

CHANGES = {
    "a list": ("tally.seen.append(rank)", "tally.seen"),
    "an item of a list": ("tally.words[0] = str(rank)", "tally.words"),
    "a dict": ("tally.names[rank] = 1", "tally.names"),
    "a list in a list in a dict": ("tally.table['rows'][0].append(rank)", "tally.table['rows'][0]"),
    "a set": ("tally.once.add(rank)", "tally.once"),
    "a counter of itertools": ("next(tally.ids)", "tally.ids"),
    "an array": ("tally.weights[rank] = 1", "tally.weights"),
    "the end of a large array": ("tally.big[-1 - rank] = 1", "tally.big"),
    "a Var": ("tally.parameter.assign(tally.parameter + 1)", "tally.parameter"),
    "a name of a module": ("tally.total = tally.total + 1", "tally.total"),
    "a name that a function changes": ("tally.bump()", "tally.total"),
    "a new name of a module": ("setattr(tally, f'new{rank}', rank)", "tally.new0"),
    "an attribute of a class": ("tally.Counter.made += 1", "tally.Counter.made"),
    "a list of a class": ("tally.Counter.kept.append(rank)", "tally.Counter.kept"),
    "an attribute of an object": ("tally.counter.count()", "tally.counter.here"),
    "a default argument": ("tally.add(rank)", "the default argument kept of tally.add"),
    "a default argument given by name": ("tally.add_by_name(rank)", "the default argument kept of tally.add_by_name"),
    "an attribute of a function": ("tally.mark()", "tally.mark.calls"),
    "a variable that a function keeps": ("tally.inc()", "tally.inc.n"),
    "the environment": ("import os; os.environ['JT_TALLY'] = str(rank)", "os.environ['JT_TALLY']"),
}


@pytest.fixture
def ranks(tmp_path, monkeypatch):
    """Ranks of a notebook beside which there is a module tally.py."""
    (tmp_path / "tally.py").write_text(TALLY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("JT_TALLY", "")
    monkeypatch.delitem(sys.modules, "tally", raising=False)
    others = [name for name in sys.modules if name.startswith("tests.") and not name.startswith("tests.ranks")]
    for name in others:  # hundreds of modules that no learner has: looking at them would take all of a cell's time
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sharing_detector, "SECONDS", 20)  # of a machine that does other things, too
    importlib.invalidate_caches()
    yield Namespaces(3)
    sys.modules.pop("tally", None)


def notes(run):
    run.raise_failure()
    return run.notes


@pytest.mark.parametrize(("text", "path"), CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("before", ["import tally", ""], ids=["imported here", "imported before"])
def test_what_ranks_change_in_a_module_is_told_with_the_ranks_and_the_line(ranks, text, path, before):
    if not before:
        notes(ranks.run("import tally"))

    (told,) = notes(ranks.run(f"{before}\ncomm.barrier()\n{text}"))

    assert "This works here, and would not under mpirun" in told
    assert f"\n  {path}, changed by rank{' 0' if 'new0' in path else 's 0-2'}" in told
    assert f"\n      line 3: {text}" in told


def test_what_is_changed_in_the_turn_of_the_import_is_told_of_every_rank(ranks):
    (told,) = notes(ranks.run("import tally\ntally.seen.append(rank)"))

    assert "tally.seen, changed by ranks 0-2\n" in told


def test_only_the_ranks_that_change_something_are_named(ranks):
    (told,) = notes(ranks.run("import tally\ncomm.barrier()\nif rank == 1:\n    tally.seen.append(1)\ncomm.barrier()"))

    assert "tally.seen, changed by rank 1\n      line 4: tally.seen.append(1)\n" in told


def test_what_one_rank_changes_between_two_calls_is_its_own_doing(ranks):
    loop = (
        "for k in range(6):\n    if k % size == rank and rank != 1:\n        tally.seen.append(k)\n    comm.barrier()"
    )
    text = f"import tally\n{loop}"
    (told,) = notes(ranks.run(text))

    assert "tally.seen, changed by ranks 0, 2\n" in told


@pytest.mark.parametrize(
    "text",
    [
        "import tally\ntally.read(), len(tally.big), tally.CONSTANT, list(tally.words)",
        "import numpy as np\nimport jt_edu as jt\nx = jt.random((4, 4))\n(x @ x).sum().mpi_all_reduce().item()",
        "import collections, json, decimal\nfrom fractions import Fraction\njson.dumps([1]), Fraction(1, 2)",
        "import tally\nmine = list(tally.words)\nmine.append(rank)\nmine",
        "import tally\ntally.Counter()\nc = tally.Counter()\nc.count()",
        "from jt_edu import *\nnet = nn.Linear(2, 1)\noptim.Adam(net.parameters()).step((net(ones(3, 2)) ** 2).mean())",
        "import numpy as np\nnp.random.seed(rank)\nnp.random.rand()",
        "import tally\nfrom jt_edu import nn\nnn.Linear(2, 2)(tally.parameter)",
    ],
)
def test_reading_and_libraries_raise_no_alarm(ranks, text):
    assert notes(ranks.run(text)) == []
    assert notes(ranks.run(text)) == []


def test_what_the_notebook_defines_is_copied_and_so_no_ranks_share_it(ranks):
    notebook = {"__name__": "__main__"}
    exec("seen = []\nclass C:\n    made = 0\ndef add(x, kept=[]):\n    kept.append(x)", notebook)  # noqa: S102 - a text of this test

    assert notes(ranks.run("seen.append(rank)\nC.made += 1\nadd(rank)", notebook)) == []


def test_many_changes_are_told_shortly(ranks):
    text = "import tally\n" + "\n".join(t for t, _ in list(CHANGES.values())[:10])

    (told,) = notes(ranks.run(text))

    assert told.count("changed by") == sharing_detector.MOST_REPORTS
    assert "and 5 more" in told


def test_looking_costs_a_part_of_a_second_however_much_there_is(ranks, monkeypatch):
    import tally  # noqa: PLC0415 - it is made by a fixture

    monkeypatch.setattr(sharing_detector, "SECONDS", 0.05)
    cell = "import tally\nfor _ in range(300):\n    comm.barrier()\ntally.seen.append(rank)"

    def seconds():
        begin = time.process_time()
        (told,) = notes(ranks.run(cell))
        return time.process_time() - begin, told

    little, _ = seconds()
    tally.heap = [[k] for k in range(20_000)]
    much, told = seconds()

    assert much < little + 1.0  # of the processor; each of 900 looks at the whole heap takes a millisecond or more
    assert "tally.seen, changed by others perhaps" in told


@pytest.mark.parametrize(("brought", "call"), [
    ("import tally as t", "t.bump()"), ("from tally import bump", "bump()"), ("from tally import bump as up", "up()"),
])  # fmt: skip
@pytest.mark.parametrize("together", [True, False], ids=["in one cell", "imported before"])
def test_the_line_is_that_of_the_call_whatever_the_module_is_called_here(ranks, brought, call, together):
    if not together:
        notes(ranks.run(brought))

    (told,) = notes(ranks.run(f"{brought if together else 'x = 0'}\ncomm.barrier()\n{call}"))

    assert f"tally.total, changed by ranks 0-2\n      line 3: {call}\nTry" in told


def test_a_module_that_was_made_by_hand_is_the_learners_too(ranks, monkeypatch):
    made = types.ModuleType("made")
    made.seen = []
    monkeypatch.setitem(sys.modules, "made", made)

    (told,) = notes(ranks.run("import made\ncomm.barrier()\nmade.seen.append(rank)"))

    assert "made.seen, changed by ranks 0-2\n      line 3: made.seen.append(rank)\n" in told


@pytest.mark.parametrize("name", ["_made", "cython_thing", "numpy.made"])
def test_what_libraries_make_by_hand_is_not_looked_at(ranks, monkeypatch, name):
    made = types.ModuleType(name)
    made.seen = []
    monkeypatch.setitem(sys.modules, name, made)

    assert notes(ranks.run(f"import sys\ncomm.barrier()\nsys.modules[{name!r}].seen.append(rank)")) == []


ALONE = types.SimpleNamespace(rank=0, size=1)


@pytest.fixture
def mpi4py(monkeypatch):
    """Something that is called like mpi4py: the real one would start MPI in this process."""
    package, module = types.ModuleType("mpi4py"), types.ModuleType("mpi4py.MPI")
    package.MPI, module.COMM_WORLD = module, ALONE
    monkeypatch.setitem(sys.modules, "mpi4py", package)
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", module)
    return module


@pytest.mark.parametrize("text", [
    "from mpi4py import MPI\nMPI.COMM_WORLD.rank", "import mpi4py.MPI as M\nM.COMM_WORLD.rank",
    "def f():\n    import mpi4py.MPI\n    return mpi4py.MPI.COMM_WORLD.rank\nf()",
])  # fmt: skip
def test_mpi4py_in_a_cell_is_told_to_know_one_rank_only_and_what_to_import(ranks, mpi4py, text):
    run = ranks.run(text)

    (told,) = notes(run)
    assert run.values == [0, 0, 0]
    assert "rank 0 of 1 on every rank" in told and "Try: from jt_edu.mpi import MPI" in told


def test_mpi4py_from_the_notebook_is_told_as_well_with_the_line_that_uses_it(ranks, mpi4py):
    (told,) = notes(ranks.run("x = 1\nMPI.COMM_WORLD.rank", {"MPI": mpi4py}))

    assert "line 2: MPI.COMM_WORLD.rank" in told


def test_the_door_with_the_names_of_mpi4py_raises_no_alarm(ranks):
    run = ranks.run("from jt_edu.mpi import MPI\nMPI.COMM_WORLD.rank")

    assert notes(run) == [] and run.values == [0, 1, 2]


def test_a_watch_that_nobody_changes_anything_under_says_nothing():
    watch = sharing_detector.Watch()
    watch.turn_ended(type("T", (), {"rank": 0, "state": "ended"}))

    assert watch.reports(Cell.parse("1")) == []


def test_marks_tell_changes_from_sameness():
    array, row, count = np.arange(5.0), [1, [2]], itertools.count(3)
    before = [sharing_detector._mark(x) for x in (array, row, count)]

    assert [sharing_detector._mark(x) for x in (array, row, count)] == before
    array[4], row[0] = 9, 8
    next(count)
    assert all(sharing_detector._mark(x) != m for x, m in zip((array, row, count), before, strict=True))
    assert os.environ.get("JT_TALLY") is None
