"""What a table of numbers cannot say of views: where they lie, what they cost, and which names are one."""

import numpy as np
import pytest

import jt_edu as jt

pytestmark = pytest.mark.usefixtures("python_backend")


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4), (2, 0, 3)], ids=str)
def test_every_var_lies_in_row_major_order_whatever_views_it_came_through(shape):
    x = jt.array(np.zeros(shape[::-1])).T
    steps = np.zeros([max(n, 1) for n in shape]).strides

    assert x.stride() == tuple(s // 8 for s in steps)
    assert [x.stride(k) for k in range(x.ndim)] == list(x.stride())
    assert x.is_contiguous()
    assert x.storage_offset() == 0
    assert x.contiguous() is x
    assert x.numpy().flags.c_contiguous


def test_a_view_of_a_view_is_no_array_of_its_own():
    x = jt.array(np.arange(12.0).reshape(3, 4))

    y = x.T[1:].flip(0).roll(1, 1).unsqueeze(1).diagonal(0, 0, 2) + 1

    assert len(jt.kernel_sources(y)) == 1
    a = np.roll(np.flip(np.arange(12.0).reshape(3, 4).T[1:], 0), 1, 1)[:, None]
    np.testing.assert_array_equal(y.numpy(), a.diagonal(0, 0, 2) + 1)


def test_what_writes_to_a_part_leaves_its_argument_as_it_was():
    for write in (
        lambda x: jt.index_fill(x, 0, [1], 7),
        lambda x: jt.index_add(x, 0, [1], 7),
        lambda x: jt.put_along_axis(x, np.array([1]), 7, 0),
        lambda x: jt.masked_scatter(x, np.array([True, False, True]), [7.0, 8.0]),
        lambda x: jt.slice_scatter(x, [7.0], 0, 1, 2),
        lambda x: jt.scatter_reduce(x, 0, [1], 7, "sum"),
        lambda x: jt.insert(x, 0, 7),
    ):
        x = jt.zeros(3)

        y = write(x)

        assert x.tolist() == [0.0, 0.0, 0.0]
        assert y.tolist() != x.tolist()


def test_names_of_numpy_pytorch_and_jittor_are_one_object():
    assert jt.cat is jt.concat is jt.concatenate
    assert jt.permute_dims is jt.permute
    assert jt.array_split is jt.tensor_split
    assert jt.expand_dims is jt.unsqueeze
    assert jt.movedim is jt.moveaxis
    assert jt.swapdims is jt.swapaxes
    assert jt.broadcast_arrays is jt.broadcast_tensors
    assert jt.row_stack is jt.vstack
    assert jt.tile is jt.repeat


def test_positions_are_found_once_even_if_shared_memory_changes_afterwards():
    a = np.array([1.0, 0.0, 1.0, 0.0])

    found = jt.nonzero(jt.from_numpy(a), as_tuple=True)[0]
    a[:] = 1

    assert found.tolist() == [0, 2]


def test_no_gradient_flows_to_positions_and_masks_but_to_what_they_pick():
    x = jt.array([1.0, -2.0, 3.0])

    dx = jt.grad((x.masked_select(x > 0) * jt.array([10.0, 100.0])).sum(), x)

    assert dx.tolist() == [10.0, 0.0, 100.0]


@pytest.mark.parametrize("sizes", [(), (3,), (2, 2)], ids=str)
def test_the_bits_of_a_number_are_the_same_there_and_back(sizes):
    x = jt.array(np.full(sizes, -1.5, np.float32))

    assert x.view("int32").view("float32").tolist() == x.tolist()


def test_arguments_of_arange_may_be_vars():
    assert jt.arange(jt.array(1), jt.array(4)).tolist() == [1, 2, 3]
    assert jt.linspace(jt.array(0.0), 1, 2).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    "join",
    [
        lambda j, e, x: j.concatenate([e, x]), lambda j, e, x: j.concatenate([x, e], 1),
        lambda j, e, x: j.concatenate((e, x, e, x), -1), lambda j, e, x: j.hstack([x, e]),
        lambda j, e, x: j.hstack([e, x]), lambda j, e, x: j.concatenate([e, x[:, 0]]),
        lambda j, e, x: j.concatenate([e, e]), lambda j, e, x: j.concatenate([e, x * 1]),
    ],
)  # fmt: skip
def test_an_empty_array_of_one_axis_fits_beside_any_as_in_pytorch(torch, join):
    ours = join(jt, jt.array([]), jt.array([[1.0, 2.0, 3.0]]))
    theirs = join(torch, torch.tensor([]), torch.tensor([[1.0, 2.0, 3.0]]))

    assert ours.shape == tuple(theirs.shape)
    assert ours.tolist() == theirs.tolist()


def test_what_a_loop_collects_may_begin_empty_and_has_gradients():
    x, found = jt.array([[1.0, 2.0]]), jt.array([])
    for k in range(3):
        found = jt.vstack([found, x * k])

    assert found.shape == (3, 2)
    assert jt.grad(found.sum(), x).tolist() == [[3.0, 3.0]]
    assert jt.concat([jt.array([]), jt.array([[1]])]).dtype == "float64"  # as NumPy's dtypes meet
    assert jt.dstack([jt.array([]), jt.ones((1, 2, 3))]).shape == (1, 2, 3)
    for odd in (jt.ones((0, 2)), jt.ones(1)):
        with pytest.raises(jt.ShapeError):
            jt.concat([odd, jt.ones((2, 3))])
