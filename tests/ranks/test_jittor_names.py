"""Jittor's older names for ranks, and its names of the device path as methods."""

import pydoc
import sys

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


@pytest.mark.parametrize("name", ["parameters", "buffers"])
def test_parameters_are_broadcast_whatever_the_learner_calls_by_that_name(name):
    def program():
        norm = jt.nn.BatchNorm(1)
        setattr(norm, name, 3)
        norm.weight.update(jt.full((1,), float(jt.rank)))
        norm.running_mean.update(jt.full((1,), float(jt.rank)))
        norm.mpi_param_broadcast(root=1)
        return norm.weight.item(), norm.running_mean.item()

    assert jt.simulate(2)(program) == [(1.0, 1.0)] * 2


@pytest.mark.parametrize(("name", "arguments"), [
    ("nccl_all_reduce", ("add",)), ("nccl_reduce", ("add", 0)), ("nccl_broadcast", (0,)),
])  # fmt: skip
def test_the_device_path_as_a_method_says_the_same_as_the_function(name, arguments):
    def program():
        x, said = jt.ones(2), []
        for call in (getattr(x, name), lambda *rest: getattr(jt.mpi, name)(x, *rest)):
            with pytest.raises(jt.BackendError, match=f"{name} communicates from GPU to GPU.*mpi_") as caught:
                call(*arguments)
            said.append(str(caught.value))
        return said[0] == said[1]

    assert jt.simulate(2)(program) == [True, True]


def test_every_form_of_import_gives_the_module_of_ranks_whether_there_are_any_or_not():
    text = (
        "import jt_edu.mpi as m\nimport jt_edu.mpi.algorithms\nfrom jt_edu import mpi\nfrom jt_edu.mpi import MPI\n"
        "import jt_edu.mpi.MPI as names\nfound = (m, jt_edu.mpi, mpi), (MPI, names), jt_edu.mpi.algorithms"
    )

    def program():
        there = {}
        exec(text, there)  # noqa: S102 - our own text
        ours, names, algorithms = there["found"]
        assert all(m is sys.modules["jt_edu.mpi"] is jt.mpi for m in ours)
        assert all(m is sys.modules["jt_edu.mpi.MPI"] for m in names) and algorithms.__name__ == "jt_edu.mpi.algorithms"
        return bool(jt.mpi)

    assert program() is False
    assert jt.simulate(2)(program) == [True, True]


def test_alone_help_shows_the_module_of_ranks_and_its_names_are_those_that_can_be_asked_for():
    assert "package jt_edu.mpi" in pydoc.render_doc(jt.mpi) and "world_size" in pydoc.render_doc(jt.mpi)
    assert all(hasattr(jt.mpi, name) for name in dir(jt.mpi)) and "comm" not in dir(jt.mpi)
    assert jt.simulate(2)(lambda: "comm" in dir(jt.mpi)) == [True, True]
