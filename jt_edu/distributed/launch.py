"""Launch: one program, several processes on this machine.

    python -m jt_edu.distributed.launch --nproc_per_node=2 train.py --epochs=3

    launcher ─┬─ rank 0   RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500
              └─ rank 1   RANK=1 LOCAL_RANK=1 ...

What they print comes line by line, with the rank before it. If one fails, the others are ended, and the launcher ends
with its code. Each rank has a process group of its own, so that what it started ends with it; on Linux the ranks end
even if the launcher is killed.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import IO

PAUSE = 0.02  # seconds between two looks at the ranks
GRACE = 3.0  # seconds that a rank has to end when it is asked to
LAST_WORDS = 15.0  # seconds for what the ranks printed at the end to come through
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """What stands on the command line.

    Example:
        >>> told = parsed(["--nproc_per_node=2", "train.py", "--lr", "0.1"])
        >>> told.nproc_per_node, told.training_script, told.training_script_args
        (2, 'train.py', ['--lr', '0.1'])
    """
    parser = argparse.ArgumentParser("jt_edu.distributed.launch", description="One program, several processes.")
    parser.add_argument("--nproc_per_node", type=_at_least(1), default=1, help="processes on this machine")
    parser.add_argument("--nnodes", type=_at_least(1), default=1, help="machines")
    parser.add_argument("--node_rank", type=_at_least(0), default=0, help="which of the machines this is")
    parser.add_argument("--master_addr", default="127.0.0.1", help="address of machine 0")
    parser.add_argument("--master_port", type=_at_least(0), default=29500, help="a port there; 0: any that is free")
    parser.add_argument(
        "--use_env", action="store_true", help="tell the local rank by LOCAL_RANK only, not by --local_rank=N too"
    )
    parser.add_argument("-m", "--module", action="store_true", help="the script is a module, as for python -m")
    parser.add_argument("training_script", help="the program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    told = parser.parse_args(arguments)
    if told.node_rank >= told.nnodes:
        parser.error(f"--node_rank {told.node_rank} of {told.nnodes} machines; they count from 0")
    if told.master_port == 0 and told.nnodes > 1:
        parser.error("--master_port 0 is for one machine: the others could not know which port was free")
    return told


def environments(told: argparse.Namespace) -> Iterator[dict[str, str]]:
    """What each rank of this machine finds in its environment.

    Example:
        >>> told = parsed(["--nproc_per_node=2", "--nnodes=2", "--node_rank=1", "train.py"])
        >>> [e["RANK"] for e in environments(told)]
        ['2', '3']
    """
    count = told.nproc_per_node
    for local in range(count):
        yield {
            "MASTER_ADDR": told.master_addr,
            "MASTER_PORT": str(told.master_port),
            "WORLD_SIZE": str(count * told.nnodes),
            "RANK": str(count * told.node_rank + local),
            "LOCAL_RANK": str(local),
            "LOCAL_WORLD_SIZE": str(count),
        }


def command(told: argparse.Namespace, local_rank: int) -> list[str]:
    """How a rank is started.

    Example:
        >>> command(parsed(["train.py", "--lr", "0.1"]), 0)[1:]
        ['-u', 'train.py', '--local_rank=0', '--lr', '0.1']
        >>> command(parsed(["--use_env", "-m", "train"]), 0)[1:]
        ['-u', '-m', 'train']
    """
    module = ["-m"] if told.module else []
    place = [] if told.use_env else [f"--local_rank={local_rank}"]
    return [sys.executable, "-u", *module, told.training_script, *place, *told.training_script_args]


def launch(arguments: Sequence[str]) -> int:
    """Run the ranks of this machine; returns the code of the first one that failed, or 0."""
    told = parsed(arguments)
    ranks: list[Rank] = []
    with _signals_as_interrupts(), kept_port() as port:
        told.master_port = told.master_port or port
        try:
            for local, environment in enumerate(environments(told)):
                threads = {} if told.nproc_per_node == 1 else {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
                ranks.append(Rank(command(told, local), {**threads, **os.environ, **environment}))
            for rank in ranks:  # threads come after all forks
                rank.reader.start()
            return _watch(ranks)
        except KeyboardInterrupt:
            _end_all(ranks, signal.SIGINT)
            return 128 + signal.SIGINT
        finally:
            _end_all(ranks, signal.SIGTERM)
            for rank in ranks:
                if rank.reader.is_alive():
                    rank.reader.join(LAST_WORDS)


class Rank:
    """One process, and the thread that passes on what it prints."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.number = environment["RANK"]
        self.process = subprocess.Popen(  # noqa: S603 - the program that the user wants to run
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            preexec_fn=_die_with_launcher(),  # noqa: PLW1509 - there are no threads yet
        )  # fmt: skip
        assert self.process.stdout is not None, "a pipe was asked for"
        self.reader = threading.Thread(target=self._pass_on, args=(self.process.stdout,), daemon=True)

    def _pass_on(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                sys.stdout.write(f"[rank {self.number}] {line.decode(errors='replace').rstrip()}\n")
                sys.stdout.flush()

    def signal(self, what: int) -> None:
        """To the process and everything that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, what)


def _watch(ranks: list[Rank]) -> int:
    """Until all have ended, or one has failed."""
    running = list(ranks)
    while running:
        for rank in list(running):
            code = rank.process.poll()
            if code is None:
                continue
            running.remove(rank)
            if code:
                how = f"was ended by signal {-code}" if code < 0 else f"failed with code {code}"
                others = ", ".join(r.number for r in running) or "none"
                sys.stdout.write(f"[launch] rank {rank.number} {how}; still running, and ended now: {others}\n")
                sys.stdout.flush()
                return 128 - code if code < 0 else code
        time.sleep(PAUSE)
    return 0


def _end_all(ranks: list[Rank], politely: int) -> None:
    """Ask all to end, wait a little, and then make them."""
    running = [r for r in ranks if r.process.poll() is None]
    for rank in running:
        rank.signal(politely)
    deadline = time.monotonic() + GRACE
    while time.monotonic() < deadline and any(r.process.poll() is None for r in running):
        time.sleep(PAUSE)
    for rank in ranks:
        rank.signal(signal.SIGKILL)
        rank.process.wait()


@contextlib.contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """While the ranks run, the end of the launcher is the end of them, however it is asked for."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    kinds = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    if threading.current_thread() is not threading.main_thread():
        kinds = []  # only the main thread may say what a signal does
    before = {kind: signal.signal(kind, interrupt) for kind in kinds}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _die_with_launcher() -> Callable[[], object] | None:
    """What a new process does first: ask the system to end it when its parent is gone. Only Linux can."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return lambda: library.prctl(DIE_WITH_PARENT, signal.SIGKILL)


@contextlib.contextmanager
def kept_port() -> Iterator[int]:
    """A port at which nobody listens, and which the system gives to nobody else as long as the block lasts.

    Whoever is told its number can listen there: it is bound, and does not listen. Only Linux allows both at once;
    elsewhere somebody may take the port before.

    Example:
        >>> with kept_port() as port:
        ...     socket.create_server(("127.0.0.1", port)).close()
    """
    with socket.socket() as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(("127.0.0.1", 0))
        port = int(door.getsockname()[1])
        if sys.platform != "linux":
            door.close()
        yield port


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        found = int(text)
        if found < least:
            raise argparse.ArgumentTypeError(f"a number from {least}, not {found}")
        return found

    return number


if __name__ == "__main__":
    sys.exit(launch(sys.argv[1:]))
