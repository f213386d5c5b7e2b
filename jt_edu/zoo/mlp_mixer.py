"""MLP-Mixer: does one need attention, or convolutions? Two layers that take turns are enough.

    tokens x numbers
      | norm; an mlp along the tokens: what a feature is, all over the image       the same for all numbers of a token
      | norm; an mlp along the numbers: what a place of the image is               the same for all tokens

    x = x + mlp(norm(x).T).T
    x = x + mlp(norm(x))

                     tokens of 16 x 16 pixels     blocks
    mixer_s16            512 numbers                 8
    mixer_b16            768                        12

Source: Tolstikhin et al. 2021, "MLP-Mixer: an all-MLP architecture for vision" (arXiv:2105.01601).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from jt_edu import nn
from jt_edu.base.own import own
from jt_edu.models.weights import head
from jt_edu.nn import init
from jt_edu.ops.arguments import choice
from jt_edu.variable.var import Var, as_var
from jt_edu.zoo.factory import build_model_with_cfg
from jt_edu.zoo.layers.drop import DropPath, check_rates
from jt_edu.zoo.layers.tokens import Mlp, PatchEmbed, pair
from jt_edu.zoo.registry import PretrainedCfg, register_model
from jt_edu.zoo.staged import StagedNet

__all__ = ["MixerBlock", "MlpMixer"]
norm_layer = partial(nn.LayerNorm, eps=1e-6)
CUT = 0.8796256610342398  # standard deviation of normal numbers of which only those from -2 to 2 are taken


class MixerBlock(nn.Module):
    """An mlp along the tokens, and one along their numbers: (n, seq_len, dim) -> the same shape.

    Args:
        dim: how long a token is.
        seq_len: how many tokens there are.
        mlp_ratio: how long rows are inside both mlps, as multiples of dim; one number for both.
        drop: how often a number behind a layer is forgotten.
        drop_path: how often all of an example's branch is.

    Example:
        >>> MixerBlock(8, 5)(jt.ones(1, 5, 8)).shape
        (1, 5, 8)
    """

    def __init__(
        self, dim: int, seq_len: int, mlp_ratio: Any = (0.5, 4.0), drop: float = 0.0, drop_path: float = 0.0
    ) -> None:
        tokens, channels = (int(ratio * dim) for ratio in pair(mlp_ratio))
        self.norm1 = norm_layer(dim)
        self.mlp_tokens = Mlp(seq_len, tokens, drop=drop)
        self.drop_path = DropPath(drop_path)
        self.norm2 = norm_layer(dim)
        self.mlp_channels = Mlp(dim, channels, drop=drop)

    def execute(self, x: Var) -> Var:
        """The same shape."""
        x = x + self.drop_path(self.mlp_tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2))
        y: Var = x + self.drop_path(self.mlp_channels(self.norm2(x)))
        return y


class MlpMixer(StagedNet):
    """Blocks that mix tokens and channels in turn: (n, in_chans, h, w) -> (n, num_classes).

    Args:
        num_classes: how many scores each image gets; 0 leaves out the last layer.
        img_size, in_chans, patch_size, embed_dim: as in `PatchEmbed`.
        num_blocks: how many blocks there are.
        mlp_ratio: as in `MixerBlock`.
        drop_rate, proj_drop_rate: how often a number is forgotten: before the last layer, and behind those of a block.
        drop_path_rate: how often a branch of each block is.
        nlhb: whether the scores begin as those of equally likely classes, -log(num_classes), or as 0.
        stem_norm: whether tokens are normalised when they are made.
        global_pool: "avg", the mean of all tokens; or "", scores of each.

    Source: Tolstikhin et al. 2021 (arXiv:2105.01601).

    Example:
        >>> net = MlpMixer(3, 8, patch_size=4, num_blocks=1, embed_dim=6)
        >>> net(jt.ones(1, 3, 8, 8)).tolist()  # the last layer begins with zeros
        [[0.0, 0.0, 0.0]]
    """

    first, scores = "stem", "head"

    def __init__(
        self, num_classes: int = 1000, img_size: Any = 224, in_chans: int = 3, patch_size: Any = 16,
        num_blocks: int = 8, embed_dim: int = 512, mlp_ratio: Any = (0.5, 4.0), drop_rate: float = 0.0,
        proj_drop_rate: float = 0.0, drop_path_rate: float = 0.0, nlhb: bool = False, stem_norm: bool = False,
        global_pool: str = "avg",
    ) -> None:  # fmt: skip
        check_rates("MlpMixer", drop_rate=drop_rate, proj_drop_rate=proj_drop_rate, drop_path_rate=drop_path_rate)
        self.num_features = self.head_hidden_size = self.embed_dim = embed_dim
        self.in_chans, self.global_pool = in_chans, choice("MlpMixer", "global_pool", global_pool, ("", "avg"))
        self.stem = PatchEmbed(img_size, patch_size, in_chans, embed_dim, norm_layer if stem_norm else None)
        tokens, patch = self.stem.num_patches, self.stem.feat_ratio()
        blocks = [MixerBlock(embed_dim, tokens, mlp_ratio, proj_drop_rate, drop_path_rate) for _ in range(num_blocks)]
        self.blocks = nn.Sequential(*blocks)
        infos = ({"module": f"blocks.{k}", "num_chs": embed_dim, "reduction": patch} for k in range(num_blocks))
        self.feature_info = list(infos)
        self.norm = norm_layer(embed_dim)
        self.head_drop = nn.Dropout(drop_rate)
        self.reset_classifier(num_classes)
        self._start(-math.log(num_classes) if nlhb and num_classes else 0.0)

    def _start(self, score: float) -> None:
        """As Flax does: layers keep the size of a signal, and all classes get the same score."""
        for name, layer in own(self).named_modules():
            if isinstance(layer, nn.Conv2d):
                init.trunc_normal_(layer.weight, std=1.0)
                layer.weight.assign(layer.weight / (CUT * math.sqrt(layer.weight[0].size)))
                init.zero_(as_var(layer.bias))
            elif isinstance(layer, nn.Linear) and name != "head":
                init.xavier_uniform_(layer.weight)
                init.gauss_(as_var(layer.bias), std=1e-6)
        if isinstance(self.head, nn.Linear):
            init.zero_(self.head.weight)
            init.constant_(as_var(self.head.bias), score)

    def reset_classifier(self, num_classes: int, global_pool: str | None = None) -> None:
        """A new last layer for other classes, and another pool, unless it is None."""
        kind = self.global_pool if global_pool is None else global_pool
        self.num_classes, self.global_pool = num_classes, choice("MlpMixer", "global_pool", kind, ("", "avg"))
        self.head = head(self.embed_dim, num_classes).train(self.is_train)

    def forward_head(self, x: Var, pre_logits: bool = False) -> Var:
        """Scores of features; with `pre_logits` what they are made of."""
        x = self.head_drop(x.mean(1) if self.global_pool else x)
        return x if pre_logits else self.head(x)


LOOKS = partial(
    PretrainedCfg, interpolation="bicubic", mean=(0.5,) * 3, std=(0.5,) * 3, fixed_input_size=True,
    first_conv="stem.proj", classifier="head",
)  # fmt: skip
RELEASES = "https://github.com/rwightman/pytorch-image-models/releases/download/v0.1-vitjx"
default_cfgs = {
    "mixer_s16_224": LOOKS(),
    "mixer_b16_224.goog_in21k_ft_in1k": LOOKS(url=f"{RELEASES}/jx_mixer_b16_224-76587d61.pth"),
}


def mlp_mixer(name: str, pretrained: bool, settings: dict[str, Any], **own: Any) -> Any:
    """The network of this name, with what is its own, and with the settings that were asked for.

    Example:
        >>> mlp_mixer("mixer_s16_224", False, {"num_classes": 0}, num_blocks=1, embed_dim=4).num_features
        4
    """
    how = {"feature_cls": "getter", "out_indices": min(3, {**own, **settings}.get("num_blocks", 8))}
    return build_model_with_cfg(MlpMixer, name, pretrained, feature_cfg=how, **{**own, **settings})


@register_model
def mixer_s16_224(pretrained: bool = False, **settings: Any) -> Any:
    """Mixer-S/16: 18.5 million parameters; `settings` are those of `MlpMixer`.

    Example:
        >>> sum(p.size for p in jt.zoo.create_model("mixer_s16_224").parameters())
        18528264
    """
    return mlp_mixer("mixer_s16_224", pretrained, settings)


@register_model
def mixer_b16_224(pretrained: bool = False, **settings: Any) -> Any:
    """Mixer-B/16: 59.9 million parameters; `settings` are those of `MlpMixer`.

    Example:
        >>> sum(p.size for p in jt.zoo.create_model("mixer_b16_224").parameters())
        59880472
    """
    return mlp_mixer("mixer_b16_224", pretrained, settings, num_blocks=12, embed_dim=768)
