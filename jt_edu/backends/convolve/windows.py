"""Windows: how does a piece of an image become a matrix that `tile` can multiply?

A convolution is one product of matrices if the image is written out window by window (im2col): column j of the matrix
is what window j sees, one number for each channel and tap. All of it would be taps times as large as the image, so only
a panel of it exists at a time, for some neighbouring windows, and is used while it is in the cache:

        image, one channel                  panel: windows 1 2 3 4 ...
        . . . . . . . .                     tap (0, 0)   . . . . |
        . [1 . .] . . . .                   tap (0, 1)   . . . . |  a row is a piece of a row of the image: neighbouring
        . [. . .] . . . .        --->       tap (0, 2)   . . . . |  windows see neighbouring numbers through one tap
        . [. . .] . . . .                      ...               |
                                            next channel ...     |

So a panel is written row by row, in whole vectors, the same piece of all channels in turn. What hangs over the end of a
row is overwritten, or lies where nobody reads: each row has room for one vector more. Windows may look beyond the
image (padding): there are zeros. A panel goes on from one row of windows to the next, and from one image of the batch
to the next, so that small images fill it as well.

Nothing here knows which of image, weights and places is asked for.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numpy.lib.stride_tricks import as_strided

from jt_edu.backends.convolve.tile import INT, LANES, Array, cgutils, inlined, lanes, types, written


class _Writer:
    """Writes a function that moves rows of numbers into an LLVM module.

    LLVM is asked not to trade size for speed: it would unroll every loop, which takes it half a second.
    """

    def __init__(self, module: Any, name: str, number: Any, wholes: int) -> None:
        array = number.as_pointer()
        self.function = ir.Function(module, ir.FunctionType(ir.VoidType(), [array, array, *[INT] * wholes]), name)
        self.function.linkage = "internal"
        self.function.attributes.add("noinline")
        self.function.attributes.add("optsize")
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.vector = ir.VectorType(number, LANES if isinstance(number, ir.FloatType) else LANES // 2)
        self.source, self.target = self.function.args[:2]

    def rows(self) -> None:
        """The function behind `place_rows`: vector by vector, and for each of them row by row."""
        b, lanes = self.builder, self.vector.count
        s, s_row, step, t, t_row, rows, before, inside, after = self.function.args[2:]
        first = b.mul(before, step)  # counted from where the row would begin if there were numbers instead of zeros
        last = b.add(first, b.mul(b.sub(inside, INT(1)), step))
        s = b.sub(s, first)
        others = b.append_basic_block("others")
        switch = b.switch(step, others)
        for k in (1, 2, 4):
            begin = b.append_basic_block(f"step{k}")
            switch.add_case(INT(k), begin)
            b.position_at_end(begin)
            with cgutils.for_range_slice(b, INT(0), b.add(b.add(before, inside), after), INT(lanes)) as (i, _):
                places = [b.add(b.mul(i, INT(k)), INT(j * lanes)) for j in range(k)]
                masks = [self.between(first, last, place) for place in places]
                with cgutils.for_range(b, rows) as loop:
                    begin = b.add(s, b.mul(s_row, loop.index))
                    parts = [self.load_some(b.add(begin, p), m) for p, m in zip(places, masks, strict=True)]
                    while len(parts) > 1:  # every other number of two vectors makes one
                        parts = [self.even(*parts[j : j + 2]) for j in range(0, len(parts), 2)]
                    self.store(parts[0], b.add(b.add(t, i), b.mul(t_row, loop.index)))
            b.ret_void()
        b.position_at_end(others)
        with cgutils.for_range(b, rows) as loop:
            begin, goal = b.add(s, b.mul(s_row, loop.index)), b.add(t, b.mul(t_row, loop.index))
            end = b.add(before, inside)
            self.clear(goal, before)
            with cgutils.for_range_slice(b, before, end, INT(1)) as (i, _):
                self.move(b.add(begin, b.mul(i, step)), b.add(goal, i))
            self.clear(b.add(goal, end), after)
        b.ret_void()

    def between(self, first: Any, last: Any, place: Any) -> Any:
        """A bit for each lane of the vector that begins at `place`: whether it lies in [first, last]."""
        b, lanes = self.builder, ir.VectorType(INT, self.vector.count)
        nothing = ir.Constant(lanes, ir.Undefined)
        every = ir.Constant(ir.VectorType(ir.IntType(32), lanes.count), None)

        def spread(value: Any) -> Any:
            return b.shuffle_vector(b.insert_element(nothing, value, ir.IntType(32)(0)), nothing, every)

        places = b.add(spread(place), ir.Constant(lanes, list(range(lanes.count))))
        low, high = b.icmp_signed(">=", places, spread(first)), b.icmp_signed("<=", places, spread(last))
        return b.and_(low, high)

    def load_some(self, place: Any, mask: Any) -> Any:
        """A vector from the source: what the mask excludes is not touched, and is 0."""
        b, vector = self.builder, self.vector
        pointer = b.bitcast(b.gep(self.source, [place]), vector.as_pointer())
        name = f"llvm.masked.load.v{vector.count}{vector.element.intrinsic_name}.p0"
        kind = ir.FunctionType(vector, [pointer.type, ir.IntType(32), mask.type, vector])
        function = cgutils.get_or_insert_function(b.module, kind, name)
        return b.call(function, [pointer, ir.IntType(32)(4), mask, ir.Constant(vector, None)])

    def scattered(self) -> None:
        """The function behind `scatter`."""
        b = self.builder
        s, t, step, count, fresh = self.function.args[2:]
        add = b.icmp_signed("==", fresh, INT(0))
        done = b.alloca(INT)
        b.store(INT(0), done)
        with b.if_then(b.icmp_signed("==", step, INT(1))):
            rounds = b.sdiv(count, INT(self.vector.count))
            with cgutils.for_range(b, rounds) as loop:
                i = b.mul(loop.index, INT(self.vector.count))
                old = self.load(self.target, b.add(t, i))
                new = self.load(self.source, b.add(s, i))
                self.store(b.select(add, b.fadd(old, new), new), b.add(t, i))
            b.store(b.mul(rounds, INT(self.vector.count)), done)
        with cgutils.for_range_slice(b, b.load(done), count, INT(1)) as (i, _):
            goal = b.gep(self.target, [b.add(t, b.mul(i, step))])
            old, new = b.load(goal), b.load(b.gep(self.source, [b.add(s, i)]))
            b.store(b.select(add, b.fadd(old, new), new), goal)
        b.ret_void()

    def transposed(self) -> None:
        """The function behind `transpose`."""
        b, lanes = self.builder, self.vector.count
        s, s_row, t, t_row, rows, columns = self.function.args[2:]
        with (
            cgutils.for_range_slice(b, INT(0), rows, INT(lanes)) as (i, _),
            cgutils.for_range_slice(b, INT(0), columns, INT(lanes)) as (j, _),
        ):
            begin = b.add(b.add(s, b.mul(i, s_row)), j)
            square = [self.load(self.source, b.add(begin, b.mul(INT(r), s_row))) for r in range(lanes)]
            far = lanes // 2
            while far:  # swap the off-diagonal quarters of all squares of 2 * far, as one does by hand
                for r in (r for r in range(lanes) if not r & far):
                    square[r : r + far + 1 : far] = self.swapped(square[r], square[r + far], far)
                far //= 2
            goal = b.add(b.add(t, b.mul(j, t_row)), i)
            for r, row in enumerate(square):
                self.store(row, b.add(goal, b.mul(INT(r), t_row)))
        b.ret_void()

    def swapped(self, x: Any, y: Any, far: int) -> list[Any]:
        """Two rows, `far` apart: lanes of x with the bit `far` change places with those of y without it."""
        lanes = x.type.count
        first = [k if not k & far else lanes + k - far for k in range(lanes)]
        second = [k + far if not k & far else lanes + k for k in range(lanes)]
        kind = ir.VectorType(ir.IntType(32), lanes)
        return [self.builder.shuffle_vector(x, y, ir.Constant(kind, order)) for order in (first, second)]

    def clear(self, t: Any, count: Any) -> None:
        """Zeros, in whole vectors."""
        with cgutils.for_range_slice(self.builder, INT(0), count, INT(self.vector.count)) as (i, _):
            self.store(ir.Constant(self.vector, None), self.builder.add(t, i))

    def move(self, s: Any, t: Any) -> None:
        """One number."""
        b = self.builder
        b.store(b.load(b.gep(self.source, [s])), b.gep(self.target, [t]))

    def load(self, array: Any, place: Any) -> Any:
        """A vector, wherever it begins."""
        pointer = self.builder.gep(array, [place])
        value = self.builder.load(self.builder.bitcast(pointer, self.vector.as_pointer()))
        value.align = 4
        return value

    def store(self, value: Any, place: Any) -> None:
        """A vector to the target, wherever it begins."""
        pointer = self.builder.gep(self.target, [place])
        self.builder.store(value, self.builder.bitcast(pointer, self.vector.as_pointer())).align = 4

    def even(self, x: Any, y: Any) -> Any:
        """Every other number of x followed by y."""
        order = ir.Constant(ir.VectorType(ir.IntType(32), x.type.count), list(range(0, 2 * x.type.count, 2)))
        return self.builder.shuffle_vector(x, y, order)


def _calls(name: str, write: Any) -> Any:
    """Lower to a call of the function that moves numbers of this type; it is written if the module has none yet."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = [
            context.make_array(t)(context, builder, v)
            for v, t in zip(args, signature.args, strict=True)
            if isinstance(t, types.Array)
        ]
        wholes = [
            context.cast(builder, v, t, types.int64)
            for v, t in zip(args, signature.args, strict=True)
            if not isinstance(t, types.Array)
        ]
        number = arrays[0].data.type.pointee
        full = f"jt_edu_{name}_{number}"
        if full not in builder.module.globals:
            write(_Writer(builder.module, full, number, len(wholes)))
        builder.call(builder.module.globals[full], [a.data for a in arrays] + wholes)
        return context.get_dummy_value()

    return lower


@written(lambda *args: types.void, _calls("rows", _Writer.rows))
def place_rows(
    source: Array, s: int, s_row: int, step: int, target: Array, t: int, t_row: int,
    rows: int, before: int, inside: int, after: int,
) -> None:  # fmt: skip
    """Write rows of `before` zeros, `inside` numbers of the source that lie `step` apart, and `after` zeros.

    Rows begin `s_row` and `t_row` numbers apart. Behind each row some more may be written, less than a vector.
    """
    size, goal = source.itemsize, target.reshape(-1)
    seen = as_strided(source, (2, rows, inside), (s * size, s_row * size, step * size))[1]  # counted from its first one
    for r in range(rows):
        row = goal[t + r * t_row :][: before + inside + after]
        row[...] = 0
        row[before : before + inside] = seen[r]


@written(lambda *args: types.void, _calls("transpose", _Writer.transposed))
def transpose(source: Array, s: int, s_row: int, target: Array, t: int, t_row: int, rows: int, columns: int) -> None:
    """Write the transpose of a matrix: target[t + j * t_row + i] = source[s + i * s_row + j].

    It works on squares of a vector's width, so rows and columns are rounded up to `lanes`, on both sides.
    """
    count = lanes(source)
    rows, columns = -(-rows // count) * count, -(-columns // count) * count
    size = source.itemsize
    matrix = as_strided(source.reshape(-1)[s:], (columns, rows), (size, s_row * size))
    as_strided(target.reshape(-1)[t:], (columns, rows), (t_row * size, size))[...] = matrix


@written(lambda *args: types.void, _calls("scatter", _Writer.scattered))
def scatter(source: Array, s: int, target: Array, t: int, step: int, count: int, fresh: bool) -> None:
    """Write a row of numbers `step` apart, or add it to what is there; nothing beyond it is touched."""
    goal = target.reshape(-1)[t : t + (count - 1) * step + 1 : step]
    row = source.reshape(-1)[s : s + count]
    goal[...] = row if fresh else goal + row


@inlined
def steps(array: Array) -> tuple[int, int, int, int, int]:
    """How many numbers lie between neighbours on each of the five axes."""
    s, size = array.strides, array.itemsize
    return s[0] // size, s[1] // size, s[2] // size, s[3] // size, s[4] // size


@inlined
def goes_on(size: Any, lies: Any) -> bool:
    """Whether the rows of a plane, and the planes of a channel, go on as one row."""
    rows, planes = lies[2] == size[2] * lies[3], lies[1] == size[1] * size[2] * lies[3]
    whole: bool = (size[1] == 1 or rows) and (size[0] == 1 or planes)
    return whole


@inlined
def gather(
    source: Array, begin: int, sample: int, channels: int, lies: Any, size: Any, grid: Any, taps: Any, stride: Any,
    step: Any, first: Any, begin_tap: int, end_tap: int, q: int, count: int, target: Array, rows: Any,
) -> None:  # fmt: skip
    """Fill a panel with what window q + j sees of channel c through a tap, of those from begin_tap to end_tap:
    target[c * rows[0] + (tap - begin_tap) * rows[1] + j].

    Windows stand on a grid, counted from image to image. In each direction a window looks at
    window * stride + tap * step + first. `lies` are the steps from a number of the source to its neighbours: the next
    channel, plane, row and column.
    """
    if goes_on(size, lies) and stride == (1, 1, 1) and taps == (1, 1, 1) and first == (0, 0, 0) and grid == size:
        grid = size = (1, 1, size[0] * size[1] * size[2])  # one long row
    d, h, w = size
    gd, gh, gw = grid
    td, th, tw = taps
    done = 0
    while done < count:  # windows in one row of the grid
        row = (q + done) // gw
        x, y, z = (q + done) % gw, row % gh, row // gh % gd
        image = begin + row // (gh * gd) * sample
        wide = min(gw - x, count - done)
        for kx in range(tw):
            ix = x * stride[2] + kx * step[2] + first[2]
            before = min(max(0, (-ix + stride[2] - 1) // stride[2]), wide)  # windows that look to the left of the image
            inside = min(max(before, (w - ix + stride[2] - 1) // stride[2]), wide)
            for row in range(td * th):
                tap = row * tw + kx
                iz = z * stride[0] + row // th * step[0] + first[0]
                iy = y * stride[1] + row % th * step[1] + first[1]
                if tap < begin_tap or tap >= end_tap:
                    continue
                goal = (tap - begin_tap) * rows[1] + done
                inner = inside if 0 <= iz < d and 0 <= iy < h else before
                place = image + iz * lies[1] + iy * lies[2] + (ix + before * stride[2]) * lies[3]
                place_rows(
                    source, place, lies[0], stride[2] * lies[3], target, goal, rows[0], channels,
                    before, inner - before, wide - inner,
                )  # fmt: skip
        done += wide
