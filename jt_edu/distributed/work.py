"""Work: a collective that is under way, and what happens when it is over.

    work = dist.all_reduce(x, async_op=True)      x still has its old value
    ...                                           something else meanwhile
    work.wait()                                   now x has the new one

The tensors of a collective get their values in the thread that waits (or asks `is_completed`), never behind its back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jt_edu.base.errors import RankError
from jt_edu.distributed.options import as_timeout


class Work:
    """What a collective answers when it is called with `async_op=True`. Your own kind has `_poll` and `_await`.

    Args:
        label: as messages call it: "all_reduce number 3".

    Example:
        >>> work = Finished(7)
        >>> work.wait(), work.is_completed(), work.result()
        (True, True, 7)
    """

    def __init__(self, label: str = "work") -> None:
        self.label = label
        self._over = False
        self._value: Any = None
        self._error: Exception | None = None
        self._future: Future | None = None

    # what a kind of work defines

    def _poll(self) -> bool:
        """Whether it is over, without waiting."""
        return True

    def _await(self, seconds: float | None) -> Any:
        """Wait for it, at most so long (None: as long as the group has patience); returns its value, or raises."""

    # what a program asks

    def wait(self, timeout: Any = None) -> bool:
        """Until it is over; then the tensors have their new values.

        Args:
            timeout: a timedelta or seconds; that of the group by default.

        Raises:
            RankError: it failed, or took too long; the message names the collective and the ranks that are missing.
        """
        if not self._over:
            seconds = None if timeout is None else as_timeout(timeout, f"wait of {self.label}").total_seconds()
            try:
                self._value = self._await(seconds)
            except Exception as error:  # noqa: BLE001 - it is raised below, now and each time
                self._error = error
            self._finish()  # not after an interrupt: then it can be waited for again
        if self._error is not None:
            raise self._error
        return True

    def is_completed(self) -> bool:
        """Whether it is over, well or badly."""
        if not self._over and self._poll():
            try:
                self.wait()
            except Exception as error:  # noqa: BLE001 - it is kept for who asks: exception(), wait()
                self._error = error
        return self._over

    def is_success(self) -> bool:
        """Whether it is over, and went well."""
        return self.is_completed() and self._error is None

    def exception(self) -> Exception | None:
        """What went wrong, if something did."""
        return self._error if self.is_completed() else None

    def result(self) -> Any:
        """Its tensors, once it is over.

        Raises:
            RankError: it is still under way.
        """
        if not self.is_completed():
            raise RankError(f"the result of {self.label} is there when it is over", "it is under way", "wait() first")
        self.wait()
        return self._value

    def synchronize(self) -> None:
        """The same as `wait()`."""
        self.wait()

    def get_future(self) -> Future:
        """Its value as a future, on which more can be built."""
        if self._future is None:
            self._future = Future(self)
            if self._over:
                self._finish()
        return self._future

    def _finish(self) -> None:
        self._over = True
        if self._future is not None and self._error is None:
            self._future.set_result(self._value)
        elif self._future is not None and self._error is not None:
            self._future.set_exception(self._error)

    def __repr__(self) -> str:
        state = "under way" if not self._over else "over" if self._error is None else "failed"
        return f"{type(self).__name__}({self.label}, {state})"


class Finished(Work):
    """Work that is over already, with its value.

    Example:
        >>> Finished([1, 2]).get_future().wait()
        [1, 2]
    """

    def __init__(self, value: Any = None) -> None:
        super().__init__("finished work")
        self._value, self._over = value, True


class Future:
    """A value that will be there: of a `Work`, or one that somebody sets.

    Example:
        >>> future = Future()
        >>> doubled = future.then(lambda f: f.value() * 2)
        >>> future.set_result(21)
        >>> doubled.wait()
        42
    """

    def __init__(self, work: Work | None = None, before: Future | None = None) -> None:
        self._work, self._before = work, before  # who has to be waited for
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future], Any]] = []

    def done(self) -> bool:
        """Whether the value, or an error, is there."""
        if not self._done and self._work is not None:
            self._work.is_completed()
        elif not self._done and self._before is not None:
            self._before.done()
        return self._done

    def wait(self) -> Any:
        """The value, once it is there.

        Raises:
            RankError: nobody is going to set it.
        """
        if not self._done and self._work is not None:
            self._work.wait()
        waited = None
        while not self._done and self._before is not waited and self._before is not None:
            waited = self._before  # which may put another one there: a callback that returns a future
            waited.wait()
        return self.value()

    def value(self) -> Any:
        """The value, which is there.

        Raises:
            RankError: it is not.
        """
        if not self._done:
            raise RankError("the value of a future is there when it is done", "one that is not", "wait(), set_result()")
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future for what `callback(this future)` returns, which is called when this one is done.

        A callback may answer a future again; then its value is meant.
        """
        after = Future(before=self)

        def go_on(me: Future) -> None:
            try:
                answer = callback(me)
            except Exception as error:  # noqa: BLE001 - it belongs to who waits for that future
                after.set_exception(error)
                return
            if isinstance(answer, Future):
                after._before = answer
                answer.add_done_callback(after._become)
            else:
                after.set_result(answer)

        self.add_done_callback(go_on)
        return after

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call `callback(this future)` when it is done, or at once if it is."""
        if self._done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def set_result(self, value: Any) -> None:
        """This is the value.

        Raises:
            RankError: it has one.
        """
        self._set(value, None)

    def set_exception(self, error: BaseException) -> None:
        """There will be no value, but this error."""
        self._set(None, error)

    def _become(self, other: Future) -> None:
        self._set(other._value, other._error)

    def _set(self, value: Any, error: BaseException | None) -> None:
        if self._done:
            raise RankError("a future is set once", f"one that has the value {self._value!r}")
        self._done, self._value, self._error = True, value, error
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)
