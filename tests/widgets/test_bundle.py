"""The committed bundle is what its sources give, is small, and travels in the wheel; the frontend's own checks pass."""

import json
import re
import subprocess
import tomllib

import pytest

from jt_widgets.bundle import MODULE, NEEDED_BY, code_of, module
from tests.frontend import FOLDER, node, npm
from tests.house.plan import ROOT
from tests.house.tree import hold

MOST_BYTES, MOST_UNPACKED = 80_000, 310_000  # of a view's module, packed; of all views, three more than there are
MOST_LINES, MOST_LETTERS, LONGEST = 400, 120, 40  # of a file, of a line, of a function
VIEWS = ("kernel", "loops", "tape", "memory", "train", "roofline", "ranks")  # whose classes begin with their names
CLASS = re.compile(r"(?<![\w-])jt-[a-z][a-z0-9-]*")
SHEET = re.compile(r"\.set\(\"(src/[\w/]+\.css)\",([`'\"])(.*?)(?<!\\\\)\2\)", re.DOTALL)
MARKUP = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc=")


def kinds():
    """The views that there are: each has a file."""
    return sorted(path.stem for path in (FOLDER / "src" / "views").glob("*.js"))


def test_a_view_carries_a_small_module_and_all_views_together_are_not_large(record_property):
    sizes, whole = {view: len(module(view)) for view in kinds()}, MODULE.stat().st_size
    most = max(sizes, key=sizes.get)
    said = f"{len(sizes)} views: {whole:,} bytes, {MOST_UNPACKED:,} are allowed; the largest {sizes[most]:,} ({most})"
    record_property("house", said)

    assert sizes[most] <= MOST_BYTES
    assert whole <= MOST_UNPACKED


def test_a_view_leaves_out_what_only_others_need():
    parts = NEEDED_BY.split(MODULE.read_text(encoding="utf-8"))[1:]
    alone = dict(zip(parts[::2], parts[1::2], strict=True))

    for view in set(kinds()) & set(alone):
        assert alone[view] in code_of(view)
        assert not any(alone[view] in code_of(other) for other in kinds() if other != view)
    assert len(module("table")) < len(module("explore")) / 2


@pytest.mark.parametrize("view", kinds())
def test_a_view_brings_the_style_of_every_class_that_it_names(view):
    own, files = code_of(view), (FOLDER / "src").rglob("*.css")
    styled = {path.relative_to(FOLDER).as_posix(): set(CLASS.findall(text_of(path))) for path in files}
    brought = {name for name, _, _ in SHEET.findall(own)}
    used = set(CLASS.findall(SHEET.sub("", own)))

    assert brought >= {"src/style.css", "src/shared.css"}
    hold([f"{view}: {word} of {name}" for name, words in styled.items() if name not in brought
          for word in sorted(words & used - set().union(*(styled[one] for one in brought)))])  # fmt: skip


def test_a_rebuild_gives_the_same_bytes(frontend, tmp_path):
    built = tmp_path / "jt.js"

    done = node("build.mjs", str(built))

    assert done.returncode == 0, done.stdout
    assert built.read_bytes() == MODULE.read_bytes(), "the sources changed: node widgets/frontend/build.mjs"


def test_the_types_fit(frontend):
    done = npm("run", "--silent", "check")

    assert done.returncode == 0, done.stdout


def test_the_tests_of_the_frontend_pass(frontend):
    done = npm("run", "--silent", "test")

    assert done.returncode == 0, done.stdout[-6000:]
    passed = re.search(r"^. pass (\d+)$", done.stdout, re.MULTILINE)  # "#" or "ℹ", by the version of Node
    files = len([*(FOLDER / "test").glob("*.test.js")])
    assert passed and int(passed[1]) >= files, done.stdout[-6000:]


def test_git_takes_the_bundle_and_leaves_the_tools():
    ignored = ["git", "-C", str(ROOT), "check-ignore", str(MODULE), str(FOLDER / "node_modules" / "x")]
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")

    done = subprocess.run(ignored, capture_output=True, text=True, check=False)

    assert done.stdout.split() == [str(FOLDER / "node_modules" / "x")]


def test_the_wheel_holds_the_package_of_the_bundle():
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]

    assert "widgets/jt_widgets" in table["wheel"]["only-include"]
    assert MODULE.relative_to(ROOT / "widgets" / "jt_widgets").as_posix() == "static/jt.js"


def test_versions_of_the_tools_are_exact_and_the_lock_names_no_host():
    package = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    locked = json.loads((FOLDER / "package-lock.json").read_text(encoding="utf-8"))["packages"]

    assert "dependencies" not in package
    assert all(version[0].isdigit() for version in package["devDependencies"].values())
    assert not any("resolved" in entry for entry in locked.values())
    assert all("integrity" in entry for place, entry in locked.items() if place)


def test_sources_never_make_markup_from_words():
    files = list((FOLDER / "src").rglob("*.js"))
    hold(
        [
            f"{path.relative_to(FOLDER)}:{number}: {word}"
            for path in files
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
            for word in MARKUP
            if word in line
        ]
    )


def test_sources_are_short_and_say_what_they_answer():
    texts = {path.relative_to(FOLDER): path.read_text(encoding="utf-8").splitlines() for path in sources()}
    hold(
        [
            *(f"{p}: {len(t)} lines; {MOST_LINES} are allowed" for p, t in texts.items() if len(t) > MOST_LINES),
            *(
                f"{p}: no header says which question it answers"
                for p, t in texts.items()
                if t[0][:2] not in ("//", "/*")
            ),
            *(
                f"{path}:{k}: {len(line)} letters"
                for path, t in texts.items()
                for k, line in enumerate(t, 1)
                if len(line) > MOST_LETTERS
            ),
        ]
    )


def test_functions_are_short(frontend, record_property):
    done = node("test/functions.mjs", str(LONGEST), "src", "test", "build.mjs")
    assert done.returncode == 0, done.stdout
    *long, said = done.stdout.splitlines()
    record_property("house", f"JavaScript: {said}; {LONGEST} are allowed")

    assert int(said.split()[0]) > 1000  # it does find them
    hold(long)


def test_each_class_of_a_view_begins_with_its_name():
    shared = {word for path in (FOLDER / "src").glob("*.css") for word in CLASS.findall(text_of(path))} | {"jt-now"}

    hold([f"{path.relative_to(FOLDER)}: {word}" for path, word in strange_classes(shared)])


def strange_classes(shared):
    """Classes in the files of `VIEWS` that neither begin with its name nor are of the sheets for all, as jt-plot is."""
    for name in VIEWS:
        views = FOLDER / "src" / "views"
        for path in (views / f"{name}.js", *(views / name).iterdir()):
            words = sorted(set(CLASS.findall(text_of(path))) - shared)
            yield from ((path, word) for word in words if not word.startswith((f"jt-{name}", "jt-plot")))


def text_of(path):
    """Without colours and other variables, which begin with two dashes."""
    return re.sub(r"--jt-[a-z-]+", "", path.read_text(encoding="utf-8"))


def is_header(line):
    return line.startswith(("// ", "/* ", "/** "))


def sources():
    """All text that was written by hand: code, types and style sheets."""
    folders = [FOLDER / "src", FOLDER / "test"]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in {".js", ".mjs", ".ts", ".css"}]
    return [FOLDER / "build.mjs", *sorted(files)]
