"""nn: layers, losses, and how parameters start. This file is a door: names only."""

from jt_edu.nn import start as init
from jt_edu.nn.activation import GELU, LeakyReLU, ReLU, Sigmoid, SiLU, Softmax, Softplus, Tanh
from jt_edu.nn.conv import Conv, Conv2d
from jt_edu.nn.dropout import Dropout, dropout
from jt_edu.nn.linear import Embedding, Flatten, Identity, Linear, embedding, linear
from jt_edu.nn.loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    L1Loss,
    MSELoss,
    bce_loss,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    l1_loss,
    mse_loss,
)
from jt_edu.nn.module import Module, Parameter
from jt_edu.nn.norm import BatchNorm, BatchNorm1d, BatchNorm2d, LayerNorm, layer_norm
from jt_edu.nn.pool import AvgPool2d, MaxPool2d, Pool
from jt_edu.nn.sequential import ModuleList, Sequential
from jt_edu.ops.conv import conv2d
from jt_edu.ops.elementwise import gelu, leaky_relu, relu, sigmoid, silu, softplus, tanh
from jt_edu.ops.index import one_hot
from jt_edu.ops.matmul import bmm, matmul
from jt_edu.ops.pool import avg_pool2d, max_pool2d, pool2d
from jt_edu.ops.softmax import cross_entropy_loss, log_softmax, nll_loss, softmax

__all__ = [
    "AvgPool2d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "GELU",
    "Identity",
    "L1Loss",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "MSELoss",
    "MaxPool2d",
    "Module",
    "ModuleList",
    "Parameter",
    "Pool",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Tanh",
    "avg_pool2d",
    "bce_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "bmm",
    "conv2d",
    "cross_entropy_loss",
    "dropout",
    "embedding",
    "gelu",
    "init",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "matmul",
    "max_pool2d",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "pool2d",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "tanh",
]
