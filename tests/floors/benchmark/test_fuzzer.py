"""Fuzzer: draws repeat, and keep to what was asked for."""

import math

import pytest

import jt_edu as jt
from jt_edu.base.errors import ArgumentError
from jt_edu.benchmark import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias

SIZES = [FuzzedParameter(name, 1, 64, "loguniform") for name in "nk"]


def params(fuzzer, count):
    return [p for _, _, p in fuzzer.take(count)]


def test_the_same_seed_draws_the_same_and_another_one_does_not():
    x = FuzzedTensor("x", ("n", "k"))
    one, same, other = (list(Fuzzer(SIZES, [x], seed=seed).take(3)) for seed in (7, 7, 8))

    assert [p for _, _, p in one] == [p for _, _, p in same] != [p for _, _, p in other]
    assert all(jt.array_equal(a["x"], b["x"]) for (a, _, _), (b, _, _) in zip(one, same, strict=True))


def test_uniform_and_loguniform_numbers_have_the_share_below_the_middle_that_they_should():
    numbers = [FuzzedParameter("u", 0.0, 1.0), FuzzedParameter("g", 1, 1024, "loguniform")]
    drawn = params(Fuzzer(numbers, [], seed=0), 2000)

    assert sum(p["u"] < 0.5 for p in drawn) / 2000 == pytest.approx(0.5, abs=0.05)
    assert sum(p["g"] <= 32 for p in drawn) / 2000 == pytest.approx(0.5, abs=0.05)
    assert all(isinstance(p["g"], int) and 1 <= p["g"] <= 1024 for p in drawn)


def test_values_of_a_table_come_as_often_as_it_says():
    dim = FuzzedParameter("dim", distribution={2: 1, 3: 3})
    drawn = params(Fuzzer([dim], [], seed=0), 2000)

    assert sum(p["dim"] == 3 for p in drawn) / 2000 == pytest.approx(0.75, abs=0.05)


def test_an_alias_is_equal_to_what_it_names():
    square = FuzzedParameter("k", distribution={ParameterAlias("n"): 0.5, 1: 0.5})
    drawn = params(Fuzzer([SIZES[0], square], [], seed=0), 50)

    assert {p["k"] == p["n"] for p in drawn} == {True, False}
    assert all(p["k"] in (1, p["n"]) for p in drawn)


def test_constraints_and_numbers_of_elements_hold_in_every_draw():
    x = FuzzedTensor("x", ("n", "k"), min_elements=16, max_elements=256)
    small = FuzzedTensor("y", ("n",), dtype="float64", max_allocation_bytes=8 * 16)
    fuzzer = Fuzzer(SIZES, [[x, small]], [lambda n, k: n < k], seed=0)

    for tensors, facts, p in fuzzer.take(30):
        assert p["n"] < p["k"]
        assert tensors["x"].shape == (p["n"], p["k"])
        assert 16 <= facts["x"]["numel"] == tensors["x"].size <= 256
        assert facts["y"]["nbytes"] == 8 * p["n"] <= 128
        assert facts["y"]["dtype"] == "float64"
    assert 0 < fuzzer.rejection_rate < 1


def test_what_is_strict_is_not_shifted_by_the_constraints_on_others():
    def share(strict):
        dim = FuzzedParameter("dim", distribution={1: 0.5, 3: 0.5}, strict=strict)
        x = FuzzedTensor("x", ("n", "n", "n"), dim_parameter="dim", max_elements=64)
        return sum(p["dim"] == 3 for p in params(Fuzzer([SIZES[0], dim], [x], seed=0), 400)) / 400

    assert share(strict=True) == pytest.approx(0.5, abs=0.08)
    assert share(strict=False) < 0.35


def test_axes_are_cut_and_rolled_by_parameters():
    three = FuzzedParameter("axes", 3, 3), FuzzedParameter("roll", 1, 1)
    x = FuzzedTensor("x", (2, 3, 4, 5), dim_parameter="axes", roll_parameter="roll")

    assert next(Fuzzer(three, [x], seed=0).take(1))[0]["x"].shape == (4, 2, 3)


def test_a_constructor_of_ones_own_makes_the_var():
    x = FuzzedTensor("x", ("n",), dtype="int32", tensor_constructor=lambda size, dtype, n, k: jt.full(size, n, dtype))

    for tensors, _, p in Fuzzer(SIZES, [x], seed=0).take(3):
        assert tensors["x"].numpy().tolist() == [p["n"]] * p["n"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FuzzedParameter("n", 4, 2), "minval=4, maxval=2"),
        (lambda: FuzzedParameter("n", 0, 2, "loguniform"), "minval=0"),
        (lambda: FuzzedParameter("n", 1), "maxval=None"),
        (lambda: FuzzedParameter("n", 1, 2, "normal"), "'normal'"),
        (lambda: FuzzedParameter("n", distribution={}), "gives each value its probability"),
        (lambda: Fuzzer([SIZES[0], SIZES[0]], []), "found n, n"),
        (lambda: params(Fuzzer(SIZES, [], [lambda n, k: False], seed=0), 1), "1000 draws that broke one"),
        (lambda: params(Fuzzer(SIZES, [FuzzedTensor("x", ("m",))], seed=0), 1), "no 'm'"),
        (
            lambda: params(Fuzzer([FuzzedParameter("a", distribution={ParameterAlias("a"): 1})], [], seed=0), 1),
            "an alias names",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(make, words):
    with pytest.raises(ArgumentError, match=words):
        make()


def test_whole_numbers_and_bools_are_drawn_as_such():
    x, y = FuzzedTensor("x", (100,), dtype="int64"), FuzzedTensor("y", (100,), dtype="bool")
    tensors, _, _ = next(Fuzzer([], [x, y], seed=0).take(1))

    assert 0 <= tensors["x"].min().item() <= tensors["x"].max().item() <= 126
    assert set(tensors["y"].numpy().tolist()) == {True, False}
    assert math.isfinite(tensors["x"].sum().item())
