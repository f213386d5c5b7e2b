"""Factory: how does a name become a network, with the weights, the classes and the channels that one wants?

    net = jt.zoo.create_model("resnet34")                                 1000 classes, random weights
    net = jt.zoo.create_model("resnet34", pretrained=True, num_classes=10, in_chans=1)
    net = jt.zoo.create_model("resnet34", num_classes=0)                  features: (n, 512)
    net = jt.zoo.create_model("resnet34", num_classes=0, global_pool="")  a map: (n, 512, 7, 7)
    net = jt.zoo.create_model("resnet34", checkpoint_path="mine.pth")

With another number of classes, weights are loaded for all but the last layer. With one channel, the first convolution
gets the sum of its weights for red, green and blue: a gray image then gives what its three equal channels gave. With
more, these repeat, and are made smaller by as much, so that what comes out is about as large.

Weights are never random where they were asked for: what cannot be had is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import jt_edu.nn.serialization as files
from jt_edu import nn
from jt_edu.base.errors import ArgumentError
from jt_edu.models.published import file_of
from jt_edu.nn.state_dict import Loaded
from jt_edu.ops.concat import concat
from jt_edu.variable.var import Var, as_var
from jt_edu.zoo.features import FeatureGetterNet, FeatureListNet
from jt_edu.zoo.registry import PretrainedCfg, entry_of, resolve, split_tag, words

__all__ = ["adapt_input_conv", "build_model_with_cfg", "create_model", "load_checkpoint", "load_state_dict"]
EMA = ("state_dict_ema", "model_ema")  # averages of weights, in a file of a training
STATES = ("state_dict", "model")
WRAPPERS = ("_orig_mod.", "module.")  # what PyTorch puts in front of names, where a network was wrapped
EXTRACTORS = {"list": FeatureListNet, "getter": FeatureGetterNet}


def create_model(
    model_name: str, pretrained: bool = False, pretrained_cfg: Any = None,
    pretrained_cfg_overlay: Mapping[str, Any] | None = None, checkpoint_path: str | Path | None = None, **kwargs: Any,
) -> nn.Module:  # fmt: skip
    """The network of this name.

    Args:
        model_name: as in `list_models`; a tag behind a dot says which weights.
        pretrained: whether it gets the weights that were published for it, from this machine or downloaded.
        pretrained_cfg: a tag, a `PretrainedCfg` or a dict of its values, in place of the registered one.
        pretrained_cfg_overlay: some values of it, such as `{"file": "mine.pth"}`.
        checkpoint_path: a file that is loaded in the end.
        kwargs: what the network is told, such as num_classes, in_chans, global_pool ("avg", "max", "avgmax",
            "catavgmax", or "" for none), drop_rate, drop_path_rate; and features_only, out_indices (see
            `FeatureListNet`). Those that are None are left out, so that a network's own value holds.

    Raises:
        UnknownModelError: no network has this name; a RuntimeError.
        ArgumentError: weights are asked for that are not here, and cannot be downloaded.

    Example:
        >>> net = jt.zoo.create_model("resnet18", num_classes=10, in_chans=None)
        >>> net(jt.ones(2, 3, 64, 64)).shape
        (2, 10)
    """
    tag = split_tag(model_name)[1]
    make = entry_of(model_name).function
    model: nn.Module = make(
        pretrained=pretrained, pretrained_cfg=pretrained_cfg or tag or None,
        pretrained_cfg_overlay=pretrained_cfg_overlay,
        **{key: value for key, value in kwargs.items() if value is not None},
    )  # fmt: skip
    if checkpoint_path:
        load_checkpoint(model, checkpoint_path)
    return model


def build_model_with_cfg(
    model_cls: Callable[..., Any], variant: str, pretrained: bool = False, pretrained_cfg: Any = None,
    pretrained_cfg_overlay: Mapping[str, Any] | None = None, feature_cfg: Mapping[str, Any] | None = None,
    pretrained_filter_fn: Callable[..., Any] | None = None, pretrained_strict: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """Make a network as `create_model` was asked to: for functions under `register_model`.

    Args:
        model_cls, variant: the class, or what makes one of it from `kwargs`; the name that is registered.
        pretrained, pretrained_cfg, pretrained_cfg_overlay: as in `create_model`.
        feature_cfg: how features are taken: `feature_cls` "list" or "getter", and that class's arguments.
        pretrained_filter_fn: called with a state and the network; returns the state as the network wants it.
        pretrained_strict: whether the state has to have the network's names, and no others.
        kwargs: for the class; num_classes, in_chans, and img_size if that is fixed, are those of the cfg if not given.

    Raises:
        ArgumentError: weights are asked for that cannot be had; or out_indices without features_only.

    Example:
        >>> class Tiny(jt.nn.Module):
        ...     def __init__(self, num_classes, in_chans):
        ...         self.fc = jt.nn.Linear(in_chans, num_classes)
        >>> build_model_with_cfg(Tiny, "tiny", pretrained_cfg={"num_classes": 7}).fc
        Linear(in_features=3, out_features=7, bias=True)
    """
    cfg = resolve(variant, pretrained_cfg, pretrained_cfg_overlay)
    features_only, out_indices = kwargs.pop("features_only", False), kwargs.pop("out_indices", None)
    if out_indices is not None and not features_only:
        raise ArgumentError("out_indices are for features_only=True", f"out_indices={out_indices!r} without it")
    size = {"img_size": cfg.input_size[1:]} if cfg.fixed_input_size else {}
    model = model_cls(**{"num_classes": cfg.num_classes, "in_chans": cfg.input_size[0], **size, **kwargs})
    model.pretrained_cfg = model.default_cfg = cfg.to_dict()
    if pretrained:
        load_pretrained(model, cfg, kwargs.get("in_chans", cfg.input_size[0]), pretrained_filter_fn, pretrained_strict)
    if not features_only:
        return model
    how = {**(feature_cfg or {}), **({} if out_indices is None else {"out_indices": out_indices})}
    extractor = EXTRACTORS[how.pop("feature_cls", "list")](model, **how)
    extractor.pretrained_cfg = extractor.default_cfg = model.pretrained_cfg
    return extractor


def load_pretrained(
    model: Any, cfg: PretrainedCfg, in_chans: int, filter_fn: Callable[..., Any] | None = None, strict: bool = True
) -> None:
    """Load published weights into a network with other classes or channels, perhaps.

    Raises:
        ArgumentError: none are published, or they can be had neither from this machine nor from the network.
    """
    name = cfg.architecture
    if not (cfg.file or cfg.url):
        way = f"create_model({name!r}, checkpoint_path=...), a file of yours, or pretrained=False, for random weights"
        raise ArgumentError(f"pretrained=True loads weights that were published for {name}", "none", way)
    state = load_state_dict(cfg.file or file_of(name, cfg.url))
    state = filter_fn(state, model) if filter_fn else state
    mine = model.state_dict()
    for layer in words(cfg.first_conv):
        state[f"{layer}.weight"] = adapt_input_conv(in_chans, state[f"{layer}.weight"], cfg.input_size[0])
    if model.num_classes != cfg.num_classes:
        heads = tuple(f"{layer}." for layer in words(cfg.classifier))
        state = {key: value for key, value in state.items() if not key.startswith(heads)}
        state |= {key: value for key, value in mine.items() if key.startswith(heads)}
    model.load_state_dict(state, strict=strict)


def adapt_input_conv(in_chans: int, conv_weight: Any, base_chans: int = 3) -> Var:
    """The weights of a first convolution, for images with another number of channels.

        1 channel      the sum over the channels: (o, 3, h, w) -> (o, 1, h, w)
        n channels     channels 0, 1, 2, 0, 1, ..., times 3 / n: (o, 3, h, w) -> (o, n, h, w)

    Args:
        in_chans: channels of the images.
        conv_weight: (o, base_chans, h, w).
        base_chans: channels that it was trained with.

    Raises:
        ArgumentError: it has other than base_chans channels.

    Example:
        >>> weight = jt.array([1.0, 2.0, 4.0]).reshape(1, 3, 1, 1)
        >>> adapt_input_conv(1, weight).item(), adapt_input_conv(4, weight).flatten().numpy()
        (7.0, array([0.75, 1.5 , 3.  , 0.75], dtype=float32))
    """
    weight = as_var(conv_weight)
    if in_chans == base_chans:
        return weight
    if weight.ndim != 4 or weight.shape[1] != base_chans:
        raise ArgumentError(f"a first convolution has weights (o, {base_chans}, h, w)", f"shape {weight.shape}")
    if in_chans == 1:
        return weight.sum(1, keepdims=True)
    repeated: Var = concat([weight] * -(-in_chans // base_chans), 1)[:, :in_chans]
    return repeated * (base_chans / in_chans)


def load_state_dict(checkpoint_path: str | Path, use_ema: bool = True) -> dict[str, Any]:
    """The weights in a file, by name: of a network alone, or of a whole training.

    Args:
        checkpoint_path: a .pth, .pt, .bin, .safetensors or .npz file; see `jt.load`.
        use_ema: take the averages of the weights, where a training kept them.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     jt.save({"epoch": 3, "state_dict": {"module.w": jt.ones(2)}}, folder + "/run.pth")
        ...     load_state_dict(folder + "/run.pth")
        {'w': jt.Var([1., 1.], dtype=float32)}
    """
    state: Any = files.load(checkpoint_path)
    if isinstance(state, dict):
        found = [key for key in (*(EMA if use_ema else ()), *STATES) if isinstance(state.get(key), dict)]
        state = state[found[0]] if found else state
    if not isinstance(state, dict) or not all(isinstance(value, (Var, np.ndarray)) for value in state.values()):
        kind = ", ".join(map(str, state)) if isinstance(state, dict) else f"a {type(state).__name__}"
        asked = f"{checkpoint_path} has weights by name, perhaps under {', '.join((*STATES, *EMA))}"
        raise ArgumentError(asked, kind, "jt.load(path), and load_state_dict of the part with the weights")
    return {unwrapped(key): value for key, value in state.items()}


def unwrapped(key: str) -> str:
    """A name without what wrappers of PyTorch put in front of it.

    Example:
        >>> unwrapped("_orig_mod.module.conv1.weight")
        'conv1.weight'
    """
    while any(key.startswith(one) for one in WRAPPERS):
        key = key.partition(".")[2]
    return key


def load_checkpoint(
    model: nn.Module, checkpoint_path: str | Path, use_ema: bool = True, strict: bool = True,
    filter_fn: Callable[..., Any] | None = None,
) -> Loaded:  # fmt: skip
    """Load a file into a network. Returns the names that were missing, and those that were left over.

    Args:
        model: the network.
        checkpoint_path: see `load_state_dict`.
        use_ema: take the averages of the weights, where a training kept them.
        strict: whether every name must be in both.
        filter_fn: called with a state and the network; returns the state as the network wants it.

    Example:
        >>> import tempfile
        >>> net = jt.nn.Linear(2, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     jt.save({"model": net.state_dict(), "epoch": 3}, folder + "/run.npz")
        ...     load_checkpoint(net, folder + "/run.npz")
        Loaded(missing=[], unexpected=[])
    """
    state = load_state_dict(checkpoint_path, use_ema)
    return model.load_state_dict(filter_fn(state, model) if filter_fn else state, strict=strict)
