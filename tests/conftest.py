"""What every test may rely on: seeds that are told, kernels that are compiled once, skips that CI does not forgive.

Seven switches, by option or by environment:

  --seed N            the seed behind `rng` (0); a failing test prints the one it used
  --without-torch     skip what asks PyTorch
  --share N           of tables only share N, or, for -1, the rows whose turn it is in this commit: tests/share.py
  --all               every row, whatever --share says
  --record            how long each file takes is written to tests/durations.json, by which others order them
  --again             tests of processes, pages and ranks that failed beside others run once more, alone (.ci/run)
  JT_EDU_REQUIRE      marks whose tests must run, as in "browser,mpi": a skip there is a failure (.ci/run sets it)
"""

import gc
import os
import random
import signal
import zlib
from importlib.util import find_spec
from pathlib import Path

# One thread for each BLAS: tests run side by side, and a result must not depend on how many cores there are.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# A run that was started in the background ignores Ctrl-C, and so would all that it starts, which tests do interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("JT_EDU_COMPILE_PROCESSES", "1")  # tests fill all cores
os.environ.setdefault("JT_EDU_CACHE", str(ROOT / ".pytest_cache" / "kernels"))  # kept between runs, shared by workers

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")  # kernels of a GPU are interpreted, unless a test brings a GPU

import hypothesis  # noqa: E402  the environment above comes first
import numpy as np  # noqa: E402
import pytest  # noqa: E402

import jt_edu as jt  # noqa: E402
from jt_edu import backends  # noqa: E402
from jt_edu.base.context import current  # noqa: E402
from tests import share  # noqa: E402
from tests.again import SecondTry, allow, waits_for_others  # noqa: E402
from tests.chromium import chromium  # noqa: E402, F401  a fixture for the folders browser and widgets
from tests.sharing import (  # noqa: E402
    Durations,
    long_ones_first,
    pytest_xdist_auto_num_workers,  # noqa: F401  pytest looks for hooks here
    pytest_xdist_make_scheduler,  # noqa: F401  the same
)

SETTINGS = ("JT_EDU_", "MKL_", "NUMBA_", "OMP_", "OPENBLAS_")  # of processes that tests start; which BLAS is one
hypothesis.settings.register_profile("laptop", deadline=None)  # the first call of a kernel compiles it
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "laptop")

_SEED = pytest.StashKey[int]()


def _settings():
    return {name: value for name, value in os.environ.items() if name.startswith(SETTINGS)}


BEFORE = _settings()
MARKS_BY_FOLDER = ("browser", "mpi")
MARKS_BY_FIXTURE = {"chromium": "browser", "frontend": "node", "numba_cuda": "cubin", "torch": "torch"}
REQUIRED = frozenset(filter(None, os.environ.get("JT_EDU_REQUIRE", "").replace(",", " ").split()))


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=0, help="seed behind the rng fixture (default 0)")
    parser.addoption("--without-torch", action="store_true", help="skip the tests that ask PyTorch")
    parser.addoption("--share", type=int, help="a share of the large tables; -1: the one of this commit")
    parser.addoption("--all", action="store_true", help="every row of the large tables")
    parser.addoption("--record", action="store_true", help="write tests/durations.json anew: run it with everything")
    parser.addoption("--again", action="store_true", help="a second try for tests of processes, pages and ranks")


def pytest_collection_modifyitems(config, items):
    """A test in tests/browser is marked browser.

    What asks for Chromium, Node, numba-cuda or PyTorch elsewhere gets its mark from the fixture.
    """
    for item in items:
        for name in MARKS_BY_FOLDER:
            if item.nodeid.startswith(f"tests/{name}/"):
                item.add_marker(name)
        if waits_for_others(item.nodeid):
            item.add_marker("processes")
        for fixture, name in MARKS_BY_FIXTURE.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(name)
    if hasattr(config, "workerinput"):
        items[:] = long_ones_first(items)


def pytest_collection_finish():
    """Garbage is not looked for among 26,000 tests and what they imported, and among the old only at a file's end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(700, 10, 100)  # the first two numbers are Python's own


@pytest.hookimpl(trylast=True)  # when fixtures have put back what they changed
def pytest_runtest_teardown(item, nextitem):
    """Nor among what outlives a file, such as kernels and plans.

    Running statistics that a test left pending ride along with no step of the next one, whose kernels may be counted.
    """
    current().rank_state.pop("riders", None)
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()
        assert _settings() == BEFORE, "a test of this file has changed what processes of later ones compute with"


# ------------------------------------------------------------------------------------------------------------ seeds


@pytest.fixture
def seed(request):
    """A number of this test's own, the same in every run with the same --seed."""
    number = zlib.crc32(f"{request.config.getoption('--seed')} {request.node.nodeid}".encode())
    request.node.stash[_SEED] = number
    return number


@pytest.fixture
def rng(seed):
    """NumPy's generator, seeded; so are the global ones, for code that uses them."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  the global generator is the point
    return np.random.default_rng(seed)


@pytest.fixture(scope="session", autouse=True)
def _kernels_are_kept_in_one_folder():
    """The backend asks once where that is: before a test gives JT_EDU_CACHE another value for itself."""
    backends.get("numba")


# --------------------------------------------------------------------------------------------------------- backend


@pytest.fixture
def python_backend():
    """Nothing is compiled."""
    with jt.flag_scope(backend="python"):
        yield


@pytest.fixture(params=["python", "numba"])
def backend(request):
    """Both of them in turn; the name of the one."""
    with jt.flag_scope(backend=request.param):
        yield request.param


@pytest.fixture
def quiet():
    """NumPy says nothing about infinity and NaN."""
    with np.errstate(all="ignore"):
        yield


@pytest.fixture
def nothing_stays_edited():
    """Kernels are afterwards as jt_edu writes them."""
    yield
    jt.revert_kernels()


# ---------------------------------------------------------------------------------------------------------- oracle


@pytest.fixture(scope="session")
def numba_cuda():
    """What makes machine code of kernels of a GPU, none of which is needed for that."""
    if find_spec("numba_cuda") is None:
        pytest.skip("numba-cuda is not installed: .ci/run does it")


@pytest.fixture(scope="session")
def torch(request):
    """PyTorch, for a second opinion."""
    if request.config.getoption("--without-torch"):
        pytest.skip("--without-torch was asked for")
    return pytest.importorskip("torch", reason="PyTorch is not installed: python3 lab.py test installs it")


@pytest.fixture
def torchvision(torch, monkeypatch):
    """Its networks and transforms; in a build for another build of torch, they need none of its compiled operators."""
    monkeypatch.setattr(torch.library, "register_fake", lambda *_, **__: lambda function: function)
    return pytest.importorskip("torchvision")


@pytest.fixture
def timm(torchvision):
    """timm, for a second opinion on the zoo: it imports torchvision, so that comes first."""
    return pytest.importorskip("timm", reason="timm is not installed: python3 lab.py test installs it")


@pytest.fixture
def yacs():
    """yacs, for a second opinion on configurations."""
    return pytest.importorskip("yacs.config", reason="yacs is not installed: python3 lab.py test installs it")


# ----------------------------------------------------------------------------------------- skips that are failures


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed and _SEED in item.stash:
        option = item.config.getoption("--seed")
        report.sections.append(("seed", f"rng was seeded with {item.stash[_SEED]}; repeat with --seed {option}"))
    allow(item, report)
    marks = sorted(REQUIRED.intersection(mark.name for mark in item.iter_markers()))
    if marks and report.skipped:
        _refuse(report, marks)
    elif marks and call.when == "call":
        report.user_properties.append(("ran", marks))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A whole file can be skipped while it is collected: pytest.importorskip at its top."""
    report = yield
    marks = [name for name in sorted(REQUIRED) if ROOT / "tests" / name in collector.path.parents]
    if marks and report.skipped:
        _refuse(report, marks)
    return report


def _refuse(report, marks):
    """Turn a skip into a failure. An expected failure is a skip as well: it shows that nothing works."""
    why = (
        report.longrepr[2] if isinstance(report.longrepr, tuple) else report.__dict__.pop("wasxfail", "no reason given")
    )
    report.outcome = "failed"
    report.longrepr = f"{', '.join(marks)} tests must run here, as JT_EDU_REQUIRE says; this one did not. {why}"


# ------------------------------------------------------------------------------------------------ the end of a run


def pytest_configure(config):
    share.resolve(config)
    config.pluginmanager.register(share, "jt_edu_share")
    if not hasattr(config, "workerinput"):
        if config.getoption("record"):
            config.pluginmanager.register(Durations(), "jt_edu_durations")
        if config.getoption("again"):
            config.pluginmanager.register(SecondTry(config), "jt_edu_second_try")
        config.pluginmanager.register(LastWords(), "jt_edu_last_words")


def pytest_report_header(config):
    number = config.option.share
    if number is None:
        return None
    each = f"share {number % share.SHARES} of {share.SHARES} (--share {number}; all: python3 lab.py test --all)"
    return f"large tables: {each}"


class LastWords:
    """Listens in the process that hears of every test, and adds lines above pytest's closing one."""

    def __init__(self):
        self.properties = []
        self.missing = []

    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            self.properties += report.user_properties

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        """A mark that no test carried is as good as skipped: an empty folder, a -k that left them out.

        Registered after the second try, so that it is asked after it: no second try mends this.
        """
        ran = {mark for name, marks in self.properties if name == "ran" for mark in marks}
        self.missing = sorted(REQUIRED - ran)
        if self.missing and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        for name, text in self.properties:
            if name == "house":
                terminalreporter.write_line(text)
        for mark in self.missing:
            terminalreporter.write_line(f"no {mark} test ran, and JT_EDU_REQUIRE asks for them", red=True)
        if failed := os.environ.get("JT_EDU_ALSO_FAILED"):
            terminalreporter.write_line(f"before the tests, this did not pass: {failed}", red=True)
