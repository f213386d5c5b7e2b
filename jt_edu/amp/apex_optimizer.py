"""Apex optimizer: how does an optimizer make its step with gradients of a loss that was scaled?

    open        what is in .grad is put aside                       m.grad, unscaled, of earlier losses
    inside      scaled.backward(), or optimizer.backward(scaled)    p.grad, scaled
    close       m.grad = what was there + p.grad / scale            and: was any inf or nan?
    step()      moves, and is told to masters' models; or is left out

The optimizer stays the object that it is, so that a schedule finds its groups: `Scaled` answers in its place what has
to do with gradients.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from jt_edu.amp.apex_masters import Masters
from jt_edu.amp.loss_scaler import LossScaler, let_go, make, unscaled
from jt_edu.base.context import current, no_grad
from jt_edu.base.errors import ArgumentError, GradientError
from jt_edu.base.own import doing
from jt_edu.optim.base import Optimizer
from jt_edu.optim.commit import added, not_twice
from jt_edu.variable.autocast import inside
from jt_edu.variable.parallel_context import place
from jt_edu.variable.var import Var

ANSWERED = ("step", "zero_grad", "backward", "add_param_group", "state_dict", "load_state_dict")


class Scaled:
    """What an optimizer does with scaled gradients.

    Args:
        optimizer: the one that moves the parameters.
        scalers: of the losses; the first one is that of `step(loss)`.
        masters: halves get float32 copies, which the optimizer moves instead.
        verbosity: 0: nothing is printed.
    """

    def __init__(
        self, optimizer: Optimizer, scalers: list[LossScaler], masters: bool | None = False, verbosity: int = 1
    ) -> None:
        self.optimizer, self.scalers, self.verbosity = optimizer, scalers, verbosity
        self.own = {name: doing(optimizer, name) for name in ANSWERED}
        self.masters = Masters(optimizer, wanted=bool(masters))
        self.model = self.masters.model  # whose .grad a loss fills
        self.backward = self.model.backward if masters else self.own["backward"]
        self.aside: list[Var | None] | None = None  # unscaled gradients, while scaled ones are in .grad
        self.left_out = ""  # why the next step is
        self.done = 0  # how many losses `next_loss` has scaled since the last step

    def attached(self) -> Scaled:
        """From now on the optimizer asks here."""
        vars(self.optimizer).update({name: getattr(self, name) for name in ANSWERED}, _amp=self)
        return self

    def plain(self) -> bool:
        """Whether nothing is scaled or copied, so that the optimizer does all of it alone."""
        return self.model is self.optimizer and all(scaler.plain for scaler in self.scalers)

    # gradients

    def open(self) -> None:
        """Put aside what the optimizer has collected; nothing, if scaled gradients wait for more of them."""
        if self.aside is None:
            self.aside = [m.grad for _, m in self.masters.both()]
            for p, _ in self.masters.both():
                p.grad = None

    def give_back(self) -> None:
        """As it was before."""
        for (_, m), g in zip(self.masters.both(), self.aside or (), strict=False):
            m.grad = g
        self.aside = None

    def close(self, scaler: LossScaler) -> bool:
        """Add the gradients of the model, unscaled, to what was put aside; whether one was inf or nan on any rank."""
        self.model._whole_batch()
        fresh = [(m, p.grad) for p, m in self.masters.both() if p.grad is not None]
        new, overflow = unscaled([g for _, g in fresh], scaler)
        self.give_back()
        with no_grad():
            totals = added([m for m, _ in fresh], [g.cast(m.dtype) for g, (m, _) in zip(new, fresh, strict=True)])
        for (m, _), total in zip(fresh, totals, strict=True):
            m.grad = total
        self.optimizer._shared = [m.grad for _, m in self.masters.both() if m.grad is not None]
        return overflow

    def graded(self, loss: Var, scaler: LossScaler, retain_graph: bool, delay_unscale: bool = False) -> None:
        """Add the gradients of a loss, by the optimizer's own `backward`, which makes the loss a number."""
        with scaling(loss, [self], scaler, delay_unscale) as scaled:
            self.backward(scaled, retain_graph)
            let_go(loss, scaled, scaler, retain_graph)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of the optimizer, and those of the model."""
        self.aside = None
        self.own["zero_grad"](set_to_none)
        if self.model is not self.optimizer:
            self.model.zero_grad(set_to_none)

    @contextmanager
    def next_loss(self, loss: Var) -> Iterator[Var]:
        """The next loss, scaled, if each has a scale of its own and they come in the same order before each step."""
        if self.done == len(self.scalers):
            found = f"loss number {self.done + 1} of num_loss={len(self.scalers)}"
            raise ArgumentError("a wrapped optimizer makes its step after its losses", found, "step(), or more of them")
        with scaling(loss, [self], self.scalers[self.done], number=self.done) as scaled:
            yield scaled
        self.done += 1

    # moving

    def step(self, loss: Any = None, retain_graph: bool = False) -> Var | None:
        """Move the parameters by unscaled gradients; with a loss, scale it and take its gradients first.

        Raises:
            ArgumentError: gradients are still scaled, or a function in place of a loss, whose steps cannot be left out.
            GradientError: halves have gradients that no scale was divided out of for their masters.
        """
        self.done = 0
        if self.plain():
            return self._moved(loss, retain_graph)
        if loss is not None and not isinstance(loss, Var):
            raise ArgumentError("a step that may be left out takes a loss", type(loss).__name__,
                                "amp.scale_loss(loss, optimizer), then step()")  # fmt: skip
        if loss is not None:
            not_twice(loss, self.model.param_groups)
            self.graded(loss, self.scalers[0], retain_graph)
        if self.aside is not None:
            raise ArgumentError(
                "a step is made with unscaled gradients", "scaled ones, of an amp.scale_loss that is not over",
                "step() after the with statement, and without delay_unscale in the last one",
            )  # fmt: skip
        pairs = self.masters.pairs()
        if any(p.grad is not None for p, _ in pairs) and all(m.grad is None for _, m in pairs):
            raise GradientError(
                "float32 masters of halves move by the gradients of a scaled loss", "those of loss.backward() alone",
                "scaled.backward() inside of with amp.scale_loss(loss, optimizer) as scaled:, or optimizer.step(loss)",
            )  # fmt: skip
        if self.left_out:
            tell(self.verbosity, self.left_out)
            self.left_out = ""
        else:
            self._moved(None, retain_graph=False)
        self._let_go()
        return None

    def _moved(self, loss: Any, retain_graph: bool) -> Var | None:
        """The optimizer's own step, in float32 also where operators cast."""
        self.masters.follow()
        with inside(None):
            answer: Var | None = make(self.own["step"], loss, retain_graph)
        self.masters.publish()
        return answer

    def _let_go(self) -> None:
        """Masters' gradients, which the model's zero_grad does not know, and those that `backward` collected."""
        self.optimizer._mine = self.model._mine
        for _, m in self.masters.pairs():
            m.grad = None
        self.optimizer._let_go(None)

    # groups and states

    def add_param_group(self, group: Any) -> None:
        """Train further parameters, with masters for halves."""
        self.own["add_param_group"](group)
        if self.model is not self.optimizer:
            self.masters.add_group()

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's, with its masters."""
        return self.masters.save(self.own["state_dict"]())

    def load_state_dict(self, saved: Any) -> None:
        """Go on with the optimizer's, and the masters, if they are there."""
        self.own["load_state_dict"](saved)
        self.masters.load()


@contextmanager
def scaling(
    loss: Var, optimizers: Sequence[Scaled], scaler: LossScaler, delay_unscale: bool = False, number: int = 0
) -> Iterator[Var]:
    """A loss, scaled; at the end the gradients of these optimizers are unscaled, and the scale changes by its rule.

    Args:
        loss: one number; a half becomes float32.
        optimizers: whose gradients it has.
        scaler: its scale.
        delay_unscale: the gradients stay scaled, until another loss is done.
        number: what the scaler is called.
    """
    wide = loss.cast("float32") if loss.dtype.is_half else loss
    if scaler.plain and all(one.model is one.optimizer for one in optimizers):
        yield wide
        return
    for one in optimizers:
        one.open()
    scaled = scaler.scaled(wide)
    start = scaled.node.id
    try:
        yield scaled
    except BaseException:
        for one in optimizers:
            one.give_back()
        raise
    if current().rank_state.get("graded") == start:
        current().rank_state["graded"] = loss.node.id  # step(loss) says that it would add the same gradients again
    if (region := current().threads.now.autocast) is not None:
        region.kept.clear()  # casts of parameters that are about to move
    if delay_unscale:
        return
    found = [one.close(scaler) for one in optimizers]
    if scaler.update(any(found)):
        for one in optimizers:
            one.left_out = f"Gradient overflow: a step is left out, and loss scale {number} becomes {scaler.scale}"


def tell(verbosity: int, text: str) -> None:
    """Print a line, on the first rank only."""
    if verbosity and place()[0] == 0:
        print(text)  # noqa: T201  Apex does, and `verbosity` says whether
