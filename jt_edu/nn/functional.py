"""functional: what PyTorch calls F. The same functions as in `jt` and `jt.nn`; this file is a door: names only."""

# isort: skip_file

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door
from jt_edu.nn.attention import scaled_dot_product_attention
from jt_edu.nn.batch_stats import batch_norm, instance_norm
from jt_edu.nn.ctc import ctc_loss
from jt_edu.nn.distance_losses import (
    cosine_embedding_loss, cosine_similarity, pairwise_distance, triplet_margin_loss, triplet_margin_with_distance_loss,
)  # fmt: skip
from jt_edu.nn.dropout import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout
from jt_edu.nn.embedding import embedding, embedding_bag
from jt_edu.nn.layer_norm import group_norm, layer_norm, local_response_norm, normalize, rms_norm
from jt_edu.nn.likelihood_losses import gaussian_nll_loss, kl_div, poisson_nll_loss
from jt_edu.nn.linear import bilinear, linear
from jt_edu.nn.loss import (
    binary_cross_entropy, binary_cross_entropy_with_logits, huber_loss, l1_loss, mse_loss, smooth_l1_loss,
)  # fmt: skip
from jt_edu.nn.margin_losses import (
    hinge_embedding_loss, margin_ranking_loss, multi_margin_loss, multilabel_margin_loss, multilabel_soft_margin_loss,
    soft_margin_loss,
)  # fmt: skip
from jt_edu.nn.squashing_activation import gumbel_softmax
from jt_edu.ops.activation import (
    celu, elu, gelu, hardshrink, hardsigmoid, hardswish, hardtanh, leaky_relu, logsigmoid, mish, relu, relu6, selu,
    silu, softplus, softshrink, softsign, tanhshrink, threshold,
)  # fmt: skip
from jt_edu.ops.adaptive_pool import (
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d, adaptive_max_pool2d,
    adaptive_max_pool3d,
)  # fmt: skip
from jt_edu.ops.conv import conv1d, conv2d, conv3d
from jt_edu.ops.conv_transpose import conv_transpose1d, conv_transpose2d, conv_transpose3d
from jt_edu.ops.elementwise import sigmoid
from jt_edu.ops.fold import fold, unfold
from jt_edu.ops.gated_activation import glu, prelu, rrelu
from jt_edu.ops.grid_sample import affine_grid, grid_sample
from jt_edu.ops.index import one_hot
from jt_edu.ops.interpolate import interpolate
from jt_edu.ops.pad import pad
from jt_edu.ops.pixels import channel_shuffle, pixel_shuffle, pixel_unshuffle
from jt_edu.ops.pool import (
    avg_pool1d, avg_pool2d, avg_pool3d, lp_pool1d, lp_pool2d, lp_pool3d, max_pool1d, max_pool2d, max_pool3d,
)  # fmt: skip
from jt_edu.ops.softmax import cross_entropy_loss as cross_entropy
from jt_edu.ops.softmax import log_softmax, nll_loss, softmax, softmin
from jt_edu.ops.trigonometry import tanh
from jt_edu.ops.unpool import max_unpool1d, max_unpool2d, max_unpool3d

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "affine_grid", "alpha_dropout", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm",
    "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "channel_shuffle", "conv1d",
    "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "ctc_loss", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu",
    "embedding", "embedding_bag", "feature_alpha_dropout", "fold", "gaussian_nll_loss", "gelu", "glu", "grid_sample",
    "group_norm", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss",
    "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "linear",
    "local_response_norm", "log_softmax", "logsigmoid", "lp_pool1d", "lp_pool2d", "lp_pool3d", "margin_ranking_loss",
    "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "mish", "mse_loss",
    "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "normalize", "one_hot",
    "pad", "pairwise_distance", "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss", "prelu", "relu", "relu6",
    "rms_norm", "rrelu", "scaled_dot_product_attention", "selu", "sigmoid", "silu", "smooth_l1_loss",
    "soft_margin_loss", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold",
    "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold",
]  # fmt: skip

if not TYPE_CHECKING:
    __path__: list[str] = []  # so that `from ... import` of a name that is not here is told of (base/module_aliases.py)
    __getattr__, __dir__ = door("jt.nn.functional", __all__)
