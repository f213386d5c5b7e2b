"""Goldens of charts: ranges, ticks, places and words, which Python and JavaScript have to agree on.

    python widgets/frontend/golden/make_charts.py      writes charts/axes.json again

`node --test` compares chart.js with it, and tests/widgets/test_roofline.py jt_edu/draw/chart.py.
"""
# ruff: noqa: INP001  a script beside the files that it writes

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jt_edu.draw.chart import axis, captions, figure, letters, scale, ticks

HERE = Path(__file__).resolve().parent
VALUES: tuple[tuple[str, list[float | None]], ...] = (
    ("linear", [0.0, 1.0]), ("linear", [0.3, 9.1]), ("linear", [-3.2, 17.0, None]), ("linear", [2.302, 0.0007]),
    ("linear", [1e-7, 3e-7]), ("linear", [5.0]), ("linear", [0.0]), ("linear", []), ("linear", [1e9, 3.7e9]),
    ("linear", [0.0, 199.0]), ("log", [0.25, 31.0]), ("log", [1e9, 2.5e11]), ("log", [3.0]), ("log", [0.0, -1.0]),
    ("log", [1e-12, 1e12]), ("log", [10.0, 1000.0]), ("log", [0.9999, 1.0001]),
)  # fmt: skip
NUMBERS = (0.0, 1.0, -2.5, 0.1234567, 1234.5678, 12345.678, 0.000123456, 1.5e-7, 2.5e10, 999_900.0, 123456789.0)
MARKS = ((100.0, 50.0, 6.0, "first"), (104.0, 52.0, 4.0, "second"), (20.0, 50.0, 5.0, "a long caption here"),
         (300.0, 95.0, 5.0, "edge"))  # fmt: skip


def cases() -> Iterator[dict[str, Any]]:
    """One dict for each axis: what it was made of, and what became of it."""
    for kind, values in VALUES:
        made = axis(kind, values)
        place = scale(made, 40.0, 640.0)
        spots = [place(v) for v in values if v is not None and (kind == "linear" or v > 0)]
        yield {
            "kind": kind, "values": values, "range": [made.start, made.end],
            "ticks": {str(most): ticks(made, most) for most in (2, 5, 9)},
            "places": [spot if math.isfinite(spot) else None for spot in spots],
        }  # fmt: skip


def golden() -> dict[str, Any]:
    """Everything, as plain data."""
    return {
        "axes": list(cases()),
        "words": [[n, figure(n), letters(n)] for n in NUMBERS],
        "captions": {"marks": MARKS, "box": [10, 10, 320, 100], "places": captions(MARKS, (10, 10, 320, 100))},
    }


if __name__ == "__main__":
    (HERE / "charts" / "axes.json").write_text(json.dumps(golden(), indent=1) + "\n", encoding="utf-8")
