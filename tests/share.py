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
TABLES = {  # below tests/: file or folder -> what is in the names of its rows; "[": all that are drawn from a list
    "parity/test_families.py": "numba|gradients",  # each row compiles kernels; numbers on the python backend run always
    "parity/test_elementwise.py": r"\[",
    "parity/test_algorithms.py": r"\[",
    "parity/test_halves.py": r"\[",
    "parity/test_shapes.py": r"\[",
    "floors/backends/convolve/": r"\[",
    "floors/nn/": r"\[",
    "layers/": r"\[",
    "story/test_random_graphs.py": r"\[",
    "story/test_course_answers.py": "",  # a notebook is run from its first cell to its last, in each row
    "exercises/test_0": "notebook",  # the same
    "ranks/test_laws.py": r"\[",
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
    """Say in numbers which share was asked for, before workers are told."""
    if config.option.all:
        config.option.share = None
    elif config.option.share == COMMITS:
        config.option.share = turn(config.rootpath)
    if config.option.share is not None:
        config.option.share %= SHARES


def choose(config, items):
    """Leave to other shares what is theirs."""
    share = config.option.share
    if share is not None:
        left = [item for item in items if waits(item.nodeid, share)]
        items[:] = [item for item in items if not waits(item.nodeid, share)]
        config.hook.pytest_deselected(items=left)
