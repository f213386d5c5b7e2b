"""Drawing: nothing overlaps, lines go down, words fit, strangers' text stays text, the same graph is the same bytes."""

import json
import random
import re
import sys
import time
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import pytest

import jt_edu as jt
from jt_edu.base.errors import ArgumentError, BackendError
from jt_edu.draw import Picture
from jt_edu.draw.bars import Bar, bars_svg
from jt_edu.draw.charts import training
from jt_edu.draw.dot import dot_text
from jt_edu.draw.lanes import lanes_svg
from jt_edu.draw.layout import Box, Link, place, ranks
from jt_edu.draw.lifetimes import lifetimes_svg
from jt_edu.draw.scene import CARD, CHIP, label
from jt_edu.draw.tape import tape_svg
from jt_edu.draw.text_metrics import bytes_text, clean, width
from jt_edu.draw.theme import COLOURS, INK, PAPER
from jt_edu.draw.x_coordinates import isotonic
from tests.floors import graphs


def parse(svg):
    return ET.fromstring(svg)  # noqa: S314  it is our own


def chance(seed):
    return random.Random(seed)


DOCUMENTS = {
    "nothing": graphs.Maker().document(),
    "one node": graphs.chain(0),
    "(a * b + c).sum()": graphs.multiply_add_sum(),
    "softmax": graphs.softmax(),
    "nothing fused": graphs.plain(),
    "training step": graphs.training_step(),
    "chain": graphs.chain(40),
    "chain in kernels": graphs.chain(40, 8),
    "chain in one kernel": graphs.chain(60, 60),
    "long chain": graphs.chain(600),
    "long chain in kernels": graphs.chain(600, 7),
    "diamonds": graphs.diamonds(12),
    "residual": graphs.residual(6),
    "residual in kernels": graphs.residual(6, kernels=True),
    "training": graphs.mirrored(7),
    "training in kernels": graphs.mirrored(7, kernels=True),
    "large training": graphs.mirrored(200, kernels=True),
    "fan": graphs.fan(30),
    **{f"scattered {seed}": graphs.scattered(chance(seed), 12 + 13 * seed, seed % 2) for seed in range(8)},
}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(params=DOCUMENTS)
def picture(request):
    return Picture(DOCUMENTS[request.param])


def boxes(picture):
    """Rectangles of cards, chips and labels: (left, top, right, bottom)."""
    scene = picture._scene
    cards = [(p.x, p.y, p.x + p.width, p.y + CARD) for p in scene.cards]
    chips = []
    for rect in parse(picture.svg).iter(f"{SVG}rect"):
        x, y, w, h = (float(rect.get(name, 0)) for name in ("x", "y", "width", "height"))
        if h == CHIP:
            chips.append((x, y, x + w, y + h))
    labels = [(x, y - 9, x + width(words, 11, "mono"), y + 2) for x, y, words in scene.labels]
    return cards + chips + labels


def frames(picture):
    return [
        (o.x - o.left, o.y, o.x + o.right, o.y + o.height) for o in (frame.outside for frame in picture._scene.frames)
    ]


def overlap(a, b):
    return a[0] < b[2] - 0.1 and b[0] < a[2] - 0.1 and a[1] < b[3] - 0.1 and b[1] < a[3] - 0.1


def inside(a, b):
    return b[0] - 0.1 <= a[0] and a[2] <= b[2] + 0.1 and b[1] - 0.1 <= a[1] and a[3] <= b[3] + 0.1


def walk(points):
    """Points along a line as it is drawn: straight pieces, and bends with upright ends."""
    for (x, y), (px, py) in pairwise(points):
        for step in range(1, 8):
            t = step / 8
            yield x + (px - x) * (3 * t**2 - 2 * t**3), y + (py - y) * (1.5 * (t - t**2) + t**3)


# ------------------------------------------------------------------------------------------------------- geometry


def test_no_two_boxes_overlap(picture):
    assert [pair for pair in combinations(boxes(picture), 2) if overlap(*pair)] == []


def test_a_box_is_inside_of_one_frame_or_outside_of_all(picture):
    assert [(b, f) for b in boxes(picture) for f in frames(picture) if overlap(b, f) and not inside(b, f)] == []
    assert [pair for pair in combinations(frames(picture), 2) if overlap(*pair)] == []


def test_lines_go_down(picture):
    for _, line, points in picture._scene.lines:
        heights = [y for _, y in points]
        assert heights == sorted(heights), line
        assert heights[0] < heights[-1], line


def test_lines_go_round_boxes(picture):
    blocks = boxes(picture)
    hit = [
        (line.tip, block)
        for _, line, points in picture._scene.lines
        for x, y in walk(points)
        for block in blocks
        if block[0] + 1 < x < block[2] - 1 and block[1] + 1 < y < block[3] - 1
    ]

    assert hit == []


def test_everything_is_inside_of_the_picture(picture):
    root = parse(picture.svg)
    margin = 20
    room = (-margin, -margin, float(root.get("width")) - margin, float(root.get("height")) - margin)

    assert [box for box in boxes(picture) + frames(picture) if not inside(box, room)] == []


def test_words_fit_their_box(picture):
    styles = {"c": (11, "caps"), "f": (11.5, "mono"), "i": (11, "mono"), "m": (11, "mono"), None: (13, "bold")}
    scene = picture._scene
    for card, group in zip(scene.cards, cards_of(picture), strict=True):
        texts = group.findall(f"{SVG}text")
        spans = []
        for text in texts:
            words, x = "".join(text.itertext()), float(text.get("x"))
            long = width(words, *styles[text.get("class")])
            spans.append((x - long, x) if text.get("text-anchor") == "end" else (x, x + long))
        for left, right in (spans[:2], spans[2:]):
            assert card.x + 12 <= left[0]
            assert left[1] + 4 <= right[0], "".join(texts[0].itertext())
            assert right[1] <= card.x + card.width - 12


def cards_of(picture):
    return [g for g in parse(picture.svg).iter(f"{SVG}g") if "-n" in g.get("id", "")]


def test_no_letter_is_smaller_than_11_pixels(picture):
    sizes = [float(size) for size in re.findall(r"([\d.]+)px", picture.svg)]

    assert min(sizes) >= 11


def test_words_are_told_apart_from_their_ground_in_light_and_dark():
    for k in (0, 1):
        ink, paper = rgb(INK[k]), rgb(PAPER[k])
        for colour in map(rgb, COLOURS.values()):
            ground = blend(colour, 20, paper)
            assert contrast(blend(ink, 74, paper), ground) >= 4.5
            assert contrast(blend(colour, 45, ink), ground) >= 4.5


def rgb(colour):
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def blend(a, percent, b):
    return [(x * percent + y * (100 - percent)) / 100 for x, y in zip(a, b, strict=True)]


def contrast(a, b):
    """As the Web Content Accessibility Guidelines count it: 1 to 21."""
    light = sorted(
        sum(
            w * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
            for w, c in zip((0.2126, 0.7152, 0.0722), colour, strict=True)
        )
        for colour in (a, b)
    )
    return (light[1] + 0.05) / (light[0] + 0.05)


# ----------------------------------------------------------------------------------------------------------- text


def test_the_same_document_gives_the_same_bytes(picture):
    before = json.dumps(picture.document)

    again = Picture(json.loads(before))

    assert again.svg.encode() == picture.svg.encode()
    assert json.dumps(again.document) == before


def test_every_node_is_in_the_table(picture):
    rows = picture.text.splitlines()[2:]

    assert [row.split()[0] for row in rows] == [str(node["id"]) for node in picture.document["nodes"]]


def test_every_node_and_kernel_is_in_dot(picture):
    text = dot_text(picture.document)

    for node in picture.document["nodes"]:
        assert re.search(rf'^\s*"{node["id"]}" \[label=', text, re.MULTILINE)
    for kernel in picture.document["kernels"]:
        assert f'subgraph "cluster_{kernel["id"]}"' in text
    assert text.count(" -> ") == sum(len(node["inputs"]) for node in picture.document["nodes"])


def test_a_row_says_it_all():
    text = repr(Picture(graphs.multiply_add_sum()))

    assert text.splitlines()[0] == "A graph of 7 nodes in 1 kernel: a, b and c go in, y () float32 comes out."
    assert text.splitlines()[-1].split("  ")[0] == "6"
    for word in ("y", "sum", "()", "float32", "stored, output", "line 2: y = (a * b + c).sum()"):
        assert word in text.splitlines()[-1]


def test_a_long_table_is_cut_when_it_is_only_looked_at():
    picture = Picture(graphs.chain(1000))

    assert repr(picture).splitlines()[-1] == "… and 801 nodes more: see .text"
    assert len(picture.text.splitlines()) == 1003


@pytest.mark.parametrize(
    ("shape", "dtype", "text"),
    [
        ([], "float32", "4 B"),
        ([3], "bool", "3 B"),
        ([2, 3], "bfloat16", "12 B"),
        ([1000], "float64", "8 kB"),
        ([784, 128], "float32", "401 kB"),
        ([0, 5], "float32", ""),
        ([2], "what", ""),
    ],
)
def test_sizes_are_told_in_bytes(shape, dtype, text):
    assert bytes_text({"shape": shape, "dtype": dtype}) == text


# ------------------------------------------------------------------------------------------------------ strangers

EVIL = [
    "<script>alert(1)</script>",
    "]]><script>",
    """"' onload='alert(1)""",
    "&lt;&#x3c;",
    "a\x00b\x1b[31m\ud800",
    "\u202egnp.exe",
    "</style></svg><img src=x onerror=alert(1)>",
    'a\nb\\N"; rm',
]  # fmt: skip


@pytest.mark.parametrize("evil", EVIL)
def test_names_stay_text(evil, tmp_path):
    document = graphs.training_step()
    for node in document["nodes"]:
        node.update(name=evil, label=evil, where=evil, value=evil, dtype=evil)
    for kernel in document["kernels"]:
        kernel.update(name=evil, id=f"{kernel['id']}{evil}")
    for node in document["nodes"]:
        node.update(id=f"{node['id']}{evil}", inputs=[f"{i}{evil}" for i in node["inputs"]])
        node["kernel"] = None if node["kernel"] is None else f"{node['kernel']}{evil}"
    document["outputs"] = [f"{i}{evil}" for i in document["outputs"]]
    for edge in document["edges"]:
        edge.update(rule=evil, reason=evil)
    picture = Picture(document)

    page = Picture(document).save(tmp_path / "graph.html").read_text(encoding="utf-8")
    root = parse(picture.svg.encode())
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}

    assert tags <= {"svg", "title", "desc", "style", "defs", "marker", "rect", "g", "path", "text", "tspan"}
    assert not [name for element in root.iter() for name in element.attrib if name.startswith("on")]
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("<style>") == 2
    for row in dot_text(document).splitlines():
        assert len(re.findall(r'(?<!\\)(?:\\\\)*"', row)) % 2 == 0


def lifetimes_of(evil):
    keeper = {"why": "held", "text": evil}
    box = {"node": 1, "bytes": 8, "from": 0, "to": 0, "offset": 0, "stays": True, "why": "held", "keepers": [keeper]}
    found = {"arrays": [box], "alive": [8], "peak": 8, "peak_kernel": 0, "height": 8}
    return lifetimes_svg(found, {1: {"name": evil, "op": evil}}, evil)


def tape_of(evil):
    nodes = [{"id": k, "name": evil, "op": evil, "shape": []} for k in range(2)]
    steps = [{"node": 0, "op": evil}, {"node": 1, "op": evil, "row": 0}]
    tape = {"steps": steps, "rows": 1, "leaves": [{"gradient": 1, "name": evil, "node": 0}]}
    return tape_svg({"tape": tape, "graph": {"nodes": nodes}, "values": {"0": {"mean": evil}}}, evil)


def training_of(evil):
    names = [evil, f"{evil} too"]
    row = {"step": 1, "loss": 1.0, "gradient": [1, 2], "ratio": [1, 2], "dead": [0, 1], "spike": True}
    return training("a training", {"rows": [row, {**row, "step": 2}], "modules": names, "units": names})


PICTURES = {
    "lifetimes": lifetimes_of,
    "tape": tape_of,
    "training": training_of,
    "bars": lambda evil: bars_svg([Bar(evil, 1.0, evil)], "two ways", "one wins"),
    "lanes": lambda evil: lanes_svg([], [], 2, 1, evil),
}


@pytest.mark.parametrize("kind", PICTURES)
def test_names_stay_text_in_every_picture(kind):
    tags = {element.tag.removeprefix(SVG) for element in parse(PICTURES[kind]("x")).iter()}

    for evil in EVIL:
        assert {element.tag.removeprefix(SVG) for element in parse(PICTURES[kind](evil)).iter()} == tags


def test_the_picture_needs_nothing_from_elsewhere(picture):
    assert "http" not in picture.svg.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert re.findall(r"url\(([^)]*)\)", picture.svg) == re.findall(r"url\((#jt[^)]*)\)", picture.svg)


def test_rules_speak_of_their_own_picture_only(picture):
    root = parse(picture.svg)
    rules = re.sub(r"@media\([^)]*\)\{(.*?\})\}", r"\1", root.find(f"{SVG}style").text)

    for selectors in re.findall(r"([^{}]+)\{", rules):
        assert all(one.startswith(f"#{root.get('id')}") for one in selectors.split(","))


def test_two_pictures_on_a_page_share_no_id():
    one, other = (Picture(DOCUMENTS[name]).svg for name in ("softmax", "training step"))

    assert not set(re.findall(r'\bid="([^"]+)"', one)) & set(re.findall(r'\bid="([^"]+)"', other))


def test_a_screen_reader_hears_a_sentence():
    root = parse(Picture(graphs.softmax()).svg)

    named = {element.get("id"): element.text for element in root}
    title, description = (named[name] for name in root.get("aria-labelledby").split())

    assert root.get("role") == "img"
    assert title == "A graph of 8 nodes in 1 kernel: x goes in, p (32, 10) float32 comes out."
    assert description.startswith("From top to bottom: 0 x (32, 10) float32; 1 max (32,) float32;")


@pytest.mark.parametrize("document", [{}, {"format": "jt_edu.graph", "version": 2}, {"format": "other", "version": 1}])
def test_other_documents_are_refused(document):
    with pytest.raises(
        ArgumentError, match=re.escape(f"{document.get('format')!r}, version {document.get('version')}")
    ):
        Picture(document)


def test_numbers_of_nodes_that_are_not_there_are_passed_over():
    document = graphs.softmax()
    document["nodes"][3]["inputs"] = [0, 999, 3]
    document["edges"].append({"source": 998, "target": 999, "fused": True})
    document["outputs"] = [7, 999]

    assert parse(Picture(document).svg) is not None
    assert "999" not in dot_text(document)


def test_kernels_that_wait_for_each_other_are_drawn_all_the_same():
    n = graphs.Maker()
    x = n.source("x")
    first = n("first", x, kernel=None)
    last = n("last", n("middle", first))
    document = n.document(last)
    for i, kernel in ((1, 0), (2, 1), (3, 0)):
        document["nodes"][i]["kernel"] = kernel
    document["nodes"].append({**document["nodes"][2], "id": 4, "inputs": [3]})
    document["kernels"] = [{"id": 0, "name": "a"}, {"id": 1, "name": "b"}]
    picture = Picture(document)

    assert len(picture._scene.cards) == 5
    assert [chip.text for chip in picture._view.cards[3].left] == ["↑ 2"]
    test_lines_go_down(picture)


# ----------------------------------------------------------------------------------------------------- what is shown


def test_sources_and_constants_are_chips_where_a_line_would_be_in_the_way():
    cards = Picture(graphs.training_step())._view.cards

    assert [chip.text for chip in cards[33].left] == ["0.1"], "0.1 * dW2: the constant stands on the left"
    assert [chip.text for chip in cards[22].right] == ["0"], "h > 0: here on the right"
    assert [chip.text for chip in cards[4].right] == ["↓ 20, 34"]
    assert "↑ W2 4" in [chip.text for chip in cards[34].left]


def test_a_long_edge_names_its_other_end():
    n = graphs.Maker()
    x = n("sin", n.source("x"), name="s")
    last = x
    for _ in range(5):
        last = n("exp", last)
    cards = Picture(n.document(n("add", last, x)))._view.cards

    assert [chip.text for chip in cards[1].right] == ["↓ 7"]
    assert [chip.text for chip in cards[7].right] == ["↑ s 1", "output"]


def test_a_line_tells_the_rule():
    svg = Picture(graphs.multiply_add_sum()).svg

    assert "mul → add · (2, 3) float32 · 24 B · elementwise chain · one loop computes both" in svg
    assert "3: mul · (2, 3) float32 · 24 B · notebook cell 3, line 2: y = (a * b + c).sum()" in svg


def test_a_line_between_kernels_says_what_it_carries():
    scene = Picture(graphs.training_step())._scene

    assert "(64, 128) float32 · 32.8 kB" in [words for _, _, words in scene.labels]
    assert all(how.startswith("thick") for how, line, _ in scene.lines if not line.fused)


def test_a_card_reads_as_the_line_that_made_it():
    y = cards_of(Picture(graphs.multiply_add_sum()))[-1]

    assert ["".join(text.itertext()) for text in y.findall(f"{SVG}text")] == [
        "y = sum", "REINDEX REDUCE", "() float32 = 21.0", "6",
    ]  # fmt: skip


def test_every_kind_of_node_has_an_outline_of_its_own():
    outlines = set()
    for kind in ("source", "elementwise", "reindex", "reindex_reduce", "index", "code", "hostcall"):
        n = graphs.Maker()
        svg = Picture(n.document(n("f", kind=kind, shape=(9, 9), value="")))
        group = cards_of(svg)[0]
        shapes = [e for e in group.iter() if e.tag in (f"{SVG}rect", f"{SVG}path")]
        numbers = [re.sub(r"[\d.]+", "0", shape.get("d", "")) + shape.get("rx", "") for shape in shapes[:2]]
        slants = re.findall(r"[\d.]+", shapes[0].get("d", ""))[:2]
        outlines.add((*numbers, *slants))

    assert len(outlines) == 7


def test_a_large_graph_shows_one_box_for_each_kernel():
    picture = Picture(graphs.chain(600, 10))

    assert len(picture._scene.cards) == 61
    assert "Each kernel is drawn as one box: 601 nodes in 60 kernels." in picture.svg
    assert "kernel 3 · 10 ops" in picture.svg


def test_a_huge_graph_shows_its_beginning_and_says_so():
    picture = Picture(graphs.chain(5000))

    assert len(picture._scene.cards) == 400
    assert "Showing 400 of 5,001 boxes, inputs first." in picture.svg


@pytest.mark.parametrize("document", [graphs.chain(10_000), graphs.mirrored(1250, kernels=True), graphs.fan(5000)])
def test_thousands_of_nodes_are_drawn_within_a_second(document):
    start = time.process_time()
    assert Picture(document).svg

    assert time.process_time() - start < 20  # 0.5 s on a quiet machine; minutes, if it were quadratic


@pytest.mark.parametrize("spread", [1, 3, 12, 40])
def test_five_thousand_boxes_are_placed_without_growing_like_their_square(spread):
    rng, count = chance(spread), 5000
    pairs = [(max(0, k - rng.randint(1, spread)), k) for k in range(1, count) for _ in range(rng.randint(1, 2))]
    start = time.process_time()

    rank = ranks(range(count), pairs)
    placed = [Box(80.0, 80.0, 46.0, 60.0, rank=rank[k]) for k in range(count)]
    place(placed, [Link(placed[a], placed[b]) for a, b in pairs if rank[b] - rank[a] <= 4], 30.0)

    assert time.process_time() - start < 20  # 0.5 s on a quiet machine; minutes, if it were quadratic
    assert {round(box.y) for box in placed} == {round(box.y) for box in placed if box.x >= 79.9}


# --------------------------------------------------------------------------------------------------------- pieces


def test_isotonic_regression_keeps_order_and_gaps_and_is_nearest():
    wishes, gaps = [0.0, 1.0, 0.5, 10.0], [0.0, 2.0, 2.0, 2.0]

    x = isotonic(wishes, [1.0] * 4, gaps)

    assert all(b - a >= 2 - 1e-9 for a, b in pairwise(x))
    assert x == pytest.approx([-1.5, 0.5, 2.5, 10.0])


def test_a_heavy_wish_is_heard():
    assert isotonic([0.0, 0.0], [1.0, 1e9], [0.0, 3.0]) == pytest.approx([-3.0, 0.0], abs=1e-6)


def test_a_rank_is_the_longest_path_and_sources_stand_above_their_first_user():
    assert ranks("abcde", [("a", "b"), ("b", "c"), ("a", "c"), ("d", "c")]) == {"a": 0, "b": 1, "c": 2, "d": 1, "e": 0}


def test_ranks_survive_a_circle():
    rank = ranks("abc", [("a", "b"), ("b", "c"), ("c", "b")])

    assert rank["a"] < rank["b"] < rank["c"]


def test_clean_leaves_letters_of_all_languages():
    assert clean("输入 naïve ∂x/∂t") == "输入 naïve ∂x/∂t"
    assert clean("a\tb\n c") == "a b c"
    assert clean("\u202eabc\x00") == "\ufffdabc\ufffd"


def test_a_label_without_a_known_size_has_no_bytes():
    card = Picture(graphs.softmax())._view.cards[7]
    card.bytes = ""

    assert label(card) == "(32, 10) float32"


# ---------------------------------------------------------------------------------------------------------- files


def test_a_notebook_gets_a_picture_that_scrolls():
    picture = Picture(graphs.softmax())

    assert picture._repr_svg_() == picture.svg
    assert picture._repr_html_() == f'<div style="overflow-x:auto">{picture.svg}</div>'


def test_save_writes_svg_and_html(tmp_path):
    picture = Picture(graphs.softmax())

    svg, page = picture.save(tmp_path / "graph.svg"), picture.save(str(tmp_path / "graph.html"))

    assert parse(svg.read_bytes()).tag == f"{SVG}svg"
    assert "subtract" in page.read_text(encoding="utf-8").partition("<pre>")[2]
    with pytest.raises(ArgumentError, match=r"found '\.png'"):
        picture.save("graph.png")


def test_dot_is_an_object_of_the_package_graphviz():
    graphviz = pytest.importorskip("graphviz", reason="graphviz is not installed: python3 lab.py installs it")

    source = Picture(graphs.softmax()).dot()

    assert isinstance(source, graphviz.Source)
    assert "kernel 0: max_broadcast" in source.source


def test_without_the_package_graphviz_dot_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)

    with pytest.raises(BackendError, match="pip install graphviz"):
        Picture(graphs.softmax()).dot()


def test_halves_and_float64_are_colored_and_the_legend_says_so():
    x = jt.ones(2, 3)

    plain = jt.graph(x * 2 + 1).svg
    mixed = jt.graph((x.bfloat16() * 2).float64()).svg

    assert not any(dtype in plain for dtype in ("bfloat16", "float64"))
    for dtype in ("bfloat16", "float64"):
        assert f'class="f {dtype}"' in mixed and f"numbers of {dtype}" in mixed and f".{dtype}{{font-weight" in mixed
    assert 'class="f float16"' not in mixed
