"""What networks compute: scores, gradients and running statistics, against the twins of `twins.py`."""

import re
from functools import partial

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import models
from jt_edu.models.densenet import DenseLayer, DenseNet
from jt_edu.models.mnasnet import InvertedResidual as Searched
from jt_edu.models.mobilenet import InvertedResidual
from jt_edu.models.resnet import BasicBlock, Bottleneck
from jt_edu.models.shufflenetv2 import ShuffleBlock
from jt_edu.models.squeezenet import Fire
from tests.models import twins
from tests.models.things import far_apart, image, loaded, scores, tensors

MODEL = 1e-4  # of the largest score; single precision through a hundred layers gives about 1e-6

NETWORKS = {  # each kind of block, at sizes that pools and strides do not divide evenly
    "alexnet": (twins.alexnet, (71, 66)),
    "vgg11_bn": (twins.vgg, (32, 47)),
    "resnet18": (twins.resnet, (64, 51)),
    "resnext50_32x4d": (partial(twins.resnet, groups=32), (33, 47)),
    "squeezenet1_0": (twins.squeezenet, (33, 50)),
    "squeezenet1_1": (twins.squeezenet, (47, 34)),
    "mobilenet_v2": (twins.mobilenet_v2, (33, 47)),
    "shufflenet_v2_x0_5": (twins.shufflenet_v2, (33, 47)),
    "mnasnet0_5": (twins.mnasnet, (33, 47)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_scores_are_those_of_the_twin(torch, name):
    other, size = NETWORKS[name]
    net, state = loaded(getattr(models, name)())
    x = image(2, 3, *size)

    expected = other(twins.State(torch, tensors(torch, state, torch.float32)), torch.tensor(x))

    assert far_apart(scores(net, x), expected) < MODEL


# Of torchvision 0.28 with the same numbers: size of the images; the largest score, and the first of the second image.
RECORDED = {
    "densenet121": ((64, 51), 2.962903, [-0.3854358, -0.3655316, -1.032709, -0.2880939, 0.02079011]),
    "googlenet": ((64, 51), 2.816811, [-1.212122, 0.377208, -0.2313609, -0.528805, -0.4237603]),
    "inception_v3": ((96, 101), 0.431004, [0.04279703, -0.1069751, 0.173364, -0.1783142, -0.1457371]),
    "mobilenet_v3_large": ((64, 51), 21.94176, [0.8933463, 7.957784, -3.213406, -5.263212, -5.598789]),
    "mobilenet_v3_small": ((64, 51), 2.566103, [2.566103, 0.1542603, -0.003170736, -0.5286015, -0.236383]),
}
TRANSFORMED = {"googlenet": [-0.5638896, 0.01650271, -0.0198943], "inception_v3": [0.1142374, -0.1241079, 0.1463025]}


@pytest.mark.parametrize("name", RECORDED)
def test_scores_are_those_that_torchvision_gave(name):
    size, largest, first = RECORDED[name]
    net, _ = loaded(getattr(models, name)())

    found = scores(net, image(2, 3, *size))

    assert np.abs(found).max() == pytest.approx(largest, rel=MODEL)
    np.testing.assert_allclose(found[1, :5], first, atol=MODEL * largest)


@pytest.mark.parametrize("name", TRANSFORMED)
def test_images_that_were_normalized_for_other_networks_are_scaled_where_that_is_asked_for(name):
    net, _ = loaded(getattr(models, name)(transform_input=True))
    size, largest, _ = RECORDED[name]

    np.testing.assert_allclose(scores(net, image(2, 3, *size))[1, :3], TRANSFORMED[name], atol=MODEL * largest)


def test_small_classifiers_in_the_middle_have_scores_while_training():
    google, inception = models.googlenet(num_classes=4), models.inception_v3(num_classes=4)

    outs = google(jt.zeros(2, 3, 64, 64)), inception(jt.zeros(2, 3, 299, 299))  # nothing has to run for this

    assert [type(o).__name__ for o in outs] == ["GoogLeNetOutputs", "InceptionOutputs"]
    assert [v.shape for o in outs for v in o] == [(2, 4)] * 5
    without = models.googlenet(num_classes=4, aux_logits=False)
    assert not any(name.startswith("aux") for name in without.state_dict())
    assert without(jt.zeros(2, 3, 64, 64))[1:] == (None, None)
    assert google.eval()(jt.zeros(2, 3, 64, 64)).shape == inception.eval()(jt.zeros(2, 3, 299, 299)).shape == (2, 4)


FEATURES = {
    "alexnet": 4096, "vgg11": 4096, "resnet18": 512, "resnet50": 2048, "squeezenet1_1": 512, "mobilenet_v2": 1280,
    "mobilenet_v3_small": 1024, "shufflenet_v2_x0_5": 1024, "mnasnet0_5": 1280, "densenet121": 1024, "googlenet": 1024,
    "inception_v3": 2048,
}  # fmt: skip


@pytest.mark.parametrize("name", FEATURES)
def test_without_classes_a_network_gives_its_features(name):
    net = getattr(models, name)(num_classes=0).eval()

    assert net(jt.zeros(1, 3, 80, 80)).shape == (1, FEATURES[name])  # nothing has to run for this


def test_the_keys_of_older_dense_networks_are_known():
    net = DenseNet(4, (2, 1), 8, num_classes=3)
    state = {
        re.sub(r"(norm|conv)(\d\.)", r"\1.\2", k) if "layer" in k else k: v + 1 for k, v in net.state_dict().items()
    }
    assert "features.denseblock1.denselayer2.norm.1.weight" in state

    net.load_state_dict(state)

    assert net.features.denseblock1.denselayer2.norm1.weight.tolist() == [2.0] * 12


def test_a_dense_layer_forgets_maps_while_training():
    layer = DenseLayer(4, 8, drop_rate=0.5)
    x = jt.array(image(2, 4, 5, 5))

    assert (layer.train()(x).numpy() == 0).mean() > 0.3
    assert np.array_equal(layer.eval()(x).numpy(), layer(x).numpy())


def test_vgg_has_no_batch_norm_unless_it_is_asked_for(torch):
    net, state = loaded(models.VGG((2, 1, 1, 1, 1)).features)
    x, state = image(1, 3, 33, 32), {f"features.{key}": array for key, array in state.items()}

    expected = twins.vgg_features(twins.State(torch, tensors(torch, state, torch.float32)), torch.tensor(x))

    assert far_apart(scores(net, x), expected) < MODEL


BLOCKS = {
    "basic": (lambda: BasicBlock(4, 4), twins.residual),
    "basic, stride 2": (lambda: BasicBlock(4, 6, 2), partial(twins.residual, stride=2)),
    "bottleneck": (lambda: Bottleneck(4, 1), twins.residual),
    "bottleneck, wider": (lambda: Bottleneck(4, 2, base_width=128), twins.residual),
    "bottleneck, groups": (
        lambda: Bottleneck(4, 4, 2, groups=2, base_width=32),
        partial(twins.residual, stride=2, groups=2),
    ),
    "fire": (lambda: Fire(4, 2, 3), twins.fire),
    "inverted": (lambda: InvertedResidual(4, 4, 1, 3), twins.inverted),
    "inverted, not wider": (lambda: InvertedResidual(4, 6, 1, 1), twins.inverted),
    "inverted, stride 2": (lambda: InvertedResidual(4, 6, 2, 2), partial(twins.inverted, stride=2)),
    "shuffled": (lambda: ShuffleBlock(4, 4, 1), twins.shuffled),
    "shuffled, stride 2": (lambda: ShuffleBlock(4, 6, 2), partial(twins.shuffled, stride=2)),
    "searched": (lambda: Searched(4, 4, 3, 1, 2), twins.searched),
    "searched, stride 2": (lambda: Searched(4, 6, 5, 2, 2), partial(twins.searched, stride=2)),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_learn_and_remember_as_their_twins(torch, name):
    make, other = BLOCKS[name]
    block, state = loaded(make())
    x, momentum = image(3, 4, 5, 4).astype("float64"), 3e-4 if name.startswith("searched") else 0.1
    theirs = {f"block.{key}": tensor for key, tensor in tensors(torch, state, torch.float64).items()}
    wanted = {key: theirs[f"block.{key}"].requires_grad_() for key, _ in block.named_parameters()}

    with jt.flag_scope(backend="python"):
        y = block.double().train()(jt.array(x))
        weights = np.cos(np.arange(y.size)).reshape(y.shape)
        found = jt.grad((y * weights).sum(), block.parameters())
        jt.sync([y, *found])
        after = {f"block.{key}": var.numpy() for key, var in block.state_dict().items()}
    out = other(twins.State(torch, theirs, True, momentum), "block", torch.tensor(x))
    expected = torch.autograd.grad((out * torch.tensor(weights)).sum(), list(wanted.values()))

    assert far_apart(y.numpy(), out) < 1e-12
    for key, mine, other_grad in zip(wanted, found, expected, strict=True):
        assert far_apart(mine.numpy(), other_grad) < 1e-9, key
    for key, tensor in theirs.items():
        np.testing.assert_allclose(after[key], tensor.detach().numpy(), rtol=1e-12, atol=1e-15, err_msg=key)


def test_a_whole_network_learns_as_its_twin(torch):
    net, state = loaded(models.squeezenet1_1(num_classes=4, dropout=0.0))
    x, labels = image(2, 3, 17, 18).astype("float64"), np.array([3, 1])
    theirs = {key: t.requires_grad_() for key, t in tensors(torch, state, torch.float64).items()}

    with jt.flag_scope(backend="python"):
        loss = jt.nn.cross_entropy_loss(net.double().train()(jt.array(x)), jt.array(labels))
        found = jt.grad(loss, net.parameters())
        jt.sync([loss, *found])
    other = torch.nn.functional.cross_entropy(
        twins.squeezenet(twins.State(torch, theirs), torch.tensor(x)), torch.tensor(labels)
    )
    expected = torch.autograd.grad(other, list(theirs.values()))

    assert far_apart(loss.numpy(), other) < 1e-12
    for key, mine, other_grad in zip(theirs, found, expected, strict=True):
        assert far_apart(mine.numpy(), other_grad) < 1e-9, key


# --------------------------------------------------------------------------------------------------- sizes, and modes

LEAST = {"alexnet": 63, "squeezenet1_0": 21, "squeezenet1_1": 17}  # of what pools and windows need


@pytest.mark.parametrize("name", LEAST)
def test_the_smallest_image_is_as_documented_and_a_smaller_one_is_refused(name):
    net, _ = loaded(getattr(models, name)(num_classes=2))
    least = LEAST[name]

    assert scores(net, image(1, 3, least, least)).shape == (1, 2)
    with pytest.raises(jt.ShapeError, match="must fit into the padded image"):
        net(jt.array(image(1, 3, least - 1, least)))


def test_networks_that_pad_everywhere_take_a_single_pixel():
    net, _ = loaded(models.shufflenet_v2_x0_5(num_classes=2))

    assert np.isfinite(scores(net, image(1, 3, 1, 1))).all()


@pytest.mark.parametrize("name", ["alexnet", "squeezenet1_1", "mobilenet_v2", "mnasnet0_5"])
def test_dropout_forgets_while_training_and_never_after(name):
    net = getattr(models, name)(num_classes=3)
    rates = {layer.p for layer in net.modules() if isinstance(layer, jt.nn.Dropout)}
    x = jt.array(image(8, net.classifier[-1].in_features)) if name.startswith("m") else None

    assert rates == {0.2 if name.startswith("m") else 0.5}
    if x is not None:
        assert not np.array_equal(net.train().classifier(x).numpy(), net.classifier(x).numpy())
        assert np.array_equal(net.eval().classifier(x).numpy(), net.classifier(x).numpy())
