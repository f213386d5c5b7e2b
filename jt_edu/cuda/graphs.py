"""Graphs: how are many launches made one?

A CUDA graph is given its kernels once, with all of their arguments, and is launched whole: the driver then needs one
microsecond for each kernel, in place of five. A kernel whose arguments have changed is told so before.

Arrays of a step that is run again and again take turns: what one run writes, the next one reads. So for each set of
addresses that comes back there is an executable graph, in which nothing has to be changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from jt_edu.base.errors import JtError
from jt_edu.cuda.driver import Driver, Launch

SETS = 4  # of addresses, for which there is an executable graph each
MUCH = 3  # a third of all nodes
Made = tuple[int, np.ndarray[Any, Any], object]  # an executable graph, the words of its nodes, and its numbers


class Graph:
    """Launches, one after the other.

    Args:
        driver: of their GPU.
        launches: with their arguments in `words`.
        words: the arguments of all of them, in rows.
        begins: the word with which the row of each begins.

    Raises:
        BackendError: the driver makes no graph of them.
    """

    def __init__(
        self, driver: Driver, launches: Sequence[Launch], words: np.ndarray[Any, Any], begins: Sequence[int]
    ) -> None:
        self._driver, self._launches, self._words, self._begins = driver, launches, words, begins
        self._graph, self._nodes = driver.graph(launches)
        self._added = words.copy()  # what the nodes were added with
        self._made: dict[bytes, Made] = {}

    def launch(self, addresses: bytes, numbers: object, stream: int) -> None:
        """Put all of them in line, with the words as they are.

        Args:
            addresses: which addresses are in the words.
            numbers: which numbers; the same object, if they are the same.
            stream: the line.
        """
        if addresses not in self._made:
            self._made[addresses] = self._nearest()
        executable, words, known = self._made[addresses]
        if known is not numbers:
            for k in self._changed(words):
                self._driver.change_node(executable, self._nodes[k], self._launches[k])
            self._made[addresses] = executable, self._words.copy(), numbers
        self._driver.launch_graph(executable, stream)

    def _nearest(self) -> Made:
        """The one in which least is to be changed; a new one, if that is much, and there may be more."""
        changes = {key: len(self._changed(words)) for key, (_, words, _) in self._made.items()}
        nearest = min(changes, key=changes.__getitem__, default=b"")
        if len(changes) < SETS and changes.get(nearest, len(self._nodes)) * MUCH > len(self._nodes):
            return self._driver.executable(self._graph), self._added, None
        executable, words, _ = self._made.pop(nearest)
        return executable, words, None

    def _changed(self, words: np.ndarray[Any, Any]) -> Any:
        """Which launches have other arguments now than these."""
        return np.flatnonzero(np.logical_or.reduceat(words != self._words, self._begins))

    def __del__(self) -> None:
        with suppress(JtError, AttributeError):  # a GPU that is lost; one that was never made
            self._driver.forget_graph(self._graph, [executable for executable, *_ in self._made.values()])
