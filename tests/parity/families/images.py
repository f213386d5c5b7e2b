"""Images: pooling, adaptive pooling, unpooling, interpolation, sampling and shuffled pixels, beside PyTorch's."""

import numpy as np

import jt_edu as jt
from tests.parity.inputs import EVERY, FLOATS, seed_of
from tests.parity.table import Row

KINDS = tuple(dtype for dtype in EVERY if dtype != "uint32")  # which PyTorch does not shuffle
POOLED = {
    1: (((2, 2, 7),), ((3, 8),)), 2: (((1, 2, 6, 5),), ((2, 5, 7),)), 3: (((1, 1, 4, 3, 5),), ((2, 3, 4, 3),)),
}  # fmt: skip
BATCHES = {1: (((2, 2, 5),), ((3, 1, 1),)), 2: (((1, 2, 4, 3),), ((2, 1, 1, 2),)), 3: (((1, 1, 2, 3, 2),),)}


def _row(name, shapes, *rest, dtypes=FLOATS, loose=4.0, part=None, domain="any", orders=2, **options):
    """A function that PyTorch calls the same, with the same settings; `part` picks one of its answers."""

    def pick(answer):
        return answer if part is None else answer[part]

    said = ", ".join([*map(str, rest), *(f"{k}={v}" for k, v in options.items())])
    said += "" if part is None else f", answer {part}"
    return Row(
        f"{name}({said})",
        lambda x: pick(getattr(jt, name)(x, *rest, **options)),
        None,
        lambda t, x: pick(getattr(t.nn.functional, name)(x, *rest, **options)),
        shapes, dtypes, domain, loose, orders,
    )  # fmt: skip


WINDOWS = (
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2},
    {"kernel_size": 3, "padding": 1, "stride": 1},
    {"kernel_size": 2, "stride": 3, "ceil_mode": True},
    {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
)
MAXIMUM = tuple(
    _row(f"max_pool{d}d", POOLED[d], **w, **more, loose=1.0)
    for d in (1, 2, 3)
    for w in WINDOWS
    for more in ({}, {"dilation": 2})
    if d < 3 or more == {} or w == {"kernel_size": 2}
) + tuple(
    _row(f"max_pool{d}d", POOLED[d], **w, return_indices=True, part=part, loose=1.0, orders=0)
    for d in (1, 2, 3)
    for w in WINDOWS
    for part in (0, 1)
)
MEAN = tuple(
    _row(f"avg_pool{d}d", POOLED[d], **w, **more)
    for d in (1, 2, 3)
    for w in WINDOWS
    for more in ({}, {"count_include_pad": False}, {"divisor_override": 3})
    if d > 1 or "divisor_override" not in more
)
POWER = tuple(
    _row(f"lp_pool{d}d", POOLED[d], p, **w, domain="positive", loose=16.0)
    for d in (1, 2, 3)
    for p in (1, 2, 3.5)
    for w in (WINDOWS[0], WINDOWS[3])
)
SIZES = {1: (1, 3, 4, 9), 2: (1, 3, (None, 4), (9, 2)), 3: (1, (3, 2, None), 5)}
ADAPTIVE = tuple(
    _row(f"adaptive_{kind}_pool{d}d", POOLED[d], size, loose=4.0 if kind == "avg" else 1.0)
    for kind in ("avg", "max")
    for d in (1, 2, 3)
    for size in SIZES[d]
) + tuple(
    _row(f"adaptive_max_pool{d}d", POOLED[d], size, return_indices=True, part=1, orders=0)
    for d in (1, 2, 3)
    for size in SIZES[d]
)


def _unpool(d, size):
    """The positions are fixed: one in each window of two."""
    name, shape = f"max_unpool{d}d", (1, 2, 2, 3, 2)[: d + 2]
    plane = [2 * n for n in shape[2:]]
    corners = np.ravel_multi_index(np.meshgrid(*(np.arange(0, n, 2) for n in plane), indexing="ij"), plane)
    places = np.broadcast_to(corners + 1, shape)
    return Row(
        f"{name} of size {size}",
        lambda x: getattr(jt, name)(x, places, 2, output_size=size),
        None,
        lambda t, x: getattr(t.nn.functional, name)(x, t.tensor(places.copy()), 2, output_size=size),
        ((shape,),), FLOATS,
    )  # fmt: skip


UNPOOL = (_unpool(1, None), _unpool(1, (4,)), _unpool(2, None), _unpool(2, (4, 6)), _unpool(3, None))

MODES = {
    "nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "linear": (1,), "bilinear": (2,), "trilinear": (3,),
    "bicubic": (2,), "area": (1, 2, 3),
}  # fmt: skip
SIZED = ({"size": 3}, {"size": 7}, {"size": 1}, {"scale_factor": 2}, {"scale_factor": 2.6},
         {"scale_factor": 2.6, "recompute_scale_factor": True})  # fmt: skip
RESIZED = tuple(
    _row("interpolate", sum((BATCHES[d] for d in dims), ()), mode=mode, **size, **corners, loose=8.0)
    for mode, dims in MODES.items()
    for size in SIZED
    for corners in ({}, {"align_corners": True}, {"align_corners": False})
    if not corners or mode in ("linear", "bilinear", "trilinear", "bicubic")
)


def _sample(d, mode, outside, corners):
    """Where the image is read is an input as well, unless the mode has no gradient for it."""
    settings = {"mode": mode, "padding_mode": outside, "align_corners": corners}
    name = f"grid_sample of {d} directions, {mode}, {outside}, {corners}"
    image, grid = (2, 2, 3, 2, 3)[: d + 2], (2, *(2, 3, 1)[:d], d)
    fixed = np.random.default_rng(seed_of(name)).uniform(-1.6, 1.6, grid)
    if mode == "nearest":
        return Row(
            name,
            lambda x: jt.grid_sample(x, jt.array(fixed).cast(x.dtype), **settings),
            None,
            lambda t, x: t.nn.functional.grid_sample(x, t.tensor(fixed, dtype=x.dtype), **settings),
            ((image,),), FLOATS,
        )  # fmt: skip
    return Row(
        name,
        lambda x, g: jt.grid_sample(x, g * 0.3, **settings),
        None,
        lambda t, x, g: t.nn.functional.grid_sample(x, g * 0.3, **settings),
        ((image, grid),), FLOATS, "any", 64.0, 1,
    )  # fmt: skip


SAMPLED = tuple(
    _sample(d, mode, outside, corners)
    for d in (2, 3)
    for mode in ("bilinear", "nearest", "bicubic")
    for outside in ("zeros", "border", "reflection")
    for corners in (False, True)
    if d == 2 or mode != "bicubic"
)
GRIDS = tuple(
    Row(
        f"affine_grid for {size}, align_corners={corners}",
        lambda x, size=size, corners=corners: jt.affine_grid(x, size, corners),
        None,
        lambda t, x, size=size, corners=corners: t.nn.functional.affine_grid(x, size, corners),
        (((size[0], len(size) - 2, len(size) - 1),),), FLOATS, "any", 4.0,
    )
    for size in ((2, 1, 3, 4), (1, 3, 2, 5), (2, 1, 2, 3, 2))
    for corners in (False, True)
)  # fmt: skip
SHUFFLED = (
    _row("pixel_shuffle", (((2, 4, 2, 3),), ((8, 1, 2),), ((1, 2, 4, 1, 1),), ((0, 4, 2, 2),)), 2, dtypes=KINDS),
    _row("pixel_shuffle", (((9, 2, 1),),), 3, dtypes=KINDS),
    _row("pixel_unshuffle", (((2, 1, 4, 6),), ((2, 2, 4),), ((1, 2, 1, 2, 2),)), 2, dtypes=KINDS),
    _row("pixel_unshuffle", (((1, 3, 6),),), 3, dtypes=KINDS),
    _row("channel_shuffle", (((2, 6, 2),), ((1, 4, 2, 1),)), 2, dtypes=("float32", "float64")),
    _row("channel_shuffle", (((1, 6, 2, 2),),), 3, dtypes=("float32", "float64")),
)

ROWS = (*MAXIMUM, *MEAN, *POWER, *ADAPTIVE, *UNPOOL, *RESIZED, *SAMPLED, *GRIDS, *SHUFFLED)
