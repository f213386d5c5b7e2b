"""The table, the page, the picture and the closer look at machine code say what was found."""

import dataclasses
import math
import xml.etree.ElementTree as ET

import pytest

from tests.bench import look
from tests.bench.report import (
    HEAD,
    Words,
    by_size,
    cause_lines,
    cells,
    found,
    machines,
    markdown,
    page,
    section,
    summary,
    tables,
)
from tests.bench.rows import Cause, Figures, Goal, Result, Row, Run


def results():
    row = Row("softmax", (Goal("ratio", 1.5), Goal("limit", 0.85)))
    good = Result(row, Figures(1.25, 2.5, 2.0, (1.9, 2.1), 0.9, 1e-7))
    bad = Result(dataclasses.replace(row, name="gelu"), Figures(0.5, 0.25, 0.5, (0.4, 0.6), 0.9, 0.0))
    broken = Result(dataclasses.replace(row, name="sum | all"), failed="ShapeError: no")
    return [good, bad, broken]


def test_a_line_of_the_table_says_what_was_found_and_what_was_wanted():
    assert cells(results()[0]) == [
        "softmax", "1.25 ms", "2.50 ms", "2.00", "1.90 … 2.10", "90%", "ratio ≥ 1.5, limit ≥ 85%", "met", "1e-07",
    ]  # fmt: skip
    assert cells(results()[1])[1:4] == ["500.0 µs", "250.0 µs", "0.50"]


def test_every_line_of_the_page_has_the_same_columns():
    lines = markdown(results()).splitlines()

    assert {line.replace("\\|", "").count("|") for line in lines} == {10}
    assert "FAILED" in lines[-1]


def test_the_summary_counts_and_names_what_was_missed():
    assert summary(results()) == "1 of 2 rows with a goal met it; missed: 1 (gelu); failed: sum | all."


def sized():
    """An operator at three sizes, one of them too slow, and another that failed at its only one."""
    row = Row("exp, small", (Goal("ratio", 0.4),), group="exp", column="small")
    found = [
        Result(
            dataclasses.replace(row, name=f"exp, {column}", column=column), Figures(1.0, ratio, ratio, (ratio, ratio))
        )
        for column, ratio in (("small", 0.25), ("middle", 0.5), ("large", 2.0))
    ]
    return [*found, Result(dataclasses.replace(row, name="sort, small", group="sort"), failed="ShapeError: no")]


def test_sizes_of_an_operator_share_a_line_and_what_was_missed_is_bold():
    heads, _, exp, sort = (line.split(" | ") for line in by_size(sized()).splitlines())

    assert heads[1:4] == ["small: jt_edu", "PyTorch", "ratio"]
    assert exp[0] == "| exp"
    assert [exp[3], exp[6], exp[9]] == ["**0.25**", "0.50", "2.00 |"]
    assert sort[3] == "FAILED"
    assert len(heads) == len(exp) == len(sort)


def test_rows_without_sizes_have_a_table_of_their_own():
    wide, plain = tables([*sized(), *results()]).split("\n\n")

    assert "exp" in wide
    assert "softmax" not in wide
    assert "softmax" in plain
    assert "exp" not in plain


def written(suite, loads=(0.1, 1.1), title="What it is.", processor="one of theirs", box=math.inf, **words):
    facts = {"processor": processor, "cores": "2"}
    return section(suite, Words(title, "* a note", **words), Run(15, box=box, results=results()), facts, loads)


@pytest.mark.parametrize(
    ("loads", "words"),
    [([0.1, 1.1], "Load when it began 0.1"), ([3.0, 4.0], "busy"), ([None, None], "does not tell")],
)
def test_the_page_says_whether_the_machine_was_quiet(loads, words):
    text = written("core", loads)

    assert words in text.splitlines()[-2]
    assert "* cores: 2" in text
    assert "* a note" in text


def test_each_suite_replaces_its_own_part_of_the_page_only():
    both = page(page("", "core", written("core")), "ops", written("ops"))

    again = page(both, "core", written("core", title="Something else."))

    assert both.count("What it is.") == 2
    assert again == both.replace("What it is.", "Something else.", 1)
    assert page(both, "ops", written("ops")) == both
    assert both.startswith("# Performance\n")


def test_a_part_names_its_machine_at_once():
    assert "\nWhat it is. Measured on one of theirs.\n" in written("core")


def test_the_top_of_the_page_says_when_its_parts_come_from_different_machines():
    one = page(page("", "core", written("core")), "ops", written("ops"))
    two = page(one, "ops", written("ops", processor="another"))

    assert one.startswith(HEAD + "\n<!-- machines -->\nAll parts were measured on the same kind of processor:\n")
    assert "* one of theirs: `core`, `ops`\n" in one
    assert "**Not all parts were measured on the same machine.**" in two
    assert "* one of theirs: `core`\n* another: `ops`\n" in two
    assert two.count("<!-- machines -->") == 1
    assert page(two, "ops", written("ops")) == one


def test_the_top_of_the_page_names_the_parts_that_are_provisional():
    text = written("core") + written("ops", loads=(3.0, 4.0))

    assert "\nProvisional, because the machine had other things to do: `ops`.\n" in machines(text)
    assert "Provisional" not in machines(written("core"))


def test_a_page_says_when_slow_rows_got_fewer_rounds():
    assert "as many rounds as fit into 25 seconds" in written("core", box=25)
    assert "as many rounds" not in written("core")


def test_a_part_without_a_picture_shows_none():
    assert "performance_core.svg" in written("core")
    assert "performance_core.svg" not in written("core", picture=False)


def test_a_share_says_of_which_limit():
    row = Row("matmul 256", (Goal("limit", 0.8),))

    assert cells(Result(row, Figures(1.0, 2.0, 2.0, (2.0, 2.0), 0.84, limit_of="peak")))[5] == "84% of peak"


def test_names_with_commas_are_told_apart_in_the_summary():
    slow = [Result(Row(name, (Goal("ratio", 1.0),)), Figures(ratio=0.5)) for name in ("sum, all", "max, all")]

    assert "missed: 2 (sum, all; max, all)" in summary(slow)


def test_words_by_hand_between_the_parts_stay():
    before = page("", "core", written("core")) + "\nBy hand.\n"

    after = page(page(before, "ops", written("ops")), "core", written("core"))

    assert after.count("By hand.") == 1
    assert after.index("end of core") < after.index("By hand.") < after.index("<!-- ops -->")


def test_the_chart_is_small_and_the_same_each_time():
    chart = pytest.importorskip("tests.bench.chart", reason="the picture needs matplotlib")

    text = chart.draw(results())

    assert ET.fromstring(text).tag.endswith("svg")  # noqa: S314  our own text
    assert len(text) < 100_000
    assert "prefers-color-scheme:dark" in text
    assert text == chart.draw(results())


def test_sizes_of_an_operator_share_a_line_of_the_chart():
    chart = pytest.importorskip("tests.bench.chart", reason="the picture needs matplotlib")

    text = chart.draw([*sized(), *results()])

    assert text.count(">exp<") == 1
    assert "0.25 0.50 2.00" in text
    assert ">middle<" in text
    assert ">middle<" not in chart.draw(results())


# ---------------------------------------------------------------------------------------------- goals that were missed


def missed():
    slow = Result(
        Row("softmax", (Goal("ratio", 1.5), Goal("limit", 0.85))), Figures(1.0, 1.4, 1.4, limit=0.9, limit_of="copy"),
        cause=Cause("loops 99%, Python 1%", "memory: 1.00 ms, ratio 1.40"),
    )  # fmt: skip
    return slow, Result(Row("met", (Goal("ratio", 1.5),)), Figures(ratio=2.0))


def test_the_page_has_a_table_of_goals_that_were_missed_below_the_others():
    run = Run(15)
    run.results += missed()

    text = section("core", Words("What it is."), run, {}, (0.1, 1.1))

    assert "### Goals that were missed, and where the time goes: core\n" in text
    assert "| softmax | 1.40 | ratio ≥ 1.5 | loops 99%, Python 1% | memory: 1.00 ms, ratio 1.40 |\n" in text
    assert text.index("1 of 2 rows") < text.index("### Goals") < text.index("### How to read it")
    assert "| met | 2.00" not in text


def test_a_page_without_missed_goals_has_no_such_table():
    run = Run(15)
    run.results += missed()[1:]

    assert "Goals that were missed" not in section("core", Words("What it is."), run, {}, (0.1, 1.1))


def test_what_was_found_is_told_for_each_goal_that_was_missed():
    row = Row("a row", (Goal("ratio", 1.5), Goal("limit", 0.85), Goal("ms", 2), Goal("over", 1.1)))
    figures = Figures(3.0, 1.0, 1 / 3, limit=0.5, limit_of="peak", over=1.25)

    assert found(Result(row, figures)) == "0.33, 50% of peak, 3.00 ms, 1.25 x the best"


def test_a_terminal_shows_the_cause_below_the_row():
    slow, fast = missed()

    assert cause_lines(slow) == [
        "    where the time goes: loops 99%, Python 1%", "    limit: memory: 1.00 ms, ratio 1.40",
    ]  # fmt: skip
    assert cause_lines(fast) == []


# ----------------------------------------------------------------------------------------------------- a closer look


LOOPS = """
.LBB0_1:
	movq	%rax, %rbx
.LBB0_2:
	vmovups	(%rax), %zmm0
	vmulps	(%rcx), %zmm0, %zmm0
	vfmadd213ps	%zmm1, %zmm2, %zmm0
	vmovups	%zmm0, (%rdx)
	jne	.LBB0_2
	jne	.LBB0_1
.LBB0_3:
	vaddss	%xmm0, %xmm1, %xmm0
	callq	expf
	jne	.LBB0_3
.LBB0_4:
	addq	$1, %rax
	jne	.LBB0_4
"""


def test_inner_loops_are_those_that_hold_no_other():
    bodies = list(look.inner_loops(LOOPS.splitlines()))

    assert [len(body) for body in bodies] == [5, 3, 2]


def test_packed_and_single_arithmetic_is_told_apart():
    told = [look.describe(body).strip() for body in look.inner_loops(LOOPS.splitlines())]

    assert told == [
        "5 lines: 2 packed (zmm), 0 single",
        "3 lines: 0 packed (none), 1 single, calls expf",
        "",
    ]
