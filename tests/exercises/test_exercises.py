"""Every exercise of a folder of its own: its check is tested as what it judges is."""

import ast
import re
import sys
from dataclasses import replace

import pytest

from jt_exercises.author.masters import GAP, Master, MasterError, expanded, masters
from jt_exercises.author.mutants import mutants
from jt_exercises.exercise import find
from jt_exercises.process import COPY
from jt_exercises.verdict import YourTurn

MASTERS = {master.number: master for master in masters()}
WRONG = {f"{n}-{wrong.name}": (n, wrong) for n, master in MASTERS.items() for wrong in master.wrong()}
FUNCTIONS = [n for n, master in MASTERS.items() if "raise YourTurn" in master.stub]  # other answers are free values
KILLED = 0.95  # of the automatic mutants


def all_tried(number, text, here=True, seconds=20):
    """The verdicts on what the code cells of a master hand to `check`, and what stopped them."""
    found = []

    def check(number, *answers):
        found.append(replace(find(number), seconds=seconds).verdict(*answers, here=here))

    own = re.sub(r"^from jt_exercises import .*\n", "", text, flags=re.MULTILINE)
    try:
        exec(compile(own, "answers", "exec"), {"__name__": "answers", "check": check, "YourTurn": YourTurn})  # noqa: S102
    except Exception as error:  # noqa: BLE001 - a mutant may raise whatever there is
        return found, error
    return found, None


def tried(*asked, **more):
    (verdict,), error = all_tried(*asked, **more)
    assert error is None, error
    return verdict


@pytest.mark.parametrize("number", MASTERS)
def test_the_solution_passes_with_all_its_parts(number):
    found = tried(number, MASTERS[number].solved)

    assert (found.passed, found.right) == (True, found.of), found


@pytest.mark.parametrize("number", MASTERS)
def test_the_stub_says_that_it_is_your_turn(number):
    found = tried(number, MASTERS[number].stub)

    assert found.passed is None, found
    assert number not in FUNCTIONS or GAP.search(MASTERS[number].text)[2] in found.words


@pytest.mark.parametrize("name", WRONG)
def test_each_known_mistake_is_refused_with_words_of_its_own(name):
    number, wrong = WRONG[name]

    found = tried(number, wrong.text)

    assert found.passed is False, found
    assert wrong.says in found.words


def test_no_two_mistakes_are_told_in_the_same_words():
    for number, master in MASTERS.items():
        wrong = master.wrong()
        assert 3 <= len(wrong) <= 6, number
        assert len({w.says for w in wrong}) == len(wrong), number
        assert all(w.says for w in wrong), number


@pytest.mark.parametrize("number", FUNCTIONS)
def test_automatic_mutants_of_the_solution_are_noticed(number):
    text = MASTERS[number].solved
    begin = MASTERS[number].text.partition("# BEGIN SOLUTION")[0].count("\n") + 1
    lines = begin, begin + GAP.search(MASTERS[number].text)[3].count("\n") - 1
    alive, judged, every = [], 0, list(mutants(text, lines))
    for mutant in every:
        found, _ = all_tried(number, mutant, here=not COPY, seconds=3)  # one that does not even run is noticed
        judged += bool(found)
        alive += [mutant] if found and found[0].passed else []

    sys.stdout.write(f"{number}: {len(every) - len(alive)} of {len(every)} mutants are noticed\n")
    assert judged >= len(every) / 2 >= 2
    assert len(alive) <= (1 - KILLED) * len(every), "\n\n".join(alive)


@pytest.mark.skipif(not COPY, reason="processes are not copied here")
@pytest.mark.parametrize("number", MASTERS)
def test_an_answer_is_judged_in_a_process_of_its_own(number):
    assert tried(number, MASTERS[number].solved, here=False).passed


def test_a_learner_gets_no_line_of_a_solution():
    for number, master in MASTERS.items():
        source = expanded(f"# %% exercise {number}\n")
        ast.parse(source)
        gap = GAP.search(master.text)[3]
        assert "YourTurn(" in source or "# Your turn: " in source
        assert not any(line.strip() in source for line in gap.splitlines() if len(line.strip()) > 8), number


def test_markers_that_do_not_match_are_told(tmp_path):
    (tmp_path / "solution.py").write_text("# BEGIN SOLUTION\nx = 1\n")

    with pytest.raises(MasterError, match="each BEGIN SOLUTION needs an END SOLUTION"):
        _ = Master("00.1", tmp_path).stub


def test_a_text_that_is_python_has_mutants_too_and_one_of_words_has_none():
    texts = list(mutants('A = """\n    y = x + 1\n"""\nB = """\nno Python\n"""\n', (2, 2)))

    assert [ast.literal_eval(ast.parse(text).body[0].value) for text in texts] == ["pass", "y = x - 1", "y = x + 2"]
