"""linalg: linear algebra of matrices and of batches of them, with gradients. This file is a door: names only."""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door, names_of
from jt_edu.linalg.cholesky import *
from jt_edu.linalg.det import *
from jt_edu.linalg.eig import *
from jt_edu.linalg.eigh import *
from jt_edu.linalg.jacobi import *
from jt_edu.linalg.lstsq import *
from jt_edu.linalg.lu import *
from jt_edu.linalg.matrix_exp import *
from jt_edu.linalg.norms import *
from jt_edu.linalg.pinv import *
from jt_edu.linalg.products import *
from jt_edu.linalg.qr import *
from jt_edu.linalg.solve import *
from jt_edu.linalg.svd import *
from jt_edu.linalg.triangular import *
from jt_edu.ops.einsum import einsum
from jt_edu.ops.matmul import matmul, multi_dot
from jt_edu.ops.products import cross, outer, tensordot, vecdot
from jt_edu.ops.transpose import matrix_transpose

__all__ = [
    "cross", "einsum", "matmul", "matrix_transpose", "multi_dot", "outer", "tensordot", "vecdot",
    *names_of("jt_edu.linalg", "cholesky det eig eigh jacobi lstsq lu matrix_exp norms pinv products qr solve svd triangular"),
]  # fmt: skip
__all__.sort()

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.linalg", __all__)
