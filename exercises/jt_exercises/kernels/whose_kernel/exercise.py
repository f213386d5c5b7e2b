"""04.1: which expression did a kernel come from?"""

from __future__ import annotations

from typing import Any

from jt_exercises.exercise import exercise
from jt_exercises.kernels.guesses import compare

WHOSE = {  # the letter of its kernel, and by what one tells it
    "x * 2 + 1": ("D", "has one loop: each element is read where it is written, so both axes are walked as one"),
    "x + row": ("B", "reads two arrays, one of them with the inner counter alone"),
    "x.transpose(0, 1) * 2": ("F", "reads with the two counters exchanged"),
    "x[:, ::2] * 2": ("A", "reads at twice the inner counter"),
    "x.sum(1)": ("E", "collects one sum, and stores it when the loop along a row is over"),
    "x.sum(0)": ("C", "collects a sum for each column, all at once, in memory of its own"),
}


@exercise(
    "04.1",
    "whose kernel is it?",
    hints=(
        """Begin with what can be counted. How many arrays are read: two `a`s mean two arrays in the expression. Which
        kernels collect a sum (`s0` or `acc0`)? That leaves three.""",
        """Of those three, compare the index of `a0` with that of `out0`: the same, the counters exchanged, or one of
        them times 2?""",
        "Of the two sums, ask which counter `out0` has: one sum for each row, or one for each column?",
    ),
    why="What a kernel reads, and where, says what it computes: you can read the code that runs instead of guessing.",
)
def whose_kernel(answer: Any) -> str:
    """Compare letters of kernels, by expression, with what the framework writes for it."""
    tells = dict(WHOSE.values())

    def why(text: str, letter: str) -> str:
        return f"`{text}` is not {letter}. That kernel {tells[letter]}. Look for one that {WHOSE[text][1]}"

    right = {text: letter for text, (letter, _) in WHOSE.items()}
    return compare(answer, right, f"a letter from A to {max(tells)}", why)
