"""Every collective, by every algorithm, at once and in the background, for several dtypes; reports what was wrong."""

import itertools

import numpy as np

from jt_edu.mpi.algorithms import ALGORITHMS
from jt_edu.mpi.mpi4py_backend.communicator import world
from jt_edu.mpi.mpirun_jobs.run import report
from tests.ranks.calls import call, expected

comm = world()
NAMES = list(dict.fromkeys(name for name, _ in ALGORITHMS))
WAYS = [*((name, "native") for name in NAMES), *ALGORITHMS]
wrong, tried = [], 0
for (name, way), dtype, count, begin in itertools.product(
    WAYS, ("float64", "float32", "int64", "float16", "complex128", "bool"), (0, 1, 7), (False, True)
):
    if (name == "barrier" and begin) or (begin and (dtype, count) not in (("float64", 7), ("float16", 1))):
        continue
    root = comm.size - 1
    got = call(comm, name, way, count, root, dtype, begin)
    wanted = expected(name, comm.size, count, root, dtype)[comm.rank]
    tried += 1
    if wanted is not None and not np.array_equal(got, wanted):
        wrong.append(f"{name} by {way}, {count} of {dtype}{', in the background' * begin}: {got}, not {wanted}")
report(tried, wrong)
