"""Averages of weights: a network whose parameters are the mean of those that a training went through.

SWA    mean of the networks at the ends of epochs              AveragedModel(net)
EMA    recent mean: average = decay * average + (1 - decay) * net
                                                               AveragedModel(net, multi_avg_fn=get_ema_...(0.999))

for epoch in range(30):
    train(net)
    averaged.update_parameters(net)
update_bn(loader, averaged)        batch norm has seen none of the averaged weights yet
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from jt_edu.base.context import no_grad
from jt_edu.base.did_you_mean import door
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.base.own import own
from jt_edu.nn.batch_norm import BatchNorm
from jt_edu.nn.module import Module, in_mode
from jt_edu.ops.arguments import choice, number, whole, yes_or_no
from jt_edu.ops.create import sync, zeros
from jt_edu.optim.base import Optimizer
from jt_edu.optim.lr_scheduler.base import Schedule, check_optimizer, per_group
from jt_edu.optim.param_groups import setting
from jt_edu.variable.torch_keywords import place
from jt_edu.variable.var import Var, as_var

__all__ = ["AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn",
           "get_swa_multi_avg_fn", "update_bn"]  # fmt: skip
One = Callable[[Var, Var, Any], Var]
Several = Callable[[list[Var], list[Var], Any], None]

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.optim.swa_utils", __all__)


class AveragedModel(Module):
    """A copy of a network whose parameters are averages of the network's parameters over time.

    Args:
        model: the network; the copy is `averaged.module`.
        device: where the copy lies, "cpu" or another device that there is; by default where the network does.
        avg_fn: what one mean becomes, `avg_fn(mean, now, how many before)`; the mean of all by default.
        multi_avg_fn: the same for all at once: `multi_avg_fn(means, now, how many before)` updates each of the means.
        use_buffers: average running statistics, too; otherwise they, and always whole numbers, are the network's.

    Source: Izmailov et al. 2018, "Averaging Weights Leads to Wider Optima" (arXiv:1803.05407).

    Example:
        >>> net = jt.nn.Linear(1, 1, bias=False)
        >>> averaged = AveragedModel(net)
        >>> for w in (1.0, 4.0):
        ...     _ = net.weight.assign([[w]])
        ...     averaged.update_parameters(net)
        >>> averaged(jt.ones(1, 1)).item(), averaged.n_averaged.item()
        (2.5, 2)
    """

    n_averaged: Var

    def __init__(
        self, model: Module, device: Any = None, avg_fn: One | None = None, multi_avg_fn: Several | None = None,
        use_buffers: bool = False,
    ) -> None:  # fmt: skip
        if not isinstance(model, Module):
            raise ArgumentError("an AveragedModel is a copy of a module", type(model).__name__)
        if avg_fn is not None and multi_avg_fn is not None:
            raise ArgumentError("a mean is computed in one way", "avg_fn and multi_avg_fn", "one of them")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module.to(place("AveragedModel", device))
        self.register_buffer("n_averaged", zeros((), dtype="int64"))
        self._average = multi_avg_fn or partial(_each, avg_fn or get_swa_avg_fn())
        self.use_buffers = yes_or_no("AveragedModel", "use_buffers", use_buffers)

    def execute(self, *args: Any, **named: Any) -> Any:
        """What the averaged network returns."""
        return self.module(*args, **named)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters that the network has now into the means."""
        mine, now = own(self.module), own(model)
        means, news = mine.parameters(), now.parameters()
        _check_alike("parameters", means, news)
        _check_alike("buffers", mine.buffers(), now.buffers())
        statistics = list(zip(mine.buffers(), now.buffers(), strict=True))
        if self.use_buffers:
            floats = [(a, b) for a, b in statistics if a.dtype.is_float]
            means, news = means + [a for a, _ in floats], news + [b for _, b in floats]
            statistics = [(a, b) for a, b in statistics if not a.dtype.is_float]
        with no_grad():
            if self.n_averaged.item() == 0:
                statistics += list(zip(means, news, strict=True))
            else:
                self._average(means, news, self.n_averaged)
            for mean, new in statistics:
                mean.update(new)
            self.n_averaged.update(self.n_averaged + 1)
        sync([*means, *(mean for mean, _ in statistics), self.n_averaged])


def _check_alike(what: str, means: list[Var], news: list[Var]) -> None:
    if [v.shape for v in means] != [v.shape for v in news]:
        found = f"{len(news)} {what} for {len(means)}"
        if len(news) == len(means):
            pairs = [(a.shape, b.shape) for a, b in zip(means, news, strict=True) if a.shape != b.shape]
            found = f"{what} of shape {pairs[0][1]} for {pairs[0][0]}"
        raise ShapeError(
            "an AveragedModel averages networks of the same kind", found, "AveragedModel(model), of this one"
        )


def _each(avg_fn: One, means: list[Var], news: list[Var], count: Any) -> None:
    for mean, new in zip(means, news, strict=True):
        mean.update(avg_fn(mean.detach(), new.detach(), count))


def _mean_of_all(mean: Var, now: Var, count: Any) -> Var:
    found: Var = mean + ((now - mean) / (count + 1)).cast(mean.dtype)
    return found


def _recent_mean(decay: float, mean: Var, now: Var, count: Any) -> Var:  # noqa: ARG001 - as every avg_fn
    return mean * decay + now * (1 - decay)


def get_swa_avg_fn() -> One:
    """mean + (now - mean) / (count + 1): the plain average.

    Example:
        >>> get_swa_avg_fn()(jt.array(1.0), jt.array(4.0), 2).item()
        2.0
    """
    return _mean_of_all


def get_swa_multi_avg_fn() -> Several:
    """The plain average, for all parameters at once.

    Example:
        >>> p = jt.array([1.0]); get_swa_multi_avg_fn()([p], [jt.array([4.0])], 2); p.tolist()
        [2.0]
    """
    return partial(_each, get_swa_avg_fn())


def get_ema_avg_fn(decay: float = 0.999) -> One:
    """decay * mean + (1 - decay) * now: the exponential moving average.

    Example:
        >>> get_ema_avg_fn(0.75)(jt.array(1.0), jt.array(5.0), 2).item()
        2.0
    """
    return partial(_recent_mean, number("get_ema_avg_fn", "decay", decay, 0, 1))


def get_ema_multi_avg_fn(decay: float = 0.999) -> Several:
    """The exponential moving average, for all parameters at once.

    Example:
        >>> p = jt.array([1.0]); get_ema_multi_avg_fn(0.75)([p], [jt.array([5.0])], 2); p.tolist()
        [2.0]
    """
    return partial(_each, get_ema_avg_fn(decay))


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute batch norm's running statistics afresh, as averages over all batches of a loader.

    Args:
        loader: batches; of a tuple or list the first part is the input.
        model: the network, whose mode is afterwards what it was.
        device: to which batches are moved, "cpu" or another that there is; by default they stay.

    Example:
        >>> net = jt.nn.Sequential(jt.nn.BatchNorm(1))
        >>> update_bn([jt.array([[1.0], [3.0]]), jt.array([[5.0], [7.0]])], net)
        >>> net[0].running_mean.tolist()
        [4.0]
    """
    wanted = None if device is None else place("update_bn", device)
    norms = [m for m in own(model).modules() if isinstance(m, BatchNorm) and m.running_mean is not None]
    if not norms:
        return
    momenta = [(m, m.momentum) for m in norms]
    try:
        for norm in norms:
            norm.momentum = None
            for name, start in (("running_mean", 0.0), ("running_var", 1.0), ("num_batches_tracked", 0)):
                held = getattr(norm, name)
                held.update(held.zeros_like() + start)
        with in_mode(model, train=True), no_grad():
            for batch in loader:
                given = batch[0] if isinstance(batch, (tuple, list)) else batch
                model(given if wanted is None else as_var(given).to(wanted))
                sync([v for m in norms for v in own(m).buffers()])
    finally:
        for m, momentum in momenta:
            m.momentum = momentum


class SWALR(Schedule):
    """Move the learning rate to a constant one, along a cosine or a line, in a given number of epochs.

    Args:
        optimizer: whose learning rates it sets.
        swa_lr: the last rate, one for all groups or one for each.
        anneal_epochs: how many epochs it takes.
        anneal_strategy: "cos" or "linear".
        last_epoch: as for every schedule.

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=1.0)
        >>> schedule = SWALR(optimizer, swa_lr=0.2, anneal_epochs=2, anneal_strategy="linear")
        >>> schedule.step()
        >>> round(optimizer.lr, 4)
        0.6
    """

    words = {"anneal_strategy": ("cos", "linear")}  # noqa: RUF012 - as in Schedule

    def __init__(
        self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        groups = len(check_optimizer(optimizer).param_groups)
        self.swa_lrs = [setting("SWALR", "swa_lr", rate) for rate in per_group("swa_lr", swa_lr, groups)]
        self.anneal_epochs = whole("SWALR", "anneal_epochs", anneal_epochs, 0)
        self.anneal_strategy = choice("SWALR", "anneal_strategy", anneal_strategy, self.words["anneal_strategy"])
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[float]:
        """The rates as they are, so much closer to the last ones as the part of the way that this epoch is."""
        now, before = self._left(self.last_epoch), self._left(self.last_epoch - 1)
        if before == 0:
            return list(self.swa_lrs)
        pairs = zip(self.optimizer.param_groups, self.swa_lrs, strict=False)
        return [float(last + (group["lr"] - last) * now / before) for group, last in pairs]

    def _left(self, epoch: float) -> float:
        """Which part of the way is left in an epoch."""
        if self.anneal_epochs == 0:
            return float(epoch < 0)
        gone = min(1.0, max(0.0, epoch / self.anneal_epochs))
        return (1 + math.cos(math.pi * gone)) / 2 if self.anneal_strategy == "cos" else 1 - gone
