"""Compile processes: helpers compile kernels from the last one on, and nobody needs them."""

import sys
import uuid
from types import SimpleNamespace

import pytest

import jt_edu as jt
from jt_edu import backends
from jt_edu.codegen.emit_python import Parameter, Source
from jt_edu.lens import compile_processes
from tests.patience import LONG


@pytest.fixture
def steps():
    """Steps whose kernels nobody has compiled before."""
    return [step_of(f"def kernel(lo, hi, out):\n    out[0] = {k}  # {uuid.uuid4()}\n") for k in range(8)]


def step_of(text):
    source = Source(text, (Parameter("out", "float32", 1),))
    return SimpleNamespace(program=None, kind="loops", written=None, own=None, source=source)


def test_a_helper_puts_the_kernels_of_a_plan_on_the_disk(steps):
    for before in compile_processes._helpers:  # of other tests: while it works, no other one is started
        before.wait(LONG)

    with jt.flag_scope(compile_processes=2):
        assert compile_processes.help_with(steps) == 1

    assert [helper.wait(LONG) for helper in compile_processes._helpers] == [0]
    numba = backends.get("numba")
    assert all(numba.has(step.source) for step in steps)
    assert not any(numba.compile(step.source).compiled for step in steps)  # it was on the disk


def test_a_few_kernels_and_those_that_are_there_need_no_helper(steps):
    with jt.flag_scope(compile_processes=2):
        assert compile_processes.help_with(steps[:7]) == 0
        compile_processes.work([(step.source, None) for step in steps], backends.get("numba"))

        assert compile_processes.help_with(steps) == 0


def test_where_no_process_can_be_started_this_one_compiles_alone(steps, monkeypatch):
    compile_processes._helpers.clear()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    with jt.flag_scope(compile_processes=3):
        assert compile_processes.help_with(steps) == 0


def test_tests_and_ranks_compile_alone_unless_they_ask(monkeypatch):
    assert compile_processes._processes() == 1  # a test: conftest.py says so
    monkeypatch.delenv("JT_EDU_COMPILE_PROCESSES")
    monkeypatch.setattr(compile_processes.os, "sched_getaffinity", lambda _: range(64), raising=False)
    assert compile_processes._processes() == compile_processes.MOST

    monkeypatch.setenv("PMI_RANK", "0")
    monkeypatch.setenv("PMI_SIZE", "4")

    assert compile_processes._processes() == 1
    with jt.flag_scope(compile_processes=2):
        assert compile_processes._processes() == 2


def test_a_flag_of_one_is_one_process(steps):
    with jt.flag_scope(compile_processes=1):
        assert compile_processes.help_with(steps) == 0
