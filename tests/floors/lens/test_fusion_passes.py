"""Passes: from one kernel for each operator to the kernels of the plan, and what each step would read and write."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.lens.fusion_passes import passes


def numbers(*shape):
    return jt.array(np.random.default_rng(7).normal(size=shape).astype("float32"))


def with_gradients(y, *sources):
    return [y, *jt.grad((y * y).sum(), [*sources])]


def first_example():
    return [(numbers(2, 3) * numbers(2, 3) + numbers(3)).sum()]


def softmax():
    return [jt.softmax(numbers(4, 6), dim=1)]


def layer_norm():
    x, layer = numbers(4, 6), nn.LayerNorm(6)
    return with_gradients(layer(x), x, *layer.parameters())


def batch_norm():
    x, layer = numbers(4, 3, 5, 5), nn.BatchNorm(3)
    return with_gradients(layer(x).relu(), x, *layer.parameters())


def training_step():
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    loss = nn.cross_entropy_loss(net(numbers(5, 6)), jt.array([0, 1, 2, 1, 0]))
    return [loss, *(p - 0.1 * d for p, d in zip(net.parameters(), jt.grad(loss, net.parameters()), strict=True))]


def convolution():
    return [nn.Conv(2, 3, 3, padding=1)(numbers(2, 2, 6, 6)).relu()]


def convolution_gradients():
    x, layer = numbers(2, 2, 6, 6), nn.Conv(2, 3, 3, padding=1)
    return with_gradients(layer(x).relu(), x, *layer.parameters())


def attention():
    q, k, v = numbers(2, 5, 4), numbers(2, 6, 4), numbers(2, 6, 4)
    return [jt.softmax(q @ k.transpose(0, 2, 1) / 2.0, dim=-1) @ v]


def attention_gradients():
    q, k, v = numbers(2, 5, 4), numbers(2, 6, 4), numbers(2, 6, 4) * 2
    return with_gradients(jt.softmax(q @ k.transpose(0, 2, 1) / 2.0, dim=-1) @ v, q, k, v)


def residual_block():
    x, w, v = numbers(5, 6), numbers(6, 8), numbers(8, 6)
    return with_gradients(x + nn.gelu(x @ w) @ v, w, v)


def encoder_layer():
    return [nn.TransformerEncoderLayer(8, 2, 16)(numbers(2, 4, 8))]


def recurrent():
    layer = nn.LSTM(3, 4)
    return with_gradients(layer(numbers(3, 2, 3))[0], *layer.parameters())


def two_reductions():
    e = numbers(4, 5).exp()
    return [e.sum(), e.max()]


def looked_up():
    x, rows = numbers(6, 3), jt.array([1, 2, 5])
    return [x[rows] * 2, x[rows].sum(0)]


def embedding():
    layer = nn.Embedding(7, 3)
    return with_gradients(layer(jt.array([1, 2, 1])), *layer.parameters())


def long_chain():
    x = numbers(4, 4)
    for _ in range(150):
        x = x.sin()
    return [x]


def views():
    x = numbers(4, 6)
    return [x.reshape(2, 12).sum(1), x.transpose(1, 0).reshape(3, 8) * 2, x.transpose(1, 0)]


def scan():
    return [jt.cumsum(numbers(4, 5) * 2, 1).sin()]


def pooled():
    return [nn.Pool(2, 2)(numbers(1, 2, 4, 4)).exp()]


def padded():
    return [nn.functional.pad(numbers(3, 3) + 1, (1, 1, 1, 1)).sum(1)]


def there_already():
    return [numbers(3)]


GRAPHS = [
    first_example, softmax, layer_norm, batch_norm, training_step, convolution, convolution_gradients, attention,
    attention_gradients, residual_block, encoder_layer, recurrent, two_reductions, looked_up, embedding, long_chain,
    views, scan, pooled, padded, there_already,
]  # fmt: skip


@pytest.mark.parametrize("build", GRAPHS)
def test_the_first_passes_count_operators_as_explain_does_and_the_last_one_its_kernels(build):
    wanted = build()

    e, steps = jt.explain(*wanted), passes(jt.document(*wanted))

    assert (steps[1]["kernels"], steps[1]["bytes"]) == e.unfused
    assert (steps[-1]["kernels"], steps[-1]["bytes"]) == (len(e.kernels), e.bytes)
    assert steps[-1]["temporaries"] == len({i for k in e.kernels for i in k.stored} - set(e.wanted))


@pytest.mark.parametrize("moments", [2, 12])
def test_what_several_kernels_write_by_parts_is_counted_once(moments):
    out = nn.RNN(3, 3)(numbers(moments, 2, 3))[0]

    e, last = jt.explain(out), passes(jt.document(out))[-1]

    assert (last["kernels"], last["bytes"]) == (len(e.kernels), e.bytes)


@pytest.mark.parametrize("build", GRAPHS)
def test_the_groups_of_the_last_pass_are_the_kernels_of_the_plan(build):
    document = jt.document(*build())

    assert passes(document)[-1]["groups"] == {str(n["id"]): n["kernel"] for n in document["nodes"]}


@pytest.mark.parametrize("build", GRAPHS)
def test_chains_and_shared_loops_never_cost_more(build):
    _, _, views, chains, loops = passes(jt.document(*build()))

    assert views["bytes"] >= chains["bytes"] >= loops["bytes"]
    assert views["kernels"] >= chains["kernels"] >= loops["kernels"]


def test_without_fusion_the_last_pass_still_is_the_plan():
    with jt.flag_scope(fuse=False):
        wanted = training_step()
        e, steps = jt.explain(*wanted), passes(jt.document(*wanted))

    assert (steps[-1]["kernels"], steps[-1]["bytes"]) == (len(e.kernels), e.bytes)


def test_a_chain_can_be_counted_by_hand():
    a, b, c = numbers(2, 3), numbers(2, 3), numbers(3)

    first, products, _, chains, last = passes(jt.document((a * b + c).sum()))

    # a * b reads 12 floats and writes 6, + c reads 6 + 3 and writes 6, the sum reads 6 and writes 1.
    assert (first["kernels"], first["bytes"], first["temporaries"]) == (3, 4 * 40, 2)
    assert first["temporary_bytes"] == 4 * 12
    assert (products["kernels"], products["bytes"]) == (3, 4 * 40)
    assert (chains["kernels"], chains["bytes"], chains["temporaries"]) == (1, 4 * 16, 0)
    assert last["groups"] == chains["groups"]


def test_a_matrix_product_is_two_operators_before_it_is_recognised():
    x, w = numbers(8, 5), numbers(5, 3)

    first, products, *_ = passes(jt.document(x @ w))

    # The products are 8 * 3 * 5 numbers: written once and read once, until they are added up at once.
    assert (first["kernels"], first["bytes"]) == (2, 4 * (8 * 5 + 5 * 3 + 2 * 8 * 3 * 5 + 8 * 3))
    assert (products["kernels"], products["bytes"]) == (1, 4 * (8 * 5 + 5 * 3 + 8 * 3))
    assert products["why"].startswith("1 sum of products nobody else reads")


def test_what_is_held_is_no_temporary():
    x = numbers(4, 4)
    y = x.exp()

    z = y.sum()

    assert [step["temporaries"] for step in passes(jt.document(z))] == [0] * 5
    assert y.shape == x.shape


def test_every_pass_says_why():
    x, w = numbers(4, 6), numbers(6, 5)

    steps = passes(jt.document(jt.softmax(x @ w, dim=1)))

    # A product reads two broadcasts; softmax subtracts the largest, takes exp, and multiplies by 1 / sum.
    assert {s["name"]: s["why"] for s in steps} == {
        "as written": "Each operator reads its inputs from memory and writes its value back, in a kernel of its own. "
        "5 views are free: a view only says where to read.",
        "matrix products": "1 sum of products nobody else reads: each product is added up at once and is no array.",
        "views": "Of 5 views 5 are read through where they are needed.",
        "elementwise chains": "3 values of elementwise operators are used by the next operator at once: they never "
        "become an array.",
        "shared loops": "1 reduction is used in the same row. What reads the same arrays shares their loops: 2 "
        "kernels are left.",
    }


def test_a_value_that_two_loops_need_is_read_in_the_loop_that_makes_it():
    x = numbers(4)
    y, z = x.exp(), x.sin()

    one, two = (passes(jt.document(*wanted))[-1]["why"] for wanted in ([y, y + 1], [y, y + 1, z, z * 2]))

    assert one.startswith("1 value is read in the loop that makes it. What")
    assert two.startswith("2 values are read in the loop that makes them. What")


def test_a_large_graph_is_counted_in_time():
    x = numbers(4)
    for _ in range(2500):
        x = x.sin() + 1

    steps = passes(jt.document(x))

    assert steps[0]["kernels"] == 5000
    assert steps[-1]["kernels"] < 200
