"""Subtotals: the sums of channels that the calls of `finish` have begun are added up.

    total[o] = sum over the calls of subtotals[o, call]

They are added up in their order, so it does not matter which thread made which. Where no call was, there is a 0.
"""


def kernel(lo, hi, subtotals, total):
    for o in range(lo, hi):
        s = 0.0
        for call in range(subtotals.shape[1]):
            s += subtotals[o, call]
        total[o] = s
