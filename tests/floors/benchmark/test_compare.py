"""Compare: each printed line is the one that a hand writes."""

import pytest

from jt_edu.base.errors import ArgumentError
from jt_edu.benchmark import Compare, Measurement, TaskSpec


def measured(*seconds, sub="[64, 64]", what="mul/sum", threads=1, label="Batched dot", env=None):
    return Measurement(1, seconds, TaskSpec("f(x, x)", "", "", label, sub, what, env, threads))


def lines(*results, **styles):
    table = Compare(results)
    for style, arguments in styles.items():
        getattr(table, style)(**arguments)
    return str(table).splitlines()


def test_a_table_has_a_line_for_each_size_and_a_column_for_each_way():
    results = [
        measured(12e-6),
        measured(15.25e-6, what="bmm"),
        measured(1.0e-6, sub="[1, 1]"),
        measured(6e-6, threads=2),
        measured(9e-6, threads=2, what="bmm"),
    ]

    assert lines(*results) == [
        "[---------- Batched dot ----------]",
        "                |  mul/sum  |   bmm",
        "1 thread: -------------------------",
        "      [64, 64]  |     12.0  |  15.2",
        "      [1, 1]    |      1.0  |",
        "2 threads: ------------------------",
        "      [64, 64]  |      6.0  |   9.0",
        "",
        "Times are in microseconds (µs).",
    ]


def test_each_label_has_a_table_of_its_own_in_a_unit_of_its_own():
    text = lines(measured(12e-6), measured(3.0, label="Slow"))

    assert [line for line in text if "Times" in line] == [
        "Times are in microseconds (µs).",
        "Times are in seconds (s).",
    ]


def test_environments_are_lines_of_their_own():
    text = lines(measured(1e-3, env="main"), measured(2e-3, env="branch"))

    assert text[3:5] == ["      (main)  [64, 64]    |      1.0", "      (branch)  [64, 64]  |      2.0"]


def test_samples_of_the_same_task_are_put_together():
    assert lines(measured(1e-3), measured(3e-3))[3].endswith("|      2.0")


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        ((123.456e-6,) * 4, "123"),  # 25 ns of 123 µs: three digits
        ((99.96e-6,) * 4, "100"),  # rounded up to another digit
        ((1.26e-6,) * 4, "1"),
        ((0.0, 1.0e-3, 1.4e-3, 9.0), "1"),  # the middle half differs by a third
    ],
)
def test_trimmed_to_the_digits_that_mean_something(seconds, shown):
    text = lines(measured(*seconds), trim_significant_figures={})

    assert text[3].split("|")[1].strip() == shown


def test_colours_compare_threads_of_the_same_size_or_the_ways_of_a_line():
    results = [measured(4e-3), measured(1e-3, threads=4), measured(1e-3, what="bmm"), measured(9e-3, sub="[1, 1]")]

    by_column = "\n".join(lines(*results, colorize={}))
    by_row = "\n".join(lines(*results, colorize={"rowwise": True}))

    assert "\033[31m4.0\033[0m" in by_column
    assert "\033[1m\033[32m1.0\033[0m" in by_column
    assert "\033[1m\033[32m9.0\033[0m" in by_column  # the only one of its size
    assert "\033[31m4.0\033[0m" in by_row


def test_colours_take_no_room():
    results = [measured(4e-3), measured(1e-3, what="bmm"), measured(12e-3, sub="[1, 1]")]
    coloured = "\n".join(lines(*results, colorize={}))
    for code in ("\033[1m", "\033[0m", "\033[31m", "\033[32m", "\033[34m"):
        coloured = coloured.replace(code, "")

    assert coloured.splitlines() == lines(*results)


def test_unsteady_measurements_are_marked_and_explained():
    text = lines(measured(1e-3, 1e-3, 2e-3, 2e-3), measured(1e-3, what="bmm"), highlight_warnings={})

    assert text[3] == "      [64, 64]  |  1.5 (! 67%)  |  1.0"
    assert text[-1].startswith("(! X%): the interquartile range is X% of the median")
    assert not any("(!" in line for line in lines(measured(1e-3, 1e-3, 2e-3, 2e-3)))


def test_print_prints_the_table(capsys):
    table = Compare([measured(1e-3)])
    table.extend_results([measured(2e-3, what="bmm")])

    table.print()

    assert capsys.readouterr().out == f"{table}\n"
    assert "bmm" in str(table)


def test_what_is_no_measurement_is_refused():
    with pytest.raises(ArgumentError, match="Compare is given Measurements; found float"):
        Compare([1.0])
