"""Replicas: copies of a module for several devices, whose gradients flow back to it.

    network ──┬── replica 0   weights are copies that know where they come from
              └── replica 1   d loss / d weight = the sum over replicas

A deep copy would have weights of its own, and no gradient would reach the network. Modules that stand in several places
do so in each replica too, and one Var that has several names stays one.
"""

from __future__ import annotations

import copy
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import own
from jt_edu.distributed import device_comm
from jt_edu.distributed.device_functions import Broadcast
from jt_edu.nn.module import Module
from jt_edu.variable.var import Var


def replicate(network: Module, devices: Any, detach: bool = False) -> list[Module]:
    """Copies of a module, one for each device.

    Args:
        network: any module.
        devices: as many copies.
        detach: copies are cut off from the network: no gradient flows back.

    Returns:
        Modules. The first one shares its buffers with the network, so that running statistics move there.

    Example:
        >>> layer = jt.nn.Linear(1, 1, bias=False)
        >>> a, b = jt.nn.parallel.replicate(layer, ["cpu:0", "cpu:1"])
        >>> jt.grad((a(jt.array([[1.0]])) + b(jt.array([[10.0]]))).sum(), layer.weight).item()
        11.0
    """
    if not isinstance(network, Module):
        raise ArgumentError("replicate takes a module", type(network).__name__)
    names = device_comm.device_names(devices, "replicate")
    params, buffers = own(network).parameters(), own(network).buffers()
    if detach:
        rows = device_comm.broadcast_coalesced([p.detach() for p in params], names)
    else:
        found = Broadcast.apply(names, *params)
        rows = tuple(found[k : k + len(params)] for k in range(0, len(found), max(len(params), 1)))
    copies = device_comm.broadcast_coalesced([b.detach() for b in buffers], names)
    replicas = []
    for number in range(len(names)):
        known: dict[int, Any] = {id(p): v for p, v in zip(params, rows[number] if params else (), strict=True)}
        apart = buffers if number == 0 else [v.detach() for v in copies[number]] if buffers else []
        known |= {id(b): v for b, v in zip(buffers, apart, strict=True)}
        replicas.append(_twin(network, known))
    return replicas


def _twin(value: Any, known: dict[int, Any]) -> Any:
    """A copy of a module, or of what stands in its attributes, with other Vars; each thing is copied once."""
    if id(value) in known:
        return known[id(value)]
    if isinstance(value, Module):
        twin = known[id(value)] = copy.copy(value)
        for name, part in vars(value).items():
            vars(twin)[name] = _twin(part, known)
        return twin
    if isinstance(value, (list, tuple, dict)) and type(value) in (list, tuple, dict):
        if isinstance(value, dict):
            return {name: _twin(part, known) for name, part in value.items()}
        return type(value)(_twin(part, known) for part in value)
    return value if not isinstance(value, Var) else known.setdefault(id(value), value.detach())
