"""To PTX: how is a kernel said to numba-cuda, which then compiles it without asking for a GPU?

    jt_edu.cuda, and names from it     numba.cuda, and its names, to which those for tensor cores are added
    a device function under jit        one of numba's
    functions of mathlib               as they are: numba-cuda finds what they have told numba
    np.exp and a few more              math.exp, of which numba-cuda knows more than of NumPy's

The function itself stays as it is: a copy of it has these values behind its names. This file imports numba-cuda, so
it is imported only where a kernel is compiled.
"""

# mypy: disable-error-code="import-not-found, import-untyped, attr-defined, no-untyped-call"
# numba-cuda is not installed where types are checked

from __future__ import annotations

import ast
import inspect
import math
import operator
import re
import threading
import warnings
from types import CellType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

if not hasattr(np, "row_stack"):  # gone since NumPy 2.5, and numba-cuda looks it up as it starts
    vars(np)["row_stack"] = np.vstack

from cuda.bindings.nvjitlink import nvJitLinkError
from cuda.bindings.nvvm import nvvmError
from cuda.core import Linker, LinkerOptions, ObjectCode
from cuda.pathfinder import DynamicLibNotFoundError
from llvmlite import ir
from numba import cuda
from numba.core.errors import NumbaError
from numba.cuda import cudaimpl, dispatcher, nvvmutils, types
from numba.cuda.cudadrv.error import CCSupportError
from numba.cuda.errors import UnsupportedBytecodeError
from numba.cuda.np import arrayobj
from numba.cuda.np.numpy_support import from_dtype

from jt_edu.base.dtypes import DType
from jt_edu.cuda.arguments import Kind
from jt_edu.cuda.gpu_function import GpuFunction, outer_names
from jt_edu.cuda.kernel_names import KernelName
from jt_edu.cuda.tensor_ptx import words
from jt_edu.cuda.translator import parsed

REFUSED = (NumbaError, nvvmError, TypeError, NotImplementedError, ValueError, AssertionError)
FEW = 128  # registers of a thread, with which two blocks of 256 fit on a processor
UNKNOWN, MISSING = (CCSupportError, nvJitLinkError), DynamicLibNotFoundError
HERE, CUDA = "jt_edu.cuda", "_numba_cuda"
MOST = {"tid": 1024, "ntid": 1025, "laneid": 32}  # one more than a number of threads can be


# what numba-cuda has none for, by what it has
INSTEAD = {getattr(np, name): getattr(math, name) for name in ("exp", "expm1", "log1p", "sqrt", "fabs")}
INSTEAD |= {np.power: operator.pow, np.absolute: abs}


class _Target(threading.local):
    """For which GPU this thread compiles right now."""

    cc: tuple[int, int] | None = None


_target, _of_driver = _Target(), dispatcher.get_current_device


def _asked() -> Any:
    """What a device function asks of its GPU; numba-cuda itself would ask the driver, and start it."""
    return SimpleNamespace(compute_capability=_target.cc) if _target.cc else _of_driver()


def _in_range(builder: Any, name: str) -> Any:
    """A number that a thread has, such as "tid.x", and how large it may be: an index made of it is not negative."""
    found = _number(builder, name)
    most = next((most for part, most in MOST.items() if name.startswith(part)), 2**31 - 1)
    word = ir.IntType(32)
    found.set_metadata("range", builder.module.add_metadata([word(0), word(most)]))
    return found


def _aligned(*given: Any, **named: Any) -> Any:
    """An array of a block or thread; of one that begins at 16 bytes four neighbors may be read at once."""
    return _array(*given, **{**named, "alignment": named.get("alignment") or 16})


def _from_the_begin(context: Any, builder: Any, kind: Any, index: Any, _: Any) -> Any:
    """An index as it stands, of 64 bits: none counts from the end, as in the interpreter."""
    return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)


_number, nvvmutils.call_sreg = nvvmutils.call_sreg, _in_range
_array, cudaimpl._generic_array = cudaimpl._generic_array, _aligned
arrayobj.fix_integer_index = _from_the_begin
dispatcher.get_current_device = _asked
vars(cuda).update(words(lambda: _asked().compute_capability))


def ptx_of(kernel: GpuFunction, kinds: tuple[Kind, ...], cc: tuple[int, int]) -> str:
    """A kernel in NVIDIA's assembly; raises one of `REFUSED`."""
    signature = types.void(*map(_numba_type, kinds))
    _target.cc = cc
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numba's own, about what a GPU does slowly
            text, _ = cuda.compile_ptx(_rewritten(kernel.function, {}), signature, cc=cc)
    except UnsupportedBytecodeError as error:  # such as an import; it is none of numba's family
        raise NotImplementedError(str(error)) from error
    finally:
        _target.cc = None
    return str(text)


def linked(ptx: str, cc: tuple[int, int]) -> tuple[str, bytes, str]:
    """The name of a kernel in its assembly, its machine code, and what the assembler says of it."""
    found = re.search(r"\.visible \.entry (\S+?)\(", ptx)
    arch = f"sm_{cc[0]}{cc[1]}"
    made = []
    for most in (None, FEW):  # a few more of them halve what runs at a time; but numbers in memory are worse
        options = LinkerOptions(arch=arch, ptxas_options=["-v"], max_register_count=most)
        linker = Linker(ObjectCode.from_ptx(ptx.encode()), options=options)
        made.append((bytes(linker.link("cubin").code), str(linker.get_info_log())))
        registers, spilled, _, _ = report(made[-1][1], ptx)
        if registers <= FEW:
            break
    code, said = made[-1] if not spilled else made[0]
    return found[1] if found else "", code, said


def report(said: str, ptx: str) -> tuple[int, int, int, int]:
    """Registers, and bytes that are spilled, on the stack and shared: the assembler's words, and what the text asks."""
    kinds = r"Used (\d+) registers", r"(\d+) bytes spill stores", r"(\d+) bytes stack frame"
    registers, spilled, stack = (max(map(int, re.findall(kind, said)), default=0) for kind in kinds)
    return registers, spilled, stack, shared(ptx)


def shared(ptx: str) -> int:
    """Bytes of shared memory that a text in assembly names."""
    return sum(map(int, re.findall(r"\.shared \.align \d+ \.b8 \S+\[(\d+)\]", ptx)))


def _numba_type(kind: Kind) -> Any:
    if isinstance(kind, tuple):
        return types.BaseTuple.from_types([_numba_type(part) for part in kind])
    name, bracket, axes = kind.partition("[")
    number = from_dtype(np.dtype(name))
    return types.Array(number, int(axes[:-1]), "C") if bracket else number


def _rewritten(function: Any, made: dict[GpuFunction, Any]) -> FunctionType:
    """The function, with numba's values behind its names; `made` are device functions that there are already."""
    found = _copy(function)
    _fill(found, function, made)
    return found


def _copy(function: Any) -> FunctionType:
    """The function, with nothing behind its names yet."""
    code = function.__code__
    names = {name: value.name for name, value in outer_names(function).items() if isinstance(value, KernelName)}
    if names:  # numba knows them as parts of numba.cuda only
        tree, body = parsed(*inspect.getsourcelines(function))
        arguments = [ast.arg(a.arg) for a in body.args.args]
        body.decorator_list, body.returns, body.args = [], None, ast.arguments([], arguments, None, [], [], None, [])
        _Qualified({name: full for name, full in names.items() if name not in code.co_varnames}).visit(body)
        space: dict[str, Any] = {}
        exec(compile(ast.fix_missing_locations(tree), code.co_filename, "exec"), space)  # noqa: S102 - the learner's own
        code = space[body.name].__code__
    cells = tuple(CellType() for _ in code.co_freevars)
    return FunctionType(code, {}, function.__name__, function.__defaults__, cells)


class _Qualified(ast.NodeTransformer):
    """Writes `threadIdx` as `cuda.threadIdx`, under a name that no kernel has."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        full = self.names.get(node.id)
        return ast.copy_location(ast.parse(f"{CUDA}.{full}", mode="eval").body, node) if full else node


def _fill(found: FunctionType, function: Any, made: dict[GpuFunction, Any]) -> None:
    values = {name: _in_numba(value, made) for name, value in outer_names(function).items()}
    found.__globals__.update(function.__globals__ | values | {CUDA: cuda})
    for name, cell in zip(found.__code__.co_freevars, found.__closure__ or (), strict=True):
        cell.cell_contents = values[name]


def _in_numba(value: Any, made: dict[GpuFunction, Any]) -> Any:
    """What numba-cuda is to find behind a name."""
    if isinstance(value, GpuFunction) and value.device:
        if value not in made:
            found = _copy(value.function)
            made[value] = cuda.jit(found, device=True)  # before it is filled: it may call itself
            _fill(found, value.function, made)
        return made[value]
    if isinstance(value, ModuleType) and value.__name__ == HERE:
        return cuda
    if isinstance(value, np.ufunc):
        return INSTEAD.get(value, value)
    if value is np:
        stands_in = ModuleType("numpy")
        vars(stands_in).update({name: _in_numba(part, made) for name, part in vars(np).items()})
        return stands_in
    if isinstance(value, ModuleType) and value.__name__ == HERE.partition(".")[0]:
        stands_in, parts = ModuleType(value.__name__), vars(value).items()
        used = {name: part for name, part in parts if isinstance(part, (DType, ModuleType, float))}
        vars(stands_in).update({name: _in_numba(part, made) for name, part in used.items() if part is not value})
        return stands_in
    return getattr(np, str(value).removeprefix("jt."), value) if isinstance(value, DType) else value
