"""A JupyterLab of its own: free port, own settings, own copy of the notebooks, and the kernel of this Python."""

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.headless import FOLDERS

START_SECONDS = 60


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
    shutil.copytree(notebooks, folder / "work" / "notebooks", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    lab = Lab(folder / "work", _free_port(), secrets.token_hex(16))
    with (folder / "jupyter.log").open("w") as log:
        server = subprocess.Popen(
            _command(lab), cwd=lab.folder, env=_environment(folder), stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            _wait(lab, server, folder / "jupyter.log")
            yield lab
        finally:
            server.terminate()
            try:
                server.wait(15)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _command(lab: Lab) -> list[str]:
    superuser = hasattr(os, "geteuid") and os.geteuid() == 0
    return [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={lab.port}"),
        *(f"--IdentityProvider.token={lab.token}", f"--ServerApp.root_dir={lab.folder}", "--ServerApp.port_retries=0"),
        *("--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly"),
        "--JupyterNotebookApp.expose_app_in_browser=True",
        *["--allow-root"] * superuser,
    ]


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of the person who runs the tests: no settings, no kernels, no workspace."""
    own = {
        "IPYTHONDIR": "ipython",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
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
        "JUPYTER_PREFER_ENV_PATH": "0",  # the kernel above, not the one of another installation
        "PYTHONPATH": os.pathsep.join(FOLDERS),
    }


def _free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


def _wait(lab: Lab, server: subprocess.Popen, log: Path) -> None:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(urllib.error.URLError, OSError):
            direct.open(f"http://127.0.0.1:{lab.port}/api/status?token={lab.token}", timeout=5).close()
            return
        time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not answer within {START_SECONDS} s. Its log:\n{log.read_text()[-3000:]}")
