"""Step: how do the batches of one update move the parameters?

at once         loss -> gradients -> parameters, a graph that runs in one go
by gradients    the same with halts: losses of several batches add up, are scaled, unscaled, clipped

The graph of either, up to its first halt, can be compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jt_edu.capture.compiled_step import compile
from jt_edu.nn import Module, cross_entropy_loss
from jt_edu.optim import Optimizer
from jt_edu.variable.var import Var
from jt_edu.zoo.training import parts


class Step:
    """One update: called with (images, labels, images, labels, ...), it returns the mean of their losses.

    Args:
        cfg: the settings; see `config.py`.
        net, optimizer: what moves, and what moves it.
    """

    def __init__(self, cfg: Any, net: Module, optimizer: Optimizer) -> None:
        self.net, self.optimizer, self.train, self.smoothing = net, optimizer, cfg.TRAIN, cfg.MODEL.LABEL_SMOOTHING
        self.region, self.scaler = parts.precision(cfg)
        halts = self.train.CLIP_GRAD or self.train.ACCUMULATION_STEPS > 1 or self.scaler.is_enabled()
        graph = self._gradients if halts else self._at_once
        self.graph: Callable[..., Any] = compile(graph) if cfg.COMPILE else graph
        self.taken = self._by_gradients if halts else self.graph

    def __call__(self, *batches: Var) -> float:
        """Make the update."""
        return float(self.taken(*batches))

    def _loss(self, x: Var, y: Var) -> Var:
        with self.region():
            scores = self.net(x)
        smoothing = 0.0 if y.ndim > 1 else self.smoothing  # labels that were mixed are smooth already
        return cross_entropy_loss(scores.float(), y, label_smoothing=smoothing)

    def _at_once(self, x: Var, y: Var) -> Var:
        loss = self._loss(x, y)
        self.optimizer.step(loss)
        return loss

    def _gradients(self, x: Var, y: Var) -> Var:
        scaled: Var = self.scaler.scale(self._loss(x, y) / self.train.ACCUMULATION_STEPS)
        self.optimizer.backward(scaled)
        return scaled

    def _by_gradients(self, *batches: Var) -> float:
        scaler, total = self.scaler, 0.0
        for x, y in zip(batches[::2], batches[1::2], strict=True):
            total += self.graph(x, y).item() / scaler.get_scale()
        scaler.unscale_(self.optimizer)
        if self.train.CLIP_GRAD:
            parts.clip(self.net.parameters(), self.train.CLIP_MODE, self.train.CLIP_GRAD)
        scaler.step(self.optimizer)
        scaler.update()
        self.optimizer.zero_grad()
        return total
