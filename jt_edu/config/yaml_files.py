"""YAML files: what does a file say, when it may be a stranger's?

    read(text)            plain dicts, lists, texts and numbers: PyYAML's safe loader makes no other objects
    with_bases(path)      what a file says, after the files that it names under BASE

A stranger's file can be made to fill the memory: each alias stands for all that it names, so nine lines can mean
10 ** 9 values. What a text says, written out without aliases, has to have a bounded length and depth.

    BASE: [default.yaml]      read before; a place beside this file. Files that name each other are refused
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from jt_edu.config.errors import YamlError

MOST_LETTERS = 200_000  # of a text, aliases written out
MOST_DEEP = 50
MOST_FILES = 100  # that are read for one
ASKED = "a config is read from YAML"


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """The safe loader, which counts what it reads."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.deep = self.letters = 0
        self.sizes: dict[Any, int] = {}  # of nodes that are complete

    def compose_node(self, parent: Any, index: Any) -> Any:
        """One value, and all that is in it."""
        alias, before = self.check_event(yaml.AliasEvent), self.letters
        self.deep += 1
        if self.deep > MOST_DEEP:
            raise YamlError(ASKED, f"values inside each other, more than {MOST_DEEP} deep", "a flatter file")
        node = super().compose_node(parent, index)
        self.deep -= 1
        if alias and node not in self.sizes:
            raise YamlError(ASKED, f"a value that contains itself, in line {node.start_mark.line + 1}")
        self.letters += self.sizes[node] if alias else 1 + len(node.value)
        self.sizes.setdefault(node, self.letters - before)
        _bounded(self.letters, "letters, with what aliases stand for")
        return node


def read(text: str) -> Any:
    """What a text of YAML says: dicts, lists, texts, numbers, None.

    Raises:
        YamlError: it is no YAML, names objects of Python, is longer than MOST_LETTERS or deeper than MOST_DEEP.

    Example:
        >>> read("MODEL: {NAME: swin, DEPTHS: [2, 2]}")
        {'MODEL': {'NAME': 'swin', 'DEPTHS': [2, 2]}}
    """
    _bounded(len(text), "letters")
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506  the loader is a safe one
    except YamlError:
        raise
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise YamlError(ASKED, " ".join(str(error).split())) from None


def with_bases(path: str | Path, above: tuple[Path, ...] = ()) -> Iterator[dict[Any, Any] | None]:
    """What the bases of a file say, in the order in which they are merged, and at last what the file says itself.

    Example:
        >>> list(with_bases("defaults.yaml"))
        Traceback (most recent call last):
        FileNotFoundError: ...
    """
    here = Path(path).resolve()
    if here in above:
        raise YamlError("BASE names files that are read before this one", " -> ".join(p.name for p in (*above, here)))
    if here.suffix not in {"", ".yaml", ".yml"}:
        raise refused(here)
    with here.open(encoding="utf-8") as file:
        said = read(beginning(file))
    bases = said.get("BASE") if isinstance(said, dict) else None
    if isinstance(bases, list) and all(isinstance(base, str) for base in bases):
        for base in filter(None, bases):
            yield from with_bases(here.parent / base, (*above, here))
    yield said


def beginning(file: Any) -> str:
    """The text of an open file, no more of it than is read anyway."""
    try:
        text = file.read(MOST_LETTERS + 1)
        return text.decode() if isinstance(text, bytes) else str(text)
    except UnicodeDecodeError as error:
        raise YamlError(ASKED, f"bytes that are no text in UTF-8: {error}") from None


def refused(path: Path) -> YamlError:
    """The error for a file that is no YAML."""
    attempt = "a file that ends in .yaml"
    if path.suffix == ".py":
        attempt = f"from {path.stem} import cfg, where you trust who wrote it: reading a .py file would run it"
    return YamlError(ASKED, repr(path.name), attempt)


def _bounded(many: int, what: str) -> None:
    if many > MOST_LETTERS:
        raise YamlError(f"a config has at most {MOST_LETTERS:,} letters", f"{many:,} {what}")
