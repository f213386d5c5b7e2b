"""Corners: kinks, poles and ends of domains, where a gradient is a matter of agreement: ours is PyTorch's."""

import inspect
import math
import operator

import numpy as np
import pytest

import jt_edu as jt

pytestmark = pytest.mark.usefixtures("python_backend", "quiet")

INF, NAN = math.inf, math.nan


def _f(name, *rest):
    return lambda t, *xs: getattr(t.nn.functional, name)(*xs, *rest)


def _t(name, *rest):
    return lambda t, *xs: (getattr(t, name, None) or getattr(t.special, name))(*xs, *rest)


CORNERS = [
    # (sentence, ours, PyTorch's, numbers of each input)
    ("0 to a power", lambda x: jt.power(0.0, x), lambda t, x: t.pow(0.0, x), [[-2.0, -0.5, 0.0, 0.5, NAN]]),
    ("zeros to powers", jt.power, _t("pow"), [[0.0, 0.0, 0.0, 2.0], [-2.0, 0.0, 3.0, -1.0]]),
    ("relu6", jt.relu6, _f("relu6"), [[0.0, 6.0, -1.0, 7.0, 1000.0]]),
    ("hardtanh", jt.hardtanh, _f("hardtanh"), [[-1.0, 1.0, 0.5, -INF, INF]]),
    ("hardsigmoid", jt.hardsigmoid, _f("hardsigmoid"), [[-3.0, 3.0, 0.0, NAN]]),
    ("hardswish", jt.hardswish, _f("hardswish"), [[-3.0, 3.0, 0.0, 5.0, NAN]]),
    ("hardshrink", jt.hardshrink, _f("hardshrink"), [[-0.5, 0.5, 0.0, 2.0]]),
    ("softshrink", jt.softshrink, _f("softshrink"), [[-0.5, 0.5, 0.0, 2.0]]),
    ("threshold", lambda x: jt.threshold(x, 1.0, 5.0), _f("threshold", 1.0, 5.0), [[1.0, 1.5, 0.0]]),
    ("leaky_relu", jt.leaky_relu, _f("leaky_relu"), [[0.0, -0.0, 1.0, -INF, INF, NAN]]),
    ("elu", jt.elu, _f("elu"), [[0.0, 1000.0, -1000.0, INF, NAN]]),
    ("celu", lambda x: jt.celu(x, 2.0), _f("celu", 2.0), [[0.0, 2000.0, -2000.0, NAN]]),
    ("selu", jt.selu, _f("selu"), [[0.0, 1000.0, -1000.0, NAN]]),
    ("prelu", jt.prelu, _f("prelu"), [[0.0, 2.0, -2.0, INF], [0.25]]),
    ("softplus", jt.softplus, _f("softplus"), [[0.0, 1000.0, -1000.0, 20.0, 20.5]]),
    ("logsigmoid", jt.logsigmoid, _f("logsigmoid"), [[0.0, 1000.0, -1000.0]]),
    ("mish", jt.mish, _f("mish"), [[0.0, 100.0, -100.0]]),
    ("softsign", jt.softsign, _f("softsign"), [[0.0, 1e9, -1e9]]),
    ("asin", jt.asin, _t("asin"), [[-1.0, 1.0, 1.5, 0.0]]),
    ("acos", jt.acos, _t("acos"), [[-1.0, 1.0, 1.5, 0.0]]),
    ("acosh", jt.acosh, _t("acosh"), [[1.0, 0.5, -0.5]]),
    ("atanh", jt.atanh, _t("atanh"), [[-1.0, 1.0, 0.0]]),
    ("sinh", jt.sinh, _t("sinh"), [[1000.0, -1000.0]]),
    ("atan2 at the origin", jt.atan2, _t("atan2"), [[0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, -1.0]]),
    ("abs and sign", lambda x: jt.abs(x) + jt.sign(x), lambda t, x: x.abs() + x.sign(), [[0.0, -0.0, -2.0]]),
    ("clamp", lambda x: jt.clamp(x, 0.0, 1.0), _t("clamp", 0.0, 1.0), [[0.0, 1.0, -1.0, 2.0, 0.5]]),
    ("clamp by Vars", jt.clamp, _t("clamp"), [[-1.0, 2.0, 0.5], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]),
    ("fmax", jt.fmax, _t("fmax"), [[1.0, 1.0, NAN, 1.0, 2.0], [1.0, NAN, 1.0, 2.0, 1.0]]),
    ("fmin", jt.fmin, _t("fmin"), [[1.0, 1.0, NAN, 1.0, 2.0], [1.0, NAN, 1.0, 2.0, 1.0]]),
    ("maximum", jt.maximum, _t("maximum"), [[1.0, 2.0], [1.0, 1.0]]),
    ("copysign", jt.copysign, _t("copysign"), [[0.0, -2.0, 2.0, -2.0], [-1.0, -1.0, -1.0, 1.0]]),
    ("fmod", jt.fmod, _t("fmod"), [[5.5, -5.5], [2.0, 2.0]]),
    ("div towards 0", lambda x, y: jt.div(x, y, rounding_mode="trunc"),
     lambda t, x, y: t.div(x, y, rounding_mode="trunc"), [[5.5, -5.5], [2.0, 2.0]]),
    ("div downwards", lambda x, y: jt.div(x, y, rounding_mode="floor"),
     lambda t, x, y: t.div(x, y, rounding_mode="floor"), [[5.5, -5.5], [2.0, 2.0]]),
    ("xlogy", jt.xlogy, _t("xlogy"), [[0.0, 0.0, 2.0], [0.0, 3.0, 3.0]]),
    ("xlog1py", jt.xlog1py, _t("xlog1py"), [[0.0, 0.0, 2.0], [-1.0, 3.0, 3.0]]),
    ("entr", jt.entr, _t("entr"), [[0.0, 1.0, 0.5]]),
    ("logit", jt.logit, _t("logit"), [[-0.5, 0.0, 0.5, 1.0, 1.5, NAN]]),
    ("logit with an eps", lambda x: jt.logit(x, 0.25), _t("logit", 0.25), [[0.125, 0.875, 0.5]]),
    ("sinc", jt.sinc, _t("sinc"), [[0.0, 1.0, 2.0, -3.5]]),
    ("i0", jt.i0, _t("i0"), [[0.0, 30.0, -30.0]]),
    ("i1", jt.i1, _t("i1"), [[0.0, 30.0, -30.0]]),
    ("i1e", jt.i1e, _t("i1e"), [[0.0, 30.0, -30.0]]),
    ("erfc", jt.erfc, _t("erfc"), [[0.0, 30.0, -30.0]]),
    ("log_ndtr", jt.log_ndtr, _t("log_ndtr"), [[-1.0, 0.0, 10.0, -100.0]]),
    ("lgamma", jt.lgamma, _t("lgamma"), [[1.0, 2.0, 1e10]]),
    ("frac", jt.frac, _t("frac"), [[1.0, -1.5]]),
    ("frexp", lambda x: jt.frexp(x)[0], lambda t, x: t.frexp(x)[0], [[1.0, -6.0, 0.125]]),
    ("nan_to_num", jt.nan_to_num, _t("nan_to_num"), [[NAN, INF, -INF, 2.0]]),
]  # fmt: skip


STAIRCASES = {
    "floor": (jt.floor, _t("floor")),
    "ceil": (jt.ceil, _t("ceil")),
    "trunc": (jt.trunc, _t("trunc")),
    "round": (jt.round, _t("round")),
    "sign": (jt.sign, _t("sign")),
    "divide, rounded down": (
        lambda x: jt.div(x, 2.0, rounding_mode="floor"),
        lambda t, x: t.div(x, 2.0, rounding_mode="floor"),
    ),
}


@pytest.mark.parametrize(("ours", "theirs"), STAIRCASES.values(), ids=STAIRCASES)
def test_the_gradient_of_a_staircase_is_zero_whatever_comes_in(torch, ours, theirs):
    numbers = np.array([0.5, 1.5, -2.5])
    x, peer = jt.array(numbers), torch.tensor(numbers, requires_grad=True)
    weights = np.array([NAN, INF, -INF])

    dx = jt.grad((ours(x) * jt.array(weights)).sum(), x)
    (theirs(torch, peer) * torch.tensor(weights)).sum().backward()

    np.testing.assert_array_equal(dx.numpy(), peer.grad.numpy())
    np.testing.assert_array_equal(dx.numpy(), [0, 0, 0])


@pytest.mark.parametrize("size", [1e-30, 1e-25, 1.0, 1e25, 1e30])
def test_the_gradients_of_atan2_and_hypot_neither_overflow_nor_vanish(size):
    y, x = jt.array(np.float32([3 * size])), jt.array(np.float32([4 * size]))

    dy, dx = jt.grad(jt.atan2(y, x).sum(), [y, x])
    hy, hx = jt.grad((jt.hypot(y, x) * 1e20).sum(), [y, x])

    np.testing.assert_allclose([dy.item() * size, dx.item() * size], [4 / 25, -3 / 25], rtol=1e-6)
    np.testing.assert_allclose([hy.item(), hx.item()], [0.6e20, 0.8e20], rtol=1e-6)


def test_atan2_has_second_derivatives_at_the_origin_too():
    y, x = jt.array([0.0, 1.0]), jt.array([0.0, 2.0])

    (dy,) = jt.grad(jt.atan2(y, x).sum(), [y])

    np.testing.assert_allclose(jt.grad(dy.sum(), x).numpy(), [0, (1 - 4) / 25], rtol=1e-6)


@pytest.mark.parametrize(("sentence", "ours", "theirs", "numbers"), CORNERS, ids=[c[0] for c in CORNERS])
def test_values_and_gradients_at_a_corner_are_pytorchs(torch, sentence, ours, theirs, numbers):
    xs = [jt.array(np.array(n)) for n in numbers]
    ts = [torch.tensor(n, dtype=torch.float64, requires_grad=True) for n in numbers]

    y, t = ours(*xs), theirs(torch, *ts)
    found = jt.grad(y.sum(), xs, allow_unused=True)
    wanted = torch.autograd.grad(t.sum(), ts, allow_unused=True, materialize_grads=True)

    np.testing.assert_allclose(y.numpy(), t.detach().numpy(), 1e-12, 1e-16)
    for mine, yours in zip(found, wanted, strict=True):
        np.testing.assert_allclose((mine if mine is not None else jt.zeros(3)).numpy(), yours.numpy(), 1e-7, 1e-14)


def test_the_angle_of_real_and_complex_zero_has_no_slope():
    x, z = jt.array([0.0, -2.0]), jt.array([0j, 1 + 1j])

    dx, dz = jt.grad(jt.angle(x).sum(), x), jt.grad(jt.angle(z).sum(), z)

    np.testing.assert_array_equal(dx.numpy(), [0, 0])
    np.testing.assert_allclose(dz.numpy(), [0, -0.5 + 0.5j], 1e-6)


def test_logaddexp_of_the_same_infinity_shares_its_gradient():
    x, y = jt.array([-INF, 0.0]), jt.array([-INF, 0.0])

    dx, dy = jt.grad(jt.logaddexp(x, y)[1:].sum() + jt.logaddexp(x, y)[:1].sum(), [x, y])

    np.testing.assert_array_equal(dx.numpy(), [0.5, 0.5])
    np.testing.assert_array_equal(dy.numpy(), [0.5, 0.5])


@pytest.mark.parametrize(
    ("numbers", "wanted"),
    [
        ([-INF, -INF], [0.5, 0.5]), ([INF, 1.0, INF], [0.5, 0.0, 0.5]), ([-INF, 0.0], [0.0, 1.0]),
        ([INF, -INF], [1.0, 0.0]), ([-INF], [1.0]),
    ],
)  # fmt: skip
def test_logsumexp_of_the_same_infinities_shares_its_gradient_as_logaddexp_does(numbers, wanted):
    x = jt.array(numbers)
    total = jt.logsumexp(x)

    first = jt.grad(total, x)

    assert (total.item(), first.tolist()) == (max(numbers), wanted)
    assert np.isfinite(jt.grad(first.sum(), x).numpy()).all()


def test_two_sides_of_length_0_have_no_direction_as_the_norm_of_zeros_has_none():
    x, y = jt.array([0.0, 3.0]), jt.array([0.0, 4.0])

    slopes = jt.grad(jt.hypot(x, y).sum(), [x, y])
    second = jt.grad(sum(g.sum() for g in slopes), x)

    np.testing.assert_allclose([g.numpy() for g in slopes], [[0, 0.6], [0, 0.8]], 1e-6)
    np.testing.assert_allclose(second.numpy(), [0, 0.032], 1e-5)


CHOSEN = {  # a function that is computed for all numbers and taken for some, and its slopes at -1, 0, 1 and 4
    "a root": (lambda x: jt.where(x > 0, x.sqrt(), x), [1, 1, 0.5, 0.25]),
    "a root, as the second value": (lambda x: jt.where(x <= 0, 0.0, x.sqrt()), [0, 0, 0.5, 0.25]),
    "a logarithm": (lambda x: jt.where(x > 0, x.log(), 0.0), [0, 0, 1, 0.25]),
    "an entropy": (lambda x: jt.where(x > 0, x * x.log(), 0.0), [0, 0, 1, 1 + np.log(4)]),
    "a fraction": (lambda x: jt.where(x == 0, 0.0, 1 / x), [-1, 0, -1, -1 / 16]),
    "a power": (lambda x: jt.where(x > 0, x**-0.5, x), [1, 1, -0.5, -1 / 16]),
    "what overflows, not taken": (lambda x: jt.where(x < 5, x, (x * 400).exp()), [1, 1, 1, 1]),
    "one inside of another": (lambda x: jt.where(x > 0, jt.where(x < 2, x.rsqrt(), x.log()), 0.0), [0, 0, -0.5, 0.25]),
    "a value that is used twice": (lambda x: (lambda r: jt.where(x > 0, r * r.log(), x))(x.sqrt()),
                                   [1, 1, 0.5, 0.25 + np.log(2) / 4]),
    "two that do not agree": (lambda x: jt.where(x > 0, x.sqrt(), x) + jt.where(x > 1, x.log(), 0.0), [1, 1, 0.5, 0.5]),
    "two of one root": (lambda x: (lambda r: jt.where(x > 0, r, 0.0) + jt.where(x > 1, r, 0.0))(x.sqrt()),
                        [0, 0, 0.5, 0.5]),
    "through views": (lambda x: jt.where(x.reshape(2, 2).T > 0, x.sqrt().reshape(2, 2).T, 0.0), [0, 0, 0.5, 0.25]),
    "through a broadcast": (lambda x: jt.where(x > 0, x.sqrt().unsqueeze(0).expand(3, 4), 0.0) / 3, [0, 0, 0.5, 0.25]),
    "a length of rows": (lambda x: (lambda r, n: jt.where(n > 0, r / n, 0.0))(
        x.reshape(4, 1), (x * x).reshape(4, 1).sum(1, keepdim=True).sqrt()), [0, 0, 0, 0]),
    "masked_fill": (lambda x: x.log().masked_fill(x <= 0, 0.0), [0, 0, 1, 0.25]),
    "a mask in brackets": (lambda x: _assigned(x.sqrt(), x <= 0), [0, 0, 0.5, 0.25]),
    "a share": (lambda x: jt.where(x != 0, x / x.abs(), 0.0), [0, 0, 0, 0]),
}  # fmt: skip


def _assigned(y, mask):
    y[mask] = 0.0
    return y


@pytest.mark.parametrize("name", CHOSEN)
def test_a_value_that_where_does_not_take_has_gradient_0_whatever_its_slope(name):
    function, wanted = CHOSEN[name]
    x = jt.array64([-1.0, 0.0, 1.0, 4.0])

    first = jt.grad(function(x).sum(), x)
    second = jt.grad(first.sum(), x, allow_unused=True)

    np.testing.assert_allclose(first.numpy(), wanted, 1e-12)
    assert second is None or np.isfinite(second.numpy()).all()


def test_a_hook_that_changes_a_gradient_has_the_last_word_on_what_where_does_not_take():
    x = jt.array([-1.0, 4.0])
    square = x * x
    square.register_hook(lambda dout: dout + 1)

    assert jt.grad(jt.where(x > 0, square, x).sum(), x).tolist() == [-2 + 1, 16]


@pytest.mark.parametrize("function", [jt.add, jt.maximum, jt.fmax, jt.hypot, jt.power, jt.copysign, jt.nextafter])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_bare_number_that_comes_first_gives_way_too(function, dtype):
    assert function(2, jt.ones(3, dtype=dtype)).dtype == dtype


def test_rrelu_draws_slopes_between_its_bounds_while_it_trains():
    slopes = jt.rrelu(-jt.ones(1000), 0.25, 0.5, training=True).numpy()

    assert -0.5 <= slopes.min() < -0.45
    assert -0.3 < slopes.max() <= -0.25
    np.testing.assert_array_equal(jt.rrelu(jt.ones(5), 0.25, 0.5, training=True).numpy(), np.ones(5))


def test_where_with_one_argument_finds_positions():
    rows, columns = jt.where(jt.array([[0, 5], [6, 0]]))

    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])


def test_the_steps_of_bfloat16_are_its_own():
    x = jt.array([1.0, -1.0, 0.0, 256.0], "bfloat16")

    assert (jt.nextafter(x, INF) - x).numpy().tolist() == [2.0**-7, 2.0**-8, 2.0**-133, 2.0]
    assert jt.spacing(x).numpy().tolist() == [2.0**-7, -(2.0**-7), 2.0**-133, 2.0]
    assert jt.nan_to_num(x * INF).numpy()[0] == np.float32((2 - 2.0**-7) * 2.0**127)


def test_an_alias_is_the_same_object():
    pairs = (("arcsin", "asin"), ("mul", "multiply"), ("div", "divide"), ("true_divide", "divide"), ("sub", "subtract"),
             ("neg", "negative"), ("sgn", "sign"), ("fix", "trunc"), ("mod", "remainder"), ("clip", "clamp"),
             ("sqr", "square"), ("eq", "equal"), ("ge", "greater_equal"), ("arg", "angle"), ("psi", "digamma"),
             ("invert", "bitwise_not"), ("swish", "silu"), ("degrees", "rad2deg"), ("abs", "absolute"))  # fmt: skip

    for alias, name in pairs:
        assert getattr(jt, alias) is getattr(jt, name)
        assert getattr(jt.Var, alias) is getattr(jt.Var, name)


F16 = np.float16
AGAIN = [  # (sentence, what we say, what is right): each was wrong once
    ("the spread of halves whose squares are none", lambda: jt.std(jt.array(np.array([300, -300], F16))), 300.0),
    ("of such numbers beside nan", lambda: jt.nanstd(jt.array(np.array([300, -300, np.nan], F16))), 300.0),
    ("the spread of floats whose squares are none", lambda: jt.std(jt.array([1e30, -1e30])), 1e30),
    ("the mean of a window of large halves", lambda: jt.avg_pool2d(jt.full((1, 1, 2, 2), 6e4).half(), 2), 60000.0),
    ("the weighted mean of large halves", lambda: jt.average(jt.full((4,), 6e4).half(), weights=jt.ones(4)), 60000.0),
    ("lerp meets its end", lambda: jt.lerp(jt.array(1e8), 1.0, 1.0), 1.0),
    ("lerp goes between numbers that are far apart", lambda: jt.lerp(jt.array(3e38), -3e38, 0.5), 0.0),
    (
        "lerp goes down in whole numbers without a sign",
        lambda: jt.lerp(jt.array([10], "uint8"), jt.array([4], "uint8"), 0.5),
        7.0,
    ),
    ("a quantile beside an infinity", lambda: jt.quantile(jt.array([-math.inf, 1.0]), 0.5), -math.inf),
    ("a quantile of numbers that are far apart", lambda: jt.quantile(jt.array([-3e38, 3e38]), 0.5), 0.0),
    (
        "an ignored row with a forbidden class",
        lambda: jt.cross_entropy_loss(
            jt.array([[0.0, -math.inf], [1.0, 1.0]]), jt.array([-100, 0]), label_smoothing=0.1
        ),
        math.log(2),
    ),
    ("equal limits of a histogram", lambda: jt.histc(jt.array([0.0, 1.0, 2.0, 3.0]), 2, 1, 1), [2.0, 2.0]),
    ("the slope of a half norm at 0", lambda: _slope(lambda x: jt.norm(x, 0.5), [0.0, 4.0]), [0.0, 1.0]),
    (
        "the slope of sinc near 0",
        lambda: _slope(lambda x: jt.sinc(x).sum(), [1e-12, -1e-4, 0.0]),
        [-(math.pi**2) / 3 * x for x in (1e-12, -1e-4, 0)],
    ),
    (
        "the scaled tail of a large number",
        lambda: jt.erfcx(jt.array64([-1e155, -26.0])),
        [math.inf, 2 * math.exp(676.0)],
    ),
    ("zeta of huge powers", lambda: jt.zeta(jt.array64(1e300), jt.array64([0.5, 1.0, 2.0])), [math.inf, 1.0, 0.0]),
    ("a norm of order -1 with a 0", lambda: jt.norm(jt.array([0.0, 4.0]), -1), 0.0),
    ("gelu far below 0", lambda: jt.gelu(jt.array64(-6.0)), -5.9195258702e-09),
    ("round keeps numbers without digits", lambda: jt.round(jt.array([1e38, 1.234]), 2), [1e38, 1.23]),
    ("round to more digits than there are", lambda: jt.round(jt.array([1.5, 0.0]), 400), [1.5, 0.0]),
    ("round to a power of ten beyond floats", lambda: jt.round(jt.array([1.5, 0.0]), -400), [0.0, 0.0]),
    (
        "a slope that does not depend on the point",
        lambda: jt.gradient(jt.array([0.0, math.nan, 4.0])),
        [math.nan, 2.0, math.nan],
    ),
    ("one_hot finds out how many", lambda: jt.one_hot(jt.array([0, 2])), [[1, 0, 0], [0, 0, 1]]),
]


def _slope(function, at):
    x = jt.array(at)
    return jt.grad(function(x), x)


@pytest.mark.parametrize(("ours", "right"), [pytest.param(*c[1:], id=c[0]) for c in AGAIN])
def test_what_was_wrong_once_is_right(ours, right):
    np.testing.assert_allclose(ours().numpy().squeeze(), right, rtol=1e-6)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("dtype", ["int8", "int64"])
def test_whole_numbers_to_negative_powers_are_cut_off_as_in_pytorch(torch, backend, dtype):
    x, powers = np.array([3, 2, 1, -1, -1, 0, -7], dtype), np.array([-1, -1, -5, -3, -2, -1, -9], dtype)
    theirs = torch.from_numpy(x) ** torch.from_numpy(powers)

    with jt.flag_scope(backend=backend):
        assert (jt.array(x) ** jt.array(powers)).tolist() == theirs.tolist()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne])
def test_whole_numbers_are_compared_with_numbers_that_they_cannot_be(compare, dtype):
    ends = np.iinfo(dtype)
    x = np.array([ends.min, 0, ends.max], dtype)

    for number in (ends.min - 1, ends.max + 1, 10**400, -(10**400), ends.min, ends.max):
        assert compare(jt.array(x), number).tolist() == [compare(k, number) for k in x.tolist()]
        assert compare(number, jt.array(x)).tolist() == [compare(number, k) for k in x.tolist()]


@pytest.mark.parametrize("name", jt.__all__)
def test_functions_and_methods_have_their_own_names_and_arguments(name):
    function = getattr(jt, name)
    if not inspect.isfunction(function) or not function.__module__.startswith("jt_edu.ops"):
        return
    words = list(inspect.signature(function).parameters)
    assert "others" not in words or name == "flip"
    assert getattr(jt, function.__name__, function) is function or function.__name__ in ("view", "where")


NOWHERE = [(NAN, 0.0), (INF, 0.0), (-INF, 0.3), (0.2, NAN), (INF, -INF), (1e30, 0.0)]


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("place", NOWHERE, ids=str)
def test_a_place_that_is_none_gives_no_gradient_to_pixels_that_were_not_read(torch, mode, align, place):
    x, g = np.arange(1.0, 10.0).reshape(1, 1, 3, 3), np.array([[[[0.1, 0.2], place]]])
    xs, ts = [jt.array(x), jt.array(g)], [torch.tensor(a, requires_grad=True) for a in (x, g)]

    y = jt.grid_sample(*xs, mode, "zeros", align)
    t = torch.nn.functional.grid_sample(*ts, mode, "zeros", align)
    t.sum().backward()

    np.testing.assert_allclose(y.numpy(), t.detach().numpy(), 1e-12)
    for mine, yours in zip(jt.grad(y.sum(), xs), ts, strict=True):
        np.testing.assert_allclose(mine.numpy(), yours.grad.numpy(), 1e-12, 1e-14)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_a_place_that_is_reflected_for_ever_is_the_first_edge(torch, mode, align):
    x, g = np.arange(1.0, 10.0).reshape(1, 1, 3, 3), np.array([[[[INF, 0.3], [-INF, INF]]]])

    y = jt.grid_sample(jt.array(x), jt.array(g), mode, "reflection", align)

    wanted = torch.nn.functional.grid_sample(torch.tensor(x), torch.tensor(g), mode, "reflection", align)
    np.testing.assert_allclose(y.numpy(), wanted.numpy(), 1e-12)


@pytest.mark.parametrize("widths", [(-2, 1), (1, -2), (2, -3), (-3, 3), (-1, -1), (2, 1)], ids=str)
def test_a_circular_border_shows_the_other_end_of_what_was_not_cropped(torch, widths):
    x = np.arange(18.0).reshape(1, 3, 6)

    wanted = torch.nn.functional.pad(torch.tensor(x), widths, "circular").numpy()

    np.testing.assert_array_equal(jt.pad(jt.array(x), widths, "circular").numpy(), wanted)


@pytest.mark.parametrize("kinds", [("f8", "u1", "u1"), ("u1", "u1", "f4"), ("u1", "u1", "u1"), ("f4", "u1", "u1")])
def test_addcmul_multiplies_in_the_dtype_of_all_three(torch, kinds):
    arrays = [np.array(n).astype(kind) for n, kind in zip(([1, 2], [201, 3], [90, 200]), kinds, strict=True)]

    y, t = jt.addcmul(*map(jt.array, arrays)), torch.addcmul(*map(torch.tensor, arrays))

    np.testing.assert_array_equal(y.numpy(), t.numpy())
    assert str(y.dtype) == str(t.dtype).removeprefix("torch.")


def test_no_difference_at_all_is_x_without_what_stands_beside_it():
    x = np.array([1.0, 4.0, 9.0])

    found = jt.diff(jt.array(x), 0, prepend=jt.array([0.0]), append=7)

    np.testing.assert_array_equal(found.numpy(), np.diff(x, 0, prepend=0, append=7))


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, INF])
def test_places_without_coordinates_are_no_distance_apart(torch, p):
    a, b = np.zeros((2, 0)), np.zeros((3, 0))

    np.testing.assert_array_equal(jt.cdist(jt.array(a), jt.array(b), p).numpy(),
                                  torch.cdist(torch.tensor(a), torch.tensor(b), p).numpy())  # fmt: skip


def test_nothing_is_cut_into_as_many_empty_parts_as_asked_for(torch):
    assert [c.shape for c in jt.zeros(2, 0).chunk(3, 1)] == [tuple(c.shape) for c in torch.zeros(2, 0).chunk(3, 1)]


@pytest.mark.parametrize("outs", [0, 2])
def test_bilinear_may_have_no_outputs_or_no_examples(torch, outs):
    for n in (0, 3):
        arrays = [np.ones(s, np.float32) for s in ((n, 4), (n, 5), (outs, 4, 5))]
        wanted = torch.nn.functional.bilinear(*map(torch.tensor, arrays)).numpy()

        np.testing.assert_array_equal(jt.nn.functional.bilinear(*map(jt.array, arrays)).numpy(), wanted)


SETTINGS = ({}, {"stride": 1}, {"kernel_size": 3, "padding": 1}, {"dilation": 2, "stride": 1, "ceil_mode": True})


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_of_equal_numbers_in_a_window_the_first_has_the_gradient(torch, rng, d, settings):
    a = rng.integers(-1, 2, (2, 2, 7, 6, 5)[: d + 2]).astype(float)
    x, t = jt.array(a), torch.tensor(a, requires_grad=True)
    settings = {"kernel_size": 2, **settings}
    wanted = getattr(torch.nn.functional, f"max_pool{d}d")(t, **settings)
    way = np.cos(np.arange(wanted.numel())).reshape(wanted.shape)

    y = getattr(jt, f"max_pool{d}d")(x, **settings)
    least = -jt.ops.pool.pool(-x, d, op="minimum", **settings)
    (wanted * torch.tensor(way)).sum().backward()

    np.testing.assert_array_equal(y.numpy(), wanted.detach().numpy())
    np.testing.assert_allclose(jt.grad((y * way).sum(), x).numpy(), t.grad.numpy(), 1e-12, 1e-14)
    np.testing.assert_allclose(jt.grad((least * way).sum(), x).numpy(), t.grad.numpy(), 1e-12, 1e-14)


@pytest.mark.parametrize("size", [2, 3])
def test_of_equal_numbers_in_an_adapted_window_the_first_has_the_gradient(torch, rng, size):
    a = rng.integers(-1, 2, (2, 3, 7, 5)).astype(float)
    x, t = jt.array(a), torch.tensor(a, requires_grad=True)

    torch.nn.functional.adaptive_max_pool2d(t, size).sum().backward()

    np.testing.assert_array_equal(jt.grad(jt.adaptive_max_pool2d(x, size).sum(), x).numpy(), t.grad.numpy())


def test_the_gradient_of_a_window_with_nan_goes_to_the_first_nan():
    x = jt.array([[[NAN, 1.0, 2.0, NAN]]])

    np.testing.assert_array_equal(jt.grad(jt.max_pool1d(x, 2).sum(), x).numpy(), [[[1, 0, 0, 1]]])


ALONG = {
    "cumsum": (), "cumprod": (), "logcumsumexp": (), "cummax": (), "cummin": (), "sort": (), "argsort": (), "flip": (),
    "topk": (1,), "kthvalue": (1,), "median": (), "nanmedian": (), "mode": (), "quantile": (0.5,),
}  # fmt: skip


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("name", ALONG)
def test_a_single_number_is_gone_along_as_if_it_had_one_axis(torch, name, dim):
    def answers(library, x):
        found = getattr(library, name)(x, *ALONG[name], dim) if name != "flip" else library.flip(x, (dim,))
        return tuple(found) if isinstance(found, (tuple, list)) else (found,)

    ours, theirs = answers(jt, jt.array(3.0)), answers(torch, torch.tensor(3.0))

    assert [(y.shape, y.item()) for y in ours] == [(tuple(t.shape), t.item()) for t in theirs]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_logit_of_halves_is_that_of_floats_rounded(dtype):
    for backend in ("python", "numba"):
        with jt.flag_scope(backend=backend):
            x = jt.array([0.25, 0.5, 0.0, 1.0]).cast(dtype)
            wanted = jt.logit(x.float32()).cast(dtype)
            assert jt.logit(x).dtype == dtype
            np.testing.assert_array_equal(jt.logit(x).numpy(), wanted.numpy())
