"""13b.5: gradients that share a message."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask, part, short

Buckets = list[list[int]]


@exercise(
    "13b.5",
    "buckets",
    points=2,
    hints=(
        "One list, begun anew whenever its bytes have reached the cap.",
        "A gradient goes into the open bucket before you ask whether that is full: it may hold more than `cap`.",
        "After the loop, a bucket that is not full leaves, too; an empty one does not.",
    ),
    why="A message has its price, and one large message comes too late to hide behind the backward pass.",
)
def buckets(answer: Callable[..., Any]) -> str:
    """Compare for sizes that were chosen, and drawn."""
    cases = {
        "two fill a bucket": ([3, 3, 3, 10, 1, 1], 6),
        "some fill it alone": ([6, 1, 5, 6], 6),
        "it is never full": ([1, 1, 1], 6),
        "no gradient": ([], 6),
        "one gradient": ([4], 6),
    }
    for k in range(4):
        draw = random(k)
        cases[f"drawn sizes {k + 1}"] = (draw.integers(1, 20, 15).tolist(), int(draw.integers(1, 40)))
    for name, (sizes, cap) in cases.items():
        with part(name):
            found, right = _numbers(ask(answer, sizes, cap, name="buckets")), _filled(sizes, cap)
            if found != right:
                known = (words for wrong, words in _mistakes(sizes, cap) if found == wrong)
                raise RefusedError(
                    f"of {sizes} with a cap of {cap} yours makes {found}, and it should be {right}: "
                    + next(known, "each number once, in order, until the cap is reached")
                )
    return f"{len(cases)} lists of gradients, and each bucket leaves as soon as it is full"


def _numbers(found: Any) -> Buckets:
    """RefusedError where it is no list of lists of numbers."""
    try:
        groups = [[operator.index(number) for number in group] for group in found]
    except TypeError:
        raise RefusedError(
            f"a list for each bucket, with numbers of gradients, is asked for, not {short(found)}"
        ) from None
    return groups


def _filled(sizes: list[int], cap: int, full: Callable[[int, int], bool] = lambda held, cap: held >= cap) -> Buckets:
    found: Buckets = [[]]
    held = 0
    for number, size in enumerate(sizes):
        found[-1].append(number)
        held += size
        if full(held, cap):
            found.append([])
            held = 0
    return [group for group in found if group]


def _mistakes(sizes: list[int], cap: int) -> Iterator[tuple[Buckets, str]]:
    """What known mistakes make, and what is said of them."""
    right = _filled(sizes, cap)
    yield [*right, []], "an empty bucket need not leave"
    yield right[:-1], "the last bucket leaves at the end, even where it is not full"
    yield [[number] for number in range(len(sizes))], "each gradient has a message of its own"
    yield [list(range(len(sizes)))], "all share one message, and it leaves last"
    yield _filled(sizes, cap, lambda held, cap: held > cap), "a bucket with exactly `cap` bytes is full, too"
    yield (
        [[sizes[number] for number in group] for group in right],
        "a bucket holds numbers of gradients, not their sizes",
    )
    yield _before(sizes, cap), "a bucket leaves when it has `cap` bytes or more; yours leaves before it has them"


def _before(sizes: list[int], cap: int) -> Buckets:
    """Buckets that never hold more than the cap."""
    found: Buckets = []
    held = 0
    for number, size in enumerate(sizes):
        if not found or held + size > cap:
            found.append([])
            held = 0
        found[-1].append(number)
        held += size
    return found
