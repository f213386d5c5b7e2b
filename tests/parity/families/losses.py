"""Losses beside PyTorch's: each with each of its arguments, and each reduction."""

import numpy as np

import jt_edu as jt
from tests.parity.inputs import FLOATS
from tests.parity.table import Row

WAYS = ("mean", "sum", "none")
PAIRS = (((), ()), ((5,), (5,)), ((3, 4), (3, 4)), ((2, 1, 3, 2), (2, 1, 3, 2)), ((1, 2, 1, 2, 3), (1, 2, 1, 2, 3)))
EMPTY = (((0,), (0,)), ((2, 0, 3), (2, 0, 3)))


def _f(t):
    return t.nn.functional


def _signs(shape):
    """1 and -1, in no particular order."""
    return np.where(np.arange(int(np.prod(shape))) % 3 == 1, -1, 1).reshape(shape)


def _classes(shape, n):
    """Class numbers below n."""
    return (np.arange(int(np.prod(shape))) * 7 % n).reshape(shape)


def _shares(shape):
    """Numbers from 0 to 1."""
    return (np.arange(int(np.prod(shape))) % 5 / 4).reshape(shape)


def _weights(n):
    return np.arange(1, n + 1) / 2


def _like(t, array, x):
    return t.tensor(array, dtype=x.dtype)


def _each(name, ours, torch, shapes, domain="any", layouts=True, loose=1.0, ways=WAYS, orders=2):
    """One row for each reduction; without mean also of nothing at all."""
    return tuple(
        Row(
            f"{name}, {way}",
            lambda *xs, way=way: ours(way, *xs),
            None,
            lambda t, *xs, way=way: torch(t, way, *xs),
            shapes + (EMPTY if shapes is PAIRS and way != "mean" else ()),
            FLOATS,
            domain,
            loose,
            orders,
            layouts,
        )
        for way in ways
    )


def _two(name, ours, torch, domain="any", **settings):
    """A loss of two inputs that are both differentiated, each with each reduction."""
    words = ", ".join(f"{k}={v}" for k, v in settings.items())
    return _each(
        f"{name}({words})",
        lambda way, x, y: getattr(jt.nn, ours)(x, y, reduction=way, **settings),
        lambda t, way, x, y: getattr(_f(t), torch)(x, y, reduction=way, **settings),
        PAIRS,
        domain,
    )


REGRESSION = (
    *_two("mse_loss", "mse_loss", "mse_loss"),
    *_two("l1_loss", "l1_loss", "l1_loss"),
    *_two("smooth_l1_loss", "smooth_l1_loss", "smooth_l1_loss"),
    *_two("smooth_l1_loss", "smooth_l1_loss", "smooth_l1_loss", beta=2.5),
    *_two("smooth_l1_loss", "smooth_l1_loss", "smooth_l1_loss", beta=0),
    *_two("huber_loss", "huber_loss", "huber_loss"),
    *_two("huber_loss", "huber_loss", "huber_loss", delta=2.5),
    *_two("poisson_nll_loss", "poisson_nll_loss", "poisson_nll_loss", "positive"),
    *_two("poisson_nll_loss", "poisson_nll_loss", "poisson_nll_loss", "positive", full=True),
    *_two("poisson_nll_loss", "poisson_nll_loss", "poisson_nll_loss", "positive", log_input=False, eps=0.5),
)

GAUSS = tuple(
    row
    for settings in ({}, {"full": True}, {"eps": 1.5})
    for row in _each(
        f"gaussian_nll_loss({settings})",
        lambda way, x, y, v, s=settings: jt.nn.gaussian_nll_loss(x, y, v, reduction=way, **s),
        lambda t, way, x, y, v, s=settings: _f(t).gaussian_nll_loss(x, y, v, reduction=way, **s),
        (((5,), (5,), (5,)), ((3, 4), (3, 4), (3, 4)), ((3, 4), (3, 4), (3, 1)), ((2, 3, 4), (2, 3, 4), (2, 3))),
        "positive",
        layouts=False,
        orders=0 if "eps" in settings else 2,  # below eps, the gradient is not that of the function, on purpose
    )
)


def _kl_div(t, way, x, y, log_target):
    """PyTorch warns of "mean", which divides by the number of elements; an average of them is the same."""
    loss = _f(t).kl_div(x, y, reduction="none" if way == "mean" else way, log_target=log_target)
    return loss.mean() if way == "mean" else loss


ENTROPY = (
    *_each(
        "bce_loss",
        lambda way, x, y: jt.nn.bce_loss(x.sigmoid(), y.sigmoid(), reduction=way),
        lambda t, way, x, y: _f(t).binary_cross_entropy(x.sigmoid(), y.sigmoid(), reduction=way),
        PAIRS,
        "unit",
    ),
    *_each(
        "bce_loss with weights",
        lambda way, x: jt.nn.bce_loss(
            x.sigmoid(), *(jt.array(a, x.dtype) for a in (_shares(x.shape), _weights(4))), way
        ),
        lambda t, way, x: _f(t).binary_cross_entropy(
            x.sigmoid(), _like(t, _shares(x.shape), x), _like(t, _weights(4), x), reduction=way
        ),
        (((4,),), ((3, 4),), ((2, 3, 4),)),
        "unit",
        layouts=False,
    ),
    *_two("binary_cross_entropy_with_logits", *["binary_cross_entropy_with_logits"] * 2),
    *_each(
        "binary_cross_entropy_with_logits, weights",
        lambda way, x: jt.nn.binary_cross_entropy_with_logits(
            x, jt.array(_shares(x.shape), x.dtype), *(jt.array(_weights(4) + k, x.dtype) for k in (0, 1)), way
        ),
        lambda t, way, x: _f(t).binary_cross_entropy_with_logits(
            x, _like(t, _shares(x.shape), x), _like(t, _weights(4), x), None, None, way,
            _like(t, _weights(4) + 1, x),
        ),
        (((4,),), ((3, 4),), ((2, 3, 4),)),
        layouts=False,
    ),
    *(
        row
        for log_target in (False, True)
        for row in _each(
            f"kl_div(log_target={log_target})",
            lambda way, x, y, log=log_target: jt.nn.kl_div(x, y, way, log),
            lambda t, way, x, y, log=log_target: _kl_div(t, way, x, y, log),
            PAIRS[1:],
            "positive",
            ways=(*WAYS, "batchmean"),
        )
    ),
)  # fmt: skip

SCORES = (((4,),), ((3, 4),), ((3, 4, 2),), ((2, 3, 2, 2),), ((2, 5, 1, 2, 2),))


def _target(x):
    """A class for each place of scores (n, classes, ...) or (classes,)."""
    return _classes(x.shape[:1] + x.shape[2:] if len(x.shape) > 1 else (), x.shape[1 if len(x.shape) > 1 else 0])


def _width(x):
    return x.shape[1 if len(x.shape) > 1 else 0]


def _by_class(name, ours, torch, ignore=-100, weighted=False, **settings):
    def mine(way, x):
        weight = jt.array(_weights(_width(x)), x.dtype) if weighted else None
        return ours(x, jt.array(_target(x)), weight=weight, ignore_index=ignore, reduction=way, **settings)

    def theirs(t, way, x):
        weight = _like(t, _weights(_width(x)), x) if weighted else None
        return torch(t)(x, t.tensor(_target(x)), weight=weight, ignore_index=ignore, reduction=way, **settings)

    words = f"ignore_index={ignore}, weights={weighted}, {settings}"
    shapes = SCORES if ignore == -100 else SCORES[1:]  # a single one that is ignored leaves a mean of nothing
    return _each(f"{name}({words})", mine, theirs, shapes, layouts=False)


CLASSES = (
    *_by_class("nll_loss", jt.nn.nll_loss, lambda t: _f(t).nll_loss),
    *_by_class("nll_loss", jt.nn.nll_loss, lambda t: _f(t).nll_loss, ignore=0, weighted=True),
    *_by_class("cross_entropy_loss", jt.nn.cross_entropy_loss, lambda t: _f(t).cross_entropy),
    *_by_class("cross_entropy_loss", jt.nn.cross_entropy_loss, lambda t: _f(t).cross_entropy, weighted=True),
    *_by_class("cross_entropy_loss", jt.nn.cross_entropy_loss, lambda t: _f(t).cross_entropy, ignore=0),
    *_by_class("cross_entropy_loss", jt.nn.cross_entropy_loss, lambda t: _f(t).cross_entropy, label_smoothing=0.3),
    *_by_class(
        "cross_entropy_loss", jt.nn.cross_entropy_loss, lambda t: _f(t).cross_entropy, 0, True, label_smoothing=0.2
    ),
    *_each(
        "cross_entropy_loss of probabilities",
        lambda way, x, y: jt.nn.cross_entropy_loss(x, y, reduction=way),
        lambda t, way, x, y: _f(t).cross_entropy(x, y, reduction=way),
        tuple((s, s) for (s,) in SCORES),
        "positive",
        layouts=False,
    ),
    *_each(
        "cross_entropy_loss of probabilities, smoothed, with weights",
        lambda way, x, y: jt.nn.cross_entropy_loss(
            x, y, jt.array(_weights(_width(x)), x.dtype), reduction=way, label_smoothing=0.25
        ),
        lambda t, way, x, y: _f(t).cross_entropy(
            x, y, _like(t, _weights(_width(x)), x), reduction=way, label_smoothing=0.25
        ),
        tuple((s, s) for (s,) in SCORES),
        "positive",
        layouts=False,
    ),
)


def _signed(name, **settings):
    words = ", ".join(f"{k}={v}" for k, v in settings.items())
    return _each(
        f"{name}({words})",
        lambda way, x: getattr(jt.nn, name)(x, jt.array(_signs(x.shape)), reduction=way, **settings),
        lambda t, way, x: getattr(_f(t), name)(x, _like(t, _signs(x.shape), x), reduction=way, **settings),
        (((),), ((5,),), ((3, 4),), ((2, 1, 3, 2),)),
    )


def _labels(shape):
    """Several class numbers, then -1, then what nobody looks at."""
    found = _classes(shape, shape[-1])
    found[..., 2:] = -1
    found[..., -1] = 0
    return found


MARGIN = (
    *_signed("hinge_embedding_loss"),
    *_signed("hinge_embedding_loss", margin=2.5),
    *_signed("soft_margin_loss"),
    *(
        row
        for margin in (0, 1.5)
        for row in _each(
            f"margin_ranking_loss(margin={margin})",
            lambda way, x, y, m=margin: jt.nn.margin_ranking_loss(x, y, jt.array(_signs(x.shape)), m, way),
            lambda t, way, x, y, m=margin: _f(t).margin_ranking_loss(
                x, y, _like(t, _signs(x.shape), x), m, reduction=way
            ),
            (((5,), (5,)), ((3, 4), (3, 4)), ((3, 4), (1, 4))),
            layouts=False,
        )
    ),
    *(
        row
        for p, margin, weighted in ((1, 1.0, False), (2, 1.0, False), (1, 2.5, False), (1, 1.0, True), (2, 0.5, True))
        for row in _each(
            f"multi_margin_loss(p={p}, margin={margin}, weights={weighted})",
            lambda way, x, p=p, m=margin, w=weighted: jt.nn.multi_margin_loss(
                x, jt.array(_target(x)), p, m, jt.array(_weights(_width(x)), x.dtype) if w else None, way
            ),
            lambda t, way, x, p=p, m=margin, w=weighted: _f(t).multi_margin_loss(
                x, t.tensor(_target(x)), p, m, _like(t, _weights(_width(x)), x) if w else None, reduction=way
            ),
            SCORES[:2],
            layouts=False,
            orders=1,  # as far as PyTorch goes
        )
    ),
    *_each(
        "multilabel_margin_loss",
        lambda way, x: jt.nn.multilabel_margin_loss(x, jt.array(_labels(x.shape)), way),
        lambda t, way, x: _f(t).multilabel_margin_loss(x, t.tensor(_labels(x.shape)), reduction=way),
        (((4,),), ((3, 4),), ((2, 6),)),
        layouts=False,
        orders=1,
    ),
    *_each(
        "multilabel_soft_margin_loss",
        lambda way, x, y: jt.nn.multilabel_soft_margin_loss(x, y, reduction=way),
        lambda t, way, x, y: _f(t).multilabel_soft_margin_loss(x, y, reduction=way),
        PAIRS[1:],
    ),
    *_each(
        "multilabel_soft_margin_loss with weights",
        lambda way, x, y: jt.nn.multilabel_soft_margin_loss(x, y, jt.array(_weights(4), x.dtype), way),
        lambda t, way, x, y: _f(t).multilabel_soft_margin_loss(x, y, _like(t, _weights(4), x), reduction=way),
        (((4,), (4,)), ((3, 4), (3, 4))),
        layouts=False,
    ),
)

DISTANCE = (
    *(
        Row(
            f"cosine_similarity(dim={dim}, eps={eps})",
            lambda x, y, d=dim, e=eps: jt.nn.cosine_similarity(x, y, d, e),
            None,
            lambda t, x, y, d=dim, e=eps: _f(t).cosine_similarity(x, y, d, e),
            (((3, 4), (3, 4)), ((3, 4), (1, 4)), ((2, 3, 2), (2, 3, 2)), ((2, 3), (2, 3))),
            FLOATS,
            orders=0 if eps > 1 else 2,  # where eps takes over, PyTorch's gradient is not that of the function
        )
        for dim, eps in ((1, 1e-8), (0, 1e-8), (-1, 6.0))
    ),
    *(
        Row(
            f"pairwise_distance({settings})",
            lambda x, y, s=settings: jt.nn.pairwise_distance(x, y, **s),
            None,
            lambda t, x, y, s=settings: _f(t).pairwise_distance(x, y, **s),
            (((4,), (4,)), ((3, 4), (3, 4)), ((3, 4), (1, 4)), ((2, 3, 2), (2, 3, 2))),
            FLOATS,
        )
        for settings in ({}, {"p": 1}, {"p": 3}, {"p": float("inf")}, {"eps": 0.5}, {"keepdim": True})
    ),
    *(
        row
        for margin in (0.0, 0.5)
        for row in _each(
            f"cosine_embedding_loss(margin={margin})",
            lambda way, x, y, m=margin: jt.nn.cosine_embedding_loss(x, y, jt.array(_signs(x.shape[:-1])), m, way),
            lambda t, way, x, y, m=margin: _f(t).cosine_embedding_loss(
                x, y, t.tensor(_signs(x.shape[:-1])), m, reduction=way
            ),
            (((4,), (4,)), ((3, 4), (3, 4)), ((5, 2), (5, 2))),
            layouts=False,
        )
    ),
    *(
        row
        for settings in ({}, {"margin": 3.0}, {"p": 1}, {"p": 3}, {"eps": 0.5}, {"swap": True})
        for row in _each(
            f"triplet_margin_loss({settings})",
            lambda way, *xs, s=settings: jt.nn.triplet_margin_loss(*xs, reduction=way, **s),
            lambda t, way, *xs, s=settings: _f(t).triplet_margin_loss(*xs, reduction=way, **s),
            (((4,), (4,), (4,)), ((3, 4), (3, 4), (3, 4)), ((6, 2), (6, 2), (6, 2))),
        )
    ),
    *(
        row
        for swap in (False, True)
        for row in _each(
            f"triplet_margin_with_distance_loss(swap={swap})",
            lambda way, *xs, s=swap: jt.nn.triplet_margin_with_distance_loss(
                *xs, distance_function=lambda a, b: 1 - jt.nn.cosine_similarity(a, b), margin=0.5, swap=s, reduction=way
            ),
            lambda t, way, *xs, s=swap: _f(t).triplet_margin_with_distance_loss(
                *xs, distance_function=lambda a, b: 1 - _f(t).cosine_similarity(a, b), margin=0.5, swap=s,
                reduction=way,
            ),
            (((3, 4), (3, 4), (3, 4)), ((6, 2), (6, 2), (6, 2))),
        )
    ),
)  # fmt: skip


def _spelled(shape):
    """Targets that fit (t, n, classes): letters from 1, some twice in a row; and both lengths."""
    t, n, classes = shape
    letters = 1 + np.arange(n * 3).reshape(n, 3) // 2 % (classes - 1)
    return letters, np.maximum(t - np.arange(n), 1), np.arange(n) % 3


def _ctc(way, x, zero, blank=0):
    letters, moments, lengths = _spelled(x.shape)
    letters = (letters + blank) % x.shape[2]
    return jt.nn.ctc_loss(
        jt.log_softmax(x, 2), jt.array(letters), jt.array(moments), jt.array(lengths), blank, way, zero
    )


def _torch_ctc(t, way, x, zero, blank=0):
    letters, moments, lengths = _spelled(x.shape)
    letters = (letters + blank) % x.shape[2]
    arguments = (t.tensor(letters), t.tensor(moments), t.tensor(lengths))
    return _f(t).ctc_loss(x.log_softmax(2), *arguments, blank, reduction=way, zero_infinity=zero)


CTC = (
    *_each(
        "ctc_loss",
        lambda way, x: _ctc(way, x, zero=False),
        lambda t, way, x: _torch_ctc(t, way, x, zero=False),
        (((6, 2, 3),), ((8, 3, 4),)),
        layouts=False,
        loose=4,
        orders=1,  # as far as PyTorch goes; tests/layers/test_losses.py goes further
    ),
    *_each(
        "ctc_loss(blank=2, zero_infinity=True)",
        lambda way, x: _ctc(way, x, zero=True, blank=2),
        lambda t, way, x: _torch_ctc(t, way, x, zero=True, blank=2),
        (((3, 3, 3),), ((1, 2, 3),)),
        layouts=False,
        loose=4,
        orders=1,
    ),
)

ROWS = (*REGRESSION, *GAUSS, *ENTROPY, *CLASSES, *MARGIN, *DISTANCE, *CTC)
