"""Make the screenshots that the README shows: real views, drawn by a real browser.

    python docs/screenshots.py     writes docs/view_*.png

It needs Chromium and Playwright, which `python3 lab.py test` brings. Run it by hand when a view looks different.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import jt_edu as jt
import jt_widgets as see
from jt_edu import nn
from jt_edu.mpi import Network, ThreadComm, run_ranks

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from tests.chromium import FLAGS, PROGRAMS  # noqa: E402 - the one place that knows how to start a browser

SIZES = {"explore": (1500, 1080), "loops": (1100, 620), "ranks": (1100, 760)}


class Reader(nn.Module):
    """A network of two layers."""

    def __init__(self) -> None:
        self.first, self.relu, self.last = nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 3)

    def execute(self, x: jt.Var) -> jt.Var:
        """Scores of three classes."""
        return self.last(self.relu(self.first(x)))


def views() -> dict[str, see.View]:
    """Name of the picture -> the view in it."""
    jt.set_global_seed(0)
    reader = Reader()
    images, labels = jt.array(jt.randn(5, 8).numpy()), jt.array([0, 1, 2, 0, 1])
    loss = jt.cross_entropy_loss(reader(images), labels)
    a, b = jt.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), jt.array([[6.0, 5.0, 4.0], [3.0, 2.0, 1.0]])
    c = jt.array([10.0, 20.0, 30.0])
    y = (a * b + c).sum()
    told = run_ranks(4, around, network=Network(latency=2500, overhead=1500, byte=6)).record
    return {"explore": see.explore(loss), "loops": see.step_kernel(y, step=21), "ranks": see.ranks(told)}


def around(comm: ThreadComm) -> None:
    """Four ranks, each a little later than the one before, add up an array by a ring."""
    comm.compute(8000 + 3000 * comm.rank)
    total = np.empty(4000, "float32")
    comm.Allreduce(np.ones(4000, "float32"), total, algorithm="ring")
    comm.Barrier()


def main() -> None:
    """Draw each view and keep what the browser shows."""
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        program = next(filter(None, map(shutil.which, PROGRAMS)))
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        for name, view in views().items():
            width, height = SIZES[name]
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
            page.goto(view.save(Path(folder) / f"{name}.html").as_uri())
            page.wait_for_selector(".jt-view:not([aria-busy])")
            page.wait_for_timeout(500)
            page.locator(".jt-view").screenshot(path=ROOT / "docs" / f"view_{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
