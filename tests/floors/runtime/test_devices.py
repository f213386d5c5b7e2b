"""Devices: a backend brings arrays of its own; what is computed there, what is copied, and what is refused."""

import copy
import pickle

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import backends, nn
from jt_edu.introspect.explain import planned
from jt_edu.lens.kernel_debugger import step_through
from jt_edu.nn import functional
from jt_edu.runtime.devices import Copied, device_of
from tests.floors.runtime.far import Far, Sheet

RNG = np.random.default_rng(0)
A, B, C = (RNG.standard_normal((3, 4)).astype("float32") for _ in range(3))


@pytest.fixture(autouse=True)
def _far():
    """Two devices, and none of them afterwards."""
    backends.register(Far())
    backends.register(Far("moon"))
    yield
    for name in ("far", "moon", "cuda"):
        backends._loaded.pop(name, None)


def far(array):
    return jt.array(array, device="far")


def net():
    jt.set_global_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))


LABELS = np.array([0, 2, 1])


def losses(model, place, steps=4, compiled=False, optimizer=jt.optim.SGD, **more):
    """The losses of a training, and where the parameters are then."""
    rule = optimizer(model.parameters(), lr=0.1, **more)

    def step(x, y):
        loss = functional.cross_entropy(model(x), y)
        rule.step(loss)
        return loss

    step = jt.compile(step) if compiled else step
    x, y = place(jt.array(A)), place(jt.array(LABELS))
    return [step(x, y).item() for _ in range(steps)], {p.device for p in model.parameters()}


# where it is computed


def test_an_expression_is_one_kernel_of_the_device_and_its_answer_stays_there():
    a, b, c = map(far, (A, B, C))

    with jt.trace() as t:
        y = (a * b + c).sum().sync()

    assert [k.backend for k in t.kernels] == ["far"] and not t.copies
    assert type(y.node.data) is Sheet and y.device == "far"
    assert y.item() == pytest.approx((A * B + C).sum(), rel=1e-5)


def test_to_copies_when_somebody_needs_it_and_not_before():
    a = jt.array(A).sync()

    b = a.to("far")
    assert b.node.pending and b.device == "far" and a.device == "cpu"
    with jt.trace() as t:
        b.sync()

    assert [(c.source, c.target, c.bytes) for c in t.copies] == [("cpu", "far", 48)]
    assert type(b.node.data) is Sheet and type(a.node.data) is np.ndarray


def test_a_graph_may_go_there_and_back_in_one_line():
    a, b = jt.array(A), jt.array(B)

    y = ((a * 2).to("far") * b.to("far")).cpu() + a
    back = (y.to("moon") + 1).to("far").cpu()

    assert back.device == "cpu"
    np.testing.assert_allclose(back.numpy(), A * 2 * B + A + 1, rtol=1e-6)


def test_what_lies_before_a_move_is_computed_once():
    calls = []
    told = jt.numpy_code(
        (3, 4),
        "float32",
        [jt.array(A)],
        lambda np, data: calls.append(1) or np.copyto(data["outputs"][0], data["inputs"][0]),
    )

    y = told.to("far").cpu() + told
    y.sync()

    assert calls == [1]


def test_two_vars_on_two_devices_are_computed_together():
    y, z, w = far(A) * 2, jt.array(A) * 3, jt.array(B, device="moon") + 1

    jt.sync([y, z, w])

    assert [device_of(v.node) for v in (y, z, w)] == ["far", "cpu", "moon"]
    np.testing.assert_allclose(z.numpy(), A * 3)


def test_the_same_lines_on_two_devices_have_a_plan_each():
    answers = [((v * 3).sum() - v).numpy() for _ in range(5) for v in (jt.array(A), far(A), jt.array(A, device="moon"))]

    for answer in answers:
        np.testing.assert_allclose(answer, answers[0], rtol=1e-6)


def test_an_operator_that_runs_again_and_again_is_not_run_on_the_wrong_device():
    pairs = [(jt.array(A), jt.array(B)), (far(A), far(B))]

    for a, b in [pairs[0]] * 6 + pairs * 2:
        y = (a * b).sync()
        assert y.device == a.device
        np.testing.assert_allclose(y.numpy(), A * B)


def test_numbers_fit_everywhere_and_arrays_of_one_number_too():
    x = far(A)

    y = x * 2 + jt.zeros(3, 4) + jt.array(1.5) + jt.arange(4).float()

    np.testing.assert_allclose(y.numpy(), A * 2 + 1.5 + np.arange(4), rtol=1e-6)
    assert y.device == "far"


def test_random_numbers_are_the_same_everywhere():
    def dropped(x):
        jt.set_global_seed(3)
        return functional.dropout(x, 0.5).numpy()

    np.testing.assert_array_equal(dropped(far(A)), dropped(jt.array(A)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32", "bool", "complex64"])
def test_every_dtype_goes_there_and_comes_back(dtype):
    x = jt.array(A).cast(dtype)

    np.testing.assert_array_equal(x.to("far").numpy(), x.numpy())
    np.testing.assert_array_equal((x.to("far").cast("complex64") + 1).numpy(), (x.cast("complex64") + 1).numpy())


@pytest.mark.parametrize(
    "work",
    [
        lambda x: x.reshape(4, 3).sum(0),
        lambda x: x @ x.transpose(0, 1),
        lambda x: x.reshape(1, 1, 3, 4).repeat(1, 2, 1, 1).max(1),
        lambda x: jt.conv2d(x.reshape(1, 1, 3, 4), x[:2, :2].reshape(1, 1, 2, 2)),
        lambda x: x[x.argmax(0) * 0 + 1],
        lambda x: x.sort(1)[0],
        lambda x: jt.concat([x, x * 2], 0),
        lambda x: x.cumsum(1),
        lambda x: x[x > 0],
        lambda x: x.softmax(1).half().sum(),
        lambda x: jt.linalg.inv(x[:, :3] + 3 * jt.eye(3)),
        lambda x: x.broadcast((1000, 3, 4)).exp().sum(0),
    ],
)
def test_operators_of_all_kinds_give_the_same_numbers(work):
    for _ in range(2):
        np.testing.assert_allclose(work(far(A)).numpy(), work(jt.array(A)).numpy(), rtol=1e-4, atol=1e-5)


# how numbers come down


def test_numbers_come_down_by_every_way():
    x, plain = far(A), jt.array(A)

    np.testing.assert_array_equal(x.numpy(), A)
    np.testing.assert_array_equal(x.data, A)
    np.testing.assert_array_equal(np.asarray(x), A)
    np.testing.assert_array_equal(x.numpy(copy=True), A)
    assert x.tolist() == plain.tolist() and repr(x) == repr(plain) and f"{x}" == f"{plain}"
    assert x[0, 1].item() == float(x[0, 1]) == plain[0, 1].item() and bool((x == x).all())
    assert int(far(3)) == 3 and [1, 2, 3, 4][far(3)] == 4 and complex(far(3)) == 3
    assert [row.tolist() for row in x] == plain.tolist() and len(x) == 3


def test_numbers_are_read_only_and_a_copy_is_not():
    x = far(A)

    assert not x.numpy().flags.writeable and x.numpy(copy=True).flags.writeable


def test_work_of_numpy_is_done_on_the_cpu_and_goes_up_again():
    def double(np, data):
        np.multiply(data["inputs"][0], 2, data["outputs"][0])

    y = jt.numpy_code((3, 4), "float32", [far(A) + 1], double)

    with jt.trace() as t:
        y.sync()
    assert [(c.source, c.target) for c in t.copies] == [("far", "cpu"), ("cpu", "far")]
    assert type(y.node.data) is Sheet
    np.testing.assert_allclose(y.numpy(), (A + 1) * 2, rtol=1e-6)


def test_traces_show_values_of_a_device():
    with jt.trace(values=True) as t:
        (far(A) * 0 + 2).sum().sync()

    assert t.values[-1].max == 24.0 and t.values[0].count == 12


def test_the_trace_tells_copies_with_the_learners_line():
    with jt.trace() as t:
        y = jt.array(A).to("far")  # this line
        y.sync()

    assert "copied: 0.0 kB from cpu to far" in repr(t) and "# this line" in repr(t)
    assert t.as_dict()["copies"][0]["bytes"] == 48 and isinstance(t.copies[0], Copied)


# what is refused


def test_two_devices_in_one_operator_are_refused_with_both_names_and_the_line():
    x, y = far(A), jt.array(B)

    z = x * y  # here

    with pytest.raises(jt.ArgumentError, match=r"(?s)multiply computes on one device; found .*far.*cpu.*'far'.*# here"):
        z.sync()


def test_a_device_that_is_not_there_is_refused_as_before():
    for ask in (
        lambda: jt.array(A).to("cuda"),
        lambda: jt.zeros(2, device="cuda:1"),
        lambda: net().to("cuda"),
        lambda: nn.Linear(2, 1, device="cuda"),
    ):
        with pytest.raises(jt.ArgumentError, match=r"takes a device that is there; found device='cuda.*, and no GPU"):
            ask()
    with pytest.raises(jt.DtypeError, match="nowhere"):
        jt.array(A).to("nowhere")
    for ask in (lambda: jt.array(A).cuda(), lambda: net().cuda()):
        with pytest.raises(AttributeError, match="everything is on the CPU"):
            ask()
    assert not hasattr(jt.array(A), "cuda")


def test_a_backend_of_the_cpu_is_no_device():
    for name in ("numba", "cudasim"):
        with pytest.raises(jt.ArgumentError, match=f"found device='{name}'. Try: jt.flags.backend = '{name}'"):
            jt.array(A).to(name)


@pytest.mark.parametrize("flag", ["use_cuda", "cublas", "cudnn"])
@pytest.mark.parametrize("backend", ["numba", "cudasim"])
def test_a_flag_that_needs_a_gpu_names_itself_and_advises_no_backend_that_is_chosen(flag, backend):
    asked = f"jt.flags.{flag} computes on a GPU; found no driver of NVIDIA. Try: a machine that has one"
    with jt.flag_scope(backend=backend), pytest.raises(jt.BackendError, match=asked) as refused:
        setattr(jt.flags, flag, True)

    assert ("cudasim" in str(refused.value)) == (backend == "numba")


def test_storage_is_memory_of_the_cpu():
    with pytest.raises(jt.ArgumentError, match="x on far"):
        far(A).storage()
    assert far(A).cpu().storage().nbytes == 48


def test_an_index_outside_is_refused_on_a_device():
    with pytest.raises(jt.RangeError, match="7"):
        far(A)[jt.array([0, 7], device="far")].sync()
    with pytest.raises(jt.RangeError, match="7"):
        far(A)[far([0, 6]) + 1].sync()


# as Jittor does it


def test_a_backend_of_a_device_computes_all_and_copies_by_itself():
    a, b = jt.array(A).sync(), jt.array(B)

    with jt.flag_scope(backend="far"), jt.trace() as t:
        y = (a * b).sum().sync()
        assert type(y.node.data) is Sheet and (a + 1).device == "far"
    assert [(c.source, c.target) for c in t.copies] == [("cpu", "far")] * 2
    with jt.flag_scope(backend="far"), jt.trace() as t:
        (a + b).sync()
    assert not t.copies and a.device == "far"  # it was moved, and stays there


def test_use_cuda_has_all_computed_on_the_device_of_that_name():
    with pytest.raises(jt.BackendError, match="on a GPU; found no driver"):
        jt.flags.use_cuda = 1
    assert jt.has_cuda == 0
    backends.register(Far("cuda"))
    assert jt.has_cuda == 1 == jt.compiler.has_cuda

    with jt.flag_scope(backend="python"):
        with jt.flag_scope(use_cuda=1):
            y = (jt.array(A) * 2).sync()
            jt.flags.use_cuda = 1
            assert y.device == "cuda" == jt.flags.backend
        assert jt.flags.backend == "python" and jt.flags.use_cuda == 0
    assert jt.array(A).cuda().is_cuda and not jt.array(A).is_cuda
    assert jt.array(A).cuda().device == "cuda" == net().cuda()[0].weight.device


def test_inside_a_device_all_is_computed_there_and_inside_that_of_the_cpu_in_main_memory():
    with jt.device("far"):
        assert (jt.zeros(3) + 1).sync().device == jt.get_default_device() == "far"
        with jt.device("cpu"):
            assert (jt.zeros(3) + 1).sync().device == jt.get_default_device() == "cpu"
        assert jt.get_default_device() == "far"
    assert (jt.get_default_device(), jt.flags.backend) == ("cpu", "numba")


def test_a_training_is_moved_by_the_flag_alone():
    plain, _ = losses(net(), lambda x: x)

    with jt.flag_scope(backend="far"):
        found, where = losses(net(), lambda x: x)

    np.testing.assert_allclose(found, plain, rtol=1e-5)
    assert where == {"far"}


# gradients, modules, optimizers


def test_gradients_are_computed_on_the_device_and_move_back():
    a, b = jt.array(A), far(B)

    with jt.trace() as t:
        dx, db = jt.grad((a.to("far") * b).exp().sum(), [a, b])
        jt.sync([dx, db])
    assert device_of(dx.node) == "cpu" and device_of(db.node) == "far"
    assert {k.backend for k in t.kernels} == {"far"}
    np.testing.assert_allclose(dx.numpy(), np.exp(A * B) * B, rtol=1e-5)
    np.testing.assert_allclose(db.numpy(), np.exp(A * B) * A, rtol=1e-5)


def test_second_gradients_move_too():
    a = jt.array(A)

    (first,) = jt.grad((a.to("far") ** 3).sum(), [a])
    (second,) = jt.grad(first.sum(), [a])

    np.testing.assert_allclose(second.numpy(), 6 * A, rtol=1e-4)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("rule", [{}, {"momentum": 0.9}, {"optimizer": jt.optim.Adam}])
def test_a_network_is_trained_on_a_device_with_the_same_losses(compiled, rule):
    plain, _ = losses(net(), lambda x: x, **rule)

    with jt.trace() as t:
        model = net().to("far")
    assert {c.target for c in t.copies} == {"far"}
    found, where = losses(model, lambda x: x.to("far"), compiled=compiled, **rule)

    np.testing.assert_allclose(found, plain, rtol=1e-5)
    assert where == {"far"}


def test_a_compiled_step_is_captured_for_each_device():
    step = jt.compile(lambda x: x * 2)

    answers = [step(x) for _ in range(3) for x in (jt.array(A), far(A))]

    assert [y.device for y in answers] == ["cpu", "far"] * 3
    np.testing.assert_allclose(answers[-1].numpy(), A * 2)


def test_a_var_that_a_compiled_step_finds_may_have_moved_since():
    w = jt.array(A).stop_grad()
    step = jt.compile(lambda x: (x * w).sum())
    first = [step(jt.array(B)).item() for _ in range(3)]

    w.node = w.to("far").node

    assert [step(far(B)).item() for _ in range(3)] == pytest.approx(first)
    with pytest.raises(jt.ArgumentError, match="computes on one device"):
        step(jt.array(B))


def test_views_of_a_graph_show_moves_and_what_lies_on_a_device():
    moved, there = (jt.array(A).to("far") * 2).sum(), (far(A) * 2).sum()

    for y in (moved, there):
        assert "sum" in str(jt.explain(y)) and "sum" in str(y.graph()) and y.node.pending
        assert jt.kernel_sources(y)
    assert "to_far" in str(moved.graph())


def test_a_kernel_of_a_device_can_be_stepped_through():
    order, plan = planned([(far(A) * 2).sum().node])

    steps = step_through(plan, order, 0)

    written = [t.value for row in steps.moments for t in row.touches if t.write]
    assert steps.complete and written[-1] == pytest.approx(A.sum() * 2, rel=1e-4)


def test_a_move_inside_a_compiled_step_is_refused():
    step = jt.compile(lambda x: x.to("far") * 2)

    with pytest.raises(jt.ArgumentError, match="one device"):
        step(jt.array(A))


def test_a_step_whose_gradient_moves_is_trained_as_well():
    w = jt.array(A)
    rule = jt.optim.SGD([w], lr=0.1)

    for _ in range(4):
        rule.step(((w.to("far") - far(B)) ** 2).sum())

    expected = A
    for _ in range(4):
        expected = expected - 0.1 * 2 * (expected - B)
    np.testing.assert_allclose(w.numpy(), expected, rtol=1e-5)


def test_backward_leaves_gradients_where_the_parameters_are():
    model = net().to("far")
    functional.cross_entropy(model(far(A)), far(LABELS)).backward()

    assert {p.grad.device for p in model.parameters()} == {"far"}
    assert {p.grad.device for p in model.cpu().parameters()} == {"cpu"}


def test_a_module_keeps_its_device_when_it_is_cast_and_loaded():
    model, other = net().to("far"), net()

    model.load_state_dict(other.state_dict())
    assert {p.device for p in model.parameters()} == {"far"}
    assert {(p.device, p.dtype) for p in model.double().parameters()} == {("far", "float64")}
    assert {p.device for p in model.cpu().parameters()} == {"cpu"}


def test_layers_and_creation_functions_take_a_device():
    assert nn.Linear(2, 1, device="far").weight.device == "far"
    assert jt.zeros(2, 3, device="far").device == "far" == jt.rand(2, device="far").device
    assert jt.array(far(A)).device == "far" and jt.array(far(A), device="cpu").device == "cpu"
    assert far(A).requires_grad and not jt.array(A, device="far", requires_grad=False).requires_grad
    assert far(A).to_device("cpu").device == "cpu" and far(A).to("float64").device == "far"
    assert far(A).to("cpu", "float64").dtype == "float64" and far(A).to(device="moon").device == "moon"


def test_copies_and_pickles(tmp_path):
    x = far(A)
    x.name = "x"

    assert (
        copy.deepcopy(x).device
        == "far"
        == x.clone().device
        == x.detach().device
        == copy.deepcopy(net().to("far"))[0].weight.device
    )
    restored = pickle.loads(pickle.dumps(x))  # noqa: S301 - made here
    assert (restored.device, restored.name) == ("cpu", "x")
    np.testing.assert_array_equal(restored.numpy(), A)
    model = net().to("far")
    for name in ("net.npz", "net.pth", "net.safetensors"):
        model.save(str(tmp_path / name))
        again = net()
        again[0].weight.update(again[0].weight * 0)
        again.load(str(tmp_path / name))
        np.testing.assert_array_equal(again[0].weight.numpy(), model[0].weight.numpy())
    jt.save({"x": x}, str(tmp_path / "x.npz"))
    np.testing.assert_array_equal(np.asarray(jt.load(str(tmp_path / "x.npz"))["x"]), A)


def test_an_optimizer_goes_on_from_what_was_saved():
    model = net().to("far")
    rule = jt.optim.Adam(model.parameters(), lr=0.1)

    def step(rule):
        rule.step(functional.cross_entropy(model(far(A)), far(LABELS)))

    step(rule)
    again = jt.optim.Adam(model.parameters(), lr=0.1)
    again.load_state_dict(pickle.loads(pickle.dumps(rule.state_dict())))  # noqa: S301 - made here
    step(again)

    assert {p.device for p in model.parameters()} == {"far"}


def test_assigning_and_changing_in_place():
    x = far(A)
    x += 1
    x[0] = 7
    x.update(x * 2)

    assert x.device == "far"
    np.testing.assert_allclose(x.numpy()[0], 14)


# ranks


def test_ranks_compute_on_a_device_and_exchange_what_lies_there():
    def rank():
        x = jt.array(np.full(3, jt.rank + 1.0, "float32"), device="far")
        total = x.mpi_all_reduce("add")
        return total.sync().device, total.tolist()

    assert jt.simulate(2)(rank) == [("far", [3.0] * 3)] * 2


def test_ranks_share_a_training_on_a_device():
    def rank():
        model = net().to("far")
        return losses(model, lambda x: x.to("far"))[0]

    first, second = jt.simulate(2)(rank)
    assert first == pytest.approx(losses(net(), lambda x: x)[0], rel=1e-4) and first == second
