"""A file of the tuner's table that is well sealed and makes no sense is measured again, and stops nothing."""

import json
import math
import os

import pytest

from jt_edu import backends
from jt_edu.backends.convolve import autotuner, standalone
from jt_edu.backends.convolve.tuner_report import Table
from tests.floors.backends.convolve.test_autotuner import SMALL, algorithm, table  # noqa: F401 - a fixture

GOOD = autotuner.Entry(SMALL, 1, "python", (autotuner.Timing("one", 1e-3, 15, 0),))
TOLD = json.loads(GOOD.as_json())
TIMING = TOLD["timings"][0]


def changed(**parts):
    """A line whose parts say something else."""
    return json.dumps({**TOLD, **parts})


def resized(**parts):
    """A line about other sizes."""
    return changed(sizes={**TOLD["sizes"], **parts})


def timed(**parts):
    """A line with another timing."""
    return changed(timings=[list({**dict(zip(autotuner.Timing._fields, TIMING, strict=True)), **parts}.values())])


TEXTS = {
    "nothing": "",
    "no json": "{",
    "not utf-8": b"\xff\xfe",
    "nested": "[" * 100_000,
    "nested timings": changed(timings="@").replace('"@"', "[" * 50_000 + "]" * 50_000),
    "a number": "3",
    "null": "null",
    "a list": "[]",
    "no sizes": changed(sizes=None),
    "threads infinite": changed(threads=math.inf),
    "threads too large a float": changed(threads="@").replace('"@"', "1e999"),
    "threads nan": changed(threads=math.nan),
    "no threads": changed(threads=0),
    "threads yes": changed(threads=True),
    "threads half": changed(threads=1.5),
    "threads a text": changed(threads="1"),
    "backend a list": changed(backend=["python"]),
    "another backend": changed(backend="numba"),
    "backend not to be printed": changed(backend="\ud800"),
    "no timings": changed(timings=[]),
    "timings a dict": changed(timings={"one": 1}),
    "timing too short": changed(timings=[["one", 1.0]]),
    "timing a text": changed(timings=["abcd"]),
    "runs infinite": timed(runs=math.inf),
    "runs negative": timed(runs=-1),
    "runs huge": timed(runs=10**400),
    "bytes huge": timed(bytes=10**400),
    "bytes a list": timed(bytes=[0]),
    "seconds infinite": timed(seconds=math.inf),
    "seconds nan": timed(seconds=math.nan),
    "seconds negative": timed(seconds=-1.0),
    "seconds huge": timed(seconds=10**400),
    "seconds a text": timed(seconds="fast"),
    "no name": timed(name=""),
    "name not to be printed": timed(name="\ud800"),
    "name of two lines": timed(name="one\ntwo"),
    "no groups": resized(groups=0),
    "stride a dict": resized(stride={"a": 1}),
    "stride of dicts": resized(stride=[{}, {}, {}]),
    "stride of texts": resized(stride="abc"),
    "stride of two": resized(stride=[1, 1]),
    "image nested": resized(image=[[1], [5], [5]]),
    "n a float": resized(n=1.0),
    "n huge": resized(n=10**4000),
    "another size": resized(n=2),
    "a size too many": resized(depth=[1, 1, 1]),
    "kind a number": resized(kind=3),
}


def put(table, text, key):  # noqa: F811
    """Write a file as `Tuner` would."""
    table.store.save(key, text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_line_that_makes_no_sense_is_measured_again(table, text):  # noqa: F811
    put(table, text, autotuner.key_of(SMALL, standalone.threads(), "python"))
    put(table, text, "0" * 24)

    before = repr(Table(tuple(table.all()), 0, 0))
    entry = table.entry([algorithm("one")], SMALL, backends.get("python"))

    assert before.startswith("nothing was measured yet")
    assert (table.timed, entry.winner) == (1, "one")
    assert autotuner.Tuner(stamp=table.stamp).all() == [entry]


def test_the_line_that_the_others_are_changed_from_is_read(table):  # noqa: F811
    put(table, changed(), autotuner.key_of(SMALL, 1, "python"))

    assert table.all() == [GOOD]


def test_a_line_under_the_key_of_another_is_none(table):  # noqa: F811
    put(table, changed(), "0" * 24)

    assert table.all() == []


@pytest.mark.parametrize("what", ["pipe", "folder", "device"])
def test_something_else_in_place_of_a_file_is_passed_over(table, what):  # noqa: F811
    place = table.store.folder / f"k_{autotuner.key_of(SMALL, standalone.threads(), 'python')}.bin"
    {"pipe": lambda: os.mkfifo(place, 0o600), "folder": place.mkdir, "device": lambda: place.symlink_to("/dev/zero")}[
        what
    ]()

    assert table.all() == []
    assert table.entry([algorithm("one")], SMALL, backends.get("python")).winner == "one"


def test_times_that_no_clock_saw_can_be_printed():
    timings = (autotuner.Timing("one", 0.0, 15, 0), autotuner.Timing("two", 2e-9, 15, 0))

    rows = repr(Table((autotuner.Entry(SMALL, 1, "numba", timings),), 2, 30)).split("\n")

    assert [row.split()[-3] for row in rows[3:]] == ["1.00x", "2.00x"]
