"""Pool: how does a map of any size become one vector, and a vector scores?

    avg         means                               avgmax      half of both
    max         largest numbers                     catavgmax   both, one behind the other: twice the channels
    fast...     the same, of the whole map only     ''          the map as it is

Source: https://huggingface.co/docs/timm
"""

from __future__ import annotations

from typing import Any

from jt_edu import nn
from jt_edu.base.errors import ArgumentError
from jt_edu.models.weights import head
from jt_edu.ops.arguments import choice, number, yes_or_no
from jt_edu.ops.concat import concat
from jt_edu.variable.var import Var

__all__ = ["ClassifierHead", "SelectAdaptivePool2d"]
PLACES = {"NCHW": ((2, 3), 1), "NHWC": ((1, 2), 3), "NLC": ((1,), 2)}  # axes of the places, and that of the channels
KINDS = ("", "avg", "max", "avgmax", "catavgmax", "fast", "fastavg", "fastmax", "fastavgmax", "fastcatavgmax")


class SelectAdaptivePool2d(nn.Module):
    """A pool that is chosen by its name: (n, c, h, w) -> (n, c, *output_size), or (n, c) if it is to be flat.

    Args:
        output_size: how many windows there are: one number, or one per direction.
        pool_type: one of those above; "fast" is "fastavg".
        flatten: whether the answer has two axes.
        input_fmt: "NCHW", or "NHWC", which is pooled as a whole.

    Raises:
        ArgumentError: no such pool, no such format, or several windows of what is pooled as a whole.

    Example:
        >>> SelectAdaptivePool2d(pool_type="catavgmax", flatten=True)(jt.array([[[[1.0, 3.0]]]])).tolist()
        [[2.0, 3.0]]
    """

    def __init__(
        self, output_size: Any = 1, pool_type: str = "fast", flatten: bool = False, input_fmt: str = "NCHW"
    ) -> None:
        self.pool_type = choice("SelectAdaptivePool2d", "pool_type", (pool_type or "").lower(), KINDS)
        self.input_fmt = choice("SelectAdaptivePool2d", "input_fmt", input_fmt, ("NCHW", "NHWC"))
        self.flatten = yes_or_no("SelectAdaptivePool2d", "flatten", flatten)
        self.whole = pool_type.startswith("fast") or input_fmt != "NCHW"
        self.output_size = output_size
        if self.whole and output_size != 1:
            raise ArgumentError(
                "a fast pool, and any pool of NHWC, has an output_size of 1", repr(output_size), "'avg' of NCHW"
            )

    def is_identity(self) -> bool:
        """Whether it changes nothing but the axes."""
        return not self.pool_type

    def feat_mult(self) -> int:
        """How many times as many channels go out as come in.

        Example:
            >>> SelectAdaptivePool2d(pool_type="catavgmax").feat_mult()
            2
        """
        return 2 if self.pool_type.endswith("catavgmax") else 1

    def execute(self, x: Any) -> Var:
        """(n, c, *output_size), or (n, c)."""
        y: Var = x
        if self.pool_type:
            kind, windows = self.pool_type.removeprefix("fast") or "avg", None if self.whole else self.output_size
            y = pooled(x, kind, self.input_fmt, windows)
        return y.flatten(1) if self.flatten else y

    def extra_repr(self) -> str:
        """Its settings."""
        return f"pool_type={self.pool_type}, flatten={self.flatten}"


def pooled(x: Var, kind: str, input_fmt: str = "NCHW", windows: Any = None) -> Var:
    """Means, largest numbers, or both, of all places, which keep axes of length 1; or of some windows.

    Args:
        x: a map, in the format `input_fmt`: "NCHW", "NHWC" or "NLC".
        kind: "avg", "max", "avgmax" or "catavgmax".
        input_fmt: which axes are places.
        windows: how many of them, of a map (n, c, h, w); None for the whole map.

    Example:
        >>> pooled(jt.array([[[1.0], [3.0]]]), "avgmax", "NLC").tolist()
        [[[2.5]]]
    """
    places, channels = PLACES[input_fmt]
    if kind == "catavgmax":
        return concat([pooled(x, one, input_fmt, windows) for one in ("avg", "max")], channels)
    if kind == "avgmax":
        return (pooled(x, "avg", input_fmt, windows) + pooled(x, "max", input_fmt, windows)) * 0.5
    y: Var
    if windows is None:
        y = x.mean(places, keepdims=True) if kind == "avg" else x.max(places, keepdims=True)
    else:
        y = nn.adaptive_avg_pool2d(x, windows) if kind == "avg" else nn.adaptive_max_pool2d(x, windows)
    return y


class ClassifierHead(nn.Module):
    """A pool, dropout, and scores: (n, c, h, w) -> (n, num_classes).

    Args:
        in_features: how many channels come in.
        num_classes: how many scores each image gets; 0 leaves out the last layer.
        pool_type, input_fmt: as in `SelectAdaptivePool2d`; without a pool there are scores of each place.
        drop_rate: of the dropout before the last layer.
        use_conv: whether the last layer is a 1 x 1 convolution.

    Example:
        >>> ClassifierHead(8, 3)(jt.ones(2, 8, 4, 4)).shape
        (2, 3)
    """

    global_pool: SelectAdaptivePool2d

    def __init__(
        self, in_features: int, num_classes: int, pool_type: str = "avg", drop_rate: float = 0.0,
        use_conv: bool = False, input_fmt: str = "NCHW",
    ) -> None:  # fmt: skip
        self.in_features, self.use_conv, self.input_fmt = in_features, use_conv, input_fmt
        self.drop_rate = number("ClassifierHead", "drop_rate", drop_rate, 0, 1)
        self.reset(num_classes, pool_type)

    def reset(self, num_classes: int, pool_type: str | None = None) -> None:
        """A new last layer for other classes, and another pool, unless it is None."""
        kind = self.global_pool.pool_type if pool_type is None else pool_type
        flat = bool(kind) and not self.use_conv
        self.global_pool = SelectAdaptivePool2d(pool_type=kind, flatten=flat, input_fmt=self.input_fmt)
        self.num_features = self.in_features * self.global_pool.feat_mult()
        self.drop = nn.Dropout(self.drop_rate)
        scores = nn.Conv2d(self.num_features, num_classes, 1) if self.use_conv and num_classes else None
        self.fc = scores or head(self.num_features, num_classes)
        self.train(self.is_train)

    def execute(self, x: Var, pre_logits: bool = False) -> Var:
        """Scores; with `pre_logits` what they are made of."""
        y = self.drop(self.global_pool(x))
        y = y if pre_logits else self.fc(y)
        return y.flatten(1) if self.use_conv and self.global_pool.pool_type else y  # type: ignore[no-any-return]
