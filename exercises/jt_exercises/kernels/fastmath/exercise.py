"""04.3: what may the compiler do to our kernels?"""

from __future__ import annotations

from typing import Any

from jt_exercises.exercise import exercise
from jt_exercises.kernels.guesses import compare

REWRITES: dict[str, tuple[bool, str]] = {
    "(a + b) + c  ->  a + (b + c)": (True, "that is `reassoc`: without it no sum could be taken eight by eight"),
    "a * b + c  ->  one instruction": (True, "that is `contract`: one rounding instead of two"),
    "a - a  ->  0": (False, "inf - inf is nan, and a kernel that hides it would hide your mistake"),
    "isnan(a)  ->  False": (False, "`nnan` would promise that no number is nan, and nobody can promise that"),
    "a + 0  ->  a": (False, "-0.0 + 0 is 0.0: `nsz` would allow it, and we do not ask for it"),
    "a / b  ->  a * (1 / b)": (False, "it rounds twice: `arcp` would allow it, and we do not ask for it"),
}


@exercise(
    "04.3",
    "what the compiler may do",
    hints=(
        """The two permissions are named above: which lines change the order of sums and products, and which rounds
        once instead of twice? Each of the others is a promise about numbers.""",
        """Look for a number that breaks the promise, and try it in a cell of your own: `a = np.float32(np.inf); a - a`,
        then `np.float32(-0.0) + 0`, and `np.float32(5) / 3` beside `np.float32(5) * (1 / np.float32(3))`.""",
    ),
    why="Speed bought with such a promise is paid for when nan comes, and nobody sees it.",
)
def fastmath(answer: Any) -> str:
    """Compare guesses with the flags that kernels are compiled with."""

    def why(text: str, _: bool) -> str:
        allowed, reason = REWRITES[text]
        return f"`{text}` is {'' if allowed else 'not '}allowed: {reason}"

    return compare(answer, {text: allowed for text, (allowed, _) in REWRITES.items()}, "True or False", why)
