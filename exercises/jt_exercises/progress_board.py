"""Board: which exercises of the course are solved?

01    ✓ ✗ ○ ○ ○      2 of 7 points      next: 01.5 one rule for each operator
predictions: 3 of 5 right               only of those that were made; they earn no points
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from jt_exercises.card import COLOURS, MARK
from jt_exercises.exercise import Exercise
from jt_exercises.progress import Tried


@dataclass(frozen=True)
class Board:
    """Exercises, and what was tried of them."""

    exercises: Sequence[Exercise]
    tried: Mapping[str, Tried]

    def state(self, e: Exercise) -> bool | None:
        """Solved, tried in vain, or not tried."""
        found = self.tried.get(e.number)
        return None if found is None or not found.tries else found.solved

    def points(self, e: Exercise) -> float:
        """What its right parts are worth."""
        found = self.tried.get(e.number, Tried())
        return e.points * found.right / max(found.of, 1)

    def rows(self) -> list[tuple[str, list[Exercise]]]:
        """Notebooks, and their exercises."""
        rooms: dict[str, list[Exercise]] = {}
        for e in self.exercises:
            rooms.setdefault(e.number.partition(".")[0], []).append(e)
        return list(rooms.items())

    @property
    def next(self) -> Exercise | None:
        """The first that is not solved."""
        return next((e for e in self.exercises if not self.state(e)), None)

    def _sum(self, some: Sequence[Exercise]) -> str:
        return f"{sum(map(self.points, some)):.3g} of {sum(e.points for e in some)} points"

    @property
    def predictions(self) -> list[str]:
        """How many guesses were right, in words; nothing as long as there is none."""
        made = [found for found in self.tried.values() if found.guess]
        return [f"predictions: {sum(found.solved for found in made)} of {len(made)} right"] if made else []

    def __repr__(self) -> str:
        lines = [
            f"{notebook:<6}{' '.join(MARK[self.state(e)] for e in some):<20}{self._sum(some)}"
            for notebook, some in self.rows()
        ]
        lines += [f"all    {self._sum(self.exercises)}", *self.predictions]
        return "\n".join([*lines, *([f"next: {self.next.name}"] if self.next else ["all is solved"])])

    def _repr_html_(self) -> str:
        rows = ""
        for notebook, some in self.rows():
            marks = "".join(
                f"<span title='{escape(e.name)}' style='margin-right:.6em'>"
                f"<b style='color:{COLOURS[self.state(e)]}'>{MARK[self.state(e)]}</b> {e.number}</span>"
                for e in some
            )
            rows += (
                f"<tr><th scope='row' style='text-align:left'>{notebook}</th>"
                f"<td style='text-align:left'>{marks}</td><td>{self._sum(some)}</td></tr>"
            )
        after = f"Next: {escape(self.next.name)}" if self.next else "All is solved."
        below = "".join(f"<div>{words}</div>" for words in (*self.predictions, after))
        total = f"<tr><th style='text-align:left'>all</th><td></td><td>{self._sum(self.exercises)}</td></tr>"
        return f"<table>{rows}{total}</table>{below}"
