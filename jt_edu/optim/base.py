"""Optimizer: what all rules for changing parameters have in common.

    step(loss)     gradients of the loss -> new parameters and states -> all computed in one go -> all take effect

A rule (SGD, Adam, ...) only says how one parameter and its states move, given a gradient. Nothing is changed before
every new number is there: an interrupt leaves either all parameters moved or none.

    param_groups   [{"params": [Var, ...], "lr": 0.1, ...}, ...]    numbers may be changed at any time
    state          one dict per parameter: {"step": 3, "momentum": Var, ...}

In a team of ranks gradients and loss are those of the whole batch (variable/parallel_context.py). Nothing here knows
about modules, kernels, or how ranks speak to each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from jt_edu.base.context import current, no_grad
from jt_edu.base.errors import ArgumentError, GradientError
from jt_edu.base.own import doing
from jt_edu.base.plural import plural
from jt_edu.capture.recorded_step import move
from jt_edu.capture.recorder import at_replay, watch
from jt_edu.capture.step_cache import Replays
from jt_edu.nn.factory_kwargs import in_its_name
from jt_edu.ops.arguments import yes_or_no
from jt_edu.ops.create import sync
from jt_edu.ops.deferred_outputs import riders
from jt_edu.ops.gradient import grad
from jt_edu.optim.commit import WHOLE, Closure, about, added, aimed, evaluated, forget_history, not_twice, take_effect
from jt_edu.optim.custom_step import ByHand, States, settings_of
from jt_edu.optim.hyperparameters import Count, Factor, Group, State, identities, kind_of
from jt_edu.optim.param_groups import as_groups, as_leaves, as_vars, label, params_of, setting, state_of, unreached
from jt_edu.optim.state_dict import check_saved, saved_of, take_over
from jt_edu.variable.gradient_errors import warn
from jt_edu.variable.parallel_context import team
from jt_edu.variable.var import Var

Move = tuple[Var, Var]  # (a parameter or state, its new value)


class Optimizer(ByHand):
    """Moves parameters so that a loss becomes smaller; a subclass says how, in `rule`.

    Args:
        params: Vars, or (name, Var) pairs, or groups [{"params": [...], "lr": ...}, ...] with settings of their own.
        defaults: what every group has, unless it says otherwise, as a dict; or lr alone.
        settings: the same by name: lr, weight_decay, ...

    Raises:
        ArgumentError: no parameters, one of them twice, something else than Vars, or a setting out of its range.

    Example:
        >>> class SignDescent(Optimizer):
        ...     def rule(self, p, g, state, factor):
        ...         return p - g.sign() * factor(lambda group, step: group["lr"]), {}
        >>> w = jt.array([3.0, -3.0])
        >>> SignDescent([w], lr=0.5).step((w * w).sum())
        >>> w.numpy()
        array([ 2.5, -2.5], dtype=float32)
    """

    states: tuple[str, ...] = ()  # names of the Vars that a rule may keep for each parameter
    counts: tuple[tuple[str, float], ...] = ()  # numbers that are kept for each, and what they start with: ("step", 0)
    from_0: tuple[str, ...] = ("lr",)  # settings that are numbers from 0
    shares: tuple[str, ...] = ()  # settings that are numbers from 0 to 1
    flags = ("maximize", "nesterov", "amsgrad", "centered", "decoupled_weight_decay")  # settings that are True or False
    replays = False  # the rule takes numbers that change from `factor` only, and asks settings just whether they are 0

    def __init__(self, params: Iterable[Any], defaults: Any = None, **settings: Any) -> None:
        self.defaults = settings_of(type(self).__name__, defaults, settings)
        self.param_groups: list[Group] = []
        self.state = States(self.param_groups)
        self._told: set[int] = set()  # ids of parameters that a warning was about
        self._mine = False  # gradients in .grad were put there by `backward` of this optimizer
        self._shared: list[Any] = []  # gradients in .grad that are those of the whole batch
        self._known = Replays()
        for group in as_groups(params):
            doing(self, "add_param_group")(group)

    def __init_subclass__(cls) -> None:
        """A custom rule is replayed only if its class says that it can be."""
        super().__init_subclass__()
        if "__init__" in vars(cls):
            cls.__init__ = in_its_name(cls.__init__)  # type: ignore[method-assign]
        if "rule" in vars(cls) and "replays" not in vars(cls):
            cls.replays = False
        if "rule" in vars(cls) and not cls.counts:
            cls.counts = (("step", 0),)

    def rule(self, p: Var, g: Var, state: Mapping[str, Any], factor: Factor) -> tuple[Var, dict[str, Var]]:
        """The new value of `p`, and those of its states, given its gradient; `factor` makes numbers of settings."""
        raise ArgumentError(
            f"{type(self).__name__} must say how a parameter is updated",
            "no rule method",
            "def rule(self, p, g, state, factor), or a step of your own, as in PyTorch",
        )

    def decay(self, p: Var, g: Var, factor: Factor) -> tuple[Var, Var]:
        """Parameter and gradient after weight decay: added to the gradient, or decoupled, taken off the parameter."""
        if not factor.group.get("weight_decay"):
            return p, g
        if factor.group.get("decoupled_weight_decay"):
            return p * factor(lambda now, t: 1 - now["lr"] * now["weight_decay"]), g
        return p, g + p * factor(lambda now, t: now["weight_decay"])

    def kept(self, group: Group) -> tuple[str, ...]:
        """Which of the states parameters with these settings need."""
        return type(self).states

    def first(self, name: str, p: Var, group: Group) -> Any:
        """What a state starts with: a number, or a Var."""
        return 0.0

    def count(self, group: Group, state: State) -> dict[str, Any]:
        """The numbers of a state after one more step."""
        return {"step": state.get("step", 0) + 1}

    def check(self, group: Group) -> None:
        """Refuse settings that make no sense; a subclass adds its own."""
        kind = type(self)
        for name in self.defaults:
            if name in kind.from_0 or name in kind.shares:
                setting(kind.__name__, name, group[name], math.inf if name in kind.from_0 else 1.0)
            elif name in kind.flags:
                yes_or_no(kind.__name__, name, group[name])

    # parameters and settings

    def add_param_group(self, group: Any) -> None:
        """Train further parameters: {"params": [...]}, and settings that differ from those of the optimizer."""
        if not isinstance(group, Mapping) or "params" not in group:
            raise ArgumentError('a group of parameters is {"params": [...], ...}', repr(group))
        unknown = sorted(set(group) - set(self.defaults) - {"params", "initial_lr"})
        if unknown:
            known_ones = ", ".join(self.defaults)
            raise ArgumentError(f"{type(self).__name__} has the settings {known_ones}", ", ".join(unknown))
        fresh: Group = {**self.defaults, **group, "params": as_vars(group["params"])}
        doing(self, "check")(fresh)
        known = {id(p) for p in params_of(self.param_groups)}
        for p in fresh["params"]:
            if id(p) in known:
                raise ArgumentError("an optimizer updates each parameter once", f"{label(p)} in two places")
            known.add(id(p))
        as_leaves(fresh["params"])
        if (crew := team()) is not None:
            crew.alike(fresh["params"])
        self.param_groups.append(fresh)
        self.state += [dict(type(self)._kind(self).counts) for _ in fresh["params"]]
        for p, state in zip(fresh["params"], self.state[-len(fresh["params"]) :], strict=True):
            Optimizer._complete(self, fresh, p, state)

    def _complete(self, group: Group, p: Var, state: State) -> None:
        """Begin the states that are needed and not there; a setting that changes may need more of them."""
        for name in doing(self, "kept")(group):
            if name not in state:
                state[name] = state_of(p, doing(self, "first")(name, p, group))

    def _kind(self) -> type[Optimizer]:
        """The class that says which numbers are counted, and whether steps are replayed."""
        return type(self)

    def _grouped(self) -> list[tuple[Group, Var]]:
        return [(group, p) for group in self.param_groups for p in group["params"]]

    @property
    def lr(self) -> float:
        """The learning rate (of the first group). Setting it sets that of every group, from the next step on."""
        first: Group = next(iter(vars(self).get("param_groups", ())), {})
        return float(first["lr"] if "lr" in first else vars(self)["lr"])

    @lr.setter
    def lr(self, value: float) -> None:
        vars(self)["lr"] = setting(type(self).__name__, "lr", value)  # of a class that sets it before it has groups
        for group in vars(self).get("param_groups", ()):
            group["lr"] = vars(self)["lr"]

    # gradients

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients in `.grad` of all parameters, or set those that are there to 0."""
        yes_or_no("zero_grad", "set_to_none", set_to_none)
        self._shared = []
        Optimizer._note(self, mine=False)
        for p in params_of(self.param_groups):
            if p.grad is not None:
                p.grad = None if set_to_none else p.grad.zeros_like().detach()

    def backward(self, loss: Var, retain_graph: bool = False) -> None:
        """Add d loss / d parameter to `.grad` of each parameter, and compute it now: for losses in several parts.

        Args:
            loss: one real number.
            retain_graph: keep what the loss was computed from, for further gradients of it.
        """
        whole, found = Optimizer._gradients_of(self, loss)
        params = params_of(self.param_groups)
        totals = [(p, g) for p, g in zip(params, added(params, found), strict=True) if g is not None]
        del found
        sync([loss, whole, *(total for _, total in totals), *riders()])
        for p, total in totals:
            p.grad = total.detach()
        self._shared = [] if team() is None else [p.grad for p, _ in totals]
        if whole is not loss and not retain_graph:
            loss.update(whole)
        Optimizer._note(self, mine=True)
        forget_history(loss, retain_graph)

    def _note(self, mine: bool) -> None:
        self._mine = mine
        at_replay(partial(setattr, self, "_mine", mine))

    def _whole_batch(self) -> None:
        """Make the gradients in .grad those of the whole batch: each rank's `loss.backward()` knows its own part."""
        crew, held = team(), [p for p in params_of(self.param_groups) if p.grad is not None]
        if crew is None or all(any(p.grad is g for g in self._shared) for p in held):
            return
        with no_grad():
            totals = crew.added([crew.part(p.grad) for p in held if p.grad is not None])
        for p, total in zip(held, totals, strict=True):
            p.grad = total
        self._shared = totals

    def _whole_loss(self, loss: Var) -> Var:
        """The loss of the whole batch."""
        crew = team()
        with about(loss):
            return loss if crew is None else crew.added([crew.part(loss)])[0] or loss

    def _gradients_of(self, loss: Var) -> tuple[Var, list[Var | None]]:
        """The loss, and its gradients for all parameters that take part; None for those it does not reach.

        In a team: those of the whole batch, of which each rank has a part.
        """
        if not isinstance(loss, Var):
            raise ArgumentError("an optimizer minimizes a loss, which is a Var", type(loss).__name__)
        params = params_of(self.param_groups)
        active = [p for p in params if p.requires_grad]
        crew = team()
        with about(loss):
            part = loss if crew is None else crew.part(loss)
        with no_grad():
            found: list[Var | None] = grad(part, active, allow_unused=True) if active else []
        if not any(g is not None for g in found):
            raise unreached(active, loss)
        Optimizer._warn_about(self, [p for p, g in zip(active, found, strict=True) if g is None])
        if crew is not None:
            with no_grad():
                part, *found = crew.added([part, *found])  # type: ignore[assignment]
        by_id = {id(p): g for p, g in zip(active, found, strict=True)}
        return part, [by_id.get(id(p)) for p in params]

    def _warn_about(self, missed: list[Var]) -> None:
        fresh = [p for p in missed if id(p) not in self._told]
        if fresh:
            self._told |= {id(p) for p in fresh}
            warn(f"the loss does not depend on {', '.join(map(label, fresh))}: no gradient, no change")

    # moving

    def step(self, loss: Var | Closure | None = None, retain_graph: bool = False) -> Var | None:
        """Move all parameters once.

        With a loss: its gradients are added to what `backward` of other losses collected, the parameters move, and
        what was collected is forgotten. Gradients, new parameters, states and the loss are computed in one go.
        Without: the gradients in `.grad` are used, whether `optimizer.backward` or `loss.backward()` put them there
        (those of `loss.backward()` stay until `zero_grad()`, as in PyTorch).

        Args:
            loss: one real number; a function that computes it (and may call `backward` itself); or None.
            retain_graph: keep what the loss was computed from, for the step of another optimizer with it.

        Returns:
            What the function computed, if one was given.

        Raises:
            GradientError: no parameter is behind the loss, there is no gradient, or that of the loss is in `.grad`.
        """
        if loss is not None and not isinstance(loss, Var) and callable(loss):
            value, graded = evaluated(loss, params_of(self.param_groups))
            doing(self, "step")(None if graded else value, retain_graph)
            return value
        not_twice(loss, self.param_groups)
        if not retain_graph and Optimizer._replayed(self, loss):
            return None
        moves, counts = Optimizer._moves(self, loss)
        sync([new for _, new in moves] + ([] if loss is None else [loss]) + riders())
        forget_history(loss, retain_graph)
        take_effect(Var.update, aimed(moves, loss, retain_graph), counts)
        Optimizer._let_go(self, loss)
        return None

    def _replayed(self, loss: Var | None) -> bool:
        """The step, from a loss or from `.grad`, as it was planned for an earlier one of its structure; or False."""
        context, params = current(), params_of(self.param_groups)
        held = [p.grad for p in params if p.grad is not None]
        if context.traces or context.capture is not None or bool(held) == (loss is not None):
            return False
        if not type(self)._kind(self).replays:
            return False
        if loss is None and team() is not None:
            return False
        if loss is not None and not (isinstance(loss, Var) and loss.node.pending):
            return False
        check = doing(self, "check")
        for group in self.param_groups:
            check(group)
        roots = held if loss is None else [loss]
        also = identities(self.param_groups, self.state), tuple([p.grad is None for p in params]), _kinds(self)
        with about(loss):
            found = self._known.run([*roots, *riders()], params, also, partial(Optimizer._moves, self, loss))
        if found is None:
            return False
        moved, counts = found
        forget_history(loss, retain_graph=False)
        take_effect(move, aimed(moved, loss), counts)
        if held or self._mine:  # else there is nothing in .grad
            Optimizer._let_go(self, loss)
        return True

    def _moves(self, loss: Var | None) -> tuple[list[Move], list[Count]]:
        """The new value of every parameter and state that moves, and of every step count; nothing has run."""
        moves: list[Move] = []
        if loss is None:
            gradients = Optimizer._collected(self)
        else:
            whole, found = Optimizer._gradients_of(self, loss)
            gradients = added(params_of(self.param_groups), found)
            moves = [] if whole is loss else [(WHOLE, whole.cast(loss.dtype))]
        counts: list[Count] = []
        with no_grad():
            rule, count, check = (doing(self, name) for name in ("rule", "count", "check"))
            for (group, p), g, state in zip(Optimizer._grouped(self), gradients, self.state, strict=True):
                if g is not None:
                    check(group)
                    Optimizer._complete(self, group, p, state)
                    uphill = -g if group.get("maximize") else g
                    new, states = rule(p, uphill, state, Factor(group, state, count))
                    moves += [(p, new), *((state[name], value) for name, value in states.items())]
                    counts.append((state, partial(count, group, state)))
        watch(partial(Optimizer._makeup, self))
        return [(var, new if var is WHOLE else new.cast(var.dtype)) for var, new in moves], counts

    def _makeup(self) -> tuple[Any, ...]:
        """What a compiled step takes for granted."""
        kept = [v for s in self.state for v in s.values() if type(v) is Var]
        return (*_kinds(self), *params_of(self.param_groups), *kept)

    def _collected(self) -> list[Var | None]:
        Optimizer._whole_batch(self)
        found = [p.grad for p in params_of(self.param_groups)]
        if not any(g is not None for g in found):
            raise GradientError(
                "step() uses the gradients in .grad of its parameters", f"none in {len(found)} parameters",
                "optimizer.step(loss), or loss.backward() before step()",
            )  # fmt: skip
        params = params_of(self.param_groups)
        Optimizer._warn_about(self, [p for p, g in zip(params, found, strict=True) if g is None and p.requires_grad])
        return found

    def _let_go(self, loss: Var | None) -> None:
        """Gradients that stay after a step are numbers from now on: they keep no graph alive."""
        if loss is not None or self._mine:
            doing(self, "zero_grad")()
        for p in params_of(self.param_groups):
            if p.grad is not None and p.grad.node.behind:
                p.grad = p.grad.detach()

    # saving

    def state_dict(self) -> dict[str, Any]:
        """Settings and states as they are now: {"state": {number of parameter: {...}}, "param_groups": [...]}."""
        for (group, p), state in zip(Optimizer._grouped(self), self.state, strict=True):
            Optimizer._complete(self, group, p, state)  # of a setting that was changed after the last step
        return saved_of(self.param_groups, self.state)

    def load_state_dict(self, saved: Any) -> None:
        """Resume where the optimizer that wrote `saved` stopped: the same steps to the last bit. All of it, or nothing.

        Raises:
            ShapeError: it was saved for other parameters or by another rule; the message says what differs.
        """
        by_rule = type(self).rule is not Optimizer.rule or type(self)._kind(self).counts
        check_saved(type(self).__name__, self.param_groups, self.state, doing(self, "kept") if by_rule else None, saved)
        for group, other in zip(self.param_groups, saved["param_groups"], strict=True):
            doing(self, "check")({**group, **other})
        take_over(self.param_groups, self.state, saved)

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={self.param_groups[0][name]}" for name in self.defaults)
        return f"{type(self).__name__}({plural(len(params_of(self.param_groups)), 'parameter')}, {settings})"


def _kinds(optimizer: Optimizer) -> tuple[Any, ...]:
    """What the graph of a step depends on in the settings."""
    return tuple([kind_of(v) for group in optimizer.param_groups for k, v in group.items() if k != "params"])
