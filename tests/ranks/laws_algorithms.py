"""Laws of the algorithms: by whichever one a collective goes, each rank gets what NumPy says. See laws.py."""

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.mpi.algorithms import ALGORITHMS
from jt_edu.mpi.algorithms.combine import fold
from jt_edu.mpi.base.constants import SUM, Op
from jt_edu.mpi.perf_model.model import measure
from tests.ranks.calls import ROOTED, call, expected
from tests.ranks.laws_misuse import refused


def _gives(comm, name, algorithm, count, root=0, begin=False):
    found, wanted = call(comm, name, algorithm, count, root, begin=begin), expected(name, comm.size, count, root)

    np.testing.assert_array_equal(found, wanted[comm.rank], err_msg=f"{name} by {algorithm}, {count} numbers each")


def law_every_algorithm_gives_what_numpy_says(comm):
    for name, algorithm in ALGORITHMS:
        for count in (0, 1, 5, 3000):
            for root in {0, comm.size - 1} if name in ROOTED else {0}:
                _gives(comm, name, algorithm, count, root)


def law_every_algorithm_can_run_in_the_background(comm):
    for name, algorithm in ALGORITHMS:
        if name != "barrier":
            _gives(comm, name, algorithm, 7, begin=True)


def law_rank_order_has_the_bits_of_a_sum_in_the_order_of_ranks(comm):
    parts = [np.random.default_rng(rank).normal(size=1000).astype(np.float32) for rank in range(comm.size)]
    out = np.empty(1000, np.float32)
    comm.Allreduce(parts[comm.rank], out, algorithm="rank_order")

    np.testing.assert_array_equal(out, fold(parts, SUM))


def law_what_changes_the_order_refuses_a_reduction_that_needs_it(comm):
    for algorithm in ("ring", "rabenseifner", "hierarchical"):
        last = Op.Create(lambda a, b: b)
        refused(
            ArgumentError, "does not commute",
            lambda: comm.Allreduce(np.zeros(4), np.zeros(4), op=last, algorithm=algorithm),  # noqa: B023
        )  # fmt: skip


def law_a_ping_pong_tells_all_ranks_the_same_line(comm):
    if comm.size > 1:
        line = measure(comm, sizes=(8, 4000, 400_000), repeats=2)

        assert line.trip(400_000) > 0
        assert line.alpha >= 0 <= line.beta
        assert len(set(comm.allgather(line))) == 1


LAWS = [law for name, law in list(globals().items()) if name.startswith("law_")]
