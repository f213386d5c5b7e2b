"""A process group of one's own, in fifty lines: it plugs in wherever a built-in one does."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.distributed.group_base import read, write
from jt_edu.distributed.init_process_group import _OWN
from tests.distributed.ranks import LONG, dist, in_threads, well


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
    store = dist.HashStore(timeout=LONG)
    if "by store" not in _OWN:
        dist.Backend.register_backend("by store", StoreGroup)

    def join(rank):
        dist.init_process_group("by store", store=store, rank=rank, world_size=size)

    return well(*in_threads(size, program, join))


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


class Mine(dist.ProcessGroup):
    """It has nothing of its own."""


@pytest.mark.parametrize(("name", "call"), [
    ("broadcast", lambda x, g: dist.broadcast(x, 0, group=g)),
    ("allreduce", lambda x, g: dist.all_reduce(x, group=g)),
    ("allreduce_coalesced", lambda x, g: dist.all_reduce_coalesced([x], group=g)),
    ("reduce", lambda x, g: dist.reduce(x, 0, group=g)),
    ("allgather", lambda x, g: dist.all_gather([x], x, group=g)),
    ("allgather", lambda x, g: dist.all_gather_object([None], 7, group=g)),
    ("allgather_coalesced", lambda x, g: dist.all_gather_coalesced([[x]], [x], group=g)),
    ("gather", lambda x, g: dist.gather(x, [x], group=g)),
    ("scatter", lambda x, g: dist.scatter(x, [x], group=g)),
    ("reduce_scatter", lambda x, g: dist.reduce_scatter(x, [x], group=g)),
    ("alltoall", lambda x, g: dist.all_to_all([x], [x], group=g)),
    ("alltoall_base", lambda x, g: dist.all_to_all_single(x, x, group=g)),
    ("allgather_base", lambda x, g: dist.all_gather_into_tensor(x, x, group=g)),
    ("reduce_scatter_base", lambda x, g: dist.reduce_scatter_tensor(x, x, group=g)),
    ("barrier", lambda x, g: dist.barrier(group=g)),
    ("send", lambda x, g: dist.send(x, 0, group=g)),
    ("recv", lambda x, g: dist.recv(x, 0, group=g)),
    ("recv_anysource", lambda x, g: dist.recv(x, group=g)),
])  # fmt: skip
def test_a_function_asks_the_group_for_one_method_and_names_it_where_it_is_missing(name, call):
    found = rf"^{name} is done by .* that can; found Mine, which has no {name}\. "
    attempt = rf"Try: def {name}\(self, (.*, )?(opts=None|tag=0)\): \.\.\. in Mine"

    with pytest.raises(jt.RankError, match=found + attempt):
        call(jt.ones(1), Mine(0, 1))


def test_a_kind_of_array_group_that_does_not_say_how_arrays_travel_is_told_what_to_write():
    class Pigeons(dist.ArrayGroup):
        pass

    with pytest.raises(
        jt.RankError, match=r"Pigeons, which has no _run\. Try: def _run\(self, task\): \.\.\. in Pigeons"
    ):
        dist.all_reduce(jt.ones(1), group=Pigeons(0, 1))


@pytest.mark.parametrize(("rank", "size"), [(1, 1), (-1, 2), (0, 0), (0.0, 1), (True, 2)])
def test_a_group_has_ranks_from_0_to_its_size(rank, size):
    with pytest.raises(jt.ArgumentError, match="size - 1"):
        dist.ProcessGroup(rank, size)


class InPyTorchsManner(dist.ProcessGroup):
    """As one writes it for PyTorch: tensors are added, and given new numbers."""

    def __init__(self, store, rank, size, timeout):
        super().__init__(rank, size)
        self.store, self.number, self.kinds = store, 0, set()

    def name(self):
        return "manner"

    def _tensors_of_all(self, tensor):
        self.number += 1
        self.kinds.add(type(tensor))
        self.store.set(f"{self.number}/{self._rank}", tensor.numpy().tobytes())
        for rank in range(self._size):
            raw = self.store.get(f"{self.number}/{rank}")
            yield jt.array(np.frombuffer(raw, tensor.numpy().dtype).reshape(tensor.shape))

    def allreduce(self, tensors, opts=None):
        (x,) = tensors
        total = jt.zeros_like(x)
        for other in self._tensors_of_all(x):
            total = total + other
        return dist.Finished([x.update(total)])

    def broadcast(self, tensors, opts=None):
        (x,) = tensors
        return dist.Finished([x.update(list(self._tensors_of_all(x))[opts.rootRank])])


@pytest.fixture
def in_pytorchs_manner():
    dist.Backend.register_backend("manner", InPyTorchsManner)
    yield
    del _OWN["manner"]


def train(backend, **options):
    """A program in which nothing but the backend differs: gradients that a module has on one of two ranks."""

    def program(comm):
        dist.init_process_group(backend)
        jt.set_global_seed(comm.rank)
        net = dist.DistributedDataParallel(jt.nn.Sequential(jt.nn.Linear(3, 2), jt.nn.Linear(2, 1)), **options)
        net(jt.array([[1.0 + comm.rank, 2.0, 3.0]])).sum().backward()
        kinds = getattr(dist.group.WORLD, "kinds", {jt.Var})
        answer = [p.grad.tolist() for p in net.parameters()], kinds == {jt.Var}
        dist.destroy_process_group()
        return answer

    return program


@pytest.mark.parametrize("options", [{}, {"gradient_as_bucket_view": True}, {"find_unused_parameters": True}])
def test_a_group_in_pytorchs_manner_gets_vars_and_gives_the_gradients_that_others_give(in_pytorchs_manner, options):
    assert jt.simulate(2)(train("manner", **options)) == jt.simulate(2)(train("threads", **options))


def test_simulated_ranks_know_their_places_in_a_backend_of_ones_own(in_pytorchs_manner):
    def program(comm):
        places = []
        for _ in range(2):  # what is left in the store of the first time is not read again
            dist.init_process_group("manner")
            x = jt.array([1.0 + comm.rank])
            dist.all_reduce(x)
            places.append((dist.get_rank(), dist.get_world_size(), x.item()))
            dist.destroy_process_group()
        return places

    assert jt.simulate(3)(program) == [[(rank, 3, 6.0)] * 2 for rank in range(3)]


def test_a_simulated_rank_that_claims_another_place_is_told_its_own(in_pytorchs_manner):
    def program(comm):
        dist.init_process_group("manner", rank=0, world_size=2)

    with pytest.raises(jt.RankError, match=r"the rank of this rank is 1; found rank=0"):
        jt.simulate(2)(program)
