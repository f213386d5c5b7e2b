"""Chart: PyTorch's time / jt_edu's time, one dot for each row, with quartiles, a line at 1, and each goal.

Rows of one group that are columns of a table share a line, and have a mark for each column: the further to the right in
the table, the larger.

The picture is light, and turns dark where its reader asks for dark pages (prefers-color-scheme).
"""

import io
from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tests.bench.rows import Result

INK, PAPER, FAINT = "#1d2026", "#ffffff", "#c9ccd1"
DARK = {INK: "#e9eaec", PAPER: "#15171b", FAINT: "#3c4149"}
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "jt_edu", "font.family": "sans-serif", "font.size": 10}
MET, MISSED, PLAIN = "#009e73", "#d55e00", "#56b4e9"  # told apart by those who see red and green alike
SIZES = (3, 4.5, 6)  # of the marks for small, middle and large
MARKS = {MET: ("o", "goal met"), MISSED: ("s", "goal missed"), PLAIN: ("D", "no goal")}


def draw(results: Sequence[Result]) -> str:
    """The picture as SVG text."""
    lines = _lines([r for r in results if r.figures.ratio is not None and not r.failed])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 1.3 + 0.27 * len(lines)), facecolor=PAPER, layout="constrained")
        axes = figure.add_subplot(facecolor=PAPER)
        for height, shown in enumerate(reversed(lines.values())):
            for number, result in enumerate(shown):
                _row(axes, height, result, SIZES[number] if len(shown) > 1 else SIZES[-1])
            _told(axes, height, shown)
        columns = list(dict.fromkeys(r.row.column for shown in lines.values() if len(shown) > 1 for r in shown))
        _dress(axes, list(reversed(lines)), columns[: len(SIZES)])
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return _with_dark(text.getvalue())


def _lines(results: Sequence[Result]) -> dict[str, list[Result]]:
    """What stands on each line of the picture, by its name."""
    lines: dict[str, list[Result]] = {}
    for r in results:
        lines.setdefault(r.row.group if r.row.column else r.row.name, []).append(r)
    return lines


def _row(axes, height, result, size):
    ratio, colour = result.figures.ratio, _colour(result)
    for goal in result.row.goals:
        if goal.kind == "ratio":
            axes.plot([goal.value] * 2, [height - 0.4, height + 0.4], color=INK, linewidth=1.6)
    if result.figures.spread:
        axes.plot(result.figures.spread, [height] * 2, color=colour, linewidth=5, alpha=0.4, solid_capstyle="butt")
    axes.plot([ratio], [height], MARKS[colour][0], color=colour, markersize=size)


def _told(axes, height, shown):
    text = " ".join(f"{r.figures.ratio:.2f}" for r in shown)
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    axes.annotate(text, (1, height), (4, 0), color=INK, **place)


def _colour(result):
    """The dot judges the ratio alone: a row that misses its share of the limit is told in the table."""
    bars = [g for g in result.row.goals if g.kind == "ratio"]
    if not bars:
        return PLAIN
    return MET if all(g.met(result.figures) for g in bars) else MISSED


def _dress(axes, names, columns):
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axes.axvline(1, color=INK, linewidth=0.8, zorder=0)
    axes.grid(visible=True, axis="x", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.7, len(names) - 0.3)
    axes.set_xlabel("PyTorch's CPU time / jt_edu's: to the right of 1, jt_edu is faster", color=INK)
    axes.tick_params(colors=INK, length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    legend = [Line2D([], [], color=c, marker=m, linestyle="", label=text) for c, (m, text) in MARKS.items()]
    legend += [Line2D([], [], color=INK, marker="|", linestyle="", markersize=10, markeredgewidth=1.6, label="goal")]
    legend += [Line2D([], [], color=FAINT, linewidth=5, label="quartiles")]
    if columns:
        words = zip(SIZES, columns, strict=False)
        legend += [Line2D([], [], color=INK, marker="o", linestyle="", markersize=s, label=w) for s, w in words]
    place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1), "ncols": 4 if columns else 3}
    axes.legend(handles=legend, **place, frameon=False, labelcolor=INK)


def _with_dark(svg):
    pairs = [(kind, *colours) for kind in ("fill", "stroke") for colours in DARK.items()]
    rules = "".join(f'[style*="{kind}: {light}"]{{{kind}:{dark} !important}}' for kind, light, dark in pairs)
    style = f"<style>@media(prefers-color-scheme:dark){{{rules}}}</style>"
    head, mark, rest = svg.partition("<defs>")
    return head + style + mark + rest
