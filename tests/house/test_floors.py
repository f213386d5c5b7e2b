"""Imports point downstairs: the core is one straight line, and anyone can read it from the ground up."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.house.plan import CORE_LIBRARIES, LATE_IMPORTS, LIBRARIES_OF, ROOT, TYPING_ONLY
from tests.house.tree import Module, hold, modules, place, room


@dataclass(frozen=True)
class Import:
    """One name that a module imports. `target` is inside the package ("graph"); `library` is outside ("numpy")."""

    module: Module
    node: ast.stmt
    target: str | None
    library: str | None
    late: bool  # inside a function
    typing: bool  # under `if TYPE_CHECKING`

    def __str__(self) -> str:
        return (
            f"{self.module.at(self.node)}: {self.module.name or 'the front door'} imports {self.target or self.library}"
        )


def imports(module: Module, names: set[str]) -> Iterator[Import]:
    """Every import of the module. `names` are all modules of the package."""
    yield from _imports(module, names, module.tree, late=False, typing=False)


def _imports(module: Module, names: set[str], node: ast.AST, *, late: bool, typing: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom) or _is_in_disguise(child):
            for full in _targets(module, child):
                target, library = _split(module.package, full, names)
                yield Import(module, child, target, library, late, typing)
        if not isinstance(child, ast.Import | ast.ImportFrom):
            inside = late or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            checking = typing or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test))
            yield from _imports(module, names, child, late=inside, typing=checking)


def _is_in_disguise(node: ast.AST) -> bool:
    """Whether a call imports: `resolve_name("jt_edu.ir.node:Node")`, `importlib.import_module("jt_edu.ir.node")`."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in {"resolve_name", "import_module"}


def _targets(module: Module, node: ast.Import | ast.ImportFrom | ast.Call) -> list[str]:
    """Full dotted names: `from jt_edu.ir.node import Node` is "jt_edu.ir.node.Node"."""
    if isinstance(node, ast.Call):
        name = node.args[0]
        return [name.value.replace(":", ".") if isinstance(name, ast.Constant) else module.dotted]
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        here = [module.package, *module.parts]
        base = ".".join([*here[: len(here) - node.level], *([base] if base else [])])
    return [f"{base}.{alias.name}" for alias in node.names]


def _split(package: str, full: str, names: set[str]) -> tuple[str | None, str | None]:
    """("codegen.loops", None) for a module of the package, (None, "numpy") for anything else."""
    head, _, rest = full.partition(".")
    if head != package:
        return None, head
    while rest and rest not in names:
        rest = rest.rpartition(".")[0]
    return rest, None


def complaints(root=ROOT) -> list[str]:
    house = modules(root)
    names = {module.name for module in house}
    every = [entry for module in house for entry in imports(module, names)]
    return [
        *(f"{module.path.name}: {module.name} has no place in FLOORS" for module in house if _homeless(module)),
        *(f"{entry}, which is not downstairs or to the left" for entry in every if _upstairs(entry)),
        *(f"{entry}, a library that is not its own" for entry in every if _foreign(entry)),
        *(f"{entry} inside a function" for entry in every if _late(entry)),
        *(f"a circle of imports: {' -> '.join(circle)}" for circle in circles(every)),
    ]


def _is_door_of_the_house(module: Module) -> bool:
    """The door itself, and programs that come in through it, as a learner's do."""
    return module.name in {"", "__main__", "run"} or room(module.name) == "test"


def _homeless(module: Module) -> bool:
    return not _is_door_of_the_house(module) and place(module.name) is None


def _upstairs(entry: Import) -> bool:
    module, target = entry.module, entry.target
    if target is None or _is_door_of_the_house(module):
        return False
    if target == "":
        return True
    here, there = place(module.name), place(target)
    if here is None or there is None or there < here or room(module.name) == room(target):
        return False
    return not (entry.typing and (room(module.name), room(target)) in TYPING_ONLY)


def _foreign(entry: Import) -> bool:
    library = entry.library
    if library is None or entry.typing or library in sys.stdlib_module_names or library in CORE_LIBRARIES:
        return False
    return library not in LIBRARIES_OF.get(room(entry.module.name), set())


def _late(entry: Import) -> bool:
    return entry.late and (entry.module.name, entry.library or entry.target) not in LATE_IMPORTS


def circles(every: list[Import]) -> list[list[str]]:
    """Circles between modules while they are imported, each as the path that closes it."""
    edges: dict[str, set[str]] = {}
    for entry in every:
        if entry.target is not None and not entry.typing and entry.target != entry.module.name:
            edges.setdefault(entry.module.name, set()).add(entry.target)
    found, done = [], set()

    def visit(name: str, path: list[str]) -> None:
        if name in path:
            found.append([*path[path.index(name) :], name])
        elif name not in done:
            for below in sorted(edges.get(name, ())):
                visit(below, [*path, name])
            done.add(name)

    for name in sorted(edges):
        visit(name, [])
    return found


def test_imports_point_downstairs():
    hold(complaints())


def test_widgets_import_inside_a_function_only_what_is_listed():
    every = [entry for m in modules(ROOT / "widgets", "jt_widgets") for entry in imports(m, set())]
    late = [entry for entry in every if entry.late]

    hold([f"{e} inside a function" for e in late if not any(_names_it(e, *listed) for listed in LATE_IMPORTS)])


def _names_it(entry: Import, module: str, name: str) -> bool:
    return entry.module.dotted == module and any(full.startswith(name) for full in _targets(entry.module, entry.node))


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        (
            {"ir/node.py": "from jt_edu.fusion.fuse import fuse", "fusion/fuse.py": ""},
            "ir.node imports fusion.fuse, which is not downstairs",
        ),
        (
            {"base/errors.py": "from ..ir.index_expr import Index", "ir/index_expr.py": ""},
            "base.errors imports ir.index_expr, which is not downstairs",
        ),
        ({"ir/node.py": "import jt_edu"}, "ir.node imports"),
        (
            {"variable/var.py": "def f():\n    from jt_edu.ir.node import Node", "ir/node.py": ""},
            "variable.var imports ir.node inside a function",
        ),
        (
            {"variable/var.py": "def f():\n    return resolve_name('jt_edu.ir.node:Node')()", "ir/node.py": ""},
            "variable.var imports ir.node inside a function",
        ),
        (
            {"variable/var.py": "def f(name):\n    return importlib.import_module(name)"},
            "variable.var imports variable.var inside a function",
        ),
        ({"ir/node.py": "import torch"}, "ir.node imports torch, a library that is not its own"),
        ({"cellar.py": ""}, "cellar has no place in FLOORS"),
        (
            {"ops/__init__.py": "", "ops/a.py": "from jt_edu.ops.b import x", "ops/b.py": "from .a import y"},
            "a circle of imports: ops.a -> ops.b -> ops.a",
        ),
        (
            {"base/errors.py": "if TYPE_CHECKING:\n    from jt_edu.variable.var import Var", "variable/var.py": ""},
            "base.errors imports variable.var, which is not downstairs",
        ),
    ],
)
def test_the_rule_notices(tmp_path, files, complaint):
    for name, text in files.items():
        path = tmp_path / "jt_edu" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    assert complaint in "\n".join(complaints(tmp_path))


def test_downstairs_and_typing_by_name_are_allowed(tmp_path):
    for folder in ("ir", "codegen"):
        (tmp_path / "jt_edu" / folder).mkdir(parents=True)
    (tmp_path / "jt_edu" / "__init__.py").write_text("from jt_edu.ir.node import Node")
    (tmp_path / "jt_edu" / "ir" / "meta_ops.py").write_text("import numpy\nfrom jt_edu.ir.node import Node")
    (tmp_path / "jt_edu" / "ir" / "node.py").write_text("if TYPE_CHECKING:\n    from jt_edu.ir.meta_ops import Op")
    (tmp_path / "jt_edu" / "codegen" / "loop_ir.py").write_text(
        "from jt_edu.ir import node\nfrom .source import Source"
    )
    (tmp_path / "jt_edu" / "codegen" / "source.py").write_text("")

    assert complaints(tmp_path) == []
