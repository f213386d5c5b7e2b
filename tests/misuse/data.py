"""Wrong calls of datasets, loaders, samplers, transforms and readers, and what their errors say."""

import numpy as np

from jt_edu import data
from jt_edu.data import transform as T  # noqa: N812
from jt_edu.errors import ArgumentError, DtypeError, RangeError, ShapeError

TEN = data.ArrayDataset(np.arange(10))
FLOATS = np.zeros((3, 4, 5), np.float32)
PIXELS = np.zeros((4, 5, 3), np.uint8)


class Empty(data.IterableDataset):
    """A stream of nothing."""

    def __iter__(self):
        return iter(())


class Unknown(data.Dataset):
    """Nobody knows how many examples."""

    def __getitem__(self, k):
        return k


class Counted:
    """As many examples as it is told."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, k):
        return k


CALLS = [
    ("digits of a word", lambda: data.digits("test"), ArgumentError, r"True or False; found train='test'"),
    ("a loader of a number", lambda: data.DataLoader(3), ArgumentError, r"int without __getitem__"),
    ("a loader of a generator", lambda: data.DataLoader(k for k in range(3)), ArgumentError, r"generator"),
    ("a batch of nobody", lambda: data.DataLoader(TEN, 0), ArgumentError, r"batch_size.*batch_size=0"),
    ("half a worker", lambda: data.DataLoader(TEN, num_workers=0.5), ArgumentError, r"num_workers.*0\.5"),
    ("true workers", lambda: data.DataLoader(TEN, num_workers=True), ArgumentError, r"num_workers.*True"),
    ("shuffle by name", lambda: data.DataLoader(TEN, shuffle="yes"), ArgumentError, r"shuffle.*'yes'"),
    (
        "shuffle and a sampler",
        lambda: data.DataLoader(TEN, shuffle=True, sampler=[1]),
        ArgumentError,
        r"shuffle as well",
    ),
    ("a sampler that is a number", lambda: data.DataLoader(TEN, sampler=3), ArgumentError, r"sampler.*found 3"),
    (
        "a batch sampler and a size",
        lambda: data.DataLoader(TEN, 2, batch_sampler=[[1]]),
        ArgumentError,
        r"batch_size as well",
    ),
    (
        "single examples without the last",
        lambda: data.DataLoader(TEN, None, drop_last=True),
        ArgumentError,
        r"drop_last",
    ),
    ("a shuffled stream", lambda: data.DataLoader(Empty(), shuffle=True), ArgumentError, r"shuffle as well"),
    ("a stream by sampler", lambda: data.DataLoader(Empty(), sampler=[1]), ArgumentError, r"sampler as well"),
    ("half pinned memory", lambda: data.DataLoader(TEN, pin_memory="yes"), ArgumentError, r"pin_memory='yes'"),
    ("a length below 0", lambda: list(data.DataLoader(Counted(-1))), ArgumentError, r"Counted.*>= 0"),
    ("half a length", lambda: list(data.DataLoader(Counted(2.5))), ArgumentError, r"Counted.*float"),
    (
        "ahead without workers",
        lambda: data.DataLoader(TEN, prefetch_factor=2),
        ArgumentError,
        r"prefetch_factor as well",
    ),
    (
        "lasting workers that are none",
        lambda: data.DataLoader(TEN, persistent_workers=True),
        ArgumentError,
        r"persistent",
    ),
    ("a timeout without workers", lambda: data.DataLoader(TEN, timeout=1), ArgumentError, r"timeout as well"),
    ("a negative timeout", lambda: data.DataLoader(TEN, num_workers=1, timeout=-1), ArgumentError, r"timeout.*-1"),
    (
        "workers prepared by a number",
        lambda: data.DataLoader(TEN, num_workers=1, worker_init_fn=3),
        ArgumentError,
        r"3",
    ),
    ("collating by name", lambda: data.DataLoader(TEN, collate_fn="stack"), ArgumentError, r"collate_fn.*'stack'"),
    ("a seed that is a text", lambda: data.DataLoader(TEN, generator="a"), ArgumentError, r"'a'"),
    ("a sampler that goes too far", lambda: list(data.DataLoader(TEN, sampler=[10])), RangeError, r"number 10"),
    ("an example too far", lambda: TEN[10], RangeError, r"number 10"),
    ("an example by name", lambda: TEN["a"], ArgumentError, r"'a'"),
    ("a subset too far", lambda: data.Subset(TEN, [0, -11]), RangeError, r"number -11"),
    ("a subset of one number", lambda: data.Subset(TEN, 3), ArgumentError, r"found 3"),
    ("a subset of a number", lambda: data.Subset(3, [0]), ArgumentError, r"int without __len__"),
    ("a split that leaves some out", lambda: data.random_split(TEN, [4, 4]), ArgumentError, r"together 8"),
    ("fractions that are too much", lambda: data.random_split(TEN, [0.9, 0.2]), ArgumentError, r"\[0\.9, 0\.2\]"),
    ("a split by one number", lambda: data.random_split(TEN, 0.5), ArgumentError, r"0\.5"),
    ("nothing joined", lambda: data.ConcatDataset([]), ArgumentError, r"\[\]"),
    ("streams joined by number", lambda: data.ConcatDataset([Empty()]), ArgumentError, r"Empty"),
    ("a chain of lists", lambda: data.ChainDataset([[1, 2]]), ArgumentError, r"\[1, 2\]"),
    ("a stack of unequal length", lambda: data.StackDataset([1], [1, 2]), ShapeError, r"\[1, 2\]"),
    ("a stack half named", lambda: data.StackDataset([1], x=[1]), ArgumentError, r"1 without a name, 1 with one"),
    ("an unknown attribute", lambda: TEN.set_attrs(bath_size=3), ArgumentError, r"bath_size"),
    ("a buffer of no byte", lambda: TEN.set_attrs(buffer_size=0), ArgumentError, r"buffer_size=0"),
    ("draws from nothing", lambda: list(data.RandomSampler([])), ArgumentError, r"0 examples"),
    ("negative chances", lambda: data.WeightedRandomSampler([1, -2], 1), ArgumentError, r"-2"),
    ("no chance at all", lambda: data.WeightedRandomSampler([0, 0], 1), ArgumentError, r"nothing but 0"),
    ("chances in a matrix", lambda: data.WeightedRandomSampler([[1]], 1), ShapeError, r"\(1, 1\)"),
    (
        "too many without replacement",
        lambda: data.WeightedRandomSampler([1, 0], 2, False),
        ArgumentError,
        r"num_samples 2",
    ),
    ("batches of a number", lambda: data.BatchSampler(3, 2), ArgumentError, r"found 3"),
    ("a batch of None", lambda: data.collate([1, None]), ArgumentError, r"None for number 1 of it.*a return"),
    (
        "a dataset of unknown length",
        lambda: list(data.DataLoader(Unknown(), batch_size=2)),
        ArgumentError,
        r"^Unknown must say how many.*no __len__.*def __len__",
    ),
    ("a batch of text and numbers", lambda: data.collate(["a", 1]), ShapeError, r"int in number 1"),
    ("no size", lambda: T.Resize(0), ArgumentError, r"size=0"),
    ("three sizes", lambda: T.Resize((1, 2, 3)), ArgumentError, r"\(1, 2, 3\)"),
    ("a size of None", lambda: T.Resize(None), ArgumentError, r"None"),
    ("a cubic image", lambda: T.Resize(2, "bicubic"), ArgumentError, r"'bicubic'"),
    ("a chance of two", lambda: T.RandomHorizontalFlip(2), ArgumentError, r"p=2"),
    ("a chance of nan", lambda: T.RandomVerticalFlip(float("nan")), ArgumentError, r"nan"),
    ("a border of three", lambda: T.Pad((1, 2, 3)), ArgumentError, r"\(1, 2, 3\)"),
    ("a negative border", lambda: T.Pad(-1), ArgumentError, r"-1"),
    ("a border of fog", lambda: T.Pad(1, padding_mode="fog"), ArgumentError, r"'fog'"),
    ("a coloured mirror", lambda: T.Pad(1, 3, "reflect"), ArgumentError, r"fill 3"),
    ("a mirror larger than the image", lambda: T.Pad(5, padding_mode="reflect")(FLOATS), ShapeError, r"5 beside"),
    ("a colour of two channels", lambda: T.Pad(1, (1, 2))(FLOATS), ShapeError, r"\(1, 2\).*\(3, 6, 7\)|\(1, 2\)"),
    ("light beyond a byte", lambda: T.Pad(1, 300)(PIXELS), ArgumentError, r"300"),
    ("brightness below nothing", lambda: T.ColorJitter(brightness=-1), ArgumentError, r"brightness.*-1"),
    ("more than half a turn", lambda: T.ColorJitter(hue=0.7), ArgumentError, r"hue.*0\.7"),
    ("limits the wrong way round", lambda: T.ColorJitter(contrast=(2, 1)), ArgumentError, r"\(2, 1\)"),
    ("colours of five channels", lambda: T.ColorJitter(0.1)(np.zeros((5, 2, 2))), ShapeError, r"\(5, 2, 2\)"),
    ("grey from two channels", lambda: T.Grayscale()(np.zeros((2, 2, 2))), ShapeError, r"\(2, 2, 2\)"),
    ("grey in two channels", lambda: T.Grayscale(2), ArgumentError, r"found 2"),
    ("a std of 0", lambda: T.Normalize(0.5, 0), ArgumentError, r"std 0"),
    ("a mean of two channels", lambda: T.Normalize([1, 2], [1, 2])(FLOATS), ShapeError, r"\(3, 4, 5\)"),
    ("pixels normalized", lambda: T.Normalize(0, 1)(PIXELS), DtypeError, r"uint8"),
    ("floats made planes", lambda: T.ToTensor()(FLOATS), DtypeError, r"float32"),
    ("bytes with channels first", lambda: T.Resize(2)(np.zeros((3, 4, 5), np.uint8)), ShapeError, r"\(3, 4, 5\)"),
    ("a list as an image", lambda: T.Resize(2)([[1]]), ArgumentError, r"list"),
    ("a hole larger than the image", lambda: T.RandomErasing(scale=(0.5, 1.5)), ArgumentError, r"1\.5"),
    ("a hole of stars", lambda: T.RandomErasing(value="stars"), ArgumentError, r"'stars'"),
    ("a ratio of 0", lambda: T.RandomResizedCrop(2, ratio=(0, 1)), ArgumentError, r"\(0, 1\)"),
    ("a crop of more than there is", lambda: T.RandomCrop(9)(FLOATS), ShapeError, r"4 by 5"),
    ("a negative angle", lambda: T.RandomRotation(-5), ArgumentError, r"degrees.*-5"),
    ("no transforms", lambda: T.Compose([]), ArgumentError, r"\[\]"),
    ("transforms that are none", lambda: T.Compose([3]), ArgumentError, r"\[3\]"),
    ("weights for other transforms", lambda: T.RandomChoice([abs], p=[1, 2]), ArgumentError, r"\[1, 2\] for 1"),
    ("a lambda that is a number", lambda: T.Lambda(3), ArgumentError, r"lambd.*3"),
    ("digits from nowhere", lambda: data.MNIST("no/where"), data.FileError, r"no/where"),
    ("photographs from a number", lambda: data.CIFAR10(3), ArgumentError, r"root.*3"),
    ("an image from nowhere", lambda: data.read_image("no/where.png"), data.FileError, r"no/where\.png"),
    ("an array from nowhere", lambda: data.read_idx("no/where"), data.FileError, r"no file|no such file"),
]
