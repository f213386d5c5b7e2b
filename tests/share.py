"""Share: which rows of the tables run this time?

    python3 lab.py test          one row in SHARES of every table, other rows with every commit
    python3 lab.py test --all    every row
    pytest --share 3             share 3, whatever the commit is, as is 11; more may change with it (tests/gpu)
    pytest                       every row

A table is a test that is drawn from a list. At least one of its rows runs every time: what breaks the test as a whole
is seen at once, and what breaks one row is seen within SHARES commits. A test that is not part of a table runs every
time. What -k, -m and --deselect leave out is left out first, so rows that are asked for by name do run.
"""

import subprocess
from collections import defaultdict

import pytest

SHARES = 8
COMMITS = -1  # the share that is this commit's turn
WHOLE = (  # rows so short that all of them run
    "house/", "misuse/", "parity/test_corners.py", "floors/benchmark/", "floors/optim/", "floors/draw/test_draw.py",
    "distributed/test_stores.py", "exercises/test_exercises.py",
)  # fmt: skip
LONG = ("house/test_docstrings.py",)  # but for these
FILES = ("story/test_course_answers.py", "story/test_random_graphs.py")  # each test takes half a minute
NOTEBOOKS = (
    "exercises/test_0",
    "exercises/test_1",
)  # those of their tests that run one from its first cell to its last


def table_of(name):
    """The table that a test is a row of, or None. Where one row takes long, all of its file are one table."""
    path, _, test = name.removeprefix("tests/").partition("::")
    if path in FILES or (path.startswith(NOTEBOOKS) and "notebook" in test):
        return path
    short = path.startswith(WHOLE) and path not in LONG
    return None if short or "[" not in test else name.partition("[")[0]


def rows_of(names, share):
    """Which of these tests run in a share."""
    tables = defaultdict(list)
    for name in names:
        tables[table_of(name)].append(name)
    running = set(tables.pop(None, ()))
    for rows in tables.values():
        every = min(SHARES, len(rows))
        running.update(rows[share % every :: every])
    return running


def turn(folder):
    """Another number with each commit; 0 where there are none."""
    asked = ["git", "-C", str(folder), "rev-list", "--count", "--first-parent", "HEAD"]
    try:
        return int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
    except (OSError, subprocess.CalledProcessError, ValueError):
        return 0


def resolve(config):
    """Say in a number which share was asked for. Workers are told, whatever the words of their command are."""
    if hasattr(config, "workerinput"):
        config.option.share = config.workerinput["share"]
    elif config.option.all:
        config.option.share = None
    elif config.option.share == COMMITS:
        config.option.share = turn(config.rootpath)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """xdist asks before it starts a worker."""
    node.workerinput["share"] = node.config.option.share


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave to other shares what is theirs, of the tests that are left when all others have chosen."""
    share = config.option.share
    if share is not None:
        running = rows_of([item.nodeid for item in items], share)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in running])
        items[:] = [item for item in items if item.nodeid in running]
