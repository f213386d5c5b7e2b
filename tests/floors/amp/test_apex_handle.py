"""The old interface of Apex: a handle, wrapped optimizers, and functions that are registered."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import amp, nn
from jt_edu.base.errors import ArgumentError, DtypeError


@pytest.fixture
def problem():
    """A layer, its optimizer, and an input."""
    jt.seed(0)
    net = nn.Linear(4, 2)
    return net, jt.optim.SGD(net.parameters(), lr=0.1), jt.randn(8, 4)


def gradients(net, *functions, x):
    return jt.grad(sum(f(net(x)) for f in functions), list(net.parameters()))


def square(out):
    return (out**2).mean()


def sines(out):
    return out.sin().sum() / 10


def test_the_first_snippet_runs(problem):
    net, optimizer, x = problem
    wanted = [p.numpy() - 0.1 * g.numpy() for p, g in zip(net.parameters(), gradients(net, square, x=x), strict=True)]

    handle = amp.init(enabled=True)
    loss = square(net(x))
    with handle.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()

    assert scaled_loss.item() == pytest.approx(loss.item() * 65536)
    for p, value in zip(net.parameters(), wanted, strict=True):
        np.testing.assert_allclose(p.numpy(), value, atol=1e-3)


def test_the_second_snippet_runs_and_its_gradients_are_the_sum_of_both(problem):
    net, optimizer, x = problem
    wanted = gradients(net, square, sines, x=x)

    handle = amp.init()
    optimizer = handle.wrap_optimizer(optimizer, num_loss=2)
    for function in (square, sines):
        with optimizer.scale_loss(function(net(x))) as scaled_loss:
            scaled_loss.backward()

    for p, g in zip(net.parameters(), wanted, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), g.numpy(), atol=1e-3)
    optimizer.step()
    assert len(amp.master_params(optimizer).__next__().shape) == 2


def test_an_overflow_of_either_loss_leaves_out_the_step(problem):
    net, optimizer, x = problem
    optimizer = amp.init().wrap_optimizer(optimizer, num_loss=2)
    before = net.weight.numpy()

    for factors in ((1, jt.inf), (jt.inf, 1), (1, 1)):
        optimizer.zero_grad()
        for factor in factors:
            with optimizer.scale_loss(square(net(x)) * factor) as scaled:
                scaled.backward()
        optimizer.step()

        assert np.array_equal(net.weight.numpy(), before) == (jt.inf in factors)
    assert [s.scale for s in optimizer._amp.scalers] == [2.0**15, 2.0**15]


def test_one_loss_more_than_was_said_is_refused(problem):
    net, optimizer, x = problem
    optimizer = amp.init().wrap_optimizer(optimizer)
    with optimizer.scale_loss(square(net(x))) as scaled:
        scaled.backward()

    with pytest.raises(ArgumentError, match="loss number 2 of num_loss=1"), optimizer.scale_loss(square(net(x))):
        pass


def test_a_wrapped_optimizer_is_asked_itself(problem):
    net, optimizer, x = problem
    handle = amp.init()
    handle.wrap_optimizer(optimizer)

    with pytest.raises(ArgumentError, match="wrap_optimizer"), handle.scale_loss(square(net(x)), optimizer):
        pass


def test_a_handle_that_is_not_enabled_scales_nothing(problem):
    net, optimizer, x = problem
    handle = amp.init(enabled=False)
    loss = square(net(x))

    with handle.scale_loss(loss, optimizer) as scaled:
        assert scaled is loss
    with handle.wrap_optimizer(optimizer).scale_loss(loss) as scaled:
        assert scaled is loss and net(x).dtype == jt.float32


def test_a_loss_scale_that_is_given_stays(problem):
    net, optimizer, x = problem

    with amp.init(loss_scale=128.0).scale_loss(square(net(x)) * jt.inf, optimizer) as scaled:
        scaled.backward()
    optimizer.step()

    assert optimizer._amp.scalers[0].scale == 128 and not np.isfinite(net.weight.numpy()).all()


def test_parameters_are_cast_once_for_each_loss_if_they_are_kept(problem):
    net, optimizer, x = problem

    def casts(**named):
        handle = amp.init(**named)
        region = jt.base.context.current().threads.now.autocast
        with handle.scale_loss(square(net(x)) + square(net(x)), optimizer):
            count = len(region.kept)
        return count, len(region.kept)

    assert casts() != (0, 0) and casts()[1] == 0
    assert casts(enable_caching=False) == (0, 0)


def test_verbose_prints_each_decision(problem, capsys):
    net, _, x = problem

    amp.init(verbose=True)
    net(x)

    assert "amp: linear by the list 'lower'" in capsys.readouterr().out


def test_binary_cross_entropy_of_halves_is_banned_unless_it_is_allowed():
    p, y = jt.array([0.5]).half(), jt.array([1.0])

    amp.init()
    with pytest.raises(DtypeError, match="binary_cross_entropy_with_logits"):
        nn.functional.binary_cross_entropy(p, y)
    amp.init(allow_banned=True)
    assert nn.functional.binary_cross_entropy(p, y).dtype == jt.float32


@pytest.mark.parametrize(
    ("decorator", "wanted"),
    [(amp.half_function, "float16"), (amp.float_function, "float32"), (amp.promote_function, "float32")],
)
def test_a_decorated_function_is_given_its_dtype_where_operators_cast(decorator, wanted):
    seen = decorator(lambda x, y, n: (x.dtype, y.dtype, n.dtype))
    x, y, n = jt.ones(1).half(), jt.ones(1), jt.array([1])

    assert seen(x, y, n=n) == (jt.float16, jt.float32, jt.int64)
    amp.init()
    assert seen(x, y, n=n) == (wanted, wanted, jt.int64)
    with amp.disable_casts():
        assert seen(x, y, n=n) == (jt.float16, jt.float32, jt.int64)


@pytest.mark.parametrize(
    ("register", "wanted"),
    [
        (amp.register_half_function, "float16"),
        (amp.register_float_function, "float32"),
        (amp.register_promote_function, "float32"),
    ],
)
def test_a_registered_function_is_found_in_its_module(register, wanted):
    class Tools:
        @staticmethod
        def kinds(x, y):
            return x.dtype, y.dtype

    register(Tools, "kinds")
    amp.init()

    assert Tools.kinds(jt.ones(1).half(), jt.ones(1)) == (wanted, wanted)
    with pytest.raises(ArgumentError, match="no function 'others'"):
        register(Tools, "others")
