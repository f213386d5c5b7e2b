"""Recurrent layers: a state is carried along a sequence, and changed by each of its elements.

    RNN     h' = tanh(W x + U h)

    LSTM    i, f, o = sigmoid(...)      what to write, what to keep, what to show
            c' = f * c + i * tanh(...)  a memory that is only scaled and added to
            h' = o * tanh(c')

    GRU     r, z = sigmoid(...)         what to look back at, what to keep
            n  = tanh(W x + r * U h)
            h' = (1 - z) * n + z * h

Each `...` is its own W x + U h. W x does not wait for the state: for all moments together it is one matrix product.
A step then is the product U h and one fused kernel. Going back, a step is one product as well: the gradients of W and U
are one product each, for all moments together (`rnn_weight_gradients.py`). Nothing here has a gradient of its own.

The graph of a layer has some thirty nodes for each step. It is built once, and copied from then on (`_steps`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.builders import short
from jt_edu.nn.dropout import dropout
from jt_edu.nn.factory_kwargs import takes_placement
from jt_edu.nn.initializers import uniform_
from jt_edu.nn.linear import count, linear
from jt_edu.nn.module import Module
from jt_edu.nn.rnn_utils import PackedSequence, pack_padded_sequence, pad_packed_sequence
from jt_edu.nn.rnn_weight_gradients import gates, moments, spread, turned
from jt_edu.ops.arguments import number, whole, yes_or_no
from jt_edu.ops.concat import concat, stack
from jt_edu.ops.create import zeros
from jt_edu.ops.trigonometry import TANH
from jt_edu.variable.gradient_errors import warn
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNCell"]
Parts = tuple[Var, ...]  # one for each gate
State = tuple[Var, ...]  # (h,), or (h, c)
Step = Callable[[Parts, Parts, State], State]  # W x + b, U h + b, the state -> the next one


def tanh_step(now: Parts, past: Parts, _: State) -> State:
    """One step of an RNN, tanh(now + past): (n, h) twice -> the next state."""
    return ((now[0] + past[0]).apply(TANH),)


def relu_step(now: Parts, past: Parts, _: State) -> State:
    """One step of an RNN, relu(now + past): (n, h) twice -> the next state."""
    return ((now[0] + past[0]).apply(f.RELU, 0),)


def lstm_step(now: Parts, past: Parts, state: State) -> State:
    """One step of an LSTM: four parts (n, h) twice, state (h, c) -> the next state."""
    i, keep, g, o = (a + b for a, b in zip(now, past, strict=True))
    c = keep.apply(f.SIGMOID) * state[1] + i.apply(f.SIGMOID) * g.apply(TANH)
    return o.apply(f.SIGMOID) * c.apply(TANH), c


def gru_step(now: Parts, past: Parts, state: State) -> State:
    """One step of a GRU: three parts (n, h) twice, state (h,) -> the next state."""
    (r, z, n), (look, keep, back) = now, past
    new = (n + (r + look).apply(f.SIGMOID) * back).apply(TANH)
    return (new + (z + keep).apply(f.SIGMOID) * (state[0] - new),)


class _Cell(Module):
    """One step as a layer: its weights, and what it does with a batch or with a single input."""

    gates, states = 1, 1
    step: Step = staticmethod(tanh_step)

    @takes_placement
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        self.input_size = count(self, "input_size", input_size)
        self.hidden_size = count(self, "hidden_size", hidden_size)
        self.bias = yes_or_no(type(self).__name__, "bias", bias)
        bound, rows = 1 / math.sqrt(hidden_size), self.gates * hidden_size
        self.weight_ih = uniform_(zeros(rows, input_size), -bound, bound)
        self.weight_hh = uniform_(zeros(rows, hidden_size), -bound, bound)
        self.bias_ih = uniform_(zeros(rows), -bound, bound) if bias else None
        self.bias_hh = uniform_(zeros(rows), -bound, bound) if bias else None

    def _next(self, x: Any, state: Any) -> State:
        v = as_var(x)
        if v.ndim not in (1, 2) or v.shape[-1] != self.input_size:
            raise ShapeError(f"{type(self).__name__} takes x (n, {self.input_size})", f"shape {v.shape}")
        shape = (*v.shape[:-1], self.hidden_size)
        parts = _state(type(self).__name__, state, [shape] * self.states, v)
        now, past = linear(v, self.weight_ih, self.bias_ih), linear(parts[0], self.weight_hh, self.bias_hh)
        return self.step(gates(now, self.gates), gates(past, self.gates), parts)

    def execute(self, x: Any, state: Any = None) -> Any:
        """(n, input_size), and the state (n, hidden_size) or None for zeros -> the next state."""
        return self._next(x, state)[0]

    def extra_repr(self) -> str:
        """Its sizes."""
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


def _state(name: str, given: Any, shapes: list[tuple[int, ...]], x: Var) -> State:
    """The state to begin with: zeros unless given, in as many parts as there are shapes."""
    if given is None:
        return tuple(zeros(s, dtype=x.dtype).stop_grad() for s in shapes)
    parts = tuple(map(as_var, given)) if len(shapes) > 1 and isinstance(given, (tuple, list)) else (as_var(given),)
    if [p.shape for p in parts] != shapes:
        wanted, pair = " and ".join(map(str, shapes)), len(shapes) > 1
        asked = f"{name} begins with " + (f"a pair (h, c) of shapes {wanted}" if pair else f"a state of shape {wanted}")
        raise ShapeError(asked, ", ".join(str(p.shape) for p in parts), f"{name}(x, (h, c))" if pair else "")
    return parts


def _bend(nonlinearity: str) -> Step:
    """The step of an RNN."""
    steps = {"tanh": tanh_step, "relu": relu_step}
    if nonlinearity not in steps:
        raise ArgumentError("the nonlinearity of an RNN is 'tanh' or 'relu'", short(nonlinearity))
    return steps[nonlinearity]


class RNNCell(_Cell):
    """h' = tanh(W x + U h), one step.

    Args:
        input_size, hidden_size: lengths of x and h.
        bias: whether something is added.
        nonlinearity: "tanh" or "relu".

    Example:
        >>> RNNCell(3, 2)(jt.ones(5, 3)).shape
        (5, 2)
    """

    step = property(lambda self: _bend(self.nonlinearity))  # which may change

    @takes_placement
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh") -> None:
        super().__init__(input_size, hidden_size, bias)
        _bend(nonlinearity)
        self.nonlinearity = nonlinearity


class GRUCell(_Cell):
    """One step of a GRU: x (n, input_size), h (n, hidden_size) -> h'.

    Example:
        >>> GRUCell(3, 2)(jt.ones(5, 3), jt.zeros(5, 2)).shape
        (5, 2)
    """

    gates = 3
    step: Step = staticmethod(gru_step)


class LSTMCell(_Cell):
    """One step of an LSTM: x (n, input_size), state (h, c), each (n, hidden_size) -> (h', c').

    Example:
        >>> h, c = LSTMCell(3, 2)(jt.ones(5, 3))
        >>> h.shape, c.shape
        ((5, 2), (5, 2))
    """

    gates, states = 4, 2
    step: Step = staticmethod(lstm_step)

    def execute(self, x: Any, state: Any = None) -> State:
        """(n, input_size), and the state (h, c) or None for zeros -> the next state."""
        return self._next(x, state)


def _by_steps(
    now: Var, state: State, weight: Var, bias: Var | None, after: Var | None, lengths: Var | None, step: Step,
    backwards: bool,
) -> State:  # fmt: skip
    """All steps: W x + b (t, n, gates * h), the state to begin with, U, b, ... -> (t, n, h) and the last state."""
    many = weight.shape[0] // state[-1].shape[-1]
    parts, weight = list(enumerate(moments(now, many))), turned(weight, now.shape[0])
    after = None if after is None else turned(after, now.shape[0])
    bias = None if bias is None else spread(bias)
    shown: list[Var] = []
    for t, part in reversed(parts) if backwards else parts:
        past = state[0] @ weight
        new = step(part, gates(past if bias is None else past + bias, many), state)
        if after is not None:
            new = (new[0] @ after, *new[1:])
        if lengths is None:
            state = new
        else:
            over = (lengths <= t).unsqueeze(1)
            state = tuple(n.where_not(over, s) for n, s in zip(new, state, strict=True))
        shown.append(state[0])
    rows = concat(shown[::-1] if backwards else shown)  # (t * n, h)
    return (rows.reshape(len(shown), *shown[0].shape), *state)


_steps = template(_by_steps)


class _Recurrent(Module):
    """Steps along a sequence, in one direction or both, in layers above each other."""

    gates, states = 1, 1
    step: Step = staticmethod(tanh_step)
    merged = True  # both biases may be added at once, ahead of the steps
    proj_size = 0

    @takes_placement
    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False,
    ) -> None:  # fmt: skip
        self.input_size = count(self, "input_size", input_size)
        self.hidden_size = count(self, "hidden_size", hidden_size)
        name = type(self).__name__
        self.num_layers, self.bias = count(self, "num_layers", num_layers), yes_or_no(name, "bias", bias)
        self.batch_first = yes_or_no(name, "batch_first", batch_first)
        self.bidirectional = yes_or_no(name, "bidirectional", bidirectional)
        self.dropout = float(number(name, "dropout", dropout, 0, 1))
        if self.dropout and self.num_layers == 1:
            warn(f"{name} applies dropout between layers, and has only one: dropout={self.dropout:g} changes nothing")
        for layer in range(num_layers):
            for end in self._ends:
                self._make(f"l{layer}{end}", layer)

    @property
    def _ends(self) -> tuple[str, ...]:
        """How the names of the directions end."""
        return ("", "_reverse") if self.bidirectional else ("",)

    @property
    def _shown(self) -> int:
        """The length of h."""
        return self.proj_size or self.hidden_size

    def _make(self, name: str, layer: int) -> None:
        rows, bound = self.gates * self.hidden_size, 1 / math.sqrt(self.hidden_size)
        width = self._shown * len(self._ends) if layer else self.input_size
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, width), "weight_hh": (rows, self._shown)}
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        for what, shape in shapes.items():
            setattr(self, f"{what}_{name}", uniform_(zeros(shape), -bound, bound))

    def execute(self, x: Any, state: Any = None) -> tuple[Any, Any]:
        """A sequence, and the state to begin with or None for zeros -> all h of the last layer, and the last states.

        Sequences are (t, n, input_size), (n, t, input_size) with batch_first, (t, input_size) for a single one, or a
        `PackedSequence`; states are (layers * directions, n, hidden_size).
        """
        if isinstance(x, PackedSequence):
            return self._packed(x, state)
        v = as_var(x)
        if v.ndim not in (2, 3) or v.shape[-1] != self.input_size:
            axes = "n, t" if self.batch_first else "t, n"
            asked = f"{type(self).__name__} takes sequences ({axes}, {self.input_size}), or (t, {self.input_size})"
            raise ShapeError(asked, f"shape {v.shape}", f"{type(self).__name__}(input_size=x.shape[-1], ...)")
        if v.ndim == 2:
            out, last = self._along(v.unsqueeze(1), self._begin(state, v, ()))
            return out.squeeze(1), self._end(tuple(s.squeeze(1) for s in last))
        steps = v.transpose(0, 1) if self.batch_first else v
        out, last = self._along(steps, self._begin(state, v, (steps.shape[1],)))
        return out.transpose(0, 1) if self.batch_first else out, self._end(last)

    def _packed(self, x: PackedSequence, state: Any) -> tuple[PackedSequence, Any]:
        """Padded on the way in, packed on the way out; the state stands still where a sequence has ended."""
        padded, lengths = pad_packed_sequence(x)
        out, last = self._along(padded, self._begin(state, padded, (padded.shape[1],)), as_var(lengths))
        return pack_padded_sequence(out, lengths, enforce_sorted=x.sorted_indices is None), self._end(last)

    def _begin(self, state: Any, x: Var, batch: tuple[int, ...]) -> State:
        """The state as (layers * directions, n, h), once for each of its parts."""
        many = self.num_layers * len(self._ends)
        shapes = [(many, *batch, n) for n in (self._shown, self.hidden_size)[: self.states]]
        parts = _state(type(self).__name__, state, shapes, x)
        return parts if batch else tuple(p.unsqueeze(1) for p in parts)

    def _end(self, last: State) -> Any:
        return last[0] if self.states == 1 else last

    def _along(self, x: Var, begin: State, lengths: Var | None = None) -> tuple[Var, State]:
        """(t, n, input_size) through all layers and directions."""
        if not x.shape[0]:
            raise ShapeError(f"{type(self).__name__} takes a sequence of one step or more", f"shape {x.shape}")
        ends: list[State] = []
        for layer in range(self.num_layers):
            if layer:
                x = dropout(x, self.dropout, self.is_train)
            sides = []
            for end in self._ends:
                state = tuple(part[len(ends)] for part in begin)
                out, last = self._one_way(x, state, f"l{layer}{end}", lengths)
                sides.append(out)
                ends.append(last)
            x = concat(sides, 2) if self.bidirectional else sides[0]
        return x, tuple(stack(list(part)) for part in zip(*ends, strict=True))

    def _one_way(self, x: Var, state: State, name: str, lengths: Var | None) -> tuple[Var, State]:
        """All steps of one layer in one direction: (t, n, width) -> (t, n, h), and the last state."""
        first, later = (getattr(self, f"bias_{way}_{name}", None) for way in ("ih", "hh"))
        if first is not None and self.merged:
            first, later = first + later, None
        now = x @ turned(getattr(self, f"weight_ih_{name}"), uses=1)
        now = now if first is None else now + first
        weight, after = getattr(self, f"weight_hh_{name}"), getattr(self, f"weight_hr_{name}", None)
        steps = _steps if isinstance(self.step, FunctionType) else _by_steps  # a method may read what changes
        out, *last = steps(now, state, weight, later, after, lengths, self.step, name.endswith("_reverse"))
        return out, tuple(last)

    def extra_repr(self) -> str:
        """Its sizes, and what is not as usual."""
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False,
                 "proj_size": 0}  # fmt: skip
        odd = [f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        return f"{self.input_size}, {self.hidden_size}{''.join(odd)}"


class RNN(_Recurrent):
    """h' = tanh(W x + U h) along a sequence.

    Args:
        input_size, hidden_size: lengths of x and h.
        num_layers: layers above each other; each reads the h of the one below.
        nonlinearity: "tanh" or "relu".
        bias: whether something is added.
        batch_first: sequences are (n, t, ...) instead of (t, n, ...).
        dropout: probability with which numbers between layers are forgotten while training.
        bidirectional: a second layer beside each, which reads backwards; their h stand side by side.

    Example:
        >>> out, h = RNN(3, 2)(jt.ones(7, 5, 3))
        >>> out.shape, h.shape
        ((7, 5, 2), (1, 5, 2))
    """

    step = property(lambda self: _bend(self.nonlinearity))  # which may change

    @takes_placement
    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
        _bend(nonlinearity)
        self.nonlinearity = nonlinearity


class GRU(_Recurrent):
    """A GRU along a sequence; arguments as in `RNN`, without nonlinearity.

    Source: Cho et al. 2014 (arXiv:1406.1078).

    Example:
        >>> out, h = GRU(3, 2, bidirectional=True)(jt.ones(7, 5, 3))
        >>> out.shape, h.shape
        ((7, 5, 4), (2, 5, 2))
    """

    gates = 3
    step: Step = staticmethod(gru_step)
    merged = False


class LSTM(_Recurrent):
    """An LSTM along a sequence; arguments as in `RNN`, without nonlinearity. Its state is a pair (h, c).

    Args:
        proj_size: multiply h by one more matrix, so that it has this length; 0 leaves it as it is.

    Source: Hochreiter and Schmidhuber 1997, "Long short-term memory".

    Example:
        >>> out, (h, c) = LSTM(3, 2, num_layers=2, batch_first=True)(jt.ones(5, 7, 3))
        >>> out.shape, h.shape, c.shape
        ((5, 7, 2), (2, 5, 2), (2, 5, 2))
    """

    gates, states = 4, 2
    step: Step = staticmethod(lstm_step)

    @takes_placement
    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
    ) -> None:  # fmt: skip
        self.proj_size = whole("LSTM", "proj_size", proj_size, 0)
        if self.proj_size >= count(self, "hidden_size", hidden_size):
            raise ArgumentError(f"LSTM takes a proj_size below hidden_size, {hidden_size}", short(proj_size))
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
