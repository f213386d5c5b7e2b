"""Workers share out whole files: xdist's own groups were once ignored for weeks, and nothing said so."""

import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

from tests.house.plan import ROOT
from tests.sharing import PART, groups, long_ones_first

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
    for name in ("conftest.py", "again.py", "chromium.py", "sharing.py"):
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
    def item(path, mark=None):
        return SimpleNamespace(path=path, nodeid=f"{path}::test_it", get_closest_marker=lambda name: name == mark)

    paths = ("tests/a/test_a.py", "tests/browser/test_b.py", "tests/mpi/test_c.py", "tests/z/test_d.py")
    items = [*map(item, paths), item("tests/z/test_d.py", "slow")]

    order = [one.path.removeprefix("tests/") for one in long_ones_first(items)]

    assert order == ["mpi/test_c.py", "browser/test_b.py", "z/test_d.py", "z/test_d.py", "a/test_a.py"]
