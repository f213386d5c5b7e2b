"""Share: which rows of the large tables run this time?

    python3 lab.py test          one row in SHARES of every table, other rows with every commit
    python3 lab.py test --all    every row
    pytest --share 3             share 3, whatever the commit is
    pytest                       every row

A table is a test with very many rows of one form: what breaks the form is seen in any share, and what breaks one row is
seen within SHARES commits. Everything that is no table runs each time.
"""

import re
import subprocess
import zlib

SHARES = 8
COMMITS = -1  # the share that is this commit's turn
LISTED = r"\["  # in the name of a test that is drawn from a list
TABLES = {  # below tests/: file or folder -> what is in the names of its rows
    "parity/test_algorithms.py": LISTED,  # each row compiles kernels
    "parity/test_elementwise.py": LISTED,
    "parity/test_families.py": LISTED,
    "parity/test_halves.py": LISTED,
    "parity/test_shapes.py": LISTED,
    "parity/test_strided.py": LISTED,
    "floors/backends/convolve/": LISTED,
    "floors/lens/test_conv_views.py": LISTED,
    "floors/lens/test_kernel_edit.py": LISTED,
    "floors/nn/": LISTED,
    "layers/": LISTED,
    "story/test_random_graphs.py": "",
    "bench/test_suites.py": LISTED,  # each row starts processes, or threads that are ranks
    "data/test_workers.py": LISTED,
    "mpi/test_faults.py": LISTED,
    "mpi/test_runner.py": LISTED,
    "mpi/test_training.py": LISTED,
    "ranks/test_laws.py": LISTED,
    "ranks/test_training.py": LISTED,
    "exercises/test_grade.py": LISTED,
    "exercises/test_hostile.py": LISTED,
    "story/test_course_answers.py": "",  # in each row a notebook runs from its first cell to its last
    "exercises/test_0": "notebook",
    "exercises/test_10": "notebook",
    "widgets/": LISTED,  # each row draws a page
}


def share_of(row):
    """In which share a row runs, from 0, by its name alone."""
    return zlib.crc32(row.encode()) % SHARES


def is_row(name):
    """Whether a test is a row of a table."""
    path, _, rest = name.removeprefix("tests/").partition("::")
    return any(path.startswith(table) and re.search(text, rest) for table, text in TABLES.items())


def waits(name, share):
    """Whether a test is left to other shares."""
    return is_row(name) and share_of(name) != share % SHARES


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
        config.option.share = turn(config.rootpath) % SHARES


def pytest_configure_node(node):
    """xdist asks before it starts a worker."""
    node.workerinput["share"] = node.config.option.share


def choose(config, items):
    """Leave to other shares what is theirs."""
    share = config.option.share
    if share is not None:
        left = [item for item in items if waits(item.nodeid, share)]
        items[:] = [item for item in items if not waits(item.nodeid, share)]
        config.hook.pytest_deselected(items=left)
