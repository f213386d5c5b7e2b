"""Small operators that index, sort and join: how much Python they take the second time, counted and not timed."""

import gc
import sys
import weakref
from collections import namedtuple

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.graph import HOME
from jt_edu.ops.brackets import TIMES, meant, spelled
from jt_edu.settings import current

OFTEN = 8  # calls, after which all that can be remembered is
TABLE = np.arange(12.0, dtype="float32").reshape(3, 4)
PLACES = np.array([2, 0, 2])
COLUMN = jt.array(PLACES.reshape(3, 1))


@pytest.fixture(autouse=True)
def _python_backend():
    with jt.flag_scope(backend="python"):
        yield


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
