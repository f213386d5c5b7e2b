"""YAML files: what does a file say, when it may be a stranger's?

    read(text)            plain dicts, lists, texts and numbers: PyYAML's safe loader makes no other objects
    with_bases(path)      what a file says, after the files that it names under BASE

A stranger's file can be made to fill the memory: each alias stands for all that it names, so nine lines can mean
10 ** 9 values. What a text says, written out without aliases, has to have a bounded length and depth.

    BASE: [default.yaml]      read before; named by its way from this file. Files that name each other are refused, and
                              so is what lies outside of the folder of the first one: a stranger's file would read any

Nor does an error quote a file that turns out to say something else than settings.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import yaml

from jt_edu.config.errors import YamlError

MOST_LETTERS = 200_000  # of a text, aliases written out
MOST_DEEP = 50
MOST_FILES = 100  # that are read for one
YAML = (".yaml", ".yml")
A_WORD = re.compile(r"'[^'<]{2,}'")  # in an error of PyYAML: a tag or a name, while ']' and '<stream end>' are its own
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


def read(text: str, file: str = "") -> Any:
    """What a text of YAML says: dicts, lists, texts, numbers, None.

    Args:
        text: of YAML.
        file: where it was read, if it is a stranger's: then no word of it is quoted in an error.

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
        problem, mark = str(getattr(error, "problem", None) or error), getattr(error, "problem_mark", None)
        told = A_WORD.sub("...", f"{file}: {problem}") if file else problem
        raise YamlError(
            ASKED, told + (f", in line {mark.line + 1}, column {mark.column + 1}" if mark else "")
        ) from None


def settings_in(file: Any, name: str) -> dict[Any, Any]:
    """What an open file of YAML says, if it says settings; no more of it is read than is taken.

    Example:
        >>> import io
        >>> settings_in(io.StringIO("LR: 0.1"), "a.yaml")
        {'LR': 0.1}
    """
    try:
        text = file.read(MOST_LETTERS + 1)
        text = text.decode() if isinstance(text, bytes) else str(text)
    except UnicodeDecodeError as error:
        raise YamlError(ASKED, f"{name}: bytes that are no text in UTF-8, at {error.start}") from None
    said = read(text, name)
    if said is not None and not isinstance(said, dict):
        raise YamlError(ASKED, f"{name}, which says one {type(said).__name__}", "lines of KEY: value")
    return said or {}


def bases_of(settings: Any) -> list[str] | None:
    """The files that settings name under BASE; None, if that is a setting as any other, or none.

    Example:
        >>> bases_of({"BASE": ["", "a.yaml"]}), bases_of({"BASE": 0.1})
        (['', 'a.yaml'], None)
    """
    bases = settings.get("BASE")
    return bases if isinstance(bases, list) and all(isinstance(base, str) for base in bases) else None


def with_bases(path: str | Path, within: str | Path | None = None) -> list[dict[Any, Any]]:
    """What the bases of a file say, in the order in which they are merged, and at last what the file says itself.

    Args:
        path: of the file.
        within: the folder that bases must lie in; by default that of the file.

    Example:
        >>> with_bases("defaults.yaml")
        Traceback (most recent call last):
        FileNotFoundError: ...
    """
    first, found = Path(path).resolve(), list[dict[Any, Any]]()
    folder = first.parent if within is None else Path(within).resolve()

    def add(here: Path, above: tuple[Path, ...]) -> None:
        if here in above:
            names = " -> ".join(p.name for p in (*above, here))
            raise YamlError("BASE names files that are read before this one", names)
        check_suffix(here, YAML if above else {"", *YAML})
        with here.open(encoding="utf-8") as file:
            said = settings_in(file, here.name)
        for base in filter(None, bases_of(said) or ()):
            there = (here.parent / base).resolve()
            if Path(base).is_absolute() or not there.is_relative_to(folder):
                asked = f"BASE names files in the folder {folder.name}, by a way from {here.name}"
                raise YamlError(asked, repr(base), "merge_from_file(path, within=a folder), where you trust its writer")
            add(there, (*above, here))
        if len(found) == MOST_FILES:
            raise YamlError("BASE names some files", f"more than {MOST_FILES} of {first.name}", "fewer")
        found.append(said)

    add(first, ())
    return found


def check_suffix(path: Path, allowed: Collection[str]) -> None:
    """Refuse a file whose name says that it is no YAML."""
    if path.suffix in allowed:
        return
    attempt = "a file that ends in .yaml"
    if path.suffix == ".py":
        attempt = f"from {path.stem} import cfg, where you trust who wrote it: reading a .py file would run it"
    raise YamlError(ASKED, repr(path.name), attempt)


def _bounded(many: int, what: str) -> None:
    if many > MOST_LETTERS:
        raise YamlError(f"a config has at most {MOST_LETTERS:,} letters", f"{many:,} {what}")
