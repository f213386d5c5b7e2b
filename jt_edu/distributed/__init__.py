"""jt.distributed: ranks that work together, in PyTorch's names.

    jt.distributed.init_process_group()        join the other ranks: simulated ones, those of mpirun, other processes
    jt.distributed.all_reduce(x)               x has the sum of all ranks' x

See README.md in this folder for what stands where. This file is a door: names only.
"""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door
from jt_edu.distributed import algorithms
from jt_edu.distributed.available import is_gloo_available, is_mpi_available, is_nccl_available
from jt_edu.distributed.buckets import GradBucket
from jt_edu.distributed.collectives import (
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
)
from jt_edu.distributed.comm_hooks import allreduce_hook, bf16_compress_hook, fp16_compress_hook
from jt_edu.distributed.ddp import DistributedDataParallel
from jt_edu.distributed.file_store import FileStore
from jt_edu.distributed.group_base import ArrayGroup
from jt_edu.distributed.groups import (
    GroupMember,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    new_group,
    new_subgroups,
)
from jt_edu.distributed.init_process_group import (
    Backend,
    destroy_process_group,
    init_process_group,
    is_available,
    is_initialized,
)
from jt_edu.distributed.monitored_barrier import monitored_barrier
from jt_edu.distributed.mpi_group import CommGroup
from jt_edu.distributed.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from jt_edu.distributed.options import (
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    ReduceOp,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
)
from jt_edu.distributed.point_to_point import P2POp, batch_isend_irecv, irecv, isend, recv, send
from jt_edu.distributed.power_sgd import PowerSGDState, powerSGD_hook
from jt_edu.distributed.process_group import ProcessGroup
from jt_edu.distributed.sampler import DistributedSampler
from jt_edu.distributed.store import HashStore, PrefixStore, Store
from jt_edu.distributed.tcp_group import SocketGroup
from jt_edu.distributed.tcp_store import TCPStore
from jt_edu.distributed.work import Finished, Future, Work

__all__ = [
    "AllToAllOptions",
    "AllgatherOptions",
    "AllreduceCoalescedOptions",
    "AllreduceOptions",
    "ArrayGroup",
    "Backend",
    "BarrierOptions",
    "BroadcastOptions",
    "CommGroup",
    "DistributedDataParallel",
    "DistributedSampler",
    "FileStore",
    "Finished",
    "Future",
    "GatherOptions",
    "GradBucket",
    "GroupMember",
    "HashStore",
    "P2POp",
    "PowerSGDState",
    "PrefixStore",
    "ProcessGroup",
    "ReduceOp",
    "ReduceOptions",
    "ReduceScatterOptions",
    "ScatterOptions",
    "SocketGroup",
    "Store",
    "TCPStore",
    "Work",
    "algorithms",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "allreduce_hook",
    "barrier",
    "batch_isend_irecv",
    "bf16_compress_hook",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "fp16_compress_hook",
    "gather",
    "gather_object",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "irecv",
    "is_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "isend",
    "monitored_barrier",
    "new_group",
    "new_subgroups",
    "powerSGD_hook",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.distributed", __all__)
