"""Apex initialize: how is a training made one of mixed precision, by three lines?

model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
with amp.scale_loss(loss, optimizer) as scaled:
    scaled.backward()
optimizer.step()                                   or, as in Jittor, for all three: optimizer.step(loss)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jt_edu.amp.apex_casts import cast_around, cast_model, check_float32
from jt_edu.amp.apex_handle import init, scaler_of
from jt_edu.amp.apex_masters import recast
from jt_edu.amp.apex_optimizer import Scaled, scaling
from jt_edu.amp.apex_properties import BRIEF, CHECKED, Properties, level, overridden
from jt_edu.amp.apex_state import Amp, amp_state, tell
from jt_edu.base.context import current
from jt_edu.base.dtypes import as_dtype, float32
from jt_edu.base.errors import ArgumentError
from jt_edu.ir.builders import short
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import number, whole, yes_or_no
from jt_edu.optim.base import Optimizer
from jt_edu.optim.param_groups import params_of
from jt_edu.variable.var import Var

__all__ = ["initialize", "load_state_dict", "master_params", "scale_loss", "state_dict"]


def initialize(
    models: Any, optimizers: Any = None, enabled: bool = True, opt_level: str = "O1", cast_model_type: Any = None,
    patch_torch_functions: bool | None = None, keep_batchnorm_fp32: bool | str | None = None,
    master_weights: bool | None = None, loss_scale: float | str | None = None, cast_model_outputs: Any = None,
    num_losses: int = 1, verbosity: int = 1, min_loss_scale: float | None = None, max_loss_scale: float = 2.0**24,
) -> Any:  # fmt: skip
    """Prepare models and optimizers for a level of mixed precision, in place, and print its properties, as Apex does.

    Args:
        models: a module in float32, or a list of them.
        optimizers: one, a list of them, or None.
        enabled: False changes nothing; `scale_loss` then gives losses as they are.
        opt_level: "O0", "O1", "O2" or "O3"; their table is in apex_properties.py.
        cast_model_type: the dtype of models and of what they are given; also "bfloat16".
        patch_torch_functions: operators cast what they are given, by Apex's three lists, from here on.
        keep_batchnorm_fp32: batch norm stays float32; also "True" and "False".
        master_weights: optimizers move float32 copies of halves.
        loss_scale: a number, also as a string, or "dynamic".
        cast_model_outputs: the dtype of what models return; by default float32, if they are cast.
        num_losses: how many scales there are, see `loss_id` of `scale_loss`.
        verbosity: 0 prints nothing; 2 also each decision of an operator.
        min_loss_scale: a dynamic scale does not become smaller; None: it has no limit.
        max_loss_scale: nor larger.

    Example:
        >>> net = initialize(jt.nn.Linear(2, 1), opt_level="O2", verbosity=0)
        >>> net.weight.dtype, net(jt.ones(1, 2)).dtype
        (jt.float16, jt.float32)
    """
    wanted = cast_model_type, patch_torch_functions, keep_batchnorm_fp32, master_weights, loss_scale
    if not yes_or_no("initialize", "enabled", enabled):
        init(enabled=False)
        current().rank_state["amp"] = Amp(Properties())
    else:
        chosen = _chosen(opt_level, dict(zip(CHECKED, wanted, strict=True)), verbosity)
        count, limits = whole("initialize", "num_losses", num_losses, 1), _limits(min_loss_scale, max_loss_scale)
        state = Amp(chosen, [scaler_of(chosen.loss_scale, *limits) for _ in range(count)], verbosity)
        rules = _listed("optimizers", optimizers, Optimizer)
        _prepare(_listed("models", models, Module), rules, state, cast_model_outputs)
    return models if optimizers is None else (models, optimizers)


def _chosen(opt_level: str, wanted: dict[str, Any], verbosity: int) -> Properties:
    """The properties of a level and those that take their place, both of them printed."""
    whole("initialize", "verbosity", verbosity, 0)
    defaults = level(opt_level)
    chosen = overridden(defaults, wanted)
    given = ", ".join(name for name, value in wanted.items() if value is not None) or "none"
    tell(verbosity, f"Selected optimization level {defaults.opt_level}: {BRIEF[str(defaults.opt_level)]}.")
    tell(verbosity, f"Its properties are:\n{defaults}")
    tell(verbosity, f"Overridden: {given}. In force are:\n{chosen}")
    return chosen


def _limits(least: float | None, most: float) -> tuple[float, float]:
    bottom = 0.0 if least is None else number("initialize", "min_loss_scale", least, 0.0)
    return bottom, number("initialize", "max_loss_scale", most, bottom, above=not bottom)


def _listed(name: str, given: Any, kind: type) -> list[Any]:
    """One of a kind, a list of them, or none."""
    listed = list(given) if isinstance(given, (list, tuple)) else [] if given is None else [given]
    for one in listed:
        if not isinstance(one, kind):
            found, way = short(one), f"one {kind.__name__}, or a list of them"
            raise ArgumentError(f"amp takes {name} of the class {kind.__name__}", found, way)
    return listed


def _prepare(models: list[Module], optimizers: list[Optimizer], state: Amp, cast_model_outputs: Any) -> None:
    """Cast what is to be cast, let operators cast or not, and make optimizers ask for their scale."""
    for optimizer in optimizers:
        if "_amp" in vars(optimizer):
            raise ArgumentError("an optimizer is initialized once", f"{optimizer!r} a second time", "a new optimizer")
    wide = {p: p.detach() for optimizer in optimizers for p in params_of(optimizer.param_groups)}
    _cast(models, state.properties, cast_model_outputs)
    init(enabled=state.properties.patch_torch_functions, verbose=state.verbosity > 1)
    for optimizer in optimizers:
        scaled = Scaled(optimizer, state.scalers, state.properties.master_weights, state.verbosity).attached()
        if scaled.masters is not None:
            scaled.masters.begin(wide)
        recast(optimizer)
    current().rank_state["amp"] = state


def _cast(models: list[Module], chosen: Properties, cast_model_outputs: Any) -> None:
    """Models, what they are given, and what they return."""
    outputs = None if cast_model_outputs is None else as_dtype(cast_model_outputs)
    for model in models:
        check_float32(model)
    for model in models:
        if chosen.cast_model_type:
            dtype = as_dtype(chosen.cast_model_type)
            cast_model(model, dtype, chosen.keep_batchnorm_fp32)
            cast_around(model, dtype, outputs or float32)
        else:
            cast_around(model, None, outputs)


@contextmanager
def scale_loss(loss: Var, optimizers: Any, loss_id: int = 0, delay_unscale: bool = False) -> Iterator[Var]:
    """A loss times its scale; at the end the gradients of the optimizers are unscaled.

    If one of them is inf or nan, a dynamic scale is halved, and the next step of these optimizers is left out, on all
    ranks. After 2000 losses without one the scale is doubled.

    Args:
        loss: one number; a half becomes float32.
        optimizers: one or several of those that `initialize` was given, whose gradients the loss has.
        loss_id: which of `num_losses` scales.
        delay_unscale: the gradients stay scaled, to be added to those of the next loss; no step is made before.

    Raises:
        ArgumentError: `initialize` was not called, or not with these optimizers; there are none, no such
            scale, or no Var.

    Example:
        >>> w = jt.array([1.0])
        >>> net, sgd = initialize(jt.nn.ReLU(), jt.optim.SGD([w], lr=0.25), opt_level="O0", loss_scale=8, verbosity=0)
        >>> with scale_loss((net(w) ** 2).sum(), sgd) as scaled:
        ...     scaled.backward(); scaled.item()
        8.0
        >>> sgd.step(); w.item()
        0.5
    """
    state = amp_state("scale_loss")
    if not state.properties.enabled:
        yield loss
        return
    if not isinstance(loss, Var):
        raise ArgumentError("amp.scale_loss takes the Var of a loss", short(loss), "the loss, not its number")
    chosen = _attached(optimizers)
    delay = yes_or_no("scale_loss", "delay_unscale", delay_unscale)
    with scaling(loss, chosen, state.scaler(loss_id), delay, loss_id) as scaled:
        yield scaled


def _attached(optimizers: Any) -> list[Scaled]:
    """What `initialize` gave to each of these optimizers."""
    listed = _listed("optimizers", optimizers, Optimizer)
    if not listed:
        asked, way = "amp.scale_loss unscales the gradients of optimizers", "amp.scale_loss(loss, optimizer)"
        raise ArgumentError(asked, f"optimizers={optimizers!r}", way)
    for optimizer in listed:
        if "_amp" not in vars(optimizer):
            asked, way = (
                "amp.scale_loss takes optimizers that amp.initialize was given",
                "amp.initialize(model, optimizer)",
            )
            raise ArgumentError(asked, repr(optimizer), way)
    return [vars(optimizer)["_amp"] for optimizer in listed]


def master_params(optimizer: Optimizer) -> Iterator[Var]:
    """The parameters that an optimizer moves: float32 masters, where there are some. Their gradients may be clipped.

    Args:
        optimizer: of any kind.

    Example:
        >>> w = jt.array([1.0])
        >>> [p is w for p in master_params(jt.optim.SGD([w], lr=0.1))]
        [True]
    """
    yield from params_of(optimizer.param_groups)


def state_dict() -> dict[str, dict[str, float]]:
    """The scale of each loss, and its count of clean steps, under Apex's names.

    Example:
        >>> _ = initialize(jt.nn.ReLU(), verbosity=0); _ = jt.amp.init(enabled=False)
        >>> state_dict()
        {'loss_scaler0': {'loss_scale': 65536.0, 'unskipped': 0}}
    """
    scalers = amp_state("state_dict").scalers
    return {f"loss_scaler{k}": {"loss_scale": s.scale, "unskipped": s.clean} for k, s in enumerate(scalers)}


def load_state_dict(state: dict[str, dict[str, float]]) -> None:
    """Go on with the scales of another run, after `initialize`.

    Args:
        state: what `state_dict()` gave.

    Raises:
        ArgumentError: it is of another number of losses, or something else.

    Example:
        >>> _ = initialize(jt.nn.ReLU(), opt_level="O2", verbosity=0)
        >>> load_state_dict({"loss_scaler0": {"loss_scale": 8.0, "unskipped": 3}})
        >>> state_dict()
        {'loss_scaler0': {'loss_scale': 8.0, 'unskipped': 3}}
    """
    own = state_dict()
    fits = isinstance(state, dict) and {*state} == {*own}
    if not fits or any(not isinstance(one, dict) or {*one} != {"loss_scale", "unskipped"} for one in state.values()):
        raise ArgumentError(
            f"the state of amp has {', '.join(own)}", short(state), "amp.state_dict(), of as many losses"
        )
    read = [
        (
            number("load_state_dict", "loss_scale", state[name]["loss_scale"], 0.0, above=True, finite=True),
            whole("load_state_dict", "unskipped", state[name]["unskipped"], 0),
        )
        for name in own
    ]
    for scaler, (scale, clean) in zip(amp_state("load_state_dict").scalers, read, strict=True):
        scaler.scale, scaler.clean = scale, clean
