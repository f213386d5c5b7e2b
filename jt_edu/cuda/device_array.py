"""Device array: numbers on the other side, which come back only when they are asked for.

x = cuda.to_device(numbers)                 a copy
out = cuda.device_array(32, "float32")      nobody has written it yet
out.copy_to_host()                          a NumPy array

    CardArray     on a GPU, where there is one: an address in its memory
    HostArray     for the interpreter: in the memory of this machine, with a note of what has been written

Numbers of an array lie in one row, the last index first (C). `reshape`, `view` and `ravel` show the same numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.cuda.device import Device, here, is_available
from jt_edu.cuda.memory import garbage

Numpy = np.ndarray[Any, Any]


class DeviceArray:
    """An array that kernels read and write. A graph calls its memory the device "cuda".

    Args:
        shape: of the array.
        dtype: of its numbers.

    Example:
        >>> len(jt.cuda.to_device([1.0, 2.0, 3.0]))
        3
    """

    device = "cuda"

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.size, self.ndim = math.prod(shape), len(shape)
        self.nbytes = self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentError("len() is the length of the first axis", "an array without axes", "x.size")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<array of a device, {self.dtype} {self.shape}>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Numpy:
        if copy is False:
            raise ValueError("the numbers of a device array are copied to this machine: copy=False cannot be")
        found = self.copy_to_host()
        return found if dtype is None else found.astype(dtype, copy=False)

    def reshape(self, *shape: Any) -> DeviceArray:
        """The same numbers in another shape, one length of which may be -1.

        Raises:
            ArgumentError: it has another number of elements.
        """
        asked = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        known = math.prod(n for n in asked if n != -1)
        found = tuple(self.size // max(known, 1) if n == -1 else int(n) for n in asked)
        if math.prod(found) != self.size or min(found, default=0) < 0 or asked.count(-1) > 1:
            raise ArgumentError(f"a reshape keeps all {self.size} elements", f"the shape {asked}", f"({self.size},)")
        return self._seen(found, self.dtype)

    def ravel(self) -> DeviceArray:
        """The same numbers along one axis."""
        return self._seen((self.size,), self.dtype)

    def view(self, dtype: Any) -> DeviceArray:
        """The same bytes as numbers of another dtype; where that is wider or narrower, the last axis changes.

        Raises:
            ArgumentError: the bytes of the last axis are no whole number of them.
        """
        kind = np.dtype(dtype)
        if kind.itemsize == self.dtype.itemsize:
            return self._seen(self.shape, kind)
        last = self.shape[-1] * self.dtype.itemsize if self.shape else 1
        if last % kind.itemsize or not self.shape:
            asked = f"a view as {kind} has whole numbers of {kind.itemsize} bytes in its last axis"
            raise ArgumentError(asked, f"{self.dtype} {self.shape}", "a copy: x.copy_to_host().astype(...)")
        return self._seen((*self.shape[:-1], last // kind.itemsize), kind)

    def _seen(self, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        raise NotImplementedError

    def copy_to_host(self, array: Numpy | None = None) -> Numpy:
        """The numbers, in a new array or in `array`."""
        raise NotImplementedError

    def copy_to_device(self, array: Any) -> None:
        """Put numbers in."""
        raise NotImplementedError


class HostArray(DeviceArray):
    """An array for the interpreter.

    Args:
        values: its numbers.
        written: whether they have been written, or for each of them.

    Example:
        >>> jt.cuda.device_array(2, "float32").written.tolist()
        [False, False]
    """

    def __init__(self, values: Numpy, written: bool | Numpy) -> None:
        super().__init__(values.shape, values.dtype)
        self.values = values
        self.written = written if isinstance(written, np.ndarray) else np.full(values.size, written)

    def _seen(self, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        same = np.dtype(dtype).itemsize == self.dtype.itemsize  # else nobody asks any more who has written what
        return HostArray(self.values.view(dtype).reshape(shape), self.written if same else True)

    def copy_to_host(self, array: Numpy | None = None) -> Numpy:
        """The numbers, in a new array or in `array`."""
        if array is None:
            return self.values.copy()
        array[...] = self.values
        return array

    def copy_to_device(self, array: Any) -> None:
        """Put numbers in."""
        self.values[...] = np.asarray(array)
        self.written[:] = True


class CardBytes:
    """Bytes of a GPU, which go back when no array is left that shows them."""

    def __init__(self, gpu: Device, size: int) -> None:
        self.gpu, self.size, self.written = gpu, size, 0  # how often somebody has written there, or may have
        self.pointer = gpu.memory.take(size)

    def __del__(self) -> None:
        try:  # noqa: SIM105 - suppress() takes five times as long
            self.gpu.memory.give_back(self.pointer, self.size)
        except AttributeError:  # there was no room for them
            pass


class CardArray(DeviceArray):
    """An array on a GPU. A kernel is given its `words`, and compiled for its `kind` (arguments.py).

    Args:
        base: the bytes that it shows, from the first one on.
        shape: of the array.
        dtype: of its numbers.
    """

    def __init__(self, base: CardBytes, shape: tuple[int, ...], dtype: Any) -> None:
        super().__init__(shape, dtype)
        self.base, self.pointer, self.gpu = base, base.pointer, base.gpu
        self.kind, self.strides = _laid_out(shape, self.dtype)
        self.words = (0, 0, self.size, self.dtype.itemsize, self.pointer, *shape, *self.strides)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Where other libraries find the numbers, as CuPy and PyTorch do."""
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.pointer, False), "strides": None,
            "version": 3, "stream": self.gpu.stream,
        }  # fmt: skip

    def _seen(self, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        return CardArray(self.base, shape, dtype)

    def copy_to_host(self, array: Numpy | None = None) -> Numpy:
        """The numbers, in a new array or in `array`, when all kernels before have ended."""
        device, found = self.entered(), np.empty(self.shape, self.dtype)
        if array is not None and array.shape == self.shape and array.dtype == self.dtype and array.flags.c_contiguous:
            found = array
        device.staging.to_host(found.ctypes.data, self.pointer, self.nbytes)
        if array is not None and found is not array:
            array[...] = found
        return found if array is None else array

    def copy_to_device(self, array: Any) -> None:
        """Put numbers in; those of an array on the same GPU do not leave it."""
        device = self.entered()
        self.base.written += 1
        if isinstance(array, CardArray) and (array.shape, array.dtype) == (self.shape, self.dtype):
            array.entered()
            device.driver.between(self.pointer, array.pointer, self.nbytes, device.stream)
            return
        given = np.asarray(array, self.dtype, order="C")
        if given.shape != self.shape:
            given = np.ascontiguousarray(np.broadcast_to(given, self.shape))
        device.staging.to_device(self.pointer, given.ctypes.data, self.nbytes)

    def entered(self) -> Device:
        """Its GPU, which has to be that of this thread.

        Raises:
            ArgumentError: it is another one.
            KernelError: it is lost.
        """
        device = here()
        if device is not self.gpu:
            asked = "an array is used where it is: each thread has one GPU at a time"
            raise ArgumentError(asked, f"an array of {self.gpu} on {device}", f"set_device({self.gpu.number})")
        return device


@lru_cache(4096)
def _laid_out(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[str, tuple[int, ...]]:
    """What an array is to the compiler, and how many bytes lie between neighbors along each axis."""
    strides = tuple(dtype.itemsize * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return f"{dtype.name}[{len(shape)}]", strides


def to_device(array: Any) -> DeviceArray:
    """Copy numbers to where kernels run.

    Args:
        array: a NumPy array, or what makes one.

    Raises:
        ArgumentError: it holds no numbers.
        OutOfMemoryError: the GPU has no room for it.

    Example:
        >>> jt.cuda.to_device([1.0, 2.0]).copy_to_host().tolist()
        [1.0, 2.0]
    """
    values = np.asarray(array, order="C")
    if values.dtype.kind not in "biufc":
        raise ArgumentError("to_device takes an array of numbers", f"dtype {values.dtype}", "float32")
    if not is_available():
        return HostArray(values.copy(), written=True)
    return on_gpu(values.shape, values.dtype, values)


def device_array(shape: Any, dtype: Any = "float64") -> DeviceArray:
    """Room for numbers, which nobody has written yet: where kernels are interpreted, one that reads them is told so.

    Args:
        shape: of the array.
        dtype: of its numbers.

    Raises:
        OutOfMemoryError: the GPU has no room for it.

    Example:
        >>> jt.cuda.device_array((2, 3), "float32")
        <array of a device, float32 (2, 3)>
    """
    sizes = tuple(map(int, shape)) if isinstance(shape, Sequence) else (int(shape),)
    kind, size = np.dtype(dtype), math.prod(sizes)
    if is_available():
        return on_gpu(sizes, kind)
    return HostArray(garbage(size, kind).reshape(sizes), written=False)


def on_gpu(shape: tuple[int, ...], dtype: np.dtype[Any], values: Any = None) -> CardArray:
    """An array on the GPU of this thread, with these numbers; never one for the interpreter.

    Raises:
        KernelError: the GPU is lost.
        OutOfMemoryError: it has no room for it.
    """
    made = CardArray(CardBytes(here(), math.prod(shape) * dtype.itemsize), shape, dtype)
    if values is not None:
        made.copy_to_device(values)
    return made


@contextmanager
def on_host(arguments: Sequence[Any]) -> Iterator[list[Any]]:
    """Arguments for the interpreter: arrays of a GPU as copies in this machine, which go back at the end."""
    there = {id(x): x for x in arguments if isinstance(x, CardArray)}
    bases = Counter(x.base for x in there.values())
    whole = {base: CardArray(base, (base.size,), np.uint8) for base in bases}
    copies = {base: array.copy_to_host() for base, array in whole.items()}
    copied = {
        key: HostArray(
            copies[x.base][: x.nbytes].view(x.dtype).reshape(x.shape), bool(x.base.written) or bases[x.base] > 1
        )
        for key, x in there.items()
    }
    yield [copied.get(id(x), x) for x in arguments]
    for base, array in whole.items():
        array.copy_to_device(copies[base])
