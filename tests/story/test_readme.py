"""The README tells the truth: its example prints what stands below it, its commands and links lead somewhere."""

import importlib.util
import re
import runpy
from itertools import pairwise
from pathlib import Path

import pytest

import jt_edu as jt
from tests.programs import program_at

ROOT = Path(__file__).resolve().parents[2]
HOW = "run: python docs/pictures.py"
PAGES = [ROOT / "README.md", ROOT / "notebooks" / "README.md"]
COMMANDS = [
    line.split("#")[0].split()
    for page in PAGES
    for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    for line in block.splitlines()
]


@pytest.fixture(scope="module")
def pictures():
    return program_at(ROOT / "docs" / "pictures.py")


@pytest.fixture(scope="module")
def example(pictures):
    found = pictures.EXAMPLE.search(pictures.README.read_text(encoding="utf-8"))
    with jt.base.context.rank_context():  # node numbers begin at 0, as in a fresh process
        output, names = pictures.run(found["code"])
    return found, output, names


def test_the_example_prints_what_the_readme_says(example):
    found, output, _ = example

    assert found["output"] == output, HOW


def test_the_example_is_ten_lines_of_code(example):
    found, _, _ = example

    assert len([line for line in found["code"].splitlines() if line.strip()]) == 10


def test_the_picture_is_that_of_the_example(pictures, example):
    _, _, names = example

    assert pictures.PICTURE.read_text(encoding="utf-8") == names["picture"].svg, HOW
    assert pictures.PICTURE.stat().st_size < 200_000


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_works_as_it_is_pasted(command):
    """In a folder where `lab.py` was run, nothing else is activated: only what it made is called by its path."""
    assert command[0] in {"python3", ".venv/bin/python", ".venv/bin/mpirun"}
    if command[0] == "python3":
        assert command[1] == "lab.py"
        assert command[2:3] == [] or command[2] in {"run", "test", "bench"}
    for before, word in pairwise(command):
        if before.endswith("python3") or (before.endswith("python") and word != "-m"):
            assert (ROOT / word).exists()
        if before == "-m":
            assert importlib.util.find_spec(word) is not None, f"no module {word}"


def test_the_commands_of_lab_are_those_that_the_page_names():
    lab = runpy.run_path(str(ROOT / "lab.py"), run_name="lab")

    assert all(f"lab.py {name}" in lab["__doc__"] for name in ("run", "test", "bench"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_links_and_pictures_of_a_page_are_there(page):
    text = page.read_text(encoding="utf-8")
    named = [*re.findall(r"\]\(([^)#]+)\)", text), *re.findall(r'src="([^"]+)"', text)]

    assert [name for name in named if not (page.parent / name).exists()] == []


def test_the_page_begins_with_a_picture_and_three_lines_of_speed_and_has_no_table_of_ratios():
    start, _, rest = PAGES[0].read_text(encoding="utf-8").partition("## ")

    assert "<picture>" in start and start.index("<picture>") < start.index("python3 lab.py")
    assert len(re.findall(r"^\* \*\*.* (faster|slower|Xeon)\*\*", start, re.MULTILINE)) == 3
    assert "| ratio |" not in rest
    assert "| suite: row | ratio |" in (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
