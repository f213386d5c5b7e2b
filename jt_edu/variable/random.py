"""Random: numbers from a counter, not from a stream.

    bits = philox(key, counter)        key: the seed        counter: how many numbers were drawn before this one

Philox is a function: the k-th random number is known without the k - 1 before it. So random numbers are elementwise
nodes like all others. They fuse, threads need no order, a value that is computed twice is the same both times, and each
rank has a generator of its own.

Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
"""

from __future__ import annotations

import math
import operator
import random as import_random
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jt_edu.base.context import Context, current
from jt_edu.base.dtypes import DType, as_dtype, float32, float64, int64, uint64
from jt_edu.base.errors import ArgumentError, DtypeError
from jt_edu.base.scoped import unbroken
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.builders import cast, check_shape, constant, elementwise, short
from jt_edu.ir.meta_ops import COUNTERS
from jt_edu.ir.node import Node
from jt_edu.variable.torch_keywords import makes
from jt_edu.variable.var import Var

__all__ = ["Generator", "fork_rng", "get_rng_state", "get_seed", "initial_seed", "manual_seed", "rand", "randn",
           "random", "seed", "set_global_seed", "set_rng_state", "set_seed"]  # fmt: skip
STATE = ("key", "drawn", "drawn_apart")  # what a generator consists of


def whole_seed(seed: Any) -> int:
    """A seed as a whole number of Python: one of NumPy's, or a Var of one, will do.

    Example:
        >>> whole_seed(np.int32(3))
        3
    """
    try:
        plain = operator.index(seed)
    except (TypeError, DtypeError):
        plain = 1 << 64
    if not -(1 << 63) <= plain < 1 << 64:
        raise ArgumentError("a seed is a whole number of at most 64 bits", short(seed), "0")
    return plain


class Generator:
    """A seed, and how many numbers have been drawn.

    Example:
        >>> a = random((2,), generator=Generator(7)).numpy()
        >>> bool((a == random((2,), generator=Generator(7)).numpy()).all())
        True
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed(secrets.randbits(63) if seed is None else seed)

    def seed(self, seed: int) -> None:
        """Start again from `seed`."""
        self.key, self.drawn, self.drawn_apart = whole_seed(seed) % (1 << 64), 0, 0  # apart: see parallel_context.py

    def manual_seed(self, seed: int) -> Generator:
        """PyTorch's name for `seed`; the answer is the generator."""
        self.seed(seed)
        return self

    def initial_seed(self) -> int:
        """The seed that it started from."""
        return self.key

    def get_state(self) -> dict[str, int]:
        """What `set_state` needs to go on from here."""
        return {name: getattr(self, name) for name in STATE}

    def set_state(self, state: dict[str, int]) -> None:
        """Go on from where a generator was when it said `get_state()`."""
        check_state(state, STATE, "generator.get_state()")
        for name in STATE:
            if whole_seed(state[name]) < 0:
                raise ArgumentError("a generator counts what it has drawn", f"{name}={state[name]}", "get_state()")
        for name in STATE:
            setattr(self, name, whole_seed(state[name]))

    def draw(self, count: int) -> int:
        """Take the next `count` numbers; the answer is the number of the first. Threads may draw at once."""
        first, self.drawn = self.drawn, (self.drawn + count) & ((1 << 63) - 1)  # no call within: one step for threads
        return first

    def bits(self, count: int) -> Node:
        """A node of `count` random words of 64 bits."""
        number = cast(Node(COUNTERS[0], (), (count,), int64), uint64)
        key, start = constant(self.key, uint64), constant(self.draw(count), uint64)
        capture = current().capture
        if capture is not None:  # each replay of a compiled step draws anew
            capture.numbers += [(key, lambda: self.key), (start, lambda: self.draw(count))]
        return elementwise(f.BITS, [key, elementwise(f.ADD, [number, start], uint64)], uint64)


def default_generator() -> Generator:
    """The generator of this rank."""
    context: Context = current()
    if "generator" not in context.rank_state:
        context.rank_state["generator"] = Generator()
    found: Generator = context.rank_state["generator"]
    return found


def set_global_seed(seed: int) -> None:
    """Start the generator of this rank again, and those of Python and NumPy, which belong to the whole process.

    Example:
        >>> set_global_seed(3); a = rand(2).numpy(); set_global_seed(3); bool((a == rand(2).numpy()).all())
        True
    """
    number = whole_seed(seed)
    default_generator().seed(number)
    import_random.seed(number)
    np.random.seed(number % (1 << 32))  # noqa: NPY002 - Jittor's users expect it


seed = set_seed = manual_seed = set_global_seed  # Jittor's other names, and PyTorch's


def get_seed() -> int:
    """The seed that the numbers of this rank come from.

    Example:
        >>> set_global_seed(5); get_seed()
        5
    """
    return default_generator().key


initial_seed = get_seed  # PyTorch's name


def check_state(state: Any, names: tuple[str, ...], way: str) -> None:
    """Raise unless a state has all that it needs.

    Example:
        >>> check_state({"key": 1}, ("key",), "get_state()")
    """
    if not isinstance(state, dict) or not {*names} <= {*state}:
        raise ArgumentError("the state of a generator is what get_state() returned", short(state), way)


def _made(node: Node, shape: tuple[int, ...]) -> Var:
    var = Var._of(node).reshape(shape)
    var.node.tracked = var.dtype.is_float and not current().no_grad
    return var


def bits_of(generator: Generator | None) -> Callable[[int], Node]:
    """What draws random words: a generator's `bits`, without one those of this rank's."""
    if not isinstance(generator, Generator | None):
        raise ArgumentError("random numbers are drawn by a Generator", short(generator), "generator=jt.Generator(7)")
    return (generator or default_generator()).bits


def _float(dtype: Any) -> DType:
    wanted = as_dtype(dtype)
    if wanted.kind != "f":
        raise DtypeError("random numbers are drawn as real floats", f"dtype {wanted}", "randint, or .cast() afterwards")
    return wanted


@makes
def random(shape: Any = (), dtype: Any = "float32", type: str = "uniform", generator: Generator | None = None) -> Var:
    """Random numbers: type="uniform" in [0, 1), or "normal" with mean 0 and standard deviation 1.

    Example:
        >>> random((2, 3)).shape
        (2, 3)
    """
    wanted, size = _float(dtype), check_shape(shape)
    draw, count = bits_of(generator), math.prod(size)
    if not isinstance(type, str) or type not in ("uniform", "normal"):
        raise ArgumentError("random numbers are 'uniform' or 'normal'", short(type))
    if type == "uniform":
        node = elementwise(f.UNIFORM64, [draw(count)], float64) if wanted is float64 else None
        node = node or _fewer_digits(elementwise(f.UNIFORM32, [draw(count)], float32), wanted)
    else:
        node = elementwise(f.NORMAL64, [draw(count), draw(count)], float64) if wanted is float64 else None
        node = node or elementwise(f.NORMAL32, [draw(count)], float32)
    return _made(cast(node, wanted), size)


def _fewer_digits(node: Node, wanted: DType) -> Node:
    """Uniform numbers with as many digits as a half holds, so that none is rounded up to 1."""
    if not wanted.is_half:
        return node
    steps = 2.0**11 if wanted == "float16" else 2.0**8
    whole = elementwise(f.FLOOR, [elementwise(f.MULTIPLY, [node, constant(steps, float32)], float32)], float32)
    return elementwise(f.MULTIPLY, [whole, constant(1 / steps, float32)], float32)


def _shape(size: tuple[Any, ...]) -> Any:
    return size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size


@makes
def rand(*size: Any, dtype: Any = "float32", generator: Generator | None = None) -> Var:
    """Uniform numbers in [0, 1).

    Example:
        >>> rand(2, 3).shape
        (2, 3)
    """
    return random(_shape(size), dtype, "uniform", generator)


@makes
def randn(*size: Any, dtype: Any = "float32", generator: Generator | None = None) -> Var:
    """Normal numbers with mean 0 and standard deviation 1.

    Example:
        >>> randn(2, 3).shape
        (2, 3)
    """
    return random(_shape(size), dtype, "normal", generator)


# ----------------------------------------------------------------------------------------------------- the state


def get_rng_state() -> dict[str, Any]:
    """What `set_rng_state` needs so that the same random numbers come again: of this rank, of Python and of NumPy.

    It is made of plain values and an array, and can be pickled.

    Example:
        >>> before = get_rng_state(); a = rand(2).numpy(); set_rng_state(before); bool((a == rand(2).numpy()).all())
        True
    """
    theirs = {"python": import_random.getstate(), "numpy": np.random.get_state()}  # noqa: NPY002 - as above
    return {**default_generator().get_state(), **theirs}


def set_rng_state(state: dict[str, Any]) -> None:
    """Draw again the numbers that came after `get_rng_state()`, also in compiled steps. It takes nothing else.

    Raises:
        ArgumentError: it is no such state, or a damaged one; then all generators are where they were.

    Example:
        >>> set_rng_state({})
        Traceback (most recent call last):
        ArgumentError: the state of a generator is what get_state() returned; ...
    """
    check_state(state, (*STATE, "python", "numpy"), "jt.get_rng_state()")
    before = get_rng_state()
    try:
        _put_back(state)
    except (ArgumentError, TypeError, ValueError, OverflowError, LookupError) as error:
        _put_back(before)
        asked = "the state of a generator is what get_state() returned"
        raise ArgumentError(asked, "a damaged one", "jt.get_rng_state()") from error


def _put_back(state: dict[str, Any]) -> None:
    default_generator().set_state(state)
    import_random.setstate(state["python"])
    np.random.set_state(state["numpy"])  # noqa: NPY002 - as above


@unbroken
def fork_rng() -> Iterator[None]:
    """Random numbers drawn inside do not affect those outside: afterwards all generators are as they were before.

    Example:
        >>> set_global_seed(3); a = rand(2).numpy(); set_global_seed(3)
        >>> with fork_rng():
        ...     other = rand(100).numpy()
        >>> bool((a == rand(2).numpy()).all())
        True
    """
    before = get_rng_state()
    try:
        yield
    finally:
        _put_back(before)


vars(random).update(  # PyTorch's `random` is a module
    manual_seed=manual_seed, seed=seed, initial_seed=initial_seed, get_rng_state=get_rng_state,
    set_rng_state=set_rng_state, fork_rng=fork_rng,
)  # fmt: skip
