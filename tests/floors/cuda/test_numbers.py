"""Numbers and memory of a kernel: dtypes, limits, and arrays that are the same memory."""

import threading

import numpy as np
import pytest
from numba import njit

import jt_edu as jt
from jt_edu import cuda
from tests.floors.cuda.kernels import made

VALUES = {
    "uint8": [200, 100], "int8": [-128, 127], "int32": [2**31 - 1, 5], "uint16": [65535, 7], "int64": [2**62, 3],
    "bool": [True, True], "float32": [0.1, 7.3], "float64": [0.1, -3.7], "complex64": [1 + 2j, 3],
}  # fmt: skip


def ran(body, *arguments, above="", block=1, **more):
    names = ", ".join("abcd"[: len(arguments)])
    text = f"import math\n{above}\n@cuda.jit\ndef kernel({names}):\n    t = cuda.threadIdx.x\n    {body}\n"
    return cuda.simulate(made(text, text), 1, block, *arguments, **more)


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("out", ["float64", "same"])
def test_arithmetic_is_that_of_a_compiler(dtype, out):
    given = np.array(VALUES[dtype], dtype)
    terms = ["a[0] + a[1]", "a[0] * a[1] - 3", "a[1] * a[1] + a[0]"]
    body = "; ".join(f"b[{k}] = {term}" for k, term in enumerate(terms))
    kind = "complex128" if out == "float64" and dtype == "complex64" else out
    found = np.zeros(3, dtype if out == "same" else kind)
    wanted = found.copy()
    space = {}
    exec(f"def f(a, b):\n    {body}", space)  # noqa: S102
    njit(space["f"])(given, wanted)
    ran(body, given, found)
    np.testing.assert_allclose(found, wanted, 1e-6)


DIVIDED = ["a[0] // b[0]", "a[0] % b[0]", "a[0] / b[0]", "a[0] >> 1", "a[0] & b[0]"]


def test_negative_numbers_are_divided_as_in_numba():
    body = "; ".join(f"c[{k}] = {term}" for k, term in enumerate(DIVIDED))
    space = {}
    exec(f"def f(a, b, c):\n    {body}", space)  # noqa: S102
    compiled = njit(space["f"])
    for pair in [(-7, 2), (7, -2), (-7, -2), (7, 2)]:
        a, b = (np.array([v], np.int32) for v in pair)
        wanted, out = np.zeros(5), np.zeros(5)
        compiled(a, b, wanted)
        ran(body, a, b, out)
        assert out.tolist() == wanted.tolist()


ENDS = {
    "math.log(a[0])": (0, -np.inf), "math.sqrt(a[0])": (-1, np.nan), "math.exp(a[0])": (1000, np.inf),
    "1 / a[0]": (0, np.inf), "math.acos(a[0])": (2, np.nan), "math.pow(a[0], 3)": (1e30, np.inf),
    "math.floor(a[0])": (np.inf, np.inf), "math.log1p(a[0])": (-1, -np.inf),
}  # fmt: skip


@pytest.mark.parametrize("term", ENDS)
def test_where_a_function_has_no_number_it_is_infinite_or_none(term):
    given, wanted = ENDS[term]
    out = np.zeros(1, np.float32)
    ran(f"b[0] = {term}", np.array([given], np.float32), out)
    np.testing.assert_array_equal(out[0], np.float32(wanted))


def test_fma_rounds_once():
    a = np.array([1 + 2**-12, 1 + 2**-12, -1 - 2**-11], np.float32)
    out = np.zeros(1, np.float32)
    ran("b[0] = cuda.fma(a[0], a[1], a[2])", a, out)
    assert out[0] == np.float32(2**-24)


def test_an_atomic_of_small_integers_goes_round():
    a = np.array([250], np.uint8)
    ran("cuda.atomic.add(a, 0, 10)", a)
    assert a[0] == 4


SAME = np.zeros(8, np.float32)
OVERLAPS = {
    "one array under two names": ("b[t] = a[(t + 1) % 4]", (SAME, SAME)),
    "two parts that overlap": ("b[t] = a[t + 1]", (SAME[:6], SAME[1:])),
    "a view of other numbers": ("b[t] = int(a[(t + 1) % 4])", (SAME, SAME.view(np.int32))),
    "two names of a device array": ("b[t] = a[(t + 1) % 4]", (cuda.to_device(SAME),) * 2),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_a_race_is_seen_under_two_names(name):
    body, arguments = OVERLAPS[name]
    found = ran(body, *arguments, block=4).findings
    assert {f.kind for f in found} == ({"race"} if name != "two parts that overlap" else set()), found


def test_parts_that_do_not_overlap_are_no_race_and_other_sizes_are_refused():
    whole = np.zeros(8)
    assert ran("b[t] = a[(t + 1) % 4]", whole[:4], whole[4:], block=4).findings == []
    with pytest.raises(jt.ArgumentError, match="numbers of one size"):
        ran("b[t] = a[t]", whole, whole.view(np.float32))


def test_arrays_of_the_size_of_the_launch_are_one_memory():
    body = 'm, n = cuda.shared.array(0, "float32"), cuda.shared.array(0, "int32")\n    '
    out = np.zeros(4)
    assert {f.kind for f in ran(body + "m[t] = t\n    n[3 - t] = 1", out, block=4, shared=16).findings} == {"race"}
    ran(body + "m[t] = 1\n    a[t] = n[t]", out, block=4, shared=16)
    assert out.tolist() == [0x3F800000] * 4
    with pytest.raises(jt.KernelError, match="begin at the same byte"):
        ran('cuda.shared.array(0, "float32")\n    cuda.shared.array(0, "float64")', shared=16)


def test_empty_arrays_and_numbers_without_an_axis_are_arguments():
    out = np.zeros(())
    assert ran("b[()] = a.size + len(a)", np.zeros((0, 3)), out).findings == []
    assert out == 0
    (found,) = ran("b[()] = a[0, 0]", np.zeros((0, 3)), out).findings
    assert found.kind == "out of bounds"


def test_arrays_of_records_and_of_objects_are_refused():
    for array in (np.zeros(2, [("x", "f4")]), np.array([None]), np.array(["a"]), np.array(0, "M8[s]")):
        with pytest.raises(jt.ArgumentError, match="a kernel takes arrays and numbers"):
            ran("pass", array)


def test_a_block_is_not_deeper_than_a_card_allows():
    with pytest.raises(jt.ArgumentError, match="along z"):
        cuda.simulate(made("@cuda.jit\ndef kernel():\n    pass\n", "deep"), 1, (1, 1, 128))


def test_a_huge_launch_ends_in_time(monkeypatch):
    monkeypatch.setattr("jt_edu.cuda.launch.SECONDS", 0.3)
    with pytest.raises(jt.KernelError, match=r"gives a launch 0\.3 seconds"):
        cuda.simulate(made("@cuda.jit\ndef kernel():\n    pass\n", "huge"), 2**31 - 1, 1024)


def test_snapshots_of_an_endless_loop_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr("jt_edu.cuda.run.PICTURED", 500)
    run = ran("while True:\n        cuda.syncthreads()", block=10, steps=1000)
    assert [f.kind for f in run.findings] == ["never ends"] and len(run.snapshots) == 50


def test_two_threads_of_python_may_launch_at_once():
    found = {}

    def work(k):
        x = np.zeros(1)
        found[k] = [ran(f"for i in range(300):\n        a[0] += {k}", x).findings for _ in range(5)], x[0]

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == {k: ([[]] * 5, 1500.0 * k) for k in range(4)}
