"""Autocast mode: how is a region of mixed precision written?

with jt.amp.autocast(dtype="bfloat16"):
    loss = mse_loss(net(x), y)      products in bfloat16, the loss in float32; parameters stay float32
loss.backward()                     outside: a gradient computes in the dtype in which its function did
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

from jt_edu.amp.lists import BY_DEFAULT, LISTS, LOWER, ON, SWITCH
from jt_edu.base.context import current
from jt_edu.base.dtypes import DType, as_dtype
from jt_edu.base.errors import DtypeError
from jt_edu.base.scoped import scoped
from jt_edu.ops.arguments import choice, yes_or_no
from jt_edu.ops.device import device as named
from jt_edu.runtime.devices import default_device, is_there
from jt_edu.variable.autocast import Lists, Region
from jt_edu.variable.torch_keywords import place

__all__ = ["autocast", "get_autocast_dtype", "is_autocast_available", "is_autocast_enabled"]


class autocast:  # noqa: N801 - PyTorch's name
    """A region in which functions compute in the dtype that a list says. Also a decorator; regions may be nested.

    Args:
        device_type: where it holds: "cpu", or another device that there is; by default where `jt.flags` has all
            computed when it is entered. What is computed elsewhere is let alone, or is another region's around it.
        dtype: the lower one, bfloat16 or float16; by default float16 on the device "cuda", bfloat16 elsewhere.
        enabled: False makes a region in which nothing is cast, such as one inside of another. Its device need not be
            there.
        cache_enabled: False casts a parameter each time that it is used, and not once.
        lists: "pytorch", its table for the device; "apex", that of opt_level O1; or `Lists` of one's own.

    Raises:
        ArgumentError: a device that is not there, or no such lists.
        DtypeError: another dtype.

    Source: PyTorch's documentation, "Automatic Mixed Precision package", op-specific behavior; Apex's, "apex.amp".

    Example:
        >>> w = jt.ones(2, 2)
        >>> with jt.amp.autocast(dtype="bfloat16"):
        ...     y = w @ w
        >>> y.dtype, jt.grad(y.sum(), w).dtype
        (jt.bfloat16, jt.float32)
    """

    def __init__(
        self, device_type: str | None = None, dtype: Any = None, enabled: bool = True, cache_enabled: bool = True, *,
        lists: str | Lists = "pytorch",
    ) -> None:  # fmt: skip
        self.enabled = yes_or_no("autocast", "enabled", enabled)
        self._device = None  # then that of the flags
        if device_type is not None:
            self._device = place("autocast", device_type, SWITCH) if enabled else named(device_type).type
        self._dtype = None if dtype is None else _lower(dtype)
        self.cache_enabled = yes_or_no("autocast", "cache_enabled", cache_enabled)
        self._lists = lists if isinstance(lists, Lists) else choice("autocast", "lists", lists, (*LISTS,))
        self._outer: dict[Any, list[Any]] = {}  # of each thread: what held before it entered, once for each time

    @property
    def device(self) -> str:
        """Where it holds, if it is entered now."""
        return self._device or default_device()

    @property
    def dtype(self) -> DType:
        """The lower one."""
        return self._dtype or BY_DEFAULT.get(self.device, LOWER[0])

    def __enter__(self) -> Self:
        moment, device, lists = current().threads.now, self.device, self._lists
        outer = moment.autocast
        self._outer.setdefault(moment, []).append(outer)
        held = [r for r in (outer, *outer.others) if r.device not in ("", device)] if outer is not None else []
        if self.enabled:
            lists = lists if isinstance(lists, Lists) else ON.get((lists, device), LISTS[lists])
            moment.autocast = Region(self.dtype, lists, outer, self.cache_enabled, device, held)
        else:
            moment.autocast = held[0].beside(held[1:]) if held else None
        return self

    def __exit__(self, *error: object) -> None:
        moment = current().threads.now
        moment.autocast = self._outer[moment].pop()
        if not self._outer[moment]:
            del self._outer[moment]

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, always run in such a region; of a generator or a coroutine each step."""
        decorated: Callable[..., Any] = _in_region(self)(function)
        return decorated


@scoped
def _in_region(region: autocast) -> Iterator[None]:
    with region:
        yield


def _lower(dtype: Any) -> DType:
    """The lower dtype that is asked for."""
    wanted = as_dtype(dtype)
    if wanted not in LOWER:
        raise DtypeError(
            "autocast computes in one of two lower dtypes", f"dtype {wanted}", " or ".join(map(repr, LOWER))
        )
    return wanted


def _region(device_type: Any) -> Any:
    """The region that holds on a device here; by default on that of the flags."""
    region = current().threads.now.autocast
    name = named(default_device() if device_type is None else device_type).type
    return region and region.on(name)


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether functions are cast here.

    Args:
        device_type: on which device; by default where `jt.flags` has all computed.

    Example:
        >>> with jt.amp.autocast():
        ...     jt.amp.is_autocast_enabled()
        True
    """
    return _region(device_type) is not None


def get_autocast_dtype(device_type: str | None = None) -> DType:
    """The lower dtype of this region; outside of one, that of `autocast(device_type)`.

    Args:
        device_type: on which device; by default where `jt.flags` has all computed.

    Example:
        >>> jt.amp.get_autocast_dtype()
        jt.bfloat16
    """
    region = _region(device_type)
    return (autocast(device_type, enabled=False) if region is None else region).dtype


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast` takes the name of a device: there has to be one.

    Args:
        device_type: its name.

    Example:
        >>> jt.amp.is_autocast_available("cpu"), jt.amp.is_autocast_available("no such device")
        (True, False)
    """
    return is_there(str(device_type).partition(":")[0])
