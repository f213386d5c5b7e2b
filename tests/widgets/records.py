"""Recordings that several tests show."""

import copy
import json

import jt_edu as jt
from jt_widgets.bundle import pack, page_html


def small():
    """(a * b + c).sum(): seven nodes, one kernel."""
    a = jt.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    b = jt.array([[6.0, 5.0, 4.0], [3.0, 2.0, 1.0]])
    c = jt.array([10.0, 20.0, 30.0])
    y = (a * b + c).sum()
    with jt.flag_scope(backend="python"):
        return jt.recording(y)


def changed(recording, change):
    """The page of a recording as plain data, after `change(page)`."""
    page = copy.deepcopy(recording.page)
    change(page)
    return page


def html_of(page, blocks=b"", view="table"):
    """A page as HTML, whatever it holds."""
    document = page if isinstance(page, bytes) else pack(json.dumps(page).encode())
    return page_html(view, "a page", document, pack(blocks), {})
