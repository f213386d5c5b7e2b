"""What every network of the zoo answers, whoever wrote it. Nothing runs: shapes are known without numbers."""

import pytest

import jt_edu as jt
from jt_edu import zoo
from jt_edu.zoo.registry import natural, words

NAMES = zoo.list_models()
FAMILIES = [zoo.list_models(module=module)[0] for module in zoo.list_modules()]


def made(name, **settings):
    net = zoo.create_model(name, **settings).eval()
    size = net.pretrained_cfg["input_size"]
    return net, jt.zeros(2, settings.get("in_chans", size[0]), *size[1:])


def test_all_are_listed_in_the_order_of_their_numbers():
    assert sorted(NAMES, key=natural) == NAMES
    assert len(NAMES) >= 52


@pytest.mark.parametrize("name", NAMES)
def test_a_network_gives_maps_features_and_scores(name):
    net, x = made(name, num_classes=5)
    maps = net.forward_features(x)

    assert net(x).shape == net.forward_head(maps).shape == (2, 5)
    assert net.forward_head(maps, pre_logits=True).shape == (2, net.head_hidden_size)
    assert net.num_classes == 5
    assert maps.ndim in {3, 4}
    assert net.num_features in maps.shape
    assert net.get_classifier().weight.shape[:2] == (5, net.head_hidden_size)


@pytest.mark.parametrize("name", FAMILIES)
def test_another_last_layer_and_none(name):
    net, x = made(name)
    own = net.pretrained_cfg["num_classes"]
    assert (net.num_classes, net(x).shape) == (own, (2, own))

    net.reset_classifier(3)
    assert (net.num_classes, net(x).shape) == (3, (2, 3))
    assert not net.get_classifier().is_train  # as the network is
    net.reset_classifier(0)
    assert (net.num_classes, net(x).shape) == (0, (2, net.head_hidden_size))
    net.reset_classifier(0, "")
    assert net(x).shape[0] == 2
    assert net(x).ndim == net.forward_features(x).ndim
    assert made(name, num_classes=0)[0](x).shape == (2, net.head_hidden_size)


@pytest.mark.parametrize("name", FAMILIES)
def test_maps_have_the_channels_and_the_size_that_feature_info_says(name):
    net, x = made(name, features_only=True)
    info, maps = net.feature_info, net(x)

    assert [m.shape[1] for m in maps] == info.channels()
    for one, step in zip(maps, info.reduction(), strict=True):
        assert one.shape[2:] == pytest.approx([side / step for side in x.shape[2:]], rel=0.2)
    if len(info) > 2:
        few, _ = made(name, features_only=True, out_indices=(0, 1))
        assert [m.shape for m in few(x)] == [m.shape for m in maps[:2]]
        assert sum(p.size for p in few.parameters()) < sum(p.size for p in net.parameters())


@pytest.mark.parametrize("name", FAMILIES)
def test_one_channel_and_the_layers_that_a_cfg_names(name):
    net, x = made(name, num_classes=2, in_chans=1)
    state, cfg = net.state_dict(), net.pretrained_cfg

    assert net(x).shape == (2, 2)
    assert [state[f"{layer}.weight"].shape[1] for layer in words(cfg["first_conv"])] == [1]
    assert [state[f"{layer}.weight"].shape[0] for layer in words(cfg["classifier"])] == [2]
    assert list(state) == list(zoo.create_model(name).state_dict())


@pytest.mark.parametrize("name", FAMILIES)
def test_a_card_tells_how_large_a_network_is(name):
    rows = zoo.model_card(name).rows

    assert rows["numbers"] == f"{sum(p.size for p in zoo.create_model(name).parameters()):,} to train"
    assert f"class {type(zoo.create_model(name)).__name__} of module" in rows[name]


def test_a_card_is_text_and_a_table():
    gray = {"mean": (0.5,), "std": (0.25,)}
    card = zoo.model_card("resnet18", num_classes=10, in_chans=1, pretrained_cfg_overlay=gray)
    lines = repr(card).split("\n")

    assert lines[0] == "resnet18     class ResNet of module resnet"
    assert lines[1] == "images       (1, 224, 224), less (0.5,), divided by (0.25,)"
    assert "64 of 112 x 112, 64 of 56 x 56, 128 of 28 x 28, 256 of 14 x 14, 512 of 7 x 7" in lines[5]
    assert card._repr_html_().count("<tr>") == 7
    assert "&lt;b&gt;" in zoo.ModelCard({"a": "<b>"})._repr_html_()
    assert zoo.model_card("resnet18", pretrained_cfg={"crop_pct": 1.0}).rows["weights"] == "none are published"


@pytest.mark.parametrize("rate", ["drop_rate", "drop_path_rate"])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_rate_that_is_no_probability_is_refused_when_the_network_is_made(name, rate):
    if name == "digits_cnn" and rate == "drop_path_rate":
        pytest.skip("it has no blocks")

    with pytest.raises(jt.ArgumentError, match=rf"takes {rate} as a number from 0 to 1; found {rate}=2"):
        zoo.create_model(name, **{rate: 2.0})


def test_an_image_smaller_than_a_patch_and_a_window_of_nothing_are_refused_when_the_network_is_made():
    with pytest.raises(jt.ArgumentError, match=r"found img_size=9 for patch_size=16\. Try: img_size=16"):
        zoo.create_model("vit_tiny_patch16_224", img_size=9)
    for size in (0, (7, 0), 2.5):
        with pytest.raises(jt.ArgumentError, match="SwinTransformer takes window_size as a whole number from 1"):
            zoo.create_model("swin_tiny_patch4_window7_224", window_size=size)
