"""Simulator: how long does the interpreter of GPU kernels take, beside numba's simulator?

    python -m tests.bench.simulator

81 threads, three barriers, 486 accesses, the same text with both. Told is the least CPU time of 30 launches, in
processes of their own, by turns: numba's simulator has to be chosen before the import. It has a system thread for each
thread of a block, and what it costs to go from one to the next depends on the cores: so both run on all cores, as with
a user, and on one, where the system lets a process choose.
"""

import importlib
import os
import subprocess
import sys
import time

import numpy as np

SIDES, TURNS, LAUNCHES = ("jt_edu", "numba"), 3, 30
cuda = importlib.import_module(f"{sys.argv[1]}.cuda") if __name__ == "__main__" and sys.argv[1:] else None


def kernel(x, out):
    """Numbers in reverse order and doubled, by way of shared memory."""
    tile = cuda.shared.array(81, "float32")
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    y = tile[80 - t]
    cuda.syncthreads()
    tile[t] = y * 2
    cuda.syncthreads()
    out[t] = tile[t]


def measured():
    """Seconds of a launch."""
    x, out, times = np.arange(81, dtype=np.float32), np.zeros(81, np.float32), []
    launch = cuda.jit(kernel)[1, 81]
    for _ in range(LAUNCHES):
        begin = time.process_time()
        launch(x, out)
        times.append(time.process_time() - begin)
    np.testing.assert_array_equal(out, 2 * x[::-1])
    return min(times)


def main():
    """Both sides by turns, on all cores and on one."""
    for one in (False, True)[: 1 + hasattr(os, "sched_setaffinity")]:
        found = {side: [] for side in SIDES}
        for side in SIDES * TURNS:
            command = [sys.executable, "-W", "ignore", "-m", "tests.bench.simulator", side, *["one"] * one]
            done = subprocess.run(
                command, env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}, capture_output=True, text=True, check=True
            )
            found[side].append(float(done.stdout))
        ours, theirs = (1e3 * min(found[side]) for side in SIDES)
        where = "one core" if one else f"{os.cpu_count()} cores"
        print(f"{where}: jt_edu {ours:.2f} ms, numba's simulator {theirs:.1f} ms, {theirs / ours:.0f} times")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        if "one" in sys.argv:
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        print(measured())
