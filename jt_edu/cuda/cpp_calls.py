"""Calls in C++: what becomes of a call in a kernel?

    exp(x)                                     expf(x) of a float
    max(a, b), maximum(a, b)                   larger(a, b), maximum(a, b): each with its own answer to nan
    cuda.atomic.add(out, (i, j), x)            atomicAdd(&out[i * out_n1 + j], x)
    cuda.shfl_xor_sync(0xffffffff, x, 16)      __shfl_xor_sync(0xffffffff, x, 16); in HIP __shfl_xor(x, 16, 32)
    clipped(x[i], 5)                           the same, and the device function above the kernel

What a call needs above the kernel goes into a library (cpp_function.py).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jt_edu.cuda.cpp_arithmetic import ATOM, UNARY, Spelled
from jt_edu.cuda.cpp_expressions import Array, Expressions, spelled
from jt_edu.cuda.cpp_words import (
    ATOMICS,
    BITS_OF_HALF,
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    MATH,
    NAMES,
    OF_WHOLE,
    TESTS,
    UNSIGNED,
    UNSIGNED_LONG,
    DType,
)
from jt_edu.cuda.launch import Kernel

if TYPE_CHECKING:
    from jt_edu.cuda.cpp_function import Function, Library

ALL = 0xFFFFFFFF
CASTS = {"int": LONG, "float": DOUBLE, "bool": BOOL, "bool_": BOOL, **{str(dtype): dtype for dtype in NAMES}}
BITS = {"popc": ("__popc", UNSIGNED), "clz": ("__clz", INT), "ffs": ("__ffsll", LONG), "brev": ("__brev", UNSIGNED)}
BARRIERS = ("syncthreads_count", "syncthreads_and", "syncthreads_or")
FENCES = {name: f"__{name}()" for name in ("syncthreads", "threadfence", "threadfence_block")}
OPERATORS: dict[str, type[ast.AST]] = {
    "divide": ast.Div, "true_divide": ast.Div, "floor_divide": ast.FloorDiv, "remainder": ast.Mod, "mod": ast.Mod,
}  # fmt: skip
TWO_WHOLE = {  # what mathlib does with two whole numbers: by 0 they give 0
    "floor_divide": "floor_divide", "remainder": "remainder", "mod": "remainder", "fmod": "fmod_or_0",
    "shift_left": "shift_left", "shift_right": "shift_right", "gcd": "gcd",
}  # fmt: skip
HALVES = {  # of mathlib: what they take, and give
    **dict.fromkeys(("half_to_float", "bfloat_to_float"), (BITS_OF_HALF, FLOAT)),
    **dict.fromkeys(("float_to_half", "float_to_bfloat"), (FLOAT, BITS_OF_HALF)),
}
TWO_ALIKE = {"max": "larger", "min": "smaller", "maximum": "maximum", "minimum": "minimum"}


class Calls(Expressions):
    """Spells calls, too. What they need above the kernel goes into a library."""

    def __init__(self, library: Library) -> None:
        super().__init__()
        self.library = library
        self.outside: dict[str, Any] = {}  # the names of its module
        self.numbers: dict[str, Any] = {}  # of variables that are always the same number

    def helper(self, name: str) -> str:
        """A function that C++ lacks; it will be written above the kernel."""
        return self.library.helper(name)

    def visit_Call(self, node: ast.Call) -> Spelled:  # noqa: N802 - ast's name
        """A call that gives a number."""
        word, value = self.word(node.func), self.value(node.func)
        if isinstance(value, Kernel):
            called, text = self.device(node, value)
            if called.returned is None:
                raise self.wrong(node, f"{value.__name__} gives a number", "a device function with a return in it")
            return Spelled(text, called.returned, called.returned)
        if word.startswith("atomic."):
            return self.atomic(node, word.removeprefix("atomic."))
        several = self.several(node)
        if several:
            return several[0]
        name = getattr(value, "__name__", "")
        if name == "len" and len(node.args) == 1 and getattr(node.args[0], "id", "") in self.arrays:
            return self.length(self.arrays[node.args[0].id], 0)  # type: ignore[attr-defined]  # a Name, as asked
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise self.wrong(node, "a call gives its arguments by their places", "f(x, y)")
        given = [self.spell(argument) for argument in node.args]
        if word:
            found = self.of_threads(node, word, given)
        else:  # what mathlib makes in a loop has its name where it is called
            found = self.function(value, name, given) or self.function(value, ast.unparse(node.func), given)
        if found is None:
            asked = f"cuda.source cannot write {ast.unparse(node.func)} of {len(given)} numbers in C++"
            raise self.wrong(node, asked, "arithmetic, or a device function of one's own")
        return found

    def of_threads(self, node: ast.Call, word: str, given: Sequence[Spelled]) -> Spelled | None:
        """What a thread asks others, or the bits of a number."""
        if word in self.library.language.warp and given:
            self.all_lanes(node, word)
            text = self.library.warp(word).format(*(x.text for x in given[1:]))
            if "shfl" in word:
                x = given[1]
                dtype = x.type if x.number is None else x.made
                return Spelled(text, dtype, dtype if dtype.itemsize >= INT.itemsize else INT)
            return Spelled(text, LONG, UNSIGNED if word == "ballot_sync" else INT, ATOM, True)
        if word in BARRIERS and len(given) == 1:
            return Spelled(f"__{word}({given[0].text})", LONG, INT, ATOM, True)
        if word in BITS and len(given) == 1:
            name, dtype = BITS[word]
            return Spelled(f"{name}({self.cast(given[0], dtype).text})", LONG, INT, ATOM, word != "brev")
        if word == "tf32" and len(given) == 1 and self.library.language.name == "cuda":
            return Spelled(f"{self.helper(word)}({self.cast(given[0], FLOAT).text})", FLOAT, FLOAT)
        return self.math("fma", given) if word == "fma" and len(given) == 3 else None

    def all_lanes(self, node: ast.Call, word: str) -> None:
        """Refuse a mask that leaves lanes out, or that is not known now."""
        if not node.args:
            return
        mask = self.spell(node.args[0]).number
        if mask is None:
            mask = self.numbers.get(ast.unparse(node.args[0]))
        if mask is None or (int(mask) & ALL) != ALL:
            raise self.wrong(node, f"cuda.{word} is for all 32 lanes", "0xffffffff as the mask")

    def function(self, value: Any, name: str, given: Sequence[Spelled]) -> Spelled | None:
        """A function of Python, math, NumPy or mathlib; None for any other one."""
        home = str(getattr(value, "__module__", "numpy"))
        if home.partition(".")[0] not in ("builtins", "math", "numpy", "jt_edu"):
            return None
        kinds = {str(x.type.kind) for x in given}
        if name in CASTS and len(given) == 1:
            return self.cast(given[0], CASTS[name])
        if name in TWO_ALIKE and len(given) >= 2:
            return self.alike(TWO_ALIKE[name], given)
        if name in OF_WHOLE and "f" not in kinds:
            return given[0]
        if name in TESTS and kinds == {"f"}:
            return Spelled(f"{name}({given[0].text})", BOOL, BOOL, ATOM, True)
        if home == "math" and name in OF_WHOLE:
            return self.cast(self.math(name, given), LONG)
        return self.own_helper(name, given, kinds) or (self.math(MATH[name], given) if name in MATH else None)

    def own_helper(self, name: str, given: Sequence[Spelled], kinds: set[str]) -> Spelled | None:
        """Functions that are an operator of C++, or that a helper computes."""
        whole, two = "f" not in kinds, len(given) == 2
        if name in TWO_WHOLE and whole and two:
            return self.alike(TWO_WHOLE[name], given)
        if name in OPERATORS and two:
            return self.binary(OPERATORS[name], *given)
        if name in ("select", "where") and len(given) == 3:
            return self.choice(*given)
        if name in ("wrap", "bit_count"):
            places = ", ".join(self.cast(x, LONG).text for x in given)
            return Spelled(f"{self.helper(name)}({places})", LONG, LONG, ATOM, name == "bit_count")
        if name == "narrow":
            return self.cast(given[0], INT)
        if name == "within":
            i, n = (self.cast(x, LONG).text for x in given)
            return Spelled(f"{self.helper(name)}({i}, {n})", BOOL, BOOL, ATOM, True)
        if name in HALVES:
            taken, made = HALVES[name]
            return Spelled(
                f"{self.helper(name)}({self.cast(given[0], taken).text})", made, made, ATOM, made.kind == "u"
            )
        if name in ("sigmoid", "sign") or (name in ("abs", "absolute") and whole):
            x = given[0] if not whole or name == "sign" else self.cast(given[0], LONG)
            text = f"{self.helper('absolute' if name == 'abs' else name)}({x.text})"
            return Spelled(text, x.type, x.type, ATOM, name != "sign")
        return None

    def alike(self, name: str, given: Sequence[Spelled]) -> Spelled:
        """A helper of two numbers of one type."""
        found = given[0]
        for x in given[1:]:
            natural = (found.natural or x.natural) if name in ("larger", "maximum") else found.natural and x.natural
            a, b, dtype = self.meet(found, x)
            a, b = (self.cast(side, dtype) if side.made != dtype else side for side in (a, b))
            found = Spelled(f"{self.helper(name)}({a.text}, {b.text})", dtype, dtype, ATOM, natural)
        return found

    def atomic(self, node: ast.Call, name: str) -> Spelled:
        """A change of one number that nobody comes between."""
        if name not in ATOMICS or len(node.args) < 3:
            raise self.wrong(node, f"an atomic is one of {', '.join(ATOMICS)}", "cuda.atomic.add(x, i, value)")
        target = ast.copy_location(ast.Subscript(node.args[0], node.args[1], ast.Load()), node)
        array, cell = self.cell(target)
        self.written.add(array.name)
        values, dtype = [self.spell(a) for a in node.args[2:]], array.dtype
        call, kinds = ATOMICS[name]
        if name == "sub" and _short(dtype) not in kinds:
            call, kinds = ATOMICS["add"]
            values = [Spelled(f"-{values[0].within(UNARY)}", values[0].type, values[0].made, UNARY)]
        where, cast = f"&{cell}", dtype
        if _short(dtype) not in kinds:
            if dtype != LONG or "u8" not in kinds:
                taken = ", ".join(str(np.dtype(k)) for k in kinds.split())
                raise self.wrong(node, f"{call} takes {taken}; {array.name} is {dtype}", "another dtype")
            where, cast = f"(unsigned long long*)&{cell}", UNSIGNED_LONG  # the bits of a sum are the same
        texts = [
            x.text if x.made.kind == cast.kind == "f" or x.number is not None else self.cast(x, cast).text
            for x in values
        ]
        return Spelled(f"{call}({', '.join([where, *texts])})", dtype, cast)

    def device(self, node: ast.Call, kernel: Kernel) -> tuple[Function, str]:
        """A device function for these types, and the call."""
        if not kernel.device:
            raise self.wrong(node, f"{kernel.__name__} is a kernel, which nobody calls", "@cuda.jit(device=True)")
        bound = inspect.signature(kernel.function).bind(*node.args, **{str(k.arg): k.value for k in node.keywords})
        bound.apply_defaults()
        given: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            array = self.arrays.get(getattr(value, "id", ""))
            given[name] = array or (self.spell(value) if isinstance(value, ast.expr) else self.constant(value))
        alias = ast.unparse(node.func).rpartition(".")[2]
        called = self.library.function(kernel, alias if alias in self.outside else kernel.__name__, given)
        return called, f"{called.name}({', '.join(self.handed(called, given))})"

    def handed(self, called: Function, given: dict[str, Any]) -> list[str]:
        """What a device function is given: numbers, arrays, and those of their lengths that it reads."""
        texts = []
        for name, value in given.items():
            if not isinstance(value, Array):
                texts.append(value.text)
                continue
            self.written |= {value.name} if name in called.written else set()
            flat = value.inner and len(value.lengths) > 1
            texts.append(f"&{spelled(value.name)}" + "[0]" * len(value.lengths) if flat else spelled(value.name))
            lengths = range(len(value.lengths))
            texts += [self.length(value, k).text for k in lengths if called.length_name(name, k) in called.lengths]
        return texts


def _short(dtype: DType) -> str:
    return f"{dtype.kind}{dtype.itemsize}"
