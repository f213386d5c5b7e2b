"""What the learner calls their Vars: found in the frame that asked, or in that of whom it asked for."""

import gc
import os
import sys
import weakref

import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.base.tracebacks import HOME

ASKER = """
import jt_edu as jt

def ask(given):
    inner = given
    return jt.explain(given).names
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A function: the text of its __init__.py -> a package whose `ask` explains a Var that it calls `inner`."""

    def make(door):
        folder = tmp_path / "asker_of_a_test"
        folder.mkdir()
        (folder / "__init__.py").write_text(door)
        (folder / "ask.py").write_text(ASKER)
        monkeypatch.syspath_prepend(tmp_path)
        return __import__("asker_of_a_test.ask").ask

    yield make
    for name in ("asker_of_a_test", "asker_of_a_test.ask"):
        sys.modules.pop(name, None)


def test_a_var_is_called_as_in_the_frame_that_asks():
    mine = jt.array([1.0, 2.0])

    assert jt.explain(mine).names[mine.node.id] == "mine"


def test_another_package_has_names_of_its_own(package):
    mine = jt.array([1.0, 2.0])

    assert package("").ask(mine)[mine.node.id] in ("inner", "given")


def test_a_package_that_asks_for_its_caller_is_passed_over(package):
    mine = jt.array([1.0, 2.0])

    assert package("ASKS_FOR_ITS_CALLER = True").ask(mine)[mine.node.id] == "mine"


def test_a_file_beside_the_package_is_the_learners_whatever_its_name():
    code = compile("import jt_edu as jt\nx = jt.ones(2) + 1", f"{HOME.removesuffix(os.sep)}_play.py", "exec")
    space = {}
    exec(code, space)  # noqa: S102 - the text above

    assert space["x"].node.line.startswith("jt_edu_play.py:2")


def test_a_parameter_of_two_models_is_called_by_the_name_that_was_given_first():
    outer = nn.Sequential(nn.Linear(2, 3))
    inner = outer[0]

    names = jt.explain(outer(jt.ones((1, 2)))).names

    assert names[inner.weight.node.id] == "outer.0.weight"


class OfAnotherLibrary:
    def __init__(self, answer):
        self.answer = answer

    def named_parameters(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [[("weight", object())], [("weight",)], None, RuntimeError("no")])
def test_models_of_other_libraries_do_not_matter(answer):
    stranger = OfAnotherLibrary(answer)
    mine = jt.array([1.0, 2.0])

    names = jt.explain(mine * 2).names

    assert names[mine.node.id] == "mine"
    assert not any(name.startswith("stranger") for name in names.values())
    assert stranger.answer is answer


def test_who_asked_for_names_does_not_keep_what_is_deleted_then():
    inner = jt.array([1.0, 2.0]) * 2
    jt.explain(inner + 1)
    alive = weakref.ref(inner)

    del inner
    gc.collect()

    assert alive() is None


def test_local_names_that_the_learner_holds_stay():
    mine = jt.array([1.0, 2.0])
    scope = locals()

    jt.explain(mine * 2)

    assert scope["mine"] is mine
