"""Library: kernels for a device, operator by operator, from a package that jt_edu does not know.

    lib = Library("jt", "IMPL")                       kernels for jt's own operators
    lib.impl("add", add, "npu_sim")                   add(out, x, y) writes x + y into out: arrays of the device
    lib.fallback("cpu", "npu_sim")                    what has no kernel goes to the CPU and back, and traces are told;
                                                      without this line it is an error that names the operator
    register_backend("npu_sim", empty, from_host)     who makes the arrays; from now on there is x.to("npu_sim")

A backend with a compiler is given loops that fuse everything (`jt_edu.backends`). One without is given each node of the
graph by its name. Gradients are nodes too, so they need nothing more. Four kinds of work have settings of their own:

    matmul(out, x, y, left, right)      matrices, or stacks of them; left, right: whether x, y lie transposed
    sum, max, min, prod(out, x, axes)   along some axes; what lies in out has the other axes of x
    take(out, x, positions, fill)       all views: out[...] = x.ravel()[positions], or fill where a position is -1
    put(out, x, positions, reducer, start)  other sums: start everywhere, then out.ravel()[p] += x where p is not -1

and `cast(out, x)`, since out knows its dtype. Everything else is called as it is: `exp(out, x)`. Numbers come as arrays
without axes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from jt_edu import backends
from jt_edu.base.errors import ArgumentError, BackendError
from jt_edu.ir.meta_ops import HostCall
from jt_edu.ir.node import Node, Shape
from jt_edu.library.by_name import FALLBACKS, KERNELS, Kernel, KernelsByName
from jt_edu.runtime.devices import CPU, INTERFACE, check_interface, forget_plans
from jt_edu.variable.var import Var, as_var

JT = "jt"  # the namespace of jt's own operators
AUTOGRAD = "autograd"  # the key of a gradient


class Library:
    """Operators of one namespace, and their kernels for each key: a device, "cpu", or "autograd".

    Args:
        ns: "jt", whose operators jt_edu has, or a name of one's own.
        kind: "IMPL" adds kernels to operators that there are, "DEF" defines operators as well.

    Raises:
        ArgumentError: another kind, or operators of one's own in the namespace of jt.

    Example:
        >>> lib = Library("mine", "DEF")
        >>> double = lib.define("double")
        >>> lib.impl("double", lambda x: x * 2, "cpu")
        >>> lib.impl("double", lambda out, dout, x: dout * 2, "autograd")
        >>> x = jt.array([1.0, 2.0])
        >>> double(x).tolist(), jt.grad(double(x).sum(), x).tolist()
        ([2.0, 4.0], [2.0, 2.0])
    """

    def __init__(self, ns: str, kind: str = "IMPL") -> None:
        if kind not in ("IMPL", "DEF"):
            raise ArgumentError('a Library is of the kind "IMPL" or "DEF"', repr(kind))
        if ns == JT and kind == "DEF":
            raise ArgumentError("the namespace jt has jt's own operators", "kind='DEF'", "a name of your own")
        self.ns, self.kind = ns, kind
        self.defined: dict[str, Kernel] = {}

    def define(self, name: str, shape: Callable[..., Shape] | None = None) -> Kernel:
        """An operator of one's own, as a function of Vars. On the CPU, NumPy arrays are given to its kernel.

        Args:
            name: of the operator.
            shape: of the answer, from the Vars; without it, that of the first. The dtype is that of the first.

        Raises:
            ArgumentError: a library that only adds kernels, or a name that it has already.
        """
        if self.kind != "DEF" or name in self.defined:
            found = f"a library of kind {self.kind}" if self.kind != "DEF" else f"{self.ns}::{name}, which is defined"
            raise ArgumentError("define makes a new operator", found, 'Library(ns, "DEF"), and another name')
        self.defined[name] = partial(_called, f"{self.ns}::{name}", shape)
        return self.defined[name]

    def impl(self, op: str, kernel: Kernel | None = None, key: str = CPU) -> Any:
        """Who computes an operator on a device; without a kernel, a decorator.

        Args:
            op: its name, as a trace shows it: "add", "matmul", "exp".
            kernel: writes into its first argument; for "cpu" it returns an array, for "autograd" gradients.
            key: a device, "cpu" or "autograd"; the last two are for operators of one's own.

        Raises:
            ArgumentError: an operator that was not defined, or a kernel of the CPU for one of jt's.
        """
        if kernel is None:
            return lambda function: self.impl(op, function, key) or function
        if self.ns != JT and op not in self.defined:
            raise ArgumentError(f"{self.ns} has the operators that it defined", repr(op), f"lib.define({op!r})")
        if self.ns == JT and key in (CPU, AUTOGRAD):
            raise ArgumentError(f"jt's own operators have a kernel for {key} already", f"impl({op!r}, ..., {key!r})")
        KERNELS.setdefault(key, {})[op if self.ns == JT else f"{self.ns}::{op}"] = kernel
        forget_plans()
        return None

    def fallback(self, to: str, key: str) -> None:
        """What has no kernel for `key` is computed on another device: on the CPU."""
        if to != CPU:
            raise ArgumentError("what has no kernel is computed on the CPU", repr(to), repr(CPU))
        FALLBACKS[key] = to
        forget_plans()


def register_backend(name: str, empty: Kernel, from_host: Kernel, interface: int = INTERFACE) -> KernelsByName:
    """Make a device known, whose kernels are those of a Library for this key: what an entry point calls.

    Args:
        name: of the device.
        empty: makes an array of the device from a shape and a NumPy dtype; `jt_edu/runtime/devices.py` says what
            arrays have.
        from_host: copies a NumPy array to the device.
        interface: the version of all this that the package was written for.

    Raises:
        BackendError: it was written for another version than there is.

    Example:
        >>> register_backend("abacus", None, None, interface=0)
        Traceback (most recent call last):
        BackendError: devices have version 1 of the interface here; found abacus, which was written for version 0...
    """
    made = KernelsByName(name, empty, from_host, interface)
    check_interface(made)
    backends.register(made)
    forget_plans()
    return made


def _called(name: str, shape: Callable[..., Shape] | None, *given: Any) -> Var:
    """An operator of one's own at work."""
    inputs = [as_var(g) for g in given]
    found = inputs[0].shape if shape is None else tuple(shape(*inputs))
    return Var._of(Node(_operator(name, len(inputs)), tuple(v.node for v in inputs), found, inputs[0].dtype))


_operators: dict[tuple[str, int], HostCall] = {}


def _operator(name: str, count: int) -> HostCall:
    if (name, count) not in _operators:
        rules = tuple(partial(_gradient, name, k) for k in range(count))
        _operators[name, count] = HostCall(name, partial(_kernel, name, CPU), rules, by="its kernel for the CPU")
    return _operators[name, count]


def _kernel(name: str, key: str, *given: Any) -> Any:
    if name not in KERNELS.get(key, {}):
        way = f"lib.impl({name.partition('::')[2]!r}, kernel, {key!r})"
        raise BackendError(f"{name} is computed by its kernel for {key}", "none", way)
    return KERNELS[key][name](*given)


def _gradient(name: str, number: int, *given: Any) -> Any:
    found = _kernel(name, AUTOGRAD, *given)
    return found[number] if isinstance(found, (tuple, list)) else found
