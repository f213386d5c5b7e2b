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

from collections.abc import Sequence

from jt_edu.codegen.emit_python import NAMES, Argument, Source, Text
from jt_edu.codegen.loop_ir import Access, Block, Loop, Nest, Store, Update, Value, choose_span, collapse, everything
from jt_edu.codegen.lowering import Builder
from jt_edu.cuda.emit_tiles import TilePrinter, _grouped
from jt_edu.cuda.schedule import Launch, Touch, is_atomic, launches, rows_first, touches
from jt_edu.fusion.fuse import Fused
from jt_edu.fusion.loop_fusion import Kernel
from jt_edu.ir.index_expr import Index
from jt_edu.ir.meta_ops import REDUCERS
from jt_edu.ir.node import Node

THREADS = 256  # of a block
TOGETHER = {id(reducer): name for name, reducer in REDUCERS.items()}


class CudaPrinter(TilePrinter):
    """Prints one nest as kernels and the function that launches them."""

    def __init__(self, nest: Nest) -> None:
        super().__init__(nest)
        self.launch = Launch("once", nest.top)
        self.rooms: dict[Node, str] = {}  # sums that are kept in memory -> the name of a flat array
        self.views: dict[tuple[Node, tuple[int, ...]], str] = {}
        self.apart: set[Update] = set()  # registers in which each thread of a block has a part
        self.own = False  # each thread (or block) has its own room for sums
        self.helpers: set[str] = set()

    def print(self) -> Text:
        """Kernels, and below them what launches them."""
        found = launches(self.nest)
        self.own = found[0].kind != "scatter"
        names, starts, begins = [], [], []
        for number, launch in enumerate(found):
            kind = launch.kind + str(number) * (len(found) > 1)
            begins.append((kind, len(self.rows)))
            starts.append(self._kernel(launch))
            names.append(kind)
        return self._assembled(names, starts, begins)

    def _assembled(self, names: list[str], starts: list[str], begins: list[tuple[str, int]]) -> Text:
        """The whole text. What the kernels need of each other's parameters is known only now."""
        made = self._rooms()  # asks for lengths
        listed = [entry for letter in self.parameters.values() for entry in letter.values()]
        parameters, arguments = tuple([p for p, _ in listed]), tuple([a for _, a in listed])
        rooms = [*self.views.values()]
        given = ", ".join([*(p.name for p in parameters), *rooms])
        text: list[str] = []
        lines: list[tuple[int, Node]] = []
        ends = [at for _, at in begins[1:]] + [len(self.rows)]
        for (name, begin), end in zip(begins, ends, strict=True):
            text += ["@cuda.jit", f"def {name}({given}):"]
            lines += [(number - begin + len(text), node) for number, node in self.lines if begin < number <= end]
            text += [*self.rows[begin:end], "", ""]
        host = [f"def kernel({', '.join(['lo', 'hi', *(p.name for p in parameters)])}):", *made]
        host += [f"    {name}[{start}]({given})" for name, start in zip(names, starts, strict=True)]
        used = sorted(
            {*NAMES.findall("\n".join([*text, *host]))} - {"range", "max", "min", "kernel", *names, *self.helpers}
        )
        top = ["from jt_edu import cuda"]
        top += [f"from jt_edu.backends.mathlib import {', '.join(used)}"] if used else []
        top += [f"from jt_edu.cuda.cooperation import {', '.join(sorted(self.helpers))}"] if self.helpers else []
        top += ["", ""]
        whole = "\n".join([*top, *text, *host, ""])
        return Text(Source(whole, parameters), arguments, tuple((k + len(top), node) for k, node in lines))

    # ------------------------------------------------------------------------------------------------- one kernel

    def _kernel(self, launch: Launch) -> str:
        """The body of a kernel; how many blocks of how many threads do it."""
        self.launch, self.names = launch, {}
        if launch.kind == "once":
            self._write(1, "if cuda.grid(1) == 0:")
            self._block(launch.block, 2)
            return "1, 32"
        if launch.product is not None:
            return self._tiles(launch.product)
        number, count, depth = (
            "cuda.blockIdx.x" if launch.kind == "rows" else "cuda.grid(1)",
            self._count(launch.axes),
            1,
        )
        names = [self.axes.setdefault(axis, f"i{len(self.axes)}") for axis in launch.axes]
        self.number = {0: "0", 1: "".join(names)}.get(len(names), "j")
        if names or launch.kind != "rows":
            self._write(1, f"{self.number} = {number}")
            self._write(1, f"if {self.number} < {count}:")
            depth = 2
        self._decode(self.number, launch.axes, depth)
        if launch.kind == "rows":
            self._write(depth, "thread, threads = cuda.threadIdx.x, cuda.blockDim.x")
        self._block(launch.block, depth)
        if launch.kind == "rows":
            longest = max((self.nest.extents[a], self._extent(a)) for a in launch.shared)[1]
            return f"max(1, {count}), min({THREADS}, -(-max(1, {longest}) // 32) * 32)"
        return f"max(1, -(-{_grouped(count)} // {THREADS})), {THREADS}"

    def _block(self, block: Block, depth: int) -> None:
        if self.launch.kind != "rows" or not self._is_row(block):
            super()._block(block, depth)
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
                self._write(depth, "if thread == 0:", item.node)
            super()._block(Block([item]), depth + alone)

    def _is_row(self, block: Block) -> bool:
        """Whether a block of threads does it together: it has the loops that they share."""
        return any(self._shares(i) for i in block.items if isinstance(i, Loop))

    def _shares(self, loop: Loop) -> bool:
        inner = [i for i in loop.body.items if isinstance(i, Loop)]
        return loop.axis in self.launch.shared or (len(inner) == 1 and self._shares(inner[0]))

    def _put_together(self, update: Update, depth: int) -> None:
        name, dtype = self.names[update.access], update.dtype
        helper = f"block_{TOGETHER[id(update.reducer)]}"
        self.helpers.add(helper)
        room = self._new("room")
        self._write(depth, f'{room} = cuda.shared.array(32, "{dtype.compute}")', update.node)
        self._write(depth, f"{name} = {helper}({name}, {room})", update.node)

    def _loop(self, loop: Loop, depth: int) -> None:
        name, last = self.axes.setdefault(loop.axis, f"i{len(self.axes)}"), self._extent(loop.axis)
        if loop.axis in self.launch.axes:
            self._block(loop.body, depth)
            return
        span = last
        if loop.axis in self.launch.shared:
            span = f"thread, {last}, threads"
            self.apart.update(i for i in everything(loop.body) if isinstance(i, Update))
        self._write(depth, f"for {name} in range({span}):")
        self._block(loop.body, depth + 1)

    def _update(self, update: Update, depth: int) -> None:
        counted = update.access.role != "register" and self.launch.kind == "scatter"
        if not counted or not is_atomic(update):
            super()._update(update, depth)
            return
        array, _, where = self._cell(update.access)[:-1].partition("[")
        if update.guard is not None:
            self._write(depth, f"if {self._use(update.guard)}:", update.node)
            depth += 1
        place = f"({where})" if "," in where else where
        self._write(depth, f"cuda.atomic.add({array}, {place}, {self._use(update.value)})", update.node)

    # ------------------------------------------------------------------------------------------------- expressions

    def _position(self, index: Index) -> str:
        return self._index(index)

    def _scratch(self, access: Access) -> str:
        """A cell of a room for sums, of which each thread or block has its own unless launches share it."""
        assert access.dtype is not None, "scratch has a dtype of its own"
        name = self.views.setdefault((access.node, access.shape), f"acc{len(self.views)}")
        self.rooms.setdefault(access.node, access.dtype.kernel)
        where = [self._index(w) for w in access.where]
        if self.own:
            where = [self.number if self.launch.kind != "once" else "0", *where]
        return f"{name}[{', '.join(where) or '()'}]"

    def _rooms(self) -> Sequence[str]:
        """Memory for sums, made before the first launch; one sum may be looked at under several shapes."""
        rows, first = [], dict[Node, str]()
        for (node, shape), name in self.views.items():
            seen = [*self._own_rooms(), *(self._size(n) for n in shape)]
            listed = f"({', '.join(seen)}{',' * (len(seen) == 1)})"
            if node in first:
                rows.append(f"    {name} = {first[node]}.reshape({listed})")
            else:
                first[node] = name
                rows.append(f'    {name} = cuda.device_array({listed}, "{self.rooms[node]}")')
        return rows

    def _size(self, length: int) -> str:
        return self._parameter(("size", length), "k", "int64", Argument("length", length=length))

    def _own_rooms(self) -> list[str]:
        if not self.own:
            return []
        return [" * ".join([self._extent(a) for a in self.launch.axes] or ["1"])]


def cuda_loops(kernel: Kernel, fused: Fused) -> tuple[Nest, Text]:
    """The loops of a kernel, and their text for a GPU, whose threads share them in their own way."""
    nest = choose_span(collapse(Builder(rows_first(kernel), fused.stored).build()))
    text = CudaPrinter(nest).print()
    nest.span = None
    return nest, text
