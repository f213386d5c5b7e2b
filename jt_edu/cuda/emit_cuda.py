"""Emit CUDA: a nest of loops prints itself as kernels for a GPU, in the words of numba.cuda.

    @cuda.jit
    def each(n0, a0, a1, out0):
        i0 = cuda.grid(1)
        if i0 < n0:
            t0 = a0[i0] * a1[i0]
            out0[i0] = t0


    def kernel(lo, hi, n0, a0, a1, out0):
        each[max(1, -(-n0 // 256)), 256](n0, a0, a1, out0)

The statements are those of a CPU (emit_python.py); what differs is who does which iteration (schedule.py). `kernel`
launches; the interpreter runs this text as it is, and so does a GPU.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any

from jt_edu.base.dtypes import int64
from jt_edu.codegen.emit_python import NAMES, Argument, Source, Text
from jt_edu.codegen.loop_ir import (
    Access,
    Block,
    Loop,
    Nest,
    Store,
    Update,
    Value,
    choose_span,
    collapse,
    everything,
)  # fmt: skip
from jt_edu.codegen.lowering import Builder
from jt_edu.cuda.contraction import Contraction
from jt_edu.cuda.emit_blocks import HIGH, BlockPrinter, joined, stored_as
from jt_edu.cuda.emit_tensor import TensorPrinter, numbers_of
from jt_edu.cuda.emit_tiles import grouped
from jt_edu.cuda.gather import Twins, gathered, in_the_graph
from jt_edu.cuda.library_products import Call
from jt_edu.cuda.schedule import Launch, Touch, apart, is_atomic, is_last, touches
from jt_edu.cuda.tensor_core import SINCE
from jt_edu.cuda.ways import Choose, sizes_for, ways_of
from jt_edu.fusion.fuse import Fused
from jt_edu.fusion.loop_fusion import Kernel
from jt_edu.ir.index_expr import Index
from jt_edu.ir.meta_ops import REDUCERS
from jt_edu.ir.node import Node

HEADER = "from jt_edu import cuda"
IMPORTS = {
    "cuBLAS": "from jt_edu.cuda.cublas import gemm",
    "cuDNN": "from jt_edu.cuda.cudnn import Sizes, convolve",
}
THREADS = 256  # of a block
PARTS = 1024  # of a long sum at most; numbers of each at least
TOGETHER = {id(reducer): name for name, reducer in REDUCERS.items()}  # see cooperation.py
LANES = ("int32", "int64", "float32", "float64")  # what lanes can hand to each other
MEET = ("scatter", "winners")  # where threads may go to one place
SPANS = {  # which iterations of a shared loop a thread does
    "rows": "thread, {}, threads",
    "parts": "cuda.grid(1), {}, cuda.gridsize(1)",
    "columns": f"cuda.blockIdx.y * {HIGH} + y, {{}}, cuda.gridDim.y * {HIGH}",
}
ROW = "thread, threads = cuda.threadIdx.x, cuda.blockDim.x"
WORDS = {"range", "max", "min", "kernel", "gemm", "convolve"}  # of Python, and of this file


def cuda_loops(
    kernel: Kernel, fused: Fused, able: Container[str] = SINCE, libraries: Container[str] = (),
    choose: Choose | None = None,
) -> tuple[Nest, Text]:  # fmt: skip
    """The loops of a kernel, and their text for a GPU, whose threads share them in their own way.

    Args:
        kernel: what is computed.
        fused: the graph it is of.
        able: the numbers that tensor cores of the GPU multiply.
        libraries: of NVIDIA, which compute what they can.
        choose: the best way to compute something; without it, the first one is taken.
    """
    kernel, twins = gathered(kernel, fused.stored) or (kernel, {})
    stored = fused.stored | {*twins} & {a.node for a in kernel.anchors}
    nests = [choose_span(collapse(Builder(k, stored).build())) for k in apart(kernel, stored)]
    found = list[tuple[Nest, Launch]]()
    for nest in nests:
        ways = ways_of(nest, twins, able, libraries)
        name, why = next(iter(ways)), ""
        if choose is not None and len(ways) > 1:
            each = {w: CudaPrinter([(nest, x) for x in listed], able, twins).print() for w, listed in ways.items()}
            name, why = choose(sizes_for(nest, twins, able), each)
        ways[name][0].why = f"{name}: {why}" if why else ""
        found += [(nest, launch) for launch in ways[name]]
    text, nest = in_the_graph(CudaPrinter(found, able, twins).print(), twins), nests[0]
    nest.span, nest.work = None, sum(each.work for each in nests)
    return nest, text


class CudaPrinter(TensorPrinter, BlockPrinter):
    """Prints launches of nests as kernels and the function that launches them."""

    def __init__(
        self, found: Sequence[tuple[Nest, Launch]], able: Container[str] = SINCE, twins: Twins | None = None
    ) -> None:
        super().__init__(found[0][0])
        self.able, self.twins = able, twins or {}  # what tensor cores multiply; nodes of the graph
        self.found, self.launch = found, found[0][1]
        self.calls: dict[Launch, tuple[str, Node]] = {}  # of a library, before a launch
        self.number = "0"  # of the thread, or of the block, that has a room of its own for sums
        self.rooms: list[str] = []  # lines that make memory for sums, before the first launch
        self.views: dict[tuple[Node, tuple[int, ...]], str] = {}  # of such memory
        self.apart: dict[Update, str] = {}  # sums of which threads have parts -> an array of those of blocks, or ""
        self.parts: list[str] = []  # all such arrays
        self.cells, self.sizes = {}, {}
        self.helpers: set[str] = set()

    def print(self) -> Text:
        """Kernels, and below them what launches them."""
        begins, names, starts = list[int](), list[str](), list[str]()
        for number, (nest, launch) in enumerate(self.found):
            twice = sum(other.kind == launch.kind for _, other in self.found) > 1
            names.append(launch.kind + f"{number}" * twice)
            begins.append(len(self.rows))
            self.nest, self.apart = nest, self.apart if nest is self.nest else {}
            starts.append(self._kernel(launch))
        listed = [entry for letter in self.parameters.values() for entry in letter.values()]
        parameters = tuple([p for p, _ in listed])
        own = [*self.views.values(), *self.parts]
        given = ", ".join([*(p.name for p in parameters), *own])
        text, lines = list[str](), list[tuple[int, Node]]()
        for name, begin, end in zip(names, begins, [*begins[1:], len(self.rows)], strict=True):
            if begin < end:
                text += ["@cuda.jit", f"def {name}({given}):"]
                lines += [(number - begin + len(text), node) for number, node in self.lines if begin < number <= end]
                text += [*self.rows[begin:end], "", ""]
        text += [f"def kernel({', '.join(['lo', 'hi', *(p.name for p in parameters)])}):", *self.rooms]
        for name, start, (_, launch) in zip(names, starts, self.found, strict=True):
            text += [f"    # {launch.why}"] if launch.why else []
            if launch in self.calls:
                text.append(f"    {self.calls[launch][0]}")
                lines.append((len(text), self.calls[launch][1]))
            text += [f"    {name}[{start}]({given})"] if start else []
        return self._module(text, lines, {*names}, parameters, tuple([a for _, a in listed]))

    def _module(
        self, text: list[str], lines: list[tuple[int, Node]], names: set[str], parameters: Any, arguments: Any
    ) -> Text:
        """The text with its imports."""
        used = {*NAMES.findall("\n".join(text))} - WORDS - self.helpers - names
        top = [HEADER, *sorted({IMPORTS[launch.call.library] for _, launch in self.found if launch.call is not None})]
        top += [f"from jt_edu.backends.mathlib import {', '.join(sorted(used))}"] if used else []
        top += [f"from jt_edu.cuda.cooperation import {', '.join(sorted(self.helpers))}"] if self.helpers else []
        top += ["", ""]
        source = Source("\n".join([*top, *text, ""]), parameters)
        return Text(source, arguments, tuple([(k + len(top), node) for k, node in lines]))

    # ------------------------------------------------------------------------------------------------- one kernel

    def _kernel(self, launch: Launch) -> str:
        """The body of a kernel; how many blocks of how many threads do it."""
        self.launch, self.names = launch, {}
        if launch.call is not None and launch.product is not None:
            return self._by_library(launch, launch.product, launch.call)
        match launch.kind:
            case "tiles":
                assert launch.product is not None, "tiles are those of a product"
                node = launch.product.update.node
                if launch.product.tile.parts > 1:
                    self.apart[launch.product.update] = self._part(launch.product.update, "")
                numbers = numbers_of(launch.product, self.able, self.twins.get(node, node))
                return self._tensor_tiles(launch.product, numbers) if numbers else self._tiles(launch.product)
            case "once":
                self._write(1, "if cuda.grid(1) == 0:")
                self._block(launch.block, 2)
                return "1, 32"
            case "each" | "scatter" | "winners" | "ends":
                return self._a_thread_for_each(launch)
            case "columns":
                return self._columns(launch)
            case "turned":
                return self._turned(launch)
        return self._a_block_for_each(launch)

    def _by_library(self, launch: Launch, c: Contraction, call: Call) -> str:
        """A call of a library; what becomes of each sum is a kernel behind it, if there is anything."""
        for axis in (*launch.axes, *c.summed):
            self.axes.setdefault(axis, f"i{len(self.axes)}")
        names = [self._name(access) for access in call.arrays]
        sums = self._cell(call.arrays[2])
        if call.short:  # sums are bits of halves, in memory of their own
            name, place = self._new("sums"), sums[len(names[2]) :]
            self.rooms.append(f'    {name} = cuda.device_array({names[2]}.shape, "uint16")')
            self.parts.append(name)
            names[2], sums = name, f"{call.short}({name}{place})"
        self.calls[launch] = call.words.format(*names, *map(self._count, call.sizes)), c.update.node
        if not call.rest:
            return ""
        self.names[c.update.access] = sums
        return self._a_thread_for_each(replace(launch, block=Block([*call.rest])))

    def _name(self, access: Access) -> str:
        """What an array is called."""
        return self._cell(access).partition("[")[0]

    def _a_thread_for_each(self, launch: Launch) -> str:
        count = self._count(launch.axes)
        (self.number,) = self._names(("j",), (launch.axes,))
        self._write(1, f"{self.number} = cuda.grid(1)")
        self._write(1, f"if {self.number} < {count}:")
        self._decode(self.number, launch.axes, 2)
        self._block(launch.block, 2)
        return f"max(1, -(-{grouped(count)} // {THREADS})), {THREADS}"

    def _a_block_for_each(self, launch: Launch) -> str:
        """A block of threads for each row, or for each part of the one there is."""
        longest = max((self.nest.extents[a], self._extent(a)) for a in launch.shared)[1]
        threads = f"min({THREADS}, -(-max(1, {longest}) // 32) * 32)"
        if not launch.axes:
            self.number = "0"
            self._write(1, ROW)
            self._block(launch.block, 1)
            for update, part in self.apart.items() if launch.kind == "parts" else ():
                self._write(1, "if thread == 0:", update.node)
                self._write(2, f"{part}[cuda.blockIdx.x] = {self.names[update.access]}", update.node)
            return f"min({PARTS}, -(-{longest} // {PARTS})), {THREADS}" if launch.kind == "parts" else f"1, {threads}"
        (self.number,) = self._names(("j",), (launch.axes,))
        count = self._count(launch.axes)
        self._write(1, f"{self.number} = cuda.blockIdx.x")
        self._write(1, f"if {self.number} < {count}:")
        self._decode(self.number, launch.axes, 2)
        self._write(2, ROW)
        self._block(launch.block, 2)
        return f"max(1, {count}), {threads}"

    def _block(self, block: Block, depth: int) -> None:
        shared = self.launch.kind in ("rows", "parts", "whole")
        if not shared or not any(self._shares(i) for i in block.items if isinstance(i, Loop)):
            super()._block(block, depth)
            for item in block.items if self.launch.kind in MEET else ():
                start = item.value.register if isinstance(item, Store) and item.value.kind == "start" else None
                if isinstance(item, Store) and start is not None and is_last(start):
                    self._write(depth, f"{self._winner(start, item.access)} = -1", item.node)
            return
        before: list[Touch] = []  # since the last barrier
        for item in block.items:
            now = touches(item, self.launch.shared, self.nest)
            if isinstance(item, Value) and item.kind == "final" and item.register in self.apart:
                self._put_together(item.register, depth)
                before = []
            if any(a.is_unordered(b) for a in before for b in now):
                self._write(depth, "cuda.syncthreads()")
                before = []
            before += now
            alone = isinstance(item, Store) and item.access.role != "register"
            if alone:
                self._write(depth, "if thread == 0:", getattr(item, "node", None))
            super()._block(Block([item]), depth + alone)
        if self.launch.kind == "parts":
            for update in self.apart:
                self._put_together(update, depth)

    def _shares(self, loop: Loop) -> bool:
        """Whether threads of a block share a loop, or the only one in it."""
        inner = [i for i in loop.body.items if isinstance(i, Loop)]
        return loop.axis in self.launch.shared or (len(inner) == 1 and self._shares(inner[0]))

    def _put_together(self, update: Update, depth: int) -> None:
        """All threads of the block get what theirs make together."""
        name, room, lanes = self.names[update.access], self._new("room"), update.dtype.compute in LANES
        word = TOGETHER[id(update.reducer)]
        if update.dtype.kind == "b":
            word = update.reducer.bodies["b"].split()[1]  # or, and
        helper, size = (f"block_{word}", 32) if lanes else (f"halves_{word}", THREADS)
        self.helpers.add(helper)
        self._write(depth, f'{room} = cuda.shared.array({size}, "{stored_as(update)}")', update.node)
        self._write(depth, f"{name} = {helper}({name}, {room})", update.node)

    def _loop(self, loop: Loop, depth: int) -> None:
        name, last = self.axes.setdefault(loop.axis, f"i{len(self.axes)}"), self._extent(loop.axis)
        if loop.axis in self.launch.axes:
            self._block(loop.body, depth)
            return
        if loop.axis not in self.launch.shared:
            self._write(depth, f"for {name} in range({last}):")
            self._block(loop.body, depth + 1)
            return
        mine = [i for i in everything(loop.body) if isinstance(i, Update) and i.access in self.names]
        if self.launch.kind in ("whole", "ends"):
            self._sum_parts(mine, depth)
            return
        for update in mine:
            self.apart[update] = self._part(update, last) if self.launch.kind in ("parts", "columns") else ""
        self._write(depth, f"for {name} in range({SPANS[self.launch.kind].format(last)}):")
        self._block(loop.body, depth + 1)

    def _part(self, update: Update, last: str) -> str:
        """An array for the sums of all blocks."""
        name, c, kind = self._new("part"), self.launch.product, stored_as(update)
        self.parts.append(name)
        size = f"min({PARTS}, -(-{last} // {PARTS}))"
        if c is not None:
            parts = self._parameter(("parts", update), "k", "int64", Argument("length", length=c.tile.parts))
            size, kind = f"({parts}, {self._count(self.launch.axes)})", c.dtype
        if self.launch.kind == "columns":
            size = f"({self._parts(self.launch)}, {self._count(self.launch.axes)})"
        self.rooms.append(f'    {name} = cuda.device_array({size}, "{kind}")')
        return name

    def _sum_parts(self, sums: list[Update], depth: int) -> None:
        """In the place of a loop of which blocks have done a part each."""
        first, own = self.apart[sums[0]], f", {self.number}" if self.launch.kind == "ends" else ""
        self._write(depth, f"for part in range({f'{first}.shape[0]' if own else f'thread, {first}.size, threads'}):")
        for update in sums:
            name, cell = self.names[update.access], f"{self.apart[update]}[part{own}]"
            self._write(depth + 1, f"{name} = {joined(update, name, cell)}", update.node)

    def _update(self, update: Update, depth: int) -> None:
        word, last = is_atomic(update), is_last(update)
        if self.launch.kind not in MEET or update.access.role == "register" or not (word or last):
            super()._update(update, depth)
            return
        if update.guard is not None:
            self._write(depth, f"if {self._use(update.guard)}:", update.node)
            depth += 1
        cell, value = self._cell(update.access), self._use(update.value)
        if last and self.launch.kind == "scatter":
            self._write(depth, f"if {self._winner(update, update.access)} == {self.number}:", update.node)
            self._write(depth + 1, f"{cell} = {joined(update, cell, value)}", update.node)
            return
        if last:
            cell, value, word = self._winner(update, update.access), self.number, "max"
        array, _, where = cell[:-1].partition("[")
        place = f"({where})" if "," in where else where
        self._write(depth, f"cuda.atomic.{word}({array}, {place}, {value})", update.node)

    def _winner(self, update: Update, access: Access) -> str:
        """The number of the thread that may write an element: the last one that goes there."""
        return self._scratch(Access("scratch", update.node.inputs[0], access.where, access.shape, int64))

    # ------------------------------------------------------------------------------------------------- expressions

    def _position(self, index: Index) -> str:
        text = self._index(index)
        return text if text.isidentifier() else self._bits(text)

    def _scratch(self, access: Access) -> str:
        """A cell of a room for sums, of which each thread or block has its own unless launches share it."""
        own = self.launch.kind not in MEET
        key = access.node, access.shape
        if key not in self.views:
            self._room(access, own)
        where = [*([self.number] if own else []), *(self._index(w) for w in access.where)]
        return f"{self.views[key]}[{', '.join(where) or '()'}]"

    def _room(self, access: Access, own: bool) -> None:
        """Memory for sums, made before the first launch; one sum may be looked at under several shapes."""
        assert access.dtype is not None, "sums have a dtype of their own"
        sizes = [self._parameter(("size", n), "k", "int64", Argument("length", length=n)) for n in access.shape]
        seen = [*([self._count(self.launch.axes)] if own else []), *sizes]
        listed = f"({', '.join(seen)}{',' * (len(seen) == 1)})"
        known = next((name for (node, _), name in self.views.items() if node is access.node), None)
        name = self.views[access.node, access.shape] = f"acc{len(self.views)}"
        made = (
            f'cuda.device_array({listed}, "{access.dtype.kernel}")' if known is None else f"{known}.reshape({listed})"
        )
        self.rooms.append(f"    {name} = {made}")
