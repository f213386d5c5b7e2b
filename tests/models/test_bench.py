"""`python -m jt_edu.bench backbones`: rates, their quartiles and the first answers, as a table, a file and a plot."""

import csv
import sys
from itertools import count

import pytest

import jt_edu as jt
from jt_edu import bench
from jt_edu.bench import Rates, Row, backbones, main


def ticking():
    """A clock that is a second further on whenever it is asked."""
    ticks = count()
    return lambda: float(next(ticks))


def test_rates_are_images_for_each_second_of_the_clock():
    rates = backbones(["squeezenet1_1"], [2, 1], size=32, rounds=3, peer=False, clock=ticking())

    assert rates == [Row("squeezenet1_1", "jt_edu", n, n, n, n, 1.0, 1.0) for n in (1, 2)]


def test_one_thread_computes_and_afterwards_as_many_as_before(monkeypatch):
    before, seen = jt.get_num_threads(), []
    monkeypatch.setattr(bench, "_rounds", lambda *_: [seen.append(jt.get_num_threads())])
    backbones(["resnet18"], [1])

    assert (seen, jt.get_num_threads()) == ([1], before)


def test_the_slower_side_is_told_by_the_fastest_answers():
    rates = Rates([Row("a", "jt_edu", 1, 9, 8, 10, 3, 0.2), Row("a", "PyTorch", 1, 4, 3, 5, 0, 0.1),
                   Row("a", "jt_edu", 2, 9, 8, 10, 3, 0.1), Row("a", "PyTorch", 2, 4, 3, 5, 0, 0.2)])  # fmt: skip

    table = str(rates).split("\n")

    assert [line.split()[-1] for line in table[1:3]] == ["0.50", "2.00"]
    assert table[3] == "PyTorch is faster for a 1."


def test_other_scores_than_pytorchs_are_not_measured():
    with pytest.raises(jt.ArgumentError, match="answers as PyTorch does"):
        bench._compare("a", [jt.ones(2).numpy(), jt.ones(2).numpy() * 1.001])


@pytest.mark.parametrize(
    ("given", "match"),
    [({"batch": [0]}, "from batch 1"), ({"rounds": 0}, "round 1"), ({"networks": ["resnet19"]}, "resnet1")],
)
def test_what_cannot_be_measured_is_refused(given, match):
    with pytest.raises((jt.ArgumentError, jt.UnknownNameError), match=match):
        backbones(**{"networks": ["resnet18"]} | given)


def test_the_program_writes_a_table_a_file_and_a_plot(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(bench, "_torch", lambda name, ours: lambda x: ours(jt.array(x)).numpy())
    main(["backbones", "--networks", "squeezenet1_1", "--batch", "1", "--size", "32", "--rounds", "2",
          "--folder", str(tmp_path / "figures")])  # fmt: skip

    with (tmp_path / "figures" / "backbones.csv").open() as file:
        rows = list(csv.reader(file))
    assert [row[:3] for row in rows] == [["network", "side", "batch"], ["squeezenet1_1", "jt_edu", "1"],
                                         ["squeezenet1_1", "PyTorch", "1"]]  # fmt: skip
    svg = (tmp_path / "figures" / "backbones.svg").read_text()
    assert "squeezenet1_1: images/s" in svg
    assert svg.count('class="s1"') >= 2  # the rate of PyTorch and its quartiles
    shown = capsys.readouterr()
    assert "jt_edu images/s" in shown.out
    assert "squeezenet1_1, batch 1\n" in shown.err  # above the line of its progress


def test_a_missing_pytorch_is_told_once_for_all_networks(capsys, monkeypatch):
    bench._pytorch.cache_clear()
    monkeypatch.setitem(sys.modules, "torch", None)
    backbones(["squeezenet1_1", "squeezenet1_0"], [1], size=32, rounds=1)
    bench._pytorch.cache_clear()

    assert capsys.readouterr().err.count("PyTorch is left out") == 1
