"""Conv pattern: is this reduction a window that slides over an image?

Like `matmul_pattern.py`, this reads index maps and never the name of an operator. A convolution is a sum of products
whose three arrays are read (or written) so:

    image     n, channel, and in each direction     place * stride + tap * dilation - padding
    weights   out channel, channel, taps
    places    n, out channel, places

Any two of them may be the factors, and the third the sum. So a convolution and both its gradients are one pattern, and
as the gradients of such a sum are such sums again, gradients of any order are found as well. With groups the channels
are counted as  group * size + channel  where an array keeps all groups in one axis.

A factor may be a view: transposed, a part, every second number, backwards. Each element then lies

    start + n * steps[0] + c * steps[1] + ...      numbers behind the first one of an array that is there

and that array is the factor, with its `Strides`. Whether a kernel reads through them or a copy, others decide.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from jt_edu.base.dtypes import float32
from jt_edu.ir.expression import pitches
from jt_edu.ir.index_expr import Index, counters
from jt_edu.ir.matmul_pattern import Product, matrix_product
from jt_edu.ir.meta_ops import CONSTANT, Op, Reindex, ReindexReduce
from jt_edu.ir.node import Node, Shape
from jt_edu.ir.scalar_ops import MULTIPLY, cast_to

Three = tuple[int, int, int]
Names = tuple[str, ...]
ALGORITHMS = "product", "rows", "convolution"  # what is recognized, and not computed by loops
STORED = (
    "stored sides",
)  # in their place: convolutions are loops, and what they read lies in memory as a library wants
KINDS = {2: "forward", 0: "by_image", 1: "by_weights"}  # which of image, weights, places is asked for


@dataclass(frozen=True)
class Sizes:
    """Everything about a convolution but its numbers. Lengths are those of depth, height and width."""

    kind: str  # what is asked for: "forward", "by_image" or "by_weights"
    n: int
    c: int
    o: int
    groups: int
    image: Three
    kernel: Three
    places: Three
    stride: Three
    padding: Three  # before the image; behind it there is as much as the places ask for
    dilation: Three
    dtype: str = "float32"

    @cached_property
    def flops(self) -> int:
        """Additions and multiplications of the sum as it is written, padding included."""
        products = self.n * self.o * (self.c // self.groups) * math.prod(self.places) * math.prod(self.kernel)
        return 2 * products

    @property
    def image_shape(self) -> Shape:
        """(n, c, z, y, x)."""
        return (self.n, self.c, *self.image)

    @property
    def weights_shape(self) -> Shape:
        """(o, c / groups, taps)."""
        return (self.o, self.c // self.groups, *self.kernel)

    @property
    def places_shape(self) -> Shape:
        """(n, o, z, y, x)."""
        return (self.n, self.o, *self.places)

    @property
    def numbers(self) -> tuple[int, ...]:
        """What a kernel is told besides its arrays: stride, padding, dilation, groups."""
        return (*self.stride, *self.padding, *self.dilation, self.groups)


@dataclass(frozen=True)
class Strides:
    """Where the elements of a view lie: from number `start` of an array on, and `steps` apart on each axis."""

    shape: Shape
    start: int
    steps: tuple[int, ...]

    @property
    def plain(self) -> bool:
        """Whether the elements lie behind each other in row-major order."""
        return self._as_stored_from(0)

    @property
    def whole_planes(self) -> bool:
        """Whether those of each channel do: the channels may lie anywhere."""
        return self._as_stored_from(2)

    def _as_stored_from(self, axis: int) -> bool:
        rows = list(zip(self.shape, self.steps, pitches(self.shape), strict=True))
        return all(step == pitch for n, step, pitch in rows[axis:] if n > 1)


@dataclass(frozen=True)
class Convolution:
    """One of the three arrays of a convolution as the sum over the other two, which stand in the order of `Sizes`."""

    node: Node
    sides: tuple[Node, Node]
    sizes: Sizes
    strides: tuple[Strides | None, Strides | None] = (None, None)  # of sides that are seen through views

    @property
    def shapes(self) -> tuple[Shape, Shape, Shape]:
        """Under which shapes a kernel sees both factors and the sum."""
        s = self.sizes
        return {
            "forward": (s.image_shape, s.weights_shape, s.places_shape),
            "by_image": (s.places_shape, s.weights_shape, s.image_shape),
            "by_weights": (s.image_shape, s.places_shape, s.weights_shape),
        }[s.kind]


Line = tuple[dict[int, int], int]  # how often each counter counts, and what is added
Chain = tuple[tuple[Reindex, Shape], ...]  # views, from the product on, each with the shape of what it looks at


@dataclass(frozen=True)
class _Read:
    """An array of a sum of products, as the loops see it: a line for each axis, and how many views lie before it."""

    shape: Shape
    lines: tuple[Line, ...]
    depth: int = 0


def convolution(node: Node, total: Op | None = None) -> Convolution | None:
    """The convolution that `node` is, or that its `total` would be; or None."""
    op = node.op if total is None else total
    if not isinstance(op, ReindexReduce) or op.reducer != "add" or op.valid is not None:
        return None
    source = node.inputs[0] if total is None else node
    if source.op is not MULTIPLY or source.data is not None or node.dtype not in ("float32", "float64"):
        return None
    if source.dtype != node.dtype or min(source.shape, default=0) == 0 or len(op.where) < 3:
        return None
    chains = [_chain(i) for i in source.inputs]
    found = _pattern(op, str(node.dtype), source.shape, *chains)
    if found is None:
        return None
    sides, sizes = found
    first, second = (_behind(source.inputs[side], depth) for side, depth in sides)
    return Convolution(node, (first, second), sizes)


def contraction(node: Node, stored: Container[Node], algorithms: Names) -> Product | Convolution | None:
    """What an algorithm of its own computes: a product of matrices, or a convolution."""
    if algorithms == STORED:
        return behind_views(convolution(node), stored, parts=False)
    found = matrix_product(node) if "product" in algorithms else None
    return found or (behind_views(convolution(node), stored) if "convolution" in algorithms else None)


def narrow(node: Node) -> Node:
    """The half that is seen as float32, if a node is that; else the node."""
    before = node.inputs[0] if node.data is None and len(node.inputs) == 1 else node
    return before if before.dtype.is_half and node.op is cast_to(float32, before.dtype) else node


def behind_views(found: Convolution | None, stored: Container[Node], parts: bool = True) -> Convolution | None:
    """The same of the arrays behind the views that its factors are; without `parts`, of whole ones, halves as such."""
    if found is None:
        return None
    sides, strides = list(found.sides), list(found.strides)
    for k, shape in enumerate(found.shapes[:2]):
        root, lies = strides_of(found.sides[k], stored)
        under = None if lies is None else _under(lies, shape)
        whole = under is not None and under.plain and math.prod(shape) == math.prod(root.shape)
        if whole or (under is not None and parts):
            sides[k], strides[k] = root, None if whole else under
        sides[k] = sides[k] if parts else narrow(sides[k])
    return replace(found, sides=(sides[0], sides[1]), strides=(strides[0], strides[1]))


def strides_of(node: Node, stored: Container[Node]) -> tuple[Node, Strides | None]:
    """The array that a pending view looks at, and where its elements lie in it; None if it is no such view."""
    best: tuple[Node, Strides | None] = (node, None)
    view, where = node, counters(len(node.shape))
    while _is_affine_view(node) and node not in stored:
        assert isinstance(node.op, Reindex), "views are"
        where, node = tuple(w.at(where) for w in node.op.where), node.inputs[0]
        lines = [as_line(w) for w in where]
        if None in lines:
            return best
        if node.data is not None or node in stored or isinstance(node.op, ReindexReduce):
            best = (node, _strides(view.shape, [line for line in lines if line], node.shape))
    return best


def _is_affine_view(node: Node) -> bool:
    """Whether a node is pending, and only says where to read in one array."""
    op = node.op
    if node.data is not None or not isinstance(op, Reindex) or len(node.inputs) != 1 or node.inputs[0].op is CONSTANT:
        return False
    return not op.guards and op.valid is None and op.within is None


def _strides(shape: Shape, lines: list[Line], source: Shape) -> Strides:
    """What the lines of an index mean in an array of shape `source`."""
    start, steps = 0, [0] * len(shape)
    for (counts, plus), pitch in zip(lines, pitches(source), strict=True):
        start += plus * pitch
        for k, times in counts.items():
            steps[k] += times * pitch
    return Strides(shape, start, tuple(steps))


def _under(lies: Strides, shape: Shape) -> Strides | None:
    """The same elements under a shape of five axes: without some of length 1, or with two that go on as one."""
    lengths, steps = list(lies.shape), list(lies.steps)
    if len(lengths) > 2 and shape[1] == lengths[1] * lengths[2] != lengths[1]:  # groups with an axis of their own
        if lengths[1] > 1 and steps[1] != lengths[2] * steps[2]:
            return None
        lengths[1:3], steps[1:3] = [shape[1]], [steps[2]]
    more = len(shape) - len(lengths)
    lengths[2:2], steps[2:2] = [1] * more, [0] * more
    return Strides(shape, lies.start, tuple(steps)) if tuple(lengths) == shape else None


def _chain(node: Node) -> Chain:
    """The pending views behind each other that a factor is."""
    found: list[tuple[Reindex, Shape]] = []
    while node.data is None and isinstance(node.op, Reindex) and len(node.inputs) == 1:
        found.append((node.op, node.inputs[0].shape))
        node = node.inputs[0]
    return tuple(found)


def _behind(node: Node, depth: int) -> Node:
    for _ in range(depth):
        node = node.inputs[0]
    return node


@lru_cache(maxsize=1 << 14)
def _pattern(
    op: ReindexReduce, dtype: str, loops: Shape, left: Chain, right: Chain
) -> tuple[tuple[tuple[int, int], tuple[int, int]], Sizes] | None:
    """Which factor (0 or 1), behind how many views, is the first side, and which the second; and the sizes."""
    out = _read(op.shape, op.where, 0)
    reads = [list(_readings(chain)) for chain in (left, right)]
    if out is None or not any(_slides(read) for read in (out, *reads[0], *reads[1])):
        return None
    for a in reads[0]:
        for b in reads[1]:
            for x, y in (((0, a), (1, b)), ((1, b), (0, a))):
                for asked in range(3):
                    trio = [x[1], y[1]]
                    trio.insert(asked, out)
                    sizes = _fits((trio[0], trio[1], trio[2]), asked, loops, dtype)
                    if sizes is not None:
                        sides = (y, x) if asked == 0 else (x, y)  # places come before weights
                        return ((sides[0][0], sides[0][1].depth), (sides[1][0], sides[1][1].depth)), sizes
    return None


def _readings(chain: Chain) -> Iterator[_Read]:
    """The arrays that a factor may be read from: behind one view, or behind a view of another."""
    where: tuple[Index, ...] = ()
    for depth, (op, shape) in enumerate(chain, 1):
        if depth == 1:
            if op.valid is not None or op.flat or (op.guards and op.fill != 0) or op.within:
                return
            where = op.where
        elif not op.picks or op.guards or op.valid is not None or op.within:
            return
        else:
            where = tuple(w.at(where) for w in op.where)
        read = _read(shape, where, depth)
        if read is None:
            return
        yield read


def _read(shape: Shape, where: tuple[Index, ...], depth: int) -> _Read | None:
    lines = tuple(as_line(w) for w in where)
    known = tuple(line for line in lines if line is not None)
    return _Read(shape, known, depth) if len(known) == len(lines) else None


def as_line(index: Index) -> Line | None:
    """An index as a sum of counters, each so many times, and a number; None if it is none."""
    if index.op == "counter":
        return {index.args[0]: 1}, 0
    if index.op in ("int", "size"):
        return {}, index.args[0]
    if index.op not in ("+", "-", "*"):
        return None
    a, b = (as_line(part) for part in index.args)
    if a is None or b is None:
        return None
    if index.op == "*":
        (many, plus), (none, times) = (a, b) if a[0] else (b, a)
        return None if none else ({k: v * times for k, v in many.items()}, plus * times)
    sign = 1 if index.op == "+" else -1
    counts = {k: a[0].get(k, 0) + sign * b[0].get(k, 0) for k in {**a[0], **b[0]}}
    return counts, a[1] + sign * b[1]


def _slides(read: _Read) -> bool:
    """Whether two counters move along each axis behind the channels."""
    return len(read.lines) > 2 and all(len(counts) == 2 for counts, _ in read.lines[2:])


def _fits(trio: tuple[_Read, _Read, _Read], asked: int, loops: Shape, dtype: str) -> Sizes | None:
    """The sizes of the convolution that three arrays make as image, weights and places; None if they do not."""
    image, weights, places = trio
    ways = len(image.lines) - 2
    if not _slides(image) or ways > 3 or len(weights.lines) != ways + 2 or len(places.lines) < ways + 2:
        return None
    taps, at = ([_counter(line) for line in read.lines[-ways:]] for read in (weights, places))
    steps = [_step(line, p, t) for line, p, t in zip(image.lines[2:], at, taps, strict=True)]
    n, c = _counter(image.lines[0]), _counter(weights.lines[1])
    channels = None if c is None else _channels(trio, c, ways, loops)
    if n is None or c is None or channels is None or None in steps or _counter(places.lines[0]) != n:
        return None
    g, o = channels
    used = [n, c, o, *([] if g is None else [g]), *(k for k in (*taps, *at) if k is not None)]
    lengths = [loops[k] for k in (n, *used[-2 * ways :])]
    there = [places.shape[0], *weights.shape[2:], *places.shape[-ways:]]
    unused = {k for k, length in enumerate(loops) if length > 1} - set(used)
    if there != lengths or image.shape[0] != loops[n] or unused or len(set(used)) != len(used):
        return None
    groups = 1 if g is None else loops[g]
    stride, padding, dilation = zip(*[step for step in steps if step is not None], strict=True)
    return Sizes(
        KINDS[asked], loops[n], loops[c] * groups, loops[o] * groups, groups, _three(image.shape[2:], 1),
        _three(weights.shape[2:], 1), _three(places.shape[-ways:], 1), _three(stride, 1), _three(padding, 0),
        _three(dilation, 1), dtype,
    )  # fmt: skip


def _three(numbers: tuple[int, ...], missing: int) -> Three:
    """Depth, height and width, where there are fewer directions."""
    depth, height, width = (missing,) * (3 - len(numbers)) + numbers
    return depth, height, width


def _step(line: Line, place: int | None, tap: int | None) -> Three | None:
    """(stride, padding, dilation) of  place * stride + tap * dilation - padding."""
    counts, plus = line
    if place is None or tap is None or set(counts) != {place, tap} or plus > 0 or min(counts.values()) < 1:
        return None
    return counts[place], -plus, counts[tap]


def _counter(line: Line) -> int | None:
    """The counter that an axis is, if it is one."""
    counts, plus = line
    return next(iter(counts)) if plus == 0 and list(counts.values()) == [1] else None


def _channels(trio: tuple[_Read, _Read, _Read], c: int, ways: int, loops: Shape) -> tuple[int | None, int] | None:
    """The counters of groups (None: there is one group) and of out channels, if all three arrays agree on them."""
    image, weights, places = trio
    channels = places.lines[1:-ways]
    if len(channels) == 2:  # groups have an axis of their own
        g, o = _counter(channels[0]), _counter(channels[1])
    else:
        g, o = _pair(weights.lines[0], loops)
    if o is None or _pair(image.lines[1], loops) != (g, c) or _pair(weights.lines[0], loops) != (g, o):
        return None
    if len(channels) == 1 and _pair(channels[0], loops) != (g, o):
        return None
    groups = 1 if g is None else loops[g]
    wide = image.shape[1] == groups * loops[c] and weights.shape[:2] == (groups * loops[o], loops[c])
    return (g, o) if wide and math.prod(places.shape[1:-ways]) == groups * loops[o] else None


def _pair(line: Line, loops: Shape) -> tuple[int | None, int | None]:
    """(group, channel) of an axis  group * size + channel; without groups (None, channel)."""
    counts, plus = line
    inner = [k for k, times in counts.items() if times == 1]
    if plus or not inner or len(counts) > 2:
        return None, None
    if len(counts) == 1:
        return None, inner[0]
    for k in inner:
        (other,) = (m for m in counts if m != k)
        if counts[other] == loops[k]:
            return other, k
    return None, None
