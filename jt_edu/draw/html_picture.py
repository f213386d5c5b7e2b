"""Html picture: something to look at in a notebook, which has a text for wherever there is none."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

from jt_edu.base.errors import ArgumentError

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>{title}</title>
<style>body{{margin:2rem;font:15px/1.5 system-ui,sans-serif}}pre{{overflow-x:auto}}</style></head>
<body>{picture}<details><summary>{below}</summary><pre>{text}</pre></details></body></html>
"""


@dataclass(frozen=True)
class Picture:
    """HTML, and the same in words.

    Example:
        >>> Picture("<b>3</b>", "three")
        three
    """

    html: str
    text: str

    def save(self, path: str | Path) -> Path:
        """Write it to a file, `.html`, with the words below it. The file needs nothing else."""
        return write_page(path, self.html, self.text.split("\n", 1)[0], "The same in words", self.text)

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


def write_page(path: str | Path, picture: str, title: str, below: str, text: str) -> Path:
    """A file with a picture, and below it its text, which opens."""
    path = Path(path)
    if path.suffix.lower() != ".html":
        raise ArgumentError("a picture is saved as .html", repr(str(path)), f"{path.stem}.html")
    page = PAGE.format(title=escape(title, quote=False), picture=picture, below=below, text=escape(text, quote=False))
    path.write_text(page, encoding="utf-8")
    return path
