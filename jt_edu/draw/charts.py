"""Charts: which charts show kernels under the roofs of a machine, and how a training goes?

    roofline(words, page["roofline"])    dots under the two roofs, as SVG
    training(words, page["train"])       loss, gradients, update / weight and dead units over the steps, as SVG

Both take the part of a page's document that their view draws. Nothing here measures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jt_edu.draw.chart import Axis, Chart, Dot, Line, Note, axis, figure, letters
from jt_edu.draw.plot import draw

SMALL, LARGE = 4.0, 15.0  # of a dot, in pixels
MOST_LINES = 6  # of one chart
ASIDE, ABOVE = 1.25, 2.0  # so many times less and more than its dots an axis shows: a large dot has room, and its name
BOUNDS = {"memory": ("d4", "circle"), "arithmetic": ("d0", "diamond")}


def roofline(summary: str, section: Mapping[str, Any], way: str = "fused") -> str:
    """The kernels of one way, each as a dot whose area is its time, under the roofs of the machine."""
    machine, kernels = section["machine"], [k for k in section["ways"][way] if k["has_place"]]
    x, y = roofline_axes(section)
    longest = max((k["ms"] * k["times"] for k in kernels), default=1.0)
    dots = [
        Dot(
            k["intensity"], k["speed"], dot_size(k["ms"] * k["times"], longest), *BOUNDS[k["bound"]], k["name"],
            f"{k['name']}, {k['sentence']}",
        )
        for k in kernels
    ]  # fmt: skip
    marks = [("circle", "d4", "memory-bound"), ("diamond", "d0", "compute-bound"), ("", "", "area: time")]
    lines, notes = _roofs(machine, x, y)
    return draw([Chart(x, y, lines, dots, notes, 360, marks)], summary)


def _roofs(machine: Mapping[str, Any], x: Axis, y: Axis) -> tuple[list[Line], list[Note]]:
    """The two roofs, and lesser ones below the flat part."""
    flat, slope = machine["flops"], machine["bandwidth"]
    begin, ridge = max(x.start, y.start / slope), flat / slope
    lines = [Line([(begin, begin * slope), (ridge, flat), (x.end, flat)], "roof")]
    notes = [Note(x.end, flat, f"peak {letters(flat)}flop/s", "end")]
    notes.append(Note(begin, begin * slope, f"memory {letters(slope)}B/s", along=(ridge, flat)))
    for name, speed in lesser_roofs(machine):
        lines.append(Line([(speed / slope, speed), (x.end, speed)], "faint"))
        notes.append(Note(speed / slope, speed, f"{name} {letters(speed)}flop/s", rise=-14, right=14))
    return lines, notes


def roofline_axes(section: Mapping[str, Any]) -> tuple[Axis, Axis]:
    """The same axes for all ways, so that dots can move between them."""
    machine, ways = section["machine"], [way for way in section["ways"].values() if way]
    kernels = [k for way in ways for k in way if k["has_place"]]
    ridge = machine["flops"] / machine["bandwidth"]
    xs = [ridge / 10, ridge * 4, *(v for k in kernels for v in (k["intensity"] / ASIDE, k["intensity"] * ASIDE))]
    ys = [machine["flops"] * 1.5, min(xs) * machine["bandwidth"]]
    ys += [v for k in kernels for v in (k["speed"] / ABOVE, k["speed"] * ABOVE)]
    return axis("log", xs, "operations per byte moved"), axis("log", ys, "operations per second", letters)


def lesser_roofs(machine: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Further roofs, where they are clearly below the peak; those that are next to each other are one."""
    names = {"matrix product": "product_flops_per_second", "one thread": "one_thread_flops_per_second"}
    found = [(name, machine[key]) for name, key in names.items() if 0 < machine.get(key, 0) < 0.8 * machine["flops"]]
    if len(found) == 2 and 0.6 < found[0][1] / found[1][1] < 1.7:
        return [("matrix product, one thread about", found[0][1])]
    return found


def dot_size(milliseconds: float, longest: float) -> float:
    """Half the width of a dot whose area is its time."""
    return max(SMALL, LARGE * math.sqrt(milliseconds / longest)) if longest > 0 else SMALL


def training(summary: str, section: Mapping[str, Any]) -> str:
    """Loss, then gradient norms and update / weight by module, then dead units, over the steps, or over `unit`."""
    rows = section["rows"]
    checks = section.get("checks", [])
    charts = [_losses(rows, checks)]
    right = [(check["step"], check["accuracy"]) for check in checks if check["accuracy"] is not None]
    charts += [_accuracy(rows, right)] if right else []
    for key, title in (("gradient", "gradient norm"), ("ratio", "update / weight")):
        lines = [(name, [row[key][k] for row in rows]) for k, name in chosen(section["modules"])]
        charts += [_over_steps(rows, title, lines, kind="log")] if lines else []
    dead = [(name, [row["dead"][k] for row in rows]) for k, name in chosen(section["units"])]
    charts += [_over_steps(rows, "dead units", dead, words=lambda share: f"{figure(share * 100)} %")] if dead else []
    unit = section.get("unit", "step")
    return draw([replace(chart, x=replace(chart.x, title=unit)) for chart in charts], summary)


def _losses(rows: Sequence[Mapping[str, Any]], checks: Sequence[Mapping[str, Any]]) -> Chart:
    """The loss of each step, and that of validation."""
    chart = _over_steps(rows, "loss", [("loss", [row["loss"] for row in rows])], spikes=True)
    found = [(check["step"], check["loss"]) for check in checks if not isinstance(check["loss"], str)]
    if not found:
        return chart
    values = [0.0, *(v for v in [row["loss"] for row in rows] + [y for _, y in found] if not isinstance(v, str))]
    (line,), y = chart.lines, axis("linear", values, "loss", figure)
    return replace(chart, y=y, lines=[replace(line, name="training"), Line(found, "s1", "validation")])


def _accuracy(rows: Sequence[Mapping[str, Any]], found: Sequence[tuple[int, float]]) -> Chart:
    y = axis("linear", [0.0, 1.0], "accuracy", lambda share: f"{figure(share * 100)} %")
    return Chart(
        Axis("linear", 0, max([1, *(row["step"] for row in rows)]), "step"), y, [Line(found, "s0")], height=210
    )


def chosen(names: Sequence[str]) -> list[tuple[int, str]]:
    """At most six of many, from the first to the last."""
    count = min(len(names), MOST_LINES)
    places = [round(k * (len(names) - 1) / max(1, count - 1)) for k in range(count)]
    return [(k, names[k]) for k in places]


def _over_steps(
    rows: Sequence[Mapping[str, Any]], title: str, named: Sequence[tuple[str, Sequence[Any]]], kind: str = "linear",
    spikes: bool = False, words: Callable[[float], str] = figure,
) -> Chart:  # fmt: skip
    steps = [row["step"] for row in rows]
    columns = [[None if isinstance(v, str) else v for v in values] for _, values in named]
    y = axis(kind, [v for column in columns for v in column] + ([0.0] if kind == "linear" else []), title, words)
    lines = [
        Line(list(zip(steps, column, strict=True)), f"s{k}", name if len(named) > 1 or name != title else "")
        for k, ((name, _), column) in enumerate(zip(named, columns, strict=True))
    ]
    found = [row for row in rows if row["spike"] and not isinstance(row["loss"], str)] if spikes else []
    dots = [Dot(row["step"], row["loss"], 5, "d1", "diamond", "", f"spike in step {row['step']}") for row in found]
    return Chart(Axis("linear", 0, max([1, *steps]), "step"), y, lines, dots, height=210)
