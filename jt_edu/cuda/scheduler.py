"""Scheduler: who runs next, and what happens where threads wait?

Blocks run one after the other. In a block each thread runs until it waits or ends, then the next one: the same order
each time. Where all lanes of a warp wait for each other, they go on with what they told each other. Where all threads
of a block wait at the same barrier, they pass it. If some wait and the others never come, that is a finding, and the
block ends there: on a GPU the program would hang, or go on with whatever is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from jt_edu.cuda.kernel_names import BARRIERS
from jt_edu.cuda.thread import WARPSIZE, Thread, Wait
from jt_edu.cuda.translator import Place

Turn = Generator[Wait, Any, None]


def run_block(threads: list[Thread], start: Callable[[Thread], Turn], run: Any) -> None:
    """Run the threads of a block until all have ended, or some wait in vain."""
    turns = {thread: start(thread) for thread in threads}
    waits: dict[Thread, Wait] = {}
    ready: list[tuple[Thread, Any]] = [(thread, None) for thread in threads]
    while ready:
        for thread, answer in ready:
            run.now = thread
            wait = run.resume(turns[thread], answer)
            if wait is None:
                del turns[thread]
            else:
                waits[thread] = wait
        ready = _warps(threads, waits) or _barrier(threads, waits, run)
        for thread, _ in ready:
            del waits[thread]


def _warps(threads: list[Thread], waits: dict[Thread, Wait]) -> list[tuple[Thread, Any]]:
    """Lanes that go on, since all that they wait for have come."""
    ready = []
    for warp in dict.fromkeys(thread.warp for thread in threads):
        lanes = {t.laneid: t for t in threads if t.warp is warp}
        asking = {lane: waits[t] for lane, t in lanes.items() if t in waits and waits[t].kind not in BARRIERS}
        groups: dict[Any, dict[int, Wait]] = {}
        for lane, wait in asking.items():
            groups.setdefault((wait.kind, wait.place, wait.mask), {})[lane] = wait
        for (kind, _, mask), told in groups.items():
            if any(lane not in told for lane in lanes if mask >> lane & 1):
                continue
            warp.epoch += 1
            ready += [(lanes[lane], _answer(kind, lane, wait, told)) for lane, wait in told.items()]
    return ready


def _answer(kind: str, lane: int, wait: Wait, told: dict[int, Wait]) -> Any:
    """What a lane hears of the others; a lane that does not take part, or is of no warp, is the lane itself."""
    if kind == "syncwarp":
        return None
    if kind.startswith("shfl"):
        by = int(wait.argument)
        other = {"shfl_sync": by % WARPSIZE, "shfl_up_sync": lane - by, "shfl_down_sync": lane + by}.get(
            kind, lane ^ by
        )
        return told[other].value if other in told else wait.value
    said = [bool(w.value) for w in told.values()]
    if kind == "ballot_sync":
        return sum(1 << other for other, w in told.items() if w.value)
    return any(said) if kind == "any_sync" else all(said)


def _barrier(threads: list[Thread], waits: dict[Thread, Wait], run: Any) -> list[tuple[Thread, Any]]:
    """All threads, if all have come to one barrier; nobody, if some wait in vain."""
    if not waits:
        return []
    places = {(w.kind, w.place) for w in waits.values()}
    ended = [t for t in threads if t not in waits]
    if ended or len(places) > 1 or next(iter(places))[0] not in BARRIERS:
        _in_vain(waits, ended, run)
        return []
    kind = next(iter(places))[0]
    said = [bool(w.value) for w in waits.values()]
    answer = {"syncthreads": None, "syncthreads_count": sum(said), "syncthreads_and": int(all(said))}
    found = answer.get(kind, int(any(said)))
    run.passed(threads, waits)
    block = threads[0].block
    block.epoch += 1
    return [(thread, found) for thread in waits]


def _in_vain(waits: dict[Thread, Wait], ended: list[Thread], run: Any) -> None:
    """Say who waits at which line, and where the others are."""
    together: dict[tuple[str, Place], list[Thread]] = {}
    for thread, wait in waits.items():
        together.setdefault((wait.kind, wait.place), []).append(thread)
    (first, place), *others = sorted(together, key=lambda at: -len(together[at]))
    waiting = together[first, place]
    rest = [f"{run.told(together[at])} wait{_s(together[at])} at cuda.{at[0]} in line {at[1].line}" for at in others]
    if ended:
        rest.append(f"{run.told(ended)} {'has' if len(ended) == 1 else 'have'} ended")
    whom = "all threads" if first in BARRIERS else "other lanes of the warp"
    words = f"wait{_s(waiting)} at cuda.{first} for {whom}, but {', and '.join(rest) or 'these never come'}"
    run.report("divergent barrier", place, words, at=waiting)


def _s(threads: list[Thread]) -> str:
    return "s" * (len(threads) == 1)
