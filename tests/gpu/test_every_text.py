"""Every text of steps of training, of tensor cores and of the parity table becomes machine code of four GPUs.

All of it takes minutes, so a commit has a share of it (tests/share.py), and `python -m tests.gpu --compile` does all.
"""

from contextlib import suppress

import pytest

import jt_edu as jt
from tests.gpu import checks, cubins, work
from tests.gpu.texts import collected

PARTS = 8  # of the texts of a work
ROWS = checks.in_turn()
CHUNK = 4  # rows of a test
WORKS = {
    **{name: lambda build=build: cubins.two_steps(build) for name, build in work.STEPS.items()},
    "tensor cores": lambda: [graph.sync() for graph in work.on_tensor_cores()],
}

pytestmark = pytest.mark.usefixtures("numba_cuda")


def wrong(sources):
    """What cannot be compiled, and what has more numbers than registers though it is a product."""
    found = [one for source in sources for one in cubins.examined(source)]
    assert found
    return [cubins.what_is_wrong(one) for one in found if cubins.what_is_wrong(one)]


@pytest.mark.parametrize("part", range(PARTS))  # so a share has one of each work
@pytest.mark.parametrize("name", WORKS)
def test_a_part_of_the_kernels_of_a_work_becomes_machine_code(name, part):
    with collected() as texts:
        WORKS[name]()

    assert wrong([texts[key] for key in sorted(texts)[part::PARTS]]) == []


@pytest.mark.parametrize("begin", range(0, len(ROWS), CHUNK))
def test_the_kernels_of_some_rows_and_of_their_gradients_become_machine_code(begin):
    rows = [row for _, row in work.rows()]
    with collected() as texts:
        for number in ROWS[begin : begin + CHUNK]:
            for look in (lambda row: work.numbers(row, *work.case_of(row)), work.gradients):
                with suppress(jt.JtError):  # zeros are not what it would find
                    look(rows[number])

    assert wrong(texts.values()) == []
