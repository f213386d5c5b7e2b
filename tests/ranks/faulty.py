"""What the tests of faults share: run a program that fails, and look at what every rank is told."""

import threading
import time

from jt_edu.mpi.simulated.threads import run_ranks

LONGEST = 1.0  # seconds of the processor until a fault is named


def threads_of_ranks():
    """Names of the threads of simulated ranks that are there now; others come and go as they like."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("jt_edu rank")]


def fails(program, size, kind, *words, **options):
    """Run a program whose ranks fail with this kind of error; the message has all of these words. Answers the run."""
    before, threads = time.process_time(), threads_of_ranks()

    run = run_ranks(size, program, **options)

    assert time.process_time() - before < LONGEST
    assert threads_of_ranks() == threads, "a thread is left"
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
