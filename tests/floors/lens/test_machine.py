"""Machine: the record, how the fastest of many samples is found, and that it is kept, healed, and never made up."""

import dataclasses
import time
from itertools import count
from types import SimpleNamespace

import pytest

import jt_edu as jt
from jt_edu.base.context import current
from jt_edu.codegen.emit_python import Parameter, Source
from jt_edu.lens.assembly import assembly
from tests.floors import machines

measured = machines.module  # `jt.machine` is the function


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """A machine that is measured in no time, with a cache of its own; the answer counts the measurements."""
    numbers = count(1)
    monkeypatch.setenv("JT_EDU_CACHE", str(tmp_path))
    monkeypatch.setattr(measured, "_known", {})
    monkeypatch.setattr(measured, "_measure", lambda threads: machines.made(threads=threads, cpu=f"{next(numbers)}"))
    return monkeypatch


def test_the_record_says_what_the_machine_does_and_cannot_be_changed():
    m = jt.machine()

    assert 1e8 < m.copy_bytes_per_second < 1e13
    assert 1e8 < m.read_bytes_per_second < 1e13
    assert 1e8 < m.one_thread_flops_per_second < 1e13
    assert m.flops_per_second >= m.product_flops_per_second > 1e8
    assert m.array_bytes == measured.array_bytes()
    assert m.as_dict()["bandwidth"] == m.bytes_per_second
    with pytest.raises(dataclasses.FrozenInstanceError):
        m.threads = 3


def test_a_chain_of_multiply_adds_is_compiled_to_packed_instructions():
    """Every step of every chain, and so that the processor computes four numbers or more at once."""
    source = Source(measured.chains_text(), (Parameter("x", "float32", 2), Parameter("out", "float32", 1)), apart=True)

    packed = [v for v in assembly(source).vectors if v.arithmetic and v.width >= 128]

    assert len(packed) >= measured.CHAINS * measured.STEPS


def test_measuring_takes_seconds_and_no_trace_sees_it():
    jt.machine()
    begin = time.process_time()

    with jt.trace() as t:
        jt.machine(again=True)

    assert time.process_time() - begin < 30 * jt.machine().threads  # 1 s on a quiet machine; minutes, if it went astray
    assert t.kernels == [] and t.built == [] and current().flags.backend == "numba"


@pytest.mark.parametrize(("took", "share", "calls"), [(0.5, 1, 24), (1 / 1024, 1, 52), (1 / 1024, 0.5, 154)])
def test_measuring_ends_with_its_budget_which_is_larger_where_others_need_the_cores(monkeypatch, took, share, calls):
    """24 samples at least; as many as fit into 0.05 s, or into three times as long."""
    now, done = [0.0], []

    def call():
        done.append(1)
        now[0] += took

    clock = SimpleNamespace(perf_counter=lambda: now[0], process_time=lambda: now[0] * share)
    monkeypatch.setattr(measured, "time", clock)

    found = measured.fastest(call, 10.0, clock.perf_counter)

    assert (len(done) - 1, found.share) == (calls, share)  # the first call is a rehearsal


def test_the_answer_is_measured_once_and_again_only_on_demand(quick):
    assert [jt.machine().cpu, jt.machine().cpu, jt.machine(again=True).cpu, jt.machine().cpu] == ["1", "1", "2", "2"]


def test_another_process_reads_what_the_first_kept(quick):
    jt.machine()
    quick.setattr(measured, "_known", {})

    assert jt.machine().cpu == "1"


@pytest.mark.parametrize("damage", [b"", b"{}", b"jt_edu kernel 1\nrubbish", None])
def test_a_damaged_file_is_measured_again_and_written_anew(quick, tmp_path, damage):
    jt.machine()
    (file,) = tmp_path.rglob("k_*.bin")
    file.write_bytes(file.read_bytes()[:-3] if damage is None else damage)
    quick.setattr(measured, "_known", {})

    assert jt.machine().cpu == "2"

    quick.setattr(measured, "_known", {})
    assert jt.machine().cpu == "2"


def test_a_record_of_another_version_is_not_read(quick):
    jt.machine()
    quick.setattr(measured, "_known", {})
    quick.setattr(measured, "VERSION", measured.VERSION + 1)

    assert jt.machine().cpu == "2"


def test_what_was_disturbed_is_not_kept_on_disk(quick, tmp_path):
    quick.setattr(measured, "_measure", lambda threads: machines.made(disturbed=True))

    jt.machine()

    assert not list(tmp_path.rglob("k_*.bin"))


def test_the_fastest_sample_counts(monkeypatch):
    monkeypatch.setattr(measured, "BUDGET", 0.0)
    took = iter([9.0, 0.5, 4.0] + [2.0] * 100)
    now = [0.0]

    def call():
        now[0] += next(took)

    assert measured.fastest(call, 10.0, lambda: now[0]).speed == 10.0 / 0.5


def test_a_roof_is_the_best_that_was_seen():
    m = machines.made(copy_bytes_per_second=2.0, read_bytes_per_second=3.0, product_flops_per_second=7.0)

    assert (m.bytes_per_second, m.flops_per_second) == (3.0, 1e11)


def test_arrays_are_larger_than_the_cache_and_no_larger_than_memory_allows(monkeypatch):
    memory = 8 << 30
    monkeypatch.setattr(measured.os, "sysconf", {"SC_PHYS_PAGES": memory >> 12, "SC_PAGE_SIZE": 1 << 12}.get)
    sizes = []
    for cache in (0, 1 << 20, 32 << 20, 512 << 20):
        monkeypatch.setattr(measured, "cache_bytes", lambda cache=cache: cache)
        sizes.append(measured.array_bytes())

    assert sizes == [128 << 20, 64 << 20, 128 << 20, 256 << 20]
    memory = 1 << 30
    monkeypatch.setattr(measured.os, "sysconf", {"SC_PHYS_PAGES": memory >> 12, "SC_PAGE_SIZE": 1 << 12}.get)
    assert measured.array_bytes() == 64 << 20
