"""Backbones: how does a network of `jt.models` answer as the zoo's networks do?

    jt.models.resnet34                          jt.zoo.create_model("resnet34")
      conv1 bn1 (relu) maxpool                    conv1 bn1 act1 maxpool
      layer1 layer2 layer3 layer4                 layer1 layer2 layer3 layer4       forward_features
      (mean) fc                                   global_pool fc                    forward_head

Layers, their names and their numbers are those of `jt.models`, so that its files fit. A class here says in a few words
which layers run in a row, where the first convolution is, and the last layer; what `jt.models` does by a function on
the way becomes a layer without numbers (`added`). A map is worth taking behind the last layer of each size.

The small classifiers of GoogLeNet and Inception v3 are left out, and nothing is forgotten while training unless
`drop_rate` says so, as in timm.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, ClassVar

from jt_edu import models, nn
from jt_edu.base.context import no_grad
from jt_edu.base.errors import ArgumentError
from jt_edu.models import mnasnet, mobilenet, mobilenetv3
from jt_edu.models.googlenet import THEIRS
from jt_edu.models.published import FILES, address_of
from jt_edu.models.weights import head
from jt_edu.nn import init
from jt_edu.nn.module import in_mode
from jt_edu.ops.create import zeros
from jt_edu.variable.var import Var
from jt_edu.zoo.factory import build_model_with_cfg
from jt_edu.zoo.layers.drop import check_rates, drop_path, drop_path_rates
from jt_edu.zoo.layers.pool import SelectAdaptivePool2d
from jt_edu.zoo.network import PARTED, LayerNet, check_pooled
from jt_edu.zoo.registry import MEAN, STD, PretrainedCfg, add

BRANCHES = {  # blocks y = x + f(x) -> the layer that f ends with
    models.BasicBlock: "bn2", models.Bottleneck: "bn3", mobilenet.InvertedResidual: "conv",
    mobilenetv3.InvertedResidual: "block", mnasnet.InvertedResidual: "layers",
}  # fmt: skip
FAN_OUT = partial(init.kaiming_normal_, mode="fan_out", nonlinearity="relu")


class Backbone(LayerNet):
    """What the networks below have in common: (n, in_chans, h, w) -> (n, num_classes).

    Args:
        num_classes: how many scores each image gets; 0 leaves out the last layer.
        in_chans: channels of an image.
        global_pool: how maps become features: "avg", "max", "avgmax", "catavgmax", or "", which leaves them maps.
        drop_rate: how likely a feature is forgotten in front of the last layer, while training.
        drop_path_rate: how likely an image goes around the last block, while training; around earlier ones, less.
        args, settings: of the class in `jt.models`.

    Raises:
        ArgumentError: no scores can be had: without a pool; or no block has a way around.

    Example:
        >>> net = jt.zoo.create_model("resnet18", num_classes=0, global_pool="")
        >>> net(jt.ones(1, 3, 64, 64)).shape, net.num_features
        ((1, 512, 2, 2), 512)
    """

    rows: str = "features"  # names of layers that run one after the other
    stem: ClassVar[str] = "features.0"  # the first convolution
    scores: ClassVar[str] = "fc"  # the last layer
    last: ClassVar[str] = ""  # behind which layer the last map is taken; else the last of `rows`
    added: ClassVar[dict[str, Callable[[], nn.Module]]] = {}
    settings: ClassVar[dict[str, Any]] = {}  # of the class in `jt.models`, the same for all that are here
    renamed: ClassVar[dict[str, str]] = {}  # a name of timm's -> that of `jt.models`
    windows: ClassVar[int] = 1  # of the pool, in each direction
    size: ClassVar[int] = 224  # of an image, height and width
    draw: ClassVar[Callable[[Var], Any] | None] = FAN_OUT  # the first convolution's weights; None: as any layer's

    def __init__(
        self, *args: Any, num_classes: int = 1000, in_chans: int = 3, global_pool: str = "avg", drop_rate: float = 0.0,
        drop_path_rate: float = 0.0, **settings: Any,
    ) -> None:  # fmt: skip
        check_rates(type(self).__name__, drop_rate=drop_rate, drop_path_rate=drop_path_rate)
        given = {self.renamed.get(name, name): value for name, value in settings.items()}
        if odd := sorted(set(self.settings) & set(given)):
            asked = f"{type(self).__name__} of the zoo has {odd[0]}={self.settings[odd[0]]}"
            raise ArgumentError(asked, f"{odd[0]}={given[odd[0]]!r}", f"jt.models.{type(self).__name__}")
        dropout = {"dropout": drop_rate} if self._top != self.scores else {}
        super().__init__(*args, num_classes=num_classes or 1, **dropout, **self.settings, **given)  # type: ignore[call-arg]
        self.in_chans, self.drop_rate = in_chans, drop_rate
        self._in_a_row()
        if in_chans != 3:
            self._begin(in_chans)
        if drop_path_rate:
            self._go_around(drop_path_rate)
        first = next(m for m in getattr(self, self._top).modules() if isinstance(m, (nn.Linear, nn.Conv2d)))
        self.num_features = first.weight.shape[1] // self.windows**2
        drawn = self.get_classifier()
        self.head_hidden_size = drawn.weight.shape[1]
        self._is_deep = self.head_hidden_size != self.num_features  # layers stand between the pool and the last layer
        self.global_pool: Any = None
        self.reset_classifier(num_classes, global_pool)
        if num_classes and self.get_classifier().weight.shape == drawn.weight.shape:
            self._put(self.scores, drawn)  # as its paper draws it

    # how it is made

    @property
    def _top(self) -> str:
        return self.scores.partition(".")[0]

    def _in_a_row(self) -> None:
        """Put the layers into the order in which they run, with those that have no numbers between them."""
        held, row = vars(self), self.rows.split()
        for name in ("avgpool", "dropout"):  # forward_head does what they did
            held.pop(name, None)
        for name in (*row, *(name for name in list(held) if name not in row)):
            held[name] = held.pop(name) if name in held else self.added[name]()

    def _begin(self, in_chans: int) -> None:
        """Put a convolution for images with other channels in front."""
        old: Any = self.get_submodule(self.stem)
        new = nn.Conv2d(in_chans, old.out_channels, old.kernel_size, old.stride, old.padding, bias=old.bias is not None)
        if draw := type(self).draw:
            draw(new.weight)
            if new.bias is not None:
                init.zero_(new.bias)
        self._put(self.stem, new)

    def _go_around(self, rate: float) -> None:
        """Let images go around blocks: never around the first, around the last at this rate."""
        blocks = [block for block in self.modules() if type(block) in BRANCHES]
        if not blocks:
            found = f"drop_path_rate={rate!r}, and none in {type(self).__name__}"
            raise ArgumentError("drop_path_rate is for blocks that have a way around", found, "drop_rate")
        for block, often in zip(blocks, drop_path_rates(rate, len(blocks)), strict=True):
            if getattr(block, "around", True):
                getattr(block, BRANCHES[type(block)]).register_forward_hook(partial(_gone_around, often))

    def _put(self, path: str, layer: nn.Module) -> None:
        """Put a layer where another one was."""
        outer, _, name = path.rpartition(".")
        inside: Any = self.get_submodule(outer)
        if isinstance(inside, nn.Sequential):
            inside[name] = layer
        else:
            setattr(inside, name, layer)
        layer.train(self.is_train)

    # what it answers

    @cached_property
    def feature_info(self) -> list[dict[str, Any]]:
        """Of each map that is worth taking: its channels, the pixels of a step, and its layer.

        Example:
            >>> [one["num_chs"] for one in jt.zoo.create_model("resnet18").feature_info]
            [64, 64, 128, 256, 512]
        """
        found: dict[int, dict[str, Any]] = {}
        x = zeros((1, self.in_chans, self.size, self.size))
        with no_grad(), in_mode(self, train=False):  # nothing is computed: shapes are known beforehand
            for path, layer in self._layers():
                x = layer(x)
                step = 2 ** round(math.log2(self.size / x.shape[2]))
                found[step] = {"num_chs": x.shape[1], "reduction": step, "module": path}
                if path == self.last:
                    break
        return list(found.values())

    def forward_head(self, x: Var, pre_logits: bool = False) -> Var:
        """Scores of a map; with `pre_logits` what the last layer is given, and the map where there is no pool."""
        if self.global_pool.is_identity():
            return x
        x, top = self.global_pool(x), getattr(self, self._top)
        if self._top == self.scores:
            x = nn.dropout(x, self.drop_rate, self.is_train)
        else:
            for layer in top.children()[:-1]:
                x = layer(x)
        return x if pre_logits else self.get_classifier()(x)

    def reset_classifier(self, num_classes: int, global_pool: str | None = None) -> None:
        """A new last layer for other classes, and another pool, unless it is None."""
        kind = self.global_pool.pool_type if global_pool is None else global_pool
        pool = SelectAdaptivePool2d(self.windows, kind, flatten=bool(kind))
        if self._is_deep and pool.feat_mult() > 1:
            asked = f"{type(self).__name__} pools into {self.num_features} channels"
            raise ArgumentError(asked, f"twice as many, by global_pool={kind!r}", "global_pool='avgmax'")
        if not self._is_deep:
            self.head_hidden_size = self.num_features * pool.feat_mult()
        layer = self._last_layer(self.head_hidden_size, num_classes)
        check_pooled(kind, isinstance(layer, nn.Linear) and num_classes)
        self.num_classes, self.global_pool = num_classes, pool
        self._put(self.scores, layer)

    def _last_layer(self, features: int, num_classes: int) -> nn.Module:
        return head(features, num_classes)


def _gone_around(rate: float, branch: nn.Module, _: Any, out: Var) -> Var:
    return drop_path(out, rate, branch.is_train)


# ----------------------------------------------------------------------------------------------------------- families


class AlexNet(Backbone, models.AlexNet):
    """`jt.models.AlexNet`."""

    scores, windows, draw = "classifier.6", 6, None


class DenseNet(Backbone, models.DenseNet):
    """`jt.models.DenseNet`; what it calls drop_rate, of each layer, is `proj_drop_rate` here, as in timm."""

    rows, stem, scores = "features act5", "features.conv0", "classifier"
    added: ClassVar = {"act5": nn.ReLU}
    renamed: ClassVar = {"proj_drop_rate": "drop_rate"}
    draw = init.kaiming_normal_


class GoogLeNet(Backbone, models.GoogLeNet):
    """`jt.models.GoogLeNet`."""

    rows = (
        "conv1 maxpool1 conv2 conv3 maxpool2 inception3a inception3b maxpool3 inception4a inception4b inception4c "
        "inception4d inception4e maxpool4 inception5a inception5b"
    )
    stem = "conv1.conv"
    added: ClassVar = {
        f"maxpool{k}": partial(nn.MaxPool2d, 2 if k == 4 else 3, stride=2, ceil_mode=True) for k in range(1, 5)
    }
    settings: ClassVar = {"aux_logits": False, "transform_input": False}
    draw = partial(init.trunc_normal_, std=0.01)


class Inception3(Backbone, models.Inception3):
    """`jt.models.Inception3`."""

    rows = (
        "Conv2d_1a_3x3 Conv2d_2a_3x3 Conv2d_2b_3x3 Pool1 Conv2d_3b_1x1 Conv2d_4a_3x3 Pool2 Mixed_5b Mixed_5c Mixed_5d "
        "Mixed_6a Mixed_6b Mixed_6c Mixed_6d Mixed_6e Mixed_7a Mixed_7b Mixed_7c"
    )
    stem, size = "Conv2d_1a_3x3.conv", 299
    added: ClassVar = dict.fromkeys(("Pool1", "Pool2"), partial(nn.MaxPool2d, 3, stride=2))
    settings: ClassVar = GoogLeNet.settings
    draw = partial(init.trunc_normal_, std=0.1)


class MNASNet(Backbone, models.MNASNet):
    """`jt.models.MNASNet`."""

    rows, stem, scores, last = "layers", "layers.0", "classifier.1", "layers.13"


class MobileNetV2(Backbone, models.MobileNetV2):
    """`jt.models.MobileNetV2`."""

    stem, scores, last = "features.0.0", "classifier.1", "features.17"


class MobileNetV3(Backbone, models.MobileNetV3):
    """`jt.models.MobileNetV3`."""

    stem, scores = "features.0.0", "classifier.3"


class ResNet(Backbone, models.ResNet):
    """`jt.models.ResNet`, and with it ResNeXt and Wide ResNet."""

    rows, stem = "conv1 bn1 act1 maxpool layer1 layer2 layer3 layer4", "conv1"
    added: ClassVar = {"act1": nn.ReLU}


class ShuffleNetV2(Backbone, models.ShuffleNetV2):
    """`jt.models.ShuffleNetV2`."""

    rows, stem, last, draw = "conv1 maxpool stage2 stage3 stage4 conv5", "conv1.0", "stage4", None


class SqueezeNet(Backbone, models.SqueezeNet):
    """`jt.models.SqueezeNet`: a convolution gives scores of each place, and the pool comes then."""

    scores = "classifier.1"
    draw = init.kaiming_uniform_

    def forward_head(self, x: Var, pre_logits: bool = False) -> Var:
        """Scores of a map; of each place, where there is no pool."""
        if not pre_logits:
            x = nn.relu(self.get_classifier()(self.classifier[0](x)))
        pooled: Var = self.global_pool(x)
        return pooled

    def _last_layer(self, features: int, num_classes: int) -> nn.Module:
        return nn.Conv2d(features, num_classes, 1) if num_classes else nn.Identity()


class VGG(Backbone, models.VGG):
    """`jt.models.VGG`."""

    scores, windows = "classifier.6", 7


FAMILIES: dict[type, type[Backbone]] = {family.__bases__[1]: family for family in Backbone.__subclasses__()}


def _without_small_classifiers(state: dict[str, Any], _: Any) -> dict[str, Any]:
    return {name: value for name, value in state.items() if not name.lower().startswith("aux")}


def _register(name: str) -> None:
    """Let a network of `jt.models` be known in the zoo."""
    what: Any = getattr(models, name)
    family, args, named = what.recipe
    kind = FAMILIES[family]

    def made(pretrained: bool = False, **settings: Any) -> Any:
        return build_model_with_cfg(
            partial(kind, *args, **named), name, pretrained, pretrained_filter_fn=_without_small_classifiers,
            feature_cfg={"flatten_sequential": kind.rows.split()[0] in PARTED}, **settings,
        )  # fmt: skip

    made.__name__ = made.__qualname__ = name
    made.__module__, made.__doc__ = family.__module__, what.__doc__
    mean, std = ((THEIRS[0],) * 3, (THEIRS[1],) * 3) if "transform_input" in kind.settings else (MEAN, STD)
    cfg = PretrainedCfg(
        url=address_of(name), input_size=(3, kind.size, kind.size), first_conv=kind.stem, classifier=kind.scores,
        mean=mean, std=std,
    )  # fmt: skip
    add(made, {f"{name}.tv_in1k": cfg})


for _name in FILES:
    _register(_name)
