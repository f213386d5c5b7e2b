"""Derivatives: both sides of a row compute the same."""

import importlib

import pytest

import jt_edu as jt
from tests.bench.rows import Run, compare

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch says it to itself
BUILT = (0, 1, 2, 3, 4)


@pytest.fixture
def rows(torch):
    return importlib.import_module("tests.bench.science_func").ROWS


@pytest.mark.parametrize("place", BUILT)
def test_both_sides_of_a_row_answer_the_same(rows, place):
    with jt.flag_scope(backend="python"):
        error, _ = compare(rows[place].build(*rows[place].tiny))

    assert error <= rows[place].tolerance


def test_a_product_with_the_hessian_is_counted_in_gradients(rows):
    (other,) = [row for k, row in enumerate(rows) if k not in BUILT]

    figures = other.work(Run(2, quick=True))

    assert figures.over == pytest.approx(figures.ours / figures.peer)
