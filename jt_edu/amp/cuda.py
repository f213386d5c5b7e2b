"""Cuda: `torch.cuda.amp`, whose regions and scales are those of a GPU.

with jt.cuda.amp.autocast():               jt.amp.autocast("cuda")
scaler = jt.cuda.amp.GradScaler()          jt.amp.GradScaler("cuda")
"""

from __future__ import annotations

from functools import partial
from typing import Any

from jt_edu.amp import autocast_mode, custom, grad_scaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

custom_fwd, custom_bwd = (partial(f, device_type="cuda") for f in (custom.custom_fwd, custom.custom_bwd))


class GradScaler(grad_scaler.GradScaler):
    """`jt.amp.GradScaler` for the device "cuda": its arguments begin with `init_scale`.

    Example:
        >>> jt.cuda.amp.GradScaler(enabled=False).get_scale()
        1.0
    """

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__("cuda", *args, **named)


def autocast(enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> autocast_mode.autocast:
    """A region on the device "cuda"; see `jt.amp.autocast`.

    Args:
        enabled: False makes a region in which nothing is cast.
        dtype: the lower one; float16 by default.
        cache_enabled: False casts a parameter each time that it is used.

    Raises:
        ArgumentError: there is no GPU.

    Source: PyTorch 1.8's documentation, "Automatic Mixed Precision package".

    Example:
        >>> with jt.cuda.amp.autocast():
        ...     pass
        Traceback (most recent call last):
        ArgumentError: autocast takes a device that is there; found device='cuda', and no GPU. Try: ...
    """
    return autocast_mode.autocast("cuda", dtype, enabled, cache_enabled)
