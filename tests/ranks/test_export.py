"""A record as trace events: bars and arrows that a viewer can draw, and the way back to the record."""

import json

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.mpi.simulator.faults import Faults
from jt_edu.mpi.simulator.threads import run_ranks
from jt_edu.mpi.trace.export import trace_events
from jt_edu.mpi.trace.network import Network
from jt_edu.mpi.trace.records import Call, Record, Sent
from tests.ranks.importer import complaints


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


def told(names):
    return [event["args"]["name"] for event in names if event["name"].endswith("_name")]


def test_every_call_and_piece_of_work_is_a_bar(record):
    events = trace_events(record)["traceEvents"]

    bars = of(events, "X")
    assert len(bars) == len(record.calls) + len(record.work)
    assert all({"name", "pid", "tid", "ts", "dur", "args"} <= set(bar) and bar["dur"] >= 0 for bar in bars)
    assert {bar["tid"] for bar in bars} == {0, 1, 2, 3}
    first = next(bar for bar in bars if bar["cat"] == "call")
    call = record.calls[0]
    assert (first["ts"], first["dur"]) == (call.enter / 1e3, (call.leave - call.enter) / 1e3) != (0, 0)
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
            assert (end["args"]["bytes"], end["args"]["tag"]) == (message.bytes, message.tag)
        assert starts[message.number]["ts"] == pytest.approx(message.sent / 1e3, abs=2e-3)
        assert ends[message.number]["ts"] == pytest.approx(message.done / 1e3, abs=2e-3)


def test_events_are_in_the_order_of_time_behind_the_names_of_the_ranks(record):
    events = trace_events(record)["traceEvents"]

    names = of(events, "M")
    assert events[: len(names)] == names
    assert told(names) == ["ranks", "rank 0", "rank 1", "rank 2", "rank 3"]
    assert [n["args"]["sort_index"] for n in names if n["name"] == "thread_sort_index"] == [0, 1, 2, 3]
    times = [event["ts"] for event in events[len(names) :]]
    assert times == sorted(times)


def test_what_runs_in_the_background_has_a_thread_of_its_own():
    def overlapping(comm):
        request = comm.Iallreduce(np.ones(4), np.empty(4), algorithm="ring")
        comm.compute(100_000)
        request.wait()

    events = trace_events(run_ranks(2, overlapping).record)["traceEvents"]

    names = told(of(events, "M"))
    assert names == ["ranks", "rank 0", "rank 1", "rank 0, in the background", "rank 1, in the background"]
    inside = {event["tid"] for event in of(events, "X") if event["name"] == "Sendrecv"}
    assert inside == {2, 3}


def test_the_wall_clock_is_another_view_of_the_same_calls(record):
    walls = trace_events(record, "wall")["traceEvents"]

    bars = of(walls, "X")
    assert len(bars) == len(record.calls)
    first = min(call.began for call in record.calls)
    assert bars[0]["ts"] == pytest.approx(first * 1e6, abs=1e-3)
    assert trace_events(record, "wall")["otherData"]["clock"] == "wall"
    assert trace_events(Record(2))["otherData"]["clock"] == "wall"


def test_a_failure_travels_along():
    record = run_ranks(2, lambda comm: comm.recv(source=1 - comm.rank)).record

    document = trace_events(record)

    assert "rank 0 waits in recv(source=1" in document["otherData"]["failure"]
    assert all(bar["args"].get("failed") for bar in of(document["traceEvents"], "X"))


# what viewers ask for


def in_the_background(comm):
    request = comm.Iallreduce(np.ones(4), np.empty(4), algorithm="ring")
    comm.compute(100_000)
    request.wait()


def received_by_a_test(comm):
    """Between two calls: there is no bar around it."""
    if comm.rank == 0:
        request = comm.irecv(source=1)
        while not request.test()[0]:
            comm.compute(500)
    elif comm.rank == 1:
        comm.compute(20_000)
        comm.send("x", 0)


def received_by_a_wait(comm):
    if comm.rank == 0:
        request = comm.irecv(source=1)
        comm.compute(50_000)
        request.wait()
    elif comm.rank == 1:
        comm.compute(20_000)
        comm.send("x", 0)


def every_way(comm):
    for algorithm in ("naive", "tree", "ring", "doubling"):
        comm.Allreduce(np.ones(9), np.empty(9), algorithm=algorithm)


def stands_still(comm):
    comm.recv(source=(comm.rank + 1) % comm.size)


PROGRAMS = [program, in_the_background, received_by_a_test, received_by_a_wait, every_way, stands_still]


@pytest.mark.parametrize("clock", ["virtual", "wall"])
@pytest.mark.parametrize(
    "network", [Network(), Network(0, 0, 0, 0), Network(2500, 1500, 6)], ids=["usual", "free", "slow"]
)
@pytest.mark.parametrize("program", PROGRAMS, ids=[p.__name__ for p in PROGRAMS])
def test_viewers_have_nothing_to_complain_about(program, network, clock):
    events = trace_events(run_ranks(4, program, network=network).record, clock)["traceEvents"]

    assert complaints(events) == []
    assert program is stands_still or len(of(events, "s")) > 0


def test_what_a_real_rank_does_in_the_background_has_a_thread_of_its_own_too():
    """A real MPI has no tasks: its calls say it, which go on when the one they belong to is over."""
    times = [("Allreduce", 0, 10, -1), ("Isend", 20, 25, 0), ("compare", 22, 60, -1), ("Isend", 65, 70, 0)]
    both = [(rank, *row[:3], row[3] + 4 * rank if row[3] >= 0 else -1) for rank in (0, 1) for row in times]
    calls = [
        Call(k, rank, name, f"{name}()", "a.py:1", enter=b, leave=e, began=b / 1e9, ended=e / 1e9, parent=parent)
        for k, (rank, name, b, e, parent) in enumerate(both)
    ]

    events = trace_events(Record(2, "mpi", calls=calls))["traceEvents"]

    assert complaints(events) == []
    threads = [bar["tid"] for bar in of(events, "X")]
    assert sorted(threads) == [0, 0, 1, 1, 2, 2, 6, 6]  # 6: of the call with the number 4, behind 2 ranks
    assert told(of(events, "M"))[3:] == ["rank 0, in the background", "rank 1, in the background"]


def test_arrows_of_real_ranks_have_the_times_of_their_messages():
    calls = [
        Call(0, 0, "Isend", "Isend(dest=1)", "a.py:1", enter=0, leave=900, began=0.0, ended=9e-7),
        Call(1, 1, "Irecv", "Irecv(source=0)", "a.py:2", enter=0, leave=100, began=0.0, ended=1e-7),
        Call(2, 1, "wait", "wait(Irecv(source=0))", "a.py:3", enter=100, leave=5000, began=1e-7, ended=5e-6),
    ]
    message = Sent(0, 0, 1, 0, 8, sent=700, arrived=4000, taken=100, done=4000, call=0, taker=1)

    start, end = of(trace_events(Record(2, "mpi", calls=calls, messages=[message]))["traceEvents"], "s", "f")

    assert (start["ts"], end["ts"]) == (0.7, 4.0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda e: e.remove(of(e, "f")[0]), "consists of ['s']"),
        (lambda e: of(e, "f")[0].update(id=99), "arrow 99 consists of ['f']"),
        (lambda e: of(e, "f")[0].update(cat="call"), "consists of ['f']"),
        (lambda e: of(e, "s")[0].update(name="other"), "consists of ['s']"),
        (lambda e: of(e, "f")[0].pop("bp"), "ends at the next bar"),
        (lambda e: of(e, "f")[0].update(tid=77), "hangs in the air"),
        (lambda e: [b.update(dur=b["dur"] / 1e3) for b in of(e, "X")], "hangs in the air"),
        (lambda e: of(e, "X")[0].update(dur=0.0), "has no length"),
        (lambda e: next(b for b in of(e, "X") if b["name"] == "allreduce").update(dur=5.0), "crosses another bar"),
        (lambda e: e.remove(of(e, "M")[0]), "process 1 has no name"),
        (lambda e: [e.remove(m) for m in of(e, "M") if m["tid"] == 2], "thread 2 has no name"),
        (lambda e: e.reverse(), "times go back"),
    ],
)  # fmt: skip
def test_a_document_that_viewers_would_draw_wrong_is_found_out(record, change, said):
    events = trace_events(record)["traceEvents"]
    assert complaints(events) == []

    change(events)

    assert any(said in complaint for complaint in complaints(events)), complaints(events)


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
