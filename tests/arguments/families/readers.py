"""Readers: which part of a dataset, what is done to its images and labels, and which files count."""

import struct
import tempfile
from pathlib import Path

import numpy as np

from jt_edu import data
from tests.arguments.rows import Row, shows

IMAGES, LABELS = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28), np.array([3, 5], np.uint8)
PHOTOGRAPHS = np.arange(2 * 3072, dtype=np.int64).astype(np.uint8).reshape(2, 3072)


def idx(array) -> bytes:
    """The format of MNIST."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def digits(folder: Path) -> None:
    """Two to train with, one to test with."""
    for part, many in (("train", 2), ("t10k", 1)):
        (folder / f"{part}-images-idx3-ubyte").write_bytes(idx(IMAGES[:many]))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(idx(LABELS[:many]))


def photographs(folder: Path) -> None:
    """CIFAR's binary form: one or two labels, then the pixels."""
    one = np.concatenate([LABELS[:, None], PHOTOGRAPHS], 1).tobytes()
    for k in range(1, 6):
        (folder / f"data_batch_{k}.bin").write_bytes(one)
    (folder / "test_batch.bin").write_bytes(one)
    (folder / "train.bin").write_bytes(
        np.concatenate([np.array([[7, 30], [8, 41]], np.uint8), PHOTOGRAPHS], 1).tobytes()
    )


def words(folder: Path) -> None:
    """Two folders with a text and a note each."""
    for name in ("cats", "dogs"):
        (folder / name).mkdir()
        for file in ("one.txt", "two.note", "three.png"):
            (folder / name / file).write_text(f"{name} {file}")


def within(write, make):
    """make(folder, **given), where `write` has been."""

    def ask(**given):
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder))
            return make(folder, **given)

    return ask


def labelled(kind, write) -> list[Row]:
    """The rows that datasets of images and labels share."""

    def told(look):
        return within(write, lambda folder, **k: look(kind(folder, **k)))

    return [
        *shows(kind, "train", False, told(lambda dataset: dataset.total_len), 1 if write is digits else 2),
        *shows(kind, "transform", np.sum, told(lambda dataset: np.ndim(dataset[1][0])), 0),
        *shows(kind, "target_transform", lambda y: y + 3, told(lambda dataset: int(dataset[1][1])), 8),
    ]  # fmt: skip


def read(path: str) -> str:
    return Path(path).read_text()


def texts(folder, **given):
    return data.DatasetFolder(folder, read, extensions=(".txt",), **given)


def of_folders(kind, make) -> list[Row]:
    """What a folder of folders is told."""

    def first(part):
        return within(words, lambda folder, **k: make(folder, **k)[0][part])

    return [
        *shows(kind, "transform", len, first(0), len("cats one.txt")),
        *shows(kind, "target_transform", lambda k: k + 3, first(1), 3),
    ]


def images(folder, **given):
    return data.ImageFolder(folder, loader=read, is_valid_file=lambda path: path.endswith(".txt"), **given)


ROWS = [
    *(row for kind in (data.MNIST, data.FashionMNIST) for row in labelled(kind, digits)),
    *labelled(data.CIFAR10, photographs),
    *shows(data.CIFAR100, "coarse", True, within(photographs, lambda folder, **k: data.CIFAR100(folder, **k)[1][1]), 8),
    *of_folders(data.DatasetFolder, texts),
    *of_folders(data.ImageFolder, images),
    *shows(data.DatasetFolder, "extensions", (".txt", ".note"),
           within(words, lambda folder, **k: data.DatasetFolder(folder, read, **k).total_len), 4),
    *shows(data.DatasetFolder, "is_valid_file", lambda path: "one" in path,
           within(words, lambda folder, **k: data.DatasetFolder(folder, read, **k).total_len), 2),
    *shows(data.ImageFolder, "is_valid_file", lambda path: "o" in Path(path).name,
           within(words, lambda folder, **k: data.ImageFolder(folder, **k).total_len), 4),
    *shows(data.ImageFolder, "loader", lambda path: "read by me",
           within(words, lambda folder, **k: _first_of(data.ImageFolder(folder, **k))), "read by me"),
]  # fmt: skip


def _first_of(folder):
    try:
        return folder[0][0]
    except data.FileError:  # no image
        return None
