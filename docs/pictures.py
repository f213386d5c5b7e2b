"""Make what the README shows: run its example, draw its graph, and put its real output below it.

    python docs/pictures.py     writes docs/op_graph.svg, and the output into README.md

Run it by hand when a picture, a kernel or the words of an explanation have changed: tests/story/test_readme.py says so.
"""

import contextlib
import io
import linecache
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
README, PICTURE = ROOT / "README.md", ROOT / "docs" / "op_graph.svg"
EXAMPLE = re.compile(r"```python\n(?P<code>.*?)```\n\n```text\n(?P<output>.*?)```\n", re.DOTALL)


def run(code: str) -> tuple[str, dict[str, Any]]:
    """What a script prints, and the names it leaves behind. Its lines are known as those of example.py."""
    linecache.cache["example.py"] = (len(code), None, code.splitlines(keepends=True), "example.py")
    names: dict[str, Any] = {"__name__": "example"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "example.py", "exec"), names)  # noqa: S102 - the example of our own README
    return "\n".join(row.rstrip() for row in printed.getvalue().splitlines()) + "\n", names


def main() -> None:
    """Write both."""
    sys.path.insert(0, str(ROOT))
    text = README.read_text(encoding="utf-8")
    found = EXAMPLE.search(text)
    if found is None:
        raise SystemExit("README.md has no block of python followed by a block of text")
    output, names = run(found["code"])
    start, end = found.span("output")
    README.write_text(text[:start] + output + text[end:], encoding="utf-8", newline="\n")
    names["picture"].save(PICTURE)


if __name__ == "__main__":
    main()
