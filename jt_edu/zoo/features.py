"""Features: how does one get the maps in the middle of a network, for a detector or a segmentation?

    net = jt.zoo.create_model("resnet34", features_only=True, out_indices=(1, 3))
    finer, coarser = net(images)                   (n, 64, 56, 56), (n, 256, 14, 14)
    net.feature_info.channels()                    [64, 256]
    net.feature_info.reduction()                   [4, 16]: how many pixels of the image one step is
    list(net)                                      names of layers: an extractor is a dict of them, in order

A network says in `feature_info` behind which of its layers a map is worth taking. What comes after the last map that is
asked for is left out: its layers are neither kept nor run. A network whose layers are no simple row has a method
`forward_intermediates`, which is asked in that case (`FeatureGetterNet`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from jt_edu import nn
from jt_edu.base.errors import ArgumentError, RangeError
from jt_edu.ops.arguments import yes_or_no
from jt_edu.variable.var import Var

__all__ = ["FeatureGetterNet", "FeatureInfo", "FeatureListNet", "feature_take_indices"]
Indices = int | Iterable[int] | None


def feature_take_indices(num_features: int, indices: Indices = None) -> tuple[list[int], int]:
    """Which of a network's maps are meant, counted from 0, and the last of them.

    Args:
        num_features: how many there are.
        indices: a number n for the last n, some numbers (negative ones count from the end), or None for all.

    Raises:
        RangeError: there is no such map.

    Example:
        >>> feature_take_indices(5, 2), feature_take_indices(5, (-1, 0))
        (([3, 4], 4), ([4, 0], 4))
    """
    count = num_features if indices is None else indices
    wanted = list(range(num_features - count, num_features)) if isinstance(count, int) else list(count)
    known = range(-num_features, num_features)
    if not wanted or not all(i in known for i in wanted) or len(wanted) > num_features:
        way = f"numbers from 0 to {num_features - 1}"
        raise RangeError(f"the network has {num_features} maps of features", f"out_indices={indices!r}", way)
    taken = [i % num_features for i in wanted]
    return taken, max(taken)


class FeatureInfo:
    """What a network says of its maps, and which of them are taken.

    Args:
        feature_info: for each map `num_chs`, its channels, `reduction`, the pixels of a step, and `module`, its layer.
        out_indices: which are taken, as in `feature_take_indices`.

    Example:
        >>> maps = [dict(num_chs=8, reduction=2, module="a"), dict(num_chs=9, reduction=4, module="b")]
        >>> info = FeatureInfo(maps, out_indices=(1,))
        >>> info.channels(), info.channels(0), len(info), info[0]["module"]
        ([9], 8, 2, 'a')
    """

    def __init__(self, feature_info: Sequence[dict[str, Any]], out_indices: Indices) -> None:
        self.info = [{**one, "index": i} for i, one in enumerate(feature_info)]
        self.out_indices = tuple(feature_take_indices(len(self.info), out_indices)[0])

    def get(self, key: str, idx: int | Iterable[int] | None = None) -> Any:
        """A value of each map that is taken; or of the map, or maps, of these numbers."""
        if isinstance(idx, int):
            return self.info[idx][key]
        return [self.info[i][key] for i in (self.out_indices if idx is None else idx)]

    def get_dicts(self, keys: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """All that is said of each map that is taken, or some of it."""
        return [{k: self.info[i][k] for k in (self.info[i] if keys is None else keys)} for i in self.out_indices]

    def channels(self, idx: int | Iterable[int] | None = None) -> Any:
        """How many channels the maps have."""
        return self.get("num_chs", idx)

    def reduction(self, idx: int | Iterable[int] | None = None) -> Any:
        """How many pixels of the image a step in the maps is."""
        return self.get("reduction", idx)

    def module_name(self, idx: int | Iterable[int] | None = None) -> Any:
        """Behind which layers they are taken."""
        return self.get("module", idx)

    def __getitem__(self, item: int) -> dict[str, Any]:
        return self.info[item]

    def __len__(self) -> int:
        return len(self.info)


class GradCheckpointing:
    """What timm's networks can do and these cannot: keep fewer activations, and compute them again for gradients.

    Example:
        >>> jt.zoo.create_model("resnet18").set_grad_checkpointing()
        Traceback (most recent call last):
        ArgumentError: set_grad_checkpointing(True) computes activations a second time, for gradients; ...
    """

    def set_grad_checkpointing(self, enable: bool = True) -> None:
        """Nothing is computed twice here but what is cheap, which is done by itself: False is taken, True refused."""
        if yes_or_no("set_grad_checkpointing", "enable", enable):
            asked = "set_grad_checkpointing(True) computes activations a second time, for gradients"
            way = "smaller batches whose gradients add up (--grad-accum-steps), or jt.amp.autocast(dtype='bfloat16')"
            raise ArgumentError(asked, f"a {type(self).__name__} that keeps them", way)


class FeatureListNet(GradCheckpointing, nn.ModuleDict):
    """The layers of a network up to the last map that is asked for: (n, c, h, w) -> a list of maps.

    The layers have to be attributes of the network in the order in which they run. It is a dict of them: `len` counts
    them, and a loop over it gets their names.

    Args:
        model: the network; it has `feature_info`.
        out_indices: which maps, as in `feature_take_indices`; they come in the order of the network.
        flatten_sequential: whether the layers of a Sequential are taken one by one ("features.3" as "features_3").

    Raises:
        ArgumentError: the network says of a map that it comes from a layer that is not there.

    Example:
        >>> net = jt.zoo.create_model("resnet18", features_only=True, out_indices=[1])
        >>> list(net), [f.shape for f in net(jt.ones(1, 3, 64, 64))]
        (['conv1', 'bn1', 'act1', 'maxpool', 'layer1'], [(1, 64, 16, 16)])
    """

    def __init__(self, model: Any, out_indices: Indices = None, flatten_sequential: bool = False) -> None:
        super().__init__()
        self.feature_info = FeatureInfo(model.feature_info, out_indices)
        waiting = set(self.feature_info.module_name())
        self.taps: list[str] = []
        for name, path, layer in _row(model, flatten_sequential):
            self[name] = layer
            if path in waiting:
                self.taps.append(name)
                waiting.remove(path)
            if not waiting:
                return
        raise ArgumentError(f"feature_info of {type(model).__name__} names its layers", ", ".join(sorted(waiting)))

    def execute(self, x: Var) -> list[Var]:
        """The maps."""
        maps = []
        for name, layer in self.items():
            x = layer(x)
            if name in self.taps:
                maps.append(x)
        return maps


def _row(model: Any, flatten: bool) -> Iterator[tuple[str, str, nn.Module]]:
    """The layers of a network, one after the other: the name here, the name there, the layer."""
    for name, layer in model.named_children():
        if flatten and isinstance(layer, nn.Sequential):
            for inner, part in layer.named_children():
                yield f"{name}_{inner}", f"{name}.{inner}", part
        else:
            yield name, name, layer


class FeatureGetterNet(GradCheckpointing, nn.ModuleDict):
    """A network that is asked for its maps by `forward_intermediates`: (n, c, h, w) -> a list of maps.

    Layers behind the last map are dropped by `prune_intermediate_layers`, which the network has as well.

    Args:
        model: the network.
        out_indices: which maps, as in `feature_take_indices`.
        norm: whether the network's last norm is put on each map.
        output_fmt: "NCHW" or another layout that the network knows.

    Example:
        >>> net = jt.zoo.create_model("vit_tiny_patch16_224", features_only=True, out_indices=2, img_size=32)
        >>> [f.shape for f in net(jt.ones(1, 3, 32, 32))]
        [(1, 192, 2, 2), (1, 192, 2, 2)]
    """

    def __init__(self, model: Any, out_indices: Indices = None, norm: bool = False, output_fmt: str = "NCHW") -> None:
        super().__init__()
        self.feature_info = FeatureInfo(model.feature_info, out_indices)
        model.prune_intermediate_layers(list(self.feature_info.out_indices), prune_norm=not norm)
        self["model"] = model
        self.norm, self.output_fmt = norm, output_fmt

    def execute(self, x: Var) -> list[Var]:
        """The maps."""
        maps: list[Var] = self["model"].forward_intermediates(
            x, indices=list(self.feature_info.out_indices), norm=self.norm, stop_early=True,
            output_fmt=self.output_fmt, intermediates_only=True,
        )  # fmt: skip
        return maps
