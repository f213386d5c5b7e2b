"""Swin Transformer: how can tokens look at each other when there are thousands of them?

Each looks only at those of its own window of 7 x 7. In every second block the windows are shifted by half of their
size, so that what neighbouring windows know comes together. Between stages, four tokens become one:

    image 224 x 224
      | each square of 4 x 4 pixels becomes a token
      | 56 x 56 tokens of  96 numbers     blocks of swin_tiny: 2     swin_base:  2
      | 28 x 28           192                                  2                 2
      | 14 x 14           384                                  6                18
      |  7 x  7           768                                  2                 2
      | norm; mean of all tokens; linear                       (of swin_base, tokens begin with 128 numbers)

Windows are shifted by rolling the map: what falls off on the left comes back on the right. There a window holds tokens
that were never neighbours, and a mask keeps them from looking at each other:

    +-------+---+        each window        A A A B        tokens of four areas share the last window: those of the
    |   A   | B |        of the rolled      A A A B        same letter look at each other, and at no others
    |-------+---|        map                A A A B
    |   C   | D |                           C C C D
    +-------+---+

Within a window, what one place has to say to another depends on how far they are apart: of each distance, and for each
head, a number is learned that is added to the score.

    softmax(q @ k.T / sqrt(d) + bias[distance] + mask) @ v

Source: Liu et al. 2021, "Swin Transformer: hierarchical vision transformer using shifted windows" (arXiv:2103.14030).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from jt_edu import nn
from jt_edu.base.errors import ArgumentError
from jt_edu.nn import init
from jt_edu.ops.arguments import whole
from jt_edu.ops.create import zeros
from jt_edu.ops.transpose import roll
from jt_edu.variable.var import Var, array, as_var
from jt_edu.zoo.factory import build_model_with_cfg
from jt_edu.zoo.layers.drop import DropPath, check_rates, drop_path_rates
from jt_edu.zoo.layers.pool import ClassifierHead
from jt_edu.zoo.layers.tokens import Mlp, PatchEmbed, pair
from jt_edu.zoo.registry import PretrainedCfg, register_model
from jt_edu.zoo.staged import StagedNet
from jt_edu.zoo.vision_transformer import start_linear_layers

__all__ = ["PatchMerging", "SwinTransformer", "SwinTransformerBlock", "SwinTransformerStage", "WindowAttention"]
Size = tuple[int, int]
FAR = -100.0  # what is added to the score of two tokens that were never neighbours


def window_partition(x: Var, window: Size) -> Var:
    """A map as windows: (n, h, w, c) -> (n, windows, tokens, c).

    Example:
        >>> window_partition(jt.arange(8).reshape(1, 2, 4, 1), (2, 2)).tolist()
        [[[[0], [1], [4], [5]], [[2], [3], [6], [7]]]]
    """
    (n, h, w, c), (high, wide) = x.shape, window
    parts = x.reshape(n, h // high, high, w // wide, wide, c).permute(0, 1, 3, 2, 4, 5)
    return parts.reshape(n, h * w // (high * wide), high * wide, c)


def window_reverse(x: Var, window: Size, size: Size) -> Var:
    """What the heads of all windows say as a map: (n, windows, heads, tokens, d) -> (n, h, w, heads * d).

    Example:
        >>> windows = window_partition(jt.arange(8).reshape(1, 2, 4, 1), (2, 2))
        >>> window_reverse(windows.unsqueeze(2), (2, 2), (2, 4)).flatten().tolist()
        [0, 1, 2, 3, 4, 5, 6, 7]
    """
    (n, _, heads, _, d), (h, w), (high, wide) = x.shape, size, window
    parts = x.reshape(n, h // high, w // wide, heads, high, wide, d).permute(0, 1, 4, 2, 5, 3, 6)
    return parts.reshape(n, h, w, heads * d)


def relative_position_index(window: Size) -> np.ndarray:
    """Which row of the table is for a look of token i at token j of a window: (tokens, tokens).

        (y_i - y_j + high - 1) * (2 * wide - 1) + x_i - x_j + wide - 1

    Example:
        >>> relative_position_index((1, 3))
        array([[2, 1, 0],
               [3, 2, 1],
               [4, 3, 2]])
    """
    high, wide = window
    y, x = np.divmod(np.arange(high * wide), wide)
    down, right = y[:, None] - y, x[:, None] - x
    return np.asarray((down + high - 1) * (2 * wide - 1) + right + wide - 1)


def shifted_window_mask(size: Size, window: Size, shift: Size) -> np.ndarray:
    """What is added to scores in each window of a rolled map: 0 among neighbours, -100 else; (windows, tokens, tokens).

    Example:
        >>> shifted_window_mask((1, 4), (1, 2), (0, 1))[:, 0].tolist()  # 1 2 | 3 0: the last one came from the left
        [[0.0, 0.0], [0.0, -100.0]]
    """
    whole = [-(-side // part) * part for side, part in zip(size, window, strict=True)]
    areas = [
        (np.arange(side) >= side - part).astype(int) + (np.arange(side) >= side - step) * (step > 0)
        for side, part, step in zip(whole, window, shift, strict=True)
    ]
    (h, w), (high, wide) = whole, window
    area = areas[0][:, None] * 3 + areas[1]  # of each place, a number from 0 to 8
    area = area.reshape(h // high, high, w // wide, wide).transpose(0, 2, 1, 3).reshape(-1, high * wide)
    return np.where(area[:, :, None] == area[:, None, :], 0.0, FAR).astype("float32")


class WindowAttention(nn.Module):
    """Tokens take from the others of their window what answers their questions: (n, h, w, dim) -> the same shape.

    Args:
        dim: how long a token is.
        num_heads: a divisor of dim.
        window_size: how many tokens a window has in each direction.
        shift_size: how far windows are shifted.
        input_resolution: (h, w); windows at the right and lower edge are filled with zeros.
        qkv_bias: whether queries, keys and values are affine, or linear.
        attn_drop, proj_drop: how often a look, and a number of the answer, is forgotten.

    Raises:
        ArgumentError: the heads do not divide dim.

    Example:
        >>> WindowAttention(8, 2, (2, 2), (1, 1), (4, 4))(jt.ones(1, 4, 4, 8)).shape
        (1, 4, 4, 8)
    """

    def __init__(
        self, dim: int, num_heads: int, window_size: Size, shift_size: Size, input_resolution: Size,
        qkv_bias: bool = True, attn_drop: float = 0.0, proj_drop: float = 0.0,
    ) -> None:  # fmt: skip
        if dim % num_heads:
            raise ArgumentError("heads share the numbers of a token", f"{num_heads} heads for {dim} numbers")
        self.num_heads, self.window_size, self.shift_size = num_heads, window_size, shift_size
        high, wide = window_size
        self.relative_position_bias_table = zeros((2 * high - 1) * (2 * wide - 1), num_heads)
        init.trunc_normal_(self.relative_position_bias_table, std=0.02)
        self._row = array(relative_position_index(window_size).ravel())  # of no state: private
        mask = shifted_window_mask(input_resolution, window_size, shift_size) if any(shift_size) else None
        self._mask = None if mask is None else array(mask)
        self.qkv = nn.Linear(dim, 3 * dim, bias=qkv_bias)
        self.attn_drop = attn_drop
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(proj_drop)

    def execute(self, x: Var) -> Var:
        """The same shape."""
        (_, h, w, _), (high, wide) = x.shape, self.window_size
        down, right = -h % high, -w % wide
        if down or right:  # zeros get queries, keys and values, as all tokens
            x = self.qkv(nn.functional.pad(self._rolled(x, -1), (0, 0, 0, right, 0, down)))
        else:
            x = self._rolled(self.qkv(x), -1)  # one copy rolls, and makes windows and heads
        parts = window_partition(x, self.window_size)  # (n, windows, l, 3 * dim)
        q, k, v = parts.reshape(*parts.shape[:3], 3, self.num_heads, -1).permute(3, 0, 1, 4, 2, 5)
        seen = nn.scaled_dot_product_attention(q, k, v, self._bias(x), self.attn_drop if self.is_train else 0.0)
        out = self.proj(window_reverse(seen, self.window_size, (h + down, w + right)))
        y: Var = self.proj_drop(self._rolled(out[:, :h, :w] if down or right else out, 1))
        return y

    def _rolled(self, x: Var, way: int) -> Var:
        return roll(x, tuple(way * step for step in self.shift_size), (1, 2)) if any(self.shift_size) else x

    def _bias(self, x: Var) -> Var:
        """What is added to the scores: (heads, l, l), or (windows, heads, l, l)."""
        tokens = self.window_size[0] * self.window_size[1]
        bias = self.relative_position_bias_table[self._row].reshape(tokens, tokens, -1).permute(2, 0, 1)
        return bias if self._mask is None else bias + self._mask.unsqueeze(1).cast(bias.dtype)


class SwinTransformerBlock(nn.Module):
    """Tokens look around in their window, then each thinks alone: (n, h, w, dim) -> the same shape.

    Args:
        dim, input_resolution, num_heads, qkv_bias, proj_drop, attn_drop: as in `WindowAttention`.
        window_size: not larger than the map.
        shift_size: 0, where the window is as large as the map.
        mlp_ratio: how many times longer a token is inside the mlp.
        drop_path: how often all of an example's branch is forgotten.

    Example:
        >>> SwinTransformerBlock(8, (4, 4), 2, window_size=2, shift_size=1)(jt.ones(1, 4, 4, 8)).shape
        (1, 4, 4, 8)
    """

    def __init__(
        self, dim: int, input_resolution: Size, num_heads: int = 4, window_size: Any = 7, shift_size: Any = 0,
        mlp_ratio: float = 4.0, qkv_bias: bool = True, proj_drop: float = 0.0, attn_drop: float = 0.0,
        drop_path: float = 0.0,
    ) -> None:  # fmt: skip
        sides = list(zip(input_resolution, pair(window_size), pair(shift_size), strict=True))
        high, wide = (min(side, part) for side, part, _ in sides)
        down, right = (0 if side <= part else step for side, part, step in sides)
        self.norm1 = nn.LayerNorm(dim)
        self.attn = WindowAttention(
            dim, num_heads, (high, wide), (down, right), input_resolution, qkv_bias, attn_drop, proj_drop
        )
        self.drop_path1 = DropPath(drop_path)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = Mlp(dim, int(dim * mlp_ratio), drop=proj_drop)
        self.drop_path2 = DropPath(drop_path)

    def execute(self, x: Var) -> Var:
        """The same shape."""
        x = x + self.drop_path1(self.attn(self.norm1(x)))
        return as_var(x + self.drop_path2(self.mlp(self.norm2(x))))


class PatchMerging(nn.Module):
    """Four neighbouring tokens become one: (n, h, w, dim) -> (n, h / 2, w / 2, out_dim); zeros fill an odd edge.

    Example:
        >>> PatchMerging(4, 8)(jt.ones(1, 3, 4, 4)).shape
        (1, 2, 2, 8)
    """

    def __init__(self, dim: int, out_dim: int) -> None:
        self.norm = nn.LayerNorm(4 * dim)
        self.reduction = nn.Linear(4 * dim, out_dim, bias=False)

    def execute(self, x: Var) -> Var:
        """(n, h / 2, w / 2, out_dim)."""
        n, h, w, dim = x.shape
        x = nn.functional.pad(x, (0, 0, 0, w % 2, 0, h % 2)) if h % 2 or w % 2 else x
        h, w = x.shape[1] // 2, x.shape[2] // 2
        four = x.reshape(n, h, 2, w, 2, dim).permute(0, 1, 3, 4, 2, 5).reshape(n, h, w, 4 * dim)
        y: Var = self.reduction(self.norm(four))
        return y


class SwinTransformerStage(nn.Module):
    """Tokens are merged, unless this is the first stage, and go through blocks, of which every second one shifts.

    Args:
        dim, out_dim: how long tokens are before, and behind the merging.
        input_resolution: (h, w) before it.
        depth: how many blocks there are.
        downsample: whether tokens are merged.
        drop_path: for each block, how often a branch is forgotten.
        settings: those of `SwinTransformerBlock`.

    Example:
        >>> stage = SwinTransformerStage(4, 8, (4, 4), 2, True, [0.0, 0.1], num_heads=2, window_size=2)
        >>> stage(jt.ones(1, 4, 4, 4)).shape
        (1, 2, 2, 8)
    """

    def __init__(
        self, dim: int, out_dim: int, input_resolution: Size, depth: int, downsample: bool,
        drop_path: Sequence[float], window_size: Any = 7, **settings: Any,
    ) -> None:  # fmt: skip
        self.downsample = PatchMerging(dim, out_dim) if downsample else nn.Identity()
        h, w = input_resolution
        size = ((h + 1) // 2, (w + 1) // 2) if downsample else (h, w)
        steps = (0, tuple(side // 2 for side in pair(window_size)))  # every second block shifts its windows
        same = {"window_size": window_size, **settings}
        self.blocks = nn.Sequential(*[
            SwinTransformerBlock(out_dim, size, shift_size=steps[k % 2], drop_path=rate, **same)
            for k, rate in zip(range(depth), drop_path, strict=True)
        ])  # fmt: skip

    def execute(self, x: Var) -> Var:
        """(n, h, w, out_dim), or half of h and w."""
        y: Var = self.blocks(self.downsample(x))
        return y


class SwinTransformer(StagedNet):
    """Stages of blocks of attention within windows: (n, in_chans, h, w) -> (n, num_classes).

    Args:
        img_size, patch_size, in_chans: as in `PatchEmbed`.
        num_classes: how many scores each image gets; 0 leaves out the last layer.
        global_pool: how the tokens of an image become one: "avg", "max", "avgmax", "catavgmax", or "", not at all.
        embed_dim: how long a token is in the first stage; each further stage doubles it.
        depths: how many blocks each stage has.
        num_heads: how many heads those of each stage have.
        window_size: how many tokens a window has, in each direction.
        mlp_ratio, qkv_bias: as in `SwinTransformerBlock`.
        drop_rate, proj_drop_rate, attn_drop_rate: how often a number is forgotten: before the last layer, behind the
            layers of a block, and of the looks.
        drop_path_rate: how often a branch of the last block is; earlier ones less, the first never.

    Source: Liu et al. 2021 (arXiv:2103.14030).

    Example:
        >>> net = SwinTransformer(16, 2, num_classes=3, embed_dim=4, depths=(1, 1), num_heads=(1, 2), window_size=4)
        >>> net(jt.ones(1, 3, 16, 16)).shape, net.feature_info[1]["num_chs"]
        ((1, 3), 8)
    """

    row = "layers"

    def __init__(
        self, img_size: Any = 224, patch_size: Any = 4, in_chans: int = 3, num_classes: int = 1000,
        global_pool: str = "avg", embed_dim: int = 96, depths: Sequence[int] = (2, 2, 6, 2),
        num_heads: Sequence[int] = (3, 6, 12, 24), window_size: Any = 7, mlp_ratio: float = 4.0, qkv_bias: bool = True,
        drop_rate: float = 0.0, proj_drop_rate: float = 0.0, attn_drop_rate: float = 0.0, drop_path_rate: float = 0.1,
    ) -> None:  # fmt: skip
        check_rates(
            "SwinTransformer", drop_rate=drop_rate, proj_drop_rate=proj_drop_rate, attn_drop_rate=attn_drop_rate,
            drop_path_rate=drop_path_rate,
        )  # fmt: skip
        for side in pair(window_size):
            whole("SwinTransformer", "window_size", side, 1)
        self.num_classes, self.global_pool, self.in_chans = num_classes, global_pool, in_chans
        self.embed_dim, self.num_features = embed_dim, embed_dim * 2 ** (len(depths) - 1)
        self.patch_embed = PatchEmbed(
            img_size, patch_size, in_chans, embed_dim, norm_layer=nn.LayerNorm, output_fmt="NHWC"
        )
        (h, w), patch = self.patch_embed.grid_size, self.patch_embed.feat_ratio()
        rates = drop_path_rates(drop_path_rate, list(depths))
        blocks = {"window_size": window_size, "mlp_ratio": mlp_ratio, "qkv_bias": qkv_bias,
                  "proj_drop": proj_drop_rate, "attn_drop": attn_drop_rate}  # fmt: skip
        stages, before, self.feature_info = [], embed_dim, []
        for k, (depth, heads) in enumerate(zip(depths, num_heads, strict=True)):
            dim = embed_dim * 2**k
            stages.append(SwinTransformerStage(before, dim, (h, w), depth, k > 0, rates[k], num_heads=heads, **blocks))
            h, w, before = (h, w, dim) if k == 0 else ((h + 1) // 2, (w + 1) // 2, dim)
            self.feature_info.append({"module": f"layers.{k}", "num_chs": dim, "reduction": patch * 2**k})
        self.layers = nn.Sequential(*stages)
        self.norm = nn.LayerNorm(self.num_features)
        self.head = ClassifierHead(self.num_features, num_classes, global_pool, drop_rate, input_fmt="NHWC")
        self.head_hidden_size = self.head.num_features
        start_linear_layers(self)

    def reset_classifier(self, num_classes: int, global_pool: str | None = None) -> None:
        """A new last layer for other classes, and another pool, unless it is None."""
        self.head.in_features = self.num_features
        super().reset_classifier(num_classes, global_pool)
        self.global_pool = self.head.global_pool.pool_type


LOOKS = partial(
    PretrainedCfg, interpolation="bicubic", crop_pct=0.9, fixed_input_size=True, first_conv="patch_embed.proj",
    classifier="head.fc",
)  # fmt: skip
default_cfgs = {
    "swin_tiny_patch4_window7_224": LOOKS(),
    "swin_base_patch4_window7_224": LOOKS(),
    "swin_base_patch4_window12_384": LOOKS(input_size=(3, 384, 384), crop_pct=1.0),
}
BASE = {"embed_dim": 128, "depths": (2, 2, 18, 2), "num_heads": (4, 8, 16, 32)}


def swin_transformer(name: str, pretrained: bool, settings: dict[str, Any], **own: Any) -> Any:
    """The network of this name, with what is its own, and with the settings that were asked for.

    Example:
        >>> swin_transformer("swin_tiny_patch4_window7_224", False, {"num_classes": 0, "embed_dim": 24}).num_features
        192
    """
    how = {"feature_cls": "getter", "out_indices": range(len({**own, **settings}.get("depths", range(4))))}
    return build_model_with_cfg(SwinTransformer, name, pretrained, feature_cfg=how, **{**own, **settings})


@register_model
def swin_tiny_patch4_window7_224(pretrained: bool = False, **settings: Any) -> Any:
    """Swin-T: 28.3 million parameters; `settings` are those of `SwinTransformer`.

    Example:
        >>> sum(p.size for p in jt.zoo.create_model("swin_tiny_patch4_window7_224").parameters())
        28288354
    """
    return swin_transformer("swin_tiny_patch4_window7_224", pretrained, settings)


@register_model
def swin_base_patch4_window7_224(pretrained: bool = False, **settings: Any) -> Any:
    """Swin-B: 87.8 million parameters; `settings` are those of `SwinTransformer`.

    Example:
        >>> sum(p.size for p in jt.zoo.create_model("swin_base_patch4_window7_224").parameters())
        87768224
    """
    return swin_transformer("swin_base_patch4_window7_224", pretrained, settings, **BASE)


@register_model
def swin_base_patch4_window12_384(pretrained: bool = False, **settings: Any) -> Any:
    """Swin-B for images of 384 x 384: 87.9 million parameters; `settings` are those of `SwinTransformer`.

    Example:
        >>> sum(p.size for p in jt.zoo.create_model("swin_base_patch4_window12_384").parameters())
        87903584
    """
    return swin_transformer("swin_base_patch4_window12_384", pretrained, settings, window_size=12, **BASE)
