"""After one seed on all ranks, what all draw is alike, and what each draws for its own examples is not."""

import random

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.data import ArrayDataset, DataLoader
from jt_edu.variable.parallel_context import apart
from tests.distributed.ranks import run


def masks(*_):
    jt.seed(5)
    drop = nn.Dropout(0.5)
    return [drop(jt.ones(64)).tolist() for _ in range(2)]


@pytest.mark.parametrize("backend", ["threads", "tcp"])
def test_each_rank_forgets_other_numbers(backend):
    found = run(backend, 3, masks)

    assert len({tuple(mask) for two in found for mask in two}) == 6


CHANNELS = (nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)


@pytest.mark.parametrize("forget", CHANNELS, ids=lambda kind: kind.__name__)
def test_each_rank_forgets_other_channels(forget):
    shape = {nn.Dropout1d: (2, 32, 1), nn.Dropout3d: (2, 32, 1, 1, 1)}.get(forget, (2, 32, 1, 1))

    zero, one = jt.simulate(2)(lambda: (jt.seed(5), forget(0.5)(jt.ones(shape)).tolist())[1])

    assert zero != one


def test_the_same_seed_gives_the_same_masks_again():
    assert jt.simulate(2)(masks) == jt.simulate(2)(masks)

    def twice():
        return masks(), masks()

    assert all(first == second for first, second in jt.simulate(2)(twice))


def test_a_program_that_runs_alone_draws_what_it_always_did():
    jt.seed(5)
    wanted = (jt.random((64,)).numpy() >= 0.5) * 2.0

    assert masks()[0] == wanted.tolist() == jt.simulate(1)(masks)[0][0]


def test_parameters_start_alike_however_much_a_rank_has_forgotten_before():
    def program(comm):
        jt.seed(5)
        nn.Dropout(0.5)(jt.ones(10 + comm.rank)).sync()
        return nn.Linear(3, 2).weight.tolist()

    zero, one, two = jt.simulate(3)(program)

    assert zero == one == two


def test_masks_of_a_compiled_step_differ_by_rank_and_from_step_to_step():
    def program():
        jt.seed(5)
        step = jt.compile(lambda x: nn.dropout(x, 0.5))
        return [tuple(step(jt.ones(64)).tolist()) for _ in range(4)]

    found = jt.simulate(2)(program)

    assert len({mask for four in found for mask in four}) == 8


def test_a_loader_does_not_begin_the_masks_anew():
    def program():
        jt.seed(5)
        found = []
        for (x,) in DataLoader(ArrayDataset(np.ones((4, 64), np.float32)), batch_size=2):
            found.append(tuple(nn.dropout(x, 0.5).reshape(-1).tolist()))
        return found

    found = jt.simulate(2)(program)

    assert len({mask for two in found for mask in two}) == 4


class Shaken(ArrayDataset):
    """What it gives is drawn."""

    def __getitem__(self, k):
        return (np.array([np.random.rand(), random.random()]),)  # noqa: NPY002 - what is asked about


def test_ranks_change_their_examples_in_ways_of_their_own():
    def program():
        jt.seed(5)
        return [x.tolist() for (x,) in Shaken(np.zeros(8), batch_size=4)]

    zero, one = jt.simulate(2)(program)

    assert zero != one and [zero, one] == jt.simulate(2)(program)


def test_numbers_apart_say_so_in_their_count_only():
    def program():
        jt.seed(5)
        jt.random((7,), generator=apart())
        return jt.random((3,)).tolist()

    jt.seed(5)
    assert jt.simulate(2)(program) == [jt.random((3,)).tolist()] * 2


def test_numpys_and_pythons_numbers_belong_to_each_rank():
    def program(comm):
        np.random.seed(comm.rank)  # noqa: NPY002 - what is asked about
        random.seed(comm.rank)
        comm.barrier()
        return np.random.rand(2).tolist(), random.random()  # noqa: NPY002

    wanted = [(np.random.RandomState(r).rand(2).tolist(), random.Random(r).random()) for r in range(3)]
    np.random.seed(9)  # noqa: NPY002
    random.seed(9)

    assert jt.simulate(3)(program) == wanted
    assert np.random.rand() == np.random.RandomState(9).rand()  # noqa: NPY002
    assert random.random() == random.Random(9).random()


def test_ranks_inside_of_ranks_leave_the_generators_as_they_were():
    before = np.random.rand, random.random

    def program():
        inner = jt.simulate(2)(lambda comm: (np.random.seed(comm.rank), np.random.rand())[1])  # noqa: NPY002
        return inner, np.random.rand is not before[0]

    wanted = [np.random.RandomState(r).rand() for r in range(2)]
    assert jt.simulate(2)(program) == [(wanted, True)] * 2
    assert (np.random.rand, random.random) == before


def test_other_names_of_the_seed_mean_the_same():
    assert jt.seed is jt.set_seed is jt.set_global_seed is jt.manual_seed
