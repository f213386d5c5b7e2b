"""Texts of kernels: forms that Python has, and that a GPU has not."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import cuda
from tests.floors.cuda.kernels import made

TWO = """
@cuda.jit(device=True)
def f(a):
    return a + 1
g = f
@cuda.jit(device=True)
def f(a):
    return 10 * a
"""
MATCH = """
    if (y := x[t]) > 2:
        return
    match y:
        case 0: out[t] = 7
        case _: out[t] = 8
    for k in range(3):
        if k == y:
            break
    else:
        out[t] = 9
""".strip()
RIGHT = {  # what one thread does with x = 0, 1, 2, ... -> out
    "a device function that calls itself": (
        "@cuda.jit(device=True)\ndef f(n):\n    if n < 2:\n        return 1\n    return n * f(n - 1)\n",
        "out[t] = f(x[t])", [1, 1, 2, 6],
    ),
    "device functions in an expression and a condition, with names and defaults": (
        "@cuda.jit(device=True)\ndef f(a, b=10, c=1):\n    return a * b + c\n",
        "out[t] = f(f(x[t], c=0), b=2) if f(x[t], 1) > 1 and not f(-1, 1, 1) else -1", [-1, 21, 41, 61],
    ),
    "two device functions of one name": (
        TWO,
        "out[t] = f(x[t]) + g(x[t])", [1, 12, 23, 34],
    ),
    "walrus, match, for and else": (
        "",
        MATCH, [7, 8, 8, 0],
    ),
    "a row of a row, a slice that goes back, and what is in it": (
        "", "m[t, 1:][0] = 1\n    s = 0\n    for v in x[::-1][:2]:\n        s += v\n    out[t] = s + m[t][1]", [6] * 4,
    ),
    "a while that is ended inside": (
        "", "k = 0\n    while True:\n        k += 1\n        if k > x[t]: break\n    out[t] = k", [1, 2, 3, 4],
    ),
    "names that are bound at once": ("", "(a, b), *c = (x[t], 1), 2, 3\n    out[t] = a + b + len(c)", [3, 4, 5, 6]),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_what_python_says_in_other_words_is_understood(name):
    above, body, wanted = RIGHT[name]
    text = f"{above}\n@cuda.jit\ndef kernel(x, m, out):\n    t = cuda.threadIdx.x\n    {body}\n"
    out = np.zeros(4)
    assert cuda.simulate(made(text, name), 1, 4, np.arange(4), np.zeros((4, 2)), out).findings == []
    assert out.tolist() == wanted


class Holder:
    @cuda.jit
    def kernel(
        x: "an array",  # noqa: N805, F722
        by: int = 3,
    ) -> None:
        """Its words
        go on at the left.
        """
        # and so does a remark
        # here
        x[cuda.grid(1)] = by  # line 12


def test_a_kernel_may_stand_in_a_class_with_words_at_the_left():
    x = np.zeros(2)
    Holder.kernel[1, 2](x, 4)
    assert x.tolist() == [4, 4]
    (found,) = cuda.simulate(Holder.kernel, 1, 3, x, 4).findings
    assert (found.line, found.text) == (11, "x[cuda.grid(1)] = by  # line 12")


def test_defaults_of_a_device_function_are_those_of_its_def():
    kernels = []
    for k in range(2):

        @cuda.jit(device=True)
        def more(x, by=k):
            return x + by

        @cuda.jit
        def kernel(x):
            x[0] = more(x[0])

        x = np.zeros(1)
        kernel[1, 1](x)
        kernels.append(x[0])
    assert kernels == [0, 1]


def test_a_name_that_gets_its_value_later_is_no_obstacle():
    @cuda.jit
    def kernel(x):
        if x[0] > 5:
            x[0] = later

    x = np.zeros(1)
    kernel[1, 1](x)
    later = 3
    assert later and x[0] == 0


REFUSED = {
    "out[t] = sum([x[k] for k in range(3)])": "no comprehension; found line 4 of the kernel. Try: a loop",
    "out[t] = sum(x[k] for k in range(3))": "no comprehension",
    "f = lambda v: v": "no function in it",
    "def f(v):\n        return v": "no function in it",
    "try:\n        out[t] = 1\n    except: pass": "no try",
    "global q\n    q = 1": "no global names",
    "import os": "no import",
    "yield 3": "no yield",
    "sync = cuda.syncthreads\n    sync()": r"cuda.syncthreads is called where it stands; found line 4",
    "cuda.gird(1)": r"does not know cuda.gird; found line 4 of the kernel. Try: cuda.grid",
    "cuda.run._seen.clear()": r"does not know cuda.run; found line 4",
    "cuda.steps = -9": "does not know cuda.steps",
    "out[t] = cuda.gridx": "does not know cuda.gridx",
    "out[t / 2] = 1": r"an index is a whole number; found out\[0\.0\] in line 4",
    "out[t < 1] = 1": "an index is a whole number",
    "out[t] = x[x]": "an index is a whole number",
    "out[...] = 1": "an index is a whole number",
    "out[0:2] = 1": "one number of out at a time",
    "deep(t)": "RecursionError",
    "out[t] = None": "out holds numbers; found NoneType in line 4",
    "out[t] = m[t]": "out holds numbers; found Array",
    "cuda.atomic.add(m, 0, 1)": "an atomic changes one number of m",
    "table[0] = 1": r"read-only. Try: np.array\(x\), a copy",
    "m[t] = 1": r"one number of m at a time; found 0 in line 4. Try: m\[i, j\]",
    "out[cuda.threadIdx] = 1": r"found out\[Dim3.* Try: its .x",
    "cuda.atomic.add(x[0], 1)": r"found int64, where an atomic takes an array. Try: cuda.atomic.add\(out, i, 1\)",
    "cuda.atomic.ad(x, 0, 1)": "found cuda.atomic.ad, which no kernel has. Try: .*cuda.atomic.add",
    "t = cuda.blockIdx.w": "Try: cuda.threadIdx.x or",
    "t = cuda.laneid()": "Try: the name without brackets",
    "t = cuda.threadIdx()": "Try: the name without brackets",
    "cuda.shared.array(8)": "Try: a shape and a dtype",
    "t = np.float32(1)[0]": "invalid index to scalar variable. Try: an array before",
    "other(out)": r"other is a kernel; found a call by a kernel. Try: @cuda.jit\(device=True\)",
    "cuda.shared.array(20000, 'float32')": "49,152 bytes",
    "cuda.local.array(10**11, 'float32')": "524,288 bytes",
    "cuda.local.array(4, object)": "holds numbers; found the dtype object",
}  # fmt: skip


DEEP = "@cuda.jit(device=True)\ndef deep(n):\n    return deep(n + 1)\n"
OTHER = "@cuda.jit\ndef other(x):\n    x[0] = 1\n"


@pytest.mark.parametrize("body", REFUSED)
def test_what_no_gpu_does_is_refused_with_its_line(body):
    text = f"table = np.zeros(3)\n{DEEP}{OTHER}@cuda.jit\ndef kernel(x, m, out):\n    t = 0\n    {body}\n"
    with pytest.raises(jt.KernelError, match=REFUSED[body]):
        cuda.simulate(made(text, body), 1, 1, np.arange(4), np.zeros((4, 2)), np.zeros(4))


@pytest.mark.parametrize("arguments", ["*x", "x, /", "*, x", "**x"])
def test_a_kernel_takes_plain_arguments(arguments):
    with pytest.raises(jt.KernelError, match="plain arguments"):
        made(f"@cuda.jit\ndef kernel({arguments}):\n    pass\n", arguments)[1, 1](1)


def test_what_is_no_function_of_python_becomes_no_kernel():
    for what in (int, staticmethod(len), len):
        with pytest.raises(jt.ArgumentError, match=r"cuda\.jit takes a function"):
            cuda.jit(what)


def test_an_array_of_a_kernel_is_nothing_afterwards():
    kept = []
    text = "@cuda.jit\ndef kernel(x):\n    kept.append(x)\n"
    kernel = made(text, "keeps")
    kernel.function.__globals__["kept"] = kept
    kernel[1, 1](np.zeros(1))
    with pytest.raises(jt.KernelError, match="there while it runs"):
        kept[0][0]


NAMED = {
    "q = cuda.shared.array(\n        4,\n        'int8')": "q",
    "q: int = cuda.shared.array(4, 'int8')": "q",
    "p, q = 3, cuda.shared.array(4, 'int8')": "q",
    "print(q := cuda.local.array(4, 'int8'))": "q",
    "q = [cuda.local.array(4, 'int8')][0]": "array",
}  # fmt: skip


@pytest.mark.parametrize("line", NAMED)
def test_an_array_has_the_name_that_the_kernel_gives_it(line):
    kernel = made(f"@cuda.jit\ndef kernel(x):\n    {line}\n    x[0] = q[3]\n", line)
    (found,) = cuda.simulate(kernel, 1, 1, np.zeros(1)).findings
    assert f"reads {NAMED[line]}[3], which nobody has written" in found.words
