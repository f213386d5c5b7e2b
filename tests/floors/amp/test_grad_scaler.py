"""GradScaler: the rule step by step, PyTorch's beside it, and steps that are left out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jt_edu as jt
from jt_edu.amp import GradScaler
from jt_edu.amp.loss_scaler import LossScaler, unscaled
from jt_edu.base.errors import ArgumentError, DtypeError, GradientError

OVERFLOWS = st.lists(st.booleans(), max_size=40)


@given(OVERFLOWS, st.integers(1, 5), st.sampled_from([0.0, 1.0, 2.0**14]), st.sampled_from([2.0**18, 2.0**24]))
def test_the_scale_follows_the_rule_step_by_step(overflows, window, least, most):
    scaler, scale, clean = LossScaler(growth_interval=window, least=least, most=most), 2.0**16, 0

    for overflow in overflows:
        clean = 0 if overflow else clean + 1
        if overflow:
            scale = max(scale / 2, least)
        elif clean == window:
            scale, clean = min(scale * 2, most), 0

        assert scaler.update(overflow) == overflow
        assert (scaler.scale, scaler.clean) == (scale, clean)


def test_a_scale_that_stays_leaves_no_step_out():
    scaler = LossScaler(128.0, dynamic=False, growth_interval=1)

    assert [scaler.update(overflow) for overflow in (True, False, True)] == [False] * 3
    assert scaler.scale == 128


def test_2000_clean_steps_double_the_scale_and_2_to_the_24_is_where_apex_stops():
    scaler = LossScaler(2.0**23, most=2.0**24)

    scales = [scaler.update(overflow=False) or scaler.scale for _ in range(4000)]

    assert (scales[1998], scales[1999], scales[3998], scales[3999]) == (2.0**23, 2.0**24, 2.0**24, 2.0**24)


def test_a_scale_does_not_grow_beyond_float32():
    scaler = LossScaler(2.0**127, growth_interval=1)

    scaler.update(overflow=False)

    assert scaler.scale == 2.0**127


@pytest.mark.parametrize("how", ["PyTorch", "Jittor"])
@pytest.mark.parametrize(("growth", "backoff"), [(2.0, 0.5), (1.7, 0.3)])
def test_scales_states_and_parameters_are_those_of_pytorch(torch, rng, how, growth, backoff):
    named = {"init_scale": 1e3, "growth_factor": growth, "backoff_factor": backoff, "growth_interval": 3}
    w, v = jt.array([1.0, -2.0]), torch.tensor([1.0, -2.0], requires_grad=True)
    ours, theirs = jt.optim.SGD([w], lr=0.1, momentum=0.9), torch.optim.SGD([v], lr=0.1, momentum=0.9)
    scaler, other = GradScaler(**named), torch.amp.GradScaler("cpu", **named)

    for factor in np.where(rng.random(40) < 0.2, np.inf, 1.0):
        theirs.zero_grad()
        other.scale((v * v).sum() * float(factor)).backward()
        other.step(theirs)
        other.update()
        loss = (w * w).sum() * float(factor)
        if how == "PyTorch":
            ours.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(ours)
        else:
            scaler.step(ours, loss)
        scaler.update()

        assert scaler.state_dict() == other.state_dict()
        np.testing.assert_allclose(w.numpy(), v.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_a_step_that_is_left_out_changes_neither_parameters_nor_states():
    w = jt.array([1.0, 2.0])
    adam, scaler = jt.optim.Adam([w], lr=0.1), GradScaler()
    scaler.step(adam, (w * w).sum())
    scaler.update()
    before, states = w.tolist(), {name: np.copy(v) for name, v in adam.state[0].items()}

    scaler.step(adam, (w * jt.array([1.0, jt.inf])).sum())
    scaler.update()

    assert w.tolist() == before and w.grad is None
    for name, value in adam.state[0].items():
        np.testing.assert_array_equal(np.copy(value), states[name])
    assert scaler.get_scale() == 2.0**15


def test_gradients_that_are_clipped_are_unscaled_first():
    w = jt.array([3.0, 4.0])
    sgd, scaler = jt.optim.SGD([w], lr=1.0), GradScaler()

    scaler.scale((w * w / 2).sum()).backward()
    scaler.unscale_(sgd)
    length = sgd.clip_grad_norm(1.0).item()
    scaler.step(sgd)

    assert length == 5
    np.testing.assert_allclose(w.numpy(), [2.4, 3.2], rtol=1e-6)


def test_two_optimizers_share_a_scale_and_each_looks_at_its_own_gradients():
    a, b = jt.array([1.0]), jt.array([1.0])
    first, second, scaler = jt.optim.SGD([a], lr=0.25), jt.optim.SGD([b], lr=0.25), GradScaler()

    for loss in scaler.scale([(a * a).sum(), (b * jt.inf).sum()]):
        loss.backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()

    assert (a.item(), b.item(), scaler.get_scale()) == (0.5, 1.0, 2.0**15)


def test_losses_in_several_parts_are_unscaled_once():
    w = jt.array([1.0])
    sgd, scaler = jt.optim.SGD([w], lr=0.25), GradScaler()

    for _ in range(2):
        scaler.scale((w * w).sum() / 2).backward()
    scaler.step(sgd)

    assert w.item() == 0.5


def test_a_scaler_that_is_switched_off_scales_nothing_and_makes_every_step():
    w = jt.array([1.0])
    sgd, scaler = jt.optim.SGD([w], lr=0.25), GradScaler(enabled=False)
    loss = (w * w).sum()

    assert scaler.scale(loss) is loss
    scaler.step(sgd, loss)
    scaler.update()
    scaler.load_state_dict({})

    assert (w.item(), scaler.get_scale(), scaler.is_enabled(), scaler.state_dict()) == (0.5, 1.0, False, {})


@pytest.mark.parametrize("enabled", [True, False])
def test_a_step_of_ones_own_is_made_too(enabled):
    class Descent(jt.optim.Optimizer):
        def step(self):
            for p in self.param_groups[0]["params"]:
                p.update(p - 0.25 * p.grad)

    w = jt.array([1.0])
    scaler = GradScaler(enabled=enabled)
    scaler.scale((w * w).sum()).backward()

    scaler.step(Descent([w]))

    assert w.item() == 0.5


def test_a_scaler_goes_on_from_the_state_of_another_one():
    first, second = GradScaler(growth_interval=3), GradScaler()
    first._rule.update(overflow=True)
    first._rule.update(overflow=False)
    second.load_state_dict(first.state_dict())

    traces = [[rule.update(o) or rule.scale for o in (False, False, True)] for rule in (first._rule, second._rule)]

    assert traces[0] == traces[1] == [2.0**15, 2.0**16, True]
    assert (second.get_growth_interval(), second.get_growth_factor(), second.get_backoff_factor()) == (3, 2.0, 0.5)


def test_update_takes_another_scale():
    scaler = GradScaler()

    scaler.update(jt.array(32.0))

    assert scaler.get_scale() == 32 and scaler.scale(jt.array(1.0)).item() == 32


@pytest.fixture
def scaled():
    """A scaler, an optimizer, and gradients that were scaled."""
    w, scaler = jt.array([1.0]), GradScaler()
    scaler.scale((w * w).sum()).backward()
    return scaler, jt.optim.SGD([w], lr=0.1)


def test_unscaling_twice_is_refused(scaled):
    scaler, sgd = scaled
    scaler.unscale_(sgd)

    with pytest.raises(ArgumentError, match=r"a second call, after unscale_\(\)"):
        scaler.unscale_(sgd)


def test_unscaling_after_the_step_is_refused_and_so_is_a_second_step(scaled):
    scaler, sgd = scaled
    scaler.step(sgd)

    with pytest.raises(ArgumentError, match=r"after step\(\)"):
        scaler.unscale_(sgd)
    with pytest.raises(ArgumentError, match="a second step"):
        scaler.step(sgd)


def test_update_without_a_step_is_refused():
    with pytest.raises(ArgumentError, match="0 optimizers"):
        GradScaler().update()


def test_gradients_of_float16_are_refused():
    w = jt.array([1.0], "float16")
    sgd, scaler = jt.optim.SGD([w], lr=0.1), GradScaler(init_scale=8.0)
    scaler.scale((w * w).sum()).backward()

    with pytest.raises(DtypeError, match="float16 for the parameter of shape"):
        scaler.step(sgd)


def test_no_gradients_are_refused():
    with pytest.raises(GradientError, match="0 gradients"):
        GradScaler().unscale_(jt.optim.SGD([jt.ones(1)], lr=0.1))


def test_a_function_in_place_of_a_loss_is_refused():
    with pytest.raises(ArgumentError, match="function"):
        GradScaler().step(jt.optim.SGD([jt.ones(1)], lr=0.1), lambda: jt.ones(1))


@pytest.mark.parametrize("state", [{}, {"scale": 1.0}, []])
def test_a_state_of_something_else_is_refused(state):
    with pytest.raises(ArgumentError, match="the state of a GradScaler has scale"):
        GradScaler().load_state_dict(state)


@pytest.mark.parametrize("wrong", [{"growth_factor": 1.0}, {"backoff_factor": 1.0}, {"init_scale": 0.0}])
def test_factors_on_the_wrong_side_are_refused(wrong):
    with pytest.raises(ArgumentError, match=r"=[01]"):
        GradScaler(**wrong)


# replays


def scales_seen(backward):
    """The gradient of w * w at 1 that `backward` leaves, for a scale that changes in the middle."""
    w, scaler = jt.array([1.0]), GradScaler(init_scale=8.0)
    found = []
    for _ in range(5):
        w.grad = None
        backward(w, scaler)
        found.append(w.grad.item())
        if len(found) == 3:
            scaler.update(4.0)
    return found


def test_a_loop_that_is_replayed_sees_the_scale_change():
    assert scales_seen(lambda w, scaler: scaler.scale((w * w).sum()).backward()) == [16, 16, 16, 8, 8]


def test_an_optimizer_that_replays_sees_the_scale_change():
    def backward(w, scaler):
        jt.optim.SGD([w], lr=0.1).backward(scaler.scale((w * w).sum()))

    assert scales_seen(backward) == [16, 16, 16, 8, 8]


def test_a_compiled_step_sees_the_scale_change():
    compiled = jt.compile(lambda w, scaler: scaler.scale((w * w).sum()).backward())

    assert scales_seen(compiled) == [16, 16, 16, 8, 8]


def test_the_steps_of_a_replayed_loop_are_those_without_a_scaler():
    def losses(scaler):
        jt.seed(0)
        net, x = jt.nn.Linear(4, 2), jt.randn(8, 4)
        adam, found = jt.optim.Adam(net.parameters(), lr=0.1), []
        for _ in range(8):
            loss = (net(x) ** 2).mean()
            scaler.step(adam, loss)
            scaler.update()
            found.append(loss.item())
        return found

    np.testing.assert_allclose(losses(GradScaler(growth_interval=2)), losses(GradScaler(enabled=False)), rtol=1e-5)


def test_a_step_inside_a_compiled_one_is_refused():
    w, scaler = jt.array([1.0]), GradScaler()
    sgd = jt.optim.SGD([w], lr=0.1)

    with pytest.raises(ArgumentError, match="a compiled step, in which there are no numbers yet"):
        jt.compile(lambda: scaler.step(sgd, (w * w).sum()))()


# ranks


def test_every_rank_hears_of_the_overflow_of_any():
    def program():
        return unscaled([jt.array([jt.inf if jt.rank == 1 else 1.0])], LossScaler())[1]

    assert jt.simulate(3)(program) == [True] * 3


@pytest.mark.parametrize("how", ["PyTorch", "Jittor"])
def test_all_ranks_leave_out_the_steps_in_which_one_overflows(how):
    def program():
        w = jt.array([1.0, 1.0])
        sgd, scaler, seen = jt.optim.SGD([w], lr=0.25), GradScaler(), []
        for step in range(3):
            factor = jt.inf if step == 1 and jt.rank == 1 else 1.0
            loss = (w * w * jt.array([1.0, factor])).sum()
            if how == "PyTorch":
                sgd.zero_grad()
                scaler.scale(loss).backward()
                scaler.step(sgd)
            else:
                scaler.step(sgd, loss)
            scaler.update()
            seen.append((*w.tolist(), scaler.get_scale()))
        return seen

    first, second = jt.simulate(2)(program)

    assert first == second == [(0.5, 0.5, 2.0**16), (0.5, 0.5, 2.0**15), (0.25, 0.25, 2.0**15)]


def test_gradients_that_are_unscaled_are_those_of_the_whole_batch():
    def program():
        w = jt.array([1.0])
        sgd, scaler = jt.optim.SGD([w], lr=0.25), GradScaler()
        scaler.scale(w.sum() * (1 + 2 * jt.rank)).backward()
        scaler.unscale_(sgd)
        return w.grad.item()

    assert jt.simulate(2)(program) == [2, 2]
