"""Start: how long until something has happened? The import, and the first step of training of a small CNN.

Each sample is a process of its own (`cold.py`).
"""

from functools import partial

from tests.bench.cold import importing, parts, programs, step
from tests.bench.rows import Goal, Row

ROUNDS = 15
PROGRAMS = programs("cnn")
TITLE = "From the start of a Python to the end of its first step of training."
READING = """
* **jt_edu, PyTorch**: CPU time of a process of its own with all its threads, from the start of the interpreter to its
  end. One thread on each side. The best of {rounds} samples, both sides by turns; a row that takes
  more than 100 seconds gets at least 7, and then their number stands in brackets.
"""
NOTES = """
* **first conv step**: the import, the digits CNN of the suite `train` with its 64 images, and one step of training;
  both sides print its loss, which is compared. **empty cache**: every kernel is compiled, as on a new machine.
  **kernels on disk**: an earlier start has compiled them.
"""
ROWS = (
    Row("import", (), work=importing),
    Row("first conv step, empty cache", (), work=partial(step, PROGRAMS, True), tolerance=1e-4),
    Row(
        "first conv step, kernels on disk", (Goal("ms", 2000),), work=partial(step, PROGRAMS, False), tolerance=1e-4,
        why=parts,
    ),
)  # fmt: skip
