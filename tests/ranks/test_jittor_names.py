"""Jittor's older names for ranks, and its names of the device path as methods."""

import pytest

import jt_edu as jt


def test_broadcast_is_the_older_name_of_mpi_broadcast():
    assert jt.simulate(3)(lambda: jt.mpi.broadcast(jt.array([float(jt.rank)]), 2).item()) == [2.0] * 3


def test_nobody_leaves_an_mpi_barrier_before_all_have_come():
    seen = []

    def program(comm):
        seen.append(comm.rank)
        jt.mpi.mpi_barrier()
        return sorted(seen)

    assert jt.simulate(3)(program) == [[0, 1, 2]] * 3


@pytest.mark.parametrize(("name", "arguments"), [
    ("nccl_all_reduce", ("add",)), ("nccl_reduce", ("add", 0)), ("nccl_broadcast", (0,)),
])  # fmt: skip
def test_the_device_path_as_a_method_says_the_same_as_the_function(name, arguments):
    def program():
        x, said = jt.ones(2), []
        for call in (getattr(x, name), lambda *rest: getattr(jt.mpi, name)(x, *rest)):
            with pytest.raises(jt.BackendError, match=f"{name} speaks from device to device.*mpi_") as caught:
                call(*arguments)
            said.append(str(caught.value))
        return said[0] == said[1]

    assert jt.simulate(2)(program) == [True, True]
