"""Copies to a GPU and back go through pinned memory: nobody waits, and nothing is overwritten too early."""

import threading

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import cuda
from jt_edu.cuda import device, staging

PART = 4096


@pytest.fixture
def library(card, monkeypatch):
    """A fake GPU, and small parts of pinned memory."""
    monkeypatch.setattr(staging, "PART", PART)
    return card()


def drawn(size, seed=0):
    return np.random.default_rng(seed).integers(0, 256, size).astype("uint8")


def test_who_copies_to_a_gpu_goes_on_and_may_change_the_array(library):
    values = drawn(3 * PART + 5)
    there = cuda.to_device(values)
    values[:] = 0

    assert not [call for call in library.calls if "Synchronize" in call and "Event" not in call]
    assert there.copy_to_host().tolist() == drawn(3 * PART + 5).tolist()


@pytest.mark.parametrize("size", [0, 1, 63, PART - 1, PART, PART + 1, 6 * PART + 7])
def test_an_array_of_any_size_goes_there_and_back_in_pieces(library, size):
    there = cuda.to_device(drawn(size))
    library.calls.clear()

    assert np.array_equal(there.copy_to_host(), drawn(size))
    assert library.calls.count("cuMemcpyDtoHAsync_v2") == -(-size // PART)


def test_pinned_memory_is_not_filled_again_before_it_was_copied(library):
    sizes = np.random.default_rng(1).integers(1, 2 * PART, 60).tolist()
    there = [cuda.to_device(drawn(size, seed)) for seed, size in enumerate(sizes)]

    assert library.calls.count("cuMemHostAlloc") == 1
    assert sum(map(len, library.pinned.values())) == staging.PARTS * PART
    for seed, (array, size) in enumerate(zip(there, sizes, strict=True)):
        assert np.array_equal(array.copy_to_host(), drawn(size, seed))


def test_small_arrays_share_a_part_and_nobody_waits(library):
    there = [cuda.to_device(drawn(16, seed)) for seed in range(PART // 64)]

    assert "cuEventQuery" not in library.calls
    assert all(np.array_equal(array.copy_to_host(), drawn(16, seed)) for seed, array in enumerate(there))


def test_numbers_that_come_back_are_those_of_all_kernels_before(library):
    there = cuda.to_device(drawn(5 * PART))
    other = cuda.device_array(5 * PART, "uint8")
    other.copy_to_device(there)
    there.copy_to_device(0)

    assert np.array_equal(other.copy_to_host(), drawn(5 * PART))
    assert not there.copy_to_host().any()


def test_threads_copy_at_the_same_time(library):
    found = {}

    def work(seed):
        found[seed] = [cuda.to_device(drawn(3 * PART, seed)).copy_to_host() for _ in range(5)]

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, copies in found.items():
        assert all(np.array_equal(copy, drawn(3 * PART, seed)) for copy in copies)
    assert len(found) == 4


def test_where_no_memory_can_be_pinned_the_driver_copies_as_well_as_it_can(library):
    library.fails["cuMemHostAlloc"] = 2
    there = cuda.to_device(drawn(3 * PART))

    assert np.array_equal(there.copy_to_host(), drawn(3 * PART))
    assert library.calls.count("cuMemHostAlloc") == 1
    assert library.calls.count("cuMemcpyHtoDAsync_v2") == 1


def test_a_gpu_that_is_lost_says_so_at_a_copy(library):
    library.fails["cuMemHostAlloc"] = 700
    with pytest.raises(jt.KernelError, match=r"error 700 .* while pinning 16,384 bytes"):
        cuda.to_device(drawn(5))


def test_while_one_piece_is_taken_out_the_next_one_is_on_its_way(library, monkeypatch):
    there, left, arrived = cuda.to_device(drawn(4 * PART)), [], staging.Staging._arrived

    def spied(self, *piece):
        arrived(self, *piece)
        left.append(len(library.lines[device.here().stream]))

    monkeypatch.setattr(staging.Staging, "_arrived", spied)
    there.copy_to_host()

    assert all(left[:-1])
    assert len(left) == 4
