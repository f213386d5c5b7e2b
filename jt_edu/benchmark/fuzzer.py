"""Fuzzer: which shapes should be measured, if not those that come to mind?

    FuzzedParameter("n", 4, 512, "loguniform")      a number that is drawn
    FuzzedTensor("x", size=("n", 64))               a Var whose shape is made of such numbers
    Fuzzer(parameters, tensors, seed=0).take(10)    ten draws, the same for the same seed

A draw that breaks a constraint (of the Fuzzer, or the number of elements that a Var may have) is thrown away, and all
of it is drawn again. Numbers are drawn by Philox, which everybody's machine repeats.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jt_edu.base.dtypes import DType, as_dtype, float32
from jt_edu.base.errors import ArgumentError
from jt_edu.ir.builders import short
from jt_edu.ops.arguments import whole
from jt_edu.variable.var import Var, array

TRIES = 1000  # draws for one that is kept

Number = int | float
Size = str | int


@dataclass(frozen=True)
class ParameterAlias:
    """In a distribution: be equal to another parameter.

    Example:
        >>> both = [FuzzedParameter("n", 1, 99, "uniform"), FuzzedParameter("k", distribution={ParameterAlias("n"): 1})]
        >>> [(p["n"] == p["k"]) for _, _, p in Fuzzer(both, [], seed=0).take(3)]
        [True, True, True]
    """

    alias_to: str


@dataclass(frozen=True)
class FuzzedParameter:
    """A number that is drawn anew each time.

    Args:
        name: what sizes and constraints call it.
        minval: the smallest; whole, if the numbers are to be whole.
        maxval: the largest, which may be drawn too.
        distribution: "uniform", "loguniform" (each doubling as likely as any other), or {value: probability}, where a
            value may be a ParameterAlias.
        strict: whether what was drawn stays when the others break a constraint and are drawn again. Then constraints
            on the others do not shift how often it has which value.

    Raises:
        ArgumentError: an unknown distribution; bounds that are missing, or the wrong way round.

    Example:
        >>> FuzzedParameter("n", 8, 8, "loguniform").draw(np.random.default_rng(0))
        8
    """

    name: str
    minval: Number | None = None
    maxval: Number | None = None
    distribution: str | Mapping[Any, float] = "uniform"
    strict: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.distribution, Mapping):
            if not self.distribution or min(self.distribution.values()) < 0 or sum(self.distribution.values()) <= 0:
                raise ArgumentError("a distribution gives each value its probability", repr(self.distribution))
            return
        if self.distribution not in ("uniform", "loguniform"):
            raise ArgumentError("a distribution is 'uniform', 'loguniform', or a dict", repr(self.distribution))
        low, high = self.minval, self.maxval
        if low is None or high is None or low > high or (self.distribution == "loguniform" and low <= 0):
            raise ArgumentError(
                f"{self.distribution} numbers lie between two bounds", f"minval={low}, maxval={high}", "1 and 128"
            )

    def draw(self, rng: np.random.Generator) -> Any:
        """One number (or what a distribution has instead)."""
        if isinstance(self.distribution, Mapping):
            values, weights = list(self.distribution), np.array(list(self.distribution.values()), float)
            return values[int(rng.choice(len(values), p=weights / weights.sum()))]
        low, high = self.minval or 0, self.maxval or 0
        if isinstance(low, int) and isinstance(high, int):
            drawn = math.exp(rng.uniform(math.log(low), math.log(high))) if self._log else rng.integers(low, high + 1)
            return min(max(round(drawn), low), high)
        return math.exp(rng.uniform(math.log(low), math.log(high))) if self._log else float(rng.uniform(low, high))

    @property
    def _log(self) -> bool:
        return self.distribution == "loguniform"


@dataclass(frozen=True)
class FuzzedTensor:
    """A Var whose shape is drawn.

    A stored Var always lies in row-major order, so there are no strides to draw: for a view write one into the
    statement, such as `x.permute(1, 0)`.

    Args:
        name: what the draw calls it.
        size: lengths of the axes: numbers, or names of parameters.
        min_elements: of the Var; a draw with less is thrown away.
        max_elements: a draw with more is thrown away.
        max_allocation_bytes: a draw that needs more memory is thrown away.
        dim_parameter: a parameter that says how many of the axes there are.
        roll_parameter: a parameter that says by how many places the axes are rolled.
        dtype: of the numbers: floats from a normal distribution, whole numbers from 0 to 126, or bools.
        tensor_constructor: called with `size`, `dtype` and all parameters by name, to make the Var in another way.

    Example:
        >>> n = FuzzedParameter("n", 8, 8)
        >>> made, facts, params = next(Fuzzer([n], [FuzzedTensor("x", ("n", 3))], seed=0).take(1))
        >>> made["x"].shape, facts["x"]["numel"], params
        ((8, 3), 24, {'n': 8})
    """

    name: str
    size: Sequence[Size]
    min_elements: int = 0
    max_elements: int | None = None
    max_allocation_bytes: int | None = None
    dim_parameter: str | None = None
    roll_parameter: str | None = None
    dtype: DType | str = float32
    tensor_constructor: Callable[..., Var] | None = None

    def shape(self, params: Mapping[str, Any]) -> tuple[int, ...]:
        """The lengths of its axes, given the parameters."""
        try:
            lengths = [params[s] if isinstance(s, str) else s for s in self.size]
            axes = params[self.dim_parameter] if self.dim_parameter else len(lengths)
            roll = params[self.roll_parameter] if self.roll_parameter else 0
        except KeyError as error:
            raise ArgumentError(
                f"the FuzzedTensor {self.name} is made of parameters", f"no {error}", f"one of {', '.join(params)}"
            ) from None
        kept = lengths[:axes]
        turn = -roll % max(1, len(kept))
        return (*kept[turn:], *kept[:turn])

    def fits(self, params: Mapping[str, Any]) -> bool:
        """Whether its number of elements, and of bytes, is allowed."""
        numel = math.prod(self.shape(params))
        most = math.inf if self.max_elements is None else self.max_elements
        room = math.inf if self.max_allocation_bytes is None else self.max_allocation_bytes
        return self.min_elements <= numel <= most and numel * as_dtype(self.dtype).size <= room

    def make(self, params: Mapping[str, Any], rng: np.random.Generator) -> tuple[Var, dict[str, Any]]:
        """The Var, and facts about it."""
        shape, dtype = self.shape(params), as_dtype(self.dtype)
        if self.tensor_constructor is not None:
            made = self.tensor_constructor(size=shape, dtype=dtype, **params)
        else:
            drawn = rng.integers(0, 2 if dtype == "bool" else 127, shape)
            made = array(rng.standard_normal(shape) if dtype.kind in "fc" else drawn, dtype)
        return made, {"numel": made.size, "shape": made.shape, "dtype": str(made.dtype), "nbytes": made.nbytes}


class Fuzzer:
    """Draws parameters and the Vars that are made of them.

    Args:
        parameters: FuzzedParameters, or lists of them.
        tensors: FuzzedTensors, or lists of them.
        constraints: functions of all parameters by name; a draw for which one of them is false is thrown away.
        seed: the same seed gives the same draws.

    Raises:
        ArgumentError: two parameters or tensors share a name; an alias of nothing; no draw fits.

    Example:
        >>> sizes = [FuzzedParameter("rows", 1, 9, "loguniform"), FuzzedParameter("columns", 1, 9, "loguniform")]
        >>> wide = lambda rows, columns: rows < columns
        >>> all(p["rows"] < p["columns"] for _, _, p in Fuzzer(sizes, [], [wide], seed=0).take(5))
        True
    """

    def __init__(
        self,
        parameters: Sequence[FuzzedParameter | Sequence[FuzzedParameter]],
        tensors: Sequence[FuzzedTensor | Sequence[FuzzedTensor]],
        constraints: Sequence[Callable[..., bool]] | None = None,
        seed: int | None = None,
    ) -> None:
        self._parameters: list[FuzzedParameter] = _flat("parameters", parameters)
        self._tensors: list[FuzzedTensor] = _flat("tensors", tensors)
        self._constraints = _flat("constraints", constraints or ())
        for what, named in (("parameters", self._parameters), ("tensors", self._tensors)):
            kind = FuzzedParameter if what == "parameters" else FuzzedTensor
            for one in named:
                if not isinstance(one, kind):
                    raise ArgumentError(f"the {what} of a Fuzzer are of {kind.__name__}, or lists of them", short(one))
            names = [one.name for one in named]
            if len(set(names)) < len(names):
                raise ArgumentError(f"the {what} of a Fuzzer have names of their own", ", ".join(names))
        for fine in self._constraints:
            _check_constraint(fine, [p.name for p in self._parameters])
        self._rng = np.random.Generator(np.random.Philox(None if seed is None else whole("Fuzzer", "seed", seed, 0)))
        self._kept = self._drawn = 0

    def take(self, n: int) -> Iterator[tuple[dict[str, Var], dict[str, dict[str, Any]], dict[str, Any]]]:
        """`n` draws: (Vars by name, facts about each of them by name, parameters by name)."""
        for _ in range(whole("take", "n", n, 0)):
            params = self._draw()
            made = {t.name: t.make(params, self._rng) for t in self._tensors}
            yield {k: v for k, (v, _) in made.items()}, {k: facts for k, (_, facts) in made.items()}, params

    @property
    def rejection_rate(self) -> float:
        """The share of draws that was thrown away so far."""
        return 1 - self._kept / self._drawn if self._drawn else 0.0

    def _draw(self) -> dict[str, Any]:
        fixed = {p.name: p.draw(self._rng) for p in self._parameters if p.strict}
        for _ in range(TRIES):
            drawn = {p.name: fixed[p.name] if p.strict else p.draw(self._rng) for p in self._parameters}
            params = {name: _resolved(value, drawn) for name, value in drawn.items()}
            self._drawn += 1
            if all(t.fits(params) for t in self._tensors) and all(fine(**params) for fine in self._constraints):
                self._kept += 1
                return params
        raise ArgumentError(
            "a Fuzzer draws until all constraints hold",
            f"{TRIES} draws that broke one, such as {params}",
            "wider bounds",
        )


def _check_constraint(fine: Callable[..., bool], names: Sequence[str]) -> None:
    """A constraint is called with every parameter by its name; ArgumentError if it cannot be."""
    told = ", ".join(names)
    if not callable(fine):
        raise ArgumentError("a constraint of a Fuzzer is a function", short(fine), f"lambda {told}: True")
    try:
        signature = inspect.signature(fine)
    except ValueError:  # written in C: it shows when it is called
        return
    try:
        signature.bind(**dict.fromkeys(names))
    except TypeError as error:
        raise ArgumentError(
            f"a constraint of a Fuzzer is called with all parameters by name: {told}",
            f"one that takes {signature}: {error}",
            "**others for those that do not matter",
        ) from None


def _flat(what: str, parts: Sequence[Any]) -> list[Any]:
    if not isinstance(parts, Iterable):
        raise ArgumentError(f"a Fuzzer takes {what} as a list", short(parts))
    return [one for part in parts for one in (part if isinstance(part, (list, tuple)) else [part])]


def _resolved(value: Any, drawn: Mapping[str, Any]) -> Any:
    """What an alias stands for, through as many others as there are."""
    seen: list[str] = []
    while isinstance(value, ParameterAlias):
        if value.alias_to not in drawn or value.alias_to in seen:
            raise ArgumentError("an alias names a parameter that has a value", value.alias_to, ", ".join(drawn))
        seen.append(value.alias_to)
        value = drawn[value.alias_to]
    return value
