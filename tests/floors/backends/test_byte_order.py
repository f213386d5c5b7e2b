"""Kernels read memory in place: what does not lie as they read it is copied, or refused where it is to be shared."""

import numpy as np
import pytest

import jt_edu as jt

pytestmark = pytest.mark.usefixtures("python_backend")


def swapped(dtype):
    """The dtype in the byte order that this machine has not."""
    return np.dtype(dtype).newbyteorder("S")


def crooked(dtype):
    """Four ones that begin at an odd address."""
    memory = np.zeros(4 * np.dtype(dtype).itemsize + 1, "uint8")
    memory[1:] = np.ones(4, dtype).view("uint8")
    return memory[1:].view(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "float16", "complex64"])
def test_a_replay_reads_numbers_in_any_byte_order(dtype):
    step = jt.compile(lambda x: x + 1)

    answers = [step((np.arange(4) + k).astype(swapped(dtype))).numpy() for k in range(3)]

    for k, answer in enumerate(answers):
        np.testing.assert_array_equal(answer, np.arange(4) + k + 1)


def test_a_replay_reads_one_number_in_any_byte_order_and_keeps_its_shape():
    step = jt.compile(lambda x: x * 2)
    x = np.array(3.0, swapped("float32"))

    assert [(step(x).item(), step(x).shape) for _ in range(2)] == [(6.0, ())] * 2


def test_a_replay_reads_numbers_at_any_address_and_in_any_order():
    step = jt.compile(lambda x: x + 1)

    for x in (crooked("float32"), crooked("float32")[::-1], np.ones((4, 2), "float32")[:, 1]):
        assert [step(x).tolist() for _ in range(2)] == [[2.0] * 4] * 2


@pytest.mark.parametrize(
    ("sentence", "x", "found"),
    [
        ("bytes stand in another order", np.arange(4).astype(swapped("float32")), "[<>]f4"),
        ("numbers begin at an odd address", crooked("float64"), "f8, strides"),
        ("there are gaps", np.ones((4, 2), "float32")[:, 1], r"strides \(8,\)"),
    ],
)
def test_memory_is_not_shared_where(sentence, x, found):
    with pytest.raises(jt.ArgumentError, match=f"found .*{found}") as raised:
        jt.from_numpy(x)

    assert "jt.array(a), which copies" in str(raised.value), sentence
    np.testing.assert_array_equal(jt.array(x).numpy(), x)
    np.testing.assert_array_equal((jt.zeros(4) + x).numpy(), x)


def test_memory_is_shared_where_kernels_can_read_it():
    a = np.zeros(4, "float32")
    x = jt.from_numpy(a)

    a += 1

    assert x.tolist() == [1.0] * 4
