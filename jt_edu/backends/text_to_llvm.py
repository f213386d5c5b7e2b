"""Text to LLVM: how does a generated kernel become LLVM's language, without numba's front end?

    numba    text -> bytecode -> numba IR -> 25 passes, types of all variables at once -> LLVM IR    40 ms, and 0.5 s once
    here     text -> Python's own tree, statement by statement                        -> LLVM IR     4 ms

Kernels say little: loops over `range`, sums of numbers, elements of arrays, functions of mathlib. The type of everything
is known as soon as it is read, because a variable keeps the type of its first value. Each statement writes the
instructions that numba would write for it; LLVM's passes, which decide how fast a kernel runs, are the same. Functions of
mathlib write themselves (`lower`), here as in numba.

Whatever is not understood raises `Foreign`, and numba compiles the kernel: a learner may write more than we do.
"""

# mypy: disable-error-code="attr-defined, no-untyped-call"
# numba is typed in part, and nowhere as deep as this

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import NumbaError
from numba.core.fastmathpass import rewrite_module
from numba.core.typing import signature
from numba.cpython import numbers as whole_numbers
from numba.np.numpy_support import from_dtype

from jt_edu.backends.mathlib.simd_math import Lane, llvm

INT = ir.IntType(64)
CONVERTS = (np.bool_, np.number)
FLOATING = {"Add": "fadd", "Sub": "fsub", "Mult": "fmul", "Div": "fdiv"}
WHOLE = {"Add": "add", "Sub": "sub", "Mult": "mul", "BitAnd": "and_", "BitOr": "or_", "BitXor": "xor"}
DIVIDES = {"FloorDiv": whole_numbers.int_floordiv_impl, "Mod": whole_numbers.int_rem_impl}
SIGNS = {"Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Eq": "==", "NotEq": "!="}
FLAGGED = ("add", "sub", "mul")  # of signed numbers: they stay in their range


class Foreign(Exception):  # noqa: N818  not an error: numba knows more
    """Something that kernels of ours do not say."""


@dataclass(frozen=True)
class Array:
    """An array, or a part of one: numba's type, and LLVM's values."""

    kind: Any
    data: Any
    shape: tuple[Any, ...]


def write(text: str, entry: str, function: Any, kinds: Sequence[Any], target: Any, apart: bool) -> Any:
    """A module of llvmlite that holds the function called `entry` in a text; `function` is what Python made of it.

    It is called as numba's own are. `target` is numba's, and knows no function.

    Raises:
        Foreign: numba has to compile it.
    """
    found = [f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef) and f.name == entry]
    if not found or function.__closure__:
        raise Foreign(entry)
    module = ir.Module(function.__qualname__)
    try:
        _Writer(module, found[0], function, kinds, target, apart)
    except (LookupError, TypeError, ValueError, AttributeError, NotImplementedError, NumbaError) as error:
        raise Foreign(str(error)) from error
    rewrite_module(module, target.fastmath)
    return module


def prepared(context: Any, **settings: Any) -> Any:
    """Numba's target with these settings, which converts numbers by itself: so its tables of functions stay empty."""
    target = context.subtarget(**settings)
    target.cast = lambda builder, value, kind, wanted: converted(Lane(builder, kind, value), wanted).value
    target.compile_internal = _refuse
    return target


def converted(number: Any, kind: Any) -> Any:
    """A number in another type, as numba converts it."""
    if number.type == kind:
        return number
    if kind == types.boolean:
        return number != 0
    if not (_plain(number.type) and _plain(kind)) or (isinstance(number.type, types.Float) and _unsigned(kind)):
        raise Foreign(f"{number.type} to {kind}")
    return number.to(kind)


def _refuse(*_: Any) -> Any:
    raise Foreign("numba's own functions")


def _plain(kind: Any) -> bool:
    return kind == types.boolean or isinstance(kind, types.Integer) or kind in (types.float32, types.float64)


def _unsigned(kind: Any) -> bool:
    return isinstance(kind, types.Integer) and not kind.signed


class _Writer:
    """Writes one function; what a statement or an expression does stands in the method of its name."""

    def __init__(self, module: Any, tree: Any, function: Any, kinds: Any, target: Any, apart: bool) -> None:
        self.target, self.world = target, function.__globals__
        self.names: dict[str, Any] = {}  # a place in memory for a number, which LLVM makes a register; or an array
        self.counters: set[str] = set()  # those that are never negative
        shape = target.call_conv.get_function_type(types.none, kinds)
        made = ir.Function(module, shape, function.__qualname__)
        parameters = [a.arg for a in tree.args.args]
        target.call_conv.decorate_function(made, parameters, kinds, noalias=apart)
        self.builder = ir.IRBuilder(made.append_basic_block("entry"))
        self.given = iter(target.call_conv.get_arguments(made))
        for name, kind in zip(parameters, kinds, strict=True):
            self.names[name] = self._argument(kind)
        for name in [name for name, value in self.names.items() if isinstance(value, Lane)]:
            self._name(name, self.names.pop(name))
        self.body(tree.body)
        target.call_conv.return_value(self.builder, target.get_dummy_value())

    def _argument(self, kind: Any) -> Any:
        if not isinstance(kind, types.Array):
            value = next(self.given)
            if not _plain(kind):
                raise Foreign(str(kind))
            return Lane(self.builder, kind, self.builder.trunc(value, llvm(kind)) if kind == types.boolean else value)
        _, _, _, _, data, *rest = (next(self.given) for _ in range(5 + 2 * kind.ndim))
        return Array(kind, data, tuple(rest[: kind.ndim]))

    # statements

    def body(self, statements: list[Any]) -> None:
        """One after the other."""
        for statement in statements:
            getattr(self, f"on_{type(statement).__name__.lower()}", _refuse)(statement)

    def on_expr(self, node: Any) -> None:
        if not isinstance(node.value, ast.Constant):
            self.value(node.value)

    def on_pass(self, node: Any) -> None:
        pass

    def on_assign(self, node: Any) -> None:
        (target,) = node.targets
        if not isinstance(target, ast.Tuple):
            self._put(target, self.value(node.value))
            return
        parts = node.value.elts if isinstance(node.value, ast.Tuple) else None
        values = self.value(node.value) if parts is None else [self.value(part) for part in parts]
        for one, value in zip(target.elts, values, strict=True):
            self._put(one, value)

    def on_augassign(self, node: Any) -> None:
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        self._put(node.target, self.on_binop(ast.BinOp(read, node.op, node.value)))

    def _put(self, target: Any, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._name(target.id, value)
            return
        array = self.value(target.value)
        where = self._where(array, target.slice)
        if len(where) != len(array.shape) or not isinstance(value, Lane):
            raise Foreign("an array is written number by number")
        stored = converted(value, array.kind.dtype).value
        self.target.pack_value(self.builder, array.kind.dtype, stored, self._at(array, where))

    def _name(self, name: str, value: Any) -> None:
        known = self.names.get(name)
        if isinstance(value, Lane):
            if known is None:
                known = self.names[name] = (value.type, cgutils.alloca_once(self.builder, llvm(value.type), name=name))
            if isinstance(known, Array) or known[0] != value.type:
                raise Foreign(f"{name} has two types")
            self.builder.store(value.value, known[1])
        elif known is None and isinstance(value, Array):
            self.names[name] = value
        else:
            raise Foreign(name)
        self.counters.discard(name)

    def on_if(self, node: Any) -> None:
        condition = self._truth(node.test)
        if not node.orelse:
            with self.builder.if_then(condition.value):
                self.body(node.body)
            return
        with self.builder.if_else(condition.value) as (then, otherwise):
            with then:
                self.body(node.body)
            with otherwise:
                self.body(node.orelse)

    def on_while(self, node: Any) -> None:
        if node.orelse:
            raise Foreign("while ... else")
        test, inside, after = (self.builder.append_basic_block(f"while.{part}") for part in ("test", "body", "end"))
        self.builder.branch(test)
        self.builder.position_at_end(test)
        self.builder.cbranch(self._truth(node.test).value, inside, after)
        self.builder.position_at_end(inside)
        self.body(node.body)
        self.builder.branch(test)
        self.builder.position_at_end(after)

    def on_for(self, node: Any) -> None:
        call, b = node.iter, self.builder
        if not isinstance(call, ast.Call) or call.func.id != "range" or node.orelse or call.keywords:
            raise Foreign("loops go over ranges")
        begin, end, step = self._range([converted(self.value(a), types.int64) for a in call.args])
        place = cgutils.alloca_once(b, INT)
        test, inside, after = (b.append_basic_block(f"for.{part}") for part in ("test", "body", "end"))
        b.store(begin, place)
        b.branch(test)
        b.position_at_end(test)
        counter = b.load(place)
        more = b.icmp_signed("<", counter, end)
        if not isinstance(step, ir.Constant):
            more = b.select(b.icmp_signed(">", step, INT(0)), more, b.icmp_signed(">", counter, end))
        b.cbranch(more, inside, after)
        b.position_at_end(inside)
        self._name(node.target.id, Lane(b, types.int64, counter))
        if len(call.args) == 1 or getattr(call.args[0], "value", -1) == 0:
            self.counters.add(node.target.id)
        self.body(node.body)
        b.store(b.add(counter, step, flags=["nsw"]), place)
        b.branch(test)
        b.position_at_end(after)

    def _range(self, given: list[Any]) -> tuple[Any, Any, Any]:
        values = [lane.value for lane in given]
        begin, end, step = {1: [INT(0), *values, INT(1)], 2: [*values, INT(1)], 3: values}[len(values)]
        if isinstance(step, ir.Constant) and step.constant <= 0:
            raise Foreign("a loop that goes back")
        return begin, end, step

    # expressions

    def value(self, node: Any) -> Any:
        """A number, an array, or several numbers."""
        return getattr(self, f"on_{type(node).__name__.lower()}", _refuse)(node)

    def _truth(self, node: Any) -> Any:
        found = self.value(node)
        if found.type != types.boolean:
            raise Foreign("conditions are true or false")
        return found

    def on_constant(self, node: Any) -> Any:
        return self._number(node.value)

    def _number(self, number: Any) -> Any:
        kind = {bool: types.boolean, int: types.int64, float: types.float64}.get(type(number))
        if kind is None or (kind == types.int64 and not -(2**63) <= number < 2**63):
            raise Foreign(repr(number))
        return Lane(self.builder, kind, ir.Constant(llvm(kind), number))

    def on_name(self, node: Any) -> Any:
        found = self.names.get(node.id)
        if found is None:
            return self._number(self.world[node.id])
        return found if isinstance(found, Array) else Lane(self.builder, found[0], self.builder.load(found[1]))

    def on_binop(self, node: Any) -> Any:
        return self._arithmetic(type(node.op).__name__, self.value(node.left), self.value(node.right))

    def _arithmetic(self, sign: str, left: Any, right: Any) -> Any:
        kind = _common(left.type, right.type)
        a, b = converted(left, kind).value, converted(right, kind).value
        if isinstance(kind, types.Float):
            return Lane(self.builder, kind, getattr(self.builder, FLOATING[sign])(a, b))
        if sign in DIVIDES and kind == types.int64:
            return Lane(
                self.builder, kind, DIVIDES[sign](self.target, self.builder, signature(kind, kind, kind), (a, b))
            )
        if kind == types.boolean and not sign.startswith("Bit"):
            raise Foreign("arithmetic of truth values")
        flags = {"flags": ["nsw"]} if WHOLE[sign] in FLAGGED and kind.signed else {}
        return Lane(self.builder, kind, getattr(self.builder, WHOLE[sign])(a, b, **flags))

    def on_unaryop(self, node: Any) -> Any:
        found = self.value(node.operand)
        if isinstance(node.op, ast.Not) and found.type == types.boolean:
            return Lane(self.builder, types.boolean, self.builder.not_(found.value))
        if not isinstance(node.op, ast.USub) or not (found.type == types.int64 or isinstance(found.type, types.Float)):
            raise Foreign(ast.dump(node.op))
        return -found

    def on_compare(self, node: Any) -> Any:
        (sign,), (other,) = node.ops, node.comparators
        left, right = self.value(node.left), self.value(other)
        kind = _common(left.type, right.type)
        a, b = converted(left, kind).value, converted(right, kind).value
        sign = SIGNS[type(sign).__name__]
        if isinstance(kind, types.Float):
            compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
        else:
            compare = self.builder.icmp_signed if getattr(kind, "signed", False) else self.builder.icmp_unsigned
        return Lane(self.builder, types.boolean, compare(sign, a, b))

    def on_boolop(self, node: Any) -> Any:
        first, *rest = node.values
        if not rest:
            return self._truth(first)
        others = ast.BoolOp(node.op, rest)
        both = isinstance(node.op, ast.And)
        known = ast.Constant(not both)
        return self._either(self._truth(first), *((others, known) if both else (known, others)))

    def on_ifexp(self, node: Any) -> Any:
        return self._either(self._truth(node.test), node.body, node.orelse)

    def _either(self, condition: Any, yes: Any, no: Any) -> Any:
        ends = []
        with self.builder.if_else(condition.value) as (then, otherwise):
            for block, node in ((then, yes), (otherwise, no)):
                with block:
                    ends.append((self.value(node), self.builder.block))
        (first, _), (second, _) = ends
        if first.type != second.type:
            raise Foreign("either of two types")
        joined = self.builder.phi(first.value.type)
        for lane, block in ends:
            joined.add_incoming(lane.value, block)
        return Lane(self.builder, first.type, joined)

    def on_attribute(self, node: Any) -> Any:
        array = self.value(node.value)
        if node.attr == "shape":
            return [Lane(self.builder, types.int64, n) for n in array.shape]
        if node.attr == "T" and array.kind.layout == "C" and len(array.shape) == 2:
            return Array(array.kind.copy(layout="F"), array.data, array.shape[::-1])
        raise Foreign(node.attr)

    def on_call(self, node: Any) -> Any:
        if node.keywords:
            raise Foreign("a keyword")
        function = self._function(node.func)
        given = [self.value(argument) for argument in node.args]
        if isinstance(function, type) and issubclass(function, CONVERTS):
            return converted(*given, from_dtype(np.dtype(function)))
        if function in (min, max):
            return self._extreme("<" if function is min else ">", *given)
        kinds = [g.kind if isinstance(g, Array) else g.type for g in given]
        if hasattr(function, "_defn"):  # an intrinsic
            wanted, lower = function._defn(None, *kinds)
        else:
            lower, result = function.lower, function.rule(*kinds)
            if result is None:
                raise Foreign(f"{function.__name__} of {kinds}")
            wanted = signature(result, *kinds)
        values = [self._whole(g) if isinstance(g, Array) else g.value for g in given]
        found = lower(self.target, self.builder, wanted, values)
        kind = wanted.return_type
        return self._parts(kind, found) if isinstance(kind, types.Array) else Lane(self.builder, kind, found)

    def _function(self, node: Any) -> Any:
        if isinstance(node, ast.Attribute):
            return getattr(self.world[node.value.id], node.attr)
        return {"min": min, "max": max}[node.id] if node.id in ("min", "max") else self.world[node.id]

    def _extreme(self, sign: str, a: Any, b: Any) -> Any:
        if a.type != types.int64 or b.type != types.int64:
            raise Foreign("of whole numbers only")
        first = self.builder.icmp_signed(sign, a.value, b.value)
        return Lane(self.builder, a.type, self.builder.select(first, a.value, b.value))

    # arrays

    def on_subscript(self, node: Any) -> Any:
        array = self.value(node.value)
        if isinstance(array, list):
            return array[node.slice.value]
        where = self._where(array, node.slice)
        if len(where) < len(array.shape) or any(isinstance(w, tuple) for w in where):
            return self._view(array, where)
        found = self.target.unpack_value(self.builder, array.kind.dtype, self._at(array, where))
        return Lane(self.builder, array.kind.dtype, found)

    def _where(self, array: Any, index: Any) -> list[Any]:
        """A number for each axis, or for some of them; begin and end, where a part of an axis is meant."""
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if array.kind.layout != "C" or len(parts) > len(array.shape):
            raise Foreign("an element")
        return [self._place(part, length) for part, length in zip(parts, array.shape, strict=False)]

    def _place(self, node: Any, length: Any) -> Any:
        b = self.builder
        if isinstance(node, ast.Slice):
            if node.step or not (node.lower and node.upper):
                raise Foreign("a slice")
            return tuple(self._inside(self.value(end), length) for end in (node.lower, node.upper))
        found = self.value(node)
        if not isinstance(found.type, types.Integer):
            raise Foreign("an index")
        value = found.to(types.int64).value
        counts = isinstance(node, ast.Name) and node.id in self.counters
        if not found.type.signed or counts or (isinstance(node, ast.Constant) and node.value >= 0):
            return value
        return b.select(b.icmp_signed("<", value, INT(0)), b.add(length, value), value)

    def _inside(self, end: Any, length: Any) -> Any:
        """An end of a slice, which is neither negative nor beyond the last."""
        if end.type != types.int64:
            raise Foreign("an end")
        b, value = self.builder, end.value
        value = b.select(b.icmp_signed("<", value, INT(0)), b.add(length, value), value)
        value = b.select(b.icmp_signed("<", value, INT(0)), INT(0), value)
        return b.select(b.icmp_signed(">", value, length), length, value)

    def _at(self, array: Any, where: list[Any]) -> Any:
        """The address of an element, as numba reckons it."""
        b, place = self.builder, None
        if not array.shape:
            return array.data
        for axis, index in enumerate(where):
            for length in array.shape[axis + 1 :]:
                index = b.mul(index, length)
            place = index if place is None else b.add(place, index)
        return b.gep(array.data, [place])

    def _view(self, array: Any, where: list[Any]) -> Any:
        """Some rows of an array, or one of them."""
        b, (*before, last) = self.builder, where
        ends = last if isinstance(last, tuple) else None
        if any(isinstance(w, tuple) for w in before):
            raise Foreign("parts of rows")
        begin = [*before, ends[0] if ends else last]
        missing = [INT(0)] * (len(array.shape) - len(begin))
        rest = array.shape[len(begin) :]
        if ends:
            size = b.sub(ends[1], ends[0])
            rest = (b.select(b.icmp_signed("<", size, INT(0)), INT(0), size), *rest)
        kind = array.kind.copy(ndim=len(rest))
        return Array(kind, self._at(array, [*begin, *missing]), rest)

    def _whole(self, array: Any) -> Any:
        """The same as numba has it, for functions that are written for that."""
        b, made = self.builder, self.target.make_array(array.kind)(self.target, self.builder)
        size = INT(self.target.get_abi_sizeof(self.target.get_data_type(array.kind.dtype)))
        steps, count = [], INT(1)
        for length in array.shape[:: -1 if array.kind.layout == "C" else 1]:
            steps.append(b.mul(size, count))
            count = b.mul(count, length)
        steps = steps[:: -1 if array.kind.layout == "C" else 1]
        fields = {"data": array.data, "shape": cgutils.pack_array(b, array.shape, INT), "itemsize": size}
        fields |= {"strides": cgutils.pack_array(b, steps, INT), "nitems": count}
        for name in ("meminfo", "parent"):
            fields[name] = cgutils.get_null_value(getattr(made, name).type)
        for name, value in fields.items():
            setattr(made, name, value)
        return made._getvalue()

    def _parts(self, kind: Any, value: Any) -> Any:
        found = self.target.make_array(kind)(self.target, self.builder, value)
        return Array(kind, found.data, tuple(cgutils.unpack_tuple(self.builder, found.shape)))


def _common(a: Any, b: Any) -> Any:
    """The type of a sum, as numba has it."""
    if a == b and (isinstance(a, types.Float) or a in (types.int64, types.uint64, types.boolean)):
        return a
    whole = [kind for kind in (a, b) if isinstance(kind, types.Integer)]
    if types.boolean in (a, b) or not _plain(a) or not _plain(b):
        raise Foreign(f"{a} and {b}")
    if len(whole) < 2:  # a float with a float of the other width, or with a whole number
        return types.float64
    if all(kind.signed for kind in whole) or not any(kind.bitwidth == 64 and not kind.signed for kind in whole):
        return types.uint64 if not any(kind.signed for kind in whole) else types.int64
    if not any(kind.signed for kind in whole):
        return types.uint64
    raise Foreign(f"{a} and {b}")
