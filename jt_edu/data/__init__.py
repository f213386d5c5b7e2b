"""data: examples in batches, from memory, files and other processes, and a line that tells how far training is.

This file is a door: names only.
"""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door, names_of
from jt_edu.data import transform
from jt_edu.data.binary_io import FileError
from jt_edu.data.cifar import CIFAR10, CIFAR100
from jt_edu.data.collate import collate, default_collate, default_convert
from jt_edu.data.dataset import ArrayDataset, Dataset, TensorDataset
from jt_edu.data.dataset_ops import *
from jt_edu.data.fetch import WorkerInfo, get_worker_info
from jt_edu.data.folder import DatasetFolder, ImageFolder
from jt_edu.data.image import read_image
from jt_edu.data.loader import DataLoader
from jt_edu.data.mnist import MNIST, FashionMNIST, read_idx
from jt_edu.data.progress_bar import progress
from jt_edu.data.sampler import *
from jt_edu.data.toy import digits, moons, spirals
from jt_edu.data.worker_pool import WorkerError

__all__ = [
    "ArrayDataset", "CIFAR10", "CIFAR100", "DataLoader", "Dataset", "DatasetFolder", "FashionMNIST", "FileError",
    "ImageFolder", "MNIST", "TensorDataset", "WorkerError", "WorkerInfo", "collate", "default_collate",
    "default_convert", "digits", "get_worker_info", "moons", "progress", "read_idx", "read_image", "spirals",
    "transform",
    *names_of("jt_edu.data", "dataset_ops sampler"),
]  # fmt: skip
__all__.sort()

if not TYPE_CHECKING:
    _above = {"DistributedSampler": "jt_edu.distributed:DistributedSampler"}  # PyTorch has it here
    __getattr__, __dir__ = door("jt.data", __all__, upstairs=_above)
