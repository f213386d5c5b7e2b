"""What jt.code(debug=True) sees: races of a prange, and elements that are arbitrary."""

import numpy as np
import pytest

import jt_edu as jt


def run(body, shape=(4,), n=4, **more):
    return jt.code(shape, "float64", [jt.array(np.arange(float(n)))], body, debug=True, **more)


def test_what_is_right_runs_as_without():
    body = """
        k = in0_shape0
        for i in prange(k):
            @out(i) = 0
            for j in range(i):
                @out(i) += @in0(j) * data["s"]
    """

    assert run(body, data={"s": 10}).tolist() == [0, 0, 10, 30]


TWICE = "for i in prange(4):\n    @out(0) = @in0(i)"
BEFORE = "for i in prange(4):\n    @out(i) = 1\n    if i:\n        @out(i) = @out(i - 1)"
PAIRS = "for i in prange(4):\n    @out(i // 2 * 2) = i"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (TWICE, r"element 0 of out: iteration 0 writes it in line 2 .*iteration 1 writes it in line 2"),
        (BEFORE, r"element 0 of out: iteration 0 writes it in line 2 .*iteration 1 reads it in line 4"),
        (PAIRS, r"element 0 of out"),
    ],
)
def test_two_iterations_that_touch_one_element_are_named_with_both_lines(body, words):
    with pytest.raises(jt.KernelError, match="a race for " + words):
        run(body)


def test_a_read_before_another_iteration_writes_is_a_race():
    body = "for i in prange(4):\n    v = out[i + 1] if i < 3 else 0\n    out[i] = v"
    with pytest.raises(jt.KernelError, match=r"iteration 0 reads it in line 2 .*iteration 1 writes it in line 3"):
        jt.code([jt.ones(4)], [jt.ones(4)], cpu_src=body, debug=True)


def test_a_row_that_is_written_as_a_whole_counts_for_each_element():
    body = "for i in prange(2):\n    out[0, :] = i"
    with pytest.raises(jt.KernelError, match="element 0 of out"):
        run(body, shape=(2, 2))
    assert run("for i in prange(2):\n    row = out[i]\n    row[:] = np.sum(in0[0:2]) + i", shape=(2, 2)).tolist() == [
        [1, 1],
        [2, 2],
    ]


def test_elements_that_nobody_writes_or_that_are_read_before_are_told():
    with pytest.raises(jt.KernelError, match=r"every element of out is written; found 1 of 4 .* element 3"):
        run("for i in range(3):\n    @out(i) = 1")
    with pytest.raises(jt.KernelError, match="element 0 of out, which nobody has written before, in line 2"):
        run("for i in range(4):\n    @out(i) += 1")


def test_outside_is_told_with_its_line():
    with pytest.raises(jt.RangeError, match=r"in0 has shape \(4,\); found index 4 in line 2"):
        run("for i in range(4):\n    @out(i) = @in0(i + 1)")


def test_outputs_of_unknown_size_are_watched():
    assert run("@out(0) = 7\nout.set_shape(1)", (-4,)).tolist() == [7]
