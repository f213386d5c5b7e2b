"""The tables: ROWS of each file in this folder, by its name."""

import importlib
import pkgutil

from tests.arguments.rows import Row


def families() -> dict[str, list[Row]]:
    """File -> its rows."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    return {name: list(importlib.import_module(f"{__name__}.{name}").ROWS) for name in names}
