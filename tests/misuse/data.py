"""Wrong calls of datasets, loaders, samplers, transforms and readers, and what their errors say."""

import itertools

import numpy as np

from jt_edu import data
from jt_edu.base.errors import ArgumentError, DtypeError, OutOfMemoryError, RangeError, ShapeError
from jt_edu.data import transform as T  # noqa: N812

TEN = data.ArrayDataset(np.arange(10))
HOLLOW = np.zeros((3, 0, 5), np.float32)
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


class Endless(data.Sampler):
    """Examples without end."""

    def __iter__(self):
        return itertools.repeat(0)


class Numbered:
    """Examples by number, and nobody knows how many."""

    def __getitem__(self, k):
        return k


CALLS = [
    ("digits of a word", lambda: data.digits("test"), ArgumentError, r"True or False; found train='test'"),
    ("a loader of a number", lambda: data.DataLoader(3), ArgumentError, r"int without __getitem__"),
    ("a loader of a generator", lambda: data.DataLoader(k for k in range(3)), ArgumentError, r"generator"),
    ("a batch of nobody", lambda: data.DataLoader(TEN, 0), ArgumentError, r"^DataLoader takes batch_size.*=0"),
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
    ("a way to resize that is not here", lambda: T.Resize(2, "spline"), ArgumentError, r"'spline'"),
    ("a chance of two", lambda: T.RandomHorizontalFlip(2), ArgumentError, r"p=2"),
    ("a chance of nan", lambda: T.RandomVerticalFlip(float("nan")), ArgumentError, r"nan"),
    ("a border of three", lambda: T.Pad((1, 2, 3)), ArgumentError, r"\(1, 2, 3\)"),
    ("a negative border", lambda: T.Pad(-1), ArgumentError, r"-1"),
    ("a border of fog", lambda: T.Pad(1, padding_mode="fog"), ArgumentError, r"'fog'"),
    ("a coloured mirror", lambda: T.Pad(1, 3, "reflect"), ArgumentError, r"fill 3"),
    ("a mirror larger than the image", lambda: T.Pad(5, padding_mode="reflect")(FLOATS), ShapeError, r"5 beside"),
    ("a colour of two channels", lambda: T.Pad(1, (1, 2))(FLOATS), ShapeError,
     r"colour.*found \[1.*, 2.*\] for planes of shape \(3, 4, 5\)"),
    ("light beyond a byte", lambda: T.Pad(1, 300)(PIXELS), ArgumentError, r"300"),
    ("brightness below nothing", lambda: T.ColorJitter(brightness=-1), ArgumentError,
     r"^ColorJitter takes brightness.*-1"),
    ("more than half a turn", lambda: T.ColorJitter(hue=0.7), ArgumentError, r"hue.*0\.7"),
    ("limits the wrong way round", lambda: T.ColorJitter(contrast=(2, 1)), ArgumentError, r"\(2, 1\)"),
    ("colours of five channels", lambda: T.ColorJitter(0.1)(np.zeros((5, 2, 2))), ShapeError, r"\(5, 2, 2\)"),
    ("grey from two channels", lambda: T.Grayscale()(np.zeros((2, 2, 2))), ShapeError, r"\(2, 2, 2\)"),
    ("grey in two channels", lambda: T.Grayscale(2), ArgumentError, r"num_output_channels=2"),
    ("a std of 0", lambda: T.Normalize(0.5, 0), ArgumentError, r"std 0"),
    ("a mean of two channels", lambda: T.Normalize([1, 2], [1, 2])(FLOATS), ShapeError,
     r"^Normalize takes mean and std as .*found \[1.0, 2.0\] for planes of shape \(3, 4, 5\)"),
    ("pixels normalized", lambda: T.Normalize(0, 1)(PIXELS), DtypeError, r"uint8"),
    ("floats made planes", lambda: T.ToTensor()(FLOATS), DtypeError, r"float32"),
    ("bytes with channels first", lambda: T.Resize(2)(np.zeros((3, 4, 5), np.uint8)), ShapeError, r"\(3, 4, 5\)"),
    ("a list as an image", lambda: T.Resize(2)([[1]]), ArgumentError, r"list"),
    ("a hole larger than the image", lambda: T.RandomErasing(scale=(0.5, 1.5)), ArgumentError, r"1\.5"),
    ("a hole of stars", lambda: T.RandomErasing(value="stars"), ArgumentError, r"'stars'"),
    ("a ratio of 0", lambda: T.RandomResizedCrop(2, ratio=(0, 1)), ArgumentError,
     r"above 0; found each limit of ratio=0"),
    ("a crop of more than there is", lambda: T.RandomCrop(9)(FLOATS), ShapeError, r"4 by 5"),
    ("a negative angle", lambda: T.RandomRotation(-5), ArgumentError, r"degrees.*-5"),
    ("no transforms to choose from", lambda: T.RandomChoice([]), ArgumentError, r"one at least; found \[\]"),
    ("transforms that are none", lambda: T.Compose([3]), ArgumentError, r"\[3\]"),
    ("weights for other transforms", lambda: T.RandomChoice([abs], p=[1, 2]), ArgumentError,
     r"RandomChoice.*\[1, 2\] for 1"),
    ("a lambda that is a number", lambda: T.Lambda(3), ArgumentError, r"lambd.*3"),
    ("digits from nowhere", lambda: data.MNIST("no/where"), data.FileError, r"no/where"),
    ("a sampler of unknown length", lambda: len(data.DataLoader(TEN, sampler=Endless())), data.LengthError,
     r"^a loader is as long as its sampler; found Endless without __len__"),
    ("batches of unknown number", lambda: len(data.BatchSampler(Endless(), 2)), data.LengthError, r"Endless without"),
    ("a batch sampler of unknown length", lambda: len(data.DataLoader(TEN, batch_sampler=Endless())), data.LengthError,
     r"as long as its batch_sampler; found Endless"),
    ("a chain of unknown length", lambda: len(data.ChainDataset([Empty()])), data.LengthError, r"ChainDataset.*Empty"),
    ("a dataset of unknown length, by number", lambda: list(data.DataLoader(Numbered())), ArgumentError,
     r"a dataset knows how many examples it has; found Numbered"),
    ("half an example", lambda: TEN[0.5], ArgumentError, r"^ArrayDataset\[k\] takes k as a whole number; found k=0\.5"),
    ("a true example", lambda: TEN[True], ArgumentError, r"k=True"),
    ("half examples", lambda: TEN[[0.5, 1.0]], ArgumentError, r"whole numbers; found \[0\.5, 1\.0\]"),
    ("examples in two places at once", lambda: TEN[[[1], [2, 3]]], ArgumentError, r"\[\[1\], \[2, 3\]\]"),
    ("examples too far", lambda: TEN[np.array([0, 12])], RangeError, r"10 examples.*number 12"),
    ("examples by tuple", lambda: TEN[0, 1], ArgumentError, r"\(0, 1\)"),
    ("a mask of another length", lambda: TEN[[True, False]], ArgumentError, r"\[True, False\]"),
    ("a subset of names", lambda: data.Subset(TEN, "ab"), ArgumentError, r"'a', 'b'"),
    ("a true length", lambda: data.random_split(TEN, [True, 9]), ArgumentError,
     r"^random_split takes each length as a whole number from 0; found each length=True"),
    ("a length in words", lambda: data.random_split(TEN, ["all"]), ArgumentError, r"'all'"),
    ("a fraction of nan", lambda: data.random_split(TEN, [0.5, float("nan")]), ArgumentError, r"nan"),
    ("draws of nothing", lambda: data.RandomSampler(TEN, num_samples=0), ArgumentError,
     r"^RandomSampler.*num_samples=0"),
    ("batches of nobody", lambda: data.BatchSampler(TEN, 0), ArgumentError, r"^BatchSampler.*batch_size=0"),
    ("half a skip", lambda: data.SkipFirstBatches(TEN, 0.5), ArgumentError, r"^SkipFirstBatches.*skip=0\.5"),
    ("weights that may return, perhaps", lambda: data.WeightedRandomSampler([1], 1, "no"), ArgumentError,
     r"^WeightedRandomSampler.*replacement='no'"),
    ("a dataset without a batch", lambda: TEN.set_attrs(batch_size=0), ArgumentError, r"^ArrayDataset.*batch_size=0"),
    ("points that are too few", lambda: data.spirals(2), ArgumentError, r"^spirals takes n as .* from 3; found n=2"),
    ("half a point", lambda: data.moons(2.5), ArgumentError, r"^moons takes n.*n=2\.5"),
    ("noise without end", lambda: data.moons(noise=float("inf")), ArgumentError, r"^moons.*noise=inf"),
    ("turns in words", lambda: data.spirals(turns="two"), ArgumentError, r"^spirals.*turns='two'"),
    ("a batch size misspelt", lambda: data.ArrayDataset([1], bath_size=3), ArgumentError,
     r"ArrayDataset takes no argument bath_size. Try: batch_size"),
    ("a subset misspelt", lambda: data.Subset(TEN, [1], shufle=True), ArgumentError, r"Subset.*Try: shuffle"),
    ("a length that is counted", lambda: data.ConcatDataset([TEN], total_len=3), ArgumentError, r"total_len"),
    ("images misspelt", lambda: data.ImageFolder(".", transfrom=abs), ArgumentError,
     r"ImageFolder takes no argument transfrom. Try: transform"),
    ("a folder that is downloaded", lambda: data.ImageFolder(".", download=True), ArgumentError, r"is downloaded"),
    ("files known by a word", lambda: data.DatasetFolder(".", abs, is_valid_file="png"), ArgumentError,
     r"^DatasetFolder takes is_valid_file as a function, or None; found is_valid_file='png'"),
    ("resizing nothing", lambda: T.Resize(4)(HOLLOW), ShapeError, r"\(3, 0, 5\)"),
    ("a piece of nothing", lambda: T.RandomResizedCrop(4)(HOLLOW), ShapeError, r"\(3, 0, 5\)"),
    ("a border around nothing", lambda: T.Pad(0, padding_mode="reflect")(HOLLOW), ShapeError, r"\(3, 0, 5\)"),
    ("turning nothing", lambda: T.RandomRotation(5, "bilinear")(HOLLOW), ShapeError, r"\(3, 0, 5\)"),
    ("moving nothing", lambda: T.RandomAffine(5)(HOLLOW), ShapeError, r"\(3, 0, 5\)"),
    ("blurring nothing", lambda: T.GaussianBlur(1)(HOLLOW), ShapeError, r"0 by 5"),
    ("more than a memory holds", lambda: T.Resize(10**7)(FLOATS), OutOfMemoryError,
     r"shape \(3, 10000000, 12500000\), 1,500,000,000,000,000 bytes"),
    ("a border of more than that", lambda: T.Pad(10**7)(FLOATS), OutOfMemoryError, r"20000004, 20000005\)"),
    ("a size beyond whole numbers", lambda: T.CenterCrop(10**30)(FLOATS), OutOfMemoryError, r"1000000000000000000"),
    ("an angle in words", lambda: T.RandomRotation(("a", 1)), ArgumentError, r"^RandomRotation.*degrees='a'"),
    ("a turn without end", lambda: T.RandomRotation((0, float("inf"))), ArgumentError, r"inf"),
    ("one limit of an angle", lambda: T.RandomRotation((3,)), ArgumentError, r"two limits; found degrees=\(3,\)"),
    ("a scale in words", lambda: T.RandomErasing(scale=("a", 1)), ArgumentError, r"^RandomErasing.*scale='a'"),
    ("a contrast in words", lambda: T.ColorJitter(contrast=("a", 1)), ArgumentError, r"^ColorJitter.*contrast='a'"),
    ("contrast without end", lambda: T.ColorJitter(contrast=float("inf")), ArgumentError, r"contrast=inf"),
    ("one weight for all", lambda: T.RandomChoice([abs], p=3), ArgumentError, r"^RandomChoice takes p as .*found p=3"),
    ("weights in words", lambda: T.RandomChoice([abs], p="a"), ArgumentError, r"each of p='a'"),
    ("one transform that is none", lambda: T.RandomOrder(3), ArgumentError, r"^RandomOrder takes transforms.*found 3"),
    ("a chance of grey", lambda: T.RandomGrayscale(-1), ArgumentError, r"^RandomGrayscale takes p.*p=-1"),
    ("grey of two channels, by chance", lambda: T.RandomGray(0.0)(np.zeros((2, 2, 2))), ShapeError, r"\(2, 2, 2\)"),
    ("grey of two channels, as in Jittor", lambda: T.Gray()(np.zeros((2, 2, 2))), ShapeError, r"^Gray.*\(2, 2, 2\)"),
    ("grey in true channels", lambda: T.Gray(True), ArgumentError, r"^Gray takes num_output_channels.*=True"),
    ("a shift of two images", lambda: T.RandomAffine(0, (2, 0)), ArgumentError, r"^RandomAffine.*translate=2"),
    ("a shift along one axis", lambda: T.RandomAffine(0, 0.5), ArgumentError, r"\(x, y\); found translate=0\.5"),
    ("a scale of 0", lambda: T.RandomAffine(0, scale=(0, 1)), ArgumentError, r"above 0; found each limit of scale=0"),
    ("one scale", lambda: T.RandomAffine(0, scale=2), ArgumentError, r"two limits; found scale=2"),
    ("a shear into a line", lambda: T.RandomAffine(0, shear=90), ArgumentError,
     r"to 89; found each limit of shear=-90"),
    ("three limits of a shear", lambda: T.RandomAffine(0, shear=(1, 2, 3)), ArgumentError, r"shear=\(1, 2, 3\)"),
    ("an affine cube", lambda: T.RandomAffine(0, interpolation="cubic"), ArgumentError, r"^RandomAffine.*'cubic'"),
    ("a colour of two channels, moved", lambda: T.RandomAffine(0, fill=(1, 2))(FLOATS), ShapeError, r"\[1.*, 2.*\]"),
    ("an even kernel", lambda: T.GaussianBlur(4), ArgumentError, r"odd numbers; found kernel_size=4"),
    ("a kernel of no pixel", lambda: T.GaussianBlur(0), ArgumentError, r"^GaussianBlur.*kernel_size=0"),
    ("three kernels", lambda: T.GaussianBlur((1, 3, 5)), ArgumentError, r"along the width.*\(1, 3, 5\)"),
    ("a bell without width", lambda: T.GaussianBlur(3, 0), ArgumentError, r"sigma=0"),
    ("bells the wrong way round", lambda: T.GaussianBlur(3, (2, 1)), ArgumentError, r"\(2, 1\). Try: \(1, 2\)"),
    ("a kernel larger than the image", lambda: T.GaussianBlur(9)(FLOATS), ShapeError, r"4 rows .* found 4 by 5"),
    ("five pieces of more than there is", lambda: T.FiveCrop(5)(FLOATS), ShapeError, r"5 by 5 .* found 4 by 5"),
    ("ten pieces of more than there is", lambda: T.TenCrop(5)(FLOATS), ShapeError, r"^TenCrop .* found 4 by 5"),
    ("five pieces of no size", lambda: T.FiveCrop(0), ArgumentError, r"^FiveCrop.*size=0"),
    ("an unknown mode of Pillow", lambda: T.ToPILImage("XYZ"), ArgumentError, r"^ToPILImage takes mode.*'XYZ'"),
    ("a mode for fewer channels", lambda: T.ToPILImage("L")(FLOATS), ShapeError, r"3 of them for mode 'L'. Try: RGB"),
    ("a batch for Pillow", lambda: T.ToPILImage()(FLOATS[None]), ShapeError, r"^ToPILImage.*\(1, 3, 4, 5\)"),
    ("five channels for Pillow", lambda: T.ToPILImage()(np.zeros((5, 2, 2))), ShapeError, r"\(5, 2, 2\)"),
    ("whole numbers for Pillow", lambda: T.ToPILImage()(np.zeros((3, 2, 2), int)), DtypeError, r"int64"),
    ("an image of int32", lambda: T.ConvertImageDtype("int32"), DtypeError, r"^ConvertImageDtype.*dtype=int32"),
    ("an image of words", lambda: T.ConvertImageDtype("words"), DtypeError, r"'words'"),
    ("int32 to bytes", lambda: T.ConvertImageDtype("uint8")(FLOATS.astype("int32")), DtypeError, r"dtype int32"),
    ("int32 to floats", lambda: T.ConvertImageDtype("float32")(FLOATS.astype("int32")), DtypeError, r"dtype int32"),
    ("a batch to pixels", lambda: T.ConvertImageDtype("uint8")(FLOATS[None]), ShapeError, r"\(1, 3, 4, 5\)"),
    ("a std of 0, as in Jittor", lambda: T.ImageNormalize(0.5, 0), ArgumentError, r"^ImageNormalize.*std 0"),
    ("a mean for no channel", lambda: T.ImageNormalize([], [])(PIXELS), ShapeError, r"^ImageNormalize.*found \[\]"),
    ("photographs from a number", lambda: data.CIFAR10(3), ArgumentError, r"root.*3"),
    ("an image from nowhere", lambda: data.read_image("no/where.png"), data.FileError, r"no/where\.png"),
    ("an array from nowhere", lambda: data.read_idx("no/where"), data.FileError, r"no file|no such file"),
]  # fmt: skip
