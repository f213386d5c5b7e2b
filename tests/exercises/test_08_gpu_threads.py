"""Notebook 08: right answers in other forms, mistakes in words, its grid of threads, and what its cells print."""

import re

import numpy as np
import pytest

import jt_widgets as see
from jt_edu import cuda
from jt_exercises.author.validate import one_verdict
from jt_exercises.grade.batch import outcome
from jt_exercises.grade.sandbox import Contained, Places, best
from tests.exercises.forms import MASTERS, tells, verdict_of
from tests.story.test_course_answers import run, untouched

ALSO = [  # of which exercise, and what is written instead of what; no less right
    ("08.1", "    i = cuda.grid(1)\n    if i < x.size:", "    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):"),
    ("08.2", "j, i = cuda.grid(2)", "j = cuda.blockIdx.x * 32 + cuda.threadIdx.x\n    i = cuda.grid(2)[1]"),
    (
        "08.3",
        "    if t == 0:\n        out[cuda.blockIdx.x] = tile[0]",
        "    if t == 63:\n        out[i // 64] = tile[0]",
    ),
    ("08.6", '"rolled": 5', '"rolled": 6'),
    ("08.6", '"largest": 11', '"largest": 8'),
]


@pytest.mark.parametrize(("number", "part", "instead"), ALSO)
def test_a_right_answer_in_another_form_passes(number, part, instead):
    found = verdict_of(number, part, instead)

    assert found.passed, found


HALVES = "        if t < half:\n            tile[t] += tile[t + half]\n        cuda.syncthreads()\n        half //= 2"
ALONE = "        if t == 0:\n            for k in range(1, 64):\n                tile[0] += tile[k]\n        half = 0"
EVERY_SECOND = "        if t % (64 // half) == 0:\n            tile[t] += tile[t + 32 // half]"
MISTAKES = [  # of which exercise, what is written instead of what, and what is said of it
    ("08.1", "@cuda.jit\n", "", "leave `@cuda.jit` above it as it is"),
    ("08.1", "    if i < x.size:", "    while i < x.size:", "never ends in line 4"),
    ("08.1", "i = cuda.grid(1)", "i = cuda.threadIdx.x", "orders two blocks. Let each thread write a number"),
    ("08.3", "half //= 2", "half //= 0", "ZeroDivisionError"),
    ("08.3", HALVES, ALONE, "128 times while others wait, and 14 would do"),
    ("08.3", HALVES.partition("\n        cuda")[0], EVERY_SECOND, "let the threads that add be neighbors"),
    ("08.5", "        cuda.syncthreads()\n        for k in", "        cuda.sync()\n        for k in", "cuda.sync"),
    ("08.6", '"rolled": 5', '"rolled": "5"', "the number of a line for each kernel"),
]


@pytest.mark.parametrize(("number", "part", "instead", "words"), MISTAKES)
def test_a_mistake_is_told_in_words(number, part, instead, words):
    tells(number, part, instead, words)


@cuda.jit
def rotated(x, out):
    tile = cuda.shared.array(8, "float32")
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    out[t] = tile[(t + 1) % 8] + tile[t]


def test_a_grid_tells_in_words_what_it_shows():
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)

    told = repr(see.gpu_grid(rotated, 1, 8, x, out)).splitlines()

    assert told == [
        "rotated, block 0 of 1, 8 threads: nothing is wrong",
        "barrier 1: 8 in line 6",
        "end: all have ended",
        "trips to memory: x, line 5: 1; tile, line 5: 1; tile, line 7: 2; out, line 7: 1",
    ]
    assert out.sum() == 0  # copies are run


def test_a_grid_of_one_block_counts_the_trips_of_that_block_alone():
    run = cuda.simulate(rotated, 3, 8, np.arange(8, dtype=np.float32), np.zeros(8, np.float32))

    assert "x, line 5: 1;" in repr(see.gpu_grid(run, number=1))


def test_a_grid_says_who_wrote_and_who_read_a_number_and_needs_no_script():
    html = see.gpu_grid(rotated, 1, 8, np.arange(8, dtype=np.float32), np.zeros(8, np.float32)).html

    assert "<title>tile[3]: written by thread 3</title>" in html
    assert "<title>tile[3]: written by thread 3, read by threads 2, 3</title>" in html
    assert "<title>thread 5: in line 6</title>" in html and "<title>thread 5: has ended</title>" in html
    assert "<script" not in html


def test_a_click_on_a_barrier_shows_it(chromium):
    page = chromium.new_page()
    page.set_content(see.gpu_grid(rotated, 1, 8, np.arange(8, dtype=np.float32), np.zeros(8, np.float32)).html)

    page.locator("input").nth(1).click()

    assert [page.locator(f".g{k}").is_visible() for k in range(2)] == [False, True]
    page.close()


@pytest.mark.parametrize("what", [3, rotated.function, "rotated"])
def test_a_grid_of_what_is_no_kernel_is_refused(what):
    with pytest.raises(ValueError, match="gpu_grid shows a kernel"):
        see.gpu_grid(what)


def test_the_notebook_measures_what_it_claims():
    said = untouched("08_gpu_threads")

    assert "12 elements: [ 0  1  2  3 10 11 12 13 20 21 22 23]" in said
    assert "threads 2" not in said and re.search(r"thread 2 of block 2 touches out\[10\]", said)
    assert re.search(r"along_rows +128 trips", said) and re.search(r"along_columns +1024 trips", said)
    found, right = map(float, re.search(r"the sum is (\S+), and should be (\S+)", said).groups())
    assert found != right and "race in summed, line 10" in said
    assert "right: True" in said


def test_the_notebook_runs_with_right_answers():
    assert run("08_gpu_threads", {}, solved=True).count("right   ") == 6


def test_a_kernel_is_judged_in_the_process_of_a_submission(tmp_path):
    places = Places(tmp_path)
    places.fill()
    step, places = best(places)
    cell = MASTERS["08.1"].solved.split("# %%")[-1]
    text = cell.replace("YourTurn, check, hint, solution", "YourTurn").replace(
        'check("08.1", scaled)', "answers = (scaled,)"
    )
    wrong = text.replace("    if i < x.size:\n", "    import os\n    if i < x.size:\n")

    with Contained(step=step, places=places, seconds=60) as side:
        found, refused = (outcome(side, "08.1", given, 1, 60) for given in (text, wrong))

    assert found.status == "right", found
    assert "no import; found line 4 of the kernel" in refused.words and "self.visit" not in refused.words


NEW = "type('F', (), dict(kind='new', line=1, text='t', words='w'))()"
TRICKS = {  # what a notebook may do with the interpreter, and what is said of it
    "cuda.simulate = lambda *a, **k: None": "stopped with AttributeError",
    f"cuda.simulate = lambda *a, **k: type('R', (), dict(trips=[], slow=[], snapshots=[], findings=[{NEW}]))": "new in",
}


@pytest.mark.parametrize("trick", TRICKS)
def test_an_interpreter_that_was_changed_ends_in_a_verdict(trick, monkeypatch):
    monkeypatch.setattr(cuda, "simulate", cuda.simulate)

    found = one_verdict("08.1", MASTERS["08.1"].solved.replace("@cuda.jit", f"{trick}\n\n\n@cuda.jit"))

    assert found.passed is False and TRICKS[trick] in found.words and found.error is None, found
