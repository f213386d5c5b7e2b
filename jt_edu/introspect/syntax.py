"""Syntax: which letters of a source does an editor colour, and as what?"""

from __future__ import annotations

import io
import keyword
import tokenize
from functools import lru_cache

CLASSES = {"STRING": "s", "COMMENT": "c", "NUMBER": "m", "OP": "o"}
CLASSES |= dict.fromkeys(("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END"), "s")  # of Python 3.12 and later


@lru_cache(maxsize=1024)
def classes(source: str) -> tuple[tuple[int, int, int, str], ...]:
    """What an editor colours: (line, from, to, class).

    The classes are k for keywords, s strings, c comments, m numbers, d what is defined, and o operators.

    Example:
        >>> classes("def f(x):")[:2]
        ((1, 0, 3, 'k'), (1, 4, 5, 'd'))
    """
    found: list[tuple[int, int, int, str]] = []
    before = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            kind = CLASSES.get(tokenize.tok_name[token.type], "")
            if token.type == tokenize.NAME:
                kind = "k" if keyword.iskeyword(token.string) else "d" if before == "def" else ""
            found += _pieces(token, kind) if kind else []
            before = token.string
    except (tokenize.TokenError, IndentationError):
        pass  # an unfinished edit has colours as far as it can be read
    return tuple(found)


def _pieces(token: tokenize.TokenInfo, kind: str) -> list[tuple[int, int, int, str]]:
    """The part of a token in each of its lines: a docstring has many."""
    (first, begin), rows = token.start, token.string.split("\n")
    starts = [begin, *[0] * (len(rows) - 1)]
    pairs = enumerate(zip(starts, rows, strict=True), first)
    return [(line, start, start + len(row), kind) for line, (start, row) in pairs if row]
