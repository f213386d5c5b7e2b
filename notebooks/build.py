"""Make the notebooks from their text sources.

    python notebooks/build.py            writes NAME.ipynb for each source/NAME.py
    python notebooks/build.py --check    only says which are not up to date, with exit code 1 if any is

A source is a Python file whose cells begin with `# %%`, or `# %% [markdown]` (its lines are comments). A magic at the
top of a cell stands there as a comment, `# %%ranks 4`, so that the file is Python. Editors and jupytext know this
format too. The same source always gives the same bytes: no outputs, no counters, and ids made of the number of the
cell.

`# %% exercise 01.3` stands for the cells of an exercise, which are made from its folder in exercises/jt_exercises.

Three things are written for the reader, so that no source has to repeat them: what is folded away stands between empty
lines, as Markdown inside of HTML must; remarks for a linter are left out; and each notebook links to its neighbours.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from jt_exercises.author.masters import expanded

FOLDER = Path(__file__).resolve().parent
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
FOLD = re.compile(r"(<details><summary>.*?</summary>)\s*(.*?)\s*(</details>)", re.DOTALL)
CELLS = 25  # of a notebook, at most
LINTER = re.compile(r"  # noqa(?:: [A-Z0-9, ]+?)?(?: - (?P<reason>.*))?$", re.MULTILINE)
TITLE = re.compile(r"^# # ([^:?\n]+\??)", re.MULTILINE)


def cells(text: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of each cell of a source: kind is "code" or "markdown"."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line == "# %%" or line.startswith("# %% "):
            found.append(("markdown" if "[markdown]" in line else "code", []))
        elif found:
            found[-1][1].append(line.removeprefix("# ") if line.startswith("# %%") else line)
    for kind, lines in found:
        body = "\n".join(line.removeprefix("#").removeprefix(" ") if kind == "markdown" else line for line in lines)
        yield kind, body.strip("\n")


def notebook_text(source: str, before: str = "", after: str = "") -> str:
    """The notebook that a source means, as the text of its file; `before` and `after` link to its neighbours."""
    notebook = new_notebook(metadata=METADATA)
    for number, (kind, body) in enumerate(cells(source), start=1):
        code = kind == "code"
        make, text = (new_code_cell, LINTER.sub(_reason, body)) if code else (new_markdown_cell, FOLD.sub(_apart, body))
        notebook.cells.append(make(text, id=f"cell-{number:02d}"))
    links = " · ".join(filter(None, [before and f"← {before}", after and f"{after} →"]))
    first, last = notebook.cells[0], notebook.cells[-1]
    if links:
        first.source = first.source.replace("\n", f"\n\n{links}\n", 1)
    if after and last.cell_type == "markdown":
        last.source += f"\n\n**Next:** {after}"
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def _apart(found: re.Match[str]) -> str:
    return "\n\n".join(found.groups())


def _reason(found: re.Match[str]) -> str:
    """Why a rule does not hold in a line is worth a learner's reading; which rule it is, is not."""
    return f"  # {found['reason']}" if found["reason"] else ""


def made(solved: bool = False) -> dict[Path, str]:
    """Each notebook of the course, in order, and the text that its file must have; `solved`: with all solutions."""
    texts = {target: expanded(source.read_text(encoding="utf-8"), solved) for source, target in pairs()}
    links = [f"[{TITLE.search(text)[1]}]({target.name})" for target, text in texts.items()]
    neighbours = zip(["", *links], [*links[1:], ""], strict=False)
    return {target: notebook_text(text, *two) for (target, text), two in zip(texts.items(), neighbours, strict=True)}


def pairs() -> list[tuple[Path, Path]]:
    """(source, notebook) for every notebook of the course."""
    return [(path, FOLDER / f"{path.stem}.ipynb") for path in sorted((FOLDER / "source").glob("[0-9][0-9]*_*.py"))]


def main(arguments: Sequence[str]) -> int:
    """Write the notebooks, or check them."""
    check, stale, notebooks = "--check" in arguments, [], made()
    for target, text in notebooks.items():
        if (count := len(json.loads(text)["cells"])) > CELLS:
            sys.stderr.write(f"{target.name} has {count} cells, and should have {CELLS} at most\n")
        if target.exists() and target.read_text(encoding="utf-8") == text:
            continue
        stale.append(target.name)
        if not check:
            target.write_text(text, encoding="utf-8", newline="\n")
    sys.stdout.write(
        "".join(f"{name} {'is not up to date' if '--check' in arguments else 'written'}\n" for name in stale)
    )
    return int("--check" in arguments and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
