"""The command for a machine with a GPU, on one that has none: a fake driver, tiny sizes, clocks that tests own."""

import itertools
import json
import math
import os
from types import SimpleNamespace

import pytest

import jt_edu as jt
from tests.bench import net_ours
from tests.floors.cuda.fake_driver import FakeLibrary
from tests.gpu import __main__ as program
from tests.gpu import checks, host, report, speed, work
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
    assert "there is a GPU; found error 100" in said
    assert "--compile" in said


def test_a_quick_run_checks_and_measures_and_writes_two_files(gpu, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(report, "FEW", 100)
    monkeypatch.setitem(work.STEPS, "lenet", lambda *_: net_ours.trainer("mlp", 4, 3, 2, 2))
    monkeypatch.setattr(speed, "TABLE", speed.TABLE[:4])

    assert report.run(tmp_path / "new", 100.0, quick=True, clock=ticking(2.0)) == 0

    found = json.loads((tmp_path / "new" / "gpu.json").read_text())
    assert found["gpu"] == "Fake 0"
    assert found["parity"]["wrong"] == {}
    assert found["parity"]["right"] > 10
    assert found["training"]["lenet"]["right"]
    rows = {one["name"]: one for one in found["speed"]}
    assert [*rows] == ["copy", "a * b + c", "silu", "gelu"]
    assert rows["copy"]["ours"] > 0
    assert rows["a * b + c"]["share"] > 0
    assert rows["gelu"]["failed"] == "no time was left for it"
    assert (tmp_path / "new" / "gpu.md").read_text() in capsys.readouterr().out


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
    row = next(row for row in speed.TABLE if row.name == "transformer, a step")
    with jt.flag_scope(backend="cuda"):
        case = row.build(None, *row.tiny)
        gpu.launches.clear()
        case.ours()
        jt.cuda.synchronize()
        assert case.kernels == len(gpu.launches)
        counted = Row("counted", lambda torch: Case(lambda: None, kernels=4), (), ())
        found = speed.measured(counted, None, (), 0.0, ticking(8e-6))

    assert found.host == pytest.approx(2)
    assert "| 2.00 |" in report.page("Fake", checks.Agreement(), {}, [found])


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


def test_rows_beyond_the_box_of_time_are_counted(gpu):
    numbers = checks.in_turn(60)
    left = iter([1.0, 0.0])

    found = checks.parity(numbers, lambda: next(left), 0)

    assert (found.right, found.wrong, found.missing) == (checks.CHUNK, {}, len(numbers) - checks.CHUNK)


def test_rows_that_the_interpreter_would_compute_are_not_right(gpu, monkeypatch):
    monkeypatch.setattr(jt.cuda, "is_available", lambda: False)

    assert checks.parity(checks.in_turn(600), lambda: 1.0, 0).right == 0


def ends(numbers):
    """What stands for rows, the first of which end their process."""
    if 0 in numbers:
        os._exit(1)
    return dict.fromkeys(map(str, numbers), "")


def test_a_row_that_ends_its_process_takes_no_answers_with_it(monkeypatch):
    monkeypatch.setattr(checks, "chunk_agrees", ends)

    found = checks.parity([*range(3 * checks.CHUNK)], lambda: 60.0, 1)

    assert found.missing > 0
    assert not found.wrong


def test_all_rows_have_their_turn_once():
    assert sorted(checks.in_turn()) == [*range(len(checks.in_turn()))]
    assert len(checks.in_turn(7)) == math.ceil(len(checks.in_turn()) / 7)


def test_a_row_with_other_numbers_on_the_gpu_is_wrong_and_so_is_the_exit_code(gpu, monkeypatch, tmp_path):
    monkeypatch.setattr(checks, "_expected", lambda row, dtype, shapes, seed: [jt.array([1e6]).numpy()])
    monkeypatch.setattr(report, "FEW", 500)
    monkeypatch.setattr(checks, "SIZES", {})
    monkeypatch.setattr(speed, "TABLE", ())

    assert report.run(tmp_path, 60.0, quick=True, clock=lambda: 0.0) == 1
    assert len(json.loads((tmp_path / "gpu.json").read_text())["parity"]["wrong"]) > 2


def test_losses_are_compared_to_a_thousandth():
    assert checks.close([2.0, 1.0], [2.001, 1.0])
    assert not checks.close([2.0, 1.0], [2.003, 1.0])
    assert not checks.close([math.nan], [math.nan])
