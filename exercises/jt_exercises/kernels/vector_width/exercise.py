"""04.5: with how many numbers does an instruction compute?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jt_edu as jt
from jt_edu.codegen.emit_python import Source
from jt_edu.lens.kernel_edit import find
from jt_exercises.exercise import exercise
from jt_exercises.kernels.cases import zeros
from jt_exercises.kernels.machine import inner_loop
from jt_exercises.seed import random
from jt_exercises.verdict import NotDoneError, RefusedError, ask, short

INSTRUCTIONS: dict[str, tuple[int, str]] = {  # with how many numbers each computes, and why
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
    "vinsertps $16, 4(%rdi), %xmm5, %xmm5": (0, "an `insert` computes nothing: it puts one number beside others"),
    "vextractps $1, %xmm4, 4(%rax,%r12,4)": (0, "an `extract` computes nothing: it takes one number out"),
    "vgatherqps (,%zmm11), %ymm14 {%k3}": (0, "a `gather` computes nothing: it collects numbers from anywhere"),
    "vscatterqps %ymm11, (,%zmm12) {%k1}": (0, "a `scatter` computes nothing: it stores numbers anywhere"),
    "vxorps %xmm11, %xmm11, %xmm11": (0, "a register `xor` itself is 0: that is how it is cleared"),
    "vpaddq %zmm13, %zmm8, %zmm14": (0, "it adds whole numbers (addresses, mostly): no ps, pd, ss or sd at its end"),
    "addq $64, %rbx": (0, "it counts the loop"),
    ".LBB0_13:": (0, "that is a label, where a jump may go"),
}
BITS = {"zmm": 512, "ymm": 256, "xmm": 128}
ENDINGS = {"ps": 32, "pd": 64, "ss": 32, "sd": 64}  # bits of a number
DRAWN = 12  # more instructions, with other registers


@exercise(
    "04.5",
    "numbers at once",
    points=2,
    hints=(
        "Look at the name first, `name = instruction.split()[0]`: does it hold one of the words that compute nothing?",
        """Then look at `name[-2:]`. With `ss` and `sd` it is one number; with `ps` and `pd` it depends on "zmm", "ymm"
        or "xmm" in the instruction: its bits, divided by those of a number.""",
    ),
    why="How many numbers an instruction computes with is what a loop can gain; all else is moving them there.",
)
def vector_width(answer: Callable[..., Any]) -> str:
    """Compare how many numbers an instruction of x86 computes with, one by one."""
    known = [*((row, *told) for row, told in INSTRUCTIONS.items()), *map(_drawn, range(DRAWN))]
    for before, (row, right, why) in enumerate(known):
        try:
            found = ask(answer, row, name="at_once")
        except NotDoneError:
            if not before:
                raise
            found = None
        if np.asarray(found).dtype.kind not in "biuf" or np.ndim(found) or found != right:
            raise RefusedError(f"`{row}` computes with {right}, not with {short(found)}: {why}")
    return f"{len(known)} instructions.{_of_this_machine(answer)}"


def _of_this_machine(answer: Callable[..., Any]) -> str:
    """With how many numbers the loops of section 6 compute, as the learner's function says."""
    source, told = find(jt.explain(zeros(10_000) * 2 + 1).kernels[0]), ""
    for name, text in (("With", source.text), ("Without", source.text.replace("at(i0)", "i0"))):
        rows = [row for row in inner_loop(Source(text, source.parameters)) if not row.endswith(":")]
        many = sum(int(ask(answer, row, name="at_once")) for row in rows)
        told += f" {name} `at` the loop has {len(rows)} instructions, which compute with {many} numbers."
    return told


def _drawn(case: int) -> tuple[str, int, str]:
    """An instruction that computes, with registers that are drawn; with how many numbers, and why."""
    draw = random(case)
    name, ending = draw.choice(["add", "sub", "mul", "min"]), str(draw.choice(list(ENDINGS)))
    register = "xmm" if ending.startswith("s") else str(draw.choice(list(BITS)))
    row = f"v{name}{ending} " + ", ".join(f"%{register}{k}" for k in draw.integers(16, size=3))
    if ending.startswith("s"):
        return row, 1, f"`{ending}` is scalar: one number"
    return row, BITS[register] // ENDINGS[ending], f"{BITS[register]} bits, {ENDINGS[ending]} for each number"
