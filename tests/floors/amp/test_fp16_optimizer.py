"""FP16_Optimizer: masters of a float16 model, scales that stay or change, closures, states."""

import copy
from functools import partial

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.amp import FP16_Optimizer
from jt_edu.base.errors import ArgumentError
from tests.floors.amp.levels import batches, losses, network


def made(lr=0.05, rule=jt.optim.SGD, **named):
    net = network().half()
    return net, FP16_Optimizer(rule(net.parameters(), lr=lr), verbose=False, **named)


def one(value=1.0, lr=0.25, rule=jt.optim.SGD, **named):
    """One float16 parameter."""
    w = jt.array([value], "float16")
    return w, FP16_Optimizer(rule([w], lr=lr), verbose=False, **named)


@pytest.mark.parametrize("how", ["Apex", "Jittor"])
@pytest.mark.parametrize(
    "scale", [{"static_loss_scale": 128.0}, {"dynamic_loss_scale": True, "dynamic_loss_args": {"init_scale": 2.0**14}}]
)
def test_200_steps_are_within_1_percent_of_float32(scale, how):
    plain = network()
    wanted = losses(plain, jt.optim.SGD(plain.parameters(), lr=0.05).step)
    net, optimizer = made(**scale)

    def step(loss):
        optimizer.zero_grad()
        optimizer.backward(loss)
        optimizer.step()

    found = losses(lambda x: net(x.half()).float(), step if how == "Apex" else optimizer.step)

    assert np.mean(found[-20:]) == pytest.approx(np.mean(wanted[-20:]), rel=0.01)
    assert {p.dtype for group in optimizer.param_groups for p in group["params"]} == {jt.float32}


def test_a_dynamic_scale_begins_at_2_to_the_32_and_comes_down_to_where_gradients_fit():
    w, optimizer = one(dynamic_loss_scale=True)
    scales = []

    for _ in range(20):
        scales.append(optimizer.loss_scale)
        optimizer.step(w.sum())

    assert scales[:18] == [2.0 ** (32 - k) for k in range(18)] and scales[18] == scales[19] == 2.0**15
    assert w.item() < 1


def test_steps_that_are_left_out_are_told(capsys):
    w = jt.array([1.0], "float16")
    optimizer = FP16_Optimizer(jt.optim.SGD([w], lr=0.25), dynamic_loss_scale=True)

    optimizer.backward((w * jt.inf).sum())

    assert optimizer.overflow and optimizer.clip_master_grads(1.0) == -1
    optimizer.step()
    assert "the loss scale becomes 2147483648.0" in capsys.readouterr().out
    assert w.item() == 1


def test_an_overflow_can_be_read_after_its_step_until_there_are_new_gradients():
    w, optimizer = one(dynamic_loss_scale=True, dynamic_loss_args={"init_scale": 8.0})
    seen = []

    for factor in (jt.inf, 1.0, jt.inf):
        optimizer.zero_grad()
        optimizer.backward((w * factor).sum())
        optimizer.step()
        seen.append((optimizer.overflow, w.item()))
    other = one(dynamic_loss_scale=True)[1]
    other.load_state_dict(optimizer.state_dict())
    other.backward(other._scaled.model.param_groups[0]["params"][0].sum())
    other.step()

    assert seen == [(True, 1.0), (False, 0.75), (True, 0.75)]
    assert not other.overflow


def test_the_rule_listens_to_its_arguments():
    w, optimizer = one(
        dynamic_loss_scale=True, dynamic_loss_args={"init_scale": 4.0, "scale_factor": 4.0, "scale_window": 2}
    )
    scales = []

    for factor in (1.0, 1.0, jt.inf, jt.inf, jt.inf):
        optimizer.step((w * factor).sum())
        scales.append(optimizer.loss_scale)

    assert scales == [4, 16, 4, 1, 1]
    with pytest.raises(ArgumentError, match="'window'"):
        one(dynamic_loss_scale=True, dynamic_loss_args={"window": 2})
    for wrong in (0, -1, "2"):
        with pytest.raises(jt.ArgumentError, match="growth_factor"):
            one(dynamic_loss_scale=True, dynamic_loss_args={"scale_factor": wrong})


def test_masters_are_clipped_by_their_unscaled_gradients():
    w, optimizer = one(1.0, lr=0.5, static_loss_scale=1024.0)

    optimizer.backward((w * 4).sum())

    assert optimizer.clip_master_grads(1.0).item() == 4
    optimizer.step()
    assert w.item() == 0.5


@pytest.mark.parametrize("several", [False, True])
def test_gradients_of_two_losses_are_added(several):
    w, optimizer = one(static_loss_scale=64.0)

    for _ in range(2):
        optimizer.backward((w * w).sum(), update_master_grads=not several)
    if several:
        assert optimizer.param_groups[0]["params"][0].grad is None
        optimizer.update_master_grads()

    assert optimizer.param_groups[0]["params"][0].grad.item() == 4
    optimizer.zero_grad()
    assert optimizer.param_groups[0]["params"][0].grad is None and w.grad is None


def test_small_steps_are_kept_in_the_masters():
    w, optimizer = one(lr=1e-4)

    for _ in range(10):
        optimizer.step(w.sum())

    assert optimizer.param_groups[0]["params"][0].item() == pytest.approx(0.999, abs=1e-6)


def test_float32_parameters_are_their_own_masters():
    w, v = jt.array([1.0], "float16"), jt.array([1.0])
    optimizer = FP16_Optimizer(jt.optim.SGD([w, v], lr=0.25), static_loss_scale=8.0)

    for _ in range(2):
        optimizer.backward(w.sum().float() + v.sum())
    optimizer.step()

    assert optimizer.param_groups[0]["params"][1] is v and (w.item(), v.item()) == (0.5, 0.5)


def test_a_function_computes_the_loss_if_the_scale_stays():
    w, optimizer = one(static_loss_scale=8.0)

    def loss():
        optimizer.zero_grad()
        value = (w * w).sum()
        optimizer.backward(value)
        return value

    assert optimizer.step(loss).item() == 1 and w.item() == 0.5
    with pytest.raises(ArgumentError, match="dynamic_loss_scale=True"):
        one(dynamic_loss_scale=True)[1].step(loss)


def test_a_function_that_is_called_again_finds_the_weights_moved():
    w, optimizer = one(2.0, lr=0.5, rule=partial(jt.optim.LBFGS, max_iter=3), static_loss_scale=8.0)
    seen = []

    def loss():
        optimizer.zero_grad()
        value = ((w - 1) ** 4).sum()
        optimizer.backward(value)
        seen.append(w.item())
        return value

    optimizer.step(loss)

    assert len({*seen}) > 1


def test_the_loss_scale_can_be_set():
    w, optimizer = one(static_loss_scale=8.0)
    optimizer.loss_scale = 32.0

    optimizer.backward(w.sum(), update_master_grads=False)

    assert optimizer.loss_scale == 32 and w.grad.item() == 32


def test_going_on_from_a_state_loses_no_bit():
    def run(net, optimizer, first, count):
        for x, y in list(batches(first + count))[first:]:
            optimizer.step(nn.functional.cross_entropy(net(x.half()).float(), y))

    named = {"rule": jt.optim.Adam, "lr": 0.01, "dynamic_loss_scale": True}
    net, optimizer = made(**named)
    run(net, optimizer, 0, 25)
    saved = copy.deepcopy((net.state_dict(), optimizer.state_dict()))
    run(net, optimizer, 25, 3)
    again, other = made(**named)
    again.load_state_dict(saved[0])
    other.load_state_dict(saved[1])
    run(again, other, 25, 3)

    assert other.loss_scale == optimizer.loss_scale < 2.0**32
    for a, b in zip(net.parameters(), again.parameters(), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    with pytest.raises(ArgumentError, match="loss_scaler"):
        other.load_state_dict({})


def test_something_else_than_an_optimizer_is_refused():
    with pytest.raises(ArgumentError, match="'Adam'"):
        FP16_Optimizer("Adam")
