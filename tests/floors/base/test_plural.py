"""One thing is told in the singular, wherever its number comes from."""

import pytest

import jt_edu as jt
from jt_edu.base.plural import plural, singular
from jt_exercises.verdict import RefusedError, judged


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("takes 1 channels", "takes 1 channel"),
        ("a Var of 1 axes takes 1 indices", "a Var of 1 axis takes 1 index"),
        ("21 channels, 0.1 rows, 2,1 ranks, 1-1 axes", "21 channels, 0.1 rows, 2,1 ranks, 1-1 axes"),
        ("rank 1 calls allreduce, axis 1 takes both", "rank 1 calls allreduce, axis 1 takes both"),
        ("1 batches of 1 classes", "1 batch of 1 class"),
        ("'run 1 samples.npz' has 1 samples", "'run 1 samples.npz' has 1 sample"),
        ("found ['1 rows', \"1 rows\", b'1 rows'] in `1 rows`", "found ['1 rows', \"1 rows\", b'1 rows'] in `1 rows`"),
        ("the layer's 1 channels, the axis's 1 rows", "the layer's 1 channel, the axis's 1 row"),
    ],
)
def test_a_text_has_the_singular_after_a_one_and_nowhere_else(text, said):
    assert singular(text) == said


def test_a_number_has_its_noun():
    assert [plural(n, "rank") for n in (0, 1, 2, 4_000)] == ["0 ranks", "1 rank", "2 ranks", "4,000 ranks"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: jt.nn.Conv2d(1, 8, 3)(jt.ones(2, 3, 8, 8)), "takes 1 channel, on axis 1"),
        (lambda: jt.ones(3)[0, 0], "a Var with 1 axis takes up to 1 index"),
        (lambda: jt.simulate(1)(lambda comm: comm.scatter([1, 2])), "for each of 1 rank;"),
    ],
)
def test_errors_have_the_singular(call, words):
    with pytest.raises(jt.JtError) as caught:
        call()

    assert words in str(caught.value)


def test_so_have_the_texts_that_count_things():
    one = jt.nn.PReLU()
    with jt.trace() as traced:
        (jt.ones(2) + 1).sync()

    assert repr(jt.optim.SGD(one.parameters(), 0.1)).startswith("SGD(1 parameter, ")
    assert "\n1 kernel, " in repr(traced)


def test_so_have_verdicts():
    def check():
        raise RefusedError("of 1 rows the sum is 2")

    assert repr(judged("sums", check)) == "not right      sums: of 1 row the sum is 2"
