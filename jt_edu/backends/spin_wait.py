"""Spin wait: how does a thread wait for another one that will be ready in a moment?

Waking a thread that sleeps takes 20 to 60 µs. One that looks at a counter all the time sees it move within 0.1 µs, but
keeps a core busy, so it looks for some 80 µs only, between two launches, and then goes to sleep. Meanwhile it must not
hold the GIL, so it is a kernel like all others, `numba_cpu.SPIN`, that looks with the function that stands here.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from llvmlite.binding import get_process_triple
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def look(typing: Any, counter: Any) -> Any:
    """The first number, as it is in memory now: the compiler must not reuse what it saw at the last look."""
    del typing

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if get_process_triple().startswith("x86_64"):  # the other thread of this core may go first
            declare: Any = cgutils.get_or_insert_function
            builder.call(declare(builder.module, ir.FunctionType(ir.VoidType(), []), "llvm.x86.sse2.pause"), [])
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.load_atomic(array.data, "acquire", 8)

    return types.int64(counter), emit
