"""Indexing: brackets, positions and masks, to read from and to write to, beside NumPy's and PyTorch's."""

import numpy as np

import jt_edu as jt
from tests.parity.inputs import COMPLEX, EVERY, FLOATS, NUMBERS, WHOLE
from tests.parity.table import Row

_ = slice(None)
ANY = (((),), ((0,),), ((1,),), ((5,),), ((3, 4),), ((2, 0, 3),), ((2, 1, 3, 2),))
TABLE = (((4, 3),),)
BOX = (((2, 3, 4),),)


def row(name, ours, numpy, torch, shapes=TABLE, dtypes=EVERY, **options):
    """One function of as many Vars as the shapes say."""
    return Row(name, ours, numpy, torch, shapes, dtypes, **options)


def i(*numbers):
    """An array of positions."""
    return np.array(numbers, np.int64)


# ------------------------------------------------------------------------------------------------------------ brackets

KEYS = tuple(
    (sentence, key, shape)
    for shape, keys in {
        (5,): (
            ("an element", 2), ("an element from the end", -1), ("a slice", slice(1, 4)),
            ("a slice with a step", slice(None, None, 2)), ("an array", i(0, 2, 2, -1)),
            ("an array of two axes", np.array([[0, 4], [1, 1]])), ("dots and a new axis", (..., None)),
        ),
        (4, 3): (
            ("a row", 1), ("a column", (_, -1)), ("a number in both", (2, 1)), ("a box", (slice(1, 3), slice(0, 2))),
            ("rows by an array", i(3, 0, 0)), ("columns by an array", (_, i(2, 0, 2))),
            ("places by two arrays", (i(0, 3, 0), i(1, 2, 1))),
            ("arrays that broadcast", (np.array([[0], [3]]), i(1, 2))),
            ("a number and an array", (1, i(2, 2, 0))), ("a new axis between", (_, None, _)),
            ("a mask", np.arange(12).reshape(4, 3) % 5 == 0), ("a mask of rows", np.array([True, False, True, True])),
            ("a mask of columns", (_, np.array([False, True, True]))),
            ("an array of nothing", np.zeros(0, np.int64)),
        ),
        (2, 3, 4): (
            ("dots in front", (..., 1)), ("numbers around", (1, _, -2)), ("arrays together", (_, i(0, 2), i(3, 1))),
            ("arrays apart", (i(0, 1), _, i(3, 1))), ("a mask of two axes", np.arange(6).reshape(2, 3) % 2 == 0),
            ("a mask at the end", (1, np.arange(12).reshape(3, 4) % 3 == 0)),
            ("three arrays", (i(0, 1, 1), i(2, 0, 1), np.array([[3], [0]]))),
            ("a step in the middle", (_, slice(None, None, 2), slice(1, 4))),
        ),
    }.items()
    for sentence, key in keys
)  # fmt: skip


def _torch_key(t, key):
    parts = key if isinstance(key, tuple) else (key,)
    return tuple(t.tensor(k) if isinstance(k, np.ndarray) else k for k in parts)


def _placed(x, key, value):
    """NumPy's assignment, as a function."""
    x = x.copy()
    x[key] = value
    return x


def _ours_placed(x, key, value):
    x = x + 0 if x.dtype != "bool" else x.copy()
    x[key] = value
    return x


def _torch_placed(x, key, value):
    x = x.clone()
    x[key] = value
    return x


BRACKETS = tuple(
    made
    for sentence, key, shape in KEYS
    for made in (
        row(f"x[{sentence}]", lambda x, key=key: x[key], lambda x, key=key: x[key],
            lambda t, x, key=key: x[_torch_key(t, key)], ((shape,),)),
        row(f"x[{sentence}] twice over", lambda x, key=key: jt.getitem(x, key) * x.reshape(-1)[:1],
            lambda x, key=key: x[key] * x.reshape(-1)[:1],
            lambda t, x, key=key: x[_torch_key(t, key)] * x.reshape(-1)[:1], ((shape,),), NUMBERS),
        row(f"x[{sentence}] = y", lambda x, y, key=key: _ours_placed(x, key, y[key] * y[key]),
            lambda x, y, key=key: _placed(x, key, y[key] * y[key]), None,
            ((shape, shape),), layouts=False),
        row(f"x[{sentence}] = a number", lambda x, key=key: _ours_placed(x, key, 1),
            lambda x, key=key: _placed(x, key, 1),
            lambda t, x, key=key: _torch_placed(x, _torch_key(t, key), 1), ((shape,),), layouts=False),
    )
)  # fmt: skip

BACKWARDS = tuple(
    row(f"x[{sentence}]", lambda x, key=key: x[key], lambda x, key=key: x[key], None, ((shape,),))
    for sentence, key, shape in (
        ("backwards", slice(None, None, -1), (5,)), ("backwards by two", slice(None, None, -2), (5,)),
        ("backwards in both", (slice(None, None, -1), slice(2, None, -2)), (4, 3)),
        ("True", True, (3,)), ("False", False, (3,)), ("no index", (), (2, 2)),
    )
)  # fmt: skip

# ------------------------------------------------------------------------------------------------- one for each element

SMALL = np.array([[0, 2], [1, 1]])
GATHERED = (
    *(row(f"gather along {dim}", lambda x, dim=dim: jt.gather(x, dim, SMALL), None,
          lambda t, x, dim=dim: t.gather(x, dim, t.tensor(SMALL)), (((3, 4),), ((3, 3),))) for dim in (0, 1)),
    row("gather from three axes", lambda x: x.gather(-1, np.zeros((2, 1, 3), int)), None,
        lambda t, x: x.gather(-1, t.zeros((2, 1, 3), dtype=t.int64)), BOX),
    *(row(f"take_along_dim {dim}", lambda x, dim=dim: jt.take_along_dim(x, np.array([[1], [0]]), dim),
          lambda x, dim=dim: np.take_along_axis(x, np.array([[1], [0]]), dim),
          lambda t, x, dim=dim: t.take_along_dim(x, t.tensor([[1], [0]]), dim), (((2, 3),), ((2, 2),)))
      for dim in (0, 1, -1)),
    row("take_along_axis", lambda x: jt.take_along_axis(x, i(2, 0, -1)[None, :, None], axis=1),
        lambda x: np.take_along_axis(x, i(2, 0, -1)[None, :, None], 1), None, BOX),
    row("take_along_dim as if of one axis", lambda x: x.take_along_dim(i(3, 0, 3)),
        lambda x: np.take_along_axis(x, i(3, 0, 3), None), lambda t, x: x.take_along_dim(t.tensor([3, 0, 3])),
        (((4,),), ((2, 3),))),
    *(row(f"put_along_axis {dim}", lambda x, y, dim=dim: jt.put_along_axis(x, SMALL, y, dim),
          lambda x, y, dim=dim: _put(x, SMALL, y, dim), None,
          (((2, 3), (2, 2)), ((2, 3), (1, 1))) if dim else (((3, 2), (2, 2)), ((3, 2), ())), layouts=False)
      for dim in (0, 1)),
    row("put_along_axis as if of one axis", lambda x, y: jt.put_along_axis(x, i(3, 0), y, dim=None),
        lambda x, y: _put(x, i(3, 0), y, None), None, (((2, 3), (2,)), ((4,), ())), layouts=False),
    *(row(f"{sentence} along {dim}", lambda x, y, dim=dim, ours=ours: ours(x, dim, SMALL, y), None,
          lambda t, x, y, dim=dim, theirs=theirs: theirs(x, dim, t.tensor(SMALL), y),
          (((3, 3), (2, 2)), ((3, 4), (2, 2)), ((4, 5), (2, 2))), NUMBERS, layouts=False)
      for dim in (0, 1)
      for sentence, ours, theirs in (
          ("scatter_add", jt.scatter_add, lambda x, d, i, y: x.scatter_add(d, i, y)),
          ("scatter, adding", lambda x, d, i, y: x.scatter(d, i, y, "add"), lambda x, d, i, y: x.scatter_add(d, i, y)),
      )),
    row("scatter, multiplying", lambda x, y: jt.scatter(x, 0, SMALL, y, reduce="multiply"), None,
        lambda t, x, y: x.scatter_reduce(0, t.tensor(SMALL), y, "prod"), (((3, 3), (2, 2)),), (*WHOLE, *FLOATS),
        domain="positive", orders=1, layouts=False),
    *(row(f"scatter, {reduce or 'writing'}, of more than the index", lambda x, y, reduce=reduce: x.scatter(0, SMALL, y,
          *reduce), None, lambda t, x, y, reduce=reduce: x.scatter_add(0, t.tensor(SMALL), y) if reduce else
          x.scatter(0, t.tensor(SMALL), y), (((3, 3), (3, 4)), ((4, 2), (2, 3))), NUMBERS, orders=0, layouts=False)
      for reduce in ((), ("add",))),
    row("scatter", lambda x, y: jt.scatter(x, 1, np.array([[2, 0], [1, 2]]), y), None,
        lambda t, x, y: x.scatter(1, t.tensor([[2, 0], [1, 2]]), y), (((3, 3), (2, 2)), ((2, 4), (2, 2))),
        layouts=False),
    row("scatter of a number", lambda x: x.scatter(0, np.array([[2, 0], [1, 2]]), 1), None,
        lambda t, x: x.scatter(0, t.tensor([[2, 0], [1, 2]]), 1), (((3, 3),), ((3, 2),)), layouts=False),
)  # fmt: skip


def _put(x, index, values, axis):
    """NumPy's put_along_axis, as a function."""
    x = x.copy()
    np.put_along_axis(x, index, values, axis)
    return x


REDUCED = (
    *(row(f"scatter_reduce {how} along {dim}, {'with' if own else 'without'} itself",
          lambda x, y, how=how, own=own, dim=dim: jt.scatter_reduce(x, dim, SMALL, y, how, own), None,
          lambda t, x, y, how=how, own=own, dim=dim: x.scatter_reduce(dim, t.tensor(SMALL), y, how, include_self=own),
          (((3, 3), (2, 2)), ((3, 4), (2, 2)), ((4, 5), (2, 2))), ("int32", "int64", *FLOATS), domain="positive",
          orders=1 if how == "prod" else 2, layouts=False, loose=4)
      for how in ("sum", "prod", "mean", "amax", "amin") for own in (True, False) for dim in (0, 1)),
    row("scatter_reduce amax of ties", lambda x, y: jt.scatter_reduce(x, 0, i(0, 0, 2, 2, 2), y, "amax"), None,
        lambda t, x, y: x.scatter_reduce(0, t.tensor([0, 0, 2, 2, 2]), y, "amax"), (((4,), (5,)), ((3,), (5,))),
        ("int64", *FLOATS), domain="few", orders=1, layouts=False),
    row("scatter_reduce amin of ties, without itself",
        lambda x, y: x.scatter_reduce(0, i(0, 0, 2, 2, 2), y, "amin", include_self=False), None,
        lambda t, x, y: x.scatter_reduce(0, t.tensor([0, 0, 2, 2, 2]), y, "amin", include_self=False),
        (((4,), (5,)),), ("int64", *FLOATS), domain="few", orders=1, layouts=False),
    row("scatter_reduce of complex means", lambda x, y: jt.scatter_reduce(x, 0, i(1, 1, 0), y, "mean"),
        lambda x, y: np.stack([(x[0] + y[2]) / 2, (x[1] + y[0] + y[1]) / 3, x[2]]), None,
        (((3,), (3,)),), COMPLEX, layouts=False),
)  # fmt: skip

# --------------------------------------------------------------------------------------------------- slices of an axis

THREE = i(2, 0, 2)
SLICES = (
    *(row(f"index_select along {dim}", lambda x, dim=dim: jt.index_select(x, dim, THREE),
          lambda x, dim=dim: np.take(x, THREE, dim), lambda t, x, dim=dim: t.index_select(x, dim, t.tensor(THREE)),
          (((3, 4),), ((4, 3, 3),))) for dim in (0, 1, -1)),
    row("take", lambda x: jt.take(x, np.array([[3, 0], [1, 1]])), lambda x: np.take(x, [[3, 0], [1, 1]]),
        lambda t, x: t.take(x, t.tensor([[3, 0], [1, 1]])), (((4,),), ((2, 3),))),
    row("take along an axis", lambda x: jt.take(x, [[1, 0], [-1, 1]], axis=1),
        lambda x: np.take(x, [[1, 0], [-1, 1]], 1), None, (((2, 3),), ((2, 2, 2),))),
    row("take one", lambda x: x.take(1, 0), lambda x: np.take(x, 1, 0), None, (((3,),), ((2, 3),))),
    row("take, wrapping", lambda x: jt.take(x, i(-7, 2, 9), 0, "wrap"),
        lambda x: np.take(x, i(-7, 2, 9), 0, mode="wrap"), None, (((3,),), ((4, 2),))),
    row("take, clipping", lambda x: jt.take(x, i(-7, 2, 9), 0, mode="clip"),
        lambda x: np.take(x, i(-7, 2, 9), 0, mode="clip"), None, (((3,),), ((4, 2),))),
    row("compress", lambda x: jt.compress([0, 1, 1], x), lambda x: np.compress([0, 1, 1], x), None,
        (((3,),), ((2, 3),))),
    row("compress along an axis", lambda x: jt.compress(i(0, 1), x, 1), lambda x: np.compress([0, 1], x, 1), None,
        (((2, 3),), ((3, 2, 2),))),
    row("select", lambda x: jt.select(x, 1, 1), lambda x: x[:, 1], lambda t, x: t.select(x, 1, 1),
        (((2, 3),), ((0, 2),), ((2, 3, 2),))),
    row("select from the end", lambda x: x.select(-1, -2), lambda x: x[..., -2], lambda t, x: x.select(-1, -2),
        (((3,),), ((2, 3),), ((2, 1, 2),))),
    row("narrow", lambda x: jt.narrow(x, 0, 1, 2), lambda x: x[1:3], lambda t, x: t.narrow(x, 0, 1, 2),
        (((3,),), ((5, 2),))),
    row("narrow from the end", lambda x: x.narrow(-1, -2, 1), lambda x: x[..., -2:-1],
        lambda t, x: x.narrow(-1, -2, 1), (((3,),), ((5, 2),))),
    row("narrow to nothing", lambda x: x.narrow(0, 2, 0), lambda x: x[2:2], lambda t, x: x.narrow(0, 2, 0),
        (((3,),), ((2, 2),))),
    row("index_add", lambda x, y: jt.index_add(x, 0, THREE, y), lambda x, y: _added(x, THREE, y),
        lambda t, x, y: t.index_add(x, 0, t.tensor(THREE), y), (((4,), (3,)), ((3, 2), (3, 2))), NUMBERS,
        layouts=False),
    row("index_add of twice as much", lambda x, y: x.index_add(1, THREE, y, alpha=2),
        lambda x, y: _added(x, (_, THREE), y * y.dtype.type(2)),
        lambda t, x, y: x.index_add(1, t.tensor(THREE), y, alpha=2),
        (((2, 3), (2, 3)),), NUMBERS, layouts=False),
    row("index_copy", lambda x, y: jt.index_copy(x, 1, i(2, 0), y), lambda x, y: _placed(x, (_, i(2, 0)), y),
        lambda t, x, y: t.index_copy(x, 1, t.tensor([2, 0]), y), (((2, 3), (2, 2)), ((0, 3), (0, 2))), layouts=False),
    row("index_fill", lambda x: jt.index_fill(x, 0, THREE, 1), lambda x: _placed(x, THREE, 1),
        lambda t, x: t.index_fill(x, 0, t.tensor(THREE), 1), (((4,),), ((3, 2),)), layouts=False),
    row("index_put", lambda x, y: jt.index_put(x, (i(2, 0, 1), i(1, 1, 0)), y),
        lambda x, y: _placed(x, (i(2, 0, 1), i(1, 1, 0)), y),
        lambda t, x, y: t.index_put(x, (t.tensor([2, 0, 1]), t.tensor([1, 1, 0])), y), (((3, 2), (3,)), ((3, 3), ())),
        layouts=False),
    row("index_put, adding", lambda x, y: x.index_put((THREE, i(1, 1, 1)), y, accumulate=True),
        lambda x, y: _added(x, (THREE, i(1, 1, 1)), y),
        lambda t, x, y: x.index_put((t.tensor(THREE), t.tensor([1, 1, 1])), y, accumulate=True),
        (((3, 2), (3,)), ((3, 2), ())), NUMBERS, layouts=False),
    row("slice_scatter", lambda x, y: jt.slice_scatter(x, y, 0, 1, None, 2),
        lambda x, y: _placed(x, slice(1, None, 2), y),
        lambda t, x, y: t.slice_scatter(x, y, 0, 1, None, 2), (((5,), (2,)), ((4, 2), (2, 2))), layouts=False),
    row("slice_scatter to an end", lambda x, y: x.slice_scatter(y, dim=1, end=2),
        lambda x, y: _placed(x, (_, slice(2)), y), lambda t, x, y: x.slice_scatter(y, dim=1, end=2),
        (((2, 3), (2, 2)),), layouts=False),
    row("select_scatter", lambda x, y: jt.select_scatter(x, y, 1, -1), lambda x, y: _placed(x, (_, -1), y),
        lambda t, x, y: t.select_scatter(x, y, 1, -1), (((2, 3), (2,)), ((3, 1, 2), (3, 2))), layouts=False),
)  # fmt: skip


def _added(x, key, value):
    """NumPy's add.at, as a function."""
    x = x.copy()
    np.add.at(x, key, value)
    return x


EDITED = (
    *(row(f"delete {what}", lambda x, what=what: jt.delete(x, what), lambda x, what=what: np.delete(x, what), None,
          (((5,),), ((2, 3),))) for what in (1, -2, [0, 3, 3], slice(None, None, 2), slice(4, 0, -1))),
    row("delete by a mask", lambda x: jt.delete(x, np.array([True, False, True]), axis=1),
        lambda x: np.delete(x, np.array([True, False, True]), 1), None, (((2, 3),), ((0, 3),))),
    row("delete along an axis", lambda x: jt.delete(x, [1], 0), lambda x: np.delete(x, [1], 0), None,
        (((2,),), ((3, 2),))),
    row("delete nothing", lambda x: jt.delete(x, []), lambda x: np.delete(x, []), None, (((3,),), ((2, 2),))),
    *(row(f"insert at {at}", lambda x, y, at=at: jt.insert(x, at, y), lambda x, y, at=at: np.insert(x, at, y), None,
          shapes, layouts=False)
      for at, shapes in ((1, (((4,), (2,)), ((2, 2), ()))), (-1, (((3,), (1,)),)),
                         ([1, 3, 1], (((4,), (3,)), ((4,), ()))), (slice(0, 4, 2), (((4,), (2,)),)),
                         ([2], (((4,), (3,)),)))),
    *(row(f"insert at {at} along {axis}", lambda x, y, at=at, axis=axis: jt.insert(x, at, y, axis),
          lambda x, y, at=at, axis=axis: np.insert(x, at, y, axis), None, shapes, layouts=False)
      for at, axis, shapes in ((1, 0, (((2, 3), (3,)), ((2, 3), ()))), (1, 1, (((2, 3), (2,)), ((2, 3), ()))),
                               ([0, 2], 1, (((2, 3), (2, 2)), ((2, 3), (2,)))), ([1], 1, (((2, 3), (2, 1)),)))),
    row("insert by axis", lambda x, y: jt.insert(x, 0, y, axis=-1), lambda x, y: np.insert(x, 0, y, axis=-1), None,
        (((2, 3), ()),), layouts=False),
)  # fmt: skip

# --------------------------------------------------------------------------------------------------------------- masks

FOUND = (
    row("nonzero", lambda x: jt.nonzero(x), np.argwhere, lambda t, x: t.nonzero(x), ANY, domain="few", orders=0),
    *(row(f"nonzero as a tuple, axis {k}", lambda x, k=k: jt.nonzero(x, as_tuple=True)[k],
          lambda x, k=k: np.nonzero(x)[k], lambda t, x, k=k: t.nonzero(x, as_tuple=True)[k],
          (((3, 4),), ((2, 0, 3),), ((2, 1, 3, 2),)), domain="few", orders=0) for k in (0, 1)),
    row("argwhere", jt.argwhere, np.argwhere, lambda t, x: t.argwhere(x), ANY, domain="few", orders=0),
    row("flatnonzero", jt.flatnonzero, np.flatnonzero, None, ANY, domain="few", orders=0),
    row("count_nonzero", jt.count_nonzero, np.count_nonzero, lambda t, x: t.count_nonzero(x), ANY, domain="few",
        orders=0),
    row("count_nonzero of odd numbers", jt.count_nonzero, np.count_nonzero, None, ANY, FLOATS, domain="odd", orders=0),
    row("count_nonzero along an axis", lambda x: x.count_nonzero(-1, keepdims=True),
        lambda x: np.count_nonzero(x, -1, keepdims=True), None, ANY[1:], domain="few", orders=0),
    *(row(f"count_nonzero by {word}", lambda x, word=word: jt.count_nonzero(x, **{word: (0, 1)}),
          lambda x: np.count_nonzero(x, (0, 1)), lambda t, x: t.count_nonzero(x, (0, 1)), ANY[4:], domain="few",
          orders=0)
      for word in ("dims", "dim", "axis")),
    row("masked_select", lambda x, y: jt.masked_select(x, y != 0), lambda x, y: x[y != 0],
        lambda t, x, y: t.masked_select(x, y != 0), (((), ()), ((5,), (5,)), ((3, 4), (3, 4)), ((2, 0), (2, 0))),
        domain="few"),
    row("masked_select that broadcasts", lambda x, y: x.masked_select(y != 0),
        lambda x, y: np.broadcast_to(x, (3, 4))[np.broadcast_to(y, (3, 4)) != 0],
        lambda t, x, y: x.masked_select(y != 0), (((3, 1), (4,)), ((4,), (3, 1)), ((3, 4), (1,))), domain="few"),
    row("masked_scatter", lambda x, y: jt.masked_scatter(x, np.arange(12).reshape(3, 4) % 3 == 1, y),
        lambda x, y: _placed(x, np.arange(12).reshape(3, 4) % 3 == 1, y.reshape(-1)[:4]),
        lambda t, x, y: t.masked_scatter(x, t.arange(12).reshape(3, 4) % 3 == 1, y),
        (((3, 4), (4,)), ((3, 4), (2, 3)), ((3, 4), (7,))), layouts=False),
    row("masked_fill", lambda x: jt.masked_fill(x, np.arange(4) > 1, 1),
        lambda x: np.where(np.arange(4) > 1, x.dtype.type(1), x),
        lambda t, x: t.masked_fill(x, t.arange(4) > 1, 1), (((4,),), ((3, 4),), ((2, 1, 4),)), NUMBERS, layouts=False),
    row("nonzero of 0-d values in a tuple", lambda x: jt.nonzero(jt.atleast_1d(x), True)[0],
        lambda x: np.nonzero(np.atleast_1d(x))[0], None, ANY[:4], domain="few", orders=0),
)  # fmt: skip

NUMBERED = (
    *(row(f"unravel_index, axis {k}", lambda x, k=k: jt.unravel_index(x, (2, 3, 5))[k],
          lambda x, k=k: np.asarray(np.unravel_index(x.astype(np.int64), (2, 3, 5))[k]),
          lambda t, x, k=k: t.unravel_index(x, (2, 3, 5))[k], ANY[:5], ("int64", "int8", "uint8"), domain="small",
          orders=0) for k in (0, 1, 2)),
    row("ravel_multi_index", lambda x, y: jt.ravel_multi_index((x, y), (4, 5)),
        lambda x, y: np.asarray(np.ravel_multi_index((x.astype(int), y.astype(int)), (4, 5))), None,
        (((), ()), ((5,), (5,)), ((3, 1), (2,)), ((0,), (0,))), ("int64", "uint8"), domain="small", orders=0),
    *(row(f"ravel_multi_index, {mode}", lambda x, y, mode=mode: jt.ravel_multi_index((x, y), (4, 5), mode),
          lambda x, y, mode=mode: np.asarray(np.ravel_multi_index((x, y), (4, 5), mode)), None,
          (((5,), (5,)), ((3, 1), (2,))), ("int64",), orders=0) for mode in ("wrap", "clip")),
    row("one_hot", lambda x: jt.one_hot(x, 5), lambda x: np.eye(5, dtype=np.int64)[x],
        lambda t, x: t.nn.functional.one_hot(x.long(), 5), ANY, (*WHOLE,), domain="small", orders=0),
)  # fmt: skip

ROWS = (*BRACKETS, *BACKWARDS, *GATHERED, *REDUCED, *SLICES, *EDITED, *FOUND, *NUMBERED)
