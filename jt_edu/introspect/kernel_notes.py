"""Kernel notes: how does a kernel run, why so, and what would other ways cost?

    a sum over axis 1        loops   each i0 of 64: each i1 of 9
    A @ B                    chosen  dots: 4 rows, 4096 columns, ...      ir/matmul_pattern.py says who multiplies
                             costs   estimated, on one thread: dots 4.3 ms; loops 11.5 ms, BLAS 14.4 ms
    an int32 convolution     chosen  loops: the algorithms for convolutions take float32 and float64, this is int32

Why there is no algorithm is found by asking what the sum would be if one thing were different: the same sum of float32
numbers, or with the setting switched on. An estimate is for one thread, and adds up what is multiplied, what is read
from memory, and what BLAS copies; its figures were measured on one machine, and rank the ways more surely than
they tell the time. Convolutions tell the cost of their algorithms themselves (backends/convolve/selection.py). Nothing
here has a part in a choice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy

from jt_edu.backends.convolve.tuner_report import time_text
from jt_edu.base.dtypes import float32
from jt_edu.ir.conv_pattern import STORED, convolution
from jt_edu.ir.index_expr import Index, counters_of
from jt_edu.ir.matmul_pattern import BLAS, SMALL, Product, matrix_product, way_of
from jt_edu.ir.meta_ops import CONSTANT, Reindex, ReindexReduce
from jt_edu.ir.node import Node
from jt_edu.ir.scalar_ops import MULTIPLY
from jt_edu.runtime.plan import Plan, Step
from jt_edu.runtime.trace_events import libraries_of

QUICK = {4: 1.2e-11, 8: 2.3e-11}  # seconds for an operation, by the bytes of a number: of BLAS, and of our kernels
LOOPS = 6.6e-11  # of generated loops
READ = 4e-11  # seconds for a byte that is read
COPY = 6e-10  # for a number that BLAS copies into its own order
CALL = 3e-7  # for BLAS to begin
GPU = re.compile(r"@cuda.jit\ndef ([a-z]+)\d*\(")
CORES = re.compile(r"cuda\.mma_(\w+)\(")
WAYS = {  # what the kernels of a GPU are called: cuda/schedule.py
    "each": "a thread for each element", "rows": "a block of threads for each row", "once": "one thread",
    "parts": "a block of threads for each part of a sum", "whole": "one for the sums of those",
    "tiles": "a block of threads for each tile of a product", "scatter": "a thread for each element, with atomics",
    "columns": "a block of threads for 32 columns and a part of the rows", "ends": "a thread for each sum of parts",
    "turned": "a block of threads for each tile that is turned", "winners": "a thread for each, to find the last one",
}  # fmt: skip
SUMS = {"cuBLAS": "a product by cuBLAS", "cuDNN": "a convolution by cuDNN"}
LOOP = re.compile(r"( *)for (\w+) in range\((.+)\):")
BLOCK = re.compile(r" {4}(for \w+ in range\()b\d+, minimum\(b\d+ \+ \d+, (\w+)\)")  # of a sum in blocks


def loops_in_words(step: Step) -> str:
    """The loops of a kernel, as its source has them: "each i0 of 64: (each i1 of 9, then each i2 of 9)"."""
    if step.kind == "code":
        return f"written by hand, {step.span} independent part{'s' if step.span != 1 else ''}"
    if step.source.text.startswith("from jt_edu import cuda"):
        library = [SUMS[name] for name in libraries_of(step.source.text)]
        numbers = sorted({*CORES.findall(step.source.text)})
        ways = [*library, *(WAYS.get(kind, kind) for kind in GPU.findall(step.source.text))]
        return ", then ".join(ways) + f", on tensor cores: {', '.join(numbers)}" * bool(numbers)
    if step.own is not None:
        return f"a convolution by {step.own.algorithm.name}, {step.span} part{'s' if step.span != 1 else ''}"
    lengths = {p.name: str(a) for p, a in zip(step.source.parameters, step.arguments, strict=False)}
    lengths["lo, hi"] = str(step.span)
    found = [m for m in map(LOOP.match, BLOCK.sub(r"\1\2", step.source.text).splitlines()) if m and m[2][0] != "b"]
    if step.kind == "row blocks":
        found = [m for m in found if m[2][0] not in "jmr"]  # those of blocks, and what is set to 0 before them
        lengths |= {"r0, r1": f"a block of {lengths['k0']} rows", "e0": "its columns"}
    loops = [(len(m[1]), f"each {m[2]} of {lengths.get(m[3], 'a piece' if m[3][0] == 'b' else m[3])}") for m in found]
    words = _nested(loops) if step.way[0] in ("", "BLAS") else f"{step.span} part{'s' * (step.span != 1)}"
    if step.kind == "product":
        return f"a matrix product by {step.way[0]}" + (f", {words}" if words else "")
    return words or "no loop: one number"


def _nested(loops: list[tuple[int, str]]) -> str:
    """Loops with their indentation, outer ones first, as words."""
    parts = []
    while loops:
        depth, words = loops[0]
        end = next((k for k, (d, _) in enumerate(loops) if k and d <= depth), len(loops))
        inner, loops = _nested(loops[1:end]), loops[end:]
        parts.append(words + (": " + (f"({inner})" if ", then " in inner else inner) if inner else ""))
    return ", then ".join(parts)


def costs_of(step: Step, order: Sequence[Node]) -> str:
    """What each way to compute a product of matrices would take: "estimated: BLAS 12 ms; loops 81 ms"."""
    if step.kind != "product":
        return ""
    product = matrix_product(order[step.slots[0]])
    assert product is not None, "fuse says so"
    found, mine = estimates(product), step.way[0]
    others = sorted((seconds, name) for name, seconds in found.items() if name != mine)
    listed = ", ".join(f"{name} {time_text(seconds)}" for seconds, name in others)
    return f"estimated, on one thread: {mine} {time_text(found[mine])}; {listed}"


def estimates(p: Product) -> dict[str, float]:
    """Seconds on one thread: of BLAS, of generated loops, and of the kernel for thin products where it is chosen.

    Example:
        >>> y = jt.ones(4, 600) @ jt.ones(600, 700)
        >>> sorted(estimates(matrix_product(y.node)))
        ['BLAS', 'loops', 'rows']
    """
    parts = 2 if str(p.node.dtype).startswith("complex") else 1  # of a number
    size = p.node.dtype.size // parts
    flops, left, right = p.flops * parts**2, p.batch * p.rows * p.summed, p.batch * p.summed * p.columns
    read = READ * size * parts * (left + right)
    matrix = min(p.rows, p.columns) > 1 and p.flops // 2 > SMALL
    found = {
        "BLAS": CALL + flops * QUICK[size] + read + COPY * parts * (left + right) * matrix,
        "loops": flops * LOOPS + read,
    }
    chosen = way_of(p)[0]
    return found if chosen == "BLAS" else {**found, chosen: flops * QUICK[size] + read}


def why_loops(step: Step, order: Sequence[Node], plan: Plan) -> str:
    """Why generated loops compute a convolution or a product of matrices, in a sentence; "" for any other kernel."""
    if step.kind != "loops" or plan.algorithms in ((), STORED):  # a GPU has only loops, and tiles are made of them
        return ""
    sums = [order[s] for s in step.slots if _sums_products(order[s])]
    return next((why for why in (_why(n, plan) for n in sums) if why), "")


def _sums_products(node: Node) -> bool:
    op = node.op
    adds = isinstance(op, ReindexReduce) and op.reducer == "add"
    return adds and node.data is None and node.inputs[0].op is MULTIPLY and node.inputs[0].data is None


def _why(node: Node, plan: Plan) -> str:
    twin, dtype = _of_float32(node), node.dtype
    if matrix_product(twin) is not None:
        if dtype not in BLAS:
            return f"BLAS multiplies {', '.join(BLAS)}, this is {dtype}"
        return _wanted("a product of matrices", plan.fused)
    if convolution(twin) is not None:
        if dtype not in ("float32", "float64"):
            return f"the algorithms for convolutions take float32 and float64, this is {dtype}"
        return (
            _wanted("a convolution", plan.fused)
            if "convolution" in plan.algorithms
            else "jt.backends.conv.enabled is False"
        )
    number = next((i for i in (_behind(i) for i in node.inputs[0].inputs) if i.op is CONSTANT), None)
    if number is not None and _slides(node):
        return f"one factor is the number {number.data} everywhere; the algorithms for convolutions multiply two arrays"
    return ""


def _wanted(what: str, fused: bool) -> str:
    why = "as something else reads them" if fused else "as jt.flags.fuse is off"
    return f"this is {what}, but its single products are stored, {why}"


def _of_float32(node: Node) -> Node:
    """The same sum of float32 numbers."""
    twin, product = copy(node), copy(node.inputs[0])
    twin.dtype = product.dtype = float32
    twin.behind = (product,)
    return twin


def _behind(node: Node) -> Node:
    """What pending views look at."""
    while node.data is None and isinstance(node.op, Reindex):
        node = node.inputs[0]
    return node


def _slides(node: Node) -> bool:
    """Whether a window slides: on two axes at least of the sum, or of what a factor looks at, two counters move."""
    maps: list[tuple[Index, ...]] = [node.op.where] if isinstance(node.op, ReindexReduce) else []
    maps += [i.op.where for i in node.inputs[0].inputs if i.data is None and isinstance(i.op, Reindex)]
    return any(len(where) > 2 and all(len(counters_of(w)) == 2 for w in where[2:]) for where in maps)
