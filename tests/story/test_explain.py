"""jt.explain says what a run would do, and runs nothing; the trace of the run says the same."""

import re
from html import unescape

import numpy as np
import pytest

import jt_edu as jt


def numbers(*shape):
    return jt.array(np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape))


def chain():
    a, b, c = numbers(3, 4), numbers(3, 4), numbers(4)
    return [(a * b + c).sum()]


def softmax():
    return [jt.softmax(numbers(6, 5))]


def held_in_between():
    x = numbers(6, 5)
    e = (x * 2).exp()
    return [e / e.sum(1, keepdims=True), e]


def training_step():
    x, w, b, t = numbers(8, 5), numbers(5, 3), numbers(3), jt.array([0, 1, 2, 0, 1, 2, 0, 1])
    loss = jt.cross_entropy_loss((x @ w + b).relu(), t)
    dw, db = jt.grad(loss, [w, b])
    return [loss, w - 0.1 * dw, b - 0.1 * db]


def views():
    x = numbers(4, 6)
    return [x.reshape(6, 4).transpose(0, 1) + 1, x[1:3, ::2].sum()]


EXPRESSIONS = [chain, softmax, held_in_between, training_step, views]


def facts(kernel):
    """What an explanation and a trace both know of a kernel."""
    return (
        kernel.name, kernel.source, kernel.lines, kernel.nodes, kernel.stored, kernel.bytes, kernel.flops, kernel.calls,
        kernel.annotated,
    )  # fmt: skip


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("build", EXPRESSIONS)
def test_an_explanation_says_what_the_trace_of_the_run_says(build, fuse):
    with jt.flag_scope(backend="python", fuse=fuse):
        wanted = build()
        e = jt.explain(*wanted)

        with jt.trace() as t:
            jt.sync(wanted)

    assert [facts(k) for k in e.kernels] == [facts(k) for k in t.kernels]
    assert list(e.decisions) == t.decisions
    assert e.predicted_peak == t.predicted_peak == t.peak


@pytest.mark.parametrize("build", EXPRESSIONS)
def test_explaining_runs_nothing(build):
    wanted = build()

    with jt.trace() as t:
        str(jt.explain(*wanted))

    assert t.kernels == []
    assert t.built == []
    assert all(v.node.pending for v in wanted)


@pytest.mark.parametrize("build", EXPRESSIONS)
def test_the_text_names_every_node_that_is_computed_and_every_decision(build):
    e = jt.explain(*build())

    pending = [n for n in e.order if n.pending and any(n.id in (d.source, d.target) for d in e.decisions)]
    assert [n for n in pending if f"#{n.id} " not in e.text] == []
    assert [d for d in e.decisions if f"{d.rule}; {d.reason}" not in e.text] == []


def test_the_text_of_the_first_example_can_be_checked_by_hand():
    a, b, c = numbers(3, 4), numbers(3, 4), numbers(4)
    y = (a * b + c).sum()

    rows = repr(jt.explain(y)).splitlines()

    # Read 12 + 12 + 4 floats, write 1. Alone: a * b reads 24 and writes 12, + c reads 16 and writes 12, sum 12 and 1.
    assert rows[0] == f"1 kernel computes #{y.node.id} y."
    assert rows[1] == "116 B are read and written, 36 operations are done, and new arrays take at most 4 B at once."
    assert rows[2] == "With a kernel for each of the 3 operators it would be 308 B: fusion saves 192 B (62%)."
    assert "  loops   each i0 of 3: each i1 of 4" in rows
    assert any(
        row.startswith("  stores  ") and row.endswith("y = sum () float32, 4 B: you asked for it") for row in rows
    )
    assert any("test_explain.py" in row and "y = (a * b + c).sum()" in row for row in rows)
    assert any("fused" in row and "elementwise chain; add is computed where sum needs it" in row for row in rows)


def test_a_matrix_product_is_one_operator_and_its_views_cost_nothing():
    x, w = numbers(8, 5), numbers(5, 3)

    e = jt.explain(x @ w)

    assert e.unfused == (1, 4 * (8 * 5 + 5 * 3 + 8 * 3))
    assert e.bytes == e.unfused[1]
    assert e.kernels[0].loops == "a matrix product by BLAS"
    assert "fusion saves" not in e.text


def test_what_is_still_held_is_stored_and_the_text_says_as_what():
    x = numbers(6, 5)
    doubled = x * 2

    text = jt.explain(doubled.exp()).text

    assert "you still hold it, as doubled" in text


def test_a_value_that_several_kernels_need_says_why_it_is_stored():
    text = jt.explain(*training_step()).text

    assert "whole array: BLAS multiplies stored matrices (freed after kernel " in text
    assert "here once more, which is cheaper than to store it" in text
    assert "gradient of test_explain.py" in text


def test_both_loops_of_a_softmax_are_one_kernel_and_no_edge_inside_it_is_cut():
    e = jt.explain(jt.softmax(numbers(6, 5)))

    assert len(e.kernels) == 1
    assert e.kernels[0].loops.startswith("each i0 of 6: (each i1 of 5, then each i2 of 5")
    assert [d for d in e.decisions if not d.fused] == []


def test_what_is_computed_already_is_explained_as_if_it_were_computed_again():
    a, b, c = numbers(3, 4), numbers(3, 4), numbers(4)
    y = (a * b + c).sum()
    before = jt.explain(y)
    y.sync()

    after = jt.explain(y)

    assert after.text == "Computed already; this is how it would be computed again.\n" + before.text
    assert not y.node.pending


def test_an_array_that_is_there_needs_no_kernel():
    x = numbers(3)

    assert jt.explain(x).kernels == ()
    assert jt.explain(x).text == f"Nothing would run: #{x.node.id} x is computed already, or a view of what is."


def test_a_long_explanation_is_cut_in_a_notebook_but_not_in_its_text():
    x = numbers(3)
    for _ in range(200):
        x = x.sin()

    e = jt.explain(x)

    assert len(repr(e).splitlines()) == 161
    assert repr(e).endswith("print(jt.explain(...).text)")
    assert len(e.text.splitlines()) > 400


def test_a_notebook_breaks_what_is_too_long_and_indents_it_further():
    y = jt.array([1.0, 2.0]) * 3

    page = jt.explain(y)._repr_html_()

    assert "white-space:pre-wrap" in page
    assert "<div>1 kernel computes" in page
    assert '<div style="padding-left:10ch;text-indent:-10ch">  <i class="stores">stores  </i>#' in page


def plain(page):
    """What a page shows once everything is open, without its style."""
    return unescape(re.sub(r"<style>.*?</style>|<[^>]*>", "", page))


def test_a_notebook_shows_the_kernels_as_lines_that_open_and_leaves_nothing_out():
    a = jt.array([[1.0, 2.0], [3.0, 4.0]])
    e = jt.explain((a - a.mean()) @ a)

    page = e._repr_html_()

    titles = re.findall(r"<summary><b>(.*?)</b>  <small>(.*?)</small>", page)
    assert [title for title, _ in titles] == [f"kernel {k}  {kernel.name}" for k, kernel in enumerate(e.kernels)]
    assert all(stored.startswith("stores #") for _, stored in titles)
    assert "<details open>" not in page
    assert all(row.strip() in plain(page) for row in e.text.split("\n"))


def test_the_only_kernel_is_open_at_once():
    page = jt.explain(jt.ones(3) * 2)._repr_html_()

    assert page.count("<details open>") == page.count("<details") == 1


def test_what_a_learner_wrote_is_shown_and_is_no_html():
    x = jt.ones(3)
    y = (x < 2).float()  # "<b>" is text here

    assert "(x &lt; 2).float()" in jt.explain(y)._repr_html_()


def test_a_walk_is_six_questions_in_a_notebook_and_each_opens_its_source_in_colour():
    a = jt.ones(2, 3)
    tour = jt.walk((a * 2).sum())

    page = tour._repr_html_()

    assert re.findall(r"<summary><b>(.*?)</b>", page) == [f"{k}. {s.question}" for k, s in enumerate(tour.stops, 1)]
    assert '<span class="k">def</span> <span class="d">grad' in page
    assert all(row.strip() in plain(page) for stop in tour.stops for row in stop.code.split("\n"))
    assert tour.stops[4]._repr_html_().count("<details open>") == 1


def test_a_list_of_vars_is_explained_as_they_are_one_by_one():
    y, z = jt.ones(3) * 2, jt.ones(3) * 3

    assert jt.explain([y, z]).text == jt.explain(y, z).text


def test_kernel_sources_are_programs_with_the_line_of_the_learner():
    (source,) = jt.kernel_sources(*chain())

    compile(source, "kernel", "exec")
    assert "# multiply: test_explain.py" in source
    assert "return [(a * b + c).sum()]" in source


@pytest.mark.parametrize("wrong", [(), (3,), ([1.0],)])
def test_only_vars_can_be_explained(wrong):
    with pytest.raises(jt.ArgumentError, match=r"jt\.explain takes one or more Vars; found (nothing|int|float|list)"):
        jt.explain(*wrong)
