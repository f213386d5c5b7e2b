"""Which versions the two files of constraints should hold: what is installed, from pyproject.toml's dependencies down.

Writes both files; run it in an environment where the dependencies are as wanted:

    python -m tests.house.pins
"""

import importlib.metadata
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.plan import ROOT

# PyTorch is pinned, but what it brings differs by machine (CUDA or not): pip chooses. What timm asks for beside that,
# tests do without: lab.py installs it alone.
LEAVES = {"torch", "timm"}
NVIDIA = ("cuda-", "nvidia-", "numba-cuda")
# Only some systems ask for these, and no one machine could say which versions fit: not pinned.
ELSEWHERE = {"appnope", "colorama", "pywinpty"}
FILES = {  # which packages stand in them, and what is said first
    "constraints.txt": (lambda name: not name.startswith(NVIDIA), """\
# Tried versions of everything that pyproject.toml asks for, and of what that asks for in turn.
# Written by: python -m tests.house.pins
"""),
    "constraints-cuda.txt": (lambda name: name.startswith(NVIDIA), """\
# The same for the extras cuda and cuda-libs. On Linux PyTorch brings other versions of some of these, so it is free.
"""),
}  # fmt: skip


def project(root: Path = ROOT) -> dict:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def asked(root: Path = ROOT) -> list[Requirement]:
    """The direct dependencies, those of every extra included."""
    table = project(root)["project"]
    groups = [table["dependencies"], *table["optional-dependencies"].values()]
    return [Requirement(line) for group in groups for line in group]


def pinned(root: Path = ROOT) -> dict[str, str]:
    """The files of constraints as {name: version}."""
    lines = [line for file in FILES for line in (root / file).read_text(encoding="utf-8").splitlines()]
    pairs = (line.split("#")[0].strip().split("==") for line in lines)
    return {canonicalize_name(pair[0]): pair[1] for pair in pairs if pair != [""]}


def installed(root: Path = ROOT) -> dict[str, str]:
    """Everything that is asked for, directly or by others, as installed here."""
    found: dict[str, str] = {}
    seen, waiting = set(), asked(root)
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        version, visit = _version(name), (name, frozenset(requirement.extras))
        if version is None or visit in seen or name in ELSEWHERE:
            continue
        seen.add(visit)
        found[name] = version.split("+")[0]  # "2.13.0+cpu" is a build of 2.13.0
        if name not in LEAVES:
            waiting += _requires(name, requirement.extras)
    return dict(sorted(found.items()))


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _requires(name: str, extras: set[str]) -> list[Requirement]:
    lines = importlib.metadata.requires(name) or []
    every = [Requirement(line) for line in lines]
    wanted = [{"extra": extra} for extra in ("", *extras)]
    return [one for one in every if one.marker is None or any(one.marker.evaluate(given) for given in wanted)]


if __name__ == "__main__":
    for file, (stands, head) in FILES.items():
        pins = [f"{name}=={version}\n" for name, version in installed().items() if stands(name)]
        (ROOT / file).write_text(head + "".join(pins), encoding="utf-8")
