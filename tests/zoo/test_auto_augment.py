"""timm's strings: each operator beside timm's, what the parts of a string do, and AugMix."""

import math

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.base.errors import JtError
from jt_edu.zoo import data
from jt_edu.zoo.data import auto_augment

pytestmark = pytest.mark.usefixtures("python_backend")

HPARAMS = {"translate_const": 10, "img_mean": (1, 2, 3)}
BLURS = ("GaussianBlur", "GaussianBlurRand")  # Pillow's are three boxes
NAMES = [*auto_augment.LEVELS, *auto_augment.PLAIN]


@pytest.fixture
def planes(rng):
    """A photograph (3, 23, 31) of bytes, neither black nor white."""
    return rng.integers(40, 126, (3, 23, 31), dtype=np.uint8)


@pytest.fixture
def theirs(timm):
    from timm.data import auto_augment as module  # noqa: PLC0415 - a guest

    return module


def by_timm(theirs, planes, name, magnitude, interpolation):
    """What timm's operator makes of the image."""
    from PIL import Image  # noqa: PLC0415 - a guest

    way = Image.Resampling[interpolation.upper()]
    op = theirs.AugmentOp(name, 1.0, magnitude, {**HPARAMS, "interpolation": way})
    return np.moveaxis(np.asarray(op(Image.fromarray(np.moveaxis(planes, 0, -1)))), -1, 0).astype(int)


def by_us(planes, name, magnitude, interpolation):
    look = auto_augment.Look("test", {**HPARAMS, "interpolation": interpolation})
    return auto_augment.Op(name, 1.0, magnitude, look)(planes)


def test_the_operators_are_timms(theirs):
    assert {*NAMES} == {*theirs.NAME_TO_OP}
    assert [*auto_augment.RAND] == theirs._RAND_TRANSFORMS
    assert [*auto_augment.GROWING] == theirs._RAND_INCREASING_TRANSFORMS
    assert {*auto_augment.MIXING} == {*theirs._AUGMIX_TRANSFORMS}
    assert [*auto_augment.WEIGHTS["3a"]] == theirs._RAND_3A
    assert auto_augment.WEIGHTS["3aw"] == theirs._RAND_WEIGHTED_3A
    assert auto_augment.WEIGHTS["weights"] == theirs._RAND_WEIGHTED_0


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BLURS])
def test_an_operator_equals_that_of_timm(theirs, planes, monkeypatch, name):
    for sign in (1, -1):
        monkeypatch.setattr(theirs, "_randomly_negate", lambda v, sign=sign: sign * v)
        monkeypatch.setattr(auto_augment, "_sign", lambda sign=sign: sign)
        for magnitude in (2.5, 4, 7, 9.5):
            for way in ("bilinear", "bicubic"):
                expected = by_timm(theirs, planes, name, magnitude, way)

                assert abs(by_us(planes, name, magnitude, way) - expected).max() <= 1


def test_an_operator_moves_the_image_that_it_has_in_hand():
    look = auto_augment.Look("test", {**HPARAMS, "interpolation": "bilinear"})
    op = auto_augment.Op("TranslateXRel", 1.0, 10, look)
    seen = []
    for width in (20, 40):
        moved = op(np.full((3, 4, width), 200, np.uint8))
        seen.append(int((moved[2] == 3).sum()) / 4)

    assert seen == [9, 18]


@pytest.mark.parametrize("name", ["v0", "v0r", "original", "originalr", "3a"])
def test_policies_are_those_of_timm(theirs, name):
    found = data.auto_augment_transform(name).policy
    expected = theirs.auto_augment_policy(name, theirs._HPARAMS_DEFAULT)

    def told(op):
        return op.name, op.prob, op.magnitude * (op.name not in auto_augment.PLAIN)

    assert [[told(op) for op in line] for line in found] == [[told(op) for op in line] for line in expected]


@pytest.mark.parametrize(
    "text",
    ["rand-m9-mstd0.5-inc1", "rand-m7-n3-p0.75", "rand-mstd1-tweights", "rand-n3-t3a", "rand-m12-mmax15-mstd101"],
)
def test_a_string_of_rand_augment_means_the_same_as_in_timm(theirs, text):
    found, expected = data.rand_augment_transform(text), theirs.rand_augment_transform(text)

    assert found.num_layers == expected.num_layers
    ours = [(op.name, op.prob, op.magnitude, op.look.std, op.look.most) for op in found.ops]
    assert ours == [(o.name, o.prob, o.magnitude, o.magnitude_std, o.magnitude_max or 10) for o in expected.ops]
    if expected.choice_weights is None:
        assert found.choice_weights is None
    else:
        np.testing.assert_allclose(found.choice_weights, expected.choice_weights)


@pytest.mark.parametrize("text", ["augmix", "augmix-m5-w4-d2", "augmix-a0.5-mstd1"])
def test_a_string_of_augmix_means_the_same_as_in_timm(theirs, text):
    found, expected = data.augment_and_mix_transform(text), theirs.augment_and_mix_transform(text)

    assert (found.alpha, found.width, found.depth) == (expected.alpha, expected.width, expected.depth)
    mine = {(op.name, op.prob, op.magnitude, op.look.std) for op in found.ops}
    assert mine == {(op.name, op.prob, op.magnitude, op.magnitude_std) for op in expected.ops}


# ----------------------------------------------------------------------------------------------------- what is drawn


def drawn(op, count=2000):
    jt.set_global_seed(0)
    return np.array([op._drawn() for _ in range(count)])


def test_magnitudes_are_normally_distributed_and_kept_within_limits():
    usual = data.rand_augment_transform("rand-m5-mstd0.5").ops[0]
    wide = data.rand_augment_transform("rand-m9-mstd2").ops[0]
    farther = data.rand_augment_transform("rand-m9-mstd2-mmax12").ops[0]
    even = data.rand_augment_transform("rand-m6-mstd101").ops[0]

    assert abs(drawn(usual).mean() - 5) < 0.05
    assert abs(drawn(usual).std() - 0.5) < 0.03
    assert 0.2 < (drawn(wide) == 10).mean() < 0.4
    assert drawn(wide).max() == 10 < drawn(farther).max() <= 12
    assert 0 <= drawn(even).min() < 0.1
    assert 5.9 < drawn(even).max() <= 6
    assert abs(drawn(even).mean() - 3) < 0.15
    assert set(drawn(data.rand_augment_transform("rand-m7").ops[0])) == {7}


def test_an_operator_is_left_out_by_its_likelihood(planes):
    jt.set_global_seed(0)
    op = data.rand_augment_transform("rand-p0.25", transforms=["Invert"]).ops[0]

    assert 200 < sum((op(planes) != planes).any() for _ in range(1000)) < 300


def test_operators_with_weights_are_drawn_by_them_and_not_twice(planes, monkeypatch):
    seen = []
    monkeypatch.setattr(auto_augment.Op, "__call__", lambda op, planes: seen.append(op.name) or planes)
    augment = data.rand_augment_transform("rand-n2", transforms={"Invert": 3, "Rotate": 1, "Equalize": 0})
    one = data.rand_augment_transform("rand-n1", transforms={"Invert": 3, "Rotate": 1})
    jt.set_global_seed(0)
    for _ in range(100):
        augment.augmented(planes)
    pairs = {frozenset(seen[k : k + 2]) for k in range(0, 200, 2)}
    seen.clear()
    for _ in range(1000):
        one.augmented(planes)

    assert pairs == {frozenset(["Invert", "Rotate"])}
    assert 700 < seen.count("Invert") < 800


def test_augmix_mixes_chains_and_the_image_itself(planes, monkeypatch):
    deep = []
    monkeypatch.setattr(auto_augment.Op, "__call__", lambda op, planes: deep.append(op) or np.full_like(planes, 100))
    monkeypatch.setattr(auto_augment, "drawn", lambda law, *_: {"dirichlet": [0.5, 0.25, 0.25], "beta": 0.75}[law])
    zeros = np.zeros_like(planes)

    assert set(data.augment_and_mix_transform("augmix-d2").augmented(zeros).ravel()) == {75}
    assert len(deep) == 6
    deep.clear()
    jt.set_global_seed(0)
    for _ in range(60):
        data.augment_and_mix_transform("augmix").augmented(zeros)
    assert 320 < len(deep) < 400  # 60 times 3 chains, of 1 to 3 operators each


def test_the_same_seed_draws_the_same(planes):
    def told(text, make, seed):
        jt.set_global_seed(seed)
        augment = make(text)
        return [augment.augmented(planes).tolist() for _ in range(4)]

    for text, make in (
        ("rand-m9-mstd0.5", data.rand_augment_transform), ("original-mstd1", data.auto_augment_transform),
        ("augmix-m5", data.augment_and_mix_transform),
    ):  # fmt: skip
        assert told(text, make, 1) == told(text, make, 1) != told(text, make, 2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: data.rand_augment_transform("rnd-m9"), "begins with rand; found 'rnd-m9'"),
        (lambda: data.rand_augment_transform("rand-x9"), "found 'x9' in 'rand-x9'"),
        (lambda: data.rand_augment_transform("rand-m"), "found 'm' in"),
        (lambda: data.rand_augment_transform("rand-p1.5"), "found p=1.5"),
        (lambda: data.rand_augment_transform("rand-tw0"), "found 'w0'"),
        (lambda: data.rand_augment_transform("rand", transforms=["Shear"]), "found 'Shear'"),
        (lambda: data.rand_augment_transform("rand", transforms=[]), "names of operators"),
        (lambda: data.rand_augment_transform("rand-n3", transforms={"Invert": 1}), "from 0 to 1"),
        (lambda: data.rand_augment_transform("rand", {"translate": 3}), "found 'translate'"),
        (lambda: data.rand_augment_transform("rand", {"interpolation": "lanczos"}), "found interpolation='lanczos'"),
        (lambda: data.rand_augment_transform("rand", {"img_mean": 256}), "found 256"),
        (lambda: data.auto_augment_transform("v1"), "found 'v1'"),
        (lambda: data.auto_augment_transform("v0-m9"), "found 'm9'"),
        (lambda: data.augment_and_mix_transform("augmix-b1"), "found 'b1'"),
        (lambda: data.augment_and_mix_transform("augmix-w0"), "=0"),
    ],
)
def test_what_makes_no_sense_is_refused(call, words):
    with pytest.raises(JtError, match=words):
        call()


def test_what_hparams_say_wins_over_the_string():
    augment = data.rand_augment_transform("rand-mstd0.5", {"magnitude_std": math.inf, "magnitude_max": 20})

    assert (augment.ops[0].look.std, augment.ops[0].look.most) == (math.inf, 20)
