"""Validation: how well does a model do on batches that it is not trained on?

    measured(net, loss, batches, accuracy)      {"loss": 0.31, "accuracy": 0.92}, the means over all examples

The model is in eval mode meanwhile, and in its own mode afterwards. Nothing is trained, and no gradient is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from jt_edu.base.context import no_grad
from jt_edu.base.errors import ArgumentError
from jt_edu.nn.module import Module, in_mode


def measured(
    model: Module, loss: Callable[..., Any], batches: Iterable[Any], accuracy: Callable[..., Any] | None = None
) -> dict[str, float | None]:
    """Mean loss and accuracy over all examples of the batches; a batch counts as often as it has examples.

    Args:
        model: a module.
        loss: called for each batch as `loss(model, *batch)`; returns one number.
        batches: a DataLoader or a list.
        accuracy: called the same way; returns one number, such as the share of right answers.

    Example:
        >>> net = jt.nn.Linear(2, 1)
        >>> batches = [(jt.ones(3, 2), 1.0), (jt.ones(1, 2), 5.0)]
        >>> measured(net, lambda net, x, y: net(x).mean() * 0 + y, batches)
        {'loss': 2.0, 'accuracy': None}
    """
    sums, examples = [0.0, 0.0], 0
    with in_mode(model, train=False), no_grad():
        for batch in batches:
            parts = tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)
            many = _examples(parts[0])
            examples += many
            for k, function in enumerate((loss, accuracy)):
                sums[k] += many * _number(function(model, *parts)) if function else 0.0
    if not examples:
        raise ArgumentError("validation yields batches", "none", "a list or a DataLoader, which begin anew each time")
    return {"loss": sums[0] / examples, "accuracy": sums[1] / examples if accuracy else None}


def _examples(first: Any) -> int:
    shape = getattr(first, "shape", ())
    return int(shape[0]) if shape else 1


def _number(value: Any) -> float:
    return float(value.item() if hasattr(value, "item") else value)
