"""`python -m tests.bench`: what it says about suites and rows that are there, and about those that are not."""

import importlib
import importlib.util
from contextlib import nullcontext

import pytest

from tests.bench import __main__ as bench
from tests.bench import rows, threads
from tests.bench.rows import Figures, Row


@pytest.fixture
def suite(monkeypatch):
    """A suite with two rows, which measure nothing; no environment is touched."""
    fast = Row("softmax", work=lambda run: Figures(ratio=2.0))
    slow = Row("layer norm, large", work=lambda run: Figures(ratio=run.box))
    monkeypatch.setattr(threads, "ROWS", (fast, slow))
    monkeypatch.setattr(bench, "quiet", lambda: nullcontext([]))
    return threads


def test_a_row_that_nobody_knows_is_an_error_that_lists_those_near_and_writes_nothing(suite, tmp_path, capsys):
    code = bench.main(["threads", "--only", "sofmax", "--out", str(tmp_path)])

    told = capsys.readouterr()
    assert code == 2
    assert told.err == "No row has 'sofmax' in its name. Try one of these: softmax.\n"
    assert told.out == ""
    assert list(tmp_path.iterdir()) == []


def test_one_unknown_name_among_known_ones_is_an_error_too(suite, tmp_path):
    assert bench.main(["threads", "--only", "softmax", "--only", "nosuchrow", "--out", str(tmp_path)]) == 2
    assert list(tmp_path.iterdir()) == []


def test_rows_that_are_no_part_of_a_quick_run_are_told(suite, monkeypatch, capsys):
    monkeypatch.setattr(threads, "QUICK", lambda row: row.name == "softmax", raising=False)

    assert bench.main(["threads", "--quick", "--only", "layer norm"]) == 2
    assert capsys.readouterr().err.startswith("No row of threads with layer norm in its name is part of a quick run.")


def test_known_rows_are_measured_and_written(suite, tmp_path, capsys):
    assert bench.main(["threads", "--only", "norm", "--out", str(tmp_path)]) == 0

    page = (tmp_path / "performance.md").read_text("utf-8")
    assert "| layer norm, large |" in page
    assert "softmax" not in page
    assert [path.name for path in tmp_path.iterdir()] == ["performance.md"]  # no picture: PyTorch has no part in it


def test_seconds_are_the_box_of_slow_rows_and_the_page_says_so(suite, tmp_path, capsys):
    bench.main(["threads", "--seconds", "7", "--out", str(tmp_path)])

    page = (tmp_path / "performance.md").read_text("utf-8")
    assert "| 7.00 |" in page
    assert "as many rounds as fit into 7 seconds" in page


@pytest.mark.parametrize("number", ["0", "-1", "inf", "soon"])
def test_seconds_have_to_be_a_number_above_0(number, capsys):
    with pytest.raises(SystemExit):
        bench.main(["threads", "--seconds", number])
    assert "--seconds" in capsys.readouterr().err


def test_without_pytorch_the_reader_is_told_what_to_do(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    assert bench.main(["core", "--only", "nosuchrow"]) == 2
    assert "python3 lab.py bench core" in capsys.readouterr().err


def test_suites_without_a_peer_need_no_pytorch(suite, monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    assert bench.main(["threads", "--out", str(tmp_path)]) == 0


def test_help_says_what_each_suite_measures_and_how_long_it_takes(capsys):
    with pytest.raises(SystemExit):
        bench.main(["--help"])

    lines = capsys.readouterr().out.split("suites:\n")[1].splitlines()
    assert [line.split()[0] for line in lines] == list(bench.SUITES)
    assert all(line.split()[-1] in ("minute", "minutes") for line in lines)
    assert set(bench.PEERS) < set(bench.SUITES)


def test_every_suite_in_the_help_is_a_module():
    for name in bench.SUITES:
        assert importlib.util.find_spec(f"tests.bench.{bench.MODULES.get(name, name)}") is not None


def test_the_rows_of_gemm_are_held_to_the_peak(torch):
    core = importlib.import_module("tests.bench.core")
    gemm = [row for row in core.ROWS if row.group == "matmul"]
    run = rows.Run(5)
    run.peak = 1e30

    figures = rows.measure_case(gemm[0].build(*gemm[0].tiny), gemm[0], run)

    assert [row.name for row in gemm] == [f"matmul {n}" for n in (256, 512, 1024, 2048)]
    assert all(rows.Goal("limit", 0.8) in row.goals for row in gemm)
    assert figures.limit_of == "peak"
    assert 0 < figures.limit < 1e-6


def test_without_jax_its_suite_says_so_and_is_passed_over(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    assert bench.main(["jax"]) == 0
    assert capsys.readouterr().out.startswith("The suite jax is passed over: JAX is not installed here.")
