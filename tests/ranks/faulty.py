"""What the tests of faults share: run a program that fails, and look at what every rank is told."""

import threading
import time

from jt_edu.mpi.simulator.threads import run_ranks
from tests.patience import until

LONGEST = 10.0  # seconds of the processor until a fault is named, and what other tests left behind is collected


def threads_of_ranks():
    """The threads of simulated ranks that are there now; others come and go as they like."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("jt_edu rank")}


def all_end_but(threads):
    """Come back when no other threads of ranks are left: one that has done its work may wait for its turn to end."""
    until(lambda: threads_of_ranks() <= threads)


def fails(program, size, kind, *words, **options):
    """Run a program whose ranks fail with this kind of error; the message has all of these words. Answers the run."""
    before, threads = time.process_time(), threads_of_ranks()

    run = run_ranks(size, program, **options)

    assert time.process_time() - before < LONGEST
    all_end_but(threads)
    assert type(run.error) is kind, f"{type(run.error).__name__}: {run.error}"
    for word in words:
        assert word in str(run.error), f"{word!r} is not in: {run.error}"
    return run


def everyone_is_told(run, *words, but=()):
    """Each rank that did not end well was told what it is about, and where it was."""
    for rank, error in enumerate(run.errors):
        if rank in but:
            assert error is None, f"rank {rank} ended well: {error}"
            continue
        assert error is not None, f"rank {rank} was told nothing"
        for word in words:
            assert word in str(error), f"rank {rank} is not told {word!r}: {error}"
