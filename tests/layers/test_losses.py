"""Losses as layers, and what the table of parity cannot say: halves, edges, lazy checks, third ways to be wrong."""

import inspect

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.base.errors import RangeError
from tests.layers.harness import agrees

W = np.array([0.5, 1.0, 2.0, 1.5])
X, Y = np.linspace(-2, 2, 12).reshape(3, 4), np.cos(np.arange(12.0)).reshape(3, 4)
P, SIGN, CLASS = 1 / (1 + np.exp(-X)), np.where(np.arange(12) % 3, 1, -1).reshape(3, 4), np.array([3, 0, 1])
LABELS = np.array([[0, 2, -1, 1], [-1, 0, 0, 0], [3, 2, 1, 0]])
PAIR, TRIPLE = SIGN[:, 0], (X, Y, X * Y)

# name, settings, inputs; a weight is an array for both
MODULES = [
    ("L1Loss", {}, (X, Y)),
    ("MSELoss", {}, (X, Y)),
    ("BCELoss", {}, (P, P[::-1].copy())),
    ("BCELoss", {"weight": W}, (P, P[::-1].copy())),
    ("BCEWithLogitsLoss", {}, (X, P)),
    ("BCEWithLogitsLoss", {"weight": W, "pos_weight": W + 1}, (X, P)),
    ("CrossEntropyLoss", {}, (X, CLASS)),
    ("CrossEntropyLoss", {"weight": W, "ignore_index": 3, "label_smoothing": 0.1}, (X, CLASS)),
    ("CrossEntropyLoss", {"weight": W, "label_smoothing": 0.1}, (X, P)),
    ("NLLLoss", {}, (X, CLASS)),
    ("NLLLoss", {"weight": W, "ignore_index": 0}, (X, CLASS)),
    ("KLDivLoss", {}, (X, P)),
    ("KLDivLoss", {"log_target": True}, (X, Y)),
    ("SmoothL1Loss", {}, (X, Y)),
    ("SmoothL1Loss", {"beta": 0.3}, (X, Y)),
    ("HuberLoss", {}, (X, Y)),
    ("HuberLoss", {"delta": 0.3}, (X, Y)),
    ("PoissonNLLLoss", {}, (X, P * 4)),
    ("PoissonNLLLoss", {"log_input": False, "full": True, "eps": 0.1}, (P, P * 4)),
    ("GaussianNLLLoss", {}, (X, Y, P)),
    ("GaussianNLLLoss", {"full": True, "eps": 0.4}, (X, Y, P)),
    ("HingeEmbeddingLoss", {"margin": 0.7}, (X, SIGN)),
    ("SoftMarginLoss", {}, (X, SIGN)),
    ("MarginRankingLoss", {"margin": 0.2}, (X, Y, SIGN)),
    ("MultiMarginLoss", {}, (X, CLASS)),
    ("MultiMarginLoss", {"p": 2, "margin": 0.5, "weight": W}, (X, CLASS)),
    ("MultiLabelMarginLoss", {}, (X, LABELS)),
    ("MultiLabelSoftMarginLoss", {"weight": W}, (X, P)),
    ("CosineEmbeddingLoss", {"margin": 0.1}, (X, Y, PAIR)),
    ("TripletMarginLoss", {"margin": 2.0, "p": 3, "eps": 0.1, "swap": True}, TRIPLE),
    ("TripletMarginWithDistanceLoss", {"margin": 2.0, "swap": True}, TRIPLE),
]
MEASURES = [
    ("CosineSimilarity", {"dim": 0, "eps": 0.01}),
    ("PairwiseDistance", {"p": 3, "eps": 0.1, "keepdim": True}),
]


def loss(module, name, settings, tensor, reduction=None):
    more = {} if reduction is None else {"reduction": reduction}
    return getattr(module, name)(
        **{k: tensor(v) if isinstance(v, np.ndarray) else v for k, v in settings.items()}, **more
    )


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(("name", "settings", "inputs"), MODULES, ids=lambda v: v if isinstance(v, str) else "")
def test_a_loss_agrees_with_pytorch(torch, name, settings, inputs, reduction):
    ours = loss(nn, name, settings, jt.array, reduction)
    theirs = loss(torch.nn, name, settings, torch.tensor, reduction)

    agrees(torch, ours, theirs, *inputs, train=False)


@pytest.mark.parametrize(("name", "settings"), MEASURES, ids=str)
def test_a_measure_agrees_with_pytorch(torch, name, settings):
    agrees(torch, loss(nn, name, settings, jt.array), loss(torch.nn, name, settings, torch.tensor), X, Y, train=False)


def test_batchmean_divides_by_the_batch(torch):
    agrees(torch, nn.KLDivLoss("batchmean"), torch.nn.KLDivLoss(reduction="batchmean"), X, P, train=False)


@pytest.mark.parametrize(("name", "settings", "inputs"), MODULES, ids=lambda v: v if isinstance(v, str) else "")
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_loss_keeps_the_dtype_of_its_inputs(name, settings, inputs, dtype):
    half = [jt.array(a, dtype if a.dtype.kind == "f" else None) for a in inputs]
    wide = [jt.array(a) for a in inputs]

    with jt.flag_scope(backend="python"):
        found = loss(nn, name, settings, lambda w: jt.array(w, dtype))(*half)
        expected = loss(nn, name, settings, jt.array)(*wide).item()

    assert str(found.dtype) == dtype
    np.testing.assert_allclose(found.item(), expected, rtol=1e-2 if dtype == "float16" else 1e-5)


def test_every_argument_of_a_loss_module_is_kept():
    for name, settings, _ in MODULES:
        module = loss(nn, name, settings, jt.array)
        for argument in inspect.signature(type(module).__init__).parameters:
            assert argument == "self" or hasattr(module, argument), (name, argument)


def test_targets_may_be_numbers_of_any_kind():
    x = jt.array([0.5, -1.0])

    assert nn.mse_loss(x, jt.array([1, 0])).item() == nn.mse_loss(x, jt.array([1.0, 0.0])).item()
    assert str(nn.bce_loss(x.sigmoid(), jt.array([True, False])).dtype) == "float32"


@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 3.0]])
def test_a_class_that_is_ignored_counts_nothing_with_and_without_weights(torch, weight):
    x, t = np.array([[0.1, 0.2, 0.3], [1.0, 0.0, 2.0]]), np.array([0, 2])
    ours = nn.nll_loss(jt.array(x), jt.array(t), None if weight is None else jt.array(weight), ignore_index=0)
    theirs = torch.nn.functional.nll_loss(
        torch.tensor(x), torch.tensor(t), None if weight is None else torch.tensor(weight).double(), ignore_index=0
    )

    np.testing.assert_allclose(ours.item(), theirs.item(), rtol=1e-12)


def test_below_eps_a_variance_has_the_gradient_of_eps(torch):
    a = np.array([0.1, 0.6])
    v, t = jt.array(a), torch.tensor(a, requires_grad=True)
    torch.nn.functional.gaussian_nll_loss(torch.zeros(2), torch.ones(2), t, eps=0.5).backward()

    found = jt.grad(nn.gaussian_nll_loss(jt.zeros(2), jt.ones(2), v, eps=0.5), v)

    np.testing.assert_allclose(found.numpy(), t.grad.numpy(), rtol=1e-7)


@pytest.mark.parametrize(
    "call",
    [
        lambda: nn.multi_margin_loss(jt.zeros(2, 3), jt.array([0, 3])),
        lambda: nn.multi_margin_loss(jt.zeros(2, 3), jt.array([0, -1])),
        lambda: nn.multilabel_margin_loss(jt.zeros(1, 3), jt.array([[3, -1, -1]])),
        lambda: nn.multilabel_margin_loss(jt.zeros(1, 3), jt.array([[-2, -1, -1]])),
        lambda: nn.ctc_loss(jt.zeros(3, 1, 3), jt.array([[3]]), [3], [1]),
        lambda: nn.ctc_loss(jt.zeros(3, 1, 3), jt.array([[1]]), [4], [1]),
        lambda: nn.ctc_loss(jt.zeros(3, 1, 3), jt.array([[1]]), [3], [2]),
        lambda: nn.ctc_loss(jt.zeros(3, 1, 3), jt.array([[1]]), [-1], [1]),
    ],
)
def test_numbers_that_cannot_be_are_seen_when_the_loss_runs(call):
    with pytest.raises(RangeError):
        call().item()


# --------------------------------------------------------------------------------------------------------------- CTC


def speech(rng, t=7, n=3, classes=4):
    letters = np.array([[1, 1, 2], [3, 2, 0], [2, 0, 0]])
    return rng.normal(size=(t, n, classes)), letters, np.array([t, t - 1, t - 3]), np.array([3, 2, 1])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("form", ["padded", "in one axis", "lists", "single"])
def test_every_form_of_ctc_agrees_with_pytorch(torch, rng, form, reduction):
    x, letters, moments, counts = speech(rng)
    if form == "in one axis":
        letters = np.concatenate([row[:n] for row, n in zip(letters, counts, strict=True)])
    if form == "single":
        x, letters, moments, counts = x[:, 0], letters[0], np.array(7), np.array(3)
    ours, theirs = jt.array(x), torch.tensor(x, requires_grad=True)
    lengths = (moments.tolist(), counts.tolist()) if form == "lists" else (jt.array(moments), jt.array(counts))

    with jt.flag_scope(backend="python"):
        found = nn.CTCLoss(reduction=reduction)(jt.log_softmax(ours, -1), jt.array(letters), *lengths)
        expected = torch.nn.CTCLoss(reduction=reduction)(
            theirs.log_softmax(-1), *(torch.tensor(a) for a in (letters, moments, counts))
        )
        expected.sum().backward()

        assert found.shape == tuple(expected.shape)
        np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), rtol=1e-12)
        np.testing.assert_allclose(jt.grad(found.sum(), ours).numpy(), theirs.grad.numpy(), atol=1e-12)


def spellings(path, blank=0):
    """What a way says: letters that are held count once, blanks not at all."""
    return tuple(c for k, c in enumerate(path) if c != blank and (k == 0 or path[k - 1] != c))


def test_ctc_is_the_sum_over_all_ways(rng):
    logs = np.log(rng.dirichlet(np.ones(3), size=(5, 1)))
    ways = np.array(np.meshgrid(*[range(3)] * 5)).reshape(5, -1).T
    total = sum(np.exp(logs[range(5), 0, way].sum()) for way in ways if spellings(way) == (1, 1, 2))

    found = nn.ctc_loss(jt.array(logs), jt.array([[1, 1, 2]]), [5], [3], reduction="none")

    np.testing.assert_allclose(found.numpy(), [-np.log(total)], rtol=1e-12)


def test_a_target_that_is_too_long_costs_infinity_or_nothing():
    x = jt.log_softmax(jt.zeros(2, 1, 3), 2)
    z = jt.zeros(2, 1, 3)

    assert nn.ctc_loss(x, jt.array([[1, 1]]), [2], [2]).item() == np.inf
    free = nn.ctc_loss(jt.log_softmax(z, 2), jt.array([[1, 1]]), [2], [2], zero_infinity=True)
    assert free.item() == 0
    assert (jt.grad(free, z).numpy() == 0).all()


def second_orders(function, x, way):
    """The second gradient along a way, and what differences of the first one say."""

    def first(a):
        v = jt.array(a)
        return v, jt.grad(function(v), v)

    with jt.flag_scope(backend="python"):
        v, g = first(x)
        found = jt.grad((g * jt.array(way)).sum(), v, allow_unused=True)
        step = 1e-5
        expected = (first(x + step * way)[1].numpy() - first(x - step * way)[1].numpy()) / (2 * step)
    return np.zeros(x.shape) if found is None else found.numpy(), expected


def test_second_gradients_of_ctc_are_differences_of_first_ones(rng):
    x, letters, moments, counts = speech(rng, 5, 2)
    rest = jt.array(letters[:2]), moments[:2], counts[:2]

    found, expected = second_orders(
        lambda v: nn.ctc_loss(jt.log_softmax(v, 2), *rest, reduction="sum"), x, rng.normal(size=x.shape)
    )

    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize(
    "function",
    [
        lambda v: nn.multi_margin_loss(v, jt.array(CLASS)),
        lambda v: nn.multi_margin_loss(v, jt.array(CLASS), p=2, weight=jt.array(W)),
        lambda v: nn.multilabel_margin_loss(v * v, jt.array(LABELS)),
        lambda v: nn.cosine_similarity(v, jt.array(Y), eps=2.5).sum(),
    ],
)
def test_second_gradients_that_pytorch_lacks_are_differences_of_first_ones(rng, function):
    found, expected = second_orders(function, X + 0.1 * rng.normal(size=X.shape), rng.normal(size=X.shape))

    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("smoothing", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("weight", [None, [0.5, 2.0, 1.0]])
def test_a_batch_of_which_everything_is_ignored_has_no_mean_and_moves_nothing(smoothing, weight):
    x = jt.array([[1.0, 2.0, 3.0], [3.0, 1.0, 0.0]])

    loss = jt.nn.cross_entropy_loss(x, jt.array([1, 1]), weight, ignore_index=1, label_smoothing=smoothing)

    assert np.isnan(loss.item())
    assert jt.grad(loss, x).tolist() == [[0.0] * 3] * 2
