"""Each package has a page that says what stands in which file, and in which order to read them."""

import re
from pathlib import Path

import pytest

from tests.house import plan

PAGE = 104  # lines: two screens
NAMED = re.compile(r"[`\s/]([A-Za-z]\w*)(?:\.py)?(?=[/`\s:;,]|$)", re.MULTILINE)
PACKAGES = [
    plan.ROOT / "jt_edu",
    *sorted(p.parent for p in (plan.ROOT / "jt_edu").glob("*/__init__.py") if p.parent.name != "test"),
]


def rooms(package: Path) -> list[str]:
    """The files and folders that a package's page speaks of: its own, and those of rooms without a page."""
    found = []
    for entry in sorted(package.iterdir()):
        if entry.suffix == ".py" and entry.name != "__init__.py":
            found.append(entry.stem)
        elif (entry / "__init__.py").exists():
            found += [entry.name, *([] if (entry / "README.md").exists() else rooms(entry))]
    return found


def missing(page: str, wanted: list[str]) -> list[str]:
    """Names that a page leaves out."""
    return sorted(set(wanted) - set(NAMED.findall(page)))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.name)
def test_a_package_has_a_page_that_names_each_of_its_files(package):
    page = (package / "README.md").read_text(encoding="utf-8")

    assert not missing(page, rooms(package))
    assert len(page.splitlines()) <= PAGE


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.name)
def test_a_page_names_no_file_that_is_not_there(package):
    page = (package / "README.md").read_text(encoding="utf-8")
    there = {
        "program",
        *(p.stem for name in ("jt_edu", "tests", "widgets/jt_widgets") for p in (plan.ROOT / name).rglob("*.py")),
    }

    assert not set(re.findall(r"\b(\w+)\.py\b", page)) - there
    for name in re.findall(r"`([\w/]+)/`", page):
        assert (package / name).is_dir() or (plan.ROOT / name).is_dir() or (plan.ROOT / "jt_edu" / name).is_dir(), name


def test_a_page_that_leaves_out_a_file_is_found():
    assert missing("| one | `graph` `meta/` |\nplan.py\n", ["graph", "meta", "plan", "fuse"]) == ["fuse"]
