"""Datasets by name: which one is "torch/cifar10", and where is it?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.data.cifar import CIFAR10, CIFAR100
from jt_edu.data.folder import ImageFolder
from jt_edu.data.mnist import MNIST, FashionMNIST
from jt_edu.data.toy import digits
from jt_edu.data.vision_dataset import Pictures
from jt_edu.ops.arguments import yes_or_no

__all__ = ["create_dataset"]

TRAIN, VALIDATION = ("train", "training"), ("val", "valid", "validation", "eval", "evaluation")
IN_FILES = {"cifar10": CIFAR10, "cifar100": CIFAR100, "mnist": MNIST, "fashion_mnist": FashionMNIST}
NAMES = ("", *(f"torch/{name}" for name in IN_FILES), "torch/image_folder", "jt/digits")


class Digits(Pictures):
    """The digits of `jt.data.digits` as photographs: pixels (8, 8) uint8."""

    def __init__(self, train: bool, **attributes: Any) -> None:
        super().__init__(Path(), None, None, **attributes)
        pixels, labels = digits(train).arrays
        self.hold(np.rint(pixels[:, 0] * 255).astype(np.uint8), labels, tuple("0123456789"))


def create_dataset(
    name: str, root: Any = None, split: str = "validation", search_split: bool = True,
    class_map: Mapping[str, int] | None = None, **attributes: Any,
) -> Any:  # fmt: skip
    """A dataset of photographs and labels, by its name.

    Args:
        name: "", images in folders; "torch/cifar10", "torch/cifar100", "torch/mnist", "torch/fashion_mnist", whose
            files are in `root`; "torch/image_folder"; "jt/digits", which needs no files.
        root: the folder of the files.
        split: "train" (or "training"), or anything else, which is not for training.
        search_split: of images in folders, `root` may have a folder for each split.
        class_map: of images in folders: name of a folder -> number of the class; folders that it lacks are passed over.
        attributes: as for the dataset: transform, target_transform, batch_size.

    Raises:
        ArgumentError: there is no such dataset, or an argument that it does not take. FileError: it is not in `root`.

    Example:
        >>> jt.zoo.data.create_dataset("jt/digits", split="train")
        Digits(1,437 examples, 90 batches of 16)

    Source: timm (Wightman, "PyTorch image models").
    """
    prefix, slash, rest = str(name).partition("/")
    plain = f"{prefix.lower()}{slash}{rest.lower()}"
    train = split in TRAIN
    if plain not in NAMES:
        raise ArgumentError("create_dataset knows " + ", ".join(map(repr, NAMES)), repr(name), "'' for folders")
    if plain not in ("", "torch/image_folder") and class_map is not None:
        raise ArgumentError("a class_map is for images in folders", f"{name!r}")
    if plain == "jt/digits":
        return Digits(train, **attributes)
    if root is None:
        raise ArgumentError(f"create_dataset({name!r}) reads files in root", "root=None", "root='data'")
    if rest.lower() in IN_FILES:
        return IN_FILES[rest.lower()](root, train=train, **attributes)
    here = _searched(Path(root), split) if yes_or_no("create_dataset", "search_split", search_split) else root
    return _mapped(ImageFolder(here, **attributes), class_map)


def _searched(root: Path, split: str) -> Path:
    """The folder of a split, under one of its names, or the root itself."""
    same = next((names for names in (TRAIN, VALIDATION) if split in names), ())
    return next((root / name for name in (split, *same) if (root / name).is_dir()), root)


def _mapped(folder: ImageFolder, class_map: Mapping[str, int] | None) -> ImageFolder:
    """The images of the folders that are named, with other numbers."""
    if class_map is None:
        return folder
    if unknown := [name for name in class_map if name not in folder.class_to_idx]:
        raise ArgumentError("a class_map names folders: " + ", ".join(folder.classes), repr(unknown[0]))
    number = {folder.class_to_idx[name]: int(k) for name, k in class_map.items()}
    folder.samples = folder.imgs = [(path, number[k]) for path, k in folder.samples if k in number]
    folder.targets, folder.class_to_idx = [k for _, k in folder.samples], dict(class_map)
    folder.classes = sorted(class_map, key=class_map.__getitem__)
    folder.set_attrs(total_len=len(folder.samples))
    return folder
