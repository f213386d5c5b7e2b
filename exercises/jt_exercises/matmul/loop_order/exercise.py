"""06.1: which of the three loops goes inside? Judged by the misses of a simulated cache."""

from __future__ import annotations

from typing import Any

from jt_exercises.exercise import exercise
from jt_exercises.matmul.memory import watch
from jt_exercises.matmul.orders import ORDERS
from jt_exercises.matmul.products import LINES, WIDTH, N
from jt_exercises.verdict import NotDoneError, RefusedError, short

REASONS = {
    "j": "with j innermost, b and c go along their rows, and a stands still",
    "k": "with k innermost, a goes along its row, b down a column, and c stands still",
    "i": "with i innermost, a and c both go down a column: a new line each time",
}


@exercise(
    "06.1",
    "the innermost loop",
    hints=(
        """For each loop, ask of each matrix: while only this index changes, does it stand still, go along a row, or
        down a column?""",
        "Down a column each number is on another line. Which loop goes down no column, and which down two?",
    ),
    why="The three orders do the same multiplications. All that differs is which numbers are near.",
)
def loop_order(answer: Any) -> str:
    """Compare a ranking of innermost loops, best first, with the misses of a simulated cache."""
    told = list(answer) if isinstance(answer, (list, tuple)) else [answer]
    if all(loop is None for loop in told):
        raise NotDoneError
    told = [str(loop) for loop in told]
    if sorted(told) != sorted(ORDERS):
        raise RefusedError(
            f"the answer is a list of 'i', 'j' and 'k', the best innermost loop first, not {short(answer)}"
        )
    misses = {loop: watch(order, N, N, N).misses(WIDTH, LINES) for loop, order in ORDERS.items()}
    right = sorted(misses, key=misses.__getitem__)
    for mine, better in zip(told, right, strict=True):
        if mine != better:
            raise RefusedError(
                f"{better} is better innermost than {mine}: {misses[better]:,} misses, not {misses[mine]:,}; "
                f"{REASONS[mine]}"
            )
    return ", ".join(f"{loop} innermost: {misses[loop]:,} misses" for loop in right)
