"""The suite `tuning`: what it tells of the choices that `tuning.py` judged."""

import pytest

from tests.bench import choices, report, tuning
from tests.bench.rows import Result, Run, fill

RATIOS = (1.0, 1.05, 1.2)


@pytest.fixture
def run(monkeypatch):
    """Three shapes, judged by hand; the third choice is not near."""
    known = dict(zip(tuning.SHAPES, RATIOS, strict=False))

    def verdict(sizes, seconds):
        return tuning.Verdict(sizes, 4, "panels", "panels", known[sizes], "direct", 2.0)

    monkeypatch.setattr(tuning, "verdict", verdict)
    done = Run(15)
    for row in (*choices.ROWS[:3], *choices.ROWS[-2:]):
        fill(row, done)
    return done


def test_a_choice_within_ten_percent_is_near(run):
    assert [bool(r.missed) for r in run.results] == [False, False, True, True, False]
    assert [r.figures.over for r in run.results[:3]] == list(RATIOS)


def test_all_shapes_together_are_told(run):
    assert run.results[3].figures.how == "2 of 3 within 10 %, mean 1.080, worst 1.20"
    assert run.results[4].figures.how == "0 of 3 within 10 %, mean 2.000, worst 2.00"


def test_the_page_has_a_line_for_each_shape_and_what_is_not_near_is_bold(run):
    told, lines = choices.tables(run.results).split("\n\n")

    assert told.startswith("* **the tuner**: 2 of 3 within 10 %")
    assert [line.split(" | ")[-3] for line in lines.splitlines()[2:]] == ["1.00", "1.05", "**1.20**"]
    assert lines.splitlines()[2].endswith("| 4 | panels | panels | 1.00 | direct | 2.00 |")


def test_a_line_in_the_terminal_says_who_was_chosen(run):
    assert report.cells(run.results[2])[0].endswith(": tuner panels 1.20, estimate direct 2.00, best panels")
    assert report.cells(run.results[2])[6:8] == ["≤ 1.1 x the best", "missed"]


def test_a_shape_that_failed_is_told():
    result = Result(choices.ROWS[0], failed="OSError: no")

    assert "| FAILED | OSError: no |" in choices.tables([result])


def test_all_shapes_have_a_row():
    assert len(choices.ROWS) == len(tuning.SHAPES) + 2 >= 32
