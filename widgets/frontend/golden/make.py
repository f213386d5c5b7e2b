"""Goldens: documents of small graphs, and where each card, frame and line stands.

    python widgets/frontend/golden/make.py      writes one file for each graph again

The layout is written twice, in Python for pictures and in JavaScript for the page. These files hold both to the same
places: `node --test` compares the one with them, and tests/floors/draw/test_clusters.py the other.
"""

# ruff: noqa: INP001  a script beside the files that it writes
from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2]))  # the tests that draw by hand are no package of their own

from jt_edu.draw.scene import compose  # noqa: E402
from jt_edu.draw.visible_graph import view  # noqa: E402
from tests.floors import graphs  # noqa: E402

OPEN = ["m:Net", "m:Net/body", "m:Net/body/0", "m:Net/body/1", "m:Net/body/1/b", "g:Net", "g:Net/body", "g:Net/body/1"]


def documents() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Name, document, options."""
    yield "one_node", graphs.chain(0), {}
    yield "multiply_add_sum", graphs.multiply_add_sum(), {}
    yield "softmax", graphs.softmax(), {}
    yield "plain", graphs.plain(), {}
    yield "training_step", graphs.training_step(), {}
    yield "training_step_none", graphs.training_step(), {"group": "none", "shapes": True}
    yield "training_step_closed", graphs.training_step(), {"open": ["k1"]}
    yield "diamonds", graphs.diamonds(4), {}
    yield "residual", graphs.residual(3), {"group": "none"}
    yield "residual_kernels", graphs.residual(3, kernels=True), {}
    yield "mirrored", graphs.mirrored(4, kernels=True), {}
    yield "collapsed", graphs.chain(170, 10), {}
    yield "cut", graphs.chain(30), {"most": 20}
    yield "parts", graphs.chain(170), {"group": "module"}
    yield "network", graphs.network(4), {"group": "module"}
    yield "network_closed", graphs.network(4), {"group": "module", "open": []}
    yield "network_open", graphs.network(3), {"group": "module", "open": OPEN, "fold": False}
    yield "made_inputs", graphs.made_inputs(), {}
    yield "made_inputs_kernels", graphs.made_inputs(), {"group": "kernel"}
    yield "network_again", graphs.network(1, called_again=True), {"group": "module"}
    for seed in (3, 4, 5):
        yield f"scattered_{seed}", graphs.scattered(random.Random(seed), 8 + 5 * seed, seed % 2), {}  # noqa: S311


def places(document: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Where everything stands, as plain lists."""
    seen = view(document, **{"opened" if name == "open" else name: value for name, value in options.items()})
    scene = compose(seen)
    return {
        "size": [scene.width, scene.height],
        "notes": seen.notes,
        "groups": [[g.key, g.kind, g.name, g.made, g.gradient, g.nodes] for g in seen.groups.values()],
        "shows": sorted(([str(i), str(card)] for i, card in seen.shows.items()), key=lambda pair: pair[0]),
        "cards": [
            [p.card.id, p.card.kind, p.card.label, p.card.facts, p.card.tip, p.x, p.y, p.width, *_chips(p.card)]
            for p in scene.cards
        ],
        "frames": [
            [f.caption, f.name, f.outside.x, f.outside.y, f.outside.left, f.outside.height] for f in scene.frames
        ],
        "lines": [[how, line.source, line.target, line.tip, line.values, points] for how, line, points in scene.lines],
        "labels": scene.labels,
    }


def _chips(card: Any) -> Iterator[list[list[str]]]:
    for side in (card.left, card.right):
        yield [[chip.kind, chip.text, chip.tip] for chip in side]


def text(document: dict[str, Any], options: dict[str, Any]) -> str:
    """One golden, as it is written into its file."""
    golden = {"options": options, "document": document, "places": places(document, options)}
    return json.dumps(golden, ensure_ascii=False, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    for name, document, options in documents():
        (HERE / f"{name}.json").write_text(text(document, options), encoding="utf-8")
