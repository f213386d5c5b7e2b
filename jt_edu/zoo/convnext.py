"""ConvNeXt: how good is a convolutional network that borrows all that transformers do around their attention?

    ResNet's block                        Swin's block                       ConvNeXt's block
      1 x 1, fewer channels                 norm; attention in windows         7 x 7, each channel by itself
      3 x 3                                 norm; 4 times as many numbers      norm; 4 times as many channels
      1 x 1, more again                     gelu; as many as before            gelu; as many as before

A window of 7 x 7 looks around, the two layers behind it mix the channels of each pixel: as in a transformer there is
one norm, one activation, and a batch plays no part. `gamma` is learned, a number for each channel by which the branch
is multiplied; it begins at 1e-6, so that each block begins as nothing.

    x --+-- 7 x 7 depthwise -- norm -- linear -- gelu -- linear -- * gamma --(+)--
        +--------------------------------------------------------------------+

    image 224 x 224                    channels of convnext_tiny    blocks
      | 4 x 4, stride 4; norm               96
      | stage 0                             96                         3
      | norm; 2 x 2, stride 2; stage 1     192                         3
      | norm; 2 x 2, stride 2; stage 2     384                         9
      | norm; 2 x 2, stride 2; stage 3     768                         3
      | mean of each channel; norm; linear

Linear layers work on the channels of each pixel, so they are 1 x 1 convolutions: maps stay (n, c, h, w), and what
stands behind a layer is done while its sums are written.

Source: Liu et al. 2022, "A ConvNet for the 2020s" (arXiv:2201.03545); `convnext_atto` is timm's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from jt_edu import nn
from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import own
from jt_edu.nn import init
from jt_edu.ops.create import full
from jt_edu.variable.var import Var
from jt_edu.zoo.factory import build_model_with_cfg
from jt_edu.zoo.layers.drop import DropPath, check_rates, drop_path_rates
from jt_edu.zoo.layers.pool import ClassifierHead
from jt_edu.zoo.layers.tokens import LayerNorm2d, Mlp
from jt_edu.zoo.network import LayerNet
from jt_edu.zoo.registry import PretrainedCfg, register_model

__all__ = ["ConvNeXt", "ConvNeXtBlock"]


class PixelLinear(nn.Linear):
    """A linear layer of the channels of each pixel: (n, in_features, h, w) -> (n, out_features, h, w).

    Example:
        >>> PixelLinear(2, 3)(jt.ones(1, 2, 4, 4)).shape
        (1, 3, 4, 4)
    """

    def execute(self, x: Var) -> Var:
        """(n, out_features, h, w)."""
        return nn.conv2d(x, self.weight.reshape(*self.weight.shape, 1, 1), self.bias)


class PixelMlp(Mlp):
    """`Mlp`, for the channels of each pixel: (n, c, h, w) -> the same shape.

    Example:
        >>> PixelMlp(2, 8)(jt.ones(1, 2, 4, 4)).shape
        (1, 2, 4, 4)
    """

    linear_layer: ClassVar = PixelLinear


class ConvNeXtBlock(nn.Module):
    """x + gamma * mlp(norm(conv(x))): (n, dim, h, w) -> the same shape.

    Args:
        dim: how many channels there are.
        kernel_size: of the convolution, in which each channel is by itself.
        ls_init_value: what gamma begins with; None leaves it out.
        conv_mlp: whether the weights of the mlp have the shapes of convolutions, or of linear layers.
        drop_path: how often all of an image's branch is forgotten.

    Example:
        >>> ConvNeXtBlock(4, ls_init_value=0.0)(jt.ones(1, 4, 2, 2)).sum().item()
        16.0
    """

    def __init__(
        self, dim: int, kernel_size: int = 7, ls_init_value: float | None = 1e-6, conv_mlp: bool = False,
        drop_path: float = 0.0,
    ) -> None:  # fmt: skip
        self.gamma = None if ls_init_value is None else full((dim,), ls_init_value, "float32")
        self.conv_dw = nn.Conv2d(dim, dim, kernel_size, padding=kernel_size // 2, groups=dim)
        self.norm = LayerNorm2d(dim)
        self.mlp = PixelMlp(dim, 4 * dim, use_conv=conv_mlp)
        self.drop_path = DropPath(drop_path)

    def execute(self, x: Var) -> Var:
        """The same shape."""
        y: Var = self.mlp(self.norm(self.conv_dw(x)))
        y = y if self.gamma is None else y * self.gamma.reshape(-1, 1, 1)
        out: Var = x + self.drop_path(y)
        return out


class ConvNeXtStage(nn.Module):
    """Blocks, and before them, where channels or size change, a norm and a convolution that skips pixels.

    Args:
        in_chs, dim: channels before it, and of its blocks.
        stride: by what the map is made smaller.
        drop_path: for each block, how often its branch is forgotten.
        settings: those of `ConvNeXtBlock`.

    Example:
        >>> ConvNeXtStage(4, 8, 2, [0.0])(jt.ones(1, 4, 6, 6)).shape
        (1, 8, 3, 3)
    """

    def __init__(self, in_chs: int, dim: int, stride: int, drop_path: Sequence[float], **settings: Any) -> None:
        same = stride == 1 and in_chs == dim
        smaller = () if same else (LayerNorm2d(in_chs), nn.Conv2d(in_chs, dim, stride, stride=stride))
        self.downsample = nn.Sequential(*smaller)
        self.blocks = nn.Sequential(*[ConvNeXtBlock(dim, drop_path=rate, **settings) for rate in drop_path])

    def execute(self, x: Var) -> Var:
        """(n, dim, h / stride, w / stride)."""
        y: Var = self.blocks(self.downsample(x))
        return y


class NormHead(ClassifierHead):
    """A pool, a norm, dropout, and scores: (n, c, h, w) -> (n, num_classes), or scores of each pixel without a pool.

    Example:
        >>> NormHead(8, 3)(jt.ones(2, 8, 4, 4)).shape, NormHead(8, 3, "")(jt.ones(2, 8, 4, 4)).shape
        ((2, 3), (2, 3, 4, 4))
    """

    def __init__(self, in_features: int, num_classes: int, pool_type: str = "avg", drop_rate: float = 0.0) -> None:
        self.norm = LayerNorm2d(in_features)
        super().__init__(in_features, num_classes, pool_type, drop_rate)

    def reset(self, num_classes: int, pool_type: str | None = None) -> None:
        """A new last layer for other classes, and another pool, unless it is None."""
        kind = self.global_pool.pool_type if pool_type is None else pool_type
        self.use_conv = not kind
        super().reset(num_classes, kind)
        if self.num_features != self.in_features:
            found = f"twice as many, by global_pool={kind!r}"
            raise ArgumentError(f"the norm behind the pool is for {self.in_features} channels", found, "'avgmax'")

    def execute(self, x: Var, pre_logits: bool = False) -> Var:
        """Scores; with `pre_logits` what they are made of."""
        y: Var = self.drop(self.norm(self.global_pool(x)))
        return y if pre_logits else self.fc(y)


class ConvNeXt(LayerNet):
    """Four stages of blocks: (n, in_chans, h, w) -> (n, num_classes).

    Args:
        in_chans: channels of an image.
        num_classes: how many scores each image gets; 0 leaves out the last layer.
        global_pool: how a map becomes features: "avg", "max", "avgmax", or "", not at all.
        depths, dims: how many blocks each stage has, and how many channels.
        kernel_sizes, ls_init_value, conv_mlp: as in `ConvNeXtBlock`.
        drop_rate: how likely a feature is forgotten in front of the last layer, while training.
        drop_path_rate: how often a branch of the last block is; earlier ones less, the first never.

    Raises:
        ArgumentError: a pool that makes twice as many channels.

    Source: Liu et al. 2022 (arXiv:2201.03545).

    Example:
        >>> net = ConvNeXt(num_classes=3, depths=(1, 1, 1, 1), dims=(2, 4, 6, 8))
        >>> net(jt.ones(1, 3, 32, 32)).shape, net.forward_features(jt.ones(1, 3, 64, 64)).shape
        ((1, 3), (1, 8, 2, 2))
    """

    rows = "stem stages"

    def __init__(
        self, in_chans: int = 3, num_classes: int = 1000, global_pool: str = "avg",
        depths: Sequence[int] = (3, 3, 9, 3), dims: Sequence[int] = (96, 192, 384, 768), kernel_sizes: int = 7,
        ls_init_value: float | None = 1e-6, conv_mlp: bool = False, drop_rate: float = 0.0, drop_path_rate: float = 0.0,
    ) -> None:  # fmt: skip
        check_rates("ConvNeXt", drop_rate=drop_rate, drop_path_rate=drop_path_rate)
        self.num_classes, self.in_chans, self.num_features = num_classes, in_chans, dims[-1]
        self.stem = nn.Sequential(nn.Conv2d(in_chans, dims[0], 4, stride=4), LayerNorm2d(dims[0]))
        settings = {"kernel_size": kernel_sizes, "ls_init_value": ls_init_value, "conv_mlp": conv_mlp}
        rates = drop_path_rates(drop_path_rate, depths)
        before = (dims[0], *dims[:-1])
        self.stages = nn.Sequential(*[
            ConvNeXtStage(before[k], dims[k], 2 if k else 1, rates[k], **settings) for k in range(len(dims))
        ])  # fmt: skip
        self.feature_info = [
            {"num_chs": dim, "reduction": 4 * 2**k, "module": f"stages.{k}"} for k, dim in enumerate(dims)
        ]
        self.head = NormHead(self.num_features, num_classes, global_pool, drop_rate)
        self.head_hidden_size = self.num_features
        for layer in own(self).modules():  # small normal weights, and no bias
            if isinstance(layer, (nn.Conv2d, nn.Linear)) and layer.bias is not None:
                init.trunc_normal_(layer.weight, std=0.02)
                init.zero_(layer.bias)


LOOKS = partial(PretrainedCfg, interpolation="bicubic", first_conv="stem.0", classifier="head.fc")
default_cfgs = {
    "convnext_atto.d2_in1k": LOOKS(
        url="https://github.com/rwightman/pytorch-image-models/releases/download/v0.1-rsb-weights/convnext_atto_d2-01bb0f51.pth"
    ),
    "convnext_tiny": LOOKS(),
    "convnext_small": LOOKS(),
}  # fmt: skip


def convnext(name: str, pretrained: bool, settings: dict[str, Any], **own: Any) -> Any:
    """The network of this name, with what is its own, and with the settings that were asked for.

    Example:
        >>> convnext("convnext_tiny", False, {"num_classes": 0}, depths=(1,), dims=(4,)).num_features
        4
    """
    how = {"out_indices": range(4), "flatten_sequential": True}
    return build_model_with_cfg(ConvNeXt, name, pretrained, feature_cfg=how, **{**own, **settings})


@register_model
def convnext_atto(pretrained: bool = False, **settings: Any) -> Any:
    """ConvNeXt of timm, the smallest: 3.7 million parameters; `settings` are those of `ConvNeXt`.

    Example:
        >>> sum(p.size for p in jt.zoo.create_model("convnext_atto").parameters())
        3695520
    """
    own = {"depths": (2, 2, 6, 2), "dims": (40, 80, 160, 320), "conv_mlp": True}
    return convnext("convnext_atto", pretrained, settings, **own)


@register_model
def convnext_tiny(pretrained: bool = False, **settings: Any) -> Any:
    """ConvNeXt-T: 28.6 million parameters; `settings` are those of `ConvNeXt`.

    Example:
        >>> sum(p.size for p in jt.zoo.create_model("convnext_tiny").parameters())
        28589128
    """
    return convnext("convnext_tiny", pretrained, settings)


@register_model
def convnext_small(pretrained: bool = False, **settings: Any) -> Any:
    """ConvNeXt-S: 50.2 million parameters; `settings` are those of `ConvNeXt`.

    Example:
        >>> jt.zoo.create_model("convnext_small", dims=(8, 8, 8, 8)).feature_info[2]["module"]
        'stages.2'
    """
    return convnext("convnext_small", pretrained, settings, depths=(3, 3, 27, 3))
