"""Conv formulas: which plain loops does a convolution stand for?

    for n, o, y, x:                         what is asked for, here the places
        s = 0.0
        for c, ky, kx:                      what is summed over, here channels and taps
            h, w = y * sh + ky * dh - ph, x * sw + kx * dw - pw
            if the image has (h, w):
                s = s + image[n, c, 0, h, w] * weights[o, c, 0, ky, kx]
        out[n, o, 0, y, x] = s

An algorithm computes the same sums in an order of its own, and with detours; this is what they are. What the graph does
to them afterwards, `finish`, is the algorithm's own. Directions in which nothing has a length are left out.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from jt_edu.backends.convolve.standalone import NUMBERS
from jt_edu.codegen.emit_python import Source
from jt_edu.ir.conv_pattern import Sizes
from jt_edu.runtime.conv_step import OWN
from jt_edu.runtime.plan import Step

MATHLIB = "jt_edu.backends.mathlib"
ASKED = {"forward": "places", "by_image": "image", "by_weights": "weights"}
AXES = {"image": ("nc", "dhw"), "weights": ("oc", ("kz", "ky", "kx")), "places": ("no", "zyx")}  # their counters


@dataclass(frozen=True)
class Sums:
    """The loops as a kernel, which line is whose, and how long the outermost loop is."""

    source: Source
    lines: tuple[tuple[int, int], ...]  # (line, slot)
    span: int


def sums_of(step: Step) -> Sums:
    """The plain loops of a step that is a convolution, with the same parameters, and with its tail."""
    assert step.own is not None, "it is a convolution"
    sizes, parameters = step.own.sizes, step.source.parameters
    rest = [p.name for p in parameters[OWN + 2 + len(NUMBERS) :]]
    rows = [f"def kernel({', '.join(['lo', 'hi', *(p.name for p in parameters)])}):", *_Loops(sizes).rows(rest)]
    tree = ast.parse(step.source.text)
    begin = next(s.lineno for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == "kernel")
    lines = [(line, dict(step.lines)[begin]) for line in range(2, len(rows) + 1)]
    if rest:
        used = [ast.unparse(s) for s in tree.body if isinstance(s, ast.ImportFrom) and s.module == MATHLIB]
        finish = next(s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == "finish")
        tail, down = range(finish.lineno, (finish.end_lineno or 0) + 1), len(rows) + 3 - finish.lineno
        rows += ["", "", *step.source.text.split("\n")[tail.start - 1 : tail.stop - 1]]
        lines += [(line + down, slot) for line, slot in step.lines if line in tail]
        rows, lines = [*used, "", "", *rows], [(line + len(used) + 2, slot) for line, slot in lines]
    span = sizes.o if sizes.kind == "by_weights" else sizes.n
    return Sums(Source("\n".join(rows) + "\n", parameters), tuple(lines), span)


class _Loops:
    """Writes the loops of one of the three sums."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes, self.out, self.many = sizes, ASKED[sizes.kind], sizes.groups > 1
        self.ways = [k for k in range(3) if self._is_used(k)] or [2]

    def _is_used(self, way: int) -> bool:
        s = self.sizes
        return max(s.image[way], s.kernel[way], s.places[way]) > 1 or s.padding[way] > 0

    def rows(self, rest: list[str]) -> list[str]:
        """All lines of the kernel below its head; `rest` are further parameters, for `finish`."""
        outer, found, deep = self._outer(), [], 1
        for row in (*self._groups(), *outer, "s = 0.0", *self._inner()):
            found.append("    " * deep + row)
            deep += row.endswith(":")
        found.append("    " * (len(outer) + 1) + f"{self._array(self.out)} = s")
        if rest:
            count = " * ".join(f"out.shape[{2 + k}]" for k in self.ways)
            found.append(f"            finish(n, o, 0, {count}, {', '.join(['out', *rest])})")
        return found

    def _groups(self) -> list[str]:
        """How many channels a group has on either side."""
        weights = "out" if self.out == "weights" else "weights"
        return [f"outs = {weights}.shape[0] // groups", f"shared = {weights}.shape[1]"] if self.many else []

    def _outer(self) -> list[str]:
        """A loop for each axis of what is asked for."""
        letters, names = AXES[self.out]
        first, second = letters[0], letters[1]
        heads = [f"for {first} in range(lo, hi):", f"for {second} in range(out.shape[1]):"]
        return [*heads, *(f"for {names[k]} in range(out.shape[{2 + k}]):" for k in self.ways)]

    def _inner(self) -> list[str]:
        """The loops over the other counters, where the third array is read at that, and the sum."""
        outs = "c // shared * outs, (c // shared + 1) * outs" if self.many else "weights.shape[0]"
        rows = {
            "places": ["for c in range(weights.shape[1]):"],
            "image": [f"for o in range({outs}):"],
            "weights": ["for n in range(image.shape[0]):"],
        }[self.out]
        moving = "places" if self.out == "weights" else "weights"
        for k in self.ways:
            place, tap, pixel = (AXES[name][1][k] for name in ("places", "weights", "image"))
            letter = "dhw"[k]
            rows.append(f"for {AXES[moving][1][k]} in range({moving}.shape[{2 + k}]):")
            if self.out == "image":
                rows.append(f"{place} = {pixel} + p{letter} - {tap} * d{letter}")
                rows.append(f"if {place} % s{letter} == 0 and 0 <= {place} // s{letter} < places.shape[{2 + k}]:")
            else:
                rows.append(f"{pixel} = {place} * s{letter} + {tap} * d{letter} - p{letter}")
                rows.append(f"if 0 <= {pixel} < image.shape[{2 + k}]:")
        left, right = (name for name in ("image", "places", "weights") if name != self.out)
        return [*rows, f"s = s + {self._array(left)} * {self._array(right)}"]

    def _array(self, name: str) -> str:
        """An array at the counters. With groups, c counts the channels of one group, except where all are asked for."""
        first, names = list(AXES[name][0]), AXES[name][1]
        if self.many and name == "image" != self.out:
            first[1] = "o // outs * shared + c"
        if self.many and name == "weights" and self.out == "image":
            first[1] = "c % shared"
        strides = ["", "", ""] if (name, self.out) != ("places", "image") else [" // sd", " // sh", " // sw"]
        there = [names[k] + strides[k] if k in self.ways else "0" for k in range(3)]
        return f"{'out' if name == self.out else name}[{', '.join([*first, *there])}]"
