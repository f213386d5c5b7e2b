"""Launch: which mpirun starts real ranks, and was this process started by one?

    find()       the mpirun beside this Python, else the one on PATH, else None
    inside()     whether a launcher started this process as one of its ranks
    told()       (rank, size) as the launcher says

A launcher tells each rank who it is by environment variables, and each MPI has its own:

    MPICH, Intel MPI    PMI_RANK              PMI_SIZE
    Open MPI            OMPI_COMM_WORLD_RANK  OMPI_COMM_WORLD_SIZE
    any, by PMIx        PMIX_RANK             (not told)

Nothing here imports mpi4py: that takes up to a second, and only ranks need it.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name

from jt_edu.base.errors import RankError

MARKS = (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"), ("PMIX_RANK", "PMIX_SIZE"))
LOCAL_MARKS = (
    ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"), ("MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
)  # fmt: skip
VERSION = re.compile(r"(?:Open MPI\)?|MPICH version|Version:?)\s*(\d[\w.]*)")
INSTALL = "python -m pip install mpi4py mpich, or simulated ranks: jt.simulate(4), %%ranks 4"

# What Open MPI needs where ranks share cores, and in containers: nobody asks who is root, more ranks than cores are
# welcome, no reading of another process's memory, and who waits lets others run. Other MPIs do not look at these.
COMFORT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",  # up to version 4
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",  # up to version 4
    "OMPI_MCA_smsc": "^cma",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Launcher:
    """An mpirun, the mpicc that came with it, and their version; None where there is no mpicc."""

    mpirun: Path
    mpicc: Path | None
    kind: str  # "MPICH", "Open MPI", "Intel MPI", or ""
    version: str

    def command(self, ranks: int, program: Sequence[str]) -> list[str]:
        """What starts a program on so many ranks.

        Example:
            >>> Launcher(Path("mpirun"), None, "MPICH", "5.0").command(2, ["python", "train.py"])
            ['mpirun', '-n', '2', 'python', 'train.py']
        """
        return [str(self.mpirun), "-n", str(ranks), *program]

    @property
    def library(self) -> Path | None:
        """The library that belongs to it, where it is installed beside it, as wheels do."""
        names = ("libmpi.so.40", "libmpi.so.12", "libmpi.dylib")  # Open MPI, MPICH, either on macOS
        places = [self.mpirun.parent.parent / "lib" / name for name in names]
        return next((place for place in places if place.exists()), None)

    def __str__(self) -> str:
        tool = self.mpicc or self.mpirun
        return f"Found {tool.name}({self.version or 'of unknown version'}) at {tool}"


OWNER = "JT_EDU_RANK_PROCESS"  # the process that is a rank: those that it starts inherit the marks, and are none


def inside(environment: Mapping[str, str] | None = None) -> bool:
    """Whether a launcher started this process as one of its ranks.

    A worker process that a rank started has the same environment, and is none.

    Example:
        >>> inside({}), inside({"PMI_RANK": "0", "PMI_SIZE": "4"})
        (False, True)
    """
    return told(environment) is not None


def told(environment: Mapping[str, str] | None = None) -> tuple[int, int] | None:
    """(rank, size) as the launcher says, with -1 for what it does not say; None where there is no launcher.

    Example:
        >>> told({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"})
        (1, 4)
    """
    if multiprocessing.parent_process() is not None:
        return None
    known = os.environ if environment is None else environment
    if known.get(OWNER, str(os.getpid())) != str(os.getpid()):
        return None
    for rank, size in MARKS:
        if known.get(rank, "").isdigit():
            return int(known[rank]), int(known[size]) if known.get(size, "").isdigit() else -1
    return None


def neighbours(environment: Mapping[str, str] | None = None) -> tuple[int, int] | None:
    """(rank among those on this machine, how many they are) as the launcher says; None where it does not.

    Example:
        >>> neighbours({"MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"})
        (1, 2)
    """
    known = os.environ if environment is None else environment
    for rank, size in LOCAL_MARKS:
        if known.get(rank, "").isdigit() and known.get(size, "").isdigit():
            return int(known[rank]), int(known[size])
    return None


def find(environment: Mapping[str, str] | None = None, python: str = sys.executable) -> Launcher | None:
    """The launcher to use: beside `mpicc_path` if the environment has that, beside this Python, else on PATH.

    Args:
        environment: where `mpicc_path` and PATH are looked up; that of this process by default.
        python: the interpreter beside which to look.
    """
    mpirun, mpicc = _tools(os.environ if environment is None else environment, python)
    if mpirun is None:
        return None
    kind, version = _kind_and_version(mpirun)
    return Launcher(mpirun, mpicc, kind, version or (_kind_and_version(mpicc)[1] if mpicc else ""))


def need(environment: Mapping[str, str] | None = None) -> Launcher:
    """The launcher to use.

    Raises:
        RankError: there is none, or mpi4py is missing.
    """
    launcher = find(environment)
    if launcher is None:
        known = os.environ if environment is None else environment
        chosen = known.get("mpicc_path")
        where = f"none beside mpicc_path={chosen}" if chosen else f"none beside {sys.executable}, and none on PATH"
        raise RankError("real ranks are started by mpirun", where, INSTALL)
    if not _version_of("mpi4py"):
        raise RankError("real ranks communicate through mpi4py", f"{launcher.mpirun}, but no mpi4py", INSTALL)
    return launcher


def status() -> str:
    """What there is for real ranks, in one line as Jittor writes it.

    Example:
        >>> status()[:3]
        '[i '
    """
    launcher = find()
    bindings = f"mpi4py {_version_of('mpi4py')}" if _version_of("mpi4py") else "no mpi4py"
    return note(f"{launcher}, {bindings}" if launcher else f"Found no mpirun, {bindings}: ranks can be simulated")


def announcement(version: str) -> str:
    """What a rank says when it has found its library: as `status`, without asking a program.

    Example:
        >>> "mpicc" in announcement("4.1.4") or "mpirun" in announcement("4.1.4")
        True
    """
    mpirun, mpicc = _tools(os.environ, sys.executable)
    tool = mpicc or mpirun
    return note(f"Found {tool.name}({version}) at {tool}" if tool else f"Found mpirun({version}), started elsewhere")


def note(words: str) -> str:
    """A line of information, in the shape of Jittor's log.

    Example:
        >>> note("Found mpicc(4.1.4) at mpicc")[-28:]
        'Found mpicc(4.1.4) at mpicc.'
    """
    now = time.time()
    stamp = time.strftime("%m%d %H:%M:%S", time.localtime(now)) + f".{int(now % 1 * 1e6):06d}"
    rank = (told() or (0, 0))[0]
    return f"[i {stamp} {rank:02d} launch.py] {words}."


def surroundings(launcher: Launcher, ranks: int, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which a launcher starts ranks.

    Open MPI gets what it needs, ranks share out the threads of the machine, mpi4py takes the library of the launcher,
    jt_edu is found, and no mark of another launcher is left. What the environment says already stays.

    Example:
        >>> launcher = Launcher(Path("mpirun"), None, "MPICH", "5.0")
        >>> surroundings(launcher, 2, {"PMI_RANK": "0"}).get("PMI_RANK")
    """
    kept = {k: v for k, v in environment.items() if not k.startswith(("PMI_", "PMIX_", "OMPI_COMM_"))}
    paths = [str(Path(__file__).resolve().parents[3]), *filter(None, [environment.get("PYTHONPATH", "")])]
    share = str(max(1, (os.cpu_count() or 1) // ranks))
    library = {"MPI4PY_LIBMPI": str(launcher.library)} if launcher.library else {}
    return {**dict.fromkeys(THREADS, share), **COMFORT, **library, **kept, "PYTHONPATH": os.pathsep.join(paths)}


def _tools(known: Mapping[str, str], python: str) -> tuple[Path | None, Path | None]:
    """(mpirun, mpicc), from the first place that has an mpirun."""
    chosen = known.get("mpicc_path")
    places = [Path(chosen).parent] if chosen else [Path(python).parent, *_folders(known.get("PATH", ""))]
    mpirun = next((found for place in places if (found := _program(place, "mpirun"))), None)
    if mpirun is None:
        return None, None
    return mpirun, _program(mpirun.parent, Path(chosen).name if chosen else "mpicc")


def _folders(path: str) -> list[Path]:
    return [Path(folder) for folder in path.split(os.pathsep) if folder]


def _program(folder: Path, name: str) -> Path | None:
    found = shutil.which(name, path=str(folder))
    return Path(found) if found else None


def _kind_and_version(program: Path) -> tuple[str, str]:
    """What a launcher or a compiler says about itself; ("", "") if it says nothing that we know."""
    for option in ("--version", "--showme:version", "-v"):
        try:
            done = subprocess.run(  # noqa: S603 - a program that was found
                [program, option], capture_output=True, text=True, check=False, timeout=20
            )
        except (OSError, subprocess.SubprocessError):
            continue
        said = done.stdout + done.stderr
        signs = {"Open MPI": "Open MPI", "Intel": "Intel MPI", "HYDRA": "MPICH", "MPICH": "MPICH"}
        kind = next((kind for sign, kind in signs.items() if sign in said), "")
        version = VERSION.search(said)
        if kind and version:
            return kind, version[1]
    return "", ""


def _version_of(package: str) -> str:
    try:
        return str(resolve_name("importlib.metadata:version")(package))
    except ImportError:  # there is no such package
        return ""
