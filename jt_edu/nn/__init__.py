"""nn: layers, losses, and how parameters start. This file is a door: names only."""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door, lack, names_of
from jt_edu.nn import functional, init, parallel, utils
from jt_edu.nn.activation import *
from jt_edu.nn.adaptive_pool import *
from jt_edu.nn.adaptive_softmax import AdaptiveAnswer, AdaptiveLogSoftmaxWithLoss
from jt_edu.nn.attention import MultiheadAttention, causal_mask, scaled_dot_product_attention
from jt_edu.nn.batch_norm import *
from jt_edu.nn.batch_stats import batch_norm, instance_norm
from jt_edu.nn.containers import ModuleDict, ParameterDict, ParameterList
from jt_edu.nn.conv import *
from jt_edu.nn.ctc import CTCLoss, ctc_loss
from jt_edu.nn.distance_losses import *
from jt_edu.nn.dropout import *
from jt_edu.nn.embedding import *
from jt_edu.nn.layer_norm import *
from jt_edu.nn.lazy import *
from jt_edu.nn.likelihood_losses import *
from jt_edu.nn.linear import *
from jt_edu.nn.loss import *
from jt_edu.nn.margin_losses import *
from jt_edu.nn.module import Module, Parameter
from jt_edu.nn.padding import *
from jt_edu.nn.pool import *
from jt_edu.nn.recurrent import *
from jt_edu.nn.rnn_utils import *
from jt_edu.nn.sequential import ModuleList, Sequential
from jt_edu.nn.squashing_activation import *
from jt_edu.nn.transformer import *
from jt_edu.nn.unpool import MaxUnpool1d, MaxUnpool2d, MaxUnpool3d
from jt_edu.nn.upsampling import *
from jt_edu.ops.activation import gelu, leaky_relu, relu, silu, softplus
from jt_edu.ops.adaptive_pool import *
from jt_edu.ops.conv import conv1d, conv2d, conv3d
from jt_edu.ops.conv_transpose import *
from jt_edu.ops.elementwise import sigmoid
from jt_edu.ops.fold import fold, unfold
from jt_edu.ops.grid_sample import affine_grid, grid_sample
from jt_edu.ops.index import one_hot
from jt_edu.ops.interpolate import interpolate
from jt_edu.ops.matmul import bmm, matmul
from jt_edu.ops.pixels import channel_shuffle, pixel_shuffle, pixel_unshuffle
from jt_edu.ops.pool import *
from jt_edu.ops.products import trilinear
from jt_edu.ops.softmax import cross_entropy_loss, log_softmax, nll_loss, softmax, softmin
from jt_edu.ops.trigonometry import tanh
from jt_edu.ops.unpool import max_unpool1d, max_unpool2d, max_unpool3d

__all__ = [
    "AdaptiveAnswer", "AdaptiveLogSoftmaxWithLoss", "CTCLoss", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "Module",
    "ModuleDict", "ModuleList", "MultiheadAttention", "Parameter", "ParameterDict", "ParameterList", "Sequential",
    "affine_grid", "batch_norm", "bmm", "causal_mask", "channel_shuffle", "conv1d", "conv2d", "conv3d",
    "cross_entropy_loss", "ctc_loss", "fold", "functional", "gelu", "grid_sample", "init", "instance_norm",
    "interpolate", "leaky_relu", "log_softmax", "matmul", "max_unpool1d", "max_unpool2d", "max_unpool3d", "nll_loss",
    "one_hot", "parallel", "pixel_shuffle", "pixel_unshuffle", "relu", "scaled_dot_product_attention", "sigmoid",
    "silu", "softmax", "softmin", "softplus", "tanh", "trilinear", "unfold", "utils",
    *names_of(
        "jt_edu.nn",
        "activation adaptive_pool batch_norm conv distance_losses dropout embedding layer_norm lazy likelihood_losses "
        "linear loss margin_losses padding pool recurrent rnn_utils squashing_activation transformer upsampling",
    ),
    *names_of("jt_edu.ops", "adaptive_pool conv_transpose pool"),
]  # fmt: skip
__all__.sort()

if not TYPE_CHECKING:
    _faces = {name: f"jt_edu.nn.{name}" for name in ("modules", "parameter")}
    _faces |= {name: f"jt_edu.optim:{name}" for name in ("SGD", "Adam", "AdamW", "RMSprop", "Optimizer")}  # Jittor's
    _faces |= {name: f"jt_edu.nn.functional:{name}" for name in ("hardtanh", "pad", "relu6")}
    __getattr__, __dir__ = door("jt.nn", __all__, {"jt.nn.functional": functional.__all__}, _faces)
    lack(Module, "a module", "net")
