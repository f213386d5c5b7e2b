"""Missing: names of mpi4py that are not here, and what does the same.

comm.Create_cart((2, 2))    refused, with "Split by comm.rank // columns, and by comm.rank % columns"
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

INSTEAD = {  # how a name begins -> what to use
    "Create_cart": "Split by comm.rank // columns for the rows of a grid, and by comm.rank % columns for its columns",
    "Compute_dims": "a number of rows that divides comm.size",
    "Create_graph": "a list of neighbours, and Sendrecv with each",
    "Create_dist_graph": "a list of neighbours, and Sendrecv with each",
    "Cart": "Split by comm.rank // columns for the rows of a grid, and by comm.rank % columns for its columns",
    "Neighbor": "Sendrecv with each neighbour",
    "Ineighbor": "Isend to each neighbour, Irecv from each, then Request.Waitall",
    "Create_intercomm": "one communicator for all, and Split for each side",
    "Intercomm": "one communicator for all, and Split for each side",
    "Win": "Send and Recv, or a collective",
    "File": "a file for each rank, or gather on rank 0, which writes",
    "Spawn": "all ranks from the start: mpirun -n, simulate(n)",
    "buffer": "bytearray, or np.empty",
    "memory": "bytearray, or np.empty",
    "Pack": "send, which takes any object",
    "Unpack": "recv, which gives any object",
}


def instead_of(name: str, here: Iterable[str]) -> str:
    """What to try instead of a name: what does the same, or else names that look like it.

    Example:
        >>> instead_of("Create_cart", [])[:5], instead_of("Alreduce", ["Allreduce", "Bcast"])
        ('Split', 'Allreduce')
    """
    known = [start for start in INSTEAD if name.startswith(start)]
    return INSTEAD[max(known, key=len)] if known else ", ".join(difflib.get_close_matches(name, here, 3))
