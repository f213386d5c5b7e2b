"""Scans: rank r gets what ranks 0 to r have, put together (scan), or those below it (exscan).

    linear      0 > 1 > 2 > 3              each adds its own and says it to the next one

    doubling    round 1   0 > 1 > 2 > 3    a rank has the sum of itself and of 1 below;
                round 2   0 > 2   1 > 3    of itself and of 3 below; ... until nobody is left below

    linear      (P - 1) trip(m)
    doubling    log P trip(m), rounded up

Hillis and Steele 1986, "Data parallel algorithms". The order of ranks is kept.
"""

from __future__ import annotations

from typing import Any

from jt_edu.mpi.algorithms.transport import NOBODY, Wire
from jt_edu.mpi.base.constants import Op


def linear_scan(wire: Wire, x: Any, op: Op) -> Any:
    """What the ranks up to mine have, put together."""
    return _along(wire, x, op)[1]


def linear_exscan(wire: Wire, x: Any, op: Op) -> Any:
    """What the ranks below mine have, put together; None on rank 0."""
    return _along(wire, x, op)[0]


def doubling_scan(wire: Wire, x: Any, op: Op) -> Any:
    """What the ranks up to mine have, put together."""
    return _doubled(wire, x, op)[1]


def doubling_exscan(wire: Wire, x: Any, op: Op) -> Any:
    """What the ranks below mine have, put together; None on rank 0."""
    return _doubled(wire, x, op)[0]


def _along(wire: Wire, x: Any, op: Op) -> tuple[Any, Any]:
    """(what those below have, and with mine), from one rank to the next."""
    below = wire.receive(wire.rank - 1, x) if wire.rank else None
    total = op(below, x) if wire.rank else x
    if wire.rank + 1 < wire.size:
        wire.send(total, wire.rank + 1)
    return below, total


def _doubled(wire: Wire, x: Any, op: Op) -> tuple[Any, Any]:
    """(what those below have, and with mine), from ever more ranks below."""
    below, total, step = None, x, 1  # `total` is of the `step` ranks up to this one
    while step < wire.size:
        up = wire.rank + step if wire.rank + step < wire.size else NOBODY
        down = wire.rank - step if wire.rank >= step else NOBODY
        came = wire.swap(total, up, down)
        if down != NOBODY:
            below = came if step == 1 else op(came, below)
            total = op(came, total)
        step *= 2
    return below, total
