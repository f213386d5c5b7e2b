"""Sequences of different lengths in one array: padded to the longest, or packed without padding.

    padded (t, n, ...)      a b c        packed      a d f b e c      what stands at moment 0, at moment 1, ...
                            d e -        batch sizes 3 2 1            how many sequences are that long
                            f - -

A recurrent layer takes a `PackedSequence`, whose lengths are whole numbers of the host: they decide the shapes. A graph
with other shapes is planned anew, and hardly two batches are equally long when they are packed. So a packed sequence
remembers its padded form as long as nobody looks at `data`, and layers and `pad_packed_sequence` take that: padding has
the same shape for each batch, and which of it is padding are numbers like others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.builders import short
from jt_edu.ir.node import Node
from jt_edu.ops.arguments import choice, whole, yes_or_no
from jt_edu.ops.concat import stack
from jt_edu.ops.index import getitem
from jt_edu.ops.pad import pad
from jt_edu.variable.var import Var, as_var

__all__ = ["PackedSequence", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence"]
Numbers = np.ndarray[Any, Any]


class _Fields(NamedTuple):
    data: Var
    batch_sizes: Numbers
    sorted_indices: Numbers | None = None
    unsorted_indices: Numbers | None = None


class PackedSequence(_Fields):
    """Sequences packed without padding, the longest first; make one with `pack_padded_sequence`.

    data: (all moments of all sequences, ...); batch_sizes: how many sequences reach each moment; sorted_indices: where
    each sequence stood before they were sorted, unsorted_indices the way back (None if they were sorted).

    Example:
        >>> packed = pack_padded_sequence(jt.array([[[1.0], [4.0]], [[2.0], [0.0]]]), [2, 1])
        >>> packed.data.numpy().ravel(), packed.batch_sizes
        (array([1., 4., 2.], dtype=float32), array([2, 1]))
    """

    _padded: tuple[Node, Var] | None = None  # the same as (t, n, ...) in the order of before, zeros behind the ends

    @property
    def data(self) -> Var:
        """(all moments of all sequences, ...): who has it may change it, or ask for its gradient, so it counts now."""
        self._padded = None
        return self[0]

    @property
    def padded(self) -> Var | None:
        """(t, n, ...) in the order of before, zeros behind the ends; None when somebody has looked at `data`."""
        return self._padded[1] if self._padded is not None and self._padded[0] is self[0].node else None

    @property
    def lengths(self) -> Numbers:
        """How long each sequence is, the longest first."""
        many = int(self.batch_sizes[0])
        counts: Numbers = (self.batch_sizes[:, None] > np.arange(many)).sum(0)
        return counts


def pack_padded_sequence(
    x: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Leave out the padding of (t, n, ...).

    Args:
        x: (t, n, ...), or (n, t, ...) with batch_first.
        lengths: (n,), each from 1 to t.
        enforce_sorted: the longest sequence comes first, and no later one is longer; False: they are sorted here, and
            `pad_packed_sequence` undoes that.

    Raises:
        ShapeError: the lengths do not fit x, or are not sorted.

    Example:
        >>> pack_padded_sequence(jt.ones(3, 2, 4), [1, 3], enforce_sorted=False).data.shape
        (4, 4)
    """
    padded, counts = as_var(x), _counts(lengths)
    batch_first = yes_or_no("pack_padded_sequence", "batch_first", batch_first)
    enforce_sorted = yes_or_no("pack_padded_sequence", "enforce_sorted", enforce_sorted)
    order = _order(counts, padded, batch_first, enforce_sorted)
    ordered = counts[order]
    sizes = (ordered[None, :] > np.arange(counts.max(initial=0))[:, None]).sum(1)
    moments = np.repeat(np.arange(len(sizes)), sizes)
    who = order[np.concatenate([np.arange(n) for n in sizes])]
    data = getitem(padded, (who, moments) if batch_first else (moments, who))
    packed = PackedSequence(data, sizes, *([] if enforce_sorted else [order, np.argsort(order)]))
    steps = (padded.transpose(0, 1) if batch_first else padded)[: len(sizes)]
    packed._padded = data.node, _filled(steps, np.arange(len(sizes))[:, None] >= counts, 0)
    return packed


def _order(counts: Numbers, padded: Var, batch_first: bool, enforce_sorted: bool) -> Numbers:
    """The sequences, the longest first; of the same length as they stand."""
    longest, many = _first_axes(padded, batch_first)
    if len(counts) != many or counts.min(initial=1) < 1 or counts.max(initial=0) > longest:
        asked = f"packing takes {many} lengths from 1 to {longest}"
        raise ShapeError(asked, f"{counts.tolist()} for shape {padded.shape}", "one length for each sequence")
    order: Numbers = np.argsort(-counts, kind="stable")
    if enforce_sorted and (order != np.arange(many)).any():
        asked = "packing takes the longest sequence first"
        raise ShapeError(asked, f"lengths {counts.tolist()}", "enforce_sorted=False")
    return order


def _filled(steps: Var, gone: Numbers, value: float) -> Var:
    """(t, n, ...) with a value where sequences have ended."""
    return steps.where_not(as_var(gone).reshape(*gone.shape, *([1] * (steps.ndim - 2))), value)


def _counts(lengths: Any) -> Numbers:
    found = as_var(lengths).numpy()
    if found.ndim != 1 or found.dtype.kind not in "iu" or not found.size:
        raise ArgumentError("lengths are whole numbers in one axis", f"{found.tolist()}", "[3, 2]")
    return found.astype(np.int64)


def _first_axes(x: Var, batch_first: bool) -> tuple[int, int]:
    """How many moments, and how many sequences."""
    if x.ndim < 2:
        raise ShapeError("sequences have the shape (t, n, ...)", f"shape {x.shape}")
    return (x.shape[1], x.shape[0]) if batch_first else (x.shape[0], x.shape[1])


def pad_packed_sequence(
    packed: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Var, Numbers]:
    """Undo `pack_padded_sequence`: (t, n, ...), or (n, t, ...) with batch_first, and the lengths.

    Args:
        packed: what a recurrent layer answered.
        batch_first: which axis comes first.
        padding_value: stands behind the end of each sequence.
        total_length: t; by default the longest length.

    Raises:
        ShapeError: total_length is shorter than a sequence.
        ArgumentError: total_length is no whole number, or batch_first neither True nor False.

    Example:
        >>> packed = pack_padded_sequence(jt.ones(3, 2), [3, 1])
        >>> pad_packed_sequence(packed, batch_first=True)[0].numpy()
        array([[1., 1., 1.],
               [1., 0., 0.]], dtype=float32)
    """
    if not isinstance(packed, PackedSequence):
        raise ArgumentError("pad_packed_sequence takes a PackedSequence", type(packed).__name__, "pack_padded_sequence")
    batch_first, counts = yes_or_no("pad_packed_sequence", "batch_first", batch_first), packed.lengths
    longest = int(counts.max())
    total = longest if total_length is None else whole("pad_packed_sequence", "total_length", total_length)
    if total < longest:
        raise ShapeError(f"total_length is at least the longest length, {longest}", short(total_length))
    counts = counts if packed.unsorted_indices is None else counts[packed.unsorted_indices]
    steps = _unpacked(packed) if packed.padded is None else packed.padded
    steps = pad(steps, (0, 0) * (steps.ndim - 1) + (0, total - longest)) if total > longest else steps
    out = _filled(steps, np.arange(total)[:, None] >= counts, padding_value)
    return out.transpose(0, 1) if batch_first else out, counts


def _unpacked(packed: PackedSequence) -> Var:
    """The data as (t, n, ...) in the order of before; behind the ends stands anything."""
    sizes, counts, back = packed.batch_sizes, packed.lengths, packed.unsorted_indices
    starts, moment = np.cumsum(sizes) - sizes, np.arange(len(sizes))[:, None]
    place = np.where(moment < counts, starts[:, None] + np.arange(len(counts)), 0)
    return getitem(packed[0], place if back is None else place[:, back])


def pad_sequence(
    sequences: Sequence[Any], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Var:
    """Sequences (length, ...) of different lengths, padded: (t, n, ...), or (n, t, ...) with batch_first.

    Args:
        sequences: a list of Vars that agree in all but the first axis.
        batch_first: which axis comes first.
        padding_value: fills the shorter ones.
        padding_side: "right" or "left".

    Raises:
        ShapeError: there is none, or they do not fit each other.
        ArgumentError: there is no such side, or batch_first is neither True nor False.

    Example:
        >>> pad_sequence([jt.array([1.0, 2.0]), jt.array([3.0])], batch_first=True).numpy()
        array([[1., 2.],
               [3., 0.]], dtype=float32)
    """
    parts = _listed("pad_sequence", sequences)
    batch_first = yes_or_no("pad_sequence", "batch_first", batch_first)
    side = choice("pad_sequence", "padding_side", padding_side, ("right", "left"))
    if not parts or any(p.ndim < 1 or p.shape[1:] != parts[0].shape[1:] for p in parts):
        raise ShapeError("pad_sequence takes sequences that differ in length only", f"{[p.shape for p in parts]}")
    longest = max(p.shape[0] for p in parts)
    return stack([_padded(p, longest, padding_value, side) for p in parts], 0 if batch_first else 1)


def _padded(part: Var, longest: int, value: float, side: str) -> Var:
    shift = longest - part.shape[0] if side == "left" else 0
    rest = range(1, part.ndim)
    return part.reindex((longest, *part.shape[1:]), lambda *at: (at[0] - shift, *(at[k] for k in rest)), fill=value)


def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (length, ...) of different lengths.

    Raises:
        ShapeError: they do not fit each other, or are not sorted though `enforce_sorted` asks for it.

    Example:
        >>> pack_sequence([jt.array([1.0, 2.0]), jt.array([3.0])]).data.numpy()
        array([1., 3., 2.], dtype=float32)
    """
    parts, in_order = _listed("pack_sequence", sequences), yes_or_no("pack_sequence", "enforce_sorted", enforce_sorted)
    lengths = [p.shape[0] if p.ndim else 0 for p in parts]
    return pack_padded_sequence(pad_sequence(parts), lengths, enforce_sorted=in_order)


def _listed(name: str, sequences: Any) -> list[Var]:
    if not isinstance(sequences, Iterable):
        raise ArgumentError(f"{name} takes a list of sequences", short(sequences))
    return [as_var(s) for s in sequences]
