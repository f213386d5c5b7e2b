"""Allreduce: one side of the suite `ranks`, in processes of its own. Prints the ms of each call of the slowest rank.

                python -m tests.bench.allreduce threads native 4 18     simulated ranks, in this process
    mpirun -n 4 python -m tests.bench.allreduce mpi native 4 18         jt_edu over mpi4py, one process a rank
    mpirun -n 4 python -m tests.bench.allreduce mpi4py native 4 18      mpi4py alone
    mpirun -n 4 python -m tests.bench.allreduce gloo FILE 4 18          PyTorch, started by mpirun; they meet in FILE
    mpirun -n 4 python -m tests.bench.allreduce tcp FILE 4 18           jt.distributed over sockets, as gloo is

Buffers are made once, and written to before anything is timed. The first calls are not counted.
"""

import json
import os
import sys
import time

import numpy as np

COUNT = 6_250_000  # float32: 25 MB
WARM = 2  # calls
RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")  # what launchers call the number of a process


def times(call, wait, slowest, repeats):
    """ms of each call. `wait` lets all ranks begin together, `slowest` is the largest number of all ranks."""
    found = []
    for _ in range(WARM + repeats):
        wait()
        begin = time.perf_counter()
        call()
        found.append(slowest(time.perf_counter() - begin) * 1e3)
    return found[WARM:]


def threads(algorithm, ranks, repeats):
    from jt_edu.mpi.simulator.threads import simulate  # noqa: PLC0415  only this side needs it

    return simulate(ranks)(lambda comm: ours(comm, algorithm, repeats))[0]


def mpi(algorithm, _, repeats):
    from jt_edu.mpi.mpi4py_backend.communicator import world  # noqa: PLC0415  only this side needs it

    comm = world()
    found = ours(comm, algorithm, repeats)
    return found if comm.rank == 0 else None


def ours(comm, algorithm, repeats):
    x, out = numbers(comm.rank)
    return times(
        lambda: comm.Allreduce(x, out, algorithm=algorithm), comm.Barrier,
        lambda seconds: comm.allreduce(seconds, op="max"), repeats,
    )  # fmt: skip


def mpi4py(_, __, repeats):
    from mpi4py import MPI  # noqa: PLC0415  only this side needs it

    comm = MPI.COMM_WORLD
    x, out = numbers(comm.rank)
    slowest = lambda seconds: comm.allreduce(seconds, op=MPI.MAX)  # noqa: E731
    found = times(lambda: comm.Allreduce(x, out), comm.Barrier, slowest, repeats)
    return found if comm.rank == 0 else None


def gloo(file, ranks, repeats):
    import torch  # noqa: PLC0415  only this side needs it
    import torch.distributed as dist  # noqa: PLC0415

    torch.set_num_threads(1)
    rank = my_rank()
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=ranks)
    x = torch.from_numpy(numbers(rank)[0])

    def slowest(seconds):
        found = torch.tensor(seconds, dtype=torch.float64)
        dist.all_reduce(found, dist.ReduceOp.MAX)
        return float(found)

    found = times(lambda: dist.all_reduce(x), dist.barrier, slowest, repeats)
    dist.destroy_process_group()
    return found if rank == 0 else None


def tcp(file, ranks, repeats):
    import jt_edu as jt  # noqa: PLC0415  only this side needs it

    dist, rank = jt.distributed, my_rank()
    dist.init_process_group("tcp", f"file://{file}", rank=rank, world_size=ranks)
    x = jt.array(numbers(rank)[0])

    def slowest(seconds):
        found = jt.array(np.array(seconds))
        dist.all_reduce(found, dist.ReduceOp.MAX)
        return found.item()

    found = times(lambda: dist.all_reduce(x), dist.barrier, slowest, repeats)
    dist.destroy_process_group()
    return found if rank == 0 else None


def my_rank():
    return int(next(os.environ[name] for name in RANKS if name in os.environ))


def numbers(rank):
    """What a rank brings, and where the sum goes; both are in memory already."""
    return np.full(COUNT, 1 / (rank + 1), np.float32), np.zeros(COUNT, np.float32)


if __name__ == "__main__":
    side, how, size, count = sys.argv[1:]
    told = globals()[side](how, int(size), int(count))
    if told is not None:
        print(json.dumps(told), flush=True)
