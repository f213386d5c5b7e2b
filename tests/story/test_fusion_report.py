"""What fusion does for whole networks: kernels, bytes, what was joined, and why not where it was not."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.models import resnet18

pytestmark = pytest.mark.usefixtures("python_backend")


def image(*shape):
    return jt.array(np.random.default_rng(0).standard_normal(shape, "float32"))


class Block(nn.Module):
    """Two convolutions and a way around."""

    def __init__(self):
        self.conv1, self.bn1 = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)

    def execute(self, x):
        y = nn.relu(self.bn1(self.conv1(x)))
        return nn.relu(x + self.bn2(self.conv2(y)))


@pytest.fixture
def block():
    made = Block()
    made.eval()
    return made


def test_resnet18_needs_at_most_45_kernels_against_68_op_by_op():
    net = resnet18()
    net.eval()
    with jt.no_grad(), jt.flag_scope(backend="numba"):  # its parameters are drawn, which takes Python long
        report = jt.fusion_report(net, image(1, 3, 64, 64))

    assert report.op_by_op == 68  # 20 convolutions, 20 batch norms, 17 ReLUs, 8 additions, 2 poolings, 1 linear
    assert report.kernels <= 45
    assert report.bytes < report.bytes_op_by_op


def test_a_block_is_two_kernels_and_each_names_what_was_joined(block):
    with jt.no_grad():
        report = jt.fusion_report(block, image(1, 4, 6, 6))

    assert [row.joined for row in report.rows] == [
        ("Conv2d conv1", "BatchNorm2d bn1", "relu"),
        ("Conv2d conv2", "BatchNorm2d bn2", "add", "relu"),
    ]
    assert (report.kernels, report.op_by_op) == (2, 7)
    assert all(row.algorithm for row in report.rows)


def test_it_says_why_a_kernel_is_apart_from_the_one_before(block):
    with jt.no_grad():
        report = jt.fusion_report(block, image(1, 4, 6, 6))

    assert report.rows[0].apart == ()
    (why,) = report.rows[1].apart
    assert why.startswith("relu (kernel 0) is stored before it: whole array")
    assert why in repr(report) and why in report._repr_html_()


def test_two_arrays_of_one_name_are_told_apart_by_the_kernels_that_make_them():
    w = image(5, 5)

    def work(x, y):
        left, right = nn.relu(x @ w), nn.relu(y @ w)
        return left @ right

    report = jt.fusion_report(work, image(4, 5), image(5, 5))

    told = [why.split(" is stored")[0] for why in report.rows[-1].apart]
    assert len(told) == len(set(told)) == 2
    assert all(name.startswith("relu (kernel ") for name in told)


def test_long_rows_do_not_push_their_bytes_out_of_the_column():
    def work(x):
        for _ in range(12):
            x = nn.relu(x * 2 - 1).sqrt()
        return x, image(3) + 1

    rows = repr(jt.fusion_report(work, image(2000))).split("\n")

    numbered = [row for row in rows if row[:4].strip().isdigit()]
    assert len(numbered) == 2 and len({row.rindex("B") for row in numbered}) == 1
    assert max(map(len, numbered)) < 100
    assert "".join(rows).count("sqrt") == 12


def test_the_kernels_and_bytes_are_those_of_the_run(block):
    x = image(1, 4, 6, 6)
    with jt.no_grad():
        report = jt.fusion_report(block, x)
        with jt.trace() as t:
            block(x).numpy()

    assert [(k.name, k.bytes) for k in t.kernels] == [(row.name, row.bytes) for row in report.rows]


def test_bytes_op_by_op_can_be_counted_by_hand():
    x, y = image(10), image(10)

    report = jt.fusion_report((x * y + x).sum())

    assert report.op_by_op == 3
    assert report.bytes_op_by_op == (40 + 40 + 40) + (40 + 40 + 40) + (40 + 4)
    assert (report.kernels, report.bytes) == (1, 40 + 40 + 4)


def test_it_says_what_op_by_op_counts_and_agrees_with_explain(block):
    x = image(1, 4, 6, 6)
    with jt.no_grad():
        report, explained = jt.fusion_report(block, x), jt.explain(block(x))

    assert (report.operators, report.bytes_of_operators) == explained.unfused
    assert report.operators > report.op_by_op
    assert f"made of operators: {report.operators} in all, as jt.explain counts" in report.note
    assert report.note in repr(report) and report.note in report._repr_html_()


def test_the_bias_of_a_linear_layer_is_not_joined_to_its_product_and_the_report_says_so():
    layer = nn.Linear(16, 4)

    report = jt.fusion_report(layer, jt.ones(8, 16))

    assert [row.joined for row in report.rows] == [("Linear (matmul)",), ("Linear (add)",)]
    (why,) = report.rows[1].apart
    assert why.startswith("Linear (kernel 0) is stored before it: BLAS writes whole products; what is done to them has")
    assert report.bytes > report.bytes_op_by_op  # the product is written and read again


@pytest.mark.parametrize(
    ("why", "follow"),
    [
        ("and this is summed in the same loop", lambda y: (y + 1).sum()),
        ("and this needs more than the place and the channel of each", lambda y: y.transpose(2, 3) * 2),
        ("2 kernels read it", lambda y: (y.sum((2, 3)), y.transpose(2, 3).exp().sum((0, 1)))),
    ],
)
def test_it_says_why_work_is_not_joined_to_a_convolution(why, follow):
    x, w = image(2, 4, 6, 5), image(3, 4, 3, 3)

    with jt.no_grad():
        report = jt.fusion_report(lambda: follow(jt.conv2d(x, w)))

    assert report.rows[0].algorithm
    assert any(
        text.startswith("conv2d (kernel 0) is stored") and why in text for row in report.rows[1:] for text in row.apart
    )


def test_of_two_convolutions_whose_sums_are_added_the_later_one_does_it():
    x, w = image(2, 4, 6, 6), image(3, 4, 3, 3)

    with jt.no_grad():
        report = jt.fusion_report(lambda: (jt.conv2d(x, w) + jt.conv2d(x, w * 2)).relu())

    assert any("is joined to another convolution, which runs later" in text for text in report.rows[-1].apart)


def test_nothing_is_joined_to_a_transposed_convolution():
    with jt.no_grad():
        report = jt.fusion_report(jt.conv_transpose2d(image(2, 4, 6, 6), image(4, 3, 2, 2)) * 2)

    assert any("only those of a forward one" in text for row in report.rows for text in row.apart)


@pytest.mark.parametrize("first", [3, None, "y", np.ones(3)])
def test_what_is_neither_var_nor_function_is_refused(first):
    with pytest.raises(jt.ArgumentError, match=r"jt\.fusion_report takes Vars, or a function") as raised:
        jt.fusion_report(first)

    assert repr(first)[:5] in str(raised.value)


def test_a_view_costs_nothing_op_by_op():
    x = image(4, 5)

    report = jt.fusion_report(x.transpose(0, 1).reshape(2, 10) + 1.0)

    assert (report.op_by_op, report.bytes_op_by_op) == (1, 160)


def test_without_fusion_nothing_is_joined():
    x = image(10)
    with jt.flag_scope(fuse=False):
        report = jt.fusion_report((x * 2 + x).sum())

    assert (report.kernels, report.op_by_op) == (3, 3)
    assert [row.joined for row in report.rows] == [("multiply",), ("add",), ("sum",)]


def test_explaining_leaves_the_numbers_alone(block):
    x = image(1, 4, 6, 6)
    with jt.no_grad():
        before = block(x).numpy()
        jt.fusion_report(block, x)
        after = block(x).numpy()

    assert before.tobytes() == after.tobytes()


def test_a_module_that_is_trained_keeps_its_running_statistics(block):
    block.train()
    block(image(1, 4, 6, 6))
    before = {name: var.numpy().copy() for name, var in block.named_buffers()}

    jt.fusion_report(block, image(2, 4, 6, 6) + 1)

    assert len(before) == 6
    for name, var in block.named_buffers():
        np.testing.assert_array_equal(var.numpy(), before[name])


def test_buffers_are_put_back_after_an_error_too():
    norm = nn.BatchNorm2d(4)

    with pytest.raises(jt.ArgumentError, match="looks at the Vars"):
        jt.fusion_report(nn.Sequential(norm, lambda y: 3), image(2, 4, 6, 6))

    assert norm.num_batches_tracked.item() == 0


def test_a_function_that_answers_with_no_var_is_an_error():
    with pytest.raises(jt.ArgumentError, match="looks at the Vars"):
        jt.fusion_report(lambda: 3)


def test_several_vars_share_one_report():
    x = image(10)

    assert jt.fusion_report(x + 1, x * 2).op_by_op == 2
    assert jt.fusion_report(lambda v: {"a": v + 1, "b": (v * 2, v - 1)}, x).op_by_op == 3


def test_a_page_shows_every_kernel(block):
    with jt.no_grad():
        report = jt.fusion_report(block, image(1, 4, 6, 6))

    page = report._repr_html_()
    assert page.count("<tr>") == 1 + report.kernels
    assert report.summary in page
    assert all(row.label in page for row in report.rows)


def test_a_convolution_is_one_operator_that_reads_its_two_arrays():
    x, w = image(1, 4, 6, 6), image(5, 4, 3, 3)

    report = jt.fusion_report(jt.conv2d(x, w, padding=1))

    assert (report.op_by_op, report.bytes_op_by_op) == (1, 4 * (x.size + w.size + 5 * 6 * 6))
    assert (report.kernels, report.bytes) == (1, report.bytes_op_by_op)
