"""Which algorithm is chosen, and that each setting of jt.backends.conv does what it says."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import backends
from jt_edu.backends.convolve import Sizes, autotuner, selection
from jt_edu.backends.convolve.options import OF_CONV, plan_key
from jt_edu.backends.convolve.standalone import Alone, any_arrays, workspace
from jt_edu.base.context import current, rank_context
from jt_edu.base.errors import ArgumentError, BackendError
from jt_edu.introspect.conv_race import Race, Runner
from jt_edu.runtime import determinism

conv = jt.backends.conv
SMALL = Sizes("forward", 1, 2, 3, 1, (1, 5, 5), (1, 3, 3), (1, 3, 3), (1, 1, 1), (0, 0, 0), (1, 1, 1))


@pytest.fixture(autouse=True)
def _rank():
    """Every test is a rank of its own: no plan of another test is found."""
    with rank_context(), jt.flag_scope(backend="python"):
        yield


@pytest.fixture
def table(monkeypatch, tmp_path):
    """A table of this test's own, in the place of the learner's."""
    backends.get("numba")  # its kernels stay where they are
    monkeypatch.setenv("JT_EDU_CACHE", str(tmp_path))
    mine = autotuner.Tuner(stamp=f"of-{tmp_path.name}")
    monkeypatch.setattr(autotuner, "mine", mine)
    return mine


@pytest.fixture
def liars(monkeypatch, table):
    """Two algorithms, of which the slower says that it is the faster. Nobody looks at a clock here."""
    real = selection.candidates(SMALL)[0]
    quick = dataclasses.replace(real, name="quick", seconds=lambda s: 2e-4, suits=lambda s: True)
    slow = dataclasses.replace(real, name="slow", seconds=lambda s: 1e-4, suits=lambda s: True)
    monkeypatch.setattr(selection, "algorithms", lambda: (quick, slow))

    def time_candidates(found, sizes, backend):
        times = {"quick": 1e-3, "slow": 2e-3}
        timings = sorted((autotuner.Timing(a.name, times[a.name], 15, 0) for a in found), key=lambda t: t.seconds)
        return autotuner.Entry(sizes, jt.get_num_threads(), backend.name, tuple(timings))

    monkeypatch.setattr(autotuner, "time_candidates", time_candidates)
    return table


def picture(shape=(1, 2, 5, 5)):
    return jt.array(np.arange(np.prod(shape), dtype="float32").reshape(shape) % 7)


def y_of(x=None, w=None):
    return jt.conv2d(picture() if x is None else x, picture((3, 2, 3, 3)) if w is None else w)


def kernel_of(y):
    (kernel,) = (k for k in jt.explain(y).kernels if k.nodes)
    return kernel


# choosing


def test_every_kind_of_convolution_has_a_candidate():
    for kind in ("forward", "by_image", "by_weights"):
        assert selection.candidates(dataclasses.replace(SMALL, kind=kind))


def test_without_a_clock_the_least_estimate_wins(liars):
    assert selection.choose(SMALL).name == "slow"
    assert selection.choice_of(SMALL).how == "estimated"
    assert liars.timed == 0


def test_an_algorithm_that_does_not_suit_is_no_candidate(monkeypatch):
    real = selection.candidates(SMALL)[0]
    none = dataclasses.replace(real, suits=lambda s: False)
    monkeypatch.setattr(selection, "algorithms", lambda: (none,))

    with pytest.raises(BackendError, match="no algorithm computes"):
        selection.candidates(SMALL)


def test_the_reason_names_the_others_and_what_they_cost(liars):
    assert selection.choice_of(SMALL).reason == "estimated 100 µs; quick 200 µs"
    with conv.flags(benchmark=True):
        assert selection.choice_of(SMALL).reason == "measured 1 ms; slow 2 ms"


@pytest.mark.parametrize("kind", ["forward", "by_image", "by_weights"])
def test_the_order_of_sums_does_not_depend_on_how_the_span_is_cut(kind, monkeypatch):
    """Bit by bit, for every candidate: what `deterministic` relies on."""
    monkeypatch.setattr("jt_edu.backends.convolve.standalone.SHARED", 0)  # threads share it, small as it is
    sizes = Sizes(kind, 2, 4, 6, 1, (1, 9, 8), (1, 3, 3), (1, 9, 8), (1, 1, 1), (0, 1, 1), (1, 1, 1))
    backend = backends.get("numba")
    left, right, out = any_arrays(sizes)
    for algorithm in selection.candidates(sizes):
        answers = []
        for count in (1, 2, 3):
            out[...], before = np.nan, jt.get_num_threads()
            try:
                jt.set_num_threads(count)
                Alone(algorithm, sizes, backend)(left, right, out)
            finally:
                jt.set_num_threads(before)
            answers.append(out.tobytes())
        assert len(set(answers)) == 1, algorithm.name


class Fenced:
    """A backend whose memory has a fence on both sides."""

    WIDE, POST = 4096, 12345.0

    def __init__(self):
        self._real, self.arrays = backends.get("numba"), []
        self.name, self.compile, self.launch = self._real.name, self._real.compile, self._real.launch

    def empty(self, shape, dtype):
        size = int(np.prod(shape))
        self.arrays.append(np.full(size + 2 * self.WIDE, self.POST, dtype))
        return self.arrays[-1][self.WIDE : self.WIDE + size].reshape(shape)

    def is_whole(self):
        return all((a[: self.WIDE] == self.POST).all() and (a[-self.WIDE :] == self.POST).all() for a in self.arrays)


FENCED = [
    (2, 3, 4, 1, (1, 9, 8), (1, 3, 3), 1, 1, 1),
    (1, 6, 5, 1, (1, 13, 7), (1, 5, 2), 2, 2, 1),
    (2, 8, 8, 8, (1, 11, 10), (1, 3, 3), 2, 1, 1),
    (1, 8, 12, 4, (1, 6, 6), (1, 1, 1), 1, 0, 1),
    (3, 2, 70, 1, (1, 1, 17), (1, 1, 4), 3, 1, 2),
    (1, 4, 6, 2, (5, 6, 7), (2, 3, 2), 1, 1, 2),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["forward", "by_image", "by_weights"])
@pytest.mark.parametrize("case", FENCED, ids=range(len(FENCED)))
def test_no_algorithm_writes_outside_of_its_memory(case, kind, dtype):
    n, c, o, groups, image, kernel, stride, padding, dilation = case
    ways = [length > 1 for length in image]
    stride, padding, dilation = (
        tuple(step if way else one for way in ways) for step, one in ((stride, 1), (padding, 0), (dilation, 1))
    )
    places = tuple(
        (i + 2 * p - d * (k - 1) - 1) // s + 1
        for i, k, s, p, d in zip(image, kernel, stride, padding, dilation, strict=True)
    )
    sizes = Sizes(kind, n, c, o, groups, image, kernel, places, stride, padding, dilation, dtype)
    for algorithm in selection.candidates(sizes):
        fenced = Fenced()
        left, right, out = (fenced.empty(a.shape, a.dtype) for a in any_arrays(sizes))
        left[...], right[...] = 1, 1

        Alone(algorithm, sizes, fenced)(left, right, out)

        assert fenced.is_whole(), algorithm.name


# benchmark


def test_benchmark_chooses_what_was_measured_to_be_fastest(liars):
    with conv.flags(benchmark=True):
        assert selection.choose(SMALL).name == "quick"
        assert kernel_of(y_of()).algorithm == "quick"
    assert kernel_of(y_of()).algorithm == "slow"


def test_benchmark_measures_once_for_each_size(liars):
    with conv.flags(benchmark=True):
        for _ in range(3):
            y_of().numpy()

    assert (len(liars.entries), liars.timed) == (1, 2)


def test_an_input_of_another_size_in_each_step_is_measured_in_each_step(liars):
    """The seed's warning: `benchmark` makes programs slower whose shapes change all the time."""
    steps = [(1, 2, 4 + k, 5) for k in range(6)]

    for shape in steps:
        y_of(picture(shape)).numpy()
    without = liars.samples
    with conv.flags(benchmark=True):
        for shape in steps:
            y_of(picture(shape)).numpy()

    assert without == 0
    assert liars.timed == 2 * len(steps)
    assert liars.samples > 10 * len(steps)  # runs of kernels, for one that each step needs


def test_an_input_of_the_same_size_costs_the_same_whether_benchmark_is_on_or_not(liars):
    with conv.flags(benchmark=True):
        y_of().numpy()
        spent = liars.samples
        for _ in range(10):
            y_of().numpy()

    assert liars.samples == spent


def test_another_number_of_threads_is_measured_anew(liars):
    before = jt.get_num_threads()
    with conv.flags(benchmark=True):
        try:
            for count in (1, 2):
                jt.set_num_threads(count)
                y_of().numpy()
        finally:
            jt.set_num_threads(before)

    assert [e.threads for e in liars.all()] == [1, 2]


def test_clear_has_plans_made_anew(liars):
    with conv.flags(benchmark=True):
        y_of().numpy()
        conv.clear()
        y_of().numpy()

    assert liars.timed == 4


def test_the_table_tells_what_was_measured(liars):
    with conv.flags(benchmark=True):
        y_of().numpy()

    found = conv.table()
    assert (len(found), found.timed, found.entries[0].winner) == (1, 2, "quick")
    assert Path(found.folder).is_dir() and f"stored in {found.folder}" in repr(found)


# deterministic, strict


def test_deterministic_asks_no_clock(liars):
    with conv.flags(benchmark=True):
        y_of().numpy()
        with conv.flags(deterministic=True):
            assert selection.choose(SMALL).name == "slow"


@pytest.mark.parametrize("shape", [(3, 1719, 467), (9, 797, 380), (24, 274, 369)])
def test_deterministic_gives_the_same_bits_on_any_number_of_threads(shape, rng):
    m, k, n = shape
    a, b = rng.standard_normal((m, k), "float32"), rng.standard_normal((k, n), "float32")
    before, found = jt.get_num_threads(), set()
    with jt.flag_scope(backend="numba"), conv.flags(deterministic=True):
        try:
            for count in (1, 2, 3, 7):
                jt.set_num_threads(count)
                found.add((jt.array(a) @ jt.array(b)).numpy().tobytes())
        finally:
            jt.set_num_threads(before)

    assert len(found) == 1


def test_fifty_runs_of_a_training_step_give_the_same_bits_on_one_thread_and_on_two(rng):
    x, w = rng.standard_normal((4, 8, 24, 24), "float32"), rng.standard_normal((16, 8, 3, 3), "float32")
    v, before, found = rng.standard_normal((16 * 24 * 24, 10), "float32"), jt.get_num_threads(), set()
    with jt.flag_scope(backend="numba"), conv.flags(deterministic=True, benchmark=True):
        try:
            for run in range(50):
                jt.set_num_threads(1 + run % 2)
                image, weights, out = jt.array(x), jt.array(w), jt.array(v)
                loss = (jt.conv2d(image, weights, padding=1).relu().reshape(4, -1) @ out).sqr().mean()
                found.add(tuple(g.numpy().tobytes() for g in jt.grad(loss, [image, weights, out])))
        finally:
            jt.set_num_threads(before)

    assert len(found) == 1
    assert all(np.isfinite(np.frombuffer(g, "float32")).all() for g in found.pop())


def test_deterministic_has_a_product_run_on_one_thread():
    def kept(**wanted):
        with conv.flags(**wanted):
            e = jt.explain(jt.ones(30, 40).sync() @ jt.ones(40, 50).sync())
        return e.plan.steps[-1].work, "depend on the number of threads" in e.text

    assert kept()[0] > 0
    assert kept()[1], "an explanation lists what may differ"
    assert kept(deterministic=True) == (0.0, False)


def test_what_sums_in_one_order_is_not_listed_as_depending_on_threads():
    e = jt.explain((y_of() * 2).sum())

    assert not any(map(determinism.threads_matter, e.plan.steps))


def test_strict_refuses_a_function_that_may_do_anything():
    def double(np, data):
        np.multiply(data["inputs"][0], 2, data["outputs"][0])

    def doubled():
        return jt.numpy_code((2,), "float32", [jt.array([1.0, 2.0])], double)

    with conv.flags(deterministic=True):
        assert doubled().numpy().tolist() == [2.0, 4.0]
    with conv.flags(strict=True):
        assert doubled().numpy().tolist() == [2.0, 4.0]
    with conv.flags(deterministic=True, strict=True), pytest.raises(BackendError, match="numpy_code"):
        doubled().numpy()


# enabled


def test_without_algorithms_a_convolution_is_generated_loops():
    with_one, x, w = kernel_of(y_of()), picture(), picture((3, 2, 3, 3))
    with conv.flags(enabled=False):
        without = kernel_of(y_of())
        plain = y_of(x, w).numpy()

    assert (with_one.kind, with_one.algorithm != "") == ("convolution", True)
    assert (without.kind, without.algorithm) == ("loops", "")
    np.testing.assert_allclose(y_of(x, w).numpy(), plain, rtol=1e-5)


def test_decisions_are_those_of_the_plan_whatever_is_set_when_they_are_asked_for():
    with conv.flags(enabled=False):
        inside = jt.explain(y_of()).decisions
    outside = jt.explain(y_of()).decisions

    assert {d.rule for d in outside} >= {"contraction"}
    assert "contraction" not in {d.rule for d in inside}


# local


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("strange", [np.nan, np.inf, 1e6])
def test_a_number_reaches_only_the_sums_that_see_it(strange, local, rng):
    x, w = (rng.standard_normal(shape).astype("f4") for shape in ((1, 16, 12, 12), (16, 16, 3, 3)))
    with jt.flag_scope(backend="numba"):
        plain = jt.conv2d(jt.array(x), jt.array(w), padding=1).numpy()
    x[0, 0, 6, 6] = strange
    unseen = np.ones((12, 12), bool)
    unseen[5:8, 5:8] = False

    with conv.flags(local=local), jt.flag_scope(backend="numba"):
        found = jt.conv2d(jt.array(x), jt.array(w), padding=1).numpy()

    np.testing.assert_allclose(found[..., unseen], plain[..., unseen], atol=1e-3)


def test_a_choice_tells_how_an_algorithm_rounds_that_computes_sums_together():
    wide = dataclasses.replace(SMALL, c=64, o=64, image=(1, 58, 58), places=(1, 56, 56))

    assert selection.choice_of(wide).algorithm.name == "winograd4"
    assert selection.choice_of(wide).reason.endswith(
        "; rounds to 2e-06 of the largest sum, and writes out uneven tiles"
    )
    assert "rounds to 4e-15" in selection.choice_of(dataclasses.replace(wide, dtype="float64")).reason
    with conv.flags(local=True):
        assert "rounds" not in selection.choice_of(wide).reason


def test_local_does_without_winograd_and_fourier():
    sizes = dataclasses.replace(SMALL, c=64, o=64, image=(1, 58, 58), places=(1, 56, 56))

    assert {"winograd2", "winograd4"} <= {a.name for a in selection.candidates(sizes)}
    with conv.flags(local=True):
        assert not [a.name for a in selection.candidates(sizes) if a.spreads or a.name.startswith("winograd")]


# workspace_limit


def test_an_algorithm_that_needs_too_much_memory_is_not_chosen(monkeypatch, liars):
    small, large = selection.algorithms()
    large = dataclasses.replace(large, space=lambda s: 1000)
    small = dataclasses.replace(small, space=lambda s: 10, prepared=lambda s: 0)
    monkeypatch.setattr(selection, "algorithms", lambda: (small, large))

    assert selection.choose(SMALL).name == "slow"
    with conv.flags(workspace_limit=100):
        assert selection.choose(SMALL).name == "quick"
        assert "slow needs 4 kB, more than the limit" in selection.choice_of(SMALL).reason
        with conv.flags(benchmark=True):
            assert selection.choose(SMALL).name == "quick"
    with (
        conv.flags(workspace_limit=39),
        pytest.raises(ArgumentError, match="quick, which asks for the least, and needs 40"),
    ):
        selection.choose(SMALL)


def test_each_thread_has_its_own_scratch(monkeypatch, liars):
    large = dataclasses.replace(SMALL, n=64, image=(1, 40, 40), places=(1, 38, 38))
    algorithm = dataclasses.replace(selection.algorithms()[0], space=lambda s: 10, prepared=lambda s: 5)

    assert workspace(algorithm, large, 3) == 4 * (5 + 3 * 10)
    assert workspace(algorithm, SMALL, 3) == 4 * (5 + 10), "so little work that one thread does it"


def test_where_the_choice_must_not_depend_on_threads_nor_does_the_limit(monkeypatch, liars):
    large = dataclasses.replace(SMALL, n=64, image=(1, 40, 40), places=(1, 38, 38))
    small, wide = (dataclasses.replace(a, space=lambda s: 1, prepared=lambda s: 0) for a in selection.algorithms())
    wide = dataclasses.replace(wide, space=lambda s: 100)
    monkeypatch.setattr(selection, "algorithms", lambda: (small, wide))
    monkeypatch.setattr(selection.thread_pool, "_cores", lambda: 8)
    before, names = jt.get_num_threads(), []
    with conv.flags(workspace_limit=1600, deterministic=True):
        try:
            for count in (1, 4, 8):
                jt.set_num_threads(count)
                names.append(selection.choose(large).name)
        finally:
            jt.set_num_threads(before)

    assert set(names) == {"quick"}


# settings as such


@pytest.mark.parametrize("name", OF_CONV)
def test_settings_are_part_of_what_a_plan_is_remembered_by(name):
    other = 10**9 if name == "workspace_limit" else not getattr(conv, name)
    x, w = picture(), picture((3, 2, 3, 3))
    before = jt.explain(y_of(x, w)).plan
    with conv.flags(**{name: other}):
        inside = jt.explain(y_of(x, w)).plan

    assert inside is not before
    assert jt.explain(y_of(x, w)).plan is before


def test_settings_that_nobody_touched_cost_nothing():
    with conv.flags(benchmark=True):
        assert plan_key(current())[0].benchmark
    assert plan_key(current()) is None


def test_a_compiled_step_is_captured_anew_under_other_settings(liars):
    @jt.compile
    def step(x):
        return y_of(x)

    step(picture())
    with conv.flags(benchmark=True):
        step(picture())

    assert liars.timed == 2


def test_settings_are_set_as_attributes_and_scoped_by_flags():
    assert conv.benchmark is False
    conv.benchmark = 1
    try:
        assert conv.benchmark is True
        with conv.flags(benchmark=False, workspace_limit=7):
            assert (conv.benchmark, conv.workspace_limit) == (False, 7)
        assert (conv.benchmark, conv.workspace_limit) == (True, None)
        assert "benchmark=True" in repr(conv)
    finally:
        conv.benchmark = False


def test_settings_come_back_after_an_error():
    with pytest.raises(RuntimeError, match="on the way"), conv.flags(enabled=False):
        raise RuntimeError("on the way")

    assert conv.enabled is True


def test_a_rank_has_settings_of_its_own():
    with conv.flags(deterministic=True), rank_context():
        assert conv.deterministic is False


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("benchmrk", True, "Try: jt.backends.conv.benchmark"),
        ("table", 3, "is not a setting"),
        ("benchmark", "yes", "is True or False; found 'yes'"),
        ("enabled", None, "is True or False; found None"),
        ("deterministic", 2, "is True or False; found 2"),
        ("workspace_limit", -1, "a number of bytes, or None; found -1"),
        ("workspace_limit", True, "a number of bytes, or None; found True"),
        ("workspace_limit", 1.5, "a number of bytes, or None; found 1.5"),
    ],
)
def test_unknown_settings_and_wrong_values_are_errors(name, value, words):
    with pytest.raises(ArgumentError, match=words):
        setattr(conv, name, value)
    with pytest.raises(ArgumentError), conv.flags(**{name: value}):
        pass


def test_an_unknown_name_is_an_error_that_lists_the_settings():
    with pytest.raises(ArgumentError, match="workspace_limit"):
        conv.workspace  # noqa: B018


# what is shown


def test_explanation_and_trace_name_the_algorithm_and_the_reason():
    y = y_of()
    planned, text = kernel_of(y), jt.explain(y).text
    with jt.trace() as t:
        y.numpy()

    assert (t.kernels[0].algorithm, t.kernels[0].reason) == (planned.algorithm, planned.reason) != ("", "")
    assert f"chosen  {planned.algorithm}: {planned.reason}" in text
    assert t.as_dict()["kernels"][0]["algorithm"] == planned.algorithm


def test_a_race_compares_all_candidates_with_float64():
    with jt.flag_scope(backend="numba"):
        found = conv.race(picture((1, 2, 6, 6)), picture((3, 2, 3, 3)), padding=1)

    names = {a.name for a in selection.candidates(found.sizes)}
    assert {r.name for r in found.runners} == names
    assert found.winner.seconds == min(r.seconds for r in found.runners)
    assert all(r.error < 1e-4 for r in found.runners)
    assert all(name in found.svg and name in repr(found) for name in names)
    assert found.svg.count("<rect") == 1 + len(names)
    assert "max-width:100%;height:auto" in found.svg, "a narrow page shows all of it"
    assert f"{found.summary}</p>" in found._repr_html_(), "a sentence that wraps"


def test_a_race_says_what_the_estimate_would_have_chosen():
    sizes = Sizes("forward", 2, 3, 8, 1, (1, 9, 9), (1, 3, 3), (1, 7, 7), (1, 1, 1), (0, 0, 0), (1, 1, 1))
    fast, slow = Runner("fast", 1.0, 0, 0.0, estimate=9.0), Runner("slow", 2.0, 0, 0.0, estimate=8.0)

    assert Race(sizes, 1, (fast, slow)).summary.endswith("would have chosen slow, which took 2 s.")
    assert Race(sizes, 1, (fast,)).summary.endswith("would have chosen it as well.")


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("kind", ["by_image", "by_weights"])
def test_gradients_and_groups_race_as_well(kind, groups):
    with jt.flag_scope(backend="numba"):
        found = conv.race(picture((2, 4, 6, 6)), picture((6, 4 // groups, 3, 3)), stride=2, groups=groups, kind=kind)

    assert (found.sizes.kind, found.sizes.groups) == (kind, groups)
    assert all(r.error < 1e-4 for r in found.runners)


def test_a_race_notices_a_wrong_answer(monkeypatch):
    real = selection.candidates(SMALL)[0]
    wrong = dataclasses.replace(real, span=lambda s: 0)  # computes nothing
    monkeypatch.setattr(selection, "algorithms", lambda: (wrong,))

    found = conv.race(picture(), picture((3, 2, 3, 3)))

    assert not found.winner.error < 0.1


@pytest.mark.parametrize(
    ("shape", "kind", "words"), [((3, 3), "forward", "three to five axes"), ((1, 2, 5, 5), "by_x", "by_image")]
)
def test_a_race_needs_a_convolution(shape, kind, words):
    with pytest.raises((ArgumentError, jt.ShapeError), match=words):
        conv.race(picture(shape), picture((3, 2, 3, 3)), kind=kind)
