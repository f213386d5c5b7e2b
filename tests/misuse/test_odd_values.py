"""One odd value in the place of each argument: the call works, or says what is wrong; nothing bare comes out of it.

`GOOD` holds a call of each function that works. Every test puts odd values, one at a time, in the place of each of its
arguments, and of each argument that the call leaves out.
"""

import inspect
import zlib

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.nn import functional

EACH = 8  # odd values for each argument, out of all of them: others in each place, and the same in every run
LARGE = 10_000  # what is larger is not computed


def x(*shape):
    return jt.array(np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape))


def k(*numbers):
    return jt.array(np.array(numbers))


ODD = {
    "None": None, "a word": "word", "bytes": b"x", "a ragged list": [1, [2, 3]], "nothing": [], "a dict": {},
    "an object": object(), "10**30": 10**30, "-10**30": -(10**30), "2**63": 2**63, "nan": float("nan"),
    "inf": float("inf"), "1.5": 1.5, "-1": -1, "0": 0, "True": True, "a pair": (0, 1), "a row": np.array([0, 1]),
    "words": np.array(["a"]), "floats": x(2), "numbers": k(1, 2), "bools": k(True, False), "complex": k(1j, 2.0),
    "a function": lambda: 1, "a slice": slice(0, 1), "a type": int, "a dtype": jt.float16, "dots": ...,
}  # fmt: skip
ROW, TABLE, IMAGE, FIRST = x(6), x(3, 4), x(1, 2, 6, 6), k([0, 1, 0, 1])
GOOD = {
    functional: {
        "adaptive_avg_pool1d": (x(1, 2, 6), 2), "adaptive_avg_pool2d": (IMAGE, 2), "adaptive_max_pool2d": (IMAGE, 2),
        "avg_pool2d": (IMAGE, 2), "max_pool2d": (IMAGE, 2), "lp_pool2d": (IMAGE, 2, 2),
        "max_pool3d": (x(1, 2, 4, 4, 4), 2), "max_unpool2d": (x(1, 1, 1, 2), k([[[0, 3]]]), 2),
        "conv1d": (x(1, 2, 6), x(3, 2, 2)), "conv2d": (IMAGE, x(3, 2, 2, 2)),
        "conv3d": (x(1, 1, 3, 3, 3), x(1, 1, 2, 2, 2)), "conv_transpose2d": (IMAGE, x(2, 3, 2, 2)),
        "cross_entropy": (x(3, 4), k(0, 1, 2)), "nll_loss": (x(3, 4), k(0, 1, 2)),
        "embedding": (k(0, 1), TABLE), "embedding_bag": (k(0, 1), TABLE, k(0)), "one_hot": (k(0, 1),),
        "interpolate": (IMAGE, (3, 3)), "grid_sample": (IMAGE, x(1, 3, 3, 2)),
        "affine_grid": (x(1, 2, 3), (1, 2, 3, 3)),
        "pad": (TABLE, (1, 1)), "unfold": (IMAGE, 2), "fold": (x(1, 8, 9), (4, 4), 2),
        "pixel_shuffle": (x(1, 4, 2, 2), 2), "channel_shuffle": (x(1, 4, 2, 2), 2),
        "batch_norm": (TABLE, x(4), x(4)), "layer_norm": (TABLE, (4,)), "group_norm": (x(3, 4, 2), 2),
        "instance_norm": (x(3, 4, 2),), "rms_norm": (TABLE, (4,)), "local_response_norm": (x(3, 4, 2), 2),
        "normalize": (TABLE,), "linear": (TABLE, x(2, 4)), "bilinear": (TABLE, x(3, 2), x(5, 4, 2)),
        "multi_margin_loss": (TABLE, k(0, 1, 2)), "multilabel_margin_loss": (TABLE, k([0] * 4, [0] * 4, [0] * 4)),
        "hinge_embedding_loss": (x(3), k(1.0, -1.0, 1.0)), "cosine_embedding_loss": (TABLE, TABLE, k(1.0, -1.0, 1.0)),
        "margin_ranking_loss": (x(3), x(3), k(1.0, -1.0, 1.0)), "triplet_margin_loss": (TABLE, TABLE, TABLE),
        "triplet_margin_with_distance_loss": (TABLE, TABLE, TABLE),
        "ctc_loss": (x(5, 2, 4).log_softmax(-1), k([1, 2], [2, 3]), k(5, 5), k(2, 2)),
        "kl_div": (TABLE, TABLE.sigmoid()), "gaussian_nll_loss": (x(3), x(3), x(3).exp()),
        "poisson_nll_loss": (x(3), x(3).exp()), "huber_loss": (x(3), x(3)), "smooth_l1_loss": (x(3), x(3)),
        "binary_cross_entropy": (x(3).sigmoid(), x(3).sigmoid()), "soft_margin_loss": (x(3), k(1.0, -1.0, 1.0)),
        "multilabel_soft_margin_loss": (TABLE, TABLE.sigmoid()), "gumbel_softmax": (TABLE,), "dropout": (TABLE,),
        "scaled_dot_product_attention": (x(2, 3, 4), x(2, 3, 4), x(2, 3, 4)), "prelu": (TABLE, x(4)), "glu": (TABLE,),
        "cosine_similarity": (TABLE, TABLE), "pairwise_distance": (TABLE, TABLE), "hardtanh": (x(3),),
    },
    jt: {
        "random": ((2,),), "rand": (2,), "randn": (2,), "normal": (0.0, 1.0, (2,)), "uniform": (0.0, 1.0, (2,)),
        "randint": (0, 5, (2,)), "randint_like": (x(3), 0, 5), "rand_like": (x(3),), "bernoulli": (x(3).sigmoid(),),
        "exponential": (1.0, (2,)), "multinomial": (x(3).exp(), 2, True), "permutation": (x(4),), "randperm": (4,),
        "set_global_seed": (3,), "Generator": (3,), "knob": (lambda: 1.0,),
        "gather": (TABLE, 0, FIRST), "scatter": (TABLE, 0, FIRST, x(1, 4)), "scatter_add": (TABLE, 0, FIRST, x(1, 4)),
        "scatter_reduce": (TABLE, 0, FIRST, x(1, 4), "sum"), "index_select": (TABLE, 0, k(0, 1)),
        "index_add": (TABLE, 0, k(0, 1), x(2, 4)), "index_copy": (TABLE, 0, k(0, 1), x(2, 4)),
        "index_fill": (TABLE, 0, k(0, 1), 2.0), "index_put": (TABLE, (k(0),), 1.0), "take": (TABLE, k(0, 1)),
        "masked_fill": (TABLE, TABLE > 0, 1.0), "masked_select": (TABLE, TABLE > 0), "nonzero": (TABLE,),
        "masked_scatter": (TABLE, TABLE > 0, x(12)), "narrow": (TABLE, 0, 0, 2), "select": (TABLE, 0, 1),
        "slice_scatter": (TABLE, x(2, 4), 0, 0, 2), "select_scatter": (TABLE, x(4), 0, 1),
        "diagonal_scatter": (x(3, 3), x(3)), "take_along_dim": (TABLE, FIRST, 0), "compress": ([0, 1, 1], x(3)),
        "put_along_axis": (TABLE, FIRST, 1.0, 0), "insert": (x(4), 1, 2.0), "delete": (x(4), 1),
        "append": (x(3), x(2)), "getitem": (TABLE, 0), "setitem": (x(3, 4), 0, 1.0), "where": (ROW > 0, ROW, ROW),
        "einsum": ("ij,jk->ik", TABLE, x(4, 2)), "tensordot": (TABLE, x(4, 2), 1), "matmul": (TABLE, x(4, 2)),
        "addmm": (x(3, 2), TABLE, x(4, 2)), "matrix_power": (x(3, 3), 2), "cross": (x(2, 3), x(2, 3)),
        "kron": (x(3), x(3)), "split": (ROW, 2), "chunk": (ROW, 2), "array_split": (ROW, 2), "tensor_split": (ROW, 2),
        "unflatten": (ROW, 0, (2, 3)), "reshape": (ROW, (2, 3)), "broadcast_to": (x(1, 3), (2, 3)),
        "expand": (x(1, 3), (2, 3)), "expand_dims": (x(3), 0), "squeeze": (x(1, 3),), "movedim": (x(2, 3), 0, 1),
        "permute": (x(2, 3), (1, 0)), "roll": (ROW, 1), "rot90": (x(2, 3),), "tile": (x(2, 3), (2, 1)),
        "repeat_interleave": (x(3), 2), "as_strided": (ROW, (2, 2), (1, 1)), "sliding_window_view": (ROW, 2),
        "stack": ([x(2), x(2)],), "concat": ([x(2), x(2)],), "topk": (ROW, 2), "kthvalue": (ROW, 2), "sort": (TABLE,),
        "searchsorted": (k(1.0, 2.0), x(3)), "digitize": (x(3), k(1.0, 2.0)), "isin": (x(3), x(2)),
        "histogram": (ROW,), "histc": (ROW,), "bincount": (k(0, 1, 2),), "quantile": (ROW, 0.5),
        "unique": (k(1, 2, 1),),
        "nanpercentile": (ROW, 50), "unique_consecutive": (k(1, 2, 1),), "unravel_index": (k(1, 2), (2, 3)),
        "ravel_multi_index": ((k(0, 1), k(1, 2)), (2, 3)), "linspace": (0, 1, 4), "geomspace": (1, 2, 4),
        "arange": (0, 4, 1), "eye": (3,), "tri": (3,), "full": ((2,), 1.0), "vander": (x(3),), "index": ((2, 3), 0),
        "meshgrid": (x(3), x(2)), "combinations": (x(3),), "indices": ((2, 3),), "cov": (x(2, 5),), "average": (x(3),),
        "norm": (TABLE,), "diff": (ROW,), "gradient": (ROW,), "trapezoid": (ROW,), "cumsum": (TABLE, 0),
        "max": (TABLE, 0), "argmax": (TABLE, 0), "std": (TABLE,), "clamp": (x(3), 0, 1), "lerp": (x(3), x(3), 0.5),
        "polygamma": (1, x(3)), "round": (x(3),), "nan_to_num": (x(3),), "polar": (x(3), x(3)), "cast": (x(3), "int32"),
        "softmax": (TABLE,), "logsumexp": (TABLE, 0), "array": ([1.0],), "from_numpy": (np.ones(3),),
        "vjp": (ROW, [ROW], ROW), "grad": (ROW.sum(), ROW, True), "sync": ([ROW],), "pool2d": (IMAGE, 2),
    },
}  # fmt: skip
CALLS = [(home, name, call) for home, table in GOOD.items() for name, call in table.items()]


@pytest.mark.parametrize(("home", "name", "call"), CALLS, ids=[f"{c[0].__name__}.{c[1]}" for c in CALLS])
def test_an_odd_value_works_or_is_refused_in_words(home, name, call):
    function, bare = getattr(home, name), []
    with jt.flag_scope(backend="python"), np.errstate(all="ignore"):
        _computed(function(*call))
        for place, given in _places(function, call):
            for odd in _some(f"{name} {place}"):
                args, named = given(ODD[odd])
                try:
                    _computed(function(*args, **named))
                except jt.JtError:
                    continue
                except Exception as error:  # noqa: BLE001 - that is what is looked for
                    bare.append(f"{place} = {odd}: {type(error).__name__}: {error}")

    assert bare == []


def _places(function, call):
    """(a name for the place, odd value -> the arguments of the call) for each argument."""
    for at in range(len(call)):
        yield f"argument {at}", lambda odd, at=at: ((*call[:at], odd, *call[at + 1 :]), {})
    parameters = list(inspect.signature(function).parameters.values())
    for p in parameters[len(call) :]:
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            yield p.name, lambda odd, p=p: (call, {p.name: odd})


def _some(place):
    """Names of odd values for a place."""
    first = zlib.crc32(place.encode())
    names = sorted(ODD, key=lambda name: zlib.crc32(f"{first} {name}".encode()))
    return names[:EACH]


def _computed(answer):
    for v in answer if isinstance(answer, (tuple, list)) else [answer]:
        if isinstance(v, jt.Var) and v.size <= LARGE:
            v.sync()
