"""Weight files of strangers: whatever is in them, an error says so, memory and time stay small, and nothing is run."""

import sys
import tracemalloc
import zipfile

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.nn.weight_files.packed import BOMB
from tests.layers.mutants import (
    DANGEROUS,
    SIX,
    SOUND,
    entry,
    mutant,
    program,
    streamed,
    tabled,
    tensor,
    zipped,
)

BLOCKS, MUTANTS = 80, 125  # 10,000 files; with each commit every eighth block (tests/share.py)
RUNS = {"exec", "compile", "import", "marshal.loads", "os.system", "os.exec", "subprocess.Popen", "pickle.find_class"}
watched = {"file": None, "heard": []}


def listen(event, arguments):
    if watched["file"] and (event in RUNS or (event == "open" and str(arguments[0]) != watched["file"])):
        watched["heard"].append((event, arguments))


sys.addaudithook(listen)  # Python tells whatever is run or opened; it cannot be asked to stop


def read(file):
    """What is wrong in a file, or None. Nothing of it may run, or be written."""
    watched.update(file=str(file), heard=[])
    try:
        jt.load(file)
        nn.Linear(3, 2).load(file, strict=False)
    except jt.JtError as error:
        return str(error)
    finally:
        watched["file"] = None
        assert not watched["heard"], watched["heard"][:3]
    return None


@pytest.fixture(autouse=True)
def _warm(tmp_path, monkeypatch):
    """What Python loads when it is first needed, it loads now."""
    monkeypatch.chdir(tmp_path)
    b"x".decode("raw_unicode_escape")
    for suffix, data in SOUND.items():
        (tmp_path / f"sound{suffix}").write_bytes(data)
        jt.load(tmp_path / f"sound{suffix}")
        (tmp_path / f"sound{suffix}").unlink()
    with pytest.raises(jt.JtError):
        jt.load("sound.h5")


@pytest.mark.parametrize("block", range(BLOCKS))
def test_ten_thousand_mutants_are_read_or_refused_in_words(block, tmp_path):
    rng = np.random.default_rng([28, block])
    tracemalloc.start()

    refused = 0
    for number in range(MUTANTS):
        suffix, data = mutant(rng)
        file = tmp_path / f"m{number}{suffix}"
        file.write_bytes(data)
        wrong = read(file)
        refused += wrong is not None
        assert wrong is None or file.name in wrong, wrong
        file.unlink()

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < BOMB + (20 << 20)
    assert refused > MUTANTS / 2  # a flipped bit of a number, or of a name, is no error of its file
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------------------------- one kind at a time

STATE_OF_ONE = program({"weight": SIX.reshape(2, 3)})
WIDE = 1 << 40


def bomb():
    """300 MB of zeros, packed."""
    return zipped(*program({"weight": np.zeros(300 << 18, np.float32)}), method=zipfile.ZIP_DEFLATED)


def shared_bomb():
    """A hundred walks over a storage, each of them as long as a walk may be."""
    parts = [tensor([25_000_000], [0], offset=k)[2:-1] for k in range(6)]
    return zipped(b"\x80\x02](" + b"".join(parts) + b"e.", [SIX])


def overlapping():
    """Two members at one place: each alone would fit."""
    data = bytearray(zipped(tensor([6], [1]), [SIX, np.zeros(100_000, np.float32)]))
    begin = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 4) + 4)
    again = bytearray(data[begin : begin + 46 + 14])
    again[46:60] = b"archive/data/9"
    end = data.index(b"PK\x05\x06")
    tail = bytearray(data[end:])
    tail[8:12] = (4).to_bytes(2, "little") * 2
    tail[12:16] = (int.from_bytes(tail[12:16], "little") + len(again)).to_bytes(4, "little")
    return bytes(data[:end] + again + tail)


TORCH = {
    "a stride that leads out": (zipped(tensor([2, 3], [100, 1]), [SIX]), "ends at number 102 of a storage of 6"),
    "an offset that leads out": (zipped(tensor([6], [1], offset=1), [SIX]), "ends at number 6 of a storage of 6"),
    "a size that leads out": (zipped(tensor([WIDE, WIDE], [1, 1]), [SIX]), "ends at number"),
    "a size below zero": (zipped(tensor([-6], [1]), [SIX]), "one below 0"),
    "a stride below zero": (zipped(tensor([6], [-1]), [SIX]), "one below 0"),
    "more sizes than strides": (zipped(tensor([2, 3], [1]), [SIX]), "2 sizes and 1 strides"),
    "a storage that is longer than the file": (zipped(tensor([1], [1], count=WIDE), [SIX]), "a storage of .* in a"),
    "a storage that is not there": (zipped(tensor([1], [1], key="../7"), [SIX]), "no archive/data/../7 of 24 bytes"),
    "a tensor that repeats one number": (zipped(tensor([WIDE], [0]), [SIX]), "unpack to more than 100,000,000"),
    "several that repeat one number": (shared_bomb(), "unpack to more than 100,000,000"),
    "packed members": (bomb(), "compressed or encrypted"),
    "members that share their place": (overlapping(), "members that are larger than the file"),
    "a name that leads out": (zipped(*STATE_OF_ONE, more=[("../x", "")]), "twice or leads out of the file"),
    "most significant byte first": (zipped(*STATE_OF_ONE, more=[("archive/byteorder", "big")]), "byte order b'big'"),
    "a file of jt.save": (zipped(b"", root="x/y"), "a zip file without data.pkl in its only folder"),
    "a tar file": (b"tar" * 300, "neither a zip file nor a pickle"),
    "nothing": (b"", "neither a zip file nor a pickle"),
    "a set": (zipped(b"\x80\x04\x8f."), "the instruction EMPTY_SET"),
    "a tuple of tuples as a key": (zipped(b"\x80\x02})" + b"\x85" * 3 + b"Ns."), "a dict with a tuple as a key"),
    "a state for a list": (zipped(b"\x80\x02]}b."), "a state for a list"),
    "no end": (zipped(b"\x80\x02]]"), "pickle exhausted before seeing STOP"),
}  # fmt: skip


@pytest.mark.parametrize("sentence", TORCH)
def test_of_a_damaged_or_hostile_file_of_pytorch_is_said_what_is_wrong(sentence, tmp_path):
    content, words = TORCH[sentence]
    (tmp_path / "net.pth").write_bytes(content)
    tracemalloc.start()

    with pytest.raises(jt.ArgumentError, match=rf"net\.pth is read as tensors.*found .*{words}"):
        jt.load(tmp_path / "net.pth")

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < BOMB + (20 << 20)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (streamed(*STATE_OF_ONE, keys=["0", "0"]), "other storages than those of its tensors"),
        (streamed(*STATE_OF_ONE)[:-1], "storage 0 of 6 numbers, or an end before"),
        (streamed(*STATE_OF_ONE, little=False), "not little-endian"),
        (streamed(tensor([6], [1], count=7), [SIX]), "storage 0 of 6 numbers"),
    ],
)
def test_of_a_damaged_file_of_pytorchs_older_form_as_well(content, words, tmp_path):
    (tmp_path / "net.pt").write_bytes(content)

    with pytest.raises(jt.ArgumentError, match=rf"net\.pt is read as tensors.*found .*{words}"):
        jt.load(tmp_path / "net.pt")


@pytest.mark.parametrize("name", DANGEROUS)
def test_no_name_in_a_pickle_is_looked_up(name, tmp_path):
    module, _, inside = name.partition(" ")
    (tmp_path / "net.pth").write_bytes(zipped(f"\x80\x02c{module}\n{inside}\n(X\x01\0\0\0xtR.".encode("latin-1")))

    wrong = read(tmp_path / "net.pth")

    assert (
        f"found '{module}.{inside}', which only its author's code could make. Try: torch.save(net.state_dict()" in wrong
    )


@pytest.mark.parametrize(
    ("table", "data", "words"),
    [
        ({"a": entry(), "b": entry(places=(12, 36))}, 36, "'b' at byte 12, where the one before it ends at 24"),
        ({"a": entry(places=(8, 32))}, 32, "'a' at byte 8, where the one before it ends at 0"),
        ({"a": entry()}, 25, r"bytes by its table, and \d+ in the file"),
        ({"a": entry()}, 23, r"bytes by its table, and \d+ in the file"),
        ({"a": entry(shape=(2, 4))}, 24, "'a' with 24 bytes for 8 numbers of float32"),
        ({"a": entry(shape=(-2, -3))}, 24, "a shape that is none"),
        ({"a": entry(shape=(True, 6))}, 24, "a shape that is none"),
        ({"a": entry(shape=(1 << 63, 0), places=(0, 0))}, 0, "a shape that is none"),
        ({"a": entry(places=(0.0, 24))}, 24, "without a begin and an end"),
        ({"a": entry("F8_E4M3", [24])}, 24, "a dtype other than BOOL, U8"),
        ({"a": {**entry(), "more": 1}}, 24, "without exactly a dtype, a shape and data_offsets"),
        (b'{"a": {}, "a": {}}', 0, "a name that is there twice"),
        ({"__metadata__": {"format": 1}}, 0, "notes that are no strings"),
        (b"[]", 0, r"begins with b'\[\]'"),
        (b'{"a": NaN}', 0, "without exactly a dtype"),
    ],
)  # fmt: skip
def test_of_a_damaged_table_of_safetensors_is_said_what_is_wrong(table, data, words, tmp_path):
    (tmp_path / "net.safetensors").write_bytes(tabled(table, bytes(data)))

    with pytest.raises(jt.ArgumentError, match=rf"net\.safetensors is read as a table.*found .*{words}"):
        jt.load(tmp_path / "net.safetensors")


def test_a_table_that_is_longer_than_the_file_takes_no_memory(tmp_path):
    (tmp_path / "net.safetensors").write_bytes(b"\xff" * 16)

    with pytest.raises(jt.ArgumentError, match=r"a table of 18,446,744,073,709,551,615 bytes in a file of 16"):
        jt.load(tmp_path / "net.safetensors")


def test_a_bool_of_a_file_is_zero_or_one_whatever_its_byte_was(tmp_path):
    (tmp_path / "a.safetensors").write_bytes(tabled({"a": entry("BOOL", [3], [0, 3])}, b"\x00\x01\x07"))
    (tmp_path / "a.pth").write_bytes(zipped(tensor([3], [1], count=3, kind="Bool"), [np.array([0, 1, 7], np.uint8)]))

    assert jt.load(tmp_path / "a.safetensors")["a"].numpy().view(np.uint8).tolist() == [0, 1, 1]
    assert jt.load(tmp_path / "a.pth").numpy().view(np.uint8).tolist() == [0, 1, 1]


def test_numbers_that_are_spoilt_are_told_of_the_file(tmp_path):
    layer = nn.Linear(100, 50, bias=False)
    layer.save(tmp_path / "net.pth")
    data, numbers = (tmp_path / "net.pth").read_bytes(), layer.weight.numpy()
    (tmp_path / "net.pth").write_bytes(data.replace(numbers.tobytes(), (-numbers).tobytes()))

    with pytest.raises(jt.ArgumentError, match=r"net\.pth is read as tensors.*found Bad CRC"):
        layer.load(tmp_path / "net.pth")
    assert np.array_equal(layer.weight.numpy(), numbers)
