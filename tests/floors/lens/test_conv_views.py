"""Convolutions as views show them: stepped through, edited, ruled, and told as algorithms."""

import ast

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import backends
from jt_edu.backends.convolve import text_of
from jt_edu.backends.convolve.selection import algorithms
from jt_edu.codegen.emit_epilogue import with_tail
from jt_edu.codegen.emit_python import Parameter, Source
from jt_edu.introspect.explain import planned
from jt_edu.lens.edit_process import check_text, steps_of
from jt_edu.lens.fusion_passes import passes
from jt_edu.lens.gradient_rules import local_rules
from jt_edu.lens.isolated_run import to_compile
from jt_edu.lens.kernel_debugger import step_through
from jt_edu.lens.kernel_edit import find
from jt_edu.lens.recording import recording
from jt_edu.lens.tape import record_tape
from jt_edu.runtime import conv_step
from tests.floors.trials import Here

pytestmark = pytest.mark.usefixtures("nothing_stays_edited")

RELU = "t1 = maximum(t0, c0)"
PREPARING = next(a.name for a in algorithms() if a.kind == "by_image" and a.prepare)  # it turns the weights first


@pytest.fixture
def apart():
    """For a test whose edit is tried in a process of its own, as a learner's is; others have it tried in this one."""


@pytest.fixture(autouse=True)
def tried(request, monkeypatch):
    if "apart" not in request.fixturenames:
        monkeypatch.setattr("jt_edu.lens.edit_process._Process", Here)


@pytest.fixture
def use(monkeypatch):
    """Compute convolutions by the algorithm of a name, where it suits."""

    def choose_it(name):
        first = conv_step.choose

        def choose(sizes):
            found = (a for a in algorithms() if (a.name, a.kind) == (name, sizes.kind) and a.suits(sizes))
            return next(found, None) or first(sizes)

        monkeypatch.setattr(conv_step, "choose", choose)

    return choose_it


def arrays(rng, *shapes):
    return [jt.array(rng.standard_normal(s).astype("float32")) for s in shapes]


def stepped(y, most=10**6):
    """The steps of the last kernel behind y, and what they wrote last into each element."""
    order, plan = planned([y.node])
    steps = step_through(plan, order, len(plan.steps) - 1, most)
    out = next(k for k, a in enumerate(steps.arrays) if a.role == "out")
    written = {t.place: t.value for m in steps.moments for t in m.touches if t.array == out and t.write}
    return steps, written


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("which", ["y", "dx", "dw"])
@pytest.mark.parametrize(("shape", "kernel", "options"), [
    ((2, 2, 4, 5), (2, 2, 3, 2), {"padding": 1}),
    ((1, 4, 5, 4), (4, 2, 2, 3), {"stride": 2, "groups": 2, "padding": (0, 1)}),
    ((1, 2, 6, 5), (2, 2, 2, 2), {"dilation": 2}),
    ((2, 2, 1, 4), (2, 2, 1, 3), {}),
])  # fmt: skip
def test_a_convolution_and_its_gradients_are_stepped_through_as_the_sums_that_they_are(
    rng, backend, which, shape, kernel, options
):
    with jt.flag_scope(backend=backend):
        x, w = arrays(rng, shape, kernel)
        y = jt.conv2d(x, w, **options)
        wanted = y if which == "y" else jt.grad((y * y.detach()).sum(), x if which == "dx" else w)

        steps, written = stepped(wanted)

        assert "computes this convolution, in an order of its own" in steps.note
        assert steps.complete
        assert not steps.error
        found = [written[k] for k in range(len(written))]
        np.testing.assert_allclose(found, wanted.numpy().ravel(), rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("ways", [1, 3])
def test_convolutions_of_lines_and_volumes_have_a_loop_for_each_direction(rng, ways):
    x, w = arrays(rng, (1, 2, *[3] * ways), (2, 2, *[2] * ways))
    y = getattr(jt, f"conv{ways}d")(x, w)

    steps, written = stepped(y)

    assert steps.source.count("for k") == ways
    np.testing.assert_allclose([written[k] for k in range(len(written))], y.numpy().ravel(), rtol=1e-4, atol=1e-5)


def test_the_tail_of_a_convolution_is_stepped_through_line_by_line(rng):
    x, w, b = arrays(rng, (1, 2, 4, 4), (3, 2, 3, 3), (3,))
    y = jt.conv2d(x, w, b).relu()

    steps, written = stepped(y)

    np.testing.assert_allclose([written[k] for k in range(len(written))], y.numpy().ravel(), rtol=1e-5, atol=1e-6)
    assert [a.name for a in steps.arrays] == ["image", "weights", "out", "a0"]
    rows, known = steps.source.splitlines(), dict(steps.lines)
    names = {n.id: n.op.name for n in planned([y.node])[0]} | {x.node.id: "x", b.node.id: "b"}
    said = {rows[line - 1].strip(): names[node] for line, node in known.items()}
    assert said["s = 0.0"] == "conv2d"
    assert said[RELU] == "relu"
    tail = [m for m in steps.moments if rows[m.line - 1].strip() == RELU]
    assert len(tail) == y.numpy().size
    assert all("t1" in dict(m.changes) or m.changes == () for m in tail)


def test_how_many_steps_there_are_is_estimated_with_the_tail(rng):
    x, w, b = arrays(rng, (1, 2, 4, 4), (3, 2, 3, 3), (3,))
    y = jt.conv2d(x, w, b).relu()

    whole, part = stepped(y)[0], step_through(*reversed(planned([y.node])), 0, 20)

    assert not part.complete
    assert part.estimated_steps == len(whole.moments)


def test_an_edit_of_a_convolution_is_tried_runs_and_is_stepped_through(rng, use, apart):
    use("direct")
    x, w, b = arrays(rng, (2, 2, 5, 5), (3, 2, 3, 3), (3,))
    y = jt.conv2d(x, w, b, padding=1).relu()
    (kernel,) = jt.explain(y).kernels
    before = jt.conv2d(x, w, b, padding=1).relu().numpy()

    edit = jt.edit_kernel(kernel, kernel.source.replace(RELU, f"{RELU} + 1"))

    assert edit.error == ""
    assert not edit.agrees
    (out,) = edit.record["outputs"]
    assert (out["name"], out["count"], round(out["absolute"], 4)) == ("out", before.size, 1)
    edit.install()
    again = jt.conv2d(x, w, b, padding=1).relu()
    (told,) = jt.explain(again).kernels
    assert told.edited
    rows = told.source.splitlines()
    assert {rows[line.number - 1].strip() for line in told.lines if line.op == "relu"} >= {f"{RELU} + 1"}
    steps, _ = stepped(again, 100)
    assert (steps.source, steps.note) == (told.source, "")
    np.testing.assert_allclose(again.numpy(), before + 1, rtol=1e-6)


def test_an_edit_of_a_convolution_runs_on_the_sizes_that_it_was_tried_on(rng, use):
    use("direct")
    w, small, large = arrays(rng, (3, 2, 3, 3), (1, 2, 5, 5), (1, 2, 7, 6))
    kernel = jt.explain(jt.conv2d(small, w).relu()).kernels[0]
    edit = jt.edit_kernel(kernel, kernel.source.replace("t0 = maximum(", "t0 = 1 + maximum("))
    assert edit.error == ""
    edit.install()

    later, again = jt.conv2d(large, w).relu(), jt.conv2d(small, w).relu()

    (told,) = jt.explain(later).kernels
    assert (told.key, told.edited) == (kernel.key, False)
    assert again.numpy().min() == 1
    assert later.numpy().min() == 0


def test_an_edit_is_given_what_the_convolution_prepares(rng, use):
    use(PREPARING)
    x, w, dout = arrays(rng, (1, 6, 7, 7), (4, 6, 3, 3), (1, 4, 5, 5))
    *_, kernel = jt.explain(jt.grad((jt.conv2d(x, w) * dout).sum(), x)).kernels
    (_, step), *_ = steps_of(find(kernel).key)
    assert step.own.prepare is not None

    edit = jt.edit_kernel(kernel, f"{kernel.source}\nMORE = 1\n")

    assert edit.error == ""
    assert edit.agrees
    found = [edit.install, edit.revert]
    edited, plain = (do() and jt.grad((jt.conv2d(x, w) * dout).sum(), x).numpy() for do in found)
    np.testing.assert_allclose(edited, plain, rtol=1e-5, atol=1e-5)
    with jt.backends.conv.flags(enabled=False):
        np.testing.assert_allclose(jt.grad((jt.conv2d(x, w) * dout).sum(), x).numpy(), plain, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("change", "words"), [
    ((RELU, f"{RELU}\n        while t0 == t0:\n            t1 = t1 + c0"), "does this one end?"),
    (("out0[n, o, at(q)] = t1", "out0[n, o, at(q + 100)] = t1"), "IndexError"),
    (("def finish(", "def other():\n    pass\n\n\n@inlined\ndef finish("), "found @inlined"),
    (("@inlined\ndef finish", "def finish"), "found def finish"),
])  # fmt: skip
def test_what_is_wrong_in_the_tail_of_a_convolution_is_told(rng, use, change, words):
    use("direct")
    x, w, b = arrays(rng, (1, 2, 5, 5), (3, 2, 3, 3), (3,))
    (kernel,) = jt.explain(jt.conv2d(x, w, b).relu()).kernels
    assert change[0] in kernel.source

    edit = jt.edit_kernel(kernel, kernel.source.replace(*change))

    assert words in edit.error
    assert edit.line


def test_rows_that_are_moved_beside_an_array_are_noticed(rng, use):
    use("panels")
    x, w = arrays(rng, (2, 2, 5, 5), (3, 2, 3, 3))  # two images in a panel: rows are moved, whatever a vector holds
    (kernel,) = jt.explain(jt.conv2d(x, w)).kernels
    assert "out, goal, 1," in kernel.source

    edit = jt.edit_kernel(kernel, kernel.source.replace("out, goal, 1,", "out, goal + 70, 1,"))

    assert "it writes beside out, which has 54 elements" in edit.error


@pytest.mark.parametrize("algorithm", algorithms(), ids=lambda a: f"{a.name}-{a.kind}")
def test_the_text_of_every_algorithm_is_one_that_can_be_edited(algorithm):
    text, _ = with_tail(text_of(algorithm.kernel), None)
    names = next(s for s in ast.parse(text).body if getattr(s, "name", "") == "kernel").args.args[2:]
    source = Source(text, tuple(Parameter(a.arg, "float32", 5) for a in names[:3]))

    check_text(text + "\nMORE = 1\n", source)


def test_the_gradients_of_a_convolution_are_rules_in_words(rng):
    x, w = arrays(rng, (1, 2, 5, 5), (3, 2, 3, 3))
    y = jt.conv2d(x, w, padding=1, stride=2)
    dx, dw = jt.grad((y * y.detach()).sum(), [x, w])

    seen = "the window of {} that place (i, j) sees"
    assert local_rules(y.node) == [
        f"dx: dout[n, o, i, j] times y[o] is added to {seen.format('x')}",
        f"dy[o]: the sum over n, i, j of dout[n, o, i, j] times {seen.format('x')}",
    ]
    assert f"dx[n, o, i, j]: the sum of y[o] times {seen.format('dout')}" in local_rules(dx.node)
    assert f"dx[n, o, i, j]: the sum of dout[o] times {seen.format('y')}" in local_rules(dw.node)  # here y is the image


def test_a_tape_tells_beside_each_gradient_of_a_convolution_which_it_is(rng):
    x, w = arrays(rng, (1, 2, 5, 5), (3, 2, 3, 3))

    steps = record_tape(jt.conv2d(x, w, padding=1).relu().sum(), [x, w]).page["tape"]["steps"]

    rules = [s["rule"][0] for s in steps if s.get("rule")]
    assert [rule.split(":")[0] for rule in sorted(rules)] == ["dx", "dy[o]"]
    assert [s["op"] for s in steps if s["phase"] == "forward"] == ["conv2d", "relu", "sum"]


def test_pages_tell_the_algorithm_of_a_convolution_and_why(rng):
    x, w, b = arrays(rng, (2, 2, 6, 6), (3, 2, 3, 3), (3,))
    y = jt.conv2d(x, w, b, padding=1).relu()
    (plan,) = jt.explain(y).kernels

    page = recording(y).page

    (kernel,) = page["kernels"]
    assert kernel["kind"] == "convolution"
    assert plan.algorithm
    assert kernel["loops"].startswith(f"a convolution by {plan.algorithm}, ")
    assert plan.reason in kernel["loops"]
    assert kernel["flops"] == 2 * 2 * 3 * 2 * 9 * 36
    assert kernel["bytes"] == 4 * (x.numpy().size + w.numpy().size + 3 + 2 * 3 * 36)
    (drawn,) = page["graph"]["kernels"]
    assert drawn["name"] == f"conv2d_add_relu by {plan.algorithm}"


def test_the_products_and_windows_of_a_convolution_are_no_values_of_a_trace(rng):
    x, w = arrays(rng, (2, 2, 6, 6), (3, 2, 3, 3))

    with jt.trace(values=True) as t:
        jt.conv2d(x, w, padding=1).relu().numpy()

    assert max(len(v.shape) for v in t.values) == 4
    assert {k.algorithm for k in t.kernels if k.kind == "convolution"} != {""}


def test_the_passes_of_a_padded_convolution_take_it_for_one_operator(rng):
    x, w = arrays(rng, (2, 2, 6, 6), (3, 2, 3, 3))

    first, products, *_ = passes(jt.document(jt.conv2d(x, w, padding=1)))

    assert (first["kernels"], products["kernels"]) == (2, 1)
    assert products["bytes"] == 4 * (2 * 2 * 36 + 3 * 2 * 9 + 2 * 3 * 36)


def test_a_walk_names_the_file_of_the_algorithm(rng):
    x, w, b = arrays(rng, (1, 2, 5, 5), (3, 2, 3, 3), (3,))
    y = jt.conv2d(x, w, b, padding=1).relu()

    words, code = jt.walk(y).stops[4].words, jt.walk(y).stops[4].code

    (_, plan) = planned([y.node])
    assert f"jt_edu/backends/convolve/kernels/{plan.steps[0].own.algorithm.kernel}.py" in words
    assert "def convolution_text(" in code
    assert "def finish(" in code


def test_programs_that_prepare_count_among_those_to_compile(rng, use, monkeypatch):
    use(PREPARING)
    x, w, dout = arrays(rng, (1, 6, 8, 7), (4, 6, 3, 3), (1, 4, 6, 5))
    _, plan = planned([jt.grad((jt.conv2d(x, w) * dout).sum(), x).node])
    monkeypatch.setattr(backends.get("numba"), "has", lambda source: False)

    assert to_compile([plan]) == len(plan.steps) + 1
