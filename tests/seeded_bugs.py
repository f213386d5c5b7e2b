"""Seeded bugs: would the tests notice?

    python -m tests.seeded_bugs                  plants one bug in each of 24 rooms, one at a time
    python -m tests.seeded_bugs ops draw         only those of some rooms
    python -m tests.seeded_bugs --share 3        with share 3 of the large tables; else the share of this commit

Each bug was chosen by reading a file of the room, and before anybody looked which test would see it. It is planted in a
copy of the working tree, what is built from the file is built anew, and pytest runs there: first the paths that are
named beside the bug, as `python3 lab.py test` runs them; where these pass, all rows of their tables, which run within
eight commits; and only then all of tests/. A test that also fails without the bug catches nothing. Exit code 1 when a
bug is not caught.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests import frontend
from tests.share import turn

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 2 * 3600  # seconds for a run of tests; where a bug hangs, pytest ends each test it can
LISTED = "tests/house/test_seeded_bugs.py"  # sees that a text of the list below was changed, whatever it means


class Bug(NamedTuple):
    """`text` stands in `file` once; `wrong` takes its place."""

    room: str
    file: str
    text: str
    wrong: str
    noticed: str  # by a learner
    first: str  # what is run first, below tests/


BUGS = (
    Bug("ir", "jt_edu/ir/matmul_pattern.py", "return 2 * self.batch * self.rows", "return 2 * self.rows",
        "operations are counted for one of a stack of products", "floors/runtime/test_matmul_step.py"),
    Bug("codegen", "jt_edu/codegen/lowering.py",
        'op.reducer in ("add", "multiply") and not', 'op.reducer == "add" and not',
        "a product of many float32 numbers loses digits", "floors/ops/test_reductions.py"),
    Bug("backends", "jt_edu/backends/convolve/kernels/panels_by_image_fold.py",
        "goal, sw, -(-(w - x) // sw), True", "goal, sw, (w - x) // sw, True",
        "the last column of an image's gradient is 0 under stride 2", "floors/backends/convolve/test_im2col_gemm.py"),
    Bug("runtime", "jt_edu/runtime/execute.py", "node.dtype, backends.get(flags.backend), flags.fuse], [node]",
        "node.dtype, flags.fuse], [node]",
        'after jt.flags.backend = "python" an operator still runs as machine code', "floors/runtime/test_run_alone.py"),
    Bug("variable", "jt_edu/variable/memory_format.py", "any(f is not None and f.rank", "all(f is not None and f.rank",
        "a convolution of a channels_last image has a contiguous result", "layers/test_memory_format.py"),
    Bug("ops", "jt_edu/ops/special.py", "f.SIGN(x) * o - _by(o, x)", "f.SIGN(x) * o + _by(o, x)",
        "the gradient of i1e is wrong", "parity/test_corners.py"),
    Bug("linalg", "jt_edu/linalg/cholesky.py", "adjoint_of(tril(p, -1))", "adjoint_of(tril(p))",
        "the gradient of a Cholesky factor counts its diagonal twice", "floors/linalg"),
    Bug("fft", "jt_edu/fft/real.py", "_ends(dout, 2.0)", "_ends(dout, 1.0)",
        "the gradient of rfft is too small at its first and last wave", "floors/fft"),
    Bug("sparse", "jt_edu/sparse/products.py", "b * other[j]", "a * other[j]",
        "a sparse matrix by rows takes every second entry for the one before", "floors/sparse"),
    Bug("func", "jt_edu/func/batched_graph.py", "(axis + lead, below, above)", "(axis, below, above)",
        "vmap of a padded window guards the wrong axis", "floors/func"),
    Bug("capture", "jt_edu/capture/compiled_step.py", "(kinds, same, tuple(named), backend,", "(kinds, same, backend,",
        "a compiled step(a=x, b=y), called as step(b=x, a=y), takes x for a", "floors/capture/test_compiled_step.py"),
    Bug("draw", "jt_edu/draw/lifetimes.py", "<title>{escape(tip)}</title>", "<title>{tip}</title>",
        "the picture of a Var named a<b cannot be opened", "floors/draw"),
    Bug("introspect", "jt_edu/introspect/kernel_notes.py", "if k and d <= depth", "if k and d < depth",
        "loops behind each other are told as one inside of the other", "story/test_explain.py"),
    Bug("nn", "jt_edu/nn/squashing_activation.py", "out: Var = softmax(v, -3)", "out: Var = softmax(v, 1)",
        "Softmax2d of one image (c, h, w) shares 1 among rows", "layers/test_edges.py"),
    Bug("optim", "jt_edu/optim/lr_scheduler/plateau.py", "= self.cooldown_counter - 1, 0",
        "= self.cooldown_counter - 1, self.num_bad_epochs",
        "epochs of the cooldown count as bad ones: the rate falls too early", "optim/test_schedules.py floors/optim"),
    Bug("data", "jt_edu/data/image.py", "min((left, up, corner)", "min((left, corner, up)",
        "some pixels of a PNG have another colour where there is no Pillow", "data/test_files.py"),
    Bug("mpi", "jt_edu/mpi/perf_model/replay.py", "delay(self.record.messages[which], self.before)",
        "delay(self.record.messages[which], self.net)",
        "on a slower network messages would come as early as before", "ranks/test_retimed.py ranks/test_model.py"),
    Bug("distributed", "jt_edu/distributed/file_store.py", "fcntl.LOCK_EX", "fcntl.LOCK_SH",
        "ranks that change a FileStore at the same time lose changes", "distributed/test_stores.py"),
    Bug("lens", "jt_edu/lens/roofline.py", "takes about {call * 1e3:.1f} µs", "takes about {call:.1f} µs",
        "calling a kernel is said to take 0.0 µs", "floors/lens/test_roofline.py"),
    Bug("benchmark", "jt_edu/benchmark/compare.py", "if rounded >= 10 **", "if rounded > 10 **",
        "9.96 us with two digits is told as 10.0 us, with three", "floors/benchmark"),
    Bug("jt_widgets", "widgets/jt_widgets/publisher.py", "self._real.clear_output(wait)", "self._real.clear_output()",
        "an animation flickers beside ranks: clear_output(wait=True) does not wait", "widgets/test_rank_cells.py"),
    Bug("frontend", "widgets/frontend/src/chart.js", "y === null ? NaN : plane.y(y)", "plane.y(Number(y))",
        "a loss that is missing is drawn as 0, instead of a gap", "widgets/test_bundle.py"),
    Bug("exercises", "exercises/jt_exercises/roofline/caches.py", '"K": 1 << 10', '"K": 1_000',
        "a cache of 32 kB has 32,000 bytes instead of 32,768", "exercises/test_05_roofline.py"),
    Bug("notebooks", "exercises/jt_exercises/training/gradient_descent/exercise.py", "right = 2 / curvature",
        "right = 1 / curvature", "the right answer to an exercise is refused", "exercises/test_exercises.py"),
)  # fmt: skip


def planted(bug: Bug, folder: Path) -> None:
    """Put a bug into a copy, and build what is built from its file."""
    path = folder / bug.file
    text = path.read_text(encoding="utf-8")
    if text.count(bug.text) != 1:
        raise SystemExit(f"{bug.file} has {bug.text!r} {text.count(bug.text)} times: choose another bug for {bug.room}")
    path.write_text(text.replace(bug.text, bug.wrong), encoding="utf-8")
    built = None
    if bug.room == "frontend":
        built = frontend.npm("run", "--silent", "build", folder=folder / "widgets" / "frontend")
    elif bug.room == "notebooks":
        built = subprocess.run([sys.executable, "notebooks/build.py"], cwd=folder, capture_output=True, check=False)
    if built is not None and built.returncode:
        raise SystemExit(f"{bug.file} cannot be built: {built.stdout}")


def copied(folder: Path) -> Path:
    """The working tree as it is, and the tools of its frontend."""
    listing = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    for name in subprocess.run(listing, capture_output=True, check=True, text=True).stdout.split("\0"):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    (folder / "widgets/frontend/node_modules").symlink_to(frontend.FOLDER / "node_modules")
    return folder


def failing(folder: Path, share: str, *what: str) -> list[str]:
    """The tests that fail in a copy; `share` is --share=N or --all."""
    # compiled kernels are named by their text and all that compiles them, so copies can share them
    cache = {"JT_EDU_CACHE": str(ROOT / ".pytest_cache" / "kernels")}
    paths = {"PYTHONPATH": os.pathsep.join(str(folder / name) for name in ("", "exercises", "widgets"))}
    command = [sys.executable, "-m", "pytest", "-x", "-q", share, "-n", "2", "--dist", "loadscope"]
    command += [f"--ignore={LISTED}", *what]
    noted = folder / ".pytest_cache" / "v" / "cache" / "lastfailed"
    noted.unlink(missing_ok=True)
    environment = {**os.environ, **cache, **paths}
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, env=environment, timeout=LONGEST
        )
    except subprocess.TimeoutExpired:
        raise SystemExit(f"pytest {' '.join(what)} ran for {LONGEST / 3600:g} hours and did not end") from None
    told = list(json.loads(noted.read_text(encoding="utf-8"))) if noted.exists() else []
    if not told and done.returncode not in (0, 5):  # 5: all of these wait for another share
        raise SystemExit(f"pytest {' '.join(what)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr}")
    return told


def catcher(bug: Bug, clean: Path, share: int) -> str:
    """The test that catches a bug; "" if none does."""
    with tempfile.TemporaryDirectory(prefix="jt_edu-bug-") as place:
        folder = copied(Path(place))
        planted(bug, folder)
        leave_out: list[str] = []
        first, mine = [f"tests/{path}" for path in bug.first.split()], f"--share={share}"
        for paths, rows, when in ((first, mine, ""), (first, "--all", " (by another share)"), (["tests"], mine, "")):
            while found := failing(folder, rows, *paths, *leave_out):
                if caught := [test for test in found if not failing(clean, "--all", test)]:
                    return caught[0] + when
                leave_out += [f"--deselect={test}" for test in found]
    return ""


def main(arguments: list[str]) -> int:
    """Print a row for each bug."""
    parser = argparse.ArgumentParser(prog="python -m tests.seeded_bugs", description="Would the tests notice?")
    parser.add_argument("rooms", nargs="*", metavar="NAME", help="a room; else all")
    parser.add_argument("--share", type=int, default=turn(ROOT), help="of the large tables")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.rooms) - {bug.room for bug in BUGS}:
        parser.error(f"no bug in {', '.join(sorted(unknown))}; there are {', '.join(bug.room for bug in BUGS)}")
    missed = 0
    with tempfile.TemporaryDirectory(prefix="jt_edu-clean-") as place:
        clean = copied(Path(place))
        for bug in (bug for bug in BUGS if not asked.rooms or bug.room in asked.rooms):
            begin = time.monotonic()
            caught = catcher(bug, clean, asked.share)
            missed += not caught
            took = f"{time.monotonic() - begin:5.0f} s"
            print(f"{bug.room:<12}{took}  {bug.noticed:<76}  {caught or 'NOT CAUGHT'}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
