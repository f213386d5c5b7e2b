"""Run one notebook without a browser, cell by cell, and say how it went.

    python -m tests.headless notebooks/00_start_here.ipynb

The kernel is the Python that runs this. The file itself is left as it is. Exit code 1 where a cell fails.
"""

import os
import re
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from traitlets.config import Config

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = [str(ROOT), str(ROOT / "widgets"), str(ROOT / "exercises")]  # a checkout runs before it is installed
SECONDS_PER_CELL = SECONDS_TO_START = 300
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
PICTURES = ("image/svg+xml", "image/png")  # what is drawn in Python, by us or by a library
VIEW = "application/vnd.jupyter.widget-view+json"  # what the browser draws


class OwnKernel(AsyncKernelManager):
    """A kernel in this very Python, whatever kernels the machine knows besides."""

    @property
    def kernel_spec(self):
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=40"]
        return KernelSpec(argv=command, display_name="Python 3", language="python")


class Watched(NotebookClient):
    """Calls `progress(number, source)` before each code cell."""

    progress = None

    async def async_execute_cell(self, cell, cell_index, *arguments, **options):
        if self.progress and cell.cell_type == "code":
            self.progress(cell_index, cell.source)
        return await super().async_execute_cell(cell, cell_index, *arguments, **options)


def execute(path, progress=None):
    """The notebook with its outputs, and the error of the cell that failed, or None."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(prefix="jt_") as folder:
        client = Watched(
            notebook,
            timeout=SECONDS_PER_CELL,
            startup_timeout=SECONDS_TO_START,
            kernel_manager_class=OwnKernel,
            config=Config(OwnKernel=sockets_in(folder)),
            resources={"metadata": {"path": str(Path(path).parent)}},
        )
        client.progress = progress
        try:
            client.execute(env={**os.environ, "PYTHONPATH": os.pathsep.join(FOLDERS)})
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            return notebook, error
    return notebook, None


def sockets_in(folder):
    """How to reach a kernel: by files of its own. A port that is free now may be taken when the kernel has started."""
    if os.name == "nt":  # which has none
        return Config()
    return Config(transport="ipc", connection_file=str(Path(folder) / "kernel.json"))


def main(arguments):
    (path,) = map(Path, arguments)
    count = sum(cell.cell_type == "code" for cell in nbformat.read(path, as_version=4).cells)
    start, seen = time.monotonic(), []

    def progress(_, source):
        seen.append(source)
        first = next(iter(source.strip().splitlines()), "(empty)")
        print(f"[{len(seen)}/{count}] {time.monotonic() - start:5.1f} s  {first[:80]}", flush=True)

    notebook, error = execute(path, progress)
    seconds = time.monotonic() - start
    if error:
        print(f"\n{path.name}: code cell {len(seen)} of {count} failed after {seconds:.1f} s\n\n{seen[-1]}\n")
        print(COLOURS.sub("", getattr(error, "traceback", str(error))))
        return 1
    print(f"\n{path.name}: {count} code cells ran in {seconds:.1f} s, {shown(notebook)}")
    return 0


def shown(notebook):
    """How many outputs are pictures, and how many are views, in words; the same picture in two formats is one."""
    outputs = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = sum(any(kind in data for kind in PICTURES) for data in outputs)
    views = sum(VIEW in data for data in outputs)
    return f"{pictures} picture{'s' * (pictures != 1)}, {views} view{'s' * (views != 1)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
