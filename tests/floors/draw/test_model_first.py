"""A picture begins with the model: what makes inputs is one box, parameters are chips, repeated blocks are folded."""

import re

import pytest

import jt_edu as jt
from jt_edu import models, nn
from jt_edu.draw.visible_graph import view


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm(8)
        self.fc = nn.Linear(8, 10)

    def execute(self, x):
        return self.fc(self.norm(self.conv(x)).relu().mean((2, 3)))


@pytest.fixture(scope="module")
def resnet():
    net = models.resnet18(num_classes=10)
    net.eval()
    x = jt.randn(1, 3, 64, 64)
    return net(x).graph()


def cards(seen):
    return [(card.kind, card.name, card.op) for card in seen.cards.values()]


def test_what_makes_an_input_is_one_closed_box_that_has_the_name_of_its_var():
    net = CNN()
    x = jt.randn(4, 1, 8, 8)
    seen = view(jt.document(net(x)))

    assert cards(seen)[0] == ("input", "x", "random numbers")
    assert next(iter(seen.cards.values())).facts == "(4, 1, 8, 8) float32"
    assert "random_bits" not in {op for _, _, op in cards(seen)}
    opened = view(jt.document(net(x)), opened=seen.groups)
    assert "random_bits" in {op for _, _, op in cards(opened)}, "it can be opened as any other"


def test_data_that_is_cast_and_scaled_is_one_box_too_and_has_the_name_of_the_data():
    net, pixels = CNN(), jt.array([[[[0, 255]]]])
    seen = view(jt.document(net(pixels.float32() / 255)))

    assert cards(seen)[0] == ("input", "pixels", "data")
    assert {card.kind for card in seen.cards.values()} & {"source"} == set()


@pytest.mark.parametrize("make", [lambda: jt.array([[[[0.0, 1.0]]]]), lambda: jt.randn(1, 1, 1, 2)])
def test_what_the_learner_computes_of_an_input_is_shown(make):
    net, pixels = CNN(), make()
    bright = pixels.exp()
    seen = view(jt.document(net(bright / 2)))

    assert "exp" in {op for _, _, op in cards(seen)}


def test_parameters_and_statistics_that_were_never_computed_are_chips():
    net = CNN()
    net.eval()
    seen = view(jt.document(net(jt.ones(4, 1, 8, 8))), opened={"m:CNN", "m:CNN/norm"})

    chips = {chip.text for card in seen.cards.values() for chip in (*card.left, *card.right)}
    assert {"running_mean (8,)", "weight (8, 1, 3, 3)", "bias (10,)"} <= chips
    assert "detach" not in {op for _, _, op in cards(seen)}


def test_parameters_have_the_names_of_their_model_also_where_it_is_gone():
    def made():
        return nn.Sequential(nn.Linear(2, 2), nn.ReLU())(jt.ones(1, 2))

    names = {row["name"] for row in jt.document(made())["nodes"]}
    assert {"Sequential.0.weight", "Sequential.0.bias"} <= names


def test_without_modules_only_one_call_makes_an_input_and_what_the_learner_computes_is_shown():
    a = jt.randn(3, 2)
    rows = jt.document((a * 2).sum())["nodes"]
    made = {row["op"] for row in rows if row["input"] is not None}

    assert {"random_bits", "normal"} <= made
    assert not {"multiply", "sum"} & made
    assert {row["name"] for row in rows if row["id"] == row["input"]} == {"a"}


def test_what_a_loss_makes_for_itself_is_no_input():
    net, labels = nn.Sequential(nn.Linear(2, 3)), jt.array([0, 2])
    x = jt.randn(2, 2)
    rows = jt.document(nn.cross_entropy_loss(net(x), labels))["nodes"]

    assert {row["name"] for row in rows if row["id"] == row["input"] and "." not in row["name"]} == {"x"}


def test_what_was_asked_for_is_shown_and_no_input():
    assert {row["input"] for row in jt.document(jt.randn(3))["nodes"]} == {None}


def test_kernels_show_what_makes_an_input_as_a_box_too():
    a = jt.randn(3, 2)
    b = (a * 2).exp()
    seen = view(jt.document(b), group="kernel")

    assert ("input", "a", "random numbers") in cards(seen)
    assert "exp" in {op for _, _, op in cards(seen)}


def test_resnet_begins_with_its_stages_and_each_says_which_blocks_it_holds(resnet):
    seen = view(resnet.document)

    assert cards(seen)[0] == ("input", "x", "random numbers")
    stages = [(name, op) for _, name, op in cards(seen) if name.startswith("layer")]
    assert stages == [(f"layer{k}", "BasicBlock × 2") for k in (1, 2, 3, 4)]
    assert "detach" not in {op for _, _, op in cards(seen)}


def test_two_blocks_that_look_the_same_are_folded_under_their_class(resnet):
    seen = view(resnet.document, opened={"m:ResNet", "m:ResNet/layer1"})

    assert ("repeat", "BasicBlock × 2", "") in cards(seen)


def test_blocks_in_a_list_are_folded_under_their_class():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 8, batch_first=True), 3)
    encoder.eval()
    seen = view(jt.document(encoder(jt.randn(1, 2, 8))))

    assert ("repeat", "TransformerEncoderLayer × 3", "") in cards(seen)


def test_the_picture_of_resnet_fits_a_page(resnet):
    wide, high = map(int, re.search('viewBox="0 0 ([0-9]+) ([0-9]+)"', resnet.svg).groups())

    assert wide <= 700
    assert high <= 1300


def test_the_summary_names_what_goes_in_and_counts_what_the_model_holds(resnet):
    assert "x and 102 arrays of the model go in" in resnet.summary
