"""What the importers of Perfetto and chrome://tracing ask of trace events, where the format says less.

bars     have a length; those of one thread lie inside of each other or apart
arrows   have both ends, in this order, with one id, category and name; each end lies in a bar that is not yet over,
         or it is tied to the next one; a finish binds to the bar around it only with "bp": "e"
names    of the process and of each thread come as metadata
times    are microseconds that do not go back
"""

from collections import defaultdict


def complaints(events):
    """What an importer would drop, mend or draw wrong, as texts; [] if nothing."""
    timed = [event for event in events if event["ph"] != "M"]
    bars = defaultdict(list)
    for event in timed:
        if event["ph"] == "X":
            bars[event["pid"], event["tid"]].append((*ends(event), event["name"]))
    return [*of_names(events, timed), *of_times(timed), *of_bars(bars), *of_arrows(timed, bars)]


def ends(bar):
    """Both ends in whole ns, which floats of microseconds tell apart."""
    return round(bar["ts"] * 1e3), round((bar["ts"] + bar["dur"]) * 1e3)


def of_names(events, timed):
    named = {(e["name"], e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["args"].get("name")}
    for pid, tid in sorted({(event["pid"], event["tid"]) for event in timed}):
        if ("thread_name", pid, tid) not in named:
            yield f"thread {tid} has no name"
        if not any(name == "process_name" and process == pid for name, process, _ in named):
            yield f"process {pid} has no name"


def of_times(timed):
    times = [event["ts"] for event in timed]
    if times != sorted(times):
        yield "times go back"
    if any(not isinstance(time, (int, float)) or not 0 <= time < 1e15 for time in times):
        yield "a time is none"


def of_bars(bars):
    for (_, thread), found in bars.items():
        open_bars = []
        for begin, end, name in found:
            if end <= begin:
                yield f"{name} on thread {thread} has no length"
            while open_bars and open_bars[-1] <= begin:
                open_bars.pop()
            if open_bars and end > open_bars[-1]:
                yield f"{name} on thread {thread} crosses another bar"
            open_bars.append(end)


def of_arrows(timed, bars):
    arrows = defaultdict(list)
    for event in timed:
        if event["ph"] in ("s", "t", "f"):
            arrows[event["id"], event["cat"], event["name"]].append(event["ph"])
            time = round(event["ts"] * 1e3)
            if not any(begin <= time < end for begin, end, _ in bars[event["pid"], event["tid"]]):
                yield f"arrow {event['id']} hangs in the air"
            if event["ph"] == "f" and event.get("bp") != "e":
                yield f"arrow {event['id']} ends at the next bar"
    for (number, *_), found in arrows.items():
        if found != ["s", "f"]:
            yield f"arrow {number} consists of {found}"
