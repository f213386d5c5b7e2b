"""Races and barriers: what is one by CUDA's documentation is found, and what is none is not."""

import numpy as np
import pytest

from jt_edu import cuda
from tests.floors.cuda.kernels import made

ROW = 'row = cuda.shared.array(64, "float32")\n    t = cuda.threadIdx.x\n    '
RACES = {  # body, grid, block
    "a number that one thread clears, and all add to": ("""
    if t == 0:
        row[0] = 0
    cuda.atomic.add(row, 0, 1)
""", 1, 4),
    "an atomic, and a reading by the thread that came last": ("""
    if t < 1:
        row[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(row, 0, 1)
    if t == 3:
        out[0] = row[0]
""", 1, 4),
    "lanes that take no part in a syncwarp": ("""
    if t >= 16:
        row[t - 16] = t
    if t < 16:
        cuda.syncwarp(0xFFFF)
        row[t] = 1
""", 1, 32),
    "a reading after a shuffle, which orders nothing": ("""
    row[t] = t
    cuda.shfl_sync(0xFFFFFFFF, t, 0)
    out[t] = row[31 - t]
""", 1, 32),
    "a third reader in a later turn of the warp": ("""
    row[t] = t
    cuda.syncwarp()
    if t < 2:
        out[t] = row[5]
    cuda.syncwarp()
    if t == 2:
        out[t] = row[5]
    if t == 5:
        row[5] = 1
""", 1, 32),
    "readers that took no part, behind others that did": ("""
    row[t] = t
    cuda.syncthreads()
    out[t] = row[0]
    if t < 16:
        cuda.syncwarp(0xFFFF)
    if t == 0:
        row[0] = 9
""", 1, 32),
    "two warps with a syncwarp": ("""
    row[t] = t
    cuda.syncwarp()
    out[t] = row[63 - t]
""", 1, 64),
    "a writing behind the fence": ("""
    if t == 0:
        cuda.threadfence()
        old = cuda.atomic.add(count, 0, 1)
        if cuda.blockIdx.x == 1:
            out[1] = out[0]
        out[0] = old
""", 2, 4),
    "others of a block that had a fence": ("""
    if t == 1:
        out[cuda.blockIdx.x] = 1
    if t == 0:
        cuda.threadfence()
        if cuda.atomic.add(count, 0, 1) == 1:
            out[2] = out[0]
""", 2, 4),
    "a thread beside the one that saw an atomic": ("""
    if t == 0:
        out[cuda.blockIdx.x] = 1
        cuda.threadfence()
        cuda.atomic.add(count, 0, 1)
    if t == 1 and cuda.blockIdx.x == 1:
        out[2] = out[0]
""", 2, 4),
    "a writing behind the fence, and a barrier behind the writing": ("""
    if cuda.blockIdx.x == 0:
        cuda.threadfence()
        out[0] = 5
        cuda.syncthreads()
        cuda.atomic.add(count, 0, 1)
    elif cuda.atomic.add(count, 0, 0) == 1:
        out[1] = out[0]
""", 2, 1),
    "a writing behind a fence for all blocks, and before one for its own": ("""
    if cuda.blockIdx.x == 0:
        cuda.threadfence()
        out[0] = 5
        cuda.threadfence_block()
        cuda.atomic.add(count, 0, 1)
    elif cuda.atomic.add(count, 0, 0) == 1:
        out[1] = out[0]
""", 2, 1),
    "two atomics of another block, of which the first was seen": ("""
    if cuda.blockIdx.x == 0:
        cuda.threadfence()
        cuda.atomic.add(count, 0, 1)
        out[0] = 5
        cuda.threadfence()
        cuda.atomic.add(out, 63, 1)
    elif cuda.atomic.add(count, 0, 0) == 1:
        out[1] = out[0]
""", 2, 1),
    "readers without a fence, among others that had one": ("""
    b = cuda.blockIdx.x
    if b < 5:
        out[b + 1] = out[0]
        if b != 2 and b != 3:
            cuda.threadfence()
            cuda.atomic.add(count, 0, 1)
    elif cuda.atomic.add(count, 0, 0) == 3:
        out[0] = 9
""", 6, 1),
}  # fmt: skip
RIGHT = {
    "lanes that take part in a syncwarp": ("""
    if t < 16:
        row[t] = t
        cuda.syncwarp(0xFFFF)
        out[t] = row[15 - t]
""", 1, 32),
    "a syncwarp where others have ended": ("""
    if t >= 20:
        return
    row[t] = t
    cuda.syncwarp()
    out[t] = row[19 - t]
""", 1, 32),
    "a shuffle up where higher lanes have ended": ("""
    if t >= 20:
        return
    out[t] = cuda.shfl_up_sync(0xFFFFFFFF, t, 1)
""", 1, 32),
    "a lock, with fences": ("""
    while cuda.atomic.cas(count, 0, 0, 1) != 0:
        pass
    cuda.threadfence()
    out[0] += 1
    cuda.threadfence()
    cuda.atomic.exch(count, 0, 0)
""", 2, 8),
    "a warp that is ordered before one lane passes it on": ("""
    out[32 * cuda.blockIdx.x + t] = t
    cuda.syncwarp()
    if t == 0:
        cuda.threadfence()
        row[0] = cuda.atomic.add(count, 0, 1)
    cuda.syncthreads()
    if row[0] == 1 and t == 3:
        out[0] = out[30] + out[34]
""", 2, 32),
    "a lane that sees an atomic, before a syncwarp": ("""
    if t < 32:
        row[t] = t
        cuda.threadfence_block()
        cuda.atomic.add(count, 0, 1)
    else:
        if t == 32:
            cuda.atomic.add(count, 0, 0)
            cuda.threadfence_block()
        cuda.syncwarp()
        out[t] = row[63 - t]
""", 1, 64),
    "a warp that is ordered before one lane tells another warp": ("""
    if t < 32:
        row[t] = t
        cuda.syncwarp()
        if t == 0:
            cuda.threadfence_block()
            cuda.atomic.add(count, 0, 1)
    else:
        cuda.syncwarp()
        cuda.syncwarp()
        if t == 32 and cuda.atomic.add(count, 0, 0) == 1:
            out[0] = row[5]
""", 1, 64),
    "a warp that tells another one, which tells another block": ("""
    if cuda.blockIdx.x == 0:
        if t == 0:
            out[0] = 5
            cuda.threadfence_block()
            cuda.atomic.add(out, 63, 1)
        if t == 32 and cuda.atomic.add(out, 63, 0) == 1:
            cuda.threadfence()
            cuda.atomic.add(count, 0, 1)
    elif t == 0 and cuda.atomic.add(count, 0, 0) == 1:
        out[1] = out[0]
""", 2, 64),
    "a fence of each thread, a barrier, and an atomic of one": ("""
    out[32 * cuda.blockIdx.x + t] = t
    cuda.threadfence()
    cuda.syncthreads()
    if t == 0 and cuda.atomic.add(count, 0, 1) == 1:
        out[0] = out[30] + out[34]
""", 2, 32),
    "atomics alone": ("""
    cuda.atomic.add(count, 0, 1)
    cuda.atomic.max(count, 0, t)
""", 2, 40),
    "two syncwarps in one turn of two warps": ("""
    for k in range(3):
        row[t] = k
        cuda.syncwarp()
        out[t] = row[t ^ 1]
        cuda.syncwarp()
""", 1, 64),
}  # fmt: skip


def simulated(body, grid, block):
    text = f"@cuda.jit\ndef kernel(out, count):\n    {ROW}{body.strip()}\n"
    return cuda.simulate(made(text, body), grid, block, np.zeros(64), np.zeros(1, np.int32), steps=1000)


@pytest.mark.parametrize("name", RACES)
def test_what_nothing_orders_is_a_race(name):
    assert {f.kind for f in simulated(*RACES[name]).findings} == {"race"}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_ordered_is_no_race(name):
    run = simulated(*RIGHT[name])
    assert run.findings == [], str(run)


def test_a_race_names_the_lanes_and_the_line_that_are_in_it():
    (found,) = simulated(*RACES["readers that took no part, behind others that did"]).findings
    assert (found.line, found.other, found.threads) == (11, 7, ((0, 0), (0, 16)))


def test_a_race_of_a_line_with_itself_does_not_quote_it_twice():
    (found,) = simulated("row[t // 2] = t", 1, 4).findings
    assert found.other == found.line
    assert "wrote in the same line, with" in found.words


CURES = {  # what is said of a race, and what to try
    "two warps with a syncwarp": ("with no barrier between", "cuda.syncthreads() between the two"),
    "a thread beside the one that saw an atomic": ("and no barrier orders two blocks", "a second launch"),
}


@pytest.mark.parametrize("name", CURES)
def test_a_barrier_is_the_cure_of_a_race_in_one_block_only(name):
    said, cure = CURES[name]
    for found in simulated(*RACES[name]).findings:
        assert found.words.endswith(said) and cure in found.cure


ALONE = "cuda.syncwarp(0xFFFFFFFE)"
HEARS = "if t > 8:\n        return\n    out[t] = cuda.shfl_sync(0xFFFFFFFF, t, 9)"
VOTES = "if t < 5:\n        cuda.any_sync(0xFFFFFFFF, t)\n    cuda.syncthreads()"
DIVERGENT = {
    "a lane asks with a mask that leaves it out": (ALONE, "thread 0 of block 0 asks", (0, 0)),
    "a lane hears one that has ended": (HEARS, "thread 9 of block 0 has ended", (0, 8)),
    "a vote of half of a warp for all": (VOTES, "wait at cuda.syncthreads", (0, 5)),
}


@pytest.mark.parametrize("name", DIVERGENT)
def test_lanes_that_do_not_come_are_told(name):
    body, words, who = DIVERGENT[name]
    found = simulated(body, 1, 32).findings
    assert {f.kind for f in found} == {"divergent barrier"}
    assert words in " ".join(f.words for f in found) and any(who in f.threads for f in found)


def test_what_a_lane_hears_of_none_is_no_number():
    body = "out[t] = cuda.shfl_down_sync(0xFFFFF, np.float32(t), 4)"
    out, text = np.zeros(64), f"@cuda.jit\ndef kernel(out):\n    {ROW}{body}\n"
    assert cuda.simulate(made(text, "hears"), 1, 20, out).findings == []
    assert out[:16].tolist() == list(range(4, 20)) and np.isnan(out[16:20]).all()


def test_a_block_that_hangs_is_seen_where_it_hangs():
    run = simulated("if t < 2:\n        cuda.syncthreads()", 1, 4)
    assert run.snapshots[-1].lines == {0: 6, 1: 6, 2: 0, 3: 0}


WRONG = {
    "syncthreads(1)": "takes nothing", "syncthreads_count()": "takes predicate", "ballot_sync(1)": "mask, predicate",
    "shfl_sync(1, 2)": "mask, value, lane", "syncwarp(1, 2)": "takes mask",
}  # fmt: skip


@pytest.mark.parametrize("call", WRONG)
def test_arguments_of_a_barrier_are_counted(call):
    with pytest.raises(Exception, match=WRONG[call]) as error:
        simulated(f"cuda.{call}", 1, 1)
    assert type(error.value).__name__ == "KernelError"
