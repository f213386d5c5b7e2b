"""An error that happens in a layer names it: its way through the network, and what it was made with."""

import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.base.errors import JtError, RangeError, ShapeError


class Block(nn.Module):
    def __init__(self, width):
        self.width = width
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(width, 2)])

    def execute(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Words(nn.Module):
    def __init__(self):
        self.body = nn.Sequential(nn.Embedding(4, 8), nn.Linear(8, 2))

    def execute(self, x):
        return self.body(x)


class Broken(nn.Module):
    def execute(self, x):
        raise KeyError("mine")


class Given(nn.Module):
    def __init__(self, given):
        self.given = given

    def execute(self, x):
        return x + jt.ones(3)


def layer_of(error):
    """The line of an error that names its layer, and whatever stands behind it."""
    text = "\n".join([str(error), *getattr(error, "__notes__", ())])
    return [line.removeprefix("  in ") for line in text.split("\n") if line.startswith("  in ")]


@pytest.mark.parametrize(
    ("net", "layer"),
    [
        (nn.Sequential(nn.ReLU(), nn.Linear(10, 4)), "Sequential > 1 Linear(10, 4)"),
        (nn.Sequential(nn.Sequential(nn.Linear(10, 4))), "Sequential > 0 Sequential > 0 Linear(10, 4)"),
        (Block(3), "Block > layers.1 Linear(3, 2)"),
        (nn.Sequential(nn.ReLU(), Block(3)), "Sequential > 1 Block > layers.1 Linear(3, 2)"),
        (nn.Sequential(nn.Conv2d(3, 8, 3)), "Sequential > 0 Conv2d(3, 8, (3, 3))"),
        (nn.Sequential(nn.BatchNorm1d(3)), "Sequential > 0 BatchNorm1d(3)"),
        (nn.Sequential({"a/b": nn.Linear(3, 2)}), "Sequential > a∕b Linear(3, 2)"),
        (nn.Sequential(Given("x" * 100)), f"Sequential > 0 Given('{'x' * 56}...)"),
        (nn.Sequential(Given((1, 2))), "Sequential > 0 Given((1, 2))"),
        (nn.Sequential(Given((jt.array([8]), 2))), "Sequential > 0 Given"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_a_layer_is_named_with_its_way_and_what_it_was_made_with(net, layer):
    with pytest.raises(ShapeError) as caught:
        net(jt.ones(2, 4))

    assert layer_of(caught.value) == [layer]


def test_a_layer_that_the_learner_calls_is_named_by_their_line_already():
    with pytest.raises(ShapeError) as caught:
        nn.Linear(3, 2)(jt.ones(2, 4))

    assert layer_of(caught.value) == []


@pytest.mark.parametrize("read", [lambda y: y.numpy(), lambda y: jt.compile(lambda v: v * 2)(y).numpy()])
def test_an_error_while_running_names_the_layer_and_the_learners_line(read):
    net = Words()
    y = net(jt.array([8]) + 1)

    with pytest.raises(RangeError) as caught:
        read(y)

    assert layer_of(caught.value) == ["Words > body Sequential > 0 Embedding(4, 8)"]
    assert str(caught.value).endswith("test_blame.py:26: return self.body(x)")


def test_a_compiled_step_names_layers_while_it_is_captured_and_when_it_runs_again():
    net, words = Block(3), Words()
    step = jt.compile(lambda module, x: module(x))
    step(words, jt.array([1])).numpy()
    step(words, jt.array([2])).numpy()

    with pytest.raises(ShapeError) as captured:
        step(net, jt.ones(2, 4))
    with pytest.raises(RangeError) as ran:
        step(words, jt.array([9])).numpy()

    assert layer_of(captured.value) == ["Block > layers.1 Linear(3, 2)"]
    assert layer_of(ran.value) == ["Words > body Sequential > 0 Embedding(4, 8)"]


def test_the_learners_own_errors_are_told_the_layer_in_a_note():
    net = nn.Sequential(nn.ReLU(), nn.Sequential(Broken()))

    with pytest.raises(KeyError) as caught:
        net(jt.ones(1))

    assert layer_of(caught.value) == ["Sequential > 1 Sequential > 0 Broken"]
    assert caught.value.args == ("mine",)


def test_arguments_that_do_not_fit_are_told_the_layer():
    class Twice(nn.Module):
        def __init__(self):
            self.first = nn.Linear(4, 4)

        def execute(self, x):
            return self.first(x, x)

    with pytest.raises(TypeError, match="too many positional arguments") as caught:
        Twice()(jt.ones(4))

    assert layer_of(caught.value) == ["Twice > first Linear(4, 4)"]


def test_an_error_outside_of_a_network_names_no_layer():
    with pytest.raises(JtError) as caught:
        jt.ones(2) + jt.ones(3)

    assert layer_of(caught.value) == []


@pytest.mark.parametrize("kind", [RangeError, RuntimeError])
@pytest.mark.parametrize("before", [0, 3])
def test_a_step_that_fails_in_any_run_of_a_plan_names_its_layer(kind, before):
    class Host(nn.Module):
        def execute(self, x):
            return jt.numpy_code(x.shape, x.dtype, [x], self.fill)

        def fill(self, np, data):
            data["outputs"][0][:] = 1
            if self.broken:
                raise kind("mine")

    net = nn.Sequential(Host())
    for run in range(before + 1):
        net[0].broken = run == before
        y = net(jt.ones(2) + 1)
        if not net[0].broken:
            y.numpy()

    with pytest.raises(JtError) as caught:
        y.numpy()

    assert layer_of(caught.value) == ["Sequential > 0 Host"]
