"""What comes into a cell: copies from the notebook, or the reason why not; and nothing that earlier cells left open."""

import pytest

from jt_edu.base.errors import RankError
from jt_edu.mpi.notebook.namespaces import Namespaces

ENUMS = """
from enum import Enum, Flag, IntEnum, auto
class Phase(Enum):
    TRAIN = 1
    TEST = 2
    CHECK = 2
    def other(self): return Phase.TEST if self is Phase.TRAIN else Phase.TRAIN
    @classmethod
    def _missing_(cls, value): return cls.TRAIN
    def __str__(self): return f"phase {self.value}"
class Planet(Enum):
    EARTH = (5.976, 6.378)
    def __init__(self, mass, radius): self.mass, self.radius = mass, radius
    @property
    def density(self): return self.mass / self.radius
class Level(IntEnum):
    LOW = 1
    HIGH = 2
class Parts(Flag):
    HEAD = auto()
    BODY = auto()
now, where = Phase.TEST, {Phase.TRAIN: Planet.EARTH}
"""

TUPLES = """
from collections import namedtuple
from typing import NamedTuple
class Point(NamedTuple):
    '''A place.'''
    x: int
    y: int = 7
    def total(self): return self.x + self.y
    def __repr__(self): return f"<{self.x}, {self.y}>"
Pair = namedtuple("Pair", "a b", defaults=[3])
class Named(Pair):
    def both(self): return self.a, self.b
point, named = Point(2), Named(1)
"""

NO_COPY = """
from enum import Enum
class Late:
    def __reduce__(self): return fails, ()
def fails(): raise ValueError("only in the notebook")
class Own(bytes, Enum):
    def __new__(cls, value, label):
        made = bytes.__new__(cls, [value])
        made._value_, made.label = value, label
        return made
    ONE = (1, "one")
late, own, good = Late(), Own.ONE, 3
"""


def cell(text, notebook):
    """What a cell in two ranks gives on rank 1, and its notes; `notebook` is what was run in the notebook before."""
    space = {"__name__": "__main__"}
    exec(notebook, space)  # noqa: S102 - a text of these tests
    run = Namespaces(2).run(text, space)
    run.raise_failure()
    return run.values[1], run.notes


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("now is Phase.TEST is Phase.CHECK, str(now), list(Phase.__members__)",
         (True, "phase 2", ["TRAIN", "TEST", "CHECK"])),
        ("now.other() is Phase.TRAIN, Phase(9) is Phase.TRAIN, where[Phase.TRAIN].mass", (True, True, 5.976)),
        ("round(Planet.EARTH.density, 3), Planet.EARTH.radius, Planet.__name__", (0.937, 6.378, "Planet")),
        ("Level.HIGH + 1, sorted(Level), max(Level).name", (3, [1, 2], "HIGH")),
        ("(Parts.HEAD | Parts.BODY).value, Parts.HEAD in Parts.HEAD | Parts.BODY", (3, True)),
    ],
)  # fmt: skip
def test_an_enum_of_the_notebook_travels(expression, value):
    assert cell(expression, ENUMS) == (value, [])


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("repr(point), point.total(), Point(1, 2).y, Point.__doc__", ("<2, 7>", 9, 2, "A place.")),
        ("isinstance(point, Point), Point._fields, Point._field_defaults", (True, ("x", "y"), {"y": 7})),
        ("named.both(), named._replace(a=5).both(), type(named) is Named", ((1, 3), (5, 3), True)),
        ("Pair(1), Point.__annotations__['x']", ((1, 3), int)),
    ],
)
def test_a_named_tuple_of_the_notebook_travels(expression, value):
    assert cell(expression, TUPLES) == (value, [])


def test_a_copy_is_one_of_the_ranks_own():
    space = {"__name__": "__main__"}
    exec(ENUMS + TUPLES, space)  # noqa: S102 - a text of these tests

    ranks = Namespaces(2)
    ranks.run("Phase, Point", space).raise_failure()

    assert len({id(kind) for kind in (*ranks["Phase"], space["Phase"])}) == 3
    assert len({id(kind) for kind in (*ranks["Point"], space["Point"])}) == 3


def test_what_can_be_packed_but_not_unpacked_is_shared_and_named_before_the_cell_runs():
    value, notes = cell("type(late).__name__, good", NO_COPY)

    assert value == ("Late", 3)
    assert "late is the notebook's own thing, for all ranks: it cannot be copied (ValueError: only in the" in notes[0]


def test_an_enum_that_makes_its_members_itself_is_shared_and_named():
    value, notes = cell("own.label, own.value, bytes(own)", NO_COPY)

    assert value == ("one", 1, b"\1")
    assert "own is the notebook's own thing" in notes[0] and "Enum with a __new__ of its own" in notes[0]


# from cell to cell


LEFT = "comm.send('x', 1) if rank == 0 else None\nrequest = comm.irecv(source=1 - rank, tag=5)\nsub = comm.Dup()"


def test_what_a_cell_begins_and_does_not_end_is_told_at_its_end():
    first = Namespaces(2).run(LEFT)

    (note,) = first.notes
    assert "nobody received the message of rank 0, send(dest=1, tag=0)" in note
    assert note.endswith("and 2 more like this: with its cell it is gone; receive and wait in the same cell")


@pytest.mark.parametrize(("between", "call"), [("0", "request.wait()"), ("1 / 0", "sub.barrier()")])
def test_who_goes_on_with_a_thing_of_an_earlier_cell_is_told_so_in_the_words_of_cells(between, call):
    ranks = Namespaces(2)
    ranks.run(LEFT)
    ranks.run(between)

    with pytest.raises(RankError, match=r"of the cell that began the request, or of one that failed.*make groups anew"):
        ranks.run(call).raise_failure()
