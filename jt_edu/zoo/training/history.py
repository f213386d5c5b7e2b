"""History: how did a training go, epoch by epoch, as rows, as a CSV file and as curves?"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jt_edu.base.trace import plain
from jt_edu.draw import charts
from jt_edu.nn.weight_files.packed import drafted

COLUMNS = ("epoch", "train_loss", "eval_loss", "eval_top1", "eval_top5", "lr", "seconds")


class History:
    """One row for each epoch; a notebook shows them as curves, print as a table.

    Args:
        title: what was trained, and on what.
        rows: dicts with the keys of `COLUMNS`.

    Example:
        >>> row = dict(epoch=1, train_loss=0.5, eval_loss=0.4, eval_top1=90.0, eval_top5=99.0, lr=0.1, seconds=2.0)
        >>> history = History("digits_cnn on digits", [row])
        >>> history["eval_top1"], history.best["epoch"]
        ([90.0], 1)
        >>> print(history.csv.splitlines()[1])
        1,0.5,0.4,90.0,99.0,0.1,2.0
    """

    def __init__(self, title: str, rows: list[dict[str, Any]] | None = None) -> None:
        self.title, self.rows = title, [*(rows or ())]
        self._place: Any = None  # where a notebook shows it

    def __getitem__(self, column: str) -> list[Any]:
        return [row[column] for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def best(self) -> dict[str, Any]:
        """The row of the best epoch: of the most right answers, and of the first among equals."""
        return max(self.rows, key=lambda row: row["eval_top1"])

    @property
    def csv(self) -> str:
        """All rows, under a line with the names of the columns."""
        return table(COLUMNS, ([row[name] for name in COLUMNS] for row in self.rows))

    def show(self) -> None:
        """In a notebook: the curves, in the place where they were shown before."""
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        if shell is None or not hasattr(shell, "kernel"):
            return
        if self._place is None:
            self._place = sys.modules["IPython"].display.display(self, display_id=True)
        else:
            self._place.update(self)

    def _repr_html_(self) -> str:
        rows = [{"step": r["epoch"], "loss": plain(r["train_loss"]), "spike": False} for r in self.rows]
        checks = [
            {"step": r["epoch"], "loss": plain(r["eval_loss"]), "accuracy": r["eval_top1"] / 100} for r in self.rows
        ]
        section = {"rows": rows, "checks": checks, "modules": [], "units": [], "unit": "epoch"}
        return charts.training(self.title, section)

    def __repr__(self) -> str:
        lines = [self.title, "  ".join(f"{name:>10}" for name in COLUMNS)]
        return "\n".join([*lines, *("  ".join(f"{row[name]:>10.4g}" for name in COLUMNS) for row in self.rows)])


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV, under a line with the names of the columns.

    Example:
        >>> table(("class", "images"), [("cat", 2)]).split()
        ['class,images', 'cat,2']
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    return text.getvalue()


def write(path: Path, text: str) -> None:
    """Write a text, or leave the file as it was.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write(Path(folder) / "a.csv", "1,2"); (Path(folder) / "a.csv").read_text()
        '1,2'
    """
    data = text.encode()
    with drafted(path, "writing", len(data)) as (file, _):
        file.write(data)
