"""Checks of notebook 04: each takes a learner's answer and says whether it is right; verdict.py knows how.

A text is first tried as plain Python on small arrays, where every read and write is counted, and nothing it does can
harm (tried.py). Only `check_rows` looks at a clock, and there only at a factor that no busy machine makes up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import jt_edu as jt
from jt_edu.base.errors import JtError
from jt_edu.lens.edit_process import Fault, check_text
from jt_edu.lens.kernel_edit import find
from jt_edu.ops.custom_kernel import kernel as operator
from jt_exercises.kernels.cases import BUILD, ROWS, Model, column_sum, models
from jt_exercises.kernels.tried import Seen, compiled, text_of, tried
from jt_exercises.verdict import NotDoneError, RefusedError, ask, exercise, short

SLOW = 0.7  # times as fast: an index that may be negative costs far more than a busy machine does
NEAR = 1e-4
LONG = (50, 700)  # the table on which a kernel runs compiled
REWRITES: dict[str, tuple[bool, str]] = {  # may the compiler do that to our kernels? and why
    "(a + b) + c  ->  a + (b + c)": (True, "that is `reassoc`: without it no sum could be taken eight by eight"),
    "a * b + c  ->  one instruction": (True, "that is `contract`: one rounding instead of two"),
    "a - a  ->  0": (False, "inf - inf is nan, and a kernel that hides it would hide your mistake"),
    "isnan(a)  ->  False": (False, "`nnan` would promise that no number is nan, and nobody can promise that"),
    "a + 0  ->  a": (False, "-0.0 + 0 is 0.0: `nsz` would allow it, and we do not ask for it"),
    "a / b  ->  a * (1 / b)": (False, "it rounds twice: `arcp` would allow it, and we do not ask for it"),
}
INSTRUCTIONS: dict[str, tuple[int, str]] = {  # how many numbers each computes with at once, and why
    "vaddps %zmm1, %zmm2, %zmm3": (16, "zmm has 512 bits, and `ps` is packed single: 32 bits each"),
    "vaddps %ymm1, %ymm2, %ymm3": (8, "ymm has 256 bits"),
    "vmulpd %zmm4, %zmm5, %zmm6": (8, "`pd` is packed double: 64 bits each"),
    "vaddss %xmm1, %xmm0, %xmm0": (1, "`ss` is scalar single: one number, whatever else the register has room for"),
    "vfmadd213ps (%rsi,%rax,4), %zmm2, %zmm4": (16, "it multiplies and adds, with 16 numbers that come from memory"),
    "addps %xmm1, %xmm0": (4, "the names without a v are older, and mean the same: xmm has 128 bits"),
    "vmulsd %xmm3, %xmm1, %xmm1": (1, "`sd` is scalar double"),
    "vmaxpd %ymm0, %ymm1, %ymm1": (4, "256 bits, 64 for each number"),
    "vmovups (%r11,%rbx,4), %zmm4": (0, "a `mov` computes nothing: it loads or stores"),
    "vbroadcastss %xmm0, %zmm2": (0, "a `broadcast` computes nothing: it repeats one number"),
    "vinsertps $16, 4(%rdi,%r12,4), %xmm5, %xmm5": (
        0,
        "an `insert` computes nothing: it puts one number beside others",
    ),
    "vextractps $1, %xmm4, 4(%rax,%r12,4)": (0, "an `extract` computes nothing: it takes one number out"),
    "vgatherqps (,%zmm11), %ymm14 {%k3}": (0, "a `gather` computes nothing: it collects numbers from anywhere"),
    "vscatterqps %ymm11, (,%zmm12) {%k1}": (0, "a `scatter` computes nothing: it stores numbers anywhere"),
    "vxorps %xmm11, %xmm11, %xmm11": (0, "a register `xor` itself is 0: that is how it is cleared"),
    "vpaddq %zmm13, %zmm8, %zmm14": (0, "it adds whole numbers (addresses, mostly): no ps, pd, ss or sd at its end"),
    "addq $64, %rbx": (0, "it counts the loop"),
    ".LBB0_13:": (0, "that is a label, where a jump may go"),
}


@exercise("1 whose kernel is it?")
def check_match(answer: Mapping[str, str | None] | None) -> str:
    """Compare letters of kernels, by expression, with what the framework writes for it."""
    _all_there(answer)
    assert answer is not None, "somebody answered"
    for text, (letter, _, tell) in BUILD.items():
        mine = str(answer.get(text)).strip().upper()
        if mine not in (known := {entry[0]: entry for entry in BUILD.values()}):
            raise RefusedError(f"`{text}`: a letter from A to {max(known)} is asked for, not {answer.get(text)!r}")
        if mine != letter:
            so_far = _right_so_far({text: str(answer.get(text)).strip().upper() == BUILD[text][0] for text in BUILD})
            why = f"`{text}` is not {mine}. That kernel {known[mine][2]}. Look for one that {tell}"
            raise RefusedError(f"{so_far}. {why}")
    return f"{len(BUILD)} kernels"


def _all_there(answer: Mapping[str, object] | None) -> None:
    """Refuse an answer with gaps; there is none yet if it has nothing else."""
    if answer is not None and not isinstance(answer, Mapping):
        raise RefusedError(f"the answer is a dict, with a value for each expression, not {short(answer)}")
    if answer is None or all(value is None for value in answer.values()):
        raise NotDoneError
    missing = [text for text, value in answer.items() if value is None]
    if missing:
        raise RefusedError(f"`{missing[0]}` still has None")


def _right_so_far(found: Mapping[str, bool]) -> str:
    """How many answers are right, and for which to look again."""
    wrong = [f"`{text}`" for text, right in found.items() if not right]
    return f"{len(found) - len(wrong)} of {len(found)} are right, and not {', '.join(wrong)}"


@exercise("2 the kernels of a line")
def check_kernels_of(kernels_of: Callable[..., Sequence[int]]) -> str:
    """Compare the numbers of kernels that compute a line, in three graphs."""
    lines = [(model, words, hint) for model in models() for words, hint in model.asked.items()]
    for tried_before, (model, words, hint) in enumerate(lines):
        right, count = model.right(words), len(model.kernels)
        case = f"{count} kernel{'s' * (count > 1)}, {words!r}"
        try:
            answer = ask(kernels_of, model.kernels, words, case=case)
        except NotDoneError:
            if not tried_before:
                raise
            answer = None
        if isinstance(answer, (str, Mapping)) or not np.iterable(answer):
            raise RefusedError(f"kernels_of({case}) is {right}: a list of numbers, not {short(answer)}")
        mine = list(answer)
        if mine != right:
            why = _slip(mine, right) or hint
            told = f"kernels_of({case}) is {right}, not {short(mine)}: {why}"
            raise RefusedError(f"{told}. The kernels, and their lines:\n{_table(model)}")
    return f"{len(lines)} lines"


def _slip(mine: list[Any], right: list[int]) -> str:
    """What a wrong list seems to be."""
    if any(not isinstance(k, int | np.integer) for k in mine):
        return "the numbers of kernels are asked for"
    if len(set(mine)) < len(mine):
        return "several lines of a kernel may have these words; name the kernel once"
    if right and mine == [k + 1 for k in right]:
        return "kernels are numbered from 0 on"
    return ""


def _table(model: Model) -> str:
    """The kernels of a model by number, with the lines of each."""
    rows = [dict.fromkeys(line.where for line in k.lines) for k in model.kernels]
    return "\n".join(f"    {number}  {'; '.join(row)}" for number, row in enumerate(rows))


@exercise("3 what the compiler may do")
def check_may(answer: Mapping[str, bool | None] | None) -> str:
    """Compare guesses with the flags that kernels are compiled with."""
    _all_there(answer)
    assert answer is not None, "somebody answered"
    for text, (right, why) in REWRITES.items():
        if answer.get(text) not in (True, False):
            raise RefusedError(f"`{text}`: True or False, not {answer.get(text)!r}")
        if bool(answer[text]) is not right:
            so_far = _right_so_far({text: bool(answer[text]) is REWRITES[text][0] for text in REWRITES})
            raise RefusedError(f"{so_far}. `{text}` is {'' if right else 'not '}allowed: {why}")
    return f"{len(REWRITES)} rewrites"


@exercise("4 four rows at once")
def check_rows(text: str | None) -> str:
    """Try a text instead of the kernel of a sum over rows: right for any length, one read of a sum for four rows."""
    kernel = column_sum()
    source = find(kernel)
    mine = text_of(text, ["lo", "hi", *(p.name for p in source.parameters)])
    if mine == source.text:
        raise NotDoneError("that is the kernel as it was written")
    try:
        check_text(mine, source)
    except Fault as fault:
        raise RefusedError(f"line {fault.line}: {fault.words}" if fault.line else fault.words) from fault
    for rows in (8, 4, 1, 2, 3, 5, 6, 7, 9):
        seen = _sums(mine, rows)
        if rows == 8:
            reads = _counted(seen, rows)
    edit = jt.edit_kernel(kernel, mine)
    if edit.error:
        raise RefusedError(f"line {edit.line}: {edit.error}" if edit.line else edit.error)
    if not edit.agrees:
        raise RefusedError(f"on {ROWS} rows some sums are not the same: {edit!r}")
    if edit.speed < SLOW:
        raise RefusedError(
            f"right sums, and {edit.speed:.2f} times as fast as the original. The innermost loop has to go along a "
            f"row, with `at(...)` around each index of it that begins at `lo`"
        )
    return f"each sum is read {reads:g} times for 8 rows, and it is {edit.speed:.1f} times as fast, here and now"


def _sums(text: str, rows: int, lo: int = 1, hi: int = 5) -> Seen:
    """Sums of some columns of a table of 6; RefusedError names the first wrong one."""
    table = np.arange(1.0, 6 * rows + 1, dtype=np.float32).reshape(rows, 6)
    out, sums = np.full(6, np.nan, np.float32), np.full(hi - lo, np.nan)
    seen = tried(text, lo, hi, [rows, table, out, sums])
    right = table.sum(0)
    for k in range(6):
        if lo <= k < hi and out[k] != right[k]:
            left = " 4 rows at a time leave some over, which come one by one." if rows % 4 else ""
            left = " Memory holds anything at first: is acc0 set to 0?" if np.isnan(out[k]) else left
            raise RefusedError(
                f"of {rows} rows, the sum of column {k} is {out[k]:g}, and should be {right[k]:g}.{left}{_told(seen)}"
            )
        if not lo <= k < hi and not np.isnan(out[k]):
            raise RefusedError(
                f"asked for columns {lo} to {hi - 1}, it also writes column {k}: another thread does that one"
            )
    return seen


def _told(seen: Seen) -> str:
    """A word about an index below 0, where there was one."""
    return f" `{seen.backwards}` counts from the end: was that meant?" if seen.backwards else ""


def _counted(seen: Seen, rows: int, columns: int = 4) -> float:
    """How often each sum is read; RefusedError where that is more than once for four rows."""
    once = seen.reads["a0"] / columns
    sums = seen.reads["acc0"] / columns
    if once > rows:
        raise RefusedError(f"right sums, but of {rows} rows each number is read {once / rows:g} times")
    if sums > rows / 4 + 1:
        raise RefusedError(
            f"right sums, but for {rows} rows each of them is read {sums:g} times. Add four numbers of a column first, "
            f"and then the four to the sum: {rows // 4} reads, and one to store it"
        )
    return sums


@exercise("5 numbers at once")
def check_at_once(at_once: Callable[[str], int]) -> str:
    """Compare how many numbers an instruction of x86 computes with, one by one."""
    first = next(iter(INSTRUCTIONS))
    for row, (right, why) in INSTRUCTIONS.items():
        try:
            answer = ask(at_once, row)
        except NotDoneError:
            if row == first:
                raise
            answer = None
        if answer is None or answer != right:
            raise RefusedError(f"`{row}` computes with {right}, not with {short(answer)}: {why}")
    return f"{len(INSTRUCTIONS)} instructions"


@exercise("6 a kernel of your own")
def check_leaky(text: str | None, gradient: Callable[..., Any] | None) -> str:
    """Run a leaky mean as Python, as parts, compiled; then compare its gradient with the one that runs backwards."""
    mine = _with_imports(text_of(text, ("lo", "hi", "x", "out")))
    random = np.random.default_rng(4)
    shapes = [(1, 4), (3, 5), (1, 1), (2, 1), (1, 2), (4, 3)]
    for shape in shapes:
        _leaks(mine, random.integers(-9, 9, shape).astype(np.float32), tried, 0, shape[0])
    _leaks(mine, random.integers(-9, 9, (4, 3)).astype(np.float32), tried, 1, 3)
    _leaks(mine, random.normal(size=LONG).astype(np.float32), compiled, 0, LONG[0])
    _gradient(mine, gradient)
    return f"{len(shapes) + 2} tables, and its gradient"


def _with_imports(text: str) -> str:
    """The text as its operator runs it: with imports, where it needs some."""
    try:
        made = operator("leaky", text)(jt.array([[0.0]]), shape=(1, 1), dtype="float32")
    except JtError as error:
        raise RefusedError(str(error)) from error
    return str(getattr(made.node.op, "text"))  # noqa: B009 - of a kernel written by hand


def leaky_mean(x: Any, keep: float = 0.9) -> Any:
    """What exercise 6 asks for, in NumPy: a mean along each row that forgets a tenth of itself at each step."""
    out = np.array(x, np.float64) * (1 - keep)
    for before, now in pairwise(range(x.shape[1])):
        out[:, now] += keep * out[:, before]
    return out


def _leaks(text: str, x: Any, run: Callable[..., Any], lo: int, hi: int) -> None:
    """Run a text on the rows from lo to hi; RefusedError names the first number that is wrong."""
    out = np.full(x.shape, np.nan, np.float32)
    seen = run(text, lo, hi, [x, out])
    right = leaky_mean(x)
    if run is tried and not seen.writes.total():
        if not seen.reads.total():
            raise NotDoneError
        raise RefusedError("it writes nothing into out")
    others = np.delete(out, slice(lo, hi), 0)
    if not np.isnan(others).all():
        raise RefusedError(
            f"asked for the rows from {lo} to {hi - 1} of {len(x)}, it also writes others: threads share the rows. "
            f"The outer loop is `for row in range(lo, hi)`"
        )
    wrong = ~np.isclose(out, right, NEAR, NEAR)
    wrong[:lo], wrong[hi:] = False, False
    if wrong.any():
        row, k = map(int, np.argwhere(wrong)[0])
        raise RefusedError(_why_wrong(x, out, right, row, k) + (_told(seen) if run is tried else ""))


def _why_wrong(x: Any, out: Any, right: Any, row: int, k: int) -> str:
    rows = ", ".join(f"{v:g}" for v in x[row, : k + 1][-6:])
    told = f"of a row {rows}, out[{row}, {k}] is {out[row, k]:.4g}, and should be {right[row, k]:.4g}"
    if np.isnan(out[row, k]):
        return f"{told}: nobody wrote it, or it was made of something that nobody wrote. Is every k of a row done?"
    if row and np.allclose(out[row], right[0], NEAR, NEAR):
        return f"{told}: these are the numbers of row 0"
    if row and np.isclose(out[row, k], right[row, k] + 0.9 ** (k + 1) * out[row - 1, -1], NEAR, NEAR):
        return f"{told}: the mean of the row before is still in it. Each row begins with 0"
    if k == 0:
        return f"{told}: before the first number the mean is 0, so it is a tenth of that number"
    return f"{told}: 0.9 times the mean before, and 0.1 times the number"


def _gradient(text: str, gradient: Callable[..., Any] | None) -> None:
    """Compare the rule with the transpose of what the text computes."""
    if gradient is None:
        raise NotDoneError("the numbers are right; its gradient is None")
    random = np.random.default_rng(5)
    x, dout = (random.integers(-9, 9, (3, 5)).astype(np.float32) for _ in range(2))
    right = leaky_mean(dout[:, ::-1])[:, ::-1]
    with jt.flag_scope(backend="python"):  # what is wrong in it stops with an error, and takes nothing with it
        given = jt.array(x)
        made = operator("leaky", text, [gradient])
        try:
            out = made(given, shape=x.shape, dtype=given.dtype, span=3)
            answer = ask(gradient, out, jt.array(dout), given, case="out, dout, x")
            if not isinstance(answer, jt.Var):
                raise RefusedError(f"the gradient is a Var, made of Vars, not {short(type(answer))}")
            if answer.shape != x.shape:
                raise RefusedError(f"the gradient has the shape of x, {x.shape}; yours has {answer.shape}")
            found = answer.numpy()
            whole = jt.grad((out * jt.array(dout)).sum(), given).numpy()
        except NotDoneError as none:
            missing = ": is a `return` missing?" if str(none) else ""
            raise NotDoneError(f"the numbers are right; the gradient returns None{missing}") from none
        except JtError as error:
            raise RefusedError(f"the gradient stopped with {type(error).__name__}: {error}") from error
    for numbers in (found, whole):
        if not np.allclose(numbers, right, NEAR, NEAR):
            raise RefusedError(_why_no_gradient(dout, found, right))


def _why_no_gradient(dout: Any, found: Any, right: Any) -> str:
    first = (", ".join(f"{v:.3g}" for v in numbers[0]) for numbers in (dout, found, right))
    told = "for dout[0] = [{}], dx[0] is [{}], and should be [{}]".format(*first)
    turned = dout[:, ::-1]
    slips = {
        "x[k] also reaches all that come after out[k], through the mean": dout * 0.1,
        "no number reaches those before it: dx[k] is made of dout[k] and later ones. Walk from behind": leaky_mean(
            dout
        ),
        "dout was turned, and the result was not turned back": leaky_mean(turned),
        "it was turned back, and dout was not turned": leaky_mean(dout)[:, ::-1],
        "the tenth is missing: x[k] goes into out[k] by a tenth": right * 10,
    }
    why = next((words for words, slip in slips.items() if np.allclose(found, slip, NEAR, NEAR)), "")
    return f"{told}{': ' * bool(why)}{why}"
