"""Every text of steps of training, of tensor cores and of the parity table becomes machine code of four GPUs.

All of it takes minutes, so a commit has a share of it (tests/share.py), for one of the four GPUs: after SHARES commits
it is the next one's turn, and within 32 each text was compiled for each. `pytest`, and `lab.py test --all`, compile all
of them for all, as `python -m tests.gpu --compile` does.
"""

from contextlib import suppress

import pytest

import jt_edu as jt
from tests.gpu import checks, cubins, work
from tests.gpu.texts import collected
from tests.share import SHARES

PARTS = 8  # of the texts of a work
ROWS = checks.in_turn()
CHUNK = 4  # rows of a test
WORKS = {
    **{name: lambda build=build: cubins.two_steps(build) for name, build in work.STEPS.items()},
    "tensor cores": lambda: [graph.sync() for graph in work.on_tensor_cores()],
}

pytestmark = pytest.mark.usefixtures("numba_cuda")


@pytest.fixture
def archs(request):
    """The compute capabilities whose turn it is."""
    share = request.config.option.share
    return cubins.ARCHS if share is None else [cubins.ARCHS[share // SHARES % len(cubins.ARCHS)]]


def wrong(sources, archs):
    """What cannot be compiled, and what has more numbers than registers though it is a product."""
    found = [one for source in sources for one in cubins.examined(source, archs)]
    assert found
    return [cubins.what_is_wrong(one) for one in found if cubins.what_is_wrong(one)]


@pytest.mark.parametrize("part", range(PARTS))  # so a share has one of each work
@pytest.mark.parametrize("name", WORKS)
def test_a_part_of_the_kernels_of_a_work_becomes_machine_code(name, part, archs):
    with collected() as texts:
        WORKS[name]()

    assert wrong([texts[key] for key in sorted(texts)[part::PARTS]], archs) == []


@pytest.mark.parametrize("begin", range(0, len(ROWS), CHUNK))
def test_the_kernels_of_some_rows_and_of_their_gradients_become_machine_code(begin, archs):
    rows = [row for _, row in work.rows()]
    with collected() as texts:
        for number in ROWS[begin : begin + CHUNK]:
            for look in (lambda row: work.numbers(row, *work.case_of(row)), work.gradients):
                with suppress(jt.JtError):  # zeros are not what it would find
                    look(rows[number])

    assert wrong(texts.values(), archs) == []
