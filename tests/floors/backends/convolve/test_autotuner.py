"""The tuner measures fairly and within its budget; its table outlives the process, damage, and other versions."""

import dataclasses
import itertools
import json
import subprocess
import sys

import pytest

from jt_edu import backends
from jt_edu.backends.convolve import Sizes, autotuner, standalone
from jt_edu.backends.convolve.selection import candidates
from jt_edu.backends.convolve.tuner_report import Table
from jt_edu.runtime import execute
from jt_edu.runtime import plan as plans
from tests.house.plan import ROOT

SMALL = Sizes("forward", 1, 2, 3, 1, (1, 5, 5), (1, 3, 3), (1, 3, 3), (1, 1, 1), (0, 0, 0), (1, 1, 1))


def algorithm(name, seconds=1.0):
    """One that works, under another name and with another estimate."""
    return dataclasses.replace(candidates(SMALL)[0], name=name, seconds=lambda s: seconds)


class Clock:
    """Time that passes only in runs."""

    def __init__(self):
        self.now, self.order = 0.0, []

    def __call__(self):
        return self.now

    def run(self, name, seconds):
        steps = itertools.cycle(seconds)

        def run():
            self.order.append(name)
            self.now += next(steps)

        return run


@pytest.fixture
def table(monkeypatch, tmp_path):
    """A table of this test's own, in a folder of its own."""
    backends.get("numba")  # its kernels stay where they are
    monkeypatch.setenv("JT_EDU_CACHE", str(tmp_path))
    return autotuner.Tuner(stamp=f"of-{tmp_path.name}")


# measuring


def test_one_disturbed_sample_does_not_end_the_race():
    clock = Clock()
    disturbed = itertools.chain([1.0, 5.0], itertools.repeat(1.0))  # a rehearsal, and the first sample

    found = autotuner.measured(
        {"a": clock.run("a", [1.5]), "b": clock.run("b", itertools.islice(disturbed, 40))}, clock, budget=100.0
    )

    assert found["b"] == (pytest.approx(1.0), autotuner.ROUNDS)


def test_the_least_of_several_times_counts():
    clock = Clock()

    found = autotuner.measured({"a": clock.run("a", [3.0, 1.0, 2.0])}, clock, budget=100.0)

    assert found["a"] == (pytest.approx(1.0), autotuner.ROUNDS)


def test_candidates_take_turns():
    clock = Clock()

    autotuner.measured({"a": clock.run("a", [1.0]), "b": clock.run("b", [1.2])}, clock, budget=100.0)

    assert clock.order == ["a", "b"] * (1 + autotuner.ROUNDS)


@pytest.mark.parametrize(("seconds", "samples"), [(9.1, 1), (3.1, 3), (2.9, autotuner.ROUNDS)])
def test_who_takes_three_times_as_long_drops_out_after_three_rounds_and_nine_times_after_one(seconds, samples):
    clock = Clock()

    found = autotuner.measured({"a": clock.run("a", [1.0]), "b": clock.run("b", [seconds])}, clock, budget=100.0)

    assert found["b"] == (pytest.approx(seconds), samples)


def test_the_first_run_of_each_is_a_rehearsal():
    clock = Clock()

    found = autotuner.measured({"a": clock.run("a", [50.0, *[1.0] * 30])}, clock, budget=100.0)

    assert found["a"][0] == 1.0


def test_measuring_ends_when_the_budget_is_spent():
    clock = Clock()

    found = autotuner.measured({"a": clock.run("a", [1.0])}, clock, budget=2.5)

    assert found["a"][1] == 1 + 3  # the first round, and three until 2.5 seconds are over


def test_a_kernel_faster_than_the_clock_runs_several_times_in_a_sample():
    clock = Clock()

    found = autotuner.measured({"a": clock.run("a", [autotuner.SAMPLE / 10])}, clock, budget=100.0)

    assert found["a"][0] == pytest.approx(autotuner.SAMPLE / 10)
    assert len(clock.order) == 1 + 1 + 10 * autotuner.ROUNDS


def test_what_is_estimated_hopeless_is_not_run():
    backend = backends.get("python")

    entry = autotuner.time_candidates([algorithm("good", 1.0), algorithm("bad", 21.0)], SMALL, backend)

    assert [(t.name, t.runs > 0) for t in entry.timings] == [("good", True), ("bad", False)]
    assert entry.timings[1].seconds == 21.0


def test_a_trifle_is_tried_whatever_its_estimate_is():
    entry = autotuner.time_candidates([algorithm("good", 1e-6), algorithm("bad", 9e-4)], SMALL, backends.get("python"))

    assert all(t.runs for t in entry.timings)


def test_the_tuner_shares_work_among_threads_where_a_plan_does():
    assert execute.PARALLEL * plans.FLOPS_AT_ONCE == standalone.SHARED


# the table


def test_what_was_measured_is_not_measured_again(table):
    first = table.entry([algorithm("one"), algorithm("two")], SMALL, backends.get("python"))
    again = table.entry([algorithm("one"), algorithm("two")], SMALL, backends.get("python"))

    assert again is first
    assert table.timed == 2


def test_the_table_is_kept_on_disk(table):
    first = table.entry([algorithm("one"), algorithm("two")], SMALL, backends.get("python"))
    other = autotuner.Tuner(stamp=table.stamp)

    assert other.entry([algorithm("one"), algorithm("two")], SMALL, backends.get("python")) == first
    assert other.timed == 0
    assert other.all() == [first]


def test_another_version_knows_nothing_of_it(table):
    table.entry([algorithm("one")], SMALL, backends.get("python"))

    assert autotuner.Tuner(stamp="of-another-test").known(SMALL, standalone.threads(), "python") is None


def test_a_new_candidate_has_its_chance(table):
    table.entry([algorithm("one")], SMALL, backends.get("python"))

    entry = table.entry([algorithm("one"), algorithm("two")], SMALL, backends.get("python"))

    assert {t.name for t in entry.timings} == {"one", "two"}


def test_threads_and_backends_have_lines_of_their_own():
    keys = [autotuner.key_of(SMALL, count, name) for count in (1, 2) for name in ("numba", "python")]

    assert len(set(keys)) == 4


@pytest.mark.parametrize("damage", [b"", b"{}", b"jt_edu kernel 1\n" + bytes(40) + b"{}"])
def test_a_damaged_file_is_measured_again(table, damage):
    key = autotuner.key_of(SMALL, standalone.threads(), "python")
    table.entry([algorithm("one")], SMALL, backends.get("python"))
    (table.store.folder / f"k_{key}.bin").write_bytes(damage)
    other = autotuner.Tuner(stamp=table.stamp)

    entry = other.entry([algorithm("one")], SMALL, backends.get("python"))

    assert (other.timed, entry.winner) == (1, "one")
    assert autotuner.Tuner(stamp=table.stamp).all() == [entry]


@pytest.mark.parametrize(
    "change", [{"format": 0}, {"timings": "none"}, {"sizes": {"kind": "forward"}}, {"threads": "x"}]
)
def test_a_file_of_another_form_is_measured_again(table, change):
    key = autotuner.key_of(SMALL, standalone.threads(), "python")
    entry = table.entry([algorithm("one")], SMALL, backends.get("python"))
    table.store.save(key, json.dumps({**json.loads(entry.as_json()), **change}).encode())
    other = autotuner.Tuner(stamp=table.stamp)

    assert other.entry([algorithm("one")], SMALL, backends.get("python")).winner == "one"
    assert other.timed == 1


def test_an_entry_comes_back_from_its_file_as_it_was(table):
    entry = table.entry([algorithm("one"), algorithm("two", 1e9)], SMALL, backends.get("python"))

    assert autotuner.read_entry(entry.as_json()) == entry


def test_clear_forgets_memory_and_disk(table):
    table.entry([algorithm("one")], SMALL, backends.get("python"))

    table.clear()

    assert table.all() == []
    assert autotuner.Tuner(stamp=table.stamp).all() == []


WRITE = """
from tests.floors.backends.convolve.test_autotuner import SMALL, algorithm
from jt_edu import backends
from jt_edu.backends.convolve import autotuner
import dataclasses, sys
mine = autotuner.Tuner(stamp=sys.argv[2])
for n in range(1, 4):
    mine.entry([algorithm("one")], dataclasses.replace(SMALL, n=n + 10 * int(sys.argv[1])), backends.get("python"))
"""


def test_two_processes_write_one_table(table):
    both = [subprocess.Popen([sys.executable, "-c", WRITE, str(k), table.stamp], cwd=ROOT) for k in range(2)]

    assert [process.wait(240) for process in both] == [0, 0]
    assert sorted(entry.sizes.n for entry in table.all()) == [1, 2, 3, 11, 12, 13]


def test_the_texts_of_the_algorithms_are_part_of_the_version(monkeypatch, tmp_path):
    before = autotuner.stamp()
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "one.py").write_text("another text")
    monkeypatch.setattr(autotuner, "__file__", str(tmp_path / "autotuner.py"))
    autotuner.stamp.cache_clear()

    try:
        assert autotuner.stamp() != before
    finally:
        autotuner.stamp.cache_clear()


def test_a_table_marks_the_winner_and_says_who_was_not_tried():
    timings = (
        autotuner.Timing("one", 1e-3, 15, 4096),
        autotuner.Timing("two", 4e-3, 1, 0),
        autotuner.Timing("bad", 9.0, 0, 0),
    )
    entry = autotuner.Entry(SMALL, 1, "numba", timings)

    about, head, *rows = repr(Table((entry,), 2, 16, "/a/folder")).split("\n")

    assert about == "1 size, stored in /a/folder"
    assert head.split() == ["algorithm", "least", "time", "slower", "workspace"]
    assert rows[0] == "forward 1x2x5x5 * 3x2x3x3, float32, 1 thread, numba"
    assert [row[2] for row in rows[1:]] == [">", " ", " "]
    assert rows[1].split()[1:] == ["one", "1", "ms", "1.00x", "4.1", "kB"]
    assert rows[2].endswith("dropped after one run")
    assert rows[3].endswith("an estimate: not tried")


def test_a_table_is_in_the_order_of_numbers_and_a_page_holds_the_same():
    timings = (autotuner.Timing("one", 1e-3, 15, 4096),)
    entries = tuple(
        autotuner.Entry(dataclasses.replace(SMALL, c=c, groups=1), 1, "numba", timings) for c in (128, 32, 4)
    )

    table = Table(entries, 3, 45)
    words, page = repr(table), table._repr_html_()

    for text in (words, page):
        places = [text.index(f"forward 1x{c}x5x5") for c in (4, 32, 128)]
        assert places == sorted(places)
        assert "in the memory of this process" in text
    assert page.count("<details>") == page.count("4.1 kB") == 3
    assert Table((), 0, 0)._repr_html_().startswith("<p>nothing was measured yet")
