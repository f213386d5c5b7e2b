"""How many warps are on a multiprocessor at once: computed by hand, from the sizes that NVIDIA publishes."""

import numpy as np
import pytest

from jt_edu import cuda
from jt_edu.base.errors import ArgumentError
from jt_edu.cuda.compiler import Compiled, Report

T4, A100, H100, RTX50 = (7, 5), (8, 0), (9, 0), (12, 0)


@pytest.mark.parametrize(
    ("cc", "registers", "threads", "shared", "warps", "limits"),
    [
        # 32 registers x 32 lanes = 1,024 a warp, 16 warps in each of 4 parts: 64, which are 8 blocks of 8 warps
        (H100, 32, 256, 0, 64, ("warps", "registers")),
        # one register more takes 1,280 a warp: 12 warps a part, 48 in all, 6 blocks
        (H100, 33, 256, 0, 48, ("registers",)),
        (H100, 40, 256, 0, 48, ("registers",)),  # the same piece of registers
        (RTX50, 40, 256, 0, 48, ("warps", "registers")),  # 6 blocks: there are no more than 48 warps
        (RTX50, 32, 1024, 0, 32, ("warps",)),  # a second block would be 64 warps
        (A100, 128, 256, 0, 16, ("registers",)),  # 4,096 a warp: 4 a part, 16, 2 blocks
        (T4, 128, 256, 0, 16, ("registers",)),
        # 80 registers: 2,560 a warp, 6 in a part and so 24, though 25 would fit into all 65,536 registers
        (A100, 80, 32, 0, 24, ("registers",)),
        (A100, 168, 96, 0, 12, ("registers",)),  # 5,376 a warp: 3 a part, 12, 4 blocks of 3
        (H100, 255, 1024, 0, 0, ("registers",)),  # 8,192 a warp: 8 warps, and a block has 32
        # blocks of one warp: as many blocks as there may be
        (T4, 16, 32, 0, 16, ("blocks",)),
        (H100, 16, 32, 0, 32, ("blocks",)),
        (RTX50, 16, 33, 0, 48, ("warps", "blocks")),  # 33 threads are two warps: 24 blocks
        # shared memory: all of a T4's 64 KB; from 8.0 on a kilobyte of each block is the system's
        (T4, 32, 128, 64 << 10, 4, ("shared memory",)),
        (T4, 32, 128, 32 << 10, 8, ("shared memory",)),
        (A100, 32, 128, 48 << 10, 12, ("shared memory",)),  # 164 // 49 = 3
        (A100, 32, 128, 163 << 10, 4, ("shared memory",)),
        (A100, 32, 128, (163 << 10) + 1, 0, ("shared memory",)),
        (H100, 32, 128, 227 << 10, 4, ("shared memory",)),
        (RTX50, 32, 128, 33 << 10, 8, ("shared memory",)),  # 100 // 34 = 2
        (
            RTX50,
            16,
            64,
            3240,
            46,
            ("shared memory",),
        ),  # 3,240 + 1,024 are 34 units of 128, 4,352: 23 blocks, and not 24
        (T4, 16, 32, 4900, 12, ("shared memory",)),  # 20 units of 256, 5,120: 12 blocks; 39 of 128 would be 13
    ],
)
def test_warps_and_what_limits_them_are_those_computed_by_hand(cc, registers, threads, shared, warps, limits):
    found = cuda.occupancy(registers, threads, shared, cc)

    assert (found.warps, found.limits) == (warps, limits)
    assert found.blocks * -(-threads // 32) == warps


def compiled(registers, shared, cc=H100):
    return Compiled("k", (), cc, "k", "", b"", Report(registers, 0, 0, shared))


def test_what_a_kernel_needs_is_asked_of_the_kernel_and_added_to_what_a_launch_asks_for():
    assert cuda.occupancy(compiled(32, 16 << 10), 128, 32 << 10) == cuda.occupancy(32, 128, 48 << 10, H100)
    assert cuda.occupancy(compiled(40, 0, RTX50), 256).most == 48


def test_small_numbers_of_numpy_do_not_overflow():
    small = np.uint8(255), np.uint8(32), np.int8(100)
    assert cuda.occupancy(*small, cc=H100) == cuda.occupancy(255, 32, 100, H100)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ((32, 0), "threads of a block are a whole number from 1 to 1024; found 0"),
        ((32, 1025), "found 1025"),
        ((32, 64.0), "found 64.0"),
        ((256, 64), "registers of a thread are a whole number from 1 to 255; found 256"),
        ((True, 64), "found True"),
        ((32, 64, -1), "bytes of shared memory are a whole number from 0; found -1"),
        ((32, 64, 0, (6, 0)), r"multiprocessors are known; found \(6, 0\). Try: one of .*\(9, 0\)"),
        *(((32, 64, 0, cc), "two whole numbers; found ") for cc in ([9, 0], 0, (), {}, np.array([9, 0]))),
        ((compiled(32, 0), 64, 0, T4), r"has its own capability; found cc=\(7, 5\)"),
    ],
)
def test_what_no_gpu_has_is_refused(given, found):
    with pytest.raises(ArgumentError, match=found):
        cuda.occupancy(*given)
