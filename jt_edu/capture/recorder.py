"""Recorder: what a step notes down while it is captured, so that a replay does the same.

    Capture(context).of(work)                nothing runs inside; what moves, and what may change, is written down
    knob, at_replay, after_replay, watch     how a part of the step says what a replay has to ask, do or find again

Whoever writes a layer or a rule may call the four at any time: where nothing is captured, they do nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from jt_edu.base.context import Context, current
from jt_edu.base.errors import ArgumentError
from jt_edu.ir.builders import Knob, short
from jt_edu.ir.node import Node

T = TypeVar("T")


class Capture:
    """What `jt.compile` learns while a step is captured; nothing runs meanwhile.

    moved: (Var, node before) for each Var that was assigned; numbers: (node, how to read it at a replay) for numbers
    that change from step to step; casts: a number of the graph -> the one that it is a cast of; before, after: what to
    do at the beginning and at the end of each replay; looks: functions whose answers a replay has to find as they were,
    and what they answered when they were first heard of; gradients: each Var whose `.grad` was read or set, and what
    stood there before; due: nodes that were built meanwhile and have to be computed, whoever asks for them; ahead: who
    knows the counts of an optimizer (by the id of their dict) after the steps that were captured so far; undo: what to
    do if it fails.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.begin = next(context.ids)  # what is older may be another array at the next replay
        self.moved: list[tuple[Any, Node]] = []
        self.numbers: list[tuple[Node, Callable[[], Any]]] = []
        self.casts: dict[Node, Node] = {}
        self.before: list[Callable[[], None]] = []
        self.after: list[Callable[[], Callable[[], None]]] = []
        self.looks: dict[Callable[[], tuple[Any, ...]], tuple[Any, ...]] = {}
        self.gradients: dict[Any, Any] = {}
        self.due: list[Node] = []
        self.held: list[Node] | None = None  # what was due before, while this is open
        self.ahead: dict[int, Any] = {}
        self.undo: list[Callable[[], None]] = []

    def origin(self, number: Node) -> Node:
        """The number of the graph that `number` was cast from, directly or not."""
        while number in self.casts:
            number = self.casts[number]
        return number

    def of(self, work: Callable[[], T]) -> T:
        """What `work` returns, captured. An interrupt may fall into any line, also of `_close`: it is called again."""
        refuse_inside(self.context)
        try:
            self.held = list(self.context.due)
            self.context.capture, self.context.due[:] = self, []
            answer = work()
        except BaseException:
            self._close(failed=True)
            raise
        else:
            self._close(failed=False)
            return answer
        finally:
            self._close(failed=True)

    def _close(self, failed: bool) -> None:
        """Nothing is captured from here on, and a step that failed has changed nothing. Twice is as good as once."""
        if self.held is None:
            return
        self.context.capture = None
        if failed:
            for var, before in reversed(self.moved):
                var.node = before
            for var, before in self.gradients.items():
                var.grad = before
            for undo in reversed(self.undo):
                undo()
        self.due = self.due or list(self.context.due)
        self.context.due[:] = self.held  # those from before are not of this capture
        self.held = None


def refuse_inside(context: Context) -> None:
    """A compiled step inside another would run, or be replayed, while that is only written down."""
    if context.capture is not None:
        raise ArgumentError(
            "a compiled step is captured on its own", "a compiled step inside another one", "one jt.compile"
        )


def knob(read: Callable[[], float]) -> Knob:
    """A number for graph arithmetic that may change between the replays of a compiled step, such as a learning rate.

    Example:
        >>> rate = {"now": 0.5}
        >>> knob(lambda: rate["now"]) * 2
        1.0
    """
    if not callable(read):
        raise ArgumentError("a knob is a function that returns a number", short(read), "jt.knob(lambda: rate)")
    number = Knob(read())
    number.read = read
    return number


def at_replay(action: Callable[[], None]) -> None:
    """Do this at the beginning of each replay of the step that is being captured, if one is.

    Example:
        >>> import jt_edu as jt
        >>> done = []
        >>> @jt.compile
        ... def step(x):
        ...     at_replay(lambda: done.append("a step"))
        ...     return x + 1
        >>> for _ in range(3):
        ...     y = step(jt.array([1.0]))
        >>> done
        ['a step', 'a step']
    """
    capture = current().capture
    if capture is not None:
        capture.before.append(action)


def after_replay(action: Callable[[], Callable[[], None]]) -> None:
    """At the end of each replay of the step that is being captured, call what this returns; maybe twice."""
    capture = current().capture
    if capture is not None:
        capture.after.append(action)


def watch(look: Callable[[], tuple[Any, ...]]) -> None:
    """Tell the step that is being captured, if one is, what must answer the same objects, or equal plain values, at a
    replay: a module all of its attributes.
    """
    capture = current().capture
    if capture is not None and look not in capture.looks:
        capture.looks[look] = look()
