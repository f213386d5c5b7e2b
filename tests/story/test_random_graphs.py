"""Random graphs: whatever a learner combines, jt_edu answers what NumPy answers, with and without fusion.

`random_graphs.py` draws the programs. Here they run: on the python backend each example is a new graph; on numba,
where a new graph means compiling, a pool of graphs is run with many shapes and numbers each, from the smallest (axes of
length 0 and 1) on. JT_EDU_EXAMPLES=10 runs ten times as many. Memory that a kernel should fill is filled with a pattern
before, so that reading it too early shows every time.
"""

import os
import random
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import jt_edu as jt
from jt_edu import backends
from tests.story import random_graphs as rg

TIMES = float(os.environ.get("JT_EDU_EXAMPLES", "1"))
LENGTHS = (2, 3, 4, 1, 0)


def count(n):
    return max(1, round(n * TIMES))


def examples_of(n):
    return settings(
        max_examples=count(n), phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck)
    )


@pytest.fixture
def python(monkeypatch):
    yield from on("python", monkeypatch)


@pytest.fixture
def numba(monkeypatch):
    yield from on("numba", monkeypatch)


def on(name, monkeypatch):
    """This backend for a test, with memory that is never zero by chance."""
    with jt.flag_scope(backend=name):
        monkeypatch.setattr(type(backends.get(name)), "empty", lambda self, shape, dtype: pattern(shape, dtype))
        yield name


def pattern(shape, dtype):
    return (
        np.full(int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize, 0x7B, np.uint8)
        .view(dtype)
        .reshape(shape)
    )


@st.composite
def examples(draw, **options):
    """A program, lengths for its axes, and a seed for its numbers."""
    program = rg.draw(lambda n: draw(st.integers(0, n - 1)), **options)
    sizes = {letter: draw(st.sampled_from(LENGTHS)) for letter in "pqr"}
    return program, sizes, draw(st.integers(0, 9))


def hold(look, program, sizes, seed):
    """`look` at a program; if it raises, raise for the smallest program for which it does."""

    def raised(smaller):
        try:
            look(smaller, sizes, seed)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong is what we look for
            return error
        return None

    if raised(program) is not None:
        small = rg.shrunk(program, lambda p: raised(p) is not None)
        raise AssertionError(f"{small!r}\n{sizes}, numbers {seed}") from raised(small)


def traced(program, sizes, seed):
    """What jt_edu and NumPy answer, and the trace."""
    arrays = rg.draw_arrays(program, sizes, np.random.default_rng(seed))
    wanted = rg.run_numpy(program, arrays, sizes)
    with jt.trace() as t:
        found = rg.run_jt(program, arrays, sizes, wanted)
    return found, wanted, t


def agrees(program, sizes, seed):
    """NumPy and jt_edu answer the same."""
    found, wanted, _ = traced(program, sizes, seed)
    rg.compare(program, wanted, found)


def test_any_graph_answers_what_numpy_answers(python, record_property):
    ran = []

    @examples_of(2000)
    @given(examples())
    def run(example):
        hold(agrees, *example)
        ran.append(len(example[0].steps))

    run()
    record_property("house", f"random graphs on python: {len(ran)} examples, {sum(ran)} operators")
    assert len(ran) >= count(2000)


POOL, ROUNDS, PARTS = 150, 14, 5


def seeded(seed, **options):
    """The program of a seed: the same in every run, so that its kernels are found on disk."""
    return rg.draw(random.Random(seed).randrange, **options)


def lengths(number, seed):
    """The first rounds have long axes of their own; later ones have short ones, 1 and 0."""
    draw = random.Random(f"{seed} {number}").choice
    return {letter: draw((2, 3, 4) if number < ROUNDS // 2 else (4, 3, 2, 2, 1, 0)) for letter in "pqr"}


@pytest.mark.parametrize("part", range(PARTS))
def test_a_pool_of_graphs_answers_what_numpy_answers_for_many_shapes(numba, record_property, part):
    ran = kernels = compiled = 0
    for seed in range(part, count(POOL), PARTS):
        program = seeded(seed)
        for number in range(ROUNDS):
            with jt.trace() as t:
                hold(agrees, program, lengths(number, seed), number)
            ran, kernels, compiled = ran + 1, kernels + len(t.kernels), compiled + t.compiled
    said = f"random graphs on numba, part {part + 1} of {PARTS}"
    record_property("house", f"{said}: {ran} examples, {kernels} kernels run, {compiled} compiled")
    assert ran == len(range(part, count(POOL), PARTS)) * ROUNDS


# ------------------------------------------------------------------------------------------------ what must always hold


def is_complete(program, sizes, seed):
    """The predicted peak is the measured one, each decision names its rule, each line of a kernel its node."""
    program.together = True
    _, wanted, t = traced(program, sizes, seed)
    built = {b.id for b in t.built}
    if not any(isinstance(a, Exception) for a in wanted):
        assert t.predicted_peak == t.peak
    for d in t.decisions:
        assert d.rule and d.reason, d
        assert {d.source, d.target} <= built, d
    for k in t.kernels:
        told = {line.number for line in k.lines}
        assert all(line.node in built and line.where for line in k.lines)
        computing = {n for n, row in enumerate(k.source.splitlines(), 1) if re.search(r"[\w\])] = |np\.dot", row)}
        assert computing <= told, f"lines {computing - told} of\n{k.source}"


@examples_of(300)
@given(examples())
def test_the_trace_of_any_graph_is_complete(example):
    with jt.flag_scope(backend="python"):
        hold(is_complete, *example)


def compiles_once(program, sizes, seed):
    """Other numbers, the same graph: the same kernels, and nothing compiled."""
    _, _, first = traced(program, sizes, seed)
    _, _, second = traced(program, sizes, seed + 1)
    assert not second.compiled
    assert [k.source for k in first.kernels] == [k.source for k in second.kernels]


@examples_of(200)
@given(examples())
def test_the_same_graph_again_plans_and_compiles_nothing(example):
    with jt.flag_scope(backend="python"):
        hold(compiles_once, *example)


def fuses_safely(program, sizes, seed):
    """With fusion, without it, and operator by operator: the same answers."""
    fused, _, _ = traced(program, sizes, seed)
    for flags in ({"fuse": False}, {"lazy_execution": False}):
        with jt.flag_scope(**flags):
            other, _, _ = traced(program, sizes, seed)
        rg.compare(program, {k: fused[k] for k in fused}, other)


@examples_of(300)
@given(examples())
def test_fusion_changes_no_answer(example):
    with jt.flag_scope(backend="python"):
        hold(fuses_safely, *example)


def test_fusion_changes_no_answer_of_numba_and_each_graph_is_compiled_once(numba):
    for seed in range(1000, 1000 + count(10)):
        for number in range(3):
            hold(fuses_safely, seeded(seed), lengths(number, seed), number)
            hold(compiles_once, seeded(seed), lengths(number, seed), number)


# ------------------------------------------------------------------------------------------------ gradients


def loss_and_leaves(program, arrays, sizes, wanted):
    """One number made of all held values, weighted so that each element counts differently."""
    leaves = [jt.array(a) for a in arrays]
    found = rg.build(program, leaves, sizes, wanted)
    loss = jt.array64(0.0)
    for k in program.held:
        if found[k] is not None:
            value = found[k].cast("float64")
            loss = loss + (value * (value.position_numbers() % 3 + 1)).sum()
    return loss, leaves


def numpy_loss(program, arrays, sizes):
    total = 0.0
    found = rg.run_numpy(program, arrays, sizes)
    for k in program.held:
        if isinstance(found[k], np.ndarray):
            total += (found[k] * (np.arange(found[k].size).reshape(found[k].shape) % 3 + 1)).sum()
    return total


def slopes(program, sizes, seed):
    """Along a random direction, the gradient is what central differences say (odd numbers: no ties, no kinks).

    Where differences over one step and over half of it disagree, as those of sin(x ** 16) do, they say nothing.
    """
    rng = np.random.default_rng(seed)
    arrays = [a + rng.uniform(0.01, 0.1, a.shape) for a in rg.draw_arrays(program, sizes, rng)]
    loss, leaves = loss_and_leaves(program, arrays, sizes, rg.run_numpy(program, arrays, sizes))
    found = jt.grad(loss, leaves, allow_unused=True)
    gradients = [np.zeros(a.shape) if g is None else g.numpy() for g, a in zip(found, arrays, strict=True)]
    step, ways = 1e-5, [rng.standard_normal(a.shape) for a in arrays]

    def difference(h):
        ends = [numpy_loss(program, [a + k * w for a, w in zip(arrays, ways, strict=True)], sizes) for k in (h, -h)]
        return (ends[0] - ends[1]) / (2 * h)

    wanted = difference(step)
    if np.isfinite(wanted):
        slope = sum((g * w).sum() for g, w in zip(gradients, ways, strict=True))
        scale = max(1.0, abs(slope), sum(abs(g).max(initial=0) for g in gradients))
        if np.isclose(wanted, difference(step / 2), 1e-4, 1e-4 * scale):
            np.testing.assert_allclose(slope, wanted, 1e-4, 1e-4 * scale)


@examples_of(300)
@given(examples(smooth=True, most=9))
def test_gradients_of_any_graph_are_slopes(example):
    with jt.flag_scope(backend="python"):
        hold(slopes, *example)
