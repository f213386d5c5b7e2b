"""Checks of notebook 06: each takes a learner's answer and says whether it is right; verdict.py knows how.

What a function reads is counted, on matrices that write it down (memory.py), so no verdict but one depends on a clock.
That one, `check_fast`, asks for ten times where its reference is above twenty, and does not judge where the machine is
too busy to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from jt_exercises.matmul.memory import Watched, watch, wrong_element
from jt_exercises.matmul.orders import ORDERS, ikj
from jt_exercises.matmul.trial import race
from jt_exercises.roofline.worlds import World
from jt_exercises.verdict import NotDoneError, RefusedError, ask, exercise

N, WIDTH, LINES, TILE = 24, 8, 24, 8  # of the simulated cache: lines of 8 numbers, room for 24 lines
GAIN, SIZE = 10, 512  # times as fast as ijk, for matrices of that size
CALM = (0.8, 1.25)  # the same kernel against itself; outside, the machine is too busy to tell


@exercise("1 the innermost loop")
def check_order(answer: Sequence[str | None] | None) -> str:
    """Compare a ranking of innermost loops, best first, with the misses of a simulated cache."""
    if answer is None or not any(answer):
        raise NotDoneError
    if sorted(map(str, answer)) != sorted(ORDERS):
        raise RefusedError(f"the answer holds 'i', 'j' and 'k', each once, not {list(answer)}")
    misses = {loop: watch(order, N, N, N).misses(WIDTH, LINES) for loop, order in ORDERS.items()}
    right = sorted(misses, key=misses.__getitem__)
    if list(answer) != right:
        where = next(k for k, loop in enumerate(answer) if loop != right[k])
        mine, better = answer[where], right[where]
        reasons = {
            "j": "with j innermost, b and c go along their rows, and a stands still",
            "k": "with k innermost, a goes along its row, b down a column, and c stands still",
            "i": "with i innermost, a and c both go down a column: a new line each time",
        }
        raise RefusedError(
            f"{better} is better innermost than {mine}: {misses[str(better)]:,} misses, not {misses[str(mine)]:,}; "
            f"{reasons[str(mine)]}"
        )
    return ", ".join(f"{loop} innermost: {misses[loop]:,} misses" for loop in right)


@exercise("2 tiles")
def check_tiled(tiled: Callable[..., Any]) -> str:
    """Hold a tiled product to a @ b, and to half of the misses of ikj."""
    seen = _right(tiled, N, N, N, TILE)
    plain, mine = (w.misses(WIDTH, LINES) for w in (watch(ikj, N, N, N), seen))
    if mine > plain / 2:
        raise RefusedError(
            f"right numbers, but {mine:,} misses, and without tiles ikj has {plain:,}. Each of i, j and k goes through "
            f"its tile, {TILE} numbers, before any goes on to the next: the three loops over tiles are outermost"
        )
    return f"{mine:,} misses instead of {plain:,}"


@exercise("3 the edges")
def check_edges(tiled: Callable[..., Any]) -> str:
    """Hold the same function to sizes that are no multiples of the tile."""
    _right(tiled, TILE, TILE, TILE, 4)
    cases = [(1, 1, 1, 4), (5, 4, 4, 4), (4, 5, 4, 4), (4, 4, 5, 4), (7, 9, 10, 4), (3, 2, 5, 8), (6, 5, 4, 1)]
    for *shape, tile in cases:
        _right(tiled, *shape, tile, begun=True)
    return f"{len(cases)} shapes"


@exercise("4 sixteen sums in registers")
def check_blocked(blocked: Callable[..., Any]) -> str:
    """Count the numbers that are read for each multiply-add: eight for sixteen, and c once."""
    for shape in ((4, 4, 4), (8, 12, 16)):
        seen = _right(blocked, *shape)
    done = int(np.prod(shape))
    loads = sum(name != "c" for name, _, _ in seen.log) / done
    stores = seen.writes / (shape[0] * shape[2])
    if loads > 0.5:
        raise RefusedError(
            f"right numbers, but {loads:.2g} numbers of a and b are read for each multiply-add, and 0.5 would do: read "
            f"4 of a and 4 of b, then do all 16 products of them"
        )
    if stores > 1 or seen.reads - loads * done > done / shape[1]:
        raise RefusedError(
            f"right numbers, but each number of c is written {stores:.3g} times: keep the 16 sums in variables, and "
            f"write them when the loop over k is over"
        )
    return f"{loads:g} reads for each multiply-add, where ijk has 2"


@exercise("5 ten times as fast")
def check_fast(fast: Callable[..., Any]) -> str:
    """Compile a product, compare it with a @ b, and ask for ten times the speed of ijk."""
    _right(fast, 16, 16, 16)  # as plain Python: loops only, nothing outside
    found = race(getattr(fast, "py_func", fast), SIZE, GAIN)
    gain = found.gain
    if gain < GAIN and not CALM[0] < found.again < CALM[1]:
        raise NotDoneError(f"the machine is too busy to tell ({found.again:.2f} against itself); run it again")
    if gain < GAIN:
        raise RefusedError(f"{gain:.1f} times as fast as ijk; {GAIN} are asked for. {_advice(fast)}")
    return f"{gain:.0f} times as fast as ijk"


def _advice(fast: Callable[..., Any]) -> str:
    """What to look at, by what the function reads and writes one after the other."""
    log = watch(fast, 16, 16, 16).log
    of_b = [place for name, place, _ in log if name == "b"]
    along = sum(after == before + 1 for before, after in pairwise(of_b)) / len(of_b)
    if along < 0.5:
        return "The innermost loop should go along rows of b and c: then a vector instruction does 8 or 16 at once"
    return (
        "It goes along rows, but perhaps not in vectors: numba looks for negative indices in `range(j0, j1)`. Take "
        "slices first, `row = c[i, j0:j1]`, and loop over `range(len(row))`"
    )


@exercise("6 a tuner")
def check_tune(tune: Callable[..., Any]) -> str:
    """Have the best of some candidates found, where runs are disturbed, and some candidates cannot run."""
    tried = 0
    for seed in range(12):
        world = World(seed, disturbed=0.5 if seed % 2 else 0.0, drift=0.0 if seed % 2 else 0.01)
        times = {size: 1e-3 * (1 + 0.12 * abs(k - (seed % 5))) for k, size in enumerate((16, 32, 64, 128, 256))}
        works = {size: world.work(seconds) for size, seconds in times.items()}
        candidates = [*times, 512] if seed % 3 else [512, *times]
        calls: list[int] = []
        found = ask(tune, candidates, _runner(works, calls), world.clock, case=f"{candidates}, run, clock")
        tried += 1
        best = min(times, key=times.__getitem__)
        if found not in candidates:
            raise RefusedError(f"tune returns one of {candidates}, not {found!r}")
        if not calls:
            raise RefusedError(f"{found} was chosen, and `run` was never called: measure, and then choose")
        if found not in times:
            raise RefusedError(f"{found} cannot run: run({found}) raises ValueError, and that is no time")
        if found != best:
            raise RefusedError(_why_not(found, best, times, calls, seed))
        if len(calls) > 100 * len(candidates):
            raise RefusedError(f"it ran {len(calls)} times: a tuner must not take longer than it saves. 20 rounds do")
    return f"{tried} machines"


def _runner(works: dict[int, Callable[[], None]], calls: list[int]) -> Callable[[int], None]:
    def run(size: int) -> None:
        calls.append(size)
        if size not in works:
            raise ValueError(f"a tile of {size} does not fit")
        works[size]()

    return run


def _why_not(found: int, best: int, times: dict[int, float], calls: list[int], seed: int) -> str:
    rounds = calls.count(best)
    truth = f"{found} was chosen, which takes {times[found] / times[best] - 1:.0%} longer than {best}"
    if rounds < 5:
        each = {0: "None ran", 1: "Each ran once"}.get(rounds, f"Each ran {rounds} times")
        return f"{truth}. {each}, and the first run of each compiles, for a longer or a shorter time"
    if seed % 2 == 0:
        return f"{truth}. This machine becomes slower with each run: let the candidates take turns"
    return f"{truth}. Half of the runs were disturbed: compare the least time of each"


# what several checks need


def _right(function: Callable[..., Any], *case: int, begun: bool = False) -> Watched:
    """Watch function(a, b, c, *more) on a of (n, m) and b of (m, p); c has to be their product."""
    seen = watch(function, *case)
    if not seen.writes and seen.reads:
        raise RefusedError("it reads, and writes nothing into c: what counts is what c holds, not what is returned")
    if not seen.writes and not begun:
        raise NotDoneError
    if not seen.product:
        raise RefusedError(wrong_element(seen) + (f", with tiles of {case[3]}" if case[3:] else ""))
    return seen
