"""Networks of jt.models in the zoo: heads, first layers and numbers as timm has them, layer names as they were."""

import copy
import pickle

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import models, nn, zoo
from jt_edu.zoo import backbones
from tests.models.things import far_apart, image, loaded, scores, tensors

MODEL = 1e-4  # of the largest score
NAMES = [name for name in models.__all__ if name[0].islower()]
BOTH = [name for name in NAMES if name.startswith(("res", "wide", "dense", "inception"))]  # with the same keys in timm
FAMILIES = ["alexnet", "vgg11_bn", "resnet34", "squeezenet1_1", "mobilenet_v2", "mobilenet_v3_small", "mnasnet0_5",
            "shufflenet_v2_x0_5", "densenet121", "googlenet", "inception_v3"]  # fmt: skip
SIZES = {"inception_v3": (96, 101)}


def keys(state):
    return {name: tuple(value.shape) for name, value in state.items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_network_of_the_zoo_has_the_keys_it_has_in_models(name):
    small = {"aux_logits": False} if name in {"googlenet", "inception_v3"} else {}

    found, expected = zoo.create_model(name).state_dict(), getattr(models, name)(**small).state_dict()

    assert list(keys(found).items()) == list(keys(expected).items())  # in this order


@pytest.mark.parametrize("name", BOTH)
def test_keys_and_features_are_those_of_timm(name, torch, timm):
    with torch.device("meta"):
        theirs = timm.create_model(name, drop_path_rate=0.1 if "res" in name else None)
    net = zoo.create_model(name)
    short = [(one["num_chs"], one["reduction"]) for one in theirs.feature_info]

    assert keys(net.state_dict()) == keys(theirs.state_dict())
    assert [(one["num_chs"], one["reduction"]) for one in net.feature_info] == short
    assert (net.num_classes, net.num_features, net.head_hidden_size) == (
        1000,
        theirs.num_features,
        theirs.head_hidden_size,
    )
    assert {type(net.get_classifier()), type(net.reset_classifier(0) or net.get_classifier())} == {
        nn.Linear,
        nn.Identity,
    }


@pytest.mark.parametrize("name", BOTH)
def test_scores_are_those_of_timm(name, torch, timm):
    net, state = loaded(zoo.create_model(name, num_classes=7))
    theirs = timm.create_model(name, num_classes=7)
    theirs.double().load_state_dict(tensors(torch, state, torch.float64))
    x = image(2, 3, *SIZES.get(name, (33, 47)))

    with torch.no_grad():
        expected = theirs.eval()(torch.tensor(x).double())

    assert far_apart(scores(net, x), expected) < MODEL


@pytest.mark.parametrize("pool", ["avg", "max", "avgmax", "catavgmax", ""])
def test_pooled_features_are_those_of_timm(pool, torch, timm):
    net, state = loaded(zoo.create_model("resnet18", num_classes=0, global_pool=pool))
    theirs = timm.create_model("resnet18", num_classes=0, global_pool=pool)
    theirs.double().load_state_dict(tensors(torch, state, torch.float64))
    x = image(2, 3, 33, 47)

    with torch.no_grad():
        expected = theirs.eval()(torch.tensor(x).double())

    assert far_apart(scores(net, x), expected) < MODEL
    assert net.head_hidden_size == theirs.head_hidden_size


# ---------------------------------------------------------------------------------------------------------------- heads
# Nothing has to run for shapes.


def test_heads_of_resnet34_are_as_documented():
    x = jt.zeros(1, 3, 224, 224)
    net = zoo.create_model("resnet34")

    assert sum(p.size for p in net.parameters()) == 21_797_672
    assert net(x).shape == (1, 1000)
    assert zoo.create_model("resnet34", num_classes=0)(x).shape == (1, 512)
    assert zoo.create_model("resnet34", num_classes=0, global_pool="")(x).shape == (1, 512, 7, 7)
    assert net.forward_features(x).shape == (1, 512, 7, 7)
    assert net.forward_head(net.forward_features(x), pre_logits=True).shape == (1, 512)
    assert net.get_classifier() is net.fc


@pytest.mark.parametrize("name", FAMILIES)
def test_a_head_is_reset_in_every_family(name):
    net, x = zoo.create_model(name, num_classes=5), jt.zeros(2, 3, 80, 80)
    maps = net.forward_features(x)

    assert (net(x).shape, net.num_classes) == ((2, 5), 5)
    assert net.forward_head(maps, pre_logits=True).shape == (2, net.head_hidden_size)
    net.reset_classifier(3, "max")
    assert (net(x).shape, net.num_classes, net.global_pool.pool_type) == ((2, 3), 3, "max")
    net.reset_classifier(4)
    assert (net(x).shape, net.global_pool.pool_type) == ((2, 4), "max")
    net.reset_classifier(0)
    assert net(x).shape == (2, net.head_hidden_size)
    net.reset_classifier(0, "")
    assert net(x).shape == maps.shape == (2, net.num_features, *maps.shape[2:])
    net.reset_classifier(6, "avg")
    assert net(x).shape == (2, 6)
    assert not any(layer.is_train for layer in net.eval().modules())


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2"])
def test_two_pools_side_by_side_give_twice_the_features(name):
    net = zoo.create_model(name, num_classes=5, global_pool="catavgmax")

    assert net.head_hidden_size == 2 * net.num_features == net.get_classifier().in_features
    assert net(jt.zeros(1, 3, 64, 64)).shape == (1, 5)
    net.reset_classifier(5, "avg")
    assert net.get_classifier().in_features == net.head_hidden_size == net.num_features
    assert net(jt.zeros(1, 3, 64, 64)).shape == (1, 5)


def test_scores_of_each_place_come_from_a_last_layer_that_is_a_convolution():
    net = zoo.create_model("squeezenet1_1", num_classes=5, global_pool="")

    assert net(jt.zeros(1, 3, 64, 64)).shape == (1, 5, 3, 3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: zoo.create_model("resnet18", global_pool=""),
            r"pooled map; found global_pool='' and num_classes=1000",
        ),
        (lambda: zoo.create_model("vgg11", global_pool="catavgmax"), "VGG pools into 512 channels; found twice"),
        (lambda: zoo.create_model("vgg11", drop_path_rate=0.1), "drop_path_rate=0.1, and none in VGG"),
        (lambda: zoo.create_model("resnet18", global_pool="median"), "median"),
        (lambda: zoo.create_model("googlenet", aux_logits=True), "aux_logits=False; found aux_logits=True"),
        (lambda: zoo.create_model("resnet18", out_indices=[1]), "features_only=True; found out_indices=\\[1\\]"),
    ],
)
def test_what_a_network_cannot_do_is_refused(make, words):
    with pytest.raises(jt.ArgumentError, match=words):
        make()


# ------------------------------------------------------------------------------------------------------------ training


@pytest.mark.parametrize("name", FAMILIES)
def test_nothing_is_forgotten_while_training_unless_drop_rate_says_so(name):
    nets = [zoo.create_model(name, num_classes=4, drop_rate=rate).train() for rate in (0.0, 1.0)]
    x = jt.array(np.abs(image(2, nets[0].num_features, 3, 3)))

    kept, gone = (net.forward_head(x).numpy() for net in nets)

    assert not np.array_equal(kept[0], kept[1])
    assert np.array_equal(gone[0], gone[1])  # where all is forgotten, all images look alike
    assert nets[1].eval().forward_head(x).numpy().std(0).any()


def test_what_densenet_calls_drop_rate_is_another_thing_here():
    net = zoo.create_model("densenet121", proj_drop_rate=0.25, drop_rate=0.5)

    assert net.features.denseblock1.denselayer1.dropout.p == 0.25
    assert net.drop_rate == 0.5


@pytest.mark.parametrize("name", ["resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small", "mnasnet0_5"])
def test_images_go_around_the_last_blocks_while_training(name, monkeypatch):
    """Where the last blocks always drop what they have computed, their branch has no gradient, and the first one has.

    The last block of all need not have a way around, and the last one that has drops a little less than always.
    """
    monkeypatch.setattr(backbones, "drop_path_rates", lambda rate, n: [0.0] * (n // 2) + [rate] * (n - n // 2))
    net = zoo.create_model(name, num_classes=2, drop_path_rate=1.0).train()
    blocks = [block for block in net.modules() if type(block) in backbones.BRANCHES and getattr(block, "around", True)]
    inside = [next(m for m in block.modules() if isinstance(m, nn.Conv2d)).weight for block in (blocks[0], blocks[-1])]
    x = jt.array(image(*(2, 3, 33, 33)))

    first, last = jt.grad((net(x) ** 2).sum(), inside)

    assert first.numpy().any()
    assert not last.numpy().any()
    assert not any(block._hooks_after for block in zoo.create_model(name).modules())
    assert np.array_equal(scores(net.eval(), x.numpy()), scores(net, x.numpy()))


def test_rates_of_blocks_are_timms(timm, torch):
    theirs = timm.create_model("resnet18", drop_path_rate=0.7)
    expected = [m.drop_path.drop_prob for m in theirs.modules() if getattr(m, "drop_path", None) is not None]
    net = zoo.create_model("resnet18", drop_path_rate=0.7)

    found = [block.bn2._hooks_after[0].hook.args[0] for block in net.modules() if isinstance(block, models.BasicBlock)]

    assert found == pytest.approx([0.0] * (8 - len(expected)) + expected)


# ------------------------------------------------------------------------------------------------------------ channels


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("channels", [1, 4])
def test_images_may_have_other_channels(name, channels):
    net, usual = zoo.create_model(name, num_classes=2, in_chans=channels), zoo.create_model(name, num_classes=2)
    first, old = net.get_submodule(net.stem).weight, usual.get_submodule(net.stem).weight

    assert net(jt.zeros(2, channels, 96, 96)).shape == (2, 2)
    assert first.shape == (old.shape[0], channels, *old.shape[2:])
    assert list(net.state_dict()) == list(usual.state_dict())
    fan_in = name in {"alexnet", "densenet121", "squeezenet1_1", "shufflenet_v2_x0_5"}
    wanted = old.numpy().std() * (3 / channels) ** (0.5 if fan_in else 0)
    assert first.numpy().std() == pytest.approx(wanted, rel=0.25)  # as large as its paper draws it


def test_the_last_layer_is_drawn_as_its_paper_does_and_a_new_one_as_any_layer():
    net = zoo.create_model("mobilenet_v2", num_classes=50)

    assert net.get_classifier().weight.numpy().std() == pytest.approx(0.01, rel=0.05)
    net.reset_classifier(50)
    assert net.get_classifier().weight.numpy().std() == pytest.approx((1 / (3 * 1280)) ** 0.5, rel=0.05)


def test_a_network_of_the_zoo_is_copied_and_pickled():
    net = zoo.create_model("resnet18", num_classes=2, drop_path_rate=0.5)

    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):  # noqa: S301 - our own
        assert type(other) is type(net)
        assert other.layer4[1].bn2._hooks_after[0].hook.args == (0.5,)
        assert np.array_equal(other.fc.weight.numpy(), net.fc.weight.numpy())
