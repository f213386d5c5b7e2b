#!/usr/bin/env python3
"""The one command of jt_edu. It needs nothing but Python 3.11, 3.12 or 3.13.

    python3 lab.py                    opens the course in JupyterLab
    python3 lab.py run 03             runs notebook 03 without a browser, and says how it went
    python3 lab.py test               runs every check and the tests; with --all, also all rows of large tables
    python3 lab.py bench core         measures

The first time, it makes an environment in the folder .venv beside this file. Options that it does not know it passes
on: --no-browser and --port 9000 to JupyterLab; -k house, --without-torch and so on to pytest.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

# Nothing newer than Python 3.6 below, so that an old Python can start this file and say that it is too old.

HOME = Path(__file__).resolve().parent
VENV = HOME / ".venv"
NOTES = VENV / "jt_edu.json"  # what is installed there: {"python": [3, 11], "course": <state>, ...}
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
OLDEST, NEWEST = (3, 11), (3, 13)

# What can be installed: names, what a person is told, what pip is told.
COURSE = (["course"], "jt_edu, numba, JupyterLab, MPI (160 MB to download)", ["--editable", ".[lab,mpi]"])
TOOLS = (["course", "tools"], "the course, pytest, ruff, mypy, playwright (250 MB)", ["--editable", ".[lab,mpi,dev]"])
TORCH = (
    ["torch"], "PyTorch and torchvision, to compare with (210 MB; on Linux with CUDA's libraries some GB)",
    ["torch==2.13.0", "torchvision==0.28.0"],
)  # fmt: skip
TIMM = (["timm"], "timm and yacs, to compare with (3 MB)", ["--no-deps", "timm==1.0.31", "yacs==0.1.8"])

# What pip says when the trouble is not its own, and what a person is told then.
TROUBLES = [
    (("No space left on device", "WinError 112"), "The disk is full. Free 2 GB, then run this again."),
    (
        ("NewConnectionError", "name resolution", "getaddrinfo", "Max retries exceeded", "from versions: none"),
        "The Python package index cannot be reached. Connect to a network, then run this again: nothing is lost.",
    ),
    (("Permission denied", "WinError 5"), "This folder cannot be written to. Copy jt_edu to one of your own."),
]


class Stop(Exception):  # noqa: N818  not an error of this program
    """It ends here. One sentence says why, and what to do about it."""


def main(arguments):
    commands = {"run": run_notebook, "test": test, "bench": bench}
    word = arguments[0] if arguments else "--no-command"
    if word in {"-h", "--help", "help"}:
        print(__doc__)
        return 0
    if word not in commands and not word.startswith("-"):
        raise Stop(f"There is no command '{word}'. Say run, test or bench, or nothing at all for the course.")
    require_python()
    return commands[word](arguments[1:]) if word in commands else open_lab(arguments)


# ------------------------------------------------------------------------------------------------------- commands
def open_lab(options):
    install(COURSE)
    return become("jt_edu.lab", *options)


def run_notebook(options):
    pages = sorted((HOME / "notebooks").glob("[0-9][0-9]*_*.ipynb"))
    wanted = [page for page in pages if options and page.name.split("_")[0] == options[0].zfill(2)]
    if not wanted:
        numbers = ", ".join(page.name.split("_")[0] for page in pages) or "none yet"
        asked = f"There is no notebook '{options[0]}'." if options else "Which notebook?"
        raise Stop(f"{asked} Say its number, as in 'python3 lab.py run 03'. There are: {numbers}.")
    install(COURSE)
    return become("tests.headless", str(wanted[0]), *options[1:])


def test(options):
    install_for_tests(options)
    call("tests.frontend")  # where there is no npm it says so, and its tests are skipped
    checks = [("ruff", "check"), ("ruff", "format", "--check"), ("mypy",)]
    failed = [" ".join(check[:2]) for check in checks if call(*check)]
    os.environ["JT_EDU_ALSO_FAILED"] = ", ".join(failed)  # pytest has the last word, and says it
    return call("pytest", "-n", "auto", "--dist", "loadscope", "--share=-1", *options) or bool(failed)


def bench(options):
    text = (HOME / "tests" / "bench" / "__main__.py").read_text(encoding="utf-8")
    suites = [*re.findall(r'^    "(\w+)": ".*minutes?",$', text, re.MULTILINE), "all"]
    if not options or not (options[0].startswith("-") or options[0] in suites):
        raise Stop(f"Which suite? Say its name, as in 'python3 lab.py bench core'. There are: {', '.join(suites)}.")
    install_for_tests(options)
    return become("tests.bench", *options)


def install_for_tests(options):
    install(TOOLS, *([] if "--without-torch" in options else [TORCH, TIMM]))


# ---------------------------------------------------------------------------------------------------- environment
def require_python():
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        others = [name for name in ("python3.13", "python3.12", "python3.11") if shutil.which(name)]
        advice = f"Run: {others[0]} lab.py" if others else "Install one of them, then run: python3.13 lab.py"
        raise Stop(f"jt_edu needs Python 3.11, 3.12 or 3.13; this is {sys.version.split()[0]}. {advice}")
    if not all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")):
        raise Stop("Python's venv module is missing. On Debian and Ubuntu: apt install python3-venv. Then try again.")


def install(*parts):
    """See to it that .venv holds these parts, as pyproject.toml and constraints.txt have them now."""
    steps = [] if environment_is_sound() else [(f"a Python environment in {VENV}", make_environment)]
    missing = [part for part in parts if steps or {notes().get(name) for name in part[0]} != {state()}]
    steps += [(words, lambda title, names=names, what=what: pip(title, names, what)) for names, words, what in missing]
    for number, (words, step) in enumerate(steps, 1):
        step(f"[{number}/{len(steps)}] {words}")


def environment_is_sound():
    """False where there is none, where making it was interrupted, or where it belongs to another Python."""
    return PYTHON.exists() and notes().get("python") == list(sys.version_info[:2])


def make_environment(title):
    watch([sys.executable, "-m", "venv", "--clear", str(VENV)], title)
    write_notes(python=list(sys.version_info[:2]))


def pip(title, names, what):
    command = [str(PYTHON), "-m", "pip", "install", "--progress-bar=off", "--no-input", "--disable-pip-version-check"]
    command += ["--no-compile"]  # half of the time went into modules that nobody imports; Python compiles the others
    watch([*command, "--constraint", "constraints.txt", *what], title)
    settle_jupyterlab()
    write_notes(**{name: state() for name in names})


def settle_jupyterlab():
    """No question about news, no look for updates; and a saved notebook shows its views again without a kernel."""
    path = VENV / "share" / "jupyter" / "lab" / "settings" / "overrides.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    news, views = "@jupyterlab/apputils-extension:notification", "@jupyter-widgets/jupyterlab-manager:plugin"
    path.write_text(json.dumps({news: {"fetchNews": "false", "checkForUpdates": False}, views: {"saveState": True}}))


def state():
    """Changes when something must be installed again: other dependencies, other versions, another place."""
    files = [HOME / "pyproject.toml", HOME / "constraints.txt"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files) + bytes(HOME)).hexdigest()


def notes():
    try:
        return json.loads(NOTES.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def write_notes(**more):
    NOTES.write_text(json.dumps({**notes(), **more}), encoding="utf-8")


# ------------------------------------------------------------------------------------------------------ processes
def watch(command, title):
    """Run a command and show on one line how far it is. Where it fails, say why in one sentence."""
    start, said = time.monotonic(), []
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(command, cwd=str(HOME), env=surroundings(), encoding="utf-8", errors="replace", **pipes)
    listener = threading.Thread(target=lambda: said.extend(process.stdout), daemon=True)
    listener.start()
    try:
        while process.poll() is None:
            paint(title, start, news(said))
            time.sleep(0.1)
    finally:
        process.kill()  # Ctrl-C in the middle; else it has ended already
        process.wait()
    listener.join(5)
    paint(title, start, "failed" if process.returncode else "done", end="\n")
    if process.returncode:
        explain("".join(said))


def news(said):
    """What pip does now, in a few words."""
    told = [line.strip().split(" (")[0] for line in said if line.strip().startswith(("Collecting", "Installing"))]
    return f"{len(told)}: {told[-1]}" if told else ""


def paint(title, start, text, end=""):
    """One line that changes on a terminal; elsewhere only its last form."""
    line = f"{title}  {time.monotonic() - start:.0f} s  {text}"
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 1
        print("\r" + line[:width].ljust(width), end=end, flush=True)
    elif end:
        print(line, flush=True)


def explain(output):
    for signs, sentence in TROUBLES:
        if any(sign in output for sign in signs):
            raise Stop(sentence)
    raise Stop("That did not work. The last words were:\n\n" + "\n".join(output.splitlines()[-15:]))


def surroundings():
    """Variables under which .venv comes first, nobody looks elsewhere, and Python stores what it compiles."""
    not_ours = {"JUPYTER_PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "PYTHONPATH"}
    ours = {"PATH": os.pathsep.join([str(PYTHON.parent), os.environ.get("PATH", "")]), "VIRTUAL_ENV": str(VENV)}
    return {**{k: os.environ[k] for k in os.environ if k not in not_ours}, **ours, "JUPYTER_PREFER_ENV_PATH": "1"}


def call(module, *options):
    """Run a module in the environment; its exit code."""
    print(f"\n== {module} {' '.join(options)}", flush=True)
    process = subprocess.Popen([str(PYTHON), "-m", module, *options], cwd=str(HOME), env=surroundings())
    try:
        return process.wait()
    except KeyboardInterrupt:  # it heard Ctrl-C too: let it finish
        process.wait()
        raise


def become(module, *options):
    """As `call`, but where the system can, this process turns into the other: signals go straight to it."""
    if os.name != "posix":
        return call(module, *options)
    os.chdir(str(HOME))
    sys.stdout.flush()
    return os.execve(str(PYTHON), [str(PYTHON), "-m", module, *options], surroundings())


if __name__ == "__main__":
    try:
        sys.exit(int(main(sys.argv[1:])))
    except Stop as stop:
        sys.exit(f"lab.py: {stop}")
    except KeyboardInterrupt:
        print("\nlab.py: stopped. Nothing is lost: run it again to go on.", file=sys.stderr)
        sys.exit(130)
    except OSError as error:
        sys.exit(f"lab.py: {error}")
