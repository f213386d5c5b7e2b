"""Images: windows of pools, sizes of interpolations, and what happens at the border."""

import numpy as np

import jt_edu as jt
from tests.arguments.inputs import some
from tests.arguments.rows import Given, Row, as_numpy, as_torch

LINE, PLANE, SPACE = some(1, 2, 7), some(1, 2, 7, 6), some(1, 2, 5, 4, 7)
IMAGES = {1: LINE, 2: PLANE, 3: SPACE}


def _max(directions) -> list[Row]:
    ours = getattr(jt, f"max_pool{directions}d")
    tries = {"stride": 1, "padding": 1, "dilation": Given(2, stride=1), "ceil_mode": Given(True, stride=3)}
    return as_torch(ours, IMAGES[directions], 2, **tries, return_indices=True)


def _mean(directions) -> list[Row]:
    ours, image = getattr(jt, f"avg_pool{directions}d"), IMAGES[directions]
    tries = {
        "stride": 1,
        "padding": 1,
        "ceil_mode": Given(True, stride=3),
        "count_include_pad": Given(False, padding=1),
    }
    over = {"twin": lambda t, x, k, divisor_override: t.nn.functional.avg_pool1d(x, k) * k / divisor_override}
    return [
        *as_torch(ours, image, 2, **tries),
        *as_torch(ours, image, 2, **(over if directions == 1 else {}), divisor_override=3),
    ]


def _power(directions) -> list[Row]:
    ours = getattr(jt, f"lp_pool{directions}d")
    return as_torch(ours, np.abs(IMAGES[directions]), 3, 2, stride=1, ceil_mode=Given(True, stride=3))


def _undone(directions) -> list[Row]:
    """Maxima put back: from places that fit every size that is tried."""
    ours, small = getattr(jt, f"max_unpool{directions}d"), (1, 1, *(2,) * directions)
    values, places = some(*small), np.arange(2**directions).reshape(small)
    tries = {"stride": 3, "padding": Given(1, stride=4), "output_size": Given((5,) * directions)}
    return as_torch(ours, values, places, 2, **tries)


def _areas(directions) -> list[Row]:
    return as_torch(getattr(jt, f"adaptive_max_pool{directions}d"), IMAGES[directions], 3, return_indices=True)


def _pool2d(x, k, op="maximum", **named):
    """Jittor's pool2d, from windows of NumPy."""
    windows = np.lib.stride_tricks.sliding_window_view(x, (k, k), (2, 3))[:, :, ::k, ::k]
    return {"maximum": np.max, "minimum": np.min, "mean": np.mean, "add": np.sum}[op](windows, axis=(-2, -1))


ROWS = [
    *(row for make in (_max, _mean, _power, _undone, _areas) for d in (1, 2, 3) for row in make(d)),
    *as_torch(jt.pool2d, PLANE, 2, twin="max_pool2d", stride=1, padding=1, dilation=Given(2, stride=1),
              ceil_mode=Given(True, stride=3), return_indices=True),
    *as_torch(jt.pool2d, PLANE, 2, using={"op": "mean"}, divisor_override=3, count_include_pad=Given(False, padding=1),
              twin=lambda t, x, k, op, **named: t.nn.functional.avg_pool2d(x, k, **named)),
    *as_numpy(jt.pool2d, PLANE, 2, twin=_pool2d, op="minimum"),
    *as_torch(jt.interpolate, PLANE, size=(3, 4)),
    *as_torch(jt.interpolate, PLANE, scale_factor=2),
    *as_torch(jt.interpolate, PLANE, using={"scale_factor": 1.7}, mode="nearest-exact"),
    *as_torch(jt.interpolate, PLANE, using={"scale_factor": 1.7, "mode": "bilinear"}, align_corners=True,
              recompute_scale_factor=True),
    *as_torch(jt.interpolate, PLANE, using={"size": (2, 3), "mode": "bicubic"}, antialias=True),
    *as_torch(jt.grid_sample, PLANE, some(1, 3, 4, 2), using={"align_corners": False}, mode="bicubic",
              padding_mode="border"),
    *as_torch(jt.grid_sample, PLANE, some(1, 3, 4, 2), align_corners=True),
    *as_torch(jt.affine_grid, some(1, 2, 3), [1, 1, 3, 4], align_corners=True),
]  # fmt: skip
