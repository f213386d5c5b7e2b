"""A record as trace events: bars and arrows that a viewer can draw, and the way back to the record."""

import json

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.mpi.record.export import trace_events
from jt_edu.mpi.record.records import Record
from jt_edu.mpi.simulated.threads import run_ranks
from jt_edu.mpi.world.faults import Faults


def program(comm):
    comm.compute(1000 * (comm.rank + 1))
    comm.allreduce([comm.rank], op=lambda a, b: a + b, algorithm="tree") if comm.size > 1 else None
    request = comm.isend("a word", (comm.rank + 1) % comm.size, tag=3)
    comm.recv(source=(comm.rank - 1) % comm.size)
    request.wait()
    if comm.rank == 0:
        comm.send("for nobody", 1, tag=9)


@pytest.fixture(scope="module")
def record():
    return run_ranks(4, program).record


def of(events, *kinds):
    return [event for event in events if event["ph"] in kinds]


def test_every_call_and_piece_of_work_is_a_bar(record):
    events = trace_events(record)["traceEvents"]

    bars = of(events, "X")
    assert len(bars) == len(record.calls) + len(record.work)
    assert all({"name", "pid", "tid", "ts", "dur", "args"} <= set(bar) and bar["dur"] >= 0 for bar in bars)
    assert {bar["tid"] for bar in bars} == {0, 1, 2, 3}
    first = next(bar for bar in bars if bar["cat"] == "call")
    call = record.calls[0]
    assert (first["ts"], first["dur"]) == (call.enter / 1e3, (call.leave - call.enter) / 1e3)
    assert first["args"]["call"] == call.words


def test_the_two_ends_of_each_arrow_share_an_id_and_lie_in_bars_of_their_ranks(record):
    events = trace_events(record)["traceEvents"]

    starts, ends = ({event["id"]: event for event in of(events, kind)} for kind in ("s", "f"))
    taken = [message for message in record.messages if message.taker >= 0]
    assert set(starts) == set(ends) == {message.number for message in taken}
    assert len(record.messages) == len(taken) + 1
    for message in taken:
        assert (starts[message.number]["tid"], ends[message.number]["tid"]) == (message.source, message.dest)
        assert starts[message.number]["ts"] <= ends[message.number]["ts"]
        assert ends[message.number]["bp"] == "e"
        for end in (starts[message.number], ends[message.number]):
            bars = [bar for bar in of(events, "X") if bar["tid"] == end["tid"]]
            assert any(b["ts"] <= end["ts"] <= b["ts"] + b["dur"] for b in bars), "an arrow hangs in the air"


def test_events_are_in_the_order_of_time_behind_the_names_of_the_ranks(record):
    events = trace_events(record)["traceEvents"]

    names = of(events, "M")
    assert events[: len(names)] == names
    assert [n["args"]["name"] for n in names] == ["ranks", "rank 0", "rank 1", "rank 2", "rank 3"]
    times = [event["ts"] for event in events[len(names) :]]
    assert times == sorted(times)


def test_what_runs_in_the_background_has_a_thread_of_its_own():
    def overlapping(comm):
        request = comm.Iallreduce(np.ones(4), np.empty(4), algorithm="ring")
        comm.compute(100_000)
        request.wait()

    events = trace_events(run_ranks(2, overlapping).record)["traceEvents"]

    names = [event["args"]["name"] for event in of(events, "M")]
    assert names == ["ranks", "rank 0", "rank 1", "rank 0, in the background", "rank 1, in the background"]
    inside = {event["tid"] for event in of(events, "X") if event["name"] == "Sendrecv"}
    assert inside == {2, 3}


def test_the_wall_clock_is_another_view_of_the_same_calls(record):
    walls = trace_events(record, "wall")["traceEvents"]

    bars = of(walls, "X")
    assert len(bars) == len(record.calls)
    assert bars[0]["ts"] == record.calls[0].began * 1e6
    assert trace_events(record, "wall")["otherData"]["clock"] == "wall"
    assert trace_events(Record(2))["otherData"]["clock"] == "wall"


def test_a_failure_travels_along():
    record = run_ranks(2, lambda comm: comm.recv(source=1 - comm.rank)).record

    told = trace_events(record)

    assert "rank 0 waits in recv(source=1" in told["otherData"]["failure"]
    assert all(bar["args"].get("failed") for bar in of(told["traceEvents"], "X"))


@pytest.mark.parametrize("clock", ["cpu", "Virtual", 3])
def test_another_clock_is_refused(record, clock):
    with pytest.raises(jt.ArgumentError, match="a virtual and a wall clock"):
        trace_events(record, clock)


def test_a_record_comes_back_from_its_file_as_it_was(tmp_path, record):
    path = record.save(tmp_path / "run.json")

    assert Record.load(path) == record
    document = json.loads(path.read_text())
    assert document["displayTimeUnit"] == "ns"
    assert document["traceEvents"] == trace_events(record)["traceEvents"]


def test_a_record_with_faults_comes_back_too(tmp_path):
    record = run_ranks(3, program, faults=Faults(slow={1: 2.0}, lose={(0, 1): 1})).record

    assert Record.load(record.save(tmp_path / "run.json")) == record


@pytest.mark.parametrize("name", ["run.txt", "run", 3])
def test_a_file_that_is_no_json_is_refused(record, name):
    with pytest.raises(jt.ArgumentError, match=r"saved as \.json"):
        record.save(name)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"record": {"format": "other"}}', '{"record": 3}'])
def test_what_is_no_record_is_not_read(tmp_path, text):
    path = tmp_path / "run.json"
    path.write_text(text)

    with pytest.raises(jt.ArgumentError, match=r"record of ranks"):
        Record.load(path)


def test_a_record_of_another_version_is_not_read(record):
    with pytest.raises(jt.ArgumentError, match="version 1; found 99"):
        Record.from_dict({**record.as_dict(), "version": 99})
