"""Object message: an object on its way between real ranks, of which nobody knows beforehand how long it is.

    small object   [ pickled ................ ]                one message of at most SMALL bytes
    long object    [ 0, length, tag ]  and on `side` [ pickled ...................... ]

So a receive can be posted before the length is known, and objects arrive in the order of their receives. `side` is a
communicator of our own, whose tags are shared out: 0 is free, then come those of messages inside algorithms, then
those of long objects.
"""

from __future__ import annotations

import struct
from typing import Any

from jt_edu.mpi.base.constants import STUB_BYTES, TAG_LIMIT

STUB = struct.Struct("<BQQ")  # a zero (no pickle begins so), the length, the tag on `side`
assert STUB.size == STUB_BYTES, "a probe among simulated ranks tells the same"
BULK = TAG_LIMIT // 2 + 1  # the first tag of a long object


def ticket_for(number: int) -> int:
    """The tag on `side` of a long object.

    Example:
        >>> ticket_for(3) - ticket_for(0)
        3
    """
    return BULK + number % (TAG_LIMIT - BULK)


def shift_for(sequence: int) -> int:
    """The tag on `side` of the messages inside one collective.

    Example:
        >>> shift_for(0)
        1
    """
    return 1 + sequence % (BULK - 1)


def stub_for(length: int, ticket: int) -> bytes:
    """The first message of a long object."""
    return STUB.pack(0, length, ticket)


class Envelope:
    """An object while it comes: its bytes, and how many they are if there are more than one message holds."""

    def __init__(self, mpi: Any, side: Any, data: bytearray) -> None:
        self.mpi, self.side, self.data, self.long = mpi, side, data, 0

    def content(self, length: int) -> memoryview:
        """The pickled object, of so many bytes."""
        return memoryview(self.data)[:length]

    def follow(self, found: Any) -> Any:
        """MPI's request for the second message, if the first one says that there is one."""
        if found.Is_cancelled() or found.Get_count(self.mpi.BYTE) != STUB.size or self.data[0] != 0:
            return None
        _, self.long, ticket = STUB.unpack(self.data[: STUB.size])
        self.data = bytearray(self.long)
        return self.side.Irecv([self.data, self.mpi.BYTE], found.source, ticket)
