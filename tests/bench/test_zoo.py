"""The suite zoo: both sides compute the same, and sums of rows are those of a hand."""

import importlib

import numpy as np
import pytest

from tests.bench.rows import Figures, Result, Run, compare


@pytest.fixture
def bench(timm):
    return importlib.import_module("tests.bench.zoo")


def row_of(bench, name):
    return next(row for row in bench.ROWS if row.name.startswith(name))


@pytest.mark.parametrize("name", ["mobilenet_v2, forward", "convnext_tiny, forward", "vit_tiny_patch16_224, step"])
def test_networks_of_the_zoo_compute_the_same_on_both_sides(bench, name):
    row = row_of(bench, name)

    error, _ = compare(row.build(*row.tiny))

    assert error <= row.tolerance


def test_a_convnext_does_something_in_its_blocks_when_it_is_measured(bench):
    net, _ = bench.pair("convnext_tiny", 32, train=False)

    assert net.stages[0].blocks[0].gamma.numpy().min() == 0.5


def test_the_suite_has_ten_networks_and_their_mean_is_that_of_a_hand(bench):
    ratios = [1.0 + k / 10 for k in range(10)]
    run = Run(15, results=[Result(row, Figures(1.0, r, r)) for row, r in zip(bench.FORWARD, ratios, strict=True)])

    assert bench.mean_of(bench.FORWARD, run).ratio == pytest.approx(np.prod(ratios) ** 0.1)
    assert "resnet18, forward, batch 1 (1.00)" in bench.slowest(bench.FORWARD, run.results[0], run).where

    run.results.pop()

    assert not bench.mean_of(bench.FORWARD, run).measured


def test_activations_under_autocast_are_about_half(bench):
    assert 1.5 < bench.activations((2, 3, 64, 64), Run(1)).ratio < 2.5
