"""Train: how is a network trained from a command line, a file of settings or a cell?

    python -m jt_edu.zoo.train                                            a small network on handwritten digits
    python -m jt_edu.zoo.train --config swin.yaml --dataset folder:pictures --amp bfloat16
    python -m jt_edu.zoo.train --resume runs/digits_cnn-1/last.npz        goes on as if it had never been stopped
    python -m jt_edu.launch -np 4 -m jt_edu.zoo.train                     the same on four simulated ranks
    mpirun -n 4 python -m jt_edu.run -m jt_edu.zoo.train                  the same on four real ones

    history = jt.zoo.train.main(["--epochs", "3"])                        in a cell, with curves that grow

A run has a folder: config.yaml, all settings; history.csv, a row for each epoch; last.npz and best.npz, checkpoints.
What settings there are says `--help`; `training/config.py` has them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from jt_edu.zoo.training.config import checked, configured, defaults, run_program
from jt_edu.zoo.training.history import History
from jt_edu.zoo.training.run import Run

__all__ = ["defaults", "fit", "main"]


def fit(cfg: Any) -> History:
    """Train as the settings say; how it went.

    Args:
        cfg: settings, as `defaults()` has them.

    Raises:
        ArgumentError: a setting makes no sense, or there is a run in the folder of OUTPUT already.
        KeyboardInterrupt: it was interrupted; a checkpoint was written, and it is said how to go on from it.

    Example:
        >>> import tempfile
        >>> cfg = jt.zoo.train.defaults()
        >>> cfg.TRAIN.EPOCHS, cfg.DATA.BATCH_SIZE = 1, 512
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     cfg.OUTPUT = folder
        ...     history = jt.zoo.train.fit(cfg)
        >>> len(history), history.best["epoch"]
        (1, 1)
    """
    return Run(checked(cfg.clone())).train_all()


def main(arguments: Sequence[str] | None = None) -> History:
    """Train as a command line says; how it went.

    Args:
        arguments: those of the program by default.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     len(jt.zoo.train.main(["--epochs", "1", "--batch-size", "512", "--output", folder]))
        1
    """
    return Run(configured(arguments)).train_all()


if __name__ == "__main__":
    sys.exit(run_program(main))
