"""The harness itself: it passes what agrees, and sees a layer that is wrong in any one respect."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from tests.layers.harness import agrees


def test_layers_that_agree_pass(torch, rng):
    agrees(torch, nn.Linear(3, 2), torch.nn.Linear(3, 2), rng.normal(size=(4, 3)))
    agrees(torch, nn.Embedding(5, 4), torch.nn.Embedding(5, 4), rng.integers(0, 5, size=(3, 2)))


class Wrong(nn.Linear):
    def __init__(self, how):
        super().__init__(3, 2)
        self.how = how
        self.register_buffer("calls", jt.zeros(()))

    def execute(self, x):
        self.calls.update(self.calls + (2 if self.how == "buffer" else 1))
        x = x.detach() if self.how == "input" else x
        weight = self.weight.detach() if self.how == "parameter" else self.weight
        out = nn.linear(x, weight, self.bias) * (1.001 if self.how == "output" else 1)
        return (out * 0).detach() + out if self.how != "eval" or self.is_train else out * 2


def right(torch):
    class Right(torch.nn.Linear):
        def __init__(self):
            super().__init__(3, 2)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            return super().forward(x)

    return Right()


def test_a_layer_that_is_right_passes(torch, rng):
    agrees(torch, Wrong("not at all"), right(torch), rng.normal(size=(4, 3)))


@pytest.mark.parametrize("how", ["output", "input", "parameter", "buffer", "eval"])
def test_a_layer_that_is_wrong_is_seen(torch, rng, how):
    with pytest.raises(AssertionError):
        agrees(torch, Wrong(how), right(torch), rng.normal(size=(4, 3)))


def test_other_names_are_seen_unless_they_may_differ(torch):
    x = np.ones((4, 3))

    with pytest.raises(AssertionError, match="state_dict"):
        agrees(torch, nn.Linear(3, 2), right(torch), x)
    agrees(torch, nn.Linear(3, 2), right(torch), x, exact_keys=False)
