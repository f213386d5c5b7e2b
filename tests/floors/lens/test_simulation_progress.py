"""Who waits for the interpreter is told how many blocks it has run, also where one of them goes wrong."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.lens.simulation_progress import shown
from tests.floors.lens.test_compile_progress import Terminal, clock


def test_after_a_second_a_line_tells_which_block_it_is_and_how_long_the_others_will_take():
    out = Terminal()
    assert [*shown("abcd", "each", 4, out, clock(0.0, 0.5, 2.0, 3.0))] == [*"abcd"]

    assert out.lines() == [
        "interpreting each: block 3 of 4  ############............  0:02 left",
        "interpreting each: block 4 of 4  ##################......  0:01 left",
    ]
    assert out.screen() == ""


@pytest.mark.parametrize("ends", [8, 2])
def test_launches_are_under_its_eyes_and_an_error_takes_the_line_away(ends, monkeypatch):
    out = Terminal()
    monkeypatch.setattr("jt_edu.lens.waiting_line.screen", lambda: out)
    monkeypatch.setattr("jt_edu.lens.waiting_line.WAIT", 0.0)

    @jt.cuda.jit
    def each(x, ends):
        if jt.cuda.blockIdx.x == ends:
            x[0] = 1 // (ends - ends)
        x[jt.cuda.blockIdx.x] = 1

    try:
        jt.cuda.simulate(each, 4, 1, np.zeros(4), ends)
    except jt.KernelError:
        assert ends == 2
    assert out.lines()[0].startswith("interpreting each: block 2 of 4") and out.screen() == ""
