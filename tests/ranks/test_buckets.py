"""Which gradients travel in one message, where optimisers average them."""

import pytest

import jt_edu as jt
from jt_edu.mpi import rank_team, run_ranks
from jt_edu.mpi.rank_team import join
from jt_edu.variable.parallel_context import team

VALUES = [("float32", 4), ("float64", 2), ("float32", 3), ("float32", 1)]  # 16, 16, 12 and 4 bytes


def messages(monkeypatch, most):
    """(bytes of each message of rank 0, what it got) for the sum of VALUES in buckets of so many bytes."""
    monkeypatch.setattr(rank_team, "BUCKET", most)

    def program(comm):
        join(comm)
        values = [jt.full((count,), comm.rank + 1.0, dtype=dtype) for dtype, count in VALUES]
        return [v.tolist() for v in team().added([*values[:2], None, *values[2:]]) if v is not None]

    run = run_ranks(2, program)
    assert run.error is None
    return [c.bytes for c in run.record.calls if c.rank == 0 and c.name == "Allreduce"], run.results[0]


@pytest.mark.parametrize(("most", "wanted"), [
    (1, [16, 16, 12, 4]),  # each is larger than a bucket
    (16, [16, 16, 16]),  # the last two fill one
    (28, [28, 16, 4]),
    (25 << 20, [32, 16]),  # one for each dtype
])  # fmt: skip
def test_gradients_of_one_dtype_share_a_message_until_it_is_full(monkeypatch, most, wanted):
    sizes, found = messages(monkeypatch, most)

    assert sorted(sizes) == sorted(wanted)
    assert found == [[3.0] * count for _, count in VALUES]


def test_a_message_carries_some_25_million_bytes():
    assert rank_team.BUCKET == 25 * 1024 * 1024
