"""Pickling: how does an object become bytes on its way, and an object again?

    MPI.pickle.__init__(dill.dumps, dill.loads)    from here on, objects of this rank travel as dill writes them

Each rank has a pickler of its own; those that speak with one another have to agree.
"""

from __future__ import annotations

import pickle
from typing import Any

from jt_edu.base.context import current

BEGINNINGS = tuple(bytes([0x80, protocol]) for protocol in (2, 3, 4, 5))  # of every object, as Python writes it
NOTHING = pickle.dumps(None, protocol=5)  # what None travels as, whoever writes all else


class Pickle:
    """How objects become bytes, and objects again; `MPI.pickle` is the one that the rank which asks sends with.

    Args:
        dumps: returns the bytes of an object; Python's own if it is left out.
        loads: returns the object of some bytes, which have to come from somebody who is trusted.
        protocol: what `dumps` gets as well, unless it is None; 5 for Python's own.

    Example:
        >>> whole = Pickle(lambda obj: str(obj).encode(), int)
        >>> whole.dumps(7), whole.loads(b"7"), whole.PROTOCOL, Pickle().PROTOCOL
        (b'7', 7, None, 5)
    """

    def __init__(self, dumps: Any = None, loads: Any = None, protocol: int | None = None) -> None:
        self._dumps, self._loads = dumps or pickle.dumps, loads or pickle.loads
        self.PROTOCOL = 5 if protocol is None and self._dumps is pickle.dumps else protocol

    def dumps(self, obj: Any) -> bytes:
        """The bytes of an object."""
        return bytes(self._dumps(obj) if self.PROTOCOL is None else self._dumps(obj, self.PROTOCOL))

    def loads(self, data: Any) -> Any:
        """The object of some bytes."""
        return None if data == NOTHING else self._loads(data if self._loads is pickle.loads else bytes(data))

    def may_have_made(self, data: Any) -> bool:
        """Whether an object begins like these bytes; of other forms than Python's from 2 on, nobody knows."""
        return self._loads is not pickle.loads or self.PROTOCOL not in range(2, 6) or data[:2] in BEGINNINGS


def pickler() -> Pickle:
    """The pickler of the rank that asks."""
    found: Pickle = current().rank_state.get("pickle") or current().rank_state.setdefault("pickle", Pickle())
    return found
