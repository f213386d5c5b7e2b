"""Lab: how does one open the course?

    python -m jt_edu.lab               copies the notebooks into the folder jt_edu_course, and opens them in JupyterLab
    python -m jt_edu.lab my_folder     the same, into another folder

A notebook that is there already stays as it is, with your answers; so the same command goes on where you were. In a
checkout of jt_edu its own notebooks are opened, where they are, unless a folder is named. All other options, such as
--no-browser and --port 9000, go to JupyterLab. The first time, the kernels of the notebooks are compiled meanwhile, by
one process that makes way for all others: see `precompile`.
"""

import importlib.util
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from jt_edu.base.plural import plural

HOME = Path(__file__).resolve().parent
CHECKOUT = HOME.parent / "notebooks"
INSTALLED = HOME / "notebooks"  # where a wheel has them: pyproject.toml
FOLDER = "jt_edu_course"
FIRST = "00_start_here.ipynb"
FILES = "jt_edu.course_files.CourseFiles"  # does not list what notebooks are made from


def notebooks() -> Path:
    """The folder with the notebooks of the course, as they were installed or checked out.

    Example:
        >>> (notebooks() / "00_start_here.ipynb").exists()
        True
    """
    return INSTALLED if INSTALLED.is_dir() else CHECKOUT


def copied(target: Path) -> int:
    """Put the notebooks that are not there yet into a folder; how many these are.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     copied(Path(folder) / "course") >= 12, copied(Path(folder) / "course")
        (True, 0)
    """
    target.mkdir(parents=True, exist_ok=True)
    pages = [page for page in sorted(notebooks().iterdir()) if page.suffix in (".ipynb", ".md")]
    missing = [page for page in pages if not (target / page.name).exists()]
    for page in missing:
        shutil.copyfile(page, target / page.name)
    return len(missing)


def command(options: Sequence[str]) -> list[str]:
    """What JupyterLab is told, after the notebooks were put where they are to be opened.

    Example:
        >>> command(["--no-browser"])[-1]
        '--no-browser'
    """
    named = options[0] if options and not options[0].startswith("-") else ""
    root, page = CHECKOUT.parent, f"notebooks/{FIRST}"
    if named or notebooks() == INSTALLED:
        root, page = Path(named or FOLDER).resolve(), FIRST
        print(f"{plural(copied(root), 'new file')} of the course in {root}; what was there stays as it was.")
    superuser = hasattr(os, "geteuid") and os.geteuid() == 0  # Jupyter asks to be told
    return [
        *(f"--ServerApp.root_dir={root}", f"--LabApp.default_url=/lab/tree/{page}", "--Application.log_level=WARN"),
        *[f"--ServerApp.contents_manager_class={FILES}"] * (root == CHECKOUT.parent),
        *["--allow-root"] * superuser,
        *options[bool(named) :],
    ]


def main(options: Sequence[str]) -> None:
    """Open the course, and turn into JupyterLab."""
    if options and options[0] in {"-h", "--help", "help"}:
        print(__doc__)
        return
    if importlib.util.find_spec("jupyterlab") is None:
        raise SystemExit('jt_edu.lab: JupyterLab is not installed. Run: pip install "jt-edu[lab]"')
    try:
        sys.argv = ["jupyter-lab", *command(options)]
    except OSError as error:
        raise SystemExit(f"jt_edu.lab: {error}. Name another folder: python -m jt_edu.lab my_folder") from None
    print("JupyterLab opens the course. Ctrl-C in this window ends it.", flush=True)
    with suppress(OSError):  # no more processes: kernels are compiled when they are needed
        subprocess.Popen([sys.executable, "-m", "jt_edu.precompile"], stdin=subprocess.DEVNULL)
    runpy.run_module("jupyterlab", run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
