"""Again: which tests that failed beside others may run once more, alone?

    pytest --again      what .ci/run asks for

A machine that gives its cores to others for seconds can fail a test that waits for a process, a page, a thread or a
rank, however patient it is. When such tests have failed, at most MOST of them, and nothing else, they run once more in
one process with nothing beside it, and the run passes if they all do. It says which ones did, above its closing line
and in it. A test that fails twice, or waits for nobody, fails the run (docs/decisions/058).
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

MOST = 10  # tests: a machine does not fail more by chance
PATIENCE = 900  # seconds that all of them together may take
MARKS = frozenset({"browser", "mpi", "node", "processes"})
PLACES = (  # below tests/: what gets the mark "processes"
    "bench/test_suites.py", "data/test_workers.py", "distributed/", "exercises/", "floors/runtime/test_interrupts.py",
    "floors/codegen/test_cut_loops.py", "floors/lens/test_compile_processes.py", "floors/lens/test_kernel_edit.py",
    "floors/runtime/test_threads.py", "house/test_headless.py", "ranks/",
    "story/test_course_answers.py", "story/test_notebooks.py",
)  # fmt: skip


def waits_for_others(nodeid):
    """Whether a test gets the mark "processes" from its file or folder."""
    return nodeid.partition("::")[0].removeprefix("tests/").startswith(PLACES)


def allow(item, report):
    """Say in the report of a failure that this test may run again. A worker that crashed says nothing."""
    if report.failed and any(mark.name in MARKS for mark in item.iter_markers()):
        report.user_properties.append(("again", item.nodeid))


class SecondTry:
    """Listens in the process that hears of every test, and acts when all are over."""

    def __init__(self, config):
        self.config = config
        self.failed = {}  # name of a test -> its report that failed
        self.refused = bool(os.environ.get("JT_EDU_ALSO_FAILED"))
        self.passed = []

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.setdefault(report.nodeid, report)
            self.refused |= "again" not in dict(report.user_properties)

    def pytest_collectreport(self, report):
        self.refused |= report.failed

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        """After xdist has sent its workers home, and before the terminal's summary."""
        if session.exitstatus != pytest.ExitCode.TESTS_FAILED or self.refused or not 0 < len(self.failed) <= MOST:
            return
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        terminal.write_line("")  # the dots of workers end without one
        terminal.section(f"{len(self.failed)} failed beside others; once more, alone", yellow=True)
        terminal.flush()
        if self._all_pass():
            self.passed = [*self.failed.values()]
            _count_apart(terminal.stats, self.failed)
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter):
        for report in self.passed:
            terminalreporter.section(f"failed beside others: {report.nodeid}", yellow=True)
            terminalreporter.write_line(report.longreprtext)
        for report in self.passed:
            terminalreporter.write_line(f"FAILED beside others, passed alone: {report.nodeid}", yellow=True, bold=True)

    def _all_pass(self):
        """Run them with nothing beside them. A skip is no pass, and a mark that is missing here was there before."""
        with tempfile.TemporaryDirectory(prefix="jt_") as folder:
            told = Path(folder) / "told.xml"
            options = ["-n", "0", "-p", "no:cacheprovider", f"--junitxml={told}"]
            options += [f"--seed={self.config.getoption('seed')}"]
            options += ["--without-torch"] * self.config.getoption("without_torch")
            command = [sys.executable, "-m", "pytest", *options, *self.failed]
            surroundings = {**os.environ, "JT_EDU_REQUIRE": ""}
            try:
                done = subprocess.run(
                    command, cwd=self.config.rootpath, env=surroundings, timeout=PATIENCE, check=False
                )
                suite = ET.parse(told).getroot().find("testsuite")  # noqa: S314  we wrote it
            except (subprocess.TimeoutExpired, OSError):
                return False
        counts = [int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")]
        return done.returncode == 0 and counts == [len(self.failed), 0, 0, 0]


def _count_apart(stats, failed):
    """What pytest's closing line counts: these tests are neither failed nor simply passed."""
    for category in ("failed", "error", "passed"):
        others = [one for one in stats.pop(category, []) if one.nodeid not in failed]
        stats.update({category: others} if others else {})
    stats["passed alone"] = [*failed.values()]
