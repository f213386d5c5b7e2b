"""Device functions: what device_comm.py does, as operators that stand beside their gradients.

    Broadcast             x -> x x x            the gradient is a sum          ReduceAddCoalesced
    ReduceAddCoalesced    x y z -> x + y + z    the gradient is a copy each    Broadcast
    Scatter               x -> its pieces       they are put together          Gather
    Gather                pieces -> x           it is cut                      Scatter

Each is the adjoint of the other: <A x, y> = <x, A' y>.
"""

from __future__ import annotations

import warnings
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.distributed import device_comm
from jt_edu.ops.gradient import Function
from jt_edu.variable.var import Var, as_var


class Broadcast(Function):
    """`Broadcast.apply(devices, *inputs)`: all inputs for the first device, then all for the second, ...

    Example:
        >>> x = jt.array([1.0])
        >>> a, b = Broadcast.apply(["cpu:0", "cpu:1"], x)
        >>> jt.grad((a + 10 * b).sum(), x).tolist()
        [11.0]
    """

    def execute(self, target_gpus: Any, *inputs: Any) -> tuple[Var, ...]:
        """Copies, device by device."""
        self.devices, self.count = device_comm.device_names(target_gpus, "Broadcast"), len(inputs)
        if not inputs:
            return ()
        return tuple(v for row in device_comm.broadcast_coalesced(inputs, self.devices) for v in row)

    def grad(self, *douts: Var) -> Any:
        """The sum over devices."""
        return ReduceAddCoalesced.apply(self.devices[0], self.count, *douts)


class ReduceAddCoalesced(Function):
    """Sums over devices: `ReduceAddCoalesced.apply(device, count, *grads)`, `count` Vars for each device in turn.

    Example:
        >>> [v.item() for v in ReduceAddCoalesced.apply("cpu:0", 2, *[jt.array(float(k)) for k in range(4)])]
        [2.0, 4.0]
    """

    def execute(self, destination: Any, num_inputs: int, *grads: Any) -> tuple[Var, ...]:
        """The sums over devices."""
        if num_inputs < 1 or not grads or len(grads) % num_inputs:
            asked = "ReduceAddCoalesced takes as many Vars for each device as it is told"
            raise ArgumentError(asked, f"{len(grads)} Vars, {num_inputs} for each device")
        self.devices = [f"cpu:{k}" for k in range(len(grads) // num_inputs)]
        rows = [grads[k : k + num_inputs] for k in range(0, len(grads), num_inputs)]
        return device_comm.reduce_add_coalesced(rows, destination)

    def grad(self, *douts: Var) -> Any:
        """Each device gets the gradient of the sum."""
        return Broadcast.apply(self.devices, *douts)


class Gather(Function):
    """`Gather.apply(device, dim, *inputs)`: one behind the other along an axis. Numbers become vectors of one, as told.

    Example:
        >>> Gather.apply("cpu:0", 0, jt.array([1.0]), jt.array([2.0, 3.0])).tolist()
        [1.0, 2.0, 3.0]
    """

    def execute(self, target_device: Any, dim: int, *inputs: Any) -> Var:
        """The whole."""
        variables = [as_var(x) for x in inputs]
        self.numbers = bool(variables) and all(v.ndim == 0 for v in variables) and dim == 0
        if self.numbers:
            text = "gather puts numbers together to a vector: what comes out has an axis more than each of them"
            warnings.warn(text, UserWarning, stacklevel=2)
            variables = [v.reshape(1) for v in variables]
        self.dim, self.sizes = dim, [v.shape[dim] if v.ndim else 1 for v in variables]
        return device_comm.gather(variables, dim, target_device)

    def grad(self, dout: Var) -> Any:
        """Each input gets its piece."""
        pieces = Scatter.apply([f"cpu:{k}" for k in range(len(self.sizes))], self.sizes, self.dim, dout)
        return tuple(p.reshape(()) for p in pieces) if self.numbers else pieces


class Scatter(Function):
    """`Scatter.apply(devices, chunk_sizes, dim, x)`: pieces of a Var, one for each device.

    Example:
        >>> [v.tolist() for v in Scatter.apply(["cpu:0", "cpu:1"], None, 0, jt.arange(3.0))]
        [[0.0, 1.0], [2.0]]
    """

    def execute(self, target_gpus: Any, chunk_sizes: Any, dim: int, input: Any) -> tuple[Var, ...]:
        """The pieces."""
        self.dim = dim
        return device_comm.scatter(input, target_gpus, chunk_sizes, dim)

    def grad(self, *douts: Var) -> Var:
        """The whole."""
        whole: Var = Gather.apply("cpu:0", self.dim, *douts)
        return whole
