"""Converter: a text for PyTorch is read, rewritten and told of.

The text is never run. What cannot be written is told at once, with its lines, and nothing is written then.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from textwrap import dedent
from typing import Any

from jt_edu.base.errors import ArgumentError, JtError
from jt_edu.introspect.folded_html import fold, lines, page, source
from jt_edu.pytorch_converter.names import here, standard
from jt_edu.pytorch_converter.rewriter import Change, Rewriter
from jt_edu.pytorch_converter.rules import Rule, from_dict, parameters_of

HEAD = ("import jt_edu as jt", "from jt_edu import init", "from jt_edu import nn")
MOST = 5  # refusals that one error tells
_mine: dict[str, Rule] = {}  # what pjmap_append added


class ConversionError(JtError, ValueError):
    """A text that has no counterpart here: its lines, why, and what to write there.

    Example:
        >>> convert("y = torch.trace(x)")
        Traceback (most recent call last):
        ConversionError: torch.trace means something else here; found torch.trace, in line 1. Try: x.diagonal().sum()...
    """


class Converted(str):
    """A text for jt_edu: a str. `changes` has what became of which piece, and a notebook shows them line by line.

    Example:
        >>> convert("y = torch.cat([a, b], 1)").changes[0]
        Change(line=1, before='torch.cat([a, b], 1)', after='jt.concat([a, b], dim=1)')
    """

    changes: list[Change]
    original: str

    def _repr_html_(self) -> str:
        rows = ["", *self.original.split("\n")]
        by_line: dict[int, list[str]] = {}
        for line, before, after in self.changes:
            by_line.setdefault(line, []).append(f"{before}\n  becomes  {after}")
        told = [fold(f"{n}", rows[n].strip(), lines("\n".join(found))) for n, found in sorted(by_line.items())]
        return page(source("\n".join("    " + row for row in self.split("\n"))), *told)


def convert(code: str, ex_pjmaps: Mapping[str, Any] | None = None) -> Converted:
    """Write a model for jt_edu that is written for PyTorch. Comments are lost.

    Args:
        code: the source: a file, or a class from `inspect.getsource`.
        ex_pjmaps: more rules for calls, as Jittor writes them: {name: {"pytorch": {"args": ...}, "jittor": ...}}.

    Raises:
        ConversionError: the text is no Python, or something in it has no counterpart here.

    Example:
        >>> print(convert("y = F.relu(x.view(x.size(0), -1))"))
        import jt_edu as jt
        from jt_edu import init
        from jt_edu import nn
        y = nn.relu(x.view((x.shape[0], -1)))

    Source:
        jittor.utils.pytorch_converter.convert.
    """
    if not isinstance(code, str):
        raise ArgumentError("convert takes a text", type(code).__name__, "inspect.getsource(...)")
    text = dedent(code)
    with _readable():
        tree = ast.parse(text)
        walk = Rewriter(tree, _mine | from_dict(ex_pjmaps))
        tree = walk.visit(tree)
        if walk.refused:
            raise _told(walk.refused)
        _begin(tree)
        found = Converted(ast.unparse(ast.fix_missing_locations(tree)))
    found.changes, found.original = sorted(walk.changes), text
    return found


@contextmanager
def _readable() -> Iterator[None]:
    """Tell in our words what Python says of a text that it cannot read."""
    try:
        yield
    except JtError:
        raise
    except (SyntaxError, ValueError) as error:
        where = f", in line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise ConversionError("the text is no Python", f"{error.args[0]}{where}", "running it first") from None
    except (RecursionError, MemoryError):
        raise ConversionError("the text is nested more deeply than Python can read", "that", "less of it") from None


def _begin(tree: ast.Module) -> None:
    """Our imports, after a docstring and what must come first."""
    place = int(ast.get_docstring(tree) is not None)
    while place < len(tree.body) and getattr(tree.body[place], "module", "") == "__future__":
        place += 1
    tree.body[place:place] = [ast.parse(line).body[0] for line in (*HEAD, *standard(tree))]


def _told(refused: list[tuple[int, str, Any]]) -> ConversionError:
    """All of it in one error, the first with its way out."""
    (line, piece, why), *others = sorted(refused, key=lambda each: each[0])
    error = ConversionError(str(why.args[0]), f"{piece}, in line {line}", str(why.args[1]))
    rows = [f"\n  line {n}, {piece}: {why.args[0]}" for n, piece, why in others[: MOST - 1]]
    rest = len(others) - len(rows)
    error.args = (error.args[0] + "".join(rows) + f"\n  and {rest} more" * (rest > 0),)
    return error


def pjmap_append(
    pytorch_func_name: str, pytorch_args: str, jittor_func_module: str, jittor_func_name: str, jittor_args: str,
    extras: Mapping[str, str] | None = None, links: Mapping[str, str] | None = None,
    delete: Iterable[str] | None = None,
) -> None:  # fmt: skip
    """Add a rule for calls of a function or a layer, by the last part of its name. It counts before all others.

    Args:
        pytorch_func_name, pytorch_args: its name, and its parameters as they are written in Python, defaults too.
        jittor_func_module, jittor_func_name, jittor_args: the same for the call that is written in its place.
        extras: arguments that are added, as source.
        links: the name here of an argument there.
        delete: arguments that are left out.

    Example:
        >>> pjmap_append("LPPool2d", "norm, size", "nn", "Pool", "size, op=''", {"op": "'mean'"}, delete=["norm"])
        >>> print(convert("pool = nn.LPPool2d(1, 2)").splitlines()[-1])
        pool = nn.Pool(2, op='mean')

    Source:
        jittor.utils.pytorch_converter.pjmap_append.
    """
    target = f"{jittor_func_module}.{jittor_func_name}".strip(".")
    rule = Rule(pytorch_args, target, jittor_args, dict(extras or {}), dict(links or {}), tuple(delete or ()))
    for text in (pytorch_args, jittor_args):
        parameters_of(text)
    for text in (target, *rule.extras.values()):
        try:
            ast.parse(text, mode="eval")
        except (SyntaxError, ValueError, TypeError):
            raise ArgumentError("a rule is written in Python", repr(text), "\"'mean'\" for a text") from None
    if target.split(".")[0] in ("jt", "nn", "init"):
        here(target)  # or the error that says what is meant
    _mine[pytorch_func_name] = rule
