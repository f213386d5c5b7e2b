"""Loops as kernels of a GPU: the right threads do them, the numbers are a CPU's, and nothing is wrong with them.

A launch of the interpreter raises if it finds a race, a barrier that some miss, an index outside or a number that
nobody has written. So every graph that is computed here, and in tests/parity/test_cudasim.py, is searched for those.
"""

import re
from unittest.mock import Mock

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.base.errors import KernelError
from jt_edu.base.source_text import remember
from jt_edu.cuda import contraction, emit_cuda, emit_tiles, schedule
from jt_edu.cuda.contraction import Tile, tile_of
from jt_edu.cuda.device import NO_COMPILER
from jt_edu.introspect.kernel_notes import WAYS
from jt_edu.lens.assembly import assembly
from jt_edu.lens.kernel_edit import find
from jt_edu.runtime.devices import forget_plans


def numbers(*shape, seed=0):
    return jt.array(np.random.default_rng([seed, *shape]).standard_normal(shape).astype("float32"))


def texts(graph):
    """The array that a graph makes, and the texts of the kernels that made it."""
    with jt.flag_scope(backend="cudasim"), jt.trace() as trace:
        found = graph().numpy()
    return found, [k.source for k in trace.kernels]


def gradient(of, *inputs):
    return jt.grad((of(*inputs) ** 2).sum(), [inputs[-1]])[0]


def put(x, places, y):
    x = x + 0
    x[places] = y
    return x


def of_images(weights=None, **named):
    weights = WEIGHTS if weights is None else weights
    return gradient(lambda w, x: jt.nn.conv2d(x, w, **named), weights, IMAGES)


A, B, LONG, ROWS = numbers(5, 7), numbers(7, seed=1), numbers(300), numbers(3, 70)
LEFT, RIGHT, BIAS, BATCHED = numbers(17, 23), numbers(23, 19), numbers(19), numbers(3, 23, 18)
WIDE, TALL = numbers(9, 66), numbers(70, 9)
IMAGES, WEIGHTS, GROUPS = numbers(2, 4, 9, 8), numbers(6, 4, 3, 3), numbers(6, 2, 3, 3)
OTHER = numbers(70, 50, seed=2)
COLUMNS, SQUARE, THREE, HALVES = numbers(70, 50), numbers(40, 40), numbers(40, 3, 35), IMAGES.cast("float16")
PLACES, TURNED = jt.array([2, 0, 2, 4]), LEFT.transpose(1, 0)
BITS = jt.array(np.arange(300) % 3 == 1)
COMPLEX = jt.array((np.arange(40) * (1 + 2j)).astype("complex64"))
COMPLEX_COLUMNS = jt.array((np.arange(120) * (1 + 2j)).astype("complex64").reshape(40, 3))
SCATTERED = ["scatter0", "scatter1", "scatter2"]  # begin, add, round
PUT = ["scatter0", "winners", "scatter2"]

GRAPHS = {
    "one axis": (lambda: LONG * 2 + LONG, ["each"]),
    "two axes": (lambda: A + B, ["each"]),
    "turned": (lambda: TURNED + 1, ["each"]),
    "numbers alone": (lambda: (LONG.sum() * 0 + 3).cast("int32"), ["rows"]),
    "a sum of all": (lambda: (A * A).sum(), ["rows"]),
    "two sums of all": (lambda: LONG.sum() + LONG.max(), ["rows"]),
    "a sum and what becomes of it": (lambda: LONG - LONG.mean(), ["rows"]),
    "sums of short rows": (lambda: A.sum(1), ["each"]),
    "sums of long rows": (lambda: ROWS.sum(1), ["rows"]),
    "sums of columns": (lambda: A.sum(0), ["each"]),
    "sums of long columns": (lambda: COLUMNS.sum(0), ["columns", "ends"]),
    "columns of what rows are made to": (lambda: jt.nn.softmax(COLUMNS, 1).sum(0), ["rows", "columns", "ends"]),
    "columns without the means of rows": (
        lambda: ((COLUMNS - COLUMNS.mean(1, keepdims=True)) * OTHER).sum(0), ["rows", "columns"],
    ),
    "what becomes of those": (lambda: jt.exp(COLUMNS.max(0) + COLUMNS[0]), ["columns", "ends"]),
    "turned over": (lambda: COLUMNS.transpose(1, 0) * 2, ["turned"]),
    "turned over, and not": (lambda: SQUARE.transpose(1, 0) + SQUARE, ["turned"]),
    "turned over, of three": (lambda: (THREE > 0).transpose(2, 1, 0), ["turned"]),
    "halves turned over": (lambda: COLUMNS.cast("float16").transpose(1, 0) * 2, ["turned"]),
    "columns without their means": (lambda: A - A.mean(0, keepdims=True), ["each"]),
    "largest of each row": (lambda: ROWS.max(1), ["rows"]),
    "products of each row": (lambda: ROWS.prod(1), ["rows"]),
    "places of the largest": (lambda: ROWS.argmax(1)[0], ["rows"]),
    "softmax": (lambda: jt.nn.softmax(ROWS, 1), ["rows"]),
    "layer norm": (lambda: jt.nn.layer_norm(ROWS, 70), ["rows"]),
    "whether any is true": (lambda: BITS.any(), ["rows"]),
    "whether all are, of each row": (lambda: (ROWS > -9).all(1), ["rows"]),
    "a sum of complex numbers": (lambda: COMPLEX.sum(), ["rows"]),
    "sums of complex columns": (lambda: COMPLEX_COLUMNS.sum(0), ["columns", "ends"]),
    "a sum of bytes": (lambda: jt.array(np.arange(300) % 3).cast("int8").sum(dtype="int8"), ["rows"]),
    "the largest of unsigned numbers": (lambda: jt.array(np.arange(300) % 7).cast("uint32").max(), ["rows"]),
    "a number": (lambda: LONG.sum().sync() + 1, ["once"]),
    "halves": (lambda: (ROWS.cast("float16") * 2).sum(1), ["rows"]),
    "bfloat16": (lambda: (ROWS.cast("bfloat16") + 1).cast("float32"), ["each"]),
    "small product": (lambda: A @ A.transpose(1, 0), ["each"]),
    "product": (lambda: LEFT @ RIGHT, ["tiles"]),
    "product, bias and relu": (lambda: jt.nn.relu(LEFT @ RIGHT + BIAS), ["tiles"]),
    "product of turned ones": (lambda: RIGHT.transpose(1, 0) @ TURNED, ["tiles"]),
    "product of what is computed": (lambda: (LEFT * 2).exp() @ RIGHT, ["tiles"]),
    "products of a batch": (lambda: BATCHED.transpose(0, 2, 1) @ RIGHT, ["tiles"]),
    "a square for each thread": (lambda: TALL @ WIDE, ["tiles"]),
    "product of halves": (lambda: LEFT.cast("float16") @ RIGHT.cast("float16"), ["tiles"]),
    "convolution": (lambda: jt.nn.conv2d(IMAGES, WEIGHTS, numbers(6), stride=2, padding=1), ["tiles"]),
    "convolution in groups": (lambda: jt.nn.conv2d(IMAGES, GROUPS, groups=2), ["tiles"]),
    "gradient of weights": (lambda: gradient(jt.nn.conv2d, IMAGES, WEIGHTS), ["tiles", "tiles"]),
    "gradient of images": (lambda: of_images(), ["tiles", "tiles"]),
    "gradient of images, of every other place": (lambda: of_images(stride=2, padding=1), ["tiles", "tiles"]),
    "gradient of images, of places further apart": (lambda: of_images(dilation=2, padding=2), ["tiles", "tiles"]),
    "gradient of images, in groups": (lambda: of_images(GROUPS, groups=2), ["tiles"]),
    "gradient of pooling": (lambda: gradient(lambda x: jt.nn.max_pool2d(x, 3, 2, 1), IMAGES), ["each"] * 4),
    "gradient of a part": (lambda: gradient(lambda x: x[1:4, ::-2], A), ["each"]),
    "gradient of one number": (lambda: gradient(lambda x: x[2, 3], A), ["each"]),
    "gradient of halves that overlap": (lambda: gradient(lambda x: jt.nn.avg_pool2d(x, 3, 1), HALVES), ["each"] * 3),
    "gradient of a diagonal": (lambda: gradient(lambda x: jt.diagonal(x), A), SCATTERED),
    "pooling": (lambda: jt.nn.max_pool2d(IMAGES, 2), ["each"]),
    "rows by number": (lambda: A[PLACES], ["each"]),
    "gradient of rows by number": (lambda: gradient(lambda x: x[PLACES], A), SCATTERED),
    "rows put by number": (lambda: put(A, PLACES, B), PUT * 2),
    "halves put by number": (lambda: put(A.cast("float16"), PLACES, 2.0), ["winners"] * 2),
    "largest that go to a place": (
        lambda: jt.zeros((5,), "int32").scatter_reduce(0, PLACES, jt.array([3, -1, 7, 5]).cast("int32"), "amax"),
        ["scatter0", "scatter0", "scatter1"],
    ),
    "nothing": (lambda: A[:0] + 1, ["each"]),
    "sums of nothing": (lambda: A[:, :0].sum(1), ["each"]),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_the_numbers_are_a_cpus_and_the_right_threads_make_them(name):
    graph, kinds = GRAPHS[name]
    expected = graph().numpy()

    found, sources = texts(graph)

    tolerance = 2e-3 if expected.dtype == "float16" else 2e-5
    np.testing.assert_allclose(
        found, expected, rtol=tolerance, atol=tolerance * max(1, np.abs(expected).max(initial=0))
    )
    assert found.dtype == expected.dtype
    made = [kind for source in sources for kind in re.findall(r"@cuda.jit\ndef (\w+)\(", source)]
    assert [kind for kind in made if kind in kinds] == kinds
    assert {kind.rstrip("0123456789") for kind in made} <= {*WAYS}, "jt.explain has no words for it"


@pytest.mark.parametrize("tile", [Tile(8, 8, 2), Tile(8, 4, 4)])
def test_a_thread_multiplies_8_by_8_numbers_of_a_tile_with_ragged_ends(monkeypatch, tile):
    monkeypatch.setattr(contraction, "tile_of", lambda *_: tile)
    x, y = numbers(131, 5), numbers(5, 60 + tile.across)  # each tile another graph: what is printed is kept

    found, (source,) = texts(lambda: x @ y)

    assert f"cuda.local.array(({tile.down}, {tile.across})," in source
    np.testing.assert_allclose(found, x.numpy() @ y.numpy(), rtol=1e-5, atol=1e-5)


def test_what_more_than_32_bits_would_count_is_counted_in_64(monkeypatch):
    graph = GRAPHS["convolution in groups"][0]
    short, sources = texts(graph)
    monkeypatch.setattr(emit_tiles, "SMALL", 0)
    long, others = texts(lambda: graph() + 0)

    assert any("narrow(" in source for source in sources)
    assert not any("narrow(" in source for source in others)
    np.testing.assert_array_equal(long, short)


def test_blocks_of_a_product_are_in_one_row_since_a_grid_has_few_columns():
    _, (source,) = texts(GRAPHS["product"][0])

    assert "blockIdx.y" not in source
    assert "tiles[max(1, -(-n0 // 16) * -(-n1 // 16)), 256](" in source


@pytest.mark.parametrize(
    ("sizes", "tile"),
    [
        ((4096, 4096, 1, 4096, 4), (8, 8, 16, 1)),
        ((4096, 4096, 1, 4096, 8), (4, 4, 16, 1)),  # of float64 fewer fit into registers,
        ((4096, 4096, 1, 4096, 16), (4, 4, 8, 1)),  # and of complex ones into a block
        ((100352, 64, 1, 4096, 4), (8, 4, 16, 1)),
        ((64, 100352, 1, 4096, 4), (4, 8, 16, 1)),
        ((512, 512, 1, 511, 4), (4, 4, 16, 1)),  # 16 blocks of the largest tiles would leave a GPU idle,
        ((512, 512, 1, 512, 4), (8, 4, 16, 2)),  # but not if several of them share a sum
        ((512, 512, 1, 1024, 4), (8, 8, 16, 4)),
        ((512, 512, 4, 4096, 4), (8, 8, 16, 1)),
        ((63, 4096, 1, 4096, 4), (1, 1, 16, 1)),
        ((64, 576, 1, 32 * 56 * 56, 4), (4, 8, 16, 52)),  # weights of a convolution: 260 blocks
        ((64, 147, 1, 32 * 112 * 112, 4), (4, 4, 16, 88)),  # larger ones are half empty
        ((20, 10, 1, 4096, 4), (1, 1, 16, 16)),  # of a linear layer: 256 numbers of the sum for each block
        ((20, 10, 1, 511, 4), (1, 1, 16, 1)),
        ((0, 10, 1, 4096, 4), (1, 1, 16, 16)),
    ],
)
def test_tiles_are_as_large_as_a_product_is_large_enough_for(sizes, tile):
    assert tile_of(*sizes) == tile


LONG_LEFT, LONG_RIGHT, LONG_BATCH = numbers(83, 18), numbers(83, 9), numbers(3, 20, 33)
SHARED = {  # and among how many blocks
    "product": (lambda: LONG_LEFT.transpose(1, 0) @ LONG_RIGHT, 4),
    "and what becomes of it": (lambda: jt.nn.relu(LONG_LEFT.transpose(1, 0) @ LONG_RIGHT + BIAS[:9]) * 2, 5),
    "of float64": (lambda: LONG_LEFT.cast("float64").transpose(1, 0) @ LONG_RIGHT.cast("float64"), 3),
    "of halves": (lambda: LONG_LEFT.cast("float16").transpose(1, 0) @ LONG_RIGHT.cast("float16"), 3),
    "of a batch": (lambda: LONG_BATCH @ LONG_BATCH.transpose(0, 2, 1), 7),
    "gradient of weights on tensor cores": (lambda: gradient(jt.nn.conv2d, IMAGES, WEIGHTS), 3),
    "gradient of weights, in groups": (lambda: gradient(lambda x, w: jt.nn.conv2d(x, w, groups=2), IMAGES, GROUPS), 3),
}


@pytest.mark.parametrize("name", SHARED)
def test_several_blocks_share_a_long_sum_of_a_product_and_parts_are_added_in_order(monkeypatch, name):
    """Among an odd number of blocks as well, of which the last has less to do than others, or nothing."""
    graph, parts = SHARED[name]
    expected, cores = graph().numpy(), "tensor" in name
    monkeypatch.setattr(contraction, "shared_by", lambda tile, *_: tile._replace(parts=parts))
    forget_plans()
    with jt.backends.conv.flags(allow_tf32=cores):
        found, sources = texts(graph)
    forget_plans()

    source = [source for source in sources if "part0" in source][-1]
    assert re.findall(r"\n    (\w+)\[", source)[-2:] == ["tiles", "ends"]
    assert ("mma" in source) == (cores or name == "of halves")
    tolerance = 3e-3 if cores or expected.dtype == "float16" else 2e-5
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


def test_threads_share_one_loop_of_a_nest_and_never_two():
    """They would do the diagonal: what they leave out is nan there."""
    x = numbers(33, 17)

    def graph():
        held = jt.nn.leaky_relu(x.reshape(33, 17) @ x.transpose(1, 0), 0.1)
        told = jt.tanh(held)
        return [held, told, told.sum() + held.mean()]

    expected = [v.numpy() for v in graph()]
    with jt.flag_scope(backend="cudasim"):
        made = graph()
        found = [v.numpy() for v in made[::-1]][::-1]

    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["a sum of all", "two sums of all"])
def test_a_long_sum_is_made_of_parts_by_many_blocks(monkeypatch, name):
    monkeypatch.setattr(schedule, "LONG", 32)
    monkeypatch.setattr(emit_cuda, "PARTS", 8)
    graph, _ = GRAPHS[name]

    with jt.flag_scope(fuse=True):
        found, (source,) = texts(lambda: graph() + 0)

    assert re.findall(r"\n    (\w+)\[", source)[-2:] == ["parts", "whole"]
    np.testing.assert_allclose(found, graph().numpy(), rtol=1e-5)


def test_many_blocks_share_a_long_sum_of_what_is_stored_as_well(monkeypatch):
    monkeypatch.setattr(schedule, "LONG", 32)
    monkeypatch.setattr(emit_cuda, "PARTS", 8)
    stored = []

    def graph():
        stored.append(LONG * 2 + 1)
        return stored[-1].sum() * 3

    found, (source,) = texts(graph)

    assert re.findall(r"\n    (\w+)\[", source)[-2:] == ["parts", "whole"]
    np.testing.assert_allclose(stored[0].numpy(), LONG.numpy() * 2 + 1, rtol=1e-6)
    np.testing.assert_allclose(found, graph().numpy(), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "part", "instead", "arguments"),
    [
        (
            "product",
            "cuda.syncthreads()",
            "pass",
            (17, 19, 23, 23, 19, 19, LEFT.reshape(391), RIGHT.reshape(437), (323,)),
        ),
        ("a sum of all", "if thread == 0:", "if True:", (35, A.reshape(35), ())),
    ],
)
def test_a_race_in_such_a_kernel_is_told(name, part, instead, arguments):
    """The search can fail: the same text, with a barrier taken away, or with a store by all threads."""
    _, (source,) = texts(GRAPHS[name][0])
    text, space = source.replace(part, instead), {"__name__": "a kernel"}
    exec(compile(text, remember(text, f"<a race in {name}>"), "exec"), space)  # noqa: S102 - text that the code generator wrote
    given = [a.numpy() if isinstance(a, jt.Var) else a for a in arguments[:-1]]

    with pytest.raises(KernelError, match="race"):
        space["kernel"](0, 1, *given, np.empty(arguments[-1], np.float32))


@pytest.mark.parametrize("batch", [5, 34])
def test_the_gradients_of_layers_are_sums_of_threads_that_never_meet(batch):
    """A CPU fuses the gradients of two layers into loops over rows, and adds into the weights' row by row."""
    net, x = jt.nn.Sequential(jt.nn.Linear(6, 20), jt.nn.Softmax(-1), jt.nn.Linear(20, 4)), numbers(batch, 6)

    def gradients():
        found = jt.grad((net(x) ** 2).sum(), [*net.parameters(), x])
        jt.sync_all()  # in one run, so that they are fused
        return [v.numpy() for v in found]

    expected = gradients()
    with jt.flag_scope(backend="cudasim"), jt.trace() as trace:
        found = gradients()

    assert not [k.name for k in trace.kernels if "atomic" in k.source]
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def test_an_mlp_trains_as_on_a_cpu():
    digits, labels = numbers(12, 20), jt.array([k % 3 for k in range(12)])

    def losses():
        jt.set_global_seed(3)
        net = jt.nn.Sequential(jt.nn.Linear(20, 16), jt.nn.ReLU(), jt.nn.Linear(16, 3))
        optimizer = jt.optim.Adam(net.parameters(), 0.01)
        found = []
        for _ in range(3):
            loss = jt.nn.cross_entropy_loss(net(digits), labels)
            optimizer.step(loss)
            found.append(loss.item())
        return found

    expected = losses()
    with jt.flag_scope(backend="cudasim"):
        found = losses()

    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_an_edited_kernel_is_searched_before_it_runs():
    rows = numbers(3, 40)

    def graph():
        return jt.nn.softmax(rows, 1)

    with jt.flag_scope(backend="cudasim"):
        expected = graph().numpy()
        (kernel,) = jt.explain(graph()).kernels
        first = re.search(r"range\(thread, (n\d), threads\)", kernel.source)
        second = kernel.source.replace(first[0], f"range(0, {first[1]}, 1)", 1)  # each thread the whole row: no harm
        agrees = jt.edit_kernel(kernel, second).install()
        again = graph().numpy()
        agrees.revert()
        stores = re.search(r"out0\[(i\d), (i\d)\] = t1", kernel.source)
        raced = jt.edit_kernel(kernel, kernel.source.replace(stores[0], f"out0[{stores[1]}, 0] = t1"))
        outside = jt.edit_kernel(kernel, kernel.source.replace(stores[0], f"out0[{stores[1]}, {stores[2]} + 1] = t1"))

    assert agrees.agrees
    np.testing.assert_allclose(again, expected, rtol=1e-6)
    assert "race" in raced.error
    assert "out of bounds" in outside.error


def test_views_say_who_does_what():
    with jt.flag_scope(backend="cudasim"):
        told = str(jt.explain(jt.nn.softmax(ROWS, 1)))
        product = str(jt.explain(LEFT @ RIGHT))

    assert "loops   a block of threads for each row" in told
    assert "loops   a block of threads for each tile of a product" in product


def shown(graph):
    """The assembly of a kernel; what was shown of the same text before is kept, so each test has its own."""
    with jt.flag_scope(backend="cudasim"):
        (kernel,) = jt.explain(graph).kernels
        return assembly(find(kernel))


def test_a_kernel_is_shown_as_cpp_and_as_ptx(numba_cuda):
    found = shown(LONG * 2)

    assert "__global__ void each(" in found.cpp
    assert (".visible .entry each(" in found.ptx, found.no_ptx) == (True, "")


def test_without_a_compiler_a_kernel_is_shown_as_cpp_and_why_there_is_no_ptx(monkeypatch):
    missing = Mock(side_effect=jt.BackendError(*NO_COMPILER))  # what was compiled before would be found
    monkeypatch.setattr("jt_edu.lens.gpu_assembly.compiled", missing)
    found = shown(LONG.sin() - 1)

    assert "__global__ void each(" in found.cpp
    assert (found.ptx, "numba-cuda" in found.no_ptx) == ("", True)


def test_a_product_becomes_tiles_though_a_batch_norm_has_joined_it():
    images, weights = numbers(2, 4, 16, 16), numbers(8, 4, 3, 3)
    norm = jt.nn.BatchNorm2d(8)

    def graph():
        sums = jt.nn.conv2d(images, weights, padding=1, stride=2)
        return [sums, norm(sums)]

    expected = [v.numpy() for v in graph()]
    with jt.flag_scope(backend="cudasim"), jt.trace() as trace:
        found = [v.numpy() for v in graph()[::-1]][::-1]

    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)
    assert any("def tiles" in k.source for k in trace.kernels)
    assert not any("def scatter" in k.source for k in trace.kernels)


def test_what_a_product_adds_up_can_be_kept_as_well():
    x, y = numbers(17, 1, 16), numbers(1, 18, 16)
    with jt.flag_scope(backend="cudasim"):
        products = x * y
        jt.sync([products, sums := products.sum(2)])

    np.testing.assert_array_equal(products.numpy(), x.numpy() * y.numpy())
    np.testing.assert_allclose(sums.numpy(), products.numpy().sum(2), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(100, 0), (0, 100), (0, 0), (3, 100, 0)])
def test_sums_of_columns_that_are_not_there_are_empty(shape):
    with jt.flag_scope(backend="cudasim"):
        found = jt.zeros(*shape).sum(0).numpy()

    np.testing.assert_array_equal(found, np.zeros(shape, np.float32).sum(0))
