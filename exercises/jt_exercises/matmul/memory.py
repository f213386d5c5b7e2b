"""Memory: matrices that write down which of their numbers are read and written.

    watched = watch(function, 8, 8, 8)        runs function(a, b, c) on such matrices, as plain Python
    watched.reads, watched.product            how many numbers were read; whether c is a @ b
    watched.misses(width=8, lines=24)         how many of the accesses find no line in a cache that holds 24 lines of 8

Indices are checked, negative ones too: a compiled kernel would read somewhere else and say nothing. Views such as
`c[i, j:j + 4]` are no reads; their elements are. Nothing here knows verdicts except for the error that a check shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jt_exercises.roofline.worlds import cache_misses
from jt_exercises.verdict import RefusedError, ask

Access = tuple[str, int, bool]  # name of a matrix, number of the element, whether it is written
Sizes = tuple[int, ...]
MATRICES = "abc"
MOST = 20  # accesses for each multiply-add, and some more: plain loops need 4


class Log(list[Access]):
    """The accesses, one after the other; it ends when there are far more than a product needs."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def note(self, name: str, place: int, written: bool) -> None:
        """One more."""
        if len(self) >= self.most:
            raise RefusedError(
                f"it has read and written {self.most:,} numbers, and has not come to an end: four for each "
                f"multiply-add will do. Does every `while` end?"
            )
        self.append((name, place, written))


class Matrix:
    """A matrix, or a part of one: its elements lie in a flat list, row by row."""

    def __init__(self, name: str, store: list[float], log: Log, shape: Sizes, steps: Sizes, start: int = 0) -> None:
        self.name, self.store, self.log = name, store, log
        self.shape, self._steps, self._start = shape, steps, start

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return int(np.prod(self.shape))

    def __len__(self) -> int:
        return self.shape[0]

    def _place(self, key: Any) -> int | Matrix:
        """The number of an element, or the part that slices mean."""
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) > len(self.shape):
            raise RefusedError(f"`{self.name}` has {len(self.shape)} axes here, and you index {len(keys)}")
        shape, steps, start = [], [], self._start
        for axis, (length, step) in enumerate(zip(self.shape, self._steps, strict=True)):
            k = keys[axis] if axis < len(keys) else slice(None)
            if isinstance(k, slice):
                first, last, stride = k.indices(length)
                start += first * step
                shape.append(len(range(first, last, stride)))
                steps.append(step * stride)
                continue
            if not 0 <= k < length:
                where = ", ".join(str(x) for x in keys)
                raise RefusedError(
                    f"{self.name}[{where}] is outside: the shape there is {self.shape}. Compiled, it would read or "
                    f"write other memory, without a word"
                )
            start += int(k) * step
        return Matrix(self.name, self.store, self.log, tuple(shape), tuple(steps), start) if shape else start

    def __getitem__(self, key: Any) -> Any:
        place = self._place(key)
        if isinstance(place, Matrix):
            return place
        self.log.note(self.name, place, written=False)
        return self.store[place]

    def __setitem__(self, key: Any, value: float) -> None:
        place = self._place(key)
        if isinstance(place, Matrix):
            raise RefusedError(_LOOPS)
        self.log.note(self.name, place, written=True)
        self.store[place] = value

    def _whole(self, *_: Any, **__: Any) -> Any:
        raise RefusedError(_LOOPS)

    __array__ = __add__ = __radd__ = __mul__ = __rmul__ = __matmul__ = __iadd__ = __iter__ = dot = sum = _whole


_LOOPS = "this is about your own loops: compute with single numbers, such as a[i, k] * b[k, j], not with whole arrays"


@dataclass
class Watched:
    """What a function did with three matrices."""

    shape: tuple[int, int, int]  # a is (n, m), b is (m, p)
    log: list[Access]
    expected: np.ndarray
    found: np.ndarray
    _lines: dict[tuple[str, int], int] = field(default_factory=dict)

    @property
    def product(self) -> bool:
        """Whether c is a @ b."""
        return bool(np.array_equal(self.expected, self.found))

    @property
    def reads(self) -> int:
        """How many numbers were read, again and again counted each time."""
        return sum(not written for _, _, written in self.log)

    @property
    def writes(self) -> int:
        """How many numbers were written."""
        return sum(written for _, _, written in self.log)

    def lines(self, width: int) -> list[int]:
        """The cache line of each access, as a number."""
        found = self._lines
        return [found.setdefault((name, place // width), len(found)) for name, place, _ in self.log]

    def misses(self, width: int, lines: int) -> int:
        """How many accesses find their line not in the cache, which forgets what was not used for longest."""
        return cache_misses(self.lines(width), lines)


def watch(function: Callable[..., Any], n: int, m: int, p: int, *more: Any) -> Watched:
    """Run function(a, b, c, *more) on small whole numbers, c all zeros, and watch; as plain Python."""
    function = getattr(function, "py_func", function)
    random = np.random.default_rng(n * 10_000 + m * 100 + p)
    left, right = (random.integers(-3, 4, shape).astype(float) for shape in ((n, m), (m, p)))
    log = Log(MOST * n * m * p + 1000)
    arrays = (left, right, np.zeros((n, p)))
    matrices = [
        Matrix(name, list(array.flat), log, array.shape, (array.shape[1], 1))
        for name, array in zip(MATRICES, arrays, strict=True)
    ]
    told = [f"a of {left.shape}", f"b of {right.shape}", f"c of {(n, p)}", *map(str, more)]
    ask(lambda: function(*matrices, *more) or True, case=", ".join(told), name=getattr(function, "__name__", ""))
    return Watched((n, m, p), log, left @ right, np.array(matrices[2].store).reshape(n, p))


def wrong_element(seen: Watched) -> str:
    """The first element that is wrong, in words."""
    i, j = (int(k) for k in np.argwhere(seen.expected != seen.found)[0])
    n, m, p = seen.shape
    return (
        f"for a of {(n, m)} and b of {(m, p)}, c[{i}, {j}] is {seen.found[i, j]:g} instead of {seen.expected[i, j]:g}"
    )
