"""Options have PyTorch's names and defaults; works and futures keep their promises."""

from datetime import timedelta

import pytest

import jt_edu as jt
from tests.distributed.ranks import dist

OPTIONS = (
    "AllToAllOptions", "AllgatherOptions", "AllreduceCoalescedOptions", "AllreduceOptions", "BarrierOptions",
    "BroadcastOptions", "GatherOptions", "ReduceOptions", "ReduceScatterOptions", "ScatterOptions",
)  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_defaults_are_pytorchs(torch, name):
    theirs = getattr(torch._C._distributed_c10d, name)()

    ours = getattr(dist, name)()

    for field, value in vars(ours).items():
        found = getattr(theirs, field)
        assert (str(found.op), value.name) == ("RedOpType.SUM", "SUM") if field == "reduceOp" else found == value


def test_options_show_what_they_hold():
    shown = repr(dist.ReduceOptions(dist.ReduceOp.MAX, 2, timeout=5))

    assert shown == (
        "ReduceOptions(timeout=datetime.timedelta(seconds=5), reduceOp=ReduceOp.MAX, rootRank=2, rootTensor=0)"
    )


@pytest.mark.parametrize("make", [
    lambda: dist.BroadcastOptions(-1), lambda: dist.BroadcastOptions("0"), lambda: dist.AllreduceOptions("mean"),
    lambda: dist.GatherOptions(timeout=0), lambda: dist.GatherOptions(timeout="5"),
    lambda: dist.GatherOptions(timeout=timedelta(0)), lambda: dist.BarrierOptions(timeout=True),
])  # fmt: skip
def test_options_that_make_no_sense_are_refused(make):
    with pytest.raises(jt.ArgumentError):
        make()


def test_a_timeout_in_the_options_is_that_of_the_collective():
    def program(comm):
        dist.init_process_group()
        if comm.rank:
            comm.compute(2_000_000_000)
        work = dist.group.WORLD.allreduce([jt.ones(1)], dist.AllreduceOptions(timeout=comm.rank + 1))
        return work.wait()

    with pytest.raises(jt.RankError, match=r"rank 0 waited 1 s .* rank 1 had not come"):
        jt.simulate(2)(program)


class Slow(dist.Work):
    """Work that is over when the test says so."""

    def __init__(self, error=None):
        super().__init__("slow work")
        self.ready, self.error, self.waits = False, error, []

    def _poll(self):
        return self.ready

    def _await(self, seconds):
        self.waits.append(seconds)
        if self.error:
            raise self.error
        return "value"


def test_work_is_under_way_and_then_over():
    work = Slow()
    before = work.is_completed(), work.is_success(), work.exception(), repr(work)
    with pytest.raises(jt.RankError, match="under way"):
        work.result()

    work.ready = True

    assert before == (False, False, None, "Slow(slow work, under way)")
    assert work.is_completed() and work.is_success() and work.result() == "value" and "over" in repr(work)


def test_work_waits_once_and_hands_its_timeout_on():
    work = Slow()

    assert work.wait(timedelta(seconds=2)) and work.wait() and work.waits == [2.0]
    with pytest.raises(jt.ArgumentError, match="-1"):
        Slow().wait(-1)


def test_work_whose_wait_is_interrupted_can_be_waited_for_again():
    work = Slow(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        work.wait()

    work.error = None

    assert "under way" in repr(work) and work.wait() and work.result() == "value"


def test_work_that_failed_raises_each_time_and_so_does_its_future():
    work = Slow(jt.RankError("all come", "nobody"))
    future = work.get_future()

    for ask in (work.wait, work.wait, work.synchronize, future.wait, future.value):
        with pytest.raises(jt.RankError, match="nobody"):
            ask()
    assert work.is_completed() and not work.is_success() and isinstance(work.exception(), jt.RankError)


def test_a_future_is_waited_for_through_everything_that_was_built_on_it():
    work, seen = Slow(), []
    future = work.get_future()
    last = future.then(lambda f: f.value() + "!").then(lambda f: f.value() * 2)
    future.add_done_callback(lambda f: seen.append(f.value()))

    assert not last.done() and not seen
    assert last.wait() == "value!value!" and seen == ["value"] and future.done() and work.is_completed()


def test_a_callback_that_fails_belongs_to_its_own_future():
    future = dist.Future()
    after = future.then(lambda f: 1 // f.value())

    future.set_result(0)

    assert future.wait() == 0 and after.done()
    with pytest.raises(ZeroDivisionError):
        after.wait()


def test_a_callback_may_answer_a_future():
    inner = Slow()
    future = dist.Future()
    after = future.then(lambda f: inner.get_future())

    future.set_result(1)

    assert not after.done() and after.wait() == "value"


def test_a_future_is_set_once_and_asked_when_it_is_there():
    future = dist.Future()
    with pytest.raises(jt.RankError, match="not"):
        future.wait()

    future.set_result(1)

    with pytest.raises(jt.RankError, match="once"):
        future.set_result(2)


def test_a_future_after_the_end_has_the_value():
    work = Slow()
    work.wait()

    assert work.get_future().value() == "value" and work.get_future() is work.get_future()
