"""Vision Transformer: can a network see that knows nothing of neighbours, only of rows of words?

    image 224 x 224
      | each square of 16 x 16 pixels becomes a vector: 14 * 14 = 196 tokens
      | a token before them that belongs to no square, and to each place a vector that is learned
      | 12 blocks:  x -- norm -- attention --(+)-- norm -- mlp --(+)--
      |               +----------------------+ +-----------------+
      | norm; the first token; linear

In attention each token asks all others. Every head has queries q, keys k and values v of its own, d numbers a token:

    softmax(q @ k.T / sqrt(d)) @ v

                     tokens are vectors of      heads of 64 numbers
    vit_tiny                  192                        3
    vit_small                 384                        6
    vit_base                  768                       12

Source: Dosovitskiy et al. 2020, "An image is worth 16x16 words" (arXiv:2010.11929); the small ones: Touvron et al.
2020, "Training data-efficient image transformers" (arXiv:2012.12877).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from jt_edu import nn
from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import own
from jt_edu.models.weights import head
from jt_edu.nn import init
from jt_edu.ops.arguments import choice
from jt_edu.ops.concat import concat
from jt_edu.ops.create import zeros
from jt_edu.variable.var import Var
from jt_edu.zoo.factory import build_model_with_cfg
from jt_edu.zoo.layers.drop import DropPath, check_rates, drop_path_rates
from jt_edu.zoo.layers.pool import pooled
from jt_edu.zoo.layers.tokens import LayerScale, Mlp, PatchEmbed
from jt_edu.zoo.registry import PretrainedCfg, register_model
from jt_edu.zoo.staged import StagedNet

__all__ = ["Attention", "Block", "VisionTransformer"]
POOLS = ("", "avg", "avgmax", "max", "token")
norm_layer = partial(nn.LayerNorm, eps=1e-6)


class Attention(nn.Module):
    """Each token takes from all others what answers its questions: (n, l, dim) -> the same shape.

    Args:
        dim: how long a token is.
        num_heads: a divisor of dim.
        qkv_bias: whether queries, keys and values are affine, or linear.
        qk_norm: whether queries and keys are normalised.
        attn_drop, proj_drop: how often a look, and a number of the answer, is forgotten.

    Raises:
        ArgumentError: the heads do not divide dim.

    Example:
        >>> Attention(8, 2)(jt.ones(1, 5, 8)).shape
        (1, 5, 8)
    """

    def __init__(
        self, dim: int, num_heads: int = 8, qkv_bias: bool = False, qk_norm: bool = False, attn_drop: float = 0.0,
        proj_drop: float = 0.0,
    ) -> None:  # fmt: skip
        if dim % num_heads:
            raise ArgumentError("heads share the numbers of a token", f"{num_heads} heads for {dim} numbers")
        self.num_heads = num_heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=qkv_bias)
        self.q_norm = norm_layer(dim // num_heads) if qk_norm else nn.Identity()
        self.k_norm = norm_layer(dim // num_heads) if qk_norm else nn.Identity()
        self.attn_drop = attn_drop
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(proj_drop)

    def execute(self, x: Var) -> Var:
        """The same shape."""
        n, tokens, dim = x.shape
        parts = self.qkv(x).reshape(n, tokens, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)  # (3, n, heads, l, d)
        q, k, v = self.q_norm(parts[0]), self.k_norm(parts[1]), parts[2]
        forgotten = self.attn_drop if self.is_train else 0.0
        seen = nn.scaled_dot_product_attention(q, k, v, dropout_p=forgotten)  # (n, heads, l, d)
        y: Var = self.proj_drop(self.proj(seen.transpose(1, 2).reshape(n, tokens, dim)))
        return y


class Block(nn.Module):
    """Tokens look at each other, then each thinks alone: (n, l, dim) -> the same shape.

        x = x + scale * attention(norm(x))
        x = x + scale * mlp(norm(x))

    Args:
        dim, num_heads, qkv_bias, qk_norm, attn_drop: as in `Attention`.
        mlp_ratio: how many times longer a token is inside the mlp.
        proj_drop: how often a number behind a layer is forgotten.
        init_values: what the learned `scale` begins with; None leaves it out.
        drop_path: how often all of an example's branch is.

    Example:
        >>> Block(8, 2)(jt.ones(1, 5, 8)).shape
        (1, 5, 8)
    """

    def __init__(
        self, dim: int, num_heads: int, mlp_ratio: float = 4.0, qkv_bias: bool = False, qk_norm: bool = False,
        proj_drop: float = 0.0, attn_drop: float = 0.0, init_values: float | None = None, drop_path: float = 0.0,
    ) -> None:  # fmt: skip
        self.norm1 = norm_layer(dim)
        self.attn = Attention(dim, num_heads, qkv_bias, qk_norm, attn_drop, proj_drop)
        self.ls1 = LayerScale(dim, init_values) if init_values else nn.Identity()
        self.drop_path1 = DropPath(drop_path)
        self.norm2 = norm_layer(dim)
        self.mlp = Mlp(dim, int(dim * mlp_ratio), drop=proj_drop)
        self.ls2 = LayerScale(dim, init_values) if init_values else nn.Identity()
        self.drop_path2 = DropPath(drop_path)

    def execute(self, x: Var) -> Var:
        """The same shape."""
        x = x + self.drop_path1(self.ls1(self.attn(self.norm1(x))))
        y: Var = x + self.drop_path2(self.ls2(self.mlp(self.norm2(x))))
        return y


class VisionTransformer(StagedNet):
    """Blocks of attention over the patches of an image: (n, in_chans, h, w) -> (n, num_classes).

    Args:
        img_size, patch_size, in_chans, embed_dim: as in `PatchEmbed`.
        num_classes: how many scores each image gets; 0 leaves out the last layer.
        global_pool: what is scored: the class "token", or "avg", "max" or "avgmax" of the others, or "", each token.
        depth: how many blocks there are.
        num_heads, mlp_ratio, qkv_bias, qk_norm, init_values: as in `Block`.
        class_token: whether there is a token of no patch.
        fc_norm: whether the last norm comes behind the pool; by default, if there is one.
        drop_rate, pos_drop_rate, proj_drop_rate, attn_drop_rate: how often a number is forgotten: before the last
            layer, of a token when it gets its place, behind the layers of a block, and of the looks.
        drop_path_rate: how often a branch of the last block is; earlier ones less, the first never.

    Raises:
        ArgumentError: no such pool, or a pool of a token that is not there.

    Source: Dosovitskiy et al. 2020 (arXiv:2010.11929).

    Example:
        >>> net = VisionTransformer(8, 4, num_classes=3, embed_dim=6, depth=1, num_heads=2)
        >>> net(jt.ones(1, 3, 8, 8)).shape
        (1, 3)
    """

    scores = "head"

    def __init__(
        self, img_size: Any = 224, patch_size: Any = 16, in_chans: int = 3, num_classes: int = 1000,
        global_pool: str = "token", embed_dim: int = 768, depth: int = 12, num_heads: int = 12, mlp_ratio: float = 4.0,
        qkv_bias: bool = True, qk_norm: bool = False, init_values: float | None = None, class_token: bool = True,
        fc_norm: bool | None = None, drop_rate: float = 0.0, pos_drop_rate: float = 0.0, proj_drop_rate: float = 0.0,
        attn_drop_rate: float = 0.0, drop_path_rate: float = 0.0,
    ) -> None:  # fmt: skip
        check_rates(
            "VisionTransformer", drop_rate=drop_rate, pos_drop_rate=pos_drop_rate, proj_drop_rate=proj_drop_rate,
            attn_drop_rate=attn_drop_rate, drop_path_rate=drop_path_rate,
        )  # fmt: skip
        self.num_features = self.head_hidden_size = self.embed_dim = embed_dim
        self.in_chans, self.num_prefix_tokens = in_chans, int(class_token)
        self.global_pool = self._pool(global_pool)
        self.patch_embed = PatchEmbed(img_size, patch_size, in_chans, embed_dim)
        places = self.patch_embed.num_patches + self.num_prefix_tokens
        self.cls_token = zeros(1, 1, embed_dim) if class_token else None
        self.pos_embed = zeros(1, places, embed_dim)
        self.pos_drop = nn.Dropout(pos_drop_rate)
        settings = (num_heads, mlp_ratio, qkv_bias, qk_norm, proj_drop_rate, attn_drop_rate, init_values)
        rates = drop_path_rates(drop_path_rate, depth)
        self.blocks = nn.Sequential(*[Block(embed_dim, *settings, rate) for rate in rates])
        late = global_pool in ("avg", "avgmax", "max") if fc_norm is None else fc_norm
        self.norm = nn.Identity() if late else norm_layer(embed_dim)
        self.fc_norm = norm_layer(embed_dim) if late else nn.Identity()
        self.head_drop = nn.Dropout(drop_rate)
        self.reset_classifier(num_classes)
        small = self.patch_embed.feat_ratio()
        self.feature_info = [{"module": f"blocks.{k}", "num_chs": embed_dim, "reduction": small} for k in range(depth)]
        self._start()

    def _pool(self, kind: str) -> str:
        if choice("VisionTransformer", "global_pool", kind, POOLS) == "token" and not self.num_prefix_tokens:
            raise ArgumentError("the pool 'token' takes the class token", "class_token=False", "global_pool='avg'")
        return kind

    def _start(self) -> None:
        """Small normal numbers in all layers, and no bias."""
        init.trunc_normal_(self.pos_embed, std=0.02)
        if self.cls_token is not None:
            init.gauss_(self.cls_token, std=1e-6)
        start_linear_layers(self)

    def reset_classifier(self, num_classes: int, global_pool: str | None = None) -> None:
        """A new last layer for other classes, and another pool, unless it is None."""
        self.num_classes = num_classes
        self.global_pool = self.global_pool if global_pool is None else self._pool(global_pool)
        self.head = head(self.embed_dim, num_classes).train(self.is_train)

    def _begun(self, x: Var) -> Var:
        """Tokens that know their places: (n, l, embed_dim)."""
        x = self.patch_embed(x)  # (n, patches, embed_dim)
        if self.cls_token is not None:
            x = concat([self.cls_token.stretched((len(x), 1, self.embed_dim)), x], 1)
        tokens: Var = self.pos_drop(x + self.pos_embed)
        return tokens

    def _headless(self) -> None:
        super()._headless()
        self.fc_norm = nn.Identity()

    def forward_head(self, x: Var, pre_logits: bool = False) -> Var:
        """Scores of features; with `pre_logits` what they are made of."""
        if self.global_pool == "token":
            x = x[:, 0]
        elif self.global_pool:
            x = pooled(x[:, self.num_prefix_tokens :], self.global_pool, "NLC").squeeze(1)
        x = self.head_drop(self.fc_norm(x))  # (n, embed_dim)
        return x if pre_logits else self.head(x)


def start_linear_layers(net: nn.Module) -> None:
    """Normal weights of standard deviation 0.02, and no bias, in all linear layers.

    Example:
        >>> net = jt.nn.Linear(2, 2)
        >>> start_linear_layers(net)
        >>> net.bias.tolist()
        [0.0, 0.0]
    """
    for layer in own(net).modules():
        if isinstance(layer, nn.Linear):
            init.trunc_normal_(layer.weight, std=0.02)
            if layer.bias is not None:
                init.zero_(layer.bias)


LOOKS = partial(
    PretrainedCfg, interpolation="bicubic", crop_pct=0.9, mean=(0.5,) * 3, std=(0.5,) * 3, fixed_input_size=True,
    first_conv="patch_embed.proj", classifier="head",
)  # fmt: skip
default_cfgs = {f"vit_{size}_patch16_224": LOOKS() for size in ("tiny", "small", "base")}


def vision_transformer(name: str, pretrained: bool, settings: dict[str, Any], **own: Any) -> Any:
    """The network of this name, with what is its own, and with the settings that were asked for.

    Example:
        >>> vision_transformer("vit_tiny_patch16_224", False, {"num_classes": 0}, embed_dim=12, depth=1).num_features
        12
    """
    how = {"feature_cls": "getter", "out_indices": min(3, {**own, **settings}.get("depth", 12))}
    return build_model_with_cfg(VisionTransformer, name, pretrained, feature_cfg=how, **{**own, **settings})


@register_model
def vit_tiny_patch16_224(pretrained: bool = False, **settings: Any) -> Any:
    """ViT-Ti/16: 5.7 million parameters; `settings` are those of `VisionTransformer`.

    Example:
        >>> sum(p.size for p in jt.zoo.create_model("vit_tiny_patch16_224").parameters())
        5717416
    """
    return vision_transformer("vit_tiny_patch16_224", pretrained, settings, embed_dim=192, num_heads=3)


@register_model
def vit_small_patch16_224(pretrained: bool = False, **settings: Any) -> Any:
    """ViT-S/16: 22.1 million parameters; `settings` are those of `VisionTransformer`.

    Example:
        >>> sum(p.size for p in jt.zoo.create_model("vit_small_patch16_224").parameters())
        22050664
    """
    return vision_transformer("vit_small_patch16_224", pretrained, settings, embed_dim=384, num_heads=6)


@register_model
def vit_base_patch16_224(pretrained: bool = False, **settings: Any) -> Any:
    """ViT-B/16: 86.6 million parameters; `settings` are those of `VisionTransformer`.

    Example:
        >>> sum(p.size for p in jt.zoo.create_model("vit_base_patch16_224").parameters())
        86567656
    """
    return vision_transformer("vit_base_patch16_224", pretrained, settings)
