"""Computing takes virtual time, if it is asked for: by the kernels, or as long as it took."""

import pytest

import jt_edu as jt
from jt_edu.mpi import Faults, Network, run_ranks

SLOW_MACHINE = Network(memory_byte=1.0, flop=2.0)


def program(comm):
    x = jt.array([1.0] * 1000)
    (x * 2 + 1).sync()  # 4,000 bytes are read and as many written, 2,000 operations done
    comm.barrier()


def record(**options):
    return run_ranks(2, program, network=SLOW_MACHINE, **options).record


def test_kernels_take_the_time_that_their_bytes_or_operations_need():
    found = record(computing="modelled").work

    assert [(w.rank, w.begin, w.end) for w in found] == [(0, 0, 8000), (1, 0, 8000)]


def test_modelled_times_are_the_same_each_time():
    first, second = record(computing="modelled"), record(computing="modelled")

    assert [(c.enter, c.leave) for c in first.calls] == [(c.enter, c.leave) for c in second.calls]


def test_a_slow_rank_computes_longer_and_the_others_wait_for_it():
    plain, slow = record(computing="modelled"), record(computing="modelled", faults=Faults(slow={1: 3.0}))

    computed = plain.work[0].end
    assert [c.enter for c in slow.calls if c.rank == 1] == [3 * computed]
    assert slow.duration - plain.duration == 2 * computed


def test_measured_time_passes_while_a_rank_computes():
    def busy(comm):
        total = sum(range(300_000))
        comm.barrier()
        return total

    assert run_ranks(2, busy, computing="measured").record.calls[0].enter > 100_000  # ns
    assert run_ranks(2, busy).record.calls[0].enter == 0


def test_nothing_listens_to_a_rank_after_its_end():
    contexts = [jt.base.context.Context() for _ in range(2)]
    run_ranks(2, program, contexts=contexts, computing="modelled")

    assert [c.traces for c in contexts] == [[], []]


def test_an_unknown_meter_is_refused():
    with pytest.raises(ValueError, match=r"modelled, measured, or None.*'sundial'"):
        run_ranks(2, program, computing="sundial")
