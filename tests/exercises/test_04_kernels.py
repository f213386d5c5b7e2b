"""Notebook 04: answers right and wrong, which `test_answers` hands to its checks, and the words of its checks."""

import re

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.backends import numba_pipeline
from jt_edu.lens.assembly import assembly, vectors
from jt_edu.lens.kernel_edit import Edit, find
from jt_edu.ops import custom_kernel
from jt_exercises import kernels
from jt_exercises.kernels import cases, checks, machine
from tests.exercises.answers import filled, made
from tests.story.test_course_answers import verdicts

WHOSE = {
    "x * 2 + 1": "D",
    "x + row": "B",
    "x.transpose(0, 1) * 2": "F",
    "x[:, ::2] * 2": "A",
    "x.sum(1)": "E",
    "x.sum(0)": "C",
}
KERNELS_OF = """
def kernels_of(kernels, words):
    return [number for number, k in enumerate(kernels) if any(words in line.where for line in k.lines)]
"""
MAY = {
    "(a + b) + c  ->  a + (b + c)": True,
    "a * b + c  ->  one instruction": True,
    "a - a  ->  0": False,
    "isnan(a)  ->  False": False,
    "a + 0  ->  a": False,
    "a / b  ->  a * (1 / b)": False,
}
FOUR_ROWS = """
from jt_edu.backends.mathlib import at, float32, float64


def kernel(lo, hi, n0, a0, out0, acc0):
    for i0 in range(lo, hi):
        acc0[at(i0 - lo)] = float64(0)
    for i1 in range(0, n0 - 3, 4):
        for i0 in range(lo, hi):
            p0 = a0[at(i1), at(i0)] + a0[at(i1 + 1), at(i0)] + a0[at(i1 + 2), at(i0)] + a0[at(i1 + 3), at(i0)]
            acc0[at(i0 - lo)] = acc0[at(i0 - lo)] + p0
    for i1 in range(n0 - n0 % 4, n0):
        for i0 in range(lo, hi):
            acc0[at(i0 - lo)] = acc0[at(i0 - lo)] + a0[at(i1), at(i0)]
    for i0 in range(lo, hi):
        out0[at(i0)] = float32(acc0[at(i0 - lo)])
"""
AT_ONCE = """
def at_once(instruction):
    name = instruction.split()[0]
    if any(word in name for word in ("mov", "broadcast", "insert", "extract", "gather", "scatter", "xor")):
        return 0
    bits = next((bits for word, bits in (("zmm", 512), ("ymm", 256), ("xmm", 128)) if word in instruction), 0)
    return {"ps": bits // 32, "pd": bits // 64, "ss": 1, "sd": 1}.get(name[-2:], 0)
"""
LEAKY = """
def kernel(lo, hi, x, out):
    for row in range(lo, hi):
        mean = 0.0
        for k in range(x.shape[1]):
            mean = 0.9 * mean + 0.1 * x[row, k]
            out[row, k] = mean
"""
LEAKY_GRADIENT = """
def leaky_gradient(out, dout, x):
    return leaky(dout.flip(1)).flip(1)
"""
CHECKS = {"kernels_of": kernels.check_kernels_of, "at_once": kernels.check_at_once}
RIGHT = {"kernels_of": KERNELS_OF, "at_once": AT_ONCE}
WRONG = [  # of which exercise, what is written instead of what, and what the refusal says
    ("kernels_of", "number for", "k.name for", "the numbers of kernels are asked for"),
    ("kernels_of", "enumerate(kernels)", "enumerate(kernels, 1)", "kernels are numbered from 0 on"),
    ("kernels_of", "any(words in line.where for line in k.lines)]", "words in k.source]", "[0], not []: `line.where`"),
    ("kernels_of", "words in line", "words == line", "[0], not []: `line.where` is a text that contains your line"),
    ("kernels_of", "any(words in line.where for line in k.lines)", "True for line in k.lines if words in line.where",
     "name the kernel once"),
    ("kernels_of", "lines)]", "lines)][:1]", "[0, 1], not [0]: a cheap value is computed wherever it is read"),
    ("kernels_of", "lines)]", "lines)][0]", "is [0]: a list of numbers, not 0"),
    ("kernels_of", "lines)]", "lines)] or None", "'nobody =') is []: a list of numbers, not None"),
    ("kernels_of", "line.where for line in k.lines", "line for line in k.lines", "stopped with TypeError"),
    ("at_once", '("mov", ', "(", "`vmovups (%r11,%rbx,4), %zmm4` computes with 0, not with 16: a `mov`"),
    ("at_once", '"broadcast", ', "", "a `broadcast` computes nothing"),
    ("at_once", '"insert", ', "", "an `insert` computes nothing"),
    ("at_once", '"extract", ', "", "an `extract` computes nothing"),
    ("at_once", '"gather", ', "", "a `gather` computes nothing"),
    ("at_once", '"scatter", ', "", "a `scatter` computes nothing"),
    ("at_once", ', "xor")', ")", "that is how it is cleared"),
    ("at_once", "bits // 32", "bits", "computes with 16, not with 512"),
    ("at_once", "bits // 64", "bits // 32", "`pd` is packed double"),
    ("at_once", '"ss": 1', '"ss": bits // 32', "`ss` is scalar single: one number"),
    ("at_once", '"sd": 1', '"sd": 2', "`sd` is scalar double"),
    ("at_once", '("ymm", 256), ', "", "ymm has 256 bits"),
    ("at_once", '"xmm", 128', '"xmm", 64', "xmm has 128 bits"),
    ("at_once", "name[-2:], 0)", "name[-2:])", "computes with 0, not with None: it adds whole numbers"),
    ("at_once", ".get(name[-2:], 0)", "[name[-2:]]", "stopped with KeyError"),
]  # fmt: skip
ALSO = [  # of which exercise, and what is written instead of what; no less right
    ("kernels_of", "[number for number, k in enumerate(kernels) if any(words in line.where for line in k.lines)]",
     "tuple(n for n in range(len(kernels)) if words in str([line.where for line in kernels[n].lines]))"),
    ("at_once", "bits // 32", "bits / 32"),
]  # fmt: skip
MAIN = FOUR_ROWS[FOUR_ROWS.index("            p0 =") : FOUR_ROWS.index("    for i1 in range(n0 - n0 % 4")]
REST = FOUR_ROWS[
    FOUR_ROWS.index("    for i1 in range(n0 - n0 % 4") : FOUR_ROWS.index("    for i0 in range(lo, hi):\n        out0")
]
RESET = "    for i0 in range(lo, hi):\n        acc0[at(i0 - lo)] = float64(0)\n"
ONE_BY_ONE = "".join(
    f"            acc0[at(i0 - lo)] = acc0[at(i0 - lo)] + a0[at(i1 + {k}), at(i0)]\n" for k in range(4)
)
WRONG_ROWS = [  # what is written instead of what in FOUR_ROWS, and what the refusal says; none of these is compiled
    ("float64(0)", "float64(0", "SyntaxError: '(' was never closed"),
    ("        acc0[at(i0 - lo)] = float64(0)", "    acc0[at(i0 - lo)] = float64(0)", "IndentationError"),
    ("float64(0)", "zero", "in `acc0[at(i0 - lo)] = zero`: NameError: name 'zero' is not defined"),
    (REST, "", "of 1 row, the sum of column 1 is 0, and should be 2. 4 rows at a time leave some over"),
    ("n0 - n0 % 4, n0", "n0 % 4", "of 5 rows, the sum of column 1 is 46, and should be 70"),
    ("n0 - 3, 4", "n0, 4", "IndexError: index 1 is out of bounds for axis 0 with size 1"),
    ("n0 - 3, 4", "n0 - 4, 4", "of 8 rows, the sum of column 1 is 44, and should be 184."),
    (RESET, "", "Memory holds anything at first: is acc0 set to 0?"),
    ("for i1 in range(0, n0 - 3, 4):", "i1 = 0\n    while i1 < n0 - 3:", "it has not come to an end"),
    ("a0, out0, acc0):", "a, out, acc):", "its parameters must stay (lo, hi, n0, a0, out0, acc0)"),
    ("n0, a0, out0, acc0):", "a0):", "yours takes lo, hi, a0"),
    ("def kernel", "def four_rows", "found `def four_rows`"),
    (MAIN, MAIN.replace("p0 = ", "a0[at(i1), at(i0)] = p0 = "), "it changes an input"),
    (MAIN, ONE_BY_ONE, "each of them is read 9 times. Add four numbers of a column first"),
    ("p0 = a0[at(i1), at(i0)]", "p0 = 0 * a0[at(i1), at(i0)] + a0[at(i1), at(i0)]", "each number is read 1.25 times"),
    ("at(i1 + 3)", "at(i1 + 2)", "of 8 rows, the sum of column 1 is 172, and should be 184"),
    ("out0[at(i0)] = float32(acc0[at(i0 - lo)])", "pass", "of 8 rows, the sum of column 1 is nan"),
    ("        out0[", "        return out0\n        out0[", "it returns something, and nobody takes that"),
    ("from jt_edu.backends.mathlib", "import numpy as np\nfrom jt_edu.backends.mathlib", "found import numpy as np"),
]  # fmt: skip
WRONG_LEAKY = [  # what is written instead of what in LEAKY, and what the refusal says
    ("range(lo, hi):", "range(lo, hi)", "SyntaxError: expected ':'"),
    ("range(lo, hi)", "range(len(x))", "it also writes others: threads share the rows"),
    ("    for row in range(lo, hi):\n        mean = 0.0", "    mean = 0.0\n    for row in range(lo, hi):",
     "the mean of the row before is still in it"),
    ("range(x.shape[1])", "range(1, x.shape[1])", "Is every k of a row done?"),
    ("range(x.shape[1])", "range(x.shape[1] - 1)", "Is every k of a row done?"),
    ("range(x.shape[1])", "range(x.shape[1] + 1)", "IndexError: index 4 is out of bounds for axis 1 with size 4"),
    ("out[row, k] = mean", "out[row, k] = 0.9 * out[row, k - 1] + 0.1 * x[row, k]", "`out[0, -1]` counts from the end"),
    ("out[row, k] = mean", "x[row, k] = mean", "it changes an input"),
    ("            out[row, k] = mean", "    return mean", "it returns something, and nobody takes that"),
    ("            out[row, k] = mean", "", "it writes nothing into out"),
    ("0.9 * mean + 0.1", "0.1 * mean + 0.9", "before the first number the mean is 0"),
    ("0.9 * mean", "0.8 * mean", "0.9 times the mean before, and 0.1 times the number"),
    ("for k in range(x.shape[1]):", "k = 0\n        while k < x.shape[1]:", "it has not come to an end"),
    ("x[row, k]", "x[0, k]", "these are the numbers of row 0"),
    ("0.1 * x", "tenth * x", "NameError: name 'tenth' is not defined"),
    ("(lo, hi, x, out)", "(x, out)", "its first line is `def kernel(lo, hi, x, out):`; yours takes x, out"),
    ("def kernel", "def leaky", "found `def leaky`"),
]  # fmt: skip
WRONG_GRADIENTS = [
    ("leaky(dout.flip(1)).flip(1)", "leaky(dout)", "Walk from behind"),
    ("leaky(dout.flip(1)).flip(1)", "leaky(dout.flip(1))", "dout was turned, and the result was not turned back"),
    ("leaky(dout.flip(1)).flip(1)", "leaky(dout).flip(1)", "it was turned back, and dout was not turned"),
    ("leaky(dout.flip(1)).flip(1)", "dout * 0.1", "x[k] also reaches all that come after out[k]"),
    (".flip(1)\n", ".flip(1) * 10\n", "the tenth is missing"),
    (".flip(1)\n", ".flip(1).sum(0)\n", "the gradient has the shape of x, (3, 5); yours has (5,)"),
    (".flip(1)\n", ".flip(1).numpy()\n", "the gradient is a Var, made of Vars, not ndarray"),
    ("dout.flip(1)", "out.flip(1)", "and should be [-2.42, -1.69, -0.882, 0.02, 0.8]"),
    ("dout.flip", "dout.flp", "stopped with UnknownNameError"),
    ("(out, dout, x)", "(dout, x)", "stopped with TypeError"),
]
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


class Tried:
    """What `jt.edit_kernel` answers, with figures that no machine decides."""

    def __init__(self, *, speed=1.5, agrees=True, error=""):
        self.speed, self.agrees, self.error, self.line = speed, agrees, error, 7

    def __repr__(self):
        return "12 of them"


def gradient(code_text, text=LEAKY):
    """A rule as a learner writes it, beside the operator of the notebook."""

    def leaky(x):
        return custom_kernel.kernel("leaky", text, [rule])(x, shape=x.shape, dtype=x.dtype, span=x.shape[0])

    rule = made(code_text, leaky=leaky)
    return rule


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, None),
        ({"x + row": " b "}, None),
        ({"x.sum(1)": "C"}, "`x.sum(1)` is not C. That kernel collects a sum for each column"),
        ({"x.sum(1)": "C"}, "Look for one that collects one sum, and stores it when the loop along a row is over"),
        ({"x + row": None}, "`x + row` still has None"),
        ({"x + row": "G"}, "a letter from A to F is asked for, not 'G'"),
        ({"x + row": 2}, "a letter from A to F is asked for, not 2"),
    ],
)
def test_a_letter_is_refused_with_what_its_kernel_does(change, words):
    verdict = kernels.check_match({**WHOSE, **change})

    assert verdict.passed is (words is None)
    assert words is None or words in verdict.words


def test_who_is_wrong_in_several_places_reads_all_of_them_at_once():
    letters = kernels.check_match({**WHOSE, "x + row": "A", "x.sum(1)": "C"})
    first, *_, last = MAY
    permissions = kernels.check_may({**MAY, first: not MAY[first], last: not MAY[last]})

    assert letters.words.startswith("4 of 6 are right, and not `x + row`, `x.sum(1)`. `x + row` is not A. ")
    assert permissions.words.startswith(f"4 of 6 are right, and not `{first}`, `{last}`. `{first}` is ")


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
    found = [(words, model.right(words)) for model in cases.models() for words in model.asked]

    assert found == [
        ("scaled =", [0]),
        ("total =", [0]),
        ("nobody =", []),
        ("hidden =", [1]),
        ("answer =", [2]),
        ("cheap =", [0, 1]),
    ]


@pytest.mark.parametrize("answer", [None, {}, dict.fromkeys(WHOSE)])
def test_no_letter_is_not_done_yet(answer):
    assert kernels.check_match(answer).passed is None
    assert kernels.check_may(answer).passed is None


@pytest.mark.parametrize("text", MAY)
def test_each_permission_is_told_with_its_reason(text):
    assert kernels.check_may(MAY).passed
    wrong = kernels.check_may({**MAY, text: not MAY[text]})
    gap = kernels.check_may({**MAY, text: None})

    assert f"`{text}` is {'' if MAY[text] else 'not '}allowed: " in wrong.words
    assert gap.words == f"`{text}` still has None"


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


@pytest.mark.parametrize(("part", "instead", "words"), WRONG_ROWS)
def test_rows_that_are_added_wrongly_are_refused_before_anything_is_compiled(part, instead, words, monkeypatch):
    monkeypatch.setattr(jt, "edit_kernel", lambda *_: pytest.fail("it was compiled"))
    assert part in FOUR_ROWS

    verdict = kernels.check_rows(FOUR_ROWS.replace(part, instead, 1))

    assert verdict.passed is False, verdict
    assert words in verdict.words


@pytest.mark.parametrize(
    ("answer", "passed", "words"),
    [
        (None, None, ""),
        (cases.column_sum().source, None, "that is the kernel as it was written"),
        ("", False, "found no function"),
        ("a = 1", False, "found no function"),
        (4, False, "the answer is the text of a"),
        (print, False, "the answer is the text of a"),
        ("x = '\0'", False, "null bytes"),
    ],
)
def test_what_is_no_text_of_a_kernel_is_told_so(answer, passed, words):
    for verdict in (kernels.check_rows(answer), kernels.check_leaky(answer, None)):
        assert verdict.passed is passed or answer == cases.column_sum().source
    assert words in kernels.check_rows(answer).words


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Tried(speed=0.3), "0.30 times as fast as the original. The innermost loop has to go along a row"),
        (Tried(agrees=False), "on 300 rows some sums are not the same: 12 of them"),
        (Tried(error="it is too long"), "line 7: it is too long"),
    ],
)
def test_what_the_trial_finds_is_told(found, words, monkeypatch):
    monkeypatch.setattr(jt, "edit_kernel", lambda *_: found)

    verdict = kernels.check_rows(FOUR_ROWS)

    assert verdict.passed is False
    assert words in verdict.words


def test_four_rows_at_once_are_tried_beside_the_original(monkeypatch):
    monkeypatch.setattr(checks, "SLOW", 0.0)

    verdict = kernels.check_rows(FOUR_ROWS)

    assert verdict.passed, verdict
    assert "each sum is read 3 times for 8 rows" in verdict.words


@pytest.mark.parametrize(("part", "instead", "words"), WRONG_LEAKY)
def test_a_leaky_mean_that_is_wrong_is_refused_by_its_slip(part, instead, words):
    assert part in LEAKY

    text = LEAKY.replace(part, instead, 1)
    verdict = kernels.check_leaky(text, gradient(LEAKY_GRADIENT, text))

    assert verdict.passed is False, verdict
    assert words in verdict.words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BUFFER, "compiled, on (50, 700), in `kept[k] ="),
        (FOR_EVER, "compiled, on (50, 700), in `while k < x.shape[1]:`: its loops do not end (with row = 0)"),
        (NOT_COMPILED, "numba cannot compile it: "),
    ],
)
def test_a_leaky_mean_that_is_right_on_small_tables_only_takes_nothing_with_it(text, words):
    verdict = kernels.check_leaky(text, gradient(LEAKY_GRADIENT, text))

    assert verdict.passed is False
    assert words in verdict.words


@pytest.mark.parametrize(("part", "instead", "words"), WRONG_GRADIENTS)
def test_a_gradient_that_is_wrong_is_refused_by_its_slip(part, instead, words, monkeypatch):
    monkeypatch.setattr(checks, "compiled", checks.tried)
    monkeypatch.setattr(checks, "LONG", (2, 9))
    assert part in LEAKY_GRADIENT

    verdict = kernels.check_leaky(LEAKY, gradient(LEAKY_GRADIENT.replace(part, instead)))

    assert verdict.passed is False, verdict
    assert words in verdict.words


def test_a_leaky_mean_and_its_gradient_are_right_and_without_gradient_it_is_not_done(monkeypatch):
    assert kernels.check_leaky(LEAKY, gradient(LEAKY_GRADIENT)).passed

    monkeypatch.setattr(checks, "compiled", checks.tried)
    monkeypatch.setattr(checks, "LONG", (2, 9))
    for rule, words in (
        (None, "the numbers are right; its gradient is None"),
        (lambda *_: None, "the numbers are right; the gradient returns None"),
        (made("def rule(out, dout, x):\n    dout.flip(1)\n"), "the gradient returns None: is a `return` missing?"),
    ):
        verdict = kernels.check_leaky(LEAKY, rule)
        assert (verdict.passed, verdict.words) == (None, verdict.words if words in verdict.words else words)
    assert kernels.check_leaky("def kernel(lo, hi, x, out):\n    pass", None).words == ""


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


def test_the_notebook_says_right_to_right_answers(monkeypatch):
    monkeypatch.setattr(checks, "SLOW", 0.0)
    letters = {f'    "{text}": None': f'    "{text}": "{letter}"' for text, letter in WHOSE.items()}
    flags = {f'    "{text}": None': f'    "{text}": {value}' for text, value in MAY.items()}
    texts = [
        ("four_rows = None", f'four_rows = """{FOUR_ROWS}"""'),
        ("def kernel(lo, hi, x, out):\n    pass\n", LEAKY[1:]),
    ]

    said = filled("04_kernels", *letters.items(), *flags.items(), *texts, KERNELS_OF, AT_ONCE, LEAKY_GRADIENT)

    assert verdicts(said) == {"right": 6, "not right": 0, "not done yet": 0, "another shape": 0}, said
    assert len(re.findall(r"instructions, which compute with \d+ numbers", said)) == 2


def test_the_notebook_runs_with_nothing_filled_in_and_measures_what_it_claims():
    said = filled("04_kernels")

    assert verdicts(said) == {"right": 0, "not right": 0, "not done yet": 6, "another shape": 0}, said
    assert said.startswith("1 kernel\n")
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
