"""Contractions: scales, biases and axes of products; strides, padding, dilation and groups of convolutions."""

import numpy as np

import jt_edu as jt
from tests.arguments.inputs import CUBE, X, some
from tests.arguments.rows import Given, Row, as_numpy, as_torch

V, M, N = some(4), some(3, 5), some(5, 4)
A, B, C = some(2, 3, 5), some(2, 5, 4), some(2, 3, 4)
MIX = {"beta": 3.0, "alpha": 2.0}


def _images(directions) -> np.ndarray:
    return some(2, 4, *(6, 5, 6)[:directions])


def _convolutions(ours, directions) -> list[Row]:
    x, w = _images(directions), some(6, 4, *(3, 2, 2)[:directions], seed=1)
    grouped = some(6, 2, *(3, 2, 2)[:directions], seed=1)
    tries = {"bias": some(6), "stride": 2, "padding": 1, "dilation": 2}
    return [*as_torch(ours, x, w, **tries), *_of_groups(ours, x, grouped)]


def _transposed(ours, directions) -> list[Row]:
    x, w = _images(directions), some(4, 6, *(3, 2, 2)[:directions], seed=1)
    tries = {"stride": 2, "padding": 1, "dilation": 2, "output_padding": Given(1, stride=2)}
    twin = f"conv_transpose{directions}d"
    return [
        *as_torch(ours, x, w, twin=twin, **tries),
        *as_torch(ours, x, w, twin=twin, bias=some(6)),
        *_of_groups(ours, x, w, twin),
    ]


def _of_groups(ours, x, w, twin=None) -> list[Row]:
    return as_torch(ours, x, w, twin=twin, groups=2)


ROWS = [
    *as_torch(jt.addmm, C[0], M, N, **MIX),
    *as_torch(jt.addmv, M[:, 0], X, V, **MIX),
    *as_torch(jt.addr, X, X[:, 0], V, **MIX),
    *as_torch(jt.addbmm, C[0], A, B, **MIX),
    *as_torch(jt.baddbmm, C, A, B, **MIX),
    *as_numpy(jt.tensordot, CUBE, some(4, 5), axes=1),
    *as_numpy(jt.cross, some(3, 3), some(3, 3, seed=1), dim=0),
    *as_numpy(jt.vecdot, X, X, twin=lambda x, y, axis: (x * y).sum(axis), dim=0),
    *as_torch(jt.bilinear, some(2, 3), some(2, 4), some(5, 3, 4), bias=some(5)),
    *as_numpy(jt.trilinear, some(2, 3), some(2, 4), some(2, 2), some(5, 3, 4, 2), bias=some(5),
              twin=lambda x, y, z, w, bias: np.einsum("ni,nj,nk,oijk->no", x, y, z, w) + bias),
    *as_torch(jt.nn.linear, X, some(5, 4), bias=some(5)),
    *_convolutions(jt.conv1d, 1),
    *_convolutions(jt.conv2d, 2),
    *_convolutions(jt.conv3d, 3),
    *_transposed(jt.conv_transpose1d, 1),
    *_transposed(jt.conv_transpose2d, 2),
    *_transposed(jt.conv_transpose3d, 3),
    *as_torch(jt.nn.unfold, some(1, 2, 5, 6), 2, dilation=2, padding=1, stride=2),
    *as_torch(jt.nn.fold, some(1, 8, 4), (4, 4), 2, stride=2),
    *as_torch(jt.nn.fold, some(1, 8, 4), (4, 4), 2, dilation=2),
    *as_torch(jt.nn.fold, some(1, 8, 25), (4, 4), 2, padding=1),
]  # fmt: skip
