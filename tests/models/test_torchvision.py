"""The networks and their blocks against torchvision's, with the same numbers: scores, gradients, running statistics."""

import importlib
from collections import OrderedDict

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import models
from jt_edu.models import densenet, mnasnet, mobilenet, resnet, shufflenetv2, squeezenet
from tests.models.test_names import TORCHVISION
from tests.models.things import far_apart, image, loaded, scores, tensors

MODEL = 1e-4  # of the largest score; single precision through a hundred layers gives about 1e-6
GRADIENT = 1e-6  # of the largest of a parameter; the slope of PyTorch's hardsigmoid is 1/6 in single precision
SIZES = {"alexnet": (71, 66), "squeezenet1_0": (33, 50), "squeezenet1_1": (47, 34), "inception_v3": (96, 101)}
MORE = {"googlenet, transformed": {"transform_input": True}, "inception_v3, transformed": {"transform_input": True}}


def given_to(torch, theirs, net, state):
    """Their network with our numbers and versions, in double precision: then what is rounded is rounded by us."""
    turned = OrderedDict(tensors(torch, state, torch.float64))
    turned._metadata = net.state_dict()._metadata
    theirs.double().load_state_dict(turned)
    return theirs


def pair(torch, torchvision, name):
    """A network of ours and of theirs, ready for use, and an image for both."""
    family, asked = name.partition(",")[0], MORE.get(name, {})
    quick = {"init_weights": False} if family in {"googlenet", "inception_v3"} else {}
    net, state = loaded(getattr(models, family)(**asked))
    theirs = getattr(torchvision.models, family)(**asked, **quick)
    return net, given_to(torch, theirs, net, state).eval(), image(2, 3, *SIZES.get(family, (33, 47)))


@pytest.mark.parametrize("name", [*TORCHVISION, *MORE])
def test_scores_are_those_of_torchvision(torch, torchvision, name):
    net, theirs, x = pair(torch, torchvision, name)

    with torch.no_grad():
        expected = theirs(torch.tensor(x).double())

    assert far_apart(scores(net, x), expected) < MODEL


@pytest.mark.parametrize("name", TORCHVISION)
def test_gradients_are_those_of_torchvision(torch, torchvision, name):
    """In double precision: in single, a ReLU whose input is 0 but for rounding opens on one side only."""
    net, theirs, x = pair(torch, torchvision, name)
    weights, parameters = np.cos(np.arange(2000)).reshape(2, 1000), list(net.named_parameters())
    sampled = [key for key, _ in (parameters[0], parameters[len(parameters) // 2], parameters[-2])]
    mine, others = dict(net.double().named_parameters()), dict(theirs.named_parameters())

    loss = (net(jt.array(x.astype("float64"))) * weights).sum()
    found = jt.grad(loss, [mine[key] for key in sampled])
    jt.sync(found)
    other = (theirs(torch.tensor(x).double()) * torch.tensor(weights)).sum()
    expected = torch.autograd.grad(other, [others[key] for key in sampled])

    for key, grad, wanted in zip(sampled, found, expected, strict=True):
        assert far_apart(grad.numpy(), wanted) < GRADIENT, key


def test_vgg_has_no_batch_norm_unless_it_is_asked_for(torch, torchvision):
    net, state = loaded(models.VGG((2, 1, 1, 1, 1)).features)
    theirs = torchvision.models.vgg.make_layers([64, 64, "M", 128, "M", 256, "M", 512, "M", 512, "M"])
    x = image(1, 3, 33, 32)

    assert far_apart(scores(net, x), given_to(torch, theirs, net, state)(torch.tensor(x).double())) < MODEL


BLOCKS = {  # ours; the file and class of theirs, and what it is made from
    "basic": (lambda: resnet.BasicBlock(4, 4), "resnet", "BasicBlock", (4, 4), {}),
    "bottleneck": (lambda: resnet.Bottleneck(4, 1), "resnet", "Bottleneck", (4, 1), {}),
    "bottleneck, groups": (
        lambda: resnet.Bottleneck(4, 4, 2, groups=2, base_width=32), "resnet", "Bottleneck", (4, 4, 2),
        {"groups": 2, "base_width": 32},
    ),
    "fire": (lambda: squeezenet.Fire(4, 2, 3), "squeezenet", "Fire", (4, 2, 3, 3), {}),
    "inverted": (lambda: mobilenet.InvertedResidual(4, 4, 1, 3), "mobilenetv2", "InvertedResidual", (4, 4, 1, 3), {}),
    "inverted, not wider": (
        lambda: mobilenet.InvertedResidual(4, 6, 1, 1), "mobilenetv2", "InvertedResidual", (4, 6, 1, 1), {},
    ),
    "inverted, stride 2": (
        lambda: mobilenet.InvertedResidual(4, 6, 2, 2), "mobilenetv2", "InvertedResidual", (4, 6, 2, 2), {},
    ),
    "shuffled": (lambda: shufflenetv2.ShuffleBlock(4, 4, 1), "shufflenetv2", "InvertedResidual", (4, 4, 1), {}),
    "shuffled, stride 2": (
        lambda: shufflenetv2.ShuffleBlock(4, 6, 2), "shufflenetv2", "InvertedResidual", (4, 6, 2), {},
    ),
    "searched": (
        lambda: mnasnet.InvertedResidual(4, 4, 3, 1, 2), "mnasnet", "_InvertedResidual", (4, 4, 3, 1, 2),
        {"bn_momentum": 3e-4},
    ),
    "searched, stride 2": (
        lambda: mnasnet.InvertedResidual(4, 6, 5, 2, 2), "mnasnet", "_InvertedResidual", (4, 6, 5, 2, 2),
        {"bn_momentum": 3e-4},
    ),
    "dense": (lambda: densenet.DenseLayer(4, 8), "densenet", "_DenseLayer", (4, 8, 4, 0.0), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_learn_and_remember_as_those_of_torchvision(torch, torchvision, name):
    make, file, called, asked, more = BLOCKS[name]
    block, state = loaded(make())
    beside = torch.nn.Sequential(torch.nn.Conv2d(4, 16, 1, asked[-1], bias=False), torch.nn.BatchNorm2d(16))
    more = {**more, "downsample": beside} if called == "Bottleneck" and asked[1] > 1 else more
    theirs = getattr(importlib.import_module(f"torchvision.models.{file}"), called)(*asked, **more)
    theirs = given_to(torch, theirs, block, state).train()
    x = image(3, 4, 5, 4).astype("float64")

    with jt.flag_scope(backend="python"):
        y = block.double().train()(jt.array(x))
        weights = np.cos(np.arange(y.size)).reshape(y.shape)
        found = jt.grad((y * weights).sum(), block.parameters())
        jt.sync([y, *found])
        after = {key: var.numpy() for key, var in block.state_dict().items()}
    out = theirs(torch.tensor(x))
    expected = torch.autograd.grad((out * torch.tensor(weights)).sum(), list(theirs.parameters()))

    assert far_apart(y.numpy(), out) < 1e-12
    for (key, _), mine, other in zip(block.named_parameters(), found, expected, strict=True):
        assert far_apart(mine.numpy(), other) < 1e-9, key
    for key, tensor in theirs.state_dict().items():
        np.testing.assert_allclose(after[key], tensor.numpy(), rtol=1e-12, atol=1e-15, err_msg=key)
