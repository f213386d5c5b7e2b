"""Prune: which numbers of a weight can be left out? They become 0, and stay 0 while the others are trained.

    weight = weight_orig * weight_mask

    unstructured    single numbers: the smallest, or any
    structured      whole channels: those of the smallest norm, or any
    global          single numbers of several layers, which compete with each other

What is pruned once can be pruned again: a share is then one of what is left. The mask is a buffer, so it is saved.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from jt_edu.base.did_you_mean import door
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.base.own import own
from jt_edu.ir.builders import short
from jt_edu.nn.module import Module
from jt_edu.nn.parametrizations import Computed, hook_of, hooks_of, installed, weight_of
from jt_edu.ops.arguments import number, whole
from jt_edu.variable.random import random
from jt_edu.variable.var import Var

__all__ = ["L1Unstructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
           "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove"]  # fmt: skip
Array = np.ndarray[Any, Any]

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.nn.utils.prune", __all__)


class _Pruned(Computed):
    def compute(self, module: Module) -> Var:
        kept: Var = getattr(module, self.name + "_orig") * getattr(module, self.name + "_mask")
        return kept


class L1Unstructured:
    """Leaves out the smallest numbers: for `global_unstructured`.

    Args:
        amount: how many, or which share of what is left.

    Example:
        >>> L1Unstructured(2).mask(np.array([3.0, -1.0, 2.0]), np.ones(3))
        array([1., 0., 0.])
    """

    def __init__(self, amount: float) -> None:
        self.amount = _checked_amount(amount)

    def mask(self, scores: Array, old: Array) -> Array:
        """The mask after one more pruning, for what counts by |scores|."""
        new = old.copy()
        left = np.flatnonzero(old)
        smallest = np.argsort(np.abs(scores.ravel()[left]), kind="stable")
        new.ravel()[left[smallest[: _count(self.amount, len(left))]]] = 0
        return new


class RandomUnstructured(L1Unstructured):
    """Leaves out numbers at random: for `global_unstructured`.

    Example:
        >>> RandomUnstructured(0.5).mask(np.zeros(4), np.ones(4)).sum().item()
        2.0
    """

    def mask(self, scores: Array, old: Array) -> Array:
        """The same, for scores that are drawn."""
        return super().mask(_drawn(scores.shape), old)


def identity(module: Module, name: str) -> Module:
    """A mask of ones: nothing is pruned yet. Returns the module.

    Example:
        >>> list(identity(jt.nn.Linear(2, 1), "weight").state_dict())
        ['bias', 'weight_orig', 'weight_mask']
    """
    return _prune(module, name, np.ones(_scores(module, name).shape))


def custom_from_mask(module: Module, name: str, mask: Any) -> Module:
    """Prune with a mask of your own: 0 where a number becomes 0, else 1. Returns the module.

    Example:
        >>> layer = custom_from_mask(jt.nn.Linear(2, 1), "weight", jt.array([[1, 0]]))
        >>> bool(layer.weight[0, 1] == 0)
        True
    """
    scores, given = _scores(module, name), np.asarray(mask.numpy() if isinstance(mask, Var) else mask)
    if given.shape != scores.shape or not np.isin(given, (0, 1)).all():
        raise ShapeError(f"a mask of {name} is 0 or 1 at each place of {scores.shape}", f"shape {given.shape}")
    return _prune(module, name, _old(module, name) * given)


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Any = None) -> Module:
    """Prune the smallest numbers. Returns the module.

    Args:
        module: a layer with a parameter `name`; it gets `name_orig`, and the buffer `name_mask`.
        name: of the parameter.
        amount: how many (a whole number), or which share of what is left (from 0 to 1).
        importance_scores: what is compared instead of the numbers, of their shape.

    Example:
        >>> layer = jt.nn.Linear(4, 1, bias=False)
        >>> layer.weight.assign([[3.0, -1.0, 2.0, -4.0]])
        jt.Var([[ 3., -1.,  2., -4.]], dtype=float32)
        >>> l1_unstructured(layer, "weight", amount=0.5).weight.tolist()
        [[3.0, -0.0, 0.0, -4.0]]
    """
    return _prune(
        module, name, L1Unstructured(amount).mask(_scores(module, name, importance_scores), _old(module, name))
    )


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune numbers at random; arguments as in `l1_unstructured`. Returns the module.

    Example:
        >>> layer = random_unstructured(jt.nn.Linear(3, 2), "weight", amount=2)
        >>> layer.weight_mask.sum().item()
        4.0
    """
    return _prune(module, name, RandomUnstructured(amount).mask(_scores(module, name), _old(module, name)))


def ln_structured(module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Any = None) -> Module:
    """Prune the channels with the smallest norm. Returns the module.

    Args:
        module, name, importance_scores: as in `l1_unstructured`.
        amount: how many channels, or which share of those that are left.
        n: by which norm they are measured: a number, inf, -inf or "fro".
        dim: the axis of the channels.

    Example:
        >>> layer = jt.nn.Linear(2, 2, bias=False)
        >>> layer.weight.assign([[1.0, 1.0], [3.0, 3.0]])
        jt.Var([[1., 1.],
               [3., 3.]], dtype=float32)
        >>> ln_structured(layer, "weight", amount=1, n=2, dim=0).weight.tolist()
        [[0.0, 0.0], [3.0, 3.0]]
    """
    power = 2.0 if n == "fro" else number("ln_structured", "n", n)
    rows = _channels(module, name, dim, _scores(module, name, importance_scores))
    return _prune_channels(module, name, amount, dim, np.linalg.norm(rows, power, axis=1))


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune channels at random; arguments as in `ln_structured`. Returns the module.

    Example:
        >>> random_structured(jt.nn.Linear(3, 2), "weight", amount=1, dim=1).weight_mask.sum().item()
        4.0
    """
    return _prune_channels(module, name, amount, dim, _drawn((len(_channels(module, name, dim)),)))


def global_unstructured(
    parameters: Iterable[tuple[Module, str]], pruning_method: Any, importance_scores: Any = None, **settings: Any
) -> None:
    """Prune the numbers of several layers together: they compete with each other.

    Args:
        parameters: pairs of a module and the name of its parameter.
        pruning_method: `L1Unstructured` or `RandomUnstructured`.
        importance_scores: {(module, name): what is compared instead of the numbers}.
        settings: amount, as in `l1_unstructured`.

    Example:
        >>> layers = [jt.nn.Linear(2, 2), jt.nn.Linear(2, 1)]
        >>> global_unstructured([(layer, "weight") for layer in layers], L1Unstructured, amount=4)
        >>> sum(layer.weight_mask.sum().item() for layer in layers)
        2.0
    """
    pairs, given = list(parameters), importance_scores or {}
    if not (isinstance(pruning_method, type) and issubclass(pruning_method, L1Unstructured)):
        raise ArgumentError("global_unstructured takes a way to prune", short(pruning_method), "prune.L1Unstructured")
    scores = [_scores(module, name, given.get((module, name))) for module, name in pairs]
    olds = [_old(module, name) for module, name in pairs]
    flat = [np.concatenate([part.ravel() for part in parts]) for parts in (scores, olds)]
    new, start = pruning_method(**settings).mask(*flat), 0
    for (module, name), old in zip(pairs, olds, strict=True):
        _prune(module, name, new[start : start + old.size].reshape(old.shape))
        start += old.size


def remove(module: Module, name: str) -> Module:
    """The weight, with its zeros, becomes a parameter again. Returns the module.

    Example:
        >>> list(remove(identity(jt.nn.Linear(2, 1), "weight"), "weight").state_dict())
        ['bias', 'weight']
    """
    hook_of(module, name, _Pruned).take_away(module, name + "_orig", name + "_mask")
    return module


def is_pruned(module: Module) -> bool:
    """Whether a weight of this module, or of one inside, has a mask.

    Example:
        >>> layer = jt.nn.Linear(2, 1)
        >>> is_pruned(layer), is_pruned(identity(layer, "bias"))
        (False, True)
    """
    return any(hooks_of(inside, _Pruned) for inside in own(module).modules())


def _prune(module: Module, name: str, mask: Array) -> Module:
    """Put a mask on a weight, or another one in its place."""
    hook = hooks_of(module, _Pruned).get(name)
    if hook is not None:
        getattr(module, name + "_mask").update(mask.astype(_scores(module, name).dtype))
        setattr(module, name, hook.compute(module))
        return module
    hook, weight = _Pruned(name), weight_of(module, name)
    hook.install(module, {name + "_orig": weight})
    own(module).register_buffer(name + "_mask", Var(mask, weight.dtype))
    return installed(module, hook)


def _prune_channels(module: Module, name: str, amount: float, dim: int, scores: Array) -> Module:
    old = _channels(module, name, dim, _old(module, name))
    new = L1Unstructured(amount).mask(scores, (old != 0).any(1).astype(float))
    ways = np.moveaxis(np.empty(_scores(module, name).shape), dim, 0).shape
    return _prune(module, name, np.moveaxis((old * new[:, None]).reshape(ways), 0, dim))


def _channels(module: Module, name: str, dim: int, numbers: Array | None = None) -> Array:
    """(channels, others): the numbers of each channel in a row."""
    array = _scores(module, name) if numbers is None else numbers
    return np.moveaxis(array, whole("prune", "dim", dim, -array.ndim, array.ndim - 1), 0).reshape(array.shape[dim], -1)


def _scores(module: Module, name: str, given: Any = None) -> Array:
    """The numbers of a weight, or what is compared in their place."""
    hook = hooks_of(module, _Pruned).get(name)
    weight: Var = weight_of(module, name) if hook is None else hook.compute(module)
    numbers: Array = weight.numpy()
    if given is None:
        return numbers
    scores = np.asarray(given.numpy() if isinstance(given, Var) else given)
    if scores.shape != numbers.shape:
        raise ShapeError(f"importance_scores are one for each number of {name}", f"{scores.shape} for {numbers.shape}")
    return scores


def _old(module: Module, name: str) -> Array:
    """The mask as it is."""
    masked = name in hooks_of(module, _Pruned)
    return np.array(getattr(module, name + "_mask").numpy() if masked else np.ones(_scores(module, name).shape), float)


def _drawn(shape: tuple[int, ...]) -> Array:
    return random(shape, "float32", "uniform").numpy()


def _checked_amount(amount: Any) -> float:
    if isinstance(amount, (int, np.integer)) and not isinstance(amount, bool):
        return whole("prune", "amount", amount, 0)
    return float(number("prune", "amount", amount, 0, 1))


def _count(amount: float, left: int) -> int:
    """How many of what is left."""
    wanted = round(amount * left) if isinstance(amount, float) else amount
    if wanted > left:
        raise ArgumentError(f"pruning removes at most what is left, {left}", f"amount={amount}")
    return wanted
