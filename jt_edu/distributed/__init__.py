"""jt.distributed: ranks that work together, in PyTorch's names.

    jt.distributed.init_process_group()        join the other ranks: simulated ones, those of mpirun, other processes
    jt.distributed.all_reduce(x)               x has the sum of all ranks' x

See README.md in this folder for what stands where. This file is a door: names only.
"""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door, names_of
from jt_edu.distributed import algorithms
from jt_edu.distributed.available import is_gloo_available, is_mpi_available, is_nccl_available
from jt_edu.distributed.buckets import GradBucket
from jt_edu.distributed.collectives import *
from jt_edu.distributed.comm_hooks import allreduce_hook, bf16_compress_hook, fp16_compress_hook
from jt_edu.distributed.ddp import DistributedDataParallel
from jt_edu.distributed.file_store import FileStore
from jt_edu.distributed.group_base import ArrayGroup
from jt_edu.distributed.groups import *
from jt_edu.distributed.init_process_group import *
from jt_edu.distributed.monitored_barrier import monitored_barrier
from jt_edu.distributed.mpi_group import CommGroup
from jt_edu.distributed.objects import *
from jt_edu.distributed.options import *
from jt_edu.distributed.point_to_point import *
from jt_edu.distributed.power_sgd import PowerSGDState, powerSGD_hook
from jt_edu.distributed.process_group import ProcessGroup
from jt_edu.distributed.sampler import DistributedSampler
from jt_edu.distributed.store import HashStore, PrefixStore, Store
from jt_edu.distributed.tcp_group import SocketGroup
from jt_edu.distributed.tcp_store import TCPStore
from jt_edu.distributed.work import Finished, Future, Work

__all__ = [
    "ArrayGroup", "CommGroup", "DistributedDataParallel", "DistributedSampler", "FileStore", "Finished", "Future",
    "GradBucket", "HashStore", "PowerSGDState", "PrefixStore", "ProcessGroup", "SocketGroup", "Store", "TCPStore",
    "Work", "algorithms", "allreduce_hook", "bf16_compress_hook", "fp16_compress_hook", "is_gloo_available",
    "is_mpi_available", "is_nccl_available", "monitored_barrier", "powerSGD_hook",
    *names_of("jt_edu.distributed", "collectives groups init_process_group objects options point_to_point"),
]  # fmt: skip
__all__.sort()

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.distributed", __all__)
