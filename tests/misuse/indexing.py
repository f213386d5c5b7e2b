"""Wrong positions, masks and values: each is refused, and the message holds the bad value."""

import numpy as np

import jt_edu as jt

X = np.arange(6.0, dtype=np.float32).reshape(2, 3)
V = np.arange(4.0, dtype=np.float32)
I = np.array([[0, 1], [1, 0]])  # noqa: E741


def x():
    return jt.array(X)


def assigned(key, value):
    v = x()
    v[key] = value
    return v.numpy()


CALLS = [
    ("a number is inside", lambda: x()[2], jt.RangeError, "2"),
    ("a float is no position", lambda: x()[0.5], jt.ArgumentError, r"0\.5"),
    ("there are as many indices as axes", lambda: x()[0, 0, 0], jt.RangeError, "3"),
    ("positions are whole", lambda: x()[np.array([0.5])], jt.DtypeError, "float64"),
    ("positions are inside", lambda: x()[np.array([0, 2])].numpy(), jt.RangeError, "2"),
    ("a mask fits", lambda: x()[np.array([True, False, True])], jt.RangeError, r"\(3,\)"),
    ("a value fits the brackets", lambda: assigned(0, [1.0, 2.0]), jt.ShapeError, r"\(2,\)"),
    ("a complex value is not written", lambda: assigned(0, 1j), jt.DtypeError, "complex64"),
    ("gather has the rank of x", lambda: jt.gather(X, 0, [0]), jt.ShapeError, r"\(1,\)"),
    ("gather takes whole positions", lambda: jt.gather(X, 0, X), jt.DtypeError, "float32"),
    ("gather stays inside", lambda: jt.gather(X, 1, [[3], [0]]).numpy(), jt.RangeError, "gather .*3"),
    ("gather needs its axis", lambda: jt.gather(X, 2, I), jt.RangeError, "axis 2"),
    ("take_along_dim has the rank of x", lambda: jt.take_along_dim(X, [0], 1), jt.ShapeError, r"\(1,\)"),
    ("take_along_dim broadcasts", lambda: jt.take_along_dim(X, np.zeros((3, 1), int), 1), jt.ShapeError, r"\(3, 1\)"),
    ("put_along_axis fits x", lambda: jt.put_along_axis(X[:1], I, 0, 1), jt.ShapeError, r"\(2, 2\)"),
    ("put_along_axis needs values that fit", lambda: jt.put_along_axis(X, I, V, 1), jt.ShapeError, r"\(4,\)"),
    ("an axis is spelled once", lambda: jt.put_along_axis(X, I, 0, axis=1, dim=1), jt.ArgumentError, "axis=1"),
    ("scatter knows its ways", lambda: jt.scatter(X, 0, I, 1.0, "mean"), jt.ArgumentError, "'mean'"),
    ("scatter has something to write", lambda: jt.scatter(X, 0, I, jt.ones((1, 2))), jt.ShapeError, r"\(1, 2\)"),
    ("scatter writes no complex number", lambda: jt.scatter(X, 0, I, 1j), jt.DtypeError, "complex64"),
    ("scatter_add stays inside", lambda: jt.scatter_add(X, 0, [[2]], 1.0).numpy(), jt.RangeError, "2"),
    ("scatter_reduce knows its ways", lambda: jt.scatter_reduce(X, 0, I, 1.0, "median"), jt.ArgumentError, "'median'"),
    ("scatter_reduce is told by a word", lambda: jt.scatter_reduce(X, 0, I, 1.0, 3), jt.ArgumentError, "3"),
    ("complex numbers have no order", lambda: jt.scatter_reduce(jt.array([1j]), 0, [0], 1j, "amax"), jt.DtypeError,
     "complex64"),
    ("scatter_reduce stays inside", lambda: jt.scatter_reduce(X, 0, [[-3]], 1.0, "sum").numpy(), jt.RangeError, "-3"),
    ("index_select stays inside", lambda: jt.index_select(X, 1, [3]).numpy(), jt.RangeError, "3"),
    ("select takes a number", lambda: jt.select(X, 0, [1]), jt.ArgumentError, r"\[1\]"),
    ("select stays inside", lambda: jt.select(X, 0, 2), jt.RangeError, "2"),
    ("narrow stays inside", lambda: jt.narrow(X, 1, 2, 2), jt.RangeError, "start 2, length 2"),
    ("narrow has a length", lambda: jt.narrow(X, 1, 0, -1), jt.RangeError, "length -1"),
    ("narrow takes whole numbers", lambda: jt.narrow(X, 1, 0.5, 1), jt.ArgumentError, r"0\.5"),
    ("take stays inside", lambda: jt.take(X, [6]).numpy(), jt.RangeError, "6"),
    ("take knows its modes", lambda: jt.take(X, [0], mode="fold"), jt.ArgumentError, "'fold'"),
    ("take takes positions", lambda: jt.take(X, [True, False]), jt.DtypeError, "bool"),
    ("take from nothing", lambda: jt.take(jt.zeros((0,)), [0], mode="clip"), jt.RangeError, "length 0"),
    ("compress takes a row", lambda: jt.compress(X, X), jt.ShapeError, r"\(2, 3\)"),
    ("compress stays inside", lambda: jt.compress([0, 0, 0, 1], V[:3]).numpy(), jt.RangeError, "3"),
    ("index_add needs slices that fit", lambda: jt.index_add(X, 0, [0, 1], V), jt.ShapeError, r"\(4,\)"),
    ("index_add takes whole positions", lambda: jt.index_add(X, 0, [0.5], 1.0), jt.DtypeError, "float32"),
    ("index_add stays inside", lambda: jt.index_add(X, 0, [2], 1.0).numpy(), jt.RangeError, "2"),
    ("index_copy needs slices that fit", lambda: jt.index_copy(X, 1, [0], X), jt.ShapeError, r"\(2, 3\)"),
    ("index_fill writes one number", lambda: jt.index_fill(X, 0, [0], V), jt.ShapeError, r"\(4,\)"),
    ("index_put takes a tuple", lambda: jt.index_put(X, 1, 0.0), jt.ArgumentError, "1"),
    ("index_put takes as many arrays as axes", lambda: jt.index_put(X, ([0], [0], [0]), 0.0), jt.RangeError, "3"),
    ("slice_scatter fits", lambda: jt.slice_scatter(X, V, 1), jt.ShapeError, r"\(4,\)"),
    ("slice_scatter moves", lambda: jt.slice_scatter(X, X, 1, step=0), jt.ArgumentError, "0"),
    ("select_scatter fits", lambda: jt.select_scatter(X, V, 0, 1), jt.ShapeError, r"\(4,\)"),
    ("diagonal_scatter fits", lambda: jt.diagonal_scatter(X, V), jt.ShapeError, r"\(4,\)"),
    ("masked_select takes bools", lambda: jt.masked_select(X, X), jt.DtypeError, "float32"),
    ("masked_select broadcasts", lambda: jt.masked_select(X, V > 1), jt.ShapeError, r"\(4,\)"),
    ("masked_scatter takes bools", lambda: jt.masked_scatter(X, I, V), jt.DtypeError, "int64"),
    ("masked_scatter has enough", lambda: jt.masked_scatter(X, X >= 0, V), jt.ShapeError, "4 for 6"),
    ("delete stays inside", lambda: jt.delete(X, 6), jt.RangeError, "6"),
    ("delete takes whole positions", lambda: jt.delete(X, [0.5]), jt.DtypeError, "float32"),
    ("delete takes a mask that fits", lambda: jt.delete(X, [True], 0), jt.ShapeError, r"\(1,\)"),
    ("delete needs its axis", lambda: jt.delete(X, 0, 2), jt.RangeError, "axis 2"),
    ("insert stays inside", lambda: jt.insert(X, 7, 0.0), jt.RangeError, "7"),
    ("insert needs values that fit", lambda: jt.insert(X, 0, V, 0), jt.ShapeError, r"\(1, 4\)"),
    ("nonzero of a number has no axes", lambda: jt.nonzero(3.0, as_tuple=True), jt.ArgumentError, r"\(\)"),
    ("count_nonzero needs its axis", lambda: jt.count_nonzero(X, 2), jt.RangeError, "axis 2"),
    ("unravel_index stays inside", lambda: jt.unravel_index(6, (2, 3))[0].numpy(), jt.RangeError, "6"),
    ("unravel_index takes whole numbers", lambda: jt.unravel_index(0.5, (2, 3)), jt.DtypeError, "float32"),
    ("unravel_index needs lengths", lambda: jt.unravel_index(0, (2, -3)), jt.ShapeError, r"\(2, -3\)"),
    ("ravel_multi_index takes an index for each axis", lambda: jt.ravel_multi_index(([0],), (2, 3)), jt.ArgumentError,
     r"\(2, 3\)"),
    ("ravel_multi_index stays inside", lambda: jt.ravel_multi_index(([0], [3]), (2, 3)).numpy(), jt.RangeError, "3"),
    ("ravel_multi_index knows its modes", lambda: jt.ravel_multi_index(([0], [0]), (2, 3), "fold"), jt.ArgumentError,
     "'fold'"),
    ("one_hot takes whole numbers", lambda: jt.one_hot(V, 4), jt.DtypeError, "float32"),
    ("one_hot of a class that is not there", lambda: jt.one_hot(jt.array([0, 7]), 3), jt.RangeError, "7"),
    ("one_hot of a class below 0", lambda: jt.one_hot(jt.array([-1]), 3), jt.RangeError, "-1"),
    ("brackets with a ragged list", lambda: jt.array(X)[[[1, 2], [0]]], jt.ShapeError, r"\[\[1, 2\], \[0\]\]"),
    ("one number for two axes", lambda: jt.ravel_multi_index(3, (2, 2)), jt.ArgumentError, "1 for dims"),
]  # fmt: skip
