"""Files: what if a learner calls a file of this package, for it bears the name of what they look for?

jt_widgets.loops(loss)    "jt_widgets.loops is a file of this package ... Try: jt_widgets.step_kernel(...)"

Python puts every file that is imported beside the functions of its package, whether anybody wants it there or not.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

from jt_edu.base.errors import ArgumentError

INSTEAD = {"loops": "step_kernel", "train": "train_panel", "view": "graph", "figures": "graph", "magics": "ranks"}


class File(ModuleType):
    """A file that says so when it is called."""

    def __call__(self, *given: Any, **named: Any) -> NoReturn:
        """Nothing can be asked of it."""
        package, _, name = self.__name__.rpartition(".")
        function = f"{package}.{INSTEAD[name]}(...)" if name in INSTEAD else f"dir({package}), which lists the views"
        raise ArgumentError(f"{self.__name__} is a file of this package, and not a function", "a call of it", function)


def answer_calls(package: dict[str, Any]) -> None:
    """Let every file among the names of a package say what it is when it is called."""
    for value in package.values():
        if type(value) is ModuleType and value.__name__.startswith(f"{package['__name__']}."):
            value.__class__ = File
