"""Host: how long does this machine's processor need for each kernel of a step that is run again?

What a GPU does meanwhile plays no part, so none is needed: a driver in C is done at once with whatever it is asked for
(idle_driver.c). The time of a real driver comes on top. Times are of the processor, for one thread; a tenth of the
samples are quicker than what is told, since other programs take caches away.
"""

import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import jt_edu as jt
from jt_edu import backends
from jt_edu.capture import recorded_step
from jt_edu.cuda import compiler, device
from tests.gpu import speed

ROWS = (("resnet18", (2, 32)), ("transformer", (1, 8, 2, 4, 2)))
SAMPLES, FEW = 200, 3


def run(quick: bool = False) -> int:
    """Print a table; 2 where no driver could be built."""
    if shutil.which("cc") is None:
        print("A driver that does nothing is built by a compiler of C, and there is none (cc). Try: one.")
        return 2
    print("| step | launches | CUDA graphs | plan, µs a kernel | whole step, µs a kernel |\n|---|---|---|---|---|")
    with idle_gpu():
        for name, sizes in ROWS[1:] if quick else ROWS:
            for graphs in (True, False):
                kernels, plan, step = measured(name, sizes, graphs, FEW if quick else SAMPLES)
                each = [f"{seconds / kernels * 1e6:.2f}" for seconds in (plan, step)]
                print(f"| {name} | {kernels} | {'yes' if graphs else 'no'} | {each[0]} | {each[1]} |")
    return 0


def measured(name: str, sizes: tuple[int, ...], graphs: bool, samples: int) -> tuple[int, float, float]:
    """The kernels of a step; seconds for its plan, and for all of jt.compile."""
    took: list[float] = []

    def timed(plan: Any, backend: Any) -> Any:
        page = script_of(plan, backend)

        def run(*given: Any) -> None:
            begin = time.thread_time()
            page(*given)
            took.append(time.thread_time() - begin)

        return run

    script_of = recorded_step.script_of
    with jt.flag_scope(backend="cuda", cuda_graphs=graphs):
        case = speed.stepped(name, None, *sizes)
        step = _quick(speed.host_samples(case.ours, jt.cuda.synchronize, time.thread_time, samples))
        with mock.patch.object(recorded_step, "script_of", timed):
            again = speed.stepped(name, None, *sizes)
            speed.host_samples(again.ours, jt.cuda.synchronize, time.thread_time, samples)
    return case.kernels, _quick(took), step


def _quick(took: list[float]) -> float:
    return sorted(took)[len(took) // 10]


@contextmanager
def idle_gpu() -> Iterator[None]:
    """Inside, there is a GPU that does nothing."""
    with tempfile.TemporaryDirectory() as folder:
        built, text = Path(folder) / "idle.so", Path(__file__).with_name("idle_driver.c")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", built, text], check=True)
        cards = device.Cards(ctypes.CDLL(str(built)))
    with (
        mock.patch.object(device, "cards", lambda: cards),  # noqa: PT008 - a mock takes longer than what is measured
        mock.patch.object(device, "_has_compiler", lambda: True),  # noqa: PT008 - the same
        mock.patch.object(compiler, "compiled", _compiled),
        mock.patch.dict(backends._loaded),
    ):
        backends._loaded.pop("cuda", None)
        yield


def _compiled(kernel: Any, kinds: Any, cc: tuple[int, int]) -> compiler.Compiled:
    return compiler.Compiled(kernel.__name__, kinds, cc, kernel.__name__, "", b"", compiler.Report(0, 0, 0, 0))
