"""The backend "mpi": one program gives the same numbers on simulated ranks, over sockets and under a real mpirun."""

import re

import pytest

import jt_edu as jt
from tests.distributed.ranks import dist, run
from tests.mpi.jobs import MPIS, start, well

PROGRAM = """
def program(rank):
    size = dist.get_world_size()
    seen = []
    x = jt.array([1.0 + rank, 2.0])
    dist.all_reduce(x)
    seen.append(x.tolist())
    y = jt.array([3 * rank], dtype="int32")
    dist.all_reduce(y, dist.ReduceOp.BXOR)
    seen.append(y.tolist())
    z = jt.array([1.0 + rank]).cast("float16")
    dist.all_reduce(z, dist.ReduceOp.AVG)
    seen.append(z.float().tolist())
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    seen.append(objects)
    some = dist.new_group({0, size - 1})
    v = jt.array([float(rank)])
    dist.broadcast(v, src=size - 1, group=some)
    seen.append(v.tolist())
    came = [jt.zeros(k + 1) for k in range(size)]
    dist.all_to_all(came, [jt.full((rank + 1,), float(rank)) for _ in range(size)])
    seen.append([c.tolist() for c in came])
    part = jt.zeros(1)
    dist.reduce_scatter(part, [jt.array([k + 1.0]) for k in range(size)])
    seen.append(part.tolist())
    w = jt.zeros(1)
    ring = [dist.P2POp(dist.irecv, w, (rank - 1) % size), dist.P2POp(dist.isend, v, (rank + 1) % size)]
    for work in dist.batch_isend_irecv(ring):
        work.wait()
    seen.append(w.tolist())
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    seen.append(x.tolist())
    dist.monitored_barrier()
    return seen
"""
INSIDE = """
import jt_edu as jt
dist = jt.distributed
dist.init_process_group()
assert dist.get_backend() == "mpi"
report(program(rank))
dist.destroy_process_group()
"""

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize(("mpi", "ranks"), [(mpi, ranks) for mpi in MPIS for ranks in (1, 2, 3)])
def test_one_program_gives_the_same_numbers_everywhere(mpi, ranks):
    names = {"dist": dist, "jt": jt}
    exec(PROGRAM, names)  # noqa: S102  the same text that mpirun gets
    wanted = run("threads", ranks, names["program"])

    assert run("tcp", ranks, names["program"]) == wanted
    assert [told[0] for told in well(start(PROGRAM + INSIDE, ranks, mpi))] == wanted


MARKS = """
import os
from pathlib import Path
from types import SimpleNamespace
import time
import jt_edu as jt
from jt_edu.distributed import roll_call
from tests.distributed.ranks import until
dist = jt.distributed
def mark(name):
    return Path(os.environ["JT_EDU_MPI_FOLDER"], name)
"""


@pytest.mark.parametrize("mpi", MPIS)
def test_a_rank_that_comes_too_late_is_named_and_the_group_refused(mpi):
    text = """
dist.init_process_group("mpi", timeout=60 if rank == 1 else 0.2)
said = []
if rank == 1:
    until(mark("told").exists)
else:
    for call in (lambda: dist.all_reduce(jt.ones(2)), dist.barrier):
        try:
            call()
        except jt.RankError as error:
            said.append(str(error))
    mark("told").touch()
report(said)
if rank == 1:
    dist.all_reduce(jt.ones(2))
"""

    first, second = well(start(MARKS + text, 2, mpi))[0][0]

    assert re.search(r"allreduce number 1.*ranks? \[?1", first) and "group that is whole" in second


# Rank 1 does not come. Rank 2 comes later than rank 0, and still in time: an hour passes when both have said where they
# are, and look at the clock again, so that neither is late because the machine is busy.
ABSENT = """
looks = []
class Teller(roll_call.Roll):
    def _tell(self, number):
        super()._tell(number)
        looks.append("now they count")
def now():
    looks.extend(looks[:1])
    if len(looks) == 3:
        mark(f"noted by {rank}").touch()
    return time.monotonic() + 3600 * all(mark(f"noted by {r}").exists() for r in (0, 2))
roll_call.time = SimpleNamespace(monotonic=now, sleep=lambda seconds: time.sleep(0.001))
dist.init_process_group("mpi", timeout=600)
dist.group.WORLD.roll.__class__ = Teller
said = ""
if rank == 2:
    until(mark("noted by 0").exists)
if rank == 1:
    until(lambda: mark("0 was told").exists() and mark("2 was told").exists())
else:
    try:
        CALL
    except jt.RankError as error:
        said = str(error)
    mark(f"{rank} was told").touch()
report(said)
"""


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("call", ["dist.all_reduce(jt.ones(2))", "dist.barrier()"])
def test_only_the_rank_that_does_not_come_is_blamed(mpi, call):
    text = MARKS + ABSENT.replace("CALL", call)

    told = [report[0] for report in well(start(text, 3, mpi))]

    assert told[1] == ""
    for said in (told[0], told[2]):
        assert "no word from rank 1 within 600 s" in said and "number 1" in said


@pytest.mark.parametrize("mpi", MPIS)
def test_where_ranks_may_be_through_already_nobody_is_blamed_for_that(mpi):
    text = MARKS + ABSENT.replace("CALL", "dist.reduce(jt.ones(2), dst=0)")

    told = [report[0] for report in well(start(text, 3, mpi))]

    assert "who is through with a reduce gives none" in told[0]
