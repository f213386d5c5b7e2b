"""View, without a browser: what is sent, what is answered, and what a reader without widgets sees."""

import base64
import gzip
import json
import re
import threading

import numpy as np
import pytest

import jt_edu as jt
import jt_widgets as w
from jt_widgets import View, bundle
from tests.widgets.records import small


class Adder(View):
    """Answers sums."""

    def answer(self, message):
        if message["do"] == "shapes":
            return {"shape": (2, np.int64(3))}
        return {"sum": message["a"] + message["b"]}


def ask(view, message, name="7"):
    """What the view sends when the browser asks."""
    sent = []
    view.send = sent.append
    view._hear(view, {"id": name, "ask": message}, [])
    return sent


def test_the_document_is_the_page_of_the_recording():
    recording = small()

    view = View(recording)

    assert json.loads(gzip.decompress(view.document)) == json.loads(json.dumps(recording.page))
    assert gzip.decompress(view.blocks) == recording.blocks
    assert view.view == "table"


def test_the_same_recording_is_the_same_bytes():
    recording = small()

    assert View(recording).document == View(recording).document


def test_the_state_comes_from_the_caller():
    assert View(small(), row=3).state == {"row": 3}


def test_another_recording_takes_the_place_of_the_first():
    view = View(small())
    first = view.document

    view.show_again(jt.recording(jt.array([1.0]) + 1, run=False))

    assert view.document != first
    assert "A graph of 3 nodes" in view.summary


def test_a_question_is_answered_under_its_number():
    assert ask(Adder(small()), {"do": "add", "a": 1, "b": 2}) == [{"id": "7", "reply": {"sum": 3}}]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"do": "add", "a": 1}, "KeyError: 'b'"),
        ({"do": "add", "a": 1, "b": "x"}, "TypeError: unsupported operand"),
        ({"do": "shapes"}, "TypeError: Object of type int64 is not JSON serializable"),
        ({"do": "add", "a": float("nan"), "b": 1}, "ValueError: Out of range float values"),
    ],
)
def test_what_goes_wrong_is_an_answer_too(message, words):
    (sent,) = ask(Adder(small()), message)

    assert sent["id"] == "7"
    assert sent["error"].startswith(words)


def test_a_view_that_answers_nothing_says_so():
    (sent,) = ask(View(small()), {"do": "dance"})

    assert "the view 'table' takes no questions" in sent["error"]
    assert "dance" in sent["error"]


@pytest.mark.parametrize("content", [None, [], {}, {"ask": 3}, {"id": "1"}, {"ask": ["do"]}])
def test_messages_that_are_no_questions_are_left_alone(content):
    view, sent = View(small()), []
    view.send = sent.append

    view._hear(view, content, [])

    assert sent == []


def test_one_question_is_answered_at_a_time():
    inside, most, start = [], [], threading.Barrier(4)

    class Slow(View):
        def answer(self, message):
            inside.append(1)
            most.append(len(inside))
            threading.Event().wait(0.01)
            inside.pop()
            return {}

    views = [Slow(small()) for _ in range(4)]

    def run(view):
        start.wait()
        ask(view, {})

    threads = [threading.Thread(target=run, args=(view,)) for view in views]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == [1, 1, 1, 1]


def test_a_cell_has_a_live_view_a_picture_and_a_text():
    view = View(small())

    data, _ = view._repr_mimebundle_()

    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == view.model_id
    assert repr(view) == view.recording.text
    assert data["text/plain"].startswith("A graph of 7 nodes in 1 kernel")
    assert "data:image/svg+xml;base64," in data["text/html"]
    assert "multiply" in data["text/html"]


@pytest.mark.parametrize("length", [10, 40, 400])
def test_what_a_notebook_keeps_beside_the_document_is_small(length):
    y = x = jt.array(np.ones((4, 4), np.float32))
    for _ in range(length):
        y = y * x + 1
    view = View(jt.recording(y, run=False))

    data, _ = view._repr_mimebundle_()
    snapshot = view.snapshot().html

    assert len(json.dumps(data)) + len(view._esm) < 200_000  # nbclient keeps the module, too
    assert len(snapshot) - len(base64.b64encode(view.document)) < 200_000
    assert ("<img" in snapshot) == (len(view.picture_svg()) <= 56_000)
    assert ("more lines: print the view" in data["text/plain"]) == (length > 10)


def test_a_page_is_one_file_that_may_fetch_nothing(tmp_path):
    view = View(small(), row=2)

    page = view.save(tmp_path / "page.html").read_text(encoding="utf-8")

    assert "default-src 'none'" in page
    assert set(re.findall(r'(?:src|href)="(.*?)["?,:]', page)) == {"data"}
    assert base64.b64encode(view.document).decode() in page
    assert "&quot;row&quot;: 2" in page


def test_a_view_is_saved_as_html_only(tmp_path):
    with pytest.raises(jt.ArgumentError, match=r"\.png"):
        View(small()).save(tmp_path / "page.png")


def test_a_snapshot_is_plain_html_with_picture_table_and_page():
    snapshot = View(small()).snapshot()
    html = snapshot._repr_html_()
    without_frame = re.sub("<iframe.*</iframe>", "", html, flags=re.DOTALL)

    assert 'sandbox="allow-scripts"' in html
    assert "data:image/svg+xml;base64," in without_frame
    assert "multiply" in without_frame
    assert "<script" not in without_frame
    assert repr(snapshot).startswith("A graph of 7 nodes")


def test_names_of_strangers_are_no_markup(tmp_path):
    recording = small()
    recording.page["summary"] = '</title><script>alert("1")</script>'
    recording.page["graph"]["nodes"][0]["name"] = "</script><img src=x onerror=alert(1)>"

    view = View(recording)
    page = view.save(tmp_path / "page.html").read_text(encoding="utf-8")

    assert "alert(1)>" not in page
    assert 'alert("1")' not in page
    assert 'alert("1")' not in view.snapshot().html


def test_a_page_that_cannot_be_saved_leaves_the_one_that_was_there(tmp_path, monkeypatch):
    view, path = View(small()), tmp_path / "page.html"
    view.save(path)
    before = path.read_bytes()

    def fail(self, target):
        raise OSError("no room")

    monkeypatch.setattr(type(path), "replace", fail)
    with pytest.raises(OSError, match="no room"):
        view.save(path)

    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_names_that_no_encoding_holds_are_saved_with_a_mark(tmp_path):
    x = jt.array([1.0, 2.0])
    x.name = "a\ud800"

    saved = w.tape((x * x).sum(), [x]).save(tmp_path / "page.html")

    assert "a?" in saved.read_text(encoding="utf-8")


def test_a_page_that_a_browser_would_refuse_is_refused_at_once(monkeypatch):
    monkeypatch.setattr(bundle, "MOST_BYTES", 100)

    with pytest.raises(jt.ArgumentError, match="at most 64 MB"):
        View(small())


def test_a_view_opens_with_its_document(monkeypatch):
    sent = []
    monkeypatch.setattr(View, "open", lambda view: sent.append(bool(view.document)))

    View(small())

    assert sent == [True]
