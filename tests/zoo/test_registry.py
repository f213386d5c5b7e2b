"""The registry by name: filters as timm's own registry answers them, on its own list of names and on ours."""

import random
import re
import warnings

import pytest

import jt_edu as jt
from jt_edu import models, zoo
from jt_edu.zoo import registry
from jt_edu.zoo.registry import Entry, PretrainedCfg

LETTERS = (
    "resne",
    "vit",
    "net",
    "tiny",
    "18",
    "101",
    "_bn",
    "small",
    "in1k",
    "*",
    "*",
    "?",
    ".",
    "[ab]",
    "_",
    "224",
    "s",
)


def patterns(rng, names, count):
    """Filters as people write them: part of a name between stars; and as nobody does."""
    for k in range(count):
        name = rng.choice(names)
        a, b = sorted(rng.sample(range(len(name) + 1), 2))
        yield (
            f"*{name[a:b]}*",
            f"{name[:b]}*",
            "".join(rng.choice(LETTERS) for _ in range(rng.randint(1, 5))),
            [f"*{name[a:b]}", f"{name[:a]}*", name],
            name[:a] + "?" * (b - a) + name[b:],
        )[k % 5]


def theirs(timm):
    """What timm's registry knows, as entries of ours; a network has weights where theirs says so."""
    r = timm.models._registry
    cfgs = {name: default.cfgs for name, default in r._model_default_cfgs.items()}
    tags = {name: list(default.tags) for name, default in r._model_default_cfgs.items()}
    return {
        name: Entry(print, r._model_to_module[name], {
            tag: PretrainedCfg(file="here" if cfgs[name][tag].has_weights else "") for tag in tags.get(name, ())
        })
        for name in r._model_entrypoints if name not in r._deprecated_models
    }  # fmt: skip


def test_two_hundred_random_filters_answer_as_timm_does_on_its_own_names(timm, monkeypatch, seed):
    monkeypatch.setattr(registry, "ENTRIES", theirs(timm))
    monkeypatch.setattr(PretrainedCfg, "is_here", lambda self: bool(self.file))
    rng, names = random.Random(seed), timm.list_models()
    found = 0
    for wanted, unwanted in zip(patterns(rng, names, 200), patterns(rng, names, 200), strict=True):
        asked = {
            "filter": rng.choice([wanted, wanted, ""]),
            "exclude_filters": rng.choice([unwanted, ""]),
            "module": rng.choice(["", "", rng.choice(timm.list_modules()), ["vgg", "resnet"]]),
            "pretrained": rng.random() < 0.3,
            "name_matches_cfg": rng.random() < 0.3,
            "include_tags": rng.choice([None, None, True, False]),
        }
        expected = timm.list_models(**asked)
        assert zoo.list_models(**asked) == expected, asked
        found += bool(expected)

    assert len(names) > 1300
    assert found > 60  # the answer is not always that there is none


def test_fifty_random_filters_answer_as_timm_does_on_our_names(timm, monkeypatch, seed):
    r = timm.models._registry
    monkeypatch.setattr(r, "_model_entrypoints", registry.ENTRIES)
    monkeypatch.setattr(r, "_module_to_models", {m: set(zoo.list_models(module=m)) for m in zoo.list_modules()})
    rng, names = random.Random(seed), zoo.list_models()

    for wanted in patterns(rng, names, 50):
        assert zoo.list_models(wanted) == r.list_models(wanted), wanted
        module = rng.choice(zoo.list_modules())
        assert zoo.list_models(wanted, module=module) == r.list_models(wanted, module=module), (wanted, module)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("*resne*t*[2-8]", "resnet18 resnet34 resnet152 wide_resnet50_2 wide_resnet101_2"),
        ("resnet??", "resnet18 resnet34 resnet50"),
        ("RESNET18", ""),  # letters are as they are
        ("esnet18", ""),  # a pattern has to fit the whole name
        (["vgg1[13]", "alex*"], "alexnet vgg11 vgg13"),
    ],
)  # fmt: skip
def test_filters_are_those_of_file_names_and_numbers_are_sorted_as_numbers(asked, expected):
    assert zoo.list_models(asked, module=["resnet", "vgg", "alexnet"]) == expected.split()


def test_every_network_of_models_is_in_the_zoo_under_its_own_name_and_in_its_own_module():
    names = [name for name in models.__all__ if name[0].islower()]

    assert set(names) <= set(zoo.list_models())
    assert {"resnet", "vgg", "inception", "mobilenetv3"} <= set(zoo.list_modules())
    assert zoo.is_model_in_modules("vgg16_bn", ("resnet", "vgg"))
    assert not zoo.is_model_in_modules("vgg16_bn", "resnet")
    assert not zoo.is_model_in_modules("vgg99", "vgg")


def test_an_unknown_name_is_a_runtime_error_with_names_that_are_like_it():
    with pytest.raises(RuntimeError, match=r"Unknown model \(resnet43\)") as refused:
        zoo.create_model("resnet43")

    assert isinstance(refused.value, jt.JtError)
    assert "resnet34" in str(refused.value)
    with pytest.raises(zoo.UnknownModelError, match=r"Unknown model \(\).*list_models"):
        zoo.create_model("")


@pytest.mark.parametrize("name", [None, 3, "../resnet34", "resnet43.a1_in1k"])
def test_what_is_no_name_is_told_as_it_was_written(name):
    assert not zoo.is_model(name)
    with pytest.raises(zoo.UnknownModelError, match=re.escape(f"Unknown model ({name})")):
        zoo.create_model(name)


def test_a_name_with_another_tag_is_refused_and_the_tags_there_are_named():
    with pytest.raises(RuntimeError, match=r"Invalid pretrained tag \(a1_in1k\) for resnet34.*tv_in1k"):
        zoo.create_model("resnet34.a1_in1k")
    assert zoo.create_model("resnet34.tv_in1k").pretrained_cfg["tag"] == "tv_in1k"


def test_the_function_behind_a_name_may_be_asked_for_in_one_module_only():
    assert zoo.model_entrypoint("resnet34")().num_classes == 1000
    with pytest.raises(zoo.UnknownModelError, match="not found in module vgg"):
        zoo.model_entrypoint("resnet34", module_filter="vgg")


def test_what_is_registered_is_known_and_brings_its_cfgs_along(monkeypatch):
    monkeypatch.setattr(registry, "ENTRIES", dict(registry.ENTRIES))
    text = (
        "def slim(pretrained=False, **settings): return build('slim', pretrained, **settings)\n"
        "def plain(**settings): return settings\n"
    )
    cfgs = {"slim.first": PretrainedCfg(crop_pct=0.5), "slim.second": PretrainedCfg(), "other": PretrainedCfg()}
    module = {"default_cfgs": cfgs, "__name__": "pages.mine"}
    exec(text, module)  # noqa: S102 - a module of somebody else's

    assert zoo.register_model(module["slim"]) is module["slim"]
    zoo.register_model(module["plain"])

    assert zoo.list_models(module="mine") == ["plain", "slim"]
    assert zoo.list_models(module="mine", include_tags=True) == ["plain", "slim.first", "slim.second"]
    assert zoo.list_models(module="mine", name_matches_cfg=True) == ["slim"]
    assert zoo.get_pretrained_cfg("slim").crop_pct == 0.5
    assert zoo.get_pretrained_cfg_value("slim.second", "crop_pct") == 0.875
    assert zoo.get_pretrained_cfg_value("slim", "no_such_key") is None
    assert zoo.get_pretrained_cfg("plain") is None
    with pytest.raises(zoo.UnknownModelError, match="no pretrained cfg"):
        zoo.get_pretrained_cfg("plain", allow_unregistered=False)


def test_a_name_is_taken_over_with_a_warning_unless_the_same_cell_runs_again(monkeypatch):
    monkeypatch.setattr(registry, "ENTRIES", dict(registry.ENTRIES))

    def resnet18(**_):
        return "mine"

    with pytest.warns(UserWarning, match=r"takes the name resnet18 from that of jt_edu\.models\.resnet"):
        zoo.register_model(resnet18)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zoo.register_model(resnet18)

    assert zoo.create_model("resnet18") == "mine"
    assert "resnet18" not in zoo.list_models(module="resnet")


def test_names_that_are_none_are_left_out_of_what_a_network_is_told(monkeypatch):
    monkeypatch.setattr(registry, "ENTRIES", {"echo": Entry(lambda **told: told, "here")})

    told = zoo.create_model("echo.tag", num_classes=None, drop_rate=0.0, pretrained_cfg_overlay={"mean": 1})

    assert told == {
        "pretrained": False,
        "pretrained_cfg": "tag",
        "pretrained_cfg_overlay": {"mean": 1},
        "drop_rate": 0.0,
    }
