"""`python -m jt_edu.lab` opens the course from a checkout, and from a wheel, which holds the notebooks and no more."""

import asyncio
import importlib.util
import runpy
from concurrent.futures import ThreadPoolExecutor

import pytest

from jt_edu import lab
from jt_edu.course_files import MADE_FROM, CourseFiles
from tests.house.pins import project
from tests.house.plan import ROOT

NAMES = sorted(page.name for page in (ROOT / "notebooks").glob("[0-9]*.ipynb"))


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The module as a wheel has it: notebooks in the package, and the learner's folder elsewhere."""
    wheel = tmp_path / "site" / "jt_edu" / "notebooks"
    wheel.mkdir(parents=True)
    for name in NAMES:
        (wheel / name).write_text("new")
    monkeypatch.setattr(lab, "INSTALLED", wheel)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "jt_edu_course"


def test_a_checkout_is_opened_where_it_is_and_shows_no_sources(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    told = lab.command(["--debug"])

    assert f"--ServerApp.root_dir={ROOT}" in told
    assert "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb" in told
    assert f"--ServerApp.contents_manager_class={CourseFiles.__module__}.{CourseFiles.__name__}" in told
    assert {name.rpartition(".")[2] for name in listed(ROOT, "notebooks")} <= {"ipynb", "md", "html"}
    assert list(tmp_path.iterdir()) == []


def test_a_learners_own_folders_are_listed_whatever_their_names(tmp_path):
    for place in ("", "notebooks/mine", "my_project"):
        (tmp_path / place / "source").mkdir(parents=True)
        (tmp_path / place / "build.py").touch()

    assert {"source", "build.py"} <= set(listed(tmp_path, ""))
    assert set(listed(tmp_path, "notebooks/mine")) == set(listed(tmp_path, "my_project")) == {"source", "build.py"}
    assert listed(tmp_path, "notebooks") == ["mine"]


def listed(root, folder):
    """What JupyterLab shows there."""
    with ThreadPoolExecutor() as pool:  # where pages are driven, a loop is kept running in this thread
        found = pool.submit(asyncio.run, CourseFiles(root_dir=str(root)).get(folder)).result()
    return [page["name"] for page in found["content"]]


def test_jupyterlab_says_where_it_is_and_no_more_unless_it_is_asked():
    told = lab.command(["--debug"])

    assert told.index("--Application.log_level=WARN") < told.index("--debug")


def test_from_a_wheel_the_notebooks_are_copied_and_answers_stay(installed, capsys):
    installed.mkdir()
    (installed / NAMES[0]).write_text("answers")

    told = lab.command(["--no-browser"])

    assert f"--ServerApp.root_dir={installed}" in told and told[-1] == "--no-browser"
    assert "--LabApp.default_url=/lab/tree/00_start_here.ipynb" in told
    assert not any("contents_manager" in option for option in told)
    assert sorted(page.name for page in installed.iterdir()) == NAMES
    assert [(installed / name).read_text() for name in NAMES[:2]] == ["answers", "new"]
    assert f"{len(NAMES) - 1} new files of the course in {installed}" in capsys.readouterr().out


def test_a_folder_can_be_named(installed, tmp_path):
    told = lab.command(["mine", "--port", "9000"])

    assert f"--ServerApp.root_dir={tmp_path / 'mine'}" in told and told[-2:] == ["--port", "9000"]
    assert not installed.exists()


def test_a_folder_that_cannot_be_written_is_told_in_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")

    with pytest.raises(SystemExit, match=r"^jt_edu\.lab: .*Name another folder"):
        lab.main([str(tmp_path / "file")])


def test_where_jupyterlab_is_missing_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(SystemExit, match=r'pip install "jt-edu\[lab\]"'):
        lab.main([])


def test_it_turns_into_jupyterlab_while_a_process_compiles_the_kernels(tmp_path, monkeypatch):
    seen, started = [], []
    monkeypatch.setattr(lab.subprocess, "Popen", lambda command, **_: started.append(command[1:]))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True)
    monkeypatch.setattr(runpy, "run_module", lambda *names, **_: seen.append(names))
    monkeypatch.setattr("sys.argv", ["lab"])

    lab.main([str(tmp_path / "course"), "--debug"])

    assert seen == [("jupyterlab",)]
    assert started == [["-m", "jt_edu.precompile"]]


def test_help_is_its_docstring(capsys):
    lab.main(["--help"])

    assert "python -m jt_edu.lab my_folder" in capsys.readouterr().out


def test_a_wheel_takes_the_notebooks_and_leaves_out_what_they_are_made_from():
    wheel = project()["tool"]["hatch"]["build"]["targets"]["wheel"]

    assert set(wheel["only-include"]) >= {"jt_edu", "notebooks"}
    assert wheel["sources"]["notebooks"] == "jt_edu/notebooks" == lab.INSTALLED.relative_to(ROOT).as_posix()
    assert [name for name in wheel["exclude"] if not any(ROOT.rglob(name.removeprefix("/")))] == []
    assert {"/exercises/jt_exercises/author", "solution.py", "wrong.toml"} <= set(wheel["exclude"])
    hidden = {page.name for page in (ROOT / "notebooks").iterdir() if page.name in MADE_FROM}
    assert {"/notebooks/" + name for name in hidden} <= set(wheel["exclude"])
