"""Names: what does a name of the text stand for, and what is the same thing called here?

F.relu, after `import torch.nn.functional as F`   stands for torch.nn.functional.relu, which is nn.relu here
torch.foo                                         is refused, with what to write, where the door of jt knows it
"""

from __future__ import annotations

import ast
import sys
import typing
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from jt_edu.base.errors import JtError

jt: Any = sys.modules["jt_edu"]  # the door, which knows what is there, and so is there
TORCH = ("torch", "torchvision")
USUAL = {  # what these names mean in a text that does not import them
    "torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "init": "torch.nn.init",
    "Tensor": "torch.Tensor", "np": "numpy",
}  # fmt: skip
STANDARD = {  # and these: who imports them
    **dict.fromkeys(typing.__all__, "typing"),
    "partial": "functools", "OrderedDict": "collections", "namedtuple": "collections", "dataclass": "dataclasses",
    "math": "", "warnings": "", "copy": "",
}  # fmt: skip
ROOMS = (  # where a name of PyTorch may be here; the first that has it counts
    ("torch.nn.functional.", ("nn.", "nn.functional.")),
    ("torch.nn.init.", ("init.",)),
    ("torch.nn.parameter.", ("nn.",)),
    ("torch.nn.modules.", ("nn.modules.",)),
    ("torch.nn.", ("nn.",)),
    ("torchvision.models.", ("jt.models.",)),
    ("torchvision.transforms.", ("jt.transform.",)),
    ("torchvision.datasets.", ("jt.dataset.",)),
    ("torch.", ("jt.",)),
)
NAMES = {  # the same thing under another name
    "torch": "jt", "torch.nn": "nn", "torch.nn.functional": "nn.functional", "torch.nn.init": "init",
    "torch.Tensor": "jt.Var", "torch.int": "jt.int32", "torch.cat": "jt.concat", "torch.nn.Conv2d": "nn.Conv",
    "torch.nn.ConvTranspose2d": "nn.ConvTranspose", "torch.nn.BatchNorm2d": "nn.BatchNorm",
}  # fmt: skip
WITHOUT = {  # what has another meaning here, or none: what to do
    "torch.trace": "x.diagonal().sum(): jt.trace records what runs",
    "torch.jit": "leaving it out: jt.compile takes a whole step",
}


class Refused(Exception):  # noqa: N818 - convert makes an error of all of them
    """Why a piece of the text has no counterpart, and what to try."""


def here(name: str) -> Any:
    """What one of our names stands for: "nn.Pool"."""
    first, *rest = name.split(".")
    value = {"jt": jt, "nn": jt.nn, "init": jt.nn.init}[first]
    for part in rest:
        value = getattr(value, part)
    return value


def ours(path: str) -> str:
    """Our name for one of PyTorch's: "torch.nn.functional.relu" -> "nn.relu"."""
    if path in NAMES:
        return NAMES[path]
    for refused, attempt in WITHOUT.items():
        if path == refused or path.startswith(refused + "."):
            raise Refused(f"{refused} means something else here, or nothing", attempt)
    prefix, rooms = next(((p, r) for p, r in ROOMS if path.startswith(p)), ("", ()))
    error = None
    for room in rooms:
        try:
            here(room + path.removeprefix(prefix))
        except AttributeError as caught:
            error = caught
        else:
            return room + path.removeprefix(prefix)
    if isinstance(error, JtError):
        raise Refused(error.asked, error.attempt)
    raise Refused(f"jt_edu has no {path}", "another function, or pjmap_append of a rule for it")


def stored(tree: ast.AST) -> Iterator[str]:
    """Names that the text itself binds, other than by an import of PyTorch."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)):
            yield node.name or ""


def imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """What each import binds: name, path."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.asname or name.name.split(".")[0], name.name if name.asname else name.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                yield name.asname or name.name, f"{'.' * node.level}{node.module or ''}.{name.name}"


def is_torch(path: str) -> bool:
    """Whether a path begins at PyTorch, or at torchvision.

    Example:
        >>> is_torch("torch.nn"), is_torch("numpy")
        (True, False)
    """
    return path.partition(".")[0] in TORCH


def is_a_value(path: str) -> bool:
    """Whether that name of PyTorch is a class or a function here, and no module; so what follows it is looked up there.

    Example:
        >>> is_a_value("torch.nn.Linear"), is_a_value("torch.nn"), is_a_value("torch.foo")
        (True, False, False)
    """
    try:
        return is_torch(path) and not isinstance(here(ours(path)), ModuleType)
    except Refused:
        return False


def standard(tree: ast.AST) -> Iterator[str]:
    """Imports of what the text uses and neither binds nor imports, such as typing's names around one class alone.

    Example:
        >>> list(standard(ast.parse("x: Optional[int] = math.prod(n)")))
        ['from typing import Optional', 'import math']
    """
    known = {*stored(tree), *(name for name, _ in imported(tree))}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - known
    for name in sorted(used & STANDARD.keys()):
        yield f"from {STANDARD[name]} import {name}" if STANDARD[name] else f"import {name}"
