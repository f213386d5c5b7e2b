"""Form words: which words of a command line do the fields of a form write, and what does the parser make of a text?"""

from __future__ import annotations

import argparse
import contextlib
import io
import shlex
from collections.abc import Iterable
from typing import Any

from jt_widgets.form_fields import Field, Times

LAST = (argparse.PARSER, argparse.REMAINDER)  # after these no word is anybody else's


def written(parser: argparse.ArgumentParser, fields: Iterable[Field]) -> list[str]:
    """The words that the fields write: positions first, unless one looks like an option."""
    options, places, last = list[str](), list[str](), list[str]()
    for field in fields:
        for time in field.times:
            if not field.option:
                (last if field.action.nargs in LAST else places).extend(time)
            elif isinstance(field.action, argparse.BooleanOptionalAction):
                options += time
            elif len(time) == 1 and time[0][:1] in {*parser.prefix_chars}:
                options.append(f"{field.option}={time[0]}")
            else:
                options += [field.option, *time]
    if any(word[:1] in {*parser.prefix_chars} for word in places):
        return [*options, "--", *places, *last]
    return [*places, *options, *last]


def parsed(
    parser: argparse.ArgumentParser, text: str, found: dict[int, Times]
) -> tuple[argparse.Namespace | None, str]:
    """(what the parser makes of a text or None, what it says); `found` gets the words of each argument."""
    values, said = parser._get_values, io.StringIO()

    def noted(action: argparse.Action, words: list[str]) -> Any:
        value = values(action, words)  # takes "--" out of the words
        if words or action.option_strings:
            found.setdefault(id(action), []).append(list(words))
        return value

    parser._get_values = noted  # type: ignore[method-assign]
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            namespace = parser.parse_args(shlex.split(text))
    except SystemExit:
        return None, said.getvalue()
    except Exception as error:  # noqa: BLE001  what an argument's type raised
        return None, f"{type(error).__name__}: {error}"
    finally:
        del parser._get_values
    return namespace, repr(namespace)
