"""The program that tries an installation: alone and on several ranks."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.test import test_resnet


def test_a_residual_network_learns_the_same_on_several_ranks():
    alone = test_resnet.train(epochs=1, seed=0, examples=150)

    for losses in jt.simulate(3)(lambda: test_resnet.train(epochs=1, seed=0, examples=150)):
        np.testing.assert_allclose(losses, alone, rtol=1e-5)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_program_reaches_its_bar_whatever_the_seed(seed, capsys):
    assert test_resnet.main(["--epochs", "5", "--seed", str(seed)]) == 0

    assert "below 0.3 is asked for" in capsys.readouterr().out


def test_the_program_fails_below_its_bar(capsys):
    assert test_resnet.main(["--epochs", "1", "--examples", "64"]) == 1

    assert "mean of the last 1 loss 2." in capsys.readouterr().out
