"""Names of mpi4py that are not here are refused with what does the same, and few are missing."""

import threading

import pytest

from jt_edu.base.errors import RankError, UnknownNameError
from jt_edu.mpi import MPI, simulate
from jt_edu.mpi.base.missing import INSTEAD


@pytest.mark.parametrize("start", INSTEAD)
def test_a_name_that_is_said_to_be_missing_is_missing_and_refused(start):
    def program(comm):
        for place in (comm, MPI):
            with pytest.raises(UnknownNameError) as caught:
                getattr(place, start)
            assert INSTEAD[start] in str(caught.value)

    simulate(1)(program)


def test_windows_of_one_s_own_are_refused_by_the_beginning_of_their_names():
    with pytest.raises(UnknownNameError, match=r"MPI.Win is asked for.*Try: Send and Recv, or a collective"):
        _ = MPI.Win


def test_a_name_with_a_slip_is_refused_with_those_that_look_like_it():
    with pytest.raises(RankError, match=r"comm.Alreduce is asked for.*Try: Allreduce"):
        simulate(1)(lambda comm: comm.Alreduce)


def test_only_the_thread_of_a_rank_may_speak_and_mpi_says_so():
    def program(comm):
        found = []
        helper = threading.Thread(target=lambda: found.append(MPI.Is_thread_main()))
        helper.start()
        helper.join()
        return MPI.Is_thread_main(), found, MPI.Query_thread() == MPI.THREAD_FUNNELED

    assert simulate(2)(program) == [(True, [False], True)] * 2
    assert MPI.Is_thread_main() and MPI.Init_thread(MPI.THREAD_SINGLE) == MPI.THREAD_SINGLE
    assert MPI.Attach_buffer(bytearray(8)) is None and MPI.Detach_buffer() == bytes(8) and MPI.Detach_buffer() is None
