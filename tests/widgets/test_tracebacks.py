"""What IPython, and Jupyter with it, shows of an error in a cell; IPython is there before jt_edu, as in a notebook."""

import re
import subprocess
import sys

import pytest

from jt_edu.base.tracebacks import HOME

CELLS = {
    "net": "net = nn.Sequential(\n    nn.Linear(8, 16),\n    nn.ReLU(),\n    nn.Linear(10, 4),\n)",
    "layer": "x = jt.ones(4, 8)\ny = net(x)\nloss = y.sum()\nloss",
    "debugger": "*_, last = __import__('traceback').walk_tb(get_ipython().InteractiveTB.tb)\nprint(last[0].f_code)",
    "again": 'jt.flags.tracebacks = "full"\n%tb',
    "short": 'jt.flags.tracebacks = "short"',
    "cause": "try:\n    nn.Linear(2, 3)(jt.ones(4))\nexcept ValueError as e:\n    raise KeyError('mine') from e",
    "shown": "words = nn.Sequential(nn.Embedding(4, 2))\ny = words(jt.array([8]) + 1)\ny",
    "plain": "%xmode Plain\nnn.Linear(2, 3)(jt.ones(4))",
    "other": "1 / 0",
}
PROGRAM = f"""
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="NoColor")
shell.run_cell("import jt_edu as jt\\nfrom jt_edu import nn")
for name, cell in {CELLS!r}.items():
    print("-- next", name)
    shell.run_cell(cell, store_history=True)
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What IPython printed for each of the cells."""
    file = tmp_path_factory.mktemp("notebook") / "cells.py"
    file.write_text(PROGRAM)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=600, check=True)
    return dict(part.split("\n", 1) for part in done.stdout.split("-- next ")[1:])


def test_a_wrong_layer_takes_twelve_lines_and_the_last_ones_say_it(said):
    rows = said["layer"].strip().splitlines()

    assert len(rows) <= 12
    assert rows[-3].startswith("ShapeError: linear multiplies") and rows[-3].endswith("Try: Linear(16, 4).")
    assert rows[-2] == "  in Sequential > 2 Linear(10, 4)"
    assert "tracebacks" in rows[-1]


def test_the_debugger_begins_inside(said):
    assert HOME in said["debugger"]


def test_the_rest_of_an_error_can_be_shown_afterwards(said):
    assert said["again"].count("in Module.__call__") == 2
    assert "hidden" not in said["again"]


def test_a_cause_is_short_too(said):
    assert "jt_edu/" not in said["cause"]
    assert re.findall(r"^-+> \d+ +(.*)", said["cause"], re.MULTILINE) == [
        "nn.Linear(2, 3)(jt.ones(4))", "raise KeyError('mine') from e",
    ]  # fmt: skip


def test_what_cannot_be_computed_when_it_is_shown_names_the_learners_line_and_layer(said):
    rows = said["shown"].strip().splitlines()

    assert rows[-3:-1] == ["  in Sequential > 0 Embedding(4, 2)", "  at cell 7:2: y = words(jt.array([8]) + 1)"]
    assert "jt_edu/" not in said["shown"]


def test_other_modes_of_ipython_are_short_and_errors_of_others_as_ever(said):
    assert "jt_edu/" not in said["plain"]
    assert said["plain"].strip().endswith("shows everything")
    assert said["other"].strip().splitlines()[-1] == "ZeroDivisionError: division by zero"
