"""Layers of the zoo beside timm's, each with every option; layers that forget, by their law."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.zoo import layers
from jt_edu.zoo.layers import drop
from tests.models.things import far_apart, image, loaded, tensors

F32 = 1e-5  # of the largest number
MAP, TOKENS = (2, 16, 6, 6), (2, 5, 12)
WITH = {  # what our layers are given, and what timm's are, where that differs
    "SEModule": [
        {"channels": 16}, {"channels": 16, "rd_ratio": 0.5}, {"channels": 16, "rd_channels": 3},
        {"channels": 16, "rd_ratio": 0.5, "rd_divisor": 3}, {"channels": 16, "add_maxpool": True},
        {"channels": 16, "bias": False}, {"channels": 16, "act_layer": "SiLU"},
        {"channels": 16, "gate_layer": "hard_sigmoid"},
        {"channels": 16, "norm_layer": "BatchNorm2d"},
    ],
    "EcaModule": [
        {"channels": 16}, {"channels": None, "kernel_size": 5}, {"channels": 16, "gamma": 0.5},
        {"channels": 16, "beta": 9},
        {"channels": 16, "gate_layer": "tanh"}, {"channels": 16, "use_mlp": True},
        {"channels": 16, "use_mlp": True, "act_layer": "SiLU"}, {"channels": 16, "use_mlp": True, "rd_channels": 3},
        {"channels": 16, "use_mlp": True, "rd_ratio": 0.5, "rd_divisor": 3},
    ],
    "SqueezeExcite": [
        {"in_chs": 16}, {"in_chs": 16, "rd_ratio": 0.1}, {"in_chs": 16, "rd_channels": 5},
        {"in_chs": 16, "act_layer": "SiLU"}, {"in_chs": 16, "gate_layer": "Hardsigmoid"},
        {"in_chs": 16, "rd_ratio": 0.29, "rd_round_fn": int},
    ],
    "Mlp": [
        {"in_features": 12}, {"in_features": 12, "hidden_features": 5}, {"in_features": 12, "out_features": 3},
        {"in_features": 12, "act_layer": "ReLU"}, {"in_features": 12, "norm_layer": "LayerNorm"},
        {"in_features": 12, "bias": False}, {"in_features": 12, "bias": (True, False)},
        {"in_features": 12, "drop": 0.5},
    ],
    "LayerNorm2d": [{"num_channels": 16}, {"num_channels": 16, "eps": 0.1}, {"num_channels": 16, "affine": False}],
    "LayerScale": [{"dim": 12}, {"dim": 12, "init_values": 0.5}, {"dim": 12, "inplace": True}],
    "LayerScale2d": [{"dim": 16}],
    "PatchEmbed": [
        {"img_size": 6, "patch_size": 2, "in_chans": 16, "embed_dim": 5, **more}
        for more in (
            {}, {"norm_layer": "LayerNorm"}, {"flatten": False}, {"output_fmt": "NHWC"}, {"output_fmt": "NCL"},
            {"output_fmt": "NLC"}, {"output_fmt": "NCHW"}, {"bias": False}, {"patch_size": (3, 2)}, {"img_size": None},
            {"img_size": 9, "strict_img_size": False}, {"patch_size": 4, "dynamic_img_pad": True}, {"patch_size": 4},
        )
    ],
    "ClassifierHead": [
        {"in_features": 16, "num_classes": 3, **more}
        for more in (
            {}, {"pool_type": "", "num_classes": 0}, {"pool_type": "catavgmax"}, {"use_conv": True},
            {"use_conv": True, "pool_type": ""},
            {"drop_rate": 0.5}, {"num_classes": 0}, {"pool_type": "max", "use_conv": True, "num_classes": 0},
        )
    ],
}  # fmt: skip
CASES = [(name, given) for name, many in WITH.items() for given in many]


def made(library, layer, given):
    """A layer of ours or theirs; words for layers of `nn` become these."""
    named = {k: getattr(library, v) if k.endswith("_layer") and v[0].isupper() else v for k, v in given.items()}
    return layer(**named)


def of_timm(timm, name):
    if name == "SqueezeExcite":
        return timm.models._efficientnet_blocks.SqueezeExcite
    return getattr(timm.layers, name)


@pytest.mark.parametrize(("name", "given"), CASES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CASES)])
def test_a_layer_answers_and_learns_as_that_of_timm(torch, timm, name, given):
    layer, state = loaded(made(nn, getattr(layers, name), given))
    theirs = made(torch.nn, of_timm(timm, name), given).eval()
    x = image(*(TOKENS if name in ("Mlp", "LayerScale") else MAP))

    assert list(state) == list(theirs.state_dict())
    theirs.load_state_dict(tensors(torch, state, torch.float32))
    out, other = layer(jt.array(x)), theirs(torch.tensor(x.copy()))

    assert far_apart(out.numpy(), other) < F32
    if list(layer.parameters()):
        weights = np.cos(np.arange(out.size)).reshape(out.shape).astype("float32")
        found = jt.grad((out * weights).sum(), layer.parameters())
        expected = torch.autograd.grad((other * torch.tensor(weights)).sum(), list(theirs.parameters()))
        for mine, wanted in zip(found, expected, strict=True):
            assert far_apart(mine.numpy(), wanted) < F32


POOLS = ["avg", "max", "avgmax", "catavgmax", "fast", "fastavg", "fastmax", "fastavgmax", "fastcatavgmax", ""]


@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("flatten", [False, True])
@pytest.mark.parametrize("fmt", ["NCHW", "NHWC"])
def test_pools_are_those_of_timm(torch, timm, kind, flatten, fmt):
    given = {"pool_type": kind, "flatten": flatten, "input_fmt": fmt}
    ours, theirs = layers.SelectAdaptivePool2d(**given), timm.layers.SelectAdaptivePool2d(**given)
    x = image(2, 3, 5, 4)

    assert far_apart(ours(jt.array(x)).numpy(), theirs(torch.tensor(x))) < F32
    assert (ours.feat_mult(), ours.is_identity()) == (theirs.feat_mult(), theirs.is_identity())


@pytest.mark.parametrize("kind", ["avg", "max", "avgmax", "catavgmax"])
def test_a_pool_may_have_several_windows(torch, timm, kind):
    x = image(2, 3, 5, 4)
    theirs = timm.layers.SelectAdaptivePool2d((2, 3), kind)

    assert far_apart(layers.SelectAdaptivePool2d((2, 3), kind)(jt.array(x)).numpy(), theirs(torch.tensor(x))) < F32


@pytest.mark.parametrize(
    "given",
    [
        {"pool_type": "mean"},
        {"input_fmt": "NLC"},
        {"output_size": 2},
        {"output_size": 2, "pool_type": "max", "input_fmt": "NHWC"},
    ],
)
def test_a_pool_that_is_not_there_is_refused(given):
    with pytest.raises(ArgumentError):
        layers.SelectAdaptivePool2d(**given)


def test_a_head_is_made_anew_for_other_classes_and_pools():
    head = layers.ClassifierHead(4, 3, drop_rate=0.5).eval()

    head.reset(2)
    assert (head.fc.weight.shape, head.global_pool.pool_type, head.fc.is_train) == ((2, 4), "avg", False)
    head.reset(2, "catavgmax")
    assert head(jt.ones(1, 4, 2, 2)).shape == (1, 2)
    assert head(jt.ones(1, 4, 2, 2), pre_logits=True).shape == (1, head.num_features) == (1, 8)
    head.reset(0, "")
    assert head(jt.ones(1, 4, 2, 2)).shape == (1, 4, 2, 2)
    assert (head.train().drop(jt.ones(100)).numpy() == 0).any()


# -------------------------------------------------------------------------------------------------- what is forgotten


@pytest.mark.parametrize(("scaled", "kept"), [(True, 4.0), (False, 1.0)])
def test_drop_path_forgets_whole_examples_and_keeps_the_mean(scaled, kept):
    jt.set_global_seed(0)
    x, layer = jt.ones(4000, 2, 3), layers.DropPath(0.75, scale_by_keep=scaled)

    y = layer(x).numpy()

    assert (y == y[:, :1, :1]).all()
    assert set(np.unique(y)) == {0.0, kept}
    assert abs((y[:, 0, 0] > 0).mean() - 0.25) < 0.03
    assert np.array_equal(layer.eval()(x).numpy(), x.numpy())
    assert "drop_prob=0.750" in repr(layer)


def test_drop_path_of_nothing_and_of_all():
    x = jt.array(image(3, 2))
    everything = layers.drop_path(x, 1.0, True)

    assert layers.drop_path(x, 0.0, True) is x
    assert layers.drop_path(x, 0.9) is x
    assert not everything.numpy().any()
    with pytest.raises(ArgumentError, match=r"1\.5"):
        layers.drop_path(x, 1.5, True)


def test_a_dropped_example_has_no_gradient():
    jt.set_global_seed(3)
    x = jt.ones(64, 2)
    y = layers.drop_path(x, 0.5, True)

    assert np.array_equal(jt.grad(y.sum(), x).numpy(), y.numpy())


def test_rates_of_blocks_are_those_of_timm(torch, timm):
    for depths in (1, 5, [2, 2], [1, 3, 2]):
        stages = {"stagewise": True} if isinstance(depths, list) else {}
        found, wanted = (
            layers.drop_path_rates(0.3, depths),
            timm.layers.calculate_drop_path_rates(0.3, depths, **stages),
        )
        for mine, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(mine, other, atol=1e-7)


BLOCKS = [
    {}, {"drop_prob": 0.5}, {"block_size": 2}, {"block_size": 4}, {"block_size": 9}, {"gamma_scale": 3.0},
    {"with_noise": True}, {"couple_channels": False}, {"scale_by_keep": False}, {"inplace": True},
]  # fmt: skip


@pytest.mark.parametrize("given", BLOCKS, ids=str)
def test_drop_block_with_the_same_random_numbers_is_that_of_timm(torch, timm, monkeypatch, given):
    given = {"drop_prob": 0.2, "block_size": 3, **given}
    numbers = np.random.default_rng(1)

    def drawn(box, dtype, kind="uniform", generator=None):
        held.append(
            numbers.standard_normal(box).astype("float32") if kind == "normal" else numbers.random(box, "float32")
        )
        return jt.array(held[-1])

    held, x = [], image(2, 3, 8, 7)
    monkeypatch.setattr(drop, "random", drawn)
    out = layers.DropBlock2d(**given)(jt.array(x)).numpy()
    fill = iter(held)
    monkeypatch.setattr(torch.Tensor, "bernoulli_", lambda t, p: t.copy_(torch.tensor(next(fill)) < p))
    monkeypatch.setattr(torch.Tensor, "normal_", lambda t: t.copy_(torch.tensor(next(fill))[:, : t.shape[1]]))
    other = timm.layers.DropBlock2d(**given)(torch.tensor(x.copy()))

    assert far_apart(out, other) < F32
    assert (out != x).any()


def test_drop_block_is_silent_when_nothing_is_trained():
    x = jt.array(image(1, 2, 4, 4))

    assert layers.DropBlock2d(0.5).eval()(x) is x
    assert layers.DropBlock2d(0.0)(x) is x
    with pytest.raises(ShapeError, match="shape"):
        layers.drop_block_2d(jt.ones(2, 3))


def test_drop_block_draws_its_squares():
    jt.set_global_seed(0)
    y = layers.drop_block_2d(jt.ones(400, 1, 8, 8), 0.1, block_size=1, scale_by_keep=False).numpy()

    assert abs((y == 0).mean() - 0.1) < 0.01


def test_the_mlp_forgets_behind_both_layers():
    mlp = layers.Mlp(4, 5, drop=(0.25, 0.5))

    assert (mlp.drop1.p, mlp.drop2.p) == (0.25, 0.5)
    assert layers.Mlp(4, use_conv=True)(jt.ones(1, 4, 2, 3)).shape == (1, 4, 2, 3)


# ------------------------------------------------------------------------------------------------------ small things


def test_channels_become_multiples_as_timm_makes_them(torch, timm):
    for channels in (1, 7.5, 11, 33, 100):
        for divisor, keep in ((8, 0.9), (3, 0.0), (16, 0.95)):
            wanted = timm.layers.make_divisible(channels, divisor, round_limit=keep)
            assert layers.divisible(channels, divisor, keep=keep) == wanted
    assert layers.divisible(1, least=24) == 24


def test_what_cannot_be_is_refused():
    with pytest.raises(ArgumentError, match="kernel_size=4"):
        layers.EcaModule(kernel_size=4)
    with pytest.raises(ArgumentError, match="channels=None"):
        layers.EcaModule(use_mlp=True)
    with pytest.raises(ArgumentError, match="swush"):
        layers.activation("swush")
    with pytest.raises(ShapeError, match=r"\(1, 3, 9, 8\)"):
        layers.PatchEmbed(8, 4)(jt.ones(1, 3, 9, 8))
    with pytest.raises(ShapeError, match="fill"):
        layers.PatchEmbed(8, 4, strict_img_size=False)(jt.ones(1, 3, 9, 8))


def test_an_embedding_knows_its_grid():
    embed = layers.PatchEmbed((9, 8), (4, 2))

    assert (embed.grid_size, embed.num_patches, embed.feat_ratio()) == ((2, 4), 8, 4)
    assert layers.PatchEmbed(8, 4, dynamic_img_pad=True).dynamic_feat_size((9, 8)) == (3, 2)


def test_a_map_of_one_pixel_may_be_flattened_behind_its_convolution():
    conv, x = nn.Conv2d(4, 3, 1), image(2, 4, 1, 1)

    out = (conv(jt.array(x)).flatten(1) * 2).numpy()

    np.testing.assert_allclose(out, conv(jt.array(x)).numpy().reshape(2, 3) * 2, rtol=1e-5)
