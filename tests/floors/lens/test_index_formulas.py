"""The rules that a tape shows for reindexes, sums and contractions, worked out as they are written."""

import itertools
import re

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.lens.gradient_rules import local_rules
from jt_edu.lens.tape import record_tape

RNG = np.random.default_rng(3)
RULE = re.compile(r"d([xy])(?:\[(.*?)\])? (\+?=) (?:sum over (.*?) of )?(dout.*?)(?:;.*)?")


def var(*shape):
    return jt.array(RNG.standard_normal(shape))


def worked_out(rule, out_shape, x, y=None):
    """The gradient that a rule states, element by element; what lies outside x is dropped."""
    name, there, _, _, value = RULE.fullmatch(rule).groups()
    target = x if name == "x" else y
    found = np.zeros(target.shape)
    dout = np.arange(1.0, 1 + int(np.prod(out_shape))).reshape(out_shape)
    letters = sorted({*re.findall(r"\b([i-n p-w])\b", rule)} - {" "})
    for counters in itertools.product(*[range(8)] * len(letters)):
        known = dict(zip(letters, counters, strict=True)) | {"dout": dout, "x": x, "y": y}
        place = eval(f"({there},)", {}, known) if there else ()  # noqa: S307 - text of ours
        try:
            part = eval(value, {}, known)  # noqa: S307
        except IndexError:
            continue
        if all(0 <= p < n for p, n in zip(place, found.shape, strict=True)):
            found[place] += part
    return found, dout


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda x: x.T, "dx = dout.T"),
        (lambda x: x.broadcast((2, 3, 4), (0,)), "dx[0, j, k] = sum over i of dout[i, j, k]"),
        (lambda x: x[:, :1].broadcast((3, 5)), "dx[i, 0] = sum over j of dout[i, j]"),
        (lambda x: x[1:], "dx[i + 1, j] += dout[i, j]"),
        (lambda x: x[:2], "dx[i, j] += dout[i, j]"),
        (lambda x: x[0], "dx[0, i] += dout[i]"),
        (lambda x: x.reindex((3, 6), lambda i, j: (i, j - 1)),
         "dx[i, j - 1] += dout[i, j]; what lies outside x is dropped"),
        (lambda x: x.sum(), "dx[i, j] = dout"),
        (lambda x: x.sum(0), "dx[i, j] = dout[j]"),
        (lambda x: x.sum(1, keepdims=True), "dx[i, j] = dout[i, 0]"),
        (lambda x: x.reindex_reduce("add", (2, 4), lambda i, j: (i // 2, j)), "dx[i, j] = dout[i // 2, j]"),
    ],
)  # fmt: skip
def test_the_rule_of_a_view_or_a_sum_names_each_index_and_is_its_gradient(make, rule):
    x = var(3, 4)
    y = make(x)
    last = y.node

    assert local_rules(last) == [rule]

    inner = jt.Var._of(last.inputs[0])
    if rule != "dx = dout.T":
        expected, dout = worked_out(rule, y.shape, inner.numpy())
        (found,) = jt.grad((y * jt.array(dout)).sum(), [inner])
        np.testing.assert_allclose(found.numpy(), expected)


@pytest.mark.parametrize(
    ("make", "shapes", "rules"),
    [
        (lambda x, y: x @ y, [(2, 3), (3, 4)], ["dx = dout @ y.T", "dy = x.T @ dout"]),
        (lambda x, y: x @ y, [(5, 2, 3), (5, 3, 4)],
         ["dx = dout @ y.transpose(-1, -2)", "dy = x.transpose(-1, -2) @ dout"]),
        (lambda x, y: x @ y, [(2, 3), (3,)],
         ["dx[i, k] = sum over j of dout[i, j] * y[k]", "dy[k] = sum over i, j of dout[i, j] * x[i, k]"]),
        (lambda x, y: jt.einsum("ab,cb->ca", x, y), [(2, 3), (4, 3)],
         ["dx[j, k] = sum over i of dout[i, j] * y[i, k]", "dy[i, k] = sum over j of dout[i, j] * x[j, k]"]),
    ],
)  # fmt: skip
def test_the_rule_of_a_contraction_is_a_contraction_and_is_its_gradient(make, shapes, rules):
    x, y = (var(*shape) for shape in shapes)
    out = make(x, y)
    node = out.node if out.node.op.kind == "reindex_reduce" else out.node.inputs[0]

    assert local_rules(node) == rules

    dout = np.arange(1.0, 1 + out.size).reshape(out.shape)
    for rule, wrt, found in zip(rules, "xy", jt.grad((out * jt.array(dout)).sum(), [x, y]), strict=True):
        if "@" in rule:
            turned = {"x": x.numpy(), "y": y.numpy(), "dout": dout}
            text = rule.partition(" = ")[2].replace(".transpose(-1, -2)", ".swapaxes(-1, -2)")
            expected = eval(text, {}, turned)  # noqa: S307
        else:
            expected, _ = worked_out(rule, node.shape, x.numpy(), y.numpy())
        np.testing.assert_allclose(found.numpy(), expected, err_msg=wrt)


def test_an_index_that_is_too_long_to_be_read_is_told_in_words():
    x = jt.ones(3, 4)

    y = x.reindex((3, 4), lambda i, j: ((i * 1234567 + j * 7654321 + 11) % 3, (i * 7 + j * 5) % 4))

    (rule,) = local_rules(y.node)

    assert rule == "dx[where(i)] += dout[i]; where(i) is the place in x that element i of the result belongs to"


def test_a_complex_product_conjugates_the_other_factor():
    x, y = jt.array(np.ones((2, 3), "complex64")), jt.array(np.ones((3, 4), "complex64"))

    assert local_rules((x @ y).node)[0] == "dx = dout @ y.conj().T"


def test_each_step_back_through_a_layer_tells_the_one_rule_that_it_follows():
    x, w, b = var(4, 3), var(2, 3), var(2)
    x.name, w.name, b.name = "x", "w", "b"

    page = record_tape((x @ w.T + b).relu().mean(), [x, w, b]).page

    ids = {leaf["gradient"]: leaf["name"] for leaf in page["tape"]["leaves"]}
    rules = {ids[s["node"]]: s["rule"] for s in page["tape"]["steps"] if s["node"] in ids}
    assert rules["x"] == ["dx = dout @ y.T"]
    assert rules["w"] == ["dy = x.T @ dout", "permute: dx = dout.T"]
    assert {s["op"] for s in page["tape"]["steps"] if ids.get(s["node"]) in ("x", "w")} == {"matmul"}
    assert {k["name"] for k in page["kernels"] if k["kind"] == "product"} == {"matmul"}


def test_a_choice_is_written_as_python_writes_it():
    c, x, y = jt.array([True, False]), var(2), var(2)

    assert local_rules(jt.where(c, x, y).node) == ["dx = dout if c else 0", "dy = 0 if c else dout"]


def test_numbers_have_no_rule():
    assert local_rules((var(2) / 4).node) == ["dx = dout / y"]
