"""Stepping: a kernel's text run as plain Python, written down line by line and cell by cell."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.codegen.emit_python import Source
from jt_edu.introspect.explain import planned
from jt_edu.lens.kernel_debugger import product_as_loops, step_through
from jt_edu.lens.kernel_edit import edit_kernel, revert_kernels
from jt_edu.lens.line_tracer import Touch


def steps_of(*wanted, kernel=0, **options):
    order, plan = planned([v.node for v in wanted])
    return step_through(plan, order, kernel, **options)


def with_text(y, change):
    """The steps of a kernel whose text is another; the plan that others run stays as it is."""
    order, plan = planned([y.node])
    (step,) = plan.steps
    other = replace(step, source=Source(change(step.source.text), step.source.parameters))
    return lambda **options: step_through(replace(plan, steps=[other]), order, 0, **options)


def test_each_line_is_told_with_what_it_touched():
    steps = steps_of(jt.array([1.0, 2.0]) * 3)

    loop, load, store = steps.moments[0], steps.moments[1], steps.moments[2]
    assert steps.complete
    assert loop.changes == (("i0", 0),)
    assert load.touches == (Touch(0, 0, 1.0, write=False),)
    assert load.changes == (("t0", 3.0),)
    assert store.touches == (Touch(1, 0, 3.0, write=True),)
    assert steps.source.splitlines()[store.line - 1].strip().startswith("out0[")


def test_what_is_written_is_what_the_kernel_computes(rng):
    x = jt.array(rng.standard_normal((5, 7)).astype("float32"))
    y = (x.exp() * 2).sum(1)

    steps = steps_of(y)
    out = next(k for k, a in enumerate(steps.arrays) if a.role == "out")
    written = {t.place: t.value for row in steps.moments for t in row.touches if t.array == out and t.write}

    np.testing.assert_allclose([written[k] for k in range(5)], y.numpy(), rtol=1e-6)


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_later_kernels_read_what_the_earlier_ones_stored(rng, backend):
    with jt.flag_scope(backend=backend):
        a, b = (jt.array(rng.standard_normal((4, 4)).astype("float32")) for _ in range(2))
        y = (a @ b).tanh().sum()

        steps = steps_of(y, kernel=1)

    first = next(t for row in steps.moments for t in row.touches if not t.write)
    assert first.value == pytest.approx((a.numpy() @ b.numpy())[0, 0], rel=1e-5)


def test_a_product_is_stepped_through_as_three_loops(rng):
    a, b = (jt.array(rng.standard_normal((3, 4)).astype("float32")) for _ in range(2))
    y = a @ b.transpose(1, 0)

    steps = steps_of(y)
    written = [t.value for row in steps.moments for t in row.touches if t.write]

    assert "BLAS" in steps.note
    assert steps.complete
    np.testing.assert_allclose(written, y.numpy().ravel(), rtol=1e-5)


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("turn_left", [False, True])
@pytest.mark.parametrize("turn_right", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_every_form_of_a_product_is_stepped_through(rng, batch, turn_left, turn_right, shared):
    """Of matrices and of batches, stored transposed or not, one in a kernel or two."""
    a = jt.array(rng.random((*batch, *((4, 3) if turn_left else (3, 4)))))
    b, c = (jt.array(rng.random((*batch, *((5, 4) if turn_right else (4, 5))))) for _ in range(2))

    def turned(x, turn):
        return x.swapaxes(-1, -2) if turn else x

    wanted = [turned(a, turn_left) @ turned(x, turn_right) for x in ((b, c) if shared else (b,))]

    steps = steps_of(*wanted)

    outputs = [k for k, array in enumerate(steps.arrays) if array.role == "out"]
    assert [steps.arrays[k].node for k in outputs] == [y.node.id for y in wanted]
    for k, y in zip(outputs, wanted, strict=True):
        written = [t.value for m in steps.moments for t in m.touches if t.write and t.array == k]
        np.testing.assert_allclose(written, y.numpy().ravel())
    assert "BLAS" in steps.note
    assert steps.complete


def test_a_product_of_another_form_is_refused():
    text = "def kernel(lo, hi, a0, a1, out0):\n    np.dot(a0[::2], a1, out0)\n"

    with pytest.raises(jt.ArgumentError, match=r"is np\.dot\(a, b, out\); found 'np\.dot\(a0\[::2\], a1, out0\)'"):
        product_as_loops(text)


def test_only_the_first_steps_are_recorded_and_the_rest_is_estimated(rng):
    x = jt.array(rng.random((50, 60)).astype("float32"))

    some = steps_of((x + 1).sum(1), most=100)
    whole = steps_of((x + 1).sum(1), most=10**6)

    assert (len(some.moments), some.complete, whole.complete) == (100, False, True)
    assert some.estimated_steps == pytest.approx(len(whole.moments), rel=0.05)


def test_an_endless_loop_ends_with_the_steps():
    endless = with_text(
        jt.array([1.0, 2.0]) * 3, lambda text: text.replace("    for i0", "    while True:\n        lo = 0\n    for i0")
    )

    steps = endless(most=50)

    assert (len(steps.moments), steps.complete) == (50, False)


def test_an_edited_kernel_is_stepped_through_as_it_was_edited():
    x = jt.array([1.0, 2.0])
    (kernel,) = jt.explain(x * 5).kernels
    edit_kernel(kernel, kernel.source.replace(" * ", " - ")).install()
    try:
        steps = steps_of(x * 5)
    finally:
        revert_kernels()

    assert [v for row in steps.moments for name, v in row.changes if name == "t0"] == [-4.0, -3.0]


def test_an_error_is_told_with_its_line():
    steps = with_text(jt.array([1.0, 2.0]) * 7, lambda text: text.replace("a0[at(i0)]", "a0[at(i0) + 1]"))()

    assert steps.error.startswith("line 6: IndexError")
    assert not steps.complete


def test_a_line_that_fills_a_slice_writes_each_of_its_cells():
    x, order = jt.array(np.arange(6.0).reshape(2, 3)), jt.array([2, 0, 1])
    body = "out[:] = in0[:, in1]\nout[1, 1:] = 7\nout[:, in1] = 8"

    steps = steps_of(jt.code(x.shape, x.dtype, [x, order], body, boundscheck=False))
    written = [[(t.place, t.value) for t in m.touches if t.write] for m in steps.moments]

    assert [w for w in written if w] == [[*enumerate([2, 0, 1, 5, 3, 4])], [(4, 7), (5, 7)]]  # places in a list: a copy


def test_halves_are_shown_as_the_numbers_they_are():
    x = jt.array([1.5, 2.5]).half()

    steps = steps_of((x * 2).half())

    read = [t.value for row in steps.moments for t in row.touches if not t.write]
    assert read == [1.5, 1.5, 2.5, 2.5]  # as float32, and rounded: from x, which is held
    assert {3.0, 5.0} <= {t.value for row in steps.moments for t in row.touches if t.write}


def test_kernels_written_by_hand_and_scratch_are_watched(rng):
    x = jt.array(rng.random((3, 4)).astype("float32"))

    scan = steps_of(jt.cumsum(x, 1))
    soft = [steps_of(x.softmax(0), kernel=k) for k in range(len(jt.explain(x.softmax(0)).kernels))]

    assert [a.name for a in scan.arrays] == ["x", "out"]
    assert all(s.complete for s in (scan, *soft))


def test_the_page_holds_plain_numbers_and_the_cells():
    steps = steps_of(jt.array([np.inf, np.nan]) * 2)

    told, cells = steps.as_dict(at=10)

    assert told["arrays"][0]["block"] == [10, 2]
    assert len(cells) == 8
    assert {"inf", "nan"} <= {n for n in told["numbers"] if isinstance(n, str)}
    assert told["steps"] == len(steps.moments)


def test_somebody_elses_tracer_is_put_back():
    def tracer(frame, event, argument):
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        steps_of(jt.array([1.0]) + 1)
        found = sys.gettrace()
    finally:
        sys.settrace(before)

    assert found is tracer


def test_kernels_without_lines_are_refused():
    def cumsum(np, data):
        np.cumsum(data["inputs"][0], out=data["outputs"][0])

    y = jt.numpy_code((2,), "float32", [jt.array([1.0, 2.0])], cumsum)

    with pytest.raises(
        jt.ArgumentError, match=r"a kernel with lines to step through; found .*, which is done on whole"
    ):
        steps_of(y)


@pytest.mark.parametrize("number", [3, -1, "0"])
def test_kernels_that_are_not_there_are_refused(number):
    x = jt.array([1.0, 2.0])

    with pytest.raises(jt.ArgumentError, match=f"a kernel from 0 to 0; found {number!r}"):
        steps_of(x + 1, kernel=number)
    with pytest.raises(jt.ArgumentError, match="nothing would run, so there is no kernel"):
        steps_of(x, kernel=number)
