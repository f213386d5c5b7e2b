"""Version: which one is this, and what are kernels of a GPU compiled with?

    jt.version.cuda     such as "13.5", where numba-cuda is installed, which compiles for cards of NVIDIA; else None
    jt.version.hip      None: for cards of AMD there is the text of a kernel, and no more (decision 099)

The names are those of `torch.version`.
"""

from __future__ import annotations

from functools import cache
from pkgutil import resolve_name

__version__ = "0.1.0"
hip: str | None = None


def __getattr__(name: str) -> str | None:
    if name != "cuda":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _cuda()


@cache
def _cuda() -> str | None:
    """The version of CUDA that the compiler is from; asked for late, since it takes a while to find."""
    try:
        found: str = resolve_name("importlib.metadata:version")("nvidia-nvvm")
    except ModuleNotFoundError:  # so is a package called that is not there
        return None
    return ".".join(found.split(".")[:2])
