"""Caches: how large are those between a core and memory, as far as the system tells?

    caches()      [("L1", 32768), ("L2", 1048576), ("L3", 33554432)]        bytes, the nearest first

Linux tells; where no system does, the list is empty, and a step of a plot stands there without a name. In a virtual
machine it is the size of the real cache that is told, though others may fill a part of it. Instructions have a cache of
their own, which is left out.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")  # one folder, index0 ..., for each cache of the first core
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def caches(folder: Path = FOLDER) -> list[tuple[str, int]]:
    """Name and bytes of each cache that holds data, the smallest first; what cannot be read is left out.

    Example:
        >>> caches(Path("no such folder"))
        []
    """
    found = set()
    for place in sorted(folder.glob("index*")):
        level, kind, size = (_text(place / name) for name in ("level", "type", "size"))
        if kind != "Instruction" and level and size[:-1].isdecimal() and size[-1] in UNITS:
            found.add((f"L{level}", int(size[:-1]) * UNITS[size[-1]]))
    return sorted(found, key=lambda cache: cache[1])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
