"""Compare: how do several measurements look beside each other?

    [------- Batched dot -------]        a table for each label
                |  mul  |  bmm           a column for each description
    1 thread: -------------------        a group of lines for each number of threads
       [64, 64] |   12  |   15           a line for each sub-label (and environment)

Measurements of the same task share a cell: their samples are put together. All times of a table have one unit, the one
that fits the fastest, so that figures can be compared by eye.

Nothing here measures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from jt_edu.base.plural import plural
from jt_edu.benchmark.measurement import Measurement, TaskSpec, checked, unit_of
from jt_edu.ops.arguments import yes_or_no

GREEN, BLUE, RED, BOLD, PLAIN = "\033[32m", "\033[34m", "\033[31m", "\033[1m", "\033[0m"
COLOURS = ((1.05, BOLD + GREEN), (1.2, BLUE), (2.0, ""), (5.0, RED), (math.inf, BOLD + RED))  # times the best, at most
DECIMALS = 1  # where digits are not trimmed
INDENT, SEPARATOR = "      ", "  |  "


class Compare:
    """A table of measurements, which can be trimmed to the digits that mean something, and coloured.

    Args:
        results: measurements; their label, sub_label, description, env and num_threads say where they stand.

    Example:
        >>> def measured(name, size, seconds):
        ...     task = jt.benchmark.TaskSpec("f(x)", label="Sum", sub_label=size, description=name)
        ...     return jt.benchmark.Measurement(1, [seconds], task)
        >>> print(Compare([measured("rows", "[8, 8]", 2e-6), measured("columns", "[8, 8]", 3e-6)]))
        [------------- Sum -------------]
                      |  rows  |  columns
        1 thread: -----------------------
              [8, 8]  |   2.0  |      3.0
        <BLANKLINE>
        Times are in microseconds (µs).
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._style = Style()
        self.extend_results(results)

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = dict.fromkeys(one.task_spec.label for one in merged)
        return "\n\n".join(_table([m for m in merged if m.task_spec.label == label], self._style) for label in labels)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements.

        Raises:
            ArgumentError: one of them is none.
        """
        self._results += checked("Compare", results)

    def trim_significant_figures(self) -> None:
        """From now on show as many digits as the samples can vouch for (`Measurement.significant_figures`)."""
        self._style.trimmed = True

    def colorize(self, rowwise: bool = False) -> None:
        """From now on colour each time by how many times the best it is.

        The best is that of the same sub-label in the same column, whatever the threads and the environment; or, with
        `rowwise`, that of the same row. Bold green to 1.05, blue to 1.2, plain to 2, red to 5, bold red above. The
        colours are those of a terminal.
        """
        self._style.coloured = "row" if yes_or_no("colorize", "rowwise", rowwise) else "column"

    def highlight_warnings(self) -> None:
        """From now on mark unsteady measurements, with their interquartile range as a share of their median."""
        self._style.warnings = True

    def print(self) -> None:
        """Print the table."""
        print(self)  # noqa: T201  it is what was asked for


@dataclass
class Style:
    """How a table is to look."""

    trimmed: bool = False
    coloured: str = ""  # "row", "column"
    warnings: bool = False


@dataclass
class Cell:
    """A time in a table: its text, and the pieces before and behind that take no room, or are not figures."""

    text: str = ""
    colour: str = ""
    warning: str = ""

    def padded(self, width: int, warned: int) -> str:
        """Right-aligned, with the room for warnings behind it; colours stand around the digits alone."""
        space = " " * (width - warned - len(self.text))
        inside = f"{self.colour}{self.text}{PLAIN}" if self.colour else self.text
        return space + inside + self.warning.ljust(warned)


Row = tuple[int, str | None, str]  # threads, environment, name


@dataclass
class Grid:
    """The measurements of one table, by line and column."""

    cells: dict[tuple[Row, str], Measurement]
    rows: list[Row] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, results: Sequence[Measurement]) -> Grid:
        """Lines by number of threads; else everything in the order in which it came."""
        cells: dict[tuple[Row, str], Measurement] = {}
        for one in results:
            key = (_row(one), one.task_spec.description or "")
            known = cells.get(key)
            cells[key] = one if known is None else Measurement(1, [*known.times, *one.times], known.task_spec)
        rows = dict.fromkeys(row for row, _ in cells)
        return cls(cells, sorted(rows, key=lambda row: row[0]), list(dict.fromkeys(column for _, column in cells)))

    def best_beside(self, row: Row, column: str, coloured: str) -> float:
        """The smallest median in the same row, or of the same name in the same column."""
        beside = {k: m for k, m in self.cells.items() if (k[0] == row if coloured == "row" else k[1] == column)}
        return min(m.median for (other, _), m in beside.items() if other[2] == row[2])


def _row(one: Measurement) -> Row:
    task: TaskSpec = one.task_spec
    return task.num_threads, task.env, one.as_row_name


def _table(results: Sequence[Measurement], style: Style) -> str:
    grid = Grid.of(results)
    sign, unit, name = unit_of(min(m.median for m in grid.cells.values()))
    cells = {key: _cell(grid, key, unit, style) for key in grid.cells}
    warned = {c: max(len(cell.warning) for (_, k), cell in cells.items() if k == c) for c in grid.columns}
    widths = {c: max(len(c), *(len(x.text) + warned[c] for (_, k), x in cells.items() if k == c)) for c in grid.columns}
    names = {row: INDENT + (f"({row[1]})  " if row[1] else "") + row[2] for row in grid.rows}
    left = max(len(text) for text in [*names.values(), *(f"{plural(row[0], 'thread')}:" for row in grid.rows)])
    width = left + sum(len(SEPARATOR) + widths[c] for c in grid.columns)
    label = results[0].task_spec.label
    lines = [
        f"[{f' {label} '.center(width - 2, '-') if label else '-' * (width - 2)}]",
        _line(" " * left, [c.rjust(widths[c]) for c in grid.columns]),
    ]
    for row in grid.rows:
        head = f"{plural(row[0], 'thread')}: "
        if head not in {line[: len(head)] for line in lines}:
            lines.append(head.ljust(width, "-"))
        shown = [(cells.get((row, c), Cell()), c) for c in grid.columns]
        lines.append(_line(names[row].ljust(left), [cell.padded(widths[c], warned[c]) for cell, c in shown]))
    lines += ["", f"Times are in {name} ({sign})."]
    if any(warned.values()):
        lines.append("(! X%): the interquartile range is X% of the median; other work may have disturbed it.")
    return "\n".join(lines)


def _line(name: str, cells: Sequence[str]) -> str:
    return SEPARATOR.join([name, *cells]).rstrip()


def _cell(grid: Grid, key: tuple[Row, str], unit: float, style: Style) -> Cell:
    one = grid.cells[key]
    value = one.median / unit
    text = _trimmed(value, one.significant_figures) if style.trimmed else f"{value:.{DECIMALS}f}"
    cell = Cell(text)
    if style.coloured and (best := grid.best_beside(*key, style.coloured)) > 0:
        cell.colour = next(colour for most, colour in COLOURS if one.median <= most * best)
    if style.warnings and one.has_warnings:
        cell.warning = f" (! {one.iqr / one.median:.0%})"
    return cell


def _trimmed(value: float, figures: int) -> str:
    """A number with so many digits that mean something; zeros behind them only hold the place."""
    if value <= 0:
        return "0"
    place = figures - 1 - math.floor(math.log10(value))
    rounded = round(value, place)
    if rounded >= 10 ** (figures - place):  # 9.96 with two digits is 10, not 10.0
        place -= 1
    return f"{rounded:.{max(0, place)}f}"
