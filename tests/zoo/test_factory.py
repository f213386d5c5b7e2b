"""Weights: from the cache, from a file, from a training; for other classes and channels; never random in silence."""

import hashlib
import re
import urllib.request
from types import SimpleNamespace

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import zoo
from jt_edu.models import published
from jt_edu.zoo import registry
from jt_edu.zoo.registry import Entry, PretrainedCfg


def filled(net, value=0.5):
    """A state in which each array is full of a number of its own."""
    return {
        name: np.full(var.shape, value + k, str(var.dtype)) for k, (name, var) in enumerate(net.state_dict().items())
    }


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Empty folders for downloads, a machine without a network, and a way to publish a file for a network."""
    monkeypatch.setenv("JT_EDU_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.setattr(registry, "ENTRIES", dict(registry.ENTRIES))

    def no_network(*_, **__):
        raise OSError("no route to host")

    monkeypatch.setattr(urllib.request, "urlopen", no_network)
    folder = tmp_path / "torch" / "hub" / "checkpoints"
    folder.mkdir(parents=True)

    def publish(name, state, **more):
        jt.save(state, tmp_path / "new.pth")
        content = (tmp_path / "new.pth").read_bytes()
        file = folder / f"{name}-{hashlib.sha256(content).hexdigest()[:8]}.pth"
        file.write_bytes(content)
        old = registry.ENTRIES[name]
        ((tag, cfg),) = old.cfgs.items()
        cfgs = {tag: PretrainedCfg(**{**cfg.to_dict(), "url": "https://example.org/" + file.name, **more})}
        registry.ENTRIES[name] = Entry(old.function, old.module, cfgs)
        return file

    return SimpleNamespace(publish=publish, folder=folder)


def same(net, state):
    found = net.state_dict()
    return [name for name, value in state.items() if not np.array_equal(found[name].numpy(), value)]


def test_published_weights_are_loaded_from_the_cache(cache):
    state = filled(zoo.create_model("squeezenet1_1"))
    cache.publish("squeezenet1_1", state)

    assert not same(zoo.create_model("squeezenet1_1", pretrained=True), state)
    assert not same(zoo.create_model("squeezenet1_1.tv_in1k", pretrained=True), state)
    assert same(zoo.create_model("squeezenet1_1"), state)


def test_only_what_can_be_loaded_is_listed_as_pretrained(cache):
    assert zoo.list_models(pretrained=True) == []
    file = cache.publish("squeezenet1_1", filled(zoo.create_model("squeezenet1_1")))

    assert zoo.list_models(pretrained=True) == zoo.list_pretrained("squ*") == ["squeezenet1_1.tv_in1k"]
    assert zoo.list_models(pretrained=True, include_tags=False) == ["squeezenet1_1"]
    assert zoo.list_pretrained(exclude_filters="squ*") == []
    assert zoo.is_model_pretrained("squeezenet1_1")
    assert zoo.is_model_pretrained("squeezenet1_1.tv_in1k")
    assert not zoo.is_model_pretrained("resnet18")
    assert not zoo.is_model_pretrained("squeezenet1_1.other")
    file.write_bytes(file.read_bytes()[:-1])  # another checksum than its name has
    assert zoo.list_models(pretrained=True) == []


def test_without_file_or_network_the_error_says_what_to_do(cache):
    with pytest.raises(jt.ArgumentError) as refused:
        zoo.create_model("resnet34", pretrained=True)

    for words in ("resnet34(pretrained=True) reads resnet34-b627a593.pth", "no such file", "no route to host",
                  "where there is a network, and put it into that folder"):  # fmt: skip
        assert words in str(refused.value)


def test_a_file_with_another_checksum_is_refused(cache):
    file = cache.publish("squeezenet1_1", filled(zoo.create_model("squeezenet1_1")))
    file.write_bytes(file.read_bytes()[:-1])

    with pytest.raises(jt.ArgumentError, match="with another checksum than its name has"):
        zoo.create_model("squeezenet1_1", pretrained=True)


def test_weights_that_nobody_published_are_an_error_and_never_random(monkeypatch):
    monkeypatch.setattr(registry, "ENTRIES", dict(registry.ENTRIES))
    entry = registry.ENTRIES["alexnet"]
    registry.ENTRIES["alexnet"] = Entry(entry.function, entry.module)

    with pytest.raises(jt.ArgumentError, match=r"weights that were published for alexnet; found none.*checkpoint_path"):
        zoo.create_model("alexnet", pretrained=True)


def test_a_file_of_ones_own_takes_the_place_of_the_published_one(tmp_path):
    state = filled(zoo.create_model("squeezenet1_1"))
    jt.save(state, tmp_path / "mine.safetensors")
    own = {"file": str(tmp_path / "mine.safetensors")}

    assert not same(zoo.create_model("squeezenet1_1", pretrained=True, pretrained_cfg_overlay=own), state)
    cfg = PretrainedCfg(**own, first_conv="features.0", classifier="classifier.1")
    assert not same(zoo.create_model("squeezenet1_1", pretrained=True, pretrained_cfg=cfg), state)
    assert not same(zoo.create_model("squeezenet1_1", pretrained=True, pretrained_cfg=cfg.to_dict()), state)
    with pytest.raises(jt.ArgumentError, match=r"a pretrained cfg has the values .*; found crop"):
        zoo.create_model("squeezenet1_1", pretrained_cfg_overlay={"crop": 1})
    with pytest.raises(jt.ArgumentError, match=r"a tag, a dict or a PretrainedCfg; found 3"):
        zoo.create_model("squeezenet1_1", pretrained_cfg=3)


def test_a_cfg_says_how_many_classes_and_channels_a_network_has():
    net = zoo.create_model("squeezenet1_1", pretrained_cfg_overlay={"num_classes": 7, "input_size": (1, 32, 32)})

    assert (net.num_classes, net.in_chans) == (7, 1)
    assert net.pretrained_cfg == net.default_cfg
    assert net.pretrained_cfg["input_size"] == (1, 32, 32)


# ------------------------------------------------------------------------------------------- other classes and channels


def test_with_other_classes_all_but_the_last_layer_is_loaded(cache):
    state = filled(zoo.create_model("resnet18"))
    cache.publish("resnet18", state)

    net = zoo.create_model("resnet18", pretrained=True, num_classes=10)

    assert {name for name in state if name.startswith("fc")} == {"fc.weight", "fc.bias"}
    assert not same(net, {name: value for name, value in state.items() if not name.startswith("fc")})
    assert net.fc.weight.shape == (10, 512)
    assert zoo.create_model("resnet18", pretrained=True, num_classes=0).num_classes == 0
    features = zoo.create_model("resnet18", pretrained=True, features_only=True, out_indices=[1])
    assert not same(features, {name: state[name] for name in features.state_dict()})


def test_one_channel_gets_the_sum_of_the_weights_of_red_green_and_blue(cache, rng):
    state = filled(zoo.create_model("resnet18"))
    state["conv1.weight"] = rng.standard_normal((64, 3, 7, 7), dtype="float32")
    cache.publish("resnet18", state)

    first = {n: zoo.create_model("resnet18", pretrained=True, in_chans=n).conv1.weight.numpy() for n in (1, 3, 5)}

    assert np.allclose(first[1], state["conv1.weight"].sum(1, keepdims=True), rtol=1e-6, atol=1e-6)
    assert np.array_equal(first[3], state["conv1.weight"])
    assert np.allclose(first[5], state["conv1.weight"][:, [0, 1, 2, 0, 1]] * 0.6)


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 7])
def test_first_convolutions_are_adapted_as_timm_does(channels, torch, timm, rng):
    weight = rng.standard_normal((4, 3, 2, 2), dtype="float32")

    expected = timm.models.adapt_input_conv(channels, torch.tensor(weight)).numpy()

    assert np.allclose(zoo.adapt_input_conv(channels, weight).numpy(), expected, rtol=1e-6, atol=1e-6)
    with pytest.raises(jt.ArgumentError, match=re.escape("(o, 5, h, w); found shape (4, 3, 2, 2)")):
        zoo.adapt_input_conv(channels, weight, base_chans=5)


@pytest.mark.parametrize("name", ["googlenet", "inception_v3"])
def test_the_small_classifiers_in_a_file_are_passed_over(name, cache):
    state = filled(getattr(jt.models, name)())
    cache.publish(name, state)
    net = zoo.create_model(name, pretrained=True)

    assert len(net.state_dict()) < len(state)
    assert not same(net, {name: state[name] for name in net.state_dict()})
    assert net.pretrained_cfg["mean"] == net.pretrained_cfg["std"] == (0.5, 0.5, 0.5)
    assert net.pretrained_cfg["input_size"][1] == (299 if name == "inception_v3" else 224)


def test_every_published_file_has_a_cfg():
    urls = {zoo.get_pretrained_cfg(name).url for name in published.FILES}

    assert urls == {published.address_of(name) for name in published.FILES}


# --------------------------------------------------------------------------------------------------------- checkpoints


@pytest.mark.parametrize("suffix", [".pth", ".npz", ".safetensors"])
def test_a_checkpoint_is_loaded_in_the_end(suffix, tmp_path):
    state = filled(zoo.create_model("squeezenet1_1", num_classes=3))
    jt.save(state, tmp_path / f"net{suffix}")

    net = zoo.create_model("squeezenet1_1", num_classes=3, checkpoint_path=tmp_path / f"net{suffix}")

    assert not same(net, state)


@pytest.mark.parametrize(("use_ema", "expected"), [(True, [2.0]), (False, [1.0])])
@pytest.mark.parametrize("keys", [("state_dict", "state_dict_ema"), ("model", "model_ema")])
def test_a_training_has_weights_and_their_averages_and_wrappers_names(use_ema, expected, keys, tmp_path):
    run = {"epoch": 3, keys[0]: {"module.w": jt.array([1.0])}, keys[1]: {"_orig_mod.module.w": jt.array([2.0])}}
    jt.save(run, tmp_path / "run.pth")

    state = zoo.load_state_dict(tmp_path / "run.pth", use_ema=use_ema)

    assert {name: value.tolist() for name, value in state.items()} == {"w": expected}


def test_what_is_missing_may_be_passed_over_and_names_may_be_changed(tmp_path):
    net = jt.nn.Linear(2, 1)
    jt.save({"w": jt.ones(1, 2), "more": jt.ones(1)}, tmp_path / "net.pth")

    with pytest.raises(jt.ShapeError, match="missing bias"):
        zoo.load_checkpoint(net, tmp_path / "net.pth", filter_fn=lambda state, _: {"weight": state["w"]})
    loaded = zoo.load_checkpoint(
        net,
        tmp_path / "net.pth",
        strict=False,
        filter_fn=lambda state, of: {"weight": state["w"] + len(of.state_dict())},
    )

    assert loaded == (["bias"], [])
    assert net.weight.tolist() == [[3.0, 3.0]]


def test_a_file_without_weights_is_refused_and_what_it_has_is_told(tmp_path):
    jt.save({"epoch": 3, "losses": [1.0]}, tmp_path / "run.npz")
    jt.save([1.0, 2.0], tmp_path / "list.npz")

    with pytest.raises(jt.ArgumentError, match=r"weights by name, perhaps under state_dict, .*; found epoch, losses"):
        zoo.load_state_dict(tmp_path / "run.npz")
    with pytest.raises(jt.ArgumentError, match="found a list"):
        zoo.load_state_dict(tmp_path / "list.npz")
