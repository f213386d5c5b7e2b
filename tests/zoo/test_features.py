"""Maps from the middle of a network: which, how large, from which layers; what comes later is not there."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn, zoo
from tests.models.things import far_apart, image, loaded, scores, tensors
from tests.zoo.test_backbones import FAMILIES, MODEL

IMAGE = (1, 3, 224, 224)


def test_the_maps_of_resnet34_are_as_documented():
    net = zoo.create_model("resnet34", features_only=True)
    maps = net(jt.zeros(*IMAGE))  # nothing has to run for this

    assert [m.shape for m in maps] == [
        (1, 64, 112, 112),
        (1, 64, 56, 56),
        (1, 128, 28, 28),
        (1, 256, 14, 14),
        (1, 512, 7, 7),
    ]
    assert net.feature_info.channels() == [64, 64, 128, 256, 512]
    assert net.feature_info.reduction() == [2, 4, 8, 16, 32]
    assert net.feature_info.module_name() == ["act1", "layer1", "layer2", "layer3", "layer4"]


def test_an_extractor_is_a_dict_of_layers_up_to_the_last_map():
    """The seed's script counts and prints the names, and calls them features."""
    net = zoo.create_model("resnet34", features_only=True, out_indices=[3])

    assert len(net) == 7
    assert list(net) == ["conv1", "bn1", "act1", "maxpool", "layer1", "layer2", "layer3"]
    assert [m.shape for m in net(jt.zeros(*IMAGE))] == [(1, 256, 14, 14)]
    assert net.feature_info.get_dicts(["reduction"]) == [{"reduction": 16}]
    assert net.feature_info.get_dicts() == [{"num_chs": 256, "reduction": 16, "module": "layer3", "index": 3}]
    assert not any(name.startswith(("layer4", "fc")) for name in net.state_dict())


def test_the_lines_of_the_seed_run_with_the_zoo_in_place_of_timm(capsys):
    import jt_edu.zoo as timm  # noqa: PLC0415 - the line is the test

    model = timm.create_model("resnet34", num_classes=10)
    print(model.default_cfg["input_size"], model(jt.randn(1, 3, 224, 224)).shape)
    features = timm.create_model("resnet34", features_only=True, out_indices=[3])
    print(len(features), [feature for feature in features][-1])  # noqa: C416 - so it loops
    print(timm.list_models("*resne*t*", module="resnet")[:3])

    assert capsys.readouterr().out.split("\n")[:3] == [
        "(3, 224, 224) (1, 10)", "7 layer3", "['resnet18', 'resnet34', 'resnet50']"
    ]  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_says_of_its_maps_what_they_are(name):
    net = zoo.create_model(name, features_only=True)
    info, side = net.feature_info, 299 if name == "inception_v3" else 224

    maps = net.eval()(jt.zeros(1, 3, side, side))

    assert [m.shape[1] for m in maps] == info.channels()
    assert [abs(side / m.shape[2] - r) <= 0.2 * r for m, r in zip(maps, info.reduction(), strict=True)] == [True] * len(
        info
    )
    assert len(info) == len(maps) == len({m.replace(".", "_", 1) for m in info.module_name()} & set(net))
    assert info.channels(0) == info[0]["num_chs"] == info.channels()[0]
    assert info.reduction([0, -1]) == [info.reduction(0), info.reduction()[-1]]


@pytest.mark.parametrize("name", ["resnet18", "vgg11_bn", "densenet121", "inception_v3"])
@pytest.mark.parametrize("indices", [None, (1, 3), (-1, 0), 2])
def test_maps_and_names_are_those_of_timm(name, indices, torch, timm):
    with torch.device("meta"):
        theirs = timm.create_model(name, features_only=True, out_indices=indices)
    net = zoo.create_model(name, features_only=True, out_indices=indices)
    side = 96

    maps = net.eval()(jt.zeros(1, 3, side, side))
    expected = theirs.eval()(torch.zeros(1, 3, side, side, device="meta"))

    assert [m.shape for m in maps] == [tuple(m.shape) for m in expected]
    assert net.feature_info.channels() == theirs.feature_info.channels()
    assert net.feature_info.reduction() == theirs.feature_info.reduction()
    if name in {"resnet18", "inception_v3", "vgg11_bn"}:  # timm joins batch norm and ReLU in its DenseNet
        assert list(net) == list(theirs)
        assert net.feature_info.module_name() == theirs.feature_info.module_name()
        assert list(net.state_dict()) == list(theirs.state_dict())


def test_the_numbers_of_maps_are_those_of_timm(torch, timm):
    net, state = loaded(zoo.create_model("resnet18", features_only=True, out_indices=(0, 2, 4)))
    theirs = timm.create_model("resnet18", features_only=True, out_indices=(0, 2, 4))
    theirs.double().load_state_dict(tensors(torch, state, torch.float64))
    x = image(2, 3, 33, 47)

    with torch.no_grad():
        expected = theirs.eval()(torch.tensor(x).double())
    with jt.no_grad():
        found = net(jt.array(x))

    assert max(far_apart(a.numpy(), b) for a, b in zip(found, expected, strict=True)) < MODEL


def test_maps_are_those_that_the_network_itself_goes_through():
    net, state = loaded(zoo.create_model("resnet18", num_classes=3))
    extractor = zoo.create_model("resnet18", features_only=True, out_indices=[4])
    extractor.load_state_dict({name: value for name, value in state.items() if not name.startswith("fc")})
    x = image(1, 3, 33, 47)

    (found,) = extractor.eval()(jt.array(x))

    assert np.array_equal(found.numpy(), net.forward_features(jt.array(x)).numpy())
    assert scores(net, x).shape == (1, 3)


@pytest.mark.parametrize("name", ["resnet18", "swin_tiny_patch4_window7_224"])
def test_channels_come_as_they_were_asked_for_and_maps_as_the_network_makes_them(name, torch, timm):
    """So it is in timm; sort out_indices, and both are in one order."""
    net = zoo.create_model(name, features_only=True, out_indices=[3, 1])
    with torch.device("meta"):
        theirs = timm.create_model(name, features_only=True, out_indices=[3, 1])
    x, y = jt.zeros(1, 3, 224, 224), torch.zeros(1, 3, 224, 224, device="meta")

    assert net.feature_info.channels() == theirs.feature_info.channels()
    assert net.feature_info.out_indices == theirs.feature_info.out_indices == (3, 1)
    sizes = [np.prod(m.shape) for m in net(x)]
    assert sizes == [np.prod(m.shape) for m in theirs(y)] == sorted(sizes, reverse=True)


@pytest.mark.parametrize(
    "name",
    ["resnet18", "vgg11_bn", "densenet121", "inception_v3", "convnext_atto", "efficientnet_b0", "regnety_004"],
)
@pytest.mark.parametrize("asked", [
    {}, {"indices": 2}, {"indices": [2, 0], "stop_early": True}, {"indices": 1, "stop_early": True, "norm": True},
    {"indices": (1, -1), "intermediates_only": True},
])  # fmt: skip
def test_maps_on_the_way_of_layers_are_those_of_timm(name, asked, torch, timm):
    with torch.device("meta"):
        theirs = timm.create_model(name).eval()
    x, y = jt.zeros(1, 3, 96, 96), torch.zeros(1, 3, 96, 96, device="meta")

    found = zoo.create_model(name).eval().forward_intermediates(x, **asked)
    expected = theirs.forward_intermediates(y, **asked)

    if not asked.get("intermediates_only"):
        (last, found), (other, expected) = found, expected
        assert last.shape == tuple(other.shape)
    assert [m.shape for m in found] == [tuple(m.shape) for m in expected]


def test_maps_on_the_way_are_what_an_extractor_gives():
    net, state = loaded(zoo.create_model("efficientnet_b0", channel_multiplier=0.25))
    extractor = zoo.create_model("efficientnet_b0", channel_multiplier=0.25, features_only=True)
    extractor.load_state_dict(
        {k.replace(".", "_", 1) if k.startswith("blocks") else k: v for k, v in state.items()}, strict=False
    )
    x = jt.array(image(1, 3, 33, 47))

    last, found = net.forward_intermediates(x)

    assert all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(found, extractor.eval()(x), strict=True))
    assert np.array_equal(last.numpy(), net.forward_features(x).numpy())
    with pytest.raises(jt.ArgumentError, match=r"EfficientNet\.forward_intermediates takes output_fmt as one of"):
        net.forward_intermediates(x, output_fmt="NHWC")


@pytest.mark.parametrize("settings", [{}, {"features_only": True}])
@pytest.mark.parametrize("name", ["digits_cnn", "resnet18", "vit_tiny_patch16_224"])
def test_checkpointing_is_refused_with_a_way_to_need_less_memory(name, settings):
    net = zoo.create_model(name, **settings)

    net.set_grad_checkpointing(False)
    with pytest.raises(jt.ArgumentError, match=r"set_grad_checkpointing.*Try: smaller batches .* or jt\.amp\.autocast"):
        net.set_grad_checkpointing()


@pytest.mark.parametrize(
    ("count", "indices", "expected"),
    [(5, None, ([0, 1, 2, 3, 4], 4)), (5, 2, ([3, 4], 4)), (5, (-1, 0), ([4, 0], 4)), (3, [1], ([1], 1))],
)
def test_indices_count_from_both_ends_and_one_number_means_the_last(count, indices, expected):
    assert zoo.feature_take_indices(count, indices) == expected


@pytest.mark.parametrize("indices", [0, 6, -1, [5], (-6,), [], ["a"], [1.5]])
def test_a_map_that_is_not_there_is_refused(indices):
    with pytest.raises(jt.RangeError, match="has 5 maps of features; found out_indices="):
        zoo.create_model("resnet18", features_only=True, out_indices=indices)


def test_a_network_that_names_a_layer_it_has_not_is_told_so():
    net = nn.Sequential(nn.ReLU())
    net.feature_info = [{"num_chs": 1, "reduction": 1, "module": "layer9"}]

    with pytest.raises(jt.ArgumentError, match="names its layers; found layer9"):
        zoo.FeatureListNet(net)


class Steps(nn.Module):
    """A network whose layers are no row: it is asked for its maps."""

    def __init__(self, num_classes=2, in_chans=3, depth=4):
        self.blocks = [nn.Linear(in_chans, in_chans) for _ in range(depth)]
        self.feature_info = [{"num_chs": in_chans, "reduction": 1, "module": f"blocks.{k}"} for k in range(depth)]
        self.asked = None

    def prune_intermediate_layers(self, indices, prune_norm=False, prune_head=True):
        self.asked = (tuple(indices), prune_norm, prune_head)
        del self.blocks[max(indices) + 1 :]

    def forward_intermediates(self, x, **told):
        self.told = told
        return [block(x) for block in self.blocks]


def test_a_getter_prunes_a_network_and_asks_it():
    def make(**settings):
        how = {"feature_cls": "getter", "out_indices": 2, "norm": settings.pop("norm", False)}
        return zoo.build_model_with_cfg(Steps, "steps", feature_cfg=how, features_only=True, **settings)

    net = make(out_indices=(0, 1))
    net.output_fmt = "NLC"

    assert len(net(jt.ones(1, 3))) == 2  # blocks 2 and 3 are gone
    assert net["model"].asked == ((0, 1), True, True)
    assert net["model"].told == {"indices": [0, 1], "norm": False, "stop_early": True, "output_fmt": "NLC",
                                 "intermediates_only": True}  # fmt: skip
    assert make()["model"].asked == ((2, 3), True, True)
    assert make(norm=True)["model"].asked[1] is False
