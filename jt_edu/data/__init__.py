"""data: examples in batches, toy data, and a line that tells how far training is. This file is a door: names only."""

from jt_edu.data.dataset import ArrayDataset, Dataset, TensorDataset, collate
from jt_edu.data.progress import progress
from jt_edu.data.toy import digits, moons, spirals

__all__ = [
    "ArrayDataset",
    "Dataset",
    "TensorDataset",
    "collate",
    "digits",
    "moons",
    "progress",
    "spirals",
]
