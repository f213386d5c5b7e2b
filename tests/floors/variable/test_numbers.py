"""Numbers of the graph: a Var without axes that was made from nothing is a Var like any other.

A number of NumPy's, which its functions answer with, is as weak as one of Python's; its arrays are not.
"""

import operator

import numpy as np
import pytest

import jt_edu as jt

pytestmark = pytest.mark.usefixtures("python_backend")

NUMBERS = {
    "full": lambda value: jt.full((), value),
    "zeros": lambda value: jt.zeros(()).assign(value),
    "like": lambda value: jt.array(1.0).zeros_like() if value == 0 else jt.array(1.0).ones_like(),
}


@pytest.mark.parametrize("make", [lambda: jt.ones(()), lambda: jt.full((), 1.0), lambda: jt.ones_like(jt.array(3.0)),
                                  lambda: jt.ones_like(jt.array(3.0)).stop_grad().start_grad()])  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_gradient_of_a_number_has_no_axes_whatever_it_meets(make, dtype):
    w, x = make(), jt.array(np.arange(3.0, dtype=dtype))

    found = jt.grad(((w * x - 3) ** 2).sum(), w)

    assert found.shape == () and found.item() == pytest.approx(-8.0)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("rule", [lambda p: jt.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: jt.optim.Adam(p, lr=0.1)])
def test_a_parameter_that_was_made_as_a_number_is_trained_as_one_that_was_made_from_a_number(compiled, rule):
    trained = []
    for w in (jt.ones(()), jt.array(1.0)):
        optimizer = rule([w])

        def step(x, w=w, optimizer=optimizer):
            optimizer.step(((w * x - 3) ** 2).sum())

        run = jt.compile(step) if compiled else step
        for k in range(4):
            run(jt.array(np.full(2, 1 + k, np.float32)))
        trained.append((w.shape, w.item()))

    assert trained[0] == trained[1]


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_number_that_a_step_finds_is_read_at_each_replay(kind, dtype):
    scale = NUMBERS[kind](1.0)
    step = jt.compile(lambda x: x * scale)
    x = np.ones(2, dtype)

    seen = [step(x).tolist()]
    for value in (5.0, 7.0):
        scale.assign(value)
        seen.append(step(x).tolist())

    assert seen == [[1, 1], [5, 5], [7, 7]]


def test_a_number_that_a_step_counts_with_is_read_as_another_dtype():
    count = jt.array(0).ones_like()

    @jt.compile
    def step(x):
        before = x * count
        count.update(count * 2)
        return before

    assert [step(np.ones(1)).item() for _ in range(4)] == [1, 2, 4, 8]


@pytest.mark.parametrize("kind", NUMBERS)
def test_a_step_may_be_given_a_number(kind):
    step = jt.compile(lambda x, scale: (x * scale, scale))
    x = np.ones(2, "float32")

    answers = [[a.tolist() for a in step(x, NUMBERS[kind](value))] for value in (1.0, 0.0, 1.0)]

    assert answers == [[[1, 1], 1], [[0, 0], 0], [[1, 1], 1]]


def test_a_var_that_became_a_number_between_two_steps_moves_as_before():
    w = jt.array(1.0)
    step = jt.compile(lambda x: w.update(w + x.sum()))

    for _ in range(3):
        w.update(w.zeros_like())
        step(np.ones(2, "float32"))

    assert (w.item(), (jt.ones(3) * w).tolist()) == (2, [2, 2, 2])
    assert jt.grad((jt.ones(3) * w).sum(), w).item() == 3


def test_a_step_may_answer_with_a_number():
    x = jt.array(2.0)
    step = jt.compile(lambda x: (jt.grad(x * 3, x), x.zeros_like()))

    assert [[a.item() for a in step(x)] for _ in range(3)] == [[3, 0]] * 3


def test_random_numbers_that_nobody_reads_are_drawn_at_each_replay_too():
    def step(x):
        _ = jt.rand(3)
        return x + jt.rand(3), jt.randn(2)[0]

    x, replayed = np.zeros(3, "float32"), jt.compile(step)
    jt.set_global_seed(4)
    lazy = [[a.tolist() for a in step(jt.array(x))] for _ in range(3)]
    jt.set_global_seed(4)

    assert [[a.tolist() for a in replayed(x)] for _ in range(3)] == lazy


@pytest.mark.parametrize("zero", [np.float32(0), np.float16(0), 0j, np.complex64(0)])
def test_zero_and_minus_zero_are_two_arguments_of_whatever_type(zero):
    step = jt.compile(lambda x, k: x / (x * k.real))
    x = np.ones(1, "float32")

    assert [step(x, k).item() for k in (zero, -zero)] == [np.inf, -np.inf]


def test_nan_of_numpy_is_captured_once():
    calls = []
    step = jt.compile(lambda x, k: calls.append(1) or x * k)

    for _ in range(3):
        step(np.ones(1, "float32"), np.float32("nan"))

    assert len(calls) == 1


@pytest.mark.parametrize("fill", [0.0, -0.0, np.inf, np.nan, 1.5, 3])
def test_what_is_read_outside_is_the_fill_and_not_another_that_is_equal_to_it(fill):
    def look():
        return jt.array([1.0]).reindex((2,), lambda i: i - 1, fill=fill)

    assert look().node.op is look().node.op  # a plan is found again
    np.testing.assert_array_equal(look().numpy()[0], np.float32(fill))
    assert np.signbit(look().numpy()[0]) == np.signbit(np.float32(fill))


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(
    "fill", [complex(0, np.inf), complex(1, -np.inf), complex(-0.0, -0.0), complex(np.nan, 2), 1 + 2j]
)
def test_a_complex_fill_keeps_both_of_its_parts(backend, fill):
    with jt.flag_scope(backend=backend):
        found = jt.array([1j]).reindex((2,), lambda i: i - 1, fill=fill).numpy()[0]

    for part in ("real", "imag"):
        np.testing.assert_array_equal(getattr(found, part), getattr(fill, part))
        assert np.signbit(getattr(found, part)) == np.signbit(getattr(fill, part))


def test_a_border_of_minus_zero_and_one_of_zero_are_not_taken_for_each_other():
    x = jt.array([1.0, 2.0])

    for value in (0.0, -0.0, 0.0, -0.0):
        np.testing.assert_array_equal(np.signbit(x.pad((1, 1), value=value).numpy()[[0, -1]]), np.signbit(value))


def test_none_is_no_number_and_equals_no_var():
    x = jt.array([1.0, 2.0])

    assert ((x == None), (x != None)) == (False, True)  # noqa: E711 - asked so
    assert (x == 1).tolist() == (x != 2).tolist() == [True, False]
    with pytest.raises(jt.DtypeError, match="found None"):
        x + None


TWO = (operator.add, operator.mul, operator.truediv, operator.pow, operator.mod, operator.floordiv, operator.lt,
       operator.eq, jt.maximum, jt.minimum, jt.fmax, jt.hypot, jt.copysign, jt.logaddexp)  # fmt: skip
BESIDE = {
    **{f.__name__: f for f in TWO},
    **{f"{f.__name__}, the other way round": lambda x, n, f=f: f(n, x) for f in TWO},
    "clamp": lambda x, n: x.clamp(n), "clamp from both sides": lambda x, n: jt.clip(x, -n, n),
    "where": lambda x, n: jt.where(x > 1, x, n), "where, the other way round": lambda x, n: jt.where(x > 1, n, x),
    "lerp": lambda x, n: jt.lerp(x, x + 1, n), "lerp to a number": lambda x, n: jt.lerp(x, n, 0.25),
    "masked_fill": lambda x, n: x.masked_fill(x > 1, n), "pad": lambda x, n: jt.pad(x, (1, 1), value=n),
    "full_like": jt.full_like, "add": lambda x, n: jt.add(x, x, alpha=n), "addcmul": lambda x, n: jt.addcmul(x, n, n),
    "isclose": jt.isclose, "in place": lambda x, n: operator.imul(x.clone(), n),
    "NumPy's own": lambda x, n: np.add(n, x),
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "int64", "complex64"])
def test_a_number_of_numpys_is_as_weak_as_one_of_pythons(name, dtype):
    def answer(number):
        try:
            found = BESIDE[name](jt.array([1.0, 2.0, 3.0]).cast(dtype), number)
            return found.dtype, found.tolist()
        except jt.JtError as error:
            return type(error)

    numbers = [(2.0, np.float64), (0.5, np.float32), (0.5, np.float16), (2, np.int64), (2, np.int8), (True, np.bool_)]
    for number, of_numpy in numbers:
        if of_numpy is not np.bool_ or "both sides" not in name:  # NumPy knows no -np.True_
            assert answer(of_numpy(number)) == answer(number), of_numpy


def test_arrays_of_numpys_keep_their_dtype_and_so_does_what_is_made_of_a_number():
    x = jt.ones((2, 2))

    assert (x @ x / np.sqrt(64.0)).dtype == "float32"
    assert [(x * np.array(2.0)).dtype, (np.array(2.0) * x).dtype, (x + np.ones(2)).dtype] == ["float64"] * 3
    assert [v.dtype for v in (jt.array(np.float64(2)), jt.full((2,), np.float64(1)))] == ["float64"] * 2


def test_a_number_of_numpys_is_checked_as_one_of_pythons():
    whole = jt.array([1, 2], dtype="uint8")

    with pytest.raises(jt.DtypeError, match="0 to 255; found 300"):
        whole + np.int64(300)
    with pytest.raises(jt.DtypeError, match="negative power"):
        whole ** np.int64(-1)
    with pytest.raises(jt.DtypeError, match="1j"):
        jt.full_like(whole, np.complex64(1j))


def test_a_part_is_an_attribute_a_method_and_a_function():
    z = jt.array([1 + 2j, 3 - 4j])

    assert [v.tolist() for v in (z.real, z.real(), jt.real(z), np.real(z), 2 * z.real / 2)] == [[1, 3]] * 5
    assert [v.tolist() for v in (z.imag, z.imag(), jt.imag(z), np.imag(z), z.imag + 0)] == [[2, -4]] * 5
    assert (z.real.shape, z.real[1].item(), z.imag.sum().item(), jt.ones(2).imag.tolist()) == ((2,), 3, -2, [0, 0])
    assert not callable(z)


def test_what_is_assigned_to_a_part_leaves_the_other_as_it_is():
    z, x = jt.array([1 + 2j, 3 - 4j]), jt.ones(2)

    z.real += 1
    z.imag = np.array([5.0, 6.0])
    x.real = 7

    assert (z.tolist(), z.dtype, x.tolist()) == ([2 + 5j, 4 + 6j], "complex64", [7, 7])
    with pytest.raises(jt.DtypeError, match="no imaginary part"):
        x.imag = 1
    with pytest.raises(jt.DtypeError, match="as real numbers"):
        z.real = 1j


def test_matrices_and_elements_have_the_attributes_of_numpy_and_pytorch():
    z = jt.array([[1 + 2j, 3.0]])

    assert (z.H.tolist(), z.mH.tolist(), z.itemsize, jt.ones(1).half().itemsize) == ([[1 - 2j], [3]],) * 2 + (8, 2)
