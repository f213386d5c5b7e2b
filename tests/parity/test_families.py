"""Every row of every family: NumPy's or PyTorch's numbers on both backends, and the gradients of both orders."""

import math

import numpy as np
import pytest

import jt_edu as jt
from tests.parity.families import families
from tests.parity.inputs import COMPLEX, HALVES, LAYOUTS, both, draw, expect_same, seed_of
from tests.parity.judges import judge, safe

ROWS = [(family, row) for family, rows in families().items() if family != "core" for row in rows]
SMALL = 12  # elements of all inputs, for gradients by PyTorch; half as many for differences


def cases(row):
    """(dtype, shapes, layout): every shape in every dtype; shapes of two or more axes lie in memory in other ways too.

    Each shape lies in each of these ways, but not in each dtype: dtypes take turns.
    """
    dtypes, others = _dtypes(row), [layout for layout, _, _ in LAYOUTS[1:]]
    turns = min(len(dtypes), len(others))
    for n, shapes in enumerate(row.shapes):
        for k, dtype in enumerate(dtypes):
            yield dtype, shapes, "plain"
            if row.layouts and max(map(len, shapes)) >= 2:
                yield from ((dtype, shapes, other) for j, other in enumerate(others) if (j + k + n) % turns == 0)


def _twin(row, arrays, torch):
    """What NumPy answers; or PyTorch, where NumPy has no such function."""
    if row.numpy is not None:
        answer = row.numpy(*arrays)
    else:
        answer = row.torch(torch, *(torch.tensor(a.copy()) for a in arrays))
    return [np.asarray(a) for a in (answer if isinstance(answer, (tuple, list)) else [answer])]


def _compare(row, dtype, shapes, layout, torch):
    seed = seed_of(row.name, shapes, dtype)
    pairs = [both(seed + k, shape, dtype, row.domain, layout) for k, shape in enumerate(shapes)]
    ours = row.ours(*(a for a, _ in pairs))
    ours = list(ours) if isinstance(ours, (tuple, list)) else [ours]
    theirs = _twin(row, [b for _, b in pairs], torch)
    assert len(ours) == len(theirs), row.name
    for a, b in zip(ours, theirs, strict=True):
        if row.numpy is None and not shapes_agree(a, b):
            pytest.fail(f"{row.name} {shapes}: shape {a.shape} for {b.shape}")
        expect_same(a, b, dtypes=(dtype,), loose=row.loose, what=f"{row.name} {dtype} {shapes} {layout}, seed {seed}")


def shapes_agree(ours, theirs):
    return tuple(ours.shape) == tuple(theirs.shape)


NOT_TORCHS = (*HALVES, "uint32")  # dtypes that PyTorch lacks, or computes with in its own way


def _dtypes(row):
    return [d for d in row.dtypes if row.numpy is not None or d not in NOT_TORCHS]


@pytest.mark.parametrize("row", [pytest.param(r, id=f"{family}-{r.name}") for family, r in ROWS])
def test_numbers_and_dtypes_on_the_python_backend(torch, row):
    with jt.flag_scope(backend="python"), np.errstate(all="ignore"):
        for dtype, shapes, layout in cases(row):
            _compare(row, dtype, shapes, layout, torch)


@pytest.mark.parametrize("row", [pytest.param(r, id=f"{family}-{r.name}") for family, r in ROWS])
def test_numbers_and_dtypes_on_the_numba_backend(torch, row):
    """One dtype and shape each, because every kernel costs a tenth of a second."""
    liked = [d for d in ("float32", "int64", "complex64", "bool") if d in _dtypes(row)] or _dtypes(row)
    shapes = max(row.shapes, key=lambda s: (max(map(len, s)) <= 3, sum(math.prod(x) for x in s)))
    with jt.flag_scope(backend="numba"), np.errstate(all="ignore"):
        _compare(row._replace(loose=row.loose * 4), liked[0], shapes, "plain", torch)


SMOOTH = [(family, row) for family, row in ROWS if row.orders and "float64" in row.dtypes]


@pytest.mark.parametrize("row", [pytest.param(r, id=f"{family}-{r.name}") for family, r in SMOOTH])
def test_gradients_against_pytorch_and_differences(torch, row):
    sizes = {shapes: sum(math.prod(s) for s in shapes) for shapes in row.shapes}
    asked = [s for s, n in sizes.items() if 0 < n <= SMALL] or [min(sizes, key=lambda s: (sizes[s] == 0, sizes[s]))]
    closest = max(asked, key=lambda s: (sizes[s] <= SMALL // 2, sizes[s]))
    with jt.flag_scope(backend="python"), np.errstate(all="ignore"):
        for shapes in asked:
            arrays = [safe(draw(seed_of(row.name, k), s, "float64", row.domain)) for k, s in enumerate(shapes)]
            theirs = row.torch and (lambda *xs: row.torch(torch, *xs))
            judge(
                torch,
                row.ours,
                theirs,
                arrays,
                f"{row.name} {shapes}",
                smooth=shapes == closest and row.domain != "few",
                orders=row.orders,
            )


UNKNOWN = {"slice_scatter", "select_scatter"}  # PyTorch has no complex gradients for them
CURVED = [
    (family, row)
    for family, row in SMOOTH
    if COMPLEX[1] in row.dtypes and row.torch is not None and row.name.split()[0] not in UNKNOWN
]


@pytest.mark.parametrize("row", [pytest.param(r, id=f"{family}-{r.name}") for family, r in CURVED])
def test_complex_gradients_are_the_conjugate_ones_of_pytorch(torch, row):
    sizes = {shapes: sum(math.prod(s) for s in shapes) for shapes in row.shapes}
    shapes = min((s for s in sizes if sizes[s]), key=lambda s: abs(sizes[s] - 4))
    with jt.flag_scope(backend="python"), np.errstate(all="ignore"):
        arrays = [draw(seed_of(row.name, k), s, COMPLEX[1], row.domain) for k, s in enumerate(shapes)]
        judge(torch, row.ours, lambda *xs: row.torch(torch, *xs), arrays, row.name, smooth=False, orders=1)
