"""Checks: does the GPU give a CPU's numbers?

    agreeing(row)         a row of the parity table: NumPy's numbers, or those of the backend "python"
    kernel_agrees(case)   a kernel that is written by hand: the numbers that the tests of the interpreter want
    products()            what tensor cores multiply, beside sums of the same numbers in float64
    trained(name, ...)    some steps of training, with CUDA graphs and without: the losses of the CPU, to 1e-3

Rows and kernels are shared by processes; those that were not reached in their box of time are counted.
"""

from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np

import jt_edu as jt
from jt_edu.backends import define
from jt_edu.base.source_text import remember
from jt_edu.codegen.emit_python import Source
from jt_edu.cuda.tensor_core import tf32
from tests.bench.rows import in_short
from tests.floors.cuda.kernels import CASES, Case
from tests.gpu import work
from tests.gpu.pool import Job, answers
from tests.parity.inputs import both, expect_same, seed_of
from tests.parity.table import Row

LOOSE = 4  # times a CPU's tolerance: sums have another order
CHUNK = 8  # rows that a process is given at once
MOST = 8  # processes: each has a context of its own on the GPU
FEW = 40  # of the rows each so many-th, in a quick run
STEPS, CLOSE = 6, 1e-3  # the first steps of jt.compile are none that is run again
SIZES = {"lenet": (16, 28), "resnet18": (8, 64)}  # of networks that are trained
SIDES = ("graphs", "no graphs", "cpu")
SMALL = (33, 20, 34)  # of products, in a quick run
ENDED = "one of those that were not reached ended it"
LOST = "the GPU was lost before, and no kernel runs there any more"


@dataclass
class Agreement:
    """How many rows or kernels gave the right numbers, which did not and why, and how many were not reached."""

    right: int = 0
    wrong: dict[str, str] = field(default_factory=dict)
    missing: int = 0


def agreeing(row: Row) -> str:
    """Why the numbers of a row differ on the GPU; empty if they do not."""
    dtype, shapes = work.case_of(row)
    seed = seed_of(row.name, shapes, dtype)
    try:
        with np.errstate(all="ignore"):
            theirs = _expected(row, dtype, shapes, seed)
            with jt.flag_scope(backend="cuda"):
                ours = _several(row.ours(*(both(seed + k, s, dtype, row.domain)[0] for k, s in enumerate(shapes))))
                for mine, yours in zip(ours, theirs, strict=True):
                    expect_same(mine, yours, dtypes=(dtype,), loose=row.loose * LOOSE)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a row is told
        return " ".join(f"{type(error).__name__}: {error}".split())[:500]
    return "" if jt.cuda.is_available() else LOST  # the interpreter would have taken over


def kernel_of(case: Case) -> object:
    """The kernel of a case, which is known by its text in each version of Python."""
    source = Source(f"from jt_edu import cuda\nimport numpy as np\n{case.text}", ())
    return define(source, remember(source.text, f"<kernel {case.name}>"))


def kernel_agrees(case: Case) -> str:
    """Why a kernel that is right gives other numbers on the GPU; empty if it does not."""
    arguments = [given.copy() if isinstance(given, np.ndarray) else given for given in case.arguments]
    try:
        kernel_of(case)[case.grid, case.block, 0, case.shared](*arguments)
        np.testing.assert_allclose(arguments[-1], case.result, 1e-6)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it is told
        return " ".join(f"{type(error).__name__}: {error}".split())[:500]
    return "" if jt.cuda.is_available() else LOST


def _expected(row: Row, dtype: str, shapes: tuple[tuple[int, ...], ...], seed: int) -> list[object]:
    if row.numpy is not None:
        return _several(row.numpy(*(both(seed + k, s, dtype, row.domain)[1] for k, s in enumerate(shapes))))
    with jt.flag_scope(backend="python"):
        return [*map(np.asarray, work.numbers(row, dtype, shapes))]


def _several(answer: object) -> list[object]:
    return list(answer) if isinstance(answer, (tuple, list)) else [answer]


def in_turn(step: int = 1) -> list[int]:
    """The numbers of all rows, mixed, so that a part of them has something of each family; each `step`-th."""
    names = [f"{family} {row.name}" for family, row in work.rows()]
    return sorted(range(len(names)), key=lambda k: crc32(names[k].encode()))[::step]


def chunk_agrees(numbers: Sequence[int]) -> dict[str, str]:
    """Names of rows, and what is wrong with each."""
    rows = [*work.rows()]
    return {f"{rows[k][0]}: {rows[k][1].name}": agreeing(rows[k][1]) for k in numbers}


def one_agrees(number: int) -> dict[str, str]:
    """The name of a kernel, and what is wrong with it."""
    return {CASES[number].name: kernel_agrees(CASES[number])}


def kernels(left: Callable[[], float], processes: int) -> Agreement:
    """Run the kernels that are written by hand; in a process of their own, which one of them may end."""
    return _counted(len(CASES), [(one_agrees, number) for number in range(len(CASES))], left, min(processes, 1))


def parity(numbers: Sequence[int], left: Callable[[], float], processes: int) -> Agreement:
    """Compare rows while there is time left; with no processes, in this one."""
    jobs = [(chunk_agrees, numbers[k : k + CHUNK]) for k in range(0, len(numbers), CHUNK)]
    return _counted(len(numbers), jobs, left, min(processes, MOST))


def _counted(count: int, jobs: Sequence[Job], left: Callable[[], float], processes: int) -> Agreement:
    found = Agreement(missing=count)
    try:
        for part in jt.progress(answers(jobs, left, processes)):
            found.missing -= len(part)
            found.right += sum(not why for why in part.values())
            found.wrong |= {name: why for name, why in part.items() if why}
    except BrokenProcessPool:
        found.wrong["the process"] = ENDED
    return found


PRECISIONS = {"float16": "highest", "bfloat16": "highest", "tf32": "high"}


def products(size: tuple[int, int, int] = (130, 70, 133), backend: str = "cuda") -> dict[str, str]:
    """Kinds of numbers whose products are wrong on the tensor cores of the GPU, and why."""
    rows, terms, columns = size
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(shape).astype(np.float32) for shape in ((rows, terms), (terms, columns)))
    return {f"product of {numbers}": why for numbers in PRECISIONS if (why := _product(numbers, x, y, backend))}


def _product(numbers: str, x: np.ndarray, y: np.ndarray, backend: str) -> str:
    """Why a product is wrong; last digits are the tensor core's own, and halves are rounded once more."""
    dtype = "float32" if numbers == "tf32" else numbers
    left, right = (_rounded(v, numbers) for v in (x, y))
    jt.set_float32_matmul_precision(PRECISIONS[numbers])
    try:
        with jt.flag_scope(backend=backend):
            found = (jt.array(x).cast(dtype) @ jt.array(y).cast(dtype)).cast("float64").numpy()
    except jt.JtError as error:
        return in_short(error)
    finally:
        jt.set_float32_matmul_precision("highest")
    off = np.abs(found - left @ right) / (np.abs(left) @ np.abs(right))
    most = {"float16": 2**-11, "bfloat16": 2**-8, "tf32": 0}[numbers] + 1e-5
    return "" if (off <= most).all() else f"{off.max():.1e} of what is summed, and not {most:.1e}"


def _rounded(x: np.ndarray, numbers: str) -> np.ndarray:
    """What is left of numbers, as float64."""
    if numbers == "tf32":
        return np.vectorize(tf32, otypes=[np.float64])(x)
    with jt.flag_scope(backend="python"):
        return jt.array(x).cast(numbers).cast("float64").numpy()


def losses(name: str, backend: str, *sizes: int, compiled: bool = False, graphs: bool = True) -> list[float]:
    """The losses of some steps."""
    with jt.flag_scope(backend=backend, cuda_graphs=graphs):
        step = work.STEPS[name](*sizes, compiled=compiled)
        return [float(step().item()) for _ in range(STEPS)]


def trained(name: str, *sizes: int) -> dict[str, list[float]]:
    """The losses of the GPU with jt.compile, whose steps are CUDA graphs or not, and of the CPU without it."""
    on_gpu = [losses(name, "cuda", *sizes, compiled=True, graphs=graphs) for graphs in (True, False)]
    return dict(zip(SIDES, (*on_gpu, losses(name, "numba", *sizes)), strict=True))


def close(ours: Sequence[float], theirs: Sequence[float]) -> bool:
    """Whether losses are the same to a thousandth."""
    return bool(np.allclose(ours, theirs, CLOSE, 0))
