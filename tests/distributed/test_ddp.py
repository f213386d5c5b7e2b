"""DistributedDataParallel: gradients of the whole batch, in buckets that leave during the backward pass."""

import gc
from itertools import pairwise

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.distributed.buckets import assigned, layout
from jt_edu.distributed.group_base import read, write
from jt_edu.mpi.rank_team import join
from jt_edu.variable.parallel_context import team
from tests.distributed.ranks import BACKENDS, dist, run, simulated

pytestmark = pytest.mark.usefixtures("python_backend")

DDP = jt.nn.parallel.DistributedDataParallel
BATCH = np.random.RandomState(0).randn(12, 4)
TINY = 1e-6  # MiB: each parameter has a bucket of its own


def ranks(size, program):
    """Simulated ranks that have joined, on the python backend."""

    def body(rank):
        with jt.flag_scope(backend="python"):
            return program(rank)

    return simulated(size, body)


def net_of(seed=0):
    jt.manual_seed(seed)
    return jt.nn.Sequential(jt.nn.Linear(4, 5), jt.nn.Tanh(), jt.nn.Linear(5, 3)).double()


def loss_of(net, rows):
    return (net(jt.array(rows)) ** 2).mean()


def grads(net):
    return [None if p.grad is None else p.grad.numpy() for p in net.parameters()]


def whole_batch(seed=0, rows=BATCH):
    net = net_of(seed)
    loss_of(net, rows).backward()
    return grads(net)


def close(found, wanted, tolerance=1e-10):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


# gradients


@pytest.mark.parametrize("cap", [TINY, 1e-4, 25])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_gradients_are_those_of_the_whole_batch(size, cap):
    def program(rank):
        net = net_of()
        loss_of(DDP(net, bucket_cap_mb=cap), BATCH[rank::size]).backward()
        return grads(net)

    for found in ranks(size, program):
        close(found, whole_batch())


def test_gradients_in_float32_are_those_of_the_whole_batch():
    def program(rank):
        net = net_of().float()
        loss_of(DDP(net), BATCH[rank::2].astype("float32")).backward()
        return grads(net)

    close(ranks(2, program)[1], whole_batch(), 1e-6)


def test_ranks_that_speak_through_sockets_get_them_too():
    def program(rank):
        with jt.flag_scope(backend="python"):
            net = net_of(rank)
            ddp = DDP(net, bucket_cap_mb=TINY)
            loss_of(ddp, BATCH[rank::2]).backward()
            return grads(net)

    for found in run(BACKENDS[1], 2, program):
        close(found, whole_batch())


@pytest.mark.parametrize("optimizer", [jt.optim.SGD, jt.optim.Adam])
@pytest.mark.parametrize("with_loss", [True, False])
def test_both_ways_of_training_move_all_ranks_as_one_that_has_the_whole_batch(optimizer, with_loss):
    def train(net, model, rows):
        opt = optimizer(net.parameters(), lr=0.1)
        losses = []
        for _ in range(4):
            loss = loss_of(model, rows)
            if with_loss:
                opt.step(loss)
            else:
                opt.zero_grad()
                loss.backward()
                opt.step()
            losses.append(loss.item())
        return [p.numpy() for p in net.parameters()], losses

    def program(rank):
        net = net_of()
        return train(net, DDP(net, bucket_cap_mb=TINY), BATCH[rank::3])

    alone = net_of()
    wanted, _ = train(alone, alone, BATCH)
    for found, _ in ranks(3, program):
        close(found, wanted)


def test_nothing_is_averaged_a_second_time():
    def program(comm):
        with jt.flag_scope(backend="python"):
            dist.init_process_group()
            net = net_of()
            ddp = DDP(net)
            opt = jt.optim.SGD(net.parameters(), lr=0.1)
            opt.step(loss_of(ddp, BATCH[comm.rank :: 2]))
            comm.barrier()
            before = len(comm.world.record.calls)
            opt.step(loss_of(ddp, BATCH[comm.rank :: 2]))
            comm.barrier()
            return before, comm.world.record.calls

    before, calls = jt.simulate(2)(program)[0]

    mine = [c.words for c in calls[before:] if c.rank == 0]
    reductions = [words for words in mine if "llreduce" in words and not words.startswith("wait")]
    assert len(reductions) == 1, reductions  # one bucket, and no second mean of the optimizer


def test_uneven_shares_are_averaged_as_pytorch_does_by_the_number_of_ranks():
    shares = [BATCH[:3], BATCH[3:]]

    def program(rank):
        net = net_of()
        loss_of(DDP(net), shares[rank]).backward()
        return grads(net)

    wanted = [(a + b) / 2 for a, b in zip(whole_batch(rows=shares[0]), whole_batch(rows=shares[1]), strict=True)]
    close(ranks(2, program)[0], wanted)


# the start


def test_parameters_and_buffers_start_from_rank_0():
    def program(rank):
        net = jt.nn.Sequential(jt.nn.Linear(2, 2), jt.nn.BatchNorm(2))
        for v in [*net.parameters(), *net.buffers()]:
            v.update(jt.full(v.shape, float(rank + 1)).cast(v.dtype))
        DDP(net)
        return [v.numpy().ravel().tolist() for v in [*net.parameters(), *net.buffers()]]

    assert all(set(v) == {1.0} for found in ranks(3, program) for v in found)


def test_modules_that_differ_are_refused_and_the_parameter_is_named():
    def program(rank):
        DDP(jt.nn.Linear(2, 2 + rank))

    with pytest.raises(jt.RankError, match=r"weight of shape \(3, 2\).*on rank 1.*\(2, 2\).*on rank 0"):
        ranks(2, program)


@pytest.mark.parametrize(("arguments", "words"), [
    ({"module": 3}, "takes a module"),
    ({"module": "frozen"}, "without a parameter"),
    ({"bucket_cap_mb": 0}, "bucket_cap_mb as a number above 0"),
    ({"bucket_cap_mb": True}, "bucket_cap_mb as a number above 0"),
    ({"device_ids": ["gpu:0"]}, "gpu:0"),
    ({"device_ids": []}, "at least one"),
    ({"output_device": "moon"}, "moon"),
    ({"dim": "x"}, "dim as a whole number"),
    ({"broadcast_buffers": 3}, "broadcast_buffers"),
    ({"find_unused_parameters": "no"}, "find_unused_parameters"),
    ({"check_reduction": None}, "check_reduction"),
    ({"gradient_as_bucket_view": 2}, "gradient_as_bucket_view"),
    ({"process_group": 7}, "group"),
])  # fmt: skip
def test_arguments_that_make_no_sense_are_refused(arguments, words):
    frozen = jt.nn.Linear(1, 1)
    frozen.requires_grad_(False)

    def program(rank):
        given = {"module": jt.nn.Linear(1, 1), **arguments}
        given["module"] = frozen if given["module"] == "frozen" else given["module"]
        with pytest.raises(jt.ArgumentError, match=words):
            DDP(**given)

    ranks(1, program)


def test_a_rank_that_has_not_joined_is_told_how_to():
    with pytest.raises(jt.RankError, match="init_process_group"):
        DDP(jt.nn.Linear(1, 1))


def test_a_group_of_some_ranks_trains_by_itself():
    def program(rank):
        some = dist.new_group([0, 2])
        if rank == 1:
            with pytest.raises(jt.RankError, match="members of its group"):
                DDP(jt.nn.Linear(1, 1), process_group=some)
            return None
        net = jt.nn.Linear(1, 1, bias=False)
        DDP(net, process_group=some)(jt.array([[float(rank)]])).sum().backward()
        return net.weight.grad.item()

    assert ranks(3, program) == [1.0, None, 1.0]


def test_the_state_of_the_module_has_the_prefix_module():
    def program(rank):
        ddp = DDP(net_of())
        ddp.eval()
        inside = ddp.module.is_train
        ddp.train()
        return list(ddp.state_dict()), inside, ddp.module.is_train

    names = ["module.0.weight", "module.0.bias", "module.2.weight", "module.2.bias"]
    assert ranks(1, program) == [(names, False, True)]


# buckets


@pytest.mark.parametrize("limits", [[100], [10, 100], [1, 5, 40], [10_000]])
def test_buckets_are_those_of_pytorch(limits):
    torch = pytest.importorskip("torch")
    sizes = [3, 7, 1, 20, 2, 2, 9, 30, 1, 4]
    kinds = [torch.float32, torch.float64]
    tensors = [torch.zeros(n, dtype=kinds[n % 3 == 1]) for n in sizes]

    found = assigned([(t.numel() * t.element_size(), t.dtype) for t in tensors], limits)

    wanted = torch.distributed._compute_bucket_assignment_by_size(tensors, limits)
    assert found == [list(b) for b in (wanted[0] if isinstance(wanted[0][0], list) else wanted)]


def test_the_first_bucket_is_closed_with_1_mib_and_the_others_with_the_cap():
    params = [jt.zeros(256, 512) for _ in range(8)]  # 0.5 MiB each

    def sizes(cap):
        return [len(bucket) for bucket in layout(params, range(7, -1, -1), int(cap * (1 << 20)))]

    assert (sizes(2), sizes(0.5), sizes(25)) == ([2, 4, 2], [1] * 8, [2, 6])


def test_the_cap_is_given_in_mib():
    def program(rank):
        return [len(DDP(net_of(), bucket_cap_mb=cap).buckets) for cap in (25, 120 / (1 << 20), 121 / (1 << 20))]

    assert ranks(1, program) == [[1, 2, 2]]


def test_a_bucket_has_one_dtype():
    def program(rank):
        net = jt.nn.Sequential(jt.nn.Linear(2, 2), jt.nn.Linear(2, 2).double(), jt.nn.Linear(2, 2))
        return DDP(net).buckets

    assert ranks(1, program)[0] == [["2.bias", "2.weight", "0.bias", "0.weight"], ["1.bias", "1.weight"]]


class Backwards(jt.nn.Module):
    """Uses its layers in another order than it holds them."""

    def __init__(self):
        self.last, self.first = jt.nn.Linear(3, 1), jt.nn.Linear(4, 3)

    def execute(self, x):
        return self.last(self.first(x).tanh())


def test_after_the_first_step_buckets_stand_in_the_order_in_which_gradients_arrived():
    def program(rank):
        ddp = DDP(Backwards().double(), bucket_cap_mb=TINY)
        held = ddp.buckets
        opt = jt.optim.SGD(ddp.parameters(), lr=0.1)
        for _ in range(2):
            opt.step(loss_of(ddp, BATCH[rank::2]))
        return held, ddp.buckets, [e.name for e in ddp.events if e.what == "arrived"]

    held, arranged, arrived = ranks(2, program)[1]

    assert held == [["first.bias"], ["first.weight"], ["last.bias"], ["last.weight"]]
    assert (
        arranged == [[name] for name in arrived] == [["last.bias"], ["last.weight"], ["first.bias"], ["first.weight"]]
    )


def test_a_bucket_fires_before_the_gradients_of_earlier_layers_are_there():
    def program(rank):
        ddp = DDP(net_of(), bucket_cap_mb=TINY)
        loss_of(ddp, BATCH[rank::2]).backward()
        return ddp.events

    events = ranks(2, program)[0]

    built = [(e.what, e.bucket) for e in events if e.what in ("arrived", "fires")]
    assert built == [pair for b in range(4) for pair in (("arrived", b), ("fires", b))]
    assert [e.name for e in events if e.what == "arrived"] == ["2.bias", "2.weight", "0.bias", "0.weight"]
    assert [(e.what, e.bucket) for e in events[8:]] == [(w, b) for w in ("sent", "received") for b in range(4)]


def test_a_bucket_is_sent_before_the_kernels_of_earlier_layers_run():
    def program(rank):
        ddp = DDP(net_of(), bucket_cap_mb=TINY)
        loss = loss_of(ddp, BATCH[rank::2])
        with jt.trace() as seen:
            loss.backward()
        return [k.name for k in seen.kernels]

    names = ranks(2, program)[0]

    sends = [k for k, name in enumerate(names) if name == "ddp_send"]
    assert len(sends) == 4 and all(b - a > 1 for a, b in pairwise(sends[1:])), names
    assert names.index("ddp_receive") > sends[-1]


def test_buckets_fire_in_order_even_if_a_later_one_is_full_before():
    def program(rank):
        ddp = DDP(Backwards().double(), bucket_cap_mb=TINY)  # the last gradients belong to the first bucket
        loss_of(ddp, BATCH[rank::2]).backward()
        return [(e.what, e.bucket) for e in ddp.events if e.what in ("arrived", "fires")]

    assert ranks(2, program)[0] == [
        ("arrived", 2), ("arrived", 3), ("arrived", 0), ("fires", 0), ("arrived", 1), ("fires", 1), ("fires", 2),
        ("fires", 3),
    ]  # fmt: skip


def test_the_record_of_the_ranks_tells_which_bucket_a_message_was():
    def program(comm):
        with jt.flag_scope(backend="python"):
            dist.init_process_group()
            loss_of(DDP(net_of(), bucket_cap_mb=TINY), BATCH[comm.rank :: 2]).backward()
            comm.barrier()
            return [c.line for c in comm.world.record.calls if c.rank == 0]

    lines = jt.simulate(2)(program)[0]

    assert [k for k in range(4) if any(f"bucket {k} " in line for line in lines)] == [0, 1, 2, 3]


def test_gradients_are_views_of_their_bucket_if_that_is_wanted():
    def program(rank):
        shared = []
        for views in (True, False):
            net = net_of()
            loss_of(DDP(net, gradient_as_bucket_view=views), BATCH[rank::2]).backward()
            a, b = (p.grad.node.data for p in net.parameters()[:2])
            base = a.base if a.base is not None else a
            shared.append(np.may_share_memory(base, b))
            close(grads(net), whole_batch())
        return shared

    assert ranks(2, program) == [[True, False]] * 2


# parameters without a gradient


class Branches(jt.nn.Module):
    """Two layers, of which a call uses those that it is told."""

    def __init__(self):
        self.a, self.b, self.c = jt.nn.Linear(4, 1), jt.nn.Linear(4, 1), jt.nn.Linear(4, 1)

    def execute(self, x, used):
        return sum(getattr(self, name)(x) for name in used)


def test_a_parameter_without_a_gradient_is_an_error_that_names_it():
    def program(rank):
        ddp = DDP(Branches().double())
        ddp(jt.array(BATCH), "ac").sum().backward()

    with pytest.raises(jt.RankError, match=r"no gradient for b.weight, b.bias[\s\S]*find_unused_parameters=True"):
        ranks(2, program)


def test_an_output_that_the_loss_leaves_out_makes_parameters_unused():
    class Two(jt.nn.Module):
        def __init__(self):
            self.a, self.b = jt.nn.Linear(4, 1), jt.nn.Linear(4, 1)

        def execute(self, x):
            return {"a": self.a(x), "b": [self.b(x)]}

    def program(rank):
        DDP(Two().double())(jt.array(BATCH))["a"].sum().backward()

    with pytest.raises(jt.RankError, match=r"no gradient for b.weight, b.bias"):
        ranks(2, program)


@pytest.mark.filterwarnings("ignore:the loss does not depend on c.weight, c.bias")
@pytest.mark.parametrize("with_loss", [True, False])
def test_parameters_may_be_unused_here_and_there_and_everywhere(with_loss):
    def program(rank):
        jt.manual_seed(3)
        net = Branches().double()
        ddp = DDP(net, find_unused_parameters=True, bucket_cap_mb=TINY)
        before = [p.numpy() for p in net.parameters()]
        opt = jt.optim.SGD(net.parameters(), lr=1.0)
        loss = ddp(jt.array(BATCH[rank::2]), "a" if rank == 0 else "b").mean()
        if with_loss:
            opt.step(loss)
        else:
            loss.backward()
            assert net.c.weight.grad is None
            opt.step()
        return [b - p.numpy() for b, p in zip(before, net.parameters(), strict=True)]

    for found in ranks(2, program):
        a, b = BATCH[0::2].mean(0) / 2, BATCH[1::2].mean(0) / 2
        close([f.ravel() for f in found], [a, [0.5], b, [0.5], np.zeros(4), [0.0]])


# accumulation


def test_gradients_inside_of_no_sync_stay_on_their_rank_and_travel_with_the_next():
    def program(rank):
        net = net_of()
        ddp = DDP(net, bucket_cap_mb=TINY)
        rows = BATCH[rank::2]
        with ddp.no_sync():
            loss_of(ddp, rows[:2]).backward()
            alone = grads(net)
            loss_of(ddp, rows[2:4]).backward()
        loss_of(ddp, rows[4:]).backward()
        return alone, grads(net)

    found = ranks(2, program)

    parts = [whole_batch(rows=BATCH[rank::2][s]) for rank in range(2) for s in (slice(2), slice(2, 4), slice(4, 6))]
    wanted = [sum(p) / 2 for p in zip(*parts, strict=True)]
    for rank, (alone, together) in enumerate(found):
        close(alone, parts[3 * rank])
        close(together, wanted)
    close(found[0][1], found[1][1], 0)  # bit by bit alike


def test_gradients_add_up_over_backward_passes():
    def program(rank):
        net = net_of()
        ddp = DDP(net)
        for half in (BATCH[:6], BATCH[6:]):
            (loss_of(ddp, half[rank::2]) / 2).backward()
        return grads(net)

    close(ranks(2, program)[1], whole_batch())


def test_a_module_that_is_called_twice_before_one_backward_pass_counts_twice():
    def program(rank):
        net = net_of()
        ddp = DDP(net, bucket_cap_mb=TINY)
        ((loss_of(ddp, BATCH[:6][rank::2]) + loss_of(ddp, BATCH[6:][rank::2])) / 2).backward()
        return grads(net)

    close(ranks(2, program)[0], whole_batch())


def test_one_parameter_under_two_names_and_one_used_twice_have_one_gradient():
    class Tied(jt.nn.Module):
        def __init__(self):
            self.a = jt.nn.Linear(4, 4, bias=False)
            self.b = jt.nn.Linear(4, 4, bias=False)
            self.b.weight = self.a.weight

        def execute(self, x):
            return self.b(self.a(self.a(x).tanh()).tanh())

    def one():
        jt.manual_seed(1)
        return Tied().double()

    def program(rank):
        net = one()
        ddp = DDP(net)
        loss_of(ddp, BATCH[rank::2]).backward()
        return grads(net), ddp.buckets

    alone = one()
    loss_of(alone, BATCH).backward()
    found, buckets = ranks(2, program)[0]
    close(found, grads(alone))
    assert buckets == [["a.weight"]]


def test_frozen_parameters_are_left_alone():
    def program(rank):
        net = net_of()
        net[0].requires_grad_(False)
        ddp = DDP(net)
        loss_of(ddp, BATCH[rank::2]).backward()
        return grads(net), ddp.buckets

    found, buckets = ranks(2, program)[0]
    assert found[:2] == [None, None] and buckets == [["2.bias", "2.weight"]]
    close(found[2:], whole_batch()[2:])


def test_terms_that_read_parameters_past_the_call_are_averaged_too():
    def program(rank):
        net = net_of()
        ddp = DDP(net)
        (loss_of(ddp, BATCH[rank::2]) + (rank + 1) * (net[0].weight ** 2).sum()).backward()
        return grads(net)

    def alone():
        net = net_of()
        (loss_of(net, BATCH) + 1.5 * (net[0].weight ** 2).sum()).backward()
        return grads(net)

    for found in ranks(2, program):
        close(found, alone())


def test_vars_that_a_module_keeps_aside_are_averaged_too():
    class Aside(jt.nn.Module):
        def __init__(self):
            self.layer = jt.nn.Linear(4, 2)

        def execute(self, x):
            y = self.layer(x)
            self._aside = (y**2).mean()
            return y.sum(1)

    def one():
        jt.manual_seed(2)
        return Aside().double()

    def program(rank):
        net = one()
        (DDP(net)(jt.array(BATCH[rank::2])).mean() + net._aside).backward()
        return grads(net)

    alone = one()
    (alone(jt.array(BATCH)).mean() + alone._aside).backward()
    for found in ranks(2, program):
        close(found, grads(alone))


def test_gradients_of_inputs_are_those_of_this_rank():
    def program(rank):
        x = jt.array(BATCH[rank::2])
        net = net_of()
        return jt.grad(loss_of_var(DDP(net), x), x).numpy()

    def loss_of_var(model, x):
        return (model(x) ** 2).mean()

    x = jt.array(BATCH[1::2])
    close([ranks(2, program)[1]], [jt.grad(loss_of_var(net_of(), x), x).numpy()])


def test_a_loss_that_was_printed_before_the_backward_pass_has_the_same_gradients():
    def program(rank):
        net = net_of()
        loss = loss_of(DDP(net), BATCH[rank::2])
        if rank == 0:
            loss.item()
        loss.backward()
        return grads(net)

    for found in ranks(2, program):
        close(found, whole_batch())


def test_calls_without_gradients_send_nothing():
    def program(rank):
        ddp = DDP(net_of())
        with jt.no_grad():
            ddp(jt.array(BATCH[: 1 + rank]))
        if rank == 0:
            with jt.no_grad():
                return ddp(jt.array(BATCH)).shape
        return None

    assert ranks(2, program)[0] == (12, 3)


def test_check_reduction_refuses_a_call_whose_gradients_nobody_asked_for():
    def program(rank):
        for checks in (False, True):
            ddp = DDP(net_of(), check_reduction=checks)
            loss_of(ddp, BATCH).backward()
            ddp(jt.array(BATCH))
            if checks:
                with pytest.raises(jt.GradientError, match="check_reduction"):
                    ddp(jt.array(BATCH))
            else:
                ddp(jt.array(BATCH))

    ranks(1, program)


# buffers


@pytest.mark.parametrize("follow", [True, False])
def test_buffers_follow_rank_0_at_each_call_if_that_is_wanted(follow):
    def program(rank):
        net = jt.nn.Sequential(jt.nn.Linear(4, 2), jt.nn.BatchNorm1d(2)).double()
        ddp = DDP(net, broadcast_buffers=follow)
        for _ in range(2):
            loss_of(ddp, BATCH[rank::2] + rank).backward()
        net[1].eval()
        loss_of(ddp, BATCH[rank::2]).backward()
        return net[1].running_mean.numpy()

    a, b = ranks(2, program)

    assert np.allclose(a, b) == follow


def test_batch_norm_sees_the_batch_of_its_rank():
    def program(rank):
        net = jt.nn.BatchNorm1d(4).double()
        return DDP(net)(jt.array(BATCH[rank::2])).numpy().mean(0)

    for mean in ranks(2, program):
        close(mean, np.zeros(4))


# several devices of one rank


def test_several_devices_cut_the_batch_of_a_rank_once_more():
    seen = []

    class Looks(jt.nn.Module):
        def __init__(self):
            self.layer = jt.nn.Linear(4, 3)

        def execute(self, x):
            seen.append(x.shape)
            return self.layer(x)

    def program(rank):
        jt.manual_seed(0)
        net = Looks().double()
        y = DDP(net, device_ids=["cpu:0", "cpu:1"], output_device="cpu:1", dim=0)(jt.array(BATCH[rank::2]))
        (y**2).mean().backward()
        return y.shape, grads(net)

    jt.manual_seed(0)
    alone = Looks().double()
    (alone(jt.array(BATCH)) ** 2).mean().backward()
    seen.clear()
    for shape, found in ranks(2, program):
        assert shape == (6, 3)
        close(found, grads(alone))
    assert seen == [(3, 4)] * 4


# a group of one's own


def test_it_works_on_a_process_group_of_ones_own():
    class Doubling(dist.ProcessGroup):
        """One rank, in whose world everybody says the same twice."""

        def allreduce(self, tensors, opts=None):
            return dist.Finished([write(tensors[0], 2 * read(tensors[0]))])

        def broadcast(self, tensors, opts=None):
            return dist.Finished(tensors)

    def program(rank):
        net = net_of()
        loss_of(DDP(net, process_group=Doubling(0, 1)), BATCH).backward()
        return grads(net)

    close(ranks(1, program)[0], [2 * g for g in whole_batch()])


def test_the_last_bucket_waits_for_a_rank_that_never_comes_and_the_error_tells_it():
    def program(rank):
        net = net_of()
        ddp = DDP(net)
        if rank == 0:
            loss_of(ddp, BATCH).backward()

    with pytest.raises(jt.RankError, match=r"rank 0.*\n?[\s\S]*llreduce"):
        ranks(2, program)


# what else may stand around it


def test_a_compiled_step_trains_all_ranks_alike():
    def train(net, model, rows):
        opt = jt.optim.Adam(net.parameters(), lr=0.1)

        @jt.compile
        def step(x):
            loss = (model(x) ** 2).mean()
            opt.step(loss)
            return loss

        for _ in range(5):
            step(jt.array(rows)).sync()
        return [p.numpy() for p in net.parameters()]

    def program(rank):
        net = net_of()
        return train(net, DDP(net, bucket_cap_mb=TINY), BATCH[rank::2])

    alone = net_of()
    wanted = train(alone, alone, BATCH)
    for found in ranks(2, program):
        close(found, wanted)


def test_kernels_of_numba_give_the_same():
    def program(rank):
        net = net_of()
        loss_of(DDP(net, bucket_cap_mb=TINY), BATCH[rank::2]).backward()
        return grads(net)

    with jt.flag_scope(backend="numba"):
        for found in simulated(2, program):
            close(found, whole_batch())


def test_outputs_in_objects_that_nobody_looks_into_are_averaged_too():
    class Answer:
        pass

    class Wraps(jt.nn.Module):
        def __init__(self):
            self.layer = jt.nn.Linear(4, 3)

        def execute(self, x):
            answer = Answer()
            answer.y = self.layer(x)
            return answer

    def one():
        jt.manual_seed(4)
        return Wraps().double()

    def program(rank):
        net = one()
        ddp = DDP(net)
        (ddp(jt.array(BATCH[rank::2])).y ** 2).mean().backward()
        return grads(net)

    alone = one()
    (alone(jt.array(BATCH)).y ** 2).mean().backward()
    for found in ranks(2, program):
        close(found, grads(alone))


def test_the_batch_of_several_devices_may_lie_along_another_axis():
    class Turned(jt.nn.Module):
        def __init__(self):
            self.layer = jt.nn.Linear(4, 3)
            self._seen = []

        def execute(self, x):
            self._seen.append(x.shape)
            return self.layer(x.transpose(0, 1)).transpose(0, 1)

    def program(rank):
        net = Turned().double()
        y = DDP(net, device_ids=["cpu:0", "cpu:1"], dim=1)(jt.array(BATCH.T))
        return net._seen, y.shape

    assert ranks(1, program) == [([(4, 6), (4, 6)], (3, 12))]


def test_parameters_are_free_again_when_the_module_around_is_gone():
    def program(rank):
        net = net_of()
        ddp = DDP(net)
        watched = [len(p.hooks) for p in net.parameters()]
        del ddp
        gc.collect()
        return watched, [len(p.hooks) for p in net.parameters()]

    assert ranks(1, program) == [([1] * 4, [0] * 4)]


def test_a_rank_has_no_team_any_more():
    def program(comm):
        dist.init_process_group()
        before = team() is not None
        DDP(jt.nn.Linear(1, 1))
        return before, team()

    assert jt.simulate(2)(program) == [(True, None)] * 2


def test_a_team_that_came_back_is_put_aside_by_the_next_call():
    def program(comm):
        dist.init_process_group()
        ddp = DDP(jt.nn.Linear(1, 1))
        join(comm)  # as at the end of a single_process_scope
        before = team() is not None
        ddp(jt.ones(1, 1))
        return before, team()

    assert jt.simulate(2)(program) == [(True, None)] * 2
