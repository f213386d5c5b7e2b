"""CfgNode: a tree of settings that behaves as yacs 0.1.8."""

import copy
import io
import pickle

import pytest
import yaml

import jt_edu as jt
from jt_edu.config import CN, CfgNode, ConfigError, FrozenError, UnknownSettingError, diff, load_cfg


@pytest.fixture
def cfg():
    """A tree of three levels."""
    return CN({
        "LR": 0.1, "NAME": "test", "STEPS": 10, "AMP": False, "TAG": None, "SIZES": (1, 2),
        "MODEL": {"TYPE": "swin", "SWIN": {"DEPTHS": [2, 2, 6, 2], "DROP": 0.2}},
    })  # fmt: skip


# -------------------------------------------------------------------------------------------------- reading and print


def test_a_nested_config_prints_as_yaml_sorted_by_key():
    tree = CN()
    tree.name = "test"
    tree.model = CN()
    tree.model.depth = 18
    tree.model.backbone = "resnet"

    assert str(tree) == "model:\n  backbone: resnet\n  depth: 18\nname: test"
    assert repr(tree) == "CfgNode({'name': 'test', 'model': CfgNode({'depth': 18, 'backbone': 'resnet'})})"


def test_keys_of_several_types_print_as_well():
    assert str(CN({"b": 1, 2: 3, 10: 4})) == "2: 3\n10: 4\nb: 1"


def test_a_name_that_is_not_there_is_told_with_one_like_it(cfg):
    with pytest.raises(AttributeError, match=r"offers no STEP\. Try: cfg\.STEPS"):
        _ = cfg.STEP
    assert not hasattr(cfg, "WIDTH")
    assert getattr(cfg.MODEL, "WIDTH", 3) == 3


def test_the_dict_that_a_config_was_made_of_stays_its_own():
    given = {"A": {"B": [1]}}
    tree = CN(given)

    tree.A.B.append(2)

    assert given == {"A": {"B": [1]}}
    assert type(tree.A) is CfgNode


@pytest.mark.parametrize("value", [{1, 2}, 1j, b"x", object(), float, type("Mine", (int,), {})(3)])
def test_values_that_yaml_cannot_hold_are_refused_with_their_path(cfg, value):
    with pytest.raises(AssertionError, match=r"found A\.B = .*of type"):
        CN({"A": {"B": value}})
    with pytest.raises(AssertionError, match=r"found NEW = "):
        cfg.NEW = value
    cfg["NEW"] = value  # not looked at, as in yacs, before it is written
    with pytest.raises(AssertionError, match="found NEW = "):
        cfg.dump()


@pytest.mark.parametrize("given", ["text", [1], 3])
def test_what_is_no_dict_is_refused(given):
    with pytest.raises(ConfigError, match="a config is made of a dict; found"):
        CN(given)


def test_its_own_state_cannot_be_set(cfg):
    with pytest.raises(AssertionError, match="found __immutable__"):
        cfg.__setattr__(CfgNode.IMMUTABLE, 3)


def test_copies_and_pickles_share_nothing_and_keep_the_state(cfg):
    cfg.freeze()
    cfg.set_new_allowed(True)

    for other in (cfg.clone(), copy.deepcopy(cfg), pickle.loads(pickle.dumps(cfg))):  # noqa: S301  our own
        assert other == cfg
        assert other.is_frozen()
        assert other.MODEL.is_new_allowed()
        other["MODEL"]["SWIN"]["DEPTHS"][0] = 9
        assert cfg.MODEL.SWIN.DEPTHS[0] == 2


# -------------------------------------------------------------------------------------------------------------- freeze


def test_a_frozen_config_refuses_attributes_here_and_below(cfg):
    cfg.freeze()

    with pytest.raises(FrozenError, match=r"found LR = 0\.2. Try: cfg\.defrost\(\) before"):
        cfg.LR = 0.2
    with pytest.raises(AttributeError, match="found TYPE = 'vit'"):
        cfg.MODEL.TYPE = "vit"
    assert cfg.is_frozen()
    cfg.defrost()
    cfg.MODEL.TYPE = "vit"
    assert (cfg.MODEL.TYPE, cfg.is_frozen()) == ("vit", False)


def test_items_update_merges_and_clear_go_through_a_frozen_config_as_in_yacs(cfg, capsys):
    cfg.freeze()

    cfg["LR"] = 0.2
    cfg.update(NAME="other")
    cfg.merge_from_list(["STEPS", "20"])
    assert (cfg.LR, cfg.NAME, cfg.STEPS) == (0.2, "other", 20)

    print(cfg.clear())
    assert capsys.readouterr().out == "None\n"
    assert cfg == {}
    assert cfg.is_frozen()


# ------------------------------------------------------------------------------------------------------------- merging


def test_a_list_of_pairs_is_read_as_literals(cfg):
    cfg.merge_from_list(
        ["LR", "1e-3", "MODEL.SWIN.DEPTHS", "(2, 18)", "SIZES", [3], "NAME", "a/b", "TAG", "7", "AMP", True]
    )

    assert (cfg.LR, cfg.MODEL.SWIN.DEPTHS, cfg.SIZES) == (0.001, [2, 18], (3,))
    assert (cfg.NAME, cfg.TAG, cfg.AMP) == ("a/b", 7, True)


@pytest.mark.parametrize(
    ("pairs", "kind", "words"),
    [
        (["LR"], AssertionError, r"pairs of a path and a value; found \['LR'\]"),
        (["MODEL.SWIN.DEPTS", 1], AssertionError, r"'MODEL\.SWIN\.DEPTS'\. Try: MODEL\.SWIN\.DEPTHS"),
        (["MODLE.SWIN.DEPTHS", 1], KeyError, r"'MODLE\.SWIN\.DEPTHS'\. Try: MODEL\.SWIN\.DEPTHS"),
        (["name", 1], KeyError, r"'name'\. Try: NAME"),
        (["LR.BASE", 1], KeyError, r"'LR\.BASE'"),
        (["LR", 1], ValueError, r"^LR keeps its type; found 1, of type int, for 0\.1, of type float\. Try: 1\.0"),
        (["AMP", 1], ValueError, "AMP keeps its type"),
        (["STEPS", True], ValueError, "STEPS keeps its type"),
        (["STEPS", 1.0], ValueError, "STEPS keeps its type"),
        (["MODEL", None], ValueError, "MODEL keeps its type"),
        (["MODEL.SWIN.DEPTHS", "2"], ValueError, r"MODEL\.SWIN\.DEPTHS keeps its type"),
    ],
)
def test_a_pair_that_does_not_fit_is_refused_with_its_whole_path(cfg, pairs, kind, words):
    before = cfg.clone()

    with pytest.raises(kind, match=words) as caught:
        cfg.merge_from_list(pairs)

    assert isinstance(caught.value, jt.ArgumentError)
    assert cfg == before


@pytest.mark.parametrize(
    "text", ["__import__('os').getcwd()", "-" * 100_000 + "1", "1+" * 100_000 + "1j", "{[]: 1}", "9" * 5000, "[" * 300]
)
def test_a_text_that_is_no_literal_stays_a_text_and_nothing_runs(cfg, text):
    cfg.merge_from_list(["NAME", text])

    assert text == cfg.NAME


def test_a_config_over_another_changes_only_its_keys(cfg):
    cfg.merge_from_other_cfg(CN({"MODEL": {"SWIN": {"DROP": 0.3}}}))

    assert diff(cfg, CN({**cfg, "MODEL": {"TYPE": "swin", "SWIN": {"DEPTHS": [2, 2, 6, 2], "DROP": 0.2}}})) == {
        "MODEL.SWIN.DROP": (0.2, 0.3)
    }


def test_an_unknown_key_names_its_path_and_what_is_like_it(cfg):
    with pytest.raises(KeyError, match=r"'MODEL\.SWIN\.DROPS'\. Try: MODEL\.SWIN\.DROP"):
        cfg.merge_from_other_cfg(CN({"MODEL": {"SWIN": {"DROPS": 0.3}}}))
    with pytest.raises(AssertionError, match="merged with a CfgNode; found"):
        cfg.merge_from_other_cfg({"LR": 0.2})


def test_new_keys_are_allowed_where_that_was_said():
    top, everywhere = CN({"A": {"B": 1}}, new_allowed=True), CN({"A": {"B": 1}})
    everywhere.set_new_allowed(True)
    more = CN({"A": {"C": "2"}, "D": 3})

    everywhere.merge_from_other_cfg(more)
    assert everywhere == {"A": {"B": 1, "C": 2}, "D": 3}
    top.merge_from_other_cfg(CN({"D": 3}))
    with pytest.raises(UnknownSettingError, match=r"'A\.C'"):  # the nodes below were not told: as in yacs
        top.merge_from_other_cfg(more)
    everywhere.set_new_allowed(False)
    assert not everywhere.A.is_new_allowed()


def test_a_deprecated_key_is_passed_over_with_a_warning(cfg, caplog):
    cfg.register_deprecated_key("MODEL.OLD")

    cfg.merge_from_list(["MODEL.OLD", 1])
    cfg.merge_from_other_cfg(CN({"MODEL": {"OLD": 1}}))

    assert "OLD" not in cfg.MODEL
    assert caplog.messages == ["MODEL.OLD is no longer a setting, and is passed over"] * 2
    assert not cfg.key_is_deprecated("LR")
    with pytest.raises(AssertionError, match=r"registered once; found 'MODEL\.OLD'"):
        cfg.register_deprecated_key("MODEL.OLD")


def test_a_renamed_key_tells_its_new_name(cfg):
    cfg.register_renamed_key("RATE", "LR", message="per image")
    cfg.register_renamed_key("MODEL.KIND", "MODEL.TYPE")

    with pytest.raises(KeyError, match=r"RATE was renamed to LR;.*Note: per image\."):
        cfg.merge_from_list(["RATE", 1])
    with pytest.raises(KeyError, match=r"Try: MODEL\.TYPE\."):
        cfg.merge_from_other_cfg(CN({"MODEL": {"KIND": 1}}))
    with pytest.raises(AssertionError, match="registered once; found 'RATE'"):
        cfg.register_renamed_key("RATE", "LR")
    with pytest.raises(KeyError, match="not renamed; found 'LR'"):
        cfg.raise_key_rename_error("LR")
    assert (cfg.key_is_renamed("RATE"), cfg.key_is_renamed("LR")) == (True, False)


# ---------------------------------------------------------------------------------------------------------------- YAML


def test_what_is_dumped_is_read_again(cfg):
    again = load_cfg(cfg.dump())

    assert again == {**cfg, "SIZES": [1, 2]}  # YAML has no tuples
    assert load_cfg("") == {}
    assert load_cfg(io.StringIO("LR: 0.1")).LR == 0.1
    assert cfg.MODEL.SWIN.dump(default_flow_style=True) == "{DEPTHS: [2, 2, 6, 2], DROP: 0.2}\n"


def test_a_list_with_an_object_in_it_cannot_be_dumped(cfg):
    cfg.SIZES = (object(),)

    with pytest.raises(yaml.YAMLError, match="a config is written as YAML; found"):
        cfg.dump()


# ---------------------------------------------------------------------------------------------------------- the display


def test_a_notebook_shows_a_tree_that_opens_and_closes(cfg):
    cfg.NAME = "<script>"
    page = cfg._repr_html_()

    assert page.count("<details open>") == 2
    assert "<b>DROP</b>  0.2" in page
    assert "<script>" not in page
    assert "<mark>" not in page


def test_differences_tell_both_values_and_mark_what_changed(cfg):
    mine = cfg.clone()
    mine.MODEL.SWIN.DEPTHS = [2, 18]
    mine.EXTRA = 1
    del mine["STEPS"]

    found = diff(mine, cfg)

    assert repr(found) == "EXTRA: ... -> 1\nMODEL.SWIN.DEPTHS: [2, 2, 6, 2] -> [2, 18]\nSTEPS: 10 -> ..."
    assert found["EXTRA"] == (..., 1)
    page = found._repr_html_()
    assert "<mark>[2, 18]</mark> <small>before: [2, 2, 6, 2]</small>" in page
    assert page.count("<mark>") == 3 and "Ellipsis" not in page
    assert repr(diff(cfg, cfg)) == "no differences"
    assert diff(CN({"A": 1}), CN({"A": True})) == {"A": (True, 1)}


def test_a_tree_counts_one_setting_as_one():
    page = CN({"AMP": {"DTYPE": "off"}, "TEST": {"CROP": True, "SIZE": 8}})._repr_html_()

    assert "1 setting<" in page and "2 settings<" in page
