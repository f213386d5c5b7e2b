"""Handed in: which files of a folder are whose notebooks?

    submissions/ada/03_fusion.ipynb              a folder for each learner, as deep as it may be, or
    submissions/ada_03_fusion (1).ipynb          a file, whose name says whose it is, or
    submissions/ada.zip                          an archive for each learner

Of two files for one notebook the newer one counts. What cannot be read, or is nobody's, is told in a remark. Links are
not followed, and nothing is ever unpacked onto the disk.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

LARGEST = 64 << 20  # bytes of a notebook, with all its outputs
MEMBERS, LETTERS = 10_000, 200  # of an archive, of a name
CHECKPOINTS = ".ipynb_checkpoints"


@dataclass(frozen=True)
class Submission:
    """One notebook of one learner: its bytes, or why there are none."""

    learner: str
    notebook: str
    source: str  # where it was found
    data: bytes = b""
    unread: str = ""
    age: float = 0.0

    @property
    def digest(self) -> str:
        """A number for what was handed in."""
        return hashlib.sha256(self.data or self.unread.encode()).hexdigest()


def handed_in(folder: Path, notebooks: Sequence[str]) -> tuple[list[Submission], list[str]]:
    """Of each learner each notebook that is there, by name; and what is to be said of other files."""
    found, remarks = dict[tuple[str, str], Submission](), list[str]()
    for new in sorted(_all(folder, notebooks, remarks), key=lambda s: s.age):
        key = new.learner, new.notebook
        if key in found:
            remarks.append(f"{new.learner} handed in {new.notebook} twice: {new.source} is newer, and counts")
        found[key] = new
    return [found[key] for key in sorted(found)], sorted(remarks)


def _all(folder: Path, notebooks: Sequence[str], remarks: list[str]) -> Iterator[Submission]:
    for path in sorted(folder.rglob("*")):
        below = path.relative_to(folder)
        if below.parts[0] == "grades" and path.suffix == ".ipynb":
            remarks.append(f"{_shown(below)}: the folder `grades` is for results; rename it, if it is a learner's")
        if path.suffix not in (".ipynb", ".zip") or CHECKPOINTS in below.parts or below.parts[0] == "grades":
            continue
        if path.is_symlink() or not path.is_file():
            remarks.append(f"{_shown(below)} is a link or no file: it was left out")
        elif path.suffix == ".zip":
            yield from _archive(path, below, notebooks, remarks)
        elif (notebook := _notebook(path.stem, notebooks)) is None:
            remarks.append(f"{_shown(below)} is called like no notebook of the course")
        else:
            learner = below.parts[0] if len(below.parts) > 1 else path.stem.partition(notebook)[0].strip("_- ")
            data, age, unread = b"", 0.0, f"{_shown(below.name)} is no notebook: it is larger than {LARGEST >> 20} MB"
            try:
                age = path.stat().st_mtime
                if path.stat().st_size <= LARGEST:
                    data, unread = path.read_bytes(), ""
            except OSError as error:
                unread = f"{_shown(below.name)} cannot be read: {error.strerror}"
            yield Submission(_shown(learner) or "(no name)", notebook, _shown(below), data, unread, age)


def _archive(path: Path, below: Path, notebooks: Sequence[str], remarks: list[str]) -> Iterator[Submission]:
    """The notebooks of an archive, read in memory: what its head says of names and sizes is not believed."""
    learner, left = _shown(below.parts[0] if len(below.parts) > 1 else path.stem), LARGEST
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist()[:MEMBERS]:
                name = PurePosixPath(info.filename)
                notebook = _notebook(name.stem, notebooks) if name.suffix == ".ipynb" else None
                if notebook is None or info.is_dir() or CHECKPOINTS in name.parts or "__MACOSX" in name.parts:
                    continue
                with archive.open(info) as file:
                    data = file.read(left + 1)
                left -= len(data)
                large = f"{_shown(below)} holds more than {LARGEST >> 20} MB" if left < 0 else ""
                source, age = f"{_shown(below)}/{_shown(name.name)}", path.stat().st_mtime
                yield Submission(learner, notebook, source, b"" if large else data, large, age)
                if large:
                    break
    except Exception as error:  # noqa: BLE001 - of several unpackers, each with errors of its own
        remarks.append(f"{_shown(below)} is no archive that can be read: {type(error).__name__}")


def _shown(name: object) -> str:
    """A name as it can be shown: no codes for a terminal, no lines, no half letters."""
    text = str(name).encode("utf-8", "replace").decode()
    return "".join(c if c.isprintable() else "?" for c in text)[:LETTERS]


def _notebook(stem: str, notebooks: Sequence[str]) -> str | None:
    return next((name for name in notebooks if name in stem), None)
