"""Every exercise of a folder of its own: its check is tested as what it judges is."""

import ast

import pytest

from jt_exercises.author.masters import GAP, Master, MasterError, expanded, masters
from jt_exercises.author.validate import findings
from jt_exercises.exercise import find

MASTERS = masters()


@pytest.mark.parametrize("number", MASTERS)
def test_a_solution_is_right_a_stub_is_your_turn_and_each_mistake_is_told(number):
    assert list(findings(MASTERS[number])) == []


def test_a_learner_gets_no_line_of_a_solution():
    for number, master in MASTERS.items():
        source = expanded(f"# %% exercise {number}\n")
        ast.parse(source)
        gap = GAP.search(master.text)[3]
        assert "YourTurn(" in source or "# Your turn: " in source
        assert not any(line.strip() in source for line in gap.splitlines() if len(line.strip()) > 8), number


def test_markers_that_do_not_match_are_told(tmp_path):
    (tmp_path / "solution.py").write_text("# BEGIN SOLUTION\nx = 1\n")

    with pytest.raises(MasterError, match="each BEGIN SOLUTION needs an END SOLUTION"):
        _ = Master("00.1", tmp_path).stub


def test_hints_and_reasons_are_told_in_lines_of_the_page_and_not_of_the_source():
    told = [text for number in MASTERS for text in (*find(number).hints, find(number).why)]

    assert [text for text in told if "\n" in text or "  " in text] == []
