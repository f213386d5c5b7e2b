"""Embeddings: a table with one row of numbers for each word. A word is a number, and looks up its row."""

from __future__ import annotations

from typing import Any

from jt_edu.base.context import no_grad
from jt_edu.base.dtypes import contracted
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ir.index_expr import load
from jt_edu.ir.scalar_ops import LOGICAL_OR
from jt_edu.nn.factory_kwargs import takes_placement
from jt_edu.nn.initializers import gauss_
from jt_edu.nn.linear import count
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import choice, number, same_words, whole, yes_or_no
from jt_edu.ops.create import zeros
from jt_edu.ops.dtype_rules import widened
from jt_edu.ops.gradient import Function
from jt_edu.ops.histogram import counted
from jt_edu.ops.index import gathered, getitem
from jt_edu.ops.index_parsing import read_brackets
from jt_edu.ops.reduce import norm
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var

__all__ = ["Embedding", "EmbeddingBag", "embedding", "embedding_bag"]


@same_words
def embedding(
    x: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Var:  # fmt: skip
    """Row x of a table, for each x.

    Args:
        x: (...), numbers of rows.
        weight: (rows, width), the table.
        padding_idx: a row that gets no gradient.
        max_norm: rows that are looked up and longer than this are shortened to it, in the table itself.
        norm_type: by which norm rows are measured.
        scale_grad_by_freq: the gradient of each row is divided by how often it occurs in x.
        sparse: PyTorch's word for gradients without the rows that are 0; refused, since all gradients are dense.

    Returns:
        (..., width).

    Example:
        >>> embedding(jt.array([1, 0]), jt.array([[1.0], [2.0]])).numpy()
        array([[2.],
               [1.]], dtype=float32)
    """
    _dense("embedding", sparse)
    positions, table = _checked(x, weight)
    padding = _row("embedding", "padding_idx", padding_idx, len(table))
    if max_norm is not None:
        _shorten(table, positions, max_norm, norm_type)
    rows = _looked_up(table, positions)
    if yes_or_no("embedding", "scale_grad_by_freq", scale_grad_by_freq):
        shares = 1 / getitem(_occurrences(positions, table), positions).cast(table.dtype)
        rows = _ScaledGradient.apply(rows, shares.reshape(*positions.shape, 1))
    if padding is None:
        return rows
    is_padding = _is_row(positions, padding, len(table)).reshape(*positions.shape, 1)
    return rows.where_not(is_padding, getitem(table.detach(), positions))


@template
def _looked_up(table: Var, positions: Var) -> Var:
    """table[positions], by a name that an error can call it."""
    return gathered(table, read_brackets(table, positions), "embedding")


def _checked(x: Any, weight: Any) -> tuple[Var, Var]:
    positions, table = as_var(x), as_var(weight)
    if positions.dtype.kind not in "iu":
        raise DtypeError("an embedding looks up whole numbers", f"dtype {positions.dtype}", "x.int64()")
    if table.ndim != 2:
        raise ShapeError("an embedding has a table (rows, width)", f"shape {table.shape}")
    return positions, table


def _is_row(positions: Var, row: int, rows: int) -> Var:
    """Where a row is meant, counted from the front or from the back."""
    return (positions == row).apply(LOGICAL_OR, positions == row - rows)


def _occurrences(positions: Var, table: Var) -> Var:
    """(rows,), how often each row is looked up."""
    rows = len(table)
    flat = positions.reshape(-1)
    return counted(flat.cast("int64") + (flat < 0).cast("int64") * rows, rows)


def _shorten(table: Var, positions: Var, max_norm: float, norm_type: float) -> None:
    """Rows that are looked up become no longer than max_norm, without history."""
    number("embedding", "max_norm", max_norm, 0, above=True)
    number("embedding", "norm_type", norm_type, 0, above=True)
    with no_grad():
        length = norm(table, norm_type, -1, True)  # (rows, 1)
        too_long = (length > max_norm) & (_occurrences(positions, table) > 0).unsqueeze(1)
        table.update(table.where_not(too_long, table * (max_norm / (length + 1e-7))))


class _ScaledGradient(Function):
    """x as it is; its gradient is multiplied by `scale`."""

    def execute(self, x: Var, scale: Var) -> Var:
        self.scale = scale
        return x

    def grad(self, dout: Var) -> tuple[Var, None]:
        return dout * self.scale, None


class Embedding(Module):
    """A table with one row of numbers for each word, drawn from a normal distribution.

    Args:
        num_embeddings: how many words; they are numbered from 0 (and from -1 backwards, as in NumPy).
        embedding_dim: length of a row.
        padding_idx: a word that means nothing: its row is 0, and is not trained.
        max_norm: rows that are looked up and longer than this are shortened to it, in the table itself.
        norm_type: by which norm rows are measured.
        scale_grad_by_freq: the gradient of each row is divided by how often it occurs in the batch.
        sparse: refused, as in `embedding`.

    Example:
        >>> Embedding(10, 4)(jt.array([[1, 2, 3]])).shape
        (1, 3, 4)
    """

    @takes_placement
    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
    ) -> None:  # fmt: skip
        _dense(type(self).__name__, sparse)
        self.num_embeddings = count(self, "num_embeddings", num_embeddings)
        self.embedding_dim = count(self, "embedding_dim", embedding_dim)
        self.padding_idx = _row(type(self).__name__, "padding_idx", padding_idx, num_embeddings)
        settings = _settings(type(self).__name__, max_norm, norm_type, scale_grad_by_freq)
        self.max_norm, self.norm_type, self.scale_grad_by_freq = settings
        self.weight = table(num_embeddings, embedding_dim, self.padding_idx)

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, **settings: Any) -> Embedding:
        """An embedding with a table that is there already.

        Args:
            embeddings: (words, width).
            freeze: whether the table stays as it is.
            settings: padding_idx, max_norm, norm_type, scale_grad_by_freq.
        """
        layer: Embedding = _pretrained(cls, embeddings, freeze, settings)
        return layer

    def execute(self, x: Any) -> Var:
        """(...) whole numbers -> (..., embedding_dim)."""
        return embedding(x, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)

    def extra_repr(self) -> str:
        """Its sizes."""
        return _described(self, {"padding_idx": None, "max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False})


class EmbeddingBag(Module):
    """Bags of words, each reduced to one row: the mean, the sum or the largest of the rows of its words.

    Args:
        num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, sparse: as in `Embedding`.
        mode: "mean", "sum" or "max".
        include_last_offset: the last offset begins no bag, but ends the last one; words from there on are in no bag.
        padding_idx: a word that means nothing: it does not count in its bag.

    Example:
        >>> EmbeddingBag(10, 4)(jt.array([1, 2, 3]), jt.array([0, 2])).shape
        (2, 4)
    """

    @takes_placement
    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, *,
        include_last_offset: bool = False, padding_idx: int | None = None,
    ) -> None:  # fmt: skip
        _dense(type(self).__name__, sparse)
        self.num_embeddings = count(self, "num_embeddings", num_embeddings)
        self.embedding_dim = count(self, "embedding_dim", embedding_dim)
        settings = _settings(type(self).__name__, max_norm, norm_type, scale_grad_by_freq)
        self.max_norm, self.norm_type, self.scale_grad_by_freq = settings
        self.mode = _mode(mode, self.scale_grad_by_freq, None)
        self.include_last_offset = yes_or_no("EmbeddingBag", "include_last_offset", include_last_offset)
        self.padding_idx = _row(type(self).__name__, "padding_idx", padding_idx, num_embeddings)
        self.weight = table(num_embeddings, embedding_dim, self.padding_idx)

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, **settings: Any) -> EmbeddingBag:
        """A bag of words with a table (words, width) that is there already; `freeze` leaves it as it is."""
        layer: EmbeddingBag = _pretrained(cls, embeddings, freeze, settings)
        return layer

    def execute(self, x: Any, offsets: Any = None, per_sample_weights: Any = None) -> Var:
        """(bags, words), or (words,) and the number of each bag's first word -> (bags, embedding_dim)."""
        return embedding_bag(
            x, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, False,
            per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Its sizes."""
        usual = {"max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False, "mode": "", "padding_idx": None}
        return _described(self, usual)


@same_words
def embedding_bag(
    x: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Var:  # fmt: skip
    """Rows x of a table, bag by bag, each bag reduced to one row; an empty bag gives 0.

    Args:
        x: (bags, words) numbers of rows; or (words,), and `offsets` says where bags begin.
        weight: (rows, width), the table.
        offsets: (bags,), number of each bag's first word; the first is 0.
        max_norm, norm_type, scale_grad_by_freq, sparse: as in `embedding`.
        mode: "mean", "sum" or "max".
        per_sample_weights: a factor for each word; for mode "sum".
        include_last_offset: the last offset begins no bag, but ends the last one; words from there on are in no bag.
        padding_idx: a row that does not count in its bag.

    Returns:
        (bags, width).

    Example:
        >>> embedding_bag(jt.array([1, 0, 1]), jt.array([[1.0], [2.0]]), jt.array([0, 2]), mode="sum").numpy()
        array([[3.],
               [2.]], dtype=float32)
    """
    _dense("embedding_bag", sparse)
    positions, words = _checked(x, weight)
    _mode(mode, scale_grad_by_freq, per_sample_weights)
    bag, bags = _bags(positions, offsets, yes_or_no("embedding_bag", "include_last_offset", include_last_offset))
    flat = positions.reshape(-1)
    rows = embedding(flat, words, padding_idx, max_norm, norm_type, scale_grad_by_freq)  # (words, width)
    if per_sample_weights is not None:
        factors = as_var(per_sample_weights)
        if factors.shape != positions.shape:
            raise ShapeError("there is one weight for each word", f"{factors.shape} for words {positions.shape}")
        rows = rows.cast(contracted(rows.dtype)) * factors.reshape(-1, 1)
    padding = _row("embedding_bag", "padding_idx", padding_idx, len(words))
    if padding is not None:
        bag = bag.where_not(_is_row(flat, padding, len(words)), bags)  # a bag of its own, that is thrown away
    return _of_bags(rows, bag, bags, mode)


def _of_bags(rows: Var, bag: Var, bags: int, mode: str) -> Var:
    """Rows reduced into the bags that they belong to."""
    box = (bags + 1, rows.shape[1])
    full = counted(bag, bags + 1)[:bags].unsqueeze(1)

    def where(i: Any, j: Any) -> tuple[Any, Any]:
        return load(0, [i]), j

    if mode == "max":
        largest = rows.reindex_reduce("maximum", box, where, extras=[bag])[:bags]
        return largest.where_not(full == 0, 0)
    total = widened(rows).reindex_reduce("add", box, where, extras=[bag])[:bags]
    found = total if mode == "sum" else total / full.where_not(full == 0, 1).cast(total.dtype)
    return found.cast(contracted(rows.dtype) if mode == "sum" else rows.dtype)


def _bags(positions: Var, offsets: Any, include_last: bool) -> tuple[Var, int]:
    """The number of each word's bag, and how many bags there are; words in no bag have that number."""
    if positions.ndim == 2 and offsets is None:
        bags, words = positions.shape
        return positions.position_numbers().reshape(-1) // max(words, 1), bags
    if positions.ndim != 1 or offsets is None:
        raise ShapeError(
            "bags are (bags, words), or (words,) with offsets", f"shape {positions.shape}, offsets {offsets}"
        )
    starts = as_var(offsets)
    first = starts.numpy()
    ordered = first.ndim == 1 and first.size > include_last and first[0] == 0 and (first[1:] >= first[:-1]).all()
    if starts.dtype.kind not in "iu" or not ordered or first[-1] > len(positions):
        raise ArgumentError(
            f"offsets are whole numbers in order, from 0 to the number of words ({len(positions)})",
            f"{first.tolist()} of dtype {starts.dtype}",
        )
    word = positions.position_numbers().unsqueeze(1)  # (words, 1)
    return (word >= starts.unsqueeze(0)).cast("int64").sum(1) - 1, len(first) - include_last


def _mode(mode: Any, scaled: bool, weights: Any) -> str:
    choice("a bag", "mode", mode, ("mean", "sum", "max"))
    if weights is not None and mode != "sum":
        raise ArgumentError("per_sample_weights belong to mode='sum'", f"mode={mode!r}")
    if yes_or_no("a bag", "scale_grad_by_freq", scaled) and mode == "max":
        raise ArgumentError("scale_grad_by_freq belongs to 'sum' and 'mean'", f"mode={mode!r}")
    return str(mode)


def table(rows: int, width: int, padding_idx: int | None) -> Var:
    """Normal numbers; the row `padding_idx` is 0.

    Example:
        >>> table(3, 2, 1).numpy()[1]
        array([0., 0.], dtype=float32)
    """
    weight = gauss_(zeros(rows, width))
    if padding_idx is not None:
        is_padding = zeros(rows, 1).position_numbers() == padding_idx
        weight.update(weight.where_not(is_padding, 0))
    return weight


def _row(asks: str, name: str, row: Any, rows: int) -> int | None:
    """The number of a row, counted from the front."""
    return None if row is None else whole(asks, name, row, -rows, rows - 1) % rows


def _dense(name: str, sparse: Any) -> None:
    """Refuse sparse=True: gradients of tables have all rows, and to ignore the wish would hide that."""
    if yes_or_no(name, "sparse", sparse):
        asked, way = f"gradients of {name} are dense", "leaving it out: the numbers are the same"
        raise ArgumentError(asked, "sparse=True", way)


def _settings(name: str, max_norm: Any, norm_type: Any, by_frequency: Any) -> tuple[float | None, float, bool]:
    longest = None if max_norm is None else float(number(name, "max_norm", max_norm, 0, above=True))
    p = float(number(name, "norm_type", norm_type, 0, above=True))
    return longest, p, yes_or_no(name, "scale_grad_by_freq", by_frequency)


def _pretrained(cls: Any, embeddings: Any, freeze: bool, settings: dict[str, Any]) -> Any:
    given = as_var(embeddings)
    if given.ndim != 2 or not given.dtype.is_float:
        raise ShapeError("a table of floats has the shape (words, width)", f"{given.dtype} of shape {given.shape}")
    layer = cls(*given.shape, **settings)
    layer.weight = Var(given.numpy().copy(), given.dtype)
    layer.weight.requires_grad = not yes_or_no(f"{cls.__name__}.from_pretrained", "freeze", freeze)
    return layer


def _described(layer: Any, usual: dict[str, Any]) -> str:
    found = {name: getattr(layer, name) for name in usual}
    shown = "".join(f", {name}={value!r}" for name, value in found.items() if value != usual[name])
    return f"{layer.num_embeddings}, {layer.embedding_dim}{shown}"
