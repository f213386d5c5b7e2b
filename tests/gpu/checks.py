"""Checks: does the GPU give a CPU's numbers?

    agreeing(row)         a row of the parity table: NumPy's numbers, or those of the backend "python"
    products()            what tensor cores multiply, beside sums of the same numbers in float64
    losses(name, ...)     some steps of training: the losses of the CPU, to 1e-3

Rows are shared by processes, because compiling takes a processor: where they do not fit into their box of time, those
that were not reached are counted.
"""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np

import jt_edu as jt
from jt_edu.cuda.tensor_core import tf32
from tests.bench.rows import in_short
from tests.gpu import work
from tests.parity.inputs import both, expect_same, seed_of
from tests.parity.table import Row

LOOSE = 4  # times a CPU's tolerance: sums have another order
CHUNK = 8  # rows that a process is given at once
MOST = 8  # processes: each has a context of its own on the GPU
STEPS, CLOSE = 4, 1e-3  # the fourth step of a plan is a graph
SIZES = {"lenet": (16, 8), "resnet18": (8, 64)}  # of networks that are trained
LOST = "the GPU was lost before, and no kernel runs there any more"


@dataclass
class Agreement:
    """How many rows gave the same numbers, which did not and why, and how many were not reached."""

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


def parity(numbers: Sequence[int], left: Callable[[], float], processes: int) -> Agreement:
    """Compare rows while there is time left; with no processes, in this one."""
    chunks = [numbers[k : k + CHUNK] for k in range(0, len(numbers), CHUNK)]
    found = Agreement(missing=len(numbers))
    for answers in jt.progress(_answers(chunks, left, processes)):
        found.missing -= len(answers)
        found.right += sum(not why for why in answers.values())
        found.wrong |= {name: why for name, why in answers.items() if why}
    return found


def _answers(chunks: Sequence[Sequence[int]], left: Callable[[], float], processes: int) -> Iterator[dict[str, str]]:
    if not processes:
        for chunk in chunks:
            if left() <= 0:
                return
            yield chunk_agrees(chunk)
        return
    pool = ProcessPoolExecutor(min(processes, MOST), multiprocessing.get_context("spawn"))
    workers = pool._processes
    with suppress(TimeoutError, BrokenProcessPool):  # a row may end its process: what is left counts as not reached
        for done in as_completed([pool.submit(chunk_agrees, chunk) for chunk in chunks], max(left(), 0)):
            yield done.result()
    for worker in [*workers.values()]:  # one whose kernel never ends would be waited for
        worker.kill()
    pool.shutdown(wait=True, cancel_futures=True)


PRECISIONS = {"float16": "highest", "bfloat16": "highest", "tf32": "high"}


def products(size: tuple[int, int, int] = (130, 70, 133)) -> dict[str, str]:
    """Kinds of numbers whose products are wrong on the tensor cores of the GPU, and why."""
    rows, terms, columns = size
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(shape).astype(np.float32) for shape in ((rows, terms), (terms, columns)))
    return {f"product of {numbers}": why for numbers in PRECISIONS if (why := _product(numbers, x, y))}


def _product(numbers: str, x: np.ndarray, y: np.ndarray) -> str:
    """Why a product is wrong; last digits are the tensor core's own, and halves are rounded once more."""
    dtype = "float32" if numbers == "tf32" else numbers
    left, right = (_rounded(v, numbers) for v in (x, y))
    jt.set_float32_matmul_precision(PRECISIONS[numbers])
    try:
        with jt.flag_scope(backend="cuda"):
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


def losses(name: str, backend: str, *sizes: int) -> list[float]:
    """The losses of some steps."""
    with jt.flag_scope(backend=backend):
        step = work.STEPS[name](*sizes)
        return [float(step().item()) for _ in range(STEPS)]


def trained(name: str, *sizes: int) -> tuple[list[float], list[float]]:
    """The losses of the GPU, and of the CPU."""
    return losses(name, "cuda", *sizes), losses(name, "numba", *sizes)


def close(ours: Sequence[float], theirs: Sequence[float]) -> bool:
    """Whether losses are the same to a thousandth."""
    return bool(np.allclose(ours, theirs, CLOSE, 0))
