"""yacs beside ours: the same operations, drawn at random, have the same results, errors and printed forms."""

import random

import pytest

from jt_edu.config import CfgNode

SEQUENCES, STEPS = 200, 25
KEYS = ["A", "B", "LR", "SUB", "DEEP"]
VALUES = [1, 0, 0.5, True, None, "x", "7", "1e-3", "(1, 2)", "[3]", "a/b", "None", "", (1, 2), (), [1], ["x"], "'q'"]
ODD = [{1}, 1j, b"x"]


def tree(draw):
    """Plain dicts, three deep."""
    found = {key: draw.choice(VALUES) for key in draw.sample(KEYS, 3)}
    if draw.random() < 0.7:
        found["SUB"] = {key: draw.choice(VALUES) for key in draw.sample(KEYS, 2)}
        if draw.random() < 0.5:
            found["SUB"]["DEEP"] = {"A": draw.choice(VALUES)} if draw.random() < 0.8 else {}
    return found


def path(draw):
    return ".".join(draw.sample(["SUB", "DEEP", "A", "LR", "B"], draw.choice([1, 1, 2, 3])))


def pairs(draw):
    found = [one for _ in range(draw.randint(1, 3)) for one in (path(draw), draw.choice(VALUES))]
    return found[:-1] if draw.random() < 0.1 else found


def node(cfg, names):
    for name in names:
        if isinstance(cfg, dict) and isinstance(cfg.get(name), type(cfg)):
            cfg = cfg[name]
    return cfg


def operations(draw):
    """One operation on a config of either library."""
    where, key, value = draw.choice([(), ("SUB",), ("SUB", "DEEP")]), draw.choice(KEYS), draw.choice(VALUES + ODD)
    more, listed, full, other = tree(draw), pairs(draw), path(draw), path(draw)
    new, flag = draw.random() < 0.3, draw.random() < 0.5
    return draw.choice([
        lambda cfg: setattr(node(cfg, where), key, value),
        lambda cfg: setattr(node(cfg, where), key, type(cfg)(more)),
        lambda cfg: setattr(cfg, type(cfg).IMMUTABLE, 1),
        lambda cfg: getattr(node(cfg, where), key),
        lambda cfg: node(cfg, where).__setitem__(key, draw_valid(value)),
        lambda cfg: node(cfg, where).pop(key, None),
        lambda cfg: node(cfg, where).update({key: draw_valid(value)}),
        lambda cfg: node(cfg, where).clear() if flag and new else None,
        lambda cfg: cfg.merge_from_list(listed),
        lambda cfg: cfg.merge_from_other_cfg(type(cfg)(more, new_allowed=new)),
        lambda cfg: cfg.merge_from_other_cfg(cfg.load_cfg(type(cfg)(more).dump())),
        lambda cfg: cfg.merge_from_other_cfg(more),
        lambda cfg: node(cfg, where).freeze(),
        lambda cfg: node(cfg, where).defrost(),
        lambda cfg: node(cfg, where).is_frozen(),
        lambda cfg: node(cfg, where).set_new_allowed(flag),
        lambda cfg: node(cfg, where).is_new_allowed(),
        lambda cfg: cfg.register_deprecated_key(full),
        lambda cfg: cfg.register_renamed_key(full, other, "why" if flag else None),
        lambda cfg: cfg.key_is_deprecated(full),
        lambda cfg: cfg.key_is_renamed(full),
        lambda cfg: cfg.clone(),
        lambda cfg: cfg.dump(),
        lambda cfg: type(cfg)({"SUB": {key: value}}),
    ])  # fmt: skip


def draw_valid(value):
    """Items are not looked at by either library; a set in a config has no fixed printed form."""
    return 2 if isinstance(value, set) else value


def told(cfg, operation):
    """The answer, or the kind of the error; and the config afterwards."""
    try:
        said = operation(cfg)
    except Exception as error:  # noqa: BLE001  both raise what they raise
        return error, str(cfg), repr(cfg), flags(cfg)
    return repr(said), str(cfg), repr(cfg), flags(cfg)


def flags(cfg):
    below = [flags(value) for value in cfg.values() if isinstance(value, type(cfg))]
    return [cfg.is_frozen(), cfg.is_new_allowed(), below]


@pytest.mark.parametrize("block", range(4))
def test_random_sequences_of_operations_do_what_they_do_in_yacs(yacs, block):
    raised = set()
    for number in range(block * SEQUENCES // 4, (block + 1) * SEQUENCES // 4):
        draw = random.Random(number)
        start = tree(draw)
        ours, theirs = CfgNode(start), yacs.CfgNode(start)
        for step in range(STEPS):
            operation = operations(draw)
            (said, *state), (wanted, *their_state) = told(ours, operation), told(theirs, operation)

            assert state == their_state, (number, step)
            if not isinstance(wanted, Exception):
                assert said == wanted, (number, step)
            elif type(wanted) is not TypeError:  # of a path through a value, where yacs asks a number what is in it
                assert isinstance(said, type(wanted)), (number, step, said, wanted)
                raised.add(type(wanted).__name__)
            else:
                assert isinstance(said, KeyError), (number, step, said, wanted)

    assert raised >= {"AssertionError", "AttributeError", "KeyError", "ValueError"}


@pytest.mark.parametrize("value", [*VALUES, *ODD, {"A": 1}, "{'A': 1}", "0x10", "1_000", " 5", "-3", "True"])
@pytest.mark.parametrize("before", [1, 0.5, True, None, "x", (1,), [1], {"A": 1}])
def test_each_value_in_the_place_of_each_other_is_taken_or_refused_as_in_yacs(yacs, before, value):
    answers = []
    for kind in (CfgNode, yacs.CfgNode):
        for merge in (
            lambda c, k: c.merge_from_list(["K", value]),
            lambda c, k: c.merge_from_other_cfg(k({"K": value})),
        ):
            cfg = kind({"K": before})
            try:
                merge(cfg, kind)
                answers.append(repr(cfg))
            except (ValueError, AssertionError, KeyError) as error:
                answers.append(error)

    for ours, theirs in zip(answers[:2], answers[2:], strict=True):
        assert isinstance(ours, type(theirs)) if isinstance(theirs, Exception) else ours == theirs


@pytest.mark.parametrize(
    "text",
    ["", "A: 1", "A: {B: 1e-3, C: 1.0e-3}", "A: [1, [2]]", "A: yes", "A:\n  - x", "A: null", "A: 0o17", "A: 017"],
)
def test_a_text_is_read_and_printed_as_in_yacs(yacs, text):
    ours, theirs = CfgNode.load_cfg(text), yacs.CfgNode.load_cfg(text)

    assert [str(ours), repr(ours), ours.dump()] == [str(theirs), repr(theirs), theirs.dump()]


def test_texts_that_yacs_refuses_are_refused_with_errors_that_are_its_own_as_well(yacs):
    for text in ("A: [1", "A: !!python/name:os.system", "A: 2020-01-01", "A: !!binary aGk="):
        with pytest.raises(Exception) as theirs:
            yacs.CfgNode.load_cfg(text)
        with pytest.raises(Exception) as ours:
            CfgNode.load_cfg(text)

        bases = {kind.__name__ for kind in type(theirs.value).__mro__} & {"YAMLError", "AssertionError"}
        assert bases <= {kind.__name__ for kind in type(ours.value).__mro__}
        assert bases


def test_the_public_names_are_those_of_yacs_so_that_any_other_can_be_a_setting(yacs):
    ours, theirs = ({name for name in dir(kind) if not name.startswith("_")} for kind in (CfgNode, yacs.CfgNode))

    assert ours == theirs
