"""The bugs of tests/seeded_bugs.py can be planted: the list does not rot."""

import ast
import subprocess

import pytest

from tests.house.plan import ROOT
from tests.seeded_bugs import BUGS, failing


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.room)
def test_a_bug_that_can_be_planted_has_its_text_once_and_is_no_slip_of_grammar(bug):
    text = (ROOT / bug.file).read_text(encoding="utf-8")

    assert text.count(bug.text) == 1
    if bug.file.startswith("jt_edu"):
        ast.parse(text.replace(bug.text, bug.wrong))
    assert [path for path in bug.first.split() if not (ROOT / "tests" / path).exists()] == []


def test_a_run_that_does_not_end_is_told_and_stopped(tmp_path, monkeypatch):
    def endless(command, **options):
        raise subprocess.TimeoutExpired(command, options["timeout"])

    monkeypatch.setattr(subprocess, "run", endless)

    with pytest.raises(SystemExit, match="pytest tests ran for 2 hours and did not end"):
        failing(tmp_path, 0, "tests")


def test_each_bug_has_a_room_of_its_own():
    assert len({bug.room for bug in BUGS}) == len(BUGS) == 24
