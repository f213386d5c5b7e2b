"""The command for a machine with a GPU, on one that has none: a fake driver, tiny sizes, clocks that tests own."""

import itertools
import json
import math
import os
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

import jt_edu as jt
from jt_edu.cuda import compiler
from jt_edu.cuda.gpu_function import fingerprint
from tests.bench import net_ours
from tests.floors.cuda.fake_driver import FakeLibrary
from tests.floors.cuda.kernels import CASES
from tests.gpu import __main__ as program
from tests.gpu import checks, host, prepare, report, speed, work
from tests.gpu.speed import Case, Row


def ticking(step=1.0):
    """A clock that goes on whenever somebody looks at it."""
    ticks = itertools.count()
    return lambda: next(ticks) * step


def test_without_a_gpu_it_says_so_in_a_sentence_and_what_it_can_do(capsys, card):
    card(FakeLibrary(names=()))

    assert program.main([]) == 2
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert "this needs a GPU; found error 100" in said
    assert "--compile" in said


@pytest.mark.parametrize(("options", "words"), [
    ("--compile --out there", "--out goes without --compile"), ("--host --seconds 9", "--seconds goes without --host"),
    ("--compile --host", "--host: not allowed with argument --compile"),
    ("--steps", "--steps goes with --compile"), ("--capability 8.0", "--capability goes with --prepare"),
])  # fmt: skip
def test_an_option_that_would_change_nothing_is_refused(options, words, capsys):
    with pytest.raises(SystemExit):
        program.main(options.split())
    assert words in capsys.readouterr().err


def test_a_quick_run_checks_and_measures_and_writes_two_files(gpu, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(checks, "FEW", 100)
    monkeypatch.setitem(
        work.STEPS, "lenet", lambda *_, compiled: net_ours.trainer("mlp", 4, 3, 2, 2, compiled=compiled)
    )
    monkeypatch.setattr(speed, "TABLE", speed.TABLE[:2])

    assert report.run(tmp_path / "new", 100.0, quick=True) == 0

    found = json.loads((tmp_path / "new" / "gpu.json").read_text())
    assert found["gpu"] == "Fake 0"
    assert found["parity"]["wrong"] == {}
    assert found["parity"]["right"] > 10
    assert (found["kernels"]["right"], found["kernels"]["wrong"]) == (len(CASES), {})
    assert found["training"]["lenet"]["right"]
    assert {len(losses) for losses in found["training"]["lenet"]["losses"].values()} == {checks.STEPS}
    assert "cuGraphLaunch" in gpu.calls
    copy, sums = found["speed"]
    assert copy["ours"] == pytest.approx(1e3 * FakeLibrary.takes)  # by the clock of the GPU
    assert (sums["name"], sums["share"]) == ("a * b + c", pytest.approx(2))  # by this clock both take as long
    assert sums["reached"] == {"share": True, "ratio": None}
    page = (tmp_path / "new" / "gpu.md").read_text()
    assert "0.95 of a copy: **reached**; 1.3x PyTorch: no PyTorch here" in page
    assert page in capsys.readouterr().out


def test_goals_are_reached_or_missed_and_what_was_not_measured_is_neither():
    found = speed.Speed("a step", 2.0, 1.0, host=1.25, goals={"ratio": 0.8, "host": 1.5, "share": 0.9})

    assert found.reached == {"ratio": False, "host": True, "share": None}
    line = report._line(found)
    assert "0.8x PyTorch: missed; 1.5 µs a kernel on the host, or less: **reached**" in line
    assert "0.9 of a copy: not measured" in line


def test_every_row_of_the_issue_s_table_has_its_goals():
    goals = {row.name: dict(row.goals) for row in speed.TABLE}

    assert all(goals[name] == {"share": 0.95, "ratio": 1.3} for name in ("a * b + c", "silu", "gelu", "layer norm"))
    assert {name: found for name, found in goals.items() if "sum" in name} == {
        f"sum over {axis}": {"share": 0.9} for axis in ("all", "the first axis", "the last axis")
    }
    assert goals["product of 4096"] == goals["product of 4096, bfloat16"] == {"ratio": 0.8}
    assert all(found == {"ratio": 0.6} for name, found in goals.items() if "convolution" in name)
    assert all(found == {"ratio": 0.8, "host": 1.5} for name, found in goals.items() if " step" in name)


def test_a_kernel_with_other_numbers_on_the_gpu_is_wrong(gpu, monkeypatch):
    first, *others = CASES
    monkeypatch.setattr(checks, "CASES", [replace(first, result=first.result + 1), *others[:2]])
    found = checks.kernels(lambda: 1.0, 0)

    assert (found.right, [*found.wrong], found.missing) == (2, [first.name], 0)


def test_what_no_time_is_left_for_is_told():
    nets = report._trained(lambda: 0.0, quick=False)
    assert [(name, net["right"], net["failed"]) for name, net in nets.items()] == [
        (name, None, "no time was left for it") for name in checks.SIZES
    ]
    left = iter([1.0, 0.0])
    row = Row("quick", lambda torch: Case(lambda: None), (), (), {"share": 0.9})
    found = [*speed.table_of([row, row], True, lambda: next(left), ticking())]

    assert [one.failed for one in found] == ["", "no time was left for it"]
    assert "0.9 of a copy: not measured" in report._line(found[1])


@pytest.mark.parametrize("row", [row for row in speed.TABLE if row.tiny is not None], ids=lambda row: row.name)
def test_each_row_of_the_table_computes_something_on_the_gpu(gpu, row):
    with jt.flag_scope(backend="cuda"):
        case = row.build(None, *row.tiny)
        case.ours()
        jt.cuda.synchronize()

    assert gpu.launches or "cuMemcpyDtoDAsync_v2" in gpu.calls
    assert (case.bytes > 0) + (case.flops > 0) == (row.build.func is not speed.stepped if row.name != "copy" else 1)


def test_the_time_of_the_host_is_that_of_a_call_without_the_wait_for_it():
    now, calls = [0.0], []

    def call():
        calls.append(1)
        now[0] += 2.0

    def wait():
        now[0] += 100.0

    assert speed.host_seconds(call, wait, lambda: now[0]) == pytest.approx(2)
    assert len(calls) == speed.WARM + speed.HOST


def test_a_step_counts_its_launches_and_the_page_tells_the_time_of_the_host_for_each(gpu):
    row = next(row for row in speed.TABLE if row.name == "transformer, a step of 32 rows")
    with jt.flag_scope(backend="cuda"):
        case = row.build(None, *row.tiny)
        gpu.launches.clear()
        case.ours()
        jt.cuda.synchronize()
        assert case.kernels == len(gpu.launches)
        counted = Row("counted", lambda torch: Case(lambda: None, kernels=4), (), ())
        found = speed.measured(counted, None, (), 0.0, ticking(8e-6))

    assert found.host == pytest.approx(2)
    assert "| 2.00 |" in report.page("Fake", checks.Agreement(), checks.Agreement(), {}, [found])


def test_without_a_gpu_the_time_of_the_host_is_measured_beside_a_driver_that_does_nothing(capsys, monkeypatch):
    if host.shutil.which("cc") is None:
        pytest.skip("no compiler of C")
    before = jt.backends._loaded.get("cuda")
    assert program.main(["--host", "--quick"]) == 0
    _, _, *rows = capsys.readouterr().out.splitlines()

    assert [row.split(" | ")[2] for row in rows] == ["yes", "no"]
    assert all(float(part) > 0 for row in rows for part in row.strip("| ").split(" | ")[3:])
    assert jt.backends._loaded.get("cuda") is before
    monkeypatch.setattr(host.shutil, "which", lambda name: None)
    assert program.main(["--host"]) == 2


def test_bytes_and_operations_are_counted_from_the_shapes(gpu):
    rows = {row.name: row for row in speed.TABLE}
    with jt.flag_scope(backend="cuda"):
        assert rows["a * b + c"].build(None, *rows["a * b + c"].tiny).bytes == 4 * 300 * 4
        assert rows["sum over the last axis"].build(None, (6, 70)).bytes == 4 * (6 * 70 + 6)
        assert rows["product of 4096"].build(None, (3, 4), (4, 5)).flops == 2 * 3 * 4 * 5
        product = rows["product of 4096, bfloat16"].build(None, (3, 4), (4, 5))
        image = rows["convolution 3 x 3, 64 -> 64, 56 x 56"].build(None, (2, 4, 5, 5), (6, 4, 3, 3))
    assert product.flops == 2 * 3 * 4 * 5
    assert image.flops == 2 * (2 * 6 * 5 * 5) * (4 * 3 * 3)


def test_a_row_that_fails_is_told_and_the_others_go_on(gpu):
    def broken(torch):
        raise ValueError("no room\nat all")

    good = Row("good", lambda torch: Case(lambda: None, bytes=8), (), ())
    found = [*speed.table_of([Row("bad", broken, (), ()), good], True, lambda: 1.0, ticking())]

    assert [one.failed for one in found] == ["ValueError: no room", ""]
    assert found[1].share is None  # nobody has measured a copy


def test_the_share_is_that_of_the_copy_that_was_measured(gpu):
    rows = [Row("copy", speed.copied, (8,), (8,)), Row("twice", lambda torch: Case(lambda: None, bytes=128), (), ())]
    _, twice = speed.table_of(rows, True, lambda: 1.0, ticking())

    assert twice.share == pytest.approx(2)  # by this clock both take as long


@pytest.mark.parametrize("took", [1e-5, 3.0])
def test_the_time_of_a_call_is_that_of_many_in_line_and_one_wait(took):
    now, calls, waits = [0.0], [], []

    def call():
        calls.append(1)
        now[0] += took

    found = speed.seconds(call, lambda: waits.append(len(calls)), lambda: now[0])

    assert found == pytest.approx(took)
    count = waits[-1] - waits[-2]
    assert count == (1 if took > 1 else 2048)
    assert count * took >= speed.LEAST


def test_where_pytorch_has_the_gpu_it_is_measured_by_events():
    class Event:
        now = 0.0

        def record(self):
            self.at = Event.now

        def synchronize(self):
            pass

        def elapsed_time(self, other):
            return (other.at - self.at) * 1e3

    torch = SimpleNamespace(cuda=SimpleNamespace(Event=lambda **_: Event(), synchronize=lambda: None))

    def call():
        Event.now += 0.5

    assert speed.events(torch, call) == pytest.approx(0.5)
    case = Row("peer", lambda torch: Case(call, call), (), ())
    found = speed.measured(case, torch, (), 0.0, lambda: Event.now)
    assert (found.ours, found.peer) == (pytest.approx(500), pytest.approx(500))


def test_pytorch_computes_without_tf32_and_both_give_back_what_they_keep_before_each_row(gpu, monkeypatch):
    given_back = []
    there = SimpleNamespace(is_available=lambda: True, empty_cache=lambda: given_back.append(jt.cuda.memory_stats()))
    torch = SimpleNamespace(cuda=there, backends=SimpleNamespace(cudnn=SimpleNamespace(allow_tf32=True)))
    monkeypatch.setattr(speed, "find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "torch", torch)
    row = Row("one", lambda torch: Case(lambda: jt.cuda.device_array(300, "float32")), (), ())
    found = [*speed.table_of([row, row], True, lambda: 1.0, ticking())]

    assert [one.failed for one in found] == ["", ""]
    assert [stats["kept"] for stats in given_back] == [0, 0]
    assert jt.cuda.memory_stats()["kept"] > 0
    assert torch.backends.cudnn.allow_tf32 is False


def test_rows_beyond_the_box_of_time_are_counted(gpu):
    numbers = checks.in_turn(60)
    left = iter([1.0, 0.0])

    found = checks.parity(numbers, lambda: next(left), 0)

    assert (found.right, found.wrong, found.missing) == (checks.CHUNK, {}, len(numbers) - checks.CHUNK)


def test_rows_that_the_interpreter_would_compute_are_not_right(gpu, monkeypatch):
    monkeypatch.setattr(jt.cuda, "is_available", lambda: False)

    assert checks.parity(checks.in_turn(600), lambda: 1.0, 0).right == 0


def test_all_that_a_run_launches_is_compiled_ahead_for_its_gpu(gpu, monkeypatch):
    """The kernels and the kinds of their arguments are those that the run asks for; none is run."""
    asked, fake = {}, compiler.compiled
    monkeypatch.setattr(FakeLibrary, "_launch", lambda self, *given: self.launches.append(given))

    def noted(kernel, kinds, cc):
        asked[repr((fingerprint(kernel, {}), kinds, cc))] = kernel.function.__name__
        return fake(kernel, kinds, cc)

    monkeypatch.setattr(compiler, "compiled", noted)
    monkeypatch.setattr(checks, "SIZES", {"lenet": (2, 12)})
    monkeypatch.setattr(speed, "TABLE", [row for row in speed.TABLE if row.name in ("softmax", "sum over all")])
    rows = checks.in_turn(300)
    for function, *given in prepare._jobs((9, 0), prepare.needed((9, 0), quick=True, rows=rows)):
        assert function(*given) == ""
    ahead = {*asked}
    asked.clear()
    checks.parity(rows, lambda: 1.0, 0)
    checks.products(checks.SMALL)
    checks.losses("lenet", "cuda", 2, 12, compiled=True)
    with jt.flag_scope(backend="cuda"):
        assert [one.failed for one in speed.table_of(speed.TABLE, True, lambda: 1.0)] == ["", ""]

    assert len(asked) > 30
    assert [name for key, name in asked.items() if key not in ahead] == []


def test_without_a_compiler_a_folder_can_be_prepared_nowhere(monkeypatch, capsys):
    monkeypatch.setattr(program, "find_spec", lambda _: None)

    assert program.main(["--prepare", "there"]) == 2
    assert "pip install" in capsys.readouterr().out


def ends(numbers):
    """What stands for rows, some of which end their process."""
    if 2 * checks.CHUNK in numbers:
        os._exit(1)
    return dict.fromkeys(map(str, numbers), "")


def test_a_row_that_ends_its_process_takes_no_answers_with_it_and_is_told(monkeypatch):
    monkeypatch.setattr(checks, "chunk_agrees", ends)

    found = checks.parity([*range(4 * checks.CHUNK)], lambda: 60.0, 1)

    assert (found.right, found.missing) == (2 * checks.CHUNK, 2 * checks.CHUNK)
    assert found.wrong == {"the process": checks.ENDED}


def one_ends(number):
    """What stands for a kernel, the third of which ends its process."""
    return ends([2 * checks.CHUNK if number == 2 else number])


def test_a_kernel_that_ends_its_process_takes_no_answers_with_it_and_is_told(monkeypatch):
    monkeypatch.setattr(checks, "one_agrees", one_ends)

    found = checks.kernels(lambda: 60.0, 2)

    assert (found.right, found.missing) == (2, len(CASES) - 2)
    assert found.wrong == {"the process": checks.ENDED}


def test_a_folder_that_is_not_complete_is_told(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(prepare, "needed", lambda *_, **__: [])
    monkeypatch.setattr(prepare, "_jobs", lambda *_: [(ends, [2 * checks.CHUNK])])
    monkeypatch.setenv("JT_EDU_CUBINS", "")

    assert prepare.run(tmp_path, (9, 0), 1) == 1
    assert "A process that compiles has ended" in capsys.readouterr().out


def test_all_rows_have_their_turn_once():
    assert sorted(checks.in_turn()) == [*range(len(checks.in_turn()))]
    assert len(checks.in_turn(7)) == math.ceil(len(checks.in_turn()) / 7)


@pytest.fixture
def short(gpu, monkeypatch):
    """A run of some rows and no more."""
    monkeypatch.setattr(checks, "FEW", 500)
    monkeypatch.setattr(checks, "CASES", CASES[:1])
    monkeypatch.setattr(checks, "SIZES", {})
    monkeypatch.setattr(speed, "TABLE", ())


@pytest.mark.parametrize("reached", ["all", "no kernel", "nothing"])
def test_the_exit_code_of_a_run_that_checked_nothing_is_one(short, monkeypatch, tmp_path, reached):
    if reached == "no kernel":
        monkeypatch.setattr(checks, "CASES", [])

    assert report.run(tmp_path, 60.0 * (reached != "nothing"), quick=True) == (reached != "all")


def test_a_row_with_other_numbers_on_the_gpu_is_wrong_and_so_is_the_exit_code(short, monkeypatch, tmp_path):
    monkeypatch.setattr(checks, "_expected", lambda row, dtype, shapes, seed: [jt.array([1e6]).numpy()])

    assert report.run(tmp_path, 60.0, quick=True) == 1
    assert len(json.loads((tmp_path / "gpu.json").read_text())["parity"]["wrong"]) > 2


def test_losses_are_compared_to_a_thousandth():
    assert checks.close([2.0, 1.0], [2.001, 1.0])
    assert not checks.close([2.0, 1.0], [2.003, 1.0])
    assert not checks.close([math.nan], [math.nan])
