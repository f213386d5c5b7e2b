"""Thumbnails: the values of a trace, small enough for one page.

    {"7": {"shape": [2, 3], "block": [0, 6], "min": ..., "mean": ..., ...}, ...}    and the cells, as float32

Where there are many values each has fewer cells; its statistics are those of all elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jt_edu.base.trace import Value, plain

MOST = 1_000_000  # bytes of thumbnails on one page
SIZES = (32, 16, 8, 4, 2)  # rows and columns of a thumbnail: fewer where there are many


def thumbnails(values: Sequence[Value]) -> tuple[dict[str, Any], bytes, str]:
    """The value of each node by its id, the cells, and what is to be said of them."""
    latest = {value.node: value for value in values}
    sizes = (s for s in SIZES if sum(_cells(v, s) for v in latest.values()) * 4 <= MOST)
    size = next(sizes, SIZES[-1])
    found, parts, at = {}, [], 0
    for value in latest.values():
        small = shrunk(value, size)
        count = small.rows * small.columns
        found[str(value.node)] = {
            "shape": [small.rows, small.columns], "block": [at, count], "exact": small.exact, "dtype": value.dtype,
            **{name: plain(getattr(value, name)) for name in ("min", "mean", "max")},
            "nan": value.nan, "inf": value.inf, "zero": value.zero, "count": value.count,
        }  # fmt: skip
        parts.append(small.cells)
        at += count
    said = f"Of large values {size} x {size} cells are shown, evenly spaced; the statistics are of all."
    return found, b"".join(parts), "" if all(value["exact"] for value in found.values()) else said


def _cells(value: Value, size: int) -> int:
    return min(value.rows, size) * min(value.columns, size)


def shrunk(value: Value, size: int) -> Value:
    """The same with at most `size` rows and columns, evenly spaced."""
    rows, columns = min(value.rows, size), min(value.columns, size)
    if (rows, columns) == (value.rows, value.columns):
        return value
    table = np.frombuffer(value.cells, "<f4").reshape(value.rows, value.columns)
    seen = table[np.arange(rows) * value.rows // rows][:, np.arange(columns) * value.columns // columns]
    return replace(value, rows=rows, columns=columns, exact=False, cells=seen.tobytes())
