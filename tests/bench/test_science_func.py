"""Derivatives: both sides of a row compute the same."""

import importlib

import pytest

import jt_edu as jt
from tests.bench.rows import compare

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch says it to itself


@pytest.fixture
def rows(torch):
    return importlib.import_module("tests.bench.science_func").ROWS


@pytest.mark.parametrize("place", range(6))
def test_both_sides_of_a_row_answer_the_same(rows, place):
    with jt.flag_scope(backend="python"):
        error, _ = compare(rows[place].build(*rows[place].tiny))

    assert error <= rows[place].tolerance
