"""Precompile: the notebooks run unseen, once, and leave their kernels on the disk."""

import json
import os
import subprocess
import sys

import pytest

from jt_edu import precompile
from tests.house.plan import ROOT


@pytest.fixture
def pages(tmp_path):
    """Two notebooks: one with cells that fail or start processes, one that looks for the names of the other."""
    first = ["import jt_edu as jt", "1 / 0", "%%ranks 2\nraise SystemExit", "x = jt.ones(3)\nprint((x * 7).numpy())"]
    second = ["assert 'x' not in globals()\nopen(RAN, 'w').close()"]
    made = []
    for number, texts in enumerate((first, second)):
        cells = [{"cell_type": "code", "source": text.splitlines(True)} for text in texts]
        made.append(tmp_path / f"{number}.ipynb")
        made[-1].write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": ["text"]}, *cells]}))
    second_text = made[1].read_text().replace("RAN", repr(str(tmp_path / "ran")))
    made[1].write_text(second_text)
    return made


PROGRAM = """
import os, sys
from pathlib import Path
from jt_edu import precompile
pages, mark = [Path(p) for p in sys.argv[2:]], Path(sys.argv[1])
print(list(precompile.run(pages, mark, int(os.environ["STARTER"]))))
"""


def run(mark, pages, starter):
    """In a process of its own, as it is meant to be."""
    surroundings = os.environ | {"STARTER": str(starter), "IPYTHONDIR": str(mark.parent / "ipython")}
    command = [sys.executable, "-c", PROGRAM, str(mark), *map(str, pages)]
    return subprocess.run(command, cwd=ROOT, env=surroundings, check=True, capture_output=True, text=True)


def test_every_page_runs_with_names_of_its_own_and_what_fails_is_passed_over_unseen(pages, tmp_path):
    ended = run(tmp_path / "mark", pages, os.getpid())

    assert ended.stdout == "[0, 1, 2, 3]\n"  # without the cell of ranks, and without what cells print
    assert (tmp_path / "ran").exists()
    assert (tmp_path / "mark").exists()


def test_it_ends_when_the_process_that_started_it_is_gone(pages, tmp_path):
    ended = run(tmp_path / "mark", pages, 1 if os.getppid() != 1 else 2)

    assert ended.stdout == "[]\n"
    assert not (tmp_path / "mark").exists()


def test_what_a_learner_writes_into_notebooks_is_never_run_again(monkeypatch, tmp_path):
    monkeypatch.setenv("JT_EDU_CACHE", str(tmp_path))
    precompile.mark().parent.mkdir(parents=True, exist_ok=True)
    precompile.mark().touch()
    monkeypatch.setattr(precompile, "run", lambda *_: pytest.fail("notebooks ran"))

    precompile.main()
