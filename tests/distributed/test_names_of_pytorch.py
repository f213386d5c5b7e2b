"""Names that PyTorch 1.8 has: they are here, and mean the same; or they are refused with what to use instead."""

import importlib

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.base.migration import INSTEAD
from jt_edu.distributed import available
from tests.distributed.ranks import BACKENDS, LONG, dist, run


def test_gloo_is_always_there_and_nccl_never():
    assert (dist.is_gloo_available(), dist.is_nccl_available()) == (True, False)


@pytest.mark.parametrize(("launcher", "library", "there"), [(1, 1, True), (None, 1, False), (1, None, False)])
def test_mpi_is_there_with_a_launcher_and_mpi4py(monkeypatch, launcher, library, there):
    monkeypatch.setattr(available.launch, "find", lambda: launcher)
    monkeypatch.setattr(available, "find_spec", lambda name: library)

    assert dist.is_mpi_available() is there


@pytest.mark.parametrize("backend", BACKENDS)
def test_several_tensors_are_gathered_in_one_message(backend):
    def program(rank):
        rooms = [[jt.zeros(2), jt.zeros(1, 3)] for _ in range(3)]
        before = dist.group.WORLD._number
        dist.all_gather_coalesced(rooms, [jt.ones(2) * rank, jt.ones(1, 3) * (10 + rank)])
        return [[x.tolist() for x in row] for row in rooms], dist.group.WORLD._number - before

    wanted = [[[float(k)] * 2, [[10.0 + k] * 3]] for k in range(3)]
    assert run(backend, 3, program) == [(wanted, 1)] * 3


@pytest.mark.parametrize(("rooms", "tensors", "kind", "word"), [
    ([[jt.zeros(1)]], [], jt.DtypeError, "one dtype"),
    ([[jt.zeros(1)]], [jt.zeros(1), jt.zeros(1)], jt.ArgumentError, "1 of them"),
    ([[jt.zeros(2)]], [jt.zeros(1)], jt.ShapeError, r"\(2,\) beside \(1,\)"),
    ([], [jt.zeros(1)], jt.ArgumentError, "each of 1 rank"),
    ([[jt.zeros(1), jt.zeros(1)]], [jt.zeros(1), jt.zeros(1).double()], jt.DtypeError, "float64"),
])  # fmt: skip
def test_rooms_that_do_not_fit_are_refused(rooms, tensors, kind, word):
    dist.init_process_group("solo")
    try:
        with pytest.raises(kind, match=word):
            dist.all_gather_coalesced(rooms, tensors)
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("backend", BACKENDS)
def test_objects_go_from_one_rank_to_one_other(backend):
    def program(rank):
        if rank == 2:
            dist.send_object_list([{"a": np.arange(3)}, "b", None], dst=0)
        found, sender = [None] * 3, None
        if rank == 0:
            sender = dist.recv_object_list(found)
        return found, sender

    (found, sender), *_ = run(backend, 3, program)

    assert sender == 2 and found[1:] == ["b", None] and found[0]["a"].tolist() == [0, 1, 2]


def test_objects_that_cannot_travel_are_refused():
    with pytest.raises(jt.ArgumentError, match="send_object_list takes a list"):
        dist.send_object_list("abc", dst=0)
    with pytest.raises(jt.ArgumentError, match="can be pickled"):
        dist.send_object_list([lambda: 0], dst=0)
    with pytest.raises(jt.ArgumentError, match="recv_object_list takes a list"):
        dist.recv_object_list(None)


@pytest.mark.parametrize("backend", BACKENDS)
def test_subgroups_share_out_all_ranks(backend):
    def program(rank):
        mine, groups = dist.new_subgroups(2, timeout=90)
        x = jt.array([float(rank)])
        dist.all_reduce(x, group=mine)
        others = [one is dist.GroupMember.NON_GROUP_MEMBER for one in groups]
        return mine.ranks, mine.timeout.total_seconds(), x.item(), others

    low, high = ((0, 1), 90.0, 1.0, [False, True]), ((2, 3), 90.0, 5.0, [True, False])
    assert run(backend, 4, program) == [low, low, high, high]


@pytest.mark.parametrize("size", [0, 3, -2, 2.0, True])
def test_subgroups_that_leave_ranks_over_are_refused(size):
    def program(rank):
        with pytest.raises(jt.ArgumentError, match=f"4 ranks equally; found group_size={size!r}"):
            dist.new_subgroups(size)

    run("threads", 4, program)


def test_a_world_that_was_asked_for_as_gloo_is_called_so_and_its_groups_too():
    def program(rank):
        dist.destroy_process_group()
        store = program.store
        dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=LONG)
        names = dist.get_backend(), dist.get_backend(dist.new_group([0, 1]))
        return *names, dist.get_backend(dist.new_group([0, 1], backend="tcp"))

    program.store = dist.HashStore(LONG)
    assert run("tcp", 2, program) == [("gloo", "gloo", "tcp")] * 2


@pytest.mark.parametrize("name", [name for place, name in INSTEAD if place == "jt.distributed"])
def test_a_name_that_is_not_here_any_more_is_refused_with_a_way_out(name):
    instead = INSTEAD["jt.distributed", name]
    with pytest.raises(AttributeError, match=f"no {name}; found that a.*Try: {instead}"):
        getattr(dist, name)

    assert hasattr(dist, instead.removeprefix("jt.distributed."))


def test_hooks_stand_where_pytorch_has_them():
    place = "jt_edu.distributed.algorithms.ddp_comm_hooks"
    hooks = importlib.import_module(place)

    assert importlib.import_module(f"{place}.default_hooks") is hooks.default_hooks
    assert importlib.import_module(f"{place}.powerSGD_hook") is hooks.powerSGD_hook
    assert hooks.default_hooks.allreduce_hook is dist.allreduce_hook
    assert hooks.default_hooks.fp16_compress_hook is dist.fp16_compress_hook
    assert hooks.powerSGD_hook.powerSGD_hook is dist.powerSGD_hook
    assert hooks.powerSGD_hook.PowerSGDState is dist.PowerSGDState
    assert dist.algorithms.ddp_comm_hooks is hooks


def test_a_bucket_gives_its_tensors_as_pytorch_1_8_asks_for_them():
    bucket = dist.GradBucket(0, True, [jt.zeros(2, 1), jt.zeros(1)], jt.array([1.0, 2.0, 3.0]))

    (flat,) = bucket.get_tensors()

    assert flat is bucket.buffer()


def test_the_sampler_stands_among_the_others_too():
    assert jt.data.DistributedSampler is dist.DistributedSampler
    with pytest.raises(AttributeError, match=r"Try: jt\.data\.DistributedSampler"):
        _ = jt.data.DistributedSample
