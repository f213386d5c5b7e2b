"""Network: how long do messages take, on a machine that is given by four numbers?

    sender     | o |                         LogGP (Alexandrov et al. 1995):
    wire           |<--- L + (m - 1) G --->|    L  latency, from door to door
    receiver                               | o |    o  time of the processor for each message
                                                g  least time between two messages of one rank
                                                G  time of each further byte

All times are whole nanoseconds, so that sums have no order: the same program takes the same time whatever the schedule.
A rank has three clocks: when its processor is free, and when its door for sending and its door for receiving is.

Taking a message needs the processor for o, and the door for g + (m - 1) G. So a message of m bytes alone, and P - 1 of
them that come to one rank together, which takes them one after the other, are there after

    trip(m) = L + 2 o + (m - 1) G        linear gather: trip(m) + (P - 2) door(m),  door(m) = max(o, g + (m - 1) G)

This is the model's rule: the processor has nothing to do with the bytes. The simulator LogGOPSim (Hoefler, Schneider,
Lumsdaine 2010) holds the receiver's processor as well until the last byte is in, for o + (m - 1) G; there every further
message of the gather takes o longer.
"""

from __future__ import annotations

from dataclasses import dataclass

from jt_edu.base.errors import ArgumentError


@dataclass(frozen=True)
class Network:
    """The parameters of LogGP, in ns, and what computing costs.

    Args:
        latency: L, ns.
        overhead: o, ns of processor for each message, at both ends.
        gap: g, ns.
        byte: G, ns for each byte after the first.
        memory_byte: ns that a kernel takes for each byte that it reads or writes.
        flop: ns that a kernel takes for each floating-point operation.

    Raises:
        ArgumentError: a time is negative.

    Example:
        >>> Network(latency=2500, overhead=1500, byte=6).trip(1000)
        11494
    """

    latency: int = 2500
    overhead: int = 1500
    gap: int = 0
    byte: float = 0.2  # 5 GB/s
    memory_byte: float = 0.1  # 10 GB/s
    flop: float = 0.1  # 10 GFLOP/s

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < 1e18:
                raise ArgumentError(f"the {name} of a network is a number of ns from 0", repr(value))

    def byte_time(self, size: int) -> int:
        """ns that the bytes behind the first one take."""
        return round(max(size - 1, 0) * self.byte)

    def trip(self, size: int) -> int:
        """ns from the moment a send begins until the receiver has the message: L + 2 o + (m - 1) G."""
        return round(self.latency) + 2 * round(self.overhead) + self.byte_time(size)

    def door(self, size: int) -> int:
        """ns between two messages that leave, or enter, by one door: max(o, g + (m - 1) G)."""
        return max(round(self.overhead), round(self.gap) + self.byte_time(size))

    def work(self, moved: int, flops: int) -> int:
        """ns of a kernel: what is slower, moving its bytes or doing its arithmetic."""
        return round(max(moved * self.memory_byte, flops * self.flop))


@dataclass(slots=True)
class Clock:
    """The time of one rank, in ns: of its processor, and of its two doors."""

    network: Network
    now: int = 0
    out: int = 0
    into: int = 0

    def send(self, size: int) -> tuple[int, int]:
        """Send `size` bytes: (when it began, when the last byte arrives at the other door)."""
        net = self.network
        start = max(self.now, self.out)
        self.now = start + round(net.overhead)
        self.out = start + round(net.gap) + net.byte_time(size)
        return start, self.now + round(net.latency) + net.byte_time(size)

    def receive(self, arrival: int, size: int) -> tuple[int, int]:
        """Take a message whose last byte arrives then: (when taking it began, when it is there).

        Messages come through the door one after the other, in the order in which they are taken: the last byte is in
        when it arrives, or (m - 1) G after the door was free; for the next one the door is free g after that. The
        processor may be busy meanwhile.
        """
        net = self.network
        last = max(arrival, self.into + net.byte_time(size))
        self.into = last + round(net.gap)
        start = max(self.now, last)
        self.now = start + round(net.overhead)
        return start, self.now

    def pass_(self, duration: int) -> None:
        """Compute for so many ns."""
        self.now += duration
