"""A JupyterLab of its own: own port, own settings, own copy of the notebooks, and the kernel of this Python.

The server takes any free port itself, and tells which in a file; a port that was found free before could be taken by
another process meanwhile. For the same reason it speaks to its kernels through sockets that are files.
"""

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.chromium import LIMIT
from tests.headless import FOLDERS

PATHS = "jt_"  # of the runtime's folder, directly in /tmp: the path of a socket has 107 letters at most


@dataclass(frozen=True)
class Lab:
    """A running server. `folder` holds the notebooks, as notebooks/NAME."""

    folder: Path
    port: int
    token: str

    def address(self, notebook: str, *, classic: bool = False) -> str:
        """The page of one notebook; `reset` forgets what was open before. The same server serves Notebook 7."""
        if classic:
            return f"http://127.0.0.1:{self.port}/notebooks/{notebook}?token={self.token}"
        return f"http://127.0.0.1:{self.port}/lab/tree/{notebook}?token={self.token}&reset"


@contextlib.contextmanager
def jupyterlab(notebooks: Path, folder: Path) -> Iterator[Lab]:
    """Start JupyterLab on a copy of `notebooks`, and end it afterwards. Its files and its log lie in `folder`."""
    work, token = folder / "work", secrets.token_hex(16)
    shutil.copytree(notebooks, work / "notebooks", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    with (folder / "jupyter.log").open("w") as log, tempfile.TemporaryDirectory(prefix=PATHS) as runtime:
        environment = _environment(folder, runtime)
        server = subprocess.Popen(
            _command(work, token), cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            yield Lab(work, _port(server, Path(runtime), folder / "jupyter.log"), token)
        finally:
            server.terminate()
            try:
                server.wait(LIMIT)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _command(work: Path, token: str) -> list[str]:
    superuser = hasattr(os, "geteuid") and os.geteuid() == 0
    return [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", "--port=0"),
        *(f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={work}", "--KernelManager.transport=ipc"),
        *("--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly"),
        "--JupyterNotebookApp.expose_app_in_browser=True",
        f"--MappingKernelManager.kernel_info_timeout={LIMIT}",
        *["--allow-root"] * superuser,
    ]


def _environment(folder: Path, runtime: str) -> dict[str, str]:
    """Nothing of the person who runs the tests: no settings, no kernels, no workspace."""
    own = {
        "IPYTHONDIR": "ipython",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
    }
    settings = {  # as lab.py has them
        "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
        "@jupyter-widgets/jupyterlab-manager/plugin": {"saveState": True},
    }
    for place, values in settings.items():
        path = folder / "settings" / f"{place}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(values))
    kernel = folder / "data" / "kernels" / "python3" / "kernel.json"
    kernel.parent.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel.write_text(json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"}))
    return {
        **{name: value for name, value in os.environ.items() if name not in {"JUPYTER_PATH", "JUPYTER_TOKEN"}},
        **{name: str(folder / place) for name, place in own.items()},
        "JUPYTER_RUNTIME_DIR": runtime,
        "JUPYTER_PREFER_ENV_PATH": "0",  # the kernel above, not the one of another installation
        "PYTHONPATH": os.pathsep.join(FOLDERS),
    }


def _port(server: subprocess.Popen, runtime: Path, log: Path) -> int:
    """The port that the server listens at: it writes it down when it is ready."""
    told = runtime / f"jpserver-{server.pid}.json"
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(OSError, ValueError):  # not there yet, or not written to its end
            return int(json.loads(told.read_text(encoding="utf-8"))["port"])
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not say its port within {LIMIT} s. Its log:\n{log.read_text()[-3000:]}")
