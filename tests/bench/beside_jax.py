"""Beside_jax: steps and first steps of four small networks, beside JAX on the CPU (jax.jit).

JAX is no part of jt_edu's environment. Where it is not installed, the suite says so and measures nothing.
"""

from collections.abc import Sequence
from functools import partial

from tests.bench import net_ours, report
from tests.bench.cold import parts, programs, step
from tests.bench.networks import NETWORKS
from tests.bench.rows import Case, Goal, Result, Row

ROUNDS = 15
HEADS = tuple("JAX" if text == "PyTorch" else text for text in report.HEADS)
TITLE = "Steps of training of four small networks, and their first steps, beside JAX on the CPU."
READING = """
* **jt_edu, JAX**: CPU time, all threads together. **step**: of one call, the best of {rounds} samples of at least 2 ms
  each; `jt.compile` on one side and `jax.jit` on the other, with SGD inside. **first step**: of a process of its own,
  from the start of the interpreter to its end; both libraries compile everything, as on a new machine. **kernels on
  disk**: an earlier start has compiled ours; JAX keeps nothing unless it is told to.
"""
RATIO = "* **ratio**: JAX / jt_edu, best against best; above 1, jt_edu is faster. **quartiles**: round by round."
NOTES = """
* **mlp**: 64, 128, 10, batch 64. **cnn**: the digits CNN of the suite `train`. **lstm**: two layers of 128, length 50,
  batch 32. **transformer**: an encoder of two layers, width 128, 4 heads, 16 sequences of length 64. **error**: of the
  losses of the first steps.
"""
TINY = {"mlp": (5, 4, 3, 6), "cnn": (8, 3), "lstm": (2, 3, 4, 2), "transformer": (2, 4, 2, 3, 2)}


def warm(name: str, *sizes: int) -> Case:
    """A step of training, compiled on both sides."""
    from tests.bench import net_jax  # noqa: PLC0415  for tests of the other rows, which need no JAX

    return Case(net_ours.trainer(name, *sizes, compiled=True), net_jax.trainer(name, *sizes), steps=3)


def tables(results: Sequence[Result]) -> str:
    """A line for each row, under the name of this peer."""
    return report.markdown(results, HEADS)


def _rows(name: str) -> list[Row]:
    sides, first = programs(name, "jax"), f"{name} first step"
    goals = (Goal("ratio", 0.67),) if name in ("lstm", "transformer") else ()
    return [
        Row(f"{name} step", (), partial(warm, name), NETWORKS[name].sizes, TINY[name], tolerance=1e-4),
        Row(f"{first}, empty cache", goals, work=partial(step, sides, True), tolerance=1e-4, why=parts),
        Row(f"{first}, kernels on disk", (), work=partial(step, sides, False), tolerance=1e-4),
    ]


ROWS = tuple(row for name in NETWORKS for row in _rows(name))
