"""Tokens: how does an image become a row of vectors, and what happens to each of them alone?

    image (n, c, h, w) -- PatchEmbed --> tokens (n, l, d) -- Mlp --> tokens (n, l, d)

LayerScale lets a branch begin nearly silent; LayerNorm2d normalises the channels of each pixel.

Source: Dosovitskiy et al. 2020, "An image is worth 16x16 words" (arXiv:2010.11929); Touvron et al. 2021, "Going deeper
with image transformers" (arXiv:2103.17239).
"""

from __future__ import annotations

from typing import Any, ClassVar

from jt_edu import nn
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ops.arguments import choice, yes_or_no
from jt_edu.ops.create import full
from jt_edu.variable.var import Var

__all__ = ["LayerNorm2d", "LayerScale", "LayerScale2d", "Mlp", "PatchEmbed"]


def pair(value: Any) -> tuple[Any, Any]:
    """One value for both, or the two.

    Example:
        >>> pair(3), pair((1, 2))
        ((3, 3), (1, 2))
    """
    one, two = value if isinstance(value, (tuple, list)) else (value, value)
    return one, two


class Mlp(nn.Module):
    """fc2(norm(act(fc1(x)))), and dropout behind both: (..., in_features) -> (..., out_features).

    Args:
        in_features, hidden_features, out_features: the last two are `in_features` by default.
        act_layer, norm_layer: classes of layers; no norm by default.
        bias: whether both layers add something, or whether each does.
        drop: probability for both, or for each.
        use_conv: whether the layers are 1 x 1 convolutions, for (n, c, h, w).

    Example:
        >>> Mlp(4, 8, 2)(jt.ones(3, 4)).shape
        (3, 2)
    """

    linear_layer: ClassVar[type[nn.Linear]] = nn.Linear

    def __init__(
        self, in_features: int, hidden_features: int | None = None, out_features: int | None = None,
        act_layer: Any = nn.GELU, norm_layer: Any = None, bias: Any = True, drop: Any = 0.0, use_conv: bool = False,
    ) -> None:  # fmt: skip
        hidden, biases, rates = hidden_features or in_features, pair(bias), pair(drop)
        settings = {"kernel_size": 1} if yes_or_no("Mlp", "use_conv", use_conv) else {}
        layer: Any = nn.Conv2d if use_conv else self.linear_layer
        self.fc1 = layer(in_features, hidden, bias=biases[0], **settings)
        self.act = act_layer()
        self.drop1 = nn.Dropout(rates[0])
        self.norm = norm_layer(hidden) if norm_layer else nn.Identity()
        self.fc2 = layer(hidden, out_features or in_features, bias=biases[1], **settings)
        self.drop2 = nn.Dropout(rates[1])

    def execute(self, x: Var) -> Var:
        """(..., out_features)."""
        hidden = self.norm(self.drop1(self.act(self.fc1(x))))  # (..., hidden_features)
        y: Var = self.drop2(self.fc2(hidden))
        return y


class PatchEmbed(nn.Module):
    """Each square of an image becomes a vector, by the same linear layer: (n, c, h, w) -> (n, h * w / p / p, d).

    Args:
        img_size: one number, or (h, w); None takes any.
        patch_size: p, or (height, width) of a patch.
        in_chans: c.
        embed_dim: d.
        norm_layer: a class of layers for the vectors.
        flatten: False leaves them as maps, (n, d, h / p, w / p).
        output_fmt: "NCHW", "NHWC", "NLC" or "NCL" says it with other words, and counts more than `flatten`.
        bias: whether the layer adds something.
        strict_img_size: whether the images must have `img_size`, or just sides that patches fill.
        dynamic_img_pad: whether zeros fill the last patches.

    Raises:
        ArgumentError: a patch is larger than the image. ShapeError: images of another size.

    Example:
        >>> PatchEmbed(8, 4, in_chans=1, embed_dim=5)(jt.ones(2, 1, 8, 8)).shape
        (2, 4, 5)
    """

    def __init__(
        self, img_size: Any = 224, patch_size: Any = 16, in_chans: int = 3, embed_dim: int = 768,
        norm_layer: Any = None, flatten: bool = True, output_fmt: str | None = None, bias: bool = True,
        strict_img_size: bool = True, dynamic_img_pad: bool = False,
    ) -> None:  # fmt: skip
        self.patch_size, self.img_size = pair(patch_size), None if img_size is None else pair(img_size)
        if self.img_size is not None:
            if not dynamic_img_pad and any(a < b for a, b in zip(self.img_size, self.patch_size, strict=True)):
                found, way = f"img_size={img_size} for patch_size={patch_size}", f"img_size={patch_size}"
                raise ArgumentError("an image is cut into patches, and has one at least", found, way)
            self.grid_size = tuple(side // patch for side, patch in zip(self.img_size, self.patch_size, strict=True))
            self.num_patches = self.grid_size[0] * self.grid_size[1]
        usual = "NLC" if yes_or_no("PatchEmbed", "flatten", flatten) else "NCHW"
        self.output_fmt = choice("PatchEmbed", "output_fmt", output_fmt or usual, ("NCHW", "NHWC", "NLC", "NCL"))
        self.strict_img_size = yes_or_no("PatchEmbed", "strict_img_size", strict_img_size)
        self.dynamic_img_pad = yes_or_no("PatchEmbed", "dynamic_img_pad", dynamic_img_pad)
        self.proj = nn.Conv2d(in_chans, embed_dim, self.patch_size, stride=self.patch_size, bias=bias)
        self.norm = norm_layer(embed_dim) if norm_layer else nn.Identity()

    def feat_ratio(self) -> int:
        """How many pixels become one: the longer side of a patch."""
        longer: int = max(self.patch_size)
        return longer

    def dynamic_feat_size(self, img_size: tuple[int, int]) -> tuple[int, int]:
        """How many patches an image has along each side.

        Example:
            >>> PatchEmbed(8, 4, dynamic_img_pad=True).dynamic_feat_size((9, 8))
            (3, 2)
        """
        (h, w), (high, wide) = img_size, self.patch_size
        return (-(-h // high), -(-w // wide)) if self.dynamic_img_pad else (h // high, w // wide)

    def execute(self, x: Var) -> Var:
        """Vectors, in the format `output_fmt`."""
        (high, wide), size = self.patch_size, (x.shape[2], x.shape[3])
        if self.img_size is not None and self.strict_img_size and size != self.img_size:
            way = "strict_img_size=False"
            raise ShapeError(f"this PatchEmbed takes images of {self.img_size}", f"shape {x.shape}", way)
        if self.dynamic_img_pad:
            x = nn.functional.pad(x, (0, -size[1] % wide, 0, -size[0] % high))
        elif self.img_size is not None and not self.strict_img_size and (size[0] % high or size[1] % wide):
            raise ShapeError(f"patches of {self.patch_size} fill images", f"shape {x.shape}", "dynamic_img_pad=True")
        (n, c), (h, w) = x.shape[:2], self.dynamic_feat_size(size)
        squares = x[:, :, : h * high, : w * wide].reshape(n, c, h, high, w, wide).permute(0, 2, 4, 1, 3, 5)
        weight = self.proj.weight.reshape(len(self.proj.weight), -1)  # a product, of which BLAS is faster
        y = nn.functional.linear(squares.reshape(n, h * w, -1), weight, self.proj.bias)  # (n, h * w, d)
        out: Var = self.norm(self._laid_out(y, h, w))
        return out

    def _laid_out(self, y: Var, h: int, w: int) -> Var:
        if self.output_fmt in ("NHWC", "NLC"):
            return y.reshape(len(y), h, w, -1) if self.output_fmt == "NHWC" else y
        y = y.transpose(1, 2)  # (n, d, h * w)
        return y.reshape(*y.shape[:2], h, w) if self.output_fmt == "NCHW" else y


class LayerNorm2d(nn.LayerNorm):
    """The channels of each pixel are normalised: (n, c, h, w) -> the same shape.

    Args:
        num_channels: c.
        eps: added to the variance.
        affine: whether weight and bias are learned.

    Example:
        >>> LayerNorm2d(2)(jt.array([[[[1.0]], [[3.0]]]])).numpy().round(2).ravel()
        array([-1.,  1.], dtype=float32)
    """

    def __init__(self, num_channels: int, eps: float = 1e-6, affine: bool = True) -> None:
        super().__init__(num_channels, eps, affine)

    def execute(self, x: Var) -> Var:
        """The same shape, pixel by pixel."""
        return nn.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps, dim=1)


class LayerScale(nn.Module):
    """x * gamma, a learned number for each feature: (..., dim) -> the same shape.

    Args:
        dim: how many features there are.
        init_values: what all numbers are to begin with.
        inplace: changes nothing here.

    Example:
        >>> LayerScale(2, 0.5)(jt.ones(1, 2)).tolist()
        [[0.5, 0.5]]
    """

    def __init__(self, dim: int, init_values: float = 1e-5, inplace: bool = False) -> None:
        yes_or_no(type(self).__name__, "inplace", inplace)
        self.init_values = init_values
        self.gamma = full((dim,), init_values, "float32")

    def execute(self, x: Var) -> Var:
        """The same shape."""
        return x * self.gamma


class LayerScale2d(LayerScale):
    """The same for the channels of maps: (n, dim, h, w).

    Example:
        >>> LayerScale2d(1, 0.5)(jt.ones(1, 1, 1, 2)).tolist()
        [[[[0.5, 0.5]]]]
    """

    def execute(self, x: Var) -> Var:
        """The same shape."""
        return x * self.gamma.reshape(-1, 1, 1)
