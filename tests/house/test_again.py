"""A second try, alone: for what waits for others, after nothing else failed, and never in silence."""

import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.again import MOST, PLACES, SecondTry, waits_for_others
from tests.house.plan import ROOT

FLAKY = """
import pathlib, pytest

def test_one():
    mark = pathlib.Path("was here")
    if not mark.exists():
        mark.touch()
        pytest.fail("nobody came")
    {then}
"""
CRASHES = FLAKY.replace('pytest.fail("nobody came")', "import os; os._exit(3)")
FAILS = "def test_one():\n    assert False, 'never'\n"
PASSES = "def test_{}():\n    pass\n"
INI = "[pytest]\naddopts = --import-mode=importlib\nmarkers =\n    processes\n    browser\n"


def run(folder, place, text, required="", workers=0):
    """A test at that place beside another, under the real conftest.py: (exit code, what pytest said)."""
    (folder / "tests" / place).parent.mkdir(parents=True, exist_ok=True)
    for name in ("conftest.py", "again.py", "chromium.py", "share.py", "sharing.py"):
        shutil.copy(ROOT / "tests" / name, folder / "tests")
    (folder / "tests" / place).write_text(text)
    (folder / "tests" / "test_other.py").write_text(PASSES.format("other"))
    (folder / "pytest.ini").write_text(INI)
    options = f"-n {workers} --dist loadscope -p no:cacheprovider --again"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests", *options.split()], cwd=folder,
        env={**os.environ, "JT_EDU_REQUIRE": required, "JT_EDU_ALSO_FAILED": ""},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_a_test_that_passes_alone_fails_no_run_and_is_told_of(tmp_path):
    code, said = run(tmp_path, "ranks/test_it.py", FLAKY.format(then="pass"), workers=1)

    assert code == 0, said
    assert "1 failed beside others; once more, alone" in said
    assert "nobody came" in said
    assert "FAILED beside others, passed alone: tests/ranks/test_it.py::test_one" in said
    assert "1 passed, 1 passed alone in" in said.splitlines()[-1]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("ranks/test_it.py", FAILS),
        ("ranks/test_it.py", FLAKY.format(then="pytest.skip('not today')")),
        ("ranks/test_it.py", FLAKY.format(then="import os; os._exit(0)")),
        ("parity/test_it.py", FLAKY.format(then="pass")),
    ],
    ids=["fails twice", "is skipped", "ends early", "waits for nobody"],
)
def test_a_run_fails_whose_test(tmp_path, place, text):
    code, said = run(tmp_path, place, text)

    assert code == 1, said
    assert "= 1 failed, 1 passed in" in said.splitlines()[-1]
    assert "passed alone" not in said


def test_a_run_fails_whose_worker_crashed(tmp_path):
    """xdist says that a test failed, and lets another worker run it."""
    code, said = run(tmp_path, "ranks/test_it.py", CRASHES.format(then="pass"), workers=2)

    assert code == 1, said
    assert "1 failed" in said.splitlines()[-1]
    assert "passed alone" not in said


def test_no_second_try_mends_a_required_mark_that_no_test_carried(tmp_path):
    code, said = run(tmp_path, "ranks/test_it.py", FLAKY.format(then="pass"), required="browser")

    assert code == 1, said
    assert "no browser test ran" in said


# ------------------------------------------------------------------------------------------------- who is asked again


@pytest.fixture(autouse=True)
def nothing_else_failed(monkeypatch):
    """What failed in the run that these tests are a part of is none of theirs."""
    monkeypatch.delenv("JT_EDU_ALSO_FAILED", raising=False)


def failure(name, *, again=True):
    return SimpleNamespace(nodeid=name, failed=True, user_properties=[("again", name)] * again)


def asked(monkeypatch, *reports, collected=True, code=pytest.ExitCode.TESTS_FAILED):
    """The tests that run again after these reports."""
    terminal = SimpleNamespace(stats={}, flush=int, write_line=str, section=lambda *words, **how: None)
    config = SimpleNamespace(pluginmanager=SimpleNamespace(get_plugin=lambda name: terminal))
    again, seen = SecondTry(config), []
    monkeypatch.setattr(again, "_all_pass", lambda: seen.extend(again.failed))
    again.pytest_collectreport(SimpleNamespace(failed=not collected))
    for report in reports:
        again.pytest_runtest_logreport(report)
    again.pytest_sessionfinish(SimpleNamespace(exitstatus=code))
    return seen


def test_all_that_failed_run_again_once_each(monkeypatch):
    assert asked(monkeypatch, failure("a"), failure("b"), failure("b")) == ["a", "b"]


def test_nothing_runs_again_where_something_else_is_wrong(monkeypatch):
    flaky = failure("a")

    assert asked(monkeypatch, flaky, failure("b", again=False)) == []
    assert asked(monkeypatch, flaky, collected=False) == []
    assert asked(monkeypatch, flaky, code=pytest.ExitCode.INTERRUPTED) == []
    assert asked(monkeypatch) == []
    monkeypatch.setenv("JT_EDU_ALSO_FAILED", "ruff check")
    assert asked(monkeypatch, flaky) == []


def test_nothing_runs_again_where_more_failed_than_chance_explains(monkeypatch):
    many = [failure(str(k)) for k in range(MOST + 1)]

    assert len(asked(monkeypatch, *many[:-1])) == MOST
    assert asked(monkeypatch, *many) == []


def test_places_that_wait_for_others_exist_and_are_few():
    assert all((ROOT / "tests" / place).exists() for place in PLACES)
    assert waits_for_others("tests/data/test_workers.py::test_it[1]")
    assert not any(map(waits_for_others, ("tests/data/test_loader.py::test_it", "tests/parity/test_numba.py::test_it")))
