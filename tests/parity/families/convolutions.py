"""Convolutions of one, two and three directions, transposed ones, unfold and fold, beside PyTorch's."""

import warnings

import jt_edu as jt
from jt_edu import nn
from tests.parity.inputs import COMPLEX, FLOATS
from tests.parity.table import Row


def _rows(name, ours, dtypes, *cases, orders=2):
    """(what is special about it, shapes of the inputs, options)."""
    return tuple(
        Row(f"{name}, {sentence}", lambda *xs, o=options: ours(*xs, **o), None,
            lambda t, *xs, o=options: _quietly(getattr(t.nn.functional, name), *xs, **o), (shapes,), dtypes, "any", 16,
            orders)
        for sentence, shapes, options in cases
    )  # fmt: skip


def _quietly(function, *xs, **options):
    """PyTorch warns that it copies where padding is "same" and the window even."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*xs, **options)


CONV = (
    *_rows(
        "conv1d", jt.conv1d, FLOATS,
        ("one tap", ((2, 3, 4), (2, 3, 1)), {}),
        ("three taps and a bias", ((1, 2, 5), (3, 2, 3), (3,)), {}),
        ("stride", ((2, 1, 6), (2, 1, 2)), {"stride": 2}),
        ("padding", ((1, 2, 3), (2, 2, 3), (2,)), {"padding": 2}),
        ("dilation", ((1, 1, 6), (2, 1, 3)), {"dilation": 2}),
        ("all at once", ((2, 2, 5), (2, 2, 2), (2,)), {"stride": (2,), "padding": (1,), "dilation": (3,)}),
        ("groups", ((1, 4, 4), (6, 2, 2), (6,)), {"groups": 2}),
        ("depthwise", ((2, 3, 4), (3, 1, 3)), {"groups": 3, "padding": 1}),
        ("as large as before", ((1, 2, 5), (2, 2, 4)), {"padding": "same"}),
        ("only where it fits", ((1, 2, 5), (2, 2, 4)), {"padding": "valid"}),
    ),
    *_rows(
        "conv2d", jt.conv2d, FLOATS,
        ("one tap", ((2, 3, 3, 2), (2, 3, 1, 1)), {}),
        ("one tap of one image", ((1, 3, 3, 2), (2, 3, 1, 1), (2,)), {}),
        ("one tap and a stride", ((2, 3, 3, 4), (2, 3, 1, 1)), {"stride": 2}),
        ("three taps", ((1, 2, 4, 3), (3, 2, 3, 3), (3,)), {}),
        ("one channel", ((2, 1, 3, 3), (1, 1, 2, 2), (1,)), {}),
        ("padding", ((1, 2, 3, 3), (2, 2, 3, 3), (2,)), {"padding": 1}),
        ("uneven everything", ((1, 2, 4, 5), (2, 2, 2, 3)), {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2)}),
        ("stride longer than the window", ((1, 1, 5, 5), (1, 1, 1, 2)), {"stride": 3}),
        ("dilation", ((1, 1, 5, 4), (2, 1, 3, 2)), {"dilation": 2}),
        ("groups", ((2, 4, 3, 3), (6, 2, 2, 2), (6,)), {"groups": 2}),
        ("wide groups", ((1, 8, 2, 3), (8, 4, 2, 1), (8,)), {"groups": 2}),
        ("depthwise", ((1, 3, 3, 4), (3, 1, 3, 3)), {"groups": 3, "padding": 1}),
        ("depthwise with a multiplier", ((1, 2, 3, 3), (4, 1, 2, 2)), {"groups": 2, "stride": 2, "padding": 1}),
        ("as large as before", ((1, 2, 3, 4), (2, 2, 2, 3)), {"padding": "same", "dilation": (2, 1)}),
        ("only where it fits", ((1, 2, 3, 4), (2, 2, 2, 3)), {"padding": "valid"}),
        ("an empty batch", ((0, 2, 3, 3), (2, 2, 2, 2), (2,)), {}),
    ),
    *_rows(
        "conv3d", jt.conv3d, FLOATS,
        ("one tap", ((2, 2, 2, 1, 2), (2, 2, 1, 1, 1)), {}),
        ("two taps and a bias", ((1, 2, 2, 3, 2), (2, 2, 2, 2, 2), (2,)), {}),
        ("stride and padding", ((1, 1, 3, 2, 3), (2, 1, 2, 1, 2)), {"stride": (2, 1, 2), "padding": (1, 0, 1)}),
        ("dilation", ((1, 1, 3, 2, 3), (1, 1, 2, 1, 2), (1,)), {"dilation": (2, 1, 2)}),
        ("groups", ((1, 2, 2, 2, 2), (4, 1, 1, 2, 2), (4,)), {"groups": 2}),
        ("as large as before", ((1, 1, 2, 3, 2), (1, 1, 2, 3, 1)), {"padding": "same"}),
    ),
    *_rows(
        "conv1d", jt.conv1d, COMPLEX,
        ("of complex numbers", ((2, 4, 5), (4, 2, 3), (4,)), {"groups": 2, "stride": 2, "padding": 1}),
    ),
    *_rows(
        "conv2d", jt.conv2d, COMPLEX,
        ("of complex numbers", ((1, 2, 3, 4), (3, 2, 2, 2), (3,)), {"dilation": (1, 2)}),
        ("depthwise, of complex numbers", ((1, 2, 3, 3), (4, 1, 2, 2)), {"groups": 2, "padding": "same"}),
    ),
)  # fmt: skip

TRANSPOSED = (
    *_rows(
        "conv_transpose1d", jt.conv_transpose1d, FLOATS,
        ("three taps and a bias", ((1, 2, 3), (2, 3, 3), (3,)), {}),
        ("stride", ((2, 1, 3), (1, 2, 2)), {"stride": 3}),
        ("all at once", ((1, 2, 3), (2, 2, 3)),
         {"stride": 2, "padding": 1, "dilation": 2, "output_padding": 1}),
        ("groups", ((1, 4, 3), (4, 1, 2), (2,)), {"groups": 2}),
    ),
    *_rows(
        "conv_transpose2d", jt.conv_transpose2d, FLOATS,
        ("one tap", ((2, 3, 2, 2), (3, 2, 1, 1)), {}),
        ("two taps and a bias", ((1, 2, 2, 3), (2, 3, 2, 2), (3,)), {}),
        ("stride", ((1, 2, 2, 2), (2, 1, 2, 3)), {"stride": (2, 1)}),
        ("padding", ((1, 1, 3, 2), (1, 2, 3, 3), (2,)), {"padding": (2, 1)}),
        ("rows at the end", ((1, 1, 2, 2), (1, 2, 2, 2), (2,)), {"stride": 2, "output_padding": (1, 0)}),
        ("dilation", ((1, 2, 2, 2), (2, 1, 2, 2)), {"dilation": (1, 2), "output_padding": (0, 1)}),
        ("groups", ((1, 4, 2, 2), (4, 3, 2, 1), (6,)), {"groups": 2, "stride": 2, "padding": (1, 0)}),
        ("depthwise", ((1, 2, 2, 2), (2, 1, 2, 2)), {"groups": 2}),
        ("an empty batch", ((0, 2, 2, 2), (2, 1, 2, 2)), {}),
    ),
    *_rows(
        "conv_transpose3d", jt.conv_transpose3d, FLOATS,
        ("two taps and a bias", ((1, 2, 2, 1, 2), (2, 1, 2, 2, 1), (1,)), {}),
        ("all at once", ((1, 1, 2, 2, 1), (1, 2, 2, 1, 3)),
         {"stride": (2, 1, 2), "padding": (1, 0, 1), "dilation": (1, 2, 2), "output_padding": (1, 0, 1)}),
        ("groups", ((1, 2, 1, 2, 2), (2, 2, 1, 2, 1), (4,)), {"groups": 2}),
    ),
    *_rows(
        "conv_transpose2d", jt.conv_transpose2d, COMPLEX,
        ("of complex numbers", ((2, 2, 2, 3), (2, 3, 2, 2), (3,)), {"stride": 2, "padding": 1}),
        ("groups, of complex numbers", ((1, 4, 2, 2), (4, 1, 2, 1), (2,)), {"groups": 2}),
    ),
)  # fmt: skip

WINDOWS = (
    *_rows(
        "unfold", nn.unfold, FLOATS,
        ("two by two", ((2, 2, 3, 3),), {"kernel_size": 2}),
        ("stride", ((1, 1, 4, 5),), {"kernel_size": (2, 1), "stride": (2, 3)}),
        ("padding", ((1, 2, 2, 3),), {"kernel_size": 3, "padding": (1, 2)}),
        ("dilation", ((1, 1, 4, 4),), {"kernel_size": 2, "dilation": (3, 1)}),
        ("one window", ((2, 1, 2, 3),), {"kernel_size": (2, 3)}),
    ),
    *_rows(
        "fold", nn.fold, FLOATS,
        ("two by two", ((2, 8, 4),), {"output_size": (3, 3), "kernel_size": 2}),
        ("stride", ((1, 4, 4),), {"output_size": (4, 5), "kernel_size": (2, 2), "stride": (2, 3)}),
        ("padding", ((1, 9, 6),), {"output_size": (2, 3), "kernel_size": 3, "padding": 1}),
        ("dilation", ((1, 4, 2),), {"output_size": (4, 3), "kernel_size": 2, "dilation": (3, 1)}),
    ),
)  # fmt: skip

ROWS = CONV + TRANSPOSED + WINDOWS
