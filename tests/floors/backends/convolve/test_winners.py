"""Which algorithm the cost models choose for layers of known networks. No kernel runs, and no clock is looked at."""

import pytest

from jt_edu.backends.convolve.selection import candidates, choice_of
from tests.bench.tuning import SHAPES, layer

MUCH = 1e7  # operations from which on plain loops are far behind everything else

# What the models find for the shapes of tests.bench.tuning, in their order; where two are very close, either may win.
WINNERS = """
    shifted winograd4 winograd4 winograd4 winograd4 winograd4 winograd4 panels
    pointwise/panels pointwise/panels pointwise/panels pointwise/panels
    panels shifted depthwise depthwise/lanewise depthwise depthwise
    winograd4 panels shifted depthwise
    winograd4 winograd4 pointwise/panels depthwise
    winograd4 winograd4 panels depthwise/lanewise
    panels panels panels pointwise/panels
    pointwise panels winograd4 shifted/panels
""".split()


@pytest.mark.parametrize(("sizes", "expected"), list(zip(SHAPES, WINNERS, strict=True)))
def test_the_cost_models_choose_what_is_known_to_be_fast(sizes, expected):
    choice = choice_of(sizes)

    assert choice.algorithm.name in expected.split("/")
    assert choice.how == "estimated"


@pytest.mark.parametrize("sizes", SHAPES)
def test_plain_loops_are_never_chosen_for_a_layer_that_takes_long(sizes):
    first, *others = candidates(sizes)
    direct = next(a for a in others if a.name == "direct")

    assert sizes.flops < MUCH or first.name != "direct"
    assert direct.seconds(sizes) > 2 * first.seconds(sizes)


@pytest.mark.parametrize("kind", ["forward", "by_image"])
@pytest.mark.parametrize(("size", "channels", "expected"), [(28, 256, "pointwise"), (32, 512, "panels"),
                                                            (64, 512, "panels"), (65, 512, "pointwise")])  # fmt: skip
def test_channels_that_keep_each_other_out_of_the_cache_are_packed(kind, size, channels, expected):
    sizes = layer(1, channels, size, channels, 1, kind=kind)

    assert candidates(sizes)[0].name == expected


@pytest.mark.parametrize("kind", ["forward", "by_image", "by_weights"])
def test_every_estimate_grows_with_the_work(kind):
    """Sixteen times the images are between four and forty times the time: no model forgets what it has to do."""
    small, large = layer(2, 64, 28, 64, 3, kind=kind), layer(32, 64, 28, 64, 3, kind=kind)
    by_name = {a.name: a for a in candidates(large)}

    for a in candidates(small):
        assert 4 < by_name[a.name].seconds(large) / a.seconds(small) < 40, a.name


@pytest.mark.parametrize("sizes", SHAPES)
def test_no_estimate_promises_more_than_the_machine_can_do(sizes):
    """1e11 operations per second: Winograd needs fewer multiplications, at best a quarter of them; Fourier too."""
    for a in candidates(sizes):
        assert a.seconds(sizes) > sizes.flops / 1e11 / 6, a.name
