"""Var methods: what the people of PyTorch, NumPy and Jittor expect a Var to have.

x.size() x.size(0) x.numel() x.dim() x.element_size()       how large it is
x.float() x.half() x.int64() ... x.to(dtype) x.astype(dtype) x.type_as(y)      another dtype
x.name x.name("w")                                          what it is called
x.view_as(y) x.reshape_as(y) x.expand_as(y)                 the shape of another Var
x.new_zeros(2) x.new_ones(2) x.new_full((2,), 7)            a new Var of the same dtype
x.where(condition, y)                                       x here, y there
x.to("cpu") x.cpu() x.device                                where it lies: in main memory, or on a device
tensor, as_tensor                                           PyTorch's names for making one
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from jt_edu.base.dtypes import DType, as_dtype
from jt_edu.base.errors import ArgumentError
from jt_edu.ops import device as named
from jt_edu.ops.arguments import axis_of, same_words, yes_or_no
from jt_edu.ops.create import full, ones, zeros
from jt_edu.ops.elementwise import where
from jt_edu.ops.nonzero import nonzero
from jt_edu.ops.strides import check_format, in_memory_format
from jt_edu.ops.var_function import var_function
from jt_edu.ops.view import apart, reshape
from jt_edu.runtime.devices import CPU, CUDA, device_of, is_there, moved, to_cuda
from jt_edu.variable.torch_keywords import beside, is_device, makes, place, spread
from jt_edu.variable.var import Var, array, as_var, method

__all__ = ["as_tensor", "astype", "numel", "tensor"]


class Size(int):
    """How many elements there are, as a number; called, it is PyTorch's `size()`: the shape, or the length of an axis.

    Example:
        >>> x = ones((2, 3))
        >>> x.size, x.size(), x.size(0)
        (6, (2, 3), 2)
    """

    shape: tuple[int, ...]

    @same_words
    def __call__(self, dim: int | None = None) -> Any:
        """The shape, or the length of axis `dim`."""
        return self.shape if dim is None else self.shape[axis_of("size", dim, len(self.shape))]


def size(x: Var) -> Size:
    """How many elements x has; `x.size()` is its shape, and `x.size(0)` the length of its first axis.

    Example:
        >>> ones((2, 3)).size + 1
        7
    """
    shape = x.shape
    count = 1
    for n in shape:
        count *= n
    found = Size(count)
    found.shape = shape
    return found


_named = lru_cache(64)(named.device)  # one object for each: it is asked for in every step


def device(x: Var) -> named.device:
    """Where x lies, or will: "cpu", or the device of a backend with arrays of its own.

    Example:
        >>> ones(2).device, ones(2).device.type
        ('cpu', 'cpu')
    """
    return _named(device_of(x.node))


def cuda(x: Var) -> Callable[..., Var]:
    """`x.cuda()`, or `x.cuda(0)`: x on the device "cuda". Where there is none, a Var has no such name."""
    if not is_there(CUDA):
        raise AttributeError("cuda")
    return to_cuda(partial(to, x))


def is_cuda(x: Var) -> bool:
    """Whether x lies on the device "cuda".

    Example:
        >>> ones(2).is_cuda
        False
    """
    return device_of(x.node) == CUDA


class Name(str):
    """The name of a Var, for pictures and messages; called, it is Jittor's `name()` and `name("w")`.

    Example:
        >>> x = ones(2).name("w")
        >>> x.name, x.name()
        ('w', 'w')
    """

    __slots__ = ("_owner",)
    _owner: Var

    def __call__(self, name: str | None = None) -> Any:
        """The name; or, given another one, the Var with that name."""
        if name is None:
            return str(self)
        self._owner.name = name
        return self._owner

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)  # a file holds the text, and no Var


def name(x: Var) -> Name:
    """The name of x, for pictures and messages, "" before it has one; `x.name = "w"` and `x.name("w")` give one.

    Example:
        >>> x = ones(2); x.name = "w"
        >>> x.name + "eight"
        'weight'
    """
    found = Name(x.node.name)
    found._owner = x
    return found


def _rename(x: Var, name: str) -> None:
    if not isinstance(name, str):
        raise ArgumentError("a Var's name is a text", repr(name), 'x.name("w")')
    x.node.name = str(name)  # of a Name, which would hold its Var


Var.name = property(name, _rename)  # type: ignore[assignment]
for _name, _ask in (("size", size), ("device", device), ("cuda", cuda), ("is_cuda", is_cuda)):
    setattr(Var, _name, property(_ask))


@method
def numel(x: Any) -> int:
    """How many elements x has.

    Example:
        >>> numel(ones((2, 3)))
        6
    """
    return int(as_var(x).size)


@method
def dim(x: Any) -> int:
    """How many axes x has: `x.ndim`.

    Example:
        >>> ones((2, 3)).dim()
        2
    """
    return as_var(x).ndim


@method
def element_size(x: Any) -> int:
    """Bytes of one element; NumPy's `x.itemsize`.

    Example:
        >>> ones(2).element_size(), ones(2).itemsize
        (4, 4)
    """
    return as_var(x).dtype.size


Var.itemsize = property(element_size)  # type: ignore[attr-defined]


@var_function()
def astype(x: Any, dtype: Any, copy: bool = True, *, device: Any = None) -> Var:
    """The same numbers as another dtype.

    Args:
        dtype: of the answer.
        copy: a Var of its own also where x has that dtype; without it the answer is x then.
        device: where the answer lies, "cpu" or another that there is; by default where x does.

    Example:
        >>> array(1.7).astype("int32").item()
        1
    """
    own = as_var(x).cast(dtype)
    own = own if device is None else to(own, place("astype", device))
    return own.clone() if yes_or_no("astype", "copy", copy) and own is x else own


@method
def to(
    x: Any, *wanted: Any, dtype: Any = None, device: Any = None, memory_format: Any = None, copy: bool = False,
    non_blocking: bool = False,
) -> Var:  # fmt: skip
    """x as another dtype, in the dtype and on the device of another Var, in a memory format, or on another device.

    Nothing is copied before somebody needs it. The gradient is moved back. Devices other than "cpu" are the memory of
    backends with arrays of their own (`jt_edu/runtime/devices.py`).

    Args:
        wanted: a dtype, a Var whose dtype and device are meant, a device.
        dtype: in words.
        device: in words.
        memory_format: "contiguous", "channels last".
        copy: a Var of its own also where x is that already.
        non_blocking: PyTorch's wish not to wait for a copy: as said, nobody ever waits before the numbers are needed.

    Raises:
        ArgumentError: a device that is not there, or a memory format for another number of axes.
        DtypeError: neither a dtype nor a device.

    Example:
        >>> array(1.7).to("int32").item(), array(1).to(array(0.5)).dtype, array(1).to("cpu").dtype
        (1, jt.float32, jt.int64)
    """
    v, asked = as_var(x), [w for w in (*wanted, dtype, device) if w is not None]
    for w in asked:
        if isinstance(w, Var):
            v, target = v.cast(w.dtype), device_of(w.node)
        elif w is device or is_device(w):
            target = place("to", w)
        else:
            v = v.cast(w)
            continue
        source = device_of(v.node)
        v = v if source == target else moved(v, source, target)
    v = v if memory_format is None else in_memory_format(v, check_format("to", memory_format, v.ndim))
    yes_or_no("to", "non_blocking", non_blocking)
    return v.clone() if yes_or_no("to", "copy", copy) and v is x else v


@method
def cpu(x: Any) -> Var:
    """x in main memory: x itself, if it lies there already.

    Example:
        >>> array(1.0).cpu().item()
        1.0
    """
    return to(x, CPU)


@method
def type_as(x: Any, other: Any) -> Var:
    """x in the dtype of another Var, or as a dtype.

    Example:
        >>> array(1).type_as(array(0.5)).item()
        1.0
    """
    return as_var(x).cast(other.dtype if isinstance(other, Var) else other)


@method
def view_as(x: Any, other: Any) -> Var:
    """x in the shape of another Var, which has as many elements.

    Example:
        >>> ones(6).view_as(zeros((2, 3))).shape
        (2, 3)
    """
    return reshape(x, as_var(other).shape)


reshape_as = method(view_as, "reshape_as")


@method
def expand_as(x: Any, other: Any) -> Var:
    """x, read as if it had the larger shape of another Var.

    Example:
        >>> ones((2, 1)).expand_as(zeros((2, 3))).shape
        (2, 3)
    """
    return apart(x, as_var(x).stretched(as_var(other).shape))


@method
@spread("shape", "size")
def new_zeros(x: Var, *shape: Any, dtype: Any = None) -> Var:
    """0 everywhere, in the dtype of x.

    Example:
        >>> array([1], "int8").new_zeros(2).dtype
        jt.int8
    """
    return beside(x, zeros(*shape, dtype=x.dtype if dtype is None else dtype))


@method
@spread("shape", "size")
def new_ones(x: Var, *shape: Any, dtype: Any = None) -> Var:
    """1 everywhere, in the dtype of x.

    Example:
        >>> array([1], "int8").new_ones(2).tolist()
        [1, 1]
    """
    return beside(x, ones(*shape, dtype=x.dtype if dtype is None else dtype))


@method
def new_full(x: Var, shape: Any, value: Any, dtype: Any = None) -> Var:
    """One number everywhere, in the dtype of x.

    Example:
        >>> array([1], "int8").new_full((2,), 7).tolist()
        [7, 7]
    """
    return beside(x, full(shape, value, x.dtype if dtype is None else dtype))


def _where(x: Any, condition: Any = None, other: Any = None) -> Any:
    """x where the condition is true, `other` elsewhere, as in PyTorch. Alone, as in Jittor: where x is not 0.

    Example:
        >>> array([1.0, 2.0]).where(array([True, False]), 0).tolist()
        [1.0, 0.0]
        >>> [k.tolist() for k in array([0, 5, 6]).where()]
        [[1, 2]]
    """
    if condition is None and other is None:
        return nonzero(x, as_tuple=True)
    found: Var = where(condition, x, other)
    return found


method(_where, "where")


@makes
@same_words
def tensor(data: Any, dtype: Any = None) -> Var:
    """PyTorch's name of `array`: a Var with a copy of `data`.

    Example:
        >>> tensor([1.0, 2.0]).shape
        (2,)
    """
    return array(data, dtype)


@makes
def as_tensor(data: Any, dtype: Any = None) -> Var:
    """`data` as a Var: a Var is returned as it is, everything else is copied.

    Example:
        >>> x = ones(2); as_tensor(x) is x
        True
    """
    v = as_var(data)
    return v if dtype is None else v.cast(dtype)


def _cast_to(name: str, wanted: DType) -> Callable[[Var], Var]:
    def cast(x: Var) -> Var:
        return x.cast(wanted)

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"""x as {str(wanted).removeprefix("jt.")}.

    Example:
        >>> array([1, 0]).{name}().dtype
        {wanted!r}
    """
    return method(cast)


for _name in (
    "float", "double", "half", "long", "int", "short", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16",
    "uint32", "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
):  # fmt: skip
    _cast_to(_name, as_dtype(_name))


def _cast(dtype: DType, x: Any) -> Var:
    """Jittor's way to cast: jt.float32(x)."""
    return as_var(x).cast(dtype)


DType.__call__ = _cast  # type: ignore[method-assign]  # on its floor nobody knows what a Var is
