"""Pictures: how do the views look now, and how did they look before?

    python -m tests.browser.pictures FOLDER            takes them, and puts them side by side on FOLDER/index.html
    python -m tests.browser.pictures FOLDER BEFORE     the same, beside those of an earlier run

They are for people to look at. No test compares pixels.
"""

import html
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import jt_edu as jt
import jt_widgets as see
from jt_edu import models, nn
from jt_edu.mpi.simulator.threads import run_ranks
from tests.chromium import FLAGS, program
from tests.widgets.live import finish
from tests.widgets.page import READY, Visitor

SCHEMES, WIDTHS, HIGH = ("light", "dark"), (1400, 700, 390), 900
STYLE = "body { font: 14px sans-serif } img { width: 100%; border: 1px solid #888 } td { width: 50vw }"


def cnn() -> nn.Module:
    """Two convolutions for pictures of 8 x 8."""
    body = (nn.Conv(1, 4, 3, padding=1), nn.BatchNorm(4), nn.ReLU(), nn.Pool(2), nn.Conv(4, 8, 3), nn.ReLU())
    return nn.Sequential(*body, nn.Flatten(), nn.Linear(32, 10))


def transformer() -> nn.Module:
    """Three layers, and an answer of ten numbers."""
    layer = nn.TransformerEncoderLayer(16, 2, dim_feedforward=32, batch_first=True)
    return nn.Sequential(nn.TransformerEncoder(layer, 3), nn.Linear(16, 10))


def trained() -> see.View:
    """The panel after twenty batches of noise."""
    net, batch = cnn(), (jt.randn(16, 1, 8, 8), jt.array(np.arange(16) % 10))
    optimizer = jt.optim.Adam(net.parameters(), lr=3e-3)
    panel = see.train_panel(net, optimizer, lambda net, x, y: jt.cross_entropy_loss(net(x), y), [batch])
    finish(panel.train(steps=20))
    return panel


def reduced() -> see.View:
    """Four ranks, of which some come late, add up what they have in a ring."""

    def work(comm):
        comm.compute(5000 * comm.rank)
        comm.Allreduce(np.ones(500, np.float32), np.empty(500, np.float32), algorithm="ring")

    return see.ranks(run_ranks(4, work).record)


def views() -> Iterator[tuple[str, Callable[[], see.View]]]:
    """Each view by its name."""
    networks = {
        "CNN": (cnn(), jt.randn(4, 1, 8, 8)),
        "ResNet-18": (models.resnet18(num_classes=10), jt.randn(1, 3, 64, 64)),
        "transformer": (transformer(), jt.randn(2, 6, 16)),
    }
    for name, (net, x) in networks.items():
        yield f"graph of {name}", lambda net=net, x=x: see.graph(net(x), run=False)
        yield f"explore {name}", lambda net=net, x=x: see.explore((net(x) ** 2).mean(), run=False)
    yield "ranks", reduced
    yield "train CNN", trained


def take(folder: Path) -> Iterator[str]:
    """Take the pictures; the name of each."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program(), headless=True, args=FLAGS)
        for name, view in views():
            page = folder / "page.html"
            view().save(page)
            for scheme in SCHEMES:
                for width in WIDTHS:
                    look = {"viewport": {"width": width, "height": HIGH}, "color_scheme": scheme}
                    context = browser.new_context(**look, reduced_motion="reduce")
                    picture = f"{name}, {scheme}, {width} px"
                    Visitor(context).open(page.as_uri(), READY).screenshot(path=folder / f"{picture}.png")
                    context.close()
                    yield picture
            page.unlink()
        browser.close()


def index(folder: Path, names: list[str], before: Path | None) -> str:
    """A page that shows the pictures, those of two runs side by side."""
    folders = [os.path.relpath(one, folder) for one in (before, folder) if one]
    rows = []
    for name in names:
        shown = (f'<td><img alt="{name}" src="{html.escape(one)}/{name}.png"></td>' for one in folders)
        rows.append(f"<tr><th colspan=2>{name}</th></tr><tr>{''.join(shown)}</tr>")
    head = "<tr><th>before</th><th>after</th></tr>" if before else ""
    return f"<!doctype html><title>Views</title><style>{STYLE}</style><table>{head}{''.join(rows)}</table>"


def main(folder: str, before: str | None = None) -> None:
    """Take the pictures, and write the page."""
    target = Path(folder).resolve()
    target.mkdir(parents=True, exist_ok=True)
    jt.set_global_seed(0)
    names = []
    for name in take(target):
        names.append(name)
        print(name, flush=True)
    text = index(target, names, Path(before).resolve() if before else None)
    (target / "index.html").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
