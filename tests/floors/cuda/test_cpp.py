"""C++ of kernels: it says what the kernel says, in two languages, and refuses what it cannot say."""

import contextlib

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import cuda
from jt_edu.backends import register
from tests.floors.cuda.cpp_runner import GXX, Collected, Compiled, OfCpp, compiled
from tests.floors.cuda.kernels import CASES, made

needs_gxx = pytest.mark.skipif(GXX is None, reason="g++ compiles the C++ of kernels for this machine")
WAVES = [("cuda", 32), ("hip", 32), ("hip", 64)]


def copies(arguments):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


@needs_gxx
@pytest.mark.parametrize(("language", "wave"), WAVES)
def test_kernels_of_a_learner_compute_the_same_in_cpp(language, wave, tmp_path):
    kernels = {f"case{k}": made(case.text, case.name) for k, case in enumerate(CASES)}
    texts = {
        key: cuda.source(kernel, *case.arguments, language=language)
        for (key, kernel), case in zip(kernels.items(), CASES, strict=True)
    }

    launches = compiled(texts, tmp_path, wave)

    for (key, kernel), case in zip(kernels.items(), CASES, strict=True):
        given = copies(case.arguments)
        launches(key, kernel)[case.grid, case.block](*given)
        np.testing.assert_allclose(given[-1], case.result, rtol=1e-5, err_msg=f"{case.name}\n{texts[key]}")


@contextlib.contextmanager
def on(backend):
    register(backend)
    with jt.flag_scope(backend=backend.name):
        yield backend


def numbers(*shape):
    return jt.array(np.random.default_rng(len(shape)).standard_normal(shape).astype("float32"))


def embedding_gradient():
    table, places = numbers(10, 4), jt.array(np.array([1, -2, 1, 3]))
    return jt.grad((table[places] ** 2).sum(), table)


EXPRESSIONS = {
    "multiply and add": lambda: numbers(4, 5) * numbers(4, 5) + numbers(5),
    "a sum of all": lambda: (numbers(7, 50) * 2).sum(),
    "sums of rows": lambda: numbers(3, 300).mean(1),
    "softmax": lambda: jt.nn.softmax(numbers(4, 300), -1),
    "a product with relu": lambda: jt.nn.relu(numbers(20, 18) @ numbers(18, 17) + numbers(17)),
    "a convolution": lambda: jt.nn.conv2d(numbers(1, 2, 6, 6), numbers(3, 2, 3, 3)),
    "the gradient of an embedding": embedding_gradient,
    "integers that round down": lambda: (jt.arange(-7, 7) // 3) * (jt.arange(-7, 7) % 3),
    "floats that round down": lambda: (numbers(30) // 0.25) + (numbers(30) % -0.25),
    "the largest, with nan": lambda: jt.maximum(numbers(4), jt.array([np.nan, 0.0, 1.0, np.inf])),
    "functions": lambda: jt.sigmoid(numbers(9)).exp().log1p().tanh() + numbers(9).abs().sqrt() * numbers(9).sign(),
    "conditions": lambda: jt.where((numbers(9) > 0) & (numbers(9) < 1), numbers(9), 2.0),
}  # fmt: skip


@pytest.fixture(scope="module")
def interpreted():
    """What the interpreter computes, and the sources of the kernels."""
    with on(Collected()) as backend:
        wanted = {name: ask().numpy() for name, ask in EXPRESSIONS.items()}
    return wanted, backend


@needs_gxx
@pytest.mark.parametrize(("language", "wave"), WAVES)
def test_generated_kernels_compute_the_same_in_cpp(language, wave, tmp_path, interpreted):
    wanted, first = interpreted
    before = Compiled.launches
    with on(OfCpp(compiled(first.texts(language), tmp_path, wave))):
        found = {name: ask().numpy() for name, ask in EXPRESSIONS.items()}

    assert Compiled.launches - before >= len(first.sources) >= len(EXPRESSIONS)
    for name in EXPRESSIONS:
        np.testing.assert_allclose(found[name], wanted[name], rtol=2e-5, atol=1e-6, err_msg=name)
