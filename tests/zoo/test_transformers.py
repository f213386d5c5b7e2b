"""ViT, Swin and MLP-Mixer beside timm's: names, numbers, scores, gradients, maps; which tokens look at which."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn, zoo
from jt_edu.base.errors import ArgumentError
from jt_edu.zoo import swin_transformer
from jt_edu.zoo.swin_transformer import WindowAttention
from jt_edu.zoo.training import parts
from jt_edu.zoo.training.config import configured
from tests.models.things import far_apart, image, loaded, scores, tensors
from tests.zoo.beside_timm import both_of

MODEL = 1e-4  # of the largest score
GRADIENT = 1e-6  # of the largest of a parameter, in double precision
VIT, SWIN, MIXER = "vit_tiny_patch16_224", "swin_tiny_patch4_window7_224", "mixer_s16_224"
COUNTS = {
    VIT: 5_717_416, "vit_small_patch16_224": 22_050_664, "vit_base_patch16_224": 86_567_656,
    SWIN: 28_288_354, "swin_base_patch4_window7_224": 87_768_224, "swin_base_patch4_window12_384": 87_903_584,
    MIXER: 18_528_264, "mixer_b16_224": 59_880_472,
}  # fmt: skip
SMALL = {
    VIT: {"img_size": 32, "patch_size": 8, "embed_dim": 12, "depth": 2, "num_heads": 3},
    SWIN: {"img_size": 32, "embed_dim": 6, "depths": (2, 2), "num_heads": (1, 2), "window_size": 2},
    MIXER: {"img_size": 32, "patch_size": 8, "embed_dim": 12, "num_blocks": 2},
}
ODD = {"img_size": 40, "window_size": 4}  # 10 x 10 tokens, which windows of 4 x 4 do not fill
OPTIONS = [
    *((VIT, more) for more in (
        {}, {"class_token": False, "global_pool": "avg"}, {"global_pool": ""}, {"global_pool": "avg"},
        {"global_pool": "max"}, {"global_pool": "avgmax"}, {"qkv_bias": False}, {"qk_norm": True},
        {"init_values": 0.5}, {"fc_norm": True}, {"mlp_ratio": 2.0}, {"in_chans": 1}, {"num_classes": 0},
        {"img_size": (16, 32)},
    )),
    *((SWIN, more) for more in (
        {}, ODD, {**ODD, "window_size": (3, 4)}, {"window_size": 8}, {"global_pool": ""}, {"global_pool": "catavgmax"},
        {"qkv_bias": False}, {"mlp_ratio": 2.0}, {"in_chans": 1}, {"num_classes": 0}, {"patch_size": 2},
        {"img_size": 20, "window_size": 2},
    )),
    *((MIXER, more) for more in (
        {}, {"stem_norm": True}, {"mlp_ratio": (1.0, 2.0)}, {"mlp_ratio": 1.0}, {"global_pool": ""}, {"in_chans": 1},
        {"num_classes": 0},
    )),
]  # fmt: skip


def theirs_of(timm, name, settings):
    """A small network of timm's: its functions do not let every setting be replaced."""
    kind = {
        VIT: timm.models.VisionTransformer,
        SWIN: timm.models.SwinTransformer,
        MIXER: timm.models.mlp_mixer.MlpMixer,
    }
    return kind[name](**{**SMALL[name], **settings})


def pair(torch, timm, name, **settings):
    """A small network of ours and of theirs, with the same numbers, ready for use, and images for both."""
    net, state = loaded(zoo.create_model(name, **{**SMALL[name], **settings}))
    theirs = theirs_of(timm, name, settings).double()
    assert list(state) == list(theirs.state_dict())
    theirs.load_state_dict(tensors(torch, state, torch.float64))
    size = {**SMALL[name], **settings}["img_size"]
    return (
        net,
        theirs.eval(),
        image(2, settings.get("in_chans", 3), *(size if isinstance(size, tuple) else (size, size))),
    )


@pytest.mark.parametrize("name", COUNTS)
def test_parameters_features_and_sizes_are_those_of_timm(torch, timm, name):
    net, theirs = both_of(torch, timm, name, COUNTS[name])

    assert net.feature_info == theirs.feature_info


@pytest.mark.parametrize(("name", "settings"), OPTIONS, ids=[f"{n[:4]}-{s}" for n, s in OPTIONS])
def test_scores_are_those_of_timm_with_every_setting(torch, timm, name, settings):
    net, theirs, x = pair(torch, timm, name, **settings)

    with torch.no_grad():
        assert far_apart(scores(net, x), theirs(torch.tensor(x).double())) < MODEL


@pytest.mark.parametrize("name", [VIT, SWIN, MIXER])
def test_large_images_have_the_scores_of_timm(torch, timm, name):
    net, state = loaded(zoo.create_model(name))
    theirs = timm.create_model(name).eval()
    theirs.load_state_dict(tensors(torch, state, torch.float32))
    x = image(1, 3, 224, 224)

    with torch.no_grad():
        assert far_apart(scores(net, x), theirs(torch.tensor(x))) < MODEL


@pytest.mark.parametrize(("name", "settings"), [(VIT, {}), (SWIN, {}), (SWIN, ODD), (MIXER, {})])
def test_gradients_are_those_of_timm(torch, timm, name, settings):
    net, theirs, x = pair(torch, timm, name, **settings)
    weights = np.cos(np.arange(2000)).reshape(2, 1000)

    found = jt.grad((net.double()(jt.array(x.astype("float64"))) * weights).sum(), net.parameters())
    jt.sync(found)
    loss = (theirs(torch.tensor(x).double()) * torch.tensor(weights)).sum()
    expected = torch.autograd.grad(loss, list(theirs.parameters()))

    for (key, _), mine, wanted in zip(net.named_parameters(), found, expected, strict=True):
        assert far_apart(mine.numpy(), wanted) < GRADIENT, key


# ------------------------------------------------------------------------------------------------- heads, and features


@pytest.mark.parametrize("name", [VIT, SWIN, MIXER])
def test_a_network_gets_another_last_layer_and_another_pool(name):
    net = zoo.create_model(name, **SMALL[name]).eval()
    x = jt.array(image(2, 3, 32, 32))

    net.reset_classifier(5)
    assert net(x).shape == (2, 5)
    assert (net.num_classes, net.get_classifier().weight.shape, net.get_classifier().is_train) == (5, (5, 12), False)
    features = net.forward_features(x)
    assert np.array_equal(net.forward_head(features).numpy(), net(x).numpy())
    assert net.forward_head(features, pre_logits=True).shape == (2, 12)
    net.reset_classifier(0, "")
    assert net(x).shape == features.shape
    with pytest.raises(ArgumentError, match="sum"):
        net.reset_classifier(3, "sum")


@pytest.mark.parametrize("name", [VIT, SWIN, MIXER])
@pytest.mark.parametrize("asked", [
    {}, {"indices": 1}, {"indices": [0], "stop_early": True}, {"norm": True},
    {"indices": (1, 0), "intermediates_only": True},
])  # fmt: skip
def test_maps_in_the_middle_are_those_of_timm(torch, timm, name, asked):
    net, theirs, x = pair(torch, timm, name)

    with jt.no_grad(), torch.no_grad():
        found = net.forward_intermediates(jt.array(x), **asked)
        expected = theirs.forward_intermediates(torch.tensor(x).double(), **asked)

    if not asked.get("intermediates_only"):
        (last, found), (other, expected) = found, expected
        assert far_apart(last.numpy(), other) < MODEL
    for mine, wanted in zip(found, expected, strict=True):
        assert far_apart(mine.numpy(), wanted) < MODEL


def test_maps_may_stay_tokens(torch, timm):
    net, theirs, x = pair(torch, timm, VIT)
    found = net.forward_intermediates(jt.array(x), 1, output_fmt="NLC", intermediates_only=True)
    wanted = theirs.forward_intermediates(torch.tensor(x).double(), 1, output_fmt="NLC", intermediates_only=True)

    assert far_apart(found[0].numpy(), wanted[0]) < MODEL
    with pytest.raises(ArgumentError, match="NHWC"):
        net.forward_intermediates(jt.array(x), output_fmt="NHWC")


@pytest.mark.parametrize("name", [VIT, SWIN, MIXER])
def test_an_extractor_drops_what_comes_behind_its_last_map(torch, timm, name):
    whole, theirs, x = pair(torch, timm, name)
    net = zoo.create_model(name, features_only=True, out_indices=(0,), **SMALL[name])
    net["model"].load_state_dict(whole.state_dict(), strict=False)

    (found,) = net.eval()(jt.array(x))
    (wanted,) = theirs.forward_intermediates(torch.tensor(x).double(), [0], intermediates_only=True)

    assert far_apart(found.numpy(), wanted) < MODEL
    assert len(net.state_dict()) < len(whole.state_dict()) - 8
    assert net.feature_info.channels() == [whole.feature_info[0]["num_chs"]]


@pytest.mark.parametrize("name", [VIT, SWIN, MIXER])
@pytest.mark.parametrize("asked", [{}, {"prune_norm": True}, {"prune_head": False}])
def test_what_is_pruned_is_what_timm_prunes(torch, timm, name, asked):
    net, theirs, x = pair(torch, timm, name)

    assert net.prune_intermediate_layers([0], **asked) == theirs.prune_intermediate_layers([0], **asked)
    assert list(net.state_dict()) == list(theirs.state_dict())
    assert net.num_features == theirs.num_features
    with torch.no_grad():
        assert far_apart(scores(net, x), theirs(torch.tensor(x).double())) < MODEL


# ------------------------------------------------------------------------------------------------- what is forgotten

RATES = [
    *((VIT, f"{what}_rate") for what in ("drop", "pos_drop", "proj_drop", "attn_drop", "drop_path")),
    *((SWIN, f"{what}_rate") for what in ("drop", "proj_drop", "attn_drop", "drop_path")),
    *((MIXER, f"{what}_rate") for what in ("drop", "proj_drop", "drop_path")),
]


@pytest.mark.parametrize(("name", "rate"), RATES)
def test_a_rate_forgets_while_training_and_never_after(name, rate):
    none = {"drop_path_rate": 0.0} if name == SWIN else {}
    x = jt.array(image(4, 3, 32, 32))
    net, _ = loaded(zoo.create_model(name, **{**SMALL[name], **none, rate: 0.5}))
    sure, _ = loaded(zoo.create_model(name, **{**SMALL[name], **none}))

    assert not np.array_equal(net.train()(x).numpy(), net(x).numpy())
    assert np.array_equal(net.eval()(x).numpy(), sure(x).numpy())
    assert np.array_equal(sure.train()(x).numpy(), sure(x).numpy())


def test_later_blocks_forget_more():
    vit = zoo.create_model(VIT, **{**SMALL[VIT], "depth": 3}, drop_path_rate=0.2)
    swin = zoo.create_model(SWIN, **SMALL[SWIN])
    mixer = zoo.create_model(MIXER, **SMALL[MIXER], drop_path_rate=0.2)

    assert [b.drop_path2.drop_prob for b in vit.blocks] == [0.0, 0.1, 0.2]
    assert [round(b.drop_path1.drop_prob, 6) for s in swin.layers for b in s.blocks] == [0.0, 0.033333, 0.066667, 0.1]
    assert [b.drop_path.drop_prob for b in mixer.blocks] == [0.2, 0.2]


# ----------------------------------------------------------------------------------------- which tokens look at which


def looks(shift, mask=None):
    """For each token of an 8 x 8 map in windows of 4 x 4, those whose answer changes when it does: (64, 64)."""
    attention, _ = loaded(WindowAttention(4, 1, (4, 4), (shift, shift), (8, 8)).double())
    attention.qkv.weight.assign(attention.qkv.weight * 0.3)  # so that no look is too faint to be seen
    attention._mask = attention._mask if mask is None else mask(attention._mask)
    x = np.repeat(image(1, 8, 8, 4), 65, 0).astype("float64")
    x[np.arange(64), np.arange(64) // 8, np.arange(64) % 8] += 1
    y = attention(jt.array(x)).numpy().reshape(65, 64, 4)
    return (np.abs(y[:64] - y[64]) > 1e-12).any(-1)


def neighbours(shift):
    """Tokens of one window that were neighbours before the map was rolled."""
    part = (np.arange(8) - shift) // 4  # -1 is what stands before the first whole window
    area = (part[:, None] * 10 + part).ravel()
    return area[:, None] == area


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_tokens_look_at_those_that_share_a_window_and_were_neighbours(shift):
    assert np.array_equal(looks(shift), neighbours(shift))


def test_a_wrong_mask_would_be_seen():
    for wrong in (lambda m: m * 0, lambda m: m.transpose(0, 1).reshape(m.shape), lambda m: m.flip(0)):
        assert not np.array_equal(looks(2, wrong), neighbours(2))


def test_masks_and_places_are_those_of_timm(torch, timm):
    for size, window, shift in (((8, 8), (4, 4), (2, 2)), ((10, 7), (4, 3), (2, 1)), ((4, 8), (4, 4), (0, 2))):
        block = timm.models.swin_transformer.SwinTransformerBlock(4, size, 1, window_size=window, shift_size=shift)
        found = swin_transformer.shifted_window_mask(size, block.window_size, block.shift_size)
        assert np.array_equal(found, block.attn_mask.numpy())
        index = swin_transformer.relative_position_index(block.window_size)
        assert np.array_equal(index, block.attn.relative_position_index.numpy())


def test_a_window_as_large_as_the_map_is_not_shifted():
    stage = swin_transformer.SwinTransformerStage(4, 4, (4, 6), 2, False, [0.0, 0.0], window_size=4, num_heads=1)

    assert [b.attn.shift_size for b in stage.blocks] == [(0, 0), (0, 2)]


def test_a_block_of_windows_makes_no_copies_besides_those_of_its_heads():
    block = swin_transformer.SwinTransformerBlock(8, (8, 8), 2, window_size=4, shift_size=2)
    x = jt.array(image(1, 8, 8, 8))
    jt.sync([x, *block.parameters()])

    names = [k.name for k in jt.explain(block.eval()(x)).kernels]

    assert [n for n in names if n in ("permute", "reshape", "roll", "inverse")] == ["permute"]
    assert len(names) <= 13


def test_the_gradient_of_a_roll_is_a_roll():
    x, w = jt.array(image(5, 4)), jt.array(image(4, 5).T.copy())
    dx = jt.grad((jt.roll(x, (2, -1), (0, 1)) * w).sum(), x)

    assert not any("scatter" in k.name for k in jt.explain(dx).kernels)
    assert np.array_equal(dx.numpy(), np.roll(w.numpy(), (-2, 1), (0, 1)))
    again = jt.grad((dx * dx).sum(), w)
    np.testing.assert_allclose(again.numpy(), 2 * w.numpy(), rtol=1e-6)


# ------------------------------------------------------------------------------------------------------- the beginning


def test_networks_begin_as_their_papers_say():
    jt.set_global_seed(0)
    vit, swin = (zoo.create_model(name, **SMALL[name]) for name in (VIT, SWIN))
    for weight in (
        vit.blocks[0].mlp.fc1.weight,
        vit.pos_embed,
        vit.head.weight,
        swin.layers[1].blocks[0].mlp.fc1.weight,
    ):
        assert 0.015 < weight.numpy().std() < 0.025
    assert 0 < abs(vit.cls_token.numpy()).max() < 1e-4
    assert 0.01 < swin.layers[1].blocks[0].attn.relative_position_bias_table.numpy().std() < 0.03
    assert not vit.blocks[0].attn.qkv.bias.numpy().any()


def test_a_mixer_begins_without_a_preference():
    jt.set_global_seed(0)
    x = jt.array(image(1, 3, 32, 32))
    mixer, even = (zoo.create_model(MIXER, **SMALL[MIXER], num_classes=4, nlhb=nlhb).eval() for nlhb in (False, True))

    assert mixer(x).tolist() == [[0.0] * 4]
    np.testing.assert_allclose(even(x).numpy(), np.log(0.25), rtol=1e-6)
    assert abs(mixer.stem.proj.weight.numpy().std() * np.sqrt(3 * 8 * 8) - 1) < 0.1
    assert 0 < abs(mixer.blocks[0].mlp_tokens.fc1.bias.numpy()).max() < 1e-4


def test_the_settings_of_a_swin_yaml_build_it():
    yaml = {"IMG": 384, "EMBED_DIM": 128, "DEPTHS": [2, 2, 18, 2], "HEADS": [4, 8, 16, 32], "WINDOW": 12}
    words = {
        "IMG": "img_size",
        "EMBED_DIM": "embed_dim",
        "DEPTHS": "depths",
        "HEADS": "num_heads",
        "WINDOW": "window_size",
    }

    net = swin_transformer.SwinTransformer(**{words[key]: value for key, value in yaml.items()})

    assert sum(p.size for p in net.parameters()) == 87_903_584


@pytest.mark.parametrize("given", [
    (VIT, {"class_token": False}), (VIT, {"num_heads": 5}), (VIT, {"global_pool": "map"}),
    (SWIN, {"num_heads": (4, 4)}), (MIXER, {"global_pool": "max"}),
])  # fmt: skip
def test_what_cannot_be_is_refused(given):
    name, settings = given
    with pytest.raises(ArgumentError):
        zoo.create_model(name, **{**SMALL[name], **settings})


def test_half_a_network_answers_with_halves():
    net, _ = loaded(zoo.create_model(SWIN, **SMALL[SWIN]))

    assert net.half()(jt.array(image(1, 3, 32, 32)).cast("float16")).dtype == "float16"
    assert isinstance(net.get_classifier(), nn.Linear)


@pytest.mark.parametrize("name", [VIT, SWIN, MIXER])
def test_places_and_tokens_of_no_patch_do_not_decay_as_in_timm(torch, timm, name):
    net, theirs, _ = pair(torch, timm, name)
    names = {n for n, _ in net.named_parameters()}
    wanted = names & set(getattr(theirs, "no_weight_decay", set)())

    light = parts.optimizer(configured(["--weight-decay", "0.5"]), net).param_groups[1]

    assert net.no_weight_decay() == wanted
    assert light["weight_decay"] == 0
    shapes = [p.shape for n, p in net.named_parameters() if p.ndim == 1 or n in wanted]
    assert [p.shape for p in light["params"]] == shapes
