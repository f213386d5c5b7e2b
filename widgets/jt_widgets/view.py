"""View: what is common to all views, on Python's side?

view = View(jt.recording(y))     a notebook shows it, alive
view.save("page.html")           one file that works without Jupyter
view.snapshot()                  for a notebook that is opened again without a kernel
print(view)                      the text form

A view sends one document and never draws. What the browser asks arrives at `answer`, one question at a time: which
thread brings it is Jupyter's choice, so an answer must not touch pyplot.
"""

from __future__ import annotations

import json
import threading
import uuid
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from jt_edu.base.errors import ArgumentError
from jt_edu.lens.recording import Recording
from jt_widgets.bundle import module, pack, pack_json, page_html, snapshot_html, static_html, write_whole
from jt_widgets.cells import cells

SESSION = uuid.uuid4().hex  # whose node ids these are
# What goes into a notebook along with a view, which may take 200 kB beside its document, half of them for its module.
LONGEST_SVG = 56_000  # bytes of a picture
MOST_LINES, MOST_LETTERS = 100, 160  # of a text
one_at_a_time = threading.RLock()  # answers of all views, for they share plans and traces


class View(anywidget.AnyWidget):
    """A recording, shown in a notebook. Its subclasses say which view draws it.

    Example:
        >>> import jt_edu as jt
        >>> view = View(jt.recording(jt.array([1.0, 2.0]) * 3))
        >>> view.view, len(view.document) > 100
        ('table', True)
    """

    kind = "table"  # which of the views in widgets/frontend/src/views

    _esm = traitlets.Unicode().tag(sync=True)
    view = traitlets.Unicode().tag(sync=True)
    document = traitlets.Bytes().tag(sync=True)
    blocks = traitlets.Bytes().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    session = traitlets.Unicode(SESSION).tag(sync=True)

    def __init__(self, recording: Recording, **state: Any) -> None:
        _check_state(state)
        self.show_again(recording)  # first: a view that opens without its document may be drawn without it
        super().__init__(view=self.kind, state=state, _esm=module(self.kind))
        self.on_msg(self._hear)
        cells.note(self, shown=False)

    def close(self) -> None:
        """Close the channels to the browser. A view that is shown again opens them again."""
        super().close()
        self.layout.close()
        for widget in (self, self.layout):
            vars(widget).pop("_repr_mimebundle_", None)  # where ipywidgets has put None

    def show_again(self, recording: Recording) -> None:
        """Show another recording in the same place."""
        self.recording = recording
        with self.hold_sync():
            self.document = pack_json(recording.page)
            self.blocks = pack(recording.blocks)

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """What the browser asked; what is raised here is shown in the view. Subclasses that answer override this."""
        raise ArgumentError(f"the view {self.kind!r} takes no questions", repr(message))

    def refresh(self) -> None:
        """Bring the document up to date before it is shown or saved. Subclasses whose document grows override this."""

    def static(self) -> str:
        """The view as HTML without scripts: a picture, and a table."""
        self.refresh()
        svg = self.picture_svg()
        text = "\n".join([_beginning(repr(self)), *self.recording.page["about"]])
        return static_html(self.summary, svg if len(svg) <= LONGEST_SVG else "", text)

    def picture_svg(self) -> str:
        """The static picture, or "" where there is none. Subclasses with another picture override this."""
        return self.recording.picture.svg

    @property
    def summary(self) -> str:
        """One sentence."""
        return str(self.recording.page["summary"])

    def save(self, path: str | Path) -> Path:
        """Write one file that shows the same, with the same interaction, in any browser, without Jupyter or network."""
        if not isinstance(path, (str, Path)):
            raise ArgumentError("a view is saved to a path", repr(path), '"view.html"')
        path = Path(path)
        if path.suffix.lower() != ".html":
            raise ArgumentError("a view is saved as .html", repr(path.suffix), f"{path.stem}.html")
        self.refresh()
        write_whole(path, self._page(self.static()))
        return path

    def snapshot(self) -> Snapshot:
        """The view as plain HTML, for a notebook that is opened again without a kernel."""
        self.refresh()
        return Snapshot(snapshot_html(self.summary, self._page(), self.static()), repr(self))

    def _page(self, static: str = "") -> str:
        return page_html(self.kind, self.summary, self.document, self.blocks, self.state, static)

    def _hear(self, _: object, content: dict[str, Any], __: object) -> None:
        if isinstance(content, dict) and content.get("again") is True:
            self.send_state(("document", "blocks"))  # the browser has none: a message was lost on the way
        elif isinstance(content, dict) and isinstance(content.get("ask"), dict):
            self.send({"id": content.get("id"), **self._reply(content["ask"])})

    def lock_for(self, message: dict[str, Any]) -> AbstractContextManager[Any]:
        """What is held while a question is answered. Subclasses whose answers take long override this."""
        del message
        return one_at_a_time

    def _reply(self, message: dict[str, Any]) -> dict[str, Any]:
        with self.lock_for(message):
            try:
                reply = self.answer(message)
                json.dumps(reply, allow_nan=False)  # what cannot travel is said here, not lost on the way
            except Exception as error:  # noqa: BLE001  whatever it is, the view must hear of it
                return {"error": f"{type(error).__name__}: {error}"}
            return {"reply": reply}

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The live view, and for readers without one its picture and table."""
        self.layout.open()
        self.open()
        cells.note(self, shown=True)
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return {**data, "text/html": self.static(), "text/plain": _beginning(repr(self))}, metadata

    def __repr__(self) -> str:
        return str(self.recording.text)


class Snapshot:
    """A view that needs no kernel: trusted notebooks run its page, all others show its picture and its table."""

    def __init__(self, html: str, text: str) -> None:
        self.html, self.text = html, text

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


def _check_state(state: dict[str, Any]) -> None:
    for name, value in state.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise ArgumentError("a view stores strings, numbers and lists", f"{name}={value!r}") from None


def _beginning(text: str) -> str:
    lines = [line if len(line) <= MOST_LETTERS else line[: MOST_LETTERS - 1] + "…" for line in text.splitlines()]
    rest = len(lines) - MOST_LINES
    return "\n".join(lines[:MOST_LINES] + [f"… and {rest:,} more lines: print the view"] * (rest > 0))
