"""Trips to memory: lanes have neighbors along the axis on which numbers lie, in arrays and in shared memory.

The interpreter counts the trips of each warp, and how many would do. What a plain schedule would need stands beside it.
"""

import pytest

import jt_edu as jt
from jt_edu.cuda import emit_blocks, schedule
from jt_edu.cuda.launch import Kernel
from jt_edu.runtime.devices import forget_plans
from tests.floors.cuda.test_generated_kernels import COLUMNS, SQUARE, numbers

TALL = numbers(128, 64)
GRAPHS = {
    "sums of columns": lambda: TALL.sum(0),
    "turned over": lambda: TALL.transpose(1, 0) * 2,
    "turned over, and not": lambda: SQUARE.transpose(1, 0) + SQUARE,
    "with ends": lambda: COLUMNS.transpose(1, 0) * 2,
}


def trips(graph, monkeypatch, how=("read", "write")):
    """How many trips to memory the launches of a graph make, and how many would do: in arrays, and in shared memory."""
    runs, plain = [], Kernel.__getitem__

    def launch(kernel, how):
        def run(*given):
            runs.append(jt.cuda.simulate(kernel, *how, *given))

        return run

    monkeypatch.setattr(Kernel, "__getitem__", launch)
    forget_plans()
    with jt.flag_scope(backend="cudasim"):
        graph().numpy()
    monkeypatch.setattr(Kernel, "__getitem__", plain)
    forget_plans()
    found = {"global": [0, 0], "shared": [0, 0]}
    for run in runs:
        assert not run.findings
        for trip in run.trips:
            if trip.how in how:
                found[trip.space][0] += trip.trips
                found[trip.space][1] += trip.least
    return found


@pytest.mark.parametrize("name", GRAPHS)
def test_lanes_read_and_write_neighbors_and_want_numbers_of_different_banks(monkeypatch, name):
    found = trips(GRAPHS[name], monkeypatch)

    (made, least), (banks, one) = found["global"], found["shared"]
    assert made <= (1.5 if name == "with ends" else 1) * least  # rows of 50 numbers begin within a sector
    assert banks == one > 0


IMAGE = numbers(1, 2, 8, 8)
PRODUCTS = {
    "product": lambda: numbers(64, 8) @ numbers(8, 64),
    "convolution": lambda: jt.nn.conv2d(IMAGE, numbers(64, 2, 3, 3), None, 1, 1),
    "small product": lambda: numbers(16, 20) @ numbers(20, 32),
    "small convolution": lambda: jt.nn.conv2d(IMAGE, numbers(16, 2, 3, 3), None, 1, 1),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("tensor_cores", [False, True])
def test_what_lanes_store_of_a_product_lies_side_by_side_in_rows_and_in_images(monkeypatch, name, tensor_cores):
    jt.set_float32_matmul_precision("medium" if tensor_cores else "highest")
    with jt.backends.conv.flags(allow_tf32=tensor_cores):
        made, least = trips(PRODUCTS[name], monkeypatch, "write")["global"]
    jt.set_float32_matmul_precision("highest")

    assert made == least > 0


@pytest.mark.parametrize("name", ["turned over", "turned over, and not"])
def test_without_a_tile_each_number_would_be_a_trip(monkeypatch, name):
    """And so a test can fail."""
    monkeypatch.setattr(schedule, "_turned", lambda *_: ())

    made, least = trips(GRAPHS[name], monkeypatch)["global"]

    assert made > 2 * least


def test_a_block_for_each_column_would_make_a_trip_for_each_number(monkeypatch):
    monkeypatch.setattr(schedule, "_one_sum", lambda *_: 0)

    made, least = trips(GRAPHS["sums of columns"], monkeypatch)["global"]

    assert made > 4 * least


def test_a_tile_with_no_number_to_spare_would_have_all_lanes_at_one_bank(monkeypatch):
    plain = emit_blocks.BlockPrinter._write

    def narrow(printer, depth, line, *node):
        plain(printer, depth, line.replace("(32, 33)", "(32, 32)"), *node)

    monkeypatch.setattr(emit_blocks.BlockPrinter, "_write", narrow)
    banks, one = trips(GRAPHS["turned over"], monkeypatch)["shared"]

    assert banks > 8 * one
