"""Causes: where the time of a row goes that missed its goal, and what the limit is, with traces of our own."""

import importlib
from itertools import count

import pytest

import jt_edu as jt
from jt_edu.backends.convolve import Algorithm, Sizes
from jt_edu.base.trace import KernelRun
from tests.bench import causes, choices, cold, limits, shares, threads
from tests.bench.rows import Case, Cause, Figures, Goal, Result, Row, Run, fill

SIZES = Sizes("forward", 1, 4, 8, 1, (1, 5, 5), (1, 3, 3), (1, 5, 5), (1, 1, 1), (0, 1, 1), (1, 1, 1))


def kernel(ms, algorithm="", *, moved=0, flops=0, kind="loops", calls=(), key="k"):
    return KernelRun(
        "name", "", (), (), (), "numba", False, 0.0, ms, moved, flops, calls, kind=kind, key=key, algorithm=algorithm
    )


GOALS = (Goal("ratio", 1.0),)


def run_with(peak=1e9, copy=1e9):
    """A run on a machine of so many operations, and bytes, a second."""
    run = Run(5)
    run.peak = peak
    run.copies = {eighths << power: copy for power in range(15, 25) for eighths in range(8, 16)}
    return run


def result(ours=1.0, peer=0.5, goals=GOALS, **row):
    return Result(Row("a row", goals, **row), Figures(ours, peer, peer / ours))


@pytest.fixture
def traced(monkeypatch):
    """Say what a trace, a clock and a profile are to tell."""

    def tell(kernels, whole, python):
        monkeypatch.setattr(shares, "fastest", lambda call, calls: kernels)
        monkeypatch.setattr(shares, "whole", lambda call, calls: whole)
        monkeypatch.setattr(causes, "python_of", lambda call: python)

    return tell


def call():
    raise AssertionError("what it does is told by `traced`")


CASE = Case(call, call)


# ------------------------------------------------------------------------------------------------------------- shares


def test_shares_are_those_of_the_whole_call(traced):
    traced([kernel(2, "pointwise"), kernel(1), kernel(1), kernel(3, "BLAS")], 0.010, {"writing": 0.004})

    told = causes.of(result(ours=10.0), CASE, run_with()).where

    assert told == "BLAS 30%, Python 30% (writing 30), pointwise 20%, loops 20%"


@pytest.mark.parametrize("parts", [[1, 1, 1], [1, 1, 1, 1, 1, 1, 1], [0.004, 0.996, 99], [5], [0.0, 2.0], [1e-9, 3e-9]])
def test_shares_in_percent_add_to_100(parts):
    told = causes.percent(dict(enumerate(parts)))

    assert sum(told.values()) == 100
    assert all(abs(told[k] - 100 * part / sum(parts)) < 1 for k, part in enumerate(parts))
    assert causes.percent({0: 0.0}) == {}


def test_phases_add_to_the_share_of_their_kernel():
    told = causes.in_words({("winograd4", "products"): 1.0, ("winograd4", "transforms"): 1.0, ("Python", ""): 1.0})

    assert told == "winograd4 67% (products 34, transforms 33), Python 33%"


def test_python_takes_no_more_than_a_profile_says(traced):
    traced([kernel(6)], 0.010, {"writing": 0.0005, "planning": 0.0, "launching": 0.0005})

    assert causes.of(result(ours=10.0), CASE, run_with()).where == (
        "loops 60%, the rest 30%, Python 10% (writing 5, launching 5)"
    )


@pytest.mark.parametrize(("row", "again"), [(10.0, 0.004), (4.0, 0.010)])
def test_the_call_counts_as_in_its_fastest_moment(traced, row, again):
    traced([kernel(3)], again, {"launching": 1.0})

    assert causes.of(result(ours=row), CASE, run_with()).where == "loops 75%, Python 25% (launching 25)"


def test_a_kernel_that_took_longer_than_the_row_leaves_nothing_for_python(traced):
    traced([kernel(20)], 0.015, {"writing": 0.001})

    assert causes.of(result(ours=10.0), CASE, run_with()).where == "loops 100%"


def test_each_kernel_counts_as_in_its_fastest_call(monkeypatch):
    calls = iter([[kernel(3), kernel(1)], [kernel(2), kernel(5)]])
    monkeypatch.setattr(shares, "_kernels", lambda call: next(calls))

    assert [k.milliseconds for k in shares.fastest(call, 2)] == [2, 1]


# ------------------------------------------------------------------------------------------------------------- phases


def algorithm(seconds):
    return Algorithm("made up", "forward", "", lambda s: True, lambda s: 1, seconds)


def test_products_are_what_a_cost_model_has_for_each_pair_of_channels():
    half = algorithm(lambda s: 3 * s.n * s.c * s.o + 12 * s.n * s.c + 6 * s.n * s.o)  # 96 + 48 + 48

    assert causes.products_of(half, SIZES) == pytest.approx(0.5, rel=0.01)
    assert causes.products_of(algorithm(lambda s: s.flops * 1e-9), SIZES) == pytest.approx(1.0)


def test_groups_have_one_phase():
    assert causes.products_of(algorithm(lambda s: 1.0), SIZES) < 0.01
    assert causes.products_of(algorithm(lambda s: 1.0), Sizes("forward", 1, 4, 4, 4, *SIZES_REST)) == 1.0


SIZES_REST = (SIZES.image, SIZES.kernel, SIZES.places, SIZES.stride, SIZES.padding, SIZES.dilation)


@pytest.mark.parametrize(("name", "around"), [("winograd4", "transforms"), ("panels", "packing")])
def test_what_is_no_product_is_called_by_its_name(name, around):
    way = (algorithm(lambda s: s.n * s.c * s.o + 32 * s.n), SIZES)

    found = causes.phases(kernel(1, name), way)

    assert list(found) == ["products", around]
    assert sum(found.values()) == 1
    assert causes.phases(kernel(1, name), None) == {"": 1.0}


def test_every_algorithm_has_a_share_of_products():
    tuning = importlib.import_module("tests.bench.tuning")
    choice = importlib.import_module("jt_edu.backends.convolve.selection")

    found = {(a.name, s.kind): causes.products_of(a, s) for s in tuning.SHAPES for a in choice.candidates(s)}

    assert {"winograd4", "panels", "pointwise", "fourier"} <= {name for name, _ in found}
    assert all(0.01 < share <= 1 for share in found.values()), found


def test_the_sizes_of_a_convolution_are_found_among_the_plans():
    x, w = jt.randn((1, 16, 9, 9)).sync(), jt.randn((16, 16, 3, 3)).sync()

    (ran,) = shares.fastest(lambda: jt.conv2d(x, w, padding=1).sync(), 2)
    way, sizes = causes.known_sizes()[causes.named(ran)]

    assert way.name == ran.algorithm
    assert (sizes.c, sizes.o, sizes.image) == (16, 16, (1, 9, 9))


# ------------------------------------------------------------------------------------------------------------- python


def test_a_profile_tells_writing_planning_and_launching_apart():
    x = jt.ones(4).sync()

    found = causes.python_of(lambda: ((x + x) * x).sync())  # one operator alone needs no plan to be looked for

    assert set(found) == {"writing", "planning", "launching"}
    assert min(found.values()) > 0


def test_what_a_kernel_takes_is_no_python(monkeypatch):
    """Ten seconds in all: 4 to write, 6 to run, of which 1 to plan, 2 in a kernel and 1 on the host."""
    here = "/somewhere/jt_edu/runtime/execute.py"
    stats = {
        (here, 7, "run"): (1, 1, 2.0, 6.0, {}),
        ("/elsewhere/execute.py", 7, "run"): (1, 1, 0.0, 3.0, {}),
        (here, 8, "recall"): (1, 1, 1.0, 1.0, {}),
        (here, 9, "_run_on_host"): (1, 1, 1.0, 1.0, {}),
        ("~", 0, "<built-in method <dynamic>.kernel_1>"): (1, 1, 2.0, 2.0, {}),
        ("a.py", 1, "written"): (1, 1, 4.0, 10.0, {}),
    }
    monkeypatch.setattr(causes.pstats, "Stats", lambda profiler: type("Told", (), {"stats": stats}))
    monkeypatch.setattr(causes, "enough", lambda call, least: 2)

    assert causes.python_of(lambda: None) == {"writing": 2.0, "planning": 0.5, "launching": 1.0}


# -------------------------------------------------------------------------------------------------------------- limit


@pytest.mark.parametrize(
    ("moved", "flops", "limit"), [(3_000, 2_000, (3e-6, "memory")), (1, 2_000, (2e-6, "arithmetic"))]
)
def test_the_limit_is_the_longer_of_arithmetic_and_memory(moved, flops, limit):
    seconds, what = causes.limit_of([kernel(1, moved=moved), kernel(1, flops=flops)], run_with())

    assert (seconds, what) == (pytest.approx(limit[0]), limit[1])


def test_winograd_is_held_to_the_operations_that_it_does():
    seconds, _ = causes.limit_of([kernel(1, "winograd4", flops=144), kernel(1, "winograd2", flops=36)], run_with(1.0))

    assert seconds == pytest.approx(36 + 16)


def test_the_limit_is_told_as_a_time_and_as_a_ratio(traced):
    traced([kernel(1, moved=500_000)], 0.004, {"writing": 1.0})

    told = causes.of(result(ours=4.0, peer=2.0), CASE, run_with(copy=1e9)).limit

    assert told == "memory: 500.0 µs, ratio 4.00; kernels alone: 2.00"


def test_where_kernels_take_most_of_the_time_python_is_not_taken_away(traced):
    traced([kernel(3, flops=1_000_000)], 0.004, {"writing": 1.0})

    assert causes.of(result(ours=4.0, peer=2.0), CASE, run_with()).limit == "arithmetic: 1.00 ms, ratio 2.00"


def test_a_row_that_is_faster_than_a_copy_says_so(traced):
    traced([kernel(3, moved=5_000_000)], 0.004, {"writing": 1.0})

    assert causes.of(result(ours=4.0), CASE, run_with()).limit == "memory: 5.00 ms, and it takes less"


def test_nothing_is_no_limit(traced):
    traced([kernel(3)], 0.004, {})

    assert causes.of(result(ours=4.0), CASE, run_with()).limit == "nothing is counted"


def test_copies_of_about_a_length_are_measured_once(monkeypatch):
    asked = []
    monkeypatch.setattr(limits, "copy_speed", lambda size: asked.append(size) or 2.0 * size)
    run = Run(5)

    found = [run.copy_seconds(size) for size in (0, 1_000, 1 << 20, 17 << 16, 1 << 40)]

    assert asked == [1 << 18, 1 << 20, 1 << 27]
    assert found == pytest.approx([0, 500 / (1 << 18), 0.5, 17 / 32, (1 << 12)], rel=1e-5)


def test_the_speed_of_a_copy_counts_what_is_read_and_what_is_written():
    now = [0.0]

    def clock():
        now[0] += 0.25
        return now[0]

    assert limits.copy_speed(1_000, clock) == 1_000 / 0.25


def test_a_copy_whose_speed_is_measured_takes_turns_with_one_of_other_arrays(monkeypatch):
    made, order, now = count(), [], count()

    def copying(size):
        number = next(made)
        return lambda: order.append(number)

    monkeypatch.setattr(limits, "copying", copying)
    limits.copy_speed(1_000, lambda: float(next(now)))

    assert order[-4:] == [0, 1, 0, 1]


def test_the_copy_that_is_measured_is_at_most_an_eighth_shorter_than_what_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(limits, "copy_speed", lambda size: asked.append(size) or 1.0)
    run, sizes = Run(5), (1_000_001, 15_999_999, 32_000_000, (1 << 26) - 1)

    for size in sizes:
        run.copy_seconds(size)

    assert all(7 / 8 * size <= near <= size for size, near in zip(sizes, asked, strict=True))


# ------------------------------------------------------------------------------------------- which rows are explained


def explained(work, goals=GOALS, cause=None, **row):
    """What is asked about a row, and the row as it was filled in."""
    asked, run = [], run_with()

    def explain(result, case, run):
        asked.append(result.row.name)
        if cause is None:
            raise ZeroDivisionError("no kernel ran")
        return cause

    return asked, fill(Row("a row", goals, work=work, **row), run, explain), run


def test_only_rows_that_missed_a_goal_are_explained():
    cause = Cause("loops 100%")

    slow, fast = (explained(lambda run, r=ratio: Figures(ratio=r), cause=cause) for ratio in (0.5, 1.5))
    without = explained(lambda run: Figures(ratio=0.5), (), cause)
    wrong = explained(lambda run: Figures(ratio=0.5, error=1.0), cause=cause)

    assert (slow[0], slow[1].cause) == (["a row"], cause)
    assert [(asked, found.cause) for asked, found, _ in (fast, without, wrong)] == [([], None)] * 3


def test_a_profile_that_fails_does_not_lose_the_row():
    _, found, run = explained(lambda run: Figures(ratio=0.5))

    assert run.results == [found]
    assert (found.failed, found.figures.ratio) == ("", 0.5)
    assert found.cause == Cause("it could not be profiled: ZeroDivisionError: no kernel ran")


def test_the_case_that_was_measured_is_the_one_that_is_explained(monkeypatch):
    rows, seen = importlib.import_module("tests.bench.rows"), []
    monkeypatch.setattr(rows, "measure_case", lambda case, row, run: Figures(1.0, 0.5, 0.5))

    fill(Row("a row", (Goal("ratio", 1.0),), build=lambda: CASE), run_with(), lambda *given: seen.append(given[1]))

    assert seen == [CASE]


# ---------------------------------------------------------------------------------------------- rows made of other rows


def test_a_mean_names_the_rows_that_are_farthest_behind():
    rows = [Result(Row(name), Figures(ratio=ratio)) for name, ratio in zip("abcde", (3, 0.5, 1, 0.25, 2), strict=True)]

    told = causes.of_rows([*rows, Result(Row("not measured"))])

    assert told.where == "the mean of 5 rows; farthest behind: d (0.25); b (0.50); c (1.00)"


def test_a_row_without_calls_is_asked_itself():
    told = Cause("its rows")

    assert causes.of(result(why=lambda *given: told), None, run_with()) is told
    assert causes.of(result(), None, run_with()).where == "it is made of other rows"


def test_two_threads_are_told_kernel_by_kernel_and_python_stays_as_it_is():
    one = [kernel(6, "panels"), kernel(2), kernel(2)]
    two = [kernel(3, "panels"), kernel(2), kernel(2)]

    told = causes.of_threads(one, two, 0.010)

    assert told.where == "loops 40% (1.00x), panels 30% (2.00x), Python 30% (1.00x)"
    assert told.limit == "kernels in half the time: ratio 1.62"  # (10 + 3) / (5 + 3)


def test_the_suite_threads_traces_one_thread_and_two(monkeypatch):
    asked = []
    monkeypatch.setattr(threads, "forward", lambda make, batch: call)
    monkeypatch.setattr(shares, "fastest", lambda scores: asked.append(jt.get_num_threads()) or [kernel(8 / asked[-1])])
    monkeypatch.setattr(threads, "take_turns", lambda sides, *rest, threads: {"2": type("", (), {"best": 0.005})})

    told = threads.scaling(None, 1, result(), run_with())

    assert asked == [1, 2]
    assert told.where == "loops 80% (2.00x), Python 20% (1.00x)"


def test_a_first_step_is_the_start_of_python_the_import_and_the_rest(monkeypatch):
    monkeypatch.setattr(cold, "start", lambda arguments, cache: (0.1 if arguments == cold.NOTHING else 0.4, 0.0))

    told = cold.parts(Result(Row("first step"), Figures(ours=1000.0)), run_with())

    assert told.where == "the start of Python 10%, the import 30%, kernels, the network and the step 60%"
    assert told.limit == "the import alone takes 400 ms"


def test_the_tuner_says_who_should_have_been_chosen(monkeypatch):
    verdict = importlib.import_module("tests.bench.tuning").Verdict(SIZES, 3, "panels", "direct", 1.5, "panels", 1.0)
    monkeypatch.setattr(choices, "VERDICTS", {SIZES: verdict})
    found = Result(Row("a shape", size=(SIZES,)), Figures(over=1.5))
    run = run_with()
    run.results += [found, Result(Row("another", size=(SIZES,)), Figures(over=1.0))]

    assert choices.one_choice(found, run).where == "direct was chosen of 3 candidates, where panels is the best"
    assert choices.all_choices(found, run).where == (
        "the worst of 2 shapes; farthest from the best: a shape (1.50); another (1.00)"
    )


@pytest.mark.parametrize(
    "suite", ["core", "ops", "conv", "backbones", "train", "start", "jittor", "science", "threads", "choices"]
)
def test_every_row_with_a_goal_has_a_call_or_says_what_it_is_made_of(torch, suite):
    rows = importlib.import_module(f"tests.bench.{suite}").ROWS

    assert [row.name for row in rows if row.goals and row.build is None and row.why is None] == []


@pytest.mark.parametrize(("suite", "rows"), [("ops", 2), ("core", 1), ("backbones", 1), ("conv", 2)])
def test_means_are_explained_by_their_own_rows(torch, suite, rows):
    module = importlib.import_module(f"tests.bench.{suite}")
    mean = next(row for row in module.ROWS if row.name.endswith("geometric mean") and row.goals)
    run = run_with()
    run.results += [Result(row, Figures(1.0, 0.5, 0.5)) for row in module.ROWS if row.build]

    told = mean.why(Result(mean), run).where

    assert told.startswith("the mean of ")
    assert int(told.split()[3]) >= rows


def test_a_suite_has_its_rows_explained(monkeypatch, tmp_path, capsys):
    main = importlib.import_module("tests.bench.__main__")
    contextlib = importlib.import_module("contextlib")
    monkeypatch.setattr(main, "quiet", lambda: contextlib.nullcontext([]))
    slow = Row("slow", (Goal("ratio", 1.0),), work=lambda run: Figures(ratio=0.5), why=lambda *_: Cause("elsewhere"))
    monkeypatch.setattr(threads, "ROWS", (slow,))

    assert main.main(["threads", "--out", str(tmp_path)]) == 0
    assert "    where the time goes: elsewhere\n" in capsys.readouterr().out
    assert "| slow | 0.50 | ratio ≥ 1 | elsewhere |" in (tmp_path / "performance.md").read_text("utf-8")
