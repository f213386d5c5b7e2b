"""Autocast against PyTorch's: which dtype does each function answer in, and is each name of a list castable?"""

import re

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.amp.lists import APEX, CUDA, PYTORCH
from jt_edu.nn import functional
from jt_edu.variable.autocast import CASTABLE
from tests.arguments.inputs import above, some

EVERY = (PYTORCH, CUDA, APEX)
I2, SIGNS = np.array([0, 1, 1]), np.array([1.0, -1.0, 1.0])
SPD = some(3, 3) @ some(3, 3).T + 3 * np.eye(3)
X, Y, CUBES, IMAGE = some(2, 3), some(3, 4, seed=1), some(1, 1, 4, 4, 4), some(1, 2, 5, 5)
CASES = {  # how both libraries write a function -> what it is given; "F." is nn.functional
    "matmul": (X, Y), "mm": (X, Y), "bmm": (some(2, 2, 3), some(2, 3, 4)), "mv": (X, some(3)), "dot": (X[0], X[1]),
    "addmm": (some(2, 4), X, Y), "addmv": (some(2), X, some(3)), "addr": (some(2, 3), some(2), some(3)),
    "baddbmm": (some(2, 2, 4), some(2, 2, 3), some(2, 3, 4)), "addbmm": (some(2, 4), some(2, 2, 3), some(2, 3, 4)),
    "inner": (X, X), "outer": (some(2), some(3)), "einsum": ("ij,jk->ik", X, Y), "tensordot": (X, Y, 1),
    "linalg.vecdot": (X, X), "linalg.multi_dot": ([X, Y],), "matrix_power": (SPD, 3), "kron": (X, X),
    "F.linear": (X, some(4, 3), some(4)), "F.bilinear": (X, some(2, 4), some(5, 3, 4)), "prelu": (X, some(1)),
    "F.conv1d": (IMAGE[0], some(3, 5, 2)), "F.conv2d": (IMAGE, some(3, 2, 2, 2), some(3)),
    "F.conv3d": (CUBES, some(1, 1, 2, 2, 2)), "F.conv_transpose1d": (IMAGE[0], some(5, 3, 2)),
    "F.conv_transpose2d": (IMAGE, some(2, 3, 2, 2)), "F.conv_transpose3d": (CUBES, some(1, 1, 2, 2, 2)),
    "F.scaled_dot_product_attention": (some(1, 1, 3, 4),) * 3, "F.avg_pool2d": (IMAGE, 2), "F.avg_pool3d": (CUBES, 2),
    "F.max_pool2d": (IMAGE, 2), "F.max_pool3d": (CUBES, 2), "F.adaptive_avg_pool2d": (IMAGE, 2),
    "F.adaptive_avg_pool3d": (CUBES, 2), "F.pad": (IMAGE, (1, 1)), "F.pad reflect": (IMAGE, (1, 1, 1, 1), "reflect"),
    "F.pad replicate": (IMAGE, (1, 1, 1, 1), "replicate"), "F.pad circular": (IMAGE, (1, 1, 1, 1), "circular"),
    "polar": (above(3), above(3)), "prod": (X,), "quantile": (X[0], 0.5), "nanquantile": (X[0], 0.5), "cdist": (X, X),
    "view_as_complex": (some(3, 2),), "F.mse_loss": (X, X), "F.l1_loss": (X, X), "F.smooth_l1_loss": (X, X),
    "F.huber_loss": (X, X), "F.binary_cross_entropy": (above(3), above(3)), "F.kl_div": (X, above(2, 3)),
    "F.binary_cross_entropy_with_logits": (X, X), "F.cross_entropy": (some(3, 2), I2), "F.nll_loss": (some(3, 2), I2),
    "F.poisson_nll_loss": (X, above(2, 3)), "F.hinge_embedding_loss": (some(3), SIGNS), "fft.rfft": (X,),
    "F.soft_margin_loss": (some(3), SIGNS), "F.margin_ranking_loss": (some(3), some(3), SIGNS), "fft.fft": (X,),
    "F.cosine_embedding_loss": (some(3, 2), some(3, 2), SIGNS), "F.triplet_margin_loss": (X, X + 1, X),
    "F.multi_margin_loss": (some(3, 2), I2), "F.multilabel_soft_margin_loss": (X, above(2, 3)), "fft.fft2": (X,),
    "fft.irfft": (X,), "linalg.inv": (SPD,), "linalg.cholesky": (SPD,), "linalg.solve": (SPD, Y),
    "linalg.svdvals": (SPD,),
    "linalg.eigvalsh": (SPD,), "linalg.eigvals": (SPD,), "linalg.cond": (SPD,), "linalg.norm": (SPD,),
    "linalg.qr": (SPD,), "linalg.matrix_rank": (SPD,), "stack": ([X, X],), "cat": ([X, X],),
    "index_copy": (X, 0, np.array([0]), X[:1]), "exp": (X,), "pow": (above(3), 2.5), "softmax": (X, 1), "sum": (X,),
    "mean": (X,), "var": (X,), "norm": (X,), "cumsum": (X, 0), "sigmoid": (X,), "F.relu": (X,), "F.gelu": (X,),
    "F.layer_norm": (X, (3,)), "F.group_norm": (IMAGE, 2), "F.local_response_norm": (IMAGE, 2),
    "F.interpolate": (IMAGE, 8), "F.normalize": (X,), "F.cosine_similarity": (X, X), "add": (X, X),
    "atan2": (X, X), "F.pairwise_distance": (X, X),
}  # fmt: skip
BOTH = {"F.batch_norm": (X, np.zeros(3), np.ones(3)), "cat": ([X, X],), "mul": (X, X), "F.linear": (X, some(4, 3)),
        "F.mse_loss": (X, X), "F.conv2d": (IMAGE, some(3, 2, 2, 2)), "bmm": CASES["bmm"]}  # fmt: skip


def _of(library, name):
    name = name.partition(" ")[0]
    if name.startswith("F."):
        return getattr(library.nn.functional, name[2:])
    for part in name.split("."):
        library = getattr(library, part)
    return library


def _given(value, array, halves):
    """The arguments as Vars or tensors of float32; the first `halves` arrays as bfloat16."""
    left = [halves]

    def one(x):
        if isinstance(x, list):
            return [one(part) for part in x]
        if not isinstance(x, np.ndarray):
            return x
        left[0] -= 1
        return array(x) if x.dtype.kind == "i" else array(x.astype("float32"), left[0] >= 0)

    return [one(x) for x in value]


def _dtype(answer):
    while isinstance(answer, (tuple, list)):
        answer = answer[0]
    return str(answer.dtype).removeprefix("torch.")


def _ours(name, value, halves, lower="bfloat16"):
    array = lambda x, half=False: jt.array(x).bfloat16() if half else jt.array(x)  # noqa: E731
    with jt.amp.autocast("cpu", lower):
        return _dtype(_of(jt, name)(*_given(value, array, halves)))


def _theirs(torch, name, value, halves, lower="bfloat16"):
    array = lambda x, half=False: torch.tensor(x).bfloat16() if half else torch.tensor(x)  # noqa: E731
    with torch.autocast("cpu", getattr(torch, lower)):
        return _dtype(_of(torch, name)(*_given(value, array, halves)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_a_function_answers_in_the_dtype_of_pytorchs(torch, name):
    assert _ours(name, CASES[name], 0) == _theirs(torch, name, CASES[name], 0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(CASES) - {"linalg.matrix_rank"}))
def test_a_function_of_halves_answers_in_the_dtype_of_pytorchs(torch, name):
    assert _ours(name, CASES[name], 9) == _theirs(torch, name, CASES[name], 9)


@pytest.mark.parametrize("name", BOTH)
def test_a_function_of_a_half_and_a_float32_answers_in_the_dtype_of_pytorchs(torch, name):
    assert _ours(name, BOTH[name], 1) == _theirs(torch, name, BOTH[name], 1)


@pytest.mark.parametrize("name", ["matmul", "F.conv2d", "F.mse_loss", "exp", "cat", "F.batch_norm"])
def test_float16_has_the_same_list(torch, name):
    value = (CASES | BOTH)[name]
    assert _ours(name, value, 0, "float16") == _theirs(torch, name, value, 0, "float16")


def _named(name):
    """The function that a list means, where jt_edu has it under that name."""
    rooms = [functional, jt, *([jt.linalg] * name.startswith("linalg_")), *([jt.fft] * name.startswith("fft_"))]
    plain = name.removeprefix("linalg_").removeprefix("fft_")
    room = next((r for r in reversed(rooms) if plain in dir(r)), None)
    return None if room is None else getattr(room, plain)


def names_of(lists):
    return [*lists.lower, *lists.float32, *lists.widest, *lists.banned]


def _asked_as(name):
    return [
        re.sub("{.*?}", ".*", pattern) for pattern in CASTABLE if re.fullmatch(re.sub("{.*?}", ".*", pattern), name)
    ]


@pytest.mark.parametrize("lists", EVERY, ids=["pytorch", "cuda", "apex"])
def test_every_name_of_a_list_that_is_here_is_castable(lists):
    here = [n for n in lists.lower | lists.float32 | lists.banned.keys() if _named(n) is not None or _asked_as(n)]
    assert len(here) > 45
    assert [n for n in here if not _asked_as(n)] == []


def test_every_castable_function_is_in_a_list():
    assert {jt.linalg.inv.casts, jt.fft.fft.casts} < CASTABLE.keys()  # asked for, so that their rooms are loaded
    listed = {n for lists in EVERY for n in names_of(lists)}
    patterns = [re.sub("{.*?}", ".*", name) for name in CASTABLE if name not in ("thrice", "twice")]
    assert [p for p in patterns if not any(re.fullmatch(p, n) for n in listed)] == []


def test_no_function_is_in_two_lists():
    for lists in EVERY:
        names = names_of(lists)
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "name", ["add", "mul", "div", "atan2", "addcdiv", "addcmul", "cross", "bilinear", "dot", "eq", "gt"]
)
def test_what_the_list_widest_asks_of_arithmetic_promotion_does(name):
    values = {"addcdiv": (X, X, X), "addcmul": (X, X, X), "bilinear": CASES["F.bilinear"], "dot": CASES["dot"]}
    given = [jt.array(x.astype("float32")) for x in values.get(name, (X, X))]
    given[0] = given[0].half()
    with jt.amp.autocast(dtype="float16", lists="apex"):
        answer = getattr(jt, name)(*given)
    assert answer.dtype == ("bool" if name in ("eq", "gt") else "float32")


def test_a_trace_says_which_function_computed_in_which_dtype_and_that_is_what_its_list_says():
    net = jt.nn.Sequential(jt.nn.Conv2d(2, 3, 2), jt.nn.ReLU(), jt.nn.Flatten(), jt.nn.Linear(48, 4))
    with jt.trace() as t, jt.amp.autocast():
        scores = net(jt.ones(1, 2, 5, 5))
        jt.nn.cross_entropy_loss(jt.concat([scores, scores.float()], 0), jt.array([0, 1])).sync()
    told = [(c.function, c.rule, c.before, c.to) for c in t.casts]
    half, full = "bfloat16", "float32"
    assert told == [
        ("conv2d", "lower", (full,) * 3, half),
        ("linear", "lower", (half, full, full), half),
        ("cat", "widest", (half, full), full),
        ("cross_entropy_loss", "float32", (full,), full),
    ]
    assert all(PYTORCH.of(c.function) == c.rule for c in t.casts)
    assert "test_autocast_dtypes.py" in t.casts[0].where and "scores = net(" in t.casts[0].where
    assert "autocast: conv2d in bfloat16, by the list 'lower'" in repr(t)
    assert t.as_dict()["casts"][0]["function"] == "conv2d"
    with jt.trace() as outside:
        net(jt.ones(1, 2, 5, 5))
    assert outside.casts == []


MADE_OF_OTHERS = {  # which a region reaches inside of them; and what there is no float for
    "chain_matmul", "linalg_multi_dot", "linalg_matrix_norm", "linalg_vector_norm", "frobenius_norm", "nuclear_norm",
    "convolution", "nll_loss2d", "native_layer_norm", "grid_sampler",
}  # fmt: skip
CELLS = r".*_cell|.*(cudnn|flash|upsample)_.*|_convolution"


def test_pytorch_has_the_names_of_its_table_for_gpus_and_no_others(torch):
    """It tells which functions it casts on a GPU also where there is none; `interpolate` is its `upsample`."""
    registered = torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA")
    theirs = {name.removeprefix("aten::").partition(".")[0] for name in registered}
    theirs = {name for name in theirs - MADE_OF_OTHERS if not re.fullmatch(CELLS, name)}
    ours = {*names_of(CUDA)}

    beside = {"cat", "stack", "ctc_loss", "cross_entropy_loss", "interpolate", "normalize", "softmin", "grid_sample"}
    assert theirs - ours == set()
    assert ours - theirs == beside
