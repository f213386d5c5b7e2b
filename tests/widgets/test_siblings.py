"""Views of the same kernel say the same of it, whoever edits it."""

import pytest

import jt_edu as jt
from jt_widgets.kernel import kernel as kernel_view


@pytest.fixture
def y():
    with jt.flag_scope(backend="python"):
        yield (jt.array([1.0, 2.0]) * 3).sum()
        jt.revert_kernels()


def negated(view):
    return view.recording.page["kernels"][0]["source"].replace("s0 = s0 + ", "s0 = s0 - ")


def is_edited(view):
    return view.recording.page["kernels"][0]["edited"]


def test_an_open_view_shows_at_once_what_another_one_edits_and_reverts(y):
    other, editor = kernel_view(y, seconds=60), kernel_view(y, seconds=60)

    editor.answer({"do": "try", "kernel": 0, "text": negated(editor), "anyway": True})
    after_the_edit = is_edited(other)
    editor.answer({"do": "revert", "kernel": 0})

    assert after_the_edit
    assert not is_edited(other)


def test_a_view_that_is_asked_looks_first_at_what_a_cell_edited(y):
    view = kernel_view(y, seconds=60)
    source = view.recording.page["kernels"][0]["source"]
    jt.edit_kernel(source, negated(view), seconds=60).install()

    with pytest.raises(jt.ArgumentError, match="'machine', 'try' or 'revert'"):
        view.answer({"do": "sing", "kernel": 0})

    assert is_edited(view)
