"""Scheduler: who runs next, and what happens where threads wait?

Blocks run one after the other. In a block each thread runs until it waits or ends, then the next one: the same order
each time. Where all lanes of a warp wait for each other, they go on with what they told each other. Where all threads
of a block wait at the same barrier, they pass it. If some wait and the others never come, that is a finding, and the
block ends there: on a GPU the program would hang, or go on with whatever is in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from types import GeneratorType
from typing import Any, TypeAlias

import numpy as np

from jt_edu.base.errors import JtError
from jt_edu.cuda.history import joined
from jt_edu.cuda.kernel_names import BARRIERS, TENSOR
from jt_edu.cuda.memory import GARBAGE
from jt_edu.cuda.run import Ended
from jt_edu.cuda.tensor_core import multiplied
from jt_edu.cuda.thread import WARPSIZE, Thread, Wait, Warp
from jt_edu.cuda.translator import Place, place_of

Turn: TypeAlias = "GeneratorType[Wait, Any, None]"


def run_block(threads: list[Thread], start: Callable[[Thread], Turn], run: Any) -> None:
    """Run the threads of a block until all have ended, or some wait in vain."""
    turns = {thread: start(thread) for thread in threads}
    waits: dict[Thread, Wait] = {}
    try:
        _rounds(threads, turns, waits, run)
    except Ended as end:
        standing = {t: place_of(turn.gi_frame) for t, turn in turns.items() if turn.gi_frame}
        run.passed(threads, {**dict(zip([run.now], end.args, strict=False)), **standing}, "stuck")
        raise
    run.passed(threads, {t: wait.place for t, wait in waits.items()}, "stuck" if waits else "end")


def _rounds(threads: list[Thread], turns: dict[Thread, Turn], waits: dict[Thread, Wait], run: Any) -> None:
    ready: list[tuple[Thread, Any]] = [(thread, None) for thread in threads]
    while ready:
        for thread, answer in ready:
            run.now = thread
            try:
                waits[thread] = turns[thread].send(answer)
            except StopIteration:
                del turns[thread]
            except (Ended, JtError, NotImplementedError):  # the last one: a gap that nobody has filled
                raise
            except Exception as error:
                raise run.stopped(error) from error
        ready = _warps(waits, run) or _barrier(threads, waits, run)
        for thread, _ in ready:
            del waits[thread]


def _warps(waits: dict[Thread, Wait], run: Any) -> list[tuple[Thread, Any]]:
    """Lanes that go on, since all that they wait for have come, or have ended."""
    ready = []
    groups: dict[Any, dict[int, Wait]] = {}
    for thread, wait in waits.items():
        if wait.kind not in BARRIERS:
            groups.setdefault((thread.warp, wait.kind, wait.place, wait.mask), {})[thread.laneid] = wait
    for (warp, kind, place, mask), told in groups.items():
        if any(lane not in told and thread in waits for lane, thread in enumerate(warp.threads) if mask >> lane & 1):
            continue
        if kind in TENSOR:
            ready += _multiplied(warp, told, run)
            continue
        together = [warp.threads[lane] for lane in told if mask >> lane & 1]
        alone = [warp.threads[lane] for lane in told if not mask >> lane & 1]
        if alone:
            words = f"ask{_s(alone)} for cuda.{kind} with a mask without their own bits, {mask:#x}"
            run.report("divergent barrier", place, words, at=alone)
        if kind == "syncwarp":
            _meet(together)
        ready += [(warp.threads[lane], _answer(warp.threads[lane], wait, told, run)) for lane, wait in told.items()]
    return ready


def _meet(lanes: list[Thread]) -> None:
    """What one of these lanes did or knew is ordered before what any of them does from now on."""
    known = list(map(max, *(t.known for t in lanes))) if len(lanes) > 1 else list(lanes[0].known)
    for thread in lanes:
        thread.time += 1
        known[thread.laneid] = thread.time
    for thread in lanes:
        thread.known = tuple(known)
    _share(lanes)


def _share(threads: list[Thread]) -> None:
    """What one of these threads has heard of others, or known at a fence, each of them may pass on from now on."""
    told = [(t.heard, t.fence, t.wide) for t in threads if t.heard or t.fence]
    if told:
        heard, fence, wide = (reduce(joined, clocks) for clocks in zip(*told, strict=True))
        for thread in threads:
            thread.heard, thread.fence, thread.wide = heard, fence, wide


def _answer(thread: Thread, wait: Wait, told: dict[int, Wait], run: Any) -> Any:
    """What a lane hears of the others; beyond the ends of the warp it hears itself."""
    kind, lane = wait.kind, thread.laneid
    if kind.startswith("shfl"):
        by = wait.argument
        other = {"shfl_sync": by % WARPSIZE, "shfl_up_sync": lane - by, "shfl_down_sync": lane + by}.get(
            kind, lane ^ by
        )
        if not 0 <= other < WARPSIZE:
            return wait.value
        return told[other].value if other in told else _nothing(thread, wait, other, run)
    said = [bool(w.value) for w in told.values()]
    if kind == "ballot_sync":
        return sum(1 << other for other, w in told.items() if w.value)
    return {"any_sync": any(said), "all_sync": all(said)}.get(kind)


def _multiplied(warp: Warp, told: dict[int, Wait], run: Any) -> list[tuple[Thread, Any]]:
    """What each lane of a warp gets of the product of two matrices; all 32 have to hold their part of them."""
    lanes = [warp.threads[lane] for lane in sorted(told)]
    wait = told[lanes[0].laneid]
    if len(lanes) == WARPSIZE:
        answers = multiplied(wait.kind, {lane: one.value for lane, one in told.items()})
        return [*zip(lanes, answers, strict=True)]
    ended = [t for t in warp.threads if t.laneid not in told]
    others = f"{run.told(ended)} ha{'s' if len(ended) == 1 else 've'} ended" if ended else "the block has no more"
    words = f"call{_s(lanes)} cuda.{wait.kind}, which takes all {WARPSIZE} lanes of a warp, but {others}"
    run.report("divergent barrier", wait.place, words, at=lanes)
    return [(thread, (np.float32("nan"),) * 4) for thread in lanes]


def _nothing(thread: Thread, wait: Wait, other: int, run: Any) -> Any:
    """What is heard of a lane that takes no part is not defined; of one that has ended a kernel hardly wants it."""
    if wait.mask >> other & 1 and other < len(thread.warp.threads):
        ended = run.told([thread.warp.threads[other]])
        words = f"waits at cuda.{wait.kind} for other lanes of the warp, but {ended} has ended"
        run.report("divergent barrier", wait.place, words, at=[thread])
    return type(wait.value)("nan") if isinstance(wait.value, (float, np.floating)) else GARBAGE


def _barrier(threads: list[Thread], waits: dict[Thread, Wait], run: Any) -> list[tuple[Thread, Any]]:
    """All threads, if all have come to one barrier; nobody, if some wait in vain."""
    if not waits:
        return []
    (kind, _), *others = {(w.kind, w.place) for w in waits.values()}
    if others or kind not in BARRIERS or len(waits) < len(threads):
        _in_vain(waits, [t for t in threads if t not in waits], run)
        return []
    said = [bool(w.value) for w in waits.values()]
    answer = {"syncthreads": None, "syncthreads_count": sum(said), "syncthreads_and": int(all(said))}
    found = answer.get(kind, int(any(said)))
    run.passed(threads, {t: wait.place for t, wait in waits.items()}, f"barrier {threads[0].block.epoch + 1}")
    block = threads[0].block
    block.epoch += 1
    _share(threads)
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
