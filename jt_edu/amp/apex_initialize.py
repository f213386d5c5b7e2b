"""Apex initialize: how is a training made one of mixed precision, by three lines?

model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
with amp.scale_loss(loss, optimizer) as scaled:
    scaled.backward()
optimizer.step()                                   or, as in Jittor, for all three: optimizer.step(loss)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from jt_edu.amp.apex_casts import cast_model, check_float32
from jt_edu.amp.apex_handle import init
from jt_edu.amp.apex_masters import recast
from jt_edu.amp.apex_optimizer import Scaled, scaling, tell
from jt_edu.amp.apex_properties import BRIEF, Properties, level, overridden, scaler_of
from jt_edu.amp.loss_scaler import LossScaler, check_names
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

GIVEN = ("cast_model_type", "patch_torch_functions", "keep_batchnorm_fp32", "master_weights", "loss_scale")
SAVED = {"loss_scale": "scale", "unskipped": "clean"}  # Apex's word -> ours


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
    scalers: list[LossScaler] = []
    if yes_or_no("initialize", "enabled", enabled):
        wanted = cast_model_type, patch_torch_functions, keep_batchnorm_fp32, master_weights, loss_scale
        chosen = _chosen(opt_level, dict(zip(GIVEN, wanted, strict=True)), verbosity)
        scalers = _scales(chosen.loss_scale, num_losses, min_loss_scale, max_loss_scale)
        rules, nets = _listed("optimizers", optimizers, Optimizer), _listed("models", models, Module)
        _begin(rules, _cast(nets, rules, chosen, cast_model_outputs), chosen, scalers, verbosity)
    else:
        init(enabled=False)
    current().rank_state["amp"] = scalers
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


def _scales(scale: float | str, count: int, least: float | None, most: float) -> list[LossScaler]:
    """One for each loss."""
    bottom = 0.0 if least is None else number("initialize", "min_loss_scale", least, 0.0)
    top = number("initialize", "max_loss_scale", most, bottom, above=not bottom)
    return [scaler_of(scale, bottom, top) for _ in range(whole("initialize", "num_losses", count, 1))]


def _listed(name: str, given: Any, kind: type) -> list[Any]:
    """One of a kind, a list of them, or none."""
    listed = list(given) if isinstance(given, (list, tuple)) else [] if given is None else [given]
    for one in listed:
        if not isinstance(one, kind):
            found, way = short(one), f"one {kind.__name__}, or a list of them"
            raise ArgumentError(f"amp takes {name} of the class {kind.__name__}", found, way)
    return listed


def _cast(models: list[Module], optimizers: list[Optimizer], chosen: Properties, outputs: Any) -> dict[Var, Var]:
    """Cast models as a level says, if all of it can be cast; the answer is what the weights were before."""
    for optimizer in optimizers:
        if "_amp" in vars(optimizer):
            raise ArgumentError("an optimizer is initialized once", f"{optimizer!r} a second time", "a new optimizer")
    for model in models:
        check_float32(model)
    before = {p: p.detach() for optimizer in optimizers for p in params_of(optimizer.param_groups)}
    dtype = as_dtype(chosen.cast_model_type) if chosen.cast_model_type else None
    returned = float32 if outputs is None and dtype is not None else outputs
    for model in models:
        cast_model(model, dtype, returned and as_dtype(returned), chosen.keep_batchnorm_fp32)
    return before


def _begin(
    optimizers: list[Optimizer], weights: dict[Var, Var], chosen: Properties, scalers: list[LossScaler], verbosity: int
) -> None:
    """Let operators cast, or not; and optimizers ask for their scale, and move masters that begin as these weights."""
    init(chosen.patch_torch_functions, verbose=verbosity > 1)
    for optimizer in optimizers:
        Scaled(optimizer, scalers, chosen.master_weights, verbosity).attached().masters.begin(weights)
        recast(optimizer)


def scale_loss(
    loss: Var, optimizers: Any, loss_id: int = 0, delay_unscale: bool = False
) -> AbstractContextManager[Var]:
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
    scalers = _scalers("scale_loss")
    if not scalers:
        return nullcontext(loss)
    if not isinstance(loss, Var):
        raise ArgumentError("amp.scale_loss takes the Var of a loss", short(loss), "the loss, not its number")
    delay = yes_or_no("scale_loss", "delay_unscale", delay_unscale)
    if loss_id not in range(len(scalers)):
        found = f"loss_id={loss_id} of num_losses={len(scalers)}"
        raise ArgumentError("loss_id counts losses from 0", found, "initialize(..., num_losses=2)")
    return scaling(loss, _attached(optimizers), scalers[loss_id], delay, loss_id)


def _attached(optimizers: Any) -> list[Scaled]:
    """What `initialize` gave to each of these optimizers."""
    listed = _listed("optimizers", optimizers, Optimizer)
    if not listed:
        asked, way = "amp.scale_loss unscales the gradients of optimizers", "amp.scale_loss(loss, optimizer)"
        raise ArgumentError(asked, f"optimizers={optimizers!r}", way)
    for optimizer in listed:
        if "_amp" not in vars(optimizer):
            asked = "amp.scale_loss takes optimizers that amp.initialize was given"
            raise ArgumentError(asked, repr(optimizer), "amp.initialize(model, optimizer)")
    return [vars(optimizer)["_amp"] for optimizer in listed]


def _scalers(who: str) -> list[LossScaler]:
    """What `initialize` chose: a scale for each loss; none, if it was told to do nothing."""
    found: list[LossScaler] | None = current().rank_state.get("amp")
    if found is None:
        way = "model, optimizer = amp.initialize(model, optimizer)"
        raise ArgumentError(f"amp.{who} goes by what amp.initialize chose", "no call of it", way)
    return found


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
    return {f"loss_scaler{k}": scaler.state(SAVED) for k, scaler in enumerate(_scalers("state_dict"))}


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
    scalers, way = _scalers("load_state_dict"), "amp.state_dict(), of as many losses"
    check_names("amp", state, own := [*state_dict()], way)
    for targets in ([LossScaler() for _ in own], scalers):  # the first ones only find out whether all of it fits
        for name, scaler in zip(own, targets, strict=True):
            scaler.load(name, state[name], SAVED, way)
