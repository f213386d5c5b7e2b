"""Checks of notebook 07: each takes a learner's answer and says whether it is right; verdict.py knows how."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import fields, replace
from itertools import product
from typing import Any

import numpy as np

import jt_edu as jt
from jt_edu.ir.meta_ops import Reindex
from jt_exercises.convolution import problems
from jt_exercises.convolution.counted import Count, Number, fraction
from jt_exercises.convolution.problems import ALGORITHMS, Problem, fastest, runner, seconds, suits
from jt_exercises.convolution.transforms import Transform, winograd
from jt_exercises.roofline.worlds import World
from jt_exercises.verdict import NotDoneError, RefusedError, ask, exercise

CLEAR = 1.3  # times as slow: a choice that is not to be explained by noise
HUGE = 1e9  # a pixel whose rounding is seen wherever it goes


@exercise("1 im2col")
def check_columns(columns: Callable[..., jt.Var]) -> str:
    """Compare (n, c, kh, kw, oh, ow) windows with those that slicing finds; one reindex makes them."""
    cases = [
        ((1, 1, 4, 4), 3, 3, 1, 0),
        ((2, 3, 5, 6), 3, 2, 1, 0),
        ((1, 2, 7, 7), 3, 3, 2, 0),
        ((2, 1, 4, 5), 3, 3, 1, 1),
    ]
    cases += [((1, 1, 6, 5), 2, 3, 2, 2)]
    for shape, kh, kw, stride, padding in cases:
        numbers = np.arange(1.0, 1 + math.prod(shape), dtype=np.float32).reshape(shape)
        image = jt.array(numbers)
        case = f"image of {shape}, kh={kh}, kw={kw}, stride={stride}, padding={padding}"
        found = ask(columns, image, kh, kw, stride, padding, case=case)
        right = _windows(numbers, kh, kw, stride, padding)
        if not isinstance(found, jt.Var):
            raise RefusedError(f"columns is a Var, one reindex of the image, and not of type {type(found).__name__}")
        if found.shape != right.shape:
            raise RefusedError(f"columns({case}) has shape {found.shape}, and should have {right.shape}")
        if not isinstance(found.node.op, Reindex) or found.node.inputs[0] is not image.node:
            raise RefusedError("columns is one reindex of the image, and nothing else")
        if not np.array_equal(found.numpy(), right):
            at = tuple(int(k) for k in np.argwhere(found.numpy() != right)[0])
            i, j, y, x = at[2:]
            raise RefusedError(
                f"columns({case}): element {at} is {found.numpy()[at]:g}, and should be {right[at]:g}: tap ({i}, {j}) "
                f"of ({y}, {x}) sees row {y} * {stride} + {i} - {padding}, column {x} * {stride} + {j} - {padding}"
            )
    return f"{len(cases)} shapes, no number moved"


def _windows(numbers: np.ndarray, kh: int, kw: int, stride: int, padding: int) -> np.ndarray:
    padded = np.pad(numbers, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    found = np.lib.stride_tricks.sliding_window_view(padded, (kh, kw), axis=(2, 3))[:, :, ::stride, ::stride]
    return found.transpose(0, 1, 4, 5, 2, 3)


@exercise("2 Winograd")
def check_winograd(one: Callable[..., Any], two: Callable[..., Any]) -> str:
    """Count products of two numbers: 4 instead of 6 for two outputs, 16 instead of 36 for two by two."""
    for d, g in [
        ([1, 2, 3, 4], [1, 0, 0]),
        ([1, 2, 3, 4], [0, 0, 1]),
        ([5, -3, 2, 7], [2, -1, 4]),
        ([0, 1, 0, 0], [3, 5, 7]),
    ]:
        right = [sum(d[k + i] * g[i] for i in range(3)) for k in range(2)]
        _count(one, d, g, right, 4, 6)
    random = np.random.default_rng(7)
    for _ in range(3):
        d, g = random.integers(-5, 6, (4, 4)).tolist(), random.integers(-3, 4, (3, 3)).tolist()
        square = [
            [sum(d[y + i][x + j] * g[i][j] for i in range(3) for j in range(3)) for x in range(2)] for y in range(2)
        ]
        _count(two, d, g, square, 16, 36)
    return "4 products instead of 6, and 16 instead of 36"


def _count(function: Callable[..., Any], d: list[Any], g: list[Any], right: list[Any], most: int, plain: int) -> None:
    count = Count()
    name = getattr(function, "__name__", "it")
    found = ask(function, count.numbers(d), count.numbers(g), case=f"d={d}, g={g}", name=name)
    mine = list(_flat(found))
    if len(mine) != len(list(_flat(right))):
        raise RefusedError(f"{name}(d={d}, g={g}) returns {found!r}, and {right} is what there should be")
    if [fraction(v) if isinstance(v, Number) else v for v in mine] != list(_flat(right)):
        raise RefusedError(f"{name}(d={d}, g={g}) is {found!r}, and should be {right}")
    if not all(isinstance(v, Number) for v in mine):
        raise RefusedError(f"{name} returns plain numbers: compute with those of d and g, which are counted")
    if count.products > most:
        raise RefusedError(f"{name}: right, with {count.products} products of two numbers; {most} will do, of {plain}")


def _flat(found: Any) -> Iterable[Any]:
    if isinstance(found, (list, tuple, np.ndarray)):
        for part in found:
            yield from _flat(part)
    else:
        yield found


@exercise("3 by FFT")
def check_fft(fft_conv: Callable[..., Any]) -> str:
    """Compare with sums over windows, and tell a wrap-around from a flipped window."""
    random = np.random.default_rng(3)
    cases = [
        ((1, 4), (1, 2)),
        ((4, 1), (3, 1)),
        ((8, 8), (3, 3)),
        ((7, 10), (2, 5)),
        ((5, 5), (5, 5)),
        ((6, 9), (1, 1)),
    ]
    for size, taps in cases:
        image, window = random.normal(size=size), random.normal(size=taps)
        right = _correlate(image, window)
        found = np.asarray(ask(fft_conv, image, window, case=f"image of {size}, window of {taps}"))
        if found.shape != right.shape:
            raise RefusedError(
                f"for an image of {size} and a window of {taps} there are {right.shape} places, not {found.shape}"
            )
        if np.iscomplexobj(found):
            raise RefusedError("the answer is complex: two real arrays give a real one, take `.real`, or irfft2")
        if not np.allclose(found, right, atol=1e-9):
            raise RefusedError(f"for an image of {size} and a window of {taps}: {_slip(image, window, found)}")
    if _by_windows(fft_conv):
        raise RefusedError(
            f"right numbers, but no transform: with pixels of some {HUGE:g} on the diagonal, those places stay exact "
            f"whose window sees none of them. In a product of transforms each number is made of all pixels: multiply "
            f"the `np.fft.fft2` of both"
        )
    return f"{len(cases)} sizes"


def _by_windows(fft_conv: Callable[..., Any]) -> bool:
    """Whether each place is summed for itself: then huge pixels cost no digits where the window sees none."""
    random = np.random.default_rng(5)
    image, window = random.normal(size=(12, 12)), random.normal(size=(3, 3))
    image += np.diag(HUGE * random.uniform(1, 2, 12))  # one in each row and column: a transform of rows is one, too
    found = np.asarray(ask(fft_conv, image, window, case="image of (12, 12), huge on the diagonal; window of (3, 3)"))
    right = _correlate(image, window)
    unseen = abs(np.subtract.outer(range(10), range(10))) > 2  # the diagonal is outside these windows
    return bool(abs(found - right)[unseen].max() < 1e-12)


def _correlate(image: np.ndarray, window: np.ndarray) -> np.ndarray:
    views = np.lib.stride_tricks.sliding_window_view(image, window.shape)
    return np.einsum("yxij,ij->yx", views, window)


def _slip(image: np.ndarray, window: np.ndarray, found: np.ndarray) -> str:
    """What the numbers are instead."""
    if np.allclose(found, _correlate(image, window[::-1, ::-1]), atol=1e-9):
        return "the window is upside down: a product of FFTs flips it; take the conjugate of its FFT, or flip it before"
    slid, flipped = np.fft.fft2(image), np.fft.fft2(window, image.shape)
    if _is_part_of(found, np.fft.ifft2(slid * np.conj(flipped)).real, window):
        return "the places are shifted: with the conjugate the first place is (0, 0); and cut off what wraps around"
    if _is_part_of(found, np.fft.ifft2(slid * flipped).real, window):
        return (
            "the window is upside down: a product of FFTs flips it; take the conjugate of its FFT. The first places "
            "are those where the window hangs over the edge; with the conjugate the first place is (0, 0)"
        )
    return "wrong numbers. A product of FFTs goes round: what runs out at the end comes in at the beginning"


def _is_part_of(found: np.ndarray, around: np.ndarray, window: np.ndarray) -> bool:
    """Whether these places are cut out of what goes round, begun at any place of a window."""
    rolls = (np.roll(around, (-down, -right), (0, 1)) for down, right in np.ndindex(*window.shape))
    return any(np.allclose(found, roll[: found.shape[0], : found.shape[1]], atol=1e-9) for roll in rolls)


@exercise("4 digits lost in float16")
def check_half(half: Callable[..., Any]) -> str:
    """Compare F(2, 3), F(4, 3) and F(6, 3), every step of them rounded to float16, with our own rounding."""
    random = np.random.default_rng(16)
    for outputs in (2, 4, 6):
        t = winograd(outputs)
        for _ in range(5):
            d, g = random.normal(size=outputs + 2), random.normal(size=3)
            found = np.asarray(ask(half, t, d, g, case=f"F({outputs}, 3), d, g"))
            right, exact = in_half(t, d, g), _correlate(d[None], g[None])[0]
            if found.shape != right.shape:
                raise RefusedError(f"F({outputs}, 3) has {outputs} outputs, not {found.shape}")
            if not np.array_equal(found.astype(float), right.astype(float)):
                away, mine = (abs(v - exact).max() / abs(exact).max() for v in (right, found.astype(float)))
                where = "more exact than float16 is: cast each of t.G @ g, t.BT @ d, their product, and the outputs"
                where = where if mine < away / 2 else "not what rounding after each step gives"
                if np.array_equal(found.astype(float), in_half(t, d, g, inputs=False).astype(float)):
                    where = "where only the steps are rounded: d and g come in float64, so cast the two as well"
                raise RefusedError(
                    f"F({outputs}, 3) is wrong by {mine:.1e} of the largest output, {where} ({away:.1e})"
                )
    return "each step rounded, in three transforms"


def in_half(t: Transform, d: np.ndarray, g: np.ndarray, inputs: bool = True) -> np.ndarray:
    """F(m, 3), whose inputs and whose every step are rounded to float16; sums inside a step are exact."""
    d, g = (d.astype(np.float16), g.astype(np.float16)) if inputs else (d, g)
    taps = (t.G @ g).astype(np.float16)
    turned = (t.BT @ d).astype(np.float16)
    return (t.AT @ (taps * turned).astype(np.float16)).astype(np.float16)


@exercise("5 a tuner that remembers")
def check_choose(choose: Callable[..., str]) -> str:
    """Have algorithms chosen for problems that differ in one size each; what is known must not run again."""
    base, tried = Problem(), 0
    others = [
        replace(base, **change)
        for change in ({"kernel": 7}, {"stride": 2}, {"channels": 4}, {"dtype": "float64"}, {"size": 7}, {"images": 8})
    ]
    small = Problem(size=7)
    others += [replace(small, dtype="float64"), replace(small, images=8)]
    for seed in range(3):
        world, calls, table = (
            World(seed, disturbed=0.3 * (seed > 0)),
            list[tuple[str, Problem]](),
            dict[Hashable, str](),
        )
        run = runner(world, calls)
        for p in [base, *others, base, *others]:
            before, known = len(calls), p in {q for _, q in calls}
            found = ask(choose, p, ALGORITHMS, run, world.clock, table, case=f"{p}, ...")
            runs, tried = calls[before:], tried + 1
            _judge_choice(p, found, runs, known, ever=bool(calls))
    return f"{tried} questions"


def _judge_choice(p: Problem, found: str, runs: list[tuple[str, Problem]], known: bool, ever: bool) -> None:
    if found not in ALGORITHMS:
        raise RefusedError(f"choose returns one of {ALGORITHMS}, not {found!r}")
    if not ever:
        raise RefusedError(f"{found!r} was chosen for {p}, and `run` was never called: measure, and then choose")
    if not known and not runs:
        raise RefusedError(f"{p} was never measured, and nothing ran: its key must be that of another problem")
    if known and runs:
        raise RefusedError(
            f"{p} was asked for before, and {len(runs)} runs were made again: keep the answer in `table`"
        )
    if not suits(found, p):
        raise RefusedError(f"{found} cannot compute {p}: run raised ValueError, and that is no time")
    if seconds(found, p) > 1.03 * seconds(fastest(p), p):
        rounds, times = len(runs) // len(ALGORITHMS), seconds(found, p) / seconds(fastest(p), p)
        raise RefusedError(
            f"{found} takes {times:.2f} times as long as {fastest(p)} for {p}, after {rounds} "
            f"round{'s' * (rounds != 1)}: the first run compiles, others are disturbed, so the least of many counts"
        )


@exercise("6 the broken key")
def check_broken_key(first: Problem | None, second: Problem | None, repaired: Callable[[Problem], Hashable]) -> str:
    """Two problems that the broken key takes for one, though no algorithm is good for both; and a key that holds."""
    if first is None or second is None:
        raise NotDoneError
    if problems.key(first) != problems.key(second):
        raise RefusedError(f"the broken key tells them apart: {problems.key(first)} and {problems.key(second)}")
    if first == second:
        raise RefusedError("these are the same problem")
    for asked, then in ((first, second), (second, first)):
        chosen = fastest(asked)
        if not suits(chosen, then) or seconds(chosen, then) > CLEAR * seconds(fastest(then), then):
            break
    else:
        raise RefusedError(f"the key takes them for one, but {fastest(first)} is good for both: nobody would notice")
    mine = ask(repaired, first, name="repaired")
    try:
        hash(mine)
    except TypeError as no:
        raise RefusedError(
            f"your pair is right; but a dict takes no key such as {mine!r}: {no}; a tuple will do"
        ) from no
    for field in fields(Problem):
        other: dict[str, Any] = {field.name: _another(getattr(first, field.name))}
        if mine == ask(repaired, replace(first, **other), name="repaired"):
            raise RefusedError(f"your pair is right; but `repaired` does not tell problems apart by their {field.name}")
    _holds(repaired)
    does = f"cannot compute {then}" if not suits(chosen, then) else "is slow there"
    return f"after {asked} the tuner answers {chosen}, which {does}"


def _holds(repaired: Callable[[Problem], Hashable]) -> None:
    """One key for each of many problems, such as have the same sum, the same product, or the same digits in a row."""
    known: dict[Hashable, Problem] = {}
    for sizes, dtype in product(product((1, 2, 4, 12, 21), repeat=5), ("float32", "float64")):
        images, channels, size, kernel, stride = sizes
        p = Problem(images, channels, size, kernel, stride, dtype)
        mine, again = (ask(repaired, q, name="repaired") for q in (p, replace(p)))
        if mine != again or hash(mine) != hash(again):
            raise RefusedError(f"your pair is right; but asked twice for {p}, `repaired` says {mine!r} and {again!r}")
        if known.setdefault(mine, p) != p:
            raise RefusedError(f"your pair is right; but `repaired` gives {mine!r} to both {known[mine]} and {p}")


def _another(value: int | str) -> int | str:
    """Another value of the same kind."""
    return value + 1 if isinstance(value, int) else {"float32": "float64"}.get(value, "float32")


def error_in_half(outputs: int, tries: int = 200) -> float:
    """The mean relative error of F(outputs, 3) in float16; 0 outputs mean the plain sum. Always on the same numbers."""
    random, errors = np.random.default_rng(2), []
    for _ in range(tries):
        count = outputs or 4
        d, g = random.normal(size=count + 2), random.normal(size=3)
        exact = _correlate(d[None], g[None])[0]
        if outputs:
            found = in_half(winograd(outputs), d, g)
        else:
            d, g = d.astype(np.float16), g.astype(np.float16)
            products = [[d[k + i] * g[i] for i in range(3)] for k in range(count)]
            found = np.array([np.float16(np.float16(a + b) + c) for a, b, c in products])
        errors.append(abs(found.astype(float) - exact).max() / abs(exact).max())
    return float(np.mean(errors))
