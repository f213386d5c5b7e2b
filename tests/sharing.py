"""Sharing: which tests does one worker of pytest-xdist run together, and which begin first?

    tests/mpi, tests/browser     all on one worker each; they take longest, so they begin first
    any other file               on one worker: what one test compiles, or a fixture of the file makes, the next one has
    more than PART tests         are cut into parts, so that no worker is left with a long file at the end

Files that took long begin before others: durations.json has their seconds, and `pytest --record` writes it anew.

xdist has groups of its own (`xdist_group`), which it writes into the names of tests: pytest 9.2 does not heed that, and
every test is shared out alone (pytest-xdist, issue 1386). These groups need no names but the real ones.
"""

import json
import os
from collections import Counter
from functools import cached_property
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

ONE_WORKER = ("mpi", "browser")  # they have several processes as it is; they share a server
PART = 200  # tests
DURATIONS = Path(__file__).with_name("durations.json")
SHORT = 3.0  # seconds: what took less is not written down


def groups(names):
    """{name of a test: name of its group}, for all names in their order."""
    found, counts = {}, Counter()
    for name in names:
        path = name.partition("::")[0]
        found[name] = _folder(path) or f"{path}, part {counts[path] // PART}"
        counts[path] += 1
    return found


def long_ones_first(items, seconds=None):
    """The tests in the order in which they are to begin; those of one file in the order in which they stand there."""
    took = seconds or (json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {})

    def begins(item):
        folder = _folder(item.nodeid)
        return ONE_WORKER.index(folder) if folder else len(ONE_WORKER), -took.get(item.nodeid.partition("::")[0], 0)

    return sorted(items, key=begins)


class Durations:
    """Adds up how long each file takes, and writes it down at the end."""

    def __init__(self):
        self.seconds = Counter()

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid.partition("::")[0]] += report.duration

    def pytest_sessionfinish(self):
        found = {path: round(took) for path, took in sorted(self.seconds.items()) if took >= SHORT}
        DURATIONS.write_text(json.dumps(found, indent=0) + "\n")


def _folder(name):
    return next((folder for folder in ONE_WORKER if name.startswith(f"tests/{folder}/")), None)


class Groups(LoadScopeScheduling):
    """A worker that has nothing to do gets the next group."""

    @cached_property
    def groups(self):
        return groups(self.collection)

    def _split_scope(self, nodeid):
        return self.groups[nodeid]


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False  # the order is ours
    return Groups(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers():
    """One worker more than there are cores: those with tests/mpi and tests/browser mostly wait for what they start.

    Each spends 17 s of CPU on finding the tests, so there are no more.
    """
    return 1 + (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
