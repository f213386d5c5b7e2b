"""The README tells the truth: its example prints what stands below it, and its picture is that of the example."""

import importlib.util
from pathlib import Path

import pytest

import jt_edu as jt

ROOT = Path(__file__).resolve().parents[2]
HOW = "run: python docs/pictures.py"


@pytest.fixture(scope="module")
def pictures():
    """docs/pictures.py is a program, not a module of a package."""
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "docs" / "pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
