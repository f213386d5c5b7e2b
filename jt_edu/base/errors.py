"""Errors: one family, each saying what was asked, what was found, what to try.

    JtError
    ├── ShapeError       (ValueError)    shapes that do not fit each other
    │   └── ScalarError  (TypeError)     a single number where several are asked for
    ├── DtypeError       (TypeError)     a type of number that an operator does not know
    ├── RangeError       (IndexError)    an index outside its axis
    ├── ArgumentError    (ValueError)    any other argument that makes no sense
    ├── GradientError    (RuntimeError)  a derivative that does not exist, or is cut off
    ├── BackendError     (RuntimeError)  a backend that is missing, or cannot do this
    ├── KernelError      (RuntimeError)  generated code that does not compile or run
    ├── LinAlgError      (NumPy's)       a matrix that has no inverse, no Cholesky factor, ...
    ├── OutOfMemoryError (MemoryError)   an array that the memory has no room for
    ├── UnknownKeyError  (KeyError)      a key that is not there, such as a part of a ModuleDict
    ├── UnknownNameError (AttributeError)  a name that is not there, such as jt.sofmax
    └── RankError        (RuntimeError)  ranks that do not understand each other (mpi/base/errors.py: the kinds)

Each also is the Python error that a NumPy user expects, so `except ValueError` works as it always did. Nothing here
knows anything of the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_edu.base.plural import singular

__all__ = ["ArgumentError", "BackendError", "DtypeError", "GradientError", "JtError", "KernelError", "LinAlgError",
           "OutOfMemoryError", "RangeError", "RankError", "ScalarError", "ShapeError", "UnknownKeyError",
           "UnknownNameError"]  # fmt: skip


class JtError(Exception):
    """What was asked, what was found, and (optionally) what to try.

    Example:
        >>> print(ShapeError("a + b adds element by element", "shapes (2, 3) and (4, 5)", "make them equal"))
        a + b adds element by element; found shapes (2, 3) and (4, 5). Try: make them equal.
    """

    def __init__(self, asked: str, found: str = "", attempt: str = "") -> None:
        self.asked, self.found, self.attempt = asked, found, attempt
        text = asked + (f"; found {found}" if found else "") + "."
        super().__init__(singular(text + (f" Try: {attempt}." if attempt else "")))

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (type(self), self.args), self.__dict__

    def at(self, line: str, scope: Any = None) -> JtError:
        """The same error, which also names the learner's line, and the layer in which it happened."""
        text = str(self.args[0])
        if scope is not None and scope.layer and "\n  in " not in text:
            text += f"\n  in {scope.layer}"
        self.args = (text + f"\n  at {line}" if line and line not in text else text,)
        return self


def _made_again(kind: type[JtError], args: tuple[Any, ...]) -> JtError:
    return kind.__new__(kind, *args)  # the message is complete: __init__ would put it together anew


class ShapeError(JtError, ValueError):
    """Shapes that do not fit each other.

    Example:
        >>> ones((2, 3)) + ones((4, 5))
        Traceback (most recent call last):
        ShapeError: ...
    """


class ScalarError(ShapeError, TypeError):
    """A single number was asked for its length or its elements; a TypeError, as others ask with `except TypeError`.

    Example:
        >>> len(array(1.0))
        Traceback (most recent call last):
        ScalarError: ...
    """


class DtypeError(JtError, TypeError):
    """A type of number that an operator does not know.

    Example:
        >>> -array([True, False])
        Traceback (most recent call last):
        DtypeError: ...
    """


class RangeError(JtError, IndexError):
    """An index outside its axis.

    Example:
        >>> arange(3)[5]
        Traceback (most recent call last):
        RangeError: ...
    """


class ArgumentError(JtError, ValueError):
    """An argument that makes no sense.

    Example:
        >>> arange(3).reshape(1.5, 2)
        Traceback (most recent call last):
        ArgumentError: ...
    """


class GradientError(JtError, RuntimeError):
    """A derivative that does not exist, or is cut off.

    Example:
        >>> grad(ones(3), ones(3))
        Traceback (most recent call last):
        GradientError: ...
    """


class BackendError(JtError, RuntimeError):
    """A backend that is missing, or cannot do what was asked.

    Example:
        >>> jt.backends.get("abacus")
        Traceback (most recent call last):
        BackendError: ...
    """


class KernelError(JtError, RuntimeError):
    """Generated code that does not compile, or does not run.

    Example:
        >>> raise KernelError("kernels are checked before they run", "one that loops forever")
        Traceback (most recent call last):
        KernelError: ...
    """


class LinAlgError(JtError, np.linalg.LinAlgError):
    """A matrix that has no inverse, no Cholesky factor, or whose eigenvalues were not found.

    Example:
        >>> raise LinAlgError("inv needs a matrix that has an inverse", "a singular one")
        Traceback (most recent call last):
        LinAlgError: inv needs a matrix that has an inverse; found a singular one.
    """


class OutOfMemoryError(JtError, MemoryError):
    """An array that the memory has no room for. What was computed before is still there.

    Example:
        >>> zeros(10**9, 10**9).sync()
        Traceback (most recent call last):
        OutOfMemoryError: ...
    """


class UnknownKeyError(JtError, KeyError):
    """A key that is not there.

    Example:
        >>> jt.nn.ModuleDict({"size": jt.nn.Linear(4, 1)})["kind"]
        Traceback (most recent call last):
        UnknownKeyError: a ModuleDict of size; found 'kind'.
    """

    __str__ = Exception.__str__  # a KeyError shows its message in quotes


class UnknownNameError(JtError, AttributeError):
    """A name that is not there; the names most like it are told.

    Example:
        >>> ones(3).smu()
        Traceback (most recent call last):
        UnknownNameError: ...
    """


class RankError(JtError, RuntimeError):
    """Ranks that do not understand each other, or one that failed.

    Example:
        >>> raise RankError("every rank calls the same collectives", "rank 1 without allreduce")
        Traceback (most recent call last):
        RankError: ...
    """
