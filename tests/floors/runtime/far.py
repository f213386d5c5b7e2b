"""A device for tests: kernels that were compiled from text, on arrays that nobody else can read.

`Sheet` hides a NumPy array, so whatever takes it for one fails. Nothing but `__array__` brings the numbers down.
"""

from __future__ import annotations

import numpy as np

from jt_edu.backends import PythonBackend


class Sheet:
    """An array of the device."""

    def __init__(self, cells, device):
        self.cells, self.device = cells, device

    shape, dtype, nbytes = (
        property(lambda s, name=name: getattr(s.cells, name)) for name in ("shape", "dtype", "nbytes")
    )

    def reshape(self, shape):
        return Sheet(self.cells.reshape(shape), self.device)

    def view(self, dtype):
        return Sheet(self.cells.view(dtype), self.device)

    def ravel(self):
        return Sheet(self.cells.ravel(), self.device)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.cells, dtype)


class Far(PythonBackend):
    """Kernels run as they are written, on the cells of sheets alone."""

    def __init__(self, name="far"):
        super().__init__()
        self.name = self.device = name

    def empty(self, shape, dtype):
        return Sheet(np.empty(shape, dtype), self.device)

    def from_host(self, array):
        return Sheet(array.copy(), self.device)

    def compile(self, source):
        program = super().compile(source)
        return program._replace(call=lambda lo, hi, *given: program.call(lo, hi, *map(self._cells, given)))

    def launch(self, program, arguments, span, scratch=(), align=1, depth=1):
        program.call(
            0, span, *(Sheet(a.cells[0, ...], self.device) if p in scratch else a for p, a in enumerate(arguments))
        )

    def _cells(self, given):
        if isinstance(given, np.ndarray):
            raise TypeError("a kernel of a device was given an array of the CPU")
        if not isinstance(given, Sheet):
            return given
        assert given.device == self.device, "a kernel was given an array of another device"
        return given.cells
