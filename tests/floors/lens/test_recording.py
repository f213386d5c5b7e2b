"""What traces and recordings tell about values, modules and twins."""

import contextlib
import json
import threading

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import backends, nn
from jt_edu.base.trace import KernelRun
from jt_edu.introspect.explain import Explanation
from jt_edu.introspect.syntax import classes
from jt_edu.lens import kernel_timer
from jt_edu.lens import recording as recordings
from jt_edu.lens.memory_timeline import footprint, footprint_of
from jt_edu.lens.roofline import both_ways
from jt_edu.lens.thumbnails import shrunk
from jt_edu.runtime.array_summary import value_of
from jt_edu.runtime.trace_events import SEEN


def cells(value):
    return np.frombuffer(value.cells, "<f4").reshape(value.rows, value.columns)


class Net(nn.Module):
    def __init__(self):
        self.body = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
        self.head = nn.Linear(3, 2)

    def execute(self, x):
        return self.head(self.body(x))


def test_a_trace_with_values_tells_every_value_that_a_kernel_would_keep_in_a_register():
    a, b = jt.array([[1.0, 2.0], [3.0, 4.0]]), jt.array([[5.0, 6.0], [7.0, 8.0]])
    product = a.node.id

    with jt.trace(values=True) as t:
        y = (a * b + 1).sum()
        y.numpy()

    seen = {v.node: v for v in t.values}
    (multiply,) = [n.id for n in t.built if n.op == "multiply"]
    np.testing.assert_array_equal(cells(seen[multiply]), [[5, 12], [21, 32]])
    np.testing.assert_array_equal(cells(seen[product]), a.numpy())
    assert (seen[y.node.id].min, seen[y.node.id].count) == (74.0, 1)


def test_a_trace_without_values_tells_none_and_fuses_as_ever():
    a = jt.array([1.0, 2.0])

    with jt.trace() as t:
        (a * 2 + 1).sum().numpy()

    assert t.values == []
    assert t.peak == 4


def test_what_was_only_looked_at_is_not_kept():
    a = jt.array([1.0, 2.0])
    inner = (a * 2).node
    y = (jt.Var._of(inner) + 1).sum()
    inner_before = inner.data

    with jt.trace(values=True):
        y.numpy()

    assert inner_before is None
    assert y.node.data is not None
    assert all(n.data is None for n in y.node.inputs)


def test_the_products_inside_of_a_matrix_product_are_not_stored_to_be_seen():
    a, b = jt.ones((8, 16)), jt.ones((16, 4))

    with jt.trace(values=True) as t:
        (a @ b).numpy()

    assert all(np.prod(v.shape) < 8 * 16 * 4 for v in t.values)
    assert ("BLAS",) in [k.calls for k in t.kernels]


def test_what_is_too_large_is_not_stored_to_be_seen_but_a_large_array_that_is_there_is_told():
    large = jt.array(np.zeros(SEEN + 1, "float32"))

    with jt.trace(values=True) as t:
        (large * 2).sum().numpy()

    assert {np.prod(v.shape) for v in t.values} == {SEEN + 1, 1}
    assert {v.node for v in t.values if np.prod(v.shape) > SEEN} == {large.node.id}


def test_a_thumbnail_counts_what_is_not_finite_and_leaves_it_out_of_the_mean():
    value = value_of(0, np.array([1.0, np.nan, np.inf, -np.inf, 0.0, 5.0]), "float64")

    assert (value.min, value.mean, value.max) == (0.0, 2.0, 5.0)
    assert (value.nan, value.inf, value.zero, value.count) == (1, 2, 1, 6)


def test_a_large_array_is_sampled_evenly_and_a_small_one_is_exact():
    large = value_of(0, np.arange(64 * 64.0).reshape(64, 64), "float64")
    small = value_of(0, np.arange(6.0).reshape(1, 2, 3), "float64")

    assert not large.exact
    np.testing.assert_array_equal(cells(large), np.arange(64 * 64.0).reshape(64, 64)[::2, ::2])
    assert (small.exact, small.rows, small.columns) == (True, 2, 3)
    np.testing.assert_array_equal(cells(shrunk(large, 4)), np.arange(64 * 64.0).reshape(64, 64)[::16, ::16])


def test_values_of_every_dtype_have_a_thumbnail():
    for dtype in ("bool", "int8", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64"):
        x = jt.array([0, 1, 1]).cast(dtype)
        with jt.trace(values=True) as t:
            (x + x).numpy()
        assert max(v.max for v in t.values) == (1.0 if dtype == "bool" else 2.0), dtype


def test_an_empty_array_has_a_thumbnail_without_cells():
    value = value_of(0, np.zeros((0, 3)), "float32")

    assert (value.count, value.cells, str(value.min)) == (0, b"", "nan")


def test_a_node_knows_the_module_that_built_it_and_a_gradient_that_of_its_twin():
    net = Net()
    loss = net(jt.ones((5, 4))).sum()
    dw = jt.grad(loss, net.body[0].weight)

    nodes = {n["id"]: n for n in jt.document(loss, dw)["nodes"]}

    paths = {n["module"] for n in nodes.values() if n["op"] == "matmul" and not n["gradient"]}
    assert paths == {"Net/body/0", "Net/head"}
    twins = [(n, nodes[n["twin"]]) for n in nodes.values() if n["twin"] in nodes]
    assert twins
    assert all(n["module"] == twin["module"] for n, twin in twins)
    assert all(n["gradient"] for n, _ in twins)


def test_a_module_that_is_not_held_by_its_caller_is_called_by_its_class():
    class Odd(nn.Module):
        def execute(self, x):
            return nn.ReLU()(x)

    document = jt.document(Odd()(jt.ones(3)))

    assert document["nodes"][-1]["module"] == "Odd/ReLU"
    assert document["nodes"][-1]["modules"] == ["Odd", "ReLU"]


def test_after_an_error_in_a_module_what_is_built_belongs_to_no_module():
    class Bad(nn.Module):
        def execute(self, x):
            raise ValueError("no")

    with contextlib.suppress(ValueError):
        Bad()(jt.ones(3))

    assert jt.document(jt.ones(3) * 2)["nodes"][-1]["module"] == ""


def test_a_recording_leaves_lazy_what_was_lazy_and_tells_values_and_costs():
    net = Net()
    loss = net(jt.ones((5, 4))).sum()

    r = jt.recording(loss, *jt.grad(loss, net.parameters()))

    assert loss.node.data is None
    assert r.page["values"][str(loss.node.id)]["mean"] == loss.item()
    assert [k["ms"] for k in r.page["kernels"]] == [k.milliseconds for k in r.trace.kernels]
    assert [k["source"] for k in r.page["kernels"]] == [k.source for k in r.trace.kernels]
    assert r.page["peak"] == r.page["predicted_peak"] == r.trace.peak > 0
    assert {m["kernel"] for m in r.page["memory"]} <= set(range(len(r.page["kernels"])))
    json.dumps(r.page, allow_nan=False)


def test_the_time_of_a_kernel_is_the_least_of_some_runs_after_the_first(monkeypatch):
    took = iter([4.0, 3.0, 5.0])  # milliseconds
    monkeypatch.setattr(kernel_timer, "MOST", 3)
    monkeypatch.setattr(kernel_timer, "BUDGET", 60.0)
    monkeypatch.setattr(
        kernel_timer, "run_plan", lambda p, o, context: context.traces[-1].kernels.append(ran(next(took)))
    )
    e = Explanation([(jt.ones(8) * 2).node], {})

    (kernel,), runs = kernel_timer.warm(e.plan, e.order, [ran(40.0)])

    assert (kernel.milliseconds, runs) == (3.0, 3)


def ran(milliseconds):
    return KernelRun("multiply", "", (), (), (), "numba", False, 0.0, milliseconds, 0, 0)


def test_kernels_are_timed_again_where_that_is_quick_and_the_page_says_how_often(monkeypatch):
    monkeypatch.setattr(kernel_timer, "BUDGET", 60.0)

    page = jt.recording((jt.ones(8) * 2).sum()).page

    assert page["kernels"][0]["runs"] == kernel_timer.MOST
    assert page["about"][0].startswith(f"Times are the least of {kernel_timer.MOST} runs, after a first one")


def test_what_takes_long_is_timed_once_and_the_page_says_that_it_was_the_first_run(monkeypatch):
    monkeypatch.setattr(kernel_timer, "BUDGET", 0.0)

    page = jt.recording((jt.ones(8) * 2).sum()).page

    assert [k["runs"] for k in page["kernels"]] == [1]
    assert page["about"][0].startswith("Times are those of one run, the first")


def test_work_on_the_host_is_not_done_again_to_time_it(monkeypatch):
    def forward(np, data):
        done.append(1)
        data["outputs"][0].fill(1)

    monkeypatch.setattr(kernel_timer, "BUDGET", 60.0)
    done = []

    page = jt.recording(jt.numpy_code((3,), "float32", [jt.ones(3)], forward)).page

    assert len(done) == 2  # one run for the times, one for the values
    assert {k["runs"] for k in page["kernels"]} == {1}


def test_cells_of_a_recording_are_where_the_page_says():
    x = jt.array([[1.0, 2.0], [3.0, 4.0]])

    r = jt.recording(x * 2)

    value = r.page["values"][str(r.wanted[0].id)]
    at, count = value["block"]
    np.testing.assert_array_equal(np.frombuffer(r.blocks, "<f4")[at : at + count], [2, 4, 6, 8])


def test_a_recording_of_what_is_computed_already_shows_how_it_would_be_computed_again():
    x = jt.array([1.0, 2.0])
    x.requires_grad = True
    y = (x * 3).sum()
    y.numpy()

    r = jt.recording(y)

    assert len(r.page["kernels"]) == 1
    assert r.page["values"][str(y.node.id)]["mean"] == 9.0


def heavy(monkeypatch):
    """Multiplying and adding up 8 numbers is too much."""
    monkeypatch.setattr(recordings, "HEAVY", 15)
    return 8, "Nothing ran, since it does 16 operations: "


def new(monkeypatch):
    """Nothing was compiled before, and not even one kernel may be compiled now."""
    monkeypatch.setattr(backends.get("numba"), "has", lambda source: False)
    monkeypatch.setattr(recordings, "NEW", 0)
    return 9, "Nothing ran, since 2 kernels would have to be compiled: "


@pytest.mark.parametrize("limit", [heavy, new])
def test_what_takes_long_is_not_run_unless_it_is_asked_for(monkeypatch, limit):
    length, reason = limit(monkeypatch)
    y = (jt.array(np.ones(length, "float32")) * 2).sum()

    r, asked = jt.recording(y), jt.recording(y, run=True)

    assert r.page["kernels"][0]["ms"] is None
    assert r.page["values"] == {}
    assert r.page["notes"] == [
        f"{reason}times and values are not known, and bytes are those of the plan. With run=True it runs."
    ]
    assert asked.page["kernels"][0]["ms"] > 0
    assert not any("Nothing ran" in note for note in asked.page["notes"])


def test_what_was_compiled_before_is_not_counted_as_new(monkeypatch):
    monkeypatch.setattr(recordings, "NEW", 0)
    monkeypatch.setattr(backends.get("numba"), "has", lambda source: True)

    r = jt.recording((jt.array(np.ones(7, "float32")) * 2).sum())

    assert r.page["values"]


def test_the_arrays_of_what_did_not_run_are_those_of_its_plan():
    y = (jt.ones(8).sync() * 2).exp().sum()

    planned, ran = footprint(y, run=False).page, footprint(y).page

    told = ("node", "bytes", "from", "to")
    rows = [[[one[key] for key in told] for one in page["lifetimes"]["arrays"]] for page in (planned, ran)]
    assert rows[0] == rows[1]
    assert "by the plan; nothing ran" in planned["summary"]


def test_without_a_run_nothing_is_measured():
    r = jt.recording((jt.ones(8) * 2).sum(), run=False)

    assert r.page["kernels"][0]["ms"] is None
    assert r.page["notes"] == ["Nothing ran: times and values are not known, and bytes are those of the plan."]


def test_a_recording_can_be_made_again_after_its_vars_were_computed():
    x = jt.array([1.0, 2.0]).stop_grad()
    answer = (x * 3).sum()
    before = jt.recording(answer, run=False)
    answer.item()  # and nothing is known of its history any more

    r = before.again(run=True)

    assert r.page["summary"] == before.page["summary"]
    assert [n["id"] for n in r.page["graph"]["nodes"]] == [n["id"] for n in before.page["graph"]["nodes"]]
    assert "answer" in [n["name"] for n in r.page["graph"]["nodes"]]
    assert r.page["values"][str(answer.node.id)]["mean"] == 9.0


@pytest.mark.parametrize("run", [True, False])
def test_what_ran_runs_again_and_what_did_not_does_not(run):
    again = jt.recording(jt.array([1.0, 2.0]) * 3, run=run).again()

    assert bool(again.page["values"]) is run


def test_a_kernel_has_the_same_key_on_every_page():
    x = jt.array(np.ones((6, 5), "float32"))
    y = (x * 2 + 1).sum(1)
    explained, page, roofs = jt.explain(y), jt.recording(y).page, both_ways([y.node])
    with jt.trace() as t:
        y.numpy()

    keys = [k["key"] for k in page["kernels"]]

    assert len(keys) == 1
    assert len(keys[0]) == 10
    assert [k.key for k in explained.kernels] == keys
    assert [k["key"] for k in roofs["ways"]["fused"]] == keys
    assert [k.key for k in t.kernels] == keys
    assert [k["key"] for k in footprint_of(t).page["kernels"]] == keys


def test_a_page_of_a_trace_says_nothing_of_files_and_says_what_was_edited():
    x = jt.array(np.ones((3, 5), "float32"))
    (source,) = [k.source for k in jt.explain(x * 4 - 2).kernels]
    edit = jt.edit_kernel(source, source.replace("t0 = ", "t0 = +"))
    edit.install()
    try:
        with jt.trace() as t:
            (x * 4 - 2).numpy()
        page = footprint_of(t).page
    finally:
        jt.revert_kernels()
    with jt.trace() as generated:
        (x * 4 - 2).numpy()
    path = generated.kernels[0].path

    assert [k["edited"] for k in page["kernels"]] == [True]
    assert page["kernels"][0].keys() == jt.recording(x * 4 - 2, run=False).page["kernels"][0].keys()
    assert path
    assert path not in json.dumps(footprint_of(generated).page)


def test_parameters_are_arrays_even_if_their_module_is_gone():
    def loss():
        return Net()(jt.ones((5, 4))).sum()

    page = jt.recording(loss(), run=False).page

    assert {(2, 3), (3,), (3, 4), (2,)} <= {tuple(n["shape"]) for n in page["graph"]["nodes"] if n["kind"] == "source"}
    assert not [n["op"] for n in page["graph"]["nodes"] if "random" in n["op"] or n["kind"] == "index"]


def test_a_graph_that_cannot_run_is_shown_with_the_reason():
    x = jt.array([1.0, 2.0])

    r = jt.recording(x[jt.array([4]) + 1])

    assert any("index 5" in note for note in r.page["notes"])
    assert r.page["kernels"]


def test_nan_and_infinity_stay_valid_json():
    r = jt.recording(jt.log(jt.array([-1.0, 0.0])))

    json.dumps(r.page, allow_nan=False)
    assert r.page["values"][str(r.wanted[0].id)]["nan"] == 1


def test_an_unfinished_source_has_colours_as_far_as_it_can_be_read():
    assert (1, 0, 3, "k") in classes("def kernel(lo, hi:\n    x = (")


def test_a_text_with_values_in_it_is_a_string_from_its_first_letter_to_its_last():
    """Python 3.12 and later read it in parts."""
    spans = [span for span in classes('f"a{b}c"\n') if span[3] == "s"]

    assert (spans[0][1], spans[-1][2]) == (0, 8)
    assert len({column for _, begin, end, _ in spans for column in range(begin, end)}) >= len('f"ac"')


def test_a_text_over_several_lines_has_its_colour_in_each_of_them():
    found = classes('"""A docstring.\n\n    More.\n"""\nx = 1\n')

    assert [span for span in found if span[3] == "s"] == [(1, 0, 15, "s"), (3, 0, 9, "s"), (4, 0, 3, "s")]


@pytest.fixture
def negated():
    """A sum whose kernel is edited to take away what it should add; the Var, and the edit."""
    jt.flags.backend, before = "python", jt.flags.backend
    y = (jt.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]) ** 2 + 1).sum()
    (kernel,) = jt.explain(y).kernels
    edit = jt.edit_kernel(kernel, kernel.source.replace("s0 = s0 + ", "s0 = s0 - "), seconds=60).install()
    yield y
    edit.revert()
    jt.flags.backend = before


def test_values_of_an_edited_graph_are_those_that_it_computes(negated):
    page = jt.recording(negated).page

    shown = page["values"][str(negated.node.id)]["mean"]

    assert shown == negated.item() == -97.0
    assert {n["op"] for n in page["graph"]["nodes"] if str(n["id"]) in page["values"]} == {"array", "sum"}
    assert any("A kernel was edited" in note for note in page["notes"])


def test_a_recording_hears_nothing_of_what_another_thread_runs_and_nobody_hears_of_its_runs():
    stop = threading.Event()

    def train():
        while not stop.is_set():
            (jt.ones(50) * 2).sum().item()

    with jt.flag_scope(backend="python"), jt.trace() as outside:
        other = threading.Thread(target=train, daemon=True)
        jt.recording((jt.array([1.0, 2.0]) * 3).sum())
        alone = len(outside.kernels)
        other.start()
        pages = [jt.recording((jt.array([1.0, 2.0]) * 3).exp().sum()).page for _ in range(20)]
        stop.set()
        other.join()

    assert alone == 0
    assert {(len(page["values"]), len(page["memory"]), page["peak"]) for page in pages} == {(4, 1, 4)}


def test_a_long_name_is_shortened_on_every_page():
    x = jt.array([1.0, 2.0])
    x.name = "N" * 100_000

    page = jt.recording((x * 2).sum(), run=False).page

    assert len(json.dumps(page)) < 20_000
    assert "N" * 39 + "…" in [n["name"] for n in page["graph"]["nodes"]]
