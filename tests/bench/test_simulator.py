"""The bench of the interpreter runs, on all cores and on one, where the system lets a process choose."""

import os
import sys
from types import SimpleNamespace

import pytest

from jt_edu import cuda
from tests.bench import simulator


def test_the_kernel_has_the_right_numbers_in_the_interpreter(monkeypatch):
    monkeypatch.setattr(simulator, "cuda", cuda)
    monkeypatch.setattr(simulator, "LAUNCHES", 2)

    assert simulator.measured() >= 0


@pytest.mark.parametrize("choice", [True, False])
def test_both_sides_are_told_on_all_cores_and_on_one_where_a_process_can_choose(choice, monkeypatch, capsys):
    def run(command, **_):
        assert command[:4] == [sys.executable, "-W", "ignore", "-m"]
        return SimpleNamespace(stdout="0.001" if "jt_edu" in command else "0.01")

    monkeypatch.setattr(simulator.subprocess, "run", run)
    if choice:
        monkeypatch.setattr(os, "sched_setaffinity", None, raising=False)
    else:
        monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    simulator.main()

    said = capsys.readouterr().out
    assert said.count("jt_edu 1.00 ms, numba's simulator 10.0 ms, 10 times") == 1 + choice
    assert ("one core" in said) == choice
