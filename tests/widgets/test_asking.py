"""What a learner hands over by mistake is named, in the name of the view that was called, with a way out."""

import numpy as np
import pytest

import jt_edu as jt
import jt_widgets

VIEWS = ["explore", "fusion", "graph", "kernel", "memory", "roofline", "step_kernel"]
MISTAKES = {
    "a list of gradients": (lambda: ([jt.ones(3), jt.ones(2)],), r"found a list. Try: \*gradients"),
    "a loss and a list": (lambda: (jt.ones(3).sum(), [jt.ones(2)]), r"found a list. Try: \*gradients"),
    "a dict": (lambda: ({"w": jt.ones(2)},), r"found a dict. Try: \*gradients.values\(\)"),
    "a module": (lambda: (jt.nn.Linear(3, 2),), r"found a Linear. Try: model\(images\)"),
    "an array": (lambda: (np.ones(3),), r"found an ndarray. Try: jt.array\("),
    "a number": (lambda: (3,), r"found an int. Try: jt.array\("),
    "a text": (lambda: ("loss",), r"found a str. Try: .*\(loss\)"),
    "nothing": (lambda: (), r"found nothing. Try: .*\(loss\)"),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_is_no_var_is_refused_in_the_name_of_the_view_with_a_way_out(view, mistake):
    given, words = MISTAKES[mistake]

    with pytest.raises(jt.ArgumentError, match=rf"^jt_widgets\.{view} takes .*Vars; {words}"):
        getattr(jt_widgets, view)(*given())


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        ([1.0], r"found a list. Try: tape\(loss\)"),
        (np.ones(()), "found an ndarray. Try: jt.array"),
        (3, "found an int"),
    ],
)
def test_a_tape_of_what_is_no_loss_says_what_it_is(loss, words):
    with pytest.raises(jt.ArgumentError, match=rf"a tape is recorded of a loss, which is a Var; {words}"):
        jt_widgets.tape(loss)


def test_the_names_of_the_package_are_its_views_and_their_functions():
    assert dir(jt_widgets) == sorted(jt_widgets.__all__)


@pytest.mark.parametrize(("file", "function"), [("loops", "step_kernel"), ("train", "train_panel")])
def test_a_file_that_is_called_like_a_view_says_which_function_is_meant(file, function):
    with pytest.raises(jt.ArgumentError, match=rf"jt_widgets\.{file} is a file .* Try: jt_widgets\.{function}\("):
        getattr(jt_widgets, file)(jt.ones(3).sum())


def test_a_browser_that_has_no_document_gets_it_again(monkeypatch):
    view = jt_widgets.graph(jt.ones(3).sum())
    sent = []
    monkeypatch.setattr(view, "send_state", lambda names: sent.append(names))

    view._hear(view, {"again": True}, [])

    assert sent == [("document", "blocks")]


def test_the_static_form_says_how_its_figures_were_found():
    view = jt_widgets.graph(jt.ones(3).sum())

    assert view.recording.page["about"][0] in view.static()
