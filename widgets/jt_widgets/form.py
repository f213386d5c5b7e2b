"""Form: how does a notebook fill in a command line?

    form = parser.to_widgets()       a widget for each argument, and the command line as text
    a widget is changed              its words change in the text
    the text is changed              the widgets follow
    form.namespace                   what parser.parse_args makes of the text

The parser reads the text each time, so what it would refuse in a terminal it refuses here: its message stands below
the form, and nothing exits.
"""

from __future__ import annotations

import argparse
import shlex
from html import escape
from typing import Any

import ipywidgets as widgets

from jt_edu.base.errors import ArgumentError
from jt_widgets.form_fields import Field, Times
from jt_widgets.form_words import parsed, written

WHOLE = {"description_width": "initial"}  # a program's name may be long, and is not cut


def form(parser: argparse.ArgumentParser) -> Form:
    """The form of a parser, also of Python's own argparse.ArgumentParser; `parser.to_widgets()` of ours gives the same.

    Args:
        parser: whose command line is filled in: `command_line` is its text, `namespace` what the parser makes of it.

    Raises:
        ArgumentError: no parser.

    Example:
        >>> import argparse; parser = argparse.ArgumentParser()
        >>> _ = parser.add_argument("--lr", type=float, default=0.1); form(parser).namespace
        Namespace(lr=0.1)
    """
    if not isinstance(parser, argparse.ArgumentParser):
        raise ArgumentError("a form is that of an ArgumentParser", type(parser).__name__, "jt_widgets.form(parser)")
    return Form(parser)


class Form(widgets.VBox):
    """Widgets for the arguments of a parser, and the text of its command line below them."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser, self.busy = parser, False
        self.parsed: argparse.Namespace | None = None
        self.message = ""
        there = [a for a in parser._actions if not isinstance(a, argparse._HelpAction | argparse._VersionAction)]
        self.fields = {id(action): Field(action, self._field_changed, parser.prog) for action in there}
        self.line = widgets.Text(description=parser.prog, continuous_update=False, style=WHOLE)
        self.line.layout.width = "95%"
        self.told = widgets.HTML()
        self.line.observe(lambda _: self._line_changed(), "value")
        about = [widgets.HTML(f"<p>{escape(parser.description)}</p>")] if parser.description else []
        super().__init__([*about, *self._groups(), self.line, self.told])
        self._line_changed()

    @property
    def command_line(self) -> str:
        """The text, without the name of the program; it can be set."""
        return str(self.line.value)

    @command_line.setter
    def command_line(self, text: str) -> None:
        self.line.value = text

    @property
    def namespace(self) -> argparse.Namespace:
        """What the parser makes of the text."""
        if self.parsed is None:
            raise ArgumentError("this form has no namespace yet", self.message.strip(), "another value in the form")
        return self.parsed

    def _groups(self) -> list[Any]:
        """A title, and the fields below it, for each group; what excludes each other says so."""
        shown = []
        for group in self.parser._action_groups:
            rows = [self.fields[id(a)].box for a in group._group_actions if self._visible(a)]
            if rows:
                shown += [widgets.HTML(f"<b>{escape(group.title or '')}</b> {escape(group.description or '')}"), *rows]
        for one in self.parser._mutually_exclusive_groups:
            names = " | ".join(self.fields[id(a)].option for a in one._group_actions if self._visible(a))
            shown.append(widgets.HTML(f"<i>{'exactly' if one.required else 'at most'} one of {escape(names)}</i>"))
        return shown

    def _visible(self, action: argparse.Action) -> bool:
        return id(action) in self.fields and action.help != argparse.SUPPRESS

    def _field_changed(self, field: Field) -> None:
        if self.busy:
            return
        try:
            field.times = field.read()
        except ValueError as error:  # a quotation that does not end
            self._tell(None, str(error))
            return
        self.line.value = shlex.join(written(self.parser, self.fields.values()))

    def _line_changed(self) -> None:
        """Read the text; where the parser takes it, the widgets follow."""
        found: dict[int, Times] = {}
        self._tell(*parsed(self.parser, self.command_line, found))
        if self.parsed is not None:
            self.busy = True
            try:
                for key, field in self.fields.items():
                    field.show(found.get(key, []), getattr(self.parsed, field.action.dest, None))
            finally:
                self.busy = False

    def _tell(self, namespace: argparse.Namespace | None, message: str) -> None:
        self.parsed, self.message = namespace, message
        hue = "" if namespace is not None else ' style="color:var(--jp-error-color1,#b00)"'
        self.told.value = f'<pre role="status"{hue}>{escape(message)}</pre>'
