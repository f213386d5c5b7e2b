"""jt.compile: a replayed step does what the step would have done."""

import copy

import numpy as np
import pytest

import jt_edu as jt

pytestmark = pytest.mark.usefixtures("python_backend")


def training(rng):
    """Parameters, a batch, and a step of plain gradient descent."""
    parameters = [jt.array(rng.standard_normal(s)) for s in ((3, 4), (4,), (4, 2))]

    def step(x, t, rate=0.1):
        w, b, v = parameters
        loss = jt.cross_entropy_loss(jt.relu(x @ w + b) @ v, t)
        for p, g in zip(parameters, jt.grad(loss, parameters), strict=True):
            p.update(p - g * rate)
        return loss

    return parameters, step


def test_twenty_replays_equal_twenty_lazy_steps(rng):
    x, t = rng.standard_normal((5, 3)), rng.integers(0, 2, 5)
    lazy, step = training(np.random.default_rng(1))
    compiled, again = training(np.random.default_rng(1))
    replay = jt.compile(again)

    for _ in range(20):
        expected, found = step(jt.array(x), jt.array(t)).item(), replay(x, t).item()
        assert found == pytest.approx(expected, rel=1e-12)

    for p, q in zip(lazy, compiled, strict=True):
        np.testing.assert_allclose(q.numpy(), p.numpy(), rtol=1e-12)


def test_a_replay_runs_none_of_the_python_of_the_step():
    calls = []
    step = jt.compile(lambda x: calls.append(1) or x * 2)

    results = [step(np.array([k, 1.0])).tolist() for k in range(4)]

    assert results == [[0, 2], [2, 2], [4, 2], [6, 2]]
    assert len(calls) == 1


def test_another_shape_dtype_or_plain_argument_is_captured_anew():
    calls = []
    step = jt.compile(lambda x, k: calls.append(1) or x * k)

    assert step(np.ones(2), 3).tolist() == [3, 3]
    assert step(np.ones(3), 3).tolist() == [3, 3, 3]
    assert step(np.ones(2, "float32"), 3).dtype == "float32"
    assert step(np.ones(2), 4).tolist() == [4, 4]
    assert step(np.ones(2), 4).tolist() == [4, 4]
    assert len(calls) == 4


def test_random_numbers_are_drawn_anew_in_every_replay_and_follow_the_seed():
    step = jt.compile(lambda x: x + jt.rand(3))
    x = np.zeros(3, "float32")

    jt.set_global_seed(7)
    first = [step(x).tolist() for _ in range(3)]
    jt.set_global_seed(7)
    lazy = [(jt.array(x) + jt.rand(3)).tolist() for _ in range(3)]

    assert first == lazy
    assert first[0] != first[1] != first[2]


def test_a_knob_is_read_at_every_replay_and_a_plain_number_is_not():
    rate = {"now": 1.0}
    step = jt.compile(lambda x: (x * jt.knob(lambda: rate["now"]), x * rate["now"]))
    x = np.ones(1)

    step(x)
    rate["now"] = 5.0
    turned, burned_in = step(x)

    assert (turned.item(), burned_in.item()) == (5.0, 1.0)


def test_a_var_that_the_step_reads_may_be_assigned_between_replays():
    scale = jt.array([2.0])
    step = jt.compile(lambda x: x * scale)
    x = np.ones(1, "float32")

    assert step(x).item() == 2.0
    scale.assign([7.0])
    assert step(x).item() == 7.0


def test_values_from_before_a_replay_keep_their_numbers():
    state = jt.array([1.0])
    step = jt.compile(lambda x: state.update(state + x))
    x = np.ones(1, "float32")
    step(x)

    before = state.copy()
    pending = state * 10
    step(x)

    assert (before.item(), pending.item(), state.item()) == (2.0, 20.0, 3.0)


def test_numbers_cannot_be_asked_for_inside_and_the_vars_stay_as_they_were():
    state = jt.array([1.0])

    def step(x):
        state.update(state + x)
        return state.item()

    with pytest.raises(jt.ArgumentError, match="captured without being run"):
        jt.compile(step)(np.ones(1, "float32"))

    assert state.item() == 1.0
    assert (state * 2).item() == 2.0


def test_a_step_that_raises_leaves_the_vars_as_they_were():
    state = jt.array([1.0])

    def step(x):
        state.update(state + x)
        raise ValueError("halfway")

    with pytest.raises(ValueError, match="halfway"):
        jt.compile(step)(np.ones(1, "float32"))

    assert state.item() == 1.0


def test_class_numbers_are_checked_in_every_replay():
    step = jt.compile(jt.cross_entropy_loss)
    scores = np.zeros((2, 3))
    step(scores, np.array([0, 2]))

    with pytest.raises(jt.RangeError, match="the index 3"):
        step(scores, np.array([0, 3]))

    assert step(scores, np.array([1, 1])).item() == pytest.approx(np.log(3))


def test_answers_may_be_dicts_and_lists_and_hold_plain_numbers():
    step = jt.compile(lambda x: {"double": x * 2, "both": [x + 1, 5], "none": None})

    for value in (1.0, 2.0):
        answer = step(np.array([value]))
        assert answer["double"].item() == 2 * value
        assert (answer["both"][0].item(), answer["both"][1], answer["none"]) == (value + 1, 5, None)


def test_a_compiled_step_inside_another_is_refused():
    inner = jt.compile(lambda x: x + 1)

    with pytest.raises(jt.ArgumentError, match="inside another"):
        jt.compile(lambda x: inner(x))(np.ones(1))


def test_parameters_that_were_pending_are_not_initialised_again_by_replays():
    w = jt.rand(3)
    step = jt.compile(lambda x: x * w)
    x = np.ones(3, "float32")

    assert step(x).tolist() == step(x).tolist() == w.tolist()


def test_detached_values_are_those_of_the_replay():
    step = jt.compile(lambda x: (x.detach() * 2).sum())

    assert [step(np.array([k])).item() for k in (1.0, 5.0)] == [2.0, 10.0]


def test_a_number_of_the_same_value_but_another_type_is_captured_anew():
    step = jt.compile(lambda x, k: x * k)
    whole = np.array([1, 2])

    assert [step(whole, k).dtype for k in (2, 2.0)] == ["int64", "float64"]


def test_answers_do_not_share_the_memory_of_an_argument():
    step = jt.compile(lambda x: x.reshape(2, 1))
    given = np.array([1.0, 2.0])

    first, second = step(given), step(given)
    given[:] = 9

    assert first.tolist() == second.tolist() == [[1.0], [2.0]]


def test_answers_take_no_part_in_gradients_neither_the_first_nor_a_replayed_one():
    weight = jt.array([1.0, 2.0])
    step = jt.compile(lambda x: (x * weight).sum())
    x = np.ones(2, "float32")

    assert [step(x).requires_grad for _ in range(2)] == [False, False]


def test_a_parameter_of_another_dtype_is_captured_anew():
    weight = jt.array([1.0, 2.0])
    step = jt.compile(lambda x: (x * weight).sum())
    x = np.ones(2, "float32")
    step(x)

    weight.node = weight.cast("float64").node

    assert step(x).dtype == "float64"


def test_a_parameter_of_another_shape_is_captured_anew():
    weight = jt.array([1.0, 2.0])
    step = jt.compile(lambda x: x * weight)
    x = np.ones(1, "float32")
    step(x)

    weight.node = jt.array([1.0, 2.0, 3.0]).node

    assert step(x).tolist() == [1, 2, 3]


def test_an_argument_that_cannot_be_hashed_is_named():
    with pytest.raises(jt.ArgumentError, match="found set"):
        jt.compile(lambda x, k: x)(np.ones(1), ([{1}],))


# ----------------------------------------------------------------------- what a replay must not take for granted


def test_arguments_by_name_are_told_apart_by_their_names_in_any_order():
    apart = jt.compile(lambda a, b: a - b)
    five, one = jt.array([5.0]), jt.array([1.0])

    found = [apart(a=five, b=one), apart(a=five, b=one), apart(b=five, a=one), apart(five, b=one)]

    assert [v.item() for v in found] == [4, 4, -4, 4]


def test_one_var_given_twice_is_not_taken_for_two():
    f = jt.compile(lambda a, b: a * 2 + b)
    a, b = jt.array([1.0]), jt.array([10.0])

    assert [f(a, a).item(), f(a, b).item(), f(b, a).item()] == [3, 12, 21]


def test_an_argument_that_the_step_also_reads_from_elsewhere_is_only_the_argument():
    w = jt.array([2.0])
    f = jt.compile(lambda x: x * w)

    assert [f(w).item(), f(jt.array([10.0])).item(), f(w).item()] == [4, 20, 4]


def test_train_and_eval_are_two_captures_and_both_stay():
    bn = jt.nn.BatchNorm1d(1)
    f = jt.compile(lambda x: bn(x))
    x = np.array([[1.0], [3.0]], "float32")
    trained = f(x).numpy()
    bn.eval()
    used = bn(jt.array(x)).numpy()

    np.testing.assert_allclose(f(x).numpy(), used)
    bn.train()
    np.testing.assert_allclose(f(x).numpy(), trained)


def test_a_counter_that_starts_as_a_number_counts_at_every_replay():
    bn = jt.nn.BatchNorm1d(1, momentum=None)
    f = jt.compile(lambda x: bn(x))

    for k in range(5):
        f(np.array([[0.0], [2.0]], "float32") + k)

    assert (bn.running_mean.item(), bn.num_batches_tracked.item()) == (3.0, 5)


def test_an_argument_that_the_step_changes_is_changed_by_every_call():
    @jt.compile
    def f(x):
        x[0] = 9
        return x.sum()

    for _ in range(3):
        x = jt.array([1.0, 2.0])
        assert f(x).item() == 11
        assert x.tolist() == [9, 2]


def test_a_parameter_in_the_place_of_another_is_read():
    m = jt.nn.Linear(1, 1, bias=False)
    f = jt.compile(m)
    x = np.ones((1, 1), "float32")
    for value in (2.0, 7.0):
        m.weight = jt.nn.Parameter(jt.array([[value]]))
        assert f(x).item() == value


def test_minus_zero_is_not_zero_and_nan_is_captured_once():
    f = jt.compile(lambda x, k: x / k)
    x = np.ones(1, "float32")

    assert [f(x, -0.0).item(), f(x, 0.0).item()] == [-np.inf, np.inf]
    for _ in range(3):
        assert np.isnan(f(x, float("nan")).item())
    assert len(f.replays) == 3


def test_a_method_can_be_compiled():
    class Scale:
        def __init__(self, k):
            self.k = k

        @jt.compile
        def apply(self, x):
            return x * self.k

    x = np.ones(1, "float32")
    two, three = Scale(2), Scale(3)
    assert [two.apply(x).item(), three.apply(x).item(), two.apply(x).item()] == [2, 3, 2]


@pytest.mark.parametrize(
    "ask", [lambda x: x.item(), float, lambda x: x.tolist(), bool, repr, lambda x: jt.array(x), np.sort],
    ids=["item", "float", "tolist", "bool", "repr", "array", "numpy"],
)  # fmt: skip
@pytest.mark.parametrize("whose", ["argument", "elsewhere"])
def test_numbers_that_may_change_cannot_be_read_while_a_step_is_captured(ask, whose):
    """They would be those of the first call in every replay."""
    w = jt.array(3.0)

    @jt.compile
    def step(x):
        ask(x if whose == "argument" else w)
        return x * w

    with pytest.raises(jt.ArgumentError, match=r"has no numbers yet[\s\S]*test_compiled_step.py"):
        step(jt.array(2.0))


@pytest.mark.parametrize(
    "ask", [lambda x: x[x > 1], lambda x: x.nonzero(), lambda x: jt.unique(x), lambda x: x.sum() > 1 or x],
    ids=["mask", "nonzero", "unique", "condition"],
)  # fmt: skip
def test_who_needs_numbers_of_a_captured_step_is_told_of_where(ask):
    with pytest.raises(jt.ArgumentError, match=r"a condition, x\[mask\] or the like inside.*Try: .*jt.where\(mask"):
        jt.compile(lambda x: ask(x * 2))(jt.array([0.5, 2.0]))


def test_a_compiled_step_answers_numbers_of_numpy_and_no_arrays():
    assert jt.compile(lambda x: (x * 2, np.float32(0.1)))(jt.array(3.0))[1] == np.float32(0.1)
    with pytest.raises(jt.ArgumentError, match=r"found <class 'numpy.ndarray'>. Try: jt.array"):
        jt.compile(lambda x: (x * 2, np.ones(2)))(jt.array(3.0))


def test_an_error_about_a_var_in_a_captured_step_is_told_as_it_is():
    step = jt.compile(lambda x: jt.cat([x * 2], x * 3))

    with pytest.raises(jt.ArgumentError, match=r"takes an axis as a whole number; found a Var of shape \(2,\)"):
        step(jt.array([1.0, 2.0]))


def test_a_compiled_module_has_the_attributes_of_the_module():
    net = jt.nn.Linear(2, 1)
    step = jt.compile(net)

    net.eval()

    assert step.is_train is False and step.parameters() == net.parameters()
    assert not hasattr(step, "parameter") and not hasattr(jt.compile(lambda x: x), "parameters")
    assert copy.deepcopy(step)(jt.ones(1, 2)).shape == (1, 1)


def test_what_is_set_on_a_compiled_module_is_set_on_the_module():
    net = jt.nn.Dropout(0.999999)
    step = jt.compile(net)
    step(jt.ones(8))

    step.training = False

    assert not net.training and not step.training
    assert step(jt.ones(8)).sum().item() == net(jt.ones(8)).sum().item() == 8


def test_a_compiled_layer_is_no_part_of_a_module_which_would_lose_its_parameters():
    layer, net = jt.compile(jt.nn.Linear(2, 1)), jt.nn.Linear(2, 1)

    with pytest.raises(jt.ArgumentError, match=r"takes the whole step.*found Linear\.first, a compiled Linear"):
        net.first = layer
    with pytest.raises(jt.ArgumentError, match=r"takes the whole step.*a part of a Sequential, a compiled Linear"):
        jt.nn.Sequential(layer)
    net.parts = [jt.nn.Linear(2, 1), layer]
    with pytest.raises(jt.ArgumentError, match=r"takes the whole step.*found parts\.1, a compiled Linear"):
        net.parameters()

    net.parts = []
    net.act = jt.compile(jt.relu)  # has no parameters
    net._fast = layer  # of which nobody expects any
    assert len(net.parameters()) == 2 and jt.nn.Sequential(jt.compile(jt.relu))


def test_whoever_asks_for_a_gradient_of_what_a_compiled_step_answers_is_told():
    net = jt.nn.Linear(2, 1)
    loss = jt.compile(net)(jt.ones(1, 2)).sum()

    with pytest.raises(jt.GradientError, match="not answered by a compiled step"):
        loss.backward()
    with pytest.raises(jt.GradientError, match="by way of detach, numpy or a compiled step"):
        jt.grad(loss, net.weight)


def test_numbers_that_a_step_makes_itself_can_be_read():
    step = jt.compile(lambda x: x * jt.array([2.0, 5.0]).numpy()[1].item())

    assert [step(jt.array(k)).item() for k in (1.0, 2.0, 3.0)] == [5.0, 10.0, 15.0]


@pytest.mark.parametrize("rule", [jt.optim.Adam, jt.optim.NAdam, jt.optim.ASGD, jt.optim.SGD])
def test_two_steps_of_one_optimizer_in_a_compiled_step_are_both_counted(rule, rng):
    batches = [rng.standard_normal(3) for _ in range(4)]
    found = []
    for compiled in (False, True):
        w = jt.array(np.ones(3))
        optimizer = rule([w], lr=0.1)

        def step(x, w=w, optimizer=optimizer):
            optimizer.step(((w * x - 3) ** 2).sum())
            optimizer.step(((w - x) ** 2).sum())

        run = jt.compile(step) if compiled else step
        for x in batches:
            run(jt.array(x))
        found.append((w.numpy(), optimizer.state[0]["step"]))

    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-12)
    assert found[0][1] == found[1][1] == 8


@pytest.mark.parametrize(
    ("make", "metric"),
    [
        (lambda o: jt.lr_scheduler.StepLR(o, 1, 0.5), ()),
        (lambda o: jt.lr_scheduler.ChainedScheduler([jt.lr_scheduler.StepLR(o, 1, 0.5)]), ()),
        (
            lambda o: jt.lr_scheduler.SequentialLR(
                o, [jt.lr_scheduler.StepLR(o, 1), jt.lr_scheduler.StepLR(o, 2)], [3]
            ),
            (),
        ),
        (lambda o: jt.lr_scheduler.ReduceLROnPlateau(o), (1.0,)),
    ],
    ids=["StepLR", "ChainedScheduler", "SequentialLR", "ReduceLROnPlateau"],
)
def test_a_schedule_inside_of_a_compiled_step_is_refused_and_stays_where_it_was(make, metric):
    w = jt.array([1.0])
    optimizer = jt.optim.SGD([w], lr=0.1)
    schedule = make(optimizer)
    epoch = schedule.last_epoch

    def step(x):
        optimizer.step((w * x).sum())
        schedule.step(*metric)

    with pytest.raises(jt.ArgumentError, match="outside a compiled step"):
        jt.compile(step)(np.ones(1, "float32"))

    assert (w.item(), optimizer.lr, schedule.last_epoch) == (1.0, 0.1, epoch)


def test_a_step_that_raises_after_its_optimizer_has_counted_no_step():
    w = jt.array([1.0])
    optimizer = jt.optim.NAdam([w], lr=0.1)
    before = dict(optimizer.state[0])

    def step(x):
        optimizer.step((w * x).sum())
        optimizer.step((w * x).sum())
        raise ValueError("too late")

    with pytest.raises(ValueError, match="too late"):
        jt.compile(step)(np.ones(1, "float32"))

    after = optimizer.state[0]
    assert (w.item(), after["step"], after["mu_product"]) == (1.0, before["step"], before["mu_product"])
