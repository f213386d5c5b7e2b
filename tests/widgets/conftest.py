"""Pages of views in Chromium: `page_of(view)` opens one that was saved, `live(view)` draws one that asks Python.

Both are at rest when a test gets them. `axe` and `geometry` look at a page, `frontend` has the tools.
"""

import pytest

from tests.chromium import LIMIT
from tests.frontend import missing
from tests.widgets.live import draw_live
from tests.widgets.page import GEOMETRY, READY, Visitor, still, violations


@pytest.fixture(scope="session")
def frontend():
    """The frontend's tools are there."""
    if reason := missing():
        pytest.skip(reason)


@pytest.fixture
def page_of(chromium, tmp_path):
    """A function: a view, or HTML -> its page, drawn. Requests and complaints in the console fail the test.

    Options are those of Playwright's new_context, such as color_scheme="dark"; `hash` is what follows # in the address;
    `ready` is what to wait for; `forgive` is a word: complaints that have it are expected.
    """
    visitors = []

    def open_it(view, *, hash="", ready=READY, forgive=None, **options):  # noqa: A002  what the web calls it
        path = tmp_path / f"page{len(visitors)}.html"
        path.write_text(view, encoding="utf-8") if isinstance(view, str) else view.save(path)
        context = chromium.new_context(**{"viewport": {"width": 1000, "height": 800}, **options})
        visitors.append((Visitor(context), forgive))
        return visitors[-1][0].open(path.as_uri() + (f"#{hash}" if hash else ""), ready)

    yield open_it
    for visitor, _ in visitors:
        visitor.context.close()
    assert [one for visitor, _ in visitors for one in visitor.strangers] == [], "a page asked for something"
    said = [one for visitor, word in visitors for one in visitor.complaints if not (word and word in one)]
    assert said == [], "a page complained"


@pytest.fixture
def live(chromium):
    """A function: a view -> a page on which it is drawn, and whose questions go to it in this process.

    Options are those of Playwright's new_context; `before` is a script that runs before the view is drawn.
    """
    contexts = []

    def draw(view, *, before=None, **options):
        contexts.append(chromium.new_context(**options))
        contexts[-1].set_default_timeout(1000 * LIMIT)
        page = contexts[-1].new_page()
        if before:
            page.evaluate(before)
        return draw_live(page, view)

    yield draw
    for context in contexts:
        context.close()


@pytest.fixture
def axe(frontend):
    """A function: a page -> what axe-core has against it, as a list of texts."""
    return violations


@pytest.fixture
def geometry():
    """A function: a page -> letters below 11 px, words outside of a [data-box], boxes of one kind that overlap."""

    def look(page):
        still(page)
        return page.evaluate(GEOMETRY)

    return look
