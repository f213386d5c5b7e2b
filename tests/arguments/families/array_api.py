"""Array API: where arrays come from, and what the standard's words for `cumsum`, `sort` and `repeat` change."""

import numpy as np

import jt_edu as jt
from tests.arguments.inputs import X
from tests.arguments.rows import Given, Row, as_numpy, refuses, shows

V = np.array([3.0, 1.0, 2.0])


def _shares(make):
    return lambda **given: np.shares_memory(make(V, **given).numpy(), V)


def _running(ours, start, twin) -> list[Row]:
    def of_numpy(x, axis=None, dtype=None, include_initial=False):
        found = twin(x, axis, dtype)
        return np.insert(found, 0, start, 0 if axis is None else axis) if include_initial else found

    return [
        *as_numpy(ours, X, twin=of_numpy, axis=1),
        *as_numpy(ours, V, twin=of_numpy, dtype="float32", include_initial=True),
        *as_numpy(ours, X, twin=of_numpy, using={"axis": 0}, include_initial=Given(True, dtype="int64")),
    ]


ROWS = [
    *shows(jt.asarray, "dtype", "int8", lambda **k: str(jt.asarray(V, **k).dtype), "int8"),
    *shows(jt.asarray, "copy", True, _shares(jt.asarray), False),
    *refuses(jt.asarray, "device", "cuda", lambda **k: jt.asarray(V, **k)),
    *shows(jt.from_dlpack, "copy", True, _shares(jt.from_dlpack), False),
    *refuses(jt.from_dlpack, "device", "cuda", lambda **k: jt.from_dlpack(V, **k)),
    *refuses(jt.astype, "device", "cuda", lambda **k: jt.astype(jt.array(V), "float32", **k)),
    *refuses(jt.Var.to_device, "stream", 1, lambda **k: jt.array(V).to_device("cpu", **k)),
    *_running(jt.cumulative_sum, 0, np.cumsum),
    *_running(jt.cumulative_prod, 1, np.cumprod),
    *as_numpy(jt.sort, X, axis=0),
    *as_numpy(jt.repeat, X, 2, axis=1),
]
