"""Var: what the learner holds.

A Var is a handle on a node of the graph. Arithmetic on Vars builds nodes and computes nothing; `numpy()`, `item()`,
printing and `sync()` run what is needed. `x += 1` and `x.assign(y)` move the handle to another node; the old node stays
what it was, for whoever still reads it.

The methods that are families of their own (sums, views, indexing, ...) are written in `ops/` and attached from there.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jt_edu.base.context import current
from jt_edu.base.dtypes import DType, as_dtype, bfloat16, from_bfloat16
from jt_edu.base.errors import ArgumentError, DtypeError, GradientError, ScalarError, ShapeError
from jt_edu.base.hints import must_unpack
from jt_edu.base.hook_handle import Handle
from jt_edu.ir import builders
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.meta_ops import CONSTANT, SOURCE, Elementwise
from jt_edu.ir.node import Node
from jt_edu.runtime.devices import device_of, owned
from jt_edu.runtime.execute import run
from jt_edu.variable.autograd import LEAF
from jt_edu.variable.memory_format import FORMATS, in_format, inherit
from jt_edu.variable.operators import Arithmetic
from jt_edu.variable.torch_keywords import as_asked, as_it_is

Function = TypeVar("Function", bound=Callable[..., Any])
KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}  # what is put into a Var is of no higher one: fractions are not lost


class Var(Arithmetic):
    """A handle on one value: shape, dtype, arithmetic, and, when asked for, its numbers.

    Example:
        >>> x = Var([1.0, 2.0, 3.0])
        >>> (x * x + 1).numpy()
        array([ 2.,  5., 10.], dtype=float32)
    """

    __slots__ = ("__weakref__", "_change", "_grad", "_hooks", "_node")
    _change: Any
    _grad: Var | None
    _hooks: tuple[Callable[[Var], Var | None], ...]
    _node: Node
    __array_priority__ = 1000

    if TYPE_CHECKING:  # what ops/ attaches: sum, reshape, matmul, indexing and all others

        @property
        def name(self) -> str: ...  # noqa: D102 - in ops/var_methods.py
        @name.setter
        def name(self, name: str) -> None: ...
        def __getattr__(self, name: str) -> Callable[..., Var]: ...
        def __getitem__(self, key: Any) -> Var: ...
        def __setitem__(self, key: Any, value: Any) -> None: ...
        def __matmul__(self, other: Any) -> Var: ...
        def __rmatmul__(self, other: Any) -> Var: ...

    def __init__(self, data: Any, dtype: Any = None) -> None:
        alike = isinstance(data, Var) and dtype is None
        self._node = (
            builders.same("var", data.node) if alike else builders.source(data, dtype)
        )  # each handle has a node of its own
        self._node.holders += 1
        self._node.owner = weakref.ref(self)
        self._grad, self._hooks, self._change = None, (), None

    @classmethod
    def _of(cls, node: Node) -> Var:
        """A new handle on a node."""
        self = object.__new__(cls)
        self._node, self._grad, self._hooks, self._change = node, None, (), None
        node.holders += 1
        if node.owner is None or node.owner() is None:
            node.owner = weakref.ref(self)
        if FORMATS.data:  # type: ignore[attr-defined]  # asking the dict inside spares a call for every value
            inherit(node)
        if node.data is None and not current().flags.lazy_execution:
            run((node,))
        return self

    def __del__(self) -> None:
        try:  # noqa: SIM105 - suppress() takes five times as long
            self._node.holders -= 1
        except AttributeError:  # it never became a Var
            pass

    # what it is

    @property
    def node(self) -> Node:
        """The node this handle points to."""
        return self._node

    @node.setter
    def node(self, node: Node) -> None:
        capture = current().capture
        if capture is not None:
            capture.moved.append((self, self._node))
        node.holders += 1
        self._node.holders -= 1
        self._node = node
        node.owner = weakref.ref(self)

    def __len__(self) -> int:
        if not self.shape:
            raise ScalarError("len() counts along the first axis", "a Var of shape (), a single number", "x.item()")
        return self.shape[0]

    def __iter__(self) -> Iterator[Var]:
        length = len(self)
        must_unpack(self.shape, self.node.op.name)
        return iter([self[k] for k in range(length)])

    # its numbers

    def sync(self) -> Var:
        """Compute it now."""
        run((self._node,))
        return self

    def numpy(self, copy: bool = False) -> np.ndarray[Any, Any]:
        """Its numbers, as a read-only view of its memory or as a copy to write to; bfloat16 becomes float32."""
        run((self._node,), "numpy(), item(), a condition, x[mask] or the like")
        node = self._node
        data = in_format(node) if FORMATS.data else node.data  # type: ignore[attr-defined]  # as in _of
        if node.op is CONSTANT or copy or node.dtype is bfloat16:
            half = node.dtype is bfloat16
            data = from_bfloat16(np.asarray(data)) if half and node.op is not CONSTANT else data
            data = np.array(data, np.float32 if half else node.dtype.storage, copy=copy or None)
        found: np.ndarray[Any, Any] = np.asarray(data).view(np.ndarray)  # of a matrix or a device, too
        found.flags.writeable = bool(copy)
        return found

    @property
    def data(self) -> np.ndarray[Any, Any]:
        """The same as `numpy()`; `x.data = y` is `x.update(y)`."""
        return self.numpy()

    @data.setter
    def data(self, value: Any) -> None:
        self.update(value)

    def item(self) -> Any:
        """Its only number as a Python number."""
        if self.size != 1:
            raise ShapeError("item() needs exactly one element", f"shape {self.shape}", "x.numpy() or x.sum().item()")
        return self.numpy().reshape(())[()].item()

    def tolist(self) -> Any:
        """Its numbers as nested lists."""
        return self.numpy().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.numpy(), dtype, copy=copy)

    def __complex__(self) -> complex:
        return complex(self.item())

    def __float__(self) -> float:
        if self.dtype.kind == "c":
            raise DtypeError("a complex number is not a real one", f"dtype {self.dtype}", "x.real or x.abs()")
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.shape:
            raise DtypeError("only a single whole number can be an index", f"{self.dtype} of shape {self.shape}")
        return int(self.item())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ShapeError(
                "a Var of several numbers is neither true nor false",
                f"shape {self.shape}",
                "(x > 0).any() or .all(); (x > 0) & (x < 3) instead of `and` or 0 < x < 3",
            )
        return bool(self.item())

    def __repr__(self) -> str:
        numbers = np.array2string(self.numpy(), separator=", ", prefix="jt.Var(", threshold=60)
        shape = "" if self.size or self.shape == (0,) else f"shape={self.shape}, "
        return f"jt.Var({numbers}, {shape}dtype={self.dtype})"

    def __format__(self, spec: str) -> str:
        if spec and self.size != 1:
            raise ShapeError(f"the format {spec!r} is for one number", f"shape {self.shape}", "x.numpy().round(2)")
        return format(self.item(), spec) if spec else repr(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restore, (np.array(self.numpy()), str(self.dtype), self._node.tracked, self.name))

    def __deepcopy__(self, memo: dict[int, Any]) -> Var:
        twin = Var._of(Node(SOURCE, (), self.shape, self.dtype, owned(self.sync()._node)))
        twin._node.tracked, twin._node.owner, twin.name = self._node.tracked, weakref.ref(twin), self.name
        memo[id(self)] = twin
        return twin

    # assignment: the handle moves

    def assign(self, value: Any) -> Var:
        """Point this handle to another value of the same shape; under `no_grad`, without history (as `update`)."""
        new = as_var(value)
        if new is value:  # a node of its own, so that a compiled step can tell the two apart
            new = Var._of(builders.same("assign", value._node))
        return self.become(new)

    def update(self, value: Any) -> Var:
        """Assign without history, as optimisers and running statistics do; whether gradients are taken stays."""
        return self.become(as_var(value), alone=True)

    def become(self, other: Var, alone: bool = False) -> Var:
        """Take over the node of a Var that nobody else holds, as `x += y` does; `alone`: without its history."""
        if other.shape != self.shape:
            raise ShapeError("assign keeps the shape", f"{other.shape} for a Var of shape {self.shape}", "a new Var")
        if KINDS[other.dtype.kind] > KINDS[self.dtype.kind]:
            raise DtypeError(f"a Var of {self.dtype} keeps its dtype", f"{other.dtype} to store in it", "x = x + y")
        name, tracked, before, value = self.name, self._node.tracked, self._node, other.cast(self.dtype)
        other_flag = value._node.tracked is not tracked  # what was stopped stays so, and what takes part
        alone = alone or other_flag or (current().no_grad and tracked)
        self.node = (value.detach() if alone else value).node
        self.name = self.name or name
        if alone:
            self._node.tracked, self._node.tape = tracked, LEAF
        change = self._change if before.data is None else None  # what came, what was there, and so on
        change = change if change and change[1]() else None
        self._change = weakref.ref(self._node), weakref.ref(before), change
        return self

    # gradients

    @property
    def grad(self) -> Var | None:
        """What `backward()` has added up here, or None."""
        capture = current().capture
        if capture is not None:
            capture.gradients.setdefault(self, self._grad)
        return self._grad

    @grad.setter
    def grad(self, value: Var | None) -> None:
        if value is not None and (not isinstance(value, Var) or value.shape != self.shape):
            raise GradientError(f".grad is None or a Var of shape {self.shape}", repr(np.shape(value)), "x.grad = None")
        _, self._grad = self.grad, value  # to read it is to note, in a step that is captured, what stood there

    @property
    def hooks(self) -> tuple[Callable[[Var], Var | None], ...]:
        """Functions that see (and may replace) the gradient of this Var."""
        return self._hooks

    def register_hook(self, hook: Callable[[Var], Var | None]) -> Handle:
        """Call `hook(gradient)` when a gradient of this Var is built; what it returns replaces it."""
        if not callable(hook):
            raise ArgumentError("register_hook takes a function of the gradient", repr(hook))
        self._hooks = (*self._hooks, hook)
        self._node.owner = weakref.ref(self)
        return Handle(self, "_hooks", hook)

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are taken with respect to this Var or through it."""
        return self._node.tracked

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.start_grad() if wanted else self.stop_grad()

    def stop_grad(self) -> Var:
        """Cut this Var off from the gradient, in place."""
        node = self._node
        if node.tape is not None and node.tape.outputs:  # a Function's output: its grad is told
            node.tape.stop(node)
        if node.tracked:
            self.node, self.name = self.detach().node, self.name
        elif node.dtype.is_float and node.tape is None:  # so that a Function's own output stays stopped
            node.tape = LEAF
        return self

    def start_grad(self) -> Var:
        """Let gradients be taken with respect to this Var, in place."""
        if not self.dtype.is_float:
            raise DtypeError("only floats have gradients", f"dtype {self.dtype}", "x.float()")
        if not self._node.tracked:  # a number becomes an array: only that is summed over where it was repeated
            number = self._node.op is CONSTANT
            self.node = builders.source(self._node.data, self.dtype) if number else self.detach().node
            self._node.tracked = True
        return self

    def is_stop_grad(self) -> bool:
        """Whether this Var takes no part in gradients."""
        return not self._node.tracked

    # building nodes

    def apply(self, op: Elementwise, *others: Any) -> Var:
        """`op` at each index of this Var and the others, after broadcasting and promotion."""
        node = self._node
        kind = node.dtype
        if not others:
            common, dtype = f.meet(op, kind)
            node = node if kind is common else builders.cast(node, common)
            return Var._of(Node(op, (node,), node.shape, dtype))
        other = others[0]
        partner = other._node if isinstance(other, Var) else builders.operand_of(other, kind, op.exact)
        if len(others) > 1:
            return Var._of(builders.of_many(op, [node, partner, *[as_var(o, kind)._node for o in others[1:]]]))
        common, dtype = f.meet(op, kind, partner.dtype)
        if kind is not common:
            node = builders.cast(node, common)
        if partner.dtype is not common:
            partner = builders.cast(partner, common)
        if node.shape == partner.shape:  # the usual case takes no further call
            return Var._of(Node(op, (node, partner), node.shape, dtype))
        return Var._of(builders.elementwise(op, (node, partner), dtype))

    def cast(self, dtype: Any) -> Var:
        """The same numbers as another dtype."""
        wanted = as_dtype(dtype)
        return self if wanted is self._node.dtype else Var._of(builders.cast(self._node, wanted))

    def conj(self) -> Var:
        """Complex conjugate; real Vars are their own."""
        return self.apply(f.CONJ) if self._node.dtype.kind == "c" else self

    def where_not(self, condition: Any, value: Any) -> Var:
        """This Var where `condition` is false, `value` where it is true."""
        return as_var(condition).apply(f.SELECT, as_var(value, self.dtype), self)

    def keep_where(self, condition: Var) -> Var:
        """This Var where `condition` is true, 0 where it is false."""
        return condition.apply(f.SELECT, self, Var._of(builders.constant(0, self.dtype)))

    def beside(self, value: Any) -> Var:
        """A number or an array as a Var that stands beside this one: bare numbers give way to its dtype."""
        return value if isinstance(value, Var) else Var._of(builders.operand_of(value, self.dtype))

    def stretched(self, shape: Sequence[int]) -> Var:
        """Read this Var as if it had a larger shape: aligned at the last axis, axes of length 1 are repeated."""
        size = builders.check_shape(shape)
        return self if size == self.shape else Var._of(builders.broadcast(self._node, size))


def method(function: Function, name: str = "") -> Function:
    """Attach a function to Var as a method of the same name, or of another one; it stays a function too."""
    setattr(Var, name or function.__name__, function)
    return function


def array(
    data: Any, dtype: Any = None, *, copy: bool | None = True, device: Any = None, requires_grad: bool | None = None
) -> Var:
    """A Var with a copy of `data`. Python floats become float32, ints int64; NumPy arrays keep their dtype.

    Args:
        data: a number, lists of numbers, an array, or a Var.
        dtype: of the Var; without it, that of `data`.
        copy: False shares the memory of a NumPy array, as `from_numpy`, or raises; None copies where it cannot share.
        device: "cpu", where everything is, or that of a backend with arrays of its own; without it, that of a Var.
        requires_grad: False keeps it out of gradients, in which every Var of floats takes part.

    Example:
        >>> array([1.5, 2.5])
        jt.Var([1.5, 2.5], dtype=float32)
    """
    found = None if copy is True else as_it_is(data, dtype, copy)
    if isinstance(found, Node):
        found = Var._of(found)
    elif found is None or requires_grad is not None:
        if isinstance(data, Var):
            data, dtype, device = data.numpy(), dtype or data.dtype, device or device_of(data.node)
        found = Var(data, dtype)
    return found if device is requires_grad is None else as_asked("array", found, device, requires_grad)


def as_var(value: Any, partner: DType | None = None) -> Var:
    """A Var from a Var, an array, a list or a number; a bare number gives way to the dtype of its partner."""
    if isinstance(value, Var):
        return value
    return Var._of(builders.given(value) if partner is None else builders.operand_of(value, partner))


def _restore(data: np.ndarray[Any, Any], dtype: str, tracked: bool, name: str) -> Var:
    var = Var(data, dtype)
    var.requires_grad = tracked
    var.name = name
    return var
