"""The interpreter of GPU threads: right kernels are right, and the bug in each is named with line and threads."""

import numpy as np
import pytest

from jt_edu import cuda
from tests.floors.cuda.kernels import CASES, made


def ran(case, text):
    """What was found, and the last argument afterwards."""
    arguments = [a.copy() for a in case.arguments]
    run = cuda.simulate(made(text, case.name), case.grid, case.block, *arguments, shared=case.shared, steps=5000)
    return run, arguments[-1]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_right_kernel_gives_the_right_numbers_and_nothing_is_found(case):
    run, out = ran(case, case.text)

    assert run.findings == [] and [f for f in run.slow if f.kind == "bank conflict"] == [], str(run)
    np.testing.assert_allclose(out, case.result, 1e-6)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_bug_is_named_with_its_kind_its_line_and_its_threads(case):
    assert case.text.count(case.old) == 1

    run, _ = ran(case, case.text.replace(case.old, case.new))

    found = [f for f in (*run.findings, *run.slow) if f.kind == case.kind and case.line in f.text + f.words]
    assert found, f"{run}\n{run.slow}"
    assert set(case.threads) <= set(found[0].threads), found[0]
    if case.kind == "bank conflict":
        assert run.findings == []
    else:
        assert {f.kind for f in run.findings} == {case.kind}, run
