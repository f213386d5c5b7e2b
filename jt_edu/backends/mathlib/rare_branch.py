"""Rare branch: how does a formula spare nearly all numbers what only a few of them need?

    where(far, slow(x), usual)           computes both for every number
    rarely("far", slow, far, x, usual)   asks whether any number in a register is far; nearly always, that is all

The slow formula becomes a function of one number in the module of the kernel. So that LLVM goes on computing on whole
registers, it is told of twins of that function for 2, 4, 8 and 16 numbers: a twin is given a mask, and does nothing if
that is empty. When the loops are done, `numba_pipeline` has the twins written into them, and no register is saved for a
call.

Source: LLVM Language Reference, "vector-function-abi-variant": M in the name of a twin says that it takes a mask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir

from jt_edu.backends.mathlib import nvvm
from jt_edu.backends.mathlib.simd_math import Lane, Number

REGISTERS = (128, 256, 512, 1024)  # bits of those that a loop works on at once
MOST = 16  # numbers, that is
PURE = ("memory(none)", "nounwind", "willreturn", "nosync", "nofree")
SMALL = ("cold", "minsize", "optsize")
PREFIX = "rare_"  # of the names of the functions in a kernel
BIT, INT = ir.IntType(1), ir.IntType(32)


def rarely(name: str, slow: Callable[[Number], Number], condition: Lane, x: Lane, usual: Lane) -> Lane:
    """`slow(x)`, which is of the type of x and called `name`, where the condition holds; else `usual`."""
    builder = x.builder
    if nvvm.on_gpu(builder):  # each thread has one number, and jumps by itself
        before = builder.block
        with builder.if_then(condition.value):
            found, inside = slow(x).value, builder.block
        return _joined(x, ((usual.value, before), (found, inside)))
    own = _alone(builder.module, f"{PREFIX}{name}_{x.width}", slow, x)
    function = _declared(builder.module, f"{own.name}_1", [x.value.type], x.value.type, ("noinline", *SMALL))
    if function.is_declaration:  # to be seen as a call until there are loops of whole registers
        inner = ir.IRBuilder(function.append_basic_block())
        inner.ret(inner.call(own, function.args))
    before = builder.block
    with builder.if_then(condition.value, likely=False):
        found = builder.call(function, [x.value])
        lanes = [bits // x.width for bits in REGISTERS if bits // x.width <= MOST]
        twins = ",".join(f"_ZGV_LLVM_M{n}v_{function.name}({_twin(own, n).name})" for n in lanes)
        set.add(found.attributes, f'"vector-function-abi-variant"="{twins}"')  # its own `add` knows of no such word
        inside = builder.block
    return _joined(x, ((usual.value, before), (found, inside)))


def _joined(x: Lane, ways: Any) -> Lane:
    """One of several values, each from the block that it comes from."""
    joined = x.builder.phi(x.value.type)
    for value, block in ways:
        joined.add_incoming(value, block)
    return Lane(x.builder, x.type, joined)


def _alone(module: Any, name: str, formula: Callable[[Number], Number], x: Lane) -> Any:
    """The function of one number that a formula describes."""
    function = _declared(module, name, [x.value.type], x.value.type, ("alwaysinline", *SMALL))
    if function.is_declaration:
        builder = ir.IRBuilder(function.append_basic_block())
        builder.ret(formula(Lane(builder, x.type, function.args[0])).value)
    return function


def _twin(function: Any, lanes: int) -> Any:
    """The same for so many numbers and a mask that says which of them count."""
    many = ir.VectorType(function.args[0].type, lanes)
    taken = [many, ir.VectorType(BIT, lanes)]
    twin = _declared(function.module, f"{function.name}_{lanes}", taken, many, ("alwaysinline", *SMALL))
    if twin.is_declaration:
        _for_each(twin, function, lanes)
    return twin


def _declared(module: Any, name: str, taken: list[Any], given: Any, words: tuple[str, ...]) -> Any:
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(given, taken), name)
    function.linkage = "weak_odr"
    for word in (*PURE, *words):
        set.add(function.attributes, word)
    return function


def into_loops(module: Any, builder: Any) -> None:
    """Write the twins into the loops of a finished kernel, and forget those that no loop asks for."""
    ours = [g for g in (*module.functions, *module.global_variables) if g.name.startswith(PREFIX)]
    if ours:
        inline, forget = binding.create_new_module_pass_manager(), binding.create_new_module_pass_manager()
        inline.add_always_inliner_pass()
        inline.run(module, builder)
        for one in ours:
            one.linkage = "internal"
        forget.add_global_dead_code_eliminate_pass()
        forget.run(module, builder)


def _for_each(twin: Any, function: Any, lanes: int) -> None:
    """Call the function for each number whose bit in the mask is set, if any is."""
    x, mask = twin.args
    begin, each, work, after, end = (
        twin.append_basic_block(name) for name in ("begin", "each", "work", "after", "end")
    )
    builder = ir.IRBuilder(begin)
    builder.cbranch(
        builder.icmp_unsigned("!=", builder.bitcast(mask, ir.IntType(lanes)), ir.IntType(lanes)(0)), each, end
    )
    builder.position_at_end(each)
    k, so_far = builder.phi(INT), builder.phi(twin.type.pointee.return_type)
    builder.cbranch(builder.extract_element(mask, k), work, after)
    builder.position_at_end(work)
    found = builder.insert_element(so_far, builder.call(function, [builder.extract_element(x, k)]), k)
    builder.branch(after)
    builder.position_at_end(after)
    now = builder.phi(twin.type.pointee.return_type)
    following = builder.add(k, INT(1))
    builder.cbranch(builder.icmp_unsigned("<", following, INT(lanes)), each, end)
    builder.position_at_end(end)
    answer = builder.phi(twin.type.pointee.return_type)
    nothing = ir.Constant(twin.type.pointee.return_type, None)
    for phi, comes in ((k, ((INT(0), begin), (following, after))), (so_far, ((nothing, begin), (now, after))),
                       (now, ((so_far, each), (found, work))), (answer, ((nothing, begin), (now, after)))):  # fmt: skip
        for value, block in comes:
            phi.add_incoming(value, block)
    builder.ret(answer)
