"""lab.py starts on any machine that has a Python, and says in one sentence what is missing."""

import ast
import runpy
import subprocess
import sys

import pytest

from tests.bench.__main__ import SUITES
from tests.house.plan import ROOT

TEXT = (ROOT / "lab.py").read_text(encoding="utf-8")


def lab(*arguments, before=""):
    """Run lab.py in a new Python, after `before`, from another folder: (exit code, what it said)."""
    start = f"import runpy, sys\n{before}\nsys.argv = ['lab.py', *{arguments!r}]\n"
    code = start + f"runpy.run_path({str(ROOT / 'lab.py')!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT.parent, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_it_needs_the_standard_library_only():
    imports = [node for node in ast.walk(ast.parse(TEXT)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in imports if isinstance(node, ast.ImportFrom)}

    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_an_old_python_can_start_it():
    ast.parse(TEXT, feature_version=(3, 7))


def test_it_stays_short():
    assert len(TEXT.splitlines()) <= 250


def test_help_is_its_docstring():
    code, said = lab("--help")

    assert code == 0
    assert "python3 lab.py test" in said


OLD = "import collections\nsys.version_info = (3, 10, 4)\nsys.version = '3.10.4 (main)'"
NO_VENV = (
    "import importlib.util as u\nfind = u.find_spec\nu.find_spec = lambda name: None if name == 'venv' else find(name)"
)


@pytest.mark.parametrize(
    ("arguments", "before", "sentence"),
    [
        (["brew"], "", "There is no command 'brew'."),
        (["run"], "", "Which notebook? Say its number"),
        (["run", "99"], "", "There is no notebook '99'. Say its number"),
        (["bench"], "", "Which suite? Say its name"),
        (["bench", "nothing"], "", "Which suite? Say its name"),
        ([], OLD, "jt_edu needs Python 3.11, 3.12 or 3.13; this is 3.10.4."),
        ([], NO_VENV, "Python's venv module is missing."),
    ],
)
def test_it_says_in_one_sentence_what_is_wrong(arguments, before, sentence):
    code, said = lab(*arguments, before=before)

    assert code == 1
    assert said.startswith(f"lab.py: {sentence}")
    assert "Traceback" not in said


def test_without_a_command_it_opens_the_course_and_hands_options_on():
    names = runpy.run_path(str(ROOT / "lab.py"), run_name="lab")
    names["open_lab"].__globals__.update(install=lambda *_: None, become=lambda *command: command)

    assert names["open_lab"](["--debug"]) == ("jt_edu.lab", "--debug")


def test_it_knows_every_suite_that_there_is():
    _, said = lab("bench", "nothing")

    assert said.split("There are: ")[1].rstrip(".\n").split(", ") == [*SUITES, "all"]


@pytest.mark.parametrize(
    ("pip_says", "sentence"),
    [
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            "The disk is full.",
        ),
        ("Retrying ... NewConnectionError: failed", "The Python package index cannot be reached."),
        ("ERROR: something new", "That did not work. The last words were:\n\nERROR: something new"),
    ],
)
def test_it_says_what_the_words_of_pip_mean(pip_says, sentence):
    fake = f"import subprocess\nprint({pip_says!r})\nraise SystemExit(1)"
    before = f"lab = runpy.run_path({str(ROOT / 'lab.py')!r}, run_name='lab')\n"
    code = f"import runpy, sys\n{before}try:\n lab['watch']([sys.executable, '-c', {fake!r}], '[1/1] it')\n"
    code += "except lab['Stop'] as stop:\n print(stop)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split("\n", 1)[0].endswith("failed")
    assert done.stdout.split("\n", 1)[1].startswith(sentence)
