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

from collections.abc import Callable, Iterable
from dataclasses import dataclass

ThreadNumber = tuple[int, int]  # number of a block, number of a thread in it


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
