"""Small operators that index, sort and join: how much Python they take the second time, counted and not timed."""

import gc
import re
import sys
import weakref
from collections import namedtuple

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.base.context import current
from jt_edu.base.tracebacks import HOME
from jt_edu.ops.index_parsing import TIMES, meant, spelled

pytestmark = pytest.mark.usefixtures("python_backend")

OFTEN = 8  # calls, after which all that can be remembered is
TABLE = np.arange(12.0, dtype="float32").reshape(3, 4)
PLACES = np.array([2, 0, 2])
COLUMN = jt.array(PLACES.reshape(3, 1))


def entered(call):
    """The functions of ours that a call enters, once it was made before."""
    for _ in range(OFTEN):
        call()
    seen = []

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(HOME):
            seen.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return seen


def written(x, key, value):
    x[key] = value
    return x


ONCE = {  # written by a function that is not entered a second time
    "max": lambda x, i: x.max(1),
    "any": lambda x, i: x.any(1),
    "concat": lambda x, i: jt.concat([x, x]),
    "stack": lambda x, i: jt.stack([x, x]),
    "sort": lambda x, i: x.sort(1),
    "topk": lambda x, i: x.topk(2),
    "kthvalue": lambda x, i: x.kthvalue(2),
    "cumsum": lambda x, i: x.cumsum(1),
    "cummax": lambda x, i: x.cummax(1),
    "flip": lambda x, i: x.flip(1),
    "roll": lambda x, i: x.roll(3, 1),
    "permute": lambda x, i: x.permute(1, 0),
    "moveaxis": lambda x, i: x.moveaxis(0, 1),
    "tile": lambda x, i: x.tile(2),
    "split": lambda x, i: x.split(2),
    "chunk": lambda x, i: x.chunk(2),
    "index_select": lambda x, i: x.index_select(0, i),
    "take_along_dim": lambda x, i: x.take_along_dim(COLUMN, 1),
    "searchsorted": lambda x, i: jt.searchsorted(i, i),
    "x[1:3]": lambda x, i: x[1:3],
    "x[:, ::2]": lambda x, i: x[:, ::2],
    "x[1, -2]": lambda x, i: x[1, -2],
    "x[..., None]": lambda x, i: x[..., None],
    "x[i]": lambda x, i: x[i],
    "x[i, i]": lambda x, i: x[i, i],
}


@pytest.mark.parametrize("name", ONCE)
def test_what_was_written_before_takes_few_functions(name):
    x, i = jt.array(TABLE), jt.array(PLACES)

    found = entered(lambda: ONCE[name](x, i))

    answers = ONCE[name](x, i)
    assert len(found) <= 14 + 3 * (len(answers) if isinstance(answers, tuple) else 1), found


def test_a_value_that_is_written_to_a_slice_is_copied_from_a_template_whatever_the_number():
    x = jt.array(TABLE)
    numbers = iter(range(100))

    found = entered(lambda: written(x * 1, slice(1, 3), float(next(numbers))))

    assert not {"read_brackets", "_fitting", "placed"}.intersection(found)


def test_numbers_that_are_there_once_are_not_searched_for_by_operators():
    x = jt.array(PLACES)

    with jt.trace() as told:
        found = jt.unique(x, return_counts=True)
        jt.sync(list(found))

    assert [v.tolist() for v in found] == [[0, 2], [1, 2]]
    assert {e.op for e in told.built}.isdisjoint({"cumsum", "not_equal"})


KEYS = [slice(1, 5), slice(None), (slice(None, None, -2), 0), (..., None), -1, (0, slice(2, None))]


@pytest.mark.parametrize("key", KEYS)
def test_brackets_that_are_spelled_mean_the_same_again(key):
    assert meant(spelled(key)) == (key if isinstance(key, tuple) else (key,))


def test_a_whole_number_of_numpy_is_spelled_as_one_of_python():
    assert spelled((np.int64(1), np.uint8(2))) == (1, 2)


LONG = np.arange(900.0).reshape(300, 3)
READ_AND_WRITTEN = {
    "x[k]": lambda x, k: x[k],
    "x[-k]": lambda x, k: x[-k],
    "x[k, 1:]": lambda x, k: x[k, 1:],
    "x[None, k, 2]": lambda x, k: x[None, k, 2],
    "x.T[:, k]": lambda x, k: x.T[:, k],
    "x[k] = 5": lambda x, k: written(x.copy(), k, 5),
}


@pytest.mark.parametrize("name", READ_AND_WRITTEN)
def test_one_plan_serves_every_position_on_a_long_axis(name):
    do, plans = READ_AND_WRITTEN[name], set()
    x = jt.array(LONG)
    for k in (1, 7, 120, 299):
        np.testing.assert_array_equal(do(x, k).numpy(), do(LONG, k))
        plans.add(len(current().rank_state["plans"]))

    assert len(plans) == 1


def test_a_position_outside_of_a_long_axis_is_told_at_once():
    x = jt.array(LONG)

    for k in (300, -301):
        with pytest.raises(jt.RangeError, match=f"has length 300; found the index {k}"):
            x[k]
        with pytest.raises(jt.RangeError, match=f"has length 300; found the index {k}"):
            x[k] = 0


def test_gradients_of_both_orders_flow_to_a_position_on_a_long_axis():
    x, w = jt.array(LONG), jt.array([1.0, 2.0, 3.0], "float64")

    first = jt.grad((x[250] ** 3 * w).sum(), x)
    second = jt.grad(first.sum(), x)

    assert first[250].tolist() == (3 * LONG[250] ** 2 * [1, 2, 3]).tolist()
    assert second[250].tolist() == (6 * LONG[250] * [1, 2, 3]).tolist()
    assert first.count_nonzero().item() == second.count_nonzero().item() == 3


MASK = np.array([True, False, True])


@pytest.mark.parametrize("key", [[0, 1], MASK, True, np.bool_(True), 0.5, slice(0.5), (slice(None), [0, 1]), (0, (1,))])
def test_brackets_that_must_be_looked_at_are_not_spelled(key):
    assert spelled(key) is None


@pytest.mark.parametrize("name", ["sort", "topk", "kthvalue", "mode", "cummax", "cummin"])
def test_numbers_and_their_positions_have_pytorchs_names(name):
    x, more = jt.array(TABLE), (1,) if name in ("topk", "kthvalue") else ()

    for found in (getattr(jt, name)(x, *more, dim=1), getattr(x, name)(*more, dim=1)):
        values, indices = found
        assert found.values is values and found.indices is indices
        assert (values.dtype, indices.dtype) == (jt.float32, jt.int64)


def test_a_mask_is_computed_anew_each_time():
    x = jt.array(TABLE)
    for k in range(OFTEN):
        mask = jt.array(np.arange(3) < k % 4)

        assert x[mask].shape == (min(k % 4, 3), 4)
        assert x.index_select(0, mask).shape == (min(k % 4, 3), 4)


def test_brackets_of_the_same_kind_read_other_places_each_time():
    x = jt.array(TABLE)
    for k in range(OFTEN):
        rows = np.array([k % 3, -1])

        np.testing.assert_array_equal(x[jt.array(rows)].numpy(), TABLE[rows])
        np.testing.assert_array_equal(x[jt.array(rows), 1:].numpy(), TABLE[rows, 1:])
        np.testing.assert_array_equal(x[k % 3].numpy(), TABLE[k % 3])


def test_true_and_one_are_not_the_same_brackets():
    x = jt.array(TABLE)
    for _ in range(OFTEN):
        assert x[1].shape == (4,)
        assert x[True].shape == (1, 3, 4)
        assert x[True, 1].shape == (1, 4)


def test_an_index_outside_names_its_line_however_often_the_line_was_copied():
    x = jt.array(TABLE)
    for _ in range(OFTEN):
        x[jt.array([0, 2]), 1:].sync()

    with pytest.raises(jt.RangeError, match=r"getitem reads(.|\n)*the index 3(.|\n)*# three"):
        x[jt.array([0, 3]), 1:].sync()  # three


def test_gradients_of_both_orders_flow_through_copied_brackets():
    for k in range(OFTEN):
        x = jt.array(TABLE + k)
        picked = x[jt.array([1, 1]), 1:]

        dx = jt.grad((picked**3).sum(), x)
        ddx = jt.grad(dx.sum(), x)

        wanted = np.zeros((3, 4), "float32")
        wanted[1, 1:] = 1
        np.testing.assert_allclose(dx.numpy(), wanted * 6 * (TABLE + k) ** 2)
        np.testing.assert_allclose(ddx.numpy(), wanted * 12 * (TABLE + k))


def test_a_number_of_another_kind_is_not_taken_for_one_that_was_written():
    for _ in range(OFTEN):
        for number in (1.5, 2.5, -0.0):
            assert written(jt.zeros(3), slice(1, None), number).tolist() == [0, number, number]
        assert written(jt.arange(3), 0, 7).tolist() == [7, 1, 2]
        with pytest.raises(jt.ShapeError, match=r"\(2,\)"):
            written(jt.zeros(3), slice(0, 3), [1.0, 2.0])


class Turning:
    """A whole number of a stranger's kind, which may be another one at the next look."""

    def __index__(self):
        return self.n


def test_an_object_that_says_another_number_is_asked_each_time():
    x, number = jt.array([5, 1, 4, 2, 3]), Turning()
    calls = [lambda: x.roll(number), lambda: jt.topk(x, number)[0], lambda: x.repeat(number)]

    for number.n in (1, 2, 3, 1, 2):
        found = [call().tolist() for call in calls]

        assert found == [np.roll(x.numpy(), number.n).tolist(), [5, 4, 3][: number.n], x.tolist() * number.n]


def test_what_a_function_was_given_in_a_tuple_of_names_is_let_go():
    pair, big = namedtuple("Pair", "a b"), jt.zeros(10)  # noqa: PYI024 - just such a tuple
    gone = weakref.ref(big)
    for _ in range(5):
        jt.stack(pair(big, big)).sum().item()

    del big
    gc.collect()

    assert gone() is None


def test_a_slice_to_a_number_that_python_does_not_spell_is_all_that_is_there():
    assert jt.arange(5)[: 10**5000].tolist() == [0, 1, 2, 3, 4]


LEAFED = {
    "x[k:k+2]": lambda x, k: x[k : k + 2],
    "x[:, k:k+2]": lambda x, k: x[:, k : k + 2],
    "x[k:k+2, ...]": lambda x, k: x[k : k + 2, ...],
    "x[k+2:k:-1]": lambda x, k: x[k + 2 : k : -1],
    "x[k:k+6:3, 1]": lambda x, k: x[k : k + 6 : 3, 1],
    "x[k:k+2, k+1:k+4]": lambda x, k: x[k : k + 2, k + 1 : k + 4],
    "x[2, k:k+2]": lambda x, k: x[2, k : k + 2],
    "x[k:k+2, :, None]": lambda x, k: x[k : k + 2, :, None],
    "x[k:k+2] = 5": lambda x, k: written(fresh(x), slice(k, k + 2), 5),
}


def fresh(x):
    return x.copy() if isinstance(x, np.ndarray) else jt.array(x.numpy())


@pytest.mark.parametrize("name", LEAFED)
def test_one_plan_serves_every_further_slice_of_an_array_that_is_leafed_through(name):
    do, numbers = LEAFED[name], np.arange(240.0).reshape(20, 12)
    current().rank_state.pop("leafed", None)
    x, plans = jt.array(numbers), set()
    for k in range(8):
        w = np.random.default_rng(k).random(do(numbers, k).shape)
        y, before = do(x, k), len(current().rank_state.get("plans", ()))
        dx = jt.grad((y * jt.array(w)).sum(), x) if "=" not in name else None

        np.testing.assert_array_equal(y.numpy(), do(numbers, k))
        if dx is not None:
            wanted = np.zeros_like(numbers)
            do(wanted, k)[...] = w
            np.testing.assert_array_equal(dx.numpy(), wanted)
        if k > TIMES:
            plans.add(len(current().rank_state["plans"]) - before)

    assert plans == {0}


def test_slices_stay_views_until_they_have_moved_on_from_run_to_run():
    current().rank_state.pop("leafed", None)
    x = jt.array(np.ones((12, 3)))

    def loads(k: int) -> bool:
        part = x[k : k + 2]
        found = len(part.node.inputs) > 1
        part.sync()
        return found

    assert [loads(k) for k in (*range(8), *range(4))] == [False] * TIMES + [True] * (8 - TIMES) + [False] * 4


def test_weights_that_are_cut_into_many_parts_in_a_step_are_cut_by_views():
    current().rank_state.pop("leafed", None)
    w = jt.array(np.ones((24, 3)))
    for _ in range(3):
        parts = [w[k : k + 2] for k in range(0, 24, 2)]
        assert all(len(part.node.inputs) == 1 for part in parts)
        jt.sync(parts)


# ------------------------------------------------------------------------------------ index arrays that point outside

READERS = {
    "x[i]": lambda x, i: x[i],
    "x[i, 0]": lambda x, i: x.reshape(3, 1)[i, 0],
    "x[i] = v": lambda x, i: x.__setitem__(i, 1.0),
    "gather": lambda x, i: x.gather(0, i),
    "scatter": lambda x, i: x.scatter(0, i, 1.0),
    "scatter_add": lambda x, i: x.scatter_add(0, i, jt.ones(1)),
    "scatter_reduce": lambda x, i: x.scatter_reduce(0, i, jt.ones(1), "sum"),
    "index_add": lambda x, i: x.index_add(0, i, jt.ones(1)),
    "index_copy": lambda x, i: x.index_copy(0, i, jt.ones(1)),
    "index_fill": lambda x, i: x.index_fill(0, i, 1.0),
    "index_put": lambda x, i: x.index_put((i,), 1.0, accumulate=True),
    "index_select": lambda x, i: x.index_select(0, i),
    "take": lambda x, i: x.take(i),
    "take_along_axis": lambda x, i: jt.take_along_axis(x, i),
    "put_along_axis": lambda x, i: jt.put_along_axis(x, i, 1.0),
    "embedding": lambda x, i: jt.nn.functional.embedding(i, x.reshape(3, 1)),
    "one_hot": lambda x, i: jt.one_hot(i, 3),
    "cross_entropy": lambda x, i: jt.cross_entropy(x.reshape(1, 3), i),
}
GIVEN = {
    "a list": list,
    "an array": np.array,
    "a Var": jt.array,
    "a Var of int8": lambda i: jt.array(i, "int8"),
    "a view": lambda i: jt.array([i]).reshape(1),
}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_an_index_array_that_is_there_and_points_outside_is_an_error_at_once(read, given):
    x = jt.array([1.0, 2.0, 3.0])

    for far in ([7], [-4], [3]):  # and again, when nodes are made from templates
        read(x * 1, given([2]))
        with pytest.raises(jt.RangeError, match=f"the index {far[0]}"):
            read(x, given(far))

    assert x.tolist() == [1.0, 2.0, 3.0]


def test_an_array_that_changed_after_it_was_looked_into_is_looked_into_before_it_is_read():
    places = np.array([0, 1])
    x, i = jt.array([1.0, 2.0]), jt.from_numpy(places)
    for _ in range(OFTEN):
        x[i].sync()

    places[0] = 9

    with pytest.raises(jt.RangeError, match="the index 9"):
        x[i].sync()


def pending(numbers):
    return jt.array(numbers) - 1 + 1


CHANGES = {
    "one": lambda y: y.__setitem__(pending([7]), 1.0),
    "none that was named": lambda y: y.assign(y + jt.zeros(9)[pending([0, 1, 99])]),
    "the first of three": lambda y: (y.__setitem__(pending([7]), 1.0), y.__imul__(2), y.__setitem__(0, 5.0)),
    "under no_grad": jt.no_grad()(lambda y: y.__setitem__(pending([7]), 1.0)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_that_cannot_be_computed_is_undone(change):
    for _ in range(OFTEN):
        y = jt.zeros(3)
        y += 1
        y.name = "y"
        change(y)
        with pytest.raises(jt.RangeError, match="the index"):
            y.numpy()

        assert (y.tolist(), y.name, y.requires_grad) == ([1.0, 1.0, 1.0], "y", True)


def test_a_parameter_and_the_state_of_its_network_outlive_a_bad_index():
    net = jt.nn.Linear(2, 3)
    before = net.weight.tolist()
    net.weight[pending([9])] = 0.0
    with pytest.raises(jt.RangeError):
        net.state_dict()["weight"].numpy()

    assert net.state_dict()["weight"].tolist() == before
    assert jt.grad((net(jt.ones(1, 2)) ** 2).sum(), net.weight).shape == (3, 2)


def test_what_is_changed_for_long_without_a_look_remembers_no_more_than_what_is_there():
    state = jt.zeros(2)
    for k in range(50):
        state.update(jt.ones(2) * k)  # what was before is gone

    depth, change = 0, state._change
    while change is not None:
        depth, change = depth + 1, change[2]
    assert depth <= 2


# --------------------------------------------------------------------------------------------------- what brackets take

KEYS_OF_NUMPY = {
    "a tuple beside an array": ((0,), np.array([1, 2])),
    "a range": range(2),
    "a range backwards": range(2, -1, -2),
    "an empty range": range(0),
    "a range beside a slice": (slice(None), range(1, 3)),
    "tuples in a list": [(0, 1), (1, 2)],
    "tuples in a tuple": ((0, 1), (1, 2)),
    "a tuple of tuples for one axis": (((0, 1), (1, 2)),),
    "bools in a tuple, for one axis": ((True, False, True),),
    "a table of bools": (((True, False, True, True), (False,) * 4, (True,) * 4),),
    "an empty tuple for an axis": ((),),
    "no axis": (),
    "nothing of a mask of no bools": np.array([], bool),
    "a mask that lacks an axis": np.zeros((0, 4), bool),
    "tuples apart": ((0, 1), None, (1, 2)),
}


@pytest.mark.parametrize("key", KEYS_OF_NUMPY.values(), ids=KEYS_OF_NUMPY)
def test_tuples_ranges_and_masks_of_nothing_are_keys_as_in_numpy(key):
    x, written = jt.array(TABLE), TABLE.copy()
    written[key] = 7

    np.testing.assert_array_equal(x[key].numpy(), TABLE[key])
    x[key] = 7
    np.testing.assert_array_equal(x.numpy(), written)


def test_lists_of_vars_are_keys():
    x, one, two = jt.array(TABLE), jt.array(1), jt.array(2)

    np.testing.assert_array_equal(x[[one, two]].numpy(), TABLE[[1, 2]])
    np.testing.assert_array_equal(x[[jt.array([0, 1]), jt.array([1, 2])]].numpy(), TABLE[[[0, 1], [1, 2]]])
    np.testing.assert_array_equal(x[(one, two), (one, one)].numpy(), TABLE[(1, 2), (1, 1)])


@pytest.mark.parametrize("key", [np.array([0, 1], object), "a", {0, 1}, [None], 1.5, [0.5], (0, (0.5,))])
def test_what_is_no_key_is_refused_in_words(key):
    with pytest.raises((jt.ArgumentError, jt.DtypeError)):
        jt.array(TABLE)[key]


BOX = np.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize("key", [
    (1, slice(None), [0, 1]), ([0, 1], slice(None), 1), (1, [0, 1]), (slice(None), 1, [0, 1]), (1, None, [0, 1]),
    (np.int64(1), slice(None), [0, 1]), (..., 1, [0, 1]), (1, ..., [0, 1]), (range(2), slice(1), (0, 3)),
], ids=str)  # fmt: skip
def test_a_number_beside_an_array_counts_as_one_as_in_numpy(key):
    np.testing.assert_array_equal(jt.array(BOX)[key].numpy(), BOX[key])


ONE_NUMBER = """x.gather(0, zero)|x.gather(-1, [0])|x.scatter(0, zero, 5.0)|x.scatter(0, [0], five)
x.scatter_add(0, zero, five)|x.scatter_reduce(0, zero, five, "sum")|x.index_select(0, zero)|x.index_select(0, [0])
x.index_add(0, zero, five)|x.index_copy(0, [0], [5.0])|x.index_fill(0, zero, 7.0)|x.transpose(0, -1)|x.swapaxes(0, 0)
x.movedim(0, 0)|row.gather(0, one)|row.scatter(0, one, five)|row.index_select(0, one)|row.index_fill(0, one, 7.0)
row.index_copy(0, one, five)|row.take(one)|row.scatter_add(0, one, five)""".replace("\n", "|").split("|")


@pytest.mark.parametrize("call", ONE_NUMBER)
def test_single_numbers_are_read_and_written_along_their_axis_as_in_pytorch(torch, call):
    def answer(make):
        named = {"x": make(3.0), "row": make([1.0, 2.0]), "zero": make(0), "one": make(1), "five": make(5.0)}
        text = re.sub(r"(\[[\d.]+\])", r"make(\1)", call)
        return eval(text, {**named, "make": make}).numpy()  # noqa: S307 - a row of the table above

    np.testing.assert_array_equal(answer(jt.array), answer(torch.tensor))


@pytest.mark.parametrize("shape", [(-1, 0), (0, -1), (2, -1, 0)])
@pytest.mark.parametrize("ask", [jt.reshape, jt.Var.view, lambda x, s: jt.unflatten(x, 0, s)])
def test_a_length_that_could_be_anything_is_refused(ask, shape):
    with pytest.raises(jt.ShapeError):
        ask(jt.zeros((0, 3)), shape)

    assert jt.zeros((0, 3)).reshape(-1, 3).shape == jt.zeros((0, 3)).reshape(0, 3).shape == (0, 3)


def test_along_which_axis_is_taken_without_a_word():
    places = PLACES.reshape(3, 1)

    np.testing.assert_array_equal(jt.take_along_axis(TABLE, places).numpy(), np.take_along_axis(TABLE, places, -1))
    np.testing.assert_array_equal(jt.take_along_axis(TABLE, [5], axis=None).numpy(), TABLE.ravel()[[5]])
    assert jt.put_along_axis(TABLE, places, 9.0)[0].tolist() == [0.0, 1.0, 9.0, 3.0]
    assert jt.take_along_dim(TABLE, [5]).tolist() == [5.0]  # as PyTorch's
