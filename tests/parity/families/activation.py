"""Activations: each function and each of its arguments beside PyTorch's, and a formula in NumPy."""

import numpy as np
import scipy.special

import jt_edu as jt
from tests.parity.inputs import FLOATS, HALVES
from tests.parity.table import ONE, Row

REAL_FLOATS = (*HALVES, *FLOATS)
BOX = (((4,),), ((2, 6),), ((3, 0, 2),), ((2, 1, 4, 1, 2),))
PAIRS = (((3, 4), ()), ((3, 4), (4,)), ((5,), (1,)), ((2, 3, 4), (3,)), ((0, 2), (2,)),
         ((1, 2, 1, 3, 2), (2,)), ((), (1,)))  # fmt: skip


def _f(name, *rest, **options):
    """A function of torch.nn.functional."""
    return lambda t, *xs: getattr(t.nn.functional, name)(*xs, *rest, **options)


def _formula(formula):
    """A formula in float64, rounded once to the dtype that went in; bfloat16 comes as float32."""
    return lambda x: np.asarray(formula(x.astype(np.float64))).astype(x.dtype)


def _kinked(left, right):
    return _formula(lambda x: np.where(x > 0, right(x), left(x)))


def _slopes(x, w):
    """The slopes of a prelu, where they belong: on axis 1."""
    w = w.reshape(-1)
    return w if w.size == 1 else w.reshape((-1,) + (1,) * (x.ndim - 2))


def _prelu(x, w):
    return np.asarray(np.where(x > 0, x, x * _slopes(x, w)).astype(x.dtype)).reshape(x.shape)


def _glu(axis):
    def glu(x):
        a, b = np.split(x.astype(np.float64), 2, axis)
        return (a * scipy.special.expit(b)).astype(x.dtype)

    return glu


def _numpy_softplus(beta, threshold):
    return lambda x: np.where(x * beta > threshold, x, np.logaddexp(x * beta, 0) / beta)


def _relu6_sixth(t, x):
    """PyTorch's hardsigmoid takes 1/6 as a float32 in its gradient, and has no second one."""
    return t.nn.functional.relu6(x + 3) / 6


ACTIVATIONS = tuple(
    Row(name, ours, numpy, torch, ONE, REAL_FLOATS, "any", loose)
    for name, ours, numpy, torch, loose in (
        ("relu6", jt.relu6, _formula(lambda x: np.clip(x, 0, 6)), _f("relu6"), 1),
        ("relu6, the method", lambda x: (x * 3).relu6(), _formula(lambda x: np.clip(x * 3, 0, 6)), None, 1),
        ("hardtanh", jt.hardtanh, _formula(lambda x: np.clip(x, -1, 1)), _f("hardtanh"), 1),
        ("hardtanh between other walls", lambda x: jt.hardtanh(x, -2, 0.5), _formula(lambda x: np.clip(x, -2, 0.5)),
         _f("hardtanh", -2, 0.5), 1),
        ("hardtanh by names", lambda x: jt.hardtanh(x, max_val=3, min_val=-0.5),
         _formula(lambda x: np.clip(x, -0.5, 3)), _f("hardtanh", max_val=3, min_val=-0.5), 1),
        ("leaky_relu by default", jt.leaky_relu, _kinked(lambda x: x * 0.01, lambda x: x), _f("leaky_relu"), 1),
        ("leaky_relu of a negative_slope", lambda x: jt.leaky_relu(x, negative_slope=0.5),
         _kinked(lambda x: x * 0.5, lambda x: x), _f("leaky_relu", negative_slope=0.5), 1),
        ("leaky_relu of a scale", lambda x: jt.leaky_relu(x, scale=-0.25), _kinked(lambda x: x * -0.25, lambda x: x),
         _f("leaky_relu", -0.25), 1),
        ("rrelu at rest", jt.rrelu, _kinked(lambda x: x * (11 / 48), lambda x: x), _f("rrelu"), 1),
        ("rrelu at rest between bounds", lambda x: jt.rrelu(x, 0.25, 0.75), _kinked(lambda x: x * 0.5, lambda x: x),
         _f("rrelu", 0.25, 0.75), 1),
        ("rrelu at work, one slope", lambda x: jt.rrelu(x, 0.5, 0.5, training=True),
         _kinked(lambda x: x * 0.5, lambda x: x), _f("rrelu", 0.5, 0.5, training=True), 1),
        ("threshold", lambda x: jt.threshold(x, 0.5, -2), _formula(lambda x: np.where(x <= 0.5, -2, x)),
         _f("threshold", 0.5, -2), 1),
        ("threshold by names", lambda x: jt.threshold(x, value=7.0, threshold=-1.0),
         _formula(lambda x: np.where(x <= -1, 7, x)), _f("threshold", value=7.0, threshold=-1.0), 1),
        ("hardshrink", jt.hardshrink, _formula(lambda x: np.where(np.abs(x) <= 0.5, 0, x)), _f("hardshrink"), 1),
        ("hardshrink by 1.5", lambda x: jt.hardshrink(x, lambd=1.5),
         _formula(lambda x: np.where(np.abs(x) <= 1.5, 0, x)),
         _f("hardshrink", 1.5), 1),
        ("softshrink", jt.softshrink, _formula(lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
         _f("softshrink"), 1),
        ("softshrink by 1.5", lambda x: jt.softshrink(x, 1.5),
         _formula(lambda x: np.sign(x) * np.maximum(np.abs(x) - 1.5, 0)), _f("softshrink", 1.5), 1),
        ("hardsigmoid", jt.hardsigmoid, _formula(lambda x: np.clip(x + 3, 0, 6) / 6), _relu6_sixth, 1),
        ("hardswish", jt.hardswish, _formula(lambda x: x * np.clip(x + 3, 0, 6) / 6), _f("hardswish"), 2),
        ("elu", jt.elu, _kinked(np.expm1, lambda x: x), _f("elu"), 1),
        ("elu of alpha 2", lambda x: jt.elu(x, alpha=2.0), _kinked(lambda x: 2 * np.expm1(x), lambda x: x),
         _f("elu", 2.0), 1),
        ("celu", jt.celu, _kinked(np.expm1, lambda x: x), _f("celu"), 1),
        ("celu of alpha 2", lambda x: jt.celu(x, alpha=2.0), _kinked(lambda x: 2 * np.expm1(x / 2), lambda x: x),
         _f("celu", 2.0), 1),
        ("selu", jt.selu, _kinked(lambda x: 1.0507009873554805 * 1.6732632423543772 * np.expm1(x),
                                  lambda x: 1.0507009873554805 * x), _f("selu"), 1),
        ("softplus by default", jt.softplus, _formula(_numpy_softplus(1, 20)), _f("softplus"), 1),
        ("softplus of a sharper corner", lambda x: jt.softplus(x, beta=3.0), _formula(_numpy_softplus(3, 20)),
         _f("softplus", beta=3.0), 1),
        ("softplus of an early end", lambda x: jt.softplus(x, 1.0, 0.5), _formula(_numpy_softplus(1, 0.5)),
         _f("softplus", 1.0, 0.5), 1),
        ("logsigmoid", jt.logsigmoid, _formula(scipy.special.log_expit), _f("logsigmoid"), 1),
        ("mish", jt.mish, _formula(lambda x: x * np.tanh(np.logaddexp(x, 0))), _f("mish"), 2),
        ("swish", jt.swish, _formula(lambda x: x * scipy.special.expit(x)), _f("silu"), 1),
        ("softsign", jt.softsign, _formula(lambda x: x / (1 + np.abs(x))), _f("softsign"), 1),
        ("tanhshrink", jt.tanhshrink, _formula(lambda x: x - np.tanh(x)), _f("tanhshrink"), 2),
    )
)  # fmt: skip

ODD = tuple(
    row._replace(name=f"{row.name} of odd numbers", domain="odd", shapes=(((13,),), ((4, 5),)), torch=None, orders=0)
    for row in ACTIVATIONS
    if row.name.split()[0] not in ("hardswish", "mish", "swish", "softsign", "tanhshrink")  # inf times 0 is nan
)

OTHERS = (
    Row("prelu", jt.prelu, _prelu, lambda t, x, w: t.nn.functional.prelu(x, w.reshape(-1)), PAIRS, REAL_FLOATS,
        layouts=False),
    Row("prelu, the method", lambda x, w: x.prelu(w), _prelu, None, PAIRS, FLOATS, "odd", orders=0, layouts=False),
    Row("glu", jt.glu, _glu(-1), _f("glu"), BOX, REAL_FLOATS, layouts=False),
    Row("glu along an axis", lambda x: jt.glu(x, dim=0), _glu(0), _f("glu", dim=0), (((4, 3),), ((2, 0, 5),)),
        REAL_FLOATS, layouts=False),
    Row("glu along an axis by NumPy's name", lambda x: jt.glu(x, axis=-2), _glu(-2), _f("glu", dim=-2),
        (((1, 4, 3),), ((2, 5),)), FLOATS, layouts=False),
    Row("relu6 of whole numbers", jt.relu6, lambda x: np.clip(x, 0, 6), None, ONE, ("int8", "int32", "int64"), "any"),
    Row("threshold of whole numbers", lambda x: jt.threshold(x, 2, -3), lambda x: np.where(x > 2, x, -3), None, ONE,
        ("int64",), "any"),
)  # fmt: skip

ROWS = (*ACTIVATIONS, *ODD, *OTHERS)
