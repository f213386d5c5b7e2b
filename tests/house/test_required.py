"""CI's promise: a test that needs Chromium is never skipped there without anyone noticing."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.house.plan import ROOT

PASSES = "def test_one():\n    pass\n"
SKIPS = "import pytest\n\ndef test_one():\n    pytest.skip('no Chromium')\n"
FIXTURE_SKIPS = """
import pytest

@pytest.fixture
def chromium():
    pytest.skip('no Chromium')

def test_one(chromium):
    pass
"""
FILE_SKIPS = "import pytest\n\npytest.importorskip('no_such_library', reason='no Chromium')\n"
EXPECTED_TO_FAIL = "import pytest\n\n@pytest.mark.xfail(reason='no Chromium')\ndef test_one():\n    assert False\n"


def run(folder, text, required):
    """Run one file of tests/browser under the real conftest.py: (exit code, what pytest said)."""
    (folder / "tests" / "browser").mkdir(parents=True)
    for name in ("conftest.py", "again.py", "chromium.py", "share.py", "sharing.py"):
        shutil.copy(ROOT / "tests" / name, folder / "tests")
    (folder / "tests" / "browser" / "test_it.py").write_text(text)
    (folder / "tests" / "test_other.py").write_text("def test_other():\n    pass\n")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "tests",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir=.",
            "--import-mode=importlib",
        ],
        cwd=folder,
        env={**os.environ, "JT_EDU_REQUIRE": required},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("text", [SKIPS, FIXTURE_SKIPS, FILE_SKIPS, EXPECTED_TO_FAIL])
def test_a_required_test_that_is_skipped_fails(tmp_path, text):
    code, said = run(tmp_path, text, required="browser")

    assert code != 0
    assert "browser tests must run here" in said
    assert "no Chromium" in said


def test_a_required_mark_that_no_test_carries_fails(tmp_path):
    code, said = run(tmp_path, PASSES, required="browser,mpi")

    assert code == 1
    assert "no mpi test ran" in said
    assert "no browser test ran" not in said


@pytest.mark.parametrize(("text", "required"), [(PASSES, "browser"), (SKIPS, ""), (FILE_SKIPS, "")])
def test_what_ran_or_is_not_required_passes(tmp_path, text, required):
    code, _ = run(tmp_path, text, required)

    assert code == 0
