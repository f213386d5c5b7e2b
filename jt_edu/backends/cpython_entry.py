"""CPython entry: how does Python call machine code, with no help from numba?

    call(lo, hi, x, out)  ->  entry(self, objects, count)  ->  kernel(result, error, lo, hi, fields of x, fields of out)

Numba's own entry asks helpers that live in numba, so whoever loads a kernel from disk would import all of numba for
them: a quarter of a second. This one asks Python alone. It reads numbers with Python's functions, and arrays where
NumPy promises to keep their fields (`PyArrayObject`), lets go of the GIL, and calls the kernel. The number of what is
no array of its kind, or the address of what the kernel raises, goes to `code_loader.refuse`, which stands as `self`.

A tail is called by machine code, with pointers and whole numbers, which its entry hands on: `from_code`.
All of it is LLVM's text. Nothing here knows files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import binding
from numba import types
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys
from numba.np.numpy_support import as_dtype

FIELDS = object.__basicsize__  # bytes before the fields of an object; the last word there is its type
NEEDS = """
@jt_edu_ndarray = external global i8
@_Py_NoneStruct = external global i8
declare i32 @PyType_IsSubtype(ptr, ptr)
declare i32 @PyObject_IsTrue(ptr)
declare i64 @PyLong_AsUnsignedLongLongMask(ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyObject_GetAttrString(ptr, ptr)
declare ptr @PyErr_Occurred()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyObject_CallFunction(ptr, ptr, ...)
"""
FROM_PYTHON = """
@"{name}_K" = private constant [2 x i8] c"K\\00"
@"{name}_real" = private constant [5 x i8] c"real\\00"
@"{name}_imag" = private constant [5 x i8] c"imag\\00"
define ptr @"{name}"(ptr %self, ptr %objects, i64 %count) noinline optnone {{
  %result = alloca ptr
  %error = alloca ptr
  %which = alloca i64
  store i64 {count}, ptr %which
  %enough = icmp eq i64 %count, {count}
  br i1 %enough, label %a0, label %refused
{read}
a{count}:
  %late = call ptr @PyErr_Occurred()
  %good = icmp eq ptr %late, null
  br i1 %good, label %call, label %failed
call:
  %thread = call ptr @PyEval_SaveThread()
  %status = call i32 @"{kernel}"({given})
  call void @PyEval_RestoreThread(ptr %thread)
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %done, label %raised
done:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
raised:
  %address = load i64, ptr %error
  store i64 %address, ptr %which
  br label %refused
refused:
  %told = load i64, ptr %which
  %never = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr %self, ptr @"{name}_K", i64 %told)
  br label %failed
failed:
  ret ptr null
}}
"""
FROM_CODE = """
define void @"{name}"({taken}) {{
  %result = alloca ptr
  %error = alloca ptr
  %status = call i32 @"{kernel}"({given})
  ret void
}}
"""


def from_python(name: str, kernel: str, kinds: Sequence[Any]) -> str:
    """The text of a module that calls a kernel with what Python passes: a C function of METH_FASTCALL."""
    read, given = [], ["ptr %result", "ptr %error"]
    for k, kind in enumerate(kinds):
        rows, fields = _array(k, kind) if isinstance(kind, types.Array) else _number(k, kind, name)
        read += [f"a{k}:", *rows]
        given += fields
    text = FROM_PYTHON.format(
        name=name, kernel=kernel, count=len(kinds), read="\n".join(read), given=", ".join(given),
    )  # fmt: skip
    return NEEDS + _declared(kernel, given) + text


def from_code(name: str, kernel: str, kinds: Sequence[Any]) -> str:
    """The text of a module that calls a function with what machine code passes, pointers and numbers."""
    taken = [f"{'i64' if kind == types.int64 else 'ptr'} %v{k}" for k, kind in enumerate(kinds)]
    given = ["ptr %result", "ptr %error", *taken]
    text = FROM_CODE.format(name=name, kernel=kernel, taken=", ".join(taken), given=", ".join(given))
    return _declared(kernel, given) + text


def _declared(kernel: str, given: list[str]) -> str:
    return f'declare i32 @"{kernel}"({", ".join(field.split()[0] for field in given)})\n'


def _object(k: int) -> list[str]:
    return [f"  %p{k} = getelementptr ptr, ptr %objects, i64 {k}", f"  %o{k} = load ptr, ptr %p{k}"]


def _array(k: int, kind: Any) -> tuple[list[str], list[str]]:
    """Check that it is an array of so many axes and of numbers of that size; its fields, as numba passes them."""

    def field(name: str, kind: str, of: str, at: int) -> list[str]:
        return [f"  %at_{name} = getelementptr i8, ptr {of}, i64 {at}", f"  %{name} = load {kind}, ptr %at_{name}"]

    rank, size = kind.ndim, as_dtype(kind.dtype).itemsize
    rows = [
        *_object(k), f"  store i64 {k}, ptr %which", *field(f"type{k}", "ptr", f"%o{k}", FIELDS - 8),
        f"  %own{k} = icmp eq ptr %type{k}, @jt_edu_ndarray", f"  br i1 %own{k}, label %is{k}, label %perhaps{k}",
        f"perhaps{k}:", f"  %sub{k} = call i32 @PyType_IsSubtype(ptr %type{k}, ptr @jt_edu_ndarray)",
        f"  %may{k} = icmp ne i32 %sub{k}, 0", f"  br i1 %may{k}, label %is{k}, label %refused",
        f"is{k}:", *field(f"rank{k}", "i32", f"%o{k}", FIELDS + 8), *field(f"dtype{k}", "ptr", f"%o{k}", FIELDS + 40),
        *field(f"size{k}", "i64", f"%dtype{k}", FIELDS + 24), f"  %ranked{k} = icmp eq i32 %rank{k}, {rank}",
        f"  %sized{k} = icmp eq i64 %size{k}, {size}", f"  %both{k} = and i1 %ranked{k}, %sized{k}",
        f"  br i1 %both{k}, label %read{k}, label %refused", f"read{k}:", *field(f"data{k}", "ptr", f"%o{k}", FIELDS),
        *field(f"shape{k}", "ptr", f"%o{k}", FIELDS + 16), *field(f"stride{k}", "ptr", f"%o{k}", FIELDS + 24),
        f"  %items{k}_0 = add i64 0, 1",
    ]  # fmt: skip
    for axis in range(rank):
        rows += field(f"n{k}_{axis}", "i64", f"%shape{k}", 8 * axis)
        rows += field(f"s{k}_{axis}", "i64", f"%stride{k}", 8 * axis)
        rows += [f"  %items{k}_{axis + 1} = mul i64 %items{k}_{axis}, %n{k}_{axis}"]
    fields = ["ptr null", "ptr null", f"i64 %items{k}_{rank}", f"i64 {size}", f"ptr %data{k}"]
    fields += [f"i64 %{letter}{k}_{axis}" for letter in "ns" for axis in range(rank)]
    return [*rows, f"  br label %a{k + 1}"], fields


def _number(k: int, kind: Any, name: str) -> tuple[list[str], list[str]]:
    """Whatever Python takes for a number of that kind; PyErr_Occurred is asked when all are read."""
    rows, end = _object(k), f"  br label %a{k + 1}"
    if isinstance(kind, types.Complex):
        passed = _passed(kind.underlying_float)
        for part in ("real", "imag"):
            rows += [f'  %{part}{k} = call ptr @PyObject_GetAttrString(ptr %o{k}, ptr @"{name}_{part}")']
            rows += [*_float(f"{part}_{k}", f"%{part}{k}", passed), f"  call void @Py_DecRef(ptr %{part}{k})"]
        return [*rows, end], [f"{passed} %real_{k}", f"{passed} %imag_{k}"]
    passed = _passed(kind)
    if isinstance(kind, types.Float):
        rows += _float(f"v{k}", f"%o{k}", passed)
    elif isinstance(kind, types.Boolean):
        rows += [f"  %true{k} = call i32 @PyObject_IsTrue(ptr %o{k})", f"  %v{k} = trunc i32 %true{k} to {passed}"]
    else:
        rows += [f"  %whole{k} = call i64 @PyLong_AsUnsignedLongLongMask(ptr %o{k})"]
        rows += [f"  %v{k} = {'trunc' if passed != 'i64' else 'bitcast'} i64 %whole{k} to {passed}"]
    return [*rows, end], [f"{passed} %v{k}"]


def _float(name: str, of: str, passed: str) -> list[str]:
    change = "fptrunc" if passed == "float" else "bitcast"
    return [
        f"  %{name}_ = call double @PyFloat_AsDouble(ptr {of})",
        f"  %{name} = {change} double %{name}_ to {passed}",
    ]


def _passed(kind: Any) -> str:
    """What LLVM calls a number as it is passed."""
    return str(cpu_target.target_context.get_argument_type(kind))


def provide(symbols: list[str]) -> None:
    """Have numba define symbols of its own, which its allocator and its errors need, as far as it knows them."""
    context: Any = cpu_target.target_context
    rtsys.initialize(context)
    if not all(map(binding.address_of_symbol, symbols)):  # filling the tables of all functions takes a while
        context.refresh()
