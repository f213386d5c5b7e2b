"""L-BFGS: steps that use the curvature, estimated from the last gradients; for losses without noise.

    direction   two passes over the last moves and what they changed in the gradient
    distance    the learning rate, or a line search

All parameters are one vector here. Numbers are needed at once, so a step is no single graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

from jt_edu.base.context import no_grad
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.base.own import doing, own
from jt_edu.ir.builders import short
from jt_edu.nn.utils import parameters_to_vector, vector_to_parameters
from jt_edu.ops.arguments import choice, whole
from jt_edu.ops.concat import concat
from jt_edu.ops.create import sync, zeros_like
from jt_edu.optim.base import Optimizer
from jt_edu.optim.commit import Closure, evaluated
from jt_edu.optim.hyperparameters import Group
from jt_edu.optim.line_search import Point, strong_wolfe
from jt_edu.optim.param_groups import params_of
from jt_edu.variable.var import Var

CURVED = 1e-10  # a move counts if the gradient grew along it by more than this


class LBFGS(Optimizer):
    """The quasi-Newton method of Broyden, Fletcher, Goldfarb and Shanno, with limited memory.

        x = x + t * d,    d = -H g,    H from the last moves s = t * d and changes y of the gradient

    Args:
        params: Vars, or one group of them.
        lr: what a direction is multiplied by; with a line search where that begins.
        max_iter: how many directions one `step` takes at most.
        max_eval: after so many losses, and one more within a line search, it stops; None: a quarter more than max_iter.
        tolerance_grad: stop when no number of the gradient is larger.
        tolerance_change: stop when neither x nor the loss changes more.
        history_size: how many moves are kept.
        line_search_fn: None, or "strong_wolfe".

    `step` is given a function that computes the loss, since it needs several of them. An error or an interrupt in it
    leaves the parameters where they were.

    Source: Liu and Nocedal 1989, "On the limited memory BFGS method for large scale optimization".

    Example:
        >>> w = jt.array([1.0, 2.0])
        >>> optimizer = LBFGS([w], line_search_fn="strong_wolfe")
        >>> loss = optimizer.step(lambda: ((w - 3) ** 2).sum())
        >>> loss.item(), w.numpy().round(4)
        (5.0, array([3., 3.], dtype=float32))
    """

    counts = (("step", 0),)
    from_0 = ("lr", "tolerance_grad", "tolerance_change")

    def __init__(
        self, params: Any, lr: float = 1.0, *, max_iter: int = 20, max_eval: int | None = None,
        tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr=lr, max_iter=max_iter, max_eval=max_eval, tolerance_grad=tolerance_grad,
            tolerance_change=tolerance_change, history_size=history_size, line_search_fn=line_search_fn,
        )  # fmt: skip
        self.memory = Memory()

    def check(self, group: Group) -> None:
        """One group, whole numbers of steps, a line search that there is."""
        super().check(group)
        for name in ("max_iter", "history_size"):
            whole("LBFGS", name, group[name], 1)
        if group["max_eval"] is not None:
            whole("LBFGS", "max_eval", group["max_eval"], 1)
        choice("LBFGS", "line_search_fn", group["line_search_fn"], (None, "strong_wolfe"))

    def add_param_group(self, group: Any) -> None:
        """Only one: all parameters are one vector."""
        if self.param_groups:
            raise ArgumentError("LBFGS has one group of parameters", "a second one", "one list of all parameters")
        super().add_param_group(group)

    def step(self, loss: Closure | None = None) -> Var:  # type: ignore[override]
        """Take up to max_iter directions.

        Args:
            loss: a function that computes the loss; it may call `zero_grad` and `backward` itself, as in PyTorch.

        Returns:
            The loss before.
        """
        if isinstance(loss, Var) or not callable(loss):
            found = "no function" if loss is None else type(loss).__name__
            raise ArgumentError("LBFGS computes the loss several times", found, "step(lambda: loss of w)")
        params = params_of(self.param_groups)
        doing(self, "check")(self.param_groups[0])
        with no_grad():
            begin = parameters_to_vector(params).sync()
        try:
            value, memory = own(self)._descend(loss, begin)
            sync(params)
        except BaseException:
            vector_to_parameters(begin, params)
            raise
        self.memory = memory
        for state in self.state:
            state["step"] = memory.directions
        return value

    def _descend(self, closure: Closure, x: Var) -> tuple[Var, Memory]:
        """Directions, until one of the limits is met: the first loss, and what is remembered."""
        now, memory = self.param_groups[0], self.memory
        most = now["max_eval"] or now["max_iter"] * 5 // 4
        first, f, g = own(self)._evaluate(closure)
        evaluations, flat = 1, now["tolerance_grad"]
        for turn in range(now["max_iter"] if _peak(g) > flat else 0):
            memory = memory.after(g, now["history_size"])
            t = now["lr"] * (min(1.0, 1 / abs(g).sum().item()) if memory.directions == 1 else 1.0)
            start = Point(0.0, f, g, _dot(g, memory.way))
            if start.slope > -now["tolerance_change"]:
                break
            last = turn + 1 == now["max_iter"]
            left = 0 if last and now["line_search_fn"] is None else most - evaluations
            x, end, more = self._move(closure, x, memory.way, start, t, left)
            memory, f, g, evaluations = replace(memory, t=end.t), end.f, end.g, evaluations + more
            still = end.t * _peak(memory.way) <= now["tolerance_change"] or abs(f - start.f) < now["tolerance_change"]
            if last or still or evaluations >= most or _peak(g) <= flat:
                break
        return first, memory

    def _move(self, closure: Closure, x: Var, way: Var, start: Point, t: float, left: int) -> tuple[Var, Point, int]:
        """Move along a direction: the new point, its loss and gradient, and how many of the losses left that took."""

        def look(t: float) -> Point:
            with no_grad():
                vector_to_parameters(x + way * t, params_of(self.param_groups))
            _, f, g = own(self)._evaluate(closure)
            return Point(t, f, g, _dot(g, way))

        if self.param_groups[0]["line_search_fn"] is not None:
            end, looks = strong_wolfe(look, start, t, _peak(way), self.param_groups[0]["tolerance_change"], left)
        else:
            end, looks = (look(t), 1) if left else (replace(start, t=t), 0)
        with no_grad():
            there = (x + way * end.t).sync()
        vector_to_parameters(there, params_of(self.param_groups))
        return there, end, looks

    def _evaluate(self, closure: Closure) -> tuple[Var, float, Var]:
        """The loss where the parameters are now, also as a number, and its gradient as one vector."""
        params = params_of(self.param_groups)
        loss, graded = evaluated(closure, params)
        if graded:
            own(self)._whole_batch()
        whole, found = (
            (own(self)._whole_loss(loss), [p.grad for p in params]) if graded else own(self)._gradients_of(loss)
        )
        with no_grad():
            parts = [zeros_like(p) if g is None else g for p, g in zip(params, found, strict=True)]
            g = concat([part.reshape(-1) for part in parts], 0)
        sync([loss, whole, g])
        return whole.detach(), float(whole.item()), g.detach()

    def state_dict(self) -> dict[str, Any]:
        """Settings, step counts, and what is remembered of the ground."""
        return {**super().state_dict(), "memory": dict(vars(self.memory))}

    def load_state_dict(self, saved: Any) -> None:
        """Go on where the optimizer that wrote `saved` stopped."""
        if not isinstance(saved, Mapping) or "memory" not in saved:
            raise ArgumentError("load_state_dict takes what state_dict of LBFGS returned", type(saved).__name__)
        memory = _remembered(saved["memory"], sum(p.size for p in params_of(self.param_groups)))
        super().load_state_dict({name: part for name, part in saved.items() if name != "memory"})
        self.memory = memory


@dataclass(frozen=True)
class Memory:
    """What is known of the ground: the last direction, how far it went, and the last moves with their changes."""

    directions: int = 0  # how many there were
    way: Any = None
    t: float = 0.0
    gradient: Any = None
    moves: tuple[Var, ...] = ()
    changes: tuple[Var, ...] = ()
    growth: tuple[float, ...] = ()  # move * change of each
    scale: float = 1.0  # how long a step along the gradient should be, from the last move

    def after(self, g: Var, size: int) -> Memory:
        """With the next direction, at a place where the gradient is g."""
        with no_grad():
            if not self.directions:
                return Memory(1, (-g).sync(), 0.0, g)
            kept = self._with(g - self.gradient, self.way * self.t, size)
            return replace(kept, directions=self.directions + 1, way=kept.against(g), gradient=g)

    def _with(self, change: Var, move: Var, size: int) -> Memory:
        grown = _dot(change, move)
        if not grown > CURVED:
            return self
        return replace(
            self,
            moves=(*self.moves, move)[-size:],
            changes=(*self.changes, change)[-size:],
            growth=(*self.growth, grown)[-size:],
            scale=grown / _dot(change, change),
        )

    def against(self, g: Var) -> Var:
        """-H g, by two passes over the moves: back to the oldest, and forth again."""
        way, parts = -g, []
        for move, change, grown in reversed(self._listed()):
            parts.append(_dot(move, way) / grown)
            way = way - change * parts[-1]
        way = way * self.scale
        for move, change, grown in self._listed():
            way = way + move * (parts.pop() - _dot(change, way) / grown)
        return way.sync()

    def _listed(self) -> list[tuple[Var, Var, float]]:
        return list(zip(self.moves, self.changes, self.growth, strict=True))


def _remembered(saved: Any, size: int) -> Memory:
    """What was saved of the ground, for parameters of so many numbers."""
    names = [field.name for field in fields(Memory)]
    if not isinstance(saved, Mapping) or set(saved) != set(names):
        raise ArgumentError(f"the memory of LBFGS has {', '.join(names)}", short(saved))

    def is_vector(value: Any) -> bool:
        return isinstance(value, Var) and value.shape == (size,)

    begun, lists = saved["directions"] != 0, [saved["moves"], saved["changes"], saved["growth"]]
    wrong = [name for name in ("directions", "t", "scale") if not isinstance(saved[name], Real)]
    wrong += [name for name in ("way", "gradient") if begun and not is_vector(saved[name])]
    wrong += [name for name in ("moves", "changes") if not _each(is_vector, saved[name])]
    wrong += [] if _each(lambda value: isinstance(value, Real), saved["growth"]) else ["growth"]
    if wrong or len({len(part) for part in lists}) > 1:
        found = ", ".join(f"{name}={short(saved[name])}" for name in wrong or ("moves", "changes", "growth"))
        raise ShapeError(f"the parameters of this LBFGS are {size} numbers, and its memory is of such", found)
    return Memory(**saved)


def _each(holds: Callable[[Any], bool], values: Any) -> bool:
    return isinstance(values, (tuple, list)) and all(map(holds, values))


def _dot(a: Var, b: Var) -> float:
    with no_grad():
        return float((a * b).sum().item())


def _peak(g: Var) -> float:
    with no_grad():
        return float(abs(g).max().item())
