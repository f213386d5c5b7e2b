"""Row blocks: products of matrices and the loops between them are one kernel, and no array of all rows is made.

Every number is compared with that of the same graph with a kernel for each operator, computed in float64.
"""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.codegen import emit_row_blocks
from jt_edu.nn.functional import scaled_dot_product_attention as attention

BACKENDS = ("python", "numba")
ROWS, KEYS = 7, 5


@pytest.fixture(autouse=True)
def _short_blocks(monkeypatch):
    """Blocks of three rows, so that tiny matrices have several, the last of them ragged."""
    monkeypatch.setattr(emit_row_blocks, "HIGH", 3)


def arrays(*shapes, seed=0, dtype="float32"):
    rng = np.random.default_rng(seed)
    return [jt.array(rng.normal(size=shape).astype(dtype)) for shape in shapes]


def traced(*vars):
    with jt.trace() as t:
        jt.sync(list(vars))
    return t


def blocks(t):
    return [k for k in t.kernels if k.kind == "row blocks"]


def softmax(scores):
    return jt.softmax(scores, -1)


def wanted(build, *given):
    """The numbers of a graph whose every operator has a kernel of its own, in float64."""
    with jt.flag_scope(fuse=False, backend="python"):
        return [y.numpy() for y in build(*(x.double() if x.dtype.kind == "f" else x for x in given))]


def agree(build, *given, kernels=1, backend="python"):
    """`build` answers what it should, by so many kernels of row blocks; the trace."""
    right = wanted(build, *given)
    with jt.flag_scope(backend=backend):
        found = build(*given)
        t = traced(*found)
    assert len(blocks(t)) == kernels, "\n\n".join(k.source for k in t.kernels)
    for y, z in zip(found, right, strict=True):
        np.testing.assert_allclose(y.numpy(), z, rtol=2e-5, atol=2e-6)
    return t


def with_gradients(build):
    """The answer of `build`, and its gradients by all that it was given, weighted so that none is 0 by chance."""

    def built(*given):
        y = build(*given)
        weights = jt.array(np.cos(np.arange(np.prod(y.shape))).reshape(y.shape)).cast(y.dtype)
        floats = [x for x in given if x.dtype.kind == "f"]
        return [y, *(g for g in jt.grad((y * y * weights).sum(), floats, allow_unused=True) if g is not None)]

    return built


LEAD = {"one matrix": (), "a batch": (2,), "heads": (2, 3), "one head": (2, 1), "one image": (1, 3)}


def inputs(lead=(2, 3), width=4, values=6, dtype="float32"):
    return arrays((*lead, ROWS, width), (*lead, KEYS, width), (*lead, KEYS, values), dtype=dtype)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("lead", LEAD.values(), ids=LEAD)
def test_attention_is_one_kernel_and_its_three_gradients_are_another(lead, backend):
    agree(lambda q, k, v: [softmax(q @ k.swapaxes(-1, -2) / 2) @ v], *inputs(lead), backend=backend)
    agree(
        with_gradients(lambda q, k, v: softmax(q @ k.swapaxes(-1, -2) / 2) @ v),
        *inputs(lead),
        kernels=2,
        backend=backend,
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_every_float_is_computed_in_blocks(dtype):
    given = [x.cast(dtype) for x in inputs()]
    right = wanted(with_gradients(attention), *given)

    found = with_gradients(attention)(*given)
    t = traced(*found)

    assert len(blocks(t)) == 2
    digits = {"float64": 1e-12, "float32": 2e-5, "float16": 5e-3, "bfloat16": 4e-2}[dtype]
    for y, z in zip(found, right, strict=True):
        np.testing.assert_allclose(y.double().numpy(), z, rtol=digits, atol=digits)


MASKS = {
    "bools for each pair": lambda rng: rng.random((ROWS, KEYS)) < 0.6,
    "bools for each head": lambda rng: rng.random((2, 3, ROWS, KEYS)) < 0.6,
    "padding": lambda rng: rng.random((2, 1, 1, KEYS)) < 0.6,
    "a row that may look nowhere": lambda rng: np.arange(ROWS)[:, None] > np.zeros(KEYS, int),
    "nobody may look anywhere": lambda rng: np.zeros((ROWS, KEYS), bool),
    "floats": lambda rng: rng.normal(size=(ROWS, KEYS)),
    "floats, and -inf": lambda rng: np.where(rng.random((2, 3, ROWS, KEYS)) < 0.4, -np.inf, rng.normal(size=KEYS)),
}


@pytest.mark.parametrize("causal", [False, True], ids=["", "and causal"])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_masks_of_all_kinds_hold_in_blocks(mask, causal):
    m = mask(np.random.default_rng(1))
    mask = jt.array(m if m.dtype == bool else m.astype("float32"))

    def build(q, k, v):
        return attention(q, k, v, mask if mask.dtype.kind == "b" else mask.cast(q.dtype), is_causal=causal)

    agree(with_gradients(build), *inputs(), kernels=2)


def test_a_mask_that_is_learned_has_a_gradient():
    q, k, v = inputs()
    (mask,) = arrays((2, 3, ROWS, KEYS), seed=2)

    agree(
        with_gradients(lambda q, k, v, m: attention(q, k, v, m)), q, k, v, mask, kernels=0
    )  # it is as large as all rows


@pytest.mark.parametrize("build", [attention, lambda q, k, v: attention(q, k, v, is_causal=True)], ids=["", "causal"])
def test_second_derivatives_are_right(build):
    def twice(q, k, v):
        first = jt.grad((build(q, k, v) ** 2).sum(), [q, k, v])
        return jt.grad(sum((g * g).sum() for g in first), [q, k, v])

    q, k, v = inputs((2,), dtype="float64")
    right = wanted(twice, q, k, v)

    for y, z in zip(twice(q, k, v), right, strict=True):
        np.testing.assert_allclose(y.numpy(), z, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("heads", [1, 3])
def test_queries_that_share_a_head_and_dropout_run_in_blocks(heads):
    q, k, v = arrays((2, 3, ROWS, 4), (2, heads, KEYS, 4), (2, heads, KEYS, 6))

    agree(lambda q, k, v: [attention(q, k, v, enable_gqa=True)], q, k, v)
    jt.set_global_seed(3)
    y = attention(q, k, v, dropout_p=0.5, enable_gqa=True)
    t = traced(y)
    jt.set_global_seed(3)
    with jt.flag_scope(fuse=False):
        right = attention(q, k, v, dropout_p=0.5, enable_gqa=True).numpy()

    assert len(blocks(t)) == 1
    np.testing.assert_allclose(y.numpy(), right, rtol=1e-5, atol=1e-6)


def test_no_array_is_as_large_as_the_square_of_the_length():
    def peak(length):
        q, k, v = arrays(*3 * [(1, 2, length, 4)])
        t = traced(*with_gradients(attention)(q, k, v))
        return t.predicted_peak

    assert peak(400) < 2.2 * peak(200)


def test_memory_of_a_block_does_not_grow_with_the_rows_and_shrinks_where_they_are_long(monkeypatch):
    monkeypatch.setattr(emit_row_blocks, "HIGH", 64)
    monkeypatch.setattr(emit_row_blocks, "ROOM", 1 << 12)

    def room(rows, keys):
        q, k, v = arrays((rows, 4), (keys, 4), (keys, 4))
        order_and_plan = jt.explain(attention(q, k, v)).plan
        return max(shape[0] for step in order_and_plan.steps for _, shape, _, _ in step.scratch)

    assert room(100, 10) == room(1000, 10) == 64 * 10
    assert room(100, 256) == 16 * 256
    assert room(100, 10_000) == 8 * 10_000  # never fewer rows than that


@pytest.mark.parametrize("write", [
    lambda s: jt.ternary(jt.index(s.shape, 1) > jt.index(s.shape, 0), jt.full_like(s, -np.inf), s),
    lambda s: s + jt.triu(jt.full((ROWS, KEYS), -np.inf, dtype=s.dtype), 1),
    lambda s: s.masked_fill(jt.tril(jt.ones(ROWS, KEYS)) == 0, -np.inf),
    lambda s: s.masked_fill(jt.index(s.shape, 1) - 1 >= jt.index(s.shape, 0), -np.inf),
], ids=["ternary", "triu", "masked_fill", "shifted"])  # fmt: skip
def test_columns_that_a_mask_forbids_are_left_out_however_it_is_written(write):
    def build(q, k, v):
        return softmax(write(q @ k.transpose())) @ v

    t = agree(with_gradients(build), *inputs(()), kernels=2)

    assert all("= minimum(r1, " in k.source for k in blocks(t))


@pytest.mark.parametrize("mask", [
    lambda i, j: j <= i + 1,
    lambda i, j: j < i + 2,
    lambda i, j: j >= i,
    lambda i, j: j != i + 2,
    lambda i, j: j == i,
    lambda i, j: (j - i) * (j - i) < 2,
], ids=["one more", "less than two more", "after", "all but one", "itself", "near"])  # fmt: skip
def test_columns_that_some_row_of_a_block_may_see_are_not_left_out(mask):
    def build(q, k, v):
        s = q @ k.transpose()
        allowed = mask(jt.index(s.shape, 0), jt.index(s.shape, 1))
        return attention(q, k, v, allowed)

    agree(with_gradients(build), *inputs(()), kernels=2)


def test_a_plan_that_left_columns_out_computes_them_where_the_mask_is_another_number():
    q, k, v = inputs(())

    def build(low):
        return lambda q, k, v: [
            softmax((q @ k.transpose()).masked_fill(jt.index((ROWS, KEYS), 1) > jt.index((ROWS, KEYS), 0), low)) @ v
        ]

    for low in (-np.inf, -1.0, 0.0, -np.inf):
        agree(build(low), q, k, v)


def test_forbidden_keys_may_hold_anything():
    q, k, v = inputs(())
    bad = [np.where(np.arange(KEYS)[:, None] < 3, x.numpy(), np.nan).astype("float32") for x in (k, v)]

    found = attention(q, *bad, is_causal=True).numpy()[:3]  # the first block, which sees no other key

    np.testing.assert_allclose(found, wanted(lambda *x: [attention(*x, is_causal=True)], q, k, v)[0][:3], rtol=1e-5)


def test_weights_that_are_held_are_stored_and_the_answer_is_the_same():
    q, k, v = inputs()

    def build(q, k, v):
        weights = softmax(q @ k.swapaxes(-1, -2))
        return [weights, weights @ v]

    agree(build, q, k, v, kernels=0)


def test_scores_that_other_loops_read_are_stored():
    def build(q, k, v):
        scores = q @ k.swapaxes(-1, -2)
        return [scores.sum(0), softmax(scores) @ v]

    agree(build, *inputs(), kernels=0)


def test_sums_of_rows_may_be_kept():
    def build(q, k, v):
        s = q @ k.transpose()
        ahead = jt.exp(s - jt.max(s, 1, keepdims=True))
        total = ahead.sum(1, keepdims=True)
        return [total, (ahead / total) @ v]

    agree(build, *inputs(()))


CHAINS = {
    "rows that are multiplied by themselves": lambda q, k, v: (
        softmax(q @ k.swapaxes(-1, -2)) @ (q @ k.swapaxes(-1, -2)).swapaxes(-1, -2)
    ),
    "attention of attention": lambda q, k, v: softmax(softmax(q @ k.swapaxes(-1, -2)) @ v) @ v.swapaxes(-1, -2),
    "two products before": lambda q, k, v: softmax(q @ k.swapaxes(-1, -2) + (2 * q) @ (k * k).swapaxes(-1, -2)) @ v,
    "rows seen backwards": lambda q, k, v: softmax(q @ k.swapaxes(-1, -2)).flip(-1) @ v,
    "rows of another query": lambda q, k, v: softmax(q @ k.swapaxes(-1, -2)).flip(-2) @ v,
    "rows of two lengths": lambda q, k, v: (
        softmax(q @ k.swapaxes(-1, -2)) @ v
        + softmax(q @ q.swapaxes(-1, -2) + 0 * softmax(q @ k.swapaxes(-1, -2)).sum(-1, keepdims=True))
        @ q.sum(-1, keepdims=True)
    ),
    "heads that talk": lambda q, k, v: softmax(q @ k.swapaxes(-1, -2)).flip(0) @ v,
    "columns compared, not rows": lambda q, k, v: jt.softmax(q @ k.swapaxes(-1, -2), -2) @ v,
    "no row is summed": lambda q, k, v: jt.tanh(q @ k.swapaxes(-1, -2)) @ v,
    "rows seen backwards, and masked": lambda q, k, v: (
        attention(q, k, v, is_causal=True)
        + softmax(
            jt.ternary(
                jt.index((2, ROWS, KEYS), 2) > jt.index((2, ROWS, KEYS), 1),
                jt.full((2, ROWS, KEYS), -np.inf, dtype=q.dtype),
                (q @ k.swapaxes(-1, -2)).flip(-1),
            )
        )
        @ v
    ),
    "two answers": lambda q, k, v: softmax(q @ k.swapaxes(-1, -2)) @ v + softmax(q @ k.swapaxes(-1, -2)) @ (v * v),
    "a row and its layer norm": lambda q, k, v: jt.nn.functional.layer_norm(q @ k.swapaxes(-1, -2), (KEYS,)) @ v,
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("build", CHAINS.values(), ids=CHAINS)
def test_whatever_stands_between_two_products_has_the_same_numbers(build, backend):
    given = arrays((2, ROWS, 4), (2, KEYS, 4), (2, KEYS, KEYS if build is CHAINS["attention of attention"] else 6))
    right = wanted(with_gradients(build), *given)

    with jt.flag_scope(backend=backend):
        found = [y.numpy() for y in with_gradients(build)(*given)]

    for y, z in zip(found, right, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-4, atol=1e-5)


def test_a_perceptron_keeps_its_hidden_layer():
    agree(lambda x, a, b: [jt.relu(x @ a) @ b], *arrays((ROWS, 4), (4, KEYS), (KEYS, 3)), kernels=0)


def test_a_large_product_is_not_computed_again_where_its_rows_are_short(monkeypatch):
    monkeypatch.setattr("jt_edu.fusion.row_blocks.SMALL", 10)
    q, k, v = inputs((2,), width=KEYS + 1)

    t = agree(with_gradients(lambda q, k, v: softmax(q @ k.swapaxes(-1, -2)) @ v), q, k, v, kernels=1)

    assert "exp(" not in blocks(t)[0].source  # weights are stored, and their gradient is made in blocks
    agree(with_gradients(lambda q, k, v: softmax(q @ k.swapaxes(-1, -2)) @ v), *inputs((2,), width=KEYS), kernels=2)


@pytest.mark.parametrize("causal", [False, True])
def test_threads_do_not_change_a_bit(causal):
    q, k, v = arrays(*3 * [(2, 3, 70, 64)])
    before, bits = jt.get_num_threads(), []
    try:
        for count in (1, 3):
            jt.set_num_threads(count)
            with jt.flag_scope(backend="numba"):
                found = with_gradients(lambda *x: attention(*x, is_causal=causal))(q, k, v)
                bits.append([y.numpy().tobytes() for y in found])
    finally:
        jt.set_num_threads(before)

    assert bits[0] == bits[1]


def test_explain_says_what_runs_a_block_at_a_time():
    text = str(jt.explain(attention(*inputs())))

    assert "each i1 of a block of 3 rows: (each i2 of 5, then each i3 of 5, then each i4 of 5)" in text
    assert "2 products and the loops between them run 3 rows at a time, in the cache" in text
    assert "row blocks; a block of its rows stays in the cache until" in text


def test_a_layer_of_a_transformer_that_trains_stores_the_numbers_of_its_dropout_and_no_weights():
    jt.set_global_seed(0)
    layer = jt.nn.TransformerEncoderLayer(8, 2, 8, dropout=0.5, batch_first=True)
    (x,) = arrays((2, 30, 8))

    def step():
        jt.set_global_seed(1)
        return jt.grad((layer(x) ** 2).sum(), layer.parameters())

    found = step()
    t = traced(*found)
    with jt.flag_scope(fuse=False):
        right = [g.numpy() for g in step()]

    assert len(blocks(t)) == 2
    assert [m.bytes >= 2 * 2 * 30 * 30 * 4 for m in t.memory if m.action == "allocate"].count(True) == 1
    for y, z in zip(found, right, strict=True):
        np.testing.assert_allclose(y.numpy(), z, rtol=1e-4, atol=1e-5)
