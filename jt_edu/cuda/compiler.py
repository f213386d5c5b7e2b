"""Compiler: how does a kernel become machine code of a GPU, on a machine that need not have one?

    kernel, kinds of its arguments, compute capability  ->  PTX, NVIDIA's assembly  ->  cubin, machine code

numba-cuda compiles (to_ptx.py); nothing else of it is used. What came out is kept on disk under a key of all that
went in: the kernel's text or bytecode, the values of the names in it, and those of its device functions.

Where JT_EDU_CUBINS names a folder, it is kept there instead. Such a folder serves another machine as well, which needs
no numba-cuda for the kernels in it: `python -m tests.gpu --prepare FOLDER` fills one. The GPU runs the machine code in
it, whoever wrote that: take such a folder only from people you trust.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu.backends.cache_dir import log
from jt_edu.backends.kernel_cache import Store
from jt_edu.base.errors import ArgumentError, BackendError, KernelError
from jt_edu.cuda.arguments import Kind, kind_of
from jt_edu.cuda.device import CUBINS, FIRST, NO_COMPILER, get_device_capability, is_available
from jt_edu.cuda.gpu_function import GpuFunction, fingerprint, outer_names
from jt_edu.cuda.kernel_names import SHARED, KernelName, has_room, like
from jt_edu.cuda.tensor_core import SINCE

WORDS = {"tf32": SINCE["tf32"], **{f"mma_{name}": first for name, first in SINCE.items()}}
PACKAGES = ("numba", "numba-cuda", "nvidia-nvvm", "nvidia-nvjitlink", "numpy")


@dataclass(frozen=True)
class Report:
    """What a kernel needs: registers of a thread, bytes of it that found no register (spilled) or are local arrays
    (stack), bytes of shared memory of a block. What a launch adds is not in it.
    """

    registers: int
    spilled: int
    stack: int
    shared: int


LARGEST = 16 << 20  # bytes of a kernel in both forms: those of jt_edu have less than one of these megabytes
MOST = Report(registers=255, spilled=2**31, stack=2**31, shared=SHARED)


@dataclass(frozen=True)
class Compiled:
    """A kernel for a compute capability: its text in NVIDIA's assembly, its machine code, and what it needs."""

    name: str
    kinds: tuple[Kind, ...]
    cc: tuple[int, int]
    entry: str
    ptx: str
    cubin: bytes
    report: Report

    def __repr__(self) -> str:
        return f"<{self.name} for sm_{self.cc[0]}{self.cc[1]}: {self.report}>"


def compile_kernel(kernel: Any, *arguments: Any, cc: tuple[int, int] | None = None) -> Compiled:
    """Compile a kernel for a GPU, which need not be there.

    Args:
        kernel: under `cuda.jit`.
        arguments: examples of what it takes; of an array only its dtype and its number of axes matter.
        cc: the compute capability, such as (9, 0); that of the GPU that is there, or else the oldest that has its
            words.

    Returns:
        `ptx`, `cubin`, and `report` with `registers`, `spilled`, `stack` and `shared`.

    Raises:
        ArgumentError: arguments that the kernel does not take.
        BackendError: numba-cuda is not installed, or does not know this compute capability.
        KernelError: something in the text of the kernel cannot be compiled.

    Example:
        >>> jt.cuda.compile(len)
        Traceback (most recent call last):
        ArgumentError: compile takes a kernel; found <built-in function len>. Try: a function under @cuda.jit
    """
    if not isinstance(kernel, GpuFunction) or kernel.device:
        raise ArgumentError("compile takes a kernel", repr(kernel), "a function under @cuda.jit")
    check_capability(cc)
    chosen = cc or (get_device_capability() if is_available() else oldest(kernel))
    return compiled(kernel, tuple(map(kind_of, arguments, kernel.parameters(len(arguments)))), chosen)


def check_capability(cc: Any) -> None:
    """Refuse what is neither a compute capability nor None."""
    if cc is not None and not (isinstance(cc, tuple) and [type(n) for n in cc] == [int, int]):
        raise ArgumentError("a compute capability is two whole numbers", repr(cc), "(9, 0)")


def oldest(kernel: GpuFunction, *seen: GpuFunction) -> tuple[int, int]:
    """The first compute capability that has all words of a kernel and of its device functions."""
    values = outer_names(kernel.function).values()
    names = {*kernel.function.__code__.co_names, *(v.name for v in values if isinstance(v, KernelName))}
    inner = (v for v in values if isinstance(v, GpuFunction) and v not in (kernel, *seen))
    return max([FIRST, *(oldest(v, kernel, *seen) for v in inner), *(WORDS[name] for name in names & {*WORDS})])


def compiled(kernel: GpuFunction, kinds: tuple[Kind, ...], cc: tuple[int, int]) -> Compiled:
    """A kernel for arguments of these kinds; see `compile_kernel`."""
    key = hashlib.sha256(repr([fingerprint(kernel, {}), kinds, cc]).encode()).hexdigest()[:32]
    store = _store()
    kept, file = store.load(key), f"{store.folder}/k_{key}.bin"
    if kept is not None:
        if (known := _unpacked(kept, kernel.function.__name__, kinds, cc)) is not None:
            return known
        log.warning("%s is not what is kept of a kernel: compiling again", file)
    made = _made(kernel, kinds, cc, file)
    told = {"entry": made.entry, "report": asdict(made.report)}
    content = b"\0".join([json.dumps(told).encode(), made.ptx.encode(), made.cubin])
    store.save(key, zlib.compress(content))  # a ninth: PTX repeats itself
    return made


def _unpacked(kept: bytes, name: str, kinds: tuple[Kind, ...], cc: tuple[int, int]) -> Compiled | None:
    """What `compiled` kept; None for anything else, which whoever can write to the folder may have put there."""
    try:
        unpacking = zlib.decompressobj()
        head, text, cubin = unpacking.decompress(kept, LARGEST).split(b"\0", 2)
        known = json.loads(head)
        entry, report, ptx = known["entry"], Report(**known["report"]), text.decode()
    except (zlib.error, ValueError, KeyError, TypeError, RecursionError):
        return None
    needs = zip(vars(report).values(), vars(MOST).values(), strict=True)
    possible = all(type(needed) is int and 0 <= needed <= most for needed, most in needs)
    called = isinstance(entry, str) and f".entry {entry}(" in ptx
    right = unpacking.eof and possible and called and cubin.startswith(b"\x7fELF")
    return Compiled(name, kinds, cc, entry, ptx, cubin, report) if right else None


def _made(kernel: GpuFunction, kinds: tuple[Kind, ...], cc: tuple[int, int], file: str) -> Compiled:
    if find_spec("numba_cuda") is None:
        asked, found, way = NO_COMPILER
        kept = f"{found}, and no {kernel.function.__name__} in {file}"
        raise BackendError(asked, kept if os.environ.get(CUBINS) else found, way)
    try:
        from jt_edu.cuda import to_ptx  # noqa: PLC0415 - numba-cuda, when the first kernel is compiled for a GPU
    except (ImportError, AttributeError) as error:
        found = f"one that does not start beside numpy {np.__version__} ({error})"
        raise BackendError(NO_COMPILER[0], found, NO_COMPILER[2]) from error
    name = kernel.function.__name__
    try:
        ptx = to_ptx.ptx_of(kernel, kinds, cc)
        has_room(to_ptx.shared(ptx), 0, f" in {name}")
        entry, cubin, said = to_ptx.linked(ptx, cc)
    except to_ptx.MISSING as error:
        found = f"one without a library of NVIDIA's ({error})"
        raise BackendError(NO_COMPILER[0], found[:2000], NO_COMPILER[2]) from error
    except to_ptx.UNKNOWN as error:
        asked = f"numba-cuda compiles {name} for sm_{cc[0]}{cc[1]}"
        raise BackendError(asked, f"{type(error).__name__}: {error}"[:2000], "a newer numba-cuda") from error
    except AttributeError as error:
        found = f"{getattr(error.obj, '__name__', '')}.{error.name}".removeprefix("numba.")
        raise KernelError(f"{name} is made of words that a kernel has", found, like(str(error.name))) from error
    except KeyError as error:  # a table of numba-cuda has no such function
        word = getattr(error.args[0], "__name__", repr(error))
        asked, way = f"{name} is made of words that a kernel has", "arithmetic, or a function of math"
        raise KernelError(asked, f"NumPy's {word}", way) from error
    except to_ptx.REFUSED as error:
        raise KernelError(f"{name} can be compiled for a GPU", f"\n{error}"[:4000], "what its line says") from error
    return Compiled(name, kinds, cc, entry, ptx, cubin, Report(*to_ptx.report(said, ptx)))


@functools.cache
def _store() -> Store:
    """The files of what these versions make of a kernel; what was compiled elsewhere serves all of them."""
    elsewhere = os.environ.get(CUBINS)
    text, here = hashlib.sha256(b"compressed" if elsewhere else versions().encode()), Path(__file__)
    ours = [here.with_name(name) for name in ("to_ptx.py", "tensor_ptx.py", "cooperation.py")]
    for path in sorted([*ours, *(here.parents[1] / "backends" / "mathlib").glob("*.py")]):
        text.update(path.read_bytes())
    found = Store(f"cuda-{text.hexdigest()[:16]}")
    if elsewhere:
        try:
            found.folder = Path(elsewhere).expanduser().absolute() / found.stamp
        except RuntimeError as error:  # there is no such user
            asked = f"{CUBINS} names a folder"
            raise BackendError(asked, f"{elsewhere!r}: {error}", "a path that begins with /") from error
    return found


def versions(more: Sequence[str] = ()) -> str:
    """Of Python, of the packages that make machine code, and of others that are installed."""
    from importlib import metadata  # noqa: PLC0415 - it takes longer than all else, and a GPU is rare

    text = f"compressed {platform.python_version()}"
    for package in (*PACKAGES, *more):
        with suppress(metadata.PackageNotFoundError):
            text += f" {package} {metadata.version(package)}"
    return text
