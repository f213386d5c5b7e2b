"""PyTorch's words for devices: its usual script runs with another name of the module, on a GPU and without one."""

import copy

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import backends
from jt_edu.base.errors import ArgumentError
from jt_edu.nn import serialization

SCRIPT = """
import torch
import torch.backends.cudnn as cudnn
import torch.nn as nn
from torch.cuda.amp import GradScaler

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
torch.cuda.manual_seed_all(0)
torch.use_deterministic_algorithms(True)
deterministic, torch.backends.cudnn.benchmark = cudnn.deterministic, False

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler(device.type)
torch.cuda.reset_peak_memory_stats()
losses = []
for step in range(3):
    data, target = torch.randn(6, 4), torch.arange(6) % 2
    data, target = data.to(device, non_blocking=True), target.to(device, non_blocking=True)
    optimizer.zero_grad()
    with torch.autocast(device_type=device.type, dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(data), target)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    losses.append(loss.item())
torch.save(model.state_dict(), path)
again = torch.load(path, map_location=device, weights_only=True)
if device.type == "cuda":
    assert torch.cuda.max_memory_allocated(device) >= torch.cuda.memory_allocated() > 0
torch.cuda.empty_cache()
places = {str(p.device) for p in model.parameters()} | {str(p.device) for p in again.values()}
"""


def run(tmp_path):
    space = {"path": str(tmp_path / "net.pth")}
    try:
        exec(SCRIPT.replace("torch", "jt_edu"), space)  # noqa: S102 - the text above
    finally:
        jt.use_deterministic_algorithms(False)
    return space


def test_the_usual_script_of_pytorch_runs_and_a_gpu_has_a_cpus_losses(gpu, tmp_path, monkeypatch):
    there = run(tmp_path)
    assert there["places"] == {"cuda"} and gpu.launches and there["deterministic"]
    monkeypatch.setattr(jt.cuda, "is_available", lambda: False)
    here = run(tmp_path)

    assert here["places"] == {"cpu"}
    np.testing.assert_allclose(there["losses"], here["losses"], rtol=2e-3)


def test_a_device_is_a_word_with_a_type_and_an_index():
    found = [
        jt.device("cuda:1"),
        jt.device("cuda", 1),
        jt.device(1),
        jt.device(type="cpu"),
        jt.device(jt.device("cpu")),
    ]

    assert found == ["cuda:1"] * 3 + ["cpu"] * 2
    assert [(d.type, d.index) for d in found[2:4]] == [("cuda", 1), ("cpu", None)]
    assert copy.deepcopy(found[0]).index == 1 and {found[0]: 2}["cuda:1"] == 2


@pytest.mark.parametrize("name", ["cdua", "cuda:", "cuda:x", "cuda:-1", "", True, None, 1.5])
def test_what_is_no_name_of_a_device_is_refused(name):
    with pytest.raises(ArgumentError, match=r"device takes the name of one; found .*\. Try: jt\.device\('cpu'\)"):
        jt.device(name)


def test_inside_a_device_all_is_computed_there_and_afterwards_where_it_was(gpu):
    with jt.device("cuda") as there:
        assert (jt.zeros(3) + 1).device == there == jt.get_default_device() and jt.flags.use_cuda == 1
        with jt.device("cpu"):
            assert jt.get_default_device() == "cpu"
        assert jt.get_default_device() == "cuda"
    assert (jt.get_default_device(), jt.flags.use_cuda, jt.flags.backend) == ("cpu", 0, "numba")
    with jt.flag_scope(backend="python"):
        with jt.device("cuda"):
            pass
        assert jt.flags.backend == "python"


def test_a_device_gives_back_the_backend_that_was_chosen_before_whatever_was_set_inside(gpu):
    with jt.flag_scope(backend="python"):
        with jt.device("cuda"):
            jt.flags.use_cuda, jt.flags.backend = 0, "numba"
        assert (jt.flags.backend, jt.flags.use_cuda) == ("python", 0)


def test_ranks_that_enter_one_device_get_back_what_each_of_them_had(gpu):
    there = jt.device("cuda")

    def program(comm):
        jt.flags.backend = ("python", "numba")[comm.rank]
        with there:
            comm.barrier()
        return jt.flags.backend

    assert jt.simulate(2)(program) == ["python", "numba"]


def test_where_a_var_lies_is_told_without_a_look_at_what_is_installed(monkeypatch):
    monkeypatch.setattr(backends, "_announced", lambda: pytest.fail("it takes milliseconds"))
    assert jt.ones(2).device == jt.device("cpu") and jt.device("cuda:1").index == 1


def test_cuda_takes_the_name_of_a_device(gpu):
    for name in (jt.device("cuda"), "cuda", "cuda:0", jt.device("cuda", 0), 0, None):
        assert jt.ones(2).cuda(name).device == jt.nn.Linear(1, 1).cuda(name).weight.device == "cuda"
    with pytest.raises(ArgumentError, match="found non_blocking=7"):
        jt.ones(2).cuda(non_blocking=7)


def test_to_another_var_is_its_dtype_and_its_device(gpu):
    there = jt.ones(2).half().cuda()
    found = jt.ones(2).to(there)
    weight = jt.nn.Linear(1, 1).to(there).weight
    assert (found.device, str(found.dtype)) == (weight.device, str(weight.dtype)) == ("cuda", "float16")
    assert found.to(jt.array([1])).device == "cpu"


def test_a_copy_is_a_var_of_its_own():
    x = jt.ones(2)
    assert x.to("cpu") is x and x.to("cpu", copy=True) is not x


@pytest.mark.parametrize("moved", [jt.ones(2), jt.nn.ReLU()])
def test_a_wish_not_to_wait_is_yes_or_no(moved):
    assert moved.to("cpu", non_blocking=True) is moved
    with pytest.raises(ArgumentError, match="non_blocking"):
        moved.to("cpu", non_blocking="yes")


def test_words_for_the_memory_and_the_kind_of_a_gpu(gpu):
    x = jt.array(np.ones(1000, "float32")).cuda().sync()
    used = jt.cuda.memory_allocated()
    (x * 2).sync()
    found = jt.cuda.get_device_properties("cuda:0")

    assert used >= 4000 and jt.cuda.max_memory_allocated("cuda") > used and jt.cuda.memory_reserved(0) > used
    jt.cuda.reset_peak_memory_stats()
    jt.cuda.empty_cache()
    assert jt.cuda.max_memory_allocated() == jt.cuda.memory_allocated() == jt.cuda.memory_reserved()
    assert (found.total_memory, found.multi_processor_count, found.major) == (80 << 30, 132, 9)
    assert found.name == jt.cuda.get_device_name(jt.device("cuda")) and jt.cuda.is_bf16_supported()
    with pytest.raises(ArgumentError, match="a device is a number from 0 to 0"):
        jt.cuda.get_device_properties("cuda:7")


def test_numbers_of_a_file_that_share_memory_share_it_on_the_gpu(gpu, tmp_path):
    x = jt.ones(2)
    jt.save({"a": x, "b": [x]}, tmp_path / "both.pth")
    found = jt.load(tmp_path / "both.pth", "cuda")

    assert found["a"] is found["b"][0] and found["a"].device == "cuda"
    (found["a"] * 3).sum().backward()
    assert found["a"].grad.tolist() == [3.0, 3.0]  # of a leaf, as without a device
    with pytest.raises(ArgumentError, match=r"load runs no code of a file; found weights_only=False"):
        jt.load(tmp_path / "both.pth", weights_only=False)


def test_a_list_of_a_file_that_holds_itself_is_refused_on_a_gpu(gpu, monkeypatch):
    ring = []
    ring.append(ring)
    monkeypatch.setattr(serialization, "_read", lambda _: ring)
    with pytest.raises(ArgumentError, match=r"ring\.pth holds plain arrays and nothing else"):
        jt.load("ring.pth", "cuda")
