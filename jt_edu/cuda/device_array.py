"""Device array: numbers on the other side, which come back only when they are asked for.

x = cuda.to_device(numbers)                 a copy
out = cuda.device_array(32, "float32")      nobody has written it yet
out.copy_to_host()                          a NumPy array
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.cuda.memory import garbage


class DeviceArray:
    """An array that kernels read and write; here it is in the memory of this machine.

    Args:
        values: its numbers.
        written: whether they have been written.

    Example:
        >>> len(jt.cuda.to_device([1.0, 2.0, 3.0]))
        3
    """

    def __init__(self, values: np.ndarray[Any, Any], written: bool) -> None:
        self.values, self.written = values, np.full(values.size, written)
        self.shape, self.dtype, self.size, self.ndim = values.shape, values.dtype, values.size, values.ndim

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"<array of a device, {self.dtype} {self.shape}>"

    def reshape(self, *shape: Any) -> DeviceArray:
        """The same numbers under another shape."""
        made = DeviceArray(self.values.reshape(*shape), written=True)
        made.written = self.written
        return made

    def copy_to_host(self, array: np.ndarray[Any, Any] | None = None) -> np.ndarray[Any, Any]:
        """The numbers, in a new array or in `array`."""
        if array is None:
            return self.values.copy()
        array[...] = self.values
        return array

    def copy_to_device(self, array: Any) -> None:
        """Put numbers in."""
        self.values[...] = np.asarray(array)
        self.written[:] = True


def to_device(array: Any) -> DeviceArray:
    """Copy numbers to where kernels run.

    Args:
        array: a NumPy array, or what makes one.

    Raises:
        ArgumentError: it holds no numbers.

    Example:
        >>> jt.cuda.to_device([1.0, 2.0]).copy_to_host().tolist()
        [1.0, 2.0]
    """
    values = np.array(array, order="C")
    if values.dtype.kind not in "biuf":
        raise ArgumentError("to_device takes an array of numbers", f"dtype {values.dtype}", "float32")
    return DeviceArray(values, written=True)


def device_array(shape: Any, dtype: Any = "float64") -> DeviceArray:
    """Room for numbers, which nobody has written yet: a kernel that reads one before is told so.

    Args:
        shape: of the array.
        dtype: of its numbers.

    Example:
        >>> jt.cuda.device_array((2, 3), "float32")
        <array of a device, float32 (2, 3)>
    """
    size = int(np.prod(shape, dtype=np.int64))
    return DeviceArray(garbage(size, np.dtype(dtype)).reshape(shape), written=False)
