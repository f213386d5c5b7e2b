"""A loop that is cut where its conditions change computes what the whole loop computes."""

import re

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.backends.mathlib import until
from jt_edu.base.context import rank_context
from jt_edu.codegen import loop_ir


@pytest.fixture(params=["python", "numba"])
def backend(request):
    return request.param


def sources(build, backend, monkeypatch, long=2, cuts=16):
    """The answer, and the text of its kernels, where loops of `long` iterations are cut."""
    monkeypatch.setattr(loop_ir, "LONG", long)
    monkeypatch.setattr(loop_ir, "CUTS", cuts)
    with rank_context(), jt.flag_scope(backend=backend), jt.trace() as t:
        found = build()
        found = [v.numpy() for v in (found if isinstance(found, list) else [found])]
    return found, [k.source for k in t.kernels]


def x(*shape):
    return jt.array(np.random.default_rng(0).integers(-9, 9, shape).astype("float32"))


CUT = {
    "concat along rows": lambda: jt.concat([x(3, 4), x(3, 5)], 1),
    "concat of one axis": lambda: jt.concat([x(4), x(5), x(1)]),
    "concat of three that differ": lambda: jt.concat([x(2, 4), x(2, 1), x(2, 7)], 1),
    "pad": lambda: x(3, 5).pad((2, 1, 1, 2), value=7),
    "pad that crops": lambda: x(3, 7).pad((2, -1)),
    "pad of a pad": lambda: x(3, 5).pad((1, 2)).pad((2, 1), value=1),
    "reflect": lambda: x(3, 5).pad((4, 3), "reflect"),
    "symmetric": lambda: x(4).pad((6, 9), "symmetric"),
    "circular": lambda: x(3, 4).pad((6, 9), "circular"),
    "replicate": lambda: x(3, 4).pad((2, 2), "replicate"),
    "roll": lambda: [x(3, 5).roll(2, 1), x(3, 5).roll(-7), x(6).roll(1)],
    "roll of both axes": lambda: x(4, 5).roll((1, 2), (0, 1)),
    "gradient of a slice": lambda: slice_gradient(x(3, 9)),
    "greater, from the right": lambda: jt.where(jt.index((3, 8), 1) > 5, x(3, 8), x(3, 8) * 2),
    "greater or equal": lambda: jt.where(jt.index((3, 8), 1) >= 4, x(3, 8), x(3, 8) * 2),
    "less or equal": lambda: jt.where(jt.index((3, 8), 1) <= 4, x(3, 8), x(3, 8) * 2),
    "two conditions at once": lambda: x(2, 9).pad((1, 2)) + x(2, 7).pad((3, 2)),
}


def slice_gradient(v):
    return jt.grad((v[:, 2:7] * v[:, 2:7]).sum(), v)


@pytest.mark.parametrize("name", CUT)
def test_pieces_compute_what_the_whole_loop_computes(name, backend, monkeypatch):
    whole, plain = sources(CUT[name], backend, monkeypatch, long=1 << 60)
    parts, cut = sources(CUT[name], backend, monkeypatch)

    assert not any("until(" in text for text in plain)
    assert any("until(" in text for text in cut)
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_text_says_where_a_piece_ends_and_what_is_known_there(monkeypatch):
    _, (text,) = sources(lambda: x(2, 5).pad((1, 2)), "python", monkeypatch)

    assert text.split("def ")[1] == (
        "kernel(lo, hi, n0, k0, k1, a0, out0):\n"
        "    for i0 in range(lo, hi):\n"
        "        b0 = 0\n"
        "        while b0 < n0:\n"
        "            e0 = until(b0, k0, n0)\n"
        "            e0 = until(b0, k0 + k1, e0)\n"
        "            g0 = 0 <= b0 - k0 and b0 - k0 < k1\n"
        "            for i1 in range(b0, e0):\n"
        "                t0 = (a0[at(i0), at(i1 - k0)] if g0 else float32(0))\n"
        "                out0[at(i0), at(i1)] = t0\n"
        "            b0 = e0\n"
    )


def test_each_piece_is_as_long_as_its_conditions_let_it_be(monkeypatch):
    _, (text,) = sources(lambda: x(9).pad((3, 2)), "python", monkeypatch)
    ends = []
    space = {}
    exec(re.sub(r"( +)b0 = e0", r"\1ends.append(e0)\n\1b0 = e0", text), space)  # noqa: S102 - our own text
    space["ends"] = ends

    space["kernel"](0, 14, 3, 9, np.zeros(9), np.zeros(14))

    assert ends == [3, 12, 14]


def test_a_short_loop_stays_whole():
    with jt.trace() as t:
        x(40, loop_ir.LONG - 4).pad((1, 2)).sync()
        x(40, loop_ir.LONG - 3).pad((1, 2)).sync()

    assert ["until(" in k.source for k in t.kernels] == [False, True]


def test_a_remainder_by_a_short_length_stays(monkeypatch):
    _, (text,) = sources(lambda: x(2, 3).pad((3, 9), "circular"), "python", monkeypatch, long=4)

    assert "%" in text
    assert "until(" not in text


def test_a_sum_is_added_up_in_one_piece(monkeypatch):
    _, texts = sources(lambda: x(3, 9).pad((1, 2)).sum(1), "python", monkeypatch)

    assert not any("until(" in text for text in texts)


def test_too_many_cuts_are_none(monkeypatch):
    _, few = sources(lambda: jt.concat([x(2, k) for k in (3, 4, 5)], 1), "python", monkeypatch, cuts=5)
    _, many = sources(lambda: jt.concat([x(2, k) for k in (3, 4, 5)], 1), "python", monkeypatch, cuts=4)

    assert (few[0].count("until("), many[0].count("until(")) == (5, 0)


def test_every_line_of_a_loop_in_pieces_belongs_to_an_operator(monkeypatch):
    monkeypatch.setattr(loop_ir, "LONG", 2)
    with rank_context(), jt.flag_scope(backend="python"), jt.trace() as t:
        x(3, 5).pad((4, 3), "reflect").sync()
    (kernel,) = t.kernels

    rows = kernel.source.splitlines()
    assert {n for n, row in enumerate(rows, 1) if " = " in row} == {line.number for line in kernel.lines}


@pytest.mark.parametrize(("begin", "end", "last", "found"), [(0, 3, 9, 3), (3, 3, 9, 9), (4, 3, 9, 9), (0, 12, 9, 9)])
def test_until_goes_to_the_next_cut(begin, end, last, found):
    assert until(begin, end, last) == found


@pytest.mark.parametrize("widths", [(2, 3), (39, 39), (0, 5), (40, 1), (1, 90)])
@pytest.mark.parametrize(("mode", "numpys"), [("reflect", "reflect"), ("symmetric", "symmetric"), ("circular", "wrap")])
def test_only_a_border_as_wide_as_the_array_needs_a_remainder(mode, numpys, widths):
    a = np.arange(80.0).reshape(2, 40)

    with jt.trace() as t:
        found = jt.pad(jt.array(a), widths, mode).numpy()

    np.testing.assert_array_equal(found, np.pad(a, ((0, 0), widths), numpys))
    assert ("%" in t.kernels[0].source) == (max(widths) >= 40)
