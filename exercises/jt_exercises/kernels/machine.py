"""Machine: what did the compiler make of a kernel, in a form that fits into a cell?

    signature(kernel)     the types for which it was compiled
    inner_loop(kernel)    the instructions of its innermost loop: the one that computes with most numbers at once
    words(rows)           how often each kind of instruction is among them

The whole text is behind the tab *Assembly* of `jt_widgets.kernel`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from jt_edu.backends import numba_cpu
from jt_edu.lens.assembly import assembly, vectors
from jt_edu.lens.kernel_edit import Edit, find

JUMP = re.compile(r"\s*(?:j\w+|b(?:\.\w+)?|cbn?z\s+\w+,|tbn?z\s+\w+,\s*#\d+,)\s+(\.?\w+)$")


def signature(kernel: Any) -> str:
    """The types of its parameters, as numba writes them."""
    return ", ".join(map(str, numba_cpu.signature(_source(kernel)).args))


def inner_loop(kernel: Any) -> list[str]:
    """The instructions of the innermost loop that computes with most numbers at once, of a kernel or of an edit."""
    made = assembly(_source(kernel))
    rows = made.asm.splitlines()
    at_once = {v.line: v.width for v in made.vectors if v.arithmetic}
    loops = list(_innermost(rows))
    if not loops:
        return []
    # of loops as wide as each other the longest: that is the one which the compiler unrolled
    first, last = max(
        loops, key=lambda loop: (max(at_once.get(k, 0) for k in range(loop[0], loop[1] + 1)), loop[1] - loop[0])
    )
    return [row.strip() for row in rows[first - 1 : last]]


def words(rows: Sequence[str]) -> str:
    """The kinds of instructions, the most frequent first; vector ones have a star."""
    wide = {v.line for v in vectors("\n".join(rows))}
    kinds = Counter(
        row.split()[0] + "*" * (number in wide) for number, row in enumerate(rows, 1) if row and not row.endswith(":")
    )
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


def _source(kernel: Any) -> Any:
    return kernel.source if isinstance(kernel, Edit) else find(kernel)


def _innermost(rows: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(first, last) line of each loop with no loop inside: from a label to a jump back to it."""
    labels = {row.strip().removesuffix(":"): number for number, row in enumerate(rows, 1) if row.endswith(":")}
    jumps = [(JUMP.match(row), number) for number, row in enumerate(rows, 1)]
    loops = [(labels[j[1]], n) for j, n in jumps if j and labels.get(j[1], n) < n]
    for first, last in loops:
        if not any(first <= a and b <= last and (a, b) != (first, last) for a, b in loops):
            yield first, last
