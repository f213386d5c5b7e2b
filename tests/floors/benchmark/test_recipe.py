"""The recipe that PyTorch's users know runs as a script with jt instead of torch; `out=` is the answer."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import jt_edu as jt
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError

ROOT = Path(__file__).resolve().parents[3]


def test_the_batched_dot_recipe_runs_as_a_script():
    done = subprocess.run(
        [sys.executable, "-W", "error", Path(__file__).with_name("recipe.py")],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip

    lines = done.stdout.splitlines()

    assert done.returncode == 0, done.stderr
    assert sum("- Batched dot -" in line for line in lines) == 2
    assert [line.split() for line in lines if "mul_sum" in line] == [["|", "mul_sum", "|", "bmm"]] * 2
    assert sum(bool(re.search("threads?:", line)) for line in lines) == 2 * 2 * 2
    assert sum("[1, 64]" in line for line in lines) == 2 * 2
    assert sum("jt.add(x, y, out=out)" in line for line in lines) == 2 * 2


def test_out_is_given_the_answer_and_is_the_answer():
    x, out = jt.ones((2, 3)), jt.empty((2, 3))

    answers = [jt.add(x, 1, out=out), jt.multiply(out, 3, out=out), jt.subtract(out, x, out=out)]

    assert all(answer is out for answer in answers)
    assert out.numpy().tolist() == [[5.0] * 3] * 2


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        (lambda: 3, ArgumentError, "out= is a Var.*found 3"),
        (lambda: jt.empty((3,)), ShapeError, r"\(2,\) for a Var of shape \(3,\)"),
        (lambda: jt.zeros((2,), "int32"), DtypeError, "numbers of float32; found a Var of int32"),
    ],
)
def test_out_that_cannot_hold_the_answer_is_refused(out, error, words):
    with pytest.raises(error, match=words):
        jt.exp(jt.ones(2), out=out())
