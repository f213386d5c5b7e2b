"""Families of rows: one module each, with a tuple `ROWS`; `every_row` is all of them and the core's own table."""

import importlib
import pkgutil

from tests.parity.table import BINARY, TERNARY, UNARY, VIEWS, Row


def families() -> dict[str, tuple[Row, ...]]:
    """The rows of each family by its name; rows of one family have names of their own."""
    found = {"core": (*UNARY, *BINARY, *TERNARY, *VIEWS)}
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        found[module] = importlib.import_module(f"{__name__}.{module}").ROWS
    return found
