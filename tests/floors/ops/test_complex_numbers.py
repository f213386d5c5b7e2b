"""Complex numbers in graphs: gradients by the conjugate rule, parts as attributes and methods, sets, rounding."""

import numpy as np
import pytest

import jt_edu as jt
from tests.parity import judges

pytestmark = pytest.mark.usefixtures("python_backend", "quiet")

inf, nan = np.inf, np.nan


def slope(function, z, upstream=None):
    x = jt.array(np.array(z, complex))
    y = function(x)
    return jt.grad(y if upstream is None else (y * upstream).real(), x).item()


def test_the_square_of_the_size_at_1_plus_2i_has_gradient_2_plus_4i():
    assert abs(slope(lambda z: jt.abs(z) ** 2, 1 + 2j) - (2 + 4j)) < 1e-14


def test_the_square_with_a_gradient_of_1_coming_in_has_gradient_2_minus_4i():
    assert slope(lambda z: (z * z).real(), 1 + 2j) == 2 - 4j


@pytest.mark.parametrize(
    "chain",
    [
        lambda x: jt.abs(jt.exp(jt.complex(x, x * x))),
        lambda x: jt.view_as_real(jt.view_as_complex(jt.stack([x, x * 2], -1)) ** 2).sum(-1),
        lambda x: jt.angle(jt.polar(x, x * 0.5)) * x,
        lambda x: (x.cast("complex128") * 1j).imag * x,
    ],
)
def test_the_gradient_of_real_numbers_that_were_complex_on_the_way_is_real(chain):
    arrays = [np.array([0.3, 0.8, 1.7])]

    assert jt.grad(chain(x := jt.array(arrays[0])).sum(), x).dtype == "float64"
    judges.judge(None, chain, None, arrays)


ONE = {name: getattr(jt, name) for name in (
    "abs angle acos acosh asin asinh atan atanh conj cos cosh exp exp2 expm1 imag log log10 log1p log2 neg positive "
    "real reciprocal rsqrt sigmoid sign sin sinh sqr sqrt square tan tanh sum mean prod flip "
    "transpose diff diagonal view_as_real nan_to_num var std norm tril triu flatten"
).split() if hasattr(jt, name)}  # fmt: skip
ONE |= {
    "z ** 3": lambda z: z**3,
    "z ** 0.5": lambda z: z**0.5,
    "2 ** z": lambda z: 2**z,
    "z / (1 + 2i)": lambda z: z / (1 + 2j),
    "z - 1i": lambda z: z - 1j,
    "1 / z": lambda z: 1 / z,
    "z real": lambda z: z.real * z.imag,
    "polar": lambda z: jt.polar(abs(z), z.angle()),
    "where": lambda z: jt.where(z.real > 0, z, z * 2j),
    "matmul": lambda z: z @ z,
    "concat": lambda z: jt.concat([z, z.conj()]),
    "pad": lambda z: jt.pad(z, (1, 1)),
    "index": lambda z: z[1] * z[0, 1],
    "expand": lambda z: z[:, :, None].expand(2, 2, 3),
    "stack": lambda z: jt.stack([z, z * z]),
    "T": lambda z: z.T @ z,
    "gather": lambda z: z[jt.array([1, 1, 0])],
    "einsum": lambda z: jt.einsum("ij,kj->ik", z, z.conj()),
    "clone": jt.clone,
    "lerp": lambda z: jt.lerp(z, z * z, 0.3),
    "addcmul": lambda z: jt.addcmul(z, z, z),
    "addcdiv": lambda z: jt.addcdiv(z, z, z + 3),
    "roll": lambda z: jt.roll(z, 1, 0),
    "repeat": lambda z: z.repeat(2, 1),
    "trace": lambda z: z.trace(),
    "cumsum": lambda z: jt.cumsum(z, 1),
    "cumprod": lambda z: jt.cumprod(z, 0),
    "kron": lambda z: jt.kron(z, z),
}
TWO = {
    "add": jt.add, "subtract": jt.subtract, "multiply": jt.multiply, "divide": jt.divide, "power": jt.power,
    "matmul": jt.matmul, "float_power": jt.float_power, "outer": lambda z, w: jt.outer(z[0], w[0]),
    "dot": lambda z, w: jt.dot(z[0], w[1]), "vdot": lambda z, w: (z.conj() * w).sum(), "where": lambda z, w: jt.where(
        z.real > 0, z, w), "mse": lambda z, w: (jt.abs(z - w) ** 2).mean(),
}  # fmt: skip


def points(k):
    rng = np.random.default_rng(k)
    return (rng.uniform(0.3, 0.9, (2, 2)) * rng.choice([-1, 1], (2, 2))) + 1j * rng.uniform(0.3, 0.9, (2, 2))


def test_gradients_of_at_least_60_complex_operators_are_what_differences_say():
    asked = [*((n, f, 1) for n, f in ONE.items()), *((n, f, 2) for n, f in TWO.items())]
    assert len(asked) >= 60

    for name, function, inputs in asked:
        arrays = [points(k) for k in range(inputs)]

        found = judges.our_orders(function, arrays, 1)

        judges.expect_equal(found, judges.by_differences(function, arrays, 1), 2e-6, name)


def test_the_parts_are_attributes_methods_functions_and_can_be_assigned_to():
    z = jt.array([1 + 2j, 3 - 4j])
    z.imag = jt.array([5.0, 6.0])
    z.real = 7

    assert z.tolist() == [7 + 5j, 7 + 6j]
    for part in (z.real, z.real(), jt.real(z)):
        assert part.tolist() == [7, 7]


def test_an_assigned_part_hands_its_gradient_on():
    z, w = jt.array([1 + 2j]), jt.array([3.0])
    y = z * 1
    y.imag = w

    dz, dw = jt.grad(jt.abs(y) ** 2, [z, w])

    assert (dz.item(), dw.item()) == (2, 6)


@pytest.mark.parametrize("decimals", [0, 1, -1])
def test_both_parts_are_rounded_halves_to_the_even_digit(decimals):
    z = np.array([0.5 + 1.5j, -2.5 + 0.25j, 15 + 25j, 12.34 - 56.78j])

    np.testing.assert_allclose(jt.round(jt.array(z), decimals).numpy(), np.round(z, decimals), 1e-15)


def test_sets_of_complex_numbers_are_numpys_also_with_nan():
    z = np.array([2 + 1j, 1 + 2j, 1 - 1j, 2 + 1j, 0, complex(1, nan), complex(nan, 1), 1 + 2j, complex(nan, nan)])
    words = {"return_index": True, "return_inverse": True, "return_counts": True}
    square = z[[1, 1, 0, 2]].reshape(2, 2)

    ours, columns = jt.unique(jt.array(z), **words), jt.unique(jt.array(square), dim=1)
    with jt.flag_scope(backend="numba"):
        alone = jt.unique(jt.array(z[:5])).numpy()

    for mine, yours in zip(ours, np.unique(z, **words), strict=True):
        np.testing.assert_array_equal(mine.numpy(), yours)
    np.testing.assert_array_equal(alone, np.unique(z[:5]))
    np.testing.assert_array_equal(columns.numpy(), np.unique(square, axis=1))


def test_ramps_between_complex_numbers_are_numpys():
    for ends in ((0, 1j), (1 + 1j, 3 - 2j), (2j, 1)):
        for words in ({}, {"endpoint": False}):
            ours = jt.linspace(*ends, 5, "complex128", **words).numpy()
            np.testing.assert_allclose(ours, np.linspace(*ends, 5, **words), 1e-15, 1e-15)
    assert jt.linspace(0, 1j, 3).dtype == "complex64"
    np.testing.assert_allclose(jt.logspace(0, 1j, 4, dtype="complex128").numpy(), np.logspace(0, 1j, 4), 1e-14)
