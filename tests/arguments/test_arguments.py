"""Every argument that may be left out does something: a row for each, which holds, and fails without the argument."""

from dataclasses import fields
from fnmatch import fnmatchcase
from inspect import isfunction, signature

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.base.context import Flags
from jt_edu.ops.arguments import SAME
from tests.arguments.families import families
from tests.arguments.left_out import LEFT_OUT
from tests.arguments.rows import Row
from tests.arguments.surface import identity, surface
from tests.arguments.telling import difference, plain

ROWS = [(family, row) for family, rows in families().items() for row in rows]
ASKED = {(identity(row.whose), row.name) for _, row in ROWS}

pytestmark = [
    pytest.mark.filterwarnings(
        "ignore:enable_nested_tensor", "ignore:.*lr_scheduler.*:UserWarning", "ignore:.*epoch parameter.*:UserWarning"
    ),
    pytest.mark.usefixtures("python_backend"),
]


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{family}-{row}") for family, row in ROWS])
def test_an_argument_is_heeded_and_would_be_missed(torch, row):
    assert not row.complaint(torch)


# ------------------------------------------------------------------------------------------------------ none is missing


def test_every_public_argument_has_a_row(record_property):
    named = surface()
    with_row = len(ASKED & named.keys())
    record_property("house", f"arguments with a default: {with_row:,} of {len(named):,} have a row; {len(ROWS):,} rows")

    assert [text for key, text in named.items() if key not in ASKED and not left_out(text)] == []


def test_every_flag_has_a_row():
    assert {flag.name for flag in fields(Flags)} == {name for whose, name in ASKED if whose == identity(jt.flag_scope)}


def test_nothing_is_left_out_that_has_a_row_or_is_not_there():
    without = [text for key, text in surface().items() if key not in ASKED]

    assert [pattern for pattern in LEFT_OUT if not any(fnmatchcase(text, pattern) for text in without)] == []
    assert [text for key, text in surface().items() if key in ASKED and left_out(text)] == []


def left_out(text):
    return any(fnmatchcase(text, pattern) for pattern in LEFT_OUT)


# ---------------------------------------------------------------------------------------------------------- other words

AXES = SAME[:2]  # dim, dims, axis and axes; keepdim and keepdims
ONE_WORD = {
    "stride",
    "slice_scatter",
    "linear_recurrence",
    "broadcast",
    "weight_norm",
    "spectral_norm",
    "sort",
    "repeat",
}
WORDS = [
    (row, word)
    for row in {(identity(row.whose), row.name): row for _, row in ROWS if isfunction(row.whose)}.values()
    for words in AXES
    if row.name in words and row.whose.__name__ not in ONE_WORD
    for word in words
    if word not in {*signature(row.whose).parameters} - {*getattr(row.whose, "other_words", ())}
]


@pytest.mark.parametrize(("row", "word"), [pytest.param(*both, id=f"{both[0]}-{both[1]}") for both in WORDS])
def test_dim_and_axis_and_their_like_mean_the_same(row, word):
    assert not difference(plain(row.ask(**{word: row.value})), plain(row.ask(**{row.name: row.value})))


AN_AXIS = (*SAME[0], "dim1", "dim2", "start_dim", "end_dim", "dimension")
ASKING = {(identity(row.whose), row.name): row for _, row in ROWS if row.name in AN_AXIS}


@pytest.mark.parametrize("row", [pytest.param(row, id=str(row)) for row in ASKING.values()])
def test_no_bool_is_taken_for_an_axis(row):
    for value in (True, False, np.True_, jt.array(True), [True], (False,)):
        with pytest.raises(jt.JtError, match=r"True|False|a Var"):
            row.ask(**{row.name: value})


# --------------------------------------------------------------------------------------------- the harness can complain


def scaled(x, by=1, deaf=True):
    """A function that hears one argument, and not the other."""
    return x * by


@pytest.mark.parametrize(
    ("name", "value", "wanted", "words"),
    [
        ("by", 3, 6, ""),
        ("by", 3, 7, "6 for 7"),
        ("by", 1, 2, "cannot fail"),
        ("deaf", False, 2, "cannot fail"),
        ("deaf", False, 4, "2 for 4"),
    ],
)
def test_a_wrong_answer_and_a_row_that_cannot_fail_are_noticed(name, value, wanted, words):
    complaint = Row(scaled, name, value, lambda **given: scaled(2, **given), lambda torch: wanted).complaint(None)

    assert words in complaint
    assert bool(words) == bool(complaint)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (jt.zeros(2), jt.zeros(3)), (jt.zeros(2), jt.zeros(2, dtype="float64")), ([1], [1, 1]), ("a", "b"),
        (jt.zeros(2), jt.ones(2)), (None, 0), ({"a": 1}, {"b": 1}), (True, 1),
    ],
)  # fmt: skip
def test_different_things_differ(one, other):
    assert difference(plain(one), plain(other))
    assert not difference(plain(one), plain(one))
