"""Program: a program from a file, on simulated ranks.

    python -m jt_edu.launch -np 4 train.py --epochs 3
    python -m jt_edu.launch -np 4 -m package.module

What `mpirun -n 4 python train.py` does with four processes, this does with four threads of one: the same program, the
same numbers, no MPI. Modules that the program imports are shared by its ranks; all else each of them has for itself.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any

from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError
from jt_edu.mpi.notebook.process import Page, divided
from jt_edu.mpi.simulator.threads import Simulation, ThreadComm, run_ranks

USAGE = "python -m jt_edu.launch -np ranks program.py arguments, or -np ranks -m module arguments"


def main(arguments: Sequence[str]) -> int:
    """Run the program that the arguments name; returns its exit code."""
    match list(arguments):
        case ["-np" | "-n", ranks, "-m", module, *rest] if ranks.isdigit():
            told = run_script(int(ranks), module, rest, is_module=True)
        case ["-np" | "-n", ranks, file, *rest] if ranks.isdigit() and file != "-m":
            told = run_script(int(ranks), file, rest)
        case _:
            sys.stderr.write(f"usage: {USAGE}\n")
            return 2
    own: int = next(filter(None, told.results), None) or 0
    if told.error is None:
        return own
    where = "" if told.failed_rank is None else f"rank {told.failed_rank} of {told.world.size}:\n"
    sys.stderr.write(where + "".join(traceback.format_exception(told.error)))
    return own or 1


def run_script(
    size: int, program: str, arguments: Sequence[str] = (), *, is_module: bool = False, **options: Any
) -> Simulation:
    """Run a program on simulated ranks, and wait for all of them; an error is part of the result, and not raised.

    Results are the exit codes of the ranks. One that calls sys.exit has ended, and the others go on, as processes do.

    Args:
        size: how many ranks.
        program: the path of a file, or the name of a module.
        arguments: what the program finds in sys.argv[1:].
        is_module: whether it is a module.
        options: policy, seed, network, faults and synchronous, as for `simulate`.

    Raises:
        ArgumentError: there is no such program.
    """
    code, names = _module(program) if is_module else _file(program)
    place = Path.cwd() if is_module else Path(program).resolve().parent

    def body(comm: ThreadComm) -> int:
        space = {**names, "__name__": "__main__", "__builtins__": __builtins__}
        current().rank_state.update(page=Terminal(comm.rank), namespace=space)
        try:
            exec(code, space)  # noqa: S102 - a program is run
        except SystemExit as end:
            return _exit_code(end.code)
        return 0

    with _as_program([program, *arguments], place), divided(lambda rank: contextlib.nullcontext()):
        return run_ranks(size, body, **options)


def _exit_code(said: Any) -> int:
    """The exit code of a rank that called sys.exit; what is no number is printed, as Python does."""
    if isinstance(said, int) or said is None:
        return said or 0
    sys.stderr.write(f"{said}\n")
    return 1


def _file(path: str) -> tuple[CodeType, dict[str, Any]]:
    try:
        with io.open_code(str(Path(path).resolve())) as file:
            text = file.read()
    except OSError as error:
        raise ArgumentError("the program is a file that can be read", f"{error}", USAGE) from None
    return compile(text, path, "exec"), {"__file__": path}


def _module(name: str) -> tuple[CodeType, dict[str, Any]]:
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = importlib.util.find_spec(name)
        if found is not None and found.submodule_search_locations is not None:
            found = importlib.util.find_spec(f"{name}.__main__")
    except ImportError as error:
        raise ArgumentError("the program is a module that can be imported", f"{error}", USAGE) from None
    finally:
        sys.path.pop(0)
    code: Callable[[str], CodeType | None] | None = getattr(found and found.loader, "get_code", None)
    text = code(found.name) if code is not None and found is not None else None
    if text is None or found is None:
        raise ArgumentError("the program is a module that can be imported", repr(name), USAGE)
    return text, {"__file__": found.origin, "__package__": found.parent, "__spec__": found}


@contextmanager
def _as_program(arguments: list[str], place: Path) -> Iterator[None]:
    """A program sees its own arguments, and its own folder first on the path."""
    before, path = sys.argv, list(sys.path)
    sys.argv = arguments
    sys.path.insert(0, str(place))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before, path


class Terminal(Page):
    """A page that is not kept: what a rank prints is seen at once."""

    def write(self, stream: str, text: str) -> None:
        """Print it; only one rank runs at a time, so lines stay whole."""
        file = sys.__stderr__ if stream == "stderr" else sys.__stdout__
        if file is not None:
            file.write(text)
            file.flush()
