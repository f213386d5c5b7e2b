"""How much is compared: the totals of `python -m tests.parity`, and that they count what the tests really run."""

import pytest

import jt_edu as jt
from tests.parity import __main__ as parity
from tests.parity import test_families
from tests.parity.families import families

FUNCTIONS, CASES, SMOOTH = 300, 6_000, 250  # the least that may be compared


@pytest.fixture(scope="module")
def lines():
    return parity.table()


def test_as_many_functions_and_cases_are_compared_as_was_promised(lines, record_property):
    functions, rows, cases, smooth = parity.totals(lines)
    record_property("house", f"parity: {functions} functions, {rows} rows, {cases:,} cases; {smooth} with gradients")

    assert sum(not line.name.startswith("x.__") for line in lines) >= FUNCTIONS
    assert cases >= CASES
    assert smooth >= SMOOTH


def test_nothing_that_is_compared_asks_numpy(lines):
    assert [line.name for line in lines if "hostcall" in line.kinds] == []


def test_every_line_counts_something(lines):
    assert [line.name for line in lines if not line.dtypes or not line.rows] == []
    assert {"matmul", "softmax", "exp", "sort", "conv2d", "x.__add__"} <= {line.name for line in lines}


def test_what_is_counted_is_what_runs(monkeypatch, torch):
    ran = []
    monkeypatch.setattr(test_families, "_compare", lambda row, dtype, *rest: ran.append((row.name, dtype)))
    rows = [r for family in ("special", "convolutions") for r in families()[family]]

    for row in rows:
        test_families.test_numbers_and_dtypes_on_the_python_backend(torch, row)

    assert len(ran) == sum(parity.cases("special", row) for row in rows) > 100


@pytest.mark.parametrize(
    ("ours", "name", "kinds"),
    [
        (lambda x: x.exp(), "exp", {"elementwise"}),
        (lambda x: jt.exp(x * 2) + 1, "exp", {"elementwise"}),
        (lambda x: x + x, "x.__add__", {"elementwise"}),
        (lambda x: jt.cumsum(x), "cumsum", {"code", "reindex"}),
        (lambda x: x.sum().exp(), "exp", {"elementwise", "reindex_reduce"}),
    ],
)
def test_a_row_is_booked_under_the_function_that_it_calls(ours, name, kinds):
    row = families()["special"][0]._replace(name="something", ours=ours, shapes=(((3,),),), dtypes=("float32",))

    called, found = parity.look(row)

    assert (parity.function_of(row, called), found) == (name, kinds)


def test_a_row_is_booked_under_the_function_in_its_name():
    row = families()["special"][0]._replace(name="sum before the exponential")

    assert parity.function_of(row, ["sum", "exp"]) == "sum"
