"""Cells: a view whose output is gone is closed, and one that somebody can still see is not."""

import pytest
from IPython.core.interactiveshell import InteractiveShell
from ipywidgets.widgets.widget import _instances

import jt_edu as jt
from jt_widgets import View, explore

HELD = "import jt_edu as jt, jt_widgets\nw = jt.array([1.0, 2.0])\n"


@pytest.fixture
def run():
    """A function: the text of a cell, and which cell it is -> how many channels to the browser are open then."""
    shell = InteractiveShell.instance()
    before = set(_instances)

    def cell(text, name):
        result = shell.run_cell(text, cell_id=name)
        assert result.success
        return len(set(_instances) - before)

    cell(HELD, "first")
    yield cell
    cell("view = again = None", "last")
    InteractiveShell.clear_instance()


def test_a_cell_that_runs_again_closes_what_it_showed(run):
    show = "jt_widgets.explore((w * w).sum())"

    assert [run(show, "a") for _ in range(4)] == [2, 2, 2, 2]
    assert run("1", "a") == 0
    assert not any(isinstance(answer, View) for answer in InteractiveShell.instance().user_ns["Out"].values())


def test_of_two_views_in_a_cell_both_are_closed(run):
    show = "from IPython.display import display\nfor _ in range(2): display(jt_widgets.explore((w * w).sum()))"

    assert [run(show, "a"), run(show, "a")] == [4, 4]


def test_a_view_that_another_cell_shows_stays_open(run):
    run("view = jt_widgets.explore((w * w).sum())", "a")
    run("view", "b")

    assert run("pass", "a") == 2
    assert run("pass", "b") == 0


def test_a_view_that_is_shown_again_opens_again(run):
    run("view = jt_widgets.explore((w * w).sum())\nview", "a")
    assert run("pass", "a") == 0

    assert run("again = view._repr_mimebundle_()[0]", "b") == 2
    assert run("assert again['application/vnd.jupyter.widget-view+json']['model_id'] == view.model_id", "c") == 2


def test_a_cell_without_a_name_closes_nothing(run):
    assert [run("jt_widgets.explore((w * w).sum())", None) for _ in range(2)] == [2, 4]
    run("from ipywidgets import Widget; Widget.close_all()", None)


def test_a_view_that_was_closed_is_drawn_and_answers_once_it_is_open_again(live):
    w = jt.array([1.0, 2.0])
    view = explore((w * w).sum())
    view.close()
    closed = view.comm, view.layout.comm

    bundle = view._repr_mimebundle_()[0]
    page = live(view)

    assert closed == (None, None)
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == view.model_id
    assert page.locator(".jt-explore-pane > .jt-name").count() == 3
    view.close()
