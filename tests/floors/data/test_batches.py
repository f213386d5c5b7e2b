"""Data: batches of what was asked for, in an order that a seed repeats, with errors that name the example."""

import io
import sys

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import data, nn, optim
from jt_edu.base.errors import ArgumentError, BackendError, ShapeError
from tests.data.things import Squares


def seen(dataset):
    return [x.tolist() for x, _ in dataset]


def test_a_dataset_is_its_own_loader():
    batches = list(Squares(batch_size=4))

    assert [type(part) for part in batches[0]] == [jt.Var, jt.Var]
    assert [x.tolist() for x, _ in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert batches[1][1].tolist() == [16, 25, 36, 49]
    assert (batches[0][0].dtype, batches[0][1].dtype) == ("float32", "int64")


@pytest.mark.parametrize(
    ("n", "size", "drop", "count"), [(10, 4, False, 3), (10, 4, True, 2), (8, 4, True, 2), (3, 9, False, 1)]
)
def test_length_is_the_number_of_batches(n, size, drop, count):
    dataset = Squares(n, batch_size=size, drop_last=drop)

    assert len(dataset) == len(list(dataset)) == count


def test_sixteen_examples_make_a_batch_unless_told_otherwise():
    assert len(Squares(33)) == 3
    assert data.Dataset().batch_size == 16


def test_a_seed_repeats_the_epochs_and_no_two_epochs_are_alike(seed):
    dataset = Squares(30, batch_size=30, shuffle=True)
    jt.set_global_seed(seed)
    first, second = seen(dataset), seen(dataset)
    jt.set_global_seed(seed)

    assert first != second
    assert [seen(dataset), seen(dataset)] == [first, second]
    assert sorted(first[0]) == list(range(30))
    assert sorted(k for batch in seen(Squares(30, batch_size=7, shuffle=True)) for k in batch) == list(range(30))


def test_two_walks_at_once_do_not_disturb_each_other():
    dataset = Squares(4, batch_size=2)

    assert [(a[0].tolist(), b[0].tolist()) for a in dataset for b in dataset] == [
        ([0, 1], [0, 1]), ([0, 1], [2, 3]), ([2, 3], [0, 1]), ([2, 3], [2, 3]),
    ]  # fmt: skip


def test_an_endless_dataset_begins_again():
    walk = iter(Squares(4, batch_size=2, endless=True))

    assert [next(walk)[0].tolist() for _ in range(5)] == [[0, 1], [2, 3], [0, 1], [2, 3], [0, 1]]


def test_batches_may_stay_arrays_and_may_take_part_in_gradients():
    assert isinstance(next(iter(Squares(keep_numpy_array=True)))[0], np.ndarray)
    assert not next(iter(Squares()))[0].requires_grad
    assert next(iter(Squares(stop_grad=False)))[0].requires_grad


@pytest.mark.parametrize(
    "attributes",
    [
        {"batch_size": 0}, {"batch_size": -1}, {"batch_size": 2.5}, {"batch_size": True}, {"shuffle": "yes"},
        {"total_len": -5}, {"num_workers": -1}, {"bath_size": 3}, {"buffer_size": 0},
        {"prefetch_factor": 0}, {"timeout": -1}, {"worker_init_fn": 3}, {"persistent_workers": "no"},
    ],
    ids=str,
)  # fmt: skip
def test_attributes_that_make_no_sense_are_refused(attributes):
    with pytest.raises(ArgumentError, match=next(iter(attributes))):
        Squares().set_attrs(**attributes)


def test_a_dataset_must_say_how_long_it_is_and_what_is_in_it():
    with pytest.raises(ArgumentError, match="total_len"):
        len(data.Dataset())
    with pytest.raises(ArgumentError, match="what example 0 is"):
        list(data.Dataset().set_attrs(total_len=2))


def test_an_epoch_without_a_batch_is_an_error():
    with pytest.raises(ArgumentError, match="0 examples"):
        list(Squares(0))
    with pytest.raises(ArgumentError, match="3 examples, batches of 8, drop_last"):
        list(Squares(3, batch_size=8, drop_last=True))
    assert len(Squares(0)) == 0


def test_an_error_in_an_example_says_which_one():
    class Broken(Squares):
        def __getitem__(self, k):
            return 1 / (k - 5)

    with pytest.raises(ZeroDivisionError) as caught:
        list(Broken())
    assert caught.value.__notes__ == ["in Broken.__getitem__(5)"]


def test_a_dataset_says_what_it_is():
    assert repr(Squares(10, batch_size=4)) == "Squares(10 examples, 3 batches of 4)"
    many = Squares(1, shuffle=True, drop_last=True, endless=True, num_workers=2)
    assert repr(many) == "Squares(1 example, 0 batches of 16, shuffled, drop_last, endless, 2 workers)"
    assert repr(data.Dataset()) == "Dataset(total_len is not set)"
    assert repr(data.TensorDataset(np.zeros(3))) == "ArrayDataset(3 examples, 1 batch of 16)"


# ----------------------------------------------------------------------------------------------------------- collating


def test_examples_of_many_kinds_become_batches():
    class Mixed(data.Dataset):
        def __getitem__(self, k):
            return {"x": jt.array([k, k]), "name": f"n{k}", "pair": (np.float64(k), [k, 2.5])}

    (batch,) = Mixed(batch_size=2).set_attrs(total_len=2)

    assert batch["x"].tolist() == [[0, 0], [1, 1]]
    assert batch["name"] == ["n0", "n1"]
    assert batch["pair"][0].dtype == "float64"
    assert batch["pair"][1][1].tolist() == [2.5, 2.5]


@pytest.mark.parametrize(
    ("examples", "text"),
    [
        ([np.zeros(2), np.zeros(2), np.zeros(3)], r"shapes \(2,\) in the first, \(3,\) in number 2"),
        ([(1, 2), (1,)], "parts 2 in the first, 1 in number 1"),
        ([(1, 2), 3], "parts 2 in the first, int in number 1"),
        ([{"a": 1}, {"b": 1}], "names"),
    ],
)
def test_examples_that_differ_are_refused_with_their_number(examples, text):
    with pytest.raises(ShapeError, match=text):
        data.collate(examples)


def test_a_dataset_may_collate_in_its_own_way():
    class Sum(Squares):
        def collate_batch(self, examples):
            return sum(x for x, _ in examples)

    assert list(Sum(4, batch_size=2)) == [1.0, 5.0]


# -------------------------------------------------------------------------------------------------------------- arrays


def test_arrays_become_tuples_of_batches():
    x, y = np.arange(12.0).reshape(6, 2), [0, 1, 2, 3, 4, 5]
    dataset = data.ArrayDataset(x, jt.array(y), batch_size=4)

    assert [(a.shape, b.tolist()) for a, b in dataset] == [((4, 2), [0, 1, 2, 3]), ((2, 2), [4, 5])]
    assert dataset[1][0].tolist() == [2, 3]
    assert data.TensorDataset is data.ArrayDataset
    ((only,),) = data.ArrayDataset(x)
    assert only.shape == (6, 2)


def test_what_is_done_to_a_batch_does_not_reach_the_dataset():
    x = np.zeros((4, 2))
    dataset = data.ArrayDataset(x, batch_size=4)
    (batch,) = next(iter(dataset))

    batch[:] = 7

    with pytest.raises(ValueError, match="read-only"):
        batch.numpy()[:] = 7
    assert (x == 0).all()


def test_an_array_dataset_may_change_its_examples_one_by_one():
    class Doubled(data.ArrayDataset):
        def __getitem__(self, k):
            return tuple(2 * part for part in super().__getitem__(k))

    class Summed(data.ArrayDataset):
        def collate_batch(self, examples):
            return sum(x for (x,) in examples)

    assert [x.tolist() for (x,) in Doubled(np.arange(4), batch_size=2)] == [[0, 2], [4, 6]]
    assert list(Summed(np.arange(4), batch_size=2)) == [1, 5]


def test_arrays_of_different_lengths_or_none_at_all_are_refused():
    with pytest.raises(ShapeError, match=r"lengths \[3, 2\]"):
        data.ArrayDataset(np.zeros(3), np.zeros(2))
    for wrong in ((), (np.zeros(0),), (np.array(3.0),)):
        with pytest.raises(ArgumentError, match="holds examples"):
            data.ArrayDataset(*wrong)


# ----------------------------------------------------------------------------------------------------------- toy data


def test_digits_are_split_four_to_one_and_nobody_is_in_both():
    pytest.importorskip("sklearn")
    train, test = data.digits(batch_size=2000), data.digits(train=False, batch_size=2000)
    ((x, y),), ((u, v),) = train, test

    assert (x.shape, y.shape, u.shape, v.shape) == ((1437, 1, 8, 8), (1437,), (360, 1, 8, 8), (360,))
    assert (x.dtype, y.dtype) == ("float32", "int64")
    assert (x.numpy().min(), x.numpy().max()) == (0, 1)
    assert sorted(set(y.tolist())) == sorted(set(v.tolist())) == list(range(10))
    assert np.bincount(v.numpy()).min() > 25
    ((again, _),) = data.digits(batch_size=2000)
    np.testing.assert_array_equal(again.numpy(), x.numpy())


def test_without_scikit_learn_the_digits_say_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)

    with pytest.raises(BackendError, match="pip install scikit-learn"):
        data.digits()


def test_moons_lie_on_two_half_circles():
    ((x, y),) = data.moons(101, noise=0.0, batch_size=101)
    points, which = x.numpy().astype(float), y.numpy()

    middle = np.where(which[:, None] == 0, [0.0, 0.0], [1.0, 0.5])
    np.testing.assert_allclose(np.linalg.norm(points - middle, axis=1), 1, rtol=1e-6)
    assert (points[which == 0, 1] >= -1e-6).all()
    assert (points[which == 1, 1] <= 0.5 + 1e-6).all()
    assert abs(int((which == 0).sum()) - int((which == 1).sum())) <= 1


def test_spirals_turn_as_often_as_they_are_told(seed):
    ((x, y),) = data.spirals(300, classes=4, turns=0.5, noise=0.0, batch_size=300)
    points, which = x.numpy().astype(float), y.numpy()
    radius = np.linalg.norm(points, axis=1)

    angle = 2 * np.pi * (0.5 * radius + which / 4)
    np.testing.assert_allclose(points, radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1), atol=1e-6)
    assert radius.max() == pytest.approx(1)
    assert (np.bincount(which) == 75).all()


@pytest.mark.parametrize("make", [data.moons, data.spirals])
def test_noise_has_its_size_and_comes_from_the_seed(make, seed):
    def points(noise):
        jt.set_global_seed(seed)
        return make(1000, noise=noise, batch_size=1000).arrays[0]

    np.testing.assert_array_equal(points(0.2), points(0.2))
    assert (points(0.2) - points(0.0)).std() == pytest.approx(0.2, rel=0.1)
    with pytest.raises(ArgumentError, match="noise"):
        make(noise=-1)
    with pytest.raises(ArgumentError, match="n=1"):
        make(1)


def test_a_network_reads_handwritten_digits(record_property):
    """At least 97 of 100 images that it has not seen."""
    pytest.importorskip("sklearn")
    jt.set_global_seed(0)
    hidden = nn.Sequential(nn.Linear(64, 256), nn.BatchNorm(256), nn.ReLU(), nn.Dropout(0.3))
    net = nn.Sequential(nn.Flatten(), hidden, nn.Linear(256, 10))
    optimizer = optim.AdamW(net.parameters(), lr=3e-3)
    schedule = optim.CosineAnnealingLR(optimizer, 20)
    for _ in range(20):
        for x, y in data.digits(batch_size=32, shuffle=True, drop_last=True):
            optimizer.step(nn.cross_entropy_loss(net(x), y))
        schedule.step()
    net.eval()
    ((x, y),) = data.digits(train=False, batch_size=360)

    right = (net(x).argmax(1) == y).float().mean().item()

    record_property("house", f"digits: {right:.1%} of the held-out images")
    assert right >= 0.97


# ------------------------------------------------------------------------------------------------------------ progress


class Screen(io.StringIO):
    """A terminal, or something that is none."""

    def __init__(self, tty):
        super().__init__()
        self.tty = tty

    def isatty(self):
        return self.tty


class Clock:
    """Moves on by itself each time it is asked."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def test_progress_yields_what_it_is_given_and_ends_its_line():
    screen = Screen(tty=False)
    bar = data.progress(Squares(10, batch_size=4), epoch=2, epochs=9, out=screen, clock=lambda: 0.0)

    for x, _ in bar:
        bar.show(loss=jt.array([1.0]) * x.shape[0], accuracy=0.5)

    assert bar.total == 3
    assert bar.means == {"loss": pytest.approx(10 / 3), "accuracy": 0.5}
    assert screen.getvalue() == "epoch 2/9  batch 3/3  loss 3.3333  accuracy 0.500  0:00\n"


def test_a_terminal_is_written_to_at_most_five_times_a_second():
    screen, clock = Screen(tty=True), Clock(0.01)
    for _ in data.progress(range(1000), out=screen, clock=clock):
        pass
    text = screen.getvalue()

    assert text.count("\r") <= 5 * clock.now + 1
    assert text.count("\r") >= 10
    assert text.count("\n") == 1
    assert text.endswith("\n")


def test_the_time_left_is_told():
    ticks = iter([0.0, 0.0, *[61.0] * 9])
    bar = data.progress([1, 2, 3], out=Screen(tty=True), clock=lambda: next(ticks))
    walk = iter(bar)
    next(walk), next(walk)

    assert bar.text == "1/3  ########................  1:01, 2:02 left"
    assert data.progress([], clock=iter([0.0, 7322.0]).__next__).text == "0/0  2:02:02"


def test_the_time_left_of_all_epochs_is_told_when_it_is_known():
    def line(epoch, epochs):
        ticks = iter([0.0, 0.0, *[10.0] * 9])
        bar = data.progress([1, 2], epoch=epoch, epochs=epochs, out=Screen(tty=True), clock=lambda: next(ticks))
        walk = iter(bar)
        next(walk), next(walk)
        middle = bar.text
        next(walk, None)
        return middle.split("  ")[-1], bar.text.split("  ")[-1]

    assert line(2, 5) == ("0:10, 0:10 left, 1:10 left of all epochs", "0:10, 0:30 left of all epochs")
    assert line(5, 5) == ("0:10, 0:10 left", "0:10")
    assert line(2, None) == ("0:10, 0:10 left", "0:10")


def test_a_line_that_is_left_early_is_ended_all_the_same():
    screen = Screen(tty=True)
    walk = iter(data.progress(range(5), out=screen))
    next(walk)
    walk.close()

    assert screen.getvalue().endswith("\n")


def test_a_shorter_line_covers_a_longer_one():
    screen, clock = Screen(tty=True), Clock(1.0)
    bar = data.progress(range(3), out=screen, clock=clock)
    for k in bar:
        bar.show(x=10.0 ** (6 - 9 * k))
        bar._sums = dict(list(bar._sums.items()) if k < 1 else [])
    lines = screen.getvalue().strip("\r\n").split("\r")

    assert len(lines[1]) >= len(lines[0].rstrip())


def test_batches_without_a_length_are_counted():
    screen = Screen(tty=False)
    bar = data.progress((k for k in range(3)), out=screen, clock=lambda: 0.0)

    assert list(bar) == [0, 1, 2]
    assert screen.getvalue() == "3  0:00\n"
    with pytest.raises(ArgumentError, match=r"found 3\. Try: range\(n\)"):
        data.progress(3)


def test_any_loop_has_a_bar_and_a_finished_one_has_none():
    screen, clock = Screen(tty=True), Clock(1.0)
    for _ in jt.progress("abcd", out=screen, clock=clock):
        pass
    *lines, last = screen.getvalue().strip("\r\n").split("\r")

    assert lines[0].startswith("1/4  ######..................  ")
    assert last.split() == ["4/4", last.split()[-1]]


def test_a_program_without_a_console_goes_on(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)

    assert list(jt.progress([1, 2])) == [1, 2]


def test_a_notebook_rewrites_its_line():
    kind = type("OutStream", (Screen,), {"__module__": "ipykernel.iostream"})
    screen = kind(tty=False)
    for _ in data.progress(range(3), out=screen, clock=Clock(1.0)):
        pass

    assert screen.getvalue().count("\r") >= 3
    assert screen.getvalue().count("\n") == 1


def test_it_writes_to_standard_error_unless_told_otherwise(capsys):
    list(data.progress([1]))
    captured = capsys.readouterr()

    assert captured.out == ""
    assert captured.err.startswith("1/1  ")


def test_a_notebook_is_not_shown_its_progress_in_red(monkeypatch):
    screen = type("OutStream", (Screen,), {"__module__": "ipykernel.iostream"})(tty=False)
    monkeypatch.setattr("sys.stdout", screen)
    list(data.progress([1]))

    assert screen.getvalue().startswith("\r1/1  ")
