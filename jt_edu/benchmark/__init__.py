"""Benchmark: how long does it take, how sure is that, and how does it compare? As in PyTorch's `torch.utils.benchmark`.

    from jt_edu.benchmark import Compare, Timer

    def measured(threads):
        timer = Timer("(a @ b).relu()", "a, b = jt.randn(2, 256, 256)", description="relu", num_threads=threads)
        return timer.blocked_autorange(min_run_time=0.5)

    table = Compare([measured(1), measured(2)])
    table.trim_significant_figures()
    table.print()

timer.py says what is timed, statement.py what a run is where nothing runs before it is asked for. Every bench of
`python -m tests.bench` takes its samples with it. This file is a door: names only.
"""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door
from jt_edu.benchmark.compare import Compare
from jt_edu.benchmark.fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from jt_edu.benchmark.measurement import Measurement, TaskSpec
from jt_edu.benchmark.timer import Timer

__all__ = ["Compare", "FuzzedParameter", "FuzzedTensor", "Fuzzer", "Measurement", "ParameterAlias", "TaskSpec", "Timer"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.benchmark", __all__)
