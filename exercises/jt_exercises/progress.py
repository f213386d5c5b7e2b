"""Progress: which exercises has a learner solved, and after how many tries? One file, beside the notebooks.

    progress.json    {"01.3": {"tries": 3, "failed": 2, "right": 2, "of": 2, "opened": 1}}

No account and no network. A file that cannot be read is put aside, and told; what is written replaces the old file in
one step, so that two notebooks and a full disk lose nothing.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from jt_exercises.verdict import Verdict

FILE = "progress.json"
MOST = 1 << 20  # bytes of a file that is ours


@dataclass(frozen=True)
class Tried:
    """Of one exercise: how often it was tried and failed, the best so far, and how many hints are open."""

    tries: int = 0
    failed: int = 0  # since the last time it was right
    right: int = 0
    of: int = 1
    opened: int = 0
    guess: str = ""  # of a prediction, as JSON: it stays as it was

    @property
    def solved(self) -> bool:
        """Whether all parts were right once."""
        return self.right == self.of > 0


class Progress:
    """What is in the file, and what was done since."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, Tried]:
        """All that was tried."""
        try:
            with self.path.open(encoding="utf-8") as file:
                found = json.loads(file.read(MOST))
            kinds = {field.name: type(field.default) for field in fields(Tried)}
            return {str(key): Tried(**{name: kinds[name](row[name]) for name in row}) for key, row in found.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            aside = self.path.with_suffix(".unread.json")
            sys.stderr.write(f"{self.path} cannot be read ({error}). It is {aside.name} now, and a new one begins.\n")
            self.path.replace(aside)
            return {}

    def note(self, number: str, verdict: Verdict) -> Tried:
        """Add a try."""
        before = self.read().get(number, Tried())
        if verdict.passed is None and not verdict.right:
            return before
        better = verdict.right * before.of > before.right * verdict.of or verdict.passed
        best = (verdict.right, verdict.of) if better else (before.right, before.of)
        failed = 0 if verdict.passed else before.failed + (verdict.passed is False)
        return self.write(number, replace(before, tries=before.tries + 1, failed=failed, right=best[0], of=best[1]))

    def write(self, number: str, tried: Tried) -> Tried:
        """Replace what is known of one exercise."""
        known: Mapping[str, Any] = {key: asdict(row) for key, row in {**self.read(), number: tried}.items()}
        fresh = self.path.with_suffix(f".{os.getpid()}")
        try:
            fresh.write_text(json.dumps(known, indent=1), encoding="utf-8")
            fresh.replace(self.path)
        except OSError as error:
            sys.stderr.write(f"Your progress cannot be kept: {error}\n")
        return tried
