"""Code loader: how does machine code that was kept become something to call, without numba?

    frozen    what it is called and needs, as JSON | machine code, as a file of the linker

LLVM puts it into memory, and Python makes a function of an address. That takes 0.5 ms, and neither numba, whose import
takes a quarter of a second, nor its tables of all the functions it knows, whose filling takes half a second. What
was compiled a moment ago goes the same way, so what runs is what is kept. How such a function reads its arguments
stands in `cpython_entry.py`. Nothing here knows files.
"""

from __future__ import annotations

import ctypes
import json
import pickle
import threading
from collections.abc import Callable
from functools import cache
from pkgutil import resolve_name
from typing import Any

import numpy as np
from llvmlite import binding

ARGUMENTS = 4096  # less is the number of an argument, more is an address
ENVIRONMENT = "_ZN08NumbaEnv"  # begins the names of variables that numba makes
FASTCALL = 0x80  # METH_FASTCALL: an array of objects, and how many
_lock = threading.RLock()
_alive: list[Any] = []  # what machine code refers to


class _Method(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("address", ctypes.c_void_p), ("flags", ctypes.c_int), ("words", ctypes.c_char_p),
    )  # fmt: skip


class _Raised(ctypes.Structure):
    """What a kernel that raises leaves: the error, pickled, and how to ask for numbers that were not known before."""

    _fields_ = (
        ("pickled", ctypes.c_void_p), ("length", ctypes.c_int32), ("given", ctypes.c_void_p),
        ("unwrap", ctypes.c_void_p), ("count", ctypes.c_int32),
    )  # fmt: skip


def environments(module: Any) -> list[Any]:
    """The variables through which functions that numba wrote find their constants in Python."""
    return [g for g in module.global_variables if g.name.startswith(ENVIRONMENT)]


def freeze(machine_code: bytes, entry: str, module: Any) -> bytes:
    """What is kept: machine code, the name of its entry, symbols that have to be there, and variables of numba's."""
    found = [g for g in (*module.functions, *module.global_variables) if g.is_declaration]
    needs = [g.name for g in found if not g.name.startswith("llvm.")]
    homes = [variable.name for variable in environments(module)]
    return json.dumps({"entry": entry, "needs": needs, "homes": homes}).encode() + b"\n" + machine_code


def thaw(frozen: bytes) -> Callable[..., None]:
    """A function for Python, made of what was frozen.

    Raises:
        LookupError: this process lacks what it needs.
    """
    method = _Method(b"kernel", address_of(frozen), FASTCALL, None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(method))  # Python reads it when the last of its functions dies, at exit
    made: Callable[..., None] = _new_function(ctypes.byref(method), refuse, None)
    return made


def address_of(frozen: bytes) -> int:
    """Where the entry of what was frozen is in memory.

    Raises:
        LookupError: this process lacks what it needs.
    """
    head, _, machine_code = frozen.partition(b"\n")
    names = json.loads(head)
    with _lock:
        engine = _engine()
        if missing(names["needs"]):  # numba's own helpers
            resolve_name("jt_edu.backends.cpython_entry:provide")(names["needs"])
        if missing(names["needs"]):  # LLVM would end the process
            raise LookupError(missing(names["needs"]))
        engine.add_object_file(binding.ObjectFileRef.from_data(machine_code))
        engine.finalize_object()
        for symbol in names["homes"]:  # of a kernel that prints
            remember(symbol, resolve_name("numba._dynfunc:Environment")({}))
        return int(engine.get_function_address(names["entry"]))


def remember(symbol: str, thing: Any) -> None:
    """Have a variable of machine code point at an object of this process."""
    with _lock:
        _alive.append(thing)
        ctypes.c_void_p.from_address(_engine().get_global_value_address(symbol)).value = id(thing)


def missing(symbols: list[str]) -> list[str]:
    """Those that nobody in this process defines."""
    return [s for s in symbols if not binding.address_of_symbol(s)]


def refuse(found: int) -> None:
    """Raise what is wrong with an argument, or what a kernel raises, in the line of its file."""
    if found < ARGUMENTS:
        raise TypeError(f"argument {found} of this kernel is missing, too much, or no array of its kind")
    raised = _Raised.from_address(found)
    pickled = ctypes.string_at(raised.pickled, raised.length)
    if raised.count > 0:
        unwrap = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(raised.unwrap)
        build = resolve_name("numba.core.serialize:runtime_build_excinfo_struct")
        kind, words, place = build(pickled, unwrap(raised.given))
    else:
        kind, words, place = pickle.loads(pickled)  # noqa: S301 - from our own machine code
    _, path, line = place or ("", "<kernel>", 1)
    exec(compile("\n" * (line - 1) + "raise error", path, "exec"), {"error": kind(*words)})  # noqa: S102


@cache
def _engine() -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_triple(binding.get_process_triple()).create_target_machine(jit=True)
    binding.add_symbol("jt_edu_ndarray", id(np.ndarray))
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


_new_function = ctypes.pythonapi.PyCFunction_NewEx
_new_function.restype, _new_function.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
