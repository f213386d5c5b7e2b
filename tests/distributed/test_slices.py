"""An all-reduce in slices: the sums of the ring, in small messages, into memory that only its Var has."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.distributed import ring_allreduce, socket_mesh, tcp_group
from jt_edu.distributed.group_base import give
from tests.distributed.ranks import dist, run


def part(rank, count):
    return np.random.default_rng(rank).normal(size=count).astype(np.float32)


def by_slices(monkeypatch, size, count, most):
    """What each rank has of an all-reduce over sockets in slices of so many bytes."""
    monkeypatch.setattr(tcp_group, "LARGE", 0)
    monkeypatch.setattr(ring_allreduce, "SLICE", most)

    def program(rank):
        x = jt.array(part(rank, count))
        dist.all_reduce(x)
        return x.numpy(copy=True)

    return run("tcp", size, program)


@pytest.mark.parametrize("count", [0, 1, 4, 1001])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_slices_have_the_bits_of_the_ring_however_small_they_are(monkeypatch, size, count):
    def ring(comm):
        out = np.empty(count, np.float32)
        comm.Allreduce(part(comm.rank, count), out, algorithm="ring")
        return out

    wanted = jt.simulate(size)(ring)

    for most in (4, 64, 1 << 20):
        np.testing.assert_array_equal(by_slices(monkeypatch, size, count, most), wanted)


@pytest.mark.parametrize("size", [2, 3])
def test_no_message_is_larger_than_a_slice_and_none_is_sent_twice(monkeypatch, size):
    sent, send = [], socket_mesh.Peer.send

    def spied(peer, kind, plane, tag, numbers, deadline):
        sent.extend([numbers.nbytes] if kind == socket_mesh.NUMBERS else [])
        send(peer, kind, plane, tag, numbers, deadline)

    monkeypatch.setattr(socket_mesh.Peer, "send", spied)
    by_slices(monkeypatch, size, 6000, 1000)

    assert max(sent) <= 1000 and sum(sent) == 2 * (size - 1) * 24_000  # the least that all ranks together can send


def test_many_numbers_go_in_slices_and_few_do_not(monkeypatch):
    calls, allreduce = [], ring_allreduce.allreduce
    monkeypatch.setattr(
        ring_allreduce, "allreduce", lambda wire, x, op: calls.append(x.nbytes) or allreduce(wire, x, op)
    )

    run("tcp", 2, lambda rank: [dist.all_reduce(jt.ones(n)) for n in (10, tcp_group.LARGE // 4)])

    assert calls == [tcp_group.LARGE] * 2


@pytest.mark.parametrize("backend", ["threads", "tcp"])
def test_what_was_made_of_a_var_before_keeps_its_old_numbers(backend):
    def program(rank):
        x = jt.ones(100_000)
        before, lazy = x.detach(), x * 2
        dist.all_reduce(x)
        first = x.detach()
        dist.all_reduce(x)
        return [float(v.numpy().max()) for v in (before, lazy, first, x)]

    assert run(backend, 2, program) == [[1.0, 2.0, 2.0, 4.0]] * 2


def test_a_var_keeps_numbers_where_they_lie_and_copies_a_view_of_somebodys():
    x, numbers = jt.zeros(2, 2), np.arange(4.0, dtype=np.float32)

    assert np.shares_memory(give(x, numbers).numpy(), numbers) and x.tolist() == [[0, 1], [2, 3]]
    numbers.setflags(write=False)
    assert not np.shares_memory(give(x, numbers).numpy(), numbers)
