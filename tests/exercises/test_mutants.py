"""Small changes of each solution, by the hundred: a check that lets one in twenty through is not good enough."""

import ast
import sys

import pytest

from jt_exercises.author.masters import masters
from jt_exercises.author.mutants import mutants
from jt_exercises.author.validate import KILLED, gaps, tried_mutants

MASTERS = masters()


@pytest.mark.parametrize("number", [n for n, master in MASTERS.items() if any(gaps(master))])
def test_automatic_mutants_of_the_solution_are_noticed(number):
    found = tried_mutants(MASTERS[number])

    sys.stdout.write(f"{number}: {found}\n")
    assert found.judged >= len(found.every) / 2 >= 2
    assert found.noticed >= KILLED * len(found.every), "\n\n".join(found.alive)


def test_a_text_that_is_python_has_mutants_too_and_one_of_words_has_none():
    texts = list(mutants('A = """\n    y = x + 1\n"""\nB = """\nno Python\n"""\n', (2, 2)))

    assert [ast.literal_eval(ast.parse(text).body[0].value) for text in texts] == ["pass", "y = x - 1", "y = x + 2"]
