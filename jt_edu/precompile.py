"""Precompile: how are the kernels of the course there before a learner asks for them?

    python -m jt_edu.precompile        runs the notebooks once, unseen, so that their kernels are on the disk

`jt_edu.lab` starts this beside JupyterLab, the first time on a machine. Cells that fail, as exercises do before they
are done, are passed over, and so are those that start other processes. It is one thread that makes way for everybody
else, and it ends with JupyterLab.
"""

# mypy: disable-error-code="no-untyped-call"
# IPython is typed in part

import contextlib
import io
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell

from jt_edu.backends import cache_dir, numba_cpu, thread_pool
from jt_edu.data.progress_bar import marks, rewrites
from jt_edu.lab import notebooks

WORDS = "compiling the kernels of the course"
APART = ("%%ranks", "%%bash", "!")  # begin cells that start processes


def cells(page: Path) -> list[str]:
    """The code cells of a notebook that run in one process.

    Example:
        >>> cells(notebooks() / "00_start_here.ipynb")[0].startswith("%%")
        False
    """
    found = ["".join(cell["source"]) for cell in json.loads(page.read_text("utf-8"))["cells"] if is_code(cell)]
    return [text for text in found if not text.lstrip().startswith(APART)]


def is_code(cell: dict[str, object]) -> bool:
    """Whether a cell is code.

    Example:
        >>> is_code({"cell_type": "markdown"})
        False
    """
    return cell["cell_type"] == "code"


def run(pages: Sequence[Path], goal: Path, starter: int | None = None) -> Iterator[int]:
    """Run all cells of these pages, each page with names of its own; before each cell, how many have run.

    `goal` is a file that is there when all have. The process `starter` is awaited at no time: when it is no longer the
    parent of this one, this ends.
    """
    done, shell = 0, InteractiveShell.instance()
    for page in pages:
        shell.reset(new_session=False)
        for text in cells(page):
            if starter is not None and os.getppid() != starter:
                return
            yield done
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                shell.run_cell(text, store_history=False, silent=True)
            done += 1
    goal.parent.mkdir(parents=True, exist_ok=True)
    goal.touch()


def mark() -> Path | None:
    """The file that says that the kernels of the course are on the disk; None where none are kept.

    It does not depend on what the notebooks say: what a learner writes into them is run by the learner alone.
    """
    folder = cache_dir.find(f"numba-{numba_cpu._stamp()}")
    return folder and folder / "course"


def main() -> None:
    """Run what was never run here, with a bar on a terminal."""
    pages = sorted(notebooks().glob("*.ipynb"))
    done_before, out = mark(), sys.stderr
    if done_before is None or done_before.exists():
        return
    if hasattr(os, "nice"):
        os.nice(19)
    thread_pool.set_num_threads(1)
    warnings.simplefilter("ignore")
    total, shows = sum(len(cells(page)) for page in pages), rewrites(out)
    sys.path[:0] = [str(pages[0].parent)]
    with tempfile.TemporaryDirectory(prefix="jt_edu_course_") as folder, contextlib.chdir(folder):
        for done in run(pages, done_before, os.getppid()):
            if shows:
                out.write(f"\r{WORDS}  {marks(done, total)}  cell {done + 1} of {total}")
                out.flush()
    if shows:
        out.write("\r" + " " * 79 + "\r")


if __name__ == "__main__":
    main()
