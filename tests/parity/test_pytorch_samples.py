"""PyTorch's own samples, the first few of each function, forward and backward; `pytorch_samples` runs all of them."""

import warnings

import pytest

import jt_edu as jt
from tests.parity import pytorch_samples as samples

FEW = 3  # samples of each function, variant and dtype
SPECIAL = "digamma entr erf erfc erfcx erfinv i0e i1 i1e log_ndtr ndtr polygamma xlog1py zeta".split()
OTHERWISE = {  # what PyTorch says of these is not said here
    "as_strided": "strides of a part of a larger array",
    "bfloat16": "NumPy has no bfloat16 to compare",
    "einsum": "dots that the result leaves out are summed by PyTorch, and refused here as by NumPy",
    "gather": "an index without elements has any shape",
    "ldexp": "not of complex numbers", "logaddexp": "not of complex numbers", "logcumsumexp": "not of complex numbers",
    "new_full": "a device", "new_ones": "a device", "new_zeros": "a device",
    "nonzero": "as_tuple of a number",
    "norm": "jt.norm has no nuc: jt.linalg.norm has",
    "repeat_interleave": "output_size, which says what is known",
    "squeeze": "an axis that is longer than 1 is an error, as in NumPy",
    "tensordot": "axes that broadcast are refused, as by NumPy",
    "unfold": "of a number",
    "linalg.vander": "of a number",
}  # fmt: skip


NO_SAMPLES = {  # PyTorch has no such function, or tests it in another way
    "fft.Plan", "fft.fftfreq", "fft.plan", "fft.rfftfreq", "linalg.jacobi_rotations", "linalg.matrix_transpose",
}  # fmt: skip


def _asked(room):
    return [f"{room}.{name}" for name in getattr(jt, room).__all__]


@pytest.fixture
def database(torch):
    pytest.importorskip("expecttest")
    return samples.database()


def _check(torch, names, dtypes):
    faults, compared = [], 0
    with warnings.catch_warnings(), jt.flag_scope(backend="python"):
        warnings.simplefilter("ignore")
        for name in names:
            count = samples.examine(torch, name, dtypes, FEW)
            faults += [f"{name} {fault}" for fault in count.faults]
            compared += count.forward[1] + count.backward[1]
    assert compared, f"no sample of {names} could be asked for"
    assert not faults, "\n".join(faults[:5])


@pytest.mark.parametrize("name", [*_asked("fft"), *_asked("linalg"), *(f"special.{n}" for n in SPECIAL)])
def test_samples_of_science_agree_forward_and_backward(torch, database, name):
    entry = name if name in database else name.rpartition(".")[2]  # PyTorch has logdet, matmul, erf in one place only
    if not {name, entry} & {*OTHERWISE, *NO_SAMPLES}:
        _check(torch, [entry], samples.FORWARD + samples.BACKWARD)


@pytest.mark.parametrize("turn", range(16))
def test_complex_samples_of_all_functions_agree(torch, database, turn):
    names = [n for n in sorted(database) if "." not in n and n not in samples.NOT_VALUES and n not in OTHERWISE]

    _check(torch, [n for n in names if samples.ours(n) is not None][turn::16], ("complex64", "complex128"))


def test_a_wrong_answer_is_a_fault(torch, database, monkeypatch):
    monkeypatch.setattr(jt.fft, "fftshift", jt.fft.ifftshift)

    assert samples.examine(torch, "fft.fftshift").faults


def test_the_gradient_is_compared_as_well(torch, database, monkeypatch):
    monkeypatch.setattr(jt.linalg, "det", lambda x: jt.linalg.slogdet(x.detach()).logabsdet.exp() + 0 * x.sum())

    count = samples.examine(torch, "linalg.det", ("float64",), FEW)

    assert count.backward[0] < count.backward[1]
