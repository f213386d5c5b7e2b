"""Kernels that are drawn: their races are those of an oracle, which keeps everything and compares all with all."""

import random

import numpy as np
import pytest

from jt_edu import cuda
from tests.floors.cuda.kernels import made

MASKS = 0xFFFFFFFF, 0xFFFF, 0xFFFF0000, 0x3, 0xFF00FF
WORDS = {"read": "v = s[{}]", "write": "s[{}] = 1", "atomic": "cuda.atomic.add(s, {}, 1)"}


def drawn(draw, threads):
    """Lines of a kernel, and for each what is done, by whom, and where."""
    lines, steps = [], []
    for _ in range(draw.randint(3, 9)):
        how = draw.choice(["read", "read", "write", "write", "atomic", "syncwarp", "syncthreads", "shuffle"])
        low, step, by, off, size = (draw.randint(a, b) for a, b in ((0, threads - 1), (1, 4), (-1, 1), (0, 3), (2, 8)))
        mask, who = draw.choice(MASKS), range(low, draw.randint(low + 1, threads), step)
        if how == "syncwarp":
            who = [t for t in range(threads) if mask >> (t % 32) & 1]
            lines.append(f"if {mask} >> (t % 32) & 1: cuda.syncwarp({mask})")
        elif how in WORDS:
            lines.append(f"if t in {who}: " + WORDS[how].format(f"({by} * t + {off}) % {size}"))
        else:
            lines.append("cuda.syncthreads()" if how == "syncthreads" else "cuda.any_sync(0xFFFFFFFF, t)")
        steps.append((how, who, {t: (by * t + off) % size for t in who}))
    return lines, steps


def met(clocks, group):
    """All of a group know what any of them knew."""
    joined = np.max([clocks[t] for t in group], 0)
    for t in group:
        clocks[t] = joined.copy()
        clocks[t][t] += 1


def races(steps, threads):
    """Pairs of lines with accesses that nothing orders, of which one writes."""
    clocks, done = list(np.eye(threads, dtype=int)), []
    for line, (how, who, places) in enumerate(steps):
        if how == "syncthreads":
            met(clocks, range(threads))
        elif how == "syncwarp":
            for warp in {t // 32 for t in who}:
                met(clocks, [t for t in who if t // 32 == warp])
        elif how in WORDS:
            done += [(places[t], t, how, line, clocks[t].copy()) for t in who]
    return {
        frozenset((a[3], b[3]))
        for k, a in enumerate(done)
        for b in done[k + 1 :]
        if a[:2] != b[:2] and a[0] == b[0] and (a[2] != b[2] or a[2] == "write")
        if b[4][a[1]] < a[4][a[1]] and a[4][b[1]] < b[4][b[1]]
    }


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_races_of_a_drawn_kernel_are_those_of_the_oracle(first):
    for seed in range(first, first + 50):
        draw = random.Random(seed)
        threads = draw.choice([4, 32, 48])
        lines, steps = drawn(draw, threads)
        text = "@cuda.jit\ndef kernel(s):\n    t = cuda.threadIdx.x\n    " + "\n    ".join(lines) + "\n"
        run = cuda.simulate(made(text, text), 1, threads, np.zeros(8, int))
        wanted, found = races(steps, threads), {frozenset((f.line - 4, f.other - 4)) for f in run.findings}
        assert found <= wanted and bool(found) == bool(wanted), f"{text}\n{wanted}\n{run}"
        assert {f.kind for f in run.findings} <= {"race"}
