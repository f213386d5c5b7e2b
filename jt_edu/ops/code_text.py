"""Code text: how does a body in Jittor's notation become a kernel?

    @alias(x, in0)                           x = in0
    for i in prange(x_shape0):         ->    for i in range(part(lo, 0, x.shape[0]), part(hi, 0, x.shape[0])):
        @out(i) = @x(i + 1)                      out[inside(i, ...)] = x[inside(i + 1, ...)]

Words are replaced where they stand, so line k of the body is line k + 1 of the kernel's file, comments and all. It is
done in two passes: tokens first, since `@x(i)` is no Python, then the syntax tree, which knows what is an index.
"""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import re
import textwrap
import tokenize
import zlib
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

from jt_edu.backends.learner_bodies import BODIES, PIECES
from jt_edu.base.errors import ArgumentError

KNOWN = {"math", "np", "prange", "lo", "hi", "data", "sizes"}  # what a body may use besides its arrays
CPP = (  # what tells C++ from Python, and what to write for it
    (r"for\s*\(.*[<>;]", "for i in range(n):"),
    (r"->\s*set_shape", "out.set_shape(n)"),
    (r"^\s*#\s*(include|pragma|define)", "for i in prange(n):, and no #include"),
    (r"\bstd::|\bauto\b", "Python's words: lists, min, max, sorted, and np."),
    (r"^\s*(const\s+)?(int|float|double|bool|long|size_t)\s+[*\w]+\s*[=;\[]", "k = 0, without a type"),
    (r"\+\+|--\s*[;)]|&&|\|\|", "k += 1, and, or"),
    (r";\s*(//.*)?$|^\s*[{}]\s*$|\)\s*{", "lines that end without `;`, and indentation instead of braces"),
)
OPEN, CLOSED = ("(", "[", "{"), (")", "]", "}")
Splice = tuple[int, int, int, int, str]  # from (line, column) to (line, column), and what stands there instead


class Array(NamedTuple):
    """An array that a body knows."""

    name: str
    rank: int
    role: str  # "in", "out", "bounded" (an output of unknown length)


class Body(NamedTuple):
    """A function `body(lo, hi, *arrays, data, sizes)` as text."""

    text: str
    span: int
    number: int  # under which `OutsideError` finds its lines


@lru_cache(maxsize=1 << 10)
def translated(
    source: str, arrays: tuple[Array, ...], keys: tuple[str, ...], known: tuple[str, ...], mode: str
) -> Body:
    """The body as a function.

    Args:
        source: as the learner wrote it.
        arrays: what it may name; those that are written come last.
        keys: of `data`.
        known: names that the header defines.
        mode: "checked", "unchecked", or "watched": left to `code_races`, which watches arrays while Python runs it.

    Raises:
        ArgumentError: it is no Python, writes to an input, names what is not there, or a `prange` is not the last loop.
    """
    plain = textwrap.dedent(source).strip("\n").rstrip()
    lines = plain.split("\n")
    number = zlib.crc32(plain.encode())
    BODIES[number] = lines
    names = {a.name: a for a in arrays}
    try:
        words = jittor_words(plain, names)
        head = f"def body(lo, hi, {', '.join(a.name for a in arrays)}, data, sizes):\n"
        text = head + textwrap.indent(words, "    ")
        tree = ast.parse(text)
    except (SyntaxError, tokenize.TokenError) as error:
        raise _no_python(lines, error) from None
    reader = _Reader(text, names, keys, known, mode, number)
    reader.visit(tree.body[0])
    reader.check_names()
    return Body(_spliced(text, reader.splices), PIECES if reader.parallel and mode != "watched" else 1, number)


@lru_cache(maxsize=64)
def header_names(header: str) -> tuple[str, ...]:
    """What the statements of a header define."""
    found: list[str] = []
    for node in _header(header).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found += [(a.asname or a.name).partition(".")[0] for a in node.names]
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.append(node.name)
        else:
            found += [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return tuple(found)


def header_functions(header: str) -> tuple[str, ...]:
    """Its functions, which kernels call."""
    return tuple(node.name for node in _header(header).body if isinstance(node, ast.FunctionDef))


def _header(header: str) -> ast.Module:
    text = textwrap.dedent(header).strip("\n")
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise _no_python(text.split("\n"), error, "cpu_header", 0) from None


# ------------------------------------------------------------------------------------------------------------- tokens


def jittor_words(text: str, names: dict[str, Array]) -> str:
    """Python, from Jittor's notation; `names` learns the aliases.

    Example:
        >>> jittor_words("@x(i) = x_shape0", {"x": Array("x", 1, "in")})
        'x[i] = x.shape[0]'
    """
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type != tokenize.COMMENT]
    for k, t in enumerate(tokens):
        if t.string == "@" and [x.string for x in tokens[k + 1 : k + 3]] == ["alias", "("]:
            alias, of = tokens[k + 3].string, _name(tokens[k + 5].string, names)
            if of not in names:
                raise ArgumentError(f"@alias names an array: {', '.join(names)}", tokens[k + 5].string)
            names[alias] = names[of]._replace(name=of)
    return _spliced(text, list(_token_splices(tokens, names)))


def _token_splices(tokens: Sequence[tokenize.TokenInfo], names: dict[str, Array]) -> Iterator[Splice]:
    skip = -1
    for k, t in enumerate(tokens):
        if k <= skip:
            continue
        before = tokens[k - 1] if k else None
        if t.string == "@" and not _operand(before) and tokens[k + 2].string == "(":
            end = _closing(tokens, k + 2)
            if tokens[k + 1].string == "alias":
                alias, of = tokens[k + 3].string, _name(tokens[k + 5].string, names)
                yield (*t.start, *tokens[end].end, f"{alias} = {of}")
                skip = end
                continue
            yield (*t.start, *t.end, "")
            yield (*tokens[k + 2].start, *tokens[k + 2].end, "[" if end > k + 3 else "[(")
            yield (*tokens[end].start, *tokens[end].end, "]" if end > k + 3 else ")]")
        elif t.type == tokenize.NAME and not (before and before.string == "."):
            word = _word(t.string, names)
            if word != t.string:
                yield (*t.start, *t.end, word)


def _operand(token: tokenize.TokenInfo | None) -> bool:
    """Whether an `@` behind it multiplies matrices."""
    if token is None:
        return False
    word = token.type == tokenize.NAME and not keyword.iskeyword(token.string)
    return word or token.type == tokenize.NUMBER or token.string in (")", "]")


def _closing(tokens: Sequence[tokenize.TokenInfo], start: int) -> int:
    """The bracket that closes the one at `start`."""
    depth = 0
    for k in range(start, len(tokens)):
        depth += (tokens[k].string in OPEN) - (tokens[k].string in CLOSED)
        if depth == 0:
            break
    else:
        raise SyntaxError("a bracket is never closed", ("", tokens[start].start[0] + 1, 0, ""))
    return k


def _name(word: str, names: dict[str, Array]) -> str:
    """`out` is the first output, and so is `out0`; `pout` likewise."""
    other = {"out": "out0", "out0": "out", "pout": "pout0", "pout0": "pout"}.get(word, word)
    return other if word not in names and other in names else word


def _word(word: str, names: dict[str, Array]) -> str:
    """What `in0_shape1`, `in0_stride1` and `in0_p` stand for."""
    found = re.fullmatch(r"(\w+?)_(?:(shape|stride)(\d+)|(p))", word)
    array = _name(found[1] if found else word, names)
    if not found or array not in names:
        return array
    if found[4]:
        return f"{array}.reshape(-1)"
    return f"{array}.shape[{found[3]}]" if found[2] == "shape" else f"({array}.strides[{found[3]}] // {array}.itemsize)"


def _spliced(text: str, splices: Sequence[Splice]) -> str:
    """The text with words replaced; columns are those of characters."""
    lines = text.split("\n")
    for line, column, end_line, end, word in sorted(splices, key=lambda s: s[:4], reverse=True):
        rest = lines[end_line - 1][end:]
        lines[line - 1 : end_line] = [lines[line - 1][:column] + word + rest] + [""] * (end_line - line)
    return "\n".join(lines)


# --------------------------------------------------------------------------------------------------------------- tree


class _Reader(ast.NodeVisitor):
    """Walks through a body: which indices are checked, which loop is shared, and what is wrong with it."""

    def __init__(
        self, text: str, names: dict[str, Array], keys: tuple[str, ...], known: tuple[str, ...], mode: str, number: int
    ) -> None:  # fmt: skip
        self.lines, self.names, self.keys, self.mode, self.number = text.split("\n"), names, keys, mode, number
        self.known = {*KNOWN, *known, *names, *dir(builtins)}
        self.splices: list[Splice] = []
        self.parallel = False
        self.loaded: list[ast.Name] = []
        self.stored: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """The body itself."""
        for k, statement in enumerate(node.body):
            if isinstance(statement, ast.For) and _calls(statement.iter, "prange"):
                self._share(statement, node.body[:k], node.body[k + 1 :])
            self.visit(statement)

    def visit_Name(self, node: ast.Name) -> None:
        """A word."""
        if isinstance(node.ctx, ast.Load):
            self.loaded.append(node)
        else:
            self.stored.add(node.id)

    def visit_Call(self, node: ast.Call) -> None:
        """`out.set_shape(n)`, and ranges that nobody shares."""
        function = node.func
        if (
            isinstance(function, ast.Attribute)
            and function.attr == "set_shape"
            and isinstance(function.value, ast.Name)
        ):
            self._set_shape(node, function.value.id)
            for argument in node.args:
                self.visit(argument)
            return
        if _calls(node, "prange") and self.mode != "watched":
            self._replace(function, "range")  # inside another loop
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """An element of an array, or of `data`."""
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        if name == "data":
            self._datum(node)
            return
        array = self.names.get(name)
        if array is not None:
            if array.role == "in" and not isinstance(node.ctx, ast.Load):
                raise self._wrong(
                    node, f"{name} is an input, which is only read", "an output, or jt.code(inputs, outputs)"
                )
            self._check(node, name, array)
        self.generic_visit(node)

    # what is done with them

    def _check(self, node: ast.Subscript, name: str, array: Array) -> None:
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(indices) > array.rank:
            raise self._wrong(node, f"{name} has rank {array.rank}", f"{array.rank} indices")
        for axis, index in enumerate(indices if self.mode == "checked" else ()):
            if not isinstance(index, ast.Slice):
                line = node.lineno - 1
                self._insert(index.lineno, index.col_offset, "inside(")
                self._insert(
                    index.end_lineno, index.end_col_offset, f", {name}.shape[{axis}], {self.number}, {line}, {axis})"
                )

    def _datum(self, node: ast.Subscript) -> None:
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if key not in self.keys:
            raise self._wrong(
                node, f"data has the keys {', '.join(map(repr, self.keys)) or 'of an empty dict'}", "one of them"
            )
        self._replace(node.slice, str(self.keys.index(key)))

    def _set_shape(self, node: ast.Call, name: str) -> None:
        array = self.names.get(name)
        outputs = [a.name for a in self.names.values() if a.role == "bounded"]
        if array is None or array.role != "bounded" or len(node.args) != 1:
            raise self._wrong(node, "set_shape(n) is for outputs of negative size", "shape (-n,), where n is the most")
        size = node.args[0]
        size = size.elts[0] if isinstance(size, (ast.Tuple, ast.List)) and size.elts else size
        which = list(dict.fromkeys(outputs)).index(array.name)
        self.splices.append((
            node.lineno, self._column(node.lineno, node.col_offset), size.lineno,
            self._column(size.lineno, size.col_offset), f"set_size(sizes, {which}, ",
        ))  # fmt: skip
        self.splices.append((
            size.end_lineno or 0, self._column(size.end_lineno, size.end_col_offset), node.end_lineno or 0,
            self._column(node.end_lineno, node.end_col_offset), f", {name}.shape[0], {self.number}, {node.lineno - 1})",
        ))  # fmt: skip

    def _share(self, loop: ast.For, before: list[ast.stmt], after: list[ast.stmt]) -> None:
        """The iterations of a loop, for several threads; each does all that stands before it."""
        writes = [n for s in before for n in ast.walk(s) if isinstance(n, ast.Subscript) and self._writes(n)]
        again = self.parallel or [s for s in after if not isinstance(s, (ast.Return, ast.Pass))]
        if again or writes or any(a.role == "bounded" for a in self.names.values()):
            why = "the last statement of a body, before which no output is written, and no output has an unknown length"
            raise self._wrong(
                after[0] if again and after else loop, f"a loop over prange is {why}", "range, or two jt.code"
            )
        self.parallel = True
        if self.mode == "watched":
            return
        call = loop.iter
        assert isinstance(call, ast.Call), "asked before"
        begin = ast.unparse(call.args[0]) if len(call.args) > 1 else "0"
        end = ast.unparse(call.args[-1]) if len(call.args) < 3 else ""
        if not call.args or not end:
            raise self._wrong(loop, "prange takes an end, or a begin and an end", "range for other steps")
        self._replace(call, f"range(part(lo, {begin}, {end}), part(hi, {begin}, {end}))")
        loop.iter = ast.copy_location(ast.Constant(0), call)  # its words are replaced already
        self.loaded += [n for n in ast.walk(call) if isinstance(n, ast.Name)]

    def _writes(self, node: ast.Subscript) -> bool:
        array = self.names.get(node.value.id) if isinstance(node.value, ast.Name) else None
        return array is not None and not isinstance(node.ctx, ast.Load)

    # words

    def check_names(self) -> None:
        """Refuse a word that nobody defines."""
        for node in self.loaded:
            if node.id not in self.known and node.id not in self.stored:
                near = get_close_matches(node.id, {*self.names, *self.stored, *KNOWN}, 1)
                raise self._wrong(node, f"`{node.id}` is not defined", (near or ["cpu_header, to define it"])[0])

    def _wrong(self, node: ast.AST, asked: str, attempt: str) -> ArgumentError:
        line = getattr(node, "lineno", 2) - 1
        return ArgumentError(asked, f"line {line} of the body: `{BODIES[self.number][line - 1].strip()}`", attempt)

    def _column(self, line: int | None, offset: int | None) -> int:
        """Characters before a place; the tree counts bytes."""
        text = self.lines[(line or 1) - 1]
        return len(text.encode()[: offset or 0].decode())

    def _insert(self, line: int | None, offset: int | None, word: str) -> None:
        column = self._column(line, offset)
        self.splices.append((line or 0, column, line or 0, column, word))

    def _replace(self, node: ast.expr, word: str) -> None:
        begin, end = self._column(node.lineno, node.col_offset), self._column(node.end_lineno, node.end_col_offset)
        self.splices.append((node.lineno, begin, node.end_lineno or 0, end, word))


def _calls(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _no_python(lines: list[str], error: Exception, what: str = "the body", above: int = 1) -> ArgumentError:
    """A text in C++ is told what to write instead; `above`: lines that were put before the learner's."""
    for k, line in enumerate(lines, 1):
        for pattern, instead in CPP:
            if re.search(pattern, line):
                return ArgumentError(f"{what} of jt.code is Python", f"C++ in line {k}: `{line.strip()}`", instead)
    found: tuple[str, int] = (str(error.args[0]), error.args[1][0])
    if isinstance(error, SyntaxError):
        found = error.msg, error.lineno or 1
    at = min(max(1, found[1] - above), len(lines))
    return ArgumentError(f"{what} of jt.code is Python", f"{found[0]} in line {at}: `{lines[at - 1].strip()}`")
