"""Reparametrisation: a weight that is computed from other parameters before each call.

    weight norm      weight = g * v / |v|        length and direction are learned apart
    spectral norm    weight = w / sigma(w)       the largest factor by which the layer stretches anything is 1

The module keeps the parameters; a hook before each call sets the attribute `weight`, which no walk sees.
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.context import no_grad
from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import own
from jt_edu.ir.scalar_ops import ABSOLUTE
from jt_edu.nn.layer_norm import normalize
from jt_edu.nn.module import Module, Parameter
from jt_edu.ops.arguments import number, same_words, whole
from jt_edu.ops.create import zeros
from jt_edu.ops.reduce import norm
from jt_edu.variable.random import random
from jt_edu.variable.var import Var


class Computed:
    """A hook before calls that computes the attribute `name`; a subclass says how, in `compute`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, module: Module, args: Any) -> None:
        """Before a call: the attribute as it is now."""
        setattr(module, self.name, self.compute(module))

    def compute(self, module: Module) -> Var:
        """The weight, from parameters of the module."""
        raise ArgumentError(f"{type(self).__name__} must say how {self.name} is computed", "no compute method")

    def install(self, module: Module, parts: dict[str, Var]) -> None:
        """Put the parameters `parts` in the place of the one that is computed from now on."""
        delattr(module, self.name)
        module._names_computed = module._names_computed | {self.name}
        for name, var in parts.items():
            own(module).register_parameter(name, var)

    def take_away(self, module: Module, first: str, *others: str) -> None:
        """The weight as it is becomes a parameter again: the Var that was `first`, which an optimizer may hold."""
        weight: Var = getattr(module, first).update(self.compute(module).detach())
        for name in [first, *others, self.name]:
            delattr(module, name)
        module._names_computed = module._names_computed - {self.name}
        module._hooks_before = tuple(entry for entry in module._hooks_before if entry.hook is not self)
        own(module).register_parameter(self.name, weight)


class _WeightNorm(Computed):
    def __init__(self, name: str, dim: int | None) -> None:
        super().__init__(name)
        self.dim = dim

    def compute(self, module: Module) -> Var:
        v: Var = getattr(module, self.name + "_v")
        g: Var = getattr(module, self.name + "_g")
        return v * (g / self.length(v))

    def length(self, v: Var) -> Var:
        """|v|, for each slice along `dim` by itself."""
        if self.dim is None:
            return norm(v, 2.0)
        axes = tuple(k for k in range(v.ndim) if k != self.dim)
        return norm(v, 2.0, axes, True) if axes else v.apply(ABSOLUTE)


class _SpectralNorm(Computed):
    def __init__(self, name: str, steps: int, eps: float, dim: int) -> None:
        super().__init__(name)
        self.steps, self.eps, self.dim = steps, eps, dim

    def compute(self, module: Module) -> Var:
        weight: Var = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.matrix(weight)
        sigma: Var = (u.detach() * (matrix @ v.detach().unsqueeze(1)).squeeze(1)).sum()
        return weight / sigma

    def __call__(self, module: Module, args: Any) -> None:
        if module.is_train:
            self.improve(module, self.steps)
        super().__call__(module, args)

    def matrix(self, weight: Var) -> Var:
        """The weight as a matrix whose rows are the slices along `dim`."""
        axes = (self.dim, *(k for k in range(weight.ndim) if k != self.dim))
        return weight.permute(*axes).reshape(weight.shape[self.dim], -1)

    def improve(self, module: Module, steps: int) -> None:
        """Power iteration: u and v turn towards the directions that the matrix stretches most."""
        with no_grad():
            matrix = self.matrix(getattr(module, self.name + "_orig"))
            u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
            for _ in range(steps):
                v.update(normalize((matrix.transpose(0, 1) @ u.unsqueeze(1)).squeeze(1), dim=0, eps=self.eps))
                u.update(normalize((matrix @ v.unsqueeze(1)).squeeze(1), dim=0, eps=self.eps))


@same_words
def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """weight = g * v / |v|: length and direction of each slice of a weight are learned apart. Returns the module.

    Args:
        module: a layer with a parameter `name`; it gets `name_g` and `name_v` instead.
        name: of the parameter.
        dim: the axis whose slices have a length each; None (PyTorch's -1, too) for one length of all.

    Source: Salimans and Kingma 2016 (arXiv:1602.07868).

    Example:
        >>> layer = weight_norm(jt.nn.Linear(3, 2))
        >>> [(name, p.shape) for name, p in layer.named_parameters()]
        [('bias', (2,)), ('weight_g', (2, 1)), ('weight_v', (2, 3))]
    """
    weight = weight_of(module, name)
    dim = None if dim == -1 else dim
    hook = _WeightNorm(name, None if dim is None else whole("weight_norm", "dim", dim, 0, weight.ndim - 1))
    hook.install(module, {name + "_g": Parameter(hook.length(weight), weight.requires_grad), name + "_v": weight})
    return installed(module, hook)


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """The weight becomes a parameter again. Returns the module.

    Example:
        >>> [name for name, p in remove_weight_norm(weight_norm(jt.nn.Linear(3, 2))).named_parameters()]
        ['bias', 'weight']
    """
    hook_of(module, name, _WeightNorm).take_away(module, name + "_v", name + "_g")
    return module


@same_words
def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int = 0
) -> Module:
    """weight = w / sigma, sigma the largest singular value of w as a matrix. Returns the module.

    sigma = u @ w @ v, where u and v are improved by power iteration at each call while training.

    Args:
        module: a layer with a parameter `name`; it gets `name_orig`, and the buffers `name_u` and `name_v`.
        name: of the parameter.
        n_power_iterations: how many steps of the power iteration at each call.
        eps: no vector is divided by less.
        dim: the axis of the outputs, 0 except for transposed convolutions (1).

    Source: Miyato et al. 2018 (arXiv:1802.05957).

    Example:
        >>> layer = spectral_norm(jt.nn.Linear(3, 2))
        >>> list(layer.state_dict())
        ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    weight = weight_of(module, name)
    dim = whole("spectral_norm", "dim", dim, -weight.ndim, weight.ndim - 1)
    steps = whole("spectral_norm", "n_power_iterations", n_power_iterations, 1)
    hook = _SpectralNorm(name, steps, number("spectral_norm", "eps", eps, 0), dim % weight.ndim)
    rows, columns = hook.matrix(weight).shape
    hook.install(module, {name + "_orig": weight})
    for part, length in (("_u", rows), ("_v", columns)):
        drawn = random((length,), "float32", "normal").detach().cast(weight.dtype)
        own(module).register_buffer(name + part, zeros((length,), dtype=weight.dtype))
        getattr(module, name + part).update(normalize(drawn, dim=0, eps=hook.eps))
    hook.improve(module, 15)
    return installed(module, hook)


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """The weight, divided by sigma, becomes a parameter again. Returns the module.

    Example:
        >>> [name for name, p in remove_spectral_norm(spectral_norm(jt.nn.Linear(3, 2))).named_parameters()]
        ['bias', 'weight']
    """
    hook_of(module, name, _SpectralNorm).take_away(module, name + "_orig", name + "_u", name + "_v")
    return module


def installed(module: Module, hook: Computed) -> Module:
    """The module, whose weight is computed by a hook from now on."""
    setattr(module, hook.name, hook.compute(module))
    own(module).register_pre_forward_hook(hook)
    return module


def weight_of(module: Any, name: str) -> Var:
    """A parameter of a module that nothing computes yet."""
    weight = vars(module).get(name) if isinstance(module, Module) else None
    if not isinstance(weight, Var) or name in module._names_computed:
        raise ArgumentError(f"a parameter {name!r} of a module is asked for", f"{type(module).__name__}, {weight!r}")
    return weight


def hook_of(module: Any, name: str, kind: type[Computed]) -> Any:
    """The hook of this kind that computes `name`."""
    found = hooks_of(module, kind).get(name)
    if found is None:
        raise ArgumentError(f"what computes {name!r} is taken away", f"a {type(module).__name__} without it")
    return found


def hooks_of(module: Any, kind: type[Computed]) -> dict[str, Any]:
    """The hooks of this kind, by the name that each computes."""
    hooks = [entry.hook for entry in module._hooks_before] if isinstance(module, Module) else []
    return {hook.name: hook for hook in hooks if isinstance(hook, kind)}
