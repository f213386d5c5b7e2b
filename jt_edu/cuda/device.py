"""Device: is there a GPU? In this version kernels run in the interpreter, and there is none."""

from __future__ import annotations


def is_available() -> bool:
    """Whether kernels run on a GPU: no, in the interpreter.

    Example:
        >>> jt.cuda.is_available()
        False
    """
    return False


def device_count() -> int:
    """How many GPUs there are for kernels: none.

    Example:
        >>> jt.cuda.device_count()
        0
    """
    return 0


def synchronize() -> None:
    """Wait until all launches have ended: they have, for the interpreter returns when it is done.

    Example:
        >>> jt.cuda.synchronize()
    """
