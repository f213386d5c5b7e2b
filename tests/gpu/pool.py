"""Pool: what processes find out side by side, as far as there is time.

Compiling takes a processor, so work is shared by several. Where it does not fit into its box of time, what is missing
can be counted. A job may end its process, and with it all that waits: that is an error, after all answers.
"""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any

Job = tuple[Any, ...]  # a function, and what it is given


def answers(jobs: Sequence[Job], left: Callable[[], float], processes: int) -> Iterator[Any]:
    """What the jobs answer, in any order, while there is time left; with no processes, they are done in this one.

    Raises:
        BrokenProcessPool: a process has ended.
    """
    if not processes:
        for function, *given in jobs:
            if left() <= 0:
                return
            yield function(*given)
        return
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"))
    workers, ended = pool._processes, None
    try:
        for done in as_completed([pool.submit(*job) for job in jobs], max(left(), 0)):
            if isinstance(done.exception(), BrokenProcessPool):
                ended = done.exception()
            else:
                yield done.result()
    except TimeoutError:  # what is left counts as not reached
        pass
    finally:
        for worker in [*workers.values()]:  # one whose kernel never ends would be waited for
            worker.kill()
        pool.shutdown(wait=True, cancel_futures=True)
    if ended is not None:
        raise ended
