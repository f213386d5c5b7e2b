"""Laws of groups: communicators that are made from others; see laws.py."""

from jt_edu.mpi import MPI
from jt_edu.mpi.base.constants import COMM_NULL, COMM_TYPE_SHARED, UNDEFINED
from jt_edu.mpi.communicator.request import Request


def law_split_makes_groups(comm):
    group = comm.Split(comm.rank % 2, key=-comm.rank)
    mine = [rank for rank in range(comm.size) if rank % 2 == comm.rank % 2][::-1]

    assert (group.size, group.rank) == (len(mine), mine.index(comm.rank))
    assert group.allgather(comm.rank) == mine
    assert group.allreduce(1) == len(mine)
    group.Free()


def law_who_says_undefined_is_in_no_group(comm):
    group = comm.Split(UNDEFINED if comm.rank == 0 else 4, 0)

    assert bool(group) is (comm.rank > 0)
    assert (group == COMM_NULL) is (comm.rank == 0)
    if group:
        assert group.size == comm.size - 1
        group.Free()


def law_messages_of_a_copy_meet_nobody_elses(comm):
    copy, to, by = comm.Dup(), (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    sent = [comm.isend("old", to, 1), copy.isend("new", to, 1)]

    assert copy.recv(source=by, tag=1) == "new"
    assert comm.recv(source=by, tag=1) == "old"
    assert copy.allgather(copy.rank) == list(range(comm.size))
    Request.waitall(sent)
    copy.Free()


def law_groups_of_groups(comm):
    half = comm.Split(comm.rank // 2)
    alone = half.Split(half.rank)
    again = alone.Dup().Split(0)

    assert (alone.size, again.size, again.rank) == (1, 1, 0)
    assert half.bcast(comm.rank, root=half.size - 1) == min(comm.rank | 1, comm.size - 1)
    assert again.allreduce(comm.rank) == comm.rank
    for group in (again, alone, half):
        group.Free()


def law_groups_are_made_by_choosing(comm):
    everyone = comm.Get_group()
    chosen = everyone.Incl(range(comm.size - 1, -1, -2))
    rest = everyone.Difference(chosen)

    assert (everyone.size, everyone.rank) == (comm.size, comm.rank)
    assert chosen.Union(rest).size == comm.size and chosen.Intersection(rest).size == 0
    assert everyone.Translate_ranks([comm.rank], everyone) == [comm.rank]
    assert chosen.Translate_ranks(None, everyone) == list(range(comm.size - 1, -1, -2))
    assert (
        everyone.Excl([comm.rank]).rank
        == UNDEFINED
        == everyone.Translate_ranks([comm.rank], everyone.Excl([comm.rank]))[0]
    )
    group = comm.Create(chosen)
    assert bool(group) is (chosen.rank != UNDEFINED)
    if group:
        assert (group.rank, group.size) == (chosen.rank, chosen.size)
        assert group.allgather(comm.rank) == list(range(comm.size - 1, -1, -2))
        group.Set_name("the chosen")
        assert group.Get_name() == group.name == "the chosen"
        group.Free()


def law_disjoint_groups_are_made_at_once(comm):
    """Each rank names the group that it will be in."""
    everyone, half = comm.Get_group(), comm.size // 2
    low, high = list(range(half)), list(range(comm.size - 1, half - 1, -1))
    mine = low if comm.rank < half else high

    group = comm.Create(everyone.Incl(mine))
    alone = comm.Create(everyone.Incl([comm.rank]))

    assert (group.size, group.rank) == (len(mine), mine.index(comm.rank))
    assert group.allgather(comm.rank) == mine
    assert (alone.size, alone.rank, alone.allreduce(comm.rank)) == (1, 0, comm.rank)
    for made in (group, alone):
        made.Free()


def law_collectives_of_groups_do_not_meet(comm):
    """One half does twice as much as the other."""
    half = comm.Split(comm.rank % 2)
    total = [half.allreduce(1) for _ in range(2 if comm.rank % 2 else 1)]

    assert total[0] == half.size
    assert comm.allreduce(len(total)) == comm.size + comm.size // 2
    half.Free()


def law_groups_of_one_machine(comm):
    here = comm.Split_type(COMM_TYPE_SHARED, key=-comm.rank)
    nowhere = comm.Split_type(COMM_TYPE_SHARED if comm.rank else UNDEFINED)

    assert (here.size, here.rank) == (comm.size, comm.size - 1 - comm.rank)
    assert here.allgather(comm.rank) == list(range(comm.size))[::-1]
    assert bool(nowhere) is (comm.rank > 0)
    for group in (here, nowhere):
        if group:
            group.Free()


def law_a_group_is_made_by_its_own_ranks_alone(comm):
    """The others do something else meanwhile; and again, so that the second one is no copy of the first."""
    chosen = comm.group.Range_incl([(comm.size - 1, 0, -2)])
    made = [comm.Create_group(chosen, tag) for tag in (0, 0, 5)] if chosen.rank >= 0 else []

    assert bool(made) is (comm.rank % 2 == (comm.size - 1) % 2)
    for number, group in enumerate(made):
        assert group.allgather(comm.rank) == list(range(comm.size - 1, -1, -2))
        sent = [other.isend((k, number), (group.rank + 1) % group.size) for k, other in enumerate(made)]
        assert [other.recv() for other in made[::-1]] == [(k, number) for k in range(len(made))][::-1]
        Request.waitall(sent)
    for group in made:
        group.Free()


def law_groups_and_communicators_are_compared(comm):
    everyone, copy, turned = comm.group, comm.Dup(), comm.Split(0, key=-comm.rank)
    similar = MPI.SIMILAR if comm.size > 1 else MPI.IDENT
    alone = comm.Split(comm.rank)

    assert everyone.Compare(copy.group) == MPI.IDENT and everyone == copy.group != MPI.GROUP_EMPTY
    assert MPI.Group.Compare(everyone, turned.group) == similar
    assert everyone.Compare(everyone.Excl([0])) == MPI.UNEQUAL
    assert comm.Compare(comm) == MPI.IDENT and MPI.Comm.Compare(comm, copy) == MPI.CONGRUENT
    assert comm.Compare(turned) == max(similar, MPI.CONGRUENT)
    assert comm.Compare(alone) == (MPI.UNEQUAL if comm.size > 1 else MPI.CONGRUENT)
    for group in (copy, turned, alone):
        group.Free()


def law_the_empty_group_is_one_of_nobody(comm):
    empty = MPI.GROUP_EMPTY
    assert empty == comm.group.Incl([]) and empty and (empty.size, empty.rank) == (0, UNDEFINED)
    assert comm.Create(empty) == COMM_NULL

    empty.Free()
    assert empty == MPI.GROUP_NULL and MPI.GROUP_EMPTY and empty != MPI.GROUP_EMPTY


def law_groups_of_ranges(comm):
    everyone = comm.group

    assert everyone.members == comm.Get_group().members
    assert everyone.Range_incl([(0, comm.size - 1, 2)]).size == (comm.size + 1) // 2
    assert everyone.Range_excl([(0, comm.size - 1, 1)]).size == 0
    assert everyone.Intersect(everyone.Incl([0])).size == 1
    assert comm.Is_intra() and not comm.Is_inter()


LAWS = [law for name, law in list(globals().items()) if name.startswith("law_")]
