"""Table: operators of every family, on one tiny example each, for what holds for all of them."""

import numpy as np

import jt_edu as jt
from jt_edu import nn

RNG = np.random.RandomState(5)


def some(*shape):
    """Numbers between 0.2 and 1.5, no two alike."""
    return RNG.permutation(np.linspace(0.2, 1.5, int(np.prod(shape)))).reshape(shape)


A, B, M, N, V = some(2, 3), some(2, 3) + 0.01, some(3, 2), some(2, 2), some(4)
IMAGE, TAPS = some(1, 2, 4, 4), some(2, 2, 3, 3)
ROW = np.array([2, 0, 1])
PLACES = np.array([[1, 0, 2], [2, 1, 0]])

# name -> (function of Vars, what it is given); floats are differentiated by, whole numbers are not
SMOOTH = {
    "negative": (lambda x: -x, [A]),
    "exp": (jt.exp, [A]),
    "log": (jt.log, [A]),
    "sqrt": (jt.sqrt, [A]),
    "sin": (jt.sin, [A]),
    "tanh": (jt.tanh, [A]),
    "sigmoid": (jt.sigmoid, [A]),
    "erf": (jt.erf, [A]),
    "lgamma": (jt.lgamma, [A]),
    "abs": (lambda x: jt.abs(x - 1), [A]),
    "relu": (lambda x: nn.relu(x - 1), [A]),
    "gelu": (nn.gelu, [A]),
    "silu": (nn.silu, [A]),
    "softplus": (nn.softplus, [A]),
    "clamp": (lambda x: x.clamp(0.5, 1.0), [A]),
    "add": (lambda x, y: x + y, [A, some(3)]),
    "subtract": (lambda x, y: x - y, [A, B]),
    "multiply": (lambda x, y: x * y, [A, B]),
    "divide": (lambda x, y: x / y, [A, B]),
    "power": (lambda x, y: x**y, [A, B]),
    "maximum": (jt.maximum, [A, B]),
    "atan2": (jt.atan2, [A, B]),
    "where": (lambda x, y: jt.where(x > y, x, y * 2), [A, B]),
    "cast": (lambda x: x.float32().float64(), [np.round(A * 64) / 64]),
    "sum": (lambda x: x.sum(), [A]),
    "sum of rows": (lambda x: x.sum(1), [A]),
    "mean": (lambda x: x.mean(0), [A]),
    "max": (lambda x: x.max(1), [A]),
    "min of all": (lambda x: x.min(), [A]),
    "prod": (lambda x: x.prod(1), [A]),
    "std": (lambda x: x.std(), [A]),
    "norm": (lambda x: x.norm(), [A]),
    "logsumexp": (lambda x: jt.logsumexp(x, 1), [A]),
    "softmax": (lambda x: nn.softmax(x, 1), [A]),
    "layer norm": (lambda x: nn.layer_norm(x, 3), [A]),
    "batch norm": (lambda x: nn.batch_norm(x, None, None, training=True), [IMAGE]),
    "cross entropy": (nn.cross_entropy_loss, [A, np.array([2, 0])]),
    "transpose": (lambda x: x.transpose(1, 0), [A]),
    "reshape": (lambda x: x.reshape(3, 2), [A]),
    "broadcast": (lambda x: x.broadcast_to((2, 2, 3)), [A]),
    "flip": (lambda x: jt.flip(x, 1), [A]),
    "roll": (lambda x: jt.roll(x, 1, 0), [A]),
    "pad": (lambda x: jt.pad(x, (1, 2), value=3.0), [A]),
    "repeat": (lambda x: x.repeat(2, 1), [A]),
    "diagonal": (lambda x: jt.diagonal(x), [N]),
    "concat": (lambda x, y: jt.concat([x, y], 1), [A, B]),
    "stack": (lambda x, y: jt.stack([x, y], 1), [A, B]),
    "split": (lambda x: jt.split(x, 2, 1)[1] * 2, [A]),
    "slice": (lambda x: x[1, ::2], [A]),
    "index": (lambda x, i: x[:, i], [A, ROW]),
    "gather": (lambda x, i: jt.gather(x, 1, i), [A, PLACES]),
    "scatter": (lambda x, i, y: x.scatter(1, i, y), [A, PLACES, B]),
    "index add": (lambda x, i, y: x.index_add(1, i, y), [A, ROW, B]),
    "embedding": (lambda i, w: nn.embedding(i, w), [ROW, M]),
    "setitem": (lambda x, y: _put(x, y), [A, some(2)]),
    "matmul": (lambda x, y: x @ y, [A, M]),
    "matrix times vector": (lambda x, y: x @ y, [A, some(3)]),
    "batch of products": (lambda x, y: x @ y, [some(2, 2, 3), some(2, 3, 1)]),
    "einsum": (lambda x, y: jt.einsum("ij,kj->ik", x, y), [A, B]),
    "outer": (jt.outer, [V, some(3)]),
    "linear": (lambda x, w, b: nn.linear(x, w, b), [A, some(4, 3), V]),
    "conv2d": (lambda x, w: jt.conv2d(x, w, padding=1), [IMAGE, TAPS]),
    "conv2d with strides": (lambda x, w: jt.conv2d(x, w, None, (2, 1), (1, 0), (1, 1)), [IMAGE, TAPS]),
    "conv2d with groups": (lambda x, w: jt.conv2d(x, w, groups=2), [IMAGE, some(4, 1, 3, 3)]),
    "conv1d": (lambda x, w: jt.conv1d(x, w, dilation=2), [some(1, 2, 5), some(3, 2, 2)]),
    "conv_transpose": (lambda x, w: jt.conv_transpose2d(x, w, stride=2), [some(1, 2, 2, 2), some(2, 1, 2, 2)]),
    "max pool": (lambda x: nn.max_pool2d(x, 2), [IMAGE]),
    "mean pool": (lambda x: nn.avg_pool2d(x, 2), [IMAGE]),
    "sort": (lambda x: jt.sort(x, 1)[0], [A]),
    "topk": (lambda x: jt.topk(x, 2)[0], [A]),
    "cumsum": (lambda x: jt.cumsum(x, 1), [A]),
    "cumprod": (lambda x: jt.cumprod(x, 0), [A]),
    "logcumsumexp": (lambda x: jt.logcumsumexp(x, 1), [A]),
    "cummax": (lambda x: jt.cummax(x, 1)[0], [A]),
    "interpolate": (lambda x: nn.interpolate(x, (3, 3), mode="bilinear"), [IMAGE]),
    "complex": (lambda x, y: (jt.complex(x, y) * jt.exp(jt.complex(y, x))).imag, [A, B]),
}  # fmt: skip
STEPS = {  # what has no derivative, or none that is not 0
    "argmax": (lambda x: x.argmax(1), [A]),
    "argsort": (lambda x: jt.argsort(x, 1)[0], [A]),
    "searchsorted": (jt.searchsorted, [np.sort(V), some(3)]),
    "less": (lambda x, y: x < y, [A, B]),
    "floor": (lambda x: jt.floor(x * 3), [A]),
    "any": (lambda x: (x > 1).any(1), [A]),
    "knn": (lambda x, y: jt.knn(x, y, 1)[1], [some(1, 3, 2), some(1, 4, 2)]),
    "shift": (lambda i: (i + 1) << 2, [ROW]),
}


def _put(x, y):
    z = x * 1
    z[:, 1] = y
    return z
