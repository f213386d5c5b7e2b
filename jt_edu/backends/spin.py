"""Spin: how does a thread wait for another one that will be ready in a moment?

Waking a thread that sleeps takes 20 to 60 us. One that looks at a counter all the time sees it move within 0.1 us, but
keeps a core busy, so it looks for some 80 us only, between two kernels, and then goes to sleep. What it looks at are
the counters of the pool. It is a kernel like all others, and releases the GIL while it looks:

    kernel(lo, hi, counters)      returns when counters[lo] > hi, or when it has looked for long enough

Nothing here knows what the counters count.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from llvmlite.binding import get_process_triple
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic

from jt_edu.codegen.source import Parameter, Source

SPIN = Source(
    """from jt_edu.backends.spin import look


def kernel(lo, hi, counters, tell):
    if lo > 0:
        tell[0] = lo
    for _ in range(2000):
        if look(counters, 0) > hi:
            return
""",
    (Parameter("counters", "int64", 1),Parameter("tell", "int64", 1),),
)


@intrinsic
def look(typing: Any, counters: Any, place: Any) -> Any:
    """What is in memory now, and not what was there at the last look."""
    del typing

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if get_process_triple().startswith("x86_64"):  # tells the other thread of this core to go first
            pause = ir.FunctionType(ir.VoidType(), [])
            builder.call(get_or_insert_function(builder.module, pause, "llvm.x86.sse2.pause"), [])
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.load_atomic(builder.gep(array.data, [arguments[1]]), "acquire", 8)

    return types.int64(counters, place), emit
