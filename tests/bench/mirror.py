"""Mirror: the same network in PyTorch, made of ours.

    leaves      Conv2d, BatchNorm2d, Linear, ReLU ...     PyTorch's own, with the same settings and numbers
    the rest    whatever has an `execute` of its own      the same lines of `execute`, with PyTorch's words for what
                                                          they call: nn.relu -> torch.nn.functional.relu

So the peer of a bench computes what ours computes, operator by operator, and nothing is written twice. Activations
write into their argument, as those of torchvision do: PyTorch is fastest so.
"""

import builtins
import dis
from collections import OrderedDict
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  its usual name

import jt_edu as jt
from jt_edu import nn

WORDS = {
    "nn": SimpleNamespace(
        relu=lambda x: F.relu(x, inplace=True),
        adaptive_avg_pool2d=F.adaptive_avg_pool2d,
        channel_shuffle=F.channel_shuffle,
    ),
    "concat": torch.concat,
}


class Peer(torch.nn.Module):
    """A module with an `execute`: its parts, its plain attributes, and the lines of `execute`."""

    def __init__(self, ours: nn.Module) -> None:
        super().__init__()
        parts = dict(ours.named_children())
        for name, part in parts.items():
            setattr(self, name, mirror(part))
        for name, value in vars(ours).items():
            if (
                name not in parts
                and not name.startswith("_")
                and isinstance(value, (bool, int, float, str, type(None)))
            ):
                setattr(self, name, value)
        execute = type(ours).execute
        called = {i.argval for i in dis.get_instructions(execute) if i.opname == "LOAD_GLOBAL"}
        if unknown := sorted(called - set(WORDS) - set(dir(builtins))):
            raise LookupError(f"{type(ours).__name__}.execute calls {', '.join(unknown)}: tests/bench/mirror.py")
        self._lines = FunctionType(execute.__code__, WORDS | {"__builtins__": builtins})  # which dynamo looks for

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._lines(self, x)


def mirror(ours: nn.Module) -> torch.nn.Module:
    """The same module in PyTorch, with numbers of its own that are equal, and in the same mode."""
    make = LEAVES.get(type(ours), Peer)
    theirs = make(ours)
    found = {name: torch.tensor(np.asarray(v.numpy())) for name, v in ours.state_dict().items()}
    if make is not Peer and found:
        theirs.load_state_dict(found)
    return theirs.train(ours.is_training())


def lively(net: nn.Module, seed: int = 0) -> nn.Module:
    """The network, with batch norms that shift and scale, as after training."""
    rng = np.random.default_rng(seed)
    for layer in net.modules():
        if isinstance(layer, nn.BatchNorm2d):
            n = layer.num_features
            layer.running_mean.update(jt.array(rng.normal(0, 0.1, n).astype(np.float32)))
            layer.running_var.update(jt.array(rng.uniform(0.7, 1.4, n).astype(np.float32)))
            layer.weight.update(jt.array(rng.uniform(0.7, 1.2, n).astype(np.float32)))
            layer.bias.update(jt.array(rng.normal(0, 0.1, n).astype(np.float32)))
    return net


def _sequential(m: nn.Module) -> torch.nn.Module:
    return torch.nn.Sequential(OrderedDict((name, mirror(part)) for name, part in m.named_children()))


def _conv(m: nn.Module) -> torch.nn.Module:
    return torch.nn.Conv2d(
        m.in_channels, m.out_channels, m.kernel_size, m.stride, m.padding, m.dilation, m.groups, m.bias is not None
    )


LEAVES: dict[type, Callable[[Any], torch.nn.Module]] = {
    nn.Sequential: _sequential,
    nn.Conv2d: _conv,
    nn.BatchNorm2d: lambda m: torch.nn.BatchNorm2d(m.num_features, m.eps, m.momentum),
    nn.Linear: lambda m: torch.nn.Linear(m.in_features, m.out_features, m.bias is not None),
    nn.ReLU: lambda _: torch.nn.ReLU(inplace=True),
    nn.ReLU6: lambda _: torch.nn.ReLU6(inplace=True),
    nn.Dropout: lambda m: torch.nn.Dropout(m.p),
    nn.Flatten: lambda m: torch.nn.Flatten(m.start_dim, m.end_dim),
    nn.Identity: lambda _: torch.nn.Identity(),
    nn.MaxPool2d: lambda m: torch.nn.MaxPool2d(m.kernel_size, m.stride, m.padding, m.dilation, ceil_mode=m.ceil_mode),
    nn.AvgPool2d: lambda m: torch.nn.AvgPool2d(m.kernel_size, m.stride, m.padding, m.ceil_mode, m.count_include_pad),
    nn.AdaptiveAvgPool2d: lambda m: torch.nn.AdaptiveAvgPool2d(m.output_size),
}
