"""Probes: a learner's text of a kernel runs in the learner's process, so that nothing it does can harm.

    as_python(text, task)      as plain Python, which counts reads and ends after so many lines; then `debug`
    compiled(text, task)       as an operator
    gradient(text, ...)        as the gradient of a gather
    lists(text, far, k)        a list of the k smallest, after each insertion

`asked` calls one of them from here, and `ran` the first two. None knows what is right.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import jt_edu as jt
from jt_edu.ops.code_text import Array, Body, header_names, translated
from jt_exercises.kernels.tried import tried
from jt_exercises.neighbours.cases import GATHER
from jt_exercises.process import LostError, RaisedError
from jt_exercises.verdict import NotDoneError, RefusedError, short

MOST = 200_000  # lines of plain Python
HEAD = "import math\nimport numpy as np\nfrom numba import prange\n\n\n"
HARNESS = """

def kernel(lo, hi, distances, best, index, bests, indices):
    for step in range(lo, hi):
        if distances[step] < best[-1]:
            insert(best, index, distances[step], step)
        bests[step], indices[step] = best, index
"""
TURN = re.compile(r"""^ *raise YourTurn\((["'])(.*)\1\)""", re.MULTILINE)


@dataclass(frozen=True)
class Task:
    """What a text is run on. It is the body itself; or, where `body` is ours, the function that this one calls."""

    arrays: list[np.ndarray]  # in0, in1, ...
    shape: tuple[int, ...]  # of the output
    dtype: str = "int32"
    header: str = ""  # functions for the body
    body: str = ""
    data: dict[str, float] = field(default_factory=dict)

    def texts(self, text: str) -> tuple[str, str]:
        """The body and its header."""
        text = re.sub(r"\bdout\b", "in2", text)  # of a gradient
        return (self.body, text) if self.body else (text, self.header)

    def function(self, text: str, mode: str) -> Body:
        """The body as jt.code translates it."""
        body, header = self.texts(text)
        named = [Array(f"in{number}", a.ndim, "in") for number, a in enumerate(self.arrays)]
        out = Array("out", len(self.shape), "out")
        return translated(body, (*named, out), tuple(self.data), header_names(header), mode)


def as_python(text: str, task: Task) -> tuple[np.ndarray, dict[str, int]]:
    """What it writes, and how many elements it reads of each array."""
    out, (_, header) = np.full(task.shape, -7, task.dtype), task.texts(text)
    function = task.function(text, "watched").text.replace("def body(", "def kernel(", 1)
    numbers = np.array(list(task.data.values()), np.float64)
    whole = f"{HEAD}{textwrap.dedent(header)}\n\n{function}"
    seen = tried(whole, 0, 1, [*task.arrays, out, numbers, 0], MOST)
    if not seen.writes["out"]:
        raise NotImplementedError("it writes nothing into `out`")
    _operator(text, task, debug=True)  # refuses races, and what nobody writes
    return out, dict(seen.reads)


def compiled(text: str, task: Task) -> tuple[np.ndarray, dict[str, int]]:
    """What it writes as an operator; nothing is counted."""
    return _operator(text, task).numpy(), {}


def _operator(text: str, task: Task, **more: Any) -> Any:
    body, header = task.texts(text)
    inputs = [jt.array(a) for a in task.arrays]
    return jt.code(task.shape, task.dtype, inputs, body, cpu_header=header, data=task.data, **more)


def gradient(text: str, points: np.ndarray, index: np.ndarray, dout: np.ndarray) -> np.ndarray:
    """What it gives to each point, as the gradient of an operator."""
    x = jt.array(points)
    y = jt.code(dout.shape, "float32", [x, jt.array(index)], GATHER, [text, ""])
    return np.asarray(jt.grad((y * jt.array(dout)).sum(), x).numpy())


def lists(text: str, distances: list[float], k: int) -> tuple[np.ndarray, np.ndarray]:
    """Distances and numbers in a list of k, after each insertion."""
    many, best, index = len(distances), np.full(k, np.inf), np.full(k, -1)
    bests, indices = np.zeros((many, k)), np.zeros((many, k), int)
    arguments = [np.array(distances), best, index, bests, indices]
    seen = tried(textwrap.dedent(text).strip() + "\n" + HARNESS, 0, many, arguments)
    if not seen.writes["best"] + seen.writes["index"]:
        raise NotImplementedError("it writes nothing into `best` and `index`")
    return bests, indices


def written(answer: Any) -> Any:
    """The answer, if it is a text whose gap is filled."""
    if answer is None:
        raise NotDoneError
    if not isinstance(answer, str):
        raise RefusedError(f"the answer is the text of a kernel, between three quotes, not {short(answer)}")
    if turn := TURN.search(answer):
        raise NotDoneError(turn[2])
    return answer


def asked(answer: Any, probe: Any, *arguments: Any) -> Any:
    """What a probe finds on the other side; the one that stops says why a text is refused."""
    try:
        return answer.through(probe, *arguments)
    except NotImplementedError as error:
        raise NotDoneError(str(error)) from None
    except (LostError, RaisedError) as error:
        told = str(error).partition("\n")[0]
        if "Watched" in told:
            told = "a row is read whole; this exercise asks for numbers one by one, such as `in0[i, a]`"
        raise RefusedError(re.sub(r"\bin2\b", "dout", told) if "dout" in answer else told) from None


def ran(answer: Any, tasks: Sequence[Task]) -> Iterator[tuple[Task, np.ndarray, dict[str, int]]]:
    """What a text makes of each task: of all of them as plain Python first, so that a wrong one is never compiled."""
    for probe in (as_python, compiled):
        for task in tasks:
            found, *more = asked(answer, probe, task)
            if np.shape(found) != tuple(task.shape):
                raise RefusedError(f"an output of shape {tuple(task.shape)} is asked for, not {np.shape(found)}")
            yield task, np.asarray(found), *more
