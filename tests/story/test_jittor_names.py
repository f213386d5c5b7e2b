"""Names that Jittor's users look for mean here what they mean there."""

import importlib
import pickle
import sys

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import jittor_names, jittor_operators


@pytest.mark.parametrize(("room", "name"), [(r, name) for r in (jittor_names, jittor_operators) for name in r.__all__])
def test_jt_has_each_name(room, name):
    assert getattr(jt, name) is getattr(room, name)


@pytest.mark.parametrize(
    "name", ["dataset", "misc", "special", "transform", "utils", "utils.data", "compiler", "compile_extern", "einops"]
)
def test_rooms_of_jittor_are_imported(name):
    assert importlib.import_module(f"jt_edu.{name}")
    assert getattr(jt, name.partition(".")[0])
    assert jt.misc.knn is jt.knn and jt.dataset.DataLoader is jt.data.DataLoader


def test_use_cuda_is_0_and_1_says_why_not():
    with jt.flag_scope(use_cuda=0):
        assert jt.flags.use_cuda == 0
    with pytest.raises(jt.BackendError, match="on a GPU; found no driver"):
        jt.flags.use_cuda = 1
    assert jt.flags.use_cuda == 0 == jt.has_cuda


def test_sync_all_computes_what_is_alive():
    held = [jt.ones(2) * k for k in range(3)]

    assert all(v.node.pending for v in held[1:])
    jt.sync_all(True)

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


def test_there_is_no_hardware_and_no_compiler_of_jittors():
    from jt_edu.compile_extern import cublas_ops, mpi  # noqa: PLC0415 - what programs of Jittor write
    from jt_edu.compiler import has_acl  # noqa: PLC0415

    assert (has_acl, jt.compiler.has_cuda, cublas_ops, mpi, jt.compile_extern.has_mpi) == (0, 0, None, jt.mpi, False)
    with pytest.raises(jt.UnknownNameError, match=r"no C\+\+ compiler, and so none of its names; found run_cmd"):
        jt.compiler.run_cmd  # noqa: B018


def test_log_writes_where_python_logs(caplog):
    with caplog.at_level("DEBUG", logger="jt_edu"):
        for write in (jt.LOG.i, jt.LOG.vv, jt.LOG.w, jt.LOG.e):
            write("seen")

    assert [record.levelname for record in caplog.records] == ["INFO", "DEBUG", "WARNING", "ERROR"]


def test_what_is_logged_is_seen_while_log_v_says_so(capsys):
    jt.LOG.v("before")
    with jt.flag_scope(log_v=1):
        jittor_names._terminal.setStream(sys.stderr)  # that of this test
        jt.LOG.i("inside")
        jt.LOG.vv("inside, too")
    jt.LOG.i("after")

    assert capsys.readouterr().err.split("\n") == ["inside", "inside, too", ""]
    assert jt.flags.log_v == 0


@pytest.mark.parametrize(
    ("flag", "way"),
    [
        ("compile_options", "kernels are Python, which numba compiles"), ("enable_tuner", "see jt.explain"),
        ("trace_py_var", "with jt.trace"), ("use_stat_allocator", "memory_stats"), ("cache_path", "JT_EDU_CACHE"),
        ("log_vprefix", "jt.flags.log_v = 1"), ("no_fuse", "fuse = False"), ("profiler_enable", "profile_scope"),
    ],
)  # fmt: skip
def test_a_flag_of_jittors_compiler_brings_what_does_the_same(flag, way):
    for ask in (lambda: getattr(jt.flags, flag), lambda: setattr(jt.flags, flag, 1)):
        with pytest.raises(jt.UnknownNameError, match=f"jt.flags offers no {flag}. Try: .*{way}"):
            ask()


def test_a_name_is_a_text_and_is_called_to_give_one():
    x = jt.ones(2)

    assert (x.name, x.name("w") is x, x.name, x.name()) == ("", True, "w", "w")
    x.name = x.name + "eight"
    assert x.name == "weight" and type(x.node.name) is str
    assert type(pickle.loads(pickle.dumps(x.name))) is str  # noqa: S301 - our own bytes
    with pytest.raises(jt.ArgumentError, match="a text; found 3"):
        x.name(3)


def test_where_alone_tells_the_places():
    rows, columns = (jt.array([[0, 5], [6, 0]]) > 0).where()

    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])


def test_vars_say_where_to_read_and_outside_there_is_a_number():
    x = jt.array(np.arange(6.0).reshape(2, 3))
    rows, columns = jt.array([[0], [1], [2]]), jt.array([-1, 0, 2])

    found = x.reindex_var([rows, columns], 9)

    assert found.tolist() == [[9, 0, 2], [9, 3, 5], [9, 9, 9]] and found.dtype == x.dtype
    assert x.reindex([rows, columns]).tolist() == [[0, 0, 2], [0, 3, 5], [0, 0, 0]]
    assert jt.grad(x.reindex_var([jt.array([1, 1, 5]), jt.array([0, 0, 0])]).sum(), x).tolist() == [[0] * 3, [2, 0, 0]]
    assert jt.zeros(0).reindex_var([jt.array([0, 1])], 5).tolist() == [5, 5]
    with pytest.raises(jt.ShapeError, match="one index for each axis; found 1 for shape"):
        x.reindex_var([rows])
    with pytest.raises(jt.DtypeError, match="whole numbers"):
        x.reindex_var([rows.float(), columns])
    with pytest.raises(jt.ArgumentError, match="or a list of Vars"):
        x.reindex([2, 3])


def test_a_transpose_is_part_of_the_kernel_that_reads_it():
    x = jt.array(np.arange(24.0).reshape(2, 3, 4)).sync()

    with jt.trace() as t:
        found = (x.fuse_transpose((1, 2, 0)) + 1).numpy()

    np.testing.assert_array_equal(found, x.numpy().transpose(1, 2, 0) + 1)
    assert len(t.kernels) == 1 and x.fuse_transpose().shape == (4, 3, 2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_safe_clip_is_finite_and_hands_its_gradient_on(dtype):
    x = jt.array([-np.inf, 0.5, 3.0, np.inf]).cast(dtype)

    assert x.safe_clip().isfinite().all().item() and x.safe_clip(0, 2).tolist() == [0, 0.5, 2, 2]
    assert jt.grad((x.safe_clip(0, 2) * 3).sum(), x).tolist() == [3] * 4


def test_a_dtype_may_stand_behind_one_length():
    assert (jt.ones(3, "int32").dtype, jt.zeros(2, bool).dtype, jt.zeros(2, jt.int8).shape) == ("int32", "bool", (2,))


def test_jt_ops_has_every_operator_though_files_have_their_names():
    x = jt.ones(2, 3)

    assert jt.ops.matmul(x, x.T).tolist() == [[3, 3], [3, 3]] and jt.ops.add(1, 2).item() == 3
    assert jt.ops.arg_reduce is jt.arg_reduce and jt.core.number_of_hold_vars is jt.number_of_hold_vars
    assert jt.nn.conv(jt.ones(1, 1, 3, 3), jt.ones(1, 1, 2, 2)).tolist() == [[[[4, 4], [4, 4]]]]
    assert importlib.import_module("jt_edu.ops.matmul").matmul is jt.matmul
    with pytest.raises(jt.UnknownNameError, match=r"Try: jt\.softmax"):
        jt.ops.sofmax  # noqa: B018


def test_a_shape_of_1_keeps_the_length_that_is_there():
    x = jt.array([1, 2])

    assert x.broadcast((2, 1)).tolist() == [[1, 2], [1, 2]] and x.broadcast((1, 3), [1]).tolist() == [[1] * 3, [2] * 3]
    assert jt.broadcast_var([[1], [2]], np.zeros((1, 2))).tolist() == [[1, 1], [2, 2]]
    for wrong in (lambda: x.broadcast(3), lambda: jt.broadcast_var([1, 2], [1, 2, 3])):
        with pytest.raises(jt.ShapeError, match="needs shapes that fit"):
            wrong()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_limits_of_floats_have_numpys_names(dtype):
    ours, theirs = jt.finfo(dtype), np.finfo(dtype)

    for name in ("nmant", "nexp", "iexp", "precision", "resolution"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name)), name


def test_a_dtype_that_is_called_casts():
    assert jt.float32([1, 2]).dtype == "float32"
    assert jt.int8(jt.array([1.7])).tolist() == [1]


def test_counters_of_all_axes_come_as_a_tuple():
    assert [v.tolist() for v in jt.index((2, 2))] == [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]


def test_optimizers_stand_in_nn_too():
    assert (jt.nn.SGD, jt.nn.Adam, jt.nn.RMSprop) == (jt.optim.SGD, jt.optim.Adam, jt.optim.RMSprop)


PATTERNS = [
    ("rearrange", "a b c -> (a c) b", {}), ("rearrange", "a (b d) c -> d a b c", {"d": 3}),
    ("reduce", "a b c -> b", {"reduction": "mean"}), ("reduce", "a b (c d) -> a c", {"reduction": "max", "d": 2}),
    ("repeat", "a b c -> a (r b) c", {"r": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("function", "pattern", "sizes"), PATTERNS)
def test_einops_knows_vars(function, pattern, sizes):
    call, x = getattr(jt.einops, function), np.arange(24, dtype="float32").reshape(2, 3, 4)

    np.testing.assert_allclose(call(jt.array(x), pattern, **sizes).numpy(), call(x, pattern, **sizes))


def test_gradients_flow_through_einops():
    x = jt.ones((2, 3))

    assert jt.grad((jt.einops.rearrange(x, "a b -> b a") * jt.array([[1.0, 2.0]])).sum(), x).tolist() == [
        [1] * 3,
        [2] * 3,
    ]
    assert len(jt.einops.pack([x, x], "* a")[0]) == 4
