"""DataParallel: one process, a share of the batch for each of several (simulated) devices.

    inputs ── scatter ──┬── replica 0 ──┐
                        ├── replica 1 ──┼── gather ── outputs
                        └── replica 2 ──┘

With one device there is nothing to win, and copies of all weights to pay in each call: the lesson of this module is
what it costs. Ranks (`DistributedDataParallel`) copy no weights, and send only gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jt_edu.base.errors import ArgumentError, JtError
from jt_edu.distributed import device_comm
from jt_edu.distributed.replicas import replicate
from jt_edu.distributed.scatter_gather import devices_of, gather, scatter_kwargs
from jt_edu.nn.module import Module


class DataParallel(Module):
    """A module that works on shares of each batch, one for each device, with copies of itself.

    Args:
        module: what computes.
        device_ids: names of devices, such as ["cpu:0", "cpu:1"]; ["cpu:0"] by default.
        output_device: where the outputs are put together; the first device by default.
        dim: the axis along which inputs are cut and outputs put together.

    Raises:
        ArgumentError: not a module, or no such device.

    Example:
        >>> net = jt.nn.parallel.DataParallel(jt.nn.Linear(3, 2), device_ids=["cpu:0", "cpu:1"])
        >>> net(jt.ones(5, 3)).shape
        (5, 2)
        >>> [name for name, _ in net.named_parameters()]
        ['module.weight', 'module.bias']
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        if not isinstance(module, Module):
            raise ArgumentError("DataParallel takes a module", type(module).__name__)
        self.module = module
        self.device_ids, self.output_device, self.dim = devices_of("DataParallel", device_ids, output_device, dim)

    def execute(self, *args: Any, **named: Any) -> Any:
        """What the module computes, share by share."""
        return data_parallel(self.module, args, self.device_ids, self.output_device, self.dim, named)


def data_parallel(
    module: Module, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """`module(*inputs, **module_kwargs)`, computed share by share: what `DataParallel` does, for one call.

    Example:
        >>> jt.nn.parallel.data_parallel(jt.nn.ReLU(), jt.array([-1.0, 2.0]), ["cpu:0", "cpu:1"]).tolist()
        [0.0, 2.0]
    """
    names, target, dim = devices_of("data_parallel", device_ids, output_device, dim)
    args = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    words = module_kwargs or {}
    if len(names) == 1:
        return module(*args, **words)
    shares, shares_of_words = scatter_kwargs(args, words, names, dim)
    if not shares:
        return module()
    used = names[: len(shares)]
    return gather(parallel_apply(replicate(module, used), shares, shares_of_words, used), target, dim)


def parallel_apply(
    modules: Sequence[Any], inputs: Sequence[Any], kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Any = None,
) -> list[Any]:  # fmt: skip
    """Call each module with inputs of its own, one after the other.

    Args:
        modules: one for each device.
        inputs: for each module a tuple of arguments, or one argument.
        kwargs_tup: for each module its named arguments.
        devices: names, for messages.

    Raises:
        ArgumentError: not as many of one as of the other.

    Example:
        >>> [y.item() for y in jt.nn.parallel.parallel_apply([jt.nn.ReLU(), jt.nn.Tanh()], [jt.zeros(1)] * 2)]
        [0.0, 0.0]
    """
    words = [{}] * len(modules) if kwargs_tup is None else list(kwargs_tup)
    names = (
        [f"cpu:{k}" for k in range(len(modules))] if devices is None else device_comm.device_names(devices, "devices")
    )
    if not len(modules) == len(inputs) == len(words) == len(names):
        found = f"{len(modules)} modules, {len(inputs)} inputs, {len(words)} kwargs_tup, {len(names)} devices"
        raise ArgumentError("parallel_apply takes as many inputs as modules", found)
    outs = []
    for number, (module, given, named) in enumerate(zip(modules, inputs, words, strict=True)):
        args = given if isinstance(given, (tuple, list)) else (given,)
        try:
            outs.append(module(*args, **named))
        except JtError as error:
            raise error.at(f"replica {number} on {names[number]}") from None
    return outs
