"""The graph document: the same graph that runs, as plain data, and its picture."""

import json

import numpy as np
import pytest

import jt_edu as jt
from tests.story.test_explain import EXPRESSIONS, numbers

KINDS = {"elementwise", "reindex", "reindex_reduce", "source", "constant", "index", "code", "hostcall"}


@pytest.mark.parametrize("build", EXPRESSIONS)
def test_a_document_is_plain_data_in_an_order_that_can_be_computed(build):
    document = jt.document(*build())

    assert json.loads(json.dumps(document)) == document
    assert (document["format"], document["version"]) == ("jt_edu.graph", 1)
    seen = set()
    for node in document["nodes"]:
        assert set(node["inputs"]) <= seen
        assert node["kind"] in KINDS
        seen.add(node["id"])
    assert set(document["outputs"]) <= seen


@pytest.mark.parametrize("build", EXPRESSIONS)
def test_its_kernels_and_edges_are_those_of_the_run(build):
    wanted = build()
    document = jt.document(*wanted)

    with jt.flag_scope(backend="python"), jt.trace() as t:
        jt.sync(wanted)

    assert [k["name"] for k in document["kernels"]] == [k.name for k in t.kernels]
    edges = {(e["source"], e["target"]): (e["fused"], e["rule"], e["reason"]) for e in document["edges"]}
    assert {(d.source, d.target): (d.fused, d.rule, d.reason) for d in t.decisions}.items() <= edges.items()
    assert edges.keys() == {(i, node["id"]) for node in document["nodes"] for i in node["inputs"]}
    assert {n["id"] for n in document["nodes"] if n["stored"]} == {i for k in t.kernels for i in k.stored}


@pytest.mark.parametrize("build", EXPRESSIONS)
def test_every_node_of_a_kernel_knows_its_kernel(build):
    document = jt.document(*build())

    where = {node["id"]: node["kernel"] for node in document["nodes"]}
    assert {i: k["id"] for k in document["kernels"] for i in k["nodes"]} == {
        i: k for i, k in where.items() if k is not None
    }
    assert [n["id"] for n in document["nodes"] if n["kind"] in ("source", "constant") and n["kernel"] is not None] == []
    assert [n["op"] for n in document["nodes"] if n["kind"] == "elementwise" and n["kernel"] is None] == []


def test_vars_have_the_names_of_the_learners_variables():
    weight, bias = numbers(3), numbers(3)
    bias.name = "a name of its own"
    answer = weight * 2 + bias

    nodes = jt.document(answer)["nodes"]

    assert [node["name"] for node in nodes if node["name"]] == ["weight", "a name of its own", "answer"]


def test_gradients_are_marked_and_bear_the_line_whose_gradient_they_are():
    x = numbers(3)
    loss = (x * x).sum()
    dx = jt.grad(loss, x)

    nodes = jt.document(loss, dx)["nodes"]

    marked = {node["id"] for node in nodes if node["gradient"]}
    assert dx.node.id in marked
    assert loss.node.id not in marked
    assert all("loss = (x * x).sum()" in node["where"] for node in nodes if node["id"] in marked)


def test_what_was_computed_is_shown_with_its_history():
    x = numbers(3)
    y = (x * 2).sum()
    pending = jt.document(y)
    y.sync()

    assert jt.document(y) == pending


def test_a_graph_begins_at_arrays_that_exist():
    x = numbers(3)
    middle = (x * 2).sync()
    y = middle + 1

    nodes = jt.document(y)["nodes"]

    assert [(n["op"], n["kind"], n["name"]) for n in nodes] == [
        ("multiply", "source", "middle"), ("number", "constant", ""), ("add", "elementwise", "y"),
    ]  # fmt: skip


def test_numbers_show_their_value():
    assert [n["value"] for n in jt.document(numbers(3) * 2.5)["nodes"]] == ["", "2.5", ""]


def test_one_picture_shows_several_vars_and_runs_nothing():
    x = numbers(3)
    double, triple = x * 2, x * 3

    with jt.trace() as t:
        picture = jt.graph(double, triple)

    assert (
        picture.summary
        == "A graph of 5 nodes in 1 kernel: x goes in, double (3,) float32 and triple (3,) float32 come out."
    )
    assert picture.svg.startswith("<svg ")
    assert t.kernels == []
    assert x.graph().summary.startswith("A graph of 1 node")


def test_a_picture_of_a_training_step_has_a_frame_for_each_kernel_with_several_nodes():
    x, w, t = numbers(8, 5), numbers(5, 3), jt.array(np.arange(8) % 3)
    loss = jt.cross_entropy_loss(x @ w, t)
    step = jt.graph(loss, w - 0.1 * jt.grad(loss, w))

    large = [k for k in step.document["kernels"] if len(k["nodes"]) > 1]
    assert step.svg.count('class="frame"') == len(large)
