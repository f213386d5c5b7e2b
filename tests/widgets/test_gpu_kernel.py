"""KernelView of a GPU's kernels: C++, PTX and occupancy have tabs of their own; what a compiler says is made up."""

from unittest.mock import Mock

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.cuda.compiler import Compiled, Report
from jt_edu.cuda.device import NO_COMPILER
from jt_edu.lens import gpu_assembly
from jt_widgets.kernel import kernel as kernel_view

TABS = ["Python source", "CUDA C++", "PTX", "Occupancy"]


@pytest.fixture
def view():
    with jt.flag_scope(backend="cudasim"):
        x = jt.array(np.ones((5, 70), "float32"))
        yield kernel_view(jt.nn.softmax(x * 2, 1))


@pytest.fixture
def compiler(monkeypatch):
    def compiled(kernel, kinds, cc):
        return Compiled(kernel.__name__, kinds, cc, "_ZN4", f".entry of sm_{cc[0]}{cc[1]}", b"", Report(40, 0, 0, 384))

    monkeypatch.setattr(gpu_assembly, "compiled", compiled)


@pytest.fixture
def no_compiler(monkeypatch):
    missing = Mock(side_effect=jt.BackendError(*NO_COMPILER))  # what was compiled before would be found
    monkeypatch.setattr(gpu_assembly, "compiled", missing)


def test_a_question_is_answered_with_all_of_it(view, compiler):
    reply = view._reply({"kernel": 0, "do": "machine"})["reply"]

    assert set(reply) == {"cpp", "ptx", "no_ptx", "needs"}
    assert reply["needs"][0]["gpu"] == "T4, 7.5"


@pytest.mark.browser
def test_each_text_has_a_tab_and_keys_go_there(page_of, view, compiler):
    page = page_of(view)
    pane = page.locator(".jt-kernel-pane")

    assert page.get_by_role("tab").all_inner_texts() == TABS
    page.keyboard.press("Tab")
    page.keyboard.press("2")
    pane.get_by_text("__global__ void rows(").wait_for()
    page.keyboard.press("3")
    pane.get_by_text(".entry of sm_75").wait_for()
    page.keyboard.press("4")
    rows = page.locator(".jt-kernel-needs tbody tr")
    cells = [row.locator("td").all_inner_texts() for row in rows.all()]
    assert cells[2] == ["rows, 96", "H100, 9.0", "48 of 64: 16 blocks", "registers", "40", "none", "384 B"]
    assert cells[3][2:4] == ["48 of 48: 16 blocks", "warps and registers"]


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_anyone_can_use_it(page_of, axe, geometry, view, compiler, scheme):
    view.state = {**view.state, "tab": "needs"}
    page = page_of(view, color_scheme=scheme)
    page.wait_for_selector(".jt-kernel-needs")

    assert axe(page) == []
    assert geometry(page) == []
    pane = page.locator(".jt-kernel-pane")
    assert pane.evaluate("one => one.scrollWidth <= one.clientWidth + 1")


@pytest.mark.browser
def test_without_a_compiler_it_says_what_to_install_and_shows_the_rest(page_of, view, no_compiler):
    page = page_of(view)
    pane = page.locator(".jt-kernel-pane")

    for name in ("PTX", "Occupancy"):
        page.get_by_role("tab", name=name).click()
        pane.get_by_text("pip install 'jt-edu[cuda]'").wait_for()
    page.get_by_role("tab", name="CUDA C++").click()
    pane.get_by_text("__global__ void rows(").wait_for()


def test_a_kernel_of_ones_own_is_shown_by_another_view():
    with pytest.raises(jt.ArgumentError, match=r"found a Kernel\. Try: jt_widgets\.gpu_grid\("):
        kernel_view(jt.cuda.jit(lambda x: None))
