"""Functions of C++: how do the statements of a kernel read there, and what are its parameters?

    @cuda.jit                                __global__ void twice(const float* x, long long x_n0, float* out)
    def twice(x, out):                       {
        i = cuda.grid(1)                         long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
        if i < x.size:                           if (i < x_n0) {
            out[i] = 2 * x[i]                        out[i] = 2 * x[i];
                                                 }
                                             }

The text is written again until no type changes any more: the type of a variable is that of everything that it holds.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from jt_edu.base.errors import KernelError
from jt_edu.cuda.cpp_arithmetic import Spelled, number
from jt_edu.cuda.cpp_calls import FENCES
from jt_edu.cuda.cpp_expressions import Array, spelled
from jt_edu.cuda.cpp_scope import names, scopes, stored
from jt_edu.cuda.cpp_tensor import Products
from jt_edu.cuda.cpp_words import HELPERS, HIP_HELPERS, LONG, NAMES, NEEDS, DType, Language, one_type
from jt_edu.cuda.launch import Kernel
from jt_edu.cuda.thread import as_dtype
from jt_edu.cuda.translator import closure, parsed

WIDTH = 110  # of the lines that name parameters


class Library:
    """What stands above a kernel: each helper and each device function once."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.helpers: list[str] = []
        self.functions: dict[Any, Function] = {}

    def helper(self, name: str) -> str:
        """The name of a helper, which from now on is there."""
        for one in (*NEEDS.get(name, ()), name):
            self.helpers += [one] if one not in self.helpers else []
        return name

    def warp(self, word: str) -> str:
        """How the language spells what a warp does."""
        text = self.language.warp[word]
        for name in HIP_HELPERS:
            if f"{name}(" in text and not text.startswith("__"):
                self.helper(name)
        return text

    def function(self, kernel: Kernel, alias: str, given: Mapping[str, Any]) -> Function:
        """A device function for arguments of these types, under a name that no other one has."""
        types = tuple(
            a._replace(name="") if isinstance(a, Array) else (a.type, a.natural and a.type.kind != "f")
            for a in given.values()
        )
        key = kernel, types
        if key not in self.functions:
            taken = {f.name for f in self.functions.values()}
            name = spelled(alias.strip("_") or "function")
            name = next(n for n in (name, *(f"{name}_{k}" for k in range(2, 99))) if n not in taken)
            made = self.functions[key] = Function(self, kernel, name, given)
            made.write()
            self.functions[key] = self.functions.pop(key)  # behind those that it calls
        return self.functions[key]

    def text(self) -> str:
        """All of it."""
        helpers = [{**HELPERS, **HIP_HELPERS}[name] for name in self.helpers]
        apart = [f"{text}\n" if "\n" in text else text for text in helpers]
        functions = [f.text for f in self.functions.values()]
        return "\n".join([*apart, *([""] if apart and not apart[-1].endswith("\n") else []), *functions])


class Function(Products):
    """A kernel or a device function, for arguments of some types."""

    def __init__(self, library: Library, kernel: Kernel, name: str, given: Mapping[str, Any]) -> None:
        super().__init__(library)
        function = inspect.unwrap(kernel.function)
        try:
            self.lines, self.first = inspect.getsourcelines(function)
        except (OSError, TypeError) as error:
            asked = f"the text of {kernel.__name__} is needed, to write it in C++"
            raise KernelError(asked, "none to be found", "a def in a file or a cell") from error
        _, self.tree = parsed(self.lines, self.first)
        self.outside = function.__globals__
        self.space = {**self.outside, **closure(function)}
        self.kernel, self.name, self.given = kernel, name, given
        self.own = {*given, *stored(*self.tree.body)}
        self.begins, self.ahead = scopes(self.tree.body, given)
        self.returned: DType | None = None
        self.depth, self.rows = 0, list[str]()
        self.text = ""
        self.fresh: set[str] = set()  # names that the text has, and the kernel has not

    def write(self) -> None:
        """Find the types, and write the text."""
        for name, value in self.given.items():
            if isinstance(value, Array):
                lengths = tuple(self.length_name(name, axis) for axis in range(len(value.lengths)))
                self.arrays[name] = Array(name, value.dtype, lengths)
            else:
                self.types[name], self.naturals[name] = value.type, value.natural
        before: Any = None
        helpers, functions = list(self.library.helpers), dict(self.library.functions)
        while before != (now := (dict(self.types), dict(self.naturals), str(self.returned))):
            before, self.rows, self.depth, self.fresh = now, [], 1, set()
            self.library.helpers, self.library.functions = list(helpers), dict(functions)
            self.block(self.tree.body)
        kind = "__device__" if self.kernel.device else "__global__"
        result = NAMES[self.returned] if self.returned is not None else "void"
        head = _filled(f"{kind} {result} {self.name}(", self.parameters())
        self.text = "\n".join([*head, "{", *self.rows, "}", ""])

    def length_name(self, name: str, axis: int) -> str:
        """What the length of an axis of an argument is called."""
        return f"{spelled(name)}_n{axis}"

    def parameters(self) -> list[str]:
        """Each argument; behind an array those of its lengths that the text reads."""
        found = []
        for name, value in self.given.items():
            if not isinstance(value, Array):
                found.append(f"{NAMES[self.types[name]]} {spelled(name)}")
                continue
            found.append(f"{'' if name in self.written else 'const '}{NAMES[value.dtype]}* {spelled(name)}")
            every = (self.length_name(name, axis) for axis in range(len(value.lengths)))
            found += [f"long long {length}" for length in every if length in self.lengths]
        return found

    # --------------------------------------------------------------------------------------------------- statements

    def row(self, text: str) -> None:
        """One line."""
        self.rows.append("    " * self.depth + text)

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Statements, and above one the names that have to be there before it."""
        for statement in body:
            for name in self.ahead.get(statement, ()):
                if name in self.types:
                    self.row(f"{NAMES[self.types[name]]} {spelled(name)};")
            self.statement(statement)

    def braces(self, head: str, body: Sequence[ast.stmt]) -> None:
        """Statements in braces behind a head."""
        self.row(head + " {")
        self.depth += 1
        self.block(body)
        self.depth -= 1

    def statement(self, node: ast.stmt) -> None:
        """One statement."""
        match node:
            case ast.Assign(targets, value):
                for target in targets:
                    self.assign(node, target, value)
            case ast.AnnAssign(target, _, ast.expr() as value):
                self.assign(node, target, value)
            case ast.AugAssign(target, op, value):
                self.change(node, target, op, value)
            case ast.If():
                self.if_else(node)
            case ast.While(test, body, []):
                self.braces(f"while ({self.condition(test).text})", body)
                self.row("}")
            case ast.For(ast.Name(), _, _, []):
                self.loop(node)
            case ast.Return(value):
                self.give_back(node, value)
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(ast.Call() as call):
                self.row(f"{self.call(call)};")
            case ast.Break() | ast.Continue():
                self.row(f"{type(node).__name__.lower()};")
            case _:
                asked = f"cuda.source cannot write `{ast.unparse(node).splitlines()[0]}` in C++"
                raise self.wrong(node, asked, "assignments, if, while, for over range, and calls")

    def call(self, node: ast.Call) -> str:
        """A call whose result nobody asks for."""
        word, value = self.word(node.func), self.value(node.func)
        if word in FENCES:
            return FENCES[word]
        if word == "syncwarp":
            self.all_lanes(node, word)
            return self.library.warp(word)
        if isinstance(value, Kernel) and value.device:
            return self.device(node, value)[1]
        return self.spell(node).text

    def if_else(self, node: ast.If) -> None:
        """An `if` with all that hangs on it."""
        self.braces(f"if ({self.condition(node.test).text})", node.body)
        other = node.orelse
        while len(other) == 1 and isinstance(other[0], ast.If) and not self.ahead.get(other[0]):
            self.braces(f"}} else if ({self.condition(other[0].test).text})", other[0].body)
            other = other[0].orelse
        if other:
            self.braces("} else", other)
        self.row("}")

    def loop(self, node: ast.For) -> None:
        """A loop over `range`, or over numbers in the text."""
        name, over = node.target.id, node.iter  # type: ignore[attr-defined]  # a Name, as asked
        if name not in self.begins.get(node, ()) or name in stored(*node.body):
            raise self.wrong(node, f"{name} counts a loop, and nothing else", "another name outside of the loop")
        if isinstance(over, (ast.Tuple, ast.List)):
            numbers = [self.spell(part) for part in over.elts]
            for one in numbers:
                self.hold(node, name, one)
            head = f"for ({NAMES[self.types[name]]} {spelled(name)} : {{{', '.join(n.text for n in numbers)}}})"
        elif isinstance(over, ast.Call) and self.value(over.func) is range and 1 <= len(over.args) <= 3:
            head = self.count(node, name, over)
        else:
            raise self.wrong(node, "a loop goes over range, or over numbers in the text", "for k in range(n)")
        self.braces(head, node.body)
        self.row("}")

    def count(self, node: ast.For, name: str, over: ast.Call) -> str:
        """The head of a loop over `range`."""
        given = [self.spell(a) for a in over.args]
        zero, one = number(0, LONG), number(1, LONG)
        begin, end, step = (zero, given[0], one) if len(given) == 1 else (*given, one)[:3]
        down = step.number is not None and step.number < 0
        if not step.natural and not down:
            raise self.wrong(node, "a step of range has a sign that can be seen", "range(n), and n - 1 - k in the loop")
        self.hold(node, name, begin._replace(natural=begin.natural and (not down or end.number in (-1, 0))))
        if names(over) & {*stored(*node.body), *self.written}:  # Python asks for them once
            end, step = (self.kept(f"{name}_{what}", x) for what, x in (("end", end), ("step", step)))
        by = {1: "++", -1: "--"}.get(step.number, f" -= {-step.number}" if down else f" += {step.text}")
        called = spelled(name)
        return f"for (long long {called} = {begin.text}; {called} {'>' if down else '<'} {end.text}; {called}{by})"

    def kept(self, name: str, value: Spelled) -> Spelled:
        """A number under a name that changes no more."""
        if value.number is not None:
            return value
        while name in self.fresh | self.own:
            name += "_"
        self.fresh.add(name)
        self.row(f"const {NAMES[value.type]} {name} = {value.text};")
        return Spelled(name, value.type, value.type, natural=value.natural)

    def give_back(self, node: ast.Return, value: ast.expr | None) -> None:
        """A return, whose type is that of all of them."""
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            self.row("return;")
            return
        if not self.kernel.device:
            raise self.wrong(node, "a kernel gives nothing back", "an array that it writes")
        found = self.spell(value)
        self.returned = one_type(self.returned, found.type)
        self.row(f"return {found.text};")

    # -------------------------------------------------------------------------------------------------- assignments

    def hold(self, node: ast.stmt, name: str, value: Spelled) -> None:
        """Note what a variable holds."""
        if name in self.arrays:
            raise self.wrong(node, f"{name} is an array, and stays one", "another name")
        found = one_type(self.types.get(name), value.type)
        self.types[name] = found or value.type
        self.numbers[name] = value.number if self.numbers.get(name, value.number) == value.number else None
        self.naturals[name] = self.naturals.get(name, True) and value.natural

    def put(self, node: ast.stmt, target: ast.expr, value: Spelled) -> None:
        """One number into a variable, or into an element."""
        if isinstance(target, ast.Subscript):
            array, cell = self.cell(target)
            self.written.add(array.name)
            self.row(f"{cell} = {value.text};")
        elif isinstance(target, ast.Name):
            self.hold(node, target.id, value)
            begins = target.id in self.begins.get(node, ())
            self.row(f"{NAMES[self.types[target.id]] + ' ' if begins else ''}{spelled(target.id)} = {value.text};")
        else:
            raise self.wrong(node, "a number goes into a name or an element", "x = 1, or x[i] = 1")

    def assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        """An assignment; of several at once, each by itself."""
        if isinstance(target, ast.Tuple):
            self.assign_all(node, target.elts, value)
        elif isinstance(value, ast.Call) and self.word(value.func) in ("shared.array", "local.array"):
            self.room(node, target, value)
        elif isinstance(value, ast.Name) and value.id in self.arrays:
            raise self.wrong(node, "an array has one name", f"{value.id} itself")
        elif isinstance(target, ast.Name) and isinstance(value, ast.Tuple):
            self.bundle(node, target.id, value.elts)
        elif isinstance(target, ast.Name) and isinstance(value, ast.Call) and self.is_product(value):
            self.of_warp(node, value, target.id)
        else:
            self.put(node, target, self.spell(value))

    def assign_all(self, node: ast.stmt, targets: Sequence[ast.expr], value: ast.expr) -> None:
        """`a, b = b, a`: the values first, where one of them reads what another one changes."""
        parts = value.elts if isinstance(value, ast.Tuple) else None
        if parts is not None and len(parts) == len(targets):
            later = (names(*parts[k + 1 :]) & names(target) for k, target in enumerate(targets))
            if not any(later):
                for target, part in zip(targets, parts, strict=True):
                    self.assign(node, target, part)
                return
        product = isinstance(value, ast.Call) and self.is_product(value)
        values = self.of_warp(node, value) if product else self.several(value)  # type: ignore[arg-type]  # a Call
        if len(values) != len(targets):
            raise self.wrong(node, f"{len(targets)} names take as many numbers", "a, b = x, y")
        if parts is not None:
            values = [self.kept(f"new{k}", new) for k, new in enumerate(values)]
        for target, new in zip(targets, values, strict=True):
            self.put(node, target, new)

    def change(self, node: ast.stmt, target: ast.expr, op: ast.operator, value: ast.expr) -> None:
        """`x += 1`, and all of it where C++ would compute in another type."""
        here = ast.copy_location(ast.BinOp(target, op, value), node)
        found = self.visit_BinOp(here)
        sign = {"FloorDiv": "/", "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "Mod": "%"}.get(type(op).__name__, "")
        old = self.spell(target).text
        head = f"{old} {sign} "
        self.put(node, target, found)
        if sign and found.text.startswith(head):
            self.rows[-1] = "    " * self.depth + f"{old} {sign}= {found.text.removeprefix(head)};"

    def room(self, node: ast.stmt, target: ast.expr, call: ast.Call) -> None:
        """Shared or local memory."""
        name = getattr(target, "id", "")
        kind = call.args[1] if len(call.args) == 2 else None
        if not name or kind is None or name not in self.begins.get(node, ()):
            asked = "memory of a block or a thread has a shape, a dtype and one name"
            raise self.wrong(node, asked, 'tile = cuda.shared.array((8, 8), "float32"), above its first use')
        lengths = [n.number for n in self.several(call.args[0]) or [self.spell(call.args[0])]]
        if any(not isinstance(n, int) for n in lengths):
            raise self.wrong(node, f"{name} has a shape of numbers", "16, or a number from outside")
        dtype = as_dtype(kind.value if isinstance(kind, ast.Constant) else self.value(kind))
        if dtype not in NAMES:
            raise self.wrong(node, f"{name} holds whole or real numbers, and not {dtype}", '"float32", or "int64"')
        self.arrays[name] = Array(name, dtype, tuple(lengths), inner=True)
        shared, dynamic = self.word(call.func) == "shared.array", lengths == [0]
        space = ("extern " * dynamic + "__shared__ ") * shared
        sizes = "[]" if dynamic else "".join(f"[{n}]" for n in lengths)
        self.row(f"{space}{NAMES[dtype]} {spelled(name)}{sizes};")


def _filled(begin: str, parts: Sequence[str]) -> list[str]:
    """Lines with what stands in brackets; they end between two parts."""
    lines = [begin]
    for k, part in enumerate(parts, 1):
        text = part + ("," if k < len(parts) else ")")
        if len(lines[-1]) + len(text) < WIDTH:
            lines[-1] += " " * (k > 1) + text
        else:
            lines.append(" " * 8 + text)
    return lines if parts else [begin + ")"]
