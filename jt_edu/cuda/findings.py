"""Findings: what is wrong with a kernel, where, and who did it?

    race                   two threads touch the same number, one of them writes it, and no barrier lies between
    divergent barrier      some threads of a block wait, the others do not come: their ways through the kernel diverge
    unwritten              a number is read that nobody has written
    out of bounds          an index that an array does not have; on a GPU it hits somebody else's memory
    never ends             loops of a thread make more iterations than are allowed, or the launch takes too long
    bank conflict          lanes of a warp want different words of one bank, so they get them one after the other
    scattered              lanes of a warp want numbers that are far from each other, so many trips are made for them;
                           the field calls such access uncoalesced

The first five make an answer wrong, or a program hang. The last two cost time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from jt_edu.base.did_you_mean import nearest

ThreadNumber = tuple[int, int]  # number of a block, number of a thread in it
BETWEEN_BLOCKS = "and no barrier orders two blocks"  # so ends what is said of a race between them
CURES = {  # what to try
    "race": "cuda.syncthreads() between the two, or one thread alone that writes each number",
    BETWEEN_BLOCKS: "a number of its own for each thread (i = cuda.grid(1)), cuda.atomic.add, or a second launch",
    "divergent barrier": "this line where all threads come to it: outside of an `if`, and before any return",
    "unwritten": "a write before this line, and cuda.syncthreads() between them if another thread writes",
    "out of bounds": "a guard, such as `if i < x.size:`; or a larger array",
    "never ends": "fewer iterations; a loop in which one thread waits for another one may never end",
}
OWNERS = {"Atomic": "cuda.atomic", "Shared": "cuda.shared", "Local": "cuda.local", "Dim3": "cuda.threadIdx"}
PYTHONS = {  # what Python says of a line in a kernel -> what to try
    "'(Dim3|int)' object is not callable": "the name without brackets: cuda.laneid, cuda.threadIdx.x",
    "array.. missing": 'a shape and a dtype, as in cuda.shared.array(32, "float32")',
    "invalid index to scalar|not subscriptable": "an array before the [...]: here stands one number",
    "read-only": "np.array(x), a copy that may be written, as an argument of the launch",
}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong; `line` counts from the first line of the kernel's text, which is 1.

    Args:
        kind: one of those above.
        function: the kernel or device function in which it happened.
        line: the number of the line.
        text: the line itself.
        threads: who took part, as (block, thread).
        words: a sentence.
        array: what was touched, or "".
        other: the line at which another thread did its part, or 0.

    Example:
        >>> print(Finding("unwritten", "kernel", 3, "out[t] = tile[t]", ((0, 1),), "thread 1 of block 0 ..."))
        unwritten in kernel, line 3: `out[t] = tile[t]`
            thread 1 of block 0 ...
    """

    kind: str
    function: str
    line: int
    text: str
    threads: tuple[ThreadNumber, ...]
    words: str
    array: str = ""
    other: int = 0

    def __str__(self) -> str:
        return f"{self.kind} in {self.function}, line {self.line}: `{self.text}`\n    {self.words}"

    @property
    def cure(self) -> str:
        """What to try."""
        return CURES[BETWEEN_BLOCKS if self.words.endswith(BETWEEN_BLOCKS) else self.kind]


def found_and_cure(error: Exception) -> tuple[str, str]:
    """What Python found wrong in a line of a kernel, and what to try.

    Example:
        >>> found_and_cure(TypeError("'int' object is not callable"))[1]
        'the name without brackets: cuda.laneid, cuda.threadIdx.x'
    """
    if isinstance(error, AttributeError) and error.name == "change":  # which an array has, for cuda.atomic
        return f"{type(error.obj).__name__}, where an atomic takes an array", "cuda.atomic.add(out, i, 1)"
    if isinstance(error, AttributeError) and type(error.obj).__name__ in OWNERS:
        owner = OWNERS[type(error.obj).__name__]
        fields = getattr(error.obj, "__dataclass_fields__", None) or dir(error.obj)
        names = [name for name in fields if name[0] != "_"]
        near = nearest(error.name or "", {owner: names}) or [f"{owner}.{name}" for name in names]
        return f"{owner}.{error.name}, which no kernel has", " or ".join(near)
    way = (way for said, way in PYTHONS.items() if re.search(said, str(error)))
    return f"{type(error).__name__}: {error}".rstrip("."), next(way, "look at what stands in that line")


def told(threads: Iterable[ThreadNumber], name: Callable[[int], str] = str, most: int = 4) -> str:
    """Threads in words, those of one block together; `name` says how a thread is called.

    Example:
        >>> from jt_edu.cuda.findings import told
        >>> told([(0, 1), (0, 2), (0, 3), (1, 0)]), told([(2, 5)])
        ('threads 1 to 3 of block 0 and thread 0 of block 1', 'thread 5 of block 2')
    """
    blocks: dict[int, set[int]] = {}
    for block, thread in threads:
        blocks.setdefault(block, set()).add(thread)
    return " and ".join(f"{_runs(sorted(who), name, most)} of block {block}" for block, who in blocks.items())


def _runs(threads: list[int], name: Callable[[int], str], most: int) -> str:
    runs: list[list[int]] = []
    for thread in threads:
        if runs and thread == runs[-1][1] + 1:
            runs[-1][1] = thread
        else:
            runs.append([thread, thread])
    words = [name(a) if a == b else f"{name(a)} to {name(b)}" for a, b in runs[:most]]
    return f"thread{'s' * (len(threads) > 1)} {', '.join(words)}{', ...' * (len(runs) > most)}"
