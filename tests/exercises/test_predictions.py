"""Predictions: what a notebook asks a learner to guess is found by running it, and is what its words say."""

import ast
import re
from functools import cache

import pytest

from jt_exercises.author.masters import masters
from tests.story.test_course_answers import FOLDER, run

FOUND = {  # as it is told; or the least and the most, where it is measured
    "00.3": "2",
    "00.4": "0",
    "01.2": "3",
    "02.4b": "1",
    "03.0": "[128, 384]",
    "03.3b": "stored",
    "04.1b": "[1, 2, 2]",
    "05.1b": [(4, 100)],
    "06.1b": [(3, 1000)],
    "07.2b": "1.806",
    "09.7": [(34, 80), (70, 100)],
    "10.7": [(15, 25)],
    "11.1b": "[3, 4]",
    "11.11": "[3, 4, 5, 6, 7]",
    "08.1b": "11",
    "08.8b": "4096",
    "12.1b": "2048",
    "12.3b": [(20, 60)],
    "16.1b": "[10, 80]",
    "16.5b": "29",
    "17.5": "20",
    "17.10": [(0.4, 0.6)],
}


def asked():
    """{number: (notebook, what finds the answer)} for each prediction, as the sources have it."""
    found = {}
    for path in sorted((FOLDER / "source").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    ast.Name("predict"), [ast.Constant(str(number)), ast.Constant(value), ast.Lambda(body=body)]
                ):
                    assert value is ... and number not in found, number
                    found[number] = path.stem, body
    return found


ASKED = asked()


@cache
def answers(name):
    """What is found by each prediction of a notebook, in words, when 0 is guessed."""
    numbers = [number for number, (where, _) in ASKED.items() if where == name]
    gaps = {f'predict("{number}", ...': f'predict("{number}", 0' for number in numbers}
    said = run(name, gaps, last=gaps[f'predict("{numbers[-1]}", ...'])
    return dict(re.findall(r"^[✓✗] (\S+): you guessed 0(?::|, and) it is (.+)$", said, re.MULTILINE))


@pytest.mark.parametrize("number", ASKED)
def test_a_run_finds_what_the_notebook_says(number):
    found, wanted = answers(ASKED[number][0])[number], FOUND[number]
    if isinstance(wanted, str):
        assert found == wanted
    else:
        numbers = [float(text) for text in found.strip("[]").split(",")]
        assert all(least <= value <= most for value, (least, most) in zip(numbers, wanted, strict=True)), found


def test_a_prediction_has_a_number_of_its_own_and_an_answer_that_is_not_typed_in():
    counts = [where for where, _ in ASKED.values()]

    assert ASKED.keys() == FOUND.keys()
    assert not ASKED.keys() & masters().keys()
    assert all(number.partition(".")[0] == where.partition("_")[0] for number, (where, _) in ASKED.items())
    assert max(map(counts.count, counts)) <= 2
    assert [n for n, (_, body) in ASKED.items() if not any(isinstance(p, ast.Name) for p in ast.walk(body))] == []
