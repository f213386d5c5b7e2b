"""DistributedSampler: the same lists as PyTorch's without shuffling, and fair ones with."""

import pytest

import jt_edu as jt
from tests.distributed.ranks import dist


def lists(count, world, **named):
    return [list(dist.DistributedSampler(range(count), world, rank, **named)) for rank in range(world)]


def test_ten_examples_over_four_ranks_go_round_and_are_filled_up():
    assert lists(10, 4, shuffle=False) == [[0, 4, 8], [1, 5, 9], [2, 6, 0], [3, 7, 1]]


@pytest.mark.parametrize("count", [1, 2, 10, 11, 100])
@pytest.mark.parametrize("world", [1, 2, 3, 4])
@pytest.mark.parametrize("drop_last", [False, True])
def test_without_shuffling_the_lists_are_pytorchs(torch, count, world, drop_last):
    theirs = torch.utils.data.distributed.DistributedSampler
    kinds = {"shuffle": False, "drop_last": drop_last}

    for rank in range(world):
        wanted = theirs(range(count), world, rank, **kinds)
        if drop_last and count < world:
            continue  # PyTorch counts wrong there
        ours = dist.DistributedSampler(range(count), world, rank, **kinds)

        assert list(ours) == list(wanted)
        assert (len(ours), ours.num_samples, ours.total_size) == (len(wanted), wanted.num_samples, wanted.total_size)


@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_shuffled_parts_are_equally_long_and_cover_all(world):
    parts = lists(11, world)

    assert len({len(p) for p in parts}) == 1 and set().union(*parts) == set(range(11))
    assert sorted(k for part in lists(12, world) for k in part) == list(range(12))


def test_epochs_differ_and_all_ranks_agree_on_them():
    def order(epoch, seed=0):
        samplers = [dist.DistributedSampler(range(50), 2, rank, seed=seed) for rank in range(2)]
        for sampler in samplers:
            sampler.set_epoch(epoch)
        return [list(s) for s in samplers]

    assert order(0) != order(1) and order(0) != order(0, seed=1) and order(3) == order(3)
    assert not set(order(1)[0]) & set(order(1)[1])


def test_who_forgets_set_epoch_sees_the_same_order_again():
    sampler = dist.DistributedSampler(range(50), 2, 0)

    assert list(sampler) == list(sampler)


def test_rank_and_world_come_from_the_process_group():
    def program(comm):
        dist.init_process_group()
        return list(dist.DistributedSampler(range(6), shuffle=False))

    assert jt.simulate(3)(program) == [[0, 3], [1, 4], [2, 5]]


def test_a_loader_goes_over_the_part_of_its_rank():
    sampler = dist.DistributedSampler(range(5), 2, 1, shuffle=False)

    batches = [batch.tolist() for batch in jt.data.DataLoader([10, 11, 12, 13, 14], batch_size=2, sampler=sampler)]

    assert batches == [[11, 13], [10]]


@pytest.mark.parametrize("arguments", [
    {"num_replicas": 2, "rank": 2}, {"num_replicas": 0, "rank": 0}, {"num_replicas": 2, "rank": -1},
    {"num_replicas": 2, "rank": 0, "seed": -1}, {"num_replicas": 2, "rank": 0, "shuffle": 3}, {"num_replicas": 1.5},
])  # fmt: skip
def test_arguments_that_make_no_sense_are_refused(arguments):
    with pytest.raises((jt.ArgumentError, jt.RankError)):
        dist.DistributedSampler(range(3), **{"rank": 0, **arguments})


def test_without_a_process_group_somebody_has_to_say_how_many():
    with pytest.raises(jt.RankError, match="init_process_group"):
        dist.DistributedSampler(range(3))
