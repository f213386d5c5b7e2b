"""RankView: it shows what was recorded, sliders give the times of another network, time runs, anyone can use it."""

import copy
import json
import re
import xml.etree.ElementTree as ET
from math import inf

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.lens import rank_timeline
from jt_edu.lens.scaling_curves import RANKS, curves
from jt_edu.mpi.algorithms import ALGORITHMS
from jt_edu.mpi.perf_model.model import predict
from jt_edu.mpi.perf_model.replay import Replay
from jt_edu.mpi.simulator.faults import Faults
from jt_edu.mpi.simulator.threads import run_ranks
from jt_edu.mpi.trace.network import Network
from jt_edu.mpi.trace.records import Call, Record
from jt_widgets.ranks import ranks
from tests.frontend import node
from tests.mpi.jobs import start, well
from tests.widgets.page import still
from tests.widgets.records import html_of

NETWORK = Network(latency=2500, overhead=1500, byte=6)
BUS = "globalThis[Symbol.for('jt_edu.bus')]"
TOLD = ".jt-ranks-told"
MOMENT = ".jt-ranks-bar output"
FLOW = ".jt-ranks-panels canvas"


def ring(comm):
    mine = np.full(1000, comm.rank, np.float32)
    comm.Allreduce(mine, np.empty_like(mine), algorithm="ring")


def tree(comm):
    comm.Bcast(np.zeros(1000, np.float32), root=0, algorithm="tree")


def late(comm):
    for _ in range(2):
        comm.compute(20_000)
        ring(comm)
    comm.barrier()


def stuck(comm):
    comm.compute(3000 * (comm.rank + 1))
    comm.allreduce(comm.rank)
    if comm.rank < 3:
        comm.recv(source=(comm.rank + 1) % 3, tag=7)
    else:
        comm.barrier()


def loses(comm):
    if comm.rank == 0:
        comm.send("for nobody", 1)
        comm.send("taken", 2)
    elif comm.rank == 2:
        comm.recv(source=0)


def record_of(program, size=4, **how):
    return run_ranks(size, program, **{"network": NETWORK, **how}).record


@pytest.fixture(scope="module")
def shown():
    """Views of some runs, made once."""
    runs = {
        "ring": record_of(ring),
        "tree": record_of(tree, 8),
        "late": record_of(late, faults=Faults(slow={2: 3.0})),
        "stuck": record_of(stuck),
        "loses": record_of(loses, 3, faults=Faults(lose={(0, 1): 1})),
        "alone": record_of(lambda comm: comm.allreduce(1), 1),
        "empty": Record(3),
        "real": real(),
    }
    return {name: ranks(record) for name, record in runs.items()}


def real():
    """As a real MPI records it: no virtual clock, and no steps."""
    times = [(0, 0.001, 0.004), (1, 0.002, 0.0041), (2, 0.0035, 0.0042)]
    calls = [
        Call(
            k,
            rank,
            "Allreduce",
            "Allreduce(op=SUM)",
            "lesson.py:3",
            sequence=0,
            group="world",
            bytes=8,
            began=b,
            ended=e,
        )
        for k, (rank, b, e) in enumerate(times)
    ]
    return Record(3, policy="mpi", calls=calls)


# times


def each_algorithm(kind, algorithm):
    """A program that goes through a collective by an algorithm, after unequal work."""

    def program(comm):
        comm.compute(700 * comm.rank)
        mine, room = np.arange(12.0), np.empty(12 * comm.size)
        call = {
            "barrier": lambda: comm.barrier(algorithm=algorithm),
            "bcast": lambda: comm.Bcast(mine, algorithm=algorithm),
            "scatter": lambda: comm.Scatter(room.copy(), mine, algorithm=algorithm),
            "gather": lambda: comm.Gather(mine, room, algorithm=algorithm),
            "allgather": lambda: comm.Allgather(mine, room, algorithm=algorithm),
            "alltoall": lambda: comm.Alltoall(room.copy(), room, algorithm=algorithm),
            "reduce": lambda: comm.Reduce(mine, room[:12], algorithm=algorithm),
            "allreduce": lambda: comm.Allreduce(mine, room[:12], algorithm=algorithm),
            "reduce_scatter": lambda: comm.Reduce_scatter_block(room * 0, mine, algorithm=algorithm),
            "scan": lambda: comm.Scan(mine, room[:12], algorithm=algorithm),
            "exscan": lambda: comm.Exscan(mine, room[:12], algorithm=algorithm),
        }
        call[kind]()

    return program


EVERY = sorted(ALGORITHMS) + [(kind, "native") for kind in sorted({kind for kind, _ in ALGORITHMS})]


@pytest.mark.parametrize("size", [1, 3, 4, 6])
def test_the_browser_works_out_the_times_of_every_algorithm_to_the_nanosecond(frontend, tmp_path, size):
    networks = [NETWORK, Network(latency=40, overhead=900, gap=11, byte=0.37), Network(1_000_000, 0, 0, 0)]
    cases = []
    for kind, algorithm in EVERY:
        runs = [record_of(each_algorithm(kind, algorithm), size, network=network) for network in networks]
        assert not runs[0].failure, (kind, algorithm, runs[0].failure)
        page = {"ranks": {**rank_timeline.section(runs[0]), "curves": []}}
        cases += [
            {"name": f"{kind} by {algorithm} on {network}", "page": page, "network": vars(network), "want": wanted(run)}
            for network, run in zip(networks, runs, strict=True)
        ]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases))

    done = node("test/replayed.mjs", str(path))

    assert done.returncode == 0, done.stdout
    assert done.stdout == ""


def wanted(record):
    found = {name: [getattr(call, name) for call in record.calls] for name in ("enter", "ready", "leave")}
    return found | {
        name: [getattr(message, name) for message in record.messages] for name in ("sent", "arrived", "taken", "done")
    }


# what is sent


def test_the_section_holds_what_the_record_holds(shown):
    record = shown["late"].record
    section = rank_timeline.section(record)

    texts = section["texts"]
    assert [texts[k] for k in section["calls"]["words"]] == [call.words for call in record.calls]
    assert section["messages"]["bytes"] == [message.bytes for message in record.messages]
    assert section["calls"]["leave"] == [call.leave for call in record.calls]
    assert len(section["order"]) == 3 * len(record.steps)
    assert len(texts) == len(set(texts))


def test_a_long_record_is_shown_from_its_beginning_and_says_so():
    record = record_of(late)

    shown = rank_timeline.beginning(record, 30)

    messages, calls = f"{len(shown.messages)} of {len(record.messages)}", f"30 of {len(record.calls)}"
    assert rank_timeline.notes(record, 30) == [f"Showing the first {messages} messages and {calls} calls."]
    assert [call.number for call in shown.calls] == list(range(30))
    assert all(message.taker < 30 and message.call < 30 for message in shown.messages)
    again = Replay(shown)
    assert [call.enter for call in again.calls] == [call.enter for call in record.calls[:30]]
    assert [m.arrived for m in again.messages] == [m.arrived for m in record.messages[: len(shown.messages)]]
    assert rank_timeline.notes(record) == []


def test_who_was_late_is_said_in_the_summary(shown):
    assert "Rank 2 came last to 2 of 3 collectives, where others waited up to 45.5 µs for it." in shown["late"].summary
    assert "last" not in shown["ring"].summary.split("; ")[1].replace("the last one ended", "")


def test_a_deadlock_is_said_in_the_summary(shown):
    assert "rank 0 waits for rank 1, rank 1 waits for rank 2, rank 2 waits for rank 0" in shown["stuck"].summary


@pytest.mark.parametrize("how", [("allreduce", 4000), ("bcast", 4000), ("barrier", 0), ("allgather", 96)])
def test_curves_are_the_closed_forms(how):
    kind, size = how
    call = {
        "allreduce": lambda comm: comm.Allreduce(np.zeros(size // 4, "f4"), np.empty(size // 4, "f4")),
        "bcast": lambda comm: comm.Bcast(np.zeros(size // 4, "f4")),
        "barrier": lambda comm: comm.barrier(),
        "allgather": lambda comm: comm.Allgather(np.zeros(size // 4, "f4"), np.empty(comm.size * size // 4, "f4")),
    }[kind]
    (found,) = curves([record_of(call, 4), record_of(call, 2)])

    assert (found["name"], found["bytes"]) == (kind, size)
    assert [one["size"] for one in found["measured"]] == [4, 2]
    for line in found["lines"]:
        for ranks_, trips, moved, *doors in line["points"]:
            told = trips * (NETWORK.latency + 2 * NETWORK.overhead) + moved * NETWORK.byte
            for many, behind in zip(doors[::2], doors[1::2], strict=True):
                told += many * max(NETWORK.overhead, NETWORK.gap + behind * NETWORK.byte)
            assert told == pytest.approx(predict(kind, line["name"], ranks_, size, NETWORK), rel=1e-3), line["name"]
        assert [point[0] for point in line["points"]] == list(RANKS)


def test_measured_points_of_smaller_runs_stand_beside_the_curves(page_of):
    view = ranks(record_of(ring), record_of(ring, 2), record_of(ring, 3))

    page = page_of(view)

    dots = page.locator(".jt-plot-dot[data-size]").evaluate_all(
        "all => all.map(one => [one.dataset.size, one.dataset.nanos])"
    )
    assert sorted((int(size), int(nanos)) for size, nanos in dots) == [
        (size, record_of(ring, size).duration) for size in (2, 3, 4)
    ]


@pytest.mark.parametrize("what", [None, 3, {"calls": []}, "run.json"])
def test_what_is_no_record_is_refused(what):
    with pytest.raises(jt.ArgumentError, match=r"ranks shows a record of ranks; found .*ranks\(run_ranks"):
        ranks(what)


def test_the_text_form_says_who_was_late(shown):
    said = repr(shown["late"])

    assert said.count("Allreduce(") == 2
    assert "rank 2 last, 40 µs later" in said
    assert len(re.findall(r"^ +\d ", said, re.MULTILINE)) == 4


@pytest.mark.parametrize("name", ["ring", "tree", "late", "stuck", "alone", "empty", "real"])
def test_the_picture_has_a_lane_for_each_rank_and_three_patterns(shown, name):
    svg = shown[name].picture_svg()
    found = ET.fromstring(svg)  # noqa: S314  it is ours

    words = ["".join(text.itertext()) for text in found.iter("{http://www.w3.org/2000/svg}text")]
    stuck = rank_timeline.circle_of(shown[name].record)
    named = [f"✕ rank {k}" if k in stuck else f"rank {k}" for k in range(shown[name].record.size)]
    assert [w for w in words if "rank " in w and "," not in w] == named
    assert {"jt-lanes-wait", "jt-lanes-transfer"} <= {one.get("id") for one in found.iter() if one.get("id")}
    assert svg.count('<path class="arrow"') == len(shown[name].record.messages)


def test_a_picture_of_many_ranks_says_what_it_leaves_out():
    svg = ranks(record_of(lambda comm: comm.barrier(algorithm="dissemination"), 64)).picture_svg()

    assert "showing 16 of 64 ranks" in svg
    assert svg.count("rank 15") > 0
    assert "rank 16 " not in svg


# in a browser


def rows(page):
    page.keyboard.press("t")
    return page.locator(".jt-table tbody tr").evaluate_all(
        "all => all.map(row => [...row.cells].map(cell => cell.innerText))"
    )


def focused(page):
    page.locator(".jt-body").focus()
    return page


def moment(page):
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.locator(MOMENT).inner_text()


def test_the_table_holds_what_was_recorded(page_of, shown):
    record = shown["late"].record

    found = rows(focused(page_of(shown["late"])))

    calls = [call for call in record.calls if call.parent < 0]
    assert [row[0] for row in found] == [call.words for call in calls] + ["message"] * len(record.messages)
    assert [int(row[1]) for row in found] == [c.rank for c in calls] + [m.source for m in record.messages]
    sent = [(int(row[2]), row[3].replace(",", "")) for row in found[len(calls) :]]
    assert sent == [(m.dest, str(m.bytes)) for m in record.messages]


PIXELS = """([spots]) => {
    const canvas = document.querySelector(".jt-ranks-stage canvas");
    const scale = canvas.width / canvas.clientWidth, pen = canvas.getContext("2d");
    return spots.map(([x, y, wide]) => {
        const data = pen.getImageData(Math.round(x * scale), Math.round(y * scale), Math.max(1, wide), 6).data;
        const seen = new Set();
        for (let k = 0; k < data.length; k += 4) seen.add(`${data[k]},${data[k + 1]},${data[k + 2]}`);
        return [...seen];
    });
}"""


def test_each_kind_of_time_has_its_own_pattern_where_it_was_recorded(page_of, shown):
    page = page_of(shown["late"], hash='level="calls"', forgive="willReadFrequently")
    still(page)
    width = page.locator(".jt-ranks-stage canvas").evaluate("one => one.clientWidth")
    first = next(call for call in shown["late"].record.calls if call.parent < 0)
    unit = (width - 76 - 14) / (shown["late"].record.duration * 1.015)
    at = lambda time, rank: [76 + time * unit, 26 + 56 * (rank + 0.5) - 3, 12]  # noqa: E731  as stage.js has them

    computes, waits, moves = page.evaluate(PIXELS, [[at(8000, 0), at(30_000, 0), at(70_000, 0)]])

    assert first.enter == 20_000
    assert len(computes) == 1
    assert len(waits) > 2
    assert len(moves) > 2
    assert not set(waits) & set(computes)
    assert not set(waits) & set(moves) - set(page.evaluate(PIXELS, [[at(0, 3.45)]])[0])


def test_the_rank_that_came_last_is_named_with_the_wait_of_each(page_of, shown):
    page = page_of(shown["late"])

    found = page.locator(".jt-ranks-late li").evaluate_all(
        "all => all.map(one => [Number(one.dataset.rank), Number(one.dataset.wait), one.className])"
    )

    longest = max(rank_timeline.arrivals(shown["late"].record)[:2], key=lambda one: one.wait)
    waits = {rank: longest.times[-1] - time for rank, time in zip(longest.ranks, longest.times, strict=True)}
    assert {rank: wait for rank, wait, _ in found} == waits
    assert [rank for rank, _, look in found if look == "jt-ranks-last"] == [2]


@pytest.mark.parametrize(("key", "field"), [("latency", "latency"), ("overhead", "overhead"), ("byte", "byte")])
def test_a_slider_gives_the_time_of_that_network(page_of, shown, key, field):
    page = page_of(shown["late"])
    slider = page.locator(f"input[data-key={key}]")
    before = page.locator(TOLD).inner_text()

    slider.fill("310")
    page.wait_for_function("before => document.querySelector('.jt-ranks-told').innerText !== before", arg=before)

    words = slider.get_attribute("aria-valuetext")
    number, unit = words.split()
    value = float(number) * {"ns": 1, "µs": 1e3, "ms": 1e6, "ns/B": 1}[unit]
    network = Network(**{**vars(NETWORK), field: round(value) if key != "byte" else value})
    wanted = Replay(shown["late"].record, network).duration
    assert page.locator(TOLD).inner_text().startswith(f"{rank_timeline.nanos_text(wanted)} instead of ")
    slider.press("n")
    page.wait_for_function("before => document.querySelector('.jt-ranks-told').innerText === before", arg=before)


def test_time_runs_and_links_count_what_was_recorded(page_of, shown):
    record = shown["ring"].record
    page = focused(page_of(shown["ring"]))
    links = lambda: page.locator(FLOW).get_attribute("aria-label")  # noqa: E731
    assert links().count("0 B of 6 kB") == 4

    page.keyboard.press(".")
    page.keyboard.press("Space")
    page.wait_for_function("() => /at [2-9][0-9].* µs/.test(document.querySelector('.jt-ranks-bar output').innerText)")
    page.keyboard.press("Space")
    still(page)

    number, unit = moment(page).split()[1:]
    now = float(number) * {"ns": 1, "µs": 1e3}[unit]
    assert 20_000 < now < record.duration
    for rank in range(4):
        arrived = sum(m.bytes for m in record.messages if m.source == rank and m.arrived <= now)
        assert f"{rank} to {(rank + 1) % 4}: {arrived // 1000} kB of 6 kB" in links().replace("0 B", "0 kB")


def test_it_stops_at_the_end(page_of, shown):
    page = focused(page_of(shown["ring"]))
    for _ in range(2):
        page.keyboard.press(".")

    page.keyboard.press("Space")
    page.get_by_text("Pause").wait_for()
    page.get_by_text("Play").wait_for()

    assert moment(page) == "at 68.96 µs"


def test_who_wants_no_motion_is_led_from_event_to_event(page_of, shown):
    page = focused(page_of(shown["ring"], reduced_motion="reduce"))
    page.evaluate("""() => {
        window.seen = new Set();
        const look = () => { window.seen.add(document.querySelector(".jt-ranks-bar output").innerText); };
        new MutationObserver(look).observe(document.querySelector(".jt-ranks-bar output"), {childList: true});
    }""")

    for _ in range(2):
        page.keyboard.press(".")
    page.keyboard.press("Space")
    page.wait_for_function("() => window.seen.size >= 3")
    page.keyboard.press("Space")

    times = {t for m in shown["ring"].record.messages for t in (m.sent, m.done)} | {0, shown["ring"].record.duration}
    assert page.evaluate("() => [...window.seen]") and set(page.evaluate("() => [...window.seen]")) <= {
        f"at {rank_timeline.nanos_text(time)}" for time in times
    }


def test_arrows_walk_along_the_events(page_of, shown):
    record = shown["ring"].record
    page = focused(page_of(shown["ring"]))
    page.keyboard.press("End")
    assert moment(page) == "at 68.96 µs"
    page.keyboard.press("Home")
    times = sorted([m.sent for m in record.messages] + [m.done for m in record.messages])

    for _ in range(4 + 4 + 1):  # four calls begin, four messages are sent
        page.keyboard.press("ArrowRight")

    still(page)
    assert moment(page) == f"at {rank_timeline.nanos_text(times[4])}"
    assert page.locator(".jt-ranks-name").inner_text().startswith("Message")
    page.keyboard.press("ArrowLeft")
    still(page)
    assert moment(page) == "at 0 ns"


def test_a_message_tells_its_bytes_its_line_and_its_times(page_of, shown):
    record = shown["ring"].record
    page = focused(page_of(shown["ring"]))
    page.keyboard.press("Home")
    for _ in range(2):  # its call begins, and the message is sent
        page.keyboard.press("ArrowRight")

    told = page.locator(".jt-ranks-panels").first.inner_text()
    first = next(m for m in record.messages if m.source == 0)
    assert "1 kB, rank 0 → rank 1" in told
    assert rank_timeline.nanos_text(first.arrived) in told
    assert "test_ranks.py" in told
    assert "1,000 bytes, the piece of rank 0 itself" in told


def test_a_collective_opens_into_its_messages(page_of, shown):
    page = focused(page_of(shown["ring"], hash='level="calls"'))
    pressed = lambda: page.locator("button[aria-pressed=true]").all_inner_texts()  # noqa: E731
    assert pressed() == ["Calls", "Virtual"]

    page.keyboard.press("Enter")

    assert pressed() == ["Messages", "Virtual"]
    page.keyboard.press("m")
    page.keyboard.press("w")
    assert pressed() == ["Calls", "Wall"]


def test_a_deadlock_shows_its_circle_and_its_words(page_of, shown):
    page = page_of(shown["stuck"])

    assert page.locator("path.jt-ranks-circle").count() == 3
    assert page.locator("path.jt-ranks-wait").count() == 6
    assert page.locator("g.jt-ranks-circle text").all_text_contents() == ["0", "1", "2"]
    said = page.locator(".jt-ranks-failure").inner_text()
    assert "rank 1 waits in recv(source=2, tag=7)" in said
    assert said == shown["stuck"].record.failure


def test_a_failure_is_not_broken_within_words_where_the_page_breaks_every_pre(shown, page_of):
    page = page_of(shown["stuck"])

    page.add_style_tag(content="div pre { word-break: break-all }")  # as JupyterLab says of its outputs

    assert page.locator(".jt-ranks-failure").evaluate("e => getComputedStyle(e).wordBreak") == "normal"


def test_a_lost_message_is_said_to_be_lost(page_of, shown):
    page = focused(page_of(shown["loses"]))

    found = [row for row in rows(page) if row[0].startswith("message")]

    assert [(row[0], row[5] == "nobody took it") for row in found] == [("message, lost", True), ("message", False)]


def test_a_selection_is_heard_and_told(page_of, shown):
    page = focused(page_of(shown["ring"]))
    page.evaluate(f"""() => {BUS}.addEventListener("select:", event => window.heard = event.detail)""")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    heard = page.evaluate("() => window.heard")
    assert (heard["rank"], heard["time"], heard["nodes"]) == (0, 0, [])

    page.evaluate(f"""() => {BUS}.dispatchEvent(Object.assign(new Event("select:"), {{detail:
        {{nodes: [], kernel: null, line: null, rank: 3, time: 11500, from: "elsewhere"}}}}))""")
    still(page)

    assert moment(page) == "at 11.5 µs"


def test_a_click_on_a_bar_chooses_its_call(page_of, shown):
    page = page_of(shown["late"], hash='level="calls"')
    box = page.locator(".jt-ranks-stage canvas").bounding_box()

    page.mouse.click(box["x"] + 76 + (box["width"] - 90) * 0.22, box["y"] + 26 + 56 * 3.5)

    assert page.locator(".jt-ranks-name").inner_text().startswith("rank 3: Allreduce(")


LOOKS = [{}, {"color_scheme": "dark"}, {"forced_colors": "active"}, {"viewport": {"width": 560, "height": 700}}]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize(("name", "keys"), [("ring", []), ("late", ["m"]), ("stuck", []), ("tree", ["t"])])
def test_anyone_can_use_it(page_of, shown, axe, geometry, look, name, keys):
    page = focused(page_of(shown[name], **look))
    for key in keys:
        page.keyboard.press(key)

    assert axe(page) == []
    assert geometry(page) == []


@pytest.mark.parametrize("name", ["alone", "empty", "real", "loses"])
@pytest.mark.parametrize("level", ["calls", "messages"])
def test_odd_records_are_drawn(page_of, shown, axe, name, level):
    page = focused(page_of(shown[name], hash=f'level="{level}"'))

    for key in ("ArrowRight", "ArrowDown", "Enter", "+", "f", "w", "Space", "Space"):
        page.keyboard.press(key)

    assert page.get_by_role("alert").count() == 0
    assert axe(page) == []


def test_a_real_run_has_one_clock_and_no_sliders(page_of, shown):
    page = page_of(shown["real"])

    assert page.locator("input[type=range]").count() == 0
    assert page.get_by_role("button", name="Virtual").count() == 0
    assert page.locator(".jt-ranks-late li").evaluate_all("all => all.map(one => Number(one.dataset.wait))") == [
        2_500_000, 1_500_000, 0,
    ]  # fmt: skip
    assert "no virtual clock" in page.locator(".jt-notes").inner_text()


REAL = """
import time
from jt_edu.mpi.mpirun_jobs.report import began
before = time.monotonic_ns()
comm.barrier()
report(began(), before, time.monotonic_ns())
states = comm.journal.board.states
while rank == 2 and not all(state.said.startswith("Allreduce") for state in states()[:2]):
    pass
time.sleep(0.6 if rank == 2 else 0)  # the longest wait by far, however busy the machine is
comm.Allreduce(np.ones(1000), np.ones(1000), algorithm="ring")
comm.barrier()
if rank == 0:
    time.sleep(0.2)
    comm.Send(np.ones(1000), 1, tag=5)
elif rank == 1:
    comm.Recv(np.ones(1000), 0)
comm.barrier()
"""


@pytest.fixture(scope="module")
def job():
    found = start(REAL, 3)
    well(found)
    return found


@pytest.mark.mpi
def test_times_of_real_ranks_are_those_of_one_clock(job):
    calls, messages = job.record.calls, job.record.messages

    for number in {call.meeting for call in calls if call.meeting >= 0}:
        met = [call for call in calls if call.meeting == number]
        assert len(met) == 3
        assert min(call.leave for call in met) >= max(call.enter for call in met), "nobody leaves before all have come"
    for m in messages:
        assert calls[m.call].enter <= m.sent <= m.done
        assert calls[m.taker].enter <= m.taken <= m.done <= job.record.duration
    zero = min(began for began, _, _ in job.results)  # where the first program began, and time is counted from
    for call in (call for call in calls if call.name == "barrier" and call.meeting == 0):
        _, before, after = job.results[call.rank]
        assert before <= zero + call.enter <= zero + call.leave <= after
    late = {call.rank: call.enter for call in calls if call.name == "Allreduce"}
    assert late[2] - max(late[0], late[1]) > 0.1e9


@pytest.mark.mpi
def test_a_job_of_real_ranks_is_drawn_with_its_bars_ticks_and_arrows(page_of, job, axe, geometry):
    view = ranks(job.record)
    page = focused(page_of(view, hash='level="calls"', forgive="willReadFrequently"))
    still(page)
    width = page.locator(".jt-ranks-stage canvas").evaluate("one => one.clientWidth")
    unit = (width - 76 - 14) / (job.record.duration * 1.015)
    come = {call.rank: call.enter for call in job.record.calls if call.name == "Allreduce"}
    first, last = max(come[0], come[1]), come[2]
    message = next(m for m in job.record.messages if m.tag == 5)
    under_way = (message.done - message.sent) * unit  # on a busy machine long, and the arrow flat
    where = lambda time, lane, more=0: [76 + time * unit - 6, 26 + 56 * lane, round(12 + more)]  # noqa: E731

    computes, waits, arrow, nothing = page.evaluate(
        PIXELS, [[
            where((first + last) / 2, 2.45), where((first + last) / 2, 0.45),
            where(message.sent, 0.9, under_way), where(message.sent - 0.1e9, 0.9),
        ]],
    )  # fmt: skip

    assert len(computes) == 1 and len(waits) > 2
    assert len(set(arrow) - set(nothing)) > 2
    found = page.locator(".jt-ranks-late li").evaluate_all(
        "all => all.map(one => [Number(one.dataset.rank), Number(one.dataset.wait) / 1e9])"
    )
    longest = max(rank_timeline.arrivals(job.record), key=lambda one: one.wait)
    assert [rank for rank, wait in found if wait == 0] == [longest.ranks[-1]]
    assert max(wait for _, wait in found) == pytest.approx(longest.wait / 1e9, abs=1e-5)
    assert page.get_by_text("Predicted time").count() == 0, "there is no network to predict it from"
    told = [row for row in rows(page) if row[0] == "message"]
    assert len(told) == len(job.record.messages) and ["0", "1", "8,000"] in [row[1:4] for row in told]
    assert axe(page) == [] and geometry(page) == []


@pytest.mark.mpi
def test_a_deadlock_of_real_ranks_shows_who_waits_for_whom(page_of):
    job = start("comm.allreduce(rank)\ncomm.recv(source=(rank + 1) % size, tag=7)", 3)

    page = page_of(ranks(job.record))

    assert page.locator("g.jt-ranks-circle text").all_text_contents() == ["0", "1", "2"]
    assert "rank 1 waits in recv(source=2, tag=7)" in page.locator(".jt-ranks-failure").inner_text()
    stuck = [call for call in job.record.calls if call.name == "recv"]
    assert [type(error).__name__ for error in job.errors] == ["DeadlockError"] * 3
    assert {call.rank for call in stuck} == {0, 1, 2}
    assert all(call.failed == "DeadlockError" and call.leave - call.enter > 1e9 for call in stuck)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r.update(size=10**9), "damaged: it has 1000000000 ranks"),
        (lambda r: r["calls"].update(enter=[]), "do not fit together"),
        (lambda r: r["messages"]["dest"].__setitem__(0, -1), "damaged: dest is -1"),
        (lambda r: r.update(order=[4, 0, 10**6]), "leads nowhere"),
        (lambda r: r.update(texts="<img src=x onerror=alert(1)>"), "should be a list"),
        (lambda r: r.update(waits=[{"rank": "0"}]), "damaged"),
        (lambda r: r.clear(), "damaged"),
    ],
)
def test_a_hostile_page_gives_one_clear_sentence(page_of, shown, change, said):
    page = copy.deepcopy(shown["ring"].recording.page)
    change(page["ranks"])

    opened = page_of(html_of(page, b"", "ranks"))

    assert said in opened.get_by_role("alert").inner_text()


def test_words_of_strangers_stay_words(page_of, shown):
    page = copy.deepcopy(shown["stuck"].recording.page)
    page["ranks"]["texts"] = ["<img src=x onerror=alert(1)>"] * len(page["ranks"]["texts"])
    page["ranks"]["failure"] = "<script>alert(1)</script>"

    opened = page_of(html_of(page, b"", "ranks"))

    assert opened.locator(".jt-view img, .jt-view script").count() == 0
    assert opened.locator(".jt-ranks-failure").inner_text() == "<script>alert(1)</script>"


FRAMES = """async keys => {
    const root = document.querySelector(".jt-body"), took = [];
    const frame = () => new Promise(done => requestAnimationFrame(done));
    const press = ([key, shiftKey]) =>
        root.dispatchEvent(new KeyboardEvent("keydown", {key, shiftKey, bubbles: true}));
    for (let n = 0; n < 60; n++) {
        if (keys.length) press(keys[n % keys.length]);
        await frame();
        await frame();
        took.push(Number(root.dataset.frame));
    }
    return took.sort((a, b) => a - b)[15]; // the lower quartile: another program on the machine only makes it longer
}"""


TRIES = 4  # what else runs on the machine makes a frame longer, and none shorter


@pytest.fixture(scope="module")
def large():
    """64 ranks, 10,048 messages."""

    def program(comm):
        out, into = np.zeros(16, np.float32), np.empty(16, np.float32)
        for k in range(157):
            comm.compute(200 * ((comm.rank * 13 + k) % 7))
            away = 1 << (k % 6)
            comm.Sendrecv(out, (comm.rank + away) % 64, 0, into, (comm.rank - away) % 64, 0)
            if k % 20 == 19:
                comm.barrier()

    return ranks(record_of(program, 64, network=Network()))


@pytest.mark.parametrize("level", ["calls", "messages"])
def test_64_ranks_with_10_000_messages_stay_above_30_frames_a_second(page_of, large, record_property, level):
    assert len(large.record.messages) >= 10_000
    page = focused(page_of(large, hash=f'level="{level}"'))
    motions = {
        "zooming": [("+", False)] * 8 + [("-", False)] * 8,
        "scrolling": [("+", False)] * 3 + [("ArrowRight", True)] * 57,
    }

    found = {}
    for name, keys in motions.items():
        for _ in range(TRIES):
            found[name] = min(page.evaluate(FRAMES, keys), found.get(name, inf))
            page.keyboard.press("f")
            if found[name] < 33:
                break
    page.keyboard.press("Space")
    found["playing"] = page.evaluate(FRAMES, [])

    said = ", ".join(f"{name} {ms:.1f} ms" for name, ms in found.items())
    record_property(
        "house", f"64 ranks, 10,048 messages, {level}: script of a frame, lower quartile: {said}; 33 ms are allowed"
    )
    assert max(found.values()) < 33, said


def test_of_many_arrows_some_are_drawn_and_it_says_how_many(page_of, large):
    page = page_of(large, hash='level="messages"')
    still(page)

    assert re.search(r"[\d,]+ of 10,048 arrows in sight: zoom in", page.locator(".jt-body").inner_text())
