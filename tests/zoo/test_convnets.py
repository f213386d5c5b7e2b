"""ConvNeXt, EfficientNet and RegNet beside timm's: names, numbers, scores, gradients, features, what is forgotten."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn, zoo
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.zoo import convnext, layers, regnet
from tests.models.things import far_apart, image, loaded, scores, tensors
from tests.zoo.beside_timm import both_of

MODEL = 1e-4  # of the largest score
GRADIENT = 1e-6  # of the largest of a parameter, in double precision
COUNTS = {
    "convnext_atto": 3_695_520, "convnext_tiny": 28_589_128, "convnext_small": 50_223_688,
    "efficientnet_b0": 5_288_548, "efficientnet_b1": 7_794_184, "regnetx_004": 5_157_512, "regnety_004": 4_344_144,
}  # fmt: skip
ONES = ["convnext_atto", "convnext_tiny", "efficientnet_b0", "regnetx_004", "regnety_004"]
SMALL = {
    "convnext_tiny": {"depths": (2, 1, 1, 1), "dims": (4, 4, 8, 8)},
    "efficientnet_b0": {"channel_multiplier": 0.25},
    "regnety_004": {"w0": 8, "wa": 4.0, "wm": 2.0, "depth": 8, "group_size": 4, "zero_init_last": False},
}
BRANCH = {"convnext_tiny": "stages.3.blocks.0", "efficientnet_b0": "blocks.5.3", "regnety_004": "s3.b4"}


def small(name, **settings):
    return zoo.create_model(name, num_classes=3, **SMALL[name], **settings)


def pair(torch, timm, name, **settings):
    """A network of ours and of theirs, with the same numbers, ready for use."""
    net, state = loaded(zoo.create_model(name, **settings))
    theirs = timm.create_model(name, **settings).double()
    theirs.load_state_dict(tensors(torch, state, torch.float64))
    return net, theirs.eval()


def answer(torch, theirs, x):
    with torch.no_grad():
        return theirs(torch.tensor(x).double())


@pytest.mark.parametrize("name", COUNTS)
def test_parameters_features_and_sizes_are_those_of_timm(torch, timm, name):
    net, theirs = both_of(torch, timm, name, COUNTS[name])

    ours, others = (
        [(one["num_chs"], one["reduction"], one["module"]) for one in n.feature_info] for n in (net, theirs)
    )
    assert ours == others


@pytest.mark.parametrize("name", ONES)
def test_scores_are_those_of_timm(torch, timm, name):
    net, theirs = pair(torch, timm, name)
    x = image(2, 3, 64, 47)

    assert far_apart(scores(net, x), answer(torch, theirs, x)) < MODEL
    assert far_apart(scores(net.forward_features, x), answer(torch, theirs.forward_features, x)) < MODEL


@pytest.mark.parametrize("name", ["convnext_atto", "efficientnet_b0", "regnety_004"])
def test_weights_of_timm_are_read_and_give_its_scores(torch, timm, tmp_path, name):
    torch.manual_seed(0)
    theirs = timm.create_model(name, in_chans=1, num_classes=5).eval()
    torch.save(theirs.state_dict(), tmp_path / "net.pth")
    x = image(1, 1, 64, 64)

    net = zoo.create_model(name, in_chans=1, num_classes=5, checkpoint_path=tmp_path / "net.pth")

    assert far_apart(scores(net.eval(), x), answer(torch, theirs.double(), x)) < MODEL


@pytest.mark.parametrize("name", ["convnext_atto", "efficientnet_b0", "regnety_004"])
def test_gradients_are_those_of_timm(torch, timm, name):
    net, theirs = pair(torch, timm, name, num_classes=10)
    x, weights = image(2, 3, 32, 32).astype("float64"), np.cos(np.arange(20)).reshape(2, 10)
    named = [key for key, _ in theirs.named_parameters()]
    sampled = [named[0], *(key for key in named if key.startswith(BRANCH[name if name in BRANCH else "convnext_tiny"]))]
    mine, others = dict(net.double().named_parameters()), dict(theirs.named_parameters())

    found = jt.grad((net(jt.array(x)) * weights).sum(), [mine[key] for key in sampled])
    jt.sync(found)
    loss = (theirs(torch.tensor(x)) * torch.tensor(weights)).sum()
    expected = torch.autograd.grad(loss, [others[key] for key in sampled])

    assert len(sampled) > 5
    for key, grad, wanted in zip(sampled, found, expected, strict=True):
        assert far_apart(grad.numpy(), wanted) < GRADIENT, key


@pytest.mark.parametrize("name", ["convnext_atto", "efficientnet_b0", "regnety_004"])
def test_features_are_those_of_timm(torch, timm, name):
    _, state = loaded(zoo.create_model(name, num_classes=0))
    theirs = timm.create_model(name, features_only=True, out_indices=(1, 3)).double().eval()
    net = zoo.create_model(name, features_only=True, out_indices=(1, 3)).eval()
    turned = tensors(torch, state, torch.float64)
    net.load_state_dict({key: state[full(key)] for key in net.state_dict()})
    theirs.load_state_dict({key: turned[full(key)] for key in theirs.state_dict()})
    x = image(1, 3, 64, 64)

    with jt.no_grad():
        found = [m.numpy() for m in net(jt.array(x))]

    assert list(net.feature_info.channels()) == theirs.feature_info.channels()
    assert list(net.feature_info.reduction()) == theirs.feature_info.reduction()
    if name != "efficientnet_b0":  # of which timm has an extractor that is no dict
        assert list(net) == list(theirs)
    for mine, wanted in zip(found, answer(torch, theirs, x), strict=True):
        assert far_apart(mine, wanted) < MODEL


def full(key):
    """A name in an extractor, as the network has it: stages_0.blocks.1 -> stages.0.blocks.1."""
    first, _, rest = key.partition(".")
    row, _, number = first.rpartition("_")
    return f"{row}.{number}.{rest}" if number.isdigit() else key


@pytest.mark.parametrize("pool", ["avg", "max", "avgmax", "catavgmax", ""])
@pytest.mark.parametrize("name", ["convnext_atto", "efficientnet_b0", "regnety_004"])
def test_pooled_features_are_those_of_timm(torch, timm, name, pool):
    if (name, pool) == ("convnext_atto", "catavgmax"):
        pytest.skip("neither has it: see test_a_head_says_which_pools_it_cannot_take")
    net, theirs = pair(torch, timm, name, num_classes=0, global_pool=pool)
    x = image(2, 3, 64, 64)

    assert far_apart(scores(net, x), answer(torch, theirs, x)) < MODEL
    assert net.head_hidden_size == theirs.head_hidden_size


def test_a_convnext_without_a_pool_scores_each_place_as_that_of_timm(torch, timm):
    net, theirs = zoo.create_model("convnext_atto"), timm.create_model("convnext_atto")
    for one in (net, theirs):
        one.reset_classifier(4, "")
    state = loaded(net)[1]
    theirs.double().eval().load_state_dict(tensors(torch, state, torch.float64))
    x = image(1, 3, 64, 64)

    assert scores(net, x).shape == (1, 4, 2, 2)
    assert far_apart(scores(net, x), answer(torch, theirs, x)) < MODEL


def test_a_head_says_which_pools_it_cannot_take():
    with pytest.raises(ArgumentError, match="8 channels"):
        small("convnext_tiny", global_pool="catavgmax")
    with pytest.raises(ArgumentError, match="num_classes=3"):
        small("efficientnet_b0", global_pool="")


@pytest.mark.parametrize("name", SMALL)
def test_a_new_last_layer_has_the_classes_that_are_asked_for(name):
    net, x = small(name).eval(), image(1, 3, 64, 64)

    net.reset_classifier(6)
    six, last = scores(net, x), net.get_classifier()
    net.reset_classifier(0, "max")

    assert (six.shape, last.out_features, net.num_classes) == ((1, 6), 6, 0)
    assert isinstance(net.get_classifier(), nn.Identity)
    map_ = net.forward_features(jt.array(x))
    np.testing.assert_allclose(net.forward_head(map_, pre_logits=True).numpy(), scores(net, x))
    assert scores(net, x).shape == (1, net.num_features)


@pytest.mark.parametrize("name", SMALL)
def test_drop_rate_forgets_features_in_front_of_the_last_layer_while_training(name):
    net, state = loaded(small(name, drop_rate=1.0))
    x = jt.array(image(2, 3, 64, 64))
    bias = state["classifier.bias" if name == "efficientnet_b0" else "head.fc.bias"]

    trained, used = net.train()(x).numpy(), net.eval()(x).numpy()

    np.testing.assert_array_equal(trained, np.stack([bias, bias]))
    assert np.abs(used - bias).max() > 0.01


@pytest.mark.parametrize("name", ["convnext_atto", "efficientnet_b0", "regnety_004"])
def test_blocks_forget_their_branch_as_often_as_those_of_timm(torch, timm, name):
    with torch.device("meta"):
        theirs = timm.create_model(name, drop_path_rate=0.3)
    kind = timm.layers.DropPath

    net = zoo.create_model(name, drop_path_rate=0.3)

    found = {k: m.drop_prob for k, m in net.named_modules() if isinstance(m, layers.DropPath) and m.drop_prob}
    expected = {k: m.drop_prob for k, m in theirs.named_modules() if isinstance(m, kind)}
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("name", SMALL)
def test_a_block_whose_branch_is_forgotten_passes_images_on(name):
    net = loaded(small(name))[0]
    block = net.get_submodule(BRANCH[name])
    x = jt.array(image(2, block.mlp.fc1.in_features if "conv" in name else first_conv(block).in_channels, 4, 4))

    block.drop_path.drop_prob = 1.0
    trained, used = block.train()(x).numpy(), block.eval()(x).numpy()

    around = np.maximum(x.numpy(), 0) if name == "regnety_004" else x.numpy()
    np.testing.assert_array_equal(trained, around)
    assert np.abs(used - around).max() > 0.01


def first_conv(block):
    return next(m for m in block.modules() if isinstance(m, nn.Conv2d))


@pytest.mark.parametrize("conv_mlp", [False, True])
def test_a_convnext_block_is_that_of_timm(torch, timm, conv_mlp):
    settings = {"kernel_size": 3, "ls_init_value": 0.5, "conv_mlp": conv_mlp}
    block = convnext.ConvNeXtBlock(6, **settings)
    theirs = timm.models.convnext.ConvNeXtBlock(6, **settings)
    assert block.gamma.tolist() == [0.5] * 6
    state = loaded(block)[1]
    theirs.load_state_dict(tensors(torch, state, torch.float32))
    x = image(2, 6, 5, 4)

    assert far_apart(scores(block, x), theirs(torch.tensor(x))) < MODEL
    assert convnext.ConvNeXtBlock(6, ls_init_value=None).gamma is None


def test_a_regnet_begins_as_a_relu_unless_it_is_told_otherwise():
    bare, told = (zoo.create_model("regnetx_004", zero_init_last=zero).s1.b1.conv3.bn.weight for zero in (True, False))

    assert not bare.numpy().any()
    assert told.numpy().all()


@pytest.mark.parametrize("name", ["regnetx_002", "regnetx_008", "regnety_032", "regnety_320"])
def test_widths_of_regnets_are_those_of_timm(torch, timm, name):
    cfg = timm.models.regnet.model_cfgs[name]
    with torch.device("meta"):
        theirs = timm.create_model(name)

    found = regnet.regnet_stages(cfg.w0, cfg.wa, cfg.wm, cfg.depth, cfg.group_size)

    stages = [theirs.s1, theirs.s2, theirs.s3, theirs.s4]
    convs = [stage.b1.conv2.conv for stage in stages]
    expected = [
        (c.out_channels, len(list(stage.children())), c.out_channels // c.groups)
        for c, stage in zip(convs, stages, strict=True)
    ]
    assert found == expected


def test_a_norm_and_its_activation_are_those_of_timm(torch, timm):
    x = image(3, 4, 5, 5)
    for settings in ({}, {"act_layer": "silu"}, {"apply_act": False}):
        layer, state = loaded(layers.ConvNormAct(4, 6, 3, stride=2, groups=2, bias=True, **settings))
        asked = {**settings, "act_layer": torch.nn.SiLU} if "act_layer" in settings else settings
        theirs = timm.layers.ConvNormAct(4, 6, 3, stride=2, groups=2, bias=True, **asked)
        theirs.load_state_dict(tensors(torch, state, torch.float32))

        assert far_apart(scores(layer, x), theirs.eval()(torch.tensor(x))) < MODEL


def test_a_norm_of_channels_is_the_norm_of_the_last_axis_of_what_is_turned(rng):
    x = jt.array(rng.standard_normal((2, 3, 4, 5)))
    weight, bias = jt.array(rng.standard_normal(3)), jt.array(rng.standard_normal(3))

    y = nn.layer_norm(x, (3,), weight, bias, 0.1, dim=1)

    expected = nn.layer_norm(x.permute(0, 2, 3, 1), (3,), weight, bias, 0.1).permute(0, 3, 1, 2)
    np.testing.assert_allclose(y.numpy(), expected.numpy(), rtol=1e-12, atol=1e-12)
    with pytest.raises(ShapeError, match="end with axis 2"):
        nn.layer_norm(x, (3,), dim=2)
