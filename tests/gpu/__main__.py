"""Run jt_edu on the GPU of this machine, or compile for GPUs that are elsewhere:  python -m tests.gpu

    (nothing)         in less than four minutes: kernels and the parity table have a CPU's numbers; two networks train
                      with a CPU's losses, with CUDA graphs and without; how fast is it all, beside a copy, beside
                      PyTorch where it is installed, and beside the goals? Two files, gpu.json and gpu.md. The checkout
                      and the extra "cuda" are enough.
    --compile         every kernel text becomes machine code of four GPUs; no GPU is needed, only numba-cuda
    --prepare FOLDER  what (nothing) needs is compiled into a folder, for a machine that has a GPU and a driver, but no
                      numba-cuda. Copy the folder and the checkout there:  JT_EDU_CUBINS=FOLDER python -m tests.gpu

    --host            how long the host needs for each kernel of a step of training, with and without CUDA graphs; no
                      GPU is needed, only a compiler of C, for a driver that does nothing

    --quick           tiny sizes, a part of the rows: does it run at all?
    --steps           only what steps of training print; with --compile
    --every           the parity table in every dtype and shape; with --compile
    --capability N    of the GPU there, such as 9.0; with --prepare
    --out FOLDER      where the two files go
    --seconds N       for all of it

The exit code is 0, or 1 if a number was wrong, nothing was right, a process ended or a text was refused, or 2 if it
could not begin.
"""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

import jt_edu as jt
from jt_edu.cuda.device import ready
from tests.bench.machine import allowed
from tests.gpu import cubins, host, prepare, report

SECONDS = 220.0
GOES_WITH = {  # an option -> with which of the ways; "": with none of them
    "steps": ("compile",), "every": ("compile",), "capability": ("prepare",),
    "quick": ("prepare", "host", ""), "out": ("",), "seconds": ("",),
}  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Run, and say how it went."""
    options = _options(arguments)
    if options.host:
        return host.run(quick=options.quick)
    if options.compile or options.prepare:
        if find_spec("numba_cuda") is None:
            print("Kernels are compiled by numba-cuda, which is not here. Try:  pip install 'jt-edu[cuda]' 'numpy<2.5'")
            return 2
        if options.prepare:
            return prepare.run(options.prepare, options.capability, allowed(), quick=options.quick)
        return cubins.compile_all(rows_too=not options.steps, every=options.every)
    try:
        ready()
        with jt.flag_scope(backend="cuda"):
            (jt.array([1.0]) + 1).numpy()  # one kernel is compiled and runs, before there are thousands
    except jt.JtError as reason:
        print(f"{reason} Without a GPU,  python -m tests.gpu --compile  compiles all kernels for four of them.")
        return 2
    return report.run(options.out, options.seconds, quick=options.quick)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu", description=(__doc__ or "").splitlines()[0])
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--compile", action="store_true", help="all kernel texts, for four GPUs; none is needed")
    ways.add_argument("--prepare", type=Path, metavar="FOLDER", help="compile for a machine without numba-cuda")
    parser.add_argument("--capability", type=_capability, default=(9, 0), metavar="N", help="of its GPU (9.0)")
    ways.add_argument("--host", action="store_true", help="the host's time for each kernel; no GPU is needed")
    parser.add_argument("--steps", action="store_true", help="only those of steps of training")
    parser.add_argument("--every", action="store_true", help="the parity table in every dtype and shape as well")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, a part of the rows")
    parser.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="where gpu.json and gpu.md go")
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="N", help="for all of it")
    options = parser.parse_args(arguments)
    way = next((w for w in ("compile", "prepare", "host") if getattr(options, w)), "")
    for name, fits in GOES_WITH.items():
        if getattr(options, name) != parser.get_default(name) and way not in fits:
            alone = f"without --{way}" if way and "" in fits else f"with --{fits[0]}"
            parser.error(f"--{name} goes {alone}")
    return options


def _capability(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


if __name__ == "__main__":
    sys.exit(main())
