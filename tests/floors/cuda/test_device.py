"""Which GPUs there are, and what is said where there is none: row C9 of what was promised."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import cuda
from jt_edu.cuda import device, driver
from tests.floors.cuda.fake_driver import FakeLibrary

NAMES = ("Fake A", "Fake B", "Fake C")


@cuda.jit
def ones(out):
    out[cuda.grid(1)] = 1


def three(card, monkeypatch, visible=None):
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    return card(FakeLibrary(NAMES))


@pytest.mark.parametrize(
    ("visible", "names"),
    [(None, "ABC"), ("1", "B"), ("2,0", "CA"), (" 0 , 1", "AB"), ("1,9,0", "B"), ("0,-1,2", "A")],
)
def test_the_environment_says_which_gpus_there_are_and_in_which_order(card, monkeypatch, visible, names):
    three(card, monkeypatch, visible)

    assert cuda.device_count() == len(names)
    assert [cuda.get_device_name(k) for k in range(len(names))] == [f"Fake {name}" for name in names]
    assert cuda.get_device_capability(0) == (9, "ABC".index(names[0]))
    assert cuda.current_device() == 0


@pytest.mark.parametrize("visible", ["", "-1", "none"])
def test_where_the_environment_hides_all_gpus_kernels_are_interpreted(card, monkeypatch, visible):
    library = three(card, monkeypatch, visible)
    out = np.zeros(4)
    ones[1, 4](out)

    assert (cuda.is_available(), cuda.device_count(), cuda.memory_stats()) == (False, 0, {})
    assert (out.tolist(), library.launches) == ([1] * 4, [])
    with pytest.raises(jt.BackendError, match=r"this needs a GPU; found error 100.*CUDA_VISIBLE_DEVICES"):
        cuda.set_device(0)


def test_each_call_that_finds_no_gpu_has_an_error_of_its_own(card, monkeypatch):
    three(card, monkeypatch, "none")
    errors = []
    for _ in range(2):
        with pytest.raises(jt.BackendError, match="this needs a GPU") as refused:
            cuda.get_device_name()
        errors.append(refused.value)

    assert errors[0] is not errors[1]  # or else its traceback would grow


def test_a_change_of_the_environment_after_the_start_is_told_and_changes_nothing(card, monkeypatch):
    three(card, monkeypatch, "2,0")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    with pytest.warns(UserWarning, match="is '1' now, but was '2,0' when the GPUs were counted"):
        assert cuda.device_count() == 2
    with pytest.warns(UserWarning, match="set it before Python starts"):
        cuda.set_device(1)
    assert cuda.get_device_name() == "Fake A"


@pytest.mark.parametrize("wrong", [3, -1, 1.0, "0", None, True])
def test_a_device_that_is_not_there_is_refused_and_the_old_one_stays(card, monkeypatch, wrong):
    three(card, monkeypatch)
    cuda.set_device(2)
    for call in (cuda.set_device, cuda.get_device_name, cuda.get_device_capability):
        if wrong is None and call is not cuda.set_device:
            continue
        with pytest.raises(jt.ArgumentError, match=f"a number from 0 to 2.*found {wrong!r}"):
            call(wrong)
    assert (cuda.current_device(), cuda.get_device_name()) == (2, "Fake C")


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("cuInit", 100, "this needs a GPU; found error 100"),
        ("cuInit", 35, "the driver is as new as CUDA; found error 35 while starting the driver"),
        ("cuInit", 3, "the driver of the GPU is ready"),
        ("cuInit", 34, "there is a real driver"),
        ("cuInit", 802, "has started its GPUs.*nvidia-fabricmanager"),
        ("cuInit", 803, "have one version.*a restart of the machine"),
        ("cuInit", 804, "LD_LIBRARY_PATH without the folder of cuda-compat"),
        ("cuDeviceGetCount", 999, "the driver does what it is asked; found error 999 while counting GPUs"),
    ],
)
def test_a_driver_that_does_not_start_says_why_and_kernels_are_interpreted(card, name, code, words):
    card(FakeLibrary(**{name: code}))
    out = np.zeros(4)
    ones[1, 4](out)

    assert (cuda.is_available(), cuda.device_count(), out.tolist()) == (False, 0, [1] * 4)
    cuda.synchronize()
    for call in (cuda.current_device, cuda.get_device_name, cuda.get_device_capability, lambda: cuda.set_device(0)):
        with pytest.raises(jt.BackendError, match=words):
            call()


@pytest.mark.parametrize(
    ("name", "code", "kind", "words"),
    [
        ("cuDevicePrimaryCtxRetain", 101, jt.ArgumentError, "below jt.cuda.device_count"),
        ("cuDevicePrimaryCtxRetain", 46, jt.BackendError, "the GPU is free; .*nvidia-smi, which tells who has it"),
        ("cuMemcpyHtoDAsync_v2", 1, jt.BackendError, "sizes and addresses that the GPU has; .*fewer blocks"),
        ("cuMemAllocAsync", 801, jt.BackendError, "pools of memory"),
        ("cuModuleLoadData", 209, jt.BackendError, "machine code of this GPU"),
        ("cuModuleLoadData", 222, jt.BackendError, "text that the driver understands"),
        ("cuLaunchKernel", 1, jt.BackendError, "found error 1 while launching ones with 4 threads in a block"),
        ("cuLaunchKernel", 701, jt.KernelError, "fewer threads in a block"),
        ("cuMemcpyHtoDAsync_v2", 700, jt.KernelError, r"touches its own arrays.*\(CUDA_ERROR_ILLEGAL_ADDRESS\)"),
    ],
)
def test_what_the_driver_cannot_do_is_told_in_words(card, name, code, kind, words):
    card(FakeLibrary(**{name: code}))
    with pytest.raises(kind, match=words):
        cuda.jit(ones.function)[1, 4](np.zeros(4))


def test_a_gpu_without_a_compiler_is_none_for_kernels_and_the_way_to_one_is_told(card, monkeypatch):
    library = card(FakeLibrary(NAMES))
    monkeypatch.setattr(device, "_has_compiler", lambda: False)
    out = np.zeros(4)
    ones[1, 4](out)

    assert (cuda.is_available(), cuda.device_count(), library.launches) == (False, 3, [])
    with pytest.raises(jt.BackendError, match=r"numba-cuda; found no numba-cuda. Try: pip install .*numpy<2\.5"):
        cuda.set_device(0)


def test_a_folder_of_kernels_that_were_compiled_elsewhere_stands_in_for_a_compiler(monkeypatch):
    monkeypatch.setattr(device, "find_spec", lambda _: None)
    assert not device._has_compiler.__wrapped__()
    monkeypatch.setenv("JT_EDU_CUBINS", "there")

    assert device._has_compiler.__wrapped__()


def test_here_there_is_a_driver_or_none_and_nothing_breaks():
    library = driver.libcuda()
    cards = device.Cards(library)

    assert (cards.missing is None) == (cards.count > 0)
    assert device.cards() is device.cards()
