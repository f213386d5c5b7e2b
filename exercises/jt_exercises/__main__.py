"""Write exercises: make one, prove it, and put it into the notebooks. See exercises/README.md.

python -m jt_exercises new 09.6 farthest      a folder for an exercise of notebook 09, with something in it that works
python -m jt_exercises validate 09.6          is its check as good as what it judges? (without a number: all of them)
python -m jt_exercises build                  write the notebooks; --solutions FOLDER: with all solutions, into FOLDER
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str]) -> int:
    """Run one of the commands; 1 where an exercise is not as it should be."""
    parser = argparse.ArgumentParser("python -m jt_exercises", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    new = commands.add_parser("new", help="make a folder for an exercise")
    new.add_argument("number", help='of the notebook and the exercise, such as "09.6"')
    new.add_argument("name", help="of its folder: a word or two, as in Python")
    validate = commands.add_parser("validate", help="prove checks")
    validate.add_argument("numbers", nargs="*", metavar="number", help="of exercises; all of them without")
    build = commands.add_parser("build", help="write the notebooks")
    build.add_argument("--solutions", type=Path, metavar="FOLDER", help="write them with all solutions, into a folder")
    asked = parser.parse_args(arguments)
    try:
        from jt_exercises.author import commands as author  # noqa: PLC0415 - a learner's package has none
    except ImportError:
        parser.error("exercises are written in a checkout of jt_edu; this package has no solutions")
    if asked.command == "new":
        return author.new(asked.number, asked.name)
    if asked.command == "validate":
        return author.validate(asked.numbers)
    if asked.solutions is not None:
        return author.build_solutions(asked.solutions)
    return author.build()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
