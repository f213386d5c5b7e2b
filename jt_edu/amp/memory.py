"""Memory: how many bytes does a step of training keep from its forward pass to its backward pass?

    with jt.trace() as t:
        loss = criterion(net(x), y)
        optimizer.step(loss)
    saved_bytes(t)

The counting rule: of the arrays that kernels have allocated, those that are there when the last kernel has run that the
loss was computed by. So parameters, their gradients and the state of the optimizer are not among them (`memory_stats`
counts those), nor is what lies in registers; a cast that is stored is, of a weight too.

A gradient makes its own cast of a half, so what is kept is the half. Casts of weights cost memory while a product runs:
for one example and a large layer, mixed precision needs more than float32, since there is little else.
"""

from __future__ import annotations

from jt_edu.base.errors import ArgumentError
from jt_edu.base.trace import Trace

__all__ = ["saved_bytes"]


def saved_bytes(trace: Trace) -> int:
    """Bytes that a step keeps for its gradient: what is alive when the loss is there.

    Args:
        trace: of a whole step, the first one of its kind, from the forward pass to the gradient or the update.

    Raises:
        ArgumentError: the trace has seen no gradient, or no kernel that computed a loss.

    Example:
        >>> w = jt.ones(8, 8)
        >>> with jt.trace() as t:
        ...     loss = (w.exp() @ w.exp()).sum()
        ...     jt.sync([loss, jt.grad(loss, w)])
        >>> jt.amp.saved_bytes(t) >= w.nbytes
        True
    """
    inputs = {node.id: node.inputs for node in trace.built}
    loss = max((node.twin for node in trace.built if node.twin is not None), default=-1)  # gradients begin there
    before, waiting = set[int](), [loss]
    while waiting:
        node = waiting.pop()
        if node not in before:
            before.add(node)
            waiting.extend(inputs.get(node, ()))
    ran = [number for number, kernel in enumerate(trace.kernels) if before.intersection(kernel.stored)]
    if not ran:
        found = f"{len(trace.built)} nodes and {len(trace.kernels)} kernels"
        raise ArgumentError("saved_bytes takes a trace of a step with a gradient", found, "jt.trace() around all of it")
    alive: dict[int, int] = {}
    for m in trace.memory:
        if m.action == "allocate" and m.kernel <= ran[-1]:
            alive[m.node] = m.bytes
        elif m.kernel <= ran[-1]:
            alive.pop(m.node, None)
    return sum(alive.values())
