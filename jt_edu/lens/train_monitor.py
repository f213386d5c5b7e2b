"""Train monitor: one step of a training loop after the other, and what is worth knowing about each.

    t = Training(net, optimizer, loss, batches)      loss(net, x, y) -> Var
    t.step()                                         the next batch; its row: loss, gradients, updates, dead units
    t.rows, t.kept                                   all of them; the last steps, which can be gone back to

Nothing is computed twice: the norms are computed in the very kernels that read gradients and parameters to move them.
The optimizer's rule is given a companion that asks for three sums beside each new parameter, and forward hooks on the
ReLU modules promise one number each, which the step computes along with the loss.
Nothing here draws, and nothing here knows notebooks.
"""

from __future__ import annotations

import inspect
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jt_edu.base.context import no_grad
from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import own
from jt_edu.base.plural import plural
from jt_edu.base.trace import plain
from jt_edu.draw.chart import figure
from jt_edu.introspect.explain import in_words
from jt_edu.ir.node import Node
from jt_edu.lens.loss_spikes import NEAR, SPIKE, height, is_spike, thinned
from jt_edu.lens.validation import measured
from jt_edu.nn.activation import ReLU, ReLU6
from jt_edu.nn.module import Module
from jt_edu.ops.create import zeros
from jt_edu.ops.deferred_outputs import ride_along
from jt_edu.optim.base import Optimizer
from jt_edu.variable.random import default_generator
from jt_edu.variable.var import Var

Loss = Callable[..., Var]
Row = dict[str, Any]

SUMS = ("gradient", "weight", "update")  # of squares, for each parameter
DEAD = (
    "A unit of a ReLU module (a channel of images, a feature of anything else) is dead in a step if its output is 0 "
    "for the whole batch. Only modules are seen: relu called as a function has no hook."
)
MOST = 2000  # rows; when there are more, they are thinned, evenly


@dataclass(frozen=True)
class Kept:
    """What a step began with."""

    batch: tuple[Any, ...]
    nodes: tuple[tuple[Var, Node], ...]  # parameters and buffers, as they were
    drawn: tuple[int, int]  # the random generator
    bytes: int


@dataclass
class Training:
    """A loop that can be stopped between any two steps. An interrupt leaves all parameters moved, or none.

    Example:
        >>> net = jt.nn.Sequential(jt.nn.Linear(2, 4), jt.nn.ReLU(), jt.nn.Linear(4, 1))
        >>> x, y = jt.ones(8, 2), jt.zeros(8, 1)
        >>> optimizer = jt.optim.SGD(net.parameters(), lr=0.1)
        >>> t = Training(net, optimizer, lambda net, x, y: ((net(x) - y) ** 2).mean(), [(x, y)])
        >>> row = t.step()
        >>> row["step"], t.modules, t.units
        (1, ['0 Linear', '2 Linear'], ['1 ReLU'])
    """

    model: Module
    optimizer: Optimizer
    loss: Loss
    batches: Iterable[Any]
    scheduler: Any = None  # something with a method step(), or step(loss)
    keep: int = 16  # last steps that can be gone back to, and as many spikes
    keep_bytes: int = 256 << 20  # for all of them together
    validation: Iterable[Any] | None = None  # batches that are not trained on
    accuracy: Loss | None = None  # of a batch of them, as a share
    checks: list[Row] = field(default_factory=list)  # what validation gave, and after how many steps
    rows: list[Row] = field(default_factory=list)
    kept: OrderedDict[int, Kept] = field(default_factory=OrderedDict)
    done: int = 0
    epoch: int = 0
    thinned: int = 0  # how often older rows were thinned

    def __post_init__(self) -> None:
        _check(self)
        names = {id(p): _place(self.model, name.rpartition(".")[0]) for name, p in own(self.model).named_parameters()}
        self.params: list[Var] = [p for group in self.optimizer.param_groups for p in group["params"]]
        self.owners = [names.get(id(p), "(elsewhere)") for p in self.params]
        self.modules = list(dict.fromkeys(self.owners))
        self.watches = type(self.optimizer).step is Optimizer.step  # a rule of its own: LBFGS
        self._sums = [{f"sum of {name}": _zero(p) for name in SUMS} for p in self.params]
        self._seen: list[tuple[str, Var]] = []
        found = [(n, m) for n, m in own(self.model).named_modules() if isinstance(m, (ReLU, ReLU6))]
        self._relus = [(_place(self.model, name), module) for name, module in found]
        held = {id(var): var for var in (*own(self.model).parameters(), *own(self.model).buffers(), *self.params)}
        self._held = tuple(held.values())
        self.units: list[str] = []
        self._left: Iterator[Any] = iter(())
        self._near: deque[float] = deque(maxlen=NEAR)  # losses; of the rows some may be thinned out
        self._tells = self.scheduler is not None and not _takes(self.scheduler.step)

    # one step

    def step(self) -> Row:
        """Train on the next batch; what was found out."""
        batch, begin = self._next(), time.perf_counter()
        kept = self._keep(batch)
        loss = self._forward(batch)
        if self.watches:
            with self._watching():
                self.optimizer.step(loss)
        else:
            loss = self.optimizer.step(lambda: self._forward(batch)) or loss
        value = float(loss.item())
        row = self._row(value, (time.perf_counter() - begin) * 1e3, kept)
        self._near.append(value)
        self.done += 1
        self.rows.append(row)
        self.kept[self.done] = kept
        self._forget()
        if self.scheduler is not None:  # last: the step is made, whatever becomes of this
            self.scheduler.step(*[value] * self._tells)
        return row

    def _next(self) -> tuple[Any, ...]:
        batch = next(self._left, None)
        if batch is None:
            self.validate()
            self._left, self.epoch = iter(self.batches), self.epoch + 1
            batch = next(self._left, None)
        if batch is None:
            raise ArgumentError(
                "training loops over the batches again and again", f"no batch in epoch {self.epoch}",
                "a list or a DataLoader; a generator can be used only once",
            )  # fmt: skip
        return tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)

    def validate(self) -> None:
        """Loss and accuracy on the batches for validation, once after a step: after each epoch, and at the end."""
        if self.validation is None or not self.done or (self.checks and self.checks[-1]["step"] == self.done):
            return
        found = measured(self.model, self.loss, self.validation, self.accuracy)
        named = {name: None if value is None else _short(value) for name, value in found.items()}
        self.checks.append({"step": self.done, **named})
        if len(self.checks) > MOST:
            del self.checks[1::2]

    def _forward(self, batch: tuple[Any, ...]) -> Var:
        self._seen = []
        hooks = [m.register_forward_hook(self._look(name)) for name, m in self._relus]
        try:
            loss = self.loss(self.model, *batch)
        finally:
            for hook in hooks:
                hook.remove()
        if not isinstance(loss, Var) or loss.size != 1:
            found = f"shape {loss.shape}" if isinstance(loss, Var) else type(loss).__name__
            raise ArgumentError("loss(model, *batch) returns one number, a Var of shape ()", found, "its .mean()")
        ride_along(tuple(var for _, var in self._seen))
        return loss

    def _look(self, name: str) -> Callable[..., None]:
        """A hook that promises the share of dead units of an output, and lets the output go."""

        def hook(_: Module, __: tuple[Any, ...], out: Var) -> None:
            calls = sum(seen.split(" (call")[0] == name for seen, _ in self._seen)
            with no_grad():
                share = dead_share(out)
            self._seen.append((f"{name} (call {calls + 1})" if calls else name, share))

        return hook

    @contextmanager
    def _watching(self) -> Iterator[None]:
        """Let the optimizer compute the sums along with each new parameter; they are no part of its state."""
        optimizer, rule = self.optimizer, self.optimizer.rule

        def watched(p: Var, g: Var, state: Mapping[str, Any], factor: Any) -> tuple[Var, dict[str, Var]]:
            new, states = rule(p, g, state, factor)
            parts = zip(SUMS, (g, p, new - p), strict=True)
            return new, {**states, **{f"sum of {name}": _squares(part) for name, part in parts}}

        for state, sums in zip(optimizer.state, self._sums, strict=True):
            state.update(sums)
        for group in optimizer.param_groups:
            group["watched"] = True  # a step that was planned without sums is another one
        vars(optimizer)["rule"] = watched
        try:
            yield
        finally:
            del vars(optimizer)["rule"]
            for group in optimizer.param_groups:
                group.pop("watched", None)
            for state, sums in zip(optimizer.state, self._sums, strict=True):
                for name in sums:
                    state.pop(name, None)

    def _row(self, loss: float, milliseconds: float, before: Kept) -> Row:
        """What is worth knowing about the step that was made just now."""
        stood = {id(var): node for var, node in before.nodes}
        totals = {name: dict.fromkeys(SUMS, 0.0) for name in self.modules}
        for p, owner, sums in zip(self.params, self.owners, self._sums, strict=True):
            if self.watches and p.node is not stood.get(id(p)):  # else no gradient reached it
                for name in SUMS:
                    totals[owner][name] += float(sums[f"sum of {name}"].numpy())
        shares = [(name, float(var.item())) for name, var in self._seen]
        self._seen = []
        self.units = self.units or [name for name, _ in shares]
        known = dict(shares)
        moved = totals.values() if self.watches else ()
        return {
            "step": self.done + 1,
            "epoch": self.epoch,
            "loss": _short(loss),
            "lr": _short(self.optimizer.lr),
            "ms": _short(milliseconds),
            "gradient": [_short(math.sqrt(t["gradient"])) for t in moved],
            "ratio": [_short(math.sqrt(t["update"] / t["weight"])) if t["weight"] else None for t in moved],
            "dead": [known.get(name) for name in self.units],
            "spike": is_spike(loss, [*self._near], *[r["loss"] for r in self.rows[:1]]),
        }

    # going back

    def _keep(self, batch: tuple[Any, ...]) -> Kept:
        """The arrays as they are: a step makes new ones, so nothing is copied."""
        generator = default_generator()
        arrays = (*self._held, *(b for b in batch if isinstance(b, (Var, np.ndarray))))
        nodes = tuple((var, var.node) for var in self._held)
        return Kept(batch, nodes, (generator.key, generator.drawn), sum(a.nbytes for a in arrays))

    def _forget(self) -> None:
        """Keep the last steps, as many spikes, the highest first, and no more bytes than agreed; thin the rows."""
        heights = {row["step"]: height(row) for row in self.rows if row["spike"] and row["step"] in self.kept}
        spikes = sorted(heights, key=lambda step: (heights[step], -step))
        ordinary = [step for step in self.kept if step not in heights]
        while len(ordinary) > self.keep or len(spikes) > self.keep:
            del self.kept[(ordinary if len(ordinary) > self.keep else spikes).pop(0)]
        while self.kept_bytes > self.keep_bytes and len(self.kept) > 1:
            del self.kept[(ordinary if ordinary and ordinary[0] != self.done else spikes).pop(0)]
        if len(self.rows) > MOST:
            self.rows = thinned(self.rows, MOST)
            self.thinned += 1

    @property
    def kept_bytes(self) -> int:
        """Bytes of batches, parameters and buffers of the steps that can be gone back to."""
        return sum(kept.bytes for kept in self.kept.values())

    @contextmanager
    def at(self, step: int) -> Iterator[Var]:
        """The loss of a kept step, not computed yet, with all parameters as they were then; afterwards all is as now.

        Raises:
            ArgumentError: the step is not kept.
        """
        if step not in self.kept:
            known = ", ".join(map(str, self.kept)) or "none yet"
            raise ArgumentError("you can go back only to the last steps", f"step {step}", f"one of: {known}")
        kept, generator = self.kept[step], default_generator()
        now = [(var, var.node) for var, _ in kept.nodes]
        drawn = generator.key, generator.drawn
        try:
            for var, node in kept.nodes:
                var.node = node
            generator.key, generator.drawn = kept.drawn
            yield self.loss(self.model, *kept.batch)
        finally:
            for var, node in now:
                var.node = node
            generator.key, generator.drawn = drawn


# numbers


def dead_share(out: Var) -> Var:
    """The share of the units of an output that are 0 for the whole batch.

    Example:
        >>> dead_share(jt.array([[0.0, 1.0], [0.0, 0.0]])).item()
        0.5
    """
    unit = 1 if out.ndim >= 4 else out.ndim - 1
    most = out.max(tuple(k for k in range(out.ndim) if k != unit)) if out.ndim > 1 else out
    return (most <= 0).float().mean()


def _place(model: Module, path: str) -> str:
    """Where a parameter stands, with the class where a number says too little: "body.conv1", "layers.2 Linear"."""
    if not path:
        return "(model)"
    return f"{path} {type(model.get_submodule(path)).__name__}" if path.rpartition(".")[2].isdecimal() else path


def _squares(x: Var) -> Var:
    """The sum of squares, in 32 bits or more."""
    wide = x if x.dtype == "float64" else x.float()
    return (wide * wide).sum()


def _zero(p: Var) -> Var:
    return zeros((), dtype="float64" if p.dtype == "float64" else "float32").stop_grad()


def _told(check: Row) -> str:
    right = "" if check["accuracy"] is None else f", accuracy {figure(check['accuracy'])}"
    return f"loss {figure(check['loss'])}{right}"


def _short(number: float) -> float | str:
    """Seven digits, which is what a 32-bit float has; a number that is not finite as text."""
    return plain(float(f"{number:.7g}"))


def _takes(function: Callable[..., Any], *args: Any) -> bool:
    """Whether it can be called with these arguments."""
    try:
        inspect.signature(function).bind(*args)
    except TypeError:
        return False
    return True


def _check(t: Training) -> None:
    if not isinstance(t.model, Module):
        raise ArgumentError("Training(model, optimizer, loss, batches) trains a Module", type(t.model).__name__)
    if not isinstance(t.optimizer, Optimizer):
        raise ArgumentError("the second argument is an optimizer", type(t.optimizer).__name__, "jt.optim.SGD(...)")
    if not callable(t.loss):
        raise ArgumentError("the third argument is a function loss(model, *batch)", type(t.loss).__name__)
    if not isinstance(t.batches, Iterable):
        raise ArgumentError("the fourth argument yields batches", type(t.batches).__name__, "a DataLoader or a list")
    if t.validation is not None and (not isinstance(t.validation, Iterable) or isinstance(t.validation, Iterator)):
        found, way = type(t.validation).__name__, "a DataLoader or a list, which begin anew after each epoch"
        raise ArgumentError("validation yields batches", found, way)
    if t.accuracy is not None and (t.validation is None or not callable(t.accuracy)):
        raise ArgumentError("accuracy is a function for the batches of validation", repr(t.accuracy), "validation=...")
    step = getattr(t.scheduler, "step", None)
    if t.scheduler is not None and not (callable(step) and (_takes(step) or _takes(step, 0.0))):
        way = "jt.optim.StepLR(optimizer, ...)"
        raise ArgumentError("a scheduler has a method step(), or step(loss)", repr(t.scheduler), way)
    if not all(isinstance(most, int) and most >= 1 for most in (t.keep, t.keep_bytes)):
        raise ArgumentError("at least one step is kept", f"keep={t.keep!r}, keep_bytes={t.keep_bytes!r}")


# as plain data


def page_part(t: Training, status: Mapping[str, Any]) -> dict[str, Any]:
    """What a page says of a training: summary, notes, and `train`, with every row and what its lists stand for.

    Summary and notes say nothing that the next step would change: a live view shows them as they were at first.
    """
    train = {
        "modules": t.modules if t.watches else [], "units": t.units, "rows": list(t.rows), "status": dict(status),
        "checks": list(t.checks), "spike": SPIKE, "dead": DEAD,
    }  # fmt: skip
    rule = type(t.optimizer).__name__
    notes = [] if t.watches else [f"{rule} moves parameters by itself: no norms are known."]
    return {"summary": f"{type(t.model).__name__}, trained by {rule}.", "notes": notes, "train": train}


def text(t: Training) -> str:
    """How it went, and the last row as a table, for those who read."""
    if not t.rows:
        return "No step of training yet."
    last, spikes = t.rows[-1], sum(row["spike"] for row in t.rows)
    rows = [f"{plural(t.done, 'step')} of training, loss {figure(last['loss'])}, {plural(spikes, 'spike')}."]
    rows.append(f"The last {plural(len(t.kept), 'step')} can be opened as a tape: {in_words(t.kept_bytes, 'B')}.")
    rows += ["Of older steps some were left out."] if t.thinned else []
    rows += [f"Validation after step {c['step']}: {_told(c)}." for c in t.checks[-1:]]
    rows += [f"{'module':<28}{'gradient':>12}{'update/weight':>16}"] if t.watches else []
    parts = zip(t.modules if t.watches else (), last["gradient"], last["ratio"], strict=True)
    rows += [f"{name[:27]:<28}{figure(g):>12}{figure(r):>16}" for name, g, r in parts]
    dead = [(name, share) for name, share in zip(t.units, last["dead"], strict=True) if share is not None]
    return "\n".join([*rows, *(f"{name[:27]:<28}{share:>12.1%} of its units are dead" for name, share in dead)])
