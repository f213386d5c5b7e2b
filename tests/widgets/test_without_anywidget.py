"""Without the package that draws the views, whoever imports them is told what to install."""

import importlib
import sys

import pytest

import jt_widgets  # noqa: F401 - the package of other tests comes back afterwards


def test_without_anywidget_the_import_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "jt_widgets")

    with pytest.raises(ModuleNotFoundError, match=r"draws its views with .*Try: pip install anywidget") as caught:
        importlib.import_module("jt_widgets")

    assert caught.value.name == "anywidget"
