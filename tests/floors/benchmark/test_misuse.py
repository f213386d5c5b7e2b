"""Whatever a benchmark is given that it cannot use, it says what was asked and what was found."""

import math
import time

import numpy as np
import pytest

from jt_edu.base.errors import ArgumentError
from jt_edu.benchmark import Compare, FuzzedParameter, FuzzedTensor, Fuzzer, Measurement, TaskSpec, Timer

TASK = TaskSpec("pass")
ONE = Measurement(1, [1.0], TASK)
N, K = FuzzedParameter("n", 1, 9), FuzzedParameter("k", 1, 9)
MISUSE = {
    "no statement": (lambda: Timer(None), "stmt as code, a text or a function without arguments; found stmt=None"),
    "bytes": (lambda: Timer(b"1"), "found stmt=b'1'"),
    "a number as setup": (lambda: Timer("1", 3), "found setup=3"),
    "no global setup": (lambda: Timer("1", global_setup=None), "found global_setup=None"),
    "no clock": (lambda: Timer("1", timer=None), "timer as a function that returns seconds; found timer=None"),
    "globals a list": (lambda: Timer("1", globals=[1]), "globals as a dict of names, or None; found globals=[1]"),
    "a label of a number": (lambda: Timer("1", label=3), "label as a text, or None; found label=3"),
    "a description of a number": (lambda: Timer("1", description=3), "found description=3"),
    "threads a text": (lambda: Timer("1", num_threads="2"), "found num_threads='2'"),
    "threads yes": (lambda: Timer("1", num_threads=True), "found num_threads=True"),
    "threads half": (lambda: Timer("1", num_threads=1.5), "found num_threads=1.5"),
    "threads without end": (lambda: Timer("1", num_threads=10**6), "from 1 to 1024; found num_threads=1000000"),
    "runs a text": (lambda: Timer("1").timeit("3"), "timeit takes number as a whole number from 1; found number='3'"),
    "runs half": (lambda: Timer("1").timeit(1.5), "found number=1.5"),
    "runs yes": (lambda: Timer("1").timeit(True), "found number=True"),
    "seconds a text": (lambda: Timer("1").blocked_autorange(min_run_time="x"), "found min_run_time='x'"),
    "seconds nan": (lambda: Timer("1").blocked_autorange(min_run_time=math.nan), "found min_run_time=nan"),
    "seconds without end": (lambda: Timer("1").blocked_autorange(min_run_time=math.inf), "found min_run_time=inf"),
    "callback a number": (lambda: Timer("1").blocked_autorange(3), "callback as a function, or None; found callback=3"),
    "no time at all": (lambda: Timer("1").adaptive_autorange(max_run_time=0), "above 0 to 1e+09; found max_run_time=0"),
    "threshold a text": (lambda: Timer("1").adaptive_autorange("x"), "found threshold='x'"),
    "nothing to compare": (lambda: Compare(None), "Compare is given Measurements; found NoneType"),
    "one alone to compare": (lambda: Compare(ONE), "Compare is given Measurements; found Measurement"),
    "a text to compare": (lambda: Compare("ab"), "Compare is given Measurements; found str"),
    "a number to merge": (lambda: Measurement.merge([3]), "merge is given Measurements; found int"),
    "nothing to merge": (lambda: Measurement.merge(None), "merge is given Measurements; found NoneType"),
    "rowwise a text": (lambda: Compare([ONE]).colorize(rowwise="x"), "rowwise as True or False; found rowwise='x'"),
    "samples of texts": (lambda: Measurement(1, ["1"], TASK), "a time as a number; found a time='1'"),
    "samples a number": (lambda: Measurement(1, 3.0, TASK), "raw_times as Iterable; found raw_times=3.0"),
    "runs of half": (lambda: Measurement(0.5, [1.0], TASK), "found number_per_run=0.5"),
    "no task": (lambda: Measurement(1, [1.0], None), "task_spec as TaskSpec; found task_spec=None"),
    "a constraint that misses one": (
        lambda: Fuzzer([N, K], [], [lambda n: True]),
        "called with all parameters by name: n, k; found one that takes (n): got an unexpected keyword argument 'k'",
    ),
    "a constraint of all at once": (
        lambda: Fuzzer([N], [], [lambda p: p["n"] > 1]),
        "missing a required argument: 'p'",
    ),
    "a constraint that is none": (
        lambda: Fuzzer([N], [], [True]),
        "a constraint of a Fuzzer is a function; found True",
    ),
    "a constraint alone": (
        lambda: Fuzzer([N], [], lambda n: True),
        "a Fuzzer takes constraints as a list; found <func",
    ),
    "no parameters": (lambda: Fuzzer(None, []), "a Fuzzer takes parameters as a list; found None"),
    "a name as parameter": (lambda: Fuzzer(["n"], []), "the parameters of a Fuzzer are of FuzzedParameter"),
    "a parameter as tensor": (lambda: Fuzzer([N], [K]), "the tensors of a Fuzzer are of FuzzedTensor"),
    "a seed of a text": (lambda: Fuzzer([N], [], seed="x"), "seed as a whole number from 0; found seed='x'"),
    "a seed below 0": (lambda: Fuzzer([N], [], seed=-1), "found seed=-1"),
    "draws a text": (lambda: list(Fuzzer([N], []).take("3")), "take takes n as a whole number from 0; found n='3'"),
}


@pytest.mark.parametrize(("make", "words"), MISUSE.values(), ids=MISUSE)
def test_what_cannot_be_used_is_refused_in_words(make, words):
    with pytest.raises(ArgumentError) as refused:
        make()

    assert words in str(refused.value)


def test_numbers_of_numpy_and_constraints_that_take_others_will_do():
    timer = Timer("1", timer=time.perf_counter, num_threads=np.int64(1), sub_label=None)
    wide = Fuzzer([N, K], [FuzzedTensor("x", ("n", "k"))], [lambda n, **others: n > 1], seed=np.int64(3))

    assert timer.timeit(np.int32(2)).number_per_run == 2
    assert timer.blocked_autorange(None, np.float32(1e-4)).times
    assert timer.blocked_autorange(min_run_time=0).times
    assert timer.adaptive_autorange(max_run_time=1e-3).times
    assert [type(v) for v in (timer.timeit(np.int32(2)).number_per_run, timer.timeit(1).task_spec.num_threads)] == [
        int
    ] * 2
    assert all(p["n"] > 1 for _, _, p in wide.take(np.int64(3)))
    assert str(Compare(m for m in (ONE, Measurement(2, np.array([1.0, 2.0]), TASK))))
