"""What a run tells: trips to memory, snapshots, and threads in words."""

import numpy as np
import pytest

from jt_edu import cuda
from jt_edu.cuda import launch
from jt_edu.cuda.findings import told
from jt_edu.cuda.math32 import Math
from jt_edu.cuda.run import KINDS
from tests.floors.cuda.kernels import made


def ran(body, *arguments, grid=1, block=32):
    """The run of a kernel that does this with x."""
    text = "@cuda.jit\ndef kernel(x):\n" + "".join(f"    {line}\n" for line in body)
    return cuda.simulate(made(text, text), grid, block, *arguments or (np.zeros(1024, np.float32),))


def test_lanes_that_read_the_same_number_share_one_trip():
    (trip,) = ran(["y = x[0]"]).trips

    assert (trip.trips, trip.least, len(trip.lanes)) == (1, 1, 32)


def test_each_warp_makes_trips_of_its_own():
    trips = ran(["y = x[cuda.grid(1)]"], grid=2, block=64).trips

    assert [(t.block, t.warp) for t in trips] == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_what_is_a_threads_own_makes_no_trips():
    own = "own = cuda.local.array(1, 'float32')"

    assert ran([own, "own[0] = 1", "y = own[0]", "cuda.atomic.add(own, 0, y)"]).trips == []


def test_of_a_line_that_is_slow_in_several_ways_the_worst_is_told():
    (found,) = ran(["for by in (2, 8, 4):", "    y = x[by * cuda.threadIdx.x]"]).slow

    assert found.kind == "scattered" and "need 32 trips for their numbers of x; 4 would do" in found.words


def test_a_launch_ends_when_enough_is_found():
    run = ran([f"x[{k}] = cuda.threadIdx.x" for k in range(KINDS + 9)])

    assert len(run.findings) == KINDS


def test_a_launch_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(launch, "SECONDS", 0.01)

    (found,) = ran(["while True:", "    pass"], block=1).findings

    assert found.kind == "never ends" and "seconds" in found.words


def test_a_snapshot_of_each_block_at_each_barrier_says_who_stood_where_and_who_read_since_the_last_one():
    body = [
        "tile = cuda.shared.array(2, 'float32')", "t = cuda.threadIdx.x", "tile[t] = 3", "cuda.syncthreads()",
        "y = tile[1 - t]", "cuda.syncthreads()",
    ]  # fmt: skip

    snapshots = ran(body, grid=2, block=2).snapshots

    assert [(s.block, s.epoch) for s in snapshots] == [(b, e) for b in (0, 1) for e in (0, 1, 2)]
    first, second, end = snapshots[:3]
    assert (first.lines, second.lines, end.lines) == ({0: 6, 1: 6}, {0: 8, 1: 8}, {0: 0, 1: 0})
    assert (first.readers, second.readers) == ({"tile": {}}, {"tile": {0: [1], 1: [0]}})
    assert not any(end.readers["tile"].values())
    assert end.writers["tile"].tolist() == [0, 1] and end.shared["tile"].tolist() == [3, 3]


@pytest.mark.parametrize(("block", "called"), [(4, "3"), ((2, 2), "(1, 1)"), ((2, 1, 2), "(1, 0, 1)")])
def test_a_thread_of_a_block_with_several_axes_is_called_by_its_index(block, called):
    end = ["i, n = cuda.threadIdx, cuda.blockDim", "if (i.x, i.y, i.z) == (n.x - 1, n.y - 1, n.z - 1):"]

    (found,) = ran([*end, "    y = x[-1]"], block=block).findings

    assert found.words.startswith(f"thread {called} of block 0 touches") and found.threads == ((0, 3),)


def test_threads_in_words_are_in_order_and_not_more_than_one_can_read():
    assert told([(0, 8), (0, 1)]) == "threads 1, 8 of block 0"
    assert told([(0, k) for k in range(0, 12, 2)]) == "threads 0, 2, 4, 6, ... of block 0"


def test_math_of_a_float32_and_a_float64_is_a_float64():
    assert type(Math().pow(np.float32(2), 0.5)) is float and type(Math().pow(np.float32(2), 3)) is np.float32


def test_numbers_that_were_copied_to_a_device_are_written():
    there = cuda.device_array(1)
    there.copy_to_device([3.0])

    assert ran(["y = x[0]"], there).findings == []


@pytest.mark.parametrize(("name", "before", "after"), [("inc", 2, 3), ("inc", 3, 0), ("dec", 0, 3), ("dec", 2, 1)])
def test_a_counter_goes_round(name, before, after):
    x = np.array([before])

    ran([f"cuda.atomic.{name}(x, 0, 3)"], x, block=1)

    assert x[0] == after
