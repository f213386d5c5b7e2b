"""Form fields: which widget stands for an argument, and which words of a command line does it write?

    flag, switch                    a box to tick; --x or --no-x to choose
    choices                         a list to choose from
    count, append_const             how often
    append, extend                  a line for each time
    nargs "?" or "*" of an option   a box for the option, and a text for its values
    anything else                   a text, empty where the argument is left out

`times` of a field are the words of each time that its argument stands on the command line.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable
from html import escape
from itertools import islice
from typing import Any

import ipywidgets as widgets

Times = list[list[str]]
MOST_CHOICES = 200
WIDE = {"description_width": "11em"}


class Field:
    """The widgets of one argument."""

    def __init__(self, action: argparse.Action, changed: Callable[[Field], None], prog: str) -> None:
        self.action, self.times = action, list[list[str]]()
        self.option = next((o for o in action.option_strings if o[:1] == o[1:2]), "".join(action.option_strings[:1]))
        name = self.option or str(action.metavar or ("|".join(_choices(action)) or action.dest))
        words = {"description": name + " *" * (action.required is True), "style": WIDE}
        self.tick, self.repeats = None, isinstance(action, argparse._AppendAction)
        self.words = self._words(words | {"layout": widgets.Layout(width="24em")})
        if action.nargs in {"?", "*"} and self.option:
            self.tick = widgets.Checkbox(indent=False, layout=widgets.Layout(width="2em"))
        parts = [self.words] if self.tick is None else [self.tick, self.words]
        told = argparse.HelpFormatter(prog)._expand_help(action) if action.help else ""
        self.box = widgets.HBox([*parts, widgets.HTML(f"<small>{escape(told)}</small>")])
        for part in parts:
            part.observe(self._tied, "value")
            part.observe(lambda _: changed(self), "value")

    def _tied(self, change: Any) -> None:
        """A text ticks its box; a box that is no longer ticked has no text."""
        if change.owner is self.tick and not change.new:
            self.words.value = ""
        elif self.tick is not None and change.new:
            self.tick.value = True

    def _words(self, given: dict[str, Any]) -> Any:
        action, left_out = self.action, _default(self.action)
        if isinstance(action, argparse.BooleanOptionalAction):
            return widgets.Dropdown(options=_offered(left_out, action.option_strings), **given)
        if isinstance(action, argparse._CountAction | argparse._AppendConstAction):
            return widgets.BoundedIntText(min=0, **given)
        if action.nargs == 0:
            return widgets.Checkbox(**given)
        choices = [] if self.repeats or action.nargs not in {None, "?"} else _choices(action)
        if choices and not (self.option and action.nargs):
            return widgets.Dropdown(options=_offered(left_out, choices), **given)
        kind = widgets.Textarea if self.repeats else widgets.Text
        return kind(placeholder=left_out, continuous_update=False, **given)

    def read(self) -> Times:
        """What the widgets say now."""
        value = self.words.value
        if isinstance(value, int):  # a bool is one, too
            return [[] for _ in range(value)]
        if self.repeats:
            return [shlex.split(line) for line in value.splitlines() if line.strip()]
        if isinstance(self.action, argparse.BooleanOptionalAction):
            return [[value]] if value else []
        several = [value] * bool(value) if self.action.nargs in {None, "?"} else shlex.split(value)
        return [several] if (value if self.tick is None else self.tick.value) else []

    def show(self, times: Times, value: Any) -> None:
        """Let the widgets say what stands on a command line; `value` is what the parser made of it."""
        self.times = times
        last = times[-1] if times else []
        if self.tick is not None:
            self.tick.value = bool(times)
        if isinstance(self.action, argparse.BooleanOptionalAction):
            self.times = [[_spelled(self.action, value)]] if times else []
            self.words.value = self.times[0][0] if times else ""
        elif isinstance(self.words, widgets.Checkbox):
            self.words.value = bool(times)
        elif isinstance(self.words, widgets.BoundedIntText):
            self.words.value = len(times)
        elif isinstance(self.words, widgets.Dropdown):
            offered = [word for _, word in self.words.options]
            self.words.value = next((word for word in (*last, str(value)) if word in offered and times), "")
        elif self.repeats:
            self.words.value = "\n".join(map(shlex.join, times))
        else:
            self.words.value = "".join(last) if self.action.nargs in {None, "?"} else shlex.join(last)


def _offered(left_out: str, words: Iterable[str]) -> list[tuple[str, str]]:
    return [(left_out, ""), *((word, word) for word in words)]


def _choices(action: argparse.Action) -> list[str]:
    try:
        found = [str(one) for one in islice(iter(action.choices or ()), MOST_CHOICES + 1)]
    except TypeError:
        return []
    return found if len(found) <= MOST_CHOICES else []


def _default(action: argparse.Action) -> str:
    return "" if action.default in (None, argparse.SUPPRESS) else str(action.default)


def _spelled(action: argparse.Action, value: Any) -> str:
    return next((o for o in action.option_strings if o.startswith("--no-") is not bool(value)), "")
