"""Every page has just the keys that the browser's types say, and paths that comments name exist."""

import re

import pytest

import jt_edu as jt
import jt_widgets
from jt_edu import nn, optim
from tests.frontend import FOLDER
from tests.house.plan import ROOT

TYPES = FOLDER / "src" / "types.d.ts"
COMPUTED = {"blocks", "nodes", "users"}  # what document.js adds to a page
PATH = re.compile(r"(?:jt_edu|jt_widgets|widgets|tests|views|graph)/[\w/]+\.(?:py|js|ts|css)\b")
FIELD, NESTED = r"(\w+)(\??): ([^;]+);", r"^    (\w+)(\??): (.*);$"


def interfaces():
    """Keys of each interface: name -> {key: (optional, its type)}."""
    text = re.sub(r"/\*\*.*?\*/", "", TYPES.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = {}
    for name, body in re.findall(r"export interface (\w+) \{\n(.*?)\n\}", text, re.DOTALL):
        keys = [key for line in body.split("\n") for key in re.findall(NESTED if "{" in line else FIELD, line)]
        found[name] = {key: (bool(may), kind) for key, may, kind in keys}
    return found


def loss():
    a = jt.array([[1.0, 2.0], [3.0, 4.0]])
    return ((a @ a).exp() + a).sum()


def training():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    batches = [(jt.array([[1.0, 2.0]]), jt.array([[1.0]]))] * 3
    step = optim.SGD(net.parameters(), 0.1)
    panel = jt_widgets.train_panel(net, step, lambda net, x, y: ((net(x) - y) ** 2).mean(), batches)
    panel.step()
    return panel


VIEWS = {
    "graph": lambda: jt_widgets.graph(loss()),
    "kernel": lambda: jt_widgets.kernel(loss()),
    "tape": lambda: jt_widgets.tape(loss()),
    "memory": lambda: jt_widgets.memory(loss()),
    "roofline": lambda: jt_widgets.roofline(loss()),
    "loops": lambda: jt_widgets.step_kernel((jt.array([1.0, 2.0]) * 3).sum()),
    "train": training,
}


def differences(value, kind, known, where):
    """Keys that a value has and its type has not, or the other way round, all the way down."""
    kind = kind.removesuffix(" | null")
    many = kind.endswith("[]")
    kind = kind.removesuffix("[]")
    if match := re.fullmatch(r"Record<string, (\w+)>", kind):
        return [d for key, one in value.items() for d in differences(one, match[1], known, f"{where}.{key}")]
    if value is None or kind not in known:
        return []
    if many:
        return [d for k, one in enumerate(value) for d in differences(one, kind, known, f"{where}[{k}]")]
    wanted = known[kind]
    missing = [f"{where}.{key} is missing" for key, (may, _) in wanted.items() if not may and key not in value]
    strange = [f"{where}.{key} has no type" for key in value if key not in wanted]
    inner = [
        d for key in value if key in wanted for d in differences(value[key], wanted[key][1], known, f"{where}.{key}")
    ]
    return missing + strange + inner


@pytest.mark.parametrize("name", VIEWS)
def test_a_page_has_the_keys_that_its_types_say(name):
    known = interfaces()
    known["Page"] = {key: kind for key, kind in known["Page"].items() if key not in COMPUTED}
    view = VIEWS[name]()
    page = view.recording.page

    assert known["Page"]["graph"] == (False, "Graph")
    assert differences(page, "Page", known, name) == []


@pytest.mark.parametrize("change", [{"surplus": 1}, {"summary": None}])
def test_a_key_too_many_or_too_few_would_be_found(change):
    page = {"summary": "", **change}
    if page["summary"] is None:
        del page["summary"]

    assert differences(page, "Page", {"Page": {"summary": (False, "string")}}, "page") != []


def test_paths_that_comments_name_exist():
    folders = (FOLDER / "src", FOLDER / "golden")
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in {".js", ".ts", ".css", ".py"}]
    homes = [ROOT, ROOT / "widgets", FOLDER / "src"]
    lost = [
        f"{path.name}: {name}"
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.match(r"\s*(//|\*|/\*|#)", line)
        for name in PATH.findall(line)
        if not any((home / name).exists() for home in [*homes, path.parent])
    ]

    assert lost == []
