"""What rides along with a step of an optimizer: nothing that a pass leads to is computed by a second pass."""

import gc

import numpy as np

import jt_edu as jt
from jt_edu import nn
from jt_edu.ops.deferred_outputs import riders


def cell_by_hand(batches, detach=True):
    """A recurrent cell, its state cut off before each step; the optimizer's losses, and what was left to compute."""
    jt.set_global_seed(3)
    layer = nn.Linear(6, 4)
    optimizer = jt.optim.SGD(layer.parameters(), 0.1)
    state, losses, left = jt.zeros(2, 4), [], []
    for number in range(batches):
        x = jt.array([[0.1 * number, 0.2], [0.3, 0.4 - 0.1 * number]])
        state = jt.tanh(layer(jt.concat([x, state], 1)))
        loss = (state * state).sum()
        if detach:
            state = state.detach()
        optimizer.step(loss)
        left.append(state.node.pending)
        losses.append(loss.item())
        state = state if detach else jt.array(state.numpy())
    return losses, left


def test_a_state_that_was_cut_off_before_the_step_is_computed_with_it():
    losses, left = cell_by_hand(5)

    assert left == [False] * 5
    np.testing.assert_allclose(losses, cell_by_hand(5, detach=False)[0], rtol=1e-6)


def test_a_step_runs_no_more_kernels_for_the_steps_before():
    runs = []
    for batches in (2, 3, 6):
        with jt.trace(values=False) as seen:
            cell_by_hand(batches)
        runs.append(len(seen.kernels))

    assert runs[2] - runs[1] == 3 * (runs[1] - runs[0])


def test_a_step_that_takes_its_gradients_first_carries_them_too():
    layer = nn.Linear(2, 2)
    optimizer = jt.optim.Adam(layer.parameters(), 0.1)
    out = layer(jt.ones(1, 2)) * 2
    loss, out = out.sum(), out.detach()

    optimizer.zero_grad()
    optimizer.backward(loss)
    optimizer.step()

    assert not out.node.pending


def test_what_nobody_holds_any_more_does_not_ride():
    layer = nn.Linear(2, 2)
    before = len(riders())
    out = layer(jt.ones(1, 2)).detach()
    held = len(riders())
    del out
    gc.collect()

    assert (held - before, len(riders()) - before) == (1, 0)


def test_what_is_detached_and_takes_no_part_in_gradients_stays_lazy():
    before = len(riders())
    drawn = jt.randn(3)
    sums = (jt.ones(3).stop_grad() + 1).detach()

    assert len(riders()) == before
    assert (drawn.shape, sums.tolist()) == ((3,), [2.0, 2.0, 2.0])


def test_a_captured_step_computes_only_what_it_returns():
    layer = nn.Linear(2, 2)
    optimizer = jt.optim.SGD(layer.parameters(), 0.1)
    before = len(riders())

    @jt.compile
    def step(x):
        out = layer(x)
        cut = out.detach()
        loss = (out * cut).sum()
        optimizer.step(loss)
        return loss

    losses = [step(jt.ones(1, 2)).item() for _ in range(3)]

    assert len(riders()) == before
    assert losses == sorted(losses, reverse=True)
