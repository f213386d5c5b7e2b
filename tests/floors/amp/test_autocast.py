"""Regions of autocast: where they hold, what they cast once, and what a step inside of one becomes."""

import threading

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.variable.autocast import Lists
from jt_edu.variable.subgraph_cache import template


def _dtype():
    """In which dtype a product computes here."""
    return str((jt.ones(1, 1) @ jt.ones(1, 1)).dtype)


# where a region holds


def test_regions_are_nested_and_what_held_before_comes_back():
    seen = [_dtype()]
    with jt.amp.autocast():
        seen.append(_dtype())
        with jt.amp.autocast(dtype="float16"):
            seen.append(_dtype())
            with jt.amp.autocast(enabled=False):
                seen.append(_dtype())
            seen.append(_dtype())
        seen.append(_dtype())
    seen.append(_dtype())
    assert seen == ["float32", "bfloat16", "float16", "float32", "float16", "bfloat16", "float32"]


def test_an_error_ends_a_region():
    with pytest.raises(ZeroDivisionError), jt.amp.autocast():
        raise ZeroDivisionError
    assert _dtype() == "float32"
    with jt.amp.autocast(), pytest.raises(jt.ShapeError):
        jt.ones(2, 3) @ jt.ones(2, 3)
    with jt.amp.autocast():
        with pytest.raises(jt.ShapeError):
            jt.ones(2, 3) @ jt.ones(2, 3)
        assert _dtype() == "bfloat16"


def test_a_region_may_be_entered_again_also_inside_of_itself():
    region = jt.autocast("cpu", dtype=jt.bfloat16)
    for _ in range(2):
        with region, region:
            assert _dtype() == "bfloat16"
        assert _dtype() == "float32"


def test_it_decorates_functions_and_each_step_of_a_generator():
    @jt.amp.autocast(dtype="float16")
    def one():
        return _dtype()

    @jt.amp.autocast()
    def two():
        yield _dtype()
        yield _dtype()

    steps = two()
    assert (one(), next(steps), _dtype(), next(steps)) == ("float16", "bfloat16", "float32", "bfloat16")


def test_another_thread_is_in_no_region_and_may_enter_the_same_one():
    region, seen = jt.amp.autocast(), []

    def there():
        seen.append(_dtype())
        with region:
            seen.append(_dtype())

    with region:
        thread = threading.Thread(target=there)
        thread.start()
        thread.join()
        assert _dtype() == "bfloat16"
    assert seen == ["float32", "bfloat16"]
    assert _dtype() == "float32"


def test_a_rank_is_in_no_region():
    with jt.amp.autocast():
        assert jt.simulate(2)(lambda: _dtype()) == ["float32", "float32"]


def test_what_holds_can_be_asked():
    assert (jt.is_autocast_enabled(), jt.get_autocast_dtype()) == (False, "bfloat16")
    with jt.amp.autocast(dtype="float16"):
        assert (jt.is_autocast_enabled("cpu"), jt.get_autocast_dtype("cpu")) == (True, "float16")
        with jt.amp.autocast(enabled=False):
            assert not jt.is_autocast_enabled()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_a_region_has_one_of_two_dtypes(dtype):
    with pytest.raises(jt.DtypeError, match=f"{dtype}.*bfloat16 or jt.float16"):
        jt.amp.autocast(dtype=dtype)


# who passes through it


def test_operators_methods_layers_lists_and_named_vars_pass_the_same_point():
    x, w = jt.ones(2, 2), jt.ones(2, 2)
    with jt.trace() as t, jt.amp.autocast():
        answers = [x @ w, x.matmul(w), jt.matmul(x, y=w), np.ones((2, 2), "float32") @ w, jt.nn.Linear(2, 2)(x)]
        answers.append(jt.nn.functional.linear(x, weight=w))
        joined = jt.concat([x.bfloat16(), w]), jt.stack((x.bfloat16(), w))
    assert {str(a.dtype) for a in answers} == {"bfloat16"}
    assert [str(j.dtype) for j in joined] == ["float32", "float32"]
    assert [c.function for c in t.casts] == ["matmul"] * 4 + ["linear"] * 2 + ["cat", "stack"]


def test_float64_complex_and_whole_numbers_stay_what_they_are():
    x = jt.ones(2, 2)
    with jt.amp.autocast():
        assert str((x.float64() @ x.float64()).dtype) == "float64"
        assert str((x * 1j @ x).dtype) == "complex64"
        assert str((x.int32() @ x.int32()).dtype) == "int64"
        assert str(jt.nn.mse_loss(x.float64(), x).dtype) == "float64"


def test_a_function_that_is_told_where_to_answer_casts_nothing_as_in_pytorch():
    out, x = jt.zeros(2), jt.array([1.001, 1.0])
    with jt.amp.autocast(lists=Lists(lower=frozenset({"exp"}))):
        jt.exp(x, out=out)
        assert str(jt.exp(x).dtype) == "bfloat16"
    assert str(out.dtype) == "float32"
    assert out.tolist() == jt.exp(x).tolist()


def test_an_array_that_is_changed_in_place_keeps_its_dtype():
    x = jt.ones(2, 2)
    with jt.amp.autocast():
        x @= jt.ones(2, 2)
    assert str(x.dtype) == "float32"


def test_nothing_inside_of_a_function_is_cast_again():
    x = jt.array([[1.001]])
    with jt.trace() as t, jt.amp.autocast(lists=Lists(float32=frozenset({"linear"}), lower=frozenset({"matmul"}))):
        y = jt.nn.functional.linear(x, x)
    assert (str(y.dtype), [c.function for c in t.casts]) == ("float32", ["linear"])


def test_apex_bans_binary_cross_entropy_of_halves_and_says_why():
    x = jt.array([[0.5]])
    with jt.amp.autocast(dtype="float16", lists="apex"):
        assert str(jt.nn.bce_loss(x, x).dtype) == "float32"
        with pytest.raises(jt.DtypeError, match="binary_cross_entropy_with_logits, on scores"):
            jt.nn.functional.binary_cross_entropy(x @ x, x)
    with jt.amp.autocast():
        assert str(jt.nn.bce_loss(x @ x, x).dtype) == "float32"


@pytest.mark.parametrize("flag", ["amp_reg", "amp_level", "auto_mixed_precision_level"])
def test_jittors_flags_name_the_region_instead(flag):
    words = r'found a level of Jittor.s, which would change .*jt.amp.autocast\(dtype="float16", lists="apex"\)'

    with pytest.raises(jt.UnknownNameError, match=words):
        setattr(jt.flags, flag, 4)
    with pytest.raises(jt.UnknownNameError, match=words), jt.flag_scope(**{flag: 4}):
        pass


# what is cast once


def _casts(trace):
    return [b for b in trace.built if b.op == "cast_bfloat16"]


@pytest.mark.parametrize(("cached", "casts"), [(True, 1), (False, 3)])
def test_a_parameter_is_cast_once_in_a_region(cached, casts):
    w = jt.nn.Parameter(jt.ones(2, 2))
    with jt.trace() as t, jt.amp.autocast(cache_enabled=cached):
        _ = w @ w.bfloat16()
        with jt.amp.autocast(cache_enabled=cached):
            _ = w @ w.bfloat16(), w @ w.bfloat16()
    assert len([b for b in _casts(t) if b.inputs == (w.node.id,)]) == casts + 3


def test_a_parameter_that_has_moved_is_cast_anew():
    w = jt.array([[1.0]])
    with jt.amp.autocast():
        before = (w @ w).item()
        w.update(w * 2)
        assert (before, (w @ w).item()) == (1, 4)


def test_a_cast_made_without_gradients_stops_none():
    w = jt.array([[1.0]])
    with jt.amp.autocast():
        with jt.no_grad():
            _ = w @ w
        y = w @ w
    assert jt.grad(y.sum(), w).item() == 2


# what is told of it


def test_explain_says_what_regions_have_cast_and_why():
    w, x = jt.array([[1.0, 2.0]]), jt.array([[3.0], [4.0]])
    with jt.amp.autocast():
        loss = jt.nn.mse_loss(w @ x, jt.ones(1, 1))

    before, _ = jt.explain(loss).text, loss.item()
    for text in (before, jt.explain(loss).text):
        assert "Regions of autocast have cast what these were given: matmul in bfloat16, mse_loss in float32." in text
        assert "bfloat16, by autocast: matmul is in the list 'lower'" in text
        assert "float32, by autocast: mse_loss is in the list 'float32'" in text
    outside = w.bfloat16() @ x.bfloat16()
    assert "by autocast" not in jt.explain(outside).text


# gradients


def test_a_gradient_arrives_in_the_dtype_of_the_parameter_and_computes_outside_of_the_region():
    net, x = jt.nn.Sequential(jt.nn.Linear(3, 4), jt.nn.Tanh(), jt.nn.Linear(4, 1)), jt.ones(2, 3)
    with jt.amp.autocast():
        loss = net(x).sum()
    with jt.trace() as t, jt.amp.autocast():
        grads = jt.grad(loss, net.parameters())
    assert {str(g.dtype) for g in grads} == {"float32"}
    assert t.casts == []
    for mine, full in zip(grads, jt.grad(net(x).sum(), net.parameters()), strict=True):
        np.testing.assert_allclose(mine.numpy(), full.numpy(), rtol=0.02, atol=0.02)


def test_gradients_are_those_of_pytorch_up_to_the_rounding_of_a_half(torch, rng):
    x, w = rng.normal(size=(4, 8)).astype("float32"), rng.normal(size=(8, 3)).astype("float32")
    theirs = torch.tensor(w, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        (torch.tensor(x) @ theirs).float().square().sum().backward()
    ours = jt.array(w)
    with jt.amp.autocast():
        loss = (jt.array(x) @ ours).float().sqr().sum()
    np.testing.assert_allclose(jt.grad(loss, ours).numpy(), theirs.grad.numpy(), rtol=2**-7)


def test_the_gradient_of_a_gradient_is_there():
    x = jt.array([[3.0]])
    with jt.amp.autocast():
        y = x @ x
    assert jt.grad(jt.grad(y.sum(), x).sum(), x).item() == 2


def test_what_a_gradient_is_made_of_is_cast_by_nobody():
    x = jt.array([2.0])
    with jt.amp.autocast(lists="apex"):
        y = (x**2.5).half().sum()
        with jt.trace() as t:
            jt.grad(y, x)
    assert t.casts == []


# steps


def _net():
    jt.seed(0)
    layers = jt.nn.Conv2d(1, 4, 3, padding=1), jt.nn.BatchNorm2d(4), jt.nn.ReLU(), jt.nn.MaxPool2d(2), jt.nn.Flatten()
    return jt.nn.Sequential(*layers, jt.nn.Linear(64, 4))


def _losses(rng, enabled, compiled=False, lower="bfloat16"):
    net, x = _net(), rng.normal(size=(8, 1, 8, 8)).astype("float32")
    optimizer = jt.optim.SGD(net.parameters(), 0.1, momentum=0.9)

    def step(x, y):
        with jt.amp.autocast(dtype=lower, enabled=enabled):
            loss = jt.nn.cross_entropy_loss(net(x), y)
        optimizer.step(loss)
        return loss

    step, y = jt.compile(step) if compiled else step, np.arange(8) % 4
    return [step(jt.array(x), jt.array(y)).item() for _ in range(20)], net


@pytest.mark.parametrize("lower", ["bfloat16", "float16"])
@pytest.mark.parametrize("compiled", [False, True])
def test_twenty_steps_of_a_small_network_track_float32(lower, compiled):
    full, _ = _losses(np.random.default_rng(0), False)
    half, net = _losses(np.random.default_rng(0), True, compiled, lower)
    assert full[-1] < full[0] / 3
    np.testing.assert_allclose(half, full, rtol=0.03, atol=0.01)
    assert half != full
    assert {str(p.dtype) for p in net.parameters()} == {"float32"}


def test_a_compiled_step_is_captured_for_each_region():
    step = jt.compile(lambda x: x @ x)
    x, seen = jt.ones(2, 2), []
    for _ in range(2):
        seen.append(str(step(x).dtype))
        with jt.amp.autocast():
            seen.append(str(step(x).dtype))
        with jt.amp.autocast(dtype="float16"):
            seen.append(str(step(x).dtype))
    assert seen == ["float32", "bfloat16", "float16"] * 2


def test_a_compiled_step_in_a_region_reads_the_parameters_of_now():
    w = jt.array([[1.0]])

    @jt.compile
    def step(x):
        y = x @ w
        w.update(w * 2)
        return y

    with jt.amp.autocast():
        with jt.flag_scope(lazy_execution=False):
            _ = w @ w  # its cast is kept in the region, and has a number already
        assert [step(jt.ones(1, 1)).item() for _ in range(4)] == [1, 2, 4, 8]


def test_an_update_that_multiplies_matrices_is_replayed_only_in_its_region():
    class Turned(jt.optim.SGD):
        """Moves by a product, which a region casts: 1.001 is no bfloat16."""

        replays = True

        def rule(self, p, g, state, factor):
            return p - (g + 0.001) @ jt.ones(1, 1), {}

    assert jt.array([1.001]).bfloat16().item() == 1
    moved = []
    w = jt.array([[1.0]])
    optimizer = Turned([w], 1.0)
    for enabled in (False, True, False, True):
        before = w.item()
        with jt.amp.autocast(enabled=enabled):
            optimizer.step((w * 1.0).sum())
        moved.append(round(before - w.item(), 3))
    assert moved == [1.001, 1.0, 1.001, 1.0]


def test_a_template_that_calls_castable_functions_is_told_from_region_to_region():
    square, x = template(lambda x: jt.relu(x @ x)), jt.ones(2, 2)
    with jt.trace() as t:
        seen = [str(square(x).dtype)]
        with jt.amp.autocast():
            seen += [str(square(x).dtype), str(square(x).dtype)]
        seen.append(str(square(x).dtype))
    assert seen == ["float32", "bfloat16", "bfloat16", "float32"]
    assert [c.function for c in t.casts] == ["matmul"] * 2


# functions with a gradient of their own


class _Product(jt.Function):
    """x @ x, which notes in which dtypes it computed."""

    seen: list = []  # noqa: RUF012

    @jt.amp.custom_fwd
    def execute(self, x):
        self.x = x
        self.seen.append(str((x @ x).dtype))
        return x @ x

    @jt.amp.custom_bwd
    def grad(self, dout):
        self.seen.append(str((self.x @ self.x).dtype))
        return dout @ self.x.T + self.x.T @ dout


class _Full(_Product):
    """The same in float32."""

    seen: list = []  # noqa: RUF012
    execute = jt.amp.custom_fwd(cast_inputs="float32")(_Product.execute.__wrapped__)


@pytest.mark.parametrize(("kind", "dtypes"), [(_Product, ["bfloat16"] * 2), (_Full, ["float32"] * 2)])
def test_a_function_of_ones_own_computes_in_the_region_or_in_the_dtype_that_it_asks_for(kind, dtypes):
    kind.seen.clear()
    x = jt.array([[1.0, 2.0], [3.0, 4.0]])
    with jt.amp.autocast():
        y = kind.apply(x.bfloat16() if kind is _Full else x)
    assert jt.grad(y.sum(), x).tolist() == [[7.0, 11.0], [9.0, 13.0]]
    assert kind.seen == dtypes


def test_outside_of_a_region_inputs_are_not_cast():
    _Full.seen.clear()
    assert str(_Full.apply(jt.ones(1, 1).half()).dtype) == "float16"


def test_custom_bwd_alone_is_refused():
    class Alone(jt.Function):
        def execute(self, x):
            return x * 1

        @jt.amp.custom_bwd
        def grad(self, dout):
            return dout

    x = jt.ones(1)
    with pytest.raises(jt.GradientError, match="custom_bwd goes with custom_fwd; found Alone"):
        jt.grad(Alone.apply(x).sum(), x)


# kernels and memory


def _only_casts(trace):
    """Kernels that do nothing but cast, and what they read."""
    nodes = {b.id: b for b in trace.built}
    lone = [k for k in trace.kernels if all(n in nodes and nodes[n].op.startswith("cast_") for n in k.nodes)]
    return [{i for n in k.nodes for i in nodes[n].inputs} - set(k.nodes) for k in lone]


def test_casts_of_activations_are_part_of_the_kernels_around_them():
    relu = jt.nn.ReLU()
    conv = jt.nn.Conv2d(2, 4, 3), relu, jt.nn.Conv2d(4, 4, 3), relu, jt.nn.Conv2d(4, 2, 3)
    net = jt.nn.Sequential(*conv, relu, jt.nn.Linear(2, 8), relu, jt.nn.Linear(8, 3))
    x = jt.ones(2, 2, 8, 8).sync()
    leaves = {x.node.id, *(p.node.id for p in net.parameters())}
    with jt.trace() as t, jt.amp.autocast(), jt.no_grad():
        (jt.nn.functional.softmax(net(x)) * 2).sync()
    assert len(_casts(t)) > 5
    assert [read for read in _only_casts(t) if not read <= leaves] == []


def test_a_chain_of_elementwise_functions_under_apex_is_one_kernel():
    x = jt.ones(2000).half().sync()
    with jt.trace() as t, jt.amp.autocast(dtype="float16", lists="apex"):
        y = jt.relu(jt.exp(x) * 2).half().sync()
    assert (len(t.kernels), str(y.dtype)) == (1, "float16")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_product_of_halves_is_one_of_float32_rounded_once(dtype, rng):
    x, w = (jt.array(rng.normal(size=(64, 64)).astype("float32")).cast(dtype).sync() for _ in range(2))
    with jt.trace() as t:
        y = (x @ w).sync()
    assert [k.kind for k in t.kernels].count("product") == 1
    assert y.tolist() == (x.float() @ w.float()).cast(dtype).tolist()


def _kept(make, x, enabled):
    """What a step of training keeps for its gradient, and the most that its forward pass alone needs."""
    net = make()
    jt.sync(list(net.parameters()))
    with jt.trace() as forward, jt.no_grad(), jt.amp.autocast(enabled=enabled):
        net(x).sync()
    optimizer = jt.optim.SGD(net.parameters(), 0.1)
    with jt.trace() as step:
        with jt.amp.autocast(enabled=enabled):
            loss = jt.nn.cross_entropy_loss(net(x), jt.array(np.zeros(len(x), "int64")))
        optimizer.step(loss)
    return jt.amp.saved_bytes(step), forward.peak


def test_activations_cost_about_half_where_they_are_most_of_it():
    def make():
        conv = [jt.nn.Conv2d(8, 8, 3, padding=1, bias=False), jt.nn.BatchNorm2d(8), jt.nn.ReLU()] * 2
        return jt.nn.Sequential(
            jt.nn.Conv2d(3, 8, 3, padding=1), jt.nn.ReLU(), *conv, jt.nn.Flatten(), jt.nn.Linear(2048, 2)
        )

    x = jt.ones(8, 3, 16, 16).sync()
    (half, _), (full, _) = _kept(make, x, True), _kept(make, x, False)
    assert 0.2 * full < half <= 0.6 * full


def test_the_casts_of_large_weights_cost_more_than_one_example_saves():
    def make():
        return jt.nn.Sequential(jt.nn.Linear(256, 256), jt.nn.ReLU(), jt.nn.Linear(256, 2))

    x = jt.ones(1, 256).sync()
    (_, half), (_, full) = _kept(make, x, True), _kept(make, x, False)
    assert half >= full + 256 * 256 * 4  # a copy of the weights, which is rounded


def test_what_autocast_saves_is_counted_as_saved_copies_of_weights_too():
    w, x = jt.nn.Parameter(jt.ones(64, 64)), jt.ones(1, 64)
    jt.sync([w, x])
    before = jt.memory_stats().saved
    with jt.flag_scope(lazy_execution=False), jt.amp.autocast():
        loss = (x @ w).sum()  # each operator runs at once, so that all of them keep what they have made
    assert jt.memory_stats().saved - before >= w.size * 2
    del loss
    assert jt.memory_stats().saved - before < w.size


def test_saved_bytes_wants_a_step_with_a_gradient():
    with jt.trace() as t:
        jt.ones(2).exp().sync()
    with pytest.raises(jt.ArgumentError, match="a step with a gradient"):
        jt.amp.saved_bytes(t)
