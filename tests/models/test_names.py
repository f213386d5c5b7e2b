"""The networks by name: as many parameters as torchvision's, under the same keys, of the same shapes, in its order."""

import hashlib
import math

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import models, nn

# torchvision 0.28: parameters, entries of state_dict, numbers in buffers, and a digest of the keys and shapes in order
TORCHVISION = {
    "alexnet": (61_100_840, 16, 0, "9c198ebdae1863e4"),
    "densenet121": (7_978_856, 727, 83_769, "aa0fd9923b0003b8"),
    "densenet161": (28_681_000, 967, 220_097, "82d337d48f910d3a"),
    "densenet169": (14_149_480, 1015, 158_569, "e2d0f02d9c0ce650"),
    "densenet201": (20_013_928, 1207, 229_257, "0d234ad7e9a31b95"),
    "googlenet": (13_004_888, 364, 15_131, "7f541ca29410efb1"),
    "inception_v3": (27_161_264, 580, 36_320, "aab0ac2cbaf84aa2"),
    "mnasnet0_5": (2_218_512, 314, 20_676, "1ed44e7f7de28388"),
    "mnasnet0_75": (3_170_208, 314, 29_860, "93d711f59686004d"),
    "mnasnet1_0": (4_383_312, 314, 37_972, "c26097f381d52b59"),
    "mnasnet1_3": (6_282_256, 314, 48_868, "9ce90280583fa871"),
    "mobilenet_v2": (3_504_872, 314, 34_164, "37bbbce8932fd0c4"),
    "mobilenet_v3_large": (5_483_032, 312, 24_446, "efe98e40831bae95"),
    "mobilenet_v3_small": (2_542_856, 244, 12_146, "5f0efaf3ff4ac979"),
    "resnet101": (44_549_160, 626, 105_448, "02c0f34f4842751f"),
    "resnet152": (60_192_808, 932, 151_579, "685c66205bc823aa"),
    "resnet18": (11_689_512, 122, 9_620, "84fb10d9c6905a1c"),
    "resnet34": (21_797_672, 218, 17_060, "28f9096d51307499"),
    "resnet50": (25_557_032, 320, 53_173, "d7e4f8bb0a536344"),
    "resnext101_32x8d": (88_791_336, 626, 202_984, "da7dd7525807e2ee"),
    "resnext50_32x4d": (25_028_904, 320, 68_277, "e3bad165c034e60f"),
    "shufflenet_v2_x0_5": (1_366_792, 338, 8_008, "f0a5936e646f1bd4"),
    "shufflenet_v2_x1_0": (2_278_604, 338, 16_236, "81b349bc1cbbbc7a"),
    "shufflenet_v2_x1_5": (3_503_624, 338, 23_496, "506b4de341bf52b3"),
    "shufflenet_v2_x2_0": (7_393_996, 338, 33_772, "0c033bd0cd72af37"),
    "squeezenet1_0": (1_248_424, 52, 0, "4654d26ad581241f"),
    "squeezenet1_1": (1_235_496, 52, 0, "1d365589393f9c1e"),
    "vgg11": (132_863_336, 22, 0, "cb3dc23f2a13e182"),
    "vgg11_bn": (132_868_840, 62, 5_512, "8b6717e727c0ecf9"),
    "vgg13": (133_047_848, 26, 0, "67c1dc8b57fde74b"),
    "vgg13_bn": (133_053_736, 76, 5_898, "f6b0597d18a7e4d2"),
    "vgg16": (138_357_544, 32, 0, "35c4623e0cd4a39d"),
    "vgg16_bn": (138_365_992, 97, 8_461, "347371586a8ea365"),
    "vgg19": (143_667_240, 38, 0, "4723255af8f6c485"),
    "vgg19_bn": (143_678_248, 118, 11_024, "fc3ff6fab2b5cc09"),
    "wide_resnet101_2": (126_886_696, 626, 137_960, "4f088c0a152b8f5c"),
    "wide_resnet50_2": (68_883_240, 320, 68_277, "41203d1d536c02ed"),
}


def digest(state):
    rows = "\n".join(f"{name} {tuple(var.shape)}" for name, var in state.items())
    return hashlib.sha256(rows.encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", TORCHVISION)
def test_parameters_and_keys_are_those_of_torchvision(name):
    net = getattr(models, name)()
    state = net.state_dict()

    found = sum(p.size for p in net.parameters()), len(state), sum(b.size for b in net.buffers()), digest(state)

    assert found == TORCHVISION[name]


def test_models_are_imported_as_the_seed_writes_it():
    from jt_edu.models import (  # noqa: PLC0415 - the line is the test
        alexnet,
        googlenet,
        inception_v3,
        mnasnet,
        mobilenet_v2,
        resnext101_32x8d,
        shufflenetv2,
        squeezenet,
        wide_resnet101_2,
    )  # fmt: skip

    networks = (alexnet, googlenet, inception_v3, mobilenet_v2, resnext101_32x8d, wide_resnet101_2)
    assert all(callable(network) for network in networks)
    assert mnasnet.mnasnet1_0 and shufflenetv2.shufflenet_v2_x1_0 and squeezenet.squeezenet1_1


def test_every_builder_is_in_the_table_above():
    assert sorted(TORCHVISION) == [name for name in models.__all__ if name[0].islower()]


def test_a_digest_sees_names_shapes_and_order():
    a, b = np.ones(2), np.ones((2, 1))

    assert len({digest(s) for s in ({"a": a, "b": b}, {"b": b, "a": a}, {"a": a, "c": b}, {"a": b, "b": b})}) == 4


def test_the_table_in_the_documentation_is_right():
    """Parameters in millions, and operations for one image of 224 x 224 in 10^9, as `explain` counts."""
    rows = [line.split() for line in models.__doc__.splitlines()]
    table = {row[0]: row[1:] for row in rows if row and row[0] in TORCHVISION}

    assert sorted(table) == sorted(TORCHVISION)
    for name, (millions, _) in table.items():
        assert millions == f"{TORCHVISION[name][0] / 1e6:.1f}", name
    for name in ("alexnet", "resnet18", "squeezenet1_1", "mobilenet_v2", "shufflenet_v2_x0_5"):
        found = operations(name)  # two for each multiply-add, and few others
        assert float(table[name][1]) == pytest.approx(found, rel=0.1), name


def operations(name):
    net = getattr(models, name)().eval()
    net.load_state_dict({key: np.zeros(var.shape, str(var.dtype)) for key, var in net.state_dict().items()})
    with jt.no_grad():
        return jt.explain(net(jt.array(np.zeros((1, 3, 224, 224), "float32")))).flops / 1e9


@pytest.mark.parametrize("name", ["alexnet", "vgg11", "resnet18", "squeezenet1_1", "mobilenet_v2", "mnasnet0_5"])
def test_a_network_gives_as_many_scores_as_it_is_asked_for(name):
    net = getattr(models, name)(num_classes=7)

    assert net(jt.zeros(2, 3, 64, 64)).shape == (2, 7)  # nothing has to run for this


# ------------------------------------------------------------------------------------------------------------ weights


def test_weights_that_do_not_fit_are_named_together_and_none_is_taken():
    net = models.shufflenet_v2_x0_5()
    before = net.fc.bias.numpy()
    state = {key: np.zeros(var.shape, "float32") for key, var in net.state_dict().items()}
    state["stage5.weight"] = state.pop("conv5.0.weight")
    state["fc.weight"] = np.zeros((10, 1024), "float32")

    with pytest.raises(jt.ShapeError) as refused:
        net.load_state_dict(state)

    assert "missing conv5.0.weight; unexpected stage5.weight; " in str(refused.value)
    assert "fc.weight of shape (10, 1024) for (1000, 1024)" in str(refused.value)
    assert np.array_equal(net.fc.bias.numpy(), before)


def test_files_from_before_batches_were_counted_load():
    net = models.resnet18(num_classes=2)
    state = {k: np.zeros(v.shape, "float32") for k, v in net.state_dict().items() if not k.endswith("batches_tracked")}

    assert net.load_state_dict(state).missing == []
    assert net.bn1.num_batches_tracked.item() == 0


# --------------------------------------------------------------------------------------------------------------- start


def spread(layer, how):
    """The standard deviation that a layer's weights are drawn with."""
    outputs, inputs, *window = layer.weight.shape
    taps = math.prod(window)
    return {
        "small": 0.01,  # normal
        "fan out": math.sqrt(2 / (outputs * taps)),  # He's normal, for the gradient
        "fan in": math.sqrt(2 / (inputs * taps)),  # He's uniform, for the signal
        "usual": math.sqrt(1 / (3 * inputs * taps)),  # PyTorch's and ours for any layer
        "sigmoid": math.sqrt(1 / outputs),
    }[how]


STARTS = {  # of convolutions, of the last linear layer or its like, and whether biases are 0
    "alexnet": ("usual", "usual", False),
    "vgg11": ("fan out", "small", True),
    "resnet18": ("fan out", "usual", False),
    "squeezenet1_1": ("fan in", "small", True),
    "mobilenet_v2": ("fan out", "small", True),
    "shufflenet_v2_x0_5": ("usual", "usual", False),
    "mnasnet0_5": ("fan out", "sigmoid", True),
}


@pytest.mark.parametrize("name", STARTS)
def test_weights_start_with_the_spread_of_their_paper(name, seed):
    jt.set_global_seed(seed)
    conv, last, no_bias = STARTS[name]
    net = getattr(models, name)()
    layers = [layer for layer in net.modules() if isinstance(layer, (nn.Conv2d, nn.Linear))]
    checked = [*(m for m in layers[:-1] if isinstance(m, nn.Conv2d) and m.weight.size > 5000)][:4]

    for layer, how in [*((layer, conv) for layer in checked), (layers[-1], last)]:
        drawn = layer.weight.numpy()
        assert abs(drawn.mean()) < 5 * drawn.std() / math.sqrt(drawn.size)
        assert drawn.std() == pytest.approx(spread(layer, how), rel=5 / math.sqrt(2 * drawn.size))
        assert layer.bias is None or (not layer.bias.numpy().any()) == no_bias


def test_residual_blocks_can_start_as_nothing():
    for builder, last in ((models.resnet18, "bn2"), (models.resnet50, "bn3")):
        block = builder(zero_init_residual=True).layer3[1]

        assert not getattr(block, last).weight.numpy().any()
        assert builder().layer3[1].bn1.weight.numpy().all()


# ------------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: models.SqueezeNet("2_0"), "versions 1_0, 1_1; found '2_0'"),
        (lambda: models.resnet18(width_per_group=128), "no groups and no other width; found 1 and 128"),
        (lambda: models.MNASNet(0), "alpha as a number above 0; found alpha=0"),
        (lambda: models.MobileNetV2(width_mult=-1), "width_mult as a number above 0; found width_mult=-1"),
        (lambda: models.resnet18(num_classes=-1), "out_features=-1"),
        (lambda: models.alexnet(num_classes=True), "out_features=True"),
        (lambda: models.vgg11(dropout=2), "p=2"),
    ],
)
def test_settings_that_no_network_has_are_refused(make, words):
    with pytest.raises(jt.ArgumentError) as refused:
        make()

    assert words in str(refused.value)


def test_networks_stand_beside_the_layers():
    assert jt.models is models
    with pytest.raises(jt.UnknownNameError, match=r"jt\.models\.resnet18"):
        jt.resnet18  # noqa: B018  what it says is the point
