"""sparse: tensors of which only some entries are stored. This file is a door: names only."""

from jt_edu.base.did_you_mean import door
from jt_edu.base.did_you_mean import suggest as _suggest
from jt_edu.sparse.arithmetic import log_softmax, softmax, sum
from jt_edu.sparse.construction import (
    sparse_array,
    sparse_coo_tensor,
    sparse_csr_tensor,
    to_sparse,
    to_sparse_csr,
)
from jt_edu.sparse.products import addmm, mm, sampled_addmm, spmm
from jt_edu.sparse.sparse_var import SparseVar, sparse_coo, sparse_csr

__all__ = [
    "SparseVar", "addmm", "log_softmax", "mm", "sampled_addmm", "softmax", "sparse_array", "sparse_coo",
    "sparse_coo_tensor", "sparse_csr", "sparse_csr_tensor", "spmm", "sum", "to_sparse", "to_sparse_csr",
]  # fmt: skip

__getattr__, __dir__ = door("jt.sparse", __all__)
_suggest(SparseVar, "a sparse tensor", "x", {"jt.sparse": __all__})
