"""A process group of one's own, in fifty lines: it plugs in wherever a built-in one does."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.distributed.array_group import read, write
from jt_edu.settings import rank_context
from tests.distributed.ranks import dist, together


class StoreGroup(dist.ProcessGroup):
    """Every tensor goes through a store: slow, and short."""

    def __init__(self, store, rank, size, timeout):
        super().__init__(rank, size)
        self.store, self.number = store, 0
        self.calls = []

    def name(self):
        return "store"

    def _exchange(self, x):
        """What all ranks have, as flat arrays."""
        self.number += 1
        self.store.set(f"{self.number}/{self._rank}", read(x).tobytes())
        found = [self.store.get(f"{self.number}/{rank}") for rank in range(self._size)]
        return [np.frombuffer(data, read(x).dtype) for data in found]

    def broadcast(self, tensors, opts=None):
        self.calls.append(opts)
        return dist.Finished([write(tensors[0], self._exchange(tensors[0])[opts.rootRank])])

    def allreduce(self, tensors, opts=None):
        self.calls.append(opts)
        total = self._exchange(tensors[0])
        return dist.Finished([write(tensors[0], opts.reduceOp.native.combine(total[0], sum(total[1:])))])

    def allgather(self, output_tensors, input_tensors, opts=None):
        pieces = self._exchange(input_tensors[0])
        return dist.Finished([[write(x, p) for x, p in zip(output_tensors[0], pieces, strict=True)]])

    def barrier(self, opts=None):
        self._exchange(np.zeros(1))
        return dist.Finished()


def on_ranks(size, program):
    store, results = dist.HashStore(timeout=20), {}
    if "by store" not in dist.joining._OWN:
        dist.Backend.register_backend("by store", StoreGroup)

    def body(rank):
        with rank_context():
            dist.init_process_group("by store", store=store, rank=rank, world_size=size)
            results[rank] = program(rank)
            dist.destroy_process_group()

    together([lambda rank=rank: body(rank) for rank in range(size)])
    return [results[rank] for rank in range(size)]


def test_functions_go_through_a_group_of_ones_own():
    def program(rank):
        x, y = jt.array([1.0 + rank]), jt.array([float(rank)])
        dist.all_reduce(x)
        dist.broadcast(y, src=1)
        objects = [None] * 3
        dist.all_gather_object(objects, {"rank": rank})
        work = dist.all_reduce(jt.ones(1), async_op=True)
        dist.barrier()
        return x.item(), y.item(), objects[2], work.wait(), dist.get_backend(), len(dist.group.WORLD.calls)

    assert on_ranks(3, program) == [(6.0, 1.0, {"rank": 2}, True, "store", 3)] * 3


def test_a_group_of_ones_own_is_told_what_was_asked_for():
    def program(rank):
        dist.broadcast(jt.ones(1), src=1)
        return repr(dist.group.WORLD.calls[0])

    assert on_ranks(2, program)[0].startswith("BroadcastOptions(timeout=")
    assert "rootRank=1" in on_ranks(2, program)[1]


def test_new_groups_of_ones_own_kind_know_the_ranks_of_the_world():
    def program(rank):
        some = dist.new_group([0, 2])
        x = jt.array([float(rank)])
        dist.broadcast(x, src=2, group=some)
        return x.item()

    assert on_ranks(3, program) == [2.0, 1.0, 2.0]


def test_a_group_that_is_not_registered_may_be_handed_to_a_function():
    class Alone(dist.ProcessGroup):
        def allreduce(self, tensors, opts=None):
            return dist.Finished([write(tensors[0], read(tensors[0]) * 10)])

    x = jt.ones(2)

    dist.all_reduce(x, group=Alone(0, 1))

    assert x.tolist() == [10.0, 10.0]


@pytest.mark.parametrize("name", [
    "broadcast", "allreduce", "allreduce_coalesced", "reduce", "allgather", "gather", "scatter", "reduce_scatter",
    "alltoall", "alltoall_base", "allgather_base", "reduce_scatter_base", "barrier", "send", "recv", "recv_anysource",
])  # fmt: skip
def test_what_a_group_cannot_do_it_says(name):
    arguments = {
        "alltoall_base": 4,
        "barrier": 0,
        "broadcast": 1,
        "allreduce": 1,
        "allreduce_coalesced": 1,
        "reduce": 1,
    }
    count = arguments.get(name, 1 if name == "recv_anysource" else 2)

    with pytest.raises(jt.RankError, match=f"{name} is done by a process group that can"):
        getattr(dist.ProcessGroup(0, 1), name)(*[[]] * count)


@pytest.mark.parametrize(("rank", "size"), [(1, 1), (-1, 2), (0, 0), (0.0, 1), (True, 2)])
def test_a_group_has_ranks_from_0_to_its_size(rank, size):
    with pytest.raises(jt.ArgumentError, match="size - 1"):
        dist.ProcessGroup(rank, size)
