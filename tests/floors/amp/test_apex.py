"""Apex's levels: their table, what they cast, masters, several losses, and steps that are left out."""

import copy
from functools import partial

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import amp, nn
from jt_edu.amp.apex_properties import LEVELS
from jt_edu.base.errors import ArgumentError, DtypeError
from tests.floors.amp.levels import batches, losses, network

quiet = partial(amp.initialize, verbosity=0)


def initialized(opt_level, lr=0.05, **named):
    net = network()
    return quiet(net, jt.optim.SGD(net.parameters(), lr=lr), opt_level=opt_level, **named)


def scaled_step(optimizer, loss):
    """Apex's three lines."""
    optimizer.zero_grad()
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()
    optimizer.step()


# the table

TABLE = {
    "O0": "True, O0, float32, False, None, False, 1.0",
    "O1": "True, O1, None, True, None, None, dynamic",
    "O2": "True, O2, float16, False, True, True, dynamic",
    "O3": "True, O3, float16, False, False, False, 1.0",
}
NAMES = "enabled opt_level cast_model_type patch_torch_functions keep_batchnorm_fp32 master_weights loss_scale".split()


@pytest.mark.parametrize("level", TABLE)
def test_the_properties_of_a_level_are_those_of_apex_and_are_printed_twice(level, capsys):
    amp.initialize(network(), opt_level=level)

    told = capsys.readouterr().out
    lines = [line for line in told.splitlines() if " : " in line]
    wanted = [f"{name:22} : {value}" for name, value in zip(NAMES, TABLE[level].split(", "), strict=True)]
    assert lines == wanted * 2
    assert f"optimization level {level}" in told


def test_properties_that_are_given_are_printed_too(capsys):
    amp.initialize(network(), opt_level="O2", loss_scale="128.0", keep_batchnorm_fp32="False")

    told = capsys.readouterr().out
    assert "Overridden: keep_batchnorm_fp32, loss_scale." in told
    assert told.endswith(f"{'loss_scale':22} : 128.0\n")


def test_verbosity_0_prints_nothing(capsys):
    quiet(network(), opt_level="O3")

    assert capsys.readouterr().out == ""


def test_a_small_letter_is_a_warning_and_a_zero_an_error_that_says_so():
    with pytest.warns(UserWarning, match="opt_level='o1' is read as 'O1'"):
        quiet(network(), opt_level="o1")
    with pytest.raises(ArgumentError, match="'O1': the letter O, not the number zero"):
        quiet(network(), opt_level="01")
    with pytest.raises(ArgumentError, match="opt_level='O4'"):
        quiet(network(), opt_level="O4")


@pytest.mark.parametrize(
    ("level", "wrong"),
    [
        ("O1", {"cast_model_type": jt.float16}), ("O1", {"master_weights": True}),
        ("O1", {"keep_batchnorm_fp32": True}), ("O2", {"patch_torch_functions": True}),
        ("O2", {"loss_scale": "much"}), ("O2", {"loss_scale": -1.0}),
        ("O2", {"keep_batchnorm_fp32": "yes"}), ("O2", {"cast_model_type": jt.int32}),
    ],
)  # fmt: skip
def test_properties_that_make_no_sense_are_refused(level, wrong):
    with pytest.raises(jt.JtError, match=str(next(iter(wrong)))):
        quiet(network(), opt_level=level, **wrong)


# what is cast


@pytest.mark.parametrize(
    ("level", "weights", "norm"),
    [
        ("O0", "float32", "float32"),
        ("O1", "float32", "float32"),
        ("O2", "float16", "float32"),
        ("O3", "float16", "float16"),
    ],
)
def test_each_level_casts_weights_and_batch_norm_as_it_says(level, weights, norm):
    net, sgd = initialized(level)

    assert (net[0].weight.dtype, net[1].weight.dtype, net[1].running_var.dtype) == (weights, norm, norm)
    assert {p.dtype for p in sgd.param_groups[0]["params"]} == {jt.float16 if level == "O3" else jt.float32}


def test_batch_norm_keeps_its_numbers_to_the_last_bit():
    net = network()
    net[1].weight.update(jt.array(np.full(8, 1 / 3, "float32")))

    quiet(net, opt_level="O2")

    assert net[1].weight[0].item() == np.float32(1 / 3)


def test_a_cast_model_takes_float32_and_returns_it():
    net, x = quiet(network(), opt_level="O2"), next(batches(1))[0]
    seen = []
    net[0].register_forward_hook(lambda _, args, out: seen.append((args[0].dtype, out.dtype)))

    assert net(x).dtype == net(x.numpy()).dtype == jt.float32
    assert seen == [(jt.float16, jt.float16)] * 2


def test_outputs_are_cast_as_they_are_asked_for():
    x = next(batches(1))[0]

    assert quiet(network(), opt_level="O3", cast_model_outputs=jt.float16)(x).dtype == jt.float16
    assert quiet(network(), opt_level="O1", cast_model_outputs="float64")(x).dtype == jt.float64
    assert quiet(network(), opt_level="O1", patch_torch_functions=False)(x).dtype == jt.float32


def test_structures_of_inputs_and_outputs_are_cast_and_whole_numbers_are_not():
    class Pair(nn.Module):
        def execute(self, pair, number):
            return {"a": pair[0] * 2, "b": [number, pair[1]]}

    seen = quiet(Pair(), opt_level="O3", cast_model_outputs=jt.float64)((jt.ones(1), jt.ones(1)), number=jt.array([3]))

    assert (seen["a"].dtype, seen["b"][0].dtype, seen["b"][1].dtype) == (jt.float64, jt.int64, jt.float64)


def test_bfloat16_is_a_model_type_too():
    net, _ = initialized("O2", cast_model_type="bfloat16")

    assert net[0].weight.dtype == jt.bfloat16 and net(next(batches(1))[0]).dtype == jt.float32


def test_O1_casts_products_and_not_losses_also_outside_of_the_model():  # noqa: N802
    net, _ = initialized("O1")

    with jt.trace() as t:
        loss = nn.functional.cross_entropy(net(next(batches(1))[0]), jt.zeros(32, dtype="int64"))
        product = jt.ones(2, 2) @ jt.ones(2)

    rules = {cast.function: cast.rule for cast in t.casts}
    assert (loss.dtype, product.dtype) == (jt.float32, jt.float16)
    assert {rules["conv2d"], rules["linear"], rules["matmul"]} == {"lower"}
    assert {rule for name, rule in rules.items() if "cross_entropy" in name} == {"float32"}


def test_a_model_that_is_cast_already_is_refused():
    with pytest.raises(DtypeError, match=r"0\.weight of dtype float16"):
        quiet(network().half())


def test_nothing_happens_where_amp_is_not_enabled():
    net = network()
    sgd = jt.optim.SGD(net.parameters(), lr=0.1)

    assert quiet(net, sgd, enabled=False, opt_level="O2") == (net, sgd)
    loss = net(next(batches(1))[0]).sum()
    with amp.scale_loss(loss, sgd) as scaled:
        assert scaled is loss
    assert net[0].weight.dtype == jt.float32


def test_lists_come_back_as_lists():
    a, b = network(), network()
    rules = [jt.optim.SGD(a.parameters(), lr=0.1), jt.optim.Adam(b.parameters(), lr=0.1)]

    nets, found = quiet([a, b], rules, opt_level="O2")

    assert (nets, found) == ([a, b], rules) and a[0].weight.dtype == b[0].weight.dtype == jt.float16
    assert quiet([network()], opt_level="O0")[0].training


def test_an_optimizer_is_initialized_once_and_before_its_loss_is_scaled():
    net, sgd = initialized("O2")

    with pytest.raises(ArgumentError, match="a second time"):
        quiet(network(), sgd)
    with (
        pytest.raises(ArgumentError, match=r"found SGD\("),
        amp.scale_loss(jt.array(1.0), jt.optim.SGD(net.parameters(), lr=0.1)),
    ):
        pass


@pytest.mark.parametrize("none", [None, [], ()])
def test_gradients_that_nobody_would_unscale_are_refused(none):
    initialized("O2")

    with (
        pytest.raises(ArgumentError, match="unscales the gradients of optimizers"),
        amp.scale_loss(jt.array(1.0), none),
    ):
        pass


def test_a_number_is_no_loss_to_scale():
    _, sgd = initialized("O2")

    with pytest.raises(ArgumentError, match=r"takes the Var of a loss; found 3\.0"), amp.scale_loss(3.0, sgd):
        pass


def test_a_loss_is_not_scaled_before_initialize():
    with pytest.raises(ArgumentError, match="no call of it"), amp.scale_loss(jt.array(1.0), []):
        pass


# training


@pytest.fixture(scope="module")
def float32():
    """Losses of 200 steps without any of it."""
    net = network()
    return losses(net, jt.optim.SGD(net.parameters(), lr=0.05).step)


@pytest.mark.parametrize("how", ["Apex", "Jittor"])
@pytest.mark.parametrize("level", LEVELS)
def test_200_steps_of_each_level_are_within_1_percent_of_float32(float32, level, how):
    net, sgd = initialized(level)

    found = losses(net, sgd.step if how == "Jittor" else partial(scaled_step, sgd))

    assert np.mean(found[-20:]) == pytest.approx(np.mean(float32[-20:]), rel=0.01)
    assert np.mean(found) == pytest.approx(np.mean(float32), rel=0.01)


@pytest.mark.parametrize(("scale", "survives"), [(1.0, False), (2.0**16, True), ("dynamic", True)])
def test_gradients_of_1e_8_survive_with_a_scale_and_vanish_without(scale, survives):
    net = nn.Linear(2, 1, bias=False)
    net, sgd = quiet(net, jt.optim.SGD(net.parameters(), lr=0.1), opt_level="O2", loss_scale=scale)

    with amp.scale_loss(net(jt.ones(1, 2)).sum() * 1e-8, sgd) as scaled:
        scaled.backward()

    (master,) = amp.master_params(sgd)
    np.testing.assert_allclose(master.grad.numpy(), np.full((1, 2), 1e-8 if survives else 0.0), rtol=1e-3)


def test_masters_take_steps_that_a_half_would_lose():
    def steps(level):
        jt.seed(0)
        net = nn.Linear(1, 1, bias=False)
        net.weight.update(jt.ones(1, 1))
        net, sgd = quiet(net, jt.optim.SGD(net.parameters(), lr=1e-4), opt_level=level, loss_scale=8)
        for _ in range(20):
            sgd.step(net(jt.ones(1, 1)).sum())
        return net.weight.item()

    assert steps("O3") == 1.0
    assert steps("O2") == pytest.approx(1 - 20e-4, abs=1e-3)


@pytest.mark.parametrize("how", ["Apex", "Jittor"])
@pytest.mark.parametrize("level", ["O1", "O2"])
def test_an_overflow_leaves_out_the_step_and_halves_the_scale(level, how, capsys):
    net, sgd = initialized(level, verbosity=1)
    x = next(batches(1))[0]
    before = [p.numpy() for p in (*net.parameters(), *amp.master_params(sgd))]
    capsys.readouterr()

    for factor in (jt.inf, 1.0):
        loss = net(x).mean() * factor
        sgd.step(loss) if how == "Jittor" else scaled_step(sgd, loss)
        now = [p.numpy() for p in (*net.parameters(), *amp.master_params(sgd))]
        same = all(np.array_equal(a, b) for a, b in zip(before, now, strict=True))

        assert same == (factor == jt.inf)
        assert amp.state_dict() == {"loss_scaler0": {"loss_scale": 2.0**15, "unskipped": int(factor == 1)}}
    assert "becomes 32768.0" in capsys.readouterr().out


def test_the_limits_of_a_scale_hold():
    _, sgd = initialized("O2", min_loss_scale=2.0**15, max_loss_scale=2.0**15)
    (scaler,) = sgd._amp.scalers

    assert scaler.scale == 2.0**15
    assert [scaler.update(overflow) or scaler.scale for overflow in [True] + [False] * 2000][-1] == 2.0**15


def test_a_scale_that_stays_makes_every_step():
    net, sgd = initialized("O2", loss_scale=4.0)

    scaled_step(sgd, net(next(batches(1))[0]).sum() * jt.inf)

    assert np.isnan(net[5].weight.numpy()).any() or np.isinf(net[5].weight.numpy()).any()
    assert amp.state_dict()["loss_scaler0"]["loss_scale"] == 4


def test_an_optimizer_computes_where_nothing_is_cast():
    class Curious(jt.optim.SGD):
        def rule(self, p, g, state, factor):
            seen.append(amp.is_autocast_enabled())
            return super().rule(p, g, state, factor)

    seen = []
    net, curious = quiet(net := network(), Curious(net.parameters(), lr=0.1), opt_level="O1")

    curious.step(net(next(batches(1))[0]).mean())

    assert {*seen} == {False} and amp.is_autocast_enabled()


# several losses


def parts():
    """Two losses of one network, with scales that fit."""
    net, sgd = initialized("O2", num_losses=2, max_loss_scale=1024.0)
    out = net(next(batches(1))[0])
    return net, sgd, (out * out).mean(), out.mean() * 3


def test_the_gradients_of_two_losses_are_added_unscaled():
    _net, sgd, first, second = parts()
    amp.load_state_dict({**amp.state_dict(), "loss_scaler1": {"loss_scale": 64.0, "unskipped": 0}})
    for number, loss in enumerate((first, second)):
        with amp.scale_loss(loss, sgd, loss_id=number) as scaled:
            scaled.backward()
    plain = network()
    out = plain(next(batches(1))[0])
    wanted = jt.grad((out * out).mean() + out.mean() * 3, list(plain.parameters()))

    for m, g in zip(amp.master_params(sgd), wanted, strict=True):
        np.testing.assert_allclose(m.grad.numpy(), g.numpy(), rtol=1e-2, atol=4e-3)


def test_each_loss_has_its_own_scale_and_an_overflow_of_either_leaves_out_the_step():
    net, sgd, first, second = parts()
    before = net[5].weight.numpy()

    for number, loss in enumerate((first * jt.inf, second)):
        with amp.scale_loss(loss, sgd, loss_id=number) as scaled:
            scaled.backward()
    sgd.step()

    assert [s["loss_scale"] for s in amp.state_dict().values()] == [512, 1024]
    np.testing.assert_array_equal(net[5].weight.numpy(), before)
    with pytest.raises(ArgumentError, match="loss_id=2 of num_losses=2"), amp.scale_loss(second, sgd, loss_id=2):
        pass


def test_gradients_stay_scaled_as_long_as_they_are_asked_to():
    _, sgd, first, second = parts()

    with amp.scale_loss(first, sgd, delay_unscale=True) as scaled:
        scaled.backward()
    assert all(m.grad is None for m in list(amp.master_params(sgd))[:1])
    with pytest.raises(ArgumentError, match="that is not over"):
        sgd.step()
    with amp.scale_loss(second, sgd) as scaled:
        scaled.backward()
    late = [m.grad.numpy() for m in amp.master_params(sgd)]
    _, sgd, first, second = parts()
    for loss in (first, second):
        with amp.scale_loss(loss, sgd) as scaled:
            scaled.backward()

    for one, m in zip(late, amp.master_params(sgd), strict=True):
        np.testing.assert_allclose(one, m.grad.numpy(), rtol=2e-2, atol=1e-4)


def test_one_loss_of_two_models_moves_both():
    nets = [nn.Linear(2, 2), nn.Linear(2, 1)]
    rules = [jt.optim.SGD(net.parameters(), lr=0.1) for net in nets]
    quiet(nets, rules, opt_level="O2")
    before = [net.weight.numpy() for net in nets]

    with amp.scale_loss((nets[1](nets[0](jt.ones(1, 2))) ** 2).sum(), rules) as scaled:
        scaled.backward()
    for rule in rules:
        rule.step()

    assert all(not np.array_equal(net.weight.numpy(), old) for net, old in zip(nets, before, strict=True))


def test_what_goes_wrong_inside_leaves_gradients_as_they_were():
    net, sgd = initialized("O1")
    net(next(batches(1))[0]).sum().backward()
    before = [p.grad for p in net.parameters()]

    with pytest.raises(ZeroDivisionError), amp.scale_loss(net(next(batches(1))[0]).sum(), sgd):
        1 / 0  # noqa: B018

    assert all(p.grad is g for p, g in zip(net.parameters(), before, strict=True))


def test_the_step_of_a_loss_whose_gradients_are_there_is_refused():
    net, sgd = initialized("O1")
    loss = net(next(batches(1))[0]).sum()
    with amp.scale_loss(loss, sgd) as scaled:
        scaled.backward()

    with pytest.raises(jt.GradientError, match="adds the gradients of the loss itself"):
        sgd.step(loss)


def test_a_step_of_masters_whose_loss_was_not_scaled_names_scale_loss():
    net, sgd = initialized("O2")
    before = net[1].weight.numpy()
    net(next(batches(1))[0]).sum().backward()

    with pytest.raises(jt.GradientError, match=r"loss\.backward\(\) alone\. Try: .*amp\.scale_loss\(loss, optimizer\)"):
        sgd.step()

    np.testing.assert_array_equal(net[1].weight.numpy(), before)  # nor batch norm, which has no master


def test_a_function_whose_step_could_be_left_out_is_refused():
    net, sgd = initialized("O1")

    with pytest.raises(ArgumentError, match="found function"):
        sgd.step(lambda: net(next(batches(1))[0]).sum())


def test_a_function_is_welcome_where_no_step_is_left_out():
    net, sgd = initialized("O0")
    before = net[5].weight.numpy()

    loss = sgd.step(lambda: net(next(batches(1))[0]).sum())

    assert loss.size == 1 and not np.array_equal(net[5].weight.numpy(), before)


# the optimizer's own words


def test_gradients_are_clipped_through_the_masters():
    net, sgd = initialized("O2", lr=1.0, loss_scale=16.0)
    masters = list(amp.master_params(sgd))
    before = [m.numpy() for m in masters]

    with amp.scale_loss(net(next(batches(1))[0]).mean() * 100, sgd) as scaled:
        scaled.backward()
    nn.utils.clip_grad_norm_(masters, 1.0)
    sgd.step()

    moved = sum(float(((m.numpy() - b) ** 2).sum()) for m, b in zip(masters, before, strict=True))
    assert moved == pytest.approx(1.0, rel=1e-3)


def test_zero_grad_forgets_the_gradients_of_model_and_masters():
    net, sgd = initialized("O2")
    with amp.scale_loss(net(next(batches(1))[0]).sum(), sgd) as scaled:
        sgd.backward(scaled)

    sgd.zero_grad()

    assert all(p.grad is None for p in (*net.parameters(), *amp.master_params(sgd)))


def test_masters_begin_as_the_float32_weights():
    _, sgd = initialized("O2")

    for m, p in zip(amp.master_params(sgd), network().parameters(), strict=True):
        np.testing.assert_array_equal(m.numpy(), p.numpy())


def test_masters_forget_their_gradients_after_a_step():
    net, sgd = initialized("O2", loss_scale=16.0)

    scaled_step(sgd, net(next(batches(1))[0]).mean())

    assert next(amp.master_params(sgd)).grad is None


def test_parameters_that_are_added_later_have_masters_too():
    net, sgd = initialized("O2")
    late = nn.Linear(2, 1).half()

    sgd.add_param_group({"params": late.parameters(), "lr": 0.5})
    sgd.step(late(jt.ones(1, 2).half()).mean() * 0.5 + net(next(batches(1))[0]).mean())

    assert [p.dtype for p in sgd.param_groups[1]["params"]] == [jt.float32] * 2
    np.testing.assert_allclose(late.bias.numpy(), sgd.param_groups[1]["params"][1].numpy(), atol=1e-3)


@pytest.mark.parametrize("order", ["model first", "optimizer first"])
def test_going_on_from_a_file_loses_no_bit_of_a_master(order):
    def run(net, adam, first, count):
        for x, y in list(batches(first + count))[first:]:
            adam.step(nn.functional.cross_entropy(net(x), y))

    def begin():
        net = network()
        return quiet(net, jt.optim.Adam(net.parameters(), lr=0.01), opt_level="O2")

    net, adam = begin()
    run(net, adam, 0, 3)
    saved = copy.deepcopy((net.state_dict(), adam.state_dict(), amp.state_dict()))
    run(net, adam, 3, 3)
    again, other = begin()
    if order == "model first":
        again.load_state_dict(saved[0])
    other.load_state_dict(saved[1])
    if order != "model first":
        again.load_state_dict(saved[0])
    amp.load_state_dict(saved[2])
    run(again, other, 3, 3)

    for a, b in zip(amp.master_params(adam), amp.master_params(other), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_masters_follow_weights_that_are_changed_by_hand():
    net, sgd = initialized("O2", lr=0.0)
    net[5].weight.update(jt.zeros(10, 128))

    sgd.step(net(next(batches(1))[0]).mean())

    assert not list(amp.master_params(sgd))[4].numpy().any() and not net[5].weight.numpy().any()


def test_a_schedule_from_before_finds_the_groups():
    net = network()
    sgd = jt.optim.SGD(net.parameters(), lr=0.1)
    schedule = jt.optim.lr_scheduler.StepLR(sgd, 1, gamma=0.5)
    quiet(net, sgd, opt_level="O2")

    schedule.step()

    assert sgd.param_groups[0]["lr"] == 0.05


def test_what_an_optimizer_keeps_is_as_wide_as_what_it_moves():
    for level, dtype in (("O2", "float32"), ("O3", "float16")):
        net = network()
        _, adam = quiet(net, jt.optim.Adam(net.parameters(), lr=0.1), opt_level=level)

        assert {v.dtype for v in adam.state[0].values() if isinstance(v, jt.Var)} == {jt.Var(0.0, dtype).dtype}


@pytest.mark.parametrize("wrong", [{}, {"loss_scaler0": {"loss_scale": 1.0}}, []])
def test_the_state_of_something_else_is_refused(wrong):
    initialized("O2")

    with pytest.raises(jt.JtError, match="loss_scaler0"):
        amp.load_state_dict(wrong)


# replays and ranks


@pytest.mark.parametrize("level", ["O1", "O2", "O3"])
def test_a_compiled_step_with_a_scale_that_stays_trains_as_a_lazy_one(level):
    def run(wrap):
        net, sgd = initialized(level, loss_scale=16.0)
        step = wrap(lambda x, y: sgd.step(nn.functional.cross_entropy(net(x), y)))
        for x, y in batches(4):
            step(x, y)
        return [p.numpy() for p in amp.master_params(sgd)], [p.numpy() for p in net.parameters()]

    for lazy, compiled in zip(run(lambda step: step), run(jt.compile), strict=True):
        for a, b in zip(lazy, compiled, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_a_dynamic_scale_cannot_be_compiled_whole():
    net, sgd = initialized("O2")

    with pytest.raises(ArgumentError, match="no numbers yet"):
        jt.compile(lambda x: sgd.step(net(x).sum()))(next(batches(1))[0])


def test_the_loss_of_a_step_becomes_that_of_the_whole_batch_and_a_number():
    def program():
        jt.seed(0)
        net = nn.Linear(2, 1)
        net, sgd = quiet(net, jt.optim.SGD(net.parameters(), lr=0.0), opt_level="O2", loss_scale=64.0)
        loss = net(jt.ones(1, 2)).sum() * 0 + jt.rank
        sgd.step(loss)
        return loss.item(), loss.node.behind

    assert jt.simulate(2)(program) == [(0.5, ())] * 2


def test_gradients_travel_once():
    def program():
        jt.seed(0)
        net = nn.Linear(2, 1)
        net, sgd = quiet(net, jt.optim.SGD(net.parameters(), lr=0.0), opt_level="O2", loss_scale=64.0)
        with amp.scale_loss(net(jt.ones(1, 2)).sum() * (1 + 2 * jt.rank), sgd) as scaled:
            scaled.backward()
        there = [m.grad for m in amp.master_params(sgd)]
        sgd._whole_batch()
        return there[1].item(), all(m.grad is g for m, g in zip(amp.master_params(sgd), there, strict=True))

    assert jt.simulate(2)(program) == [(2.0, True)] * 2


@pytest.mark.parametrize("how", ["Apex", "Jittor"])
@pytest.mark.parametrize("level", ["O1", "O2"])
def test_all_ranks_leave_out_the_steps_in_which_one_overflows(level, how):
    def program():
        jt.seed(0)
        net = nn.Linear(2, 1, bias=False)
        net, sgd = quiet(net, jt.optim.SGD(net.parameters(), lr=0.25), opt_level=level)
        seen = []
        for step in range(3):
            loss = (net(jt.ones(1, 2)) ** 2).sum() * (jt.inf if step == 1 and jt.rank == 1 else 0.1 + jt.rank / 20)
            sgd.step(loss) if how == "Jittor" else scaled_step(sgd, loss)
            seen.append((*net.weight.numpy().ravel().tolist(), amp.state_dict()["loss_scaler0"]["loss_scale"]))
        return seen

    first, second = jt.simulate(2)(program)

    assert first == second
    assert first[0][:2] == first[1][:2] != first[2][:2]
    assert [scale for *_, scale in first] == [2.0**16, 2.0**15, 2.0**15]
