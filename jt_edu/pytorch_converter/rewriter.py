"""Rewriter: one walk over the syntax tree of a text, which writes at each node what means the same here.

    statements   imports of torch go, `forward` of a module is `execute`
    names        torch.nn.Linear is nn.Linear                        names.py
    calls        nn.Conv2d(1, 8, kernel_size=3) is nn.Conv(1, 8, 3)  rules.py
    methods      x.size(0) is x.shape[0]; x.var() divides by n - 1 there, and so says `correction=1`

Of `x.max(1)` nobody knows what x is. It is taken for a Tensor, unless it is `self`, `super()` or something imported.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

from jt_edu.pytorch_converter.names import USUAL, Refused, imported, is_a_value, is_torch, ours, stored
from jt_edu.pytorch_converter.rules import CALLS, FILLS, IDLE, METHODS, RULES, SAMPLES, Rule, bound, parameters_of
from jt_edu.variable.var import Var


class Change(NamedTuple):
    """What became of a piece of the text: its line, the piece, what it is now."""

    line: int
    before: str
    after: str


class Pair(NamedTuple):
    """A maximum or a minimum along an axis: PyTorch gives values and positions."""

    name: str  # max or min
    x: ast.expr
    axis: list[ast.expr]  # and keepdim, where it is given


def expression(text: str, **parts: ast.expr) -> ast.expr:
    """An expression in which these names stand for others.

    Example:
        >>> ast.unparse(expression("f(x)", x=expression("a + b")))
        'f(a + b)'
    """

    class Filled(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return copy.deepcopy(parts[node.id]) if node.id in parts else node

    filled: ast.expr = Filled().visit(ast.parse(text, mode="eval").body)
    return filled


class Rewriter(ast.NodeTransformer):
    """The walk: `changes` and what was `refused` are complete when it is over."""

    def __init__(self, tree: ast.AST, rules: Mapping[str, Rule]) -> None:
        own = set(stored(tree))
        self.paths = {name: path for name, path in USUAL.items() if name not in own} | dict(imported(tree))
        self.rules = rules
        self.changes: list[Change] = []
        self.refused: list[tuple[int, str, Refused]] = []

    def path(self, node: ast.AST) -> str:
        """What a name with dots stands for, where its first part was imported: "torch.nn.Linear"; else nothing."""
        if isinstance(node, ast.Name):
            return self.paths.get(node.id, "")
        before = self.path(node.value) if isinstance(node, ast.Attribute) else ""
        return f"{before}.{node.attr}" if before and isinstance(node, ast.Attribute) else ""

    def put(self, old: ast.AST, before: str, new: Any) -> Any:
        """Note what became of a node."""
        after = "nothing" if new is None else ast.unparse(new)
        if after != before:
            self.changes.append(Change(getattr(old, "lineno", 1), before, after))
        return new

    def visit(self, node: ast.AST) -> Any:
        """As NodeTransformer; what is refused on the way is kept, and a block is never left empty."""
        try:
            found = super().visit(node)
        except Refused as refused:
            self.refused.append((getattr(node, "lineno", 1), ast.unparse(node), refused))
            return node
        if getattr(found, "body", None) == [] and not isinstance(found, ast.Module):
            found.body = [ast.Pass()]
        return found

    # ------------------------------------------------------------------------------------------------- statements

    def visit_Import(self, node: ast.Import) -> Any:
        """Imports of torch go."""
        kept = [name for name in node.names if not is_torch(name.name)]
        if len(kept) == len(node.names):
            return node
        return self.put(node, ast.unparse(node), ast.Import(kept) if kept else None)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """The same."""
        if node.level or not is_torch(node.module or ""):
            return node
        if node.names[0].name == "*":
            raise Refused("a star does not say which names it binds", "an import that names what is used")
        return self.put(node, ast.unparse(node), None)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """`forward` of a class with a base is `execute`; a function inside a method keeps its name."""
        for part in node.body if node.bases else ():
            if isinstance(part, ast.FunctionDef) and part.name == "forward":
                part.name = "execute"
                self.changes.append(Change(part.lineno, "def forward", "def execute"))
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """Without what TorchScript needs: its decorators, and signatures that are no functions."""
        paths = [self.path(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list]
        if "torch.jit._overload_method" in paths:
            return None
        pairs = zip(node.decorator_list, paths, strict=True)
        node.decorator_list = [decorator for decorator, path in pairs if not path.startswith("torch.jit.")]
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        """Calls that compute nothing: a check is an `assert`, and what others count or trace is left out."""
        call = node.value
        path = self.path(call.func) or ast.unparse(call.func) if isinstance(call, ast.Call) else ""
        if path in IDLE:
            return self.put(node, ast.unparse(node), None)
        if path == "torch._assert" and isinstance(call, ast.Call) and len(call.args) == 2:
            return self.put(node, ast.unparse(node), ast.Assert(self.visit(call.args[0]), self.visit(call.args[1])))
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """`p.data -= g` is `p -= g`: p.data is a read-only array here."""
        if isinstance(node.target, ast.Attribute) and node.target.attr == "data":
            before, target = ast.unparse(node), node.target.value
            if isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):
                target.ctx, node.target = ast.Store(), target
                self.put(node, before, node)
        return self.generic_visit(node)

    # ------------------------------------------------------------------------------------------------------ names

    def visit_Name(self, node: ast.Name) -> Any:
        """A name that torch was imported as, or a part of it."""
        path = self.path(node)
        return self.put(node, ast.unparse(node), expression(ours(path))) if is_torch(path) else node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """A name with dots; of a class or a function the rest may be anything."""
        pair = self.pair(node.value)
        if pair and node.attr in ("values", "indices"):
            return self.put(node, ast.unparse(node), self.one_of(pair, node.attr == "indices"))
        path = self.path(node)
        if is_torch(path) and not is_a_value(self.path(node.value)):
            return self.put(node, ast.unparse(node), expression(ours(path)))
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """x.max(1)[0] is the values alone."""
        pair = self.pair(node.value)
        if pair and isinstance(node.slice, ast.Constant) and node.slice.value in (0, 1):
            return self.put(node, ast.unparse(node), self.one_of(pair, bool(node.slice.value)))
        return self.generic_visit(node)

    # ------------------------------------------------------------------------------------------------------ calls

    def visit_Call(self, node: ast.Call) -> Any:
        """A call: by a rule that was added, by one of ours, or only with other names in it."""
        before, pair, path = ast.unparse(node), self.pair(node), self.path(node.func)
        new: ast.AST
        last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        rule = self.rules.get(last)
        if rule is None and path in (f"torch.{last}", f"torch.nn.{last}") and fits(node, RULES.get(last)):
            rule = RULES[last]
        if pair:
            new = self.both_of(pair)
        elif path in CALLS:
            parameters, text = CALLS[path]
            new = expression(text, **{name: self.visit(x) for name, x in bound(node, parameters, path).items()})
        elif rule:
            node.args = [self.visit(x) for x in node.args]
            node.keywords = [ast.keyword(keyword.arg, self.visit(keyword.value)) for keyword in node.keywords]
            new = rule(node, path or last)
        else:
            method = isinstance(node.func, ast.Attribute) and not path and not self.is_own(node.func.value)
            if path.startswith("torch.nn."):  # what is computed in place there is a value here
                node.keywords = [keyword for keyword in node.keywords if keyword.arg != "inplace"]
            new = self.generic_visit(node)
            new = self.method(node, last) if method else self.sample(node, 1) if path in SAMPLES else new
        return self.put(node, before, new)

    def is_own(self, x: ast.expr) -> bool:
        """Whether a method is the text's own, or a module's: of self, super() or something that is imported."""
        if isinstance(x, ast.Call):
            return isinstance(x.func, ast.Name) and x.func.id == "super"
        return isinstance(x, ast.Name) and (x.id in ("self", "cls") or x.id in self.paths)

    def method(self, node: ast.Call, name: str) -> ast.expr:
        """A method of a Tensor."""
        assert isinstance(node.func, ast.Attribute), "of something"
        x, given = node.func.value, [*node.args, *(keyword.value for keyword in node.keywords)]
        if name in ("var", "std"):
            return self.sample(node, 0)
        if name in METHODS and node.args and not node.keywords:
            return METHODS[name](node, name)
        if name == "size" and len(given) <= 1:
            return expression("x.shape[place]", x=x, place=given[0]) if given else expression("x.shape", x=x)
        if name == "int" and not given:
            return expression("x.int32()", x=x)
        if name == "cuda":
            return x
        if name.endswith("_") and not name.endswith("__") and not hasattr(Var, name):
            return self.in_place(node, x, name)
        return node

    def in_place(self, node: ast.Call, x: ast.expr, name: str) -> ast.expr:
        """x.add_(y) is x.assign(x.add(y)), p.data.normal_() is init.normal_(p)."""
        if isinstance(x, ast.Attribute) and x.attr == "data":
            x = x.value
        if name in FILLS:
            return ast.Call(expression(FILLS[name]), [x, *node.args], node.keywords)
        if name == "copy_" and len(node.args) == 1:
            return expression("x.update(y)", x=x, y=node.args[0])
        if not hasattr(Var, name[:-1]):
            return node  # a method of something else
        if not isinstance(x, (ast.Name, ast.Attribute)):
            raise Refused(f"{name} of a part, which is a value of its own here, would be lost", "x[...] = ...")
        new = ast.Call(ast.Attribute(x, name[:-1], ast.Load()), node.args, node.keywords)
        return expression("x.assign(y)", x=x, y=new)

    def sample(self, node: ast.Call, skip: int) -> ast.expr:
        """The variance or the deviation: divided by n - 1 there, by n here."""
        if len(node.args) - skip > 1:
            raise Refused("the order of its arguments is another one here", "naming them: dim=, unbiased=, keepdim=")
        if not {"unbiased", "correction"} & {keyword.arg for keyword in node.keywords}:
            node.keywords.append(ast.keyword("correction", ast.Constant(1)))
        return node

    # ------------------------------------------------------------------------------------ maxima with their places

    def pair(self, node: ast.AST) -> Pair | None:
        """What x.max(1), torch.max(x, 1) or x.min(dim=1) asks for; None for all else."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Attribute, ast.Name)):
            return None
        path, given = self.path(node.func), list(node.args)
        name = path.removeprefix("torch.") if path else getattr(node.func, "attr", "")
        if name not in ("max", "min") or any(isinstance(arg, ast.Starred) for arg in given):
            return None
        if not path:
            if self.is_own(node.func.value):  # type: ignore[union-attr]
                return None
            given.insert(0, node.func.value)  # type: ignore[union-attr]
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        if "dim" in named:
            return Pair(name, given[0], [named["dim"], *filter(None, [named.get("keepdim")])])
        if len(given) < 2:
            return None
        number = given[1].operand if isinstance(given[1], ast.UnaryOp) else given[1]
        if not isinstance(number, ast.Constant):
            raise Refused(
                "nobody can see whether that is an axis or a Tensor", "dim=... for an axis, torch.maximum for two"
            )
        return Pair(name, given[0], [*given[1:], *filter(None, [named.get("keepdim")])])

    def one_of(self, pair: Pair, place: bool) -> ast.expr:
        """The values, or the positions."""
        name = f"arg{pair.name}" if place else pair.name
        return ast.Call(ast.Attribute(self.visit(pair.x), name, ast.Load()), [self.visit(a) for a in pair.axis], [])

    def both_of(self, pair: Pair) -> ast.expr:
        """Jittor's arg_reduce gives positions first."""
        call = expression(f"jt.arg_reduce(x, '{pair.name}')", x=self.visit(pair.x))
        call.args += [self.visit(a) for a in pair.axis]  # type: ignore[attr-defined]
        return expression("call[::-1]", call=call)


def fits(call: ast.Call, rule: Rule | None) -> bool:
    """Whether a call says only what a rule knows; a star may say anything."""
    names = parameters_of(rule.pytorch_args)[0] if rule else {}
    starred = any(isinstance(arg, ast.Starred) for arg in call.args)
    known = len(call.args) <= len(names) and all(keyword.arg in names for keyword in call.keywords)
    return rule is not None and known and not starred
