"""Loaders, samplers, combined datasets, collating: which examples come, in which order, as what."""

import io
import typing

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import data
from jt_edu.base.errors import ArgumentError
from tests.data import things


def lists(loader):
    return [batch.tolist() if isinstance(batch, jt.Var) else [part.tolist() for part in batch] for batch in loader]


# ------------------------------------------------------------------------------------------------------------ loaders


def test_a_loader_reads_lists_arrays_and_datasets():
    assert lists(data.DataLoader([1, 2, 3], 2)) == [[1, 2], [3]]
    assert lists(data.DataLoader(np.arange(4.0).reshape(4, 1), 2)) == [[[0], [1]], [[2], [3]]]
    assert lists(data.DataLoader(things.Squares(3), 2)) == [[[0, 1], [0, 1]], [[2], [4]]]
    assert lists(data.DataLoader(data.ArrayDataset(np.arange(3)), 2)) == [[[0, 1]], [[2]]]


def test_batches_are_vars_that_take_no_part_in_gradients_or_arrays():
    (batch,) = data.DataLoader([1.0, 2.0], 2)
    (array,) = data.DataLoader([1.0, 2.0], 2, keep_numpy_array=True)

    assert (batch.dtype, batch.requires_grad, type(array)) == ("float32", False, np.ndarray)


@pytest.mark.parametrize(("drop", "batches"), [(False, [[0, 1, 2], [3, 4]]), (True, [[0, 1, 2]])])
def test_the_last_batch_may_be_left_out(drop, batches):
    loader = data.DataLoader(range(5), 3, drop_last=drop)

    assert lists(loader) == batches
    assert len(loader) == len(batches)


def test_a_shuffled_loader_repeats_with_its_seed_and_changes_with_each_epoch(seed):
    def epochs(generator):
        loader = data.DataLoader(range(30), 30, shuffle=True, generator=generator)
        return lists(loader) + lists(loader)

    first, second = epochs(seed)

    assert first != second
    assert sorted(first) == sorted(second) == list(range(30))
    assert epochs(jt.Generator(seed)) == [first, second]
    assert epochs(seed + 1) != [first, second]
    jt.set_global_seed(seed)
    ours = epochs(None)
    jt.set_global_seed(seed)
    assert epochs(None) == ours


def test_a_sampler_or_a_batch_sampler_says_what_comes():
    assert list(data.DataLoader("abcd", 3, sampler=[3, 0, 0, 1], collate_fn=_text)) == ["daa", "b"]
    loader = data.DataLoader("abcd", batch_sampler=[[3], [0, 1], []], collate_fn=_text)
    assert (list(loader), len(loader)) == (["d", "ab", ""], 3)


def _text(letters):
    return "".join(letters)


def test_without_a_batch_size_examples_come_alone():
    loader = data.DataLoader([np.zeros(2), "text"], None)

    first, second = loader
    assert (first.shape, second, len(loader)) == ((2,), "text", 2)
    assert list(data.DataLoader([1, 2], None, collate_fn=str)) == ["1", "2"]


def test_a_datasets_own_way_to_collate_is_kept_unless_another_is_given():
    class Sum(things.Squares):
        def collate_batch(self, examples):
            return sum(x for x, _ in examples)

    assert list(data.DataLoader(Sum(4), 2)) == [1.0, 5.0]
    assert list(data.DataLoader(Sum(4), 2, collate_fn=len)) == [2, 2]


def test_a_loader_says_what_it_is():
    loader = data.DataLoader([1, 2], 2, shuffle=True, num_workers=1)

    assert repr(loader) == "DataLoader(list, batches of 2, shuffled, 1 worker)"


@pytest.mark.parametrize(
    ("n", "size", "drop", "batches"),
    [(5, 2, False, [[0, 1], [2, 3], [4]]), (5, 2, True, [[0, 1], [2, 3]]), (0, 2, False, [])],
)
def test_streams_are_cut_into_batches(n, size, drop, batches):
    loader = data.DataLoader(things.Sized(n), size, drop_last=drop)

    assert lists(loader) == batches == lists(loader)
    assert len(loader) == len(batches)


def test_a_stream_without_a_length_has_none_and_is_listed_all_the_same():
    loader = data.DataLoader(things.Words(3))

    assert lists(loader) == [[0], [1], [2]]
    with pytest.raises(TypeError, match="without __len__"):
        len(loader)
    assert data.progress(loader).total is None


class Spoken(data.Sampler):
    """Nobody knows how many; written as for PyTorch."""

    def __init__(self, source):
        super().__init__(source)

    def __iter__(self):
        return iter([2, 0, 1])


def test_a_sampler_without_a_length_is_followed_to_its_end():
    sampler = Spoken("abc")
    loader, batches = data.DataLoader([10, 20, 30], sampler=sampler), data.BatchSampler(sampler, 2)

    assert sampler.data_source == "abc"
    assert lists(loader) == [[30], [10], [20]]
    assert list(batches) == [[2, 0], [1]]
    assert list(data.SkipFirstBatches(batches, 1)) == [[1]]
    assert lists(data.DataLoader([10, 20, 30], batch_sampler=batches)) == [[30, 10], [20]]
    assert list(data.DataLoader([10, 20, 30], None, sampler=sampler)) == [30, 10, 20]
    assert (data.progress(loader).total, data.progress(batches).total) == (None, None)
    assert len(list(data.progress(loader, out=io.StringIO()))) == 3
    for nobody_knows in (
        loader,
        batches,
        data.SkipFirstBatches(batches, 1),
        data.DataLoader("abc", 2, sampler=sampler),
    ):
        with pytest.raises(data.LengthError, match=r"is as long as its sampler; found Spoken without __len__"):
            len(nobody_knows)


def test_a_loader_that_is_not_told_whether_to_shuffle_does_not():
    assert lists(data.DataLoader([1, 2, 3], 3, shuffle=None)) == [[1, 2, 3]]
    assert lists(data.DataLoader(things.Words(2), shuffle=None)) == [[0], [1]]


def test_a_chain_is_as_long_as_its_parts_if_they_know():
    known = data.ChainDataset([things.Sized(2), things.Sized(3)])
    unknown = data.ChainDataset([things.Sized(2), things.Words(3)])

    assert (len(known), len(data.DataLoader(known, 2))) == (5, 3)
    assert len(data.ChainDataset([known, known])) == 10
    assert list(unknown) == [0, 1, 0, 1, 2]
    assert bool(unknown) is bool(data.ChainDataset([])) is True
    for chain in (unknown, data.DataLoader(unknown)):
        with pytest.raises(data.LengthError, match="found Words without __len__"):
            len(chain)


def test_a_chain_of_streams_is_a_stream():
    chain = data.ChainDataset([things.Words(2), things.Words(1)])

    assert lists(data.DataLoader(chain, 2)) == [[0, 1], [0]]


# ----------------------------------------------------------------------------------------------------------- samplers


def test_samplers_have_lengths():
    assert [
        len(s) for s in (data.SequentialSampler("abc"), data.RandomSampler("abc"), data.SubsetRandomSampler([4, 5]))
    ] == [3, 3, 2]
    assert len(data.SequentialSampler(things.Squares(7))) == 7
    assert len(data.WeightedRandomSampler([1, 2], 9)) == 9
    assert (len(data.BatchSampler(range(5), 2)), len(data.BatchSampler(range(5), 2, True))) == (3, 2)


def test_drawing_without_replacement_shows_everyone_once_in_each_round():
    drawn = list(data.RandomSampler(range(5), num_samples=12, generator=0))

    assert sorted(drawn[:5]) == sorted(drawn[5:10]) == list(range(5))
    assert len(drawn) == 12


def test_drawing_with_replacement_follows_the_chances():
    even = np.bincount(list(data.RandomSampler(range(4), replacement=True, num_samples=4000, generator=1)), minlength=4)
    uneven = np.bincount(list(data.WeightedRandomSampler([1, 0, 3], 4000, generator=1)), minlength=3)

    assert (abs(even - 1000) < 150).all()
    assert uneven[1] == 0
    assert abs(uneven[2] - 3000) < 150


def test_weights_without_replacement_show_nobody_twice():
    drawn = list(data.WeightedRandomSampler([1, 5, 0, 2], 3, replacement=False, generator=2))

    assert sorted(drawn) == [0, 1, 3]


def test_samplers_repeat_with_their_seed():
    for make in (
        lambda s: data.RandomSampler(range(50), generator=s), lambda s: data.SubsetRandomSampler(range(50), s),
        lambda s: data.WeightedRandomSampler([1.0] * 50, 50, generator=s),
        lambda s: data.RandomSampler(range(50), replacement=True, generator=s),
    ):  # fmt: skip
        assert list(make(3)) == list(make(3)) != list(make(4))
        sampler = make(3)
        assert list(sampler) != list(sampler)


def test_batches_that_were_seen_can_be_skipped():
    left = data.SkipFirstBatches(data.BatchSampler(range(7), 2), 2)

    assert (list(left), len(left)) == ([[4, 5], [6]], 2)


# ----------------------------------------------------------------------------------------------------------- combined


def test_combined_datasets_have_the_examples_of_their_parts():
    letters, both = ["a", "b", "c"], data.ConcatDataset([["a"], [], things.Squares(3)])

    assert [data.Subset(letters, [2, 0, -1])[k] for k in (0, 1, 2, -3)] == ["c", "a", "c", "c"]
    assert [both[k] for k in range(4)] == ["a", (0.0, 0), (1.0, 1), (2.0, 4)]
    assert both[-1] == (2.0, 4)
    assert data.StackDataset(letters, things.Squares(3))[1] == ("b", (1.0, 1))
    assert data.StackDataset(x=letters, y=[1, 2, 3])[-1] == {"x": "c", "y": 3}


NUMBERS = [[0, 2], (0, 2), range(0, 3, 2), np.array([0, 2]), np.array([-3, 2], np.int8), jt.array([0, 2]),
           np.array([True, False, True]), [jt.array(0), np.int64(2)], np.array([0, 2], np.uint64)]  # fmt: skip


@pytest.mark.parametrize("numbers", NUMBERS, ids=str)
def test_a_subset_takes_numbers_of_any_integer_type(numbers):
    subset = data.Subset("abc", numbers)

    assert [subset[0], subset[1]] == ["a", "c"]
    assert [type(k) for k in subset.indices] == [int, int]
    assert data.Subset("abc", []).total_len == 0
    assert data.Subset("abc", [-1]).indices == [2]
    assert list(data.Subset("abc", (k for k in [1])).indices) == [1]


@pytest.mark.parametrize("k", [1, -2, np.int8(1), np.uint64(1), np.array(1), jt.array(1)], ids=repr)
def test_an_example_has_a_number_of_any_integer_type(k):
    assert data.ConcatDataset(["a", "bc"])[k] == "b"
    assert data.Subset("abc", [2, 1, 0])[k] == "b"
    assert [int(part) for part in data.TensorDataset(np.arange(3), np.arange(3) * 2)[k]] == [1, 2]


@pytest.mark.parametrize("numbers", [k for k in NUMBERS if not isinstance(k, (tuple, range))], ids=str)
def test_several_examples_of_arrays_come_at_once_as_in_pytorch(numbers):
    x, y = np.arange(6.0).reshape(3, 2), np.arange(3)
    dataset = data.TensorDataset(x, y)

    both = dataset[numbers]
    np.testing.assert_array_equal(both[0], x[[0, 2]])
    np.testing.assert_array_equal(both[1], y[[0, 2]])
    assert dataset[[]][0].shape == (0, 2)
    assert dataset[np.array([[0], [1]])][1].shape == (2, 1)
    np.testing.assert_array_equal(dataset[1:][1], [1, 2])


def test_a_sampler_may_speak_of_keys_and_of_vars():
    class Named(data.Dataset):
        def __getitem__(self, k):
            return {"one": 1, 2: "two", 2.5: 2}[k]

    named = Named().set_attrs(total_len=2)

    assert lists(data.DataLoader(named, sampler=["one", 2.5])) == [[1], [2]]
    assert list(data.DataLoader(named, sampler=[np.int64(2), jt.array(2)])) == [["two"], ["two"]]
    assert lists(data.DataLoader(data.TensorDataset(np.arange(9)), 2, sampler=jt.array([3, 8, 1]))) == [[[3, 8]], [[1]]]


def test_lengths_of_a_split_are_of_any_integer_type():
    for lengths in ([np.int64(6), 4], jt.array([6, 4]), np.array([6, 4]), (n for n in [6, 4]), (0.6, np.float64(0.4))):
        assert [part.total_len for part in data.random_split(range(10), lengths)] == [6, 4]


def test_combined_datasets_take_all_that_a_dataset_can_be_told():
    subset = data.Subset("abc", [0], prefetch_factor=3, num_workers=1, timeout=5)

    assert (subset.prefetch_factor, subset.num_workers, subset.timeout, subset.batch_size) == (3, 1, 5, 16)


def test_combined_datasets_give_batches_by_themselves():
    subset = data.Subset([1, 2, 3], [2, 0, 1], batch_size=2)

    assert lists(subset) == [[3, 1], [2]]
    assert lists(data.ConcatDataset([[1], [2, 3]], batch_size=2)) == [[1, 2], [3]]
    (batch,) = data.StackDataset(x=[1, 2], y=[3, 4], batch_size=2)
    assert (batch["x"].tolist(), batch["y"].tolist()) == ([1, 2], [3, 4])
    assert len(subset) == 2


def test_a_split_shares_all_examples_out():
    parts = data.random_split(range(100), [60, 30, 10], generator=1, batch_size=4)

    assert [part.total_len for part in parts] == [60, 30, 10]
    assert sorted(k for part in parts for k in part.indices) == list(range(100))
    assert parts[0].indices != sorted(parts[0].indices)
    assert parts[0].batch_size == 4
    assert [p.total_len for p in data.random_split(range(10), [1 / 3, 1 / 3, 1 / 3])] == [4, 3, 3]
    assert (
        data.random_split(range(50), [0.5, 0.5], 3)[0].indices == data.random_split(range(50), [0.5, 0.5], 3)[0].indices
    )


def test_a_class_written_as_for_pytorch_works():
    class Letters(data.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, k):
            return "abc"[k]

    assert list(Letters(batch_size=2)) == [["a", "b"], ["c"]]
    assert list(data.DataLoader(Letters(), 3)) == [["a", "b", "c"]]
    assert repr(Letters(batch_size=2)) == "Letters(3 examples, 2 batches of 2)"


# ---------------------------------------------------------------------------------------------------------- collating


class Point(typing.NamedTuple):
    x: object
    y: object


def test_nested_examples_keep_their_kinds():
    batch = data.default_collate([{"p": Point(1, [2.0]), "n": "a"}, {"p": Point(3, [4.0]), "n": "b"}])

    assert type(batch["p"]) is Point
    assert batch["p"].x.tolist() == [1, 3]
    assert type(batch["p"].y) is list
    assert (type(batch["p"].y[0]), batch["p"].y[0].tolist()) == (jt.Var, [2.0, 4.0])
    assert batch["n"] == ["a", "b"]


@pytest.mark.parametrize(
    ("examples", "dtype"),
    [
        ([1, 2], "int64"), ([1.5, 2], "float32"), ([True, False], "bool"), ([np.float64(1), np.float64(2)], "float64"),
        ([np.ones(2, np.uint8)] * 2, "uint8"), ([jt.ones(2)] * 2, "float32"), ([1j, 2j], "complex64"),
    ],
    ids=str,
)  # fmt: skip
def test_numbers_become_the_dtype_that_a_var_would_have(examples, dtype):
    assert data.default_collate(examples).dtype == dtype


def test_converting_changes_arrays_alone():
    batch = data.default_convert({"a": np.zeros(2), "b": Point(1, "text"), "c": np.array(["x"])})

    assert type(batch["a"]) is jt.Var
    assert batch["b"] == Point(1, "text")
    assert type(batch["c"]) is np.ndarray


def test_a_batch_of_no_example_is_refused():
    with pytest.raises(ArgumentError, match=r"list of examples; found \[\]"):
        data.collate([])


def test_a_loader_heeds_what_a_dataset_says_of_its_batches():
    def kind(loader):
        batch = next(iter(loader))
        part = batch[0] if isinstance(batch, tuple) else batch
        return type(part).__name__, getattr(part, "requires_grad", None)

    plain = data.TensorDataset(np.ones((4, 2), np.float32))
    trained = data.TensorDataset(np.ones((4, 2), np.float32), stop_grad=False)
    arrays = data.TensorDataset(np.ones((4, 2), np.float32), keep_numpy_array=True)

    assert (kind(data.DataLoader(plain, 2)), kind(data.DataLoader(trained, 2))) == (("Var", False), ("Var", True))
    assert kind(data.DataLoader(arrays, 2)) == ("ndarray", None)
    assert kind(data.DataLoader(arrays, 2, keep_numpy_array=False)) == ("Var", False)


@pytest.mark.parametrize("name", ["timeout", "persistent_workers", "prefetch_factor", "worker_init_fn"])
def test_a_dataset_without_workers_refuses_what_is_said_of_them(name):
    given = {"timeout": 5, "persistent_workers": True, "prefetch_factor": 3, "worker_init_fn": print}[name]
    pairs = data.TensorDataset(np.ones((4, 2), np.float32)).set_attrs(**{name: given})

    with pytest.raises(ArgumentError, match=f"found {name} as well"):
        next(iter(pairs))
