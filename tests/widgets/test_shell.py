"""What all views have in common, on pages in real Chromium: frame, keys, address, trouble, light and dark, frames."""

import base64
import json
import re

import pytest

from jt_widgets import View
from jt_widgets.bundle import module, pack
from tests.chromium import LIMIT
from tests.widgets.page import still, stop_clock
from tests.widgets.records import changed, html_of, small

FOCUSED = "() => document.activeElement.className"
ROW = ".jt-rows tbody tr"
AT = "row => location.hash === `#row=${row}` && document.querySelectorAll('.jt-rows tr')[row + 1]?.matches('.jt-on')"


@pytest.fixture
def view():
    return View(small())


def test_a_page_shows_what_was_recorded(page_of, view):
    page = page_of(view)

    assert page.title() == view.summary
    assert page.get_by_role("heading", level=1).inner_text() == "Nodes"
    assert page.locator(".jt-summary").inner_text() == view.summary
    shown = [row.locator("td").all_inner_texts() for row in page.locator(ROW).all()]
    nodes = view.recording.page["graph"]["nodes"]
    assert [(int(row[0]), row[4]) for row in shown] == [(n["id"], n["dtype"]) for n in nodes]
    places = [re.sub(r"^(.+?):(\d+): ", r"line \2 of \1: ", n["where"]) for n in nodes]
    assert [row[7] for row in shown] == places


def test_tab_goes_to_the_buttons_then_to_the_view_and_out(page_of, view):
    page = page_of(view)
    stops = []

    for _ in range(4):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(FOCUSED))

    assert stops == ["jt-button", "jt-button", "jt-body", "jt-page"]


def test_keys_of_the_shell(page_of, view):
    page = page_of(view)
    body, table, help_card = (page.locator(name) for name in (".jt-body", ".jt-table", ".jt-help"))
    page.keyboard.press("Tab")

    page.keyboard.press("t")
    assert table.is_visible()
    assert not body.is_visible()
    assert table.locator("caption").inner_text() == "Nodes as a table"
    assert table.locator("tbody tr").count() == 7

    page.keyboard.press("?")
    assert help_card.is_visible()
    assert "the node above, below" in help_card.inner_text()
    assert help_card.inner_text().startswith("How to read it")
    assert "A row is a value that is computed" in help_card.inner_text()

    page.keyboard.press("Escape")
    assert not help_card.is_visible()
    page.keyboard.press("Escape")
    assert body.is_visible()
    assert page.evaluate(FOCUSED) == "jt-body"


def test_the_help_card_tells_how_the_figures_came_about(page_of, view):
    about = view.recording.page["about"]
    pages = page_of(view), page_of(html_of(changed(view.recording, lambda page: page.update(about=[]))))

    with_it, without = (page.locator(".jt-help").text_content() for page in pages)

    assert about
    assert all(sentence in with_it for sentence in about)
    assert with_it.index("How to read it") < with_it.index("About the figures")
    assert "About the figures" not in without
    pages[0].get_by_role("button", name="?").click()
    assert about[0] in pages[0].locator(".jt-help").inner_text()


def test_buttons_do_what_the_keys_do(page_of, view):
    page = page_of(view)

    page.get_by_role("button", name="Table").click()
    page.get_by_role("button", name="?").click()

    assert page.locator(".jt-table").is_visible()
    assert page.locator(".jt-help").is_visible()
    page.get_by_role("button", name="Close").click()
    assert not page.locator(".jt-help").is_visible()


def test_keys_go_no_farther_than_the_view(page_of, view):
    page = page_of(view)
    page.evaluate("() => { window.heard = []; document.addEventListener('keydown', e => window.heard.push(e.key)); }")
    page.keyboard.press("Tab")  # this one is the page's

    for key in ("b", "x", "d", "t", "ArrowDown", "Enter", "Escape"):
        page.keyboard.press(key)

    assert page.evaluate("() => window.heard") == ["Tab"]
    assert page.locator("[data-lm-suppress-shortcuts=true] .jt-body").count() == 1


@pytest.mark.parametrize("part", [".jt-title", ".jt-head", ".jt-summary", ".jt-body"])
def test_a_click_anywhere_gives_the_keys_to_the_view(page_of, view, part):
    page = page_of(view)
    page.evaluate("() => { window.heard = []; document.addEventListener('keydown', e => window.heard.push(e.key)); }")

    page.locator(part).first.click(position={"x": 2, "y": 2})
    for key in ("b", "x", "t"):
        page.keyboard.press(key)

    assert page.evaluate("() => window.heard") == []
    assert page.evaluate("() => document.activeElement.dataset.lmSuppressShortcuts") == "true"
    assert page.locator(".jt-table").is_visible()


def test_the_focus_stays_when_what_had_it_goes(page_of, view):
    page = page_of(view)

    page.get_by_role("button", name="?").click()
    page.get_by_role("button", name="Close").click()
    page.evaluate("""() => {
        const button = document.querySelector(".jt-tools button");
        button.addEventListener("click", () => button.remove());
        button.click();
        button.focus();
    }""")
    still(page)  # the focus is looked for a moment later
    page.keyboard.press("t")
    still(page)

    assert page.evaluate("() => document.activeElement.closest('.jt-view') !== null")


def test_a_selection_is_said_and_shown(page_of, view):
    page = page_of(view)
    page.keyboard.press("Tab")

    page.keyboard.press("End")

    assert page.locator("tr.jt-on td").first.inner_text() == page.locator(ROW).last.locator("td").first.inner_text()
    page.wait_for_function("() => document.querySelector('.jt-say').textContent.includes('sum')")


def test_the_address_leads_back_to_what_was_seen(page_of, view):
    page = page_of(view, hash="row=3")
    on = page.locator("tr.jt-on")
    assert on.count() == 1
    fourth = on.inner_text()

    page.locator(ROW).nth(5).click()
    page.wait_for_function("() => location.hash === '#row=5'")
    page.go_back()
    page.wait_for_function(AT, arg=3)  # the address changes first, the view hears of it a moment later
    assert page.locator("tr.jt-on").inner_text() == fourth
    page.go_forward()
    page.wait_for_function(AT, arg=5)
    assert page.locator("tr.jt-on").inner_text() == page.locator(ROW).nth(5).inner_text()


@pytest.mark.parametrize("hash_", ["row=%22x%22", "row=1e99", "row=[1]", "=&&row", "%E0%A4%A", "__proto__=1"])
def test_an_address_that_makes_no_sense_harms_nothing(page_of, view, hash_):
    page = page_of(view, hash=hash_)

    assert page.locator(ROW).count() == 7


def test_a_page_lives_in_a_sandboxed_frame(page_of, view):
    page = page_of(f"<!doctype html><title>t</title>{view.snapshot()._repr_html_()}", ready="iframe")
    inner = page.frame_locator("iframe")

    inner.locator(ROW).nth(2).click()
    inner.locator("tr.jt-on").wait_for()
    still(page)

    assert inner.locator("tr.jt-on").count() == 1
    assert page.evaluate("() => location.hash") == ""


def test_without_scripts_picture_and_table_remain(chromium, view, tmp_path):
    context = chromium.new_context(java_script_enabled=False)
    context.set_default_timeout(1000 * LIMIT)
    page = context.new_page()

    page.goto(view.save(tmp_path / "page.html").as_uri())

    assert page.locator("img").bounding_box()["width"] > 100
    assert "multiply" in page.locator("pre").inner_text()
    context.close()


@pytest.mark.parametrize("look", [{}, {"color_scheme": "dark"}, {"forced_colors": "active"}])
@pytest.mark.parametrize("keys", [[], ["t"], ["?"], ["End"]])
def test_anyone_can_use_it(page_of, view, axe, geometry, look, keys):
    page = page_of(view, **look)
    page.keyboard.press("Tab")
    for key in keys:
        page.keyboard.press(key)

    assert axe(page) == []
    assert geometry(page) == []


def test_light_and_dark_follow_the_reader(page_of, view):
    def colour(page):
        return page.evaluate("() => getComputedStyle(document.querySelector('.jt-view')).backgroundColor")

    assert colour(page_of(view, color_scheme="light")) == "rgb(255, 255, 255)"
    assert colour(page_of(view, color_scheme="dark")) == "rgb(21, 23, 27)"


def node0(**what):
    return lambda page: page["graph"]["nodes"][0].update(what)


BAD = {
    "nothing": (b"", "This page is empty."),
    "no gzip": (b"hello", "it cannot be unpacked"),
    "cut off": (pack(json.dumps(list(range(9999))).encode())[:-900], "it cannot be unpacked"),
    "no JSON": (pack(b"{"), "This page is no JSON document."),
    "no UTF-8": (pack(b"\xff\xfe"), "This page is no JSON document."),
    "a list": (pack(b"[]"), "This is no page of jt_edu: its format is missing"),
    "null": (pack(b"null"), "This is no page of jt_edu"),
    "another format": (pack(b'{"format": "notes"}'), 'its format is "notes", not "jt_edu.page"'),
    "a bomb": (pack(b" " * 70_000_000), "unpacks to more than 64 MB"),
}
WRONG = {
    "another version": (lambda page: page.update(version=2), "This page has version 2; this jt_edu reads version 1."),
    "no graph": (lambda page: page.pop("graph"), "document.graph should be a dict, and is nothing"),
    "nodes as a dict": (lambda page: page["graph"].update(nodes={}), "graph.nodes should be a list, and is {}"),
    "a node as null": (lambda page: page["graph"]["nodes"].append(None), "graph.nodes[7] should be a dict"),
    "an op as a number": (node0(op=3), "graph.nodes[0].op should be a string, and is 3"),
    "a shape as a text": (node0(shape="(2,)"), 'graph.nodes[0].shape should be a list, and is "(2,)"'),
    "an input that is not there": (node0(inputs=[123456]), "it names node #123456, which it does not hold"),
    "numbers that are not there": (lambda page: None, "the numbers of node #"),
    "a number that no picture holds": (node0(id=1e300), "graph.nodes[0].id should be a number, and is 1e+300"),
    "many kernels": (lambda p: p.update(kernels=p["kernels"] * 5_001), "has 5,001 kernels; a view draws at most 5,000"),
    "too many nodes": (lambda p: p["graph"].update(nodes=p["graph"]["nodes"] * 15_000), "This graph has 105,000 nodes"),
    "a view of tomorrow": (lambda page: None, 'There is no view "hologram" in this jt_edu.'),
}


@pytest.mark.parametrize("case", BAD)
def test_bytes_that_are_no_page_give_one_clear_sentence(page_of, case):
    data, words = BAD[case]

    page = page_of(html_of(data))

    assert words in page.get_by_role("alert").inner_text()
    assert page.get_by_role("alert").count() == 1


@pytest.mark.parametrize("case", WRONG)
def test_documents_that_do_not_fit_give_one_clear_sentence(page_of, axe, case):
    change, words = WRONG[case]
    recording = small()
    blocks = b"" if case == "numbers that are not there" else recording.blocks
    view = "hologram" if case == "a view of tomorrow" else "table"

    page = page_of(html_of(changed(recording, change), blocks, view))

    assert words in page.get_by_role("alert").inner_text()
    assert axe(page) == []


def test_words_of_strangers_stay_words(page_of):
    words = '<img src=x onerror="window.hurt = 1"></script><script>window.hurt = 1</script>'

    def change(page):
        page["summary"] = page["notes"] = words
        page["notes"] = [words]
        page["graph"]["nodes"][0].update(name=words, where=words)

    page = page_of(html_of(changed(small(), change), small().blocks))
    page.keyboard.press("Tab")
    page.keyboard.press("t")

    assert page.locator(".jt-view img, .jt-view script").count() == 0
    assert page.evaluate("() => window.hurt") is None
    assert words in page.locator(".jt-summary").inner_text()


# A widget without Jupyter: the module gets a model that records what it is told.
LIVE = """async ([code, traits]) => {
    const bytes = text => new DataView(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
    const module = await import("data:text/javascript;base64," + code);
    const events = {}, kept = {...traits, document: bytes(traits.document), blocks: bytes(traits.blocks)};
    window.model = {
        sent: [], saves: 0, bytes,
        get: name => kept[name],
        set(name, value) { kept[name] = value; this.emit("change:" + name); },
        save_changes() { this.saves += 1; },
        on: (name, hear) => (events[name] ??= new Set()).add(hear),
        off: (name, hear) => events[name]?.delete(hear),
        emit: (name, ...given) => [...(events[name] ?? [])].forEach(hear => hear(...given)),
        send(content) { this.sent.push(content); },
        listeners: () => Object.values(events).reduce((sum, set) => sum + set.size, 0),
    };
    window.again = element => module.default.render({model: window.model, el: element});
    const home = document.body.appendChild(document.createElement("main"));
    window.end = window.again(home);
}"""


@pytest.fixture
def alive(page_of, view):
    """The page of a live view, whose model is window.model."""
    page = page_of('<!doctype html><html lang="en"><title>t</title><p>a notebook</p>', ready="p")
    traits = {"view": "table", "state": {}, "session": "one"}
    traits |= {name: base64.b64encode(getattr(view, name)).decode() for name in ("document", "blocks")}
    page.evaluate(LIVE, [base64.b64encode(module(traits["view"]).encode()).decode(), traits])
    page.wait_for_selector(ROW)
    still(page)
    return page


def test_views_of_one_page_hang_each_sheet_once_and_leave_those_of_others(alive):
    sheets = "() => [...document.querySelectorAll('style[data-jt-style]')].map(one => one.dataset.jtStyle)"
    alive.evaluate("""() => {
        const other = Object.assign(document.createElement("style"), {textContent: ".of-ranks {}"});
        other.dataset.jtStyle = "src/views/ranks/ranks.css";
        document.head.append(other);
        window.again(document.body.appendChild(document.createElement("div")));
    }""")
    still(alive)

    names = alive.evaluate(sheets)
    assert sorted(names) == ["src/shared.css", "src/style.css", "src/views/ranks/ranks.css"]
    assert alive.locator("style[data-jt-style*=ranks]").inner_html() == ".of-ranks {}"


def test_state_is_kept_in_the_model_and_a_second_render_finds_it(alive):
    alive.locator(ROW).nth(4).click()
    alive.wait_for_function("() => window.model.saves === 1")
    assert alive.evaluate("() => window.model.get('state')") == {"row": 4}

    alive.evaluate("() => { window.end(); document.querySelector('main').replaceChildren(); }")
    assert alive.evaluate("() => window.model.listeners()") == 0
    alive.evaluate("() => { window.end = window.again(document.querySelector('main')); }")

    alive.wait_for_selector("tr.jt-on")
    assert alive.locator("tr.jt-on").inner_text() == alive.locator(ROW).nth(4).inner_text()


def test_state_that_python_sets_is_shown(alive):
    alive.evaluate("() => window.model.set('state', {row: 2})")

    alive.wait_for_selector("tr.jt-on")
    assert alive.locator("tr.jt-on").inner_text() == alive.locator(ROW).nth(2).inner_text()


def test_a_new_document_is_drawn_in_the_same_place(alive):
    recording = small()
    recording.page["graph"]["nodes"][0]["name"] = "fresh"
    alive.evaluate(
        "text => window.model.set('document', window.model.bytes(text))",
        base64.b64encode(View(recording).document).decode(),
    )

    alive.get_by_text("fresh", exact=True).wait_for()
    assert alive.locator(".jt-view:visible").count() == 1


def test_a_bad_document_comes_and_goes(alive):
    good = alive.evaluate("() => { window.good = window.model.get('document'); return window.good.byteLength; }")
    alive.evaluate("() => window.model.set('document', new DataView(new ArrayBuffer(9)))")
    alive.get_by_role("alert").wait_for()

    alive.evaluate("() => window.model.set('document', window.good)")

    alive.wait_for_selector(ROW)
    assert alive.get_by_role("alert").count() == 0
    assert good > 100


EMPTY = "() => window.model.set('document', new DataView(new ArrayBuffer(0)))"


def test_a_view_whose_document_was_lost_on_the_way_asks_for_it_once(alive):
    alive.evaluate("() => { window.good = window.model.get('document'); }")

    alive.evaluate(EMPTY)
    alive.get_by_text("Waiting for the document").wait_for()
    assert alive.locator(ROW).count() == 0
    assert alive.evaluate("() => window.model.sent") == [{"again": True}]
    alive.evaluate("() => window.model.set('document', window.good)")
    alive.wait_for_selector(ROW)
    assert alive.get_by_text("Waiting for the document").count() == 0

    alive.evaluate(EMPTY)
    alive.get_by_role("alert").filter(has_text="This page is empty").wait_for()
    assert alive.evaluate("() => window.model.sent.length") == 1


def test_a_document_that_never_comes_is_said_to_be_missing(alive):
    stop_clock(alive)
    alive.evaluate(EMPTY)
    alive.get_by_text("Waiting for the document").wait_for()

    alive.clock.fast_forward(9_000)
    assert alive.get_by_role("alert").count() == 0
    alive.clock.fast_forward(2_000)

    alive.get_by_text("This page is empty").wait_for()


def test_a_view_that_is_closed_hears_nothing_more(alive):
    alive.evaluate("() => { window.old = document.querySelector('.jt-rows'); window.end(); }")
    alive.evaluate("() => window.again(document.body.appendChild(document.createElement('div')))")
    alive.locator(ROW).nth(1).click()

    assert alive.locator("tr.jt-on").count() == 1
    assert alive.evaluate("() => window.old.querySelectorAll('.jt-on').length") == 0


def test_two_views_of_one_session_light_up_together(alive):
    alive.evaluate("() => window.again(document.body.appendChild(document.createElement('div')))")
    alive.wait_for_function("() => document.querySelectorAll('.jt-rows').length === 2")

    alive.locator(ROW).nth(1).click()

    assert alive.locator("tr.jt-on").count() == 2


@pytest.mark.parametrize("rest", ["!!! no base64", "AAAAA"])
def test_a_page_whose_document_is_no_base64_says_so(page_of, rest):
    page = html_of(small().page)
    begin = page.index('id="jt-document">') + len('id="jt-document">')

    shown = page_of(page[:begin] + rest + page[page.index("</script>", begin) :])

    assert "damaged or cut off" in shown.get_by_role("alert").inner_text()


def test_a_summary_of_a_hundred_thousand_letters_is_cut(page_of, geometry):
    page = page_of(html_of(changed(small(), lambda page: page.update(summary="N" * 100_000)), small().blocks))

    summary = page.locator(".jt-summary")

    assert summary.inner_text().endswith("N…")
    assert summary.bounding_box()["width"] < 1000
    assert "N" * 1000 in summary.get_attribute("title")
    assert geometry(page) == []
