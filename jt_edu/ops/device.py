"""Device: where a Var lies, in PyTorch's words.

here = jt.device("cuda" if jt.cuda.is_available() else "cpu")
net.to(here), x.to(here), jt.zeros(3, device=here)
here.type, here.index             "cuda", None
with here: ...                    what is computed inside is computed there
jt.set_default_device(here)       and from here on
"""

from __future__ import annotations

import re
from typing import Any, Self

from jt_edu.backends import conv
from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError
from jt_edu.ir.builders import short
from jt_edu.runtime.devices import CPU, CPU_BACKENDS, CUDA, default_device
from jt_edu.variable.torch_keywords import is_device, place

__all__ = ["device", "get_default_device", "set_default_device", "use_deterministic_algorithms"]


class device(str):  # noqa: N801 - PyTorch's name
    """The name of a device: a word as any other, with a `type` and an `index`. The device itself need not be there.

    In `with jt.device("cuda"):` all is computed there, whatever made the arrays. What nobody has asked for when the
    block ends is computed where it is asked for: `x.sync()` in the block computes it there.

    Args:
        type: such as "cpu", "cuda" or "cuda:0"; a whole number is that of a GPU.
        index: its number, if `type` does not say it.

    Raises:
        ArgumentError: no name of a device; or, on entering it, the device is not there.

    Example:
        >>> here = device("cuda" if jt.cuda.is_available() else "cpu")
        >>> jt.ones(2).to(here).device == here, here.type, here.index, device("cuda", 0)
        (True, 'cpu', None, 'cuda:0')
    """

    __slots__ = ()

    def __new__(cls, type: Any, index: int | None = None) -> Self:  # noqa: D102 - PyTorch's words
        name = f"{CUDA}:{type}" if isinstance(type, int) else str(type)
        name += "" if index is None else f":{index}"
        if not (is_device(name) and re.fullmatch("[^:]+(:[0-9]{1,4})?", name)):
            raise ArgumentError("device takes the name of one", short(name), "jt.device('cpu'), or jt.device('cuda:0')")
        return super().__new__(cls, name)

    @property
    def type(self) -> str:
        """The name without a number."""
        return self.partition(":")[0]

    @property
    def index(self) -> int | None:  # type: ignore[override]  # a text has a method of this name, and no use for it here
        """The number; None is the one of this thread."""
        number = self.partition(":")[2]
        return int(number) if number else None

    def __enter__(self) -> Self:
        context = current()
        before = context.flags.backend, context.flags.use_cuda
        set_default_device(self)
        context.rank_state.setdefault("devices", []).append(before)  # of each rank, as the flags are
        return self

    def __exit__(self, *error: object) -> None:
        context = current()
        context.flags.backend, context.flags.use_cuda = context.rank_state["devices"].pop()

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (str(self),)


def set_default_device(device: Any) -> None:
    """Compute all on a device from here on, whatever made the arrays: `jt.flags.use_cuda` with other words.

    Args:
        device: its name; None is "cpu".

    Raises:
        ArgumentError: it is not there.

    Example:
        >>> set_default_device("cpu"); get_default_device()
        'cpu'
    """
    name, flags = place("set_default_device", device), current().flags
    if name != default_device():
        flags.use_cuda = int(name == CUDA)
    if name != default_device():
        flags.backend = CPU_BACKENDS[0] if name == CPU else name


def get_default_device() -> device:
    """The device on which all is computed, unless it lies elsewhere.

    Example:
        >>> get_default_device().type
        'cpu'
    """
    return device(default_device())


def use_deterministic_algorithms(mode: bool) -> None:
    """Choose algorithms that give the same numbers each time: `jt.backends.conv.deterministic`, as all else does so.

    Args:
        mode: False lets convolutions be as fast as they can.

    Example:
        >>> use_deterministic_algorithms(False)
    """
    conv.deterministic = mode  # type: ignore[attr-defined]  # a setting
