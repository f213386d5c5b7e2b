"""What a newcomer writes who knows PyTorch or Jittor: it works, or the error says what to write."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import models, nn
from jt_edu.nn.state_dict import StateError

pytestmark = pytest.mark.usefixtures("python_backend")

CONSTRUCTORS = sorted(name for name in models.__all__ if name.islower())


# ------------------------------------------------------------------------------------------------------------ networks


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_every_network_takes_pretrained_and_says_which_weights_there_are(name):
    make = getattr(models, name)

    for wanted in (lambda: make("yes"), lambda: make(pretrained="yes"), lambda: make(weights="IMAGENET1K_V2")):
        with pytest.raises(jt.ArgumentError, match=rf"{name} starts from random weights, or .*found .*\.load\(path\)"):
            wanted()


def test_a_network_that_is_not_pretrained_is_made_as_ever():
    expected = dict(models.squeezenet1_1(num_classes=7).named_parameters())

    for made in (models.squeezenet1_1(False, num_classes=7), models.squeezenet1_1(weights=None, num_classes=7)):
        assert {k: p.shape for k, p in made.named_parameters()} == {k: p.shape for k, p in expected.items()}


def test_a_state_without_a_name_is_no_matter_of_shapes_alone():
    net = nn.Linear(2, 3)
    state = net.state_dict()
    del state["bias"]

    with pytest.raises(StateError, match=r"missing bias\. Try: strict=False"):
        net.load_state_dict(state)
    for known in (jt.ShapeError, ValueError, KeyError, jt.JtError):
        with pytest.raises(known):
            net.load_state_dict({**state, "bias": np.ones(3), "other": np.ones(1)})


def test_a_state_of_other_shapes_is_a_matter_of_shapes():
    with pytest.raises(jt.ShapeError, match=r"weight of shape \(3, 3\) for \(3, 2\)") as raised:
        nn.Linear(2, 3).load_state_dict({"weight": np.ones((3, 3)), "bias": np.ones(3)})

    assert not isinstance(raised.value, KeyError)
    assert "Try" not in str(raised.value)


# ------------------------------------------------------------------------------------------------------------- threads


@pytest.fixture
def threads():
    before = jt.get_num_threads()
    yield
    jt.set_num_threads(before)


@pytest.mark.parametrize(("count", "error"), [("2", TypeError), (2.0, TypeError), (None, TypeError), (0, ValueError)])
def test_a_number_of_threads_is_a_whole_number(threads, count, error):
    before = jt.get_num_threads()

    with pytest.raises(error, match="set_num_threads asks for a whole number") as raised:
        jt.set_num_threads(count)

    assert isinstance(raised.value, jt.JtError) and repr(count) in str(raised.value)
    assert jt.get_num_threads() == before


def test_more_threads_than_cores_are_taken_as_pytorch_takes_them(threads, recwarn):
    jt.set_num_threads(np.int64(100))

    assert (jt.get_num_threads(), type(jt.get_num_threads()), len(recwarn)) == (100, int, 0)
    assert (jt.ones(5) + 1).tolist() == [2.0] * 5


# --------------------------------------------------------------------------------------------------------- convolutions


def test_a_race_takes_arrays_as_conv2d_does():
    x, w = np.ones((1, 1, 3, 3), "float32"), np.ones((1, 1, 2, 2), "float32")

    assert jt.backends.conv.race(x, w).sizes == jt.backends.conv.race(jt.array(x), jt.array(w)).sizes


@pytest.mark.parametrize("dtypes", [("int32", "int32"), ("float16", "float16"), ("float32", "float64")])
def test_a_race_of_other_numbers_is_refused(dtypes):
    x, w = (np.ones((1, 1, 3, 3), dtype) for dtype in dtypes)

    with pytest.raises(jt.DtypeError, match=f"found x of {dtypes[0]} and w of {dtypes[1]}"):
        jt.backends.conv.race(x, w)


def test_settings_can_be_asked_for_as_any_attribute():
    conv = jt.backends.conv

    assert hasattr(conv, "benchmark") and not hasattr(conv, "benchmrk") and not hasattr(conv, "__wrapped__")
    assert getattr(conv, "foo", 3) == 3
    for kind in (AttributeError, jt.ArgumentError):
        with pytest.raises(kind, match=r"Try: jt\.backends\.conv\.benchmark\."):
            _ = conv.benchmrk
        with pytest.raises(kind, match="is not a setting"):
            conv.benchmrk = True


def test_a_setting_cannot_be_deleted_and_keeps_its_value():
    with pytest.raises(jt.ArgumentError, match=r"benchmark has a value, always; found del. Try: False"):
        del jt.backends.conv.benchmark

    assert jt.backends.conv.benchmark is False


def test_settings_take_what_numpy_answers():
    with jt.backends.conv.flags(deterministic=np.bool_(True), workspace_limit=np.int64(1 << 20)):
        assert jt.backends.conv.deterministic is True
        assert type(jt.backends.conv.workspace_limit) is int
    with pytest.raises(jt.ArgumentError, match="number of bytes"):
        jt.backends.conv.workspace_limit = np.bool_(True)


# ------------------------------------------------------------------------------------------------------ what is printed


def test_a_compiled_step_says_what_it_is_and_how_often_it_was_captured():
    def double(x):
        return x * 2

    step = jt.compile(double)
    texts = [repr(step)]
    for n in (2, 2, 3):
        step(jt.ones(n))
        texts.append(repr(step))

    name = double.__qualname__
    assert texts == [f"jt.compile({name}), captured {times}" for times in ("0 times", "once", "once", "2 times")]


def test_a_timer_says_what_it_would_measure():
    timer = jt.benchmark.Timer("x * y", "x, y = 1, 2", label="multiply", num_threads=2)

    assert repr(timer).splitlines() == [
        "<jt.benchmark.Timer>",
        "multiply",
        "setup: x, y = 1, 2",
        "  2 threads; .timeit(n) and .blocked_autorange() measure",
    ]


def test_running_statistics_are_called_by_their_names():
    norm = nn.BatchNorm2d(3)
    norm(jt.ones(2, 3, 2, 2)).sync()
    norm.eval()
    norm.running_mean.sync(), norm.running_var.sync()

    with jt.no_grad():
        text = jt.explain(norm(jt.ones(1, 3, 2, 2))).text

    assert "running_mean (3,) float32" in text and "running_var (3,) float32" in text
    assert "detach" not in text
