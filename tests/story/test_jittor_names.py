"""Names that Jittor's users look for mean here what they mean there."""

import importlib

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import jittor_names


@pytest.mark.parametrize("name", jittor_names.__all__)
def test_jt_has_each_name(name):
    assert getattr(jt, name) is getattr(jittor_names, name)


@pytest.mark.parametrize("name", ["dataset", "misc", "transform", "utils", "utils.data"])
def test_rooms_of_jittor_are_imported(name):
    assert importlib.import_module(f"jt_edu.{name}")
    assert getattr(jt, name.partition(".")[0])
    assert jt.misc.knn is jt.knn and jt.dataset.DataLoader is jt.data.DataLoader


def test_use_cuda_is_0_and_1_says_why_not():
    with jt.flag_scope(use_cuda=0):
        assert jt.flags.use_cuda == 0
    with pytest.raises(jt.BackendError, match="computes on the CPU; found 1"):
        jt.flags.use_cuda = 1
    assert jt.flags.use_cuda == 0 == jt.has_cuda


def test_sync_all_computes_what_is_alive():
    held = [jt.ones(2) * k for k in range(3)]

    assert all(v.node.pending for v in held[1:])
    jt.sync_all()

    assert not any(v.node.pending for v in held)


def test_live_vars_are_counted_and_those_that_are_gone_are_not():
    before, values = jt.number_of_hold_vars(), jt.number_of_lived_vars()

    held = [jt.ones(2) * 2 + 1 for _ in range(5)]
    assert jt.number_of_hold_vars() == before + 5
    assert jt.number_of_lived_vars() > values and jt.number_of_lived_ops() >= 5
    held.clear()

    assert jt.number_of_hold_vars() == before


def test_a_profile_has_a_row_for_each_kernel_with_its_count():
    x = jt.array(np.arange(6.0).reshape(2, 3))

    with jt.profile_scope(fuse=False) as report:
        for _ in range(3):
            (x * 2).sync()

    header, row = report
    assert header[:3] == ["Name", "FileName", "Count"] and row[2] == "3"
    named = dict(zip(header[3:], map(float, row[3:]), strict=True))
    assert named["TotalTime"] >= named["MaxTime"] >= named["AvgTime"] >= named["MinTime"] > 0
    assert named["InOut"] == pytest.approx(named["Input"] + named["Output"], abs=2)
    assert named["Output"] > 0 and named["Compute"] > 0


def test_logs_have_a_line_for_each_kernel_and_flags_hold_inside():
    with jt.log_capture_scope(backend="python") as logs:
        (jt.ones(3) * 2 + 1).sync()

    assert len(logs) == 1 and "add" in logs[0]["msg"] and "python" in logs[0]["msg"]
    assert jt.flags.backend != "python"


def test_operators_are_called_by_name():
    x, y = jt.array([[1.0, 5.0], [4.0, 2.0]]), jt.array([[3.0, 3.0], [3.0, 3.0]])

    assert x.binary(y, "maximum").tolist() == jt.binary(x, y, "maximum").tolist() == [[3, 5], [4, 3]]
    assert x.unary("negative").tolist() == [[-1, -5], [-4, -2]] and jt.unary(x, "int32").dtype == "int32"
    assert x.reduce("minimum", 0, keepdims=True).tolist() == [[1, 2]]
    assert [v.tolist() for v in x.arg_reduce("min", 1, keepdims=True)] == [[[0], [1]], [[1], [2]]]
    for wrong in (lambda: jt.unary(x, "sofmax"), lambda: x.arg_reduce("sum", 1), lambda: jt.binary(x, y, "__doc__")):
        with pytest.raises(jt.ArgumentError):
            wrong()


def test_a_function_becomes_a_class_of_modules():
    Scale = jt.make_module(lambda x, k, shift=0: x * k + shift)

    assert isinstance(Scale(2), jt.Module) and Scale(2, shift=1)(jt.ones(2)).tolist() == [3, 3]
    with pytest.raises(jt.ArgumentError, match="takes 1 argument"):
        Scale(2)(jt.ones(2), jt.ones(2))


def test_graphs_are_dumped_with_what_waits():
    y = jt.ones(7) * 3

    dumped = jt.dump_all_graphs()

    assert any(v is y for v in dumped.hold_vars)
    assert any("multiply(7,) float32 pending" in line for line in dumped.nodes_info)


def test_what_was_stopped_stays_without_gradient():
    state, weight = jt.zeros(3).stop_grad(), jt.ones(3)

    state += weight * 2

    assert state.is_stop_grad() and state.tolist() == [2, 2, 2]
