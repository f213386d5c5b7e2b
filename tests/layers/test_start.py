"""How parameters start: what each function promises, and that its arguments matter."""

import math

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn

init = nn.init


@pytest.fixture(autouse=True)
def _plain(seed):
    """Laws are tried on tiny shapes; nothing is compiled."""
    jt.set_global_seed(seed)
    with jt.flag_scope(backend="python"):
        yield


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2)])
def test_eye_is_pytorchs(torch, shape):
    expected = torch.nn.init.eye_(torch.empty(shape)).numpy()

    assert (init.eye_(jt.ones(shape)).numpy() == expected).all()
    assert (init.eye(shape).numpy() == expected).all()
    assert init.eye(2).shape == (2, 2)


@pytest.mark.parametrize("shape", [(3, 2, 3), (2, 4, 3, 3), (4, 2, 2, 3, 4)])
@pytest.mark.parametrize("groups", [1, 2])
def test_dirac_is_pytorchs(torch, shape, groups):
    if shape[0] % groups:
        return
    expected = torch.nn.init.dirac_(torch.empty(shape), groups).numpy()

    assert (init.dirac_(jt.ones(shape), groups).numpy() == expected).all()


def test_a_dirac_convolution_passes_channels_on(rng):
    conv = nn.Conv(2, 2, 3, padding=1, bias=False)
    init.dirac_(conv.weight)
    x = rng.normal(size=(1, 2, 4, 4)).astype("float32")

    np.testing.assert_allclose(conv(jt.array(x)).numpy(), x, rtol=1e-6)


@pytest.mark.parametrize("shape", [(4, 4), (3, 6), (6, 3), (2, 3, 2), (8, 2, 2)])
@pytest.mark.parametrize(("dtype", "close"), [("float32", 1e-6), ("float64", 1e-14)])
@pytest.mark.parametrize("gain", [1.0, 3.0])
def test_orthogonal_rows_or_columns_stand_at_right_angles(shape, dtype, close, gain):
    w = init.orthogonal_(jt.zeros(shape, dtype=dtype), gain)
    matrix = w.numpy().reshape(shape[0], -1)
    square = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix

    np.testing.assert_allclose(square, gain**2 * np.eye(len(square)), atol=close * gain**2)
    assert w.dtype == dtype
    assert (w.numpy() != init.orthogonal_(jt.zeros(shape, dtype=dtype), gain).numpy()).any()


def test_orthogonal_matrices_are_the_same_when_compiled(seed):
    jt.set_global_seed(seed)
    slow = init.orthogonal_(jt.zeros(5, 4)).numpy().copy()
    jt.set_global_seed(seed)
    with jt.flag_scope(backend="numba"):
        np.testing.assert_allclose(init.orthogonal_(jt.zeros(5, 4)).numpy(), slow, atol=1e-6)


@pytest.mark.parametrize(("sparsity", "zeros"), [(0.0, 0), (0.3, 6), (0.51, 11), (1.0, 20)])
def test_sparse_columns_have_as_many_zeros_as_told(sparsity, zeros):
    w = init.sparse_(jt.ones(20, 30), sparsity).numpy()

    assert ((w == 0).sum(0) == zeros).all()
    assert zeros in (0, 20) or len({tuple(column) for column in (w == 0).T}) > 1
    assert w[w != 0].std() == pytest.approx(0.01, rel=0.2) if zeros < 20 else True
    assert init.sparse_(jt.ones(20, 30), 0.1, std=5.0).numpy().std() > 2


def test_jittors_names_make_vars_of_a_shape():
    shape = (60, 50)
    for name, arguments, low, high, std in [
        ("constant", {"value": 3.0}, 3, 3, 0), ("zero", {}, 0, 0, 0), ("one", {}, 1, 1, 0),
        ("uniform", {"low": 2.0, "high": 4.0}, 2, 4, 2 / math.sqrt(12)),
        ("gauss", {"mean": 3.0, "std": 0.5}, -9, 9, 0.5),
        ("invariant_uniform", {}, -math.sqrt(1 / 50), math.sqrt(1 / 50), math.sqrt(1 / 150)),
        ("invariant_uniform", {"mode": "fan_out"}, -math.sqrt(1 / 60), math.sqrt(1 / 60), math.sqrt(1 / 180)),
        ("relu_invariant_gauss", {}, -9, 9, math.sqrt(2 / 50)),
        ("relu_invariant_gauss", {"mode": "fan_out"}, -9, 9, math.sqrt(2 / 60)),
        ("xavier_uniform", {"gain": 2.0}, -1, 1, 2 * math.sqrt(2 / 110)),
        ("xavier_gauss", {"gain": 2.0}, -9, 9, 2 * math.sqrt(2 / 110)),
        ("kaiming_uniform", {"a": 1.0}, -1, 1, math.sqrt(1 / 50)),
        ("kaiming_uniform", {"mode": "fan_out", "nonlinearity": "relu"}, -1, 1, math.sqrt(2 / 60)),
        ("kaiming_normal", {"a": 1.0}, -9, 9, math.sqrt(1 / 50)),
        ("kaiming_normal", {"mode": "fan_out", "nonlinearity": "relu"}, -9, 9, math.sqrt(2 / 60)),
    ]:  # fmt: skip
        for dtype in ("float32", "float64"):
            w = getattr(init, name)(shape, dtype, **arguments)
            assert w.shape == shape
            assert w.dtype == dtype
            assert w.numpy().min() >= low
            assert w.numpy().max() <= high
            assert w.numpy().std() == pytest.approx(std, rel=0.06, abs=1e-12), name
            assert w.requires_grad


def test_names_of_pytorch_are_names_of_the_same_functions():
    assert init.normal_ is init.gauss_
    assert init.zeros_ is init.zero_
    assert init.ones_ is init.one_
    assert init.xavier_normal_ is init.xavier_gauss_


def test_every_function_of_pytorchs_init_is_here(torch):
    public = {name for name in vars(torch.nn.init) if name.endswith("_") and not name.startswith("_")}

    assert {name for name in public if not hasattr(init, name)} == set()
