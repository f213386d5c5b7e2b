"""Hook handle: what the registration of a hook returns, on a Var or a module, to take the hook away again."""

from __future__ import annotations

from typing import Any, Self


class Handle:
    """Takes a hook away when `remove` or the handle itself is called, or at the end of a `with` block.

    Example:
        >>> x, seen = array([1.0, 2.0]), []
        >>> with x.register_hook(lambda dx: seen.append(dx.tolist())):
        ...     dx = grad((x * 2).sum(), x)
        >>> dx = grad((x * 3).sum(), x); seen
        [[2.0, 2.0]]
    """

    def __init__(self, owner: Any, when: str, hook: Any) -> None:
        self._owner, self._when, self._hook = owner, when, hook

    def remove(self) -> None:
        """Take the hook away, once if it is there more often; a second time does nothing."""
        hooks = getattr(self._owner, self._when)
        place = next((k for k, hook in enumerate(hooks) if hook is self._hook), len(hooks))
        setattr(self._owner, self._when, hooks[:place] + hooks[place + 1 :])
        self._hook = None

    __call__ = remove

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()
