"""Masters: one text holds the statement of an exercise, its gap and its solution.

    # %% [markdown]
    # ## 3. Exercise 01.3: backward, in order ...
    # %%
    def backward(y, order):
        # BEGIN SOLUTION hand each number's share to those it came from
        ...                                                                  a learner sees: raise YourTurn("hand ...")
        # END SOLUTION
    check("01.3", backward)

Beside solution.py lies wrong.toml: mistakes by name, each an edit of the solution, and what the check says of it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from jt_exercises.exercise import ROOMS, of_room

GAP = re.compile(r"^( *)# BEGIN SOLUTION ?(.*)\n((?:.*\n)*?) *# END SOLUTION\n", re.MULTILINE)
MARKER = re.compile(r"# (?:BEGIN|END) SOLUTION")


class MasterError(Exception):
    """A master cannot be used; the message names the file, and what is wrong in it."""


@dataclass(frozen=True)
class Wrong:
    """A mistake that learners make: the whole text with it, and what the check must say."""

    name: str
    text: str
    says: str


@dataclass(frozen=True)
class Master:
    """The folder of one exercise, as its author sees it."""

    number: str
    folder: Path

    @property
    def text(self) -> str:
        """The statement, the gap and the solution."""
        return (self.folder / "solution.py").read_text(encoding="utf-8")

    def _with(self, gap: Callable[[re.Match[str]], str]) -> str:
        found = GAP.sub(gap, self.text)
        if found == self.text or MARKER.search(found):
            raise MasterError(f"{self.folder / 'solution.py'}: each BEGIN SOLUTION needs an END SOLUTION, and one of "
                              "both must be there")  # fmt: skip
        return found

    @property
    def stub(self) -> str:
        """What a learner gets: a gap in a function raises, and one between statements is a line to be replaced."""

        def turn(gap: re.Match[str]) -> str:
            words = repr(gap[2]) if '"' in gap[2] else f'"{gap[2]}"'
            return f"{gap[1]}raise YourTurn({words})\n" if gap[1] else f"# Your turn: {gap[2]}\n"

        return self._with(turn)

    @property
    def solved(self) -> str:
        """With the solution in the gap."""
        return self._with(lambda gap: gap[3])

    def wrong(self) -> list[Wrong]:
        """The solution with each of the known mistakes."""
        path, found = self.folder / "wrong.toml", []
        try:
            edits = tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise MasterError(f"{path}: {error}") from None
        for name, edit in edits.items():
            if edit.keys() != {"old", "new", "says"}:
                raise MasterError(f"{path}, {name}: a mistake has `old`, `new` and `says`, not {', '.join(edit)}")
            if (count := self.solved.count(edit["old"])) != 1:
                raise MasterError(f"{path}, {name}: {edit['old']!r} is in the solution {count} times; once is needed")
            found.append(Wrong(name, self.solved.replace(edit["old"], edit["new"]), edit["says"]))
        return found


def masters() -> dict[str, Master]:
    """Of every exercise by its number, in order."""
    return {e.number: Master(e.number, e.folder) for notebook in ROOMS for e in of_room(notebook)}


def expanded(source: str, solved: bool = False) -> str:
    """The source of a notebook, with a learner's cells where it says `# %% exercise 01.3`, or with solutions.

    Its statement goes on in the cell of text before it.
    """
    known = masters()

    def cells(at: re.Match[str]) -> str:
        if at[2] not in known:
            raise MasterError(f"`# %% exercise {at[2]}` in a notebook: there is no such exercise")
        stub = known[at[2]].solved if solved else known[at[2]].stub
        return f"{at[1]}#\n" + stub.removeprefix("# %% [markdown]\n") if at[1] else stub

    return re.sub(r"^(#(?! %%).*\n)?\n*# %% exercise (\S+)\n", cells, source, flags=re.MULTILINE)
