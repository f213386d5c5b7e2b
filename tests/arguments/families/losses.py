"""Losses: each as a layer and as a function, with the same settings, beside PyTorch's two."""

import numpy as np

from jt_edu import nn
from tests.arguments.inputs import X, Y, Z, above
from tests.arguments.rows import Given, Row, as_module, as_torch

P, Q, W = above(3, 4), above(3, 4, seed=1), above(4, seed=2)
SIGNS = np.where(X > 0, 1.0, -1.0)
CLASSES = np.array([3, 0, 1])
LABELS = np.array([[0, 2, -1, 1], [-1, 0, 0, 0], [3, 2, 1, 0]])
LOGS = np.log(above(6, 2, 4))  # (t, n, classes)
TARGETS, LENGTHS = np.array([[1, 2, 3], [2, 3, 1]]), (np.array([6, 5]), np.array([3, 2]))


def squares(x, y):
    """A distance of rows, for both libraries."""
    return ((x - y) ** 2).sum(-1)


def both(layer, function, *inputs, twin=None, ways=("sum", "none"), **tries) -> list[Row]:
    """Rows of both; `reduction` is tried for all of them, in two ways."""
    rows = as_module(layer, *inputs, **tries) + as_torch(function, *inputs, twin=twin, **tries)
    for way in ways:
        rows += as_module(layer, *inputs, reduction=way) + as_torch(function, *inputs, twin=twin, reduction=way)
    return rows


ROWS = [
    *both(nn.L1Loss, nn.l1_loss, X, Y),
    *both(nn.MSELoss, nn.mse_loss, X, Y),
    *both(nn.BCELoss, nn.bce_loss, P, Q, twin="binary_cross_entropy", weight=W),
    *both(nn.BCEWithLogitsLoss, nn.binary_cross_entropy_with_logits, X, P, weight=W, pos_weight=W),
    *both(nn.CrossEntropyLoss, nn.cross_entropy_loss, X, CLASSES, twin="cross_entropy", weight=W, ignore_index=3,
          label_smoothing=0.3),
    *both(nn.NLLLoss, nn.nll_loss, X, CLASSES, weight=W, ignore_index=3),
    *both(nn.KLDivLoss, nn.kl_div, X, P, log_target=Given(True, reduction="sum")),
    *both(nn.SmoothL1Loss, nn.smooth_l1_loss, X, Y, beta=0.3),
    *both(nn.HuberLoss, nn.huber_loss, X, Y, delta=0.3),
    *both(nn.PoissonNLLLoss, nn.poisson_nll_loss, P, 4 * Q, log_input=False, full=True, eps=Given(0.1,
          log_input=False)),
    *both(nn.GaussianNLLLoss, nn.gaussian_nll_loss, X, Y, P, full=True, eps=0.4),
    *both(nn.HingeEmbeddingLoss, nn.hinge_embedding_loss, X, SIGNS, margin=0.7),
    *both(nn.SoftMarginLoss, nn.soft_margin_loss, X, SIGNS),
    *both(nn.MarginRankingLoss, nn.margin_ranking_loss, X, Y, SIGNS, margin=0.2),
    *both(nn.MultiMarginLoss, nn.multi_margin_loss, X, CLASSES, p=2, margin=0.5, weight=W),
    *both(nn.MultiLabelMarginLoss, nn.multilabel_margin_loss, X, LABELS),
    *both(nn.MultiLabelSoftMarginLoss, nn.multilabel_soft_margin_loss, X, P, weight=W),
    *both(nn.CosineEmbeddingLoss, nn.cosine_embedding_loss, X, Y, np.array([1, -1, -1]), margin=-0.9),
    *both(nn.TripletMarginLoss, nn.triplet_margin_loss, X, Y, Z, margin=2.0, p=3.0, eps=0.3, swap=True),
    *both(nn.TripletMarginWithDistanceLoss, nn.triplet_margin_with_distance_loss, X, Y, Z, margin=2.0, swap=True,
          distance_function=squares),
    *both(nn.CTCLoss, nn.ctc_loss, LOGS, TARGETS, *LENGTHS),
    *both(nn.CTCLoss, nn.ctc_loss, LOGS, TARGETS % 3, *LENGTHS, ways=(), blank=3),
    *both(nn.CTCLoss, nn.ctc_loss, LOGS[:2], TARGETS, np.array([2, 2]), LENGTHS[1], ways=(), zero_infinity=True),
    # measures
    *as_module(nn.CosineSimilarity, X, Y, dim=0, eps=5.0),
    *as_module(nn.PairwiseDistance, X, Y, p=3.0, eps=0.5, keepdim=True),
]  # fmt: skip
