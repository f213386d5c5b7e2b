"""Layers: the distinct convolutions of some networks, as a bench measures them.

    network  --a forward of its graph, which nothing computes-->  the convolutions in it, and the sizes that they meet

What differs in nothing that matters for the time is one layer, whatever networks it belongs to.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  its usual name

import jt_edu as jt
from jt_edu import nn
from tests.bench import shares
from tests.bench.rows import Case, vars_and_tensors

Pair = tuple[int, int]


@dataclass(frozen=True)
class Layer:
    """A convolution: (n, inputs, *image) -> (n, outputs, ...)."""

    inputs: int
    outputs: int
    image: Pair
    kernel: Pair
    stride: Pair
    padding: Pair
    groups: int
    biased: bool

    @property
    def name(self) -> str:
        """What a line of the table calls it."""
        (kh, kw), (h, w) = self.kernel, self.image
        text = f"{kh}x{kw}, {self.inputs} to {self.outputs}, {h}x{w}"
        text += f", stride {self.stride[0]}" if self.stride != (1, 1) else ""
        text += ", depthwise" if self.groups == self.inputs else f", groups {self.groups}" if self.groups > 1 else ""
        return f"{text}, bias" if self.biased else text

    @property
    def places(self) -> Pair:
        """Height and width of what comes out."""
        h, w = ((i + 2 * p - k) // s + 1 for i, p, k, s in self._ways())
        return h, w

    def _ways(self) -> Iterable[tuple[int, int, int, int]]:
        return zip(self.image, self.padding, self.kernel, self.stride, strict=True)

    def flops(self, n: int) -> float:
        """Multiplications and additions for n images."""
        each = 2 * self.outputs * (self.inputs // self.groups) * self.kernel[0] * self.kernel[1]
        return float(n * each * self.places[0] * self.places[1])


def layers_of(networks: Mapping[str, Callable[[], Any]], size: tuple[int, ...]) -> dict[Layer, tuple[str, ...]]:
    """The distinct layers, the largest images first, and the networks that have them."""
    found: dict[Layer, tuple[str, ...]] = {}
    for name, make in networks.items():
        for layer in _met(make(), size):
            found[layer] = tuple(dict.fromkeys((*found.get(layer, ()), name)))
    return dict(sorted(found.items(), key=lambda entry: (-entry[0].image[0], -entry[0].kernel[0], entry[0].inputs)))


def _met(net: nn.Module, size: tuple[int, ...]) -> list[Layer]:
    met: list[Layer] = []

    def note(m: nn.Module, inputs: Any, _: Any) -> None:
        shape = inputs[0].shape
        sides = (m.kernel_size, m.stride, m.padding)
        met.append(Layer(m.in_channels, m.out_channels, shape[2:], *sides, m.groups, m.bias is not None))

    net.eval()
    for part in net.modules():
        if isinstance(part, nn.Conv2d):
            part.register_forward_hook(note)
    with jt.no_grad():
        net(jt.zeros((1, *size)))
    return met


# ------------------------------------------------------------------------------------------------------------- cases


def _arrays(layer: Layer, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Image, weights of a usual size, bias, and a gradient of what comes out."""
    rng = np.random.default_rng(0)
    inner = layer.inputs // layer.groups
    weights = rng.standard_normal((layer.outputs, inner, *layer.kernel), np.float32)
    weights *= np.float32(1 / np.sqrt(inner * layer.kernel[0] * layer.kernel[1]))
    image = rng.standard_normal((n, layer.inputs, *layer.image), np.float32)
    bias = rng.standard_normal(layer.outputs, np.float32)
    return image, weights, bias, rng.standard_normal((n, layer.outputs, *layer.places), np.float32)


def forward(layer: Layer, n: int) -> Case:
    """The convolution and its bias, if it has one."""
    (x, w, b, _), (t, u, c, _) = vars_and_tensors(*_arrays(layer, n))
    sides = (layer.stride, layer.padding, (1, 1), layer.groups)
    bias, peer_bias = (b, c) if layer.biased else (None, None)

    def ours() -> Any:
        with jt.no_grad():
            return jt.conv2d(x, w, bias, *sides).sync()

    def theirs() -> Any:
        with torch.no_grad():
            return F.conv2d(t, u, peer_bias, *sides)

    return Case(ours, theirs, flops=layer.flops(n), how=lambda: shares.algorithms(ours))


def gradient(which: int, layer: Layer, n: int) -> Case:
    """The gradient by the input (0) or by the weights (1) alone, given that of the answer."""
    (x, w, _, d), (t, u, _, e) = vars_and_tensors(*_arrays(layer, n))
    sides = (layer.stride, layer.padding, (1, 1), layer.groups)
    wanted = [which == 0, which == 1, False]

    def ours() -> Any:
        return jt.vjp(jt.conv2d(x, w, None, *sides), [(x, w)[which]], d)[0].sync()

    def theirs() -> Any:
        return torch.ops.aten.convolution_backward(
            e, t, u, None, *sides[:3], False, [0, 0], layer.groups, wanted
        )[which]  # fmt: skip

    return Case(ours, theirs, flops=layer.flops(n), how=lambda: shares.algorithms(ours))
