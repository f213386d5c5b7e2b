"""The table, the page, the picture and the closer look at machine code say what was found."""

import dataclasses
import xml.etree.ElementTree as ET

import pytest

from tests.bench import look
from tests.bench.report import cells, markdown, page, summary
from tests.bench.rows import Figures, Goal, Result, Row


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


@pytest.mark.parametrize(
    ("loads", "words"),
    [([0.1, 1.1], "Load when it began 0.1"), ([3.0, 4.0], "busy"), ([None, None], "does not tell")],
)
def test_the_page_says_whether_the_machine_was_quiet(loads, words):
    text = page("core", results(), 15, {"cores": "2"}, loads)

    assert words in text.splitlines()[-1]
    assert "* cores: 2" in text


def test_the_chart_is_small_and_the_same_each_time():
    chart = pytest.importorskip("tests.bench.chart", reason="the picture needs matplotlib")

    text = chart.draw(results())

    assert ET.fromstring(text).tag.endswith("svg")  # noqa: S314  our own text
    assert len(text) < 100_000
    assert "prefers-color-scheme:dark" in text
    assert text == chart.draw(results())


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
