"""An op graph goes to the judge as rows, which are built and fused there; rows that mean nothing are refused."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.ir.index_expr import load
from jt_exercises.graph_data import meant, told
from jt_exercises.wire import pack, unpack


def sent(y):
    return unpack(pack(told(y), None), None)


def graphs(x, index):
    yield (x * 2 + x).exp().sum(1)
    yield x.transpose(1, 0)[:, ::-1] @ x
    yield x.reindex((3, 4), lambda i, j: (i - 1, j + 1), fill=-np.inf)
    yield x.reindex((3, 4), lambda i, j: (load(0, (i,)), j), extras=[index])
    yield x.reindex_reduce("add", (6,), lambda i, j: ((i * 2 + j) % 6,))
    yield jt.softmax(x, 1)
    yield x.reshape(4, 3).max(0)


@pytest.mark.parametrize("number", range(7))
def test_what_arrives_has_the_numbers_and_the_kernels_of_what_was_sent(number, rng):
    x, index = jt.array(rng.normal(size=(3, 4))), jt.array(np.array([2, 0, 1]))
    y = list(graphs(x, index))[number]

    found = meant(sent(y))

    assert len(jt.explain(found).kernels) == len(jt.explain(y).kernels)
    np.testing.assert_allclose(found.numpy(), y.numpy(), rtol=1e-12)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [("array", 3)],
        [("elementwise", "system", (0,))],
        [("array", np.ones(2)), ("elementwise", "add", (0, 7))],
        [("array", np.ones(2)), ("reindex", "reindex", (0,), (1 << 30,), (("counter", 0),), 0.0)],
        [("array", np.ones(2)), ("reindex", "reindex", (0,), (-1,), (("counter", 0),), 0.0)],
        [("array", np.ones(2)), ("reindex", "reindex", (0,), (2,), (("counter", 9),), 0.0)],
        [("array", np.ones(2)), ("reindex", "reindex", (0,), (2,), (("open", ("int", 1), ("int", 2)),), 0.0)],
        [("array", np.ones(2)), ("reindex_reduce", "sum", (0,), (2,), (("counter", 0),), "system")],
        [("array", np.ones(2))] * 20_000,
    ],
)
def test_rows_that_mean_nothing_are_refused_before_anything_is_built(rows):
    with pytest.raises((ValueError, LookupError, TypeError, AttributeError)):
        meant(rows).sync()


def test_an_index_that_is_nested_too_deep_is_refused():
    index = ("counter", 0)
    for _ in range(100):
        index = ("+", index, ("int", 1))

    with pytest.raises(ValueError, match="means nothing"):
        meant([("array", np.ones(2)), ("reindex", "reindex", (0,), (2,), (index,), 0.0)])
