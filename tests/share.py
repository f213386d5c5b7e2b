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
TABLES = {  # below tests/: file -> what is in the names of its rows; each row compiles kernels, or starts processes
    "parity/test_families.py": "",
}


def share_of(row):
    """In which share a row runs, from 0, by its name alone."""
    return zlib.crc32(row.encode()) % SHARES


def is_row(name):
    """Whether a test is a row of a table."""
    path, _, rest = name.removeprefix("tests/").partition("::")
    return path in TABLES and "[" in rest and re.search(TABLES[path], rest) is not None


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
