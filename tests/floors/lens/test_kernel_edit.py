"""Edits: a learner's text instead of a kernel's own, tried elsewhere, run until it is reverted."""

import gc
import re
import sys
import types
import weakref

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn, optim
from jt_edu.base.context import current
from jt_edu.lens import edit_process, verify_edit
from jt_edu.lens.edit_process import CASES, steps_of
from jt_edu.lens.kernel_edit import Edit, find, renumbered
from jt_edu.lens.sandbox import Refused
from jt_edu.lens.verify_edit import FILLS, STATM, _compare
from tests.floors.trials import Here, Unlimited
from tests.patience import LONG

pytestmark = pytest.mark.usefixtures("nothing_stays_edited")

FOREVER = "                while t0 == t0:\n                    t1 = t1 + t0"


@pytest.fixture
def apart():
    """For a test about the process of a trial; the others have their edits tried in this one."""


@pytest.fixture(autouse=True)
def tried(request, monkeypatch):
    if "apart" not in request.fixturenames:
        monkeypatch.setattr(edit_process, "_Process", Here)
    monkeypatch.setattr(edit_process, "QUIET", 2 * LONG)  # other tests may have the cores


@pytest.fixture
def numbers(rng):
    a, b = (jt.array(rng.standard_normal((60, 40)).astype("float32")) for _ in range(2))
    return lambda: ((a * 2).tanh() * b).sum(1)


def kernel_of(*wanted):
    """The one kernel of a graph, which may be computed already."""
    (kernel,) = jt.explain(*wanted).kernels
    return kernel


def doubled(kernel):
    """A text that computes something else: every input is taken twice."""
    return kernel.source.replace("tanh(", "float32(2) * tanh(")


def test_an_edit_that_says_the_same_agrees_and_is_timed(numbers, apart):
    kernel = kernel_of(numbers())

    edit = jt.edit_kernel(
        kernel, kernel.source.replace("= t0 * c0", "= c0 * t0").replace("tanh(t0)", "tanh(t0 + 0 * t0)")
    )

    assert edit.error == ""
    assert edit.agrees
    assert not edit.installed
    (out,) = edit.record["outputs"]
    assert (out["name"], out["count"]) == ("out0", 60)
    assert edit.record["samples"] >= 1  # 15, where the time is enough for them
    assert edit.speed == edit.record["original_ms"] / edit.record["edited_ms"] > 0
    assert "out0 agrees" in repr(edit)


def test_an_edit_that_says_something_else_is_told_by_how_much(numbers, apart):
    kernel = kernel_of(numbers())

    edit = jt.edit_kernel(kernel, doubled(kernel))

    assert not edit.agrees
    (out,) = edit.record["outputs"]
    assert out["differ"] == 60
    assert out["absolute"] == pytest.approx(out["largest"], rel=1e-4)  # twice as much is off by as much again
    assert "60 of 60 elements are not the same" in repr(edit)
    assert "nan" not in repr(edit)


def test_an_edit_that_writes_nothing_is_told_as_nan_and_not_as_0_off_alone(numbers):
    kernel = kernel_of(numbers())

    edit = jt.edit_kernel(kernel, kernel.source.replace("out0[at(i0)] = t3", "pass"))

    assert not edit.agrees
    assert "60 are nan or infinite in one of the two" in repr(edit)


def test_the_graph_runs_an_installed_edit_until_it_is_reverted(numbers):
    before = numbers().numpy()
    kernel = kernel_of(numbers())
    edit = jt.edit_kernel(kernel, doubled(kernel)).install()

    with jt.trace() as t:
        edited = numbers().numpy()
    assert jt.edited_kernels() == [edit]
    edit.revert()
    after = numbers().numpy()

    np.testing.assert_allclose(edited, 2 * before, rtol=1e-5)
    np.testing.assert_array_equal(after, before)
    assert t.kernels[0].source == edit.source.text
    assert not edit.installed


def test_plans_that_are_made_later_run_the_edit_too(rng):
    one = jt.array(rng.random(50).astype("float32"))
    kernel = kernel_of(one.sin() * 3)
    jt.edit_kernel(kernel, kernel.source.replace("= sin(", "= 2 * sin(")).install()

    two = jt.array(rng.random(70).astype("float32"))  # another shape, another plan
    found = (two.sin() * 3).numpy()

    np.testing.assert_allclose(found, 6 * np.sin(two.numpy()), rtol=1e-5)


def test_compiled_steps_run_the_edit(rng):
    step = jt.compile(lambda x: (x.cos() + 1).sum())
    x = rng.random(30).astype("float32")
    first = step(x).item()
    kernel = kernel_of((jt.array(x).cos() + 1).sum())
    edit = jt.edit_kernel(kernel, kernel.source.replace("cos(", "float32(0) * cos(")).install()

    replayed = step(x).item()
    edit.revert()

    assert replayed == pytest.approx(30)
    assert step(x).item() == first


def test_an_optimizer_that_replays_runs_the_edit():
    w = jt.array(np.full(8, 1.0, "float32"))
    opt = optim.SGD([w], 0.5)
    for _ in range(3):
        opt.step((w * w).sum())
    with jt.trace() as t:
        opt.step((w * w).sum())
    kernel = next(k for k in t.kernels if "subtract" in k.source or " - " in k.source)
    before = w.numpy().copy()
    edit = jt.edit_kernel(kernel, kernel.source.replace(" - ", " + ")).install()

    opt.step((w * w).sum())
    grown = w.numpy().copy()
    edit.revert()
    opt.step((w * w).sum())

    assert (grown >= before).all()
    assert (w.numpy() <= grown).all()


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (lambda s: s.replace("float32(s0)", "float32(s0"), None, "SyntaxError"),
        (lambda s: s.replace("tanh(t0)", "tanh(t00)"), "tanh(t00)", "name 't00' is not defined"),
        (lambda s: s.replace("a0[at(i0), at(i1)]", "a0[at(i0), at(i1) + 1]"), "+ 1]", "out of bounds"),
        (lambda s: s.replace("def kernel(lo, hi, ", "def kernel(hi, lo, "), "def kernel", "its parameters must stay"),
        (lambda s: s.replace("def kernel(", "def colonel("), None, "`def kernel"),
        (lambda s: "import os\n" + s, "import os", "a kernel imports from jt_edu.backends.mathlib; found import os"),
        (lambda s: "import numpy\n" + s, "import numpy", "found import numpy"),
        (lambda s: "x = [].append(1)\n" + s, "x = []", "found x = [].append(1)"),
        (lambda s: "x = __import__('os')\n" + s, "x = ", "found x = __import__('os')"),
        (lambda s: s.replace("tanh(t0)", "tanh(t0).__class__()"), "__class__", "the rest of Python; found __class__"),
        (lambda s: s.replace("tanh(t0)", "getattr(t0, 'real')"), "getattr", "found getattr"),
        (lambda s: s.replace("tanh(t0)", "eval('t0')"), "eval", "found eval"),
        (lambda s: s.replace("tanh(t0)", "(yield t0)"), "yield", "conditions and assignments; found yield"),
        (lambda s: s.replace("tanh(t0)", "tanh(most_)"), "most_", "found most_"),
        (lambda s: s.replace("):\n", ") -> open('x'):\n", 1), "def kernel", "its first line must stay"),
        (lambda s: s.replace("def kernel", "@lru\ndef kernel"), "def kernel", "found a decorator"),
        (lambda s: s.replace("tanh(t0)", "kernel(t0)"), "kernel(t0)", "does not call itself"),
        (lambda s: s.replace("tanh(t0)", "-" * 100_000 + "t0"), None, "nested too deeply"),
        (lambda s: "print(1)\n" + s, "print(1)", "constants and `def kernel`"),
        (lambda s: s.replace("tanh(t0)", "tanh(t0).real()"), "real()", "Invalid use of float32"),
        (lambda s: s.replace("= tanh(t0)", "= tanh(t0)\n" + FOREVER), "while", "does this one end"),
    ],
)
def test_an_edit_that_does_not_work_says_where(numbers, change, line, words):
    kernel = kernel_of(numbers())
    text = change(kernel.source)
    if line is not None and line not in text:
        pytest.fail(f"{line} is not in\n{text}")

    edit = jt.edit_kernel(kernel, text)

    assert words in edit.error
    if line is not None:
        expected = [k for k, row in enumerate(text.splitlines(), 1) if line in row]
        assert edit.line in (expected[0], expected[0] + 1)
    with pytest.raises(jt.KernelError, match="must run before it is installed"):
        edit.install()
    assert repr(edit).startswith("The edited kernel does not run")


def test_what_never_ends_is_stopped_by_the_limit(rng, apart):
    """The original goes round so often that nobody can say how often is too often."""
    a, b = (jt.array(rng.random(n).astype("float32")) for n in (9000, 8000))
    wanted = lambda: (a.unsqueeze(1) - b).sinh().sum()  # noqa: E731
    before = wanted().numpy()
    kernel = kernel_of(wanted())
    row = next(r for r in kernel.source.splitlines() if "sinh(" in r and "=" in r)
    indent = row[: len(row) - len(row.lstrip())]
    text = kernel.source.replace(row, f"{row}\n{indent}w = 1.0\n{indent}while w == w:\n{indent}    w = sinh(w)")

    edit = jt.edit_kernel(kernel, text, seconds=2.0)

    assert "stopped after 2 seconds, the limit, while running it" in edit.error
    assert edit.error.endswith("Nothing has changed. Try a larger seconds=, or end the loop.")
    np.testing.assert_array_equal(wanted().numpy(), before)


@pytest.mark.skipif(sys.platform == "win32", reason="there the clock is the only limit")
def test_a_trial_on_a_busy_machine_may_take_as_long_as_it_needs(numbers, monkeypatch, apart):
    """A minute passes whenever somebody looks at the clock: only what is computed counts."""
    minutes = iter(range(1000))
    monkeypatch.setattr(edit_process, "time", types.SimpleNamespace(monotonic=lambda: 60.0 * next(minutes)))
    kernel = kernel_of(numbers())

    edit = jt.edit_kernel(kernel, doubled(kernel), seconds=10.0)

    assert edit.error == ""


@pytest.mark.skipif(sys.platform == "win32", reason="there the clock is the only limit")
def test_a_process_that_says_nothing_is_ended(numbers, monkeypatch, apart):
    monkeypatch.setattr(edit_process, "SERVE", "import time; time.sleep(1000)")
    monkeypatch.setattr(edit_process, "QUIET", 0.5)
    kernel = kernel_of(numbers())

    edit = jt.edit_kernel(kernel, doubled(kernel))

    assert "without an answer while reading its libraries. Nothing has changed. Try it when" in edit.error


def test_a_crash_is_told_with_the_last_words_of_the_process(numbers, monkeypatch, apart):
    monkeypatch.setattr(
        edit_process, "SERVE", "import sys; print('x' * 100_000, file=sys.stderr); import a_module_that_nobody_has"
    )
    kernel = kernel_of(numbers())

    edit = jt.edit_kernel(kernel, doubled(kernel))

    words = (
        "crashed (status 1) while reading its libraries: ModuleNotFoundError: No module named 'a_module_that_nobody_"
    )
    assert words in edit.error
    assert edit.error.endswith("Nothing has changed.")


def test_an_endless_loop_is_told_with_the_rounds_of_the_original(rng, apart):
    x = jt.array(rng.random(3).astype("float32"))
    kernel = kernel_of(x.sinh() * 3)
    edit = jt.edit_kernel(kernel, kernel.source.replace("    for i0", "    while lo == 0:\n        lo = 0\n    for i0"))

    assert "its loops went 1,000,150 rounds, the original's 3: does this one end?" in edit.error


def test_threads_share_an_edit_as_they_share_the_original(numbers):
    """A text that is right for one thread, but counts from its own first row, is wrong for two."""
    kernel = kernel_of(numbers())
    edit = jt.edit_kernel(kernel, kernel.source.replace("a0[at(i0), ", "a0[at(i0) - at(lo), "))

    (out,) = edit.record["outputs"]
    assert (edit.agrees, out["parts"]) == (False, 2)
    assert out["differ"] == 30  # the rows of the second


def test_kernels_with_scratch_and_index_arrays_can_be_tried(rng):
    x = jt.array(rng.random((30, 7)).astype("float32"))
    index = jt.array(rng.integers(0, 30, 50))
    wanted = [x.softmax(1).sum(0), x[index].sum(1), x.half() * 2, jt.cumsum(x, 1), (x @ x.transpose(1, 0)).exp()]

    for y in wanted:
        for kernel in jt.explain(y).kernels:
            row = next(r for r in reversed(kernel.source.splitlines()) if r.strip())
            edit = jt.edit_kernel(kernel, kernel.source + " " * (len(row) - len(row.lstrip())) + "unused = 1\n")
            assert edit.agrees, f"{kernel.name}: {edit.error}\n{edit}\n{kernel.source}"


def test_shapes_that_were_not_tried_run_with_checked_indices(rng):
    """A text with a length in it must not write behind a shorter array."""
    long = jt.array(rng.random((4, 64)).astype("float32"))
    kernel = kernel_of(long.sin().sum(1))
    edit = jt.edit_kernel(kernel, kernel.source.replace("n0", "64").replace("hi, 64,", "hi, n0,"))
    assert edit.agrees, edit
    edit.install()

    np.testing.assert_allclose(long.sin().sum(1).numpy(), np.sin(long.numpy()).sum(1), rtol=1e-5)
    short = jt.array(rng.random((4, 9)).astype("float32"))
    with pytest.raises(jt.KernelError, match="out of bounds"):
        short.sin().sum(1).numpy()


def test_shapes_of_too_many_plans_are_not_taken_for_tried(rng):
    """Only so many shapes are tried; the plan that was used longest ago has none of them."""
    lengths = [70, *range(9, 9 + CASES)]
    inputs = [jt.array(rng.random((4, n)).astype("float32")) for n in lengths]
    for x in inputs:
        x.cosh().sum(1).numpy()
    kernel = kernel_of(inputs[-1].cosh().sum(1))
    row = next(r for r in kernel.source.splitlines() if "cosh(" in r)
    wrong = row.replace("cosh(", "a0[at(i0), at(i1) + n0 // 70] + cosh(")
    edit = jt.edit_kernel(kernel, kernel.source.replace(row, wrong)).install()

    assert edit.record["sets"] == 3 * CASES
    with pytest.raises(jt.KernelError, match="out of bounds"):
        inputs[0].cosh().sum(1).numpy()


@pytest.mark.parametrize("write", ["a0[at(i0), at(i1)] = t0", "a0[at(i0), at(i1)] += t0", "row = a0[i0]; row[0] = t0"])
def test_an_edit_that_writes_its_input_is_refused(numbers, write):
    kernel = kernel_of(numbers())
    row = next(r for r in kernel.source.splitlines() if "tanh(" in r and "=" in r)
    text = kernel.source.replace(row, f"{row}\n{row[: len(row) - len(row.lstrip())]}{write}")

    edit = jt.edit_kernel(kernel, text)

    assert re.match("it changes (a0, which is an|an) input: a kernel writes only its outputs", edit.error)
    assert write in text.splitlines()[edit.line - 1]


def test_an_edit_that_writes_its_input_is_refused_in_python(rng):
    with jt.flag_scope(backend="python"):
        x = jt.array(rng.random(6).astype("float32"))
        kernel = kernel_of(x * 4)
        edit = jt.edit_kernel(kernel, kernel.source + "        if hi > 1000:\n            a0[at(i0)] = 0\n")

    assert edit.error == "it changes a0, which is an input: a kernel writes only its outputs"


def test_what_the_two_of_a_comparison_left_of_their_inputs_must_be_the_same():
    spec = {"name": "x", "dtype": "float32", "real": "float32", "count": 3, "out": False, "low": 0, "high": 1}
    case = {"span": 1, "blocks": False, "row": 1, "slots": {"0": spec}, "arguments": [{"slot": "0", "shape": [3]}]}

    with pytest.raises(Refused, match="it changes x, which is an input"):
        _compare(case, (lambda lo, hi, x: None, lambda lo, hi, x: x.fill(0)), FILLS[0], [0, 0])


def installed_on_numbers_above_0(rng, change):
    """An edit of exp(x) that was tried on numbers around 0, and a Var of numbers that nobody tries."""
    x = jt.array(rng.random((4, 30)).astype("float32"))
    kernel = kernel_of(x.exp().sum(1))
    row = next(r for r in kernel.source.splitlines() if "exp(" in r and "=" in r)
    indent = row[: len(row) - len(row.lstrip())]
    text = kernel.source.replace(row, row + "".join(f"\n{indent}{more}" for more in change))
    edit = jt.edit_kernel(kernel, text)
    assert edit.agrees, edit
    edit.install()
    return edit, jt.array(np.full((4, 30), 50.0, "float32"))


def test_an_installed_edit_that_never_ends_on_other_numbers_is_stopped(rng):
    edit, x = installed_on_numbers_above_0(rng, ["k = 0", "while a0[at(i0), at(i1)] > 40:", "    k = k + 1"])

    with pytest.raises(jt.KernelError, match=r"an edited kernel ends; found more than [\d,]+ rounds") as told:
        x.exp().sum(1).numpy()

    line = int(re.search(r"at line (\d+)", str(told.value))[1])
    assert edit.source.text.splitlines()[line - 1].strip().startswith("while")


def test_an_installed_edit_that_leaves_its_arrays_on_other_numbers_is_stopped(rng):
    more = ["if a0[at(i0), at(i1)] > 40:", "    s0 = s0 + a0[at(i0), at(i1) + 1_000_000]"]
    edit, x = installed_on_numbers_above_0(rng, more)

    with pytest.raises(jt.KernelError, match="stays inside its arrays; found line") as told:
        x.exp().sum(1).numpy()

    line = int(re.search(r"found line (\d+)", str(told.value))[1])
    assert "1_000_000" in edit.source.text.splitlines()[line - 1]
    assert "i1 = 0" in str(told.value)


def test_an_edit_that_cannot_be_compiled_is_not_installed(numbers, monkeypatch):
    before = numbers().numpy()
    kernel = kernel_of(numbers())
    edit = jt.edit_kernel(kernel, doubled(kernel))

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("jt_edu.lens.sandbox._compiled", interrupted)
    with pytest.raises(KeyboardInterrupt):
        edit.install()

    assert not edit.installed
    np.testing.assert_array_equal(numbers().numpy(), before)


def test_an_interrupt_while_it_is_put_into_plans_takes_it_out_again(numbers, monkeypatch):
    before = numbers().numpy()
    kernel = kernel_of(numbers())
    edit = jt.edit_kernel(kernel, doubled(kernel))

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(edit, "_put", interrupted)
    with pytest.raises(KeyboardInterrupt):
        edit.install()

    assert not edit.installed
    np.testing.assert_array_equal(numbers().numpy(), before)


@pytest.mark.skipif(not STATM.exists(), reason="the system does not tell how much memory a process has")
def test_an_edit_that_wants_all_memory_is_refused(rng, apart):
    x = jt.array(rng.random(50).astype("float32"))
    y = jt.sort(x)[0]
    kernel = next(k for k in jt.explain(y).kernels if "scratch(" in k.source)
    text = kernel.source.replace("scratch(n, np.int64)", "np.ones(n + 2_000_000_000, np.int64)")
    assert text != kernel.source

    edit = jt.edit_kernel(kernel, text)

    assert "it needs more than 2 GB of memory beside its arrays" in edit.error


def test_large_arrays_can_be_edited(rng, apart):
    x = jt.array(rng.random(2_000_000).astype("float32"))
    kernel = kernel_of(x.expm1() * 3)

    edit = jt.edit_kernel(kernel, kernel.source.replace("expm1(", "1 * expm1("))

    assert edit.error == ""
    assert 1 <= edit.record["sets"] <= len(FILLS)


@pytest.mark.parametrize(("share", "sets"), [(1.0, len(FILLS)), (0.0, 1)])
def test_less_is_compared_when_time_is_over_but_never_nothing(rng, monkeypatch, share, sets):
    class Known(Unlimited):
        left = property(lambda budget: share * budget.seconds)

    monkeypatch.setattr(Here, "budget", Known)
    kernel = kernel_of(jt.array(rng.random(20).astype("float32")).expm1() * 3)

    edit = jt.edit_kernel(kernel, kernel.source.replace("expm1(", "1 * expm1("))

    assert edit.agrees
    assert edit.record["sets"] == sets * len(edit.record["shapes"])  # other tests may have run it on another shape


def test_compiling_costs_nothing(monkeypatch):
    clock = iter([0.0, 1.0, 8.0, 9.0, 9.0])
    monkeypatch.setattr(verify_edit, "resource", None)
    monkeypatch.setattr(verify_edit, "time", types.SimpleNamespace(process_time=lambda: next(clock)))

    budget = verify_edit.Budget(5.0)
    with budget.free():
        pass

    assert budget.end == 12.0


def test_what_takes_no_time_has_a_speed():
    edit = object.__new__(Edit)
    edit.record = {"original_ms": 1e-6, "edited_ms": 0.0}

    assert edit.speed == 1.0


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), "3", True])
def test_seconds_that_make_no_sense_are_refused(numbers, seconds):
    kernel = kernel_of(numbers())

    with pytest.raises(jt.ArgumentError, match=f"more than 0 and at most 100,000 seconds; found {seconds!r}"):
        jt.edit_kernel(kernel, doubled(kernel), seconds)


def test_the_python_backend_runs_edits_too(rng, apart):
    with jt.flag_scope(backend="python"):
        x = jt.array(rng.random(6).astype("float32"))
        kernel = kernel_of(x * 4)
        edit = jt.edit_kernel(kernel, kernel.source.replace(" * ", " + "))
        assert edit.error == ""
        edit.install()

        np.testing.assert_allclose((x * 4).numpy(), x.numpy() + 4)
        edit.revert()
        np.testing.assert_allclose((x * 4).numpy(), x.numpy() * 4)


def test_a_second_edit_takes_the_place_of_the_first(numbers):
    before = numbers().numpy()
    kernel = kernel_of(numbers())
    first = jt.edit_kernel(kernel, doubled(kernel)).install()

    second = jt.edit_kernel(first.source, doubled(kernel).replace("float32(2)", "float32(3)"))
    second = jt.edit_kernel(kernel_of(numbers()), second.source.text).install()

    assert jt.edited_kernels() == [second]
    np.testing.assert_allclose(numbers().numpy(), 3 * before, rtol=1e-5)
    assert jt.revert_kernels() == 1
    np.testing.assert_array_equal(numbers().numpy(), before)


def test_an_edit_never_takes_the_key_of_the_original(numbers):
    kernel = kernel_of(numbers())
    edit = jt.edit_kernel(kernel, doubled(kernel)).install()

    assert edit.source.key != edit.original.key
    assert {step.source.key for _, step in steps_of(edit.original.key)} == {edit.source.key}


def test_lines_are_found_again_in_an_edited_text():
    lines = ((2, 10), (3, 11), (4, 12))
    old = "def k():\n    a\n    b\n    c\n"

    assert renumbered(old, old, lines) == lines
    assert renumbered(old, old.replace("    b", "    x\n    b"), lines) == ((2, 10), (4, 11), (5, 12))
    assert renumbered(old, old.replace("    b\n", "    y\n    z\n"), lines) == ((2, 10), (3, 11), (4, 11), (5, 12))
    assert renumbered(old, old.replace("    b\n", ""), lines) == ((2, 10), (3, 11), (3, 12))


def test_a_kernel_is_found_by_text_key_and_annotated_text(numbers):
    y = numbers()
    kernel = kernel_of(y)
    source = find(kernel)

    assert find(kernel.source) is find(source.key[:10]) is find(kernel.annotated) is find(source) is source


@pytest.mark.parametrize(
    ("kernel", "text", "message"),
    [
        ("def kernel(lo, hi):\n    pass\n", "", "a kernel of a graph that was planned"),
        (3, "", "a kernel is given by its source"),
    ],
)
def test_kernels_that_nobody_runs_are_refused(kernel, text, message):
    with pytest.raises(jt.ArgumentError, match=message):
        jt.edit_kernel(kernel, text)


def test_the_same_text_is_no_edit(numbers):
    kernel = kernel_of(numbers())

    with pytest.raises(jt.ArgumentError, match=r"the same text\. Try: jt\.revert_kernels\(\)"):
        jt.edit_kernel(kernel, "# a comment\n" + kernel.source)


def test_a_text_for_two_dtypes_is_refused_and_each_of_its_kernels_is_known(rng):
    x = rng.random(5)
    single, double = jt.array(x.astype("float32")) + 1.0, jt.array(x) + 1.0
    kernels = [kernel_of(single), kernel_of(double)]
    assert kernels[0].source == kernels[1].source

    with pytest.raises(jt.ArgumentError, match="several dtypes"):
        jt.edit_kernel(kernels[0].source, "def kernel():\n    pass\n")
    assert [find(k).parameters[-1].dtype for k in kernels] == ["float32", "float64"]


def test_an_installed_edit_keeps_no_plan_alive(rng):
    x = jt.array(rng.random(5).astype("float32"))
    kernel = kernel_of(x.tan() * 3)
    edit = jt.edit_kernel(kernel, kernel.source.replace("tan(", "1 * tan(")).install()
    (x.tan() * 3).numpy()
    known, key = current().rank_state["plans"], edit.original.key
    of_ours = [(name, weakref.ref(plan)) for name, plan in known.items() if any(plan is p for p, _ in steps_of(key))]
    assert of_ours

    for name, _ in of_ours:
        del known[name]
    gc.collect()

    assert [plan() for _, plan in of_ours] == [None] * len(of_ours)


def test_a_training_step_runs_with_an_edited_kernel(rng):
    model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))
    opt = optim.Adam(model.parameters(), 1e-2)
    x = jt.array(rng.standard_normal((8, 6)).astype("float32"))
    c = jt.array(rng.integers(0, 3, 8))
    opt.step(nn.cross_entropy_loss(model(x), c))
    with jt.trace() as t:
        opt.step(nn.cross_entropy_loss(model(x), c))
    kernel = next(k for k in t.kernels if "tanh(" in k.source)
    edit = Edit(find(kernel), kernel.source.replace("tanh(", "1 * tanh("))
    assert edit.agrees, edit
    edit.install()

    with jt.trace() as t:
        loss = nn.cross_entropy_loss(model(x), c)
        opt.step(loss)

    assert any("1 * tanh(" in k.source for k in t.kernels)
    assert np.isfinite(loss.item())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("out0[()]", "out0[5]", "out0 has no axes: its one element is out0[()]; found out0[5], with 1 index"),
        ("a0[i0]", "a0[i0, i0, i0]", "a0 has 1 axis; found a0[i0, i0, i0], with 3 indices"),
    ],
)
def test_more_indices_than_an_array_has_axes_are_refused_and_counted(old, new, words):
    kernel = kernel_of((jt.array([1.0, 2.0]) * 3).sum())

    edit = jt.edit_kernel(kernel, kernel.source.replace(old, new))

    assert edit.error == words
    assert old in kernel.source.splitlines()[edit.line - 1]


def test_a_variable_that_changes_its_type_is_told_with_both():
    kernel = kernel_of((jt.array([1.0, 2.0]) * 3).sum())

    edit = jt.edit_kernel(kernel, kernel.source.replace("s0 = s0 + ", "s0 = a0 + "))

    assert edit.error.startswith("s0 is float64 in one place and array(float32, 1d, C) in another")
