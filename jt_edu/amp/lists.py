"""Lists: which function computes in which dtype, by PyTorch's two tables and by Apex's?

lower     products: sums of many products, whose rounding averages out, and which are most of the work and of the memory
float32   losses, norms, exponentials, decompositions: a small relative error, or a narrow range, spoils their answer
widest    functions of several arrays that have to agree
banned    safe in float32 only, where a half would be asked for: better written otherwise

Names are those of PyTorch, also of functions that are not here yet. A `pool` and a `pad` are called by their argument:
`maximum_pool3d` is `max_pool3d`, `pad_reflect` is `reflection_pad2d`. What computes elementwise on several arrays
(`add`, `atan2`, `<`) is in the list `widest`, and needs no cast: the promotion of dtypes does just that.

PyTorch's table for GPUs has float16 in mind: what may overflow there (`exp`, `sum`, `pow`) is in the list `float32`.
Its table for CPUs has bfloat16 in mind.
"""

from __future__ import annotations

from jt_edu.base.dtypes import bfloat16, float16
from jt_edu.variable.autocast import Lists

_CONVOLUTIONS = "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc"
_LOSSES = (
    "cosine_embedding_loss cross_entropy_loss ctc_loss hinge_embedding_loss kl_div l1_loss margin_ranking_loss "
    "mse_loss multi_margin_loss multilabel_margin_loss nll_loss poisson_nll_loss smooth_l1_loss soft_margin_loss "
    "triplet_margin_loss binary_cross_entropy_with_logits"
)
_TRANSFORMS = "fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft"
_DECOMPOSITIONS = (
    "cholesky cholesky_ex cholesky_solve cond eig eigh eigvals eigvalsh householder_product inv inv_ex lstsq lu_factor "
    "lu_solve matrix_rank pinv qr solve solve_triangular svd svdvals tensorinv tensorsolve"
)


def _names(*parts: str) -> frozenset[str]:
    return frozenset(" ".join(parts).split())


PYTORCH = Lists(
    lower=_names(
        _CONVOLUTIONS,
        "addbmm addmm baddbmm bmm linalg_vecdot linear matmul mm prelu scaled_dot_product_attention",
        "einsum tensordot",  # there they are made of bmm and mm
    ),
    float32=_names(
        _LOSSES,
        "huber_loss binary_cross_entropy",
        "adaptive_avg_pool3d adaptive_max_pool3d maximum_pool3d mean_pool3d max_unpool2d max_unpool3d pad_reflect",
        "local_response_norm",  # there it is made of avg_pool3d
        "pad_replicate pad_edge grid_sample cdist polar prod quantile nanquantile stft trace view_as_complex",
        *[f"fft_{name}" for name in _TRANSFORMS.split()],
        *[f"linalg_{name}" for name in _DECOMPOSITIONS.split()],
    ),
    widest=_names("cat stack index_copy"),
)
BANNED = {
    "binary_cross_entropy": "binary_cross_entropy_with_logits, on scores, without the sigmoid before it: the "
    "logarithm of a half that was rounded to 0 is infinite"
}
CUDA = Lists(
    lower=_names(
        _CONVOLUTIONS,
        "addbmm addmm addmv addr baddbmm bmm einsum linalg_vecdot linear matmul mm mv prelu",
        "scaled_dot_product_attention",
    ),
    float32=_names(
        _LOSSES,
        "acos asin cdist cosh cosine_similarity cumprod cumsum dist erfinv exp expm1 group_norm huber_loss",
        "interpolate layer_norm log log10 log1p log2 log_softmax logsumexp norm normalize pdist pow prod reciprocal",
        "renorm rms_norm rsqrt sinh softmax softmin softplus sum tan",
    ),
    widest=_names(
        "addcdiv addcmul atan2 bilinear cat cross dot grid_sample index_put scatter_add stack tensordot vdot"
    ),
    banned=BANNED,
)
APEX = Lists(
    lower=_names(_CONVOLUTIONS, "addbmm addmm addmv addr baddbmm bmm linear matmul mm mv prelu"),
    float32=_names(
        _LOSSES,
        "multilabel_soft_margin_loss acos asin cosh cosine_similarity cumprod cumsum dist erfinv exp expm1 gelu",
        "grid_sample group_norm interpolate layer_norm local_response_norm log log10 log2 log_softmax mean norm",
        "normalize pow prod reciprocal renorm rsqrt sinh softmax softmin softplus std sum tan var",
    ),
    widest=_names("add addcdiv addcmul atan2 bilinear cat cross div dot eq equal ge gt le lt mul ne stack"),
    banned=BANNED,
)
LISTS = {"pytorch": PYTORCH, "apex": APEX}
ON = {("pytorch", "cuda"): CUDA}  # what is another list on a device
LOWER = (bfloat16, float16)  # dtypes of a region
BY_DEFAULT = {"cuda": float16}  # elsewhere the first one
SWITCH = "'cpu', or enabled=jt.cuda.is_available()"  # what to try where a device is not there
