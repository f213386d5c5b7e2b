"""Cases: clouds of points, what NumPy finds in them, and a learner's body that runs on them without doing harm.

    cloud(7, 30, 2)                     30 points of the unit square, always the same ones
    nearest(queries, points, 3)         the indices that NumPy finds: it measures all, and sorts
    grid(points, 8)                     which points are in which of 8 by 8 cells
    ran(body, arrays, (5, 3))           what a body of jt.code makes of arrays: first as plain Python, which counts and
                                        ends; then with `debug`; then compiled

Nothing here knows which answer is right.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import jt_edu as jt
from jt_edu.base.errors import JtError
from jt_edu.ops.code_text import Array, Body, header_names, translated
from jt_exercises.kernels.tried import Seen, tried
from jt_exercises.verdict import NotDoneError, RefusedError, short

MOST = 200_000  # lines of plain Python
HEAD = "import math\nimport numpy as np\nfrom numba import prange\n\n\n"
GATHER = """
for i in prange(out_shape0):
    for r in range(out_shape1):
        j = @in1(i, r)
        for a in range(out_shape2):
            @out(i, r, a) = @in0(j, a)
"""
LIST = """
for i in prange(out_shape0):
    best = np.full(out_shape1, np.inf)
    out[i] = -1
    for j in range(in1_shape0):
        far = 0.0
        for a in range(in1_shape1):
            far += (@in0(i, a) - @in1(j, a)) ** 2
        if far < best[-1]:
            insert(best, out[i], far, j)
"""
LOOK = """
def look(best, index, query, points, order, begins, cell):
    for place in range(begins[cell], begins[cell + 1]):
        j = order[place]
        far = 0.0
        for a in range(len(query)):
            far += (query[a] - points[j, a]) ** 2
        if far < best[-1]:
            insert(best, index, far, j)
"""
INSERT = """
def insert(best, index, far, j):
    place = len(best) - 1
    while place > 0 and best[place - 1] > far:
        best[place], index[place] = best[place - 1], index[place - 1]
        place -= 1
    best[place], index[place] = far, j
"""


def cloud(seed: int, many: int, axes: int) -> np.ndarray:
    """Points of the unit square, cube and so on."""
    return np.random.default_rng(seed).random((many, axes)).astype(np.float32)


def squared(queries: Any, points: Any) -> np.ndarray:
    """Squared distances, a row for each query."""
    queries, points = (np.asarray(v, np.float64) for v in (queries, points))
    return np.asarray(((queries[:, None] - points) ** 2).sum(2))


def nearest(queries: Any, points: Any, k: int) -> np.ndarray:
    """The indices of the k nearest points, a row for each query; of two at one distance the first comes first."""
    return np.argsort(squared(queries, points), axis=1, kind="stable")[:, :k]


def grid(points: Any, side: int) -> tuple[np.ndarray, np.ndarray]:
    """The points of the unit square by cells: their numbers in the order of the cells, and where each cell begins.

    Example:
        >>> order, begins = grid(np.array([[0.1, 0.9], [0.1, 0.1], [0.2, 0.8]]), 2)
        >>> order.tolist(), begins.tolist()
        ([1, 0, 2], [0, 1, 3, 3, 3])
    """
    row, column = (np.asarray(points) * side).astype(int).clip(0, side - 1).T
    cell = row * side + column
    order = np.argsort(cell, kind="stable")
    begins = np.searchsorted(cell[order], np.arange(side * side + 1))
    return order.astype(np.int32), begins.astype(np.int32)


def ran(
    body: Any, arrays: Sequence[np.ndarray], shape: Sequence[int], dtype: str = "int32", header: str = "",
    data: Mapping[str, float] | None = None, names: Mapping[str, str] | None = None,
) -> Iterator[tuple[np.ndarray, Seen]]:  # fmt: skip
    """What a body makes of arrays, and how often it read each of them: as plain Python, and once more when compiled.

    Args:
        body: the learner's.
        arrays: in0, in1, ...
        shape: of the output.
        dtype: of the output.
        header: functions for the body.
        data: numbers for the body.
        names: what the body calls an array that is in2 here, such as {"in2": "dout"}.

    Raises:
        NotDoneError: it writes nothing. RefusedError: it stops, does not end, or is what `debug` refuses.
    """
    if body is None:
        raise NotDoneError
    if not isinstance(body, str):
        raise RefusedError(f"the answer is the text of a body, between three quotes, not {short(body)}")
    named = names or {}
    for here, theirs in named.items():
        body = re.sub(rf"\b{theirs}\b", here, body)
    try:
        text = HEAD + textwrap.dedent(header) + "\n\n" + text_of_body(body, arrays, shape, header, data, "watched").text
        out = np.full(shape, -7, dtype)
        numbers = np.array(list((data or {}).values()), np.float64)
        seen = tried(text.replace("def body(", "def kernel(", 1), 0, 1, [*arrays, out, numbers, 0], MOST)
        if not seen.writes["out"]:
            raise NotDoneError
        inputs = [jt.array(a) for a in arrays]
        made = jt.code(tuple(shape), dtype, inputs, body, cpu_header=header, data=data, debug=True)
        yield out, seen  # a wrong answer is never compiled
        yield np.asarray(made.numpy()), seen
    except JtError as error:
        raise RefusedError(_renamed(str(error).partition("\n")[0], named)) from error
    except RefusedError as refused:
        raise RefusedError(_renamed(str(refused), named)) from refused


def _renamed(words: str, names: Mapping[str, str]) -> str:
    """A sentence with the learner's names."""
    for here, theirs in names.items():
        words = re.sub(rf"\b{here}\b", theirs, words)
    return words


def text_of_body(
    body: str, arrays: Sequence[np.ndarray], shape: Sequence[int], header: str, data: Mapping[str, float] | None,
    mode: str,
) -> Body:  # fmt: skip
    """A body as jt.code translates it."""
    named = [Array(f"in{number}", a.ndim, "in") for number, a in enumerate(arrays)]
    return translated(body, (*named, Array("out", len(shape), "out")), tuple(data or ()), header_names(header), mode)
