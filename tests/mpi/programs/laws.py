"""Every law of a communicator (tests/ranks/laws.py) on real ranks; reports which ones do not hold, and why."""

import sys
import traceback

from jt_edu.mpi.mpi4py_backend.communicator import world
from jt_edu.mpi.mpirun_jobs.run import report
from tests.ranks.laws import LAWS

comm = world()
asked = sys.argv[1] if len(sys.argv) > 1 else "world"
place = comm if asked == "world" else comm.Split(comm.rank % 2, -comm.rank)
broken = {}
for law in LAWS:
    name = law.__name__.removeprefix("law_")
    print(name, flush=True)
    try:
        law(place)
    except Exception:  # noqa: BLE001 - whatever it is, it is reported
        broken[name] = traceback.format_exc()
        traceback.print_exc()
    comm.barrier()
report(broken)
