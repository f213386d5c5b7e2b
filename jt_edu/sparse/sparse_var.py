"""SparseVar: a tensor of which only some entries are stored; everywhere else it is 0.

    . 7 .      where    ([0, 1, 1], [1, 0, 2])    a Var of positions for each sparse axis, (nnz,)
    5 . 6      entries  [7, 5, 6]                 what stands there, (nnz,); (nnz, ...) where the last axes are dense

    sparse_coo   entries in any order; those at one position are added up. Coalesced: in order, each position once
    sparse_csr   a matrix, coalesced, and where each row begins: row i has the entries crow[i] to crow[i + 1] - 1

No graph knows of it. It is a bundle of Vars, and every function of this room builds ordinary nodes from them: a load in
a Reindex reads at the positions, a load in a ReindexReduce adds there. So gradients come without a rule of their own.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from jt_edu.base.dtypes import DType
from jt_edu.base.errors import ArgumentError, DtypeError
from jt_edu.ir.builders import short
from jt_edu.ir.node import Shape
from jt_edu.ops.arguments import axis_of, same_words
from jt_edu.ops.concat import stack
from jt_edu.variable.var import Var

Function = TypeVar("Function", bound=Callable[..., Any])
sparse_coo, sparse_csr = "sparse_coo", "sparse_csr"
SPY = (16, 64)  # the largest picture of a pattern: lines, and letters in a line


@dataclass(frozen=True, eq=False, repr=False)
class SparseVar:
    """A sparse tensor; `sparse_coo_tensor`, `sparse_csr_tensor` and `x.to_sparse()` make them.

    Example:
        >>> x = array([[0.0, 7.0, 0.0], [5.0, 0.0, 6.0]]).to_sparse()
        >>> x
        jt.SparseVar(indices=[[0, 1, 1], [1, 0, 2]], values=[7., 5., 6.], shape=(2, 3), nnz=3, dtype=float32,
        layout=sparse_coo)
        >>> print(x.spy())
        ·●·
        ●·●
        >>> (x * 2 @ array([1.0, 1.0, 0.0])).tolist()
        [14.0, 10.0]
    """

    where: tuple[Var, ...]
    entries: Var
    shape: Shape
    coalesced: bool = False
    crow: Var | None = None

    __array_ufunc__ = None  # NumPy's operators ask ours

    if TYPE_CHECKING:  # what other files attach

        def __getattr__(self, name: str) -> Callable[..., Any]: ...

    @property
    def layout(self) -> str:
        """How it is stored: "sparse_coo" or "sparse_csr"."""
        return sparse_coo if self.crow is None else sparse_csr

    @property
    def dtype(self) -> DType:
        """Kind of number."""
        return self.entries.dtype

    @property
    def ndim(self) -> int:
        """How many axes, sparse and dense ones."""
        return len(self.shape)

    @property
    def nnz(self) -> int:
        """How many entries are stored; some of them may be 0, or stand at the same position."""
        return self.entries.shape[0]

    def _nnz(self) -> int:
        return self.nnz

    @same_words
    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of axis `dim`."""
        return self.shape if dim is None else self.shape[axis_of("size", dim, self.ndim)]

    def sparse_dim(self) -> int:
        """How many axes are sparse: the first ones."""
        return len(self.where)

    def dense_dim(self) -> int:
        """How many axes are dense: those of one entry."""
        return self.ndim - len(self.where)

    def is_coalesced(self) -> bool:
        """Whether entries are known to stand in order, no two of them at the same position."""
        return self.coalesced

    def indices(self) -> Var:
        """(sparse axes, nnz), the positions of the entries."""
        return self._once("indices", sparse_coo)._indices()

    def values(self) -> Var:
        """(nnz, ...), the entries."""
        return self._once("values", self.layout).entries

    def crow_indices(self) -> Var:
        """(rows + 1,), where each row begins, and at last how many entries there are."""
        return self._once("crow_indices", sparse_csr).crow  # type: ignore[return-value]  # that layout has it

    def col_indices(self) -> Var:
        """(nnz,), the column of each entry."""
        return self._once("col_indices", sparse_csr).where[1]

    def _indices(self) -> Var:
        """The positions, as they are stored."""
        return stack(list(self.where))

    def _values(self) -> Var:
        """The entries, as they are stored."""
        return self.entries

    def _once(self, name: str, layout: str) -> SparseVar:
        """This tensor, if it has a layout, and no position twice: then its parts mean what they say."""
        if self.layout != layout:
            way = "x.to_sparse_csr()" if layout == sparse_csr else "x.to_sparse_coo(), or x.col_indices()"
            raise ArgumentError(f"{name}() is of tensors in the layout {layout}", f"one in {self.layout}", way)
        if not self.coalesced:
            found = f"a tensor that is not coalesced: its {self.nnz} entries may share positions"
            raise ArgumentError(f"{name}() tells each position once", found, f"x.coalesce().{name}(), or x._{name}()")
        return self

    def with_entries(self, entries: Var) -> SparseVar:
        """Other numbers at the same positions."""
        return replace(self, entries=entries)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise DtypeError("this takes a dense array", f"{self.layout} of shape {self.shape}", "x.to_dense()")

    def __repr__(self) -> str:
        parts = {"indices": self._indices()}
        if self.crow is not None:
            parts = {"crow_indices": self.crow, "col_indices": self.where[1]}
        told: dict[str, Any] = {name: _in_a_line(part) for name, part in {**parts, "values": self.entries}.items()}
        told |= {"shape": self.shape, "nnz": self.nnz, "dtype": str(self.dtype), "layout": self.layout}
        return f"jt.SparseVar({', '.join(f'{name}={text}' for name, text in told.items())})"

    def _repr_html_(self) -> str:
        picture = f"\n\n{self.spy()}" if self.sparse_dim() == 2 else ""
        return f"<pre>{html.escape(repr(self))}{picture}</pre>"

    def spy(self) -> str:
        """The pattern of a matrix: ● where something is stored; of a large one, where a block is not empty."""
        if self.sparse_dim() != 2:
            raise ArgumentError("spy() draws a matrix", f"{self.sparse_dim()} sparse axes", "x.sum(dim) first")
        box = [min(n, most) for n, most in zip(self.shape, SPY, strict=False)]
        grid = np.full(box, "·")
        grid[tuple(w.numpy() * m // max(n, 1) for w, m, n in zip(self.where, box, self.shape, strict=False))] = "●"
        return "\n".join("".join(line) for line in grid)


def is_sparse(name: str, x: Any) -> SparseVar:
    """x, if it is sparse: functions of this room can be called with anything."""
    if not isinstance(x, SparseVar):
        raise ArgumentError(f"jt.sparse.{name} takes a sparse tensor", short(x), f"x.to_sparse(), or jt.{name}")
    return x


def _in_a_line(numbers: Var) -> str:
    return " ".join(np.array2string(numbers.numpy(), separator=", ", threshold=20).split())


def attach(function: Function, name: str = "") -> Function:
    """Make a function a method of sparse tensors, of the same name or of another one; it stays a function too."""
    setattr(SparseVar, name or function.__name__, function)
    return function
