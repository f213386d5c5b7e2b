"""Checks of notebook 05: each takes a learner's answer and says whether it is right; verdict.py knows how.

What is measured is judged on simulated machines (worlds.py): there the truth is known, and no check depends on how busy
this one is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import product
from numbers import Real

import jt_edu as jt
from jt_exercises.roofline.worlds import World, cache_misses
from jt_exercises.verdict import NotDoneError, RefusedError, ask, exercise

CLOSE, NEARLY = 0.01, 0.1  # 0.083 is 1 / 12; 0.09 is not, but means it
SHORT = 0.9  # of the truth: not the time of a run
MOODS = ((0.0, 0.0), (0.01, 0.0), (-0.004, 0.0), (0.0, 0.4), (0.002, 0.4))  # (slower with each run, disturbed runs)
INTENSITIES = {  # operations, numbers read and written, bytes of a number
    "x + y": (1, 2, 1, 4),
    "x * 2": (1, 1, 1, 4),
    "x.sum()": (1, 1, 0, 4),
    "x + y, float64": (1, 2, 1, 8),
    "(x * 2 + 1) * x - 3, fused": (4, 1, 1, 4),
    "a @ b, 1200 by 1200": (2 * 1200, 2, 1, 4),
}


@exercise("1 operations per byte")
def check_intensity(answer: Mapping[str, float | None]) -> str:
    """Compare guessed intensities, by expression, and say which bytes were forgotten."""
    _all_there(answer)
    for text, (done, read, written, size) in INTENSITIES.items():
        mine, right = answer[text], done / (read + written) / size
        if mine is None or math.isclose(mine, right, rel_tol=CLOSE):
            continue
        slips = {
            "that is for each number, and a number has several bytes": right * size,
            "what is written also moves": done / (read * size),
            "only what is written is counted": done / (max(written, 1) * size),
            "that is bytes for each operation": 1 / right,
            "a multiplication and an addition are two operations": right / 2 if done > size else 0,
            f"a number has {size} bytes here": done / (read + written) / (12 - size),
        }
        why = next((w for w, slip in slips.items() if math.isclose(mine, slip, rel_tol=CLOSE)), "")
        if not why and math.isclose(mine, right, rel_tol=NEARLY):
            raise RefusedError(f"`{text}`: {mine:g} is nearly it, and rounded too far: write a fraction, such as 3 / 7")
        hint = f"{read:g} read and {written:g} written for {done:g} operation{'s' * (done > 1)}"
        raise RefusedError(f"`{text}` has not {mine:g} operations per byte: {why or f'numbers: {hint}'}")
    return f"{len(INTENSITIES)} expressions"


def _all_there(answer: Mapping[str, object]) -> None:
    if answer is None or all(value is None for value in answer.values()):
        raise NotDoneError
    missing = [text for text, value in answer.items() if value is None]
    if missing:
        raise RefusedError(f"`{missing[0]}` still has None")


@exercise("2 the roof")
def check_roof(roof: Callable[..., tuple[float, str]]) -> str:
    """Compare (operations per second, what limits them) with the two lines of the plot."""
    places = list(product((0.01, 0.25, 1.0, 7.0, 300.0), (1e10, 2e11), (5e9, 1e12)))
    places += [(0.5, 1e10, 5e9), (4.0, 2.5e11, 1e12)]  # the ridge itself, in numbers that no rounding moves
    for intensity, bandwidth, peak in places:
        answer = ask(roof, intensity, bandwidth, peak)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise RefusedError(f"the answer is a pair, such as (2e9, 'memory'), not {answer!r}")
        speed, bound = answer
        right = min(intensity * bandwidth, peak)
        where = f"roof({intensity:g}, {bandwidth:g}, {peak:g})"
        if not math.isclose(speed, right, rel_tol=1e-9):
            over = "more than the peak" if speed > peak else "more than memory delivers" if speed > right else "too low"
            raise RefusedError(f"{where} is {speed:g} operations per second, which is {over}: it should be {right:g}")
        limit = "memory" if intensity * bandwidth < peak else "arithmetic"
        if bound != limit and intensity * bandwidth == peak:
            raise RefusedError(f"{where} is at the ridge, where both take as long: say 'arithmetic', not {bound!r}")
        if bound != limit:
            raise RefusedError(f"{where} is limited by {limit}, not by {bound!r}: below the ridge, it is memory")
    return f"{len(places)} places"


@exercise("3 which fusion moves a dot")
def check_moves(expressions: Mapping[str, Callable[[], jt.Var]], answer: Mapping[str, float | None]) -> str:
    """Compare guessed factors with what `jt.explain` counts, fused and not."""
    _all_there(answer)
    for text, build in expressions.items():
        with jt.flag_scope(fuse=False):
            apart = jt.explain(build())
        fused = jt.explain(build())
        right, mine = (fused.flops / fused.bytes) / (apart.flops / apart.bytes), answer[text]
        if mine is not None and not math.isclose(mine, right, rel_tol=0.02):
            raise RefusedError(
                f"fusion moves `{text}` by {right:.3g}, not by {mine:g}: {len(apart.kernels)} kernel(s) move "
                f"{apart.bytes / 1e6:.3g} MB if not fused, {len(fused.kernels)} move {fused.bytes / 1e6:.3g} MB fused"
            )
    return f"{len(expressions)} expressions"


@exercise("4 an honest stopwatch")
def check_measure(measure: Callable[..., float]) -> str:
    """Have known times measured on machines that are disturbed, most of the time on some of them."""
    worlds = [(seed, share) for share in (0.0, 0.3, 0.7) for seed in range(10)]
    for seed, share in worlds:
        world = World(seed, share)
        right = 10.0 ** (seed % 4 - 3)
        found = ask(measure, world.work(right), world.clock, case="work, clock")
        if not isinstance(found, Real) or not math.isfinite(found):
            raise RefusedError(f"measure returns seconds, not {found!r}")
        if not 0.99 * right <= found <= 1.03 * right:
            raise RefusedError(_why_not(found / right, world.calls, share))
    return f"{len(worlds)} machines, within 3 %"


def _why_not(times: float, calls: int, share: float) -> str:
    found = f"where {share:.0%} of the runs are disturbed, your answer is {times:.3g} times the truth"
    if calls == 0:
        return f"{found}: `work` never ran"
    if times < SHORT:
        clock = "read the `clock` that you are given, before and after each run"
        return f"{found}, and no run took less than the truth: {clock}"
    if not share:
        return f"{found}. The first run compiles, and takes 20 to 60 times as long: do not count it"
    if calls < 10:
        return f"{found}, after {calls} runs: they may all have been disturbed"
    return f"{found}, after {calls} runs. A disturbance makes a run longer, never shorter: which of the runs had least?"


@exercise("5 the cliff")
def check_misses(misses: Callable[[int, int, int], int]) -> str:
    """Compare a formula with a simulated cache that forgets what was not used for longest."""
    sizes = [(n, cache, passes) for n in (1, 7, 8, 9, 16, 40) for cache in (8, 16) for passes in (1, 2, 5)]
    for lines, cache, passes in sizes:
        right = cache_misses([k for _ in range(passes) for k in range(lines)], cache)
        answer = ask(misses, lines, cache, passes)
        if answer != right:
            fits = "It fits: after the first pass all of it is there" if lines <= cache else (
                "It does not fit: when a line is needed again, it is the one that was thrown out last pass"
            )  # fmt: skip
            raise RefusedError(
                f"{lines} lines, read {passes} times, through a cache of {cache}: {right} misses, not {answer}. {fits}"
            )
    return f"{len(sizes)} cases, as a simulated cache counts them"


@exercise("6 ten percent slower?")
def check_slower(is_slower: Callable[..., bool]) -> str:
    """Have two pieces of work compared on machines that are disturbed, and become slower or faster meanwhile."""
    tried = 0
    for true, (drift, share), seed in product((1.0, 1.05, 1.15, 1.5, 0.8), MOODS, range(4)):
        world = World(seed, share, drift)
        answer = ask(is_slower, world.work(1e-3), world.work(1e-3 * true), world.clock, case="old, new, clock")
        tried += 1
        if bool(answer) != (true > 1.1):
            raise RefusedError(_misjudged(true, drift, share, world.calls, bool(answer)))
    return f"{tried} comparisons"


def _misjudged(true: float, drift: float, share: float, calls: int, answer: bool) -> str:
    alike = "as fast as the old one" if true == 1 else f"{abs(true - 1):.0%} {'slower' if true > 1 else 'faster'}"
    told = f"the new work is {alike}, and you answer {answer} after {calls} runs"
    if calls < 20:
        each = "once" if calls < 4 else f"{calls // 2} times"
        return f"{told}. Each ran {each}, and the first run compiles, for a longer or a shorter time: that says little"
    if drift and not share:
        way = "slower" if drift > 0 else "faster"
        return f"{told}. This machine becomes {way} with each run: let old and new take turns, so that it hits both"
    if share:
        return f"{told}. {share:.0%} of the runs were disturbed: compare the least of each, not the means"
    return (
        f"{told}. Nothing was disturbed here: is the border at 1.1 times the old time, and is the first run left out?"
    )
