"""Vars made from numbers, from nothing, and at random; and every name at the door is asked about somewhere."""

import pickle
import random
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import jt_edu as jt
from jt_edu.variable.random import default_generator
from tests.parity.inputs import EVERY, expect_same, refuses

pytestmark = pytest.mark.usefixtures("python_backend", "quiet")

CREATED = (
    ("zeros", lambda: jt.zeros(2, 3), lambda: np.zeros((2, 3), np.float32)),
    ("zeros by a tuple", lambda: jt.zeros((2, 3), "int64"), lambda: np.zeros((2, 3), np.int64)),
    ("zeros of 0-d", lambda: jt.zeros(()), lambda: np.zeros((), np.float32)),
    ("zeros of nothing", lambda: jt.zeros((0, 2)), lambda: np.zeros((0, 2), np.float32)),
    ("ones", lambda: jt.ones(3, dtype="complex64"), lambda: np.ones(3, np.complex64)),
    ("ones of bools", lambda: jt.ones(3, dtype=bool), lambda: np.ones(3, bool)),
    ("empty", lambda: jt.empty(2, 2), lambda: np.zeros((2, 2), np.float32)),
    ("full of a float", lambda: jt.full((2,), 1.5), lambda: np.full(2, 1.5, np.float32)),
    ("full of an int", lambda: jt.full(2, 7), lambda: np.full(2, 7)),
    ("full of a bool", lambda: jt.full(2, True), lambda: np.full(2, True)),
    ("full of a Var", lambda: jt.full((2, 3), jt.array([1, 2, 3])), lambda: np.full((2, 3), [1, 2, 3])),
    ("zeros_like", lambda: jt.zeros_like(jt.ones(2, dtype="int8")), lambda: np.zeros(2, np.int8)),
    ("ones_like", lambda: jt.ones_like(jt.ones(2), "int8"), lambda: np.ones(2, np.int8)),
    ("full_like", lambda: jt.full_like(jt.ones(2), 3), lambda: np.full(2, 3, np.float32)),
    ("arange", lambda: jt.arange(5), lambda: np.arange(5)),
    ("arange from", lambda: jt.arange(2, 5), lambda: np.arange(2, 5)),
    ("arange by steps", lambda: jt.arange(2, 11, 3), lambda: np.arange(2, 11, 3)),
    ("arange backwards", lambda: jt.arange(5, 0, -2), lambda: np.arange(5, 0, -2)),
    ("arange of nothing", lambda: jt.arange(5, 2), lambda: np.arange(5, 2)),
    ("arange of floats", lambda: jt.arange(0.0, 1.0, 0.25), lambda: np.arange(0.0, 1.0, 0.25).astype(np.float32)),
    ("arange of a dtype", lambda: jt.arange(3, dtype="float64"), lambda: np.arange(3.0)),
    ("zeros of a named shape", lambda: jt.zeros(shape=(2, 3)), lambda: np.zeros((2, 3), np.float32)),
    ("ones of a named shape", lambda: jt.ones(shape=2), lambda: np.ones(2, np.float32)),
    ("empty of a named shape", lambda: jt.empty(size=(2,), dtype="int8"), lambda: np.zeros(2, np.int8)),
    ("full of a named shape", lambda: jt.full(shape=(2,), fill_value=7), lambda: np.full(2, 7)),
    ("arange to a stop", lambda: jt.arange(stop=3), lambda: np.arange(3)),
    ("arange to an end", lambda: jt.arange(end=3), lambda: np.arange(3)),
    ("arange from 1 to a stop", lambda: jt.arange(1, stop=3, step=1), lambda: np.arange(1, 3)),
    ("linspace of a num", lambda: jt.linspace(0, stop=1, num=3), lambda: np.linspace(0, 1, 3, dtype=np.float32)),
    ("logspace of a num", lambda: jt.logspace(0, stop=1, num=3), lambda: np.logspace(0, 1, 3, dtype=np.float32)),
    ("eye of rows and columns", lambda: jt.eye(n_rows=2, n_cols=3), lambda: np.eye(2, 3, dtype=np.float32)),
    ("linspace", lambda: jt.linspace(-1, 1, 5), lambda: np.linspace(-1, 1, 5, dtype=np.float32)),
    ("linspace of one", lambda: jt.linspace(2, 3, 1), lambda: np.linspace(2, 3, 1, dtype=np.float32)),
    ("linspace of nothing", lambda: jt.linspace(2, 3, 0), lambda: np.linspace(2, 3, 0, dtype=np.float32)),
    ("linspace of doubles", lambda: jt.linspace(0, 1, 7, "float64"), lambda: np.linspace(0, 1, 7)),
    ("eye", lambda: jt.eye(3), lambda: np.eye(3, dtype=np.float32)),
    ("eye that is not square", lambda: jt.eye(2, 4, "int64"), lambda: np.eye(2, 4, dtype=np.int64)),
    ("index", lambda: jt.index((2, 3), 1), lambda: np.indices((2, 3))[1]),
    ("a float", lambda: jt.array(1.5), lambda: np.float32(1.5)),
    ("an int", lambda: jt.array(3), lambda: np.int64(3)),
    ("a bool", lambda: jt.array(True), lambda: np.bool_(True)),
    ("a complex number", lambda: jt.array(1j), lambda: np.complex64(1j)),
    ("a list of floats", lambda: jt.array([1.0, 2]), lambda: np.array([1.0, 2], np.float32)),
    ("nested lists", lambda: jt.array([[1, 2], [3, 4]]), lambda: np.array([[1, 2], [3, 4]])),
    ("an empty list", lambda: jt.array([]), lambda: np.array([], np.float32)),
    ("an array of doubles", lambda: jt.array(np.arange(3.0)), lambda: np.arange(3.0)),
    ("a NumPy number", lambda: jt.array(np.float16(2)), lambda: np.float16(2)),
    ("a list of doubles", lambda: jt.array([np.float64(2)]), lambda: np.array([2.0])),
    ("a transposed array", lambda: jt.array(np.arange(6).reshape(2, 3).T), lambda: np.arange(6).reshape(2, 3).T),
    ("floats that keep 64 bits", lambda: jt.array64([0.1]), lambda: np.array([0.1])),
    ("an array of a dtype", lambda: jt.array([1.9, -1.9], "int32"), lambda: np.array([1, -1], np.int32)),
    ("a Var", lambda: jt.array(jt.array([1, 2])), lambda: np.array([1, 2])),
    ("a shared array", lambda: jt.from_numpy(np.arange(3.0)), lambda: np.arange(3.0)),
    ("a Var of the class", lambda: jt.Var([1, 2], "uint8"), lambda: np.array([1, 2], np.uint8)),
)  # fmt: skip


@pytest.mark.parametrize(("sentence", "ours", "numpy"), CREATED, ids=[c[0] for c in CREATED])
def test_what_is_created_is_what_numpy_creates(sentence, ours, numpy):
    expect_same(ours(), numpy())
    expect_same(ours() + 0, numpy() + 0)


@pytest.mark.parametrize("dtype", EVERY)
def test_what_is_created_has_the_dtype_that_was_asked_for(dtype):
    for made in (
        jt.zeros(2, dtype=dtype), jt.ones((2,), dtype), jt.full(2, 1, dtype), jt.arange(2, dtype=dtype),
        jt.eye(2, dtype=dtype), jt.zeros_like(jt.ones(2), dtype), jt.linspace(0, 1, 2, dtype),
        jt.array([0, 1], dtype), jt.index((2,), 0, dtype),
    ):  # fmt: skip
        assert str(made.dtype) == dtype
        made.numpy()


UNTOLD = {  # a creation, told a dtype; it answers in the one that it has without
    "zeros": lambda **d: jt.zeros(3, **d), "zeros by a tuple": lambda **d: jt.zeros((3,), *d.values()),
    "ones": lambda **d: jt.ones(3, **d), "ones by a tuple": lambda **d: jt.ones((3,), *d.values()),
    "empty": lambda **d: jt.empty(3, **d), "full": lambda **d: jt.full((3,), 1.0, **d),
    "eye": lambda **d: jt.eye(3, **d), "eye by place": lambda **d: jt.eye(3, None, *d.values()),
    "identity": lambda **d: jt.identity(3, **d), "tri": lambda **d: jt.tri(3, **d),
    "linspace": lambda **d: jt.linspace(0, 1, 3, **d), "by place": lambda **d: jt.linspace(0, 1, 3, *d.values()),
    "logspace": lambda **d: jt.logspace(0, 1, 3, **d), "geomspace": lambda **d: jt.geomspace(1, 2, 3, **d),
    "arange of floats": lambda **d: jt.arange(0.0, 1.0, 0.5, **d), "rand": lambda **d: jt.rand(3, **d),
    "randn": lambda **d: jt.randn(3, **d), "random": lambda **d: jt.random((3,), *d.values()),
    "normal": lambda **d: jt.normal(0.0, 1.0, (3,), **d), "uniform": lambda **d: jt.uniform(0.0, 1.0, (3,), **d),
    "exponential": lambda **d: jt.exponential(1.0, (3,), **d), "new_zeros": lambda **d: jt.ones(2).new_zeros((3,), **d),
    "rand_like": lambda **d: jt.rand_like(jt.ones(3), **d), "init.constant": lambda **d: jt.init.constant((3,), **d),
    "init.uniform": lambda **d: jt.init.uniform((3,), **d), "init.eye": lambda **d: jt.init.eye((3, 3), **d),
}  # fmt: skip
UNTOLD_WHOLE = {
    "arange": lambda **d: jt.arange(3, **d), "randint": lambda **d: jt.randint(0, 3, (3,), **d),
    "randperm": lambda **d: jt.randperm(3, **d), "indices": lambda **d: jt.indices((3,), **d),
    "index": lambda **d: jt.index((3,), 0, **d), "array": lambda **d: jt.array([1], **d),
}  # fmt: skip


@pytest.mark.parametrize("make", UNTOLD.values(), ids=UNTOLD)
def test_no_dtype_is_the_default_float(make):
    assert make(dtype=None).dtype == make().dtype == "float32"
    assert make(dtype="float64").dtype == "float64"


@pytest.mark.parametrize("make", UNTOLD_WHOLE.values(), ids=UNTOLD_WHOLE)
def test_no_dtype_of_whole_numbers_is_int64(make):
    assert make(dtype=None).dtype == make().dtype == "int64"


def test_a_layer_stays_in_float32_for_zeros_of_no_dtype():
    assert jt.nn.Linear(2, 2)(jt.zeros((1, 2), dtype=None)).dtype == "float32"


CREATION_MISTAKES = (
    ("a negative length", lambda: jt.zeros(-1)), ("a length that is no number", lambda: jt.zeros("ab")),
    ("a length of 1.5", lambda: jt.ones(1.5)),
    ("a step of 0", lambda: jt.arange(0, 5, 0)), ("a number of steps below 0", lambda: jt.linspace(0, 1, -1)),
    ("lists of two lengths", lambda: jt.array([[1], [1, 2]])),
    ("words", lambda: jt.array("abc")), ("a dtype that is not there", lambda: jt.zeros(2, dtype="float128")),
    ("objects", lambda: jt.array([object()])),
    ("an axis that is not there", lambda: jt.index((2,), 1)), ("no array to share", lambda: jt.from_numpy([1.0])),
    ("too large for its dtype", lambda: jt.full(2, 300, "uint8")),
    ("no range", lambda: jt.randint(3, 3)), ("random integers by random", lambda: jt.random((2,), "int32")),
    ("another law", lambda: jt.random((2,), type="cauchy")),
    ("a seed of words", lambda: jt.set_global_seed("abc")),
    ("a mean that is larger than the size", lambda: jt.normal(jt.zeros(2, 3), 1.0, (3,))),
    ("a mean of two in a size of three", lambda: jt.normal(jt.zeros(2), 1.0, (3,))),
)  # fmt: skip


@pytest.mark.parametrize(("sentence", "mistake"), CREATION_MISTAKES, ids=[m[0] for m in CREATION_MISTAKES])
def test_a_var_that_makes_no_sense_is_refused(sentence, mistake):
    assert refuses(mistake) in ("ShapeError", "ArgumentError", "DtypeError", "RangeError")


def test_an_array_is_copied_and_a_shared_one_is_not():
    a = np.zeros(2)
    copied, shared = jt.array(a), jt.from_numpy(a)

    a += 1

    assert copied.tolist() == [0.0, 0.0]
    assert shared.tolist() == [1.0, 1.0]


# ------------------------------------------------------------------------------------------------------------- random

MANY = 4000
LAWS = (
    # (law, drawn, cumulative distribution, discrete values or None)
    ("rand", lambda: jt.rand(MANY), scipy.stats.uniform().cdf),
    ("rand of doubles", lambda: jt.rand(MANY, dtype="float64"), scipy.stats.uniform().cdf),
    ("uniform", lambda: jt.uniform(-2.0, 3.0, (MANY,)), scipy.stats.uniform(-2, 5).cdf),
    ("random", lambda: jt.random((MANY,)), scipy.stats.uniform().cdf),
    ("randn", lambda: jt.randn(MANY), scipy.stats.norm().cdf),
    ("randn of doubles", lambda: jt.randn(MANY, dtype="float64"), scipy.stats.norm().cdf),
    ("normal", lambda: jt.normal(3.0, 2.0, (MANY,)), scipy.stats.norm(3, 2).cdf),
    ("random by its type", lambda: jt.random((MANY,), "float32", "normal"), scipy.stats.norm().cdf),
)  # fmt: skip


@pytest.mark.parametrize(("law", "drawn", "cdf"), LAWS, ids=[r[0] for r in LAWS])
def test_random_numbers_follow_their_law(law, drawn, cdf):
    jt.set_global_seed(1)

    numbers = drawn().numpy().astype(np.float64)

    assert scipy.stats.kstest(numbers, cdf).pvalue > 0.001
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 4 / np.sqrt(MANY)


def test_whole_random_numbers_are_all_equally_likely():
    jt.set_global_seed(2)

    counts = np.bincount(jt.randint(3, 8, (MANY,)).numpy())

    assert counts[:3].tolist() == [0, 0, 0]
    assert scipy.stats.chisquare(counts[3:]).pvalue > 0.001


@pytest.mark.parametrize(
    ("low", "high"), [(-(1 << 63), 1 << 63), (-(1 << 62), 1 << 63), (5, 5 + (1 << 40)), (0, 1 << 53)]
)
def test_whole_random_numbers_of_any_range_are_drawn_from_its_end_to_its_other_and_in_all_digits(low, high):
    jt.set_global_seed(2)

    drawn = jt.randint(low, high, (MANY,)).numpy()

    assert low <= drawn.min() and drawn.max() < high
    shares = np.histogram(drawn.astype("float64"), 8, (float(low), float(high)))[0]
    assert len({*drawn.tolist()}) == MANY and shares.min() > MANY / 20
    assert scipy.stats.chisquare(np.bincount(drawn % 8)).pvalue > 0.001


def test_bernoulli_is_1_with_its_probability():
    jt.set_global_seed(3)
    p = jt.full((MANY,), 0.3)

    ones = int(jt.bernoulli(p).sum().item())

    assert scipy.stats.binomtest(ones, MANY, 0.3).pvalue > 0.001
    assert str(jt.bernoulli(p).dtype) == "float32"


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint32"])
def test_lists_fill_a_dtype_to_its_ends_and_arrays_are_cast_as_by_numpy(dtype):
    ends = [np.iinfo(dtype).min, np.iinfo(dtype).max]

    np.testing.assert_array_equal(jt.array(ends, dtype).numpy(), np.array(ends, dtype))
    wide = np.array([300, -1])
    np.testing.assert_array_equal(jt.array(wide, dtype).numpy(), wide.astype(dtype))


def test_random_whole_numbers_like_others_have_the_dtype_that_is_asked_for_or_theirs():
    x = jt.ones(2, 3)

    assert jt.randint_like(x, 5).dtype == "float32"
    assert jt.randint_like(x.int32(), 5).dtype == "int32"
    assert jt.randint_like(x, 2, 5, dtype="float32").dtype == "float32"
    assert set(jt.randint_like(x, 2, 3, dtype="int8").numpy().ravel()) == {2}


def test_randperm_names_each_number_once_and_all_orders_are_equally_likely():
    jt.set_global_seed(4)

    orders = [tuple(jt.randperm(3).tolist()) for _ in range(300)]

    assert {tuple(sorted(o)) for o in orders} == {(0, 1, 2)}
    assert scipy.stats.chisquare([orders.count(o) for o in sorted(set(orders))]).pvalue > 0.001
    assert len(set(orders)) == 6


def test_the_same_seed_gives_the_same_numbers_and_each_draw_others():
    for draw in (
        lambda: jt.rand(5),
        lambda: jt.randn(5),
        lambda: jt.randint(0, 1000, (5,)),
        lambda: jt.uniform(0.0, 1.0, (5,)),
        lambda: jt.randperm(50),
    ):
        jt.set_global_seed(7)
        first, second = draw().tolist(), draw().tolist()
        jt.set_global_seed(7)

        assert draw().tolist() == first
        assert first != second
        assert jt.get_seed() == 7


SEEDS = [np.int64(3), np.int32(3), np.uint8(3), np.array(3), jt.array(3), jt.array(3, "int8"), True + 2]


@pytest.mark.parametrize("seed", SEEDS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("start", [jt.manual_seed, jt.set_global_seed, jt.seed, jt.set_seed])
def test_a_seed_is_a_whole_number_of_any_kind(start, seed):
    start(3)
    mine, theirs = jt.rand(3).tolist(), random.random()

    start(seed)

    assert (jt.rand(3).tolist(), random.random(), jt.initial_seed()) == (mine, theirs, 3)
    assert jt.rand(3, generator=jt.Generator(seed)).tolist() == mine
    assert jt.rand(3, generator=jt.Generator().manual_seed(seed)).tolist() == mine


def test_a_seed_below_0_counts_from_the_end_as_in_pytorch(torch):
    jt.manual_seed(-1)

    assert jt.initial_seed() == torch.Generator().manual_seed(-1).initial_seed()


@pytest.mark.parametrize("seed", [2.0, np.float64(2), jt.array(2.0), "3", None, 1 << 64, jt.array([1, 2])])
def test_what_is_no_whole_number_is_no_seed_and_changes_nothing(seed):
    jt.manual_seed(3)
    before = str(jt.get_rng_state())
    for start in (jt.manual_seed, jt.Generator().seed):
        with pytest.raises(jt.ArgumentError, match="a seed is a whole number"):
            start(seed)

    assert str(jt.get_rng_state()) == before


def drawn():
    return jt.rand(2).tolist(), jt.randn(1).item(), np.random.rand(), random.random()  # noqa: NPY002 - seeded too


def test_the_state_of_random_numbers_brings_the_same_ones_again():
    jt.manual_seed(3)
    drawn()
    state = pickle.loads(pickle.dumps(jt.get_rng_state()))  # noqa: S301 - our own
    first = drawn(), drawn()

    jt.manual_seed(9)
    jt.set_rng_state(state)

    assert (drawn(), drawn()) == first
    assert jt.initial_seed() == 3


def test_a_generator_goes_on_from_its_state():
    mine = jt.Generator(7)
    jt.rand(5, generator=mine)
    state = mine.get_state()
    first = jt.rand(5, generator=mine).tolist()
    other = jt.Generator()
    other.set_state(state)

    assert jt.rand(5, generator=other).tolist() == first
    assert other.initial_seed() == 7


DAMAGED = {"numpy": "x", "python": (3, (1, 2), None), "drawn": -1, "key": "x"}


@pytest.mark.parametrize("part", DAMAGED)
def test_a_damaged_state_leaves_every_generator_where_it_was(part):
    state = jt.get_rng_state()
    jt.manual_seed(5)
    wanted = jt.rand(2).tolist(), random.random(), np.random.rand()  # noqa: NPY002
    jt.manual_seed(5)

    with pytest.raises(jt.ArgumentError, match="the state of a generator"):
        jt.set_rng_state({**state, part: DAMAGED[part]})

    assert (jt.rand(2).tolist(), random.random(), np.random.rand()) == wanted  # noqa: NPY002


@pytest.mark.parametrize("state", [None, {}, 3, {"key": 1}])
def test_what_is_no_state_is_refused(state):
    for put in (jt.set_rng_state, jt.Generator().set_state):
        with pytest.raises(jt.ArgumentError, match="the state of a generator"):
            put(state)


def test_a_compiled_step_draws_from_the_state_too():
    step = jt.compile(lambda x: x + jt.rand(3))
    jt.manual_seed(3)
    step(jt.zeros(3)), step(jt.zeros(3))
    state = jt.get_rng_state()
    first = step(jt.zeros(3)).tolist(), step(jt.zeros(3)).tolist()

    jt.set_rng_state(state)

    assert (step(jt.zeros(3)).tolist(), step(jt.zeros(3)).tolist()) == first
    jt.set_rng_state(state)
    assert jt.rand(3).tolist() == first[0]


def test_each_rank_has_a_state_of_its_own():
    def draws():
        jt.manual_seed(5)
        dropped = jt.nn.Dropout(0.5)
        dropped(jt.ones(4)).sync(), jt.rand(1).sync()
        state = jt.Generator.get_state(default_generator())
        first = dropped(jt.ones(40)).tolist(), jt.rand(2).tolist()
        default_generator().set_state(state)
        return first == (dropped(jt.ones(40)).tolist(), jt.rand(2).tolist()), first

    (again, first), (other_again, other) = jt.simulate(2)(draws)

    assert again and other_again
    assert first[0] != other[0] and first[1] == other[1]


def test_what_pytorch_keeps_in_its_module_random_is_found_at_the_function_of_that_name():
    state = jt.random.get_rng_state()
    with jt.random.fork_rng():
        jt.random.manual_seed(4)
        assert jt.random.initial_seed() == 4

    assert str(jt.get_rng_state()) == str(state)


def test_what_is_drawn_in_a_fork_moves_nothing_on():
    jt.manual_seed(3)
    first = drawn()
    jt.manual_seed(3)
    with pytest.raises(ZeroDivisionError), jt.fork_rng():
        jt.manual_seed(4), drawn(), 1 / 0

    assert drawn() == first


DRAWS = {
    "random": lambda **own: jt.random((3,), **own), "rand": lambda **own: jt.rand(3, **own),
    "randn": lambda **own: jt.randn(3, **own), "normal": lambda **own: jt.normal(1.0, 2.0, (3,), **own),
    "uniform": lambda **own: jt.uniform(1.0, 2.0, (3,), **own), "randint": lambda **own: jt.randint(9, 99, (3,), **own),
    "randint of 64 bits": lambda **own: jt.randint(0, 1 << 60, (3,), **own),
    "randperm": lambda **own: jt.randperm(30, **own),
}  # fmt: skip


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_generator_of_its_own_leaves_the_global_one_alone(draw):
    jt.set_global_seed(7)
    first = draw().tolist()
    jt.set_global_seed(7)

    own = draw(generator=jt.Generator(7)).tolist()

    assert draw().tolist() == first == own


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_what_is_no_generator_is_refused(draw):
    with pytest.raises(jt.ArgumentError, match=r"drawn by a Generator; found 7\. Try: generator=jt\.Generator\(7\)"):
        draw(generator=7)


def test_a_pending_random_number_stays_what_it_is():
    jt.set_global_seed(7)

    x = jt.rand(3)
    y = x * 2
    jt.rand(100).sync()

    np.testing.assert_array_equal(y.numpy(), x.numpy() * 2)


def test_uniform_numbers_stay_below_1():
    jt.set_global_seed(5)
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        numbers = jt.random((10 * MANY,), dtype).numpy()
        assert numbers.min() >= 0
        assert numbers.max() < 1, dtype


# ------------------------------------------------------------------------------------------------- nobody is left out

# asked about under another name, or with gradients, or under a name that is put together
ELSEWHERE = {
    "Function", "adaptive_avg_pool3d", "as_tensor", "cast", "expand", "getitem", "grad",
    "norm", "setitem", "sync", "view", "vjp", "why_no_grad",
}  # fmt: skip


def test_every_function_at_the_door_is_asked_about_in_some_test():
    asked = set()
    for path in Path(__file__).parents[1].rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        asked |= set(re.findall(r"[A-Za-z_]\w*", text))
        asked |= {stem + f"{n}d" for stem in re.findall(r"(\w+)\{\w+\}d\b", text) for n in (1, 2, 3)}
    door = {
        name
        for name, thing in vars(jt).items()
        if re.match(r"jt_edu\.(ops|random)", getattr(thing, "__module__", None) or "") and name[0] != "_"
    }

    assert len(door) > 110
    assert sorted(door - asked - ELSEWHERE) == []


@pytest.mark.parametrize("draw", [
    lambda: jt.normal(np.zeros(6), np.ones(6)), lambda: jt.normal(jt.zeros(2), jt.ones(3, 1)),
    lambda: jt.normal([0.0] * 6, 1.0), lambda: jt.normal(0.0, jt.ones(6)), lambda: jt.normal(jt.zeros(3), 1.0, (2, 3)),
    lambda: jt.uniform(jt.zeros(6), 1.0), lambda: jt.uniform(0.0, np.ones((2, 3))), lambda: jt.uniform([0.0] * 6, 1.0),
])  # fmt: skip
def test_each_number_of_an_array_is_drawn_by_itself(draw):
    found = draw()

    assert found.size == len(set(found.flatten().tolist())) == 6
