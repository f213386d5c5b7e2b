"""Autocast mode: how is a region of mixed precision written?

with jt.amp.autocast(dtype="bfloat16"):
    loss = mse_loss(net(x), y)      products in bfloat16, the loss in float32; parameters stay float32
loss.backward()                     outside: a gradient computes in the dtype in which its function did
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

from jt_edu.amp.lists import LISTS, LOWER
from jt_edu.base.context import current
from jt_edu.base.dtypes import DType, as_dtype
from jt_edu.base.errors import DtypeError
from jt_edu.base.scoped import scoped
from jt_edu.ops.arguments import choice, yes_or_no
from jt_edu.variable.autocast import Lists, Region
from jt_edu.variable.torch_keywords import on_cpu

__all__ = ["autocast", "get_autocast_dtype", "is_autocast_available", "is_autocast_enabled"]


class autocast:  # noqa: N801 - PyTorch's name
    """A region in which functions compute in the dtype that a list says. Also a decorator; regions may be nested.

    Args:
        device_type: "cpu".
        dtype: the lower one, bfloat16 or float16; bfloat16 by default.
        enabled: False makes a region in which nothing is cast, such as one inside of another.
        cache_enabled: False casts a parameter each time that it is used, and not once.
        lists: "pytorch", its table for the CPU; "apex", that of opt_level O1; or `Lists` of one's own.

    Raises:
        ArgumentError: another device, or no such lists.
        DtypeError: another dtype.

    Source: PyTorch's documentation, "Automatic Mixed Precision package", CPU op-specific behavior; Apex's, "apex.amp".

    Example:
        >>> w = jt.ones(2, 2)
        >>> with jt.amp.autocast(dtype="bfloat16"):
        ...     y = w @ w
        >>> y.dtype, jt.grad(y.sum(), w).dtype
        (jt.bfloat16, jt.float32)
    """

    def __init__(
        self, device_type: str = "cpu", dtype: Any = None, enabled: bool = True, cache_enabled: bool = True, *,
        lists: str | Lists = "pytorch",
    ) -> None:  # fmt: skip
        on_cpu("autocast", device_type)
        self.dtype = _lower(dtype)
        self.enabled = yes_or_no("autocast", "enabled", enabled)
        self.cache_enabled = yes_or_no("autocast", "cache_enabled", cache_enabled)
        self.lists = lists if isinstance(lists, Lists) else LISTS[choice("autocast", "lists", lists, (*LISTS,))]
        self._outer: dict[Any, list[Any]] = {}  # of each thread: what held before it entered, once for each time

    def __enter__(self) -> Self:
        moment = current().threads.now
        outer = moment.autocast
        self._outer.setdefault(moment, []).append(outer)
        moment.autocast = Region(self.dtype, self.lists, outer, self.cache_enabled) if self.enabled else None
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
    wanted = LOWER[0] if dtype is None else as_dtype(dtype)
    if wanted not in LOWER:
        raise DtypeError(
            "autocast computes in one of two lower dtypes", f"dtype {wanted}", " or ".join(map(repr, LOWER))
        )
    return wanted


def is_autocast_enabled(device_type: str = "cpu") -> bool:
    """Whether functions are cast here.

    Args:
        device_type: "cpu".

    Example:
        >>> with jt.amp.autocast():
        ...     jt.amp.is_autocast_enabled()
        True
    """
    on_cpu("is_autocast_enabled", device_type)
    return current().threads.now.autocast is not None


def get_autocast_dtype(device_type: str = "cpu") -> DType:
    """The lower dtype of this region; outside of one, that of `autocast()`.

    Args:
        device_type: "cpu".

    Example:
        >>> jt.amp.get_autocast_dtype()
        jt.bfloat16
    """
    on_cpu("get_autocast_dtype", device_type)
    region = current().threads.now.autocast
    return LOWER[0] if region is None else region.dtype


def is_autocast_available(device_type: str) -> bool:
    """Whether there is a table for a device: for "cpu", where everything is.

    Args:
        device_type: its name.

    Example:
        >>> jt.amp.is_autocast_available("cpu"), jt.amp.is_autocast_available("cuda")
        (True, False)
    """
    return str(device_type).partition(":")[0] == "cpu"
