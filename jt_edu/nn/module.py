"""Module: parameters, and one `execute` that uses them.

    class Net(Module):
        def __init__(self):
            self.first, self.second = Linear(64, 32), Linear(32, 10)

        def execute(self, x):
            return self.second(relu(self.first(x)))

A module is an ordinary object. `module_tree.py` finds what it is made of, `state_dict.py` takes that out and puts it
back, `hooks.py` lets others look on. Nothing here knows what a layer computes, nor that there are optimisers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from jt_edu.base.context import CHECKS, current, no_grad
from jt_edu.base.did_you_mean import unknown
from jt_edu.base.dtypes import as_dtype
from jt_edu.base.errors import ArgumentError, DtypeError
from jt_edu.base.own import doing, own
from jt_edu.capture.recorder import watch
from jt_edu.nn.hooks import come_out, failed, go_in, watched, watches_gradients
from jt_edu.nn.module_scope import Blaming, scope_of
from jt_edu.nn.state_dict import Stateful
from jt_edu.ops.arguments import must_fit, yes_or_no
from jt_edu.ops.strides import check_format
from jt_edu.runtime.devices import CPU, CUDA, device_of, is_there, put, to_cuda
from jt_edu.variable.memory_format import FORMATS
from jt_edu.variable.torch_keywords import is_device, place
from jt_edu.variable.var import Var, array


class _Cuda:
    """`net.cuda()` has all of a module on the device "cuda". Where there is none, it has no such name.

    A learner's own attribute of that name stands before it.
    """

    def __get__(self, module: Module | None, kind: type) -> Callable[..., Module]:
        if module is None or not is_there(CUDA):
            raise unknown("a module", CUDA, {"net": ()})
        return to_cuda(own(module).to)


class Module(Stateful):
    """A part of a network: its parameters are attributes, `execute` (or `forward`) says what it computes.

    Example:
        >>> class Scale(Module):
        ...     def __init__(self):
        ...         self.factor = jt.array([2.0])
        ...     def execute(self, x):
        ...         return x * self.factor
        >>> scale = Scale()
        >>> scale(jt.array([1.0, 3.0])).numpy()
        array([2., 6.], dtype=float32)
        >>> [name for name, p in scale.named_parameters()]
        ['factor']
    """

    is_train = True  # dropout and batch norm behave differently while training

    # computing

    def execute(self, *args: Any, **named: Any) -> Any:
        """What this module computes; a subclass writes it."""
        forward = doing(self, "forward")
        if getattr(forward, "__func__", None) is Module.forward:
            raise ArgumentError(
                f"{type(self).__name__} must say what it computes", "no execute method", "def execute(self, x)"
            )
        return forward(*args, **named)

    def forward(self, *args: Any, **named: Any) -> Any:
        """PyTorch's name for `execute`."""
        return doing(self, "execute")(*args, **named)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Hooks before, `execute`, hooks after."""
        moment = current().threads.now
        if moment.capture is not None:  # also modules that it never calls, but reads a weight of
            for module in [self] if moment.scope else own(self).modules():
                watch(_Makeup(module))
        outer, compute = moment.scope, self.execute if "execute" not in vars(self) else doing(self, "execute")
        moment.scope = scope_of(self, outer)
        try:
            if not (self._hooks_before or self._hooks_after or watches_gradients(self)):
                return compute(*args, **named)
            try:
                args, named = go_in(self, args, named)
                if watches_gradients(self):
                    out = watched(self, args, lambda inputs: compute(*inputs, **named))
                else:
                    out = compute(*args, **named)
            except Exception:
                failed(self, self._hooks_after, args, named, None)
                raise
            return come_out(self, args, named, out)
        except Exception as error:
            with Blaming(moment.scope):
                if isinstance(error, TypeError):
                    must_fit(f"{type(self).__name__}(...)", inspect.signature(compute), *args, **named)
                raise
        finally:
            moment.scope = outer

    def apply(self, function: Callable[[Module], Any]) -> Module:
        """Call `function` with every module inside, inner ones first, and with this one last. Returns this module."""
        for module in reversed(own(self).modules()):
            function(module)
        return self

    # modes

    def train(self, mode: bool = True) -> Module:
        """Let this module and all inside know that it is being trained. Returns this module."""
        training = yes_or_no("train", "mode", mode)
        for module in own(self).modules():
            module.is_train = training
        return self

    def eval(self) -> Module:
        """Let this module and all inside know that it is being used. Returns this module."""
        doing(self, "train")(mode=False)
        return self

    def is_training(self) -> bool:
        """Whether it is being trained."""
        return self.is_train

    @property
    def training(self) -> bool:
        """PyTorch's name for `is_train`."""
        return self.is_train

    @training.setter
    def training(self, mode: bool) -> None:
        self.is_train = yes_or_no(type(self).__name__, "training", mode)

    def requires_grad_(self, wanted: bool = True) -> Module:
        """Let all parameters take part in gradients, or none. A stopped one stays a parameter, and is saved."""
        tracked = yes_or_no("requires_grad_", "wanted", wanted)
        for p in own(self).parameters():
            p.requires_grad = tracked
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients that `loss.backward()` left in `.grad`; `set_to_none=False` leaves zeros there."""
        forget = yes_or_no("zero_grad", "set_to_none", set_to_none)
        for p in own(self).parameters():
            p.grad = None if forget or p.grad is None else p.grad.zeros_like().detach()

    # numbers of another kind

    def cast(self, dtype: Any) -> Module:
        """Turn all parameters and float buffers into another float dtype, in place. Returns this module.

        Complex ones stay complex numbers, unless `dtype` is another complex one.
        """
        wanted = as_dtype(dtype)
        if not wanted.is_float:
            raise DtypeError("parameters are floats", f"dtype {wanted}", "module.float()")
        for var in [*own(self).parameters(), *own(self).buffers()]:
            fits = var.dtype.is_float if wanted.kind == "c" else var.dtype.kind == "f"
            if fits and var.dtype is not wanted:
                name, tracked = var.name, var.requires_grad
                with no_grad():
                    var.node = array(var.numpy(), wanted, device=var.device).node
                var.node.tracked, var.name = tracked, name
        return self

    def float(self) -> Module:
        """All parameters and float buffers as float32."""
        return own(self).cast("float32")

    def half(self) -> Module:
        """All parameters and float buffers as float16."""
        return own(self).cast("float16")

    def double(self) -> Module:
        """All parameters and float buffers as float64."""
        return own(self).cast("float64")

    def bfloat16(self) -> Module:
        """All parameters and float buffers as bfloat16."""
        return own(self).cast("bfloat16")

    def to(
        self, *wanted: Any, dtype: Any = None, device: Any = None, memory_format: Any = None, non_blocking: bool = False
    ) -> Module:
        """All parameters and float buffers as another float dtype, or in a Var's, where it lies. Returns this module.

        `device` moves all of them there, without history: `net.to("npu_sim")`. An optimizer is made after that.
        `memory_format` is for weights with as many axes as it is an order of. `non_blocking` is a wish of PyTorch's
        that needs nothing here: nobody waits for a copy before its numbers are needed.

        Raises:
            ArgumentError: a device that is not there, or no memory format.
            DtypeError: no float dtype.
        """
        yes_or_no("to", "non_blocking", non_blocking)
        given = [(w.dtype, w.device) if isinstance(w, Var) else (w,) for w in (*wanted, dtype, device)]
        wishes = [w for part in given for w in part if w is not None]
        places = {id(w): place("to", w) for w in wishes if w is device or is_device(w)}  # before anything is changed
        for wish in wishes:
            if name := places.get(id(wish)):
                for var in [*own(self).parameters(), *own(self).buffers()]:
                    if device_of(var.node) != name:
                        var.node = put(var.sync().node.data, name, var.node)
                        var.grad = None if var.grad is None else var.grad.to(name)
            else:
                own(self).cast(wish)
        for var in [*own(self).parameters(), *own(self).buffers()] if memory_format is not None else []:
            if var.ndim in (4, 5):
                FORMATS[var.node] = check_format("to", memory_format, var.ndim)
        return self

    def cpu(self) -> Module:
        """All parameters and buffers in main memory."""
        return own(self).to(CPU)

    cuda = _Cuda()

    float32 = float
    float16 = half
    float64 = double

    # how it prints

    def extra_repr(self) -> str:
        """What stands between the brackets of this module's line."""
        return ""

    def _rows(self) -> list[str]:
        """One text for each module inside."""
        return [f"({name}): {child!r}" for name, child in own(self).named_children()]

    def __repr__(self) -> str:
        if current().flags.module_repr == "jittor":
            return as_in_jittor(self)
        rows = ["  " + row.replace("\n", "\n  ") for row in own(self)._rows()]
        said = doing(self, "extra_repr")()
        if not rows:
            return f"{type(self).__name__}({said})"
        head = [f"  {said}"] if said else []
        return "\n".join([f"{type(self).__name__}(", *head, *rows, ")"])


def _known_form(value: Any) -> None:
    if value not in ("pytorch", "jittor"):
        raise ArgumentError('jt.flags.module_repr is "pytorch" or "jittor"', repr(value))


CHECKS["module_repr"] = _known_form


def peeked(x: Var) -> str:
    """Only dtype and shape of a Var, as Jittor writes them.

    Example:
        >>> peeked(jt.ones(2, 3))
        'float32[2,3,]'
    """
    return f"{x.dtype}[{''.join(f'{n},' for n in x.shape)}]"


def as_in_jittor(module: Module) -> str:
    """How Jittor prints a module: what its arguments became, in order, or its parts.

    Where there is a bias, None follows: Jittor counts a number that it computes for that among the arguments.

    Example:
        >>> print(as_in_jittor(jt.nn.Sequential(jt.nn.Conv(1, 10, 3), jt.nn.Linear(4, 2, bias=False))))
        Sequential(
            0: Conv(1, 10, (3, 3), (1, 1), (0, 0), (1, 1), 1, float32[10,], None)
            1: Linear(4, 2, None, None)
        )
    """
    name = {"Conv2d": "Conv", "ConvTranspose2d": "ConvTranspose"}.get(type(module).__name__, type(module).__name__)
    rows = [f"\n{part}: {as_in_jittor(child)}".replace("\n", "\n    ") for part, child in module.named_children()]
    if rows:
        return f"{name}({''.join(rows)}\n)"
    asked = [p.name for p in inspect.signature(type(module)).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    found = [getattr(module, argument, None) for argument in asked if argument != "padding_mode"]
    texts = [peeked(v) if isinstance(v, Var) else str(v) for v in found]
    return f"{name}({', '.join(texts + ['None'] * ('bias' in asked))})"


@contextmanager
def in_mode(model: Module, *, train: bool) -> Iterator[None]:
    """Inside, a model and all in it are being trained, or used; afterwards each module is in its own mode again.

    Example:
        >>> net = jt.nn.Linear(2, 1)
        >>> with in_mode(net, train=False):
        ...     net.is_training()
        False
    """
    was = [(module, module.is_train) for module in own(model).modules()]
    try:
        (own(model).train if train else own(model).eval)()
        yield
    finally:
        for module, training in was:
            module.is_train = training


@dataclass(frozen=True)
class _Makeup:
    """What a compiled step takes for granted: mode, attributes, and what stands in lists and dicts there."""

    module: Module

    def __call__(self) -> tuple[Any, ...]:
        held = vars(self.module).values()
        inside = [x for v in held if type(v) in (list, dict) for x in (v.values() if type(v) is dict else v)]
        return (self.module.is_train, *held, *inside)


def Parameter(data: Any, requires_grad: bool = True) -> Var:  # noqa: N802 - PyTorch's and Jittor's name
    """A Var with numbers of its own, to be trained; any float Var will do, so this is for those who like to say it.

    Example:
        >>> Parameter([1.0, 2.0]).requires_grad
        True
    """
    var = Var(data.numpy() if isinstance(data, Var) else data)
    if not var.dtype.is_float:
        raise DtypeError("a parameter holds floats", f"dtype {var.dtype}", "x.float()")
    var.requires_grad = yes_or_no("Parameter", "requires_grad", requires_grad)
    return var
