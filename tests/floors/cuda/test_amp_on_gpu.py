"""Mixed precision on a GPU: PyTorch's table for it, where a region holds, and a step of training."""

from types import SimpleNamespace

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import amp, backends
from jt_edu.optim.swa_utils import AveragedModel, update_bn
from jt_edu.runtime import devices
from tests.floors.cuda.fake_driver import FakeLibrary

HALF, SINGLE = "float16", "float32"


def numbers(*shape):
    return np.random.default_rng(shape).standard_normal(shape).astype(SINGLE)


def test_by_default_products_are_float16_and_what_overflows_is_float32(gpu):
    x = jt.array(numbers(2, 2)).cuda()
    with amp.autocast("cuda"):
        y = x @ x
        found = [y, y + 1, jt.exp(y), y.sum(), jt.nn.softmax(y, 1), jt.log1p(y), jt.logsumexp(y, 1)]
        found += [jt.nn.functional.rms_norm(y, (2,)), 1 / y]
        with pytest.raises(jt.DtypeError, match="binary_cross_entropy_with_logits"):
            jt.nn.functional.binary_cross_entropy(y, y)

    assert [str(v.dtype) for v in found] == [HALF] * 2 + [SINGLE] * 7


def test_numbers_that_are_put_into_halves_make_them_as_wide(gpu):
    x, i, put = jt.zeros(3).half().cuda(), jt.array([0, 1, 2]), jt.ones(3).cuda()
    with amp.autocast("cuda"):
        found = [x.scatter_add(0, i, put), x.index_put((i,), put), jt.cat([x, put])]
    assert [str(v.dtype) for v in (*found, x.scatter_add(0, i, put))] == [SINGLE] * 3 + [HALF]


@pytest.mark.parametrize(("device", "expected"), [("cuda", [HALF, SINGLE]), ("cpu", [SINGLE, "bfloat16"])])
def test_a_region_holds_on_its_device(gpu, device, expected):
    x = jt.array(numbers(2, 2))
    with amp.autocast(device):
        there = x.cuda() @ x.cuda()
        assert [str(v.dtype) for v in (there, x @ x)] == expected
        assert [jt.is_autocast_enabled(name) for name in ("cuda", "cpu")] == [device == "cuda", device == "cpu"]
        assert [str(jt.get_autocast_dtype(name)) for name in ("cuda", "cpu")] == [HALF, "bfloat16"]
    assert amp.is_autocast_available("cuda:0")


def test_regions_of_two_devices_hold_beside_each_other(gpu):
    x = jt.array(numbers(2, 2))
    there, dtypes = x.cuda(), lambda: [str((v @ v).dtype) for v in (x, there)]
    with amp.autocast("cpu"), amp.autocast("cuda"):
        assert dtypes() == ["bfloat16", HALF] and jt.is_autocast_enabled("cpu") and jt.is_autocast_enabled("cuda")
        with amp.autocast("cpu", enabled=False):
            assert dtypes() == [SINGLE, HALF]
        with amp.autocast("cuda", enabled=False):
            assert dtypes() == ["bfloat16", SINGLE]
        with amp.autocast("cpu", HALF):
            assert dtypes() == [HALF, HALF]
        assert dtypes() == ["bfloat16", HALF]
    assert dtypes() == [SINGLE, SINGLE]


def test_what_is_made_of_numbers_alone_is_cast_beside_what_lies_on_the_gpu(gpu):
    x = jt.array(numbers(2, 2)).cuda()
    with amp.autocast("cuda"):
        found = [x @ jt.ones(2, 2), jt.zeros(2, 2) @ x, jt.ones(2, 2) @ jt.ones(2, 2)]
    assert [str(v.dtype) for v in found] == [HALF, HALF, SINGLE]


def test_a_region_does_not_search_a_graph_for_where_it_lies(gpu, monkeypatch):
    x, w = jt.array(numbers(2, 2)).cuda().sync(), jt.array(numbers(2, 2)).cuda().sync()
    monkeypatch.setattr(devices, "needed", lambda wanted: pytest.fail("each call would take longer than the last"))
    with amp.autocast("cuda"):
        for _ in range(3):
            x = jt.nn.relu(x @ w) + x
        assert str((x @ w).dtype) == HALF and x.device == "cuda"


def test_apexs_casts_hold_on_a_gpu(gpu):
    x = jt.array(numbers(2, 2)).cuda()
    amp.init()
    try:
        assert str((x @ x).dtype) == HALF
    finally:
        amp.init(enabled=False)


def test_a_function_decorated_before_the_flag_is_set_computes_where_the_flag_says(gpu):
    product, x = amp.autocast()(lambda v: v @ v), jt.array(numbers(2, 2))
    with jt.flag_scope(use_cuda=1):
        assert str(product(x).dtype) == HALF
    assert str(product(x).dtype) == "bfloat16"


def test_without_a_name_it_holds_where_the_flag_has_all_computed(gpu):
    x = jt.array(numbers(2, 2))  # lies in main memory still
    with jt.flag_scope(use_cuda=1), amp.autocast():
        assert str((x @ x).dtype) == HALF
        assert jt.is_autocast_enabled() and jt.is_autocast_enabled("cuda") and not jt.is_autocast_enabled("cpu")
    with amp.autocast():
        assert str((x @ x).dtype) == "bfloat16"


def test_a_function_with_a_gradient_of_its_own_is_in_a_region_of_its_device_only(gpu):
    class Product(jt.Function):
        @amp.custom_fwd(device_type="cuda", cast_inputs=SINGLE)
        def execute(self, x):
            return x @ x

    x = jt.array(numbers(2, 2)).half()
    with amp.autocast("cuda"), jt.no_grad():
        assert str(Product.apply(x.cuda()).dtype) == SINGLE
    with amp.autocast("cpu", HALF), jt.no_grad():
        assert str(Product.apply(x).dtype) == HALF


@pytest.mark.parametrize(("device", "expected"), [("cuda", HALF), ("cpu", SINGLE)])
def test_a_gradient_of_its_own_is_in_the_region_of_its_device_only(gpu, device, expected):
    class Same(jt.Function):
        @amp.custom_fwd
        def execute(self, x):
            return x * 1

        @amp.custom_bwd(device_type=device)
        def grad(self, dout):
            found.append(str((dout @ dout).dtype))
            return dout

    found, x = [], jt.array(numbers(2, 2)).cuda()
    with amp.autocast("cuda"):
        y = Same.apply(x)
    jt.grad((y * x).sum(), x)

    assert found == [expected]


def test_a_compiled_step_is_captured_anew_for_a_region_of_another_device(gpu):
    x, step = jt.array(numbers(2, 2)).cuda(), jt.compile(lambda x: x @ x)
    found = []
    for device in ("cuda", "cpu"):
        with amp.autocast(device, HALF, lists="apex"):
            found.append(str(step(x).dtype))

    assert found == [HALF, SINGLE]


def test_a_step_of_training_with_scaled_gradients_gives_a_cpus_weights(gpu):
    def trained(device):
        net = jt.nn.Linear(3, 2)
        net.weight.assign(numbers(2, 3)), net.bias.assign(numbers(2))
        net.to(device)
        optimizer, scaler = jt.optim.SGD(net.parameters(), lr=0.25), amp.GradScaler(device, init_scale=8.0)
        x = jt.array(numbers(4, 3)).to(device)
        with amp.autocast(device, HALF):
            loss = jt.nn.mse_loss(net(x), jt.zeros(4, 2).to(device))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return net.weight.numpy(), scaler.get_scale()

    (found, scale), (expected, same) = trained("cuda"), trained("cpu")
    assert gpu.launches and scale == same
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_an_averaged_network_and_its_batches_are_moved(gpu):
    net = jt.nn.Sequential(jt.nn.BatchNorm(1))
    averaged = AveragedModel(net, device="cuda")
    averaged.module.train()
    update_bn([jt.array([[1.0], [3.0]])], averaged, device="cuda")

    with pytest.raises(jt.ArgumentError, match="update_bn takes a device that is there; found device=0"):
        update_bn([jt.ones(2, 1)], averaged, device=0)
    norm = averaged.module[0]
    assert (norm.weight.device, norm.running_mean.device, net[0].weight.device) == ("cuda", "cuda", "cpu")
    assert norm.running_mean.tolist() == [2.0]


def test_the_array_api_names_the_gpu_and_moves_there(gpu):
    info = jt.__array_namespace_info__()
    x = jt.array(numbers(2, 2))

    assert {"cpu", "cuda"} <= {*info.devices()} and info.default_device() == "cpu"
    assert x.astype("float64", device="cuda").device == "cuda"
    with jt.flag_scope(use_cuda=1):
        assert info.default_device() == "cuda"


def test_a_package_that_cannot_be_loaded_is_no_device_and_who_names_it_is_told_why(monkeypatch):
    def load():
        raise ImportError("no libbroken")

    monkeypatch.setattr(backends, "_announced", lambda: [SimpleNamespace(name="broken", load=load)])
    assert "broken" not in jt.__array_namespace_info__().devices() and not amp.is_autocast_available("broken")
    with pytest.raises(jt.BackendError, match="no libbroken"):
        jt.ones(1).to("broken")


def test_what_is_switched_off_or_only_defined_needs_no_gpu(card, monkeypatch):
    card(FakeLibrary(names=()))
    monkeypatch.delitem(backends._loaded, "cuda", raising=False)

    class Product(jt.Function):
        @jt.cuda.amp.custom_fwd(cast_inputs=SINGLE)
        def execute(self, x):
            return x @ x

        @jt.cuda.amp.custom_bwd
        def grad(self, dout):
            return dout

    scaler = jt.cuda.amp.GradScaler(enabled=False)
    with amp.autocast("cuda", enabled=False), jt.cuda.amp.autocast(enabled=False):
        assert not jt.is_autocast_enabled("cuda") and str(jt.get_autocast_dtype("cuda")) == HALF
        assert str(Product.apply(jt.ones(2, 2)).dtype) == SINGLE
    assert isinstance(scaler, jt.cuda.amp.GradScaler) and isinstance(scaler, amp.GradScaler)
    with pytest.raises(jt.ArgumentError, match=r"and no GPU\. Try: 'cpu', or enabled=jt\.cuda\.is_available\(\)"):
        jt.cuda.amp.autocast()
    with pytest.raises(jt.ArgumentError, match="device takes the name of one; found 'cudda'"):
        amp.autocast("cudda", enabled=False)
