"""Argument parser: which settings does a command line have, and which form in a notebook has the same ones?

    parser = jt.config.ArgumentParser(prog="train.py")       the standard library's
    parser.add_argument("--lr", type=float, default=0.1)
    form = parser.to_widgets()                               in a notebook
    args = form.namespace                                    as parser.parse_args() in a program

Nothing here knows Jupyter: the form stands in jt_widgets, and is looked for when somebody asks for it.
"""

from __future__ import annotations

import argparse
from pkgutil import resolve_name
from typing import Any

from jt_edu.config.errors import ConfigError


class ArgumentParser(argparse.ArgumentParser):
    """Python's argparse.ArgumentParser, and a form for notebooks.

    Example:
        >>> parser = jt.config.ArgumentParser(prog="train.py", prefix_chars="+")
        >>> _ = parser.add_argument("+lr", type=float, default=0.1)
        >>> parser.parse_args(["+lr", "0.5"])
        Namespace(lr=0.5)

    Source: https://docs.python.org/3/library/argparse.html.
    """

    def to_widgets(self) -> Any:
        """A form that mirrors a command line: `.command_line` is its text, `.namespace` what parse_args makes of it.

        Raises:
            ConfigError: ipywidgets is not installed.

        Example:
            >>> parser = jt.config.ArgumentParser(prog="train.py")
            >>> _ = parser.add_argument("--lr", type=float, default=0.1)
            >>> form = parser.to_widgets()
            >>> form.command_line = "--lr 0.5"
            >>> form.namespace
            Namespace(lr=0.5)
        """
        try:
            form = resolve_name("jt_widgets.form:Form")
        except ModuleNotFoundError as missing:
            lacks = f"no package {missing.name}"
            raise ConfigError("a form is drawn by ipywidgets", lacks, f"%pip install {missing.name}") from None
        return form(self)
