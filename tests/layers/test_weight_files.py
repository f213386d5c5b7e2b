"""Weight files of PyTorch and safetensors: both ways, without either; they are asked for a second opinion."""

import tracemalloc
from collections import OrderedDict

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import models, nn
from tests.layers.mutants import zipped

DTYPES = (
    "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64 complex64 complex128"
).split()
ODD = {"bfloat16": [-0.0, 1.0078125, float("inf"), 1e-40, 3e38], "float16": [-0.0, 1.0009765625, 6e-8, 65504.0]}


@pytest.fixture(scope="session")
def safetensors(torch):
    """The package, for a second opinion."""
    return pytest.importorskip("safetensors.torch", reason="safetensors is not installed: python3 lab.py test does it")


def tensor(torch, dtype):
    return torch.tensor(ODD.get(dtype, [0, 1, 2])).to(getattr(torch, dtype))


def bits(torch, tensor):
    """The bytes of a tensor, so that -0.0 is not 0.0."""
    return tensor.contiguous().reshape(-1).view(torch.uint8).tolist()


def agrees(torch, var, tensor):
    """Whether a Var is what a tensor is: dtype, shape and numbers."""
    wanted = tensor.detach().resolve_conj().resolve_neg()
    wanted = (wanted.float() if wanted.dtype == torch.bfloat16 else wanted).numpy()
    return (
        f"torch.{var.dtype}" == str(tensor.dtype) and np.array_equal(var.numpy(), wanted) and var.shape == wanted.shape
    )


# ------------------------------------------------------------------------------------------------------------ PyTorch


@pytest.mark.parametrize("newer", [True, False], ids=["zip", "stream"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_each_dtype_of_pytorch_is_read_and_written_bit_by_bit(torch, dtype, newer, tmp_path):
    theirs = tensor(torch, dtype)
    torch.save([theirs, theirs[1]], tmp_path / "a.pth", _use_new_zipfile_serialization=newer)

    ours = jt.load(tmp_path / "a.pth")
    jt.save(ours, tmp_path / "b.pth")
    back = torch.load(tmp_path / "b.pth", weights_only=True)

    assert agrees(torch, ours[0], theirs)
    assert agrees(torch, ours[1], theirs[1])
    assert [back[0].dtype, bits(torch, back[0])] == [theirs.dtype, bits(torch, theirs)]
    assert back[1].shape == ()


WALKS = {
    "transposed": lambda t: t.t(),
    "every other": lambda t: t[1, ::2],
    "a column": lambda t: t[:, 2:3],
    "repeated": lambda t: t[:1].expand(5, 6),
    "a number": lambda t: t[2, 3],
    "nothing": lambda t: t[:0],
    "nothing of many": lambda t: t[:, 6:].reshape(0, 4, 7),
    "conjugate": lambda t: t.to(t.dtype.to_complex()).mul(1j).conj(),
    "negative": lambda t: t.to(t.dtype.to_complex()).mul(1j).conj().imag,
    "one that learns": lambda t: t.clone().requires_grad_(),
}


@pytest.mark.parametrize("newer", [True, False], ids=["zip", "stream"])
@pytest.mark.parametrize("walk", WALKS)
def test_however_a_tensor_walks_over_its_storage_it_is_read(torch, walk, newer, tmp_path):
    theirs = WALKS[walk](torch.arange(24.0).reshape(4, 6))
    torch.save(theirs, tmp_path / "a.pt", _use_new_zipfile_serialization=newer)

    assert agrees(torch, jt.load(tmp_path / "a.pt"), theirs)


@pytest.mark.parametrize(
    "array",
    [np.arange(6.0).reshape(2, 3).T, np.arange(9)[::-2], np.zeros((0, 3)), np.array(2.5), np.array([1, 2], ">i4")],
    ids=["transposed", "backwards", "empty", "a number", "another byte order"],
)
def test_however_an_array_lies_in_memory_pytorch_reads_it(torch, array, tmp_path):
    jt.save({"a": array}, tmp_path / "a.pth")

    assert np.array_equal(torch.load(tmp_path / "a.pth", weights_only=True)["a"].numpy(), array)
    assert np.array_equal(jt.load(tmp_path / "a.pth")["a"].numpy(), array)


@pytest.mark.parametrize("newer", [True, False], ids=["zip", "stream"])
def test_tensors_of_one_storage_stay_equal_and_are_written_once(torch, newer, tmp_path):
    tied = torch.randn(1000)
    torch.save({"in": tied, "out": tied.detach()}, tmp_path / "a.pth", _use_new_zipfile_serialization=newer)

    ours = jt.load(tmp_path / "a.pth")
    jt.save(ours, tmp_path / "b.pth")
    back = torch.load(tmp_path / "b.pth", weights_only=True)

    assert ours["in"] is ours["out"]
    assert (tmp_path / "b.pth").stat().st_size < 6000
    assert back["in"].data_ptr() == back["out"].data_ptr()


def test_a_tied_layer_of_ours_is_written_once(tmp_path):
    net = nn.Sequential(nn.Linear(100, 100, bias=False), nn.Linear(100, 100, bias=False))
    net[1].weight = net[0].weight

    net.save(tmp_path / "net.pth")

    assert (tmp_path / "net.pth").stat().st_size < 42_000
    assert sorted(jt.load(tmp_path / "net.pth")) == ["0.weight", "1.weight"]


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, -5, 300, 1 << 31, -(10**30), 2.5, float("-inf"), 1 + 2j, "", "grüße\n", [], (), {},
        [1, (2, [3]), {"a": {"b": None}}], {1: "int", "1": "text", None: 0, (1, "k"): 2.5},
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_tensor_comes_back_as_it_was_here_and_there(torch, value, tmp_path):
    jt.save(value, tmp_path / "a.pth")

    assert repr(jt.load(tmp_path / "a.pth")) == repr(value)
    assert repr(torch.load(tmp_path / "a.pth", weights_only=True)) == repr(value)
    for protocol in (2, 3, 4, 5):
        torch.save(value, tmp_path / "b.pth", pickle_protocol=protocol)
        assert repr(jt.load(tmp_path / "b.pth")) == repr(value)


def test_numbers_of_numpy_become_pythons_and_surrogates_stay(tmp_path):
    jt.save([np.float32(1.5), np.int64(3), np.bool_(True), "\ud800"], tmp_path / "a.pth")

    assert repr(jt.load(tmp_path / "a.pth")) == r"[1.5, 3, True, '\ud800']"


def test_pytorch_maps_a_file_of_ours_into_memory(torch, tmp_path):
    jt.save([np.arange(3), np.ones(5, np.float32)], tmp_path / "a.pth")

    tensors = torch.load(tmp_path / "a.pth", weights_only=True, mmap=True)

    assert [t.data_ptr() % 64 for t in tensors] == [0, 0]
    assert tensors[1].tolist() == [1.0] * 5


def test_the_same_value_makes_the_same_file(tmp_path):
    for name in ("a.pth", "b.pth", "a.safetensors", "b.safetensors"):
        jt.save({"x": np.arange(3)}, tmp_path / name)

    assert (tmp_path / "a.pth").read_bytes() == (tmp_path / "b.pth").read_bytes()
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()


def test_a_device_a_size_and_versions_are_read(torch, tmp_path):
    state = torch.nn.BatchNorm1d(2).state_dict()
    torch.save({"net": state, "at": torch.device("cuda", 1), "size": torch.Size([2, 3])}, tmp_path / "a.pth")

    ours = jt.load(tmp_path / "a.pth")

    assert (ours["at"], ours["size"]) == ("cuda:1", (2, 3))
    assert ours["net"]._metadata == dict(state._metadata)


def test_a_dict_as_python_2_wrote_it_is_read(tmp_path):
    pairs = b"](](X\x01\x00\x00\x00aK\x01e](X\x01\x00\x00\x00bK\x02ee"
    (tmp_path / "a.pth").write_bytes(zipped(b"\x80\x02ccollections\nOrderedDict\n" + pairs + b"\x85R."))

    assert jt.load(tmp_path / "a.pth") == OrderedDict(a=1, b=2)


def test_a_whole_network_is_refused_with_the_way_to_its_numbers(torch, tmp_path):
    torch.save(torch.nn.Linear(2, 1), tmp_path / "net.pth")

    with pytest.raises(
        jt.ArgumentError, match=r"Linear', which only its author.*Try: torch\.save\(net\.state_dict\(\)"
    ):
        nn.Linear(2, 1).load(tmp_path / "net.pth")


# ------------------------------------------------------------------------------------------------------------ networks


@pytest.mark.parametrize("suffix", [".pth", ".pt", ".bin", ".safetensors"])
def test_the_numbers_of_a_network_go_to_pytorch_and_come_back(torch, safetensors, suffix, tmp_path):
    ours = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(5, 2))
    theirs = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Linear(5, 2))
    file = tmp_path / f"net{suffix}"
    read = safetensors.load_file if suffix == ".safetensors" else lambda path: torch.load(path, weights_only=True)
    write = safetensors.save_file if suffix == ".safetensors" else torch.save

    for save in (ours.save, lambda path: jt.save(ours.state_dict(), path)):
        save(file)
        theirs.load_state_dict(read(file), strict=True)
        assert all(agrees(torch, var, theirs.state_dict()[name]) for name, var in ours.state_dict().items())

    with torch.no_grad():
        theirs[0].weight.add_(1)
    theirs[1].num_batches_tracked.add_(7)
    write(theirs.state_dict(), file)
    assert ours.load(file) == ([], [])
    assert all(agrees(torch, var, theirs.state_dict()[name]) for name, var in ours.state_dict().items())


def test_versions_of_names_are_those_of_pytorch(torch, tmp_path):
    """Some layers of PyTorch and torchvision read other names, or refuse to read, without them."""
    theirs = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2), torch.nn.InstanceNorm1d(2))
    ours = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.InstanceNorm1d(2))
    jt.save(ours.state_dict(prefix="net."), tmp_path / "net.pth")

    found = torch.load(tmp_path / "net.pth", weights_only=True)._metadata

    assert found == dict(theirs.state_dict(prefix="net.")._metadata)
    assert models.mnasnet0_5().state_dict()._metadata[""] == {"version": 2}


def test_a_file_of_a_whole_training_says_under_which_name_the_network_is(tmp_path):
    net = nn.Linear(2, 1)
    jt.save({"epoch": 3, "net": net.state_dict()}, tmp_path / "run.pth")

    with pytest.raises(jt.ArgumentError, match=r"found int under 'epoch'\. Try: net\.load_state_dict") as refused:
        net.load(tmp_path / "run.pth")

    eval(str(refused.value).partition("Try: ")[2].removesuffix("."), {"net": net, "jt": jt})  # noqa: S307


@pytest.mark.parametrize("suffix", [".npz", ".pth", ".safetensors"])
def test_a_file_is_taken_as_a_whole_or_not_at_all(suffix, tmp_path):
    net, file = nn.Linear(2, 1), tmp_path / f"net{suffix}"
    before = net.weight.tolist()
    jt.save({"weight": jt.ones(1, 2), "gamma": jt.ones(1)}, file)

    with pytest.raises(jt.nn.state_dict.StateError, match=r"missing bias; unexpected gamma.*strict=False"):
        net.load(file)
    assert net.weight.tolist() == before
    assert net.load(file, strict=False) == (["bias"], ["gamma"])
    assert net.weight.tolist() == [[1.0, 1.0]]


def test_nothing_is_read_of_a_file_whose_shapes_do_not_fit(tmp_path, monkeypatch):
    jt.save({"weight": jt.ones(3, 3), "bias": jt.ones(3)}, tmp_path / "net.pth")
    monkeypatch.setattr("jt_edu.nn.weight_files.torch_reader.filled", lambda *_: pytest.fail("it was read"))

    with pytest.raises(jt.ShapeError, match=r"weight of shape \(3, 3\) for \(1, 2\)"):
        nn.Linear(2, 1).load(tmp_path / "net.pth")


def test_a_hook_before_loading_is_given_arrays(tmp_path):
    layer = nn.Linear(3, 2, bias=False)
    jt.save({"kernel": jt.ones(3, 2, dtype="bfloat16")}, tmp_path / "net.pth")
    layer.register_load_state_dict_pre_hook(lambda module, state, prefix: state.update(weight=state.pop("kernel").T))

    layer.load(tmp_path / "net.pth")

    assert layer.weight.tolist() == [[1.0] * 3] * 2


# --------------------------------------------------------------------------------------------------------- safetensors


@pytest.mark.parametrize("dtype", [name for name in DTYPES if name != "complex128"])
def test_each_dtype_of_safetensors_is_read_and_written_bit_by_bit(torch, safetensors, dtype, tmp_path):
    theirs = tensor(torch, dtype)
    state = {
        "b": theirs,
        "a": theirs[1].clone(),
        "none": torch.zeros(0, 3).to(theirs.dtype),
        "byte": torch.ones(3).bool(),
    }
    safetensors.save_file(state, tmp_path / "a.safetensors")

    ours = jt.load(tmp_path / "a.safetensors")
    jt.save(ours, tmp_path / "b.safetensors")
    back = safetensors.load_file(tmp_path / "b.safetensors")

    assert all(agrees(torch, ours[name], state[name]) for name in state)
    assert all(
        [back[k].dtype, back[k].shape, bits(torch, back[k])] == [t.dtype, t.shape, bits(torch, t)]
        for k, t in state.items()
    )


def test_names_keep_their_order_and_numbers_are_aligned(safetensors, tmp_path):
    state = {"flags": np.ones(3, bool), "wide": np.ones(2), "half": np.ones(3, np.float16), "ä": np.ones(1, np.float32)}
    jt.save(state, tmp_path / "a.safetensors")

    assert list(jt.load(tmp_path / "a.safetensors")) == list(state)
    assert {name: t.tolist() for name, t in safetensors.load_file(tmp_path / "a.safetensors").items()} == {
        name: array.tolist() for name, array in state.items()
    }


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda: {"epoch": 3}, r"found int at \['epoch'\]\. Try: '.*net\.pth', which may hold more"),
        (lambda: {"net": {"weight": jt.ones(1)}}, r"found dict at \['net'\]"),
        (lambda: [jt.ones(1)], "found list"),
        (lambda: {1: jt.ones(1)}, "found int"),
        (lambda: {"z": np.ones(1, complex)}, r"found ndarray at \['z'\]"),
        (lambda: {"__metadata__": jt.ones(1)}, "found str"),
    ],
)
def test_what_safetensors_cannot_hold_is_named_with_its_place_and_no_file_is_touched(make, found, tmp_path):
    with pytest.raises(jt.ArgumentError, match=rf"a \.safetensors file holds a dict of names and arrays; {found}"):
        jt.save(make(), tmp_path / "net.safetensors")

    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------------------------------------- formats


@pytest.mark.parametrize("name", ["net.pkl", "net.h5", "net.NPY", "net.v1", "net.ckpt", "net.pth.tar"])
def test_an_unknown_suffix_is_an_error_that_names_those_which_are_known(name, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / name).write_bytes(b"\x80\x02N.")
    words = r"ends in \.npz, \.pth, \.pt, \.bin or \.safetensors; found .*"

    for call in (
        lambda: jt.save({}, tmp_path / name), lambda: jt.load(tmp_path / "there" / name),
        lambda: nn.Linear(1, 1).save(tmp_path / name), lambda: nn.Linear(1, 1).load(tmp_path / "there" / name),
    ):  # fmt: skip
        with pytest.raises(jt.ArgumentError, match=rf"{words}{name}"):
            call()
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_the_suffix_says_what_a_file_is_and_another_is_told_so(suffix, tmp_path):
    jt.save({"a": jt.ones(2)}, tmp_path / "a.npz")
    (tmp_path / "a.npz").rename(tmp_path / f"a{suffix}")

    with pytest.raises(jt.ArgumentError, match=rf"a\{suffix} is read as"):
        jt.load(tmp_path / f"a{suffix}")


def test_a_file_of_pytorch_that_is_called_npz_says_how_it_is_to_be_called(torch, tmp_path):
    for newer in (True, False):
        torch.save({"a": torch.ones(2)}, tmp_path / "a.npz", _use_new_zipfile_serialization=newer)

        with pytest.raises(jt.ArgumentError, match=r"as torch\.save or pickle\.dump writes it\. Try: a name.*\.pth"):
            jt.load(tmp_path / "a.npz")


@pytest.mark.parametrize("suffix", [".npz", ".pth", ".safetensors"])
def test_a_file_that_cannot_be_written_is_left_as_it_was(suffix, tmp_path, monkeypatch):
    file = tmp_path / f"a{suffix}"
    jt.save({"a": jt.ones(2)}, file)
    before = file.read_bytes()

    def full(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr("jt_edu.nn.weight_files.torch_writer.poured", full)
    monkeypatch.setattr("jt_edu.nn.weight_files.safetensors_file.poured", full)
    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(OSError, match="no space left"):
        jt.save({"a": jt.zeros(2)}, file)

    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_no_number_is_copied_that_is_read_as_a_whole(tmp_path):
    """A Var of a file takes as much memory as its numbers, and not as much again."""
    for suffix in (".pth", ".safetensors"):
        jt.save({"a": np.ones(5_000_000, np.float32)}, tmp_path / f"a{suffix}")
        tracemalloc.start()
        loaded = jt.load(tmp_path / f"a{suffix}")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert loaded["a"].numpy().sum() == 5_000_000
        assert peak < 1.2 * 20_000_000  # and a piece


def test_a_state_of_a_network_is_a_dict_that_a_compiled_step_takes():
    net = nn.Linear(2, 1)
    step = jt.compile(lambda state: state["weight"].sum())

    assert step(net.state_dict()).item() == pytest.approx(net.weight.numpy().sum())
    assert repr(net.state_dict()).startswith("{'weight': jt.Var")
