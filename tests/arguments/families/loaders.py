"""Loaders: batches, orders, samplers and workers of datasets; sets of points; progress."""

import contextlib
import io
import os
import time
from multiprocessing import connection
from types import SimpleNamespace
from unittest import mock

import numpy as np

import jt_edu as jt
from jt_edu import data
from tests.arguments.rows import shows
from tests.data import things

FIVE = [10, 20, 30, 40, 50]


def batches(loader) -> list:
    """As lists of numbers."""
    return [np.asarray(batch).tolist() for batch in loader]


def loaded(**given) -> list:
    jt.set_global_seed(0)
    return batches(data.DataLoader(FIVE, **given))


def total(loader) -> int:
    return sum(sum(batch) for batch in batches(loader))


def shuffled(call, **given) -> bool:
    """Whether all of it came, in another order."""
    found = [k for batch in call(**given) for k in batch]
    return found != FIVE and sorted(found) == FIVE


def in_processes(**given) -> bool:
    """Whether somebody else makes the batches."""
    return any(pid != os.getpid() for _, (pid,) in lists(data.DataLoader(things.Slow(2), 1, **given)))


def lists(loader):
    return [[part.tolist() for part in batch] for batch in loader]


def epochs(**given) -> bool:
    """Whether the same process makes two epochs."""
    loader = data.DataLoader(things.Slow(2), 1, num_workers=1, **given)
    one, two = ({pid for _, (pid,) in lists(loader)} for _ in range(2))
    loader.terminate()
    return one == two


def impatient(**given) -> str:
    """Where there is a limit, it is over as soon as somebody waits."""
    now, look = [0.0], 1e9

    def wait(what, limit):
        if limit == look:
            return connection.wait(what)
        now[0] += limit
        return []

    loader = data.DataLoader(things.Slow(1), 1, num_workers=1, **given)
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=time.sleep)
    with mock.patch.multiple(data.worker_pool, wait=wait, LOOK=look, time=clock):
        try:
            lists(loader)
        except data.WorkerError:
            return "too late"
        finally:
            loader.terminate()
        return "in time"


class Greeted(things.Squares):
    """Shows what `greet` left behind."""

    def __getitem__(self, k):
        return vars(self).get("n", 0), k


def greeted(**given) -> int:
    return lists(data.DataLoader(Greeted(1), 1, num_workers=1, **given))[0][0][0]


LOADER = [
    *shows(data.DataLoader, "batch_size", 2, loaded, [[10, 20], [30, 40], [50]]),
    *shows(data.DataLoader, "shuffle", True, lambda **k: shuffled(loaded, **k)),
    *shows(data.DataLoader, "sampler", [3, 1], loaded, [[40], [20]]),
    *shows(data.DataLoader, "batch_sampler", [[3, 1], [0]], loaded, [[40, 20], [10]]),
    *shows(data.DataLoader, "collate_fn", sum, loaded, FIVE),
    *shows(data.DataLoader, "drop_last", True, lambda **k: loaded(batch_size=2, **k), [[10, 20], [30, 40]]),
    *shows(data.DataLoader, "keep_numpy_array", True, lambda **k: type(next(iter(data.DataLoader(FIVE, **k)))).__name__,
           "ndarray"),
    *shows(data.DataLoader, "generator", 7, lambda **k: seeded(lambda: data.DataLoader(FIVE, shuffle=True, **k))),
    *shows(data.DataLoader, "num_workers", 1, in_processes),
    *shows(data.DataLoader, "persistent_workers", True, epochs),
    *shows(data.DataLoader, "timeout", 60, impatient, "too late"),
    *shows(data.DataLoader, "worker_init_fn", things.greet, greeted, 1000),
]  # fmt: skip


def seeded(make) -> bool:
    """Whether the order depends on the generator alone, and not on the seed of all."""
    orders = []
    for seed in range(4):
        jt.set_global_seed(seed)
        orders.append(list(make()) if not isinstance(make(), data.DataLoader) else batches(make()))
    return all(order == orders[0] for order in orders)


# ------------------------------------------------------------------------------------------------ datasets of one's own


class Numbers(data.Dataset):
    """Ten times k, of five."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.set_attrs(total_len=5)

    def __getitem__(self, k):
        return 10.0 * (k + 1)


def numbers(**given) -> list:
    jt.set_global_seed(0)
    return batches(Numbers(**given))


def first(**given):
    return next(iter(Numbers(**given)))


def endless(**given) -> int:
    """How many batches come, of seven that are asked for."""
    return sum(1 for _ in zip(range(7), Numbers(batch_size=2, **given), strict=False))


class Pid(data.Dataset):
    """Which process made it."""

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.set_attrs(total_len=1)

    def __getitem__(self, k):
        return os.getpid()


DATASET = [
    *shows(data.Dataset, "batch_size", 2, numbers, [[10.0, 20.0], [30.0, 40.0], [50.0]]),
    *shows(data.Dataset, "shuffle", True, lambda **k: shuffled(numbers, **k)),
    *shows(data.Dataset, "drop_last", True, lambda **k: numbers(batch_size=2, **k), [[10.0, 20.0], [30.0, 40.0]]),
    *shows(data.Dataset, "stop_grad", False, lambda **k: first(**k).requires_grad),
    *shows(data.Dataset, "keep_numpy_array", True, lambda **k: type(first(**k)).__name__, "ndarray"),
    *shows(data.Dataset, "endless", True, endless, 7),
    *shows(data.Dataset, "num_workers", 1, lambda **k: batches(Pid(**k)) != [[os.getpid()]]),
]  # fmt: skip

# ------------------------------------------------------------------------------------------------------------- samplers


def drawn(kind, *args, **given) -> list:
    jt.set_global_seed(0)
    return list(kind(*args, **given))


SAMPLERS = [
    *shows(data.Sampler, "data_source", "abc", lambda **k: data.Sampler(**k).data_source, "abc"),
    *shows(data.BatchSampler, "drop_last", True, lambda **k: list(data.BatchSampler(range(3), 2, **k)), [[0, 1]]),
    *shows(data.RandomSampler, "replacement", True,
           lambda **k: len(set(drawn(data.RandomSampler, range(50), **k))) < 50),
    *shows(data.RandomSampler, "num_samples", 3, lambda **k: len(drawn(data.RandomSampler, range(50), **k)), 3),
    *shows(data.RandomSampler, "generator", 7, lambda **k: seeded(lambda: data.RandomSampler(range(50), **k))),
    *shows(data.SubsetRandomSampler, "generator", 7, lambda **k: seeded(lambda: data.SubsetRandomSampler(FIVE, **k))),
    *shows(data.WeightedRandomSampler, "replacement", False,
           lambda **k: sorted(drawn(data.WeightedRandomSampler, np.ones(50), 50, **k)) == list(range(50))),
    *shows(data.WeightedRandomSampler, "generator", 7,
           lambda **k: seeded(lambda: data.WeightedRandomSampler(np.ones(50), 9, **k))),
    *shows(data.random_split, "generator", 7,
           lambda **k: seeded(lambda: data.random_split(range(50), [49, 1], **k)[0].indices)),
]  # fmt: skip

# ------------------------------------------------------------------------------------------------------- sets of points


def points(make, **given):
    """All of them, and their labels."""
    jt.set_global_seed(0)
    return next(iter(make(batch_size=1000, keep_numpy_array=True, **given)))


def radius(**given) -> float:
    """How far from a smooth arm the points are, more or less: neighbours of one arm are near each other."""
    x, _ = points(data.spirals, classes=1, **given)
    return float(np.abs(np.diff(np.hypot(*x.T))).max())


POINTS = [
    *shows(data.moons, "n", 6, lambda **k: points(data.moons, **k)[0].shape, (6, 2)),
    *shows(data.moons, "noise", 0.0,
           lambda **k: float(abs(np.hypot(*points(data.moons, n=9, **k)[0][::2].T) - 1).max() < 1e-6), 1.0),
    *shows(data.spirals, "n", 6, lambda **k: points(data.spirals, **k)[0].shape, (6, 2)),
    *shows(data.spirals, "classes", 5, lambda **k: int(points(data.spirals, **k)[1].max()), 4),
    *shows(data.spirals, "noise", 0.0, lambda **k: radius(n=30, **k) < 0.04),
    *shows(data.spirals, "turns", 0.0,
           lambda **k: float(abs(points(data.spirals, classes=1, noise=0.0, **k)[0][:, 1]).max()) < 1e-6),
    *shows(data.digits, "train", False, lambda **k: data.digits(**k).total_len, 360),
]  # fmt: skip

# ------------------------------------------------------------------------------------------------------------- progress


def line(**given) -> str:
    out = io.StringIO()
    for _ in data.progress([1, 2], **{"out": out, "clock": lambda: 0.0, **given}):
        pass
    return out.getvalue()


def written(**given) -> bool:
    """Whether the stream that was given heard of it, and no other one."""
    mine, other = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(other):
        for _ in data.progress([1], **dict.fromkeys(given, mine)):
            pass
    return bool(mine.getvalue()) and not other.getvalue()


def ticking():
    times = iter(range(0, 100_000, 3600))
    return lambda: float(next(times))


PROGRESS = [
    *shows(data.progress, "epoch", 1, lambda **k: "epoch 1" in line(**k)),
    *shows(data.progress, "epochs", 3, lambda **k: "1/3" in line(epoch=1, **k)),
    *shows(data.progress, "out", "a stream", written),
    *shows(data.progress, "clock", "an hour each time", lambda **k: hours(**k)),
]  # fmt: skip


def hours(**given) -> bool:
    """Whether hours pass, by the clock that was given."""
    out = io.StringIO()
    for _ in data.progress([1, 2], out=out, **{name: ticking() for name in given}):
        pass
    return ":00:00" in out.getvalue()


ROWS = [*LOADER, *DATASET, *SAMPLERS, *POINTS, *PROGRESS]
