"""The core stays small enough to be read: lines of code in all; lines in a file, in a function."""

import ast
import statistics

import pytest

from tests.house import plan
from tests.house.tree import Module, code_lines, functions, hold, lines_of, modules, place


def is_core(module: Module) -> bool:
    where = place(module.name)
    outside = any(f"{module.name}.".startswith(f"{name}.") for name in plan.NOT_CORE)
    return where is not None and where[0] < plan.CORE_FLOORS and not outside


def only_names(module: Module) -> bool:
    """Whether a file only hands out names: nobody reads it from top to bottom, so it may be as long as its list."""
    statements = [type(s) for s in module.tree.body]
    return module.is_door and set(statements) <= {ast.Expr, ast.Import, ast.ImportFrom, ast.Assign, ast.If}


def complaints(root=plan.ROOT) -> list[str]:
    house = modules(root)
    core = [module for module in house if is_core(module)]
    return [
        *_too_many("the code of the core:", sum(map(code_lines, core)), plan.CORE_LINES),
        *(
            text
            for module in house
            if not only_names(module)
            for text in _too_many(f"{module.name}:", _lines(module), plan.FILE_LINES)
        ),
        *(
            text
            for module in house
            for function in functions(module)
            for text in _too_many(f"{module.at(function)} {function.name}:", lines_of(function), plan.FUNCTION_LINES)
        ),
        *_too_many("the median function of the core:", _median(core), plan.MEDIAN_FUNCTION_LINES),
    ]


def long_views(root=plan.ROOT / "widgets") -> list[str]:
    """A view's Python half turns events into JSON; what is longer does something else."""
    views = [m for m in modules(root, "jt_widgets") if not m.is_door and m.name not in plan.SHARED_BY_VIEWS]
    return [text for m in views for text in _too_many(f"jt_widgets.{m.name}:", _lines(m), plan.VIEW_LINES)]


def _too_many(what: str, lines: float, limit: int) -> list[str]:
    return [f"{what} {lines:g} lines; {limit} are allowed"] if lines > limit else []


def _lines(module: Module) -> int:
    return len(module.text.splitlines())


def _median(core: list[Module]) -> float:
    return statistics.median([lines_of(function) for module in core for function in functions(module)] or [0])


def figures(root=plan.ROOT) -> str:
    """One line for the end of a test run."""
    core = [module for module in modules(root) if is_core(module)]
    if not core:
        return "the core: no file yet"
    longest = max(core, key=_lines)
    count = sum(len(functions(module)) for module in core)
    return (
        f"the core: {sum(map(code_lines, core)):,} of {plan.CORE_LINES:,} lines of code, "
        f"{sum(map(_lines, core)):,} with words, in {len(core)} files, longest {longest.name} {_lines(longest)}; "
        f"{count} functions, median {_median(core):g} lines"
    )


def test_the_core_is_short(record_property):
    record_property("house", figures())

    hold(complaints())


def test_the_python_half_of_a_view_is_short():
    hold(long_views())


def test_a_long_view_is_noticed(tmp_path):
    (tmp_path / "jt_widgets").mkdir()
    for name in ("ring", "view"):
        (tmp_path / "jt_widgets" / f"{name}.py").write_text("x = 1\n" * 121)

    assert long_views(tmp_path) == ["jt_widgets.ring: 121 lines; 120 are allowed"]


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("ir/node.py", "x = 1\n" * 401, "ir.node: 401 lines; 400 are allowed"),
        ("ir/node.py", "def long():\n" + "    x = 1\n" * 40, "jt_edu/ir/node.py:1 long: 41 lines; 40 are allowed"),
        ("ir/node.py", "def f():\n" + "    x = 1\n" * 8, "the median function of the core: 9 lines; 8 are allowed"),
        ("ir/node.py", "x = 1\n" * 5001, "the code of the core: 5001 lines; 5000 are allowed"),
        ("nn.py", "x = 1\n" * 401, "nn: 401 lines; 400 are allowed"),
    ],
)
def test_the_rule_notices(tmp_path, name, text, complaint):
    (tmp_path / "jt_edu" / name).parent.mkdir(parents=True)
    (tmp_path / "jt_edu" / name).write_text(text)

    assert complaint in complaints(tmp_path)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x = 1\n", 1),
        ('"""Two lines\nof words."""\n\n# and one\nx = 1  # five\n', 1),
        ('def f():\n    """Words."""\n    return """two\nlines"""\n', 3),
        ("x = (\n    # why\n    1\n)\n", 3),
    ],
)
def test_words_are_not_code(tmp_path, text, lines):
    path = tmp_path / "index.py"
    path.write_text(text)

    assert code_lines(Module("jt_edu", "index", path, tmp_path)) == lines
