"""Every function of jt.distributed that speaks to others, on three ranks, against numbers worked out by hand.

Rank r has the tensor [r + 1, 10 (r + 1)]: [1, 10], [2, 20], [3, 30]. PyTorch documents the same answers.
"""

import inspect

import pytest

import jt_edu as jt
from tests.distributed.ranks import BACKENDS, dist, run

NO_TALK = {  # they ask, or are classes
    "get_backend", "get_global_rank", "get_group_rank", "get_process_group_ranks", "get_rank", "get_world_size",
    "is_available", "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available",
}  # fmt: skip
ELSEWHERE = {  # test_groups.py, test_ddp_hooks.py and test_names_of_pytorch.py
    "init_process_group", "destroy_process_group", "new_group", "new_subgroups",
    "allreduce_hook", "bf16_compress_hook", "fp16_compress_hook", "powerSGD_hook",
}  # fmt: skip


def mine(r):
    return jt.array([r + 1.0, 10.0 * (r + 1)])


def room(n=2):
    return jt.zeros(n)


def on(r, root, made):
    return made() if r == root else None


def lists(tensors):
    return tensors and [t.tolist() for t in tensors]


def all_reduce(r):
    x, y, some = mine(r), mine(r), jt.array([r + 1, 6], dtype="int32")
    dist.all_reduce(x)
    dist.all_reduce(y, dist.ReduceOp.AVG)
    dist.all_reduce(some, dist.ReduceOp.BAND)
    return x.tolist(), y.tolist(), some.tolist()


def all_reduce_coalesced(r):
    x, y = mine(r), jt.array([float(r)])
    dist.all_reduce_coalesced([x, y], dist.ReduceOp.MAX)
    return lists([x, y])


def broadcast(r):
    x = mine(r)
    dist.broadcast(x, 2)
    return x.tolist()


def reduce(r):
    x = mine(r)
    dist.reduce(x, 1, dist.ReduceOp.PRODUCT)
    return x.tolist()


def all_gather(r):
    rooms = [room() for _ in range(3)]
    dist.all_gather(rooms, mine(r))
    return lists(rooms)


def all_gather_into_tensor(r):
    whole = room(6)
    dist.all_gather_into_tensor(whole, mine(r))
    return whole.tolist()


def gather(r):
    rooms = on(r, 1, lambda: [room() for _ in range(3)])
    dist.gather(mine(r), rooms, dst=1)
    return lists(rooms)


def scatter(r):
    x = room()
    dist.scatter(x, on(r, 2, lambda: [mine(k) for k in range(3)]), src=2)
    return x.tolist()


def reduce_scatter(r):
    x = room()
    dist.reduce_scatter(x, [mine(r) * (k + 1) for k in range(3)])
    return x.tolist()


def reduce_scatter_tensor(r):
    x = room(1)
    dist.reduce_scatter_tensor(x, jt.array([1.0, 2, 3]) * (r + 1))
    return x.tolist()


def all_to_all(r):
    rooms = [room(1) for _ in range(3)]
    dist.all_to_all(rooms, [jt.array([10.0 * r + k]) for k in range(3)])
    return lists(rooms)


def all_to_all_single(r):
    """Rank r gives k rows to rank k, and so gets r rows from each."""
    into = room(3 * r)
    dist.all_to_all_single(into, jt.full((3,), float(r)), [r] * 3, [0, 1, 2])
    return into.tolist()


def all_gather_coalesced(r):
    rooms = [[room(), room(1)] for _ in range(3)]
    dist.all_gather_coalesced(rooms, [mine(r), jt.array([float(r)])])
    return [lists(row) for row in rooms]


def all_gather_object(r):
    told = [None] * 3
    dist.all_gather_object(told, "abc"[: r + 1])
    return told


def gather_object(r):
    told = on(r, 2, lambda: [None] * 3)
    dist.gather_object({"rank": r}, told, dst=2)
    return told


def broadcast_object_list(r):
    told = [r, None] if r != 1 else ["one", {1}]
    dist.broadcast_object_list(told, src=1)
    return told


def scatter_object_list(r):
    told = [None, "stays"]
    dist.scatter_object_list(told, on(r, 0, lambda: ["zero", [1], 2.0]))
    return told


def send_and_recv_objects(r):
    told = ["one", {1}] if r == 1 else [None, None]
    if r == 1:
        return dist.send_object_list(told, 2)
    return (dist.recv_object_list(told, 1), told) if r == 2 else None


def send_and_recv(r):
    x = mine(r)
    if r == 0:
        return dist.send(x, 2, tag=3)
    return (dist.recv(x, 0, tag=3), x.tolist()) if r == 2 else None


def isend_and_irecv(r):
    x = room()
    works = [dist.isend(mine(r), (r + 1) % 3), dist.irecv(x, (r - 1) % 3)]
    return [work.wait() for work in works], x.tolist()


def batch(r):
    x = room()
    there, back = dist.P2POp(dist.isend, mine(r), (r - 1) % 3), dist.P2POp(dist.irecv, x, (r + 1) % 3)
    return [work.wait() for work in dist.batch_isend_irecv([back, there])], x.tolist()


TABLE = [  # names, program, what each rank gets
    (["all_reduce"], all_reduce, [([6, 60], [2, 20], [0, 6])] * 3),
    (["all_reduce_coalesced"], all_reduce_coalesced, [[[3, 30], [2]]] * 3),
    (["broadcast"], broadcast, [[3, 30]] * 3),
    (["reduce"], reduce, [[1, 10], [6, 6000], [3, 30]]),
    (["all_gather"], all_gather, [[[1, 10], [2, 20], [3, 30]]] * 3),
    (["all_gather_coalesced"], all_gather_coalesced, [[[[1, 10], [0]], [[2, 20], [1]], [[3, 30], [2]]]] * 3),
    (["all_gather_into_tensor"], all_gather_into_tensor, [[1, 10, 2, 20, 3, 30]] * 3),
    (["gather"], gather, [None, [[1, 10], [2, 20], [3, 30]], None]),
    (["scatter"], scatter, [[1, 10], [2, 20], [3, 30]]),
    (["reduce_scatter"], reduce_scatter, [[6, 60], [12, 120], [18, 180]]),
    (["reduce_scatter_tensor"], reduce_scatter_tensor, [[6], [12], [18]]),
    (["all_to_all"], all_to_all, [[[0], [10], [20]], [[1], [11], [21]], [[2], [12], [22]]]),
    (["all_to_all_single"], all_to_all_single, [[], [0, 1, 2], [0, 0, 1, 1, 2, 2]]),
    (["all_gather_object"], all_gather_object, [["a", "ab", "abc"]] * 3),
    (["gather_object"], gather_object, [None, None, [{"rank": 0}, {"rank": 1}, {"rank": 2}]]),
    (["broadcast_object_list"], broadcast_object_list, [["one", {1}]] * 3),
    (["scatter_object_list"], scatter_object_list, [["zero", "stays"], [[1], "stays"], [2.0, "stays"]]),
    (["send_object_list", "recv_object_list"], send_and_recv_objects, [None, None, (1, ["one", {1}])]),
    (["send", "recv"], send_and_recv, [None, None, (0, [1, 10])]),
    (["isend", "irecv"], isend_and_irecv, [([True] * 2, [3, 30]), ([True] * 2, [1, 10]), ([True] * 2, [2, 20])]),
    (["batch_isend_irecv"], batch, [([True] * 2, [2, 20]), ([True] * 2, [3, 30]), ([True] * 2, [1, 10])]),
    (["barrier"], lambda r: dist.barrier(), [None] * 3),
    (["monitored_barrier"], lambda r: dist.monitored_barrier(timeout=120), [None] * 3),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("program", "wanted"), [row[1:] for row in TABLE], ids=[row[0][0] for row in TABLE])
def test_a_function_gives_each_rank_what_can_be_worked_out_by_hand(backend, program, wanted):
    assert run(backend, 3, program) == wanted


def test_every_function_that_speaks_to_others_stands_in_the_table():
    functions = {name for name in dist.__all__ if inspect.isfunction(getattr(dist, name))}

    assert functions - NO_TALK - ELSEWHERE == {name for names, *_ in TABLE for name in names}
