"""Parallel: PyTorch's place for modules that are trained by several ranks, or on several devices.

They stand in jt_edu/distributed, which is above this folder and imported when somebody asks: this file is a door.
"""

from jt_edu.base.did_you_mean import door

_FILES = {
    "DataParallel": "data_parallel", "DistributedDataParallel": "ddp", "data_parallel": "data_parallel",
    "gather": "scatter_gather", "parallel_apply": "data_parallel", "replicate": "replicas", "scatter": "scatter_gather",
    "scatter_kwargs": "scatter_gather",
}  # fmt: skip
_ABOVE = {
    "comm": "jt_edu.distributed.device_comm",
    **{n: f"jt_edu.distributed.{file}:{n}" for n, file in _FILES.items()},
}

__getattr__, __dir__ = door("jt.nn.parallel", _ABOVE, upstairs=_ABOVE)
