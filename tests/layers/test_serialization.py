"""jt.save and jt.load: what goes into a file comes back as it was, and a stranger's file does no harm."""

import io
import json
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn, optim


def back(value, folder):
    jt.save(value, folder / "value.npz")
    return jt.load(folder / "value.npz")


def same(a, b):
    """Whether two nests are equal in structure, types, dtypes and every number."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, jt.Var):
        return a.dtype == b.dtype and same(a.numpy(), b.numpy())
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return a == b or (a != a and b != b)


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, -(10**30), 2.5, float("nan"), float("-inf"), 1 + 2j, "", "grüße\n\ud800", [], (), {},
        [1, (2, [3]), {"a": {"b": None}}],
        {1: "int", "1": "text", None: 0, (1, "k"): 2.5},
        np.arange(6).reshape(2, 3), np.zeros((0, 3), "complex64"), np.array(["ab", "c"]), np.array(7.0),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.array([1, 2], ">i4"), np.float32(1.5), np.bool_(True),
        np.array(["2020-01-01"], "datetime64[D]"),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_saved_comes_back_as_it_was(value, tmp_path):
    assert same(back(value, tmp_path), value)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex128"])
def test_a_var_comes_back_with_its_dtype(dtype, tmp_path):
    value = [jt.array([[0.0, 1.0, 2.0]]).astype(dtype), jt.ones((), dtype=dtype)]

    assert same(back(value, tmp_path), value)


@pytest.mark.filterwarnings("ignore:Stored array in format 3.0")  # NumPy tells the owners of its older releases
def test_fields_may_have_names_in_any_alphabet(tmp_path):
    rows = np.array([(1.5, 2)], [("größe", "f4"), ("長さ", "i8")])

    jt.save({"rows": rows}, tmp_path / "rows.npz")

    found = jt.load(tmp_path / "rows.npz")["rows"]
    assert (found.dtype, found.tolist()) == (rows.dtype, rows.tolist())


def test_two_arrays_whose_ways_read_the_same_are_two_arrays(tmp_path):
    value = {
        "a.b": jt.zeros(1), "a": {"b": jt.ones(1)}, "": np.ones(2), "nest.json": np.ones(3), "x\0y": np.ones(4),
        "x": {0: np.ones(5), "0": np.ones(6)}, "back\\slash": np.ones(7), "n" * 70_000: np.ones(8),
    }  # fmt: skip

    assert same(back(value, tmp_path), value)


def test_numpy_reads_the_arrays_under_names_that_say_where_they_stood(tmp_path):
    jt.save({"net": nn.Linear(2, 1).state_dict(), "losses": [np.ones(2)]}, tmp_path / "run.npz")

    with np.load(tmp_path / "run.npz") as file:
        assert sorted(file.files) == ["losses.0", "nest.json", "net.bias", "net.weight"]
        assert file["net.weight"].shape == (1, 2)


def test_jt_save_and_net_save_read_each_others_files(tmp_path):
    net, other = nn.Linear(2, 1), nn.Linear(2, 1)
    jt.save(net.state_dict(), tmp_path / "net.npz")
    net.save(tmp_path / "its_own.npz")

    assert other.load(tmp_path / "net.npz") == ([], [])
    assert same(other.state_dict(), net.state_dict())
    assert same(jt.load(tmp_path / "its_own.npz"), dict(net.state_dict()))


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam, optim.LBFGS], ids=lambda make: make.__name__)
def test_a_training_goes_on_from_a_file_as_if_it_had_never_stopped(make, tmp_path):
    def trained(net, optimizer, steps):
        def loss():
            return ((net(jt.ones(1, 2)) - 3) ** 2).sum()

        for _ in range(steps):
            optimizer.step(loss if make is optim.LBFGS else loss())

    net, other = nn.Linear(2, 1), nn.Linear(2, 1)
    optimizer, later = (make(n.parameters(), lr=0.1) for n in (net, other))
    trained(net, optimizer, 2)
    jt.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "run.npz")
    run = jt.load(tmp_path / "run.npz")
    other.load_state_dict(run["net"])
    later.load_state_dict(run["optimizer"])

    trained(net, optimizer, 2)
    trained(other, later, 2)

    assert same(other.state_dict(), net.state_dict())


def cycle():
    ring = []
    ring.append(ring)
    return ring


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda: {"a": [1, {2}]}, r"found set at \['a'\]\[1\]"),
        (lambda: nn.Linear(2, 1), r"found Linear\. Try: its state_dict\(\)"),
        (lambda: {"net": nn.Linear(2, 1)}, r"found Linear at \['net'\]\. Try: its state_dict\(\)"),
        (lambda: np.array([None]), "found ndarray of Python's objects"),
        (lambda: [np.ma.array([1.0], mask=[True])], r"found MaskedArray at \[0\]"),
        (lambda: {jt.ones(1): 1}, "found Var"),
        (lambda: b"bytes", "found bytes"),
        (lambda: nn.Linear, "found type"),
        (lambda: 10**5000, "found an integer of thousands of digits"),
        (cycle, "found one that holds itself"),
    ],
)
def test_what_cannot_be_saved_is_named_with_its_place_and_no_file_is_touched(make, found, tmp_path):
    jt.save("before", tmp_path / "value.npz")

    with pytest.raises(jt.ArgumentError, match=rf"jt\.save writes .*{found}"):
        jt.save(make(), tmp_path / "value.npz")

    assert jt.load(tmp_path / "value.npz") == "before"
    assert len(list(tmp_path.iterdir())) == 1


def test_path_and_value_in_the_wrong_order_are_noticed(tmp_path):
    with pytest.raises(jt.ArgumentError, match="given by its path"):
        jt.save(str(tmp_path / "net.npz"), {"a": 1})


# ------------------------------------------------------------------------------------------------------------- hostile

ONE = (("x", np.ones(2, np.float32)),)


def written(nest, arrays=ONE, method=zipfile.ZIP_STORED):
    """A file as `jt.save` writes it, with any text instead of the nest."""
    file = io.BytesIO()
    text = nest if isinstance(nest, bytes) else json.dumps(nest).encode()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, array in [*arrays, ("nest.json", np.frombuffer(text, np.uint8))]:
            with archive.open(f"{name}.npy", "w") as entry:
                np.lib.format.write_array(entry, array)
    return file.getvalue()


HOSTILE = {
    "no text": lambda: written(b"\xff\xfe{"),
    "no JSON": lambda: written(b"[1, 2"),
    "brackets without an end": lambda: written(b"[" * 100_000),
    "a long number": lambda: written(b"1" * 5000),
    "a kind that is not there": lambda: written({"eval": "1"}),
    "two kinds": lambda: written({"var": ["x", "float32"], "array": "x"}),
    "no kind": lambda: written({}),
    "a Var of no array": lambda: written({"var": ["y", "float32"]}),
    "a Var of no dtype": lambda: written({"var": ["x", "object"]}),
    "an array of a number": lambda: written({"array": 3}),
    "pairs that are none": lambda: written({"dict": [[1, 2, 3]]}),
    "a key that is a list": lambda: written({"dict": [[[1], 2]]}),
    "a tuple of nothing": lambda: written({"tuple": 3}),
    "letters for a Var": lambda: written({"var": ["x", "float32"]}, [("x", np.array(["a"]))]),
    "a bomb": lambda: written([], [("x", np.zeros(300 << 18, np.float32))], zipfile.ZIP_DEFLATED),
    "a pickle": lambda: pickle.dumps({"a": 1}),
    "nothing": lambda: b"",
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_one_clear_error_and_takes_no_memory(make, tmp_path):
    file = tmp_path / "value.npz"
    file.write_bytes(make())
    tracemalloc.start()

    with pytest.raises(jt.ArgumentError, match=r"value\.npz"):
        jt.load(file)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000_000


def test_an_array_that_a_file_names_a_thousand_times_is_read_once(tmp_path):
    (tmp_path / "value.npz").write_bytes(written([{"array": "x"}] * 1000, [("x", np.ones(1_000_000))]))
    tracemalloc.start()

    value = jt.load(tmp_path / "value.npz")

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(value) == 1000
    assert peak < 50_000_000
