"""Indexing: axes, modes outside of the border, what is returned beside; sorting and searching."""

import numpy as np

import jt_edu as jt
from tests.arguments.inputs import BITS, INTS, X, Y, few
from tests.arguments.rows import Given, as_numpy, as_torch

EDGES = np.array([0.0, 1.0, 2.0])
FAR = np.array([-1, 5, 7])  # outside of an axis of 4


def _where_along(x, indices, values, axis):
    """NumPy's put_along_axis, which changes its argument."""
    out = x.copy()
    np.put_along_axis(out, indices, values, axis)
    return out


def _largest(x, k, **unsorted):
    """The k largest numbers in the order in which they stand in x, and their places."""
    places = np.sort(np.argsort(-x)[:k])
    return x[places], places


ROWS = [
    *as_numpy(jt.compress, BITS[0, :3], X, dim=0),
    *as_numpy(jt.take, X, np.array([0, 2]), dim=0),
    *as_numpy(jt.take, X[0], FAR, mode="wrap"),
    *as_numpy(jt.take_along_axis, X, few(2, 4) % 3, twin=np.take_along_axis, dim=0),
    *as_torch(jt.take_along_dim, X, few(2, 4) % 3, dim=0),
    *as_numpy(jt.put_along_axis, X, few(2, 4) % 3, 7.0, twin=_where_along, dim=0),
    *as_torch(jt.index_add, X, 0, np.array([0, 2]), Y[:2], alpha=3.0),
    *as_torch(jt.index_put, X, (np.array([0, 0]), np.array([1, 1])), np.array([5.0, 6.0]), accumulate=True),
    *as_torch(jt.scatter, X, 0, INTS[:2] % 3, Y[:2], twin=lambda t, x, *given, reduce: x.scatter_add(*given),
              reduce="add"),
    *as_torch(jt.scatter_reduce, X, 0, INTS % 3, Y, "sum", include_self=False),
    *as_torch(jt.slice_scatter, X, np.zeros((3, 2)), using={"dim": 1}, start=2, end=Given(2)),
    *as_torch(jt.slice_scatter, X, np.zeros((3, 2)), using={"step": 2}, dim=1),
    *as_torch(jt.slice_scatter, X, np.zeros((3, 2)), using={"dim": 1}, step=2),
    *as_torch(jt.nonzero, INTS, as_tuple=True),
    *as_numpy(jt.ravel_multi_index, (np.array([0, 5]), np.array([1, -1])), (3, 4), mode="clip"),
    # sorting
    *as_torch(jt.sort, X, dim=0, descending=True),
    *as_torch(jt.argsort, X, dim=0, descending=True),
    *as_torch(jt.topk, X, 2, dim=0, largest=False),
    *as_numpy(jt.topk, X[0], 3, sorted=False, twin=_largest),
    # searching
    *as_torch(jt.searchsorted, EDGES, few(5), right=True, side="right", sorter=np.array([2, 1, 0]), out_int32=True),
    *as_torch(jt.bucketize, few(5), EDGES, right=True, out_int32=True),
    *as_numpy(jt.digitize, few(5), EDGES, right=True),
    *as_numpy(jt.isin, INTS, np.array([1, 2]), invert=True),
]  # fmt: skip
