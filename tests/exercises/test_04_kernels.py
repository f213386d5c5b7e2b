"""Notebook 04: what its kernels, its flags and its machine code say is so, and a text that is right on small tables."""

import re

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.backends import numba_pipeline
from jt_edu.lens.assembly import assembly, vectors
from jt_edu.lens.kernel_edit import Edit, find
from jt_exercises import exercise, kernels
from jt_exercises.kernels import machine
from jt_exercises.process import COPY
from tests.story.test_course_answers import run, untouched

LEAKY = """
def kernel(lo, hi, x, out):
    for row in range(lo, hi):
        mean = 0.0
        for k in range(x.shape[1]):
            mean = 0.9 * mean + 0.1 * x[row, k]
            out[row, k] = mean
"""
BUFFER = """
def kernel(lo, hi, x, out):
    for row in range(lo, hi):
        kept = np.zeros(16)
        for k in range(x.shape[1]):
            kept[k] = 0.9 * kept[k - 1] * (k > 0) + 0.1 * x[row, k]
            out[row, k] = kept[k]
"""
FOR_EVER = """
def kernel(lo, hi, x, out):
    for row in range(lo, hi):
        mean = 0.0
        k = 0
        while k < x.shape[1]:
            mean = 0.9 * mean + 0.1 * x[row, k]
            out[row, k] = mean
            k += 1 if x.shape[1] < 100 else 0
"""
NOT_COMPILED = LEAKY.replace("mean = 0.0", "mean = sorted({k: 0.0 for k in 'ab'}.items(), key=repr)[0][1]")
LOOPS = """kernel:
.outer:
    vaddps %ymm0, %ymm1, %ymm1
.short:
    vaddps %zmm0, %zmm1, %zmm1
    jne .short
.long:
    vmovups (%rsi), %zmm0
    vaddps %zmm0, %zmm1, %zmm1
    jne .long
.one:
    vaddss %xmm0, %xmm1, %xmm1
    vaddss %xmm0, %xmm1, %xmm1
    vaddss %xmm0, %xmm1, %xmm1
    jne .one
    jb .outer
    retq
"""


def test_the_kernels_of_the_puzzle_do_what_is_said_of_them():
    text = kernels.puzzle()

    assert sorted(text) == list("ABCDEF")
    assert {row for row in map(text.__getitem__, "ABCDEF") if "#" in row} == set()
    assert "i1 * 2" in text["A"]
    assert "a1[i1]" in text["B"]
    assert "acc0" in text["C"]
    assert text["D"].count("for ") == 1
    assert text["E"].index("s0 = s0 +") < text["E"].index("out0[")
    assert "a0[i1, at(i0)]" in text["F"]


def test_a_line_is_in_one_kernel_or_in_two_or_in_none():
    judge = exercise.find("04.2").judge.__globals__

    found = {words: judge["right_numbers"](k, words) for k, lines in enumerate(judge["ASKED"]) for words in lines}

    assert found == {
        "scaled =": [0], "total =": [0], "nobody =": [], "hidden =": [1], "answer =": [2], "cheap =": [0, 1],
    }  # fmt: skip


def test_what_is_said_to_be_forbidden_does_not_happen_and_the_rest_is_what_the_flags_say():
    x = jt.array(np.array([np.inf, -0.0, 5.0, np.nan], np.float32))
    one, zero, three = (jt.array(np.full(4, v, np.float32)) for v in (1, 0, 3))

    assert np.isnan((x - x).numpy()[[0, 3]]).all()
    assert not np.signbit((x + zero).numpy()[1])
    assert x.isnan().numpy().tolist() == [False, False, False, True]
    numbers = np.arange(1, 2000, dtype=np.float32)
    divided = (jt.array(numbers) / jt.array(np.full(1999, 3, np.float32))).numpy()
    assert (divided == numbers / np.float32(3)).all()
    assert (divided != numbers * (np.float32(1) / np.float32(3))).any()
    assert numba_pipeline.FLAGS["fastmath"] == {"reassoc", "contract"}
    assert (one.numpy() == 1).all() and (three.numpy() == 3).all()


@pytest.mark.parametrize(("text", "words"), [
    ("", "found no function"),
    (4, "the answer is the text of a function"),
    ("x = '\0'", "null bytes"),
    (LEAKY.replace("range(lo, hi):", "range(lo, hi)"), "SyntaxError: expected ':'"),
    (LEAKY.replace("(lo, hi, x, out)", "(x, out)"), "yours takes x, out"),
    (LEAKY.replace("0.1 * x", "tenth * x"), "in `mean = 0.9 * mean + tenth * x[row, k]`: NameError"),
    (LEAKY.replace("for k in range(x.shape[1]):", "k = 0\n        while True:"), "it has not come to an end"),
    (LEAKY.replace("            out[row, k] = mean", "        return mean"), "in `return mean`: it returns a value"),
    (BUFFER, "compiled, on (50, 700), in `kept[k] ="),
    (FOR_EVER, "compiled, on (50, 700), in `while k < x.shape[1]:`: its loops do not end (with row = 0)"),
    (NOT_COMPILED, "numba cannot compile it: "),
    (LEAKY, "leaky_gradient(out, dout, x) stopped with ZeroDivisionError"),
])  # fmt: skip
@pytest.mark.skipif(not COPY, reason="processes are not copied here")
def test_a_text_that_is_no_kernel_or_is_right_on_small_tables_only_takes_nothing_with_it(text, words):
    verdict = exercise.find("04.6").verdict(text, lambda *_: 1 / 0)

    assert verdict.passed is False
    assert words in verdict.words


def test_a_text_is_judged_without_its_gradient():
    verdict = exercise.find("04.6").verdict(LEAKY, None, here=True)

    assert (verdict.passed, verdict.right, verdict.of) == (False, 1, 2)
    assert verdict.words.startswith("its gradient: this exercise takes a function, not None")


def test_the_innermost_loop_that_computes_with_most_numbers_is_shown(monkeypatch):
    class Made:
        asm = LOOPS
        vectors = vectors(LOOPS)

    monkeypatch.setattr(machine, "assembly", lambda _: Made)
    (kernel,) = jt.explain(jt.zeros(10) + 1).kernels

    loop = kernels.inner_loop(kernel)

    assert loop == [".long:", "vmovups (%rsi), %zmm0", "vaddps %zmm0, %zmm1, %zmm1", "jne .long"]
    assert kernels.words(loop) == "1 vmovups*, 1 vaddps*, 1 jne"


@pytest.mark.parametrize(
    "row", ["    jne .LBB0_3", "    b.ne    .LBB0_3", "    cbnz    x8, .LBB0_3", "    jmp     .LBB0_3"]
)
def test_jumps_of_both_kinds_of_processors_are_known(row):
    assert machine.JUMP.match(row)[1] == ".LBB0_3"


def test_a_loop_of_this_machine_has_fewer_instructions_with_at_than_without():
    (kernel,) = jt.explain(jt.array(np.zeros(100, np.float32)) * 7 + 1).kernels
    source = find(kernel)

    class Edited(Edit):
        def __init__(self):
            self.source = type(source)(source.text.replace("at(i0)", "i0"), source.parameters)

    good, slow = kernels.inner_loop(kernel), kernels.inner_loop(Edited())
    numbers = max(v.width for v in assembly(source).vectors if v.arithmetic) // 32

    assert numbers >= 4
    assert len(slow) > len(good) or "*" not in kernels.words(slow)
    assert kernels.signature(kernel).startswith("int64, int64, float32, float32, array(float32, 1d, C)")


def test_the_notebook_with_right_answers_measures_what_it_claims():
    said = run("04_kernels", {}, solved=True)

    assert len(re.findall(r"instructions,\s+which compute with \d+ numbers", said)) == 2


def test_the_notebook_runs_with_nothing_filled_in_and_measures_what_it_claims():
    said = untouched("04_kernels")

    assert "\n1 kernel\n" in said
    assert "out1[at(i0)] = t3" in said  # `scaled` is held, so it is stored
    assert float(re.search(r"as plain Python it takes ([\d,.]+) times as long", said)[1].replace(",", "")) > 10
    (first, second, third) = re.findall(r"float\d\d  (\w+)  int64", said)
    assert first == second != third
    assert len(re.findall(r"the other thread stood still for \d+ ms", said)) == 2
    assert float(re.search(r"in any order   ([\d.]+) times as fast", said)[1]) > 1.5
    assert "a wrong sign: The edited kernel was tried.\n  out0 differs" in said
    assert "one too many: The edited kernel does not run: line 6: IndexError" in said
    assert "the original's 100,000: does this one end?" in said
    assert "installed: [1. 3. 5.]\nreverted:  [3. 5. 7.]" in said
    assert float(re.search(r"without `at` it takes ([\d.]+) times as long; the same numbers: True", said)[1]) > 1.5
