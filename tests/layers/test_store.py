"""Files of parameters: arrays are read, programs are not."""

import io
import os
import tracemalloc
import zipfile

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn


def test_another_file_that_is_no_archive_is_told_so(tmp_path):
    (tmp_path / "net.npz").write_text("weights")

    with pytest.raises(jt.ArgumentError, match=r"read from an \.npz file"):
        nn.Linear(3, 2).load(tmp_path / "net.npz")


def packed(**arrays):
    """What `numpy.savez_compressed` writes."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def entry(data, name="weight.npy", method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr(name, data)
    return file.getvalue()


def head(shape, dtype="<f4"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()


def spoilt(data, at=0.5, byte=b"\xff"):
    place = int(len(data) * at)
    return data[:place] + byte * 8 + data[place + 8 :]


NOISE = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
MEGABYTES = 300
HOSTILE = {  # functions, because some take a while to pack, and only one worker needs them
    "packed data that are spoilt": lambda: spoilt(packed(weight=NOISE, bias=NOISE[:, 0]), 0.25),
    "a table that is spoilt": lambda: spoilt(packed(weight=NOISE, bias=NOISE[:, 0]), 0.8, b"\x01"),
    "a shape that is larger than the data": lambda: entry(head((10**15,)) + bytes(24)),
    "a shape that is no number of bytes": lambda: entry(head((2**62, 2**62)) + bytes(24)),
    "a shape below zero": lambda: entry(head((-2, -3)) + bytes(24)),
    "data that are larger than the shape": lambda: entry(head((2, 3)) + bytes(MEGABYTES << 20)),
    "a head without an end": lambda: entry(b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * (MEGABYTES << 20)),
    "a head of nonsense": lambda: entry(b"\x93NUMPY\x01\x00\x10\x00{'descr': [[[[[["),
    "a head that is no .npy file": lambda: entry(b"weights"),
    "no head": lambda: entry(b""),
    "another version": lambda: entry(b"\x93NUMPY\x09\x00" + bytes(64)),
    "objects": lambda: entry(head((2, 3), "|O") + bytes(48)),
    "letters": lambda: packed(weight=np.full((2, 3), "a"), bias=np.zeros(2)),
    "a bomb of the right name": lambda: packed(weight=np.zeros(MEGABYTES << 18, np.float32), bias=np.zeros(2)),
    "a bomb of another name": lambda: packed(
        weight=NOISE, bias=np.zeros(2), bomb=np.zeros(MEGABYTES << 18, np.float32)
    ),
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("made", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_one_clear_error_and_takes_no_memory(made, strict, tmp_path):
    file, net, data = tmp_path / "net.npz", nn.Linear(3, 2), made()
    file.write_bytes(data)
    before = net.weight.numpy().copy()
    tracemalloc.start()

    if strict or b"bomb.npy" not in data:  # what nobody asks for is passed over
        with pytest.raises(jt.JtError) as caught:
            net.load(file, strict=strict)
        assert isinstance(caught.value, ValueError | TypeError)
        np.testing.assert_array_equal(net.weight.numpy(), before)
    else:
        assert net.load(file, strict=False).unexpected == ["bomb"]

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MEGABYTES << 18


def test_numbers_that_are_spoilt_are_told_of_the_file(tmp_path):
    file, layer = tmp_path / "net.npz", nn.Linear(100, 50, bias=False)  # more than is read to know the shape
    layer.save(file)
    numbers = layer.weight.numpy()
    file.write_bytes(file.read_bytes().replace(numbers.tobytes(), (-numbers).tobytes()))

    with pytest.raises(jt.ArgumentError, match=r"net\.npz holds plain arrays and nothing else; found Bad CRC"):
        layer.load(file)


def test_where_memory_ends_the_file_is_not_blamed(tmp_path, monkeypatch):
    file, layer = tmp_path / "net.npz", nn.Linear(3, 2)
    layer.save(file)

    def full(*args, **named):
        raise MemoryError

    monkeypatch.setattr(np.lib.format, "read_array", full)
    with pytest.raises(MemoryError):
        layer.load(file)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_arrays_are_read_however_they_are_packed(method, tmp_path):
    file, layer = tmp_path / "net.npz", nn.Linear(3, 2, bias=False)
    file.write_bytes(entry(head((2, 3)) + NOISE.tobytes(), method=method))

    layer.load(file)

    np.testing.assert_array_equal(layer.weight.numpy(), NOISE)


def test_a_hook_before_loading_is_given_arrays(tmp_path):
    layer, file = nn.Linear(3, 2, bias=False), tmp_path / "net.npz"
    np.savez(file, kernel=NOISE.T)
    layer.register_load_state_dict_pre_hook(lambda module, state, prefix: state.update(weight=state.pop("kernel").T))

    layer.load(file)

    np.testing.assert_array_equal(layer.weight.numpy(), NOISE)


def test_what_is_no_file_is_told_and_not_waited_for(tmp_path):
    layer, pipe = nn.Linear(1, 1), tmp_path / "pipe"
    os.mkfifo(pipe)

    for path in (pipe, tmp_path):
        with pytest.raises(jt.ArgumentError, match="a folder, a pipe or a device"):
            layer.load(path)
    with pytest.raises(jt.ArgumentError, match=r"written to a file; found the folder .*Try: .*net\.npz"):
        layer.save(tmp_path)
    for odd in (None, 3, b"net.npz"):
        with pytest.raises(jt.ArgumentError, match="given by its path"):
            layer.load(odd)
        with pytest.raises(jt.ArgumentError, match="given by its path"):
            layer.save(odd)
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_file_that_is_open_is_read():
    layer, other, file = nn.Linear(2, 1), nn.Linear(2, 1), io.BytesIO()
    np.savez(file, **{name: var.numpy() for name, var in layer.state_dict().items()})

    other.load(file)

    assert other.weight.tolist() == layer.weight.tolist()


@pytest.mark.parametrize("name", ["net.npz", "net.NPZ", "net", "v1.0"])
def test_a_name_that_promises_nothing_else_is_taken(name, tmp_path):
    layer = nn.Linear(3, 2)
    layer.save(str(tmp_path / name))

    assert nn.Linear(3, 2).load(tmp_path / name) == ([], [])


def test_a_state_that_cannot_be_computed_leaves_every_parameter_as_it_was():
    net = nn.Linear(2, 1)
    before = net.weight.tolist(), net.bias.tolist()
    bad = {"bias": jt.zeros(1), "weight": jt.ones(3)[jt.array([[6, 6]]) + 1]}

    with pytest.raises(jt.RangeError):
        net.load_state_dict(bad)

    assert (net.weight.tolist(), net.bias.tolist()) == before
