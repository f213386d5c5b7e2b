"""Parallel: PyTorch's place for modules that are trained by several ranks, or on several devices.

They stand in jt_edu/distributed, which is above this folder and imported when somebody asks: this file is a door.
"""

from importlib import import_module
from typing import Any

PLACES = {
    "DataParallel": "data_parallel", "DistributedDataParallel": "ddp", "comm": "comm", "data_parallel": "data_parallel",
    "gather": "scattering", "parallel_apply": "data_parallel", "replicate": "replicas", "scatter": "scattering",
    "scatter_kwargs": "scattering",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """One of the names, from its file."""
    if name not in PLACES:
        raise AttributeError(f"jt.nn.parallel has no {name}; its names are {', '.join(PLACES)}")
    found = import_module(f"jt_edu.distributed.{PLACES[name]}")
    return found if name == "comm" else getattr(found, name)


def __dir__() -> list[str]:
    return sorted(PLACES)
