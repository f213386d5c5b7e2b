"""What networks compute in other modes and of other sizes; test_torchvision.py holds their scores and gradients."""

import re

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import models
from jt_edu.models.densenet import DenseLayer, DenseNet
from tests.models.things import image, loaded, scores


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


def test_larger_batches_compile_nothing():
    net, _ = loaded(models.resnet18(num_classes=3))
    scores(net, image(1, 3, 65, 65))

    with jt.trace() as t:
        for size in (2, 3, 4, 5, 8, 16):
            scores(net, image(size, 3, 65, 65))

    assert t.compiled == 0
