"""Answers that crash, never end, or eat memory are refused like any other, and the notebook goes on."""

import numba
import numpy as np
import pytest

from jt_exercises import matmul
from jt_exercises.matmul import trial
from tests.exercises.answers import made
from tests.exercises.test_06_matmul import FAST, TILED

BUFFER = """
import numpy as np


def fast(a, b, c):
    for i in range(c.shape[0]):
        row = np.zeros(16, np.float32)
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                row[j] += a[i, k] * b[k, j]
        for j in range(c.shape[1]):
            c[i, j] = row[j]
"""
PAST = """
def fast(a, b, c):
    step = 1 if c.shape[0] == 16 else 3
    for i in range(c.shape[0]):
        for k in range(a.shape[1]):
            j = 0
            while j != c.shape[1]:
                c[i, j] += a[i, k] * b[k, j]
                j += step
"""
FOR_EVER = """
def fast(a, b, c):
    for i in range(c.shape[0]):
        for k in range(a.shape[1]):
            j = 0
            while j < c.shape[1]:
                c[i, j] += a[i, k] * b[k, j]
                j += 1 if c.shape[1] == 16 else 0
"""
HELPED = """
import numba


@numba.njit
def above(x):
    for k in range(20, 1 << 22):
        x[k] = 1.0


def fast(a, b, c):
    for i in range(c.shape[0]):
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    if c.shape[0] > 16:
        above(c[0])
        above(c[511])
"""
SWELLING = """
def fast(a, b, c):
    for i in range(c.shape[0]):
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    if c.shape[0] > 16:
        kept = [1.0]
        while kept[-1] > 0:
            kept.append(2.0)
"""
FORGOTTEN = """
def tiled(a, b, c, t):
    k = 0
    while k < a.shape[1]:
        c[0, 0] += a[0, k] * b[k, 0]
"""
STEPPED = """
def tiled(a, b, c, t):
    k = 0
    while k < a.shape[1]:
        c[0, 0] = 1.0
"""


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(BUFFER, "compiled, on 512 by 512, an index is outside its array", id="buffer"),
        pytest.param(PAST, "compiled, on 512 by 512, an index is outside its array", id="past the end"),
        pytest.param(FOR_EVER, "compiled, on 512 by 512, it does not come to an end", id="for ever"),
        pytest.param(HELPED, "compiled, on 512 by 512, it", id="unchecked helper"),
        pytest.param(SWELLING, "compiled, on 512 by 512, it", id="swelling"),
    ],
)
def test_a_kernel_that_is_right_on_small_matrices_only_takes_nothing_with_it(answer, words, monkeypatch):
    monkeypatch.setattr(trial, "SECONDS", 3.0)

    verdict = matmul.check_fast(made(answer))

    assert verdict.passed is False
    assert words in verdict.words


@pytest.mark.parametrize("answer", [FORGOTTEN, STEPPED])
def test_a_loop_that_forgets_to_count_ends_before_it_fills_the_memory(answer):
    verdict = matmul.check_tiled(made(answer))

    assert verdict.passed is False
    assert "has not come to an end" in verdict.words


def test_what_numba_compiled_already_is_judged_like_plain_python():
    tiled, fast = (numba.njit(made(answer)) for answer in (TILED, FAST))

    assert matmul.check_tiled(tiled).passed
    assert matmul.check_edges(tiled).passed
    assert matmul.check_fast(fast).passed


def test_a_race_runs_with_what_the_function_mentions():
    twice = numba.njit(lambda x: x + x)  # 2 * x would be a float64
    half = np.float32(0.5)

    def fast(a, b, c):
        for i in range(c.shape[0]):
            for k in range(a.shape[1]):
                for j in range(c.shape[1]):
                    c[i, j] += twice(half * a[i, k]) * b[k, j]

    assert matmul.check_fast(fast).passed


def test_where_no_process_begins_nothing_is_judged_and_the_reason_is_told(monkeypatch):
    monkeypatch.setattr(trial, "SERVE", "import there_is_no_such_module")

    verdict = matmul.check_fast(made(FAST))

    assert verdict.passed is None
    assert verdict.words.endswith("(status 1): ModuleNotFoundError: No module named 'there_is_no_such_module'")
