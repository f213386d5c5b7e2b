"""Waiting: who waits for whom, as a small picture without scripts: ranks on a circle, and arrows.

What the ranks' timeline draws large and alive (ranks.py) stands here beside the words of a deadlock.
"""

from __future__ import annotations

import itertools
import math

from jt_edu.mpi.notebook.cell import ranks_named
from jt_edu.mpi.simulator.deadlock_report import circle_in

HUES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # as all views have them


def who_waits(waits: dict[int, list[int]]) -> str:
    """Ranks on a circle, an arrow from each to those it waits for; a red one where the waiting goes round."""
    ranks = sorted({*waits, *(p for peers in waits.values() for p in peers)})
    turn = {r: math.tau * k / len(ranks) - math.pi / 2 for k, r in enumerate(ranks)}
    at = {r: (70 + 48 * math.cos(t), 70 + 48 * math.sin(t)) for r, t in turn.items()}
    round_trip = set(itertools.pairwise(circle_in(waits)))
    lines = []
    for a, b in ((a, b) for a, peers in waits.items() for b in peers):
        (x, y), (u, v) = at[a], at[b]
        length = math.dist(at[a], at[b]) or 1
        dx, dy, hue = (u - x) / length, (v - y) / length, HUES[1] if (a, b) in round_trip else "#999"
        tip = f"M{u - 16 * dx + 3 * dy:.0f} {v - 16 * dy - 3 * dx:.0f}"  # beside the middle, so that two ways are two
        lines.append(
            f'<path d="M{x + 14 * dx + 3 * dy:.0f} {y + 14 * dy - 3 * dx:.0f}L{tip[1:]}l{-7 * dx + 4 * dy:.1f} '
            f'{-7 * dy - 4 * dx:.1f}{tip}l{-7 * dx - 4 * dy:.1f} {-7 * dy + 4 * dx:.1f}" stroke="{hue}" fill="none"/>'
        )
    dots = "".join(
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="12" fill="none" stroke="currentColor"/>'
        f'<text x="{x:.0f}" y="{y + 4:.0f}" stroke="none" text-anchor="middle" fill="currentColor">{r}</text>'
        for r, (x, y) in at.items()
    )
    words = "; ".join(f"rank {a} waits for {ranks_named(b)}" for a, b in waits.items() if b)
    box = 'width="140" height="140" font-size="12" style="flex:none;stroke-width:1.5"'
    return f'<svg role="img" aria-label="{words}" {box}>{"".join(lines)}<g stroke-width="1">{dots}</g></svg>'
