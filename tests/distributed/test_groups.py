"""Joining, groups of some ranks, and what belongs to whom."""

import os
import socket
import threading
import time

import pytest

import jt_edu as jt
from jt_edu.base.context import rank_context
from jt_edu.base.errors import BackendError
from jt_edu.distributed import socket_mesh
from jt_edu.distributed.launch import kept_port
from jt_edu.mpi.base.errors import MismatchError, RankTimeoutError
from jt_edu.mpi.notebook.namespaces import Namespaces
from tests.distributed.ranks import BACKENDS, LONG, dist, outcomes, run, together, until


@pytest.mark.parametrize("backend", BACKENDS)
def test_overlapping_groups_used_in_different_orders_do_not_meet(backend):
    def program(rank):
        a, b = dist.new_group([0, 1]), dist.new_group([1, 2])
        x, y = jt.array([1.0 + rank]), jt.array([10.0 + rank])
        works = [(a, x), (b, y)] if rank != 1 else [(b, y), (a, x)]
        begun = [dist.all_reduce(v, group=g, async_op=True) for g, v in works]
        for work in begun:
            if work is not None:
                work.wait()
        return x.item(), y.item()

    assert run(backend, 3, program) == [(3.0, 10.0), (3.0, 23.0), (3.0, 23.0)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_src_and_dst_are_ranks_of_the_world_in_every_group(backend):
    def program(rank):
        some = dist.new_group([3, 1])
        x = jt.array([float(rank)])
        dist.broadcast(x, src=3, group=some)
        y = jt.array([1.0])
        dist.reduce(y, dst=3, group=some)
        z = jt.array([float(rank)])
        if rank == 1:
            dist.send(z, 3, group=some)
            dist.send(z, 3, group=some)
        if rank == 3:
            assert dist.recv(z, group=some) == 1 and dist.get_group_rank(some, 3) == 1
            assert dist.recv(z, 1, group=some) == 1
            assert dist.get_global_rank(some, 0) == 1 and dist.get_process_group_ranks(some) == [1, 3]
        return x.item(), y.item(), z.item(), dist.get_rank(some), dist.get_world_size(some)

    assert run(backend, 4, program) == [
        (0.0, 1.0, 0.0, -1, -1), (3.0, 1.0, 1.0, 0, 2), (2.0, 1.0, 2.0, -1, -1), (3.0, 2.0, 1.0, 1, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
def test_who_is_no_member_does_nothing_and_gets_none(backend):
    def program(rank):
        some = dist.new_group([0])
        x, outs = jt.array([1.0]), [None]
        answers = [
            dist.all_reduce(x, group=some, async_op=True), dist.barrier(some), dist.isend(x, 0, some),
            dist.all_gather_object(outs, 1, some), dist.monitored_barrier(some),
        ] if rank else []  # fmt: skip
        return some is dist.GroupMember.NON_GROUP_MEMBER, answers

    assert run(backend, 2, program) == [(False, []), (True, [None] * 5)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_group_may_be_all_ranks_and_may_be_destroyed_alone(backend):
    def program(rank):
        same = dist.new_group()
        dist.barrier(same)
        dist.destroy_process_group(same)
        x = jt.ones(1)
        dist.all_reduce(x)
        return x.item(), dist.get_world_size()

    assert run(backend, 2, program) == [(2.0, 2)] * 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_ranks_that_make_different_groups_are_told(backend):
    def program(rank):
        dist.new_group([0, 1] if rank == 0 else [1])

    with pytest.raises(MismatchError, match=r"rank 0 calls new_group[\s\S]*rank 1 calls new_group"):
        run(backend, 2, program)


@pytest.mark.parametrize("ranks", [[], [0, 0], [7], [-1], ["a"], [True]])
def test_a_group_of_ranks_that_are_not_there_is_refused(ranks):
    def program(rank):
        with pytest.raises(jt.ArgumentError, match="each once"):
            dist.new_group(ranks)

    run("threads", 2, program)


@pytest.mark.parametrize("backend", BACKENDS)
def test_world_is_the_group_of_all(backend):
    def program(rank):
        x = jt.ones(1)
        dist.all_reduce(x, group=dist.group.WORLD)
        return x.item(), dist.get_backend(), dist.group.WORLD is dist.GroupMember.WORLD, dist.get_rank()

    assert run(backend, 2, program) == [(2.0, backend, True, 0), (2.0, backend, True, 1)]
    assert dist.group.WORLD is None


# joining


def test_one_rank_alone_joins_leaves_and_joins_again():
    for _ in range(2):
        dist.init_process_group("solo")
        x = jt.ones(1)
        dist.all_reduce(x)
        assert (x.item(), dist.is_initialized(), dist.get_world_size()) == (1.0, True, 1)
        dist.destroy_process_group()

    assert not dist.is_initialized() and dist.is_available()


@pytest.mark.parametrize("backend", BACKENDS)
def test_all_ranks_leave_and_join_again(backend):
    def program(rank):
        sums = []
        for _ in range(3):
            dist.destroy_process_group()
            if backend == "threads":
                dist.init_process_group()
            else:
                dist.init_process_group("tcp", f"tcp://127.0.0.1:{port}", LONG, 3, rank)
            x = jt.ones(1)
            dist.all_reduce(x)
            sums.append(x.item())
        return sums

    with kept_port() as port:
        assert run(backend, 3, program) == [[3.0] * 3] * 3


def test_joining_twice_is_refused():
    dist.init_process_group("solo")
    try:
        with pytest.raises(jt.RankError, match="destroy_process_group"):
            dist.init_process_group("solo")
    finally:
        dist.destroy_process_group()


def test_missing_variables_are_all_named(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")

    with pytest.raises(jt.ArgumentError, match="no MASTER_PORT and no RANK and no WORLD_SIZE"):
        dist.init_process_group("gloo")
    with pytest.raises(jt.ArgumentError, match="no MASTER_PORT in"):
        dist.init_process_group("gloo", rank=0, world_size=1)


def test_the_environment_says_who_is_who(monkeypatch):
    with kept_port() as port:
        for name, value in {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "RANK": 0, "WORLD_SIZE": 1}.items():
            monkeypatch.setenv(name, str(value))

        dist.init_process_group()

    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "tcp")
    dist.destroy_process_group()


def test_a_file_is_a_place_to_meet_and_is_gone_afterwards(tmp_path):
    path = tmp_path / "meeting"
    sums = [0.0, 0.0]

    def body(rank):
        with rank_context():
            dist.init_process_group("tcp", f"file://{path}?rank={rank}&world_size=2", timeout=LONG)
            x = jt.ones(1)
            dist.all_reduce(x)
            sums[rank] = x.item()
            dist.destroy_process_group()

    together([lambda: body(0), lambda: body(1)])

    assert sums == [2.0, 2.0] and not path.exists()


def test_a_store_of_ones_own_is_a_place_to_meet_more_than_once():
    store = dist.HashStore(timeout=LONG)
    sums = {}

    def body(rank):
        with rank_context():
            for turn in range(2):
                dist.init_process_group("tcp", store=store, rank=rank, world_size=2, timeout=LONG)
                x = jt.ones(1)
                dist.all_reduce(x)
                sums[rank, turn] = x.item()
                dist.destroy_process_group()

    together([lambda: body(0), lambda: body(1)])

    assert sums == dict.fromkeys([(0, 0), (0, 1), (1, 0), (1, 1)], 2.0)


def test_joining_waits_for_a_late_rank():
    order = []

    def body(rank):
        if rank == 1:
            until(lambda: order == ["rank 0 comes"])
            time.sleep(0.1)  # in which rank 0 could go on, if it did not wait
        order.append(f"rank {rank} comes")
        with rank_context():
            dist.init_process_group("tcp", f"tcp://127.0.0.1:{port}", LONG, 2, rank)
            order.append(f"rank {rank} has joined")
            dist.destroy_process_group()

    with kept_port() as port:
        together([lambda: body(0), lambda: body(1)])

    assert order[:2] == ["rank 0 comes", "rank 1 comes"] and len(order) == 4


def test_a_rank_that_never_comes_is_missed_in_time_and_nothing_is_left(tmp_path):
    before = threads()

    with pytest.raises(RankTimeoutError, match=r"no rank 1 within 0\.1 s"):
        dist.init_process_group("tcp", f"file://{tmp_path}/meeting?rank=0&world_size=2", timeout=0.1)

    assert not dist.is_initialized() and threads() <= before


@pytest.mark.parametrize(("arguments", "error", "words"), [
    ({"backend": "nccl"}, BackendError, "device"),
    ({"backend": "pigeons"}, BackendError, "pigeons"),
    ({"backend": "threads"}, BackendError, "simulate"),
    ({"backend": "mpi"}, BackendError, "mpirun"),
    ({"backend": 3}, jt.ArgumentError, "3"),
    ({"backend": "tcp", "init_method": "here"}, jt.ArgumentError, "here"),
    ({"backend": "tcp", "init_method": "udp://x:1"}, jt.ArgumentError, "world_size|udp"),
    ({"backend": "tcp", "init_method": "tcp://127.0.0.1", "rank": 0, "world_size": 1}, jt.ArgumentError, "port"),
    ({"backend": "tcp", "init_method": "tcp://127.0.0.1:1"}, jt.ArgumentError, "rank -1"),
    ({"backend": "tcp", "init_method": "tcp://127.0.0.1:1?rank=x&world_size=1"}, jt.ArgumentError, "'x'"),
    ({"backend": "tcp", "init_method": "tcp://127.0.0.1:1", "rank": 2, "world_size": 2}, jt.ArgumentError, "2 of 2"),
    ({"backend": "tcp", "init_method": "file://"}, jt.ArgumentError, "world_size|file"),
    ({"backend": "solo", "timeout": -2}, jt.ArgumentError, "-2"),
    ({"backend": "solo", "rank": 1}, jt.ArgumentError, "rank=1"),
    ({"backend": "solo", "world_size": 2}, jt.ArgumentError, "world_size=2"),
    ({"backend": "tcp", "store": "x"}, jt.ArgumentError, "rank"),
])  # fmt: skip
def test_joining_in_a_way_that_makes_no_sense_is_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        dist.init_process_group(**arguments)

    assert not dist.is_initialized()


def test_simulated_ranks_cannot_wait_for_sockets():
    def program(comm):
        with pytest.raises(BackendError, match="threads"):
            dist.init_process_group("gloo", "tcp://127.0.0.1:1", rank=comm.rank, world_size=2)

    jt.simulate(2)(program)


def test_a_script_that_says_where_processes_meet_runs_on_simulated_ranks_too():
    def program(comm):
        dist.init_process_group(init_method="env://")
        return dist.get_backend()

    assert jt.simulate(2)(program) == ["threads", "threads"]


def test_a_process_group_goes_on_in_the_next_cell_and_after_a_failure_says_how_to_begin_anew():
    ranks = Namespaces(3)

    def cell(text):
        run = ranks.run(text)
        run.raise_failure()
        return run.values

    cell("import jt_edu as jt\ndist = jt.distributed\ndist.init_process_group()\nsome = dist.new_group([0, 2])")
    cell("x, y = jt.ones(1), jt.ones(1)\ndist.all_reduce(x)\ndist.all_reduce(y, group=some)")
    with pytest.raises(MismatchError):
        cell("dist.all_reduce(x) if rank else dist.barrier()")
    for call in ("dist.barrier()", "dist.send(x, 0)", "dist.new_group([0])"):
        with pytest.raises(jt.RankError, match=r"earlier run|group that is whole"):
            cell(call)

    values = cell("dist.destroy_process_group()\ndist.init_process_group()\ndist.all_reduce(x)\nx.item(), y.item()")
    assert values == [(9.0, 2.0), (9.0, 1.0), (9.0, 2.0)]


def test_each_rank_has_joined_for_itself():
    def program(comm):
        if comm.rank == 0:
            dist.init_process_group("solo")
        return dist.is_initialized()

    assert jt.simulate(2)(program) == [True, False] and not dist.is_initialized()


@pytest.mark.parametrize("said", [socket_mesh.HELLO.pack(socket_mesh.MAGIC, 1, b"x" * 32), b"jt_edu", b"", None])
def test_a_stranger_who_does_not_know_the_secret_is_sent_away(monkeypatch, said):
    real, strangers = socket_mesh.connected, []

    def connected(host, port, seconds):
        stranger = socket.create_connection((host, port))
        if said is None:
            stranger.shutdown(socket.SHUT_WR)
        else:
            stranger.sendall(said)
        strangers.append(stranger)
        return real(host, port, seconds)

    monkeypatch.setattr(socket_mesh, "connected", connected)

    def program(rank):
        x = jt.ones(1)
        dist.all_reduce(x)
        return x.item()

    assert run("tcp", 2, program) == [2.0, 2.0] and strangers
    for stranger in strangers:
        stranger.close()


def threads():
    """Those of ranks and their connections."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("jt_edu")}


def test_no_thread_is_left_after_fifty_worlds():
    before = threads()
    for _ in range(25):
        assert outcomes(2, lambda rank: len(threads()) if dist.barrier() is None else 0)[0] != [0, 0]
        run("threads", 2, lambda rank: dist.barrier())

    until(lambda: threads() <= before)  # a reader that has to wait for its turn ends a little later
    assert "RANK" not in os.environ


def test_worlds_with_names_of_their_own_meet_in_one_store():
    store, sums = dist.HashStore(), {}

    def body(name, rank):
        with rank_context():
            dist.init_process_group("tcp", timeout=LONG, world_size=2, rank=rank, store=store, group_name=name)
            x = jt.array([10.0 if name == "left" else 1.0])
            dist.all_reduce(x)
            sums[name, rank] = x.item()
            dist.destroy_process_group()

    together([lambda n=name, r=rank: body(n, r) for name in ("left", "right") for rank in (0, 1)])

    assert sums == {("left", 0): 20.0, ("left", 1): 20.0, ("right", 0): 2.0, ("right", 1): 2.0}


@pytest.mark.parametrize("splits", [0, 1, 3])
def test_a_group_and_its_communicator_number_a_collective_alike_even_after_new_groups(splits):
    def program(rank):
        for _ in range(splits):
            dist.new_group([0, 1])
        dist.all_reduce(jt.ones(1)) if rank else dist.barrier()

    with pytest.raises(MismatchError, match=r"^(barrier|allreduce) number (\d+),.* in their collective number \2;"):
        run("threads", 2, program)


def test_a_rank_that_is_no_member_hears_of_wrong_arguments_as_the_others_do():
    dist.init_process_group("solo")
    try:
        with pytest.raises(TypeError, match=r"all_reduce.*missing a required argument: 'tensor'"):
            dist.all_reduce(group=dist.GroupMember.NON_GROUP_MEMBER)
        assert dist.barrier(dist.GroupMember.NON_GROUP_MEMBER) is None
    finally:
        dist.destroy_process_group()
