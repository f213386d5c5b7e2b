"""Boxes that open and close: modules in modules, repeats, kernels; and the same places in Python and in the browser."""

import json
import random
import re
from itertools import combinations
from pathlib import Path

import pytest

from jt_edu.base.errors import ArgumentError
from jt_edu.draw import Picture
from jt_edu.draw.clusters import FIRST, MANY
from jt_edu.draw.scene import CARD, compose
from jt_edu.draw.svg import draw
from jt_edu.draw.text_metrics import width
from jt_edu.draw.visible_graph import view
from tests.floors import graphs
from tests.floors.draw.test_draw import inside, overlap
from tests.programs import program_at

GOLDEN = Path(__file__).parents[3] / "widgets" / "frontend" / "golden"


MAKER = program_at(GOLDEN / "make.py")
NETWORK = graphs.network(4)
ALL = None, (), {"m:Net", "g:Net"}, {"m:Net", "m:Net/body", "r:m:Net/body/0", "m:Net/body/1", "m:Net/body/1/a"}


@pytest.mark.parametrize("golden", list(MAKER.documents()), ids=lambda golden: golden[0])
def test_everything_stands_where_the_browser_puts_it(golden):
    name, document, options = golden
    written = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))

    assert written["document"] == document, "run widgets/frontend/golden/make.py"
    assert_near(json.loads(json.dumps(MAKER.places(document, options))), written["places"])


def assert_near(found, expected, where=""):
    if isinstance(expected, float):
        assert found == pytest.approx(expected, abs=1e-6), where
    elif isinstance(expected, (list, dict)):
        assert len(found) == len(expected), where
        for key in expected if isinstance(expected, dict) else range(len(expected)):
            assert_near(found[key], expected[key], f"{where}/{key}")
    else:
        assert found == expected, where


# ------------------------------------------------------------------------------------------------------- geometry


@pytest.fixture(params=[f"{how} {k}" for how in ("module", "none", "kernel") for k in range(len(ALL))] + ["again"])
def seen(request):
    if request.param == "again":
        return view(graphs.network(2, called_again=True), group="module", shapes=True)
    how, k = request.param.split()
    return view(NETWORK, group=how, opened=ALL[int(k)], shapes=k == "2")


def rectangles(scene):
    cards = [(p.x, p.y, p.x + p.width, p.y + CARD) for p in scene.cards]
    return cards + [(x, y - 9, x + width(words, 11, "mono"), y + 2) for x, y, words in scene.labels]


def outsides(scene):
    return [(o.x - o.left, o.y, o.x + o.right, o.y + o.height) for o in (frame.outside for frame in scene.frames)]


def test_no_two_boxes_overlap(seen):
    scene = compose(seen)

    assert [pair for pair in combinations(rectangles(scene), 2) if overlap(*pair)] == []


def test_a_box_is_inside_of_a_frame_or_outside(seen):
    scene = compose(seen)
    frames = outsides(scene)

    assert [(b, f) for b in rectangles(scene) for f in frames if overlap(b, f) and not inside(b, f)] == []
    assert [p for p in combinations(frames, 2) if overlap(*p) and not inside(*p) and not inside(*p[::-1])] == []


def test_lines_go_down(seen):
    for _, line, points in compose(seen).lines:
        heights = [y for _, y in points]
        assert heights == sorted(heights), line
        assert heights[0] < heights[-1], line


def test_ranks_grow_along_every_line(seen):
    for line in seen.lines:
        a, b = seen.cards[line.source], seen.cards[line.target]
        if a.path == b.path:
            assert seen.ranks[a.id] < seen.ranks[b.id]


def test_every_node_is_shown_by_a_card_or_by_a_chip(seen):
    drawn = {i for card in seen.cards.values() for i in card.nodes}
    aside = [node for node in seen.nodes.values() if node["id"] not in drawn]

    assert {node["kind"] for node in aside} <= {"source", "constant"}
    assert sum(len(card.nodes) for card in seen.cards.values()) == len(drawn)


def test_the_picture_can_be_written(seen):
    assert "</svg>" in draw(compose(seen), "jt0", "A graph.", seen.notes)


def test_a_picture_of_modules_is_another_than_that_of_kernels():
    kernels, modules = Picture(NETWORK, group="kernel"), Picture(NETWORK)
    closed = Picture(NETWORK, group="kernel", opened={"k1", "k2"})

    assert "Block × 4" in modules.svg
    assert "Block × 4" not in kernels.svg
    assert len({re.search('id="(jt[^"]+)"', picture.svg)[1] for picture in (kernels, modules, closed)}) == 3


# ------------------------------------------------------------------------------------------------------ what is in it


def test_modules_hold_each_other_and_gradients_have_boxes_of_their_own():
    groups = view(NETWORK, group="module").groups

    assert [g.key for g in groups["m:Net"].groups] == ["m:Net/start", "m:Net/body"]
    assert groups["m:Net/body/0/a"].parent is groups["m:Net/body/0"]
    assert groups["m:Net/body/0"].made == "Block"
    assert {g.gradient for key, g in groups.items() if key.startswith("g:")} == {True}


def test_neighbours_that_look_the_same_are_one_box_that_opens():
    closed = view(NETWORK, group="module", opened={"m:Net", "m:Net/body"})
    opened = view(NETWORK, group="module", opened={"m:Net", "m:Net/body", "r:m:Net/body/0"})
    never = view(NETWORK, group="module", opened={"m:Net", "m:Net/body"}, fold=False)

    assert closed.cards["r:m:Net/body/0"].name == "Block × 4"
    assert [key for key in opened.cards if str(key).startswith("m:Net/body")] == [f"m:Net/body/{k}" for k in range(4)]
    assert "r:m:Net/body/0" not in never.groups


def test_a_closed_box_says_how_much_is_in_it():
    card = view(NETWORK, group="module", opened=()).cards["m:Net"]

    assert card.facts == "35 ops · 17 kernels · 34.8 kB"
    assert [chip.text for chip in card.left] == ["18 parameters"]


def test_parameters_are_chips_with_their_last_name_and_shape():
    seen = view(NETWORK, group="module", opened={"m:Net"})

    assert [chip.text for chip in seen.cards["m:Net/start"].left] == ["weight (64, 64)", "bias (64,)"]
    assert "body.0.a.weight" not in {card.name for card in seen.cards.values()}


def test_a_line_from_a_closed_box_says_what_it_carries():
    seen = view(NETWORK, group="module", opened={"m:Net"})

    assert "(8, 64) float32 · 2.05 kB" in [words for _, _, words in compose(seen).labels]
    assert "start → body · (8, 64) float32 · 2.05 kB" in [line.tip for line in seen.lines]


def test_a_module_that_is_called_again_gets_a_box_for_each_call():
    groups = view(graphs.network(1, called_again=True), group="module").groups

    assert {"m:Net", "m:Net#2", "m:Net/start", "m:Net#2/start"} <= set(groups)


def test_boxes_never_wait_for_each_other_in_a_circle():
    rng = random.Random(1)
    for _ in range(20):
        n = graphs.Maker()
        n.source("x")
        for k in range(1, 60):
            module = rng.choice(["", "A", "A/b", "B", "B/c/d"])
            n("f", rng.randrange(k), rng.randrange(max(0, k - 3), k), module=module, where=f"line {rng.randrange(3)}")
        seen = view(n.document(59), group="module", opened=())
        pairs = [(i, card.id) for card in seen.cards.values() for i in card.inputs]
        assert all(seen.ranks[a] < seen.ranks[b] for a, b in pairs)


def test_at_first_as_much_is_open_as_one_can_look_at():
    small, large = view(graphs.made_inputs(), group="module"), view(graphs.network(24), group="module")

    assert {card.kind for card in small.cards.values()} & {"module"} == set()
    assert 5 < len(large.cards) <= FIRST[1]
    closed = [card for card in large.cards.values() if card.box]
    shown = len(large.nodes) - sum(len(card.nodes) for card in closed)
    assert large.notes == [
        f"Showing {shown} of {len(large.nodes)} nodes; the others are in {len(closed)} closed boxes."
    ]


def test_a_long_graph_without_modules_is_cut_into_parts():
    seen = view(graphs.chain(5000), group="module")
    everything = view(graphs.chain(5000), group="module", opened=set(seen.groups), most=10_000)

    assert len(seen.cards) <= MANY
    assert {card.kind for card in seen.cards.values()} == {"part"}
    assert len(everything.cards) == 5001


def test_opening_a_box_leaves_the_others_in_their_order():
    closed = view(NETWORK, group="module", opened={"m:Net"})
    opened = view(NETWORK, group="module", opened={"m:Net", "m:Net/start"})

    assert closed.cards.keys() - opened.cards.keys() == {"m:Net/start"}
    for one in (closed, opened):
        first = [card.nodes[0] for card in one.cards.values()]
        assert first == sorted(first), "inputs first, as in the document"
    assert opened.cards.keys() - closed.cards.keys() == set(closed.cards["m:Net/start"].nodes)


def test_the_way_to_a_node_opens_it():
    seen = view(NETWORK, group="module", opened=())
    node = next(node["id"] for node in NETWORK["nodes"] if node.get("module") == "Net/body/2/b")
    way = [group.key for group in seen.groups.values() if node in group.nodes]  # outer ones come first

    assert way == ["m:Net", "m:Net/body", "r:m:Net/body/0", "m:Net/body/2", "m:Net/body/2/b"]
    assert node not in seen.cards
    assert node in view(NETWORK, group="module", opened=way).cards


def test_kernels_can_be_opened_one_by_one():
    seen = view(NETWORK, group="kernel", opened={"k0", "k1"})

    assert seen.opened == {"k1"}, "a kernel of one node needs no box"
    assert {card.kind for card in seen.cards.values()} >= {"kernel", "elementwise"}


# ---------------------------------------------------------------------------------------------------------- strangers


@pytest.mark.parametrize(
    "node",
    [
        {"id": 1, "op": "f", "inputs": [1, 2, 999, None, {}], "module": "/".join("a" * 5000)},
        {"id": 1, "op": "f", "inputs": None, "shape": "no", "module": "x" * 100_000, "modules": [None]},
        {"id": "m:A", "op": "f", "inputs": ["m:A"], "module": "A", "shape": [10**400, -1, True]},
        {"id": -1, "op": None, "kind": ["?"], "name": 7, "where": 1.5, "module": "A//B/", "kernel": 3},
    ],
)
def test_a_strange_node_is_drawn_all_the_same(node):
    document = {"nodes": [{"id": 0, "op": "g", "inputs": [1, "m:A"], "module": "A"}, node, {"id": 2, "op": "h"}]}
    for how in ("module", "kernel", "none"):
        assert compose(view(document, group=how)).cards


def test_a_node_without_an_id_is_refused():
    with pytest.raises(ArgumentError, match=r"found \[1\]"):
        view({"nodes": [{"id": [1], "op": "f"}]})


def test_another_way_to_group_is_refused():
    with pytest.raises(ArgumentError, match="found 'layer'"):
        view(NETWORK, group="layer")


@pytest.mark.parametrize("how", ["module", "kernel", "none"])
def test_a_hundred_thousand_nodes_are_cut(how):
    nodes = [{"id": k, "op": "f", "inputs": [k - 1, k // 2], "module": f"A/{k % 7}"} for k in range(100_000)]

    assert len(compose(view({"nodes": nodes}, group=how)).cards) <= 400
