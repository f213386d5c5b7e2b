"""CTC forward backward: what do all ways through a row of places weigh together, moment by moment?

    place 4                        .  .  4
    place 3                     .  3  3  3         a way stays at its place, moves on by one,
    place 2                  .  2  2  2  2         or hops over one, where `hops` lets it
    place 1               1  1  1  1  1  1
    place 0               0  0  0  0  0  0
                  moment  0  1  2  3  4  5

`standing` returns come[t, n, s], the logarithm of the weight of all ways that come to place s at moment t; what they
meet there, said[t, n, s], is not in it yet. With alpha = come + said,

    come[t, s] = log(e**alpha[t-1, s] + e**alpha[t-1, s-1] + e**(alpha[t-1, s-2] + hops[s]))

Its gradient is a sum over the same ways in which each step has its share, such as e**(alpha[t-1, s] - come[t, s]). Such
sums are linear, run forwards or backwards, and are each other's gradients, so derivatives of any order exist.

Sequences are of different lengths: where one has no moment or no place, nothing moves. Nothing here knows letters.
"""

from __future__ import annotations

from collections.abc import Callable

from jt_edu.ir import scalar_ops as f
from jt_edu.ir.meta_ops import Rule
from jt_edu.ops import gpu_rows
from jt_edu.ops.custom_kernel import kernel
from jt_edu.variable.var import Var

NEVER = -1e30  # a logarithm of no weight at all with which one can still calculate
COME = f"""
from jt_edu.backends.mathlib import at, block, exp, log, maximum


def kernel(lo, hi, said, hops, moments, counts, come):
    row = block(come)  # a loop that writes where it read before is not computed in vectors
    # come holds NEVER, below which nothing falls: with -inf nothing could be calculated
    for j in range(lo, hi):
        places = 2 * counts[j] + 1
        for now in range(come.shape[0]):
            for k in range(come.shape[2]):
                come[now, j, k] = 0 if now == 0 and k < min(places, 2) else {NEVER}
        for now in range(1, moments[j]):
            come[now, j, 0] = come[now - 1, j, 0] + said[now - 1, j, 0]
            for k in range(1, min(places, 2)):
                one = come[now - 1, j, at(k)] + said[now - 1, j, at(k)]
                two = come[now, j, 0]
                top = maximum(maximum(one, two), come[now, j, at(k)])
                come[now, j, at(k)] = maximum(top + log(exp(one - top) + exp(two - top)), come[now, j, at(k)])
            for begin in range(2, places, len(row)):
                size = min(places - begin, len(row))
                for i in range(size):
                    k = begin + i
                    one = come[now - 1, j, at(k)] + said[now - 1, j, at(k)]
                    two = come[now - 1, j, at(k - 1)] + said[now - 1, j, at(k - 1)]
                    three = come[now - 1, j, at(k - 2)] + said[now - 1, j, at(k - 2)] + hops[j, at(k)]
                    top = maximum(maximum(maximum(one, two), three), come[now, j, at(k)])
                    row[at(i)] = top + log(exp(one - top) + exp(two - top) + exp(three - top))
                for i in range(size):
                    come[now, j, at(begin + i)] = maximum(row[at(i)], come[now, j, at(begin + i)])
"""
# What both sums over ways begin with: everything that enters, before anything is handed on
SUMS = """
from jt_edu.backends.mathlib import at


def kernel(lo, hi, d, stays, moves, hops, moments, counts, out):
    for j in range(lo, hi):
        places = 2 * counts[j] + 1
        for now in range(out.shape[0]):
            for k in range(out.shape[2]):
                out[now, j, k] = d[now, j, k]
"""
FORWARDS = f"""{SUMS}\
        for now in range(1, moments[j]):
            for k in range(places):
                out[now, j, at(k)] += stays[now, j, at(k)] * out[now - 1, j, at(k)]
            for k in range(places - 1):
                out[now, j, at(k + 1)] += moves[now, j, at(k + 1)] * out[now - 1, j, at(k)]
            for k in range(places - 2):
                out[now, j, at(k + 2)] += hops[now, j, at(k + 2)] * out[now - 1, j, at(k)]
"""  # each number is handed on, times its share
BACKWARDS = f"""{SUMS}\
        for moment in range(1, moments[j]):
            now = moments[j] - moment
            for k in range(places):
                out[now - 1, j, at(k)] += stays[now, j, at(k)] * out[now, j, at(k)]
            for k in range(places - 1):
                out[now - 1, j, at(k)] += moves[now, j, at(k + 1)] * out[now, j, at(k + 1)]
            for k in range(places - 2):
                out[now - 1, j, at(k)] += hops[now, j, at(k + 2)] * out[now, j, at(k + 2)]
"""  # the same steps, the last first, each handed back


def standing(said: Var, hops: Var, moments: Var, counts: Var) -> Var:
    """The logarithms of what all ways to each place weigh at each moment: alpha = come + said.

    Args:
        said: (t, n, places), the logarithm of what a way meets there.
        hops: (n, places), 0 where a way may come from two places before, `NEVER` where not.
        moments: (n,), of how many moments each sequence is.
        counts: (n,), 2 * counts + 1 places count.

    Returns:
        (t, n, places), about `NEVER` where no way leads.

    Example:
        >>> one = array([1])
        >>> standing(zeros(2, 1, 3), zeros(1, 3), one * 2, one).exp().numpy().round(3)[:, 0]  # 1, or 2 ways
        array([[1., 1., 0.],
               [1., 2., 2.]], dtype=float32)
    """
    return _run(_come, said, hops, moments, counts) + said


def _before(x: Var, places: int, fill: float) -> Var:
    """What stood so many places before, one moment ago."""
    return x.reindex(x.shape, lambda i, j, k: (i - 1, j, k - places), fill=fill)


def _shares(come: Var, said: Var, hops: Var) -> list[Var]:
    """Of all ways that come to a place, the part that stayed there, moved and hopped."""
    alpha = come + said
    ways = [_before(alpha, 0, NEVER), _before(alpha, 1, NEVER), _before(alpha, 2, NEVER) + hops]
    return [(way - come).where_not(come < NEVER / 2, NEVER).apply(f.EXP) for way in ways]


def _through_said(come: Var, dout: Var, said: Var, hops: Var, moments: Var, counts: Var) -> Var:
    """The gradient of `come` by what was said before."""
    return _run(_backwards, dout, *_shares(come, said, hops), moments, counts) - dout


def _run(code: Callable[..., Var], d: Var, *rest: Var) -> Var:
    """A kernel that returns what is like its first input, one sequence for each piece of its work."""
    return code(d, *rest, shape=d.shape, dtype=d.dtype, span=d.shape[1])


def _of_sums(forwards: bool) -> tuple[Rule, ...]:
    """The gradients of a sum over ways: by what is summed, and by the shares of those who stay, move and hop.

    The other sum, of what comes later for one forwards, meets what came sooner at each step.
    """

    def other(dout: Var, *rest: Var) -> Var:
        return _run(_backwards if forwards else _forwards, dout, *rest)

    def by_share(places: int) -> Rule:
        def rule(out: Var, dout: Var, _: Var, *rest: Var) -> Var:
            sooner, later = (out, other(dout, *rest)) if forwards else (other(dout, *rest), out)
            return later * _before(sooner, places, 0)

        return rule

    return lambda out, dout, d, *rest: other(dout, *rest), *map(by_share, range(3))


ALONE = gpu_rows.each(COME.replace("block(come)", "cuda.local.array(1, come.dtype)"))  # a thread has no vectors
_come = kernel("ways", COME, (_through_said,), weight=60, threads=ALONE)
_forwards = kernel("ways_forwards", FORWARDS, _of_sums(True), threads=gpu_rows.each(FORWARDS))
_backwards = kernel("ways_backwards", BACKWARDS, _of_sums(False), threads=gpu_rows.each(BACKWARDS))
