"""Ranks for tests: simulated ones, and ones that speak through sockets, each in a thread with a context of its own.

Any of these threads may stand still for seconds, on a machine that does something else. So no test counts on somebody
being there in time: who has to come first is waited for (`until`, `heard`), whoever is to be missed waits until it was,
and all other patience is LONG.
"""

import threading

import jt_edu as jt
from jt_edu.base.context import rank_context
from jt_edu.distributed.launch import kept_port
from tests.patience import LONG, until

dist = jt.distributed
BACKENDS = ("threads", "tcp")


def run(backend, size, program, timeout=None):
    """Let all ranks join and run `program(rank)`; answers what it returns on each, or raises what it raised first."""
    return simulated(size, program, timeout) if backend == "threads" else socketed(size, program, timeout)


def simulated(size, program, timeout=None):
    options = {} if timeout is None else {"timeout": timeout}

    def body(comm):
        dist.init_process_group("threads", **options)
        try:
            return program(comm.rank)
        finally:
            if dist.is_initialized():
                dist.destroy_process_group()

    return jt.simulate(size)(body)


def socketed(size, program, timeout=None):
    return well(*outcomes(size, program, timeout))


def well(results, errors):
    """The results; what a rank raised is raised here."""
    if errors:
        raise next(iter(errors.values()))
    return results


def outcomes(size, program, timeout=None):
    """(results, errors by rank) on sockets: here a rank that fails does not end the others."""
    with kept_port() as port:
        place = f"tcp://127.0.0.1:{port}"
        patience = timeout or LONG
        return in_threads(size, program, lambda rank: dist.init_process_group("tcp", place, patience, size, rank))


def in_threads(size, program, join):
    """(results, errors by rank) of ranks that come together by `join(rank)`."""
    results, errors = [None] * size, {}

    def body(rank):
        with rank_context():
            try:
                join(rank)
                results[rank] = program(rank)
            except BaseException as error:  # noqa: BLE001  whatever it is, the test looks at it
                errors.setdefault(rank, error)
            finally:
                if dist.is_initialized():
                    dist.destroy_process_group()

    together([lambda rank=rank: body(rank) for rank in range(size)])
    return results, errors


def together(bodies):
    """Run functions in threads at the same time."""
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * LONG)
    assert not any(thread.is_alive() for thread in threads), "a rank hangs"


def heard(source):
    """Come back when a message that rank `source` has sent to this one is there and waits to be asked for.

    Simulated ranks need not: their seconds are virtual, and nobody is late because the machine is slow.
    """
    group = dist.group.WORLD
    inbox = group.mesh.inbox if isinstance(group, dist.SocketGroup) else None

    def is_there():
        with inbox.changed:
            return any(frame.source == source for waiting in inbox.frames.values() for frame in waiting)

    if inbox is not None:
        until(is_there)
