"""Workers share out whole files: xdist's own groups were once ignored for weeks, and nothing said so."""

import json
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.house.plan import ROOT
from tests.share import FILES, LONG, SHARES, rows_of, table_of
from tests.sharing import DURATIONS, PART, groups, long_ones_first

NOTES = """
import os, pathlib, pytest

@pytest.mark.parametrize("number", range(4))
def test_it(number):
    with pathlib.Path("notes").open("a") as file:
        file.write(f"{pathlib.Path(__file__).stem} {os.environ['PYTEST_XDIST_WORKER']}\\n")
"""


def test_a_file_runs_on_one_worker_and_so_does_a_folder_with_a_server(tmp_path):
    places = ("tests/mpi/test_a.py", "tests/mpi/test_b.py", "tests/test_c.py", "tests/test_d.py", "tests/test_e.py")
    (tmp_path / "tests" / "mpi").mkdir(parents=True)
    for name in ("conftest.py", "again.py", "chromium.py", "share.py", "sharing.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests")
    for place in places:
        (tmp_path / place).write_text(NOTES)
    options = "-q -n 2 --dist loadscope -p no:cacheprovider --rootdir=. --import-mode=importlib"

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests", *options.split()], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "JT_EDU_REQUIRE": ""}, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout
    notes = [line.split() for line in (tmp_path / "notes").read_text().splitlines()]
    workers = {file: {worker for name, worker in notes if name == file} for file, _ in notes}
    assert len(notes) == 4 * len(places)
    assert all(len(there) == 1 for there in workers.values()), workers
    assert workers["test_a"] == workers["test_b"]
    assert set.union(*workers.values()) == {"gw0", "gw1"}


def test_a_long_file_is_cut_into_parts():
    names = [f"tests/test_a.py::test_it[{k}]" for k in range(PART + 1)] + ["tests/test_b.py::test_it"]

    found = groups(names)

    assert list(found) == names
    assert list(dict.fromkeys(found.values())) == [
        "tests/test_a.py, part 0", "tests/test_a.py, part 1", "tests/test_b.py, part 0",
    ]  # fmt: skip


def test_what_takes_long_begins_first():
    paths = (
        "tests/a/test_a.py",
        "tests/browser/test_b.py",
        "tests/mpi/test_c.py",
        "tests/y/test_d.py",
        "tests/z/test_e.py",
    )
    items = [SimpleNamespace(nodeid=f"{path}::test_it") for path in paths]

    order = [one.nodeid.partition("::")[0] for one in long_ones_first(items, {paths[4]: 20, paths[0]: 5})]

    assert order == [paths[2], paths[1], paths[4], paths[0], paths[3]]


def test_files_that_took_long_are_there():
    assert [path for path in json.loads(DURATIONS.read_text()) if not (ROOT / path).exists()] == []


def test_every_row_of_a_table_runs_within_as_many_commits_as_there_are_shares():
    names = [f"tests/layers/test_a.py::test_{count}[{k}]" for count in (1, 3, 8, 21) for k in range(count)]

    runs = [rows_of(names, share) for share in range(5, 5 + SHARES)]

    assert set.union(*runs) == set(names)
    assert all(len(some) in {1 + 1 + 1 + 2, 1 + 1 + 1 + 3} for some in runs)


def test_some_row_of_each_table_runs_in_every_commit():
    names = [f"tests/layers/test_a.py::test_{count}[{k}]" for count in range(1, 12) for k in range(count)]

    for share in range(SHARES):
        assert {table_of(name) for name in rows_of(names, share)} == {table_of(name) for name in names}


@pytest.mark.parametrize("options", ["--share=3", "--share=3 --all", "--share=-1", "", "--share=3 -k 8]"])
def test_workers_run_the_share_that_was_asked_for(tmp_path, options):
    (tmp_path / "tests" / "widgets").mkdir(parents=True)
    for name in ("conftest.py", "again.py", "chromium.py", "share.py", "sharing.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests")
    (tmp_path / "tests" / "widgets" / "test_a.py").write_text(NOTES.replace("range(4)", "range(40)"))
    command = f"-q -n 2 --dist loadscope -p no:cacheprovider --rootdir=. --import-mode=importlib {options}"

    subprocess.run(
        [sys.executable, "-m", "pytest", "tests", *command.split()], cwd=tmp_path, check=True, capture_output=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "JT_EDU_REQUIRE": ""},
    )  # fmt: skip

    names = [f"tests/widgets/test_a.py::test_it[{k}]" for k in range(40)]
    share = {"--share=3": 3, "--share=-1": 0}.get(options)  # there are no commits here
    wanted = names if share is None else rows_of(names, share)
    if "-k" in options:  # which comes first
        wanted = rows_of([name for name in names if "8]" in name], 3)
    assert len((tmp_path / "notes").read_text().splitlines()) == len(wanted)


def test_what_is_no_table_runs_each_time():
    others = [
        "house/test_floors.py::test_it[numba]",
        "misuse/test_wrong_calls.py::test_it[add]",
        "parity/test_halves.py::test_it",
        "exercises/test_03_fusion.py::test_a_cell",
    ]
    names = [f"tests/{name}" for name in others]

    assert all(rows_of(names, share) == set(names) for share in range(SHARES))


@pytest.mark.parametrize(
    "name", ["house/test_docstrings.py::test_it[a]", "exercises/test_03_fusion.py::test_the_notebook"]
)
def test_long_rows_are_tables_wherever_they_stand(name):
    assert table_of(f"tests/{name}")


def test_files_that_are_tables_are_there():
    assert [path for path in (*FILES, *LONG) if not (ROOT / "tests" / path).exists()] == []
