"""Hostile answers to one exercise: each gets what it deserves, on every step of the ladder that claims so."""

import os
import signal
import socket
import textwrap
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from jt_exercises.exercise import HOME
from jt_exercises.grade.batch import outcome
from jt_exercises.grade.sandbox import LADDER, Contained, Places, works
from jt_exercises.process import COPY
from jt_exercises.seed import seeded
from tests.patience import until

pytestmark = pytest.mark.skipif(not COPY, reason="processes are not copied here")
NUMBER, PARTS = "01.6", 6
SECONDS, PATIENT = 5, 120  # for what is to be stopped, and for what is not
RIGHT = """
def unbroadcast(dout, shape):
    while dout.ndim > len(shape):
        dout = dout.sum(0)
    for axis, length in enumerate(shape):
        if length == 1:
            dout = dout.sum(axis, keepdims=True)
    return dout
"""
WRONG = "def unbroadcast(dout, shape):\n    return np.full(shape, 3.25)\n"
FULL, NOTHING, NOT_ALL = "right", 0, "what it answered before it ended itself"
NEEDS = "files", "network", "processes"

# name: (what is run, how it must end, what of the ladder it needs)
ATTACKS = {
    "right, with warnings and prints": (
        RIGHT + "import warnings, sys\nwarnings.warn('x')\nprint('y', file=sys.stderr)\n", FULL),
    "comparison is patched": (WRONG + "np.allclose = np.isclose = np.array_equal = lambda *a, **k: True\n", NOTHING),
    "arrays are patched": (WRONG + "np.asarray = lambda x, *a: x\nnp.ndarray.__eq__ = None\n", NOTHING),
    "the judge's words are patched": (
        WRONG + "import jt_exercises.verdict as v, builtins\nv.RefusedError = v.NotDoneError = Warning\n"
        "v.judged = lambda *a: v.Verdict('x', True, right=6, of=6)\n", NOTHING),
    "builtins are patched": (
        WRONG + "import builtins\nbuiltins.len = builtins.all = builtins.abs = lambda *a: 6\n", NOTHING),
    "hooks": (WRONG + "import sys\nsys.settrace(lambda *a: None)\nsys.excepthook = sys.displayhook = print\n", NOTHING),
    "frames are searched": ("""
        import sys
        def unbroadcast(dout, shape):
            frame = sys._getframe()
            while frame is not None:
                for value in frame.f_locals.values():
                    if isinstance(value, np.ndarray) and value.shape == tuple(shape) and value is not dout:
                        return value
                frame = frame.f_back
            return np.full(shape, 3.25)
        """, NOTHING),
    "memory is searched": ("""
        import gc
        def unbroadcast(dout, shape):
            for x in gc.get_objects():
                for value in x.values() if type(x) is dict else ():
                    if isinstance(value, np.ndarray) and value.shape == (3,) == tuple(shape) and value is not dout:
                        return value
            return np.full(shape, 3.25)
        """, NOTHING),
    "the check is imported": ("""
        from jt_exercises.autograd.unbroadcast.exercise import _summed
        def unbroadcast(dout, shape):
            return _summed(dout, shape)
        """, NOTHING, "files"),
    "the check is read by its path": (f"""
        space = {{}}
        exec(open({str(HOME / "autograd/unbroadcast/exercise.py")!r}).read(), space)
        unbroadcast = space["_summed"]
        """, NOTHING, "files"),
    "the solution is read by its path": (f"""
        text = open({str(HOME / "autograd/unbroadcast/solution.py")!r}).read().partition("def unbroadcast")
        exec("def unbroadcast" + text[2].partition("check(")[0])
        """, NOTHING, "files"),
    "another learner is read by their path": ("""
        text = open({others!r}).read()
        exec(text)
        """, NOTHING, "files"),
    "the seed stands in no variable": ("""
        import os
        def unbroadcast(dout, shape):
            return sorted(os.environ.items())
        """, NOTHING),
    "processes of the grader are looked for": (RIGHT + """
import os
others = [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]
if not any(b"PYTEST_CURRENT_TEST" in open(f"/proc/{p}/environ", "rb").read() for p in others):
    raise SystemExit("there is nobody")
""", NOTHING, "processes"),
    "parents are killed": (
        RIGHT + "import os, signal\nos.kill(os.getppid(), 9)\nos.kill(-1, 9)\n", NOT_ALL, "processes"),
    "sleepers stay behind": (RIGHT + """
import os, time
for _ in range(3):
    if not os.fork():
        os.setsid()
        os.fork()
        time.sleep(1000)
""", FULL, "processes"),
    "a fork that answers, too": (
        RIGHT.replace("    return dout", "    import os\n    os.fork()\n    return dout * 0"), NOTHING, "processes"),
    "a loop that never ends": ("def unbroadcast(dout, shape):\n    while True: pass\n", "stopped"),
    "a program that never ends": ("while True: pass\n", "stopped"),
    "a sleep, and signals are blocked": ("""
        import signal, time
        for k in range(1, 32):
            if k not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(k, signal.SIG_IGN)
        def unbroadcast(dout, shape):
            time.sleep(1000)
        """, "stopped"),
    "clocks are patched": ("import time\ntime.monotonic = time.time = lambda: 0.0\nwhile True: pass\n", "stopped"),
    "it stops itself": ("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n", "stopped"),
    "a memory bomb": ("def unbroadcast(dout, shape):\n    return bytearray(64 << 30)\n", NOTHING),
    "an array of a terabyte": ("def unbroadcast(dout, shape):\n    return np.ones((1 << 20, 1 << 17))\n", NOTHING),
    "much output": (RIGHT + "for _ in range(2000):\n    print('x' * 1_000_000)\n", FULL),
    "a large file": (RIGHT + """
try:
    with open("large", "wb") as file:
        for _ in range(1000):
            file.write(bytes(10 << 20))
except OSError:
    pass
""", FULL),
    "many files": (RIGHT + """
try:
    for k in range(40):
        with open(f"large{k}", "wb") as file:
            file.truncate(60 << 20)
            file.write(bytes(10 << 20))
except OSError:
    pass
""", FULL),
    "links": (RIGHT + "import os\nos.symlink('/', 'root')\nos.symlink('loop', 'loop')\n", FULL),
    "a long answer": ("def unbroadcast(dout, shape):\n    return np.zeros(9 << 20)\n", NOTHING),
    "a list without an end": ("def unbroadcast(dout, shape):\n    x = []\n    x.append(x)\n    return x\n", NOTHING),
    "millions of numbers": ("def unbroadcast(dout, shape):\n    return [0] * 5_000_000\n", NOTHING),
    "noise on the pipe": ("""
        import os
        for k in range(3, 40):
            try:
                os.write(k, b"\\xff" * 64)
            except OSError:
                pass
        """ + RIGHT.replace("\n", "\n        "), NOTHING),
    "a verdict on the pipe": ("""
        import os, struct, json
        text = json.dumps({"dict": [["value", True], ["passed", True], ["right", 6]]}).encode()
        for k in range(3, 40):
            try:
                os.write(k, struct.pack("<Q", len(text) + 8) + struct.pack("<Q", len(text)) + text)
            except OSError:
                pass
        """ + WRONG.replace("\n", "\n        "), NOTHING),
    "pipes are closed": (RIGHT + "import os\nos.closerange(3, 50)\n", "stopped"),
    "an early exit": ("import os\nos._exit(0)\n", "stopped"),
    "an exit in a call": ("import os\ndef unbroadcast(dout, shape):\n    os._exit(86)\n", "stopped"),
    "SystemExit": ("def unbroadcast(dout, shape):\n    raise SystemExit(0)\n", NOTHING),
    "a crash": ("import ctypes\ndef unbroadcast(dout, shape):\n    ctypes.string_at(8)\n", "stopped"),
    "an object that equals all": ("""
        class Always:
            shape, dtype, ndim, size = (3,), np.dtype(float), 1, 3
            def __eq__(self, other): return True
            def __array__(self, *a, **k): return np.zeros(3)
            __sub__ = __rsub__ = __le__ = __lt__ = lambda self, other: True
        def unbroadcast(dout, shape):
            return Always()
        """, NOTHING),
    "an array that equals all": ("""
        class Always(np.ndarray):
            def __eq__(self, other): return True
            def __array_function__(self, *a, **k): return True
            def __array_ufunc__(self, *a, **k): return True
        def unbroadcast(dout, shape):
            return np.full(shape, 3.25).view(Always)
        """, NOTHING),
    "a number that says another": ("""
        class Number(float):
            def __float__(self): return 1.0
            def __eq__(self, other): return True
        def unbroadcast(dout, shape):
            return Number(5)
        """, NOTHING),
    "objects, nan and infinity": ("""
        def unbroadcast(dout, shape):
            return [np.full(shape, object()), np.full(shape, np.nan), np.full(shape, np.inf)][int(dout.size) % 3]
        """, NOTHING),
    "a record of the judge": ("""
        import jt_exercises.worker as worker, jt_exercises.wire as wire
        told = wire._told
        def unbroadcast(dout, shape):
            wire._told = lambda v, *a, **k: {"record": ["os:system", ["true"]]} if v is shape else told(v, *a, **k)
            return shape
        """, NOTHING),
    "an error that cannot be told": ("""
        class Rude(Exception):
            def __str__(self): raise self
        def unbroadcast(dout, shape):
            raise Rude
        """, NOTHING),
    "files of the grader are changed": (f"""
        for path in {[str(HOME / "wire.py"), np.__file__]!r}:
            try:
                open(path, "a").write("# changed")
            except OSError:
                pass
        """ + WRONG.replace("\n", "\n        "), NOTHING, "files"),
    "the network": (RIGHT.replace("def unbroadcast(dout, shape):", """
import socket
def unbroadcast(dout, shape):
    socket.create_connection(("127.0.0.1", {port}), timeout=2)""", 1), NOTHING, "network"),
}  # fmt: skip
EVERY = [
    pytest.param(step, attack, id=f"{attack}-{step.name}")
    for attack, (_, _, *needs) in ATTACKS.items()
    for step in LADDER
    if all(getattr(step, need) for need in needs)
]


@pytest.fixture(scope="module")
def ladder(tmp_path_factory):
    """Folders for each step that works here; the learner beside us has a file with the right answer."""
    others = tmp_path_factory.mktemp("others")
    (others / "ada.py").write_text(RIGHT)
    places = Places(tmp_path_factory.mktemp("grade"), unseen=(HOME, others))
    places.fill()
    return {step: replace(places, number=step.name) for step in LADDER if works(step, places)}, others / "ada.py"


@pytest.fixture(scope="module")
def server():
    with socket.create_server(("127.0.0.1", 0)) as found:
        yield found.getsockname()[1]


def left_behind(places):
    """Processes that were started with these places."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str(places.top).encode() in (process / "environ").read_bytes():
                found.append(process.name)
    return found


@pytest.mark.parametrize(("step", "attack"), EVERY)
def test_a_hostile_answer_gets_what_it_deserves(step, attack, ladder, server):
    places, others = ladder
    if step not in places:
        pytest.skip(f"{step.name} does not work here")
    text, deserves, *_ = ATTACKS[attack]
    text = textwrap.dedent(text).replace("{others!r}", repr(str(others))).replace("{port}", str(server))
    before = [Path(p).read_bytes() for p in (HOME / "wire.py", np.__file__)]
    seconds = SECONDS if deserves == "stopped" else PATIENT

    with seeded(7), Contained(step=step, places=places[step], seconds=seconds) as side:
        found = outcome(side, NUMBER, f"import numpy as np\n{text}\nanswers = (unbroadcast,)", 1, seconds)

    if deserves == FULL:
        assert (found.status, found.right) == ("right", PARTS), found
    elif deserves == NOT_ALL:
        assert found.right < PARTS, found
    else:
        assert found.right == 0, found
        assert found.status == deserves or not deserves, found
    assert [Path(p).read_bytes() for p in (HOME / "wire.py", np.__file__)] == before
    if step.processes:
        until(lambda: not left_behind(places[step]))


def test_the_next_exercise_of_a_submission_is_judged_after_any_of_these(ladder):
    places, _ = ladder
    step = next(iter(places))
    with Contained(step=step, places=places[step], seconds=PATIENT) as side:
        first = outcome(side, NUMBER, f"import numpy as np\n{WRONG}\nnp.sum = None\nanswers = (unbroadcast,)", 1)
        then = outcome(side, NUMBER, f"import numpy as np\n{RIGHT}\nanswers = (unbroadcast,)", 1)

    assert (first.right, then.status) == (0, "right")


def test_a_sandbox_ends_with_its_judge(ladder):
    places, _ = ladder
    step = next(iter(places))
    judge = os.fork()
    if not judge:
        with Contained(step=step, places=places[step], seconds=60) as side:
            outcome(side, NUMBER, "while True: pass\n", 1)
        os._exit(0)
    until(lambda: left_behind(places[step]))
    os.kill(judge, signal.SIGKILL)
    os.waitpid(judge, 0)

    until(lambda: not left_behind(places[step]))
