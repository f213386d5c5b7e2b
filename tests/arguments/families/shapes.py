"""Shapes: axes of joins, splits and turns; padding; triangles and diagonals; and arrays that are made."""

import numpy as np

import jt_edu as jt
from tests.arguments.inputs import CUBE, INTS, X, Y, few, some
from tests.arguments.rows import Given, as_numpy, as_torch, shows

V, W = some(4), some(3, seed=1)
SQUARE = some(4, 4)


ROWS = [
    # joins and splits
    *as_torch(jt.cat, [X, Y], dim=1),
    *as_torch(jt.stack, [X, Y], dim=1),
    *as_numpy(jt.append, X, Y, dim=1),
    *as_torch(jt.chunk, X, 2, dim=1),
    *as_torch(jt.split, X, 2, dim=1),
    *as_torch(jt.tensor_split, X, 2, dim=1),
    *as_numpy(jt.array_split, X, 2, twin=np.array_split, dim=1),
    *as_torch(jt.unbind, X, dim=1),
    *as_numpy(jt.insert, X, 1, 7.0, dim=1),
    *as_numpy(jt.delete, X, 1, dim=1),
    # axes
    *as_torch(jt.squeeze, X.reshape(3, 1, 4, 1), words={"axis": "dim"}, axis=1),
    *as_numpy(jt.expand_dims, X, twin=np.expand_dims, axis=1),
    *as_torch(jt.flatten, CUBE, start_dim=1, end_dim=1),
    *as_numpy(jt.broadcast, W, (3, 4), dims=[1], twin=lambda x, shape, axes: np.repeat(x[:, None], 4, 1)),
    *as_torch(jt.transpose, CUBE, dim0=Given(0, dim1=2), dim1=Given(2, dim0=0)),
    *as_torch(jt.flip, X, dims=(0,)),
    *as_numpy(jt.roll, X, 1, axis=1),
    *as_torch(jt.rot90, CUBE, k=2, dims=Given((1, 2))),
    *as_torch(jt.repeat_interleave, X, 2, dim=1),
    *as_numpy(jt.sliding_window_view, SQUARE, (2, 2), dim=(1, 0), words={"dim": "axis"},
              twin=lambda x, s, axis: np.lib.stride_tricks.sliding_window_view(x, s, axis)),
    *as_torch(jt.as_strided, X, (2, 2), (3, 1), storage_offset=3),
    *as_torch(jt.pad, X, (1, 2), mode="circular", value=7.0),
    *as_torch(jt.unique, INTS, return_inverse=True, return_counts=True, dim=0),
    *as_numpy(jt.unique, INTS, return_index=True),
    *as_numpy(jt.unique, np.array([np.nan, 1.0, np.nan]), equal_nan=False),
    *as_torch(jt.unique_consecutive, INTS, return_inverse=True, return_counts=True, dim=0),
    # triangles and diagonals
    *as_torch(jt.tril, SQUARE, diagonal=1),
    *as_torch(jt.triu, SQUARE, diagonal=1),
    *as_numpy(jt.tril, SQUARE, k=1),
    *as_numpy(jt.triu, SQUARE, k=1),
    *as_torch(jt.tril_indices, 3, twin=lambda t, row, col=3, offset=0: t.tril_indices(row, col, offset), col=2,
              offset=1),
    *as_torch(jt.triu_indices, 3, twin=lambda t, row, col=3, offset=0: t.triu_indices(row, col, offset), col=2,
              offset=1),
    *as_numpy(jt.tri, 3, words={"m": "M"}, using={"dtype": "float32"}, m=4, k=1),
    *as_numpy(jt.tri, 3, dtype="int64"),
    *as_torch(jt.diag, V, twin=lambda t, x, offset: t.diag(x, offset), offset=1),
    *as_torch(jt.diagflat, V, offset=1),
    *as_torch(jt.diag_embed, CUBE, offset=1, dim1=0, dim2=1),
    *as_torch(jt.diagonal, CUBE, offset=1, dim1=2, dim2=2),
    *as_torch(jt.diagonal_scatter, SQUARE, some(3), using={"offset": 1}, dim1=Given(1, dim2=0), dim2=Given(0, dim1=1)),
    *as_torch(jt.diagonal_scatter, SQUARE, np.zeros(1), offset=3),
    *as_numpy(jt.Var.trace, CUBE, words={"dim1": "axis1", "dim2": "axis2"}, offset=1, dim1=2, dim2=2,
              twin=lambda x, offset=0, axis1=0, axis2=1: np.trace(x, offset, axis1, axis2)),
    # arrays that are made
    *as_numpy(jt.arange, 2, stop=7),
    *as_numpy(jt.arange, using={"stop": 7}, start=2),
    *as_numpy(jt.arange, 2, 9, step=3, dtype="float64"),
    *as_numpy(jt.linspace, 1, 3, using={"dtype": "float64"}, num=5, endpoint=Given(False,
              num=4)),
    *as_numpy(jt.linspace, 1, 3, dtype="float64"),
    *as_numpy(jt.logspace, 0, 2, using={"dtype": "float64"}, num=5, base=2.0, endpoint=False),
    *as_numpy(jt.logspace, 0, 2, dtype="float64"),
    *as_numpy(jt.geomspace, 1, 8, using={"dtype": "float64"}, num=5, endpoint=False),
    *as_numpy(jt.geomspace, 1, 8, dtype="float64"),
    *as_numpy(jt.eye, 3, words={"m": "M"}, using={"dtype": "float64"}, m=4, k=1),
    *as_numpy(jt.eye, 3, dtype="int64"),
    *as_numpy(jt.identity, 3, dtype="int64"),
    *as_numpy(jt.zeros, (2, 3), dtype="int64"),
    *as_numpy(jt.ones, (2, 3), dtype="int64"),
    *as_numpy(jt.full, (2, 3), 7.0, dtype="int64"),
    *(row for f in (jt.zeros_like, jt.ones_like) for row in as_numpy(f, X, dtype="int64")),
    *as_numpy(jt.full_like, X, 7.0, dtype="int64"),
    *shows(jt.empty, "dtype", "int64", lambda **k: str(jt.empty((2, 3), **k).dtype), "int64"),
    *shows(jt.empty_like, "dtype", "int64", lambda **k: str(jt.empty_like(jt.array(X), **k).dtype), "int64"),
    *(row for f in (jt.Var.new_zeros, jt.Var.new_ones) for row in shows(
        f, "dtype", "int64", lambda f=f, **k: [str(f(jt.array(X), (2,), **k).dtype)], ["int64"])),
    *shows(jt.Var.new_full, "dtype", "int64", lambda **k: jt.array(X).new_full((2,), 7, **k), np.full(2, 7)),
    *(row for f in (jt.array, jt.tensor, jt.as_tensor, jt.Var) for row in shows(
        f, "dtype", "int64", lambda f=f, **k: f([1.0, 2.0], **k), np.array([1, 2]))),
    *shows(jt.array64, "dtype", "int32", lambda **k: jt.array64([1, 2], **k), np.array([1, 2], "int32")),
    *as_numpy(jt.index, (2, 3), 1, twin=lambda shape, dim, dtype: np.indices(shape, dtype)[dim], dtype="float64"),
    *as_numpy(jt.indices, (2, 3), dtype="float64"),
    *as_numpy(jt.meshgrid, V, W, indexing="xy"),
    *as_numpy(jt.vander, V, N=2, increasing=True),
    *as_torch(jt.combinations, V, r=3, with_replacement=True),
    *as_torch(jt.one_hot, few(3), num_classes=6),
]  # fmt: skip
