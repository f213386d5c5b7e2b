"""Network: what does every network of the zoo answer, and how does one answer that is a row of layers?

images -- forward_features -- maps or tokens -- forward_head -- scores
   |
   +-- layer -- layer -- ... -- layer            forward_intermediates: what leaves some of the layers
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from jt_edu import nn
from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import own
from jt_edu.nn import init
from jt_edu.ops.arguments import choice, yes_or_no
from jt_edu.variable.var import Var
from jt_edu.zoo.features import GradCheckpointing, Indices, feature_take_indices

PARTED = ("blocks", "features", "layers", "stages")  # rows of layers that are taken one by one


class ZooNet(GradCheckpointing, nn.Module):
    """A network with a `head`, a `ClassifierHead`; what has another one says so itself.

    Example:
        >>> net = jt.zoo.create_model("digits_cnn")
        >>> net.reset_classifier(3, "catavgmax")
        >>> net.get_classifier(), net.head_hidden_size
        (Linear(in_features=128, out_features=3, bias=True), 128)
    """

    scores: ClassVar[str] = "head.fc"  # the last layer
    head: Any
    num_classes: int
    head_hidden_size: int
    feature_info: Any  # of each map that is worth taking: its channels, the pixels of a step, and its layer
    forward_features: Callable[[Any], Var]

    def execute(self, x: Var) -> Var:
        """Scores of images."""
        return self.forward_head(self.forward_features(x))

    def forward_head(self, x: Var, pre_logits: bool = False) -> Var:
        """Scores of features; with `pre_logits` what they are made of."""
        return self.head(x, pre_logits)  # type: ignore[no-any-return]

    def get_classifier(self) -> Any:
        """The last layer."""
        return self.get_submodule(self.scores)

    def reset_classifier(self, num_classes: int, global_pool: str | None = None) -> None:
        """A new last layer for other classes, and another pool, unless it is None."""
        self.head.reset(num_classes, global_pool)
        self.num_classes, self.head_hidden_size = num_classes, self.head.num_features


def check_pooled(kind: str, num_classes: int) -> None:
    """Refuse scores of a map that is not pooled.

    Example:
        >>> check_pooled("", 10)
        Traceback (most recent call last):
        ArgumentError: scores are made of a pooled map; found global_pool='' and num_classes=10. Try: num_classes=0, ...
    """
    if num_classes and not kind:
        found = f"global_pool={kind!r} and num_classes={num_classes}"
        raise ArgumentError("scores are made of a pooled map", found, "num_classes=0, for the map")


class LayerNet(ZooNet):
    """A network whose `rows` of layers run one after the other, and make maps.

    Example:
        >>> net = jt.zoo.create_model("resnet18")
        >>> x, maps = net.forward_intermediates(jt.ones(1, 3, 64, 64), indices=[1, 3])
        >>> x.shape, [m.shape for m in maps]
        ((1, 512, 2, 2), [(1, 64, 16, 16), (1, 256, 4, 4)])
    """

    rows: str = ""  # names of the layers

    def forward_features(self, x: Var) -> Var:
        """The last map: (n, in_chans, h, w) -> (n, c, h / 32, w / 32), or about that."""
        for name in self.rows.split():
            x = getattr(self, name)(x)
        return x

    def forward_intermediates(
        self, x: Var, indices: Indices = None, norm: bool = False, stop_early: bool = False, output_fmt: str = "NCHW",
        intermediates_only: bool = False,
    ) -> Any:  # fmt: skip
        """The maps that `feature_info` counts, and the last one of all.

        Args:
            x: images.
            indices: which maps, as in `feature_take_indices`; they come in the order of the network.
            norm: changes nothing: no norm comes behind the last map.
            stop_early: whether layers behind the last map that is asked for are left out; behind the last of all, none.
            output_fmt: "NCHW".
            intermediates_only: return the maps alone.
        """
        who, info = f"{type(self).__name__}.forward_intermediates", self.feature_info
        wanted, last = feature_take_indices(len(info), indices)
        choice(who, "output_fmt", output_fmt, ("NCHW",))
        yes_or_no(who, "norm", norm)
        early, maps = yes_or_no(who, "stop_early", stop_early) and last + 1 < len(info), []
        for path, layer in self._layers():
            x = layer(x)
            if path in [info[k]["module"] for k in wanted]:
                maps.append(x)
            if early and path == info[last]["module"]:
                break
        return maps if yes_or_no(who, "intermediates_only", intermediates_only) else (x, maps)

    def _layers(self) -> Iterator[tuple[str, Any]]:
        """Each layer of the rows, or part of it, by its path."""
        for name in self.rows.split():
            layer = getattr(self, name)
            if name in PARTED:
                yield from ((f"{name}.{part}", one) for part, one in layer.named_children())
            else:
                yield name, layer


def start_layers(net: nn.Module, linear: Callable[[Any], Any]) -> None:
    """Normal weights for convolutions, so that the gradient keeps its size on the way back, and no bias.

    Args:
        net: whose layers begin anew.
        linear: draws the weights of linear layers.

    Example:
        >>> net = jt.nn.Conv2d(1, 2, 3)
        >>> start_layers(net, jt.init.zero_)
        >>> net.bias.tolist()
        [0.0, 0.0]
    """
    for layer in own(net).modules():
        if isinstance(layer, nn.Conv2d):
            o, _, high, wide = layer.weight.shape
            init.gauss_(layer.weight, std=math.sqrt(2 * layer.groups / (o * high * wide)))
        if isinstance(layer, nn.Linear):
            linear(layer.weight)
        if isinstance(layer, (nn.Conv2d, nn.Linear)) and layer.bias is not None:
            init.zero_(layer.bias)
