"""CPU meter: how long did a rank compute between two of its calls?

    None         not at all: only messages take time
    "modelled"   by its kernels: bytes and operations of each, at the speeds of the network's machine. Always the same
    "measured"   by the time that its thread had the processor: what it really took, and never twice the same

What a meter returns moves the virtual clock of the rank. Measured times hang on the machine and on compiling, so a
schedule "clock" is no longer the same each time.
"""

from __future__ import annotations

import time
from typing import Protocol

from jt_edu.base.context import Context
from jt_edu.base.errors import ArgumentError
from jt_edu.base.trace import Trace
from jt_edu.mpi.trace.network import Network

METERS = ("modelled", "measured")


class Meter(Protocol):
    """How long a rank has computed since it was asked last, in ns."""

    def __call__(self) -> int:
        """Asked by the rank itself, at each of its calls."""

    def close(self) -> None:
        """The rank has ended."""


class Modelled:
    """By the kernels that ran: the trace of the rank tells their bytes and operations."""

    def __init__(self, network: Network, context: Context) -> None:
        self.network, self.traces, self.trace = network, context.traces, Trace()
        self.traces.append(self.trace)

    def __call__(self) -> int:
        """The sum over the kernels since the last call."""
        told = self.trace
        spent = sum(self.network.work(k.bytes, k.flops) for k in told.kernels if k.kind != "host")
        for records in (told.built, told.decisions, told.kernels, told.memory):
            records.clear()
        return spent

    def close(self) -> None:
        """Listen no more."""
        self.traces[:] = [t for t in self.traces if t is not self.trace]


class Measured:
    """By the processor's time of this thread."""

    def __init__(self) -> None:
        self.last = time.thread_time_ns()

    def __call__(self) -> int:
        """Since the last call."""
        before, self.last = self.last, time.thread_time_ns()
        return self.last - before

    def close(self) -> None:
        """Nothing is left to do."""


def meter_for(computing: str | None, network: Network, context: Context) -> Meter | None:
    """The meter of that name, for the rank that asks; None for None."""
    if computing is None:
        return None
    return Modelled(network, context) if computing == "modelled" else Measured()


def check(computing: str | None) -> str | None:
    """Refuse a meter that is not there.

    Raises:
        ArgumentError: it is none of METERS, nor None.
    """
    if computing is not None and computing not in METERS:
        raise ArgumentError(f"computing takes time by {', '.join(METERS)}, or None", repr(computing))
    return computing
