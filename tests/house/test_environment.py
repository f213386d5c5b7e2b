"""One truth for what is installed: pyproject.toml. The other files agree with it, and name no machine."""

import re
import subprocess
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tests.house.pins import NVIDIA, asked, installed, pinned, project
from tests.house.plan import ROOT
from tests.house.tree import hold

ENVIRONMENT = """\
# The conda face of pyproject.toml: conda brings Python, pip brings the rest. Nobody has tried it with conda yet.
name: {name}
channels:
  - conda-forge
  - nodefaults
dependencies:
  - python {python}
  - pip
  - pip:
      - --constraint constraints.txt
      - --editable .[lab,mpi]
"""

HOSTS = re.compile(
    r"pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|yarnpkg\.com|deb\.debian\.org|anaconda\.(?:org|com)"
    r"|download\.pytorch\.org/whl|jsdelivr\.net|unpkg\.com|cdnjs\."
)
MACHINE_PATHS = re.compile(
    r"(?<![\w.}])(?:/(?:home|root|Users|work|opt|mnt|tmp)/[\w.]|/usr/(?:local/|lib/|bin/(?!env\b))|[A-Z]:\\\\?Users)"
)
TEXT = re.compile(r"(?:\.(?:cfg|css|html|ipynb|js|json|md|py|sh|toml|ts|txt|ya?ml))?")  # endings; scripts have none


def environment(root: Path = ROOT) -> str:
    """What environment.yml must say."""
    table = project(root)["project"]
    return ENVIRONMENT.format(name=table["name"], python=table["requires-python"])


def files(root: Path = ROOT) -> list[Path]:
    """What git has, or would take; every file where there is no git."""
    listing = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        names = subprocess.run(listing, capture_output=True, check=True, text=True).stdout.split("\0")
        every = [root / name for name in names if name]
    except (OSError, subprocess.CalledProcessError):
        every = [path for path in root.rglob("*") if not any(part.startswith(".") for part in path.parts)]
    return [path for path in every if TEXT.fullmatch(path.suffix) and path.is_file()]


def machines_named(paths: list[Path]) -> list[str]:
    """Each mention of a registry's host or of a path that exists on one machine only."""
    return [
        f"{path}:{number}: {match[0]}, which is a registry's host or a place on one machine"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for rule in (HOSTS, MACHINE_PATHS)
        if (match := rule.search(line))
    ]


def test_environment_yml_is_the_conda_face_of_pyproject():
    assert (ROOT / "environment.yml").read_text(encoding="utf-8") == environment()


@pytest.mark.parametrize("requirement", asked(), ids=str)
def test_every_dependency_is_pinned_within_its_range(requirement):
    version = pinned().get(canonicalize_name(requirement.name))

    assert version is not None, f"no file of constraints pins {requirement.name}"
    assert requirement.specifier.contains(version, prereleases=True)


def test_what_the_dependencies_bring_is_pinned_too():
    missing = sorted(installed().keys() - pinned().keys())

    assert missing == [], "no file of constraints pins these; see tests/house/pins.py"


def test_pytorch_is_free_to_bring_its_own_libraries_of_nvidia():
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")

    assert [line for line in text.splitlines() if line.startswith(NVIDIA)] == []


def test_no_file_names_a_registry_or_a_machine():
    hold(machines_named(files()))


@pytest.mark.parametrize(
    "line",
    [
        "see https://" + "py" + "pi.org/simple",
        "registry." + "npm" + "js.org",
        "cd /" + "home/ada/jt_edu",
        "/" + "tmp/build/kernel.py",
        "#!/" + "usr/bin/python3",
        "C:\\" + "Users\\ada",
    ],
)
def test_the_rule_notices(tmp_path, line):
    path = tmp_path / "notes.md"
    path.write_text(f"one\n{line}\n")

    assert machines_named([path])[0].startswith(f"{path}:2: ")


@pytest.mark.parametrize("line", ["#!/usr/bin/env bash", "docs/work/notes", "https://github.com/home/page", "a/opt/b"])
def test_paths_of_the_project_and_addresses_are_free(tmp_path, line):
    path = tmp_path / "notes.md"
    path.write_text(line)

    assert machines_named([path]) == []
