"""Ways: in which ways can a GPU compute a nest of loops, and what are they called?

    cuDNN 1, cuDNN 1 on tensor cores      a convolution by the library, each of its algorithms
    cuBLAS                                a product of matrices by the library
    tiles of 128 x 64, tiles of 16 x 16   a product by kernels of ours
    tf32 tiles of 128, 64 and 32          the same on tensor cores
    loops                                 whatever else schedule.py says

Libraries are there if they were asked for. The first way is what is done unless somebody measures all (tuning.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from dataclasses import replace

import numpy as np

from jt_edu.codegen.emit_python import Text
from jt_edu.codegen.loop_ir import Nest
from jt_edu.cuda.contraction import SIDE, Contraction, lies_along, shared_by, tiles_in_registers
from jt_edu.cuda.emit_tensor import UNIT, half_of, matrices_of, numbers_of
from jt_edu.cuda.gather import Twins
from jt_edu.cuda.library_products import convolutions_of, gemm_of, sizes_of
from jt_edu.cuda.schedule import Launch, in_tiles, launches, only_sum
from jt_edu.ir.conv_pattern import Sizes
from jt_edu.ir.node import Node

Choose = Callable[[Sizes, dict[str, Text]], tuple[str, str]]  # of texts of one size: the name of the best, and why
ONE = 1, 1, 1


def ways_of(nest: Nest, twins: Twins, able: Container[str], libraries: Container[str]) -> dict[str, list[Launch]]:
    """The launches of each way, the usual way first.

    Args:
        nest: what is computed.
        twins: nodes in it -> those of the graph.
        able: the numbers that tensor cores of the GPU multiply.
        libraries: that were asked for, of "cublas" and "cudnn".
    """
    usual, found = launches(nest), dict[str, list[Launch]]()
    sums, product = only_sum(nest) if "cudnn" in libraries else None, usual[0].product
    if sums is not None:
        for call in convolutions_of(sums, nest, _node(sums, twins)):
            found.setdefault(call.name, [Launch("each", nest.top, sums.rows, product=sums, call=call)])
    if product is None:
        return found | {"loops": usual}
    for call in gemm_of(product, nest) if "cublas" in libraries else ():
        found[call.name] = [replace(usual[0], kind="each", call=call)]
    numbers = numbers_of(product, able, _node(product, twins))
    for name, chosen in _tiles(product, nest, numbers).items():
        found[name] = in_tiles(nest, usual[0].axes, chosen)
    return found


def _tiles(product: Contraction, nest: Nest, numbers: str) -> dict[str, Contraction]:
    """A product in tiles of all sizes that it fills to a half, the usual size first."""
    if numbers:
        first = matrices_of(product, nest)
        sizes = sorted((1, 2, 4), key=lambda each: each != first)
        return {f"{numbers} tiles of {UNIT * each}": replace(product, asked=each) for each in sizes}
    groups = product.rows, product.columns, product.batch, product.summed
    rows, columns, *more = (math.prod(nest.extents[a] for a in axes) for axes in groups)
    tiles = [tile for tile in tiles_in_registers(np.dtype(product.dtype).itemsize) if tile[:2] != product.tile[:2]]
    filled = [t for t in tiles if t.down == 1 or 2 * min(rows / t.down, columns / t.across) >= SIDE]
    shapes = [product.tile, *(shared_by(tile, rows, columns, *more) for tile in filled)]
    return {f"tiles of {SIDE * t.down} x {SIDE * t.across}": replace(product, tile=t) for t in shapes}


def sizes_for(nest: Nest, twins: Twins, able: Container[str]) -> Sizes:
    """What a time depends on. A product of matrices is a convolution of images that have one place each."""
    c = launches(nest)[0].product or only_sum(nest)
    assert c is not None, "there are several ways for sums of products only"
    found, numbers = sizes_of(_node(c, twins)), numbers_of(c, able, _node(c, twins))
    dtype = str(half_of(c.left) or c.update.node.dtype) if found is None else found[0].dtype
    dtype += f" as {numbers}" * bool(numbers and numbers != dtype)
    if found is not None:
        return replace(found[0], dtype=dtype)
    groups = c.batch, c.rows, c.columns, c.summed
    batch, rows, columns, summed = (math.prod(nest.extents[a] for a in axes) for axes in groups)
    along = [lies_along(value, c.summed[-1]) for value in (c.left, c.right)]
    turned = "tn"[along[0]] + "nt"[along[1]]
    sizes = rows, batch * summed, batch * columns, batch
    return Sizes(f"product {turned}", *sizes, ONE, ONE, ONE, ONE, (0, 0, 0), ONE, dtype)


def _node(c: Contraction, twins: Twins) -> Node:
    """What a sum is in the graph."""
    return twins.get(c.update.node, c.update.node)
