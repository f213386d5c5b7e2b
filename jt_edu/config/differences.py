"""Differences: what does an experiment change?

    print(diff(cfg, defaults))        MODEL.DEPTHS: [2, 2, 6, 2] -> [2, 2, 18, 2]
    diff(cfg, defaults)               in a notebook the whole tree, with the changes marked

A function, and no method of CfgNode: a config may have a setting of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from jt_edu.base.plural import plural
from jt_edu.introspect.folded_html import fold, page

Changes = Mapping[str, tuple[Any, Any]]


class Differences(dict[str, tuple[Any, Any]]):
    """{path: (value before, value now)}; `...` stands where one of them has no such setting.

    Example:
        >>> jt.config.Differences({"LR": (0.1, 0.2)}, {"LR": 0.2})
        LR: 0.1 -> 0.2
    """

    def __init__(self, changes: Changes, tree: Mapping[str, Any]) -> None:
        super().__init__(changes)
        self.tree = tree

    def __repr__(self) -> str:
        return (
            "\n".join(f"{path}: {_told(before)} -> {_told(now)}" for path, (before, now) in self.items())
            or "no differences"
        )

    def _repr_html_(self) -> str:
        return html(self.tree, self)


def diff(cfg: Mapping[str, Any], other: Mapping[str, Any]) -> Differences:
    """What `cfg` has otherwise than `other`: {path: (value in other, value in cfg)}, sorted.

    Args:
        cfg: the config of an experiment.
        other: what it is compared with, such as the defaults; `...` stands for a setting that one of them lacks.

    Example:
        >>> cfg = jt.config.CfgNode({"LR": 0.1, "MODEL": {"DEPTHS": [2, 2, 6, 2]}})
        >>> mine = cfg.clone()
        >>> mine.MODEL.DEPTHS = [2, 2, 18, 2]
        >>> jt.config.diff(mine, cfg)
        MODEL.DEPTHS: [2, 2, 6, 2] -> [2, 2, 18, 2]
    """
    now, before = _leaves(cfg, ""), _leaves(other, "")
    pairs = {path: (before.get(path, ...), now.get(path, ...)) for path in sorted({*now, *before})}
    return Differences({path: pair for path, pair in pairs.items() if _differ(*pair)}, cfg)


def html(tree: Mapping[str, Any], changes: Changes | None = None) -> str:
    """A tree that opens and closes; changes are marked, and what holds one is open.

    Example:
        >>> "<mark>0.2</mark>" in html({"LR": 0.2}, {"LR": (0.1, 0.2)})
        True
    """
    found = changes or {}
    gone = [_row(path, ..., (before, now)) for path, (before, now) in found.items() if now is ...]
    return page(*_rows(tree, "", found, shown=not found), *gone)


def _rows(node: Mapping[str, Any], prefix: str, changes: Changes, *, shown: bool) -> list[str]:
    rows = []
    for key, value in sorted(node.items(), key=lambda pair: str(pair[0])):
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            inside = sum(change == path or change.startswith(f"{path}.") for change in changes)
            words = plural(len(value), "setting") + f", {inside} changed" * bool(inside)
            below = _rows(value, f"{path}.", changes, shown=shown)
            rows.append(fold(str(key), words, *below, shown=shown or inside > 0))
        else:
            rows.append(_row(str(key), value, changes.get(path)))
    return rows


def _row(name: str, value: Any, change: tuple[Any, Any] | None) -> str:
    text = escape(_told(value), quote=False)
    if change is not None:
        text = f"<mark>{text}</mark> <small>before: {escape(_told(change[0]), quote=False)}</small>"
    return f"<div><b>{escape(name, quote=False)}</b>  {text}</div>"


def _told(value: Any) -> str:
    return "..." if value is ... else repr(value)  # which Python calls Ellipsis


def _leaves(node: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """{path: value}; a node without settings is a value."""
    found: dict[str, Any] = {}
    for key, value in node.items():
        inside = isinstance(value, Mapping) and value
        found |= _leaves(value, f"{prefix}{key}.") if inside else {f"{prefix}{key}": value}
    return found


def _differ(before: Any, now: Any) -> bool:
    return type(before) is not type(now) or before != now
