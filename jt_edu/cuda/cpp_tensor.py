"""Tensor cores in C++: how are products of a warp written there, and numbers that have one name together?

    a = x[i], x[i + 1]                 const float a[2] = {x[i], x[i + 1]};
    d = cuda.mma_tf32(a, b, sums)      float d[4];
                                       mma_tf32(d, a, b, sums);
    p, q, r, s = cuda.mma_tf32(...)    the same, and p = d1[0]; q = d1[1]; ...

The function is a line of NVIDIA's assembly, as nvcc takes it. HIP has no such word: tensor cores of AMD multiply
matrices of other sizes, whose numbers other lanes hold.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jt_edu.cuda.cpp_arithmetic import ATOM, Spelled
from jt_edu.cuda.cpp_calls import Calls
from jt_edu.cuda.cpp_expressions import Array, spelled
from jt_edu.cuda.cpp_words import FLOAT, NAMES, UNSIGNED, DType
from jt_edu.cuda.kernel_names import TENSOR
from jt_edu.cuda.tensor_core import PARTS

WAY = "a = a0, a1, a2, a3 in a line of its own"


class Products(Calls):
    """Spells products of a warp, and tuples under a name."""

    rows: list[str]
    fresh: set[str]  # names that the text has, and the kernel has not
    begins: dict[ast.stmt, set[str]]

    def row(self, text: str) -> None:
        """One line."""
        raise NotImplementedError

    def is_product(self, node: ast.expr) -> bool:
        """Whether it is a call of a word for tensor cores."""
        return isinstance(node, ast.Call) and self.word(node.func) in TENSOR

    def bundle(self, node: ast.stmt, name: str, parts: Sequence[ast.expr], kind: DType | None = None) -> Array:
        """Several numbers under one name, which begins there; of one dtype."""
        if name not in self.fresh and name not in self.begins.get(node, ()):
            raise self.wrong(node, f"{name} is several numbers, and nothing else", WAY)
        values = [self.spell(part) for part in parts]
        dtype = kind or (values[0].type if len({v.type for v in values}) == 1 else None)
        if dtype is None:
            raise self.wrong(node, f"the numbers of {name} are of one dtype", WAY)
        found = self.arrays[name] = Array(name, dtype, (len(parts),), inner=True)
        texts = ", ".join((v if v.type == dtype else self.cast(v, dtype)).text for v in values)
        self.row(f"const {NAMES[dtype]} {spelled(name)}[{len(parts)}] = {{{texts}}};")
        return found

    def of_warp(self, node: ast.stmt, call: ast.Call, name: str = "") -> list[Spelled]:
        """The four numbers of a lane that come of it, under a name."""
        word = self.word(call.func)
        if self.library.language.name != "cuda":
            raise self.wrong(call, f"cuda.{word} is for tensor cores of NVIDIA", 'language="cuda"')
        if name and name not in self.begins.get(node, ()):
            raise self.wrong(node, f"{name} is what comes of one product", "another name")
        if len(call.args) != len(PARTS) or call.keywords:
            raise self.wrong(call, f"cuda.{word} takes words of A, of B, and sums", "cuda.mma_tf32(a, b, c)")
        kinds = {"c": FLOAT} if word == "mma_tf32" else {"a": UNSIGNED, "b": UNSIGNED, "c": FLOAT}
        given = [
            self.words(node, one, *part, kinds.get(part[0], FLOAT))
            for one, part in zip(call.args, PARTS.items(), strict=True)
        ]
        made = name or self.unused("d")
        self.arrays[made] = Array(made, FLOAT, (PARTS["c"],), inner=True)
        self.row(f"float {spelled(made)}[{PARTS['c']}];")
        self.row(f"{self.helper(word)}({', '.join(map(spelled, [made, *given]))});")
        return [Spelled(f"{spelled(made)}[{k}]", FLOAT, FLOAT, ATOM) for k in range(PARTS["c"])]

    def words(self, node: ast.stmt, given: ast.expr, part: str, count: int, kind: DType) -> str:
        """The name of what a product is given."""
        if isinstance(given, ast.Tuple) and len(given.elts) == count:
            return self.bundle(node, self.unused(part), given.elts, kind).name
        name = getattr(given, "id", "")
        array = self.arrays.get(name)
        if array is None or array.lengths != (count,) or array.dtype != kind:
            raise self.wrong(given, f"{part} is {count} numbers of {kind} here", WAY)
        return name

    def unused(self, letter: str) -> str:
        """A name that nothing has."""
        taken = self.own | self.fresh
        name = next(name for k in range(len(taken) + 1) if (name := f"{letter}{k}") not in taken)
        self.fresh.add(name)
        return name
