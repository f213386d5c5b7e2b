"""Memory: matrices that write down which of their numbers are read and written.

    watched = watch(function, 8, 8, 8)        runs function(a, b, c) on such matrices, as plain Python
    watched.count(written=False, of="ab")     how many numbers of a and b were read
    watched.misses(width=8, lines=24)         how many of the accesses find no line in a cache that holds 24 lines of 8

Indices are checked, negative ones too: a compiled kernel would read somewhere else and say nothing. Views such as
`c[i, j:j + 4]` are no reads; their elements are. `traced` runs beside the function; what it writes down is judged here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jt_exercises.kernels.tried import plain
from jt_exercises.roofline.worlds import cache_misses
from jt_exercises.seed import random
from jt_exercises.verdict import ask

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
            raise RuntimeError(
                f"it has read and written {self.most:,} numbers, and has not come to an end: four for each "
                f"multiply-add will do. Does every loop end?"
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
            raise IndexError(f"`{self.name}` has {len(self.shape)} axes here, and you index {len(keys)}")
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
                raise IndexError(
                    f"compiled, it would use other memory, without a word: {self.name}[{where}] is outside of the "
                    f"shape {self.shape}"
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
            raise TypeError(_LOOPS)
        self.log.note(self.name, place, written=True)
        self.store[place] = float(value)

    def _whole(self, *_: Any, **__: Any) -> Any:
        raise TypeError(_LOOPS)

    __array__ = __add__ = __radd__ = __mul__ = __rmul__ = __matmul__ = __iadd__ = __iter__ = dot = sum = _whole


_LOOPS = "this is about your own loops: compute with single numbers, such as a[i, k] * b[k, j], not with whole arrays"


def traced(function: Callable[..., Any], left: np.ndarray, right: np.ndarray, *more: int) -> tuple[Any, Any]:
    """Every access of function(a, b, c, *more), as (matrix, element, written), and what c holds at the end."""
    function = plain(function)
    (n, m), p = left.shape, right.shape[1]
    log, arrays = Log(MOST * n * m * p + 1000), (left, right, np.zeros((n, p)))
    a, b, c = (
        Matrix(name, list(array.flat), log, array.shape, (array.shape[1], 1))
        for name, array in zip(MATRICES, arrays, strict=True)
    )
    function(a, b, c, *more)
    rows = [(MATRICES.index(name), place, written) for name, place, written in log]
    return np.array(rows, np.int32).reshape(-1, 3), np.array(c.store).reshape(n, p)


@dataclass
class Watched:
    """What a function did with three matrices: `found` is c."""

    left: np.ndarray
    right: np.ndarray
    found: np.ndarray
    log: list[Access]

    @property
    def expected(self) -> np.ndarray:
        """What c should be; small whole numbers, so it is exact."""
        return np.asarray(self.left @ self.right)

    def count(self, written: bool, of: str = MATRICES) -> int:
        """How many numbers of some matrices were read, or written, again and again counted each time."""
        return sum(name in of and how == written for name, _, how in self.log)

    def misses(self, width: int, lines: int) -> int:
        """How many accesses find their line not in the cache, which forgets the least recently used one."""
        return cache_misses((place // width * 3 + MATRICES.index(name) for name, place, _ in self.log), lines)


def watch(function: Callable[..., Any], n: int, m: int, p: int, *more: int) -> Watched:
    """Run function(a, b, c, *more) on whole numbers that are not 0, c all zeros, and watch; as plain Python."""
    draw = random(n, m, p)
    left, right = (draw.integers(1, 5, shape) * draw.choice([-1.0, 1.0], shape) for shape in ((n, m), (m, p)))
    case = ", ".join([f"a of {(n, m)}", f"b of {(m, p)}", f"c of {(n, p)}", *map(str, more)])
    rows, found = ask(function, left, right, *more, case=case, through=traced)
    return Watched(left, right, found, [(MATRICES[k], place, bool(written)) for k, place, written in rows.tolist()])
