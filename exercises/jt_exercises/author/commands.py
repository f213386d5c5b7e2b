"""Commands of an author: a new exercise, a proof, notebooks with solutions."""

from __future__ import annotations

import keyword
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from jt_edu.lab import CHECKOUT
from jt_exercises.author.masters import MasterError, masters
from jt_exercises.author.validate import KILLED, findings, tried_mutants
from jt_exercises.exercise import HOME, ROOMS

EXERCISE = '''"""{number}: what is asked, in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_exercises.answers import same
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import ask

SIZES = (7, 2, 0)  # the first that fails decides what is said


@exercise(
    "{number}",
    "a short title",
    points=1,
    hints=("A question that shows where to look.", "Nearly the answer."),
    why="What is it good for?",
)
def {name}(answer: Callable[..., Any]) -> str:
    """Compare with a sum of squares."""
    for size in SIZES:
        x = random(size).normal(size=size)
        known = [
            (x.sum() ** 2, "that is the square of the sum: square first"),
            ((x * x).sum() / max(size, 1), "that is the mean of the squares: are they added?"),
            (x.sum(), "that is the sum: where are the squares?"),
        ]
        found = ask(answer, x, case=f"{{size}} numbers")
        same(found, (x * x).sum(), f"of {{size}} numbers", known, otherwise="this is not the sum of their squares")
    return "right for several numbers, and for none"
'''
SOLUTION = '''# %% [markdown]
# ## 9. Exercise {number}: a short title
#
# What is to be written, and what may be used for it.

# %%
from jt_exercises import YourTurn, check, hint, solution


def {name}(x):
    """The sum of the squares of some numbers."""
    # BEGIN SOLUTION add the square of each number
    total = 0.0
    for number in x:
        total += number * number
    return total
    # END SOLUTION


check("{number}", {name})
'''
MISTAKES = """# Each takes the place of a part of the solution; the check must refuse it, and say `says`.

["the sum, squared"]
old = "return total"
new = "return sum(x) ** 2"
says = "that is the square of the sum"

["the mean"]
old = "return total"
new = "return total / max(len(x), 1)"
says = "that is the mean of the squares"

["no squares"]
old = "number * number"
new = "number"
says = "that is the sum: where are the squares?"
"""


def new(number: str, name: str) -> int:
    """Make a folder for an exercise; what is in it is proven as it is, and is to be replaced piece by piece."""
    notebook = number.partition(".")[0]
    if notebook not in ROOMS or not number.partition(".")[2]:
        return _say(f"{number!r} names no notebook and exercise: 09.6 would. There are notebooks {', '.join(ROOMS)}")
    if not name.isidentifier() or keyword.iskeyword(name):
        return _say(f"{name!r} is no name of a folder and a function of Python")
    folder = HOME / ROOMS[notebook] / name
    if number in masters():
        return _say(f"there is an exercise {number} already")
    if folder.exists():
        return _say(f"there is a folder {folder} already")
    folder.mkdir()
    for file, text in (("exercise.py", EXERCISE), ("solution.py", SOLUTION)):
        (folder / file).write_text(text.format(number=number, name=name), encoding="utf-8")
    (folder / "wrong.toml").write_text(MISTAKES, encoding="utf-8")
    _say(f"{folder} is there. Change its three files, and run: python -m jt_exercises validate {number}")
    _say(f"Where it belongs, write `# %% exercise {number}` into notebooks/source/{notebook}_….py, and build.")
    return 0


def validate(numbers: Sequence[str]) -> int:
    """Say of each exercise what does not hold, and how many mutants of its solution its check notices."""
    known = masters()
    if unknown := [n for n in numbers if n not in known]:
        return _say(f"there is no exercise {', '.join(unknown)}. There are: {', '.join(known)}")
    bad = 0
    for number in numbers or known:
        try:
            wrong = list(findings(known[number]))
            found = tried_mutants(known[number])
        except (MasterError, OSError, SyntaxError, ValueError) as error:
            wrong, found = [str(error)], None
        if found is not None and found.noticed < KILLED * len(found.every):
            wrong += [f"this mutant is called right:\n{text}" for text in found.alive]
        bad += bool(wrong)
        _say("\n    ".join([f"{number:<6}{'not proven' if wrong else 'proven'}   {found or ''}".rstrip(), *wrong]))
    return int(bad > 0)


def build_solutions(folder: Path) -> int:
    """Write the notebooks with all solutions into a folder."""
    build = runpy.run_path(str(CHECKOUT / "build.py"))
    folder.mkdir(parents=True, exist_ok=True)
    for target, text in build["made"](solved=True).items():
        (folder / target.name).write_text(text, encoding="utf-8", newline="\n")
    return _say(f"{folder} has the notebooks with all solutions", 0)


def build() -> int:
    """Write the notebooks, and name exercises that are in none."""
    try:
        runpy.run_path(str(CHECKOUT / "build.py"))["main"]([])
    except MasterError as error:
        return _say(str(error))
    sources = "".join(path.read_text(encoding="utf-8") for path in (CHECKOUT / "source").glob("*.py"))
    lost = [number for number in masters() if f"# %% exercise {number}\n" not in sources]
    return _say(f"in no notebook: {', '.join(lost)}") if lost else 0


def _say(words: str, code: int = 1) -> int:
    sys.stdout.write(f"{words}\n")
    return code
