"""Backends: the door, two backends that give the same values, files that heal, threads that share."""

import errno
import gc
import itertools
import logging
import os
import re
import subprocess
import sys
import threading
import time
import traceback
import weakref
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jt_edu import backends
from jt_edu.backends import PythonBackend, cache_dir, kernel_cache, numba_cpu, thread_pool
from jt_edu.backends.numba_cpu import NumbaBackend
from jt_edu.backends.thread_workers import Workers, _Launch
from jt_edu.base.errors import ArgumentError, BackendError, KernelError
from jt_edu.codegen.emit_python import Parameter, Source

ROOT = Path(__file__).resolve().parents[3]


def scale(factor, dtype="float64"):
    """out[i] = x[i] * factor: a small kernel, and another one for each factor."""
    text = f"""def kernel(lo, hi, out, x):
    for i in range(lo, hi):
        out[i] = x[i] * {factor}
"""
    return Source(text, (Parameter("out", dtype, 1), Parameter("x", dtype, 1)))


def result_of(program, length=5):
    x, out = np.arange(float(length)), np.zeros(length)
    program.call(0, length, out, x)
    return out.tolist()


DOUBLE = scale(2.0)
DOUBLED = [0.0, 2.0, 4.0, 6.0, 8.0]

REFUSE = Source(
    """def kernel(lo, hi, x):
    for i in range(lo, hi):
        if x[i] < 0:
            raise IndexError("a negative index")
""",
    (Parameter("x", "int64", 1),),
)

SHARES = Source(
    """def kernel(lo, hi, out, x, n, share, scale):
    share[()] = 0
    for i in range(lo, hi):
        row = x[i]
        for j in range(n):
            share[()] += row[j]
            out[i] = share[()] * scale
""",
    (
        Parameter("out", "float32", 1),
        Parameter("x", "float32", 2),
        Parameter("n", "int64"),
        Parameter("share", "float32", 0),
        Parameter("scale", "float32"),
    ),
)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A folder for kernels that nothing has touched."""
    monkeypatch.setenv("JT_EDU_CACHE", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


@pytest.fixture(params=[PythonBackend, NumbaBackend], ids=["python", "numba"])
def backend(request):
    return request.param()


@pytest.fixture
def three_threads():
    before = thread_pool.threads()
    thread_pool.set_num_threads(3)
    yield
    thread_pool.set_num_threads(before)


@pytest.fixture
def said(caplog):
    """What is logged from here on, by line."""
    cache_dir.say_once.cache_clear()
    caplog.set_level(logging.INFO, logger="jt_edu.backends")
    return lambda: [record.getMessage() for record in caplog.records]


def python(script, stdin=None, **environment):
    """Start a program in a Python of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(process):
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    return out.strip()


# -------------------------------------------------------------------------------------------------------- the door


def test_a_backend_is_loaded_once():
    first = backends.get("python")

    assert first.name == "python"
    assert backends.get("python") is first


def test_an_unknown_backend_is_refused_with_the_names_there_are_and_the_nearest():
    with pytest.raises(BackendError, match=r"'nunba' was asked for; found the backends .*numba, python.*Try: 'numba'"):
        backends.get("nunba")


def test_a_backend_of_another_package_is_found_through_its_entry_point(tmp_path, monkeypatch):
    info = tmp_path / "far_away-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: far-away\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[jt_edu.backends]\nfar = far_away:Far\nbroken = far_away:Nothing\n")
    (tmp_path / "far_away.py").write_text("class Far:\n    name = 'far'\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(backends, "_loaded", {})

    assert type(backends.get("far")).__module__ == "far_away"
    assert {"broken", "far", "numba", "python"} <= set(backends.names())
    with pytest.raises(BackendError, match="'broken' could not be loaded; found AttributeError"):
        backends.get("broken")


def test_a_registered_backend_takes_the_place_of_another(monkeypatch):
    monkeypatch.setattr(backends, "_loaded", {})
    mine = PythonBackend()

    backends.register(mine)

    assert backends.get("python") is mine


def test_the_python_backend_needs_no_numba(cache):
    script = """
import sys
from jt_edu import backends
from jt_edu.codegen.emit_python import Source
backends.get("python").compile(Source("def kernel(lo, hi):\\n    pass\\n", ())).call(0, 1)
print("numba" in sys.modules)
"""
    assert answer(python(script)) == "False"


# ---------------------------------------------------------------------------------------------------- both backends


def test_both_backends_give_the_same_values_for_every_kind_of_parameter(three_threads):
    x = np.linspace(0, 1, 28, dtype=np.float32).reshape(7, 4)
    found = []

    for backend in (PythonBackend(), NumbaBackend()):
        out = backend.empty((7,), np.dtype("float32"))
        arguments = (out, x, 4, np.empty((), np.float32), 0.1)
        backend.compile(SHARES).call(0, 7, *arguments)
        found.append(out.tolist())

    np.testing.assert_allclose(found[0], np.cumsum(x.sum(1)) * np.float32(0.1), rtol=1e-5)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_a_number_comes_in_the_dtype_that_the_source_states(backend):
    parameters = (Parameter("out", "float64", 1), Parameter("s", "float32"))
    source = Source("def kernel(lo, hi, out, s):\n    out[0] = s\n", parameters)
    out = np.zeros(1)

    backend.compile(source).call(0, 1, out, 0.1)

    assert out[0] == float(np.float32(0.1))


def test_each_thread_has_its_own_scratch_and_blocks_begin_where_they_should(backend, three_threads):
    x = np.ones((10, 4), np.float32)
    out, scratch = np.zeros(10, np.float32), np.zeros(thread_pool.threads(), np.float32)

    backend.launch(backend.compile(SHARES), (out, x, 4, scratch, 1.0), 10, scratch=(3,), align=4)

    shared = backend.name != "python"
    assert out.tolist() == [4.0 * (1 + (i % 4 if shared else i)) for i in range(10)]  # blocks of 4, 4 and 2 rows
    assert scratch.tolist() == ([16.0, 16.0, 8.0] if shared else [40.0, 0.0, 0.0])


def test_a_launch_over_nothing_changes_nothing(backend):
    out = np.full(3, 7.0)

    backend.launch(backend.compile(DOUBLE), (out, np.zeros(3)), 0)

    assert out.tolist() == [7.0, 7.0, 7.0]


def test_compiling_again_gives_the_same_program_at_no_cost(backend):
    first = backend.compile(DOUBLE)
    second = backend.compile(DOUBLE)

    assert second.call is first.call
    assert (second.compiled, second.seconds) == (False, 0.0)
    assert result_of(second) == DOUBLED


def test_an_error_in_a_kernel_shows_the_line_of_its_file(backend):
    program = backend.compile(REFUSE)

    with pytest.raises(IndexError, match="a negative index") as caught:
        program.call(0, 2, np.array([1, -1]))

    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.lineno) == (str(program.path), 4)
    assert last.line == 'raise IndexError("a negative index")'
    assert program.path.read_text() == REFUSE.text


def test_an_error_in_a_kernel_from_disk_shows_the_line_of_its_file(cache):
    NumbaBackend().compile(REFUSE)
    program = NumbaBackend().compile(REFUSE)

    with pytest.raises(IndexError) as caught:
        program.call(0, 1, np.array([-1]))

    assert not program.compiled
    assert traceback.extract_tb(caught.value.__traceback__)[-1].lineno == 4


@pytest.mark.parametrize("text", ["def kernel(lo, hi:\n", "def other(lo, hi):\n    pass\n"])
def test_a_text_that_defines_no_kernel_is_refused_by_name(backend, text):
    source = Source(text, ())

    with pytest.raises(KernelError, match=f"k_{source.key}.py"):
        backend.compile(source)


def test_memory_has_the_shape_and_dtype_asked_for_and_large_arrays_begin_at_a_cache_line(backend):
    for shape in [(), (0, 3), (5,), (3, 40_000)]:
        array = backend.empty(shape, np.dtype("float32"))

        assert (array.shape, array.dtype, array.flags.c_contiguous) == (shape, np.dtype("float32"), True)
        assert array.flags.writeable
        if backend.name == "numba" and array.nbytes > 100_000:
            assert array.ctypes.data % 64 == 0


def test_python_kernels_divide_by_zero_without_a_word():
    source = Source(
        "def kernel(lo, hi, out, x):\n    for i in range(lo, hi):\n        out[i] = x[i] / (x[i] - x[i])\n",
        DOUBLE.parameters,
    )
    out = np.zeros(2)

    PythonBackend().compile(source).call(0, 2, out, np.array([0.0, 1.0]))

    assert np.isnan(out[0])
    assert np.isposinf(out[1])


# ------------------------------------------------------------------------------------------------------ compiling


def test_a_kernel_may_call_blas():
    text = "import numpy as np\n\n\ndef kernel(lo, hi, out, a, b):\n    np.dot(a[lo:hi], b, out[lo:hi])\n"
    parameters = tuple(Parameter(name, "float32", 2) for name in ("out", "a", "b"))
    a, b, out = (np.random.default_rng(k).random((9, 9), np.float32) for k in range(3))
    backend = NumbaBackend()

    backend.launch(backend.compile(Source(text, parameters)), (out, a, b), 9)

    np.testing.assert_allclose(out, a @ b, rtol=1e-5)


def test_a_kernel_that_allocates_is_compiled_the_long_way(cache):
    text = """import numpy as np


def kernel(lo, hi, out):
    copy = np.ones(hi)
    for i in range(lo, hi):
        out[i] += copy[i]
"""
    source = Source(text, (Parameter("out", "float64", 1),))
    out = np.zeros(4)

    NumbaBackend().compile(source).call(0, 4, out)
    again = NumbaBackend().compile(source)
    again.call(0, 4, out)

    assert out.tolist() == [2.0] * 4
    assert not again.compiled


def test_what_does_not_compile_is_refused_with_the_reason_and_collecting_goes_on():
    with pytest.raises(KernelError, match="nowhere_defined"):
        NumbaBackend().compile(Source("def kernel(lo, hi):\n    nowhere_defined(lo)\n", ()))

    assert gc.isenabled()


def test_many_threads_that_ask_for_the_same_kernels_get_one_program_each(cache):
    backend, found, gate = NumbaBackend(), [], threading.Barrier(6)

    def ask():
        gate.wait()
        found.extend(backend.compile(scale(f)) for f in (11.0, 12.0))

    askers = [threading.Thread(target=ask) for _ in range(6)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()

    assert sum(p.compiled for p in found) == 2
    assert len({p.call for p in found}) == 2
    assert len(found) == 12


def test_the_stamp_changes_with_the_settings_of_numba_and_with_the_functions_that_kernels_call(tmp_path, monkeypatch):
    for name in (f"{stem}.py" for stem in numba_cpu._COMPILES):
        (tmp_path / name).write_text("")
    (tmp_path / "mathlib").mkdir()
    monkeypatch.setattr(numba_cpu, "__file__", str(tmp_path / "numba_cpu.py"))
    stamps = [numba_cpu._stamp()]

    (tmp_path / "mathlib" / "new.py").write_text("one")
    stamps.append(numba_cpu._stamp())
    (tmp_path / "mathlib" / "new.py").write_text("two")
    stamps.append(numba_cpu._stamp())
    monkeypatch.setattr(numba.config, "LOOP_VECTORIZE", 1 - numba.config.LOOP_VECTORIZE)
    stamps.append(numba_cpu._stamp())

    assert len(set(stamps)) == 4


def test_what_kernels_import_is_part_of_the_stamp_and_cost_models_are_not():
    home = Path(numba_cpu.__file__).parent
    waiting, imported = [*home.glob("*/kernels/*.py"), home / "epilogues.py"], set()
    while waiting:
        text = waiting.pop().read_text("utf-8")
        new = set(re.findall(r"^from jt_edu\.backends\.convolve\.(\w+) import", text, re.MULTILINE)) - imported
        imported |= new
        waiting += [home / "convolve" / f"{name}.py" for name in new]

    assert {"gemm_microkernel", "im2col", "simd", "skinny_gemm"} <= imported
    assert not imported & set(numba_cpu._NOT_IMPORTED)
    assert {"autotuner", "im2col_gemm", "selection", "winograd"} <= set(numba_cpu._NOT_IMPORTED)


# --------------------------------------------------------------------------------------------- files, and healing


def test_a_kernel_compiled_once_comes_from_disk_in_another_process(cache):
    script = """
from jt_edu.backends.numba_cpu import NumbaBackend
from tests.floors.backends.test_backends import DOUBLE, result_of
program = NumbaBackend().compile(DOUBLE)
print(program.compiled, result_of(program))
"""
    assert answer(python(script, PYTHONHASHSEED="1")) == f"True {DOUBLED}"
    assert answer(python(script, PYTHONHASHSEED="2")) == f"False {DOUBLED}"
    assert answer(python(script, NUMBA_OPT="1")) == f"True {DOUBLED}"


def test_processes_that_compile_the_same_kernels_at_once_do_not_disturb_each_other(cache):
    script = """
from jt_edu.backends.numba_cpu import NumbaBackend
from tests.floors.backends.test_backends import result_of, scale
backend = NumbaBackend()
print("ready", flush=True)
input()
print([result_of(backend.compile(scale(f)))[1] for f in (1.0, 2.0, 3.0, 4.0)])
"""
    processes = [python(script, stdin=subprocess.PIPE) for _ in range(4)]
    assert [p.stdout.readline() for p in processes] == ["ready\n"] * 4
    for p in processes:
        p.stdin.write("go\n")
        p.stdin.flush()
    answers = {answer(p) for p in processes}

    assert answers == {"[1.0, 2.0, 3.0, 4.0]"}
    assert not list(cache.rglob("*.tmp"))
    assert not any(NumbaBackend().compile(scale(f)).compiled for f in (1.0, 2.0, 3.0, 4.0))


DAMAGE = {
    "empty": lambda path, other: b"",
    "truncated": lambda path, other: path.read_bytes()[:-1],
    "zeroed": lambda path, other: bytes(path.stat().st_size),
    "one bit wrong": lambda path, other: path.read_bytes()[:-9] + b"?" + path.read_bytes()[-8:],
    "garbage": lambda path, other: b"\x80\x04garbage",
    "of another kernel": lambda path, other: other.read_bytes(),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_or_foreign_file_is_dropped_and_made_again(cache, said, kind):
    path = NumbaBackend().compile(DOUBLE).path.with_suffix(".bin")
    other = NumbaBackend().compile(scale(3.0)).path.with_suffix(".bin")
    path.write_bytes(DAMAGE[kind](path, other))

    healed = NumbaBackend().compile(DOUBLE)
    again = NumbaBackend().compile(DOUBLE)

    assert said() == [f"{path} is damaged or not ours: compiling again"]
    assert (healed.compiled, again.compiled) == (True, False)
    assert result_of(healed) == result_of(again) == DOUBLED


def test_machine_code_that_needs_what_this_process_lacks_is_compiled_again(cache):
    backend = NumbaBackend()
    backend.compile(DOUBLE)
    frozen = backend._store.load(DOUBLE.key)
    backend._store.save(DOUBLE.key, frozen.replace(b'"needs": [', b'"needs": ["no_such_symbol", '))

    program = NumbaBackend().compile(DOUBLE)

    assert program.compiled
    assert result_of(program) == DOUBLED


def test_a_text_that_somebody_changed_is_written_again(backend, cache, said):
    backend = type(backend)()
    path = backend.compile(DOUBLE).path
    path.write_text("def kernel(lo, hi, out, x):\n    out[0] = 666\n")

    program = type(backend)().compile(DOUBLE)

    assert path.read_text() == DOUBLE.text
    assert result_of(program) == DOUBLED
    assert said() == [f"{path} held another text: written again"]


def test_two_kernels_never_share_a_file(cache):
    backend = NumbaBackend()
    sources = [scale(5.0), scale(6.0), scale(5.0, "float32"), Source(scale(5.0).text + "\n", scale(5.0).parameters)]

    assert len({backend.compile(source).path for source in sources}) == len(sources)


def test_the_folder_is_for_its_owner_only(cache):
    path = NumbaBackend().compile(DOUBLE).path

    assert path.is_relative_to(cache)
    assert (cache.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o700, 0o700)


def test_a_folder_that_others_can_write_is_not_trusted(cache, said):
    NumbaBackend().compile(DOUBLE)
    cache.chmod(0o777)

    program = NumbaBackend().compile(DOUBLE)

    assert program.compiled
    assert not program.path.is_relative_to(cache)
    assert result_of(program) == DOUBLED
    assert [("others may write to it" in line) for line in said()] == [True]


def test_a_folder_of_somebody_else_is_not_trusted(cache, said, monkeypatch):
    NumbaBackend().compile(DOUBLE)
    monkeypatch.setattr(os, "getuid", lambda: cache.stat().st_uid + 1)

    program = NumbaBackend().compile(DOUBLE)

    assert program.compiled
    assert program.path is None  # in this test the temporary folder belongs to somebody else, too
    assert ["belongs to somebody else" in line for line in said()] == [True, True]


def test_without_any_folder_kernels_live_in_memory_and_tracebacks_still_show_them(cache, said, monkeypatch):
    def refuse(*arguments, **options):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(cache_dir.tempfile, "TemporaryFile", refuse)
    backend = NumbaBackend()

    program = backend.compile(REFUSE)

    assert (program.compiled, program.path) == (True, None)
    with pytest.raises(IndexError) as caught:
        program.call(0, 1, np.array([-1]))
    assert traceback.extract_tb(caught.value.__traceback__)[-1].line == 'raise IndexError("a negative index")'
    NumbaBackend()
    assert ["Read-only file system" in line for line in said()] == [True, True]


def test_a_cache_that_cannot_be_made_is_replaced_by_a_temporary_one(tmp_path, said, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("JT_EDU_CACHE", str(tmp_path / "file" / "kernels"))

    backends_of_one_process = [NumbaBackend(), PythonBackend(), NumbaBackend()]

    for backend in backends_of_one_process:
        assert backend.compile(DOUBLE).path.read_text() == DOUBLE.text
    assert len(said()) == 1
    assert "temporary folder" in said()[0]


def test_a_full_disk_is_said_once_and_stops_nothing(cache, said, monkeypatch):
    backend = NumbaBackend()

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(kernel_cache.tempfile, "mkstemp", full)

    assert [result_of(backend.compile(scale(f)))[1] for f in (21.0, 22.0)] == [21.0, 22.0]
    assert said() == ["kernels are not kept on disk: [Errno 28] No space left on device"]


def test_a_write_that_breaks_off_leaves_no_file_behind(cache, monkeypatch):
    store = kernel_cache.Store("test")
    real = os.fdopen

    def breaks(handle, mode):
        file = real(handle, mode)
        file.close()
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(kernel_cache.os, "fdopen", breaks)

    assert not store.save("0", b"machine code")
    assert list(store.folder.iterdir()) == []


def test_old_stamps_go_when_the_cache_is_too_large_and_nothing_else_does(cache, monkeypatch):
    for age, name in enumerate(["new", "old", "oldest"]):
        kernel_cache.Store(name).save("0", bytes(1000))
        (cache / name / "letter.txt").write_text("of the user")
        os.utime(cache / name, (1e9 - age, 1e9 - age))
    monkeypatch.setattr(cache_dir, "LIMIT", 1500)

    def kept():
        return sorted(path.parent.name for path in cache.rglob("*.bin"))

    kernel_cache.Store("now")
    assert kept() == ["new", "old", "oldest"]  # it was looked at today already

    os.utime(cache / "pruned", (0, 0))
    kernel_cache.Store("now")
    assert kept() == ["new"]
    monkeypatch.setattr(cache_dir, "LIMIT", 0)
    os.utime(cache / "pruned", (0, 0))
    kernel_cache.Store("new")
    assert kept() == ["new"]  # it is in use
    assert len(list(cache.rglob("letter.txt"))) == 3


# --------------------------------------------------------------------------------------------------------- threads


@given(st.integers(0, 10_000), st.integers(1, 70), st.integers(1, 100))
def test_blocks_cover_the_span_in_order_and_all_but_the_last_are_aligned(span, count, align):
    blocks = thread_pool.borders(span, count, align)

    assert len(blocks) <= count
    assert [i for lo, hi in blocks for i in (lo, hi)][1:-1:2] == [lo for lo, _ in blocks[1:]]
    assert (blocks[0][0], blocks[-1][1]) == (0, span)
    assert all((hi - lo) % align == 0 and hi > lo for lo, hi in blocks[:-1])
    lengths = [-(-(hi - lo) // align) for lo, hi in blocks]
    assert max(lengths) - min(lengths) <= 1


@given(st.integers(0, 10_000), st.integers(1, 9), st.integers(1, 100), st.integers(1, 6))
def test_pieces_cover_the_span_in_order_and_become_no_longer(span, count, align, depth):
    found = thread_pool.pieces(span, count, align, depth)

    assert (found[0][0], found[-1][1]) == (0, span)
    assert [hi for _, hi in found[:-1]] == [lo for lo, _ in found[1:]]
    assert all((hi - lo) % align == 0 and hi > lo for lo, hi in found[:-1])
    lengths = [-(-(hi - lo) // align) for lo, hi in found]
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(lengths))
    assert depth > 1 or found == thread_pool.borders(span, count, align)


def test_each_block_runs_once_and_the_caller_does_the_first():
    seen, all_there = {}, threading.Barrier(4)

    def task(k):
        seen.setdefault(k, threading.current_thread())
        all_there.wait(60)

    thread_pool.run(task, 4)

    assert sorted(seen) == [0, 1, 2, 3]
    assert seen[0] is threading.current_thread()
    assert len(set(seen.values())) == 4


@pytest.mark.parametrize("bad", [{0}, {2}, {1, 2}])
def test_the_error_of_the_first_bad_block_is_raised_when_all_blocks_have_ended(bad):
    ended, over = [], [threading.Event() for _ in range(3)]

    def task(k):
        assert k == 2 or over[k + 1].wait(60)  # the last block is the first to fail
        over[k].set()
        if k in bad:
            raise ZeroDivisionError(k)
        ended.append(k)

    with pytest.raises(ZeroDivisionError, match=str(min(bad))):
        thread_pool.run(task, 3)

    assert set(ended) == {0, 1, 2} - bad
    thread_pool.run(ended.append, 3)  # and the pool is as good as new
    assert len(ended) == 6 - len(bad)


def test_the_caller_does_not_wait_for_workers_that_do_not_come():
    workers, seen, go_on = Workers(), [], threading.Event()
    workers.run(lambda k: None, 3)
    for queue in workers.queues:
        queue.put(_Launch(0, lambda k: go_on.wait(60), 1))  # they are busy with something else

    workers.run(lambda k: seen.append((k, threading.current_thread())), 3)

    go_on.set()
    assert seen == [(k, threading.current_thread()) for k in range(3)]


def test_a_way_to_spin_that_fails_is_given_up_and_nobody_waits_for_ever():
    workers, seen = Workers(), []

    def broken(say, number, mine, other):
        raise NotImplementedError("this Python cannot")

    def work():
        for _ in range(3):
            workers.spin = broken
            workers.run(seen.append, 3)
            workers.drain()  # each worker still answers

    caller = threading.Thread(target=work, daemon=True)
    caller.start()
    caller.join(60)

    assert not caller.is_alive()
    assert sorted(seen) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_without_compiling_threads_share_a_kernel_and_the_program_ends():
    script = (
        "import jt_edu as jt; jt.set_num_threads(2); x = jt.ones(100_000)\n"
        "for _ in range(3): print((x * 2 + 1).numpy()[-1], (x + 1).sum().item())"
    )
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}

    ran = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=240, check=False
    )

    assert (ran.stdout, ran.stderr) == ("3.0 200000.0\n" * 3, "")


def test_a_worker_that_comes_too_late_finds_nothing_to_do():
    workers, seen = Workers(), []
    late = _Launch(1, seen.append, 2)
    late.work()

    assert not late.work()
    workers.run(seen.append, 1)
    assert seen == [0, 1, 0]


def test_the_pieces_of_a_launch_are_all_done_with_memory_of_their_thread(backend, three_threads):
    x = np.ones((640, 4), np.float32)
    out, scratch = np.zeros(640, np.float32), np.zeros(thread_pool.threads(), np.float32)

    backend.launch(backend.compile(SHARES), (out, x, 4, scratch, 1.0), 640, scratch=(3,), depth=4)

    found = thread_pool.pieces(640, 3, 1, 4) if backend.name != "python" else ((0, 640),)
    assert out.tolist() == [4.0 * (1 + i) for lo, hi in found for i in range(hi - lo)]


def test_a_launch_inside_a_block_runs_in_its_thread():
    inner = {}

    def task(k):
        thread_pool.run(lambda j: inner.setdefault((k, j), threading.current_thread()), 3)

    thread_pool.run(task, 2)

    assert len(inner) == 6
    assert all(inner[k, 0] is inner[k, j] for k in range(2) for j in range(3))


def test_several_threads_may_launch_at_once(three_threads):
    backend = NumbaBackend()
    program, wrong = backend.compile(DOUBLE), []

    def work(seed):
        x = np.full(1000, float(seed))
        for _ in range(300):
            out = np.zeros(1000)
            backend.launch(program, (out, x), 1000)
            if not (out == 2 * seed).all():
                wrong.append(seed)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert wrong == []


def test_a_thread_that_waits_keeps_no_arrays_alive():
    class Large:
        pass

    large = Large()
    alive = weakref.ref(large)
    thread_pool.run(lambda k, large=large: large and k, 3)
    del large

    deadline = time.time() + 60
    while alive() is not None and time.time() < deadline:
        time.sleep(0.001)
    assert alive() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_has_threads_of_its_own(cache):
    script = """
import os, threading, warnings
warnings.simplefilter("ignore")
from jt_edu.backends import thread_pool as pool
from jt_edu.backends.numba_cpu import NumbaBackend
from tests.floors.backends.test_backends import DOUBLE, result_of
backend = NumbaBackend()
pool.run(lambda k: None, 3)
child = os.fork()
seen, all_there = {}, threading.Barrier(3)
pool.run(lambda k: seen.setdefault(k, threading.get_ident()) and all_there.wait(60), 3)
good = len(set(seen.values())) == 3 and result_of(backend.compile(DOUBLE))[1] == 2.0
if child == 0:
    os._exit(0 if good else 1)
print(good, os.waitpid(child, 0)[1])
"""
    assert answer(python(script)) == "True 0"


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to one process there")
def test_ctrl_c_waits_for_blocks_that_have_begun(cache):
    script = """
import signal, threading, time
from jt_edu.backends import thread_pool as pool, thread_workers as workers
ended, heard, all_there = [], [], threading.Barrier(3)
waits, drains = threading.Event(), threading.Event()
class Told(threading.Event):
    def wait(self):
        drains.set()
        super().wait()
class Watched(workers.Workers):
    def wait(self, launch, start):
        waits.set()
        super().wait(launch, start)
    def drain(self):
        threading.Event = Told
        super().drain()
def hear(*_):
    if len(heard) < 1 + drains.is_set():
        heard.append(1)
        raise KeyboardInterrupt
def press(times):
    while len(heard) < times:  # a thread that is about to sleep may miss one
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(0.01)
def task(k):
    all_there.wait(60)
    if k == 1:
        waits.wait(60)
        press(1)  # while the caller waits
        drains.wait(60)
        press(2)  # and again
    ended.append(k)
signal.signal(signal.SIGINT, hear)
pool._pool.workers = Watched()
try:
    pool.run(task, 3)
except KeyboardInterrupt:
    print(sorted(ended))
pool.run(ended.append, 3)
print(len(ended))
"""
    assert answer(python(script)) == "[0, 1, 2]\n6"


def test_the_number_of_threads_can_be_chosen_and_nonsense_is_refused(three_threads):
    assert thread_pool.threads() == 3
    with pytest.raises(ArgumentError, match="found 0"):
        thread_pool.set_num_threads(0)
    with pytest.raises(TypeError):
        thread_pool.set_num_threads(2.5)


def test_the_number_of_threads_of_a_new_process_is_taken_from_its_environment(monkeypatch):
    def begins():
        return thread_pool._Pool().size

    monkeypatch.setenv("JT_EDU_NUM_THREADS", "5")
    assert begins() == 5
    monkeypatch.setenv("JT_EDU_NUM_THREADS", "many")
    assert 1 <= begins() <= os.cpu_count()


def test_values_do_not_depend_on_the_number_of_threads(backend):
    x = np.random.default_rng(0).random(1003)
    program, found, before = backend.compile(DOUBLE), set(), thread_pool.threads()

    for count in (1, 2, 3, 8):
        thread_pool.set_num_threads(count)
        out = np.zeros(1003)
        backend.launch(program, (out, x), 1003, align=16)
        found.add(out.tobytes())
    thread_pool.set_num_threads(before)

    assert found == {(2 * x).tobytes()}
