"""A device from a package of its own: how does an accelerator come to jt_edu, whose author wrote a dozen kernels?

Its memory is simulated: `Tile` keeps NumPy cells to itself. Everything that jt_edu has to know of it stands below.
"""

from __future__ import annotations

import numpy as np

from jt_edu.library import Library, register_backend

NAME = "npu_sim"


class Tile:
    """An array in the memory of the device."""

    device = NAME

    def __init__(self, cells):
        self.cells = cells
        self.shape, self.dtype, self.nbytes = cells.shape, cells.dtype, cells.nbytes

    def reshape(self, shape):
        return Tile(self.cells.reshape(shape))

    def view(self, dtype):
        return Tile(self.cells.view(dtype))

    def ravel(self):
        return Tile(self.cells.ravel())

    def __array__(self, dtype=None, copy=None):
        return np.array(self.cells, dtype)


lib = Library("jt", "IMPL")


def empty(shape, dtype):
    """A tile with anything in it."""
    return Tile(np.empty(shape, dtype))


def from_host(array):
    """A tile with the numbers of a NumPy array."""
    return Tile(array.copy())


def backend():
    """What jt_edu asks for when the name of the device is first heard: the entry point in pyproject.toml."""
    return register_backend(NAME, empty, from_host, interface=1)


def elementwise(name, function):
    """A kernel that writes a function of its inputs into its output, element by element."""

    def kernel(out, *inputs):
        out.cells[...] = function(*(x.cells for x in inputs))

    lib.impl(name, kernel, NAME)


elementwise("add", np.add)
elementwise("subtract", np.subtract)
elementwise("multiply", np.multiply)
elementwise("divide", np.divide)
elementwise("negative", np.negative)
elementwise("exp", np.exp)
elementwise("log", np.log)
elementwise("relu", np.maximum)  # jt's relu is given the number 0
elementwise("less_equal", np.less_equal)
elementwise("select", np.where)


@lib.impl("matmul", key=NAME)
def matmul(out, x, y, left, right):
    """Products of matrices, each of which may lie transposed."""
    a = x.cells.swapaxes(-1, -2) if left else x.cells
    b = y.cells.swapaxes(-1, -2) if right else y.cells
    np.matmul(a, b, out=out.cells)


@lib.impl("sum", key=NAME)
def total(out, x, axes):
    """Sums along some axes."""
    out.cells[...] = x.cells.sum(axes)


@lib.impl("max", key=NAME)
def largest(out, x, axes):
    """The largest number along some axes."""
    out.cells[...] = x.cells.max(axes)


@lib.impl("take", key=NAME)
def take(out, x, positions, fill):
    """Views: each element of out is read from its position in x, and is `fill` where that is -1."""
    found = x.cells.ravel().take(positions.cells, mode="clip")
    out.cells[...] = np.where(positions.cells < 0, fill, found)
