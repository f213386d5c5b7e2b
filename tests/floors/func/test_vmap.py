"""vmap of a function is a loop over examples, whatever the function is made of; what it cannot be, it says."""

import gc
import itertools

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.autograd import Function
from jt_edu.base.errors import ArgumentError, RangeError, ShapeError
from jt_edu.func import functional_call, grad, jacrev, stack_module_state, vjp
from jt_edu.ir.meta_ops import HostCall
from jt_edu.ir.node import Node
from tests.floors.func.table import SMOOTH, STEPS, some

pytestmark = pytest.mark.usefixtures("python_backend")

ALL = SMOOTH | STEPS


def several(given, count=3):
    """So many examples of each array; of whole numbers, the same ones in other places."""
    moved = np.linspace(0, 0.01, count).reshape(-1, *[1] * 8)
    return [
        np.stack([np.roll(a, k, -1) for k in range(count)])
        if a.dtype.kind == "i"
        else a + moved.reshape(-1, *[1] * a.ndim)
        for a in given
    ]


def subsets(count):
    """Which arguments are batched: all, and each alone, and all but each."""
    chosen = {c for c in itertools.product((0, None), repeat=count) if any(d == 0 for d in c)}
    return sorted(chosen, key=str)


def looped(function, batches, dims):
    parts = [function(*(b[k] if d == 0 else b[0] for b, d in zip(batches, dims, strict=True))) for k in range(3)]
    return [np.stack(rows) for rows in zip(*[[v.numpy() for v in listed(p)] for p in parts], strict=True)]


def listed(answer):
    return list(answer) if isinstance(answer, (tuple, list)) else [answer]


def check(function, given):
    for dims in subsets(len(given)):
        batches = [jt.array(b) for b in several(given)]
        args = [b if d == 0 else b[0] for b, d in zip(batches, dims, strict=True)]

        found = jt.vmap(function, dims)(*args)

        for ours, theirs in zip(listed(found), looped(function, batches, dims), strict=True):
            assert ours.dtype == theirs.dtype, dims
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-10, atol=1e-12, err_msg=str(dims))


@pytest.mark.parametrize("name", ALL)
def test_it_is_a_loop_over_examples(name):
    check(*ALL[name])


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_of_each_example_are_those_of_a_loop(name):
    function, given = SMOOTH[name]
    floats = tuple(k for k, a in enumerate(given) if a.dtype.kind == "f")

    def loss(*args):
        y = function(*args)
        return (y * y * jt.arange(1.0, y.size + 1).reshape(y.shape)).sum()

    def gradients(*args):
        return grad(loss, floats)(*args)

    check(gradients, given)


def test_a_gradient_flows_through_it():
    x, w = jt.array(some(3, 2)), jt.array(some(2, 2))

    def total(each):
        return jt.grad((each(lambda a: jt.tanh(w @ a))(x) ** 2).sum(), [x, w])

    def loop(f):
        return lambda x: jt.stack([f(a) for a in x])

    for ours, theirs in zip(total(jt.vmap), total(loop), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12)


def test_axes_may_lie_anywhere_and_structures_speak_of_their_parts():
    x, w = jt.array(some(2, 3, 4)), {"a": jt.array(some(3, 5)), "b": jt.array(some(2))}

    found = jt.vmap(
        lambda x, w: {"sum": x.sum(0) + w["a"].sum(), "pair": (w["a"], w["b"])},
        in_dims=(1, {"b": None, "a": -2}),
        out_dims={"sum": 1, "pair": (-1, None)},
    )(x, w)

    assert found["pair"][1].shape == (2,)
    np.testing.assert_allclose(found["sum"].numpy(), x.numpy().sum(0).T + w["a"].numpy().sum(1))
    np.testing.assert_array_equal(found["pair"][0].numpy(), w["a"].numpy().T)


@pytest.mark.parametrize("chunk_size", [None, 1])
def test_named_arguments_are_the_same_for_all_examples(chunk_size):
    x, k = jt.array(some(3, 3)), jt.array(some(3))

    found = jt.vmap(lambda x, k: x * k, chunk_size=chunk_size)(x, k=k)

    np.testing.assert_array_equal(found, x.numpy() * k.numpy())


def test_what_is_the_same_for_all_is_repeated():
    assert jt.vmap(lambda x: jt.ones(2))(jt.zeros(3)).tolist() == [[1.0, 1.0]] * 3


def test_chunks_are_put_together_again():
    x = jt.array(some(5, 2))

    for axis in (0, 1):
        found = jt.vmap(lambda a: (a * 2, jt.ones(1)), out_dims=(axis, None), chunk_size=2)(x)

        np.testing.assert_array_equal(found[0].numpy(), np.moveaxis(x.numpy() * 2, 0, axis))
        assert found[1].shape == (1,)


def test_the_function_runs_once_however_many_chunks_there_are():
    seen = []

    with jt.trace() as built:
        jt.vmap(lambda a: seen.append(a) or jt.cumsum(a, 0), chunk_size=2)(jt.ones(5, 2))

    assert len(seen) == 1
    assert [n.shape[0] for n in built.built if n.op == "cumsum"] == [1, 2, 2, 1]  # the example, then the chunks


@pytest.mark.parametrize("randomness", ["different", "same"])
def test_random_numbers_do_not_depend_on_the_size_of_chunks(randomness):
    def drawn(chunk_size):
        jt.set_global_seed(3)
        noisy = jt.vmap(lambda a: a + jt.rand(4), randomness=randomness, chunk_size=chunk_size)
        return noisy(jt.zeros(5, 4)).numpy()

    np.testing.assert_array_equal(drawn(2), drawn(None))


def test_fewer_examples_at_a_time_take_less_memory():
    x = jt.array(some(32, 50)).sync()

    def peak(chunk_size):
        with jt.trace() as seen:
            jt.vmap(lambda a: jt.cumsum(a[:, None] * a, 0).sum(), chunk_size=chunk_size)(x).sync()
        return seen.peak

    assert peak(2) < 0.7 * peak(None)


def test_no_examples_give_no_answers():
    found = jt.vmap(lambda a: (jt.cumsum(a * 2, 0), jt.knn(a.reshape(1, 3, 1), a.reshape(1, 3, 1), 1)[1]))(
        jt.ones(0, 3)
    )

    assert [v.shape for v in found] == [(0, 3), (0, 1, 3, 1)]


def test_maps_go_into_each_other_and_into_gradients():
    x, y = jt.array(some(3, 2)), jt.array(some(4, 2) + 1)
    xs, ys = x.numpy()[:, None], y.numpy()[None]

    def far(a, b):
        return ((a - b) ** 2 * a).sum()

    pairs = jt.vmap(jt.vmap(far, (None, 0)), (0, None))(x, y)
    slopes = jt.vmap(jt.vmap(grad(far), (None, 0)), (0, None))(x, y)
    total = jt.vmap(grad(lambda a, ys: jt.vmap(far, (None, 0))(a, ys).sum()), (0, None))(x, y)

    np.testing.assert_allclose(pairs.numpy(), ((xs - ys) ** 2 * xs).sum(-1))
    np.testing.assert_allclose(slopes.numpy(), 2 * (xs - ys) * xs + (xs - ys) ** 2)
    np.testing.assert_allclose(total.numpy(), slopes.numpy().sum(1))


ROWS = {
    "cumsum": lambda x: jt.cumsum(x, 1),
    "cumprod": lambda x: jt.cumprod(x, 1),
    "linear_recurrence": lambda x: jt.linear_recurrence(x, x, 1),
    "logcumsumexp": lambda x: jt.logcumsumexp(x, 1),
    "cummax": lambda x: jt.cummax(x, 1)[1],
    "cummin": lambda x: jt.cummin(x, 1)[1],
    "argsort": lambda x: jt.argsort(x, 1)[0],
    "topk": lambda x: jt.topk(x, 1)[1],
    "searchsorted": lambda x: jt.searchsorted(x, x),
    "concat": lambda x: jt.concat([x[:, k : k + 1] for k in range(12)], 1),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_kernel_that_works_on_rows_has_more_of_them(name):
    with jt.trace() as seen:
        jt.vmap(ROWS[name])(jt.array(some(3, 2, 12)))

    assert [n.shape[0] for n in seen.built if n.op == name] == [2, 6]


def test_any_other_kernel_runs_once_for_each_example():
    with jt.trace() as seen:
        jt.vmap(lambda x: jt.knn(x, x, 1)[1])(jt.array(some(3, 1, 4, 2)))

    assert [n.op for n in seen.built].count("nearest") == 1 + 3


# ------------------------------------------------------------------------------------------------- random numbers


def test_random_numbers_are_refused_unless_it_is_said_what_they_are():
    with pytest.raises(ArgumentError, match="randomness='different' or 'same'"):
        jt.vmap(lambda x: x + jt.rand(2))(jt.zeros(3, 2))


def test_random_numbers_are_different_or_the_same():
    zeros = jt.zeros((3, 200), dtype="float64")

    def noise(a):
        return a + jt.randn(200, dtype="float64")

    jt.set_global_seed(3)
    apart, alike = (jt.vmap(noise, randomness=how)(zeros).numpy() for how in ("different", "same"))
    jt.set_global_seed(3)
    again = jt.vmap(noise, randomness="different")(zeros).numpy()

    np.testing.assert_array_equal(apart, again)
    assert len(np.unique(apart)) == 600
    assert abs(np.corrcoef(apart) - np.eye(3)).max() < 0.3  # sampling alone: 0.07
    assert abs(apart.mean()) < 0.2
    assert (alike == alike[0]).all()


@pytest.mark.parametrize(
    ("inner", "outer", "rows", "columns"),
    [
        ("different", "different", 4, 3),
        ("different", "same", 1, 3),
        ("same", "different", 4, 1),
        ("same", "same", 1, 1),
    ],
)
def test_each_map_says_what_its_examples_have(inner, outer, rows, columns):
    drawn = jt.vmap(jt.vmap(lambda a: a + jt.rand(), randomness=inner), randomness=outer)(jt.zeros((4, 3))).numpy()

    assert len(np.unique(drawn)) == rows * columns
    assert len(np.unique(drawn[0])) == columns


def test_dropout_forgets_other_numbers_in_each_example():
    masks = jt.vmap(lambda a: nn.dropout(a, 0.5), randomness="different")(jt.ones(4, 64)).numpy()

    assert len(np.unique(masks, axis=0)) == 4
    assert 64 < (masks == 0).sum() < 192


def test_a_compiled_step_draws_anew():
    step = jt.compile(lambda x: jt.vmap(lambda a: a + jt.rand(2), randomness="different")(x))

    drawn = np.stack([step(jt.zeros(3, 2)).numpy() for _ in range(4)])

    assert len(np.unique(drawn)) == 24


# ------------------------------------------------------------------------------------------------ own gradients


class Cube(Function):
    """x**3 and w * x, with a gradient that shows whether it was asked."""

    def execute(self, x, w):
        self.x, self.w = x, w
        return x * x * x, w * x

    def grad(self, dcube, dline):
        return dcube * self.x * self.x * 3 + dline * self.w, dline * self.x


@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("output", [0, 1])
def test_a_function_is_asked_for_its_gradient_inside_and_outside(dims, output):
    full = jt.array(some(3, 2)), jt.array(some(3, 2))
    args = [v if d == 0 else v[0] for v, d in zip(full, dims, strict=True)]

    def loss(x, w):
        return (Cube.apply(x, w)[output] ** 2).sum()

    def plain(x, w):
        return ((x * x * x, w * x)[output] ** 2).sum()

    for f in (
        lambda f: jt.vmap(grad(f, (0, 1)), dims)(*args),
        lambda f: jt.grad(jt.vmap(f, dims)(*args).sum(), args, True),
    ):
        for ours, theirs in zip(f(loss), f(plain), strict=True):
            assert (ours is None) == (theirs is None) or not ours.numpy().any()
            if theirs is not None:
                np.testing.assert_allclose(ours.numpy(), theirs.numpy())


def test_the_gradient_of_a_function_can_be_differentiated_again():
    x = jt.array(some(3, 2))

    slope = jt.grad(jt.vmap(lambda a: Cube.apply(a, a)[0].sum())(x).sum(), x)

    np.testing.assert_allclose(jt.grad(slope.sum(), x).numpy(), 6 * x.numpy())


def test_nothing_of_a_batch_stays_in_memory():
    x = jt.array(some(3, 2))
    gc.collect()
    before = sum(isinstance(o, Node) for o in gc.get_objects())
    gc.disable()
    try:
        for make in (grad, lambda f: f):
            jt.grad(jt.vmap(make(lambda a: Cube.apply(a, a)[0].sum()))(x).sum(), x).numpy()

        assert sum(isinstance(o, Node) for o in gc.get_objects()) - before < 8
    finally:
        gc.enable()


def test_what_is_cut_off_stays_so():
    x = jt.array(some(3, 2))

    @jt.no_grad
    def cut(a):
        return jt.cumsum(a, 0), a * 2, jt.knn(a.reshape(1, 2, 1), a.reshape(1, 2, 1), 1)[0].reshape(2)

    found = jt.vmap(lambda a: a * a.detach() + sum(cut(a)) * 3)(x)

    np.testing.assert_allclose(jt.grad(found.sum(), x).numpy(), x.numpy())


class Straight(Function):
    """A value that has nothing to do with x, for which x is given the gradient."""

    def execute(self, x, value):
        return value * 1

    def grad(self, dout):
        return dout, None


class StraightInAnotherShape(Straight):
    """The same for a value whose last step is a reshape."""

    def execute(self, x, value):
        return value.reshape(2)


@pytest.mark.parametrize("function", [Straight, StraightInAnotherShape])
def test_a_gradient_may_go_to_what_was_not_read(function):
    x, value = jt.array(some(3, 2)), jt.array([3.0, 4.0])

    found = jt.vmap(lambda a: function.apply(a * 2, value if function is Straight else value.reshape(1, 2)))(x)

    assert found.tolist() == [[3.0, 4.0]] * 3
    assert jt.grad((found * jt.array([1.0, 10.0])).sum(), x).tolist() == [[2.0, 20.0]] * 3


# ------------------------------------------------------------------------------------------------ convolutions


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("way", ["forward", "by image", "by weights"])
def test_a_convolution_of_many_examples_is_one(way, groups):
    image, weight, places = some(2, 2, 4, 3), some(4, 2 // groups, 2, 2), some(2, 4, 3, 4)

    def convolved(x, w):
        return jt.conv2d(x, w, None, (2, 1), (1, 1), (1, 1), groups)

    if way == "forward":
        check(convolved, [image, weight])
    elif way == "by image":
        check(lambda w, v: vjp(lambda x: convolved(x, w), jt.array(image))[1](v)[0], [weight, places])
    else:
        check(lambda x, v: vjp(lambda w: convolved(x, w), jt.array(weight))[1](v)[0], [image, places])


def test_it_is_computed_by_the_kernels_of_convolutions_and_products():
    x, w = jt.rand(4, 1, 2, 6, 6), jt.rand(4, 3, 2, 3, 3)
    a, b = jt.rand(4, 5, 6), jt.rand(4, 6, 7)

    with jt.flag_scope(backend="numba"), jt.trace() as seen:
        for y in (
            jt.vmap(jt.conv2d)(x, w),
            jt.vmap(jt.conv2d, (0, None))(x, w[0]),
            jt.vmap(grad(lambda w, x: (jt.conv2d(x, w) ** 2).sum()), (None, 0))(w[0], x),
            jt.vmap(jt.matmul)(a, b),
            jt.vmap(jt.matmul, (0, None))(a, b[0]),
        ):
            y.sync()

    kinds = [k.kind for k in seen.kernels]
    assert kinds.count("convolution") >= 4
    assert kinds.count("product") == 2


# ------------------------------------------------------------------------------------------------ networks


def test_gradients_of_each_digit_are_those_of_a_loop():
    net = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3))
    params, x, y = dict(net.named_parameters()), jt.array(some(3, 1, 4, 4), "float32"), jt.array([2, 0, 1])

    def loss(params, x, y):
        return nn.cross_entropy_loss(functional_call(net, params, x.unsqueeze(0)), y.unsqueeze(0))

    found = jt.vmap(grad(loss), (None, 0, 0))(params, x, y)

    for k in range(3):
        for name, one in grad(loss)(params, x[k], y[k]).items():
            np.testing.assert_allclose(found[name][k].numpy(), one.numpy(), rtol=1e-4, atol=1e-6)


def test_a_stack_of_networks_runs_at_once():
    nets = [nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.BatchNorm1d(2)).eval() for _ in range(3)]
    params, buffers = stack_module_state(nets)
    x = jt.rand(4, 3)

    found = jt.vmap(lambda p, b, x: functional_call(nets[0], (p, b), x), (0, 0, None))(params, buffers, x)

    np.testing.assert_allclose(found.numpy(), np.stack([net(x).numpy() for net in nets]), rtol=1e-5)


def test_what_a_module_changes_in_place_changes_the_buffers_that_were_given():
    norm, x = nn.BatchNorm1d(2), jt.rand(8, 2)
    given = {name: v.clone() for name, v in norm.named_buffers()}

    functional_call(norm, given, x)

    np.testing.assert_allclose(given["running_mean"].numpy(), 0.1 * x.numpy().mean(0), rtol=1e-5)
    assert norm.running_mean.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("models", [[], [nn.Linear(2, 1), nn.ReLU()], [3]])
def test_a_stack_is_of_networks_of_one_kind(models):
    with pytest.raises(ArgumentError, match="stack_module_state takes networks of one kind"):
        stack_module_state(models)


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    "look",
    [
        lambda a: a if a.sum() > 0 else -a,
        lambda a: a * a.numpy(),
        lambda a: a * a[0].item(),
        lambda a: a[a > 0.5],
        lambda a: jt.unique(a),
        lambda a: float(a[0]),
    ],
)
def test_who_looks_at_numbers_of_an_example_is_told_what_to_do(look):
    with pytest.raises(ArgumentError, match=r"no numbers; .*(?s:.)*jt.where(?s:.)*lambda a"):
        jt.vmap(look)(jt.array(some(3, 2)))


def test_other_numbers_may_be_looked_at():
    assert jt.vmap(lambda a: a * jt.arange(3).sum().item())(jt.ones(2)).tolist() == [3.0, 3.0]


def test_an_example_has_no_numbers_outside_either():
    kept = []
    jt.vmap(lambda a: kept.append(a * 2) or a)(jt.ones(3))

    with pytest.raises(ArgumentError, match="kept from inside"):
        kept[0].numpy()


def test_running_statistics_are_refused_and_stay_what_they_were():
    norm, x = nn.BatchNorm(2), jt.rand(3, 2, 4, 4)

    with pytest.raises(ArgumentError, match=r"changes nothing outside .*net.eval\(\)"):
        jt.vmap(lambda a: norm(a.unsqueeze(0)))(x)

    assert norm.running_mean.tolist() == [0.0, 0.0]
    assert norm.running_var.tolist() == [1.0, 1.0]


def test_an_argument_may_be_changed_in_place_and_stays_what_it_was_outside():
    x, y = jt.array(some(3, 2)), jt.array(some(2))
    before = x.numpy(copy=True), y.numpy(copy=True)

    def change(a, b):
        a += 1
        b *= a
        return b

    found = jt.vmap(change, (0, None))(x, y)

    np.testing.assert_allclose(found.numpy(), before[1] * (before[0] + 1))
    np.testing.assert_array_equal(x.numpy(), before[0])
    np.testing.assert_array_equal(y.numpy(), before[1])


def test_other_ranks_are_not_asked_for_each_example():
    op = HostCall("sum of ranks", lambda a: a, (), "the other ranks")

    with pytest.raises(ArgumentError, match="vmap cannot ask the other ranks for each example; found sum of ranks"):
        jt.vmap(lambda a: jt.Var._of(Node(op, (a.node,), a.shape, a.dtype)))(jt.ones(3))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: jt.vmap(3), ArgumentError, "vmap takes a function; found 3"),
        (lambda x: jt.vmap(jt.sin, randomness="some")(x), ArgumentError, "randomness='some'"),
        (lambda x: jt.vmap(jt.sin, chunk_size=0)(x), ArgumentError, "chunk_size=0"),
        (lambda x: jt.vmap(jt.sin, 7)(x), RangeError, "axis 7"),
        (lambda x: jt.vmap(jt.sin, "front")(x), ArgumentError, "whole number; found 'front'"),
        (lambda x: jt.vmap(jt.sin, 0, 7)(x), RangeError, "axis 7"),
        (lambda x: jt.vmap(jt.sin, None)(x), ArgumentError, "an axis of at least one Var"),
        (lambda x: jt.vmap(jt.sin)(3), ArgumentError, "an axis of at least one Var"),
        (lambda x: jt.vmap(jt.sin)(jt.array(1.0)), RangeError, "0 axes"),
        (lambda x: jt.vmap(jt.add, (0,))(x, x), ArgumentError, r"in_dims of vmap is one number, or .*\(0,\)"),
        (lambda x: jt.vmap(jt.sin, 0, (0, 0))(x), ArgumentError, r"out_dims of vmap is one number, or .*\(0, 0\)"),
        (lambda x: jt.vmap(jt.add)(x, x[:2]), ShapeError, r"3 in a Var of shape \(3, 2\) and 2 in a Var of shape"),
        (lambda x: jt.vmap(lambda a: 3)(x), ArgumentError, "returns Vars, or structures of them; found 3"),
        (lambda x: jt.vmap(lambda a: (a, None))(x), ArgumentError, "found None"),
        (lambda x: jt.vmap(lambda a: ())(x), ArgumentError, r"found \(\)"),
        (lambda x: jt.vmap(jt.sin, 0, None)(x), ArgumentError, "the same for all examples"),
    ],
)
def test_what_it_cannot_do_it_says(call, error, message):
    with pytest.raises(error, match=message):
        call(jt.array(some(3, 2)))


def test_rows_of_a_jacobian_inside_a_map_are_those_of_each_example():
    x = jt.array(some(3, 2))

    found = jt.vmap(jacrev(lambda a: a * a.sum()))(x)

    for k in range(3):
        np.testing.assert_allclose(found[k].numpy(), np.eye(2) * x[k].numpy().sum() + x[k].numpy()[:, None])


def test_transforms_of_many_signals_are_one_transform():
    x = jt.array(np.random.default_rng(0).normal(size=(64, 2, 12)))

    many = jt.vmap(lambda v: jt.fft.irfft(jt.fft.rfft(v) ** 2))(x)

    assert [k.name for k in jt.explain(many).kernels if "fft" in k.name] == ["fft", "inverse fft"]
    np.testing.assert_allclose(many, [jt.fft.irfft(jt.fft.rfft(v) ** 2) for v in x], atol=1e-12)
