"""Folder: where does a run write what it has, and what does it say? Of several ranks only rank 0 does either.

config.yaml             all settings
history.csv             a row for each epoch
last.npz, best.npz      checkpoints: the newest, and that of the best epoch
"""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import jt_edu.nn.serialization as files
from jt_edu.base.errors import ArgumentError
from jt_edu.data.progress_bar import screen
from jt_edu.variable.parallel_context import place, team
from jt_edu.zoo.training.checkpoint import LAST
from jt_edu.zoo.training.history import History, write


class Folder:
    """The folder of OUTPUT, if no other run is in it; without OUTPUT the next free one under runs/.

    Args:
        cfg: the settings; see `config.py`.
    """

    def __init__(self, cfg: Any) -> None:
        crew, self.is_mine, self.unwritten = team(), not place()[0], ""
        try:
            found: Any = _free(cfg) if self.is_mine else None
        except ArgumentError as error:
            found = error
        found = found if crew is None else crew.agree(found)
        if isinstance(found, ArgumentError):
            raise found
        self.path = Path(found)
        self.last = self.path / LAST

    def open(self, settings: str) -> None:
        """Make it, and keep the settings: what cannot be written is told before hours have passed."""
        if self.is_mine:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                write(self.path / "config.yaml", settings)
            except OSError as error:
                raise ArgumentError("a run has a folder to write to", str(error), "--output FOLDER") from None

    def save(self, state: dict[str, Any], *names: str) -> None:
        """Write a checkpoint of finite weights; what cannot be written now is told, and tried again next time."""
        is_finite = all(np.isfinite(v.numpy()).all() for v in state["state_dict"].values())
        self.unwritten = "" if is_finite else "weights of nan or inf"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            for name in names if is_finite else ():
                files.save(state, self.path / name)
        except OSError as error:
            self.unwritten = str(error)
        if self.unwritten:
            whole = "The one before is whole; the next one is tried when it is due"
            self.say(f"no checkpoint: {self.unwritten}. {whole}.\n")

    def tell(self, history: History, epochs: int) -> None:
        """The last row, in words, in the CSV file and as curves."""
        if not self.is_mine:
            return
        row = history.rows[-1]
        self.say(
            f"epoch {row['epoch']}/{epochs}  eval loss {row['eval_loss']:.4f}  top1 {row['eval_top1']:.2f}  "
            f"top5 {row['eval_top5']:.2f}  lr {row['lr']:.2e}  {row['seconds']:.1f} s\n"
        )
        with suppress(OSError):  # which the checkpoint tells
            write(self.path / "history.csv", history.csv)
        history.show()

    def say(self, text: str) -> None:
        """A text on the screen."""
        if text and self.is_mine and (stream := screen()) is not None:
            stream.write(text)
            stream.flush()


def _free(cfg: Any) -> Path:
    if not cfg.OUTPUT:
        free = (Path("runs") / f"{cfg.MODEL.NAME}-{k}" for k in count(1))
        return next(path for path in free if not path.exists())
    last = Path(cfg.OUTPUT) / LAST
    if last.exists() and (not cfg.MODEL.RESUME or Path(cfg.MODEL.RESUME).resolve().parent != last.resolve().parent):
        way = f"--resume {last}, or another --output"
        raise ArgumentError("a run begins in a folder without one", f"{str(last)!r}", way)
    return last.parent
