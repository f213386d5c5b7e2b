"""Cubins: does every text become machine code, for which GPUs, and what does a thread of it need?

    text  ->  kernels and kinds of arguments (texts.py)  ->  PTX and a cubin for each compute capability

No GPU is needed, only numba-cuda. What was found is kept on disk; what was refused is tried again.
"""

import multiprocessing
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import jt_edu as jt
from jt_edu.codegen.emit_python import Source
from jt_edu.cuda.arguments import Kind
from jt_edu.cuda.compiler import Report, compiled, oldest
from jt_edu.cuda.gpu_function import GpuFunction
from tests.bench.machine import allowed
from tests.gpu import work
from tests.gpu.texts import collected, launches

ARCHS = ((7, 5), (8, 0), (9, 0), (12, 0))


class Found(NamedTuple):
    """What became of a kernel: a report for each GPU that it is for, or why it was refused."""

    key: str  # of its text
    name: str
    reports: tuple[Report, ...]
    refused: str = ""

    @property
    def spilled(self) -> int:
        """Bytes that found no register, on the GPU where most do."""
        return max((report.spilled for report in self.reports), default=0)

    @property
    def stack(self) -> int:
        """Bytes of local arrays that are in memory."""
        return max((report.stack for report in self.reports), default=0)

    @property
    def registers(self) -> int:
        """Of a thread."""
        return max((report.registers for report in self.reports), default=0)


def examined(source: Source, archs: Sequence[tuple[int, int]] = ARCHS) -> list[Found]:
    """What becomes of each kernel of a text, on GPUs of these compute capabilities."""
    try:
        return [_examined(source.key, kernel, kinds, archs) for kernel, kinds in launches(source)]
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a text is told in the table
        return [Found(source.key, "kernel", (), f"{type(error).__name__}: {error}")]


def _examined(text: str, kernel: GpuFunction, kinds: tuple[Kind, ...], archs: Sequence[tuple[int, int]]) -> Found:
    name = kernel.function.__name__
    try:
        made = [compiled(kernel, kinds, cc) for cc in archs if cc >= oldest(kernel)]
    except jt.JtError as error:
        return Found(text, name, (), f"{type(error).__name__}: {error}")
    return Found(text, name, tuple(one.report for one in made))


def all_examined(sources: Iterable[Source], processes: int = 0) -> Iterator[Found]:
    """What becomes of the kernels of many texts, several at a time; a line tells how far it is."""
    waiting = [*sources]
    with ProcessPoolExecutor(processes or allowed(), multiprocessing.get_context("spawn")) as pool:
        try:
            futures = [pool.submit(examined, source) for source in waiting]
            for future in jt.progress(futures):
                yield from future.result()
        finally:  # whoever interrupts it waits for no other text
            pool.shutdown(wait=False, cancel_futures=True)


def texts_of(rows_too: bool, every: bool) -> dict[str, dict[str, Source]]:
    """The texts of each work, by key; a text belongs to the first that prints it.

    Args:
        rows_too: those of the parity table as well,
        every: in every dtype and shape.
    """
    found: dict[str, dict[str, Source]] = {}
    seen: set[str] = set()
    for name, run in _works(rows_too, every):
        with collected() as texts:
            run()
        found[name] = {key: source for key, source in texts.items() if key not in seen}
        seen |= {*texts}
    return found


def _works(rows_too: bool, every: bool) -> Iterator[tuple[str, Callable[[], None]]]:
    for name, build in work.STEPS.items():
        yield f"{name}, two steps", partial(two_steps, build)
    yield "products on tensor cores", lambda: [graph.sync() for graph in work.on_tensor_cores()]
    if rows_too:
        yield "parity table", partial(_each_row, lambda row: work.numbers(row, *work.case_of(row)))
        yield "its gradients", partial(_each_row, work.gradients)
    if every:
        yield "every dtype and shape", partial(_each_row, work.every_dtype)


def two_steps(build: Callable[..., work.Step]) -> None:
    """Take two steps of training: an optimizer makes something for the first one."""
    step = build()
    step().item()
    step().item()


def _each_row(look: Callable[[Any], object]) -> None:
    for _, row in work.rows():
        with suppress(jt.JtError):  # zeros are not what it would find
            look(row)


def table(found: dict[str, list[Found]]) -> str:
    """What was found, as a table of Markdown: a line for each work, and one for each kind of kernel."""
    groups = {**found, **_by_kind([one for every in found.values() for one in every])}
    lines = ["| | kernels | refused | registers | spilled | with bytes on the stack |", "|---|---|---|---|---|---|"]
    for name, kernels in groups.items():
        refused, spilled, stack = (sum(map(bool, column)) for column in _columns(kernels))
        most = max((one.registers for one in kernels), default=0)
        lines.append(f"| {name} | {len(kernels)} | {refused} | {most} | {spilled} | {stack} |")
    return "\n".join(lines)


def _columns(kernels: list[Found]) -> Iterator[list[Any]]:
    for name in ("refused", "spilled", "stack"):
        yield [getattr(one, name) for one in kernels]


def _by_kind(kernels: list[Found]) -> dict[str, list[Found]]:
    """By the name of a kernel, which is its schedule."""
    kinds: dict[str, list[Found]] = {}
    for one in kernels:
        kinds.setdefault(f"`{_kind(one)}`", []).append(one)
    return dict(sorted(kinds.items()))


def _kind(one: Found) -> str:
    """A text with several kernels of a schedule numbers them."""
    return one.name.rstrip("0123456789")


def compile_all(rows_too: bool = True, every: bool = False) -> int:
    """Compile all texts, and say what became of them; 1 if one was refused, or if a product spills."""
    found: dict[str, list[Found]] = {}
    for name, texts in texts_of(rows_too, every).items():
        print(f"{name}: {len(texts)} texts", file=sys.stderr)
        found[name] = [*all_examined(texts.values())]
    print(table(found))
    wrong = [what_is_wrong(one) for kernels in found.values() for one in kernels]
    print(*("\n" + words for words in wrong if words), sep="")
    return int(any(wrong))


def what_is_wrong(one: Found) -> str:
    """Why a kernel is not as it should be: it was refused, or is a product that spills; empty if it is."""
    spilled = f"{one.spilled} bytes are spilled" if _kind(one) == "tiles" and one.spilled else ""
    found = one.refused or spilled
    return f"{one.name} of the text {one.key[:10]}: {found}" if found else ""
