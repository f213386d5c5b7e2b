"""What a pointer can press and Tab cannot reach has a key, which its title names."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.mpi.simulator.threads import run_ranks
from jt_widgets import kernel, memory, ranks, roofline, tape
from jt_widgets.loops import step_kernel
from jt_widgets.train import train_panel

PRESSED = """() => [...document.querySelectorAll(
    ".jt-body :is(.jt-button, .jt-tab, .jt-tape-group, .jt-plot-layers tr[title])")]
    .filter(one => one.tabIndex < 0).map(one => [one.innerText.trim(), one.title])"""


def panel():
    net, batch = jt.nn.Linear(3, 2), (jt.ones(4, 3), jt.zeros(4, 2))
    optimizer = jt.optim.SGD(net.parameters(), lr=0.1)
    made = train_panel(net, optimizer, lambda net, x, y: ((net(x) - y) ** 2).mean(), [batch])
    made.step()
    return made


def loss():
    w = jt.array(np.ones((4, 3), np.float32))
    return ((jt.ones(5, 4) @ w).tanh() ** 2).mean()


@pytest.mark.browser
@pytest.mark.parametrize(
    "make",
    [
        lambda: kernel(loss()),
        lambda: step_kernel(loss()),
        lambda: tape(loss()),
        lambda: memory(loss()),
        lambda: roofline(loss()),
        panel,
        lambda: ranks(run_ranks(2, lambda comm: comm.allreduce(1)).record),
    ],
    ids=["kernel", "loops", "tape", "memory", "roofline", "train", "ranks"],
)
def test_each_button_that_is_no_tab_stop_names_its_key(page_of, make):
    pressed = page_of(make()).evaluate(PRESSED)

    assert len(pressed) > 1
    assert [words for words, title in pressed if not ("Key: " in title or title.endswith(")"))] == []
