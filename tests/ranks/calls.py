"""One call of every collective on buffers, and what NumPy says that each rank gets from it.

Rank r of P brings `part(name, r, P, count)`. Values are small whole numbers, so that sums are exact in every dtype.
"""

import numpy as np

ROOTED = ("bcast", "scatter", "gather", "reduce")
CUT = ("scatter", "alltoall", "reduce_scatter")  # a rank brings a piece for each


def part(name, rank, ranks, count, dtype="float64"):
    size = count * ranks if name in CUT else count
    return ((np.arange(size) * (rank + 2) + rank) % 5).astype(dtype)


def call(comm, name, algorithm, count, root=0, dtype="float64", begin=False):
    """Make the call; answers the buffer that this rank gets. `begin`: the form that comes back at once."""
    if name == "barrier":
        return comm.Barrier(algorithm=algorithm)
    x, ranks = part(name, comm.rank, comm.size, count, dtype), comm.size
    room = np.zeros(count * ranks if name in ("gather", "allgather", "alltoall") else count, dtype)
    method = {"reduce_scatter": "Reduce_scatter_block"}.get(name, name.capitalize())
    method = getattr(comm, f"I{method.lower()}" if begin else method)
    rooted = {"root": root} if name in ROOTED else {}
    given = (x,) if name == "bcast" else (x, room)
    request = method(*given, algorithm=algorithm, **rooted)
    if begin:
        request.wait()
    return x if name == "bcast" else room


def expected(name, ranks, count, root=0, dtype="float64"):
    """What each rank gets."""
    parts = [part(name, rank, ranks, count, dtype) for rank in range(ranks)]
    nothing = np.zeros(count * ranks if name == "gather" else count, dtype)
    total = np.sum(parts, 0).astype(dtype) if name != "barrier" else None
    match name:
        case "barrier":
            return [None] * ranks
        case "bcast":
            return [parts[root]] * ranks
        case "scatter":
            return np.split(parts[root], ranks)
        case "gather" | "reduce":
            found = np.concatenate(parts) if name == "gather" else total
            return [found if rank == root else nothing for rank in range(ranks)]
        case "allgather":
            return [np.concatenate(parts)] * ranks
        case "alltoall":
            return [np.concatenate([np.split(p, ranks)[rank] for p in parts]) for rank in range(ranks)]
        case "allreduce":
            return [total] * ranks
        case "reduce_scatter":
            return np.split(total, ranks)
        case "scan":
            return list(np.cumsum(parts, 0).astype(dtype))
        case "exscan":
            return [nothing, *np.cumsum(parts, 0).astype(dtype)[:-1]]
