"""Html picture: something to look at in a notebook, which has a text for wherever there is none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Picture:
    """HTML, and the same in words.

    Example:
        >>> Picture("<b>3</b>", "three")
        three
    """

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text
