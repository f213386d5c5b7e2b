"""Text to LLVM: how does a generated kernel become LLVM's language, without numba's front end?

    numba    text -> bytecode -> numba IR -> 25 passes, types of all variables at once -> LLVM IR
    here     text -> Python's own tree, statement by statement                         -> LLVM IR

Kernels say little: loops over `range`, sums of numbers, elements of arrays, functions of mathlib. The type of
everything is known as soon as it is read, because a variable keeps the type of its first value. Each statement writes
the instructions that numba would write for it; LLVM's passes, which decide how fast a kernel runs, are the same.
Functions of mathlib write themselves (`lower`), here as in numba, whose tables of all functions are not filled.

Whatever is not understood raises `Foreign`, and numba compiles the kernel: a learner may write more than we do.
"""

# mypy: disable-error-code="attr-defined, no-untyped-call"
# numba is typed in part, and nowhere as deep as this

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.core.callconv import create_error_model
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu_options import FastMathOptions
from numba.core.fastmathpass import rewrite_module
from numba.core.registry import cpu_target
from numba.core.typing import signature
from numba.np.numpy_support import from_dtype

from jt_edu.backends import llvm_array, llvm_number
from jt_edu.backends.llvm_array import INT, Array
from jt_edu.backends.llvm_library import Lean
from jt_edu.backends.llvm_number import Foreign, converted
from jt_edu.backends.mathlib.simd_math import Lane, llvm

FASTMATH = {"reassoc", "contract"}
CONVERTS = (np.bool_, np.number)


def straight(function: Any, ready: Callable[..., Any], kinds: Sequence[Any], apart: bool, text: str) -> Any:
    """A finished library that holds the function, called by its own name; None if numba's front end has to read it.

    `ready` makes the function ready to be compiled.
    """
    if not text or config.DISABLE_JIT or config.BOUNDSCHECK or "scratch" in function.__code__.co_names:
        return None
    target = cpu_target.target_context
    target = prepared(target, fastmath=FastMathOptions(FASTMATH), error_model=create_error_model("numpy", target))
    try:
        module = write(text, function.__name__, ready(function), kinds, target, apart)
    except (Foreign, SystemError):  # the latter if another thread parses meanwhile, before Python 3.11.8
        return None
    library = Lean(target.codegen(), function.__qualname__)
    with global_compiler_lock:
        library.add_ir_module(module)
        library.finalize()
    return library


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
    except Exception as error:
        raise Foreign(str(error)) from error
    rewrite_module(module, target.fastmath)
    return module


def prepared(context: Any, **settings: Any) -> Any:
    """Numba's target with these settings, which converts numbers by itself: so its tables of functions stay empty."""
    target = context.subtarget(**settings)
    target.cast = lambda builder, value, kind, wanted: converted(Lane(builder, kind, value), wanted).value
    target.compile_internal = _refuse
    return target


def _refuse(*_: Any) -> Any:
    raise Foreign("numba's own functions")


class _Writer:
    """Writes one function; what a statement or an expression does stands in the method of its name."""

    def __init__(self, module: Any, tree: Any, function: Any, kinds: Any, target: Any, apart: bool) -> None:
        self.target, self.world = target, function.__globals__
        self.names: dict[str, Any] = {}  # a place in memory for a number, which LLVM makes a register; or an array
        self.counters = _counters(tree)
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
            if not llvm_number.is_plain(kind):
                raise Foreign(str(kind))
            return self._true(value) if kind == types.boolean else Lane(self.builder, kind, value)
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

    def on_return(self, node: Any) -> None:
        if node.value:
            raise Foreign("kernels return nothing")
        self.target.call_conv.return_value(self.builder, self.target.get_dummy_value())
        self.builder.position_at_end(self.builder.append_basic_block("after"))

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
        self.target.pack_value(self.builder, array.kind.dtype, stored, llvm_array.address(self.builder, array, where))

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
        sign = type(node.op).__name__
        return llvm_number.arithmetic(self.target, sign, self.value(node.left), self.value(node.right))

    def on_unaryop(self, node: Any) -> Any:
        found = self.value(node.operand)
        if isinstance(node.op, ast.Not) and found.type == types.boolean:
            return Lane(self.builder, types.boolean, self.builder.not_(found.value))
        if not isinstance(node.op, ast.USub) or not (found.type == types.int64 or isinstance(found.type, types.Float)):
            raise Foreign(ast.dump(node.op))
        return -found

    def on_compare(self, node: Any) -> Any:
        (sign,), (other,) = node.ops, node.comparators
        return llvm_number.compare(type(sign).__name__, self.value(node.left), self.value(other))

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
            (number,) = given
            return converted(number, from_dtype(np.dtype(function)))
        if function in (min, max):
            return llvm_number.extreme("<" if function is min else ">", *given)
        kinds = [g.kind if isinstance(g, Array) else g.type for g in given]
        if hasattr(function, "_defn"):  # an intrinsic
            wanted, lower = function._defn(None, *kinds)
        else:
            lower, result = function.lower, function.rule(*kinds)
            if result is None:
                raise Foreign(f"{function.__name__} of {kinds}")
            wanted = signature(result, *kinds)
        values = [llvm_array.whole(self.target, self.builder, g) if isinstance(g, Array) else g.value for g in given]
        found = lower(self.target, self.builder, wanted, values)
        kind = wanted.return_type
        return (
            llvm_array.read(self.target, self.builder, kind, found)
            if isinstance(kind, types.Array)
            else Lane(self.builder, kind, found)
        )

    def _function(self, node: Any) -> Any:
        if isinstance(node, ast.Attribute):
            return getattr(self.world[node.value.id], node.attr)
        return {"min": min, "max": max}[node.id] if node.id in ("min", "max") else self.world[node.id]

    # arrays

    def on_subscript(self, node: Any) -> Any:
        array = self.value(node.value)
        if isinstance(array, list):
            return array[node.slice.value]
        where = self._where(array, node.slice)
        if len(where) < len(array.shape) or any(isinstance(w, tuple) for w in where):
            return llvm_array.part(self.builder, array, where)
        place = llvm_array.address(self.builder, array, where)
        if array.kind.dtype == types.boolean:  # a byte
            return self._true(self.builder.load(place))
        return Lane(self.builder, array.kind.dtype, self.target.unpack_value(self.builder, array.kind.dtype, place))

    def _true(self, byte: Any) -> Any:
        return Lane(self.builder, types.boolean, self.builder.icmp_unsigned("!=", byte, byte.type(0)))

    def _where(self, array: Any, index: Any) -> list[Any]:
        """A number for each axis, or for some of them; begin and end, where a part of an axis is meant."""
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if array.kind.layout != "C" or len(parts) > len(array.shape):
            raise Foreign("an element")
        return [self._place(part, length) for part, length in zip(parts, array.shape, strict=False)]

    def _place(self, node: Any, length: Any) -> Any:
        if isinstance(node, ast.Slice):
            ends = [self.value(end) for end in (node.lower, node.upper)]
            if node.step or any(end.type != types.int64 for end in ends):
                raise Foreign("a slice")
            return tuple(llvm_array.inside(self.builder, end.value, length) for end in ends)
        found = self.value(node)
        if not isinstance(found.type, types.Integer):
            raise Foreign("an index")
        value = found.to(types.int64).value
        counts = node.id in self.counters if isinstance(node, ast.Name) else isinstance(node, ast.Constant)
        return value if counts or not found.type.signed else llvm_array.from_end(self.builder, value, length)


def _counters(tree: Any) -> set[str]:
    """The variables that nothing but loops from 0 on changes: they are never negative."""
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For) and isinstance(node.iter, ast.Call)]
    found = [n.target.id for n in loops if len(n.iter.args) == 1 or getattr(n.iter.args[0], "value", None) == 0]
    stored = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return {name for name in found if stored.count(name) == found.count(name)}
