"""Unimplemented: what is said of a class that leaves out a method which is asked for.

    class Mine(Store):                  Mine().set("key", "1")   ->   Mine, which has no _set
        def _get(self, key, seconds):                                 Try: def _set(self, key, value): ... in Mine

A class needs to write only what its program uses, as in PyTorch; so this is said when a method is called.
"""

from __future__ import annotations

import inspect

from jt_edu.base.errors import RankError


def left_out(thing: object, method: str, base: str) -> RankError:
    """The error of a method that the class of a thing does not have.

    Args:
        thing: who was asked.
        method: for what.
        base: what kind of thing has it: "a store".

    Example:
        >>> from jt_edu.distributed.store import Store
        >>> class Mine(Store):
        ...     pass
        >>> print(left_out(Mine(), "_delete", "a store"))
        _delete is done by a store that can; found Mine, which has no _delete. Try: def _delete(self, key): ... in Mine.
    """
    kind = type(thing)
    parameters = inspect.signature(getattr(kind, method)).parameters.values()
    names = ", ".join(str(p.replace(annotation=p.empty)) for p in parameters)
    asked, found = f"{method} is done by {base} that can", f"{kind.__name__}, which has no {method}"
    return RankError(asked, found, f"def {method}({names}): ... in {kind.__name__}")
