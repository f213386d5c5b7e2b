"""Data config: how does a network want its images, unless somebody says otherwise?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.zoo.registry import MEAN, STD, PretrainedCfg

__all__ = ["resolve_data_config", "resolve_model_data_config"]


def resolve_data_config(
    args: Mapping[str, Any] | None = None, pretrained_cfg: Any = None, model: Any = None, use_test_size: bool = False
) -> dict[str, Any]:
    """What `create_transform` and `create_loader` are told about images: `args` first, then the network, then timm's.

    Args:
        args: input_size (channels, height, width) or img_size with in_chans or chans; interpolation, mean, std,
            crop_pct, crop_mode. None and names of other things are passed over.
        pretrained_cfg: of a network, as a dict or a `PretrainedCfg`.
        model: a network that has a `pretrained_cfg`.
        use_test_size: take `test_input_size` and `test_crop_pct`, where the network has them.

    Returns:
        input_size, interpolation, mean, std, crop_pct and crop_mode.

    Raises:
        ArgumentError: nothing was given.
        ShapeError: input_size has no three parts, or a mean or std is not one for each channel.

    Example:
        >>> jt.zoo.data.resolve_data_config({"img_size": 32})["input_size"]
        (3, 32, 32)

    Source: timm (Wightman, "PyTorch image models").
    """
    if args is None and pretrained_cfg is None and model is None:
        raise ArgumentError("resolve_data_config asks args, a pretrained_cfg or a model", "none of them", "{}")
    cfg = pretrained_cfg or getattr(model, "pretrained_cfg", None) or {}
    cfg, said = cfg.to_dict() if isinstance(cfg, PretrainedCfg) else dict(cfg), dict(args or {})
    size = _input_size(said, cfg, use_test_size)
    crop_pct = (cfg.get("test_crop_pct") if use_test_size else None) or cfg.get("crop_pct")
    return {
        "input_size": size,
        "interpolation": said.get("interpolation") or cfg.get("interpolation") or "bicubic",
        "mean": _for_channels("mean", said.get("mean"), size) or cfg.get("mean") or MEAN,
        "std": _for_channels("std", said.get("std"), size) or cfg.get("std") or STD,
        "crop_pct": said.get("crop_pct") or crop_pct or 0.875,
        "crop_mode": said.get("crop_mode") or cfg.get("crop_mode") or "center",
    }


def resolve_model_data_config(
    model: Any, args: Mapping[str, Any] | None = None, pretrained_cfg: Any = None, use_test_size: bool = False
) -> dict[str, Any]:
    """`resolve_data_config` with the network first.

    Args: as for `resolve_data_config`.

    Example:
        >>> jt.zoo.data.resolve_model_data_config(jt.zoo.create_model("resnet18"))["crop_mode"]
        'center'
    """
    return resolve_data_config(args, pretrained_cfg, model, use_test_size)


def _input_size(said: dict[str, Any], cfg: dict[str, Any], use_test_size: bool) -> tuple[int, ...]:
    if said.get("input_size") is not None:
        size = tuple(said["input_size"])
        if len(size) != 3:
            raise ShapeError("input_size is (channels, height, width)", f"{size}")
        return size
    channels = next((said[name] for name in ("in_chans", "chans") if said.get(name) is not None), 3)
    if said.get("img_size") is not None:
        return channels, *(int(side) for side in np.broadcast_to(said["img_size"], 2))
    test = cfg.get("test_input_size") if use_test_size else None
    return tuple(test or cfg.get("input_size") or (channels, 224, 224))


def _for_channels(name: str, values: Any, size: tuple[int, ...]) -> tuple[float, ...] | None:
    """One number for each channel; a single one stands for all."""
    if values is None:
        return None
    several = tuple(map(float, values))
    if len(several) not in (1, size[0]):
        raise ShapeError(f"{name} has one number, or {size[0]}, one for each channel", f"{several}")
    return several * size[0] if len(several) == 1 else several
