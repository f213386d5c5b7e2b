"""The frontend's tools (esbuild, TypeScript, axe-core): are they there, exactly as locked?

    python -m tests.frontend      fetches them with npm into widgets/frontend/node_modules, where they are not

This is the one moment that needs a network, once for each lock file. Tests only ask `missing`, and skip with its
reason.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "widgets" / "frontend"
FETCH = ("ci", "--ignore-scripts", "--no-audit", "--no-fund")  # esbuild's script only saves it a start


def missing(folder: Path = FOLDER) -> str:
    """Why the frontend cannot be built and tested here, or ""."""
    absent = [name for name in ("node", "npm") if not shutil.which(name)]
    if absent:
        return f"no {' and no '.join(absent)} on this machine"
    if wrong := _wrong(folder):
        return f"{wrong}: run 'python -m tests.frontend', which needs a network"
    return ""


def npm(*arguments: str, folder: Path = FOLDER) -> subprocess.CompletedProcess:
    """Run npm in the frontend's folder; both of its voices together, as text."""
    return _run([shutil.which("npm") or "npm", *arguments], folder)


def node(*arguments: str, folder: Path = FOLDER) -> subprocess.CompletedProcess:
    """The same for node."""
    return _run([shutil.which("node") or "node", *arguments], folder)


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess:
    plain = {**os.environ, "NO_COLOR": "1"}
    plain.pop("NODE_TEST_CONTEXT", None)  # where it is set, to whatever, `node --test` runs no file and is content
    voices = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(command, cwd=folder, env=plain, encoding="utf-8", errors="replace", check=False, **voices)


def _wrong(folder: Path) -> str:
    """What differs from the lock. A package for another machine is optional, and may be absent."""
    try:
        locked = _packages(folder / "package-lock.json")
        here = _packages(folder / "node_modules" / ".package-lock.json")
    except (OSError, ValueError):
        return "the frontend's tools are not installed"
    for place, package in locked.items():
        version = here.get(place, {}).get("version")
        if place and version != package["version"] and not (version is None and package.get("optional")):
            return f"{place} is {version or 'absent'} and not {package['version']}"
    return ""


def _packages(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))["packages"]


def main() -> int:
    absent = [name for name in ("node", "npm") if not shutil.which(name)]
    if absent:
        print(f"There is no {' and no '.join(absent)} here: the tests of the views' JavaScript are skipped.")
    elif _wrong(FOLDER):
        done = npm(*FETCH)
        print(done.stdout if done.returncode else "esbuild, TypeScript and axe-core are there.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
