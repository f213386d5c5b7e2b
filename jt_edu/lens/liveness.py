"""Liveness: which arrays are in memory while a graph runs, from when until when, and who keeps each of them alive?

    bytes ^        +---------+          A rectangle for each array: it is made by one kernel, and given back after the
          |  +-----| #7      |----+     last one that reads it. Rectangles are stacked where there is room (first fit),
          |  | #3  +---------+ #9 |     so how high one lies means nothing; how many bytes are alive at once does.
          +--+---------------+----+--> kernels

`lifetimes` reads the records of a run as plain data, from a page or from a trace, and computes nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

STRONGEST = ("wanted", "held", "stays", "saved", "read", "unread")  # who keeps an array alive, the longest first

Row = dict[str, Any]


def lifetimes_of_page(page: Mapping[str, Any]) -> Row:
    """The lifetimes of what a recording ran."""
    nodes = {row["id"]: row for row in page["graph"]["nodes"]}
    found = lifetimes(page["memory"], page["kernels"], nodes, set(page["graph"]["outputs"]))
    return found | {"predicted_peak": page["predicted_peak"]}


def lifetimes(
    memory: Sequence[Row], kernels: Sequence[Row], nodes: Mapping[int, Row], wanted: set[int]
) -> Row:  # fmt: skip
    """Rectangles, bytes alive during each kernel, and the peak.

    Args:
        memory: records "allocate" and "free" in order, each with node, bytes, bytes alive then, and kernel.
        kernels: name, and the nodes that each kernel reads and computes.
        nodes: what is known of a node, by its id: op, name, shape, dtype, where, whether it is held or of a gradient.
        wanted: nodes that the run was for.

    Example:
        >>> moves = [("allocate", 1, 8, 8, 0), ("allocate", 2, 4, 12, 1), ("free", 1, 8, 4, 1)]
        >>> memory = [dict(zip(("action", "node", "bytes", "alive", "kernel"), m, strict=True)) for m in moves]
        >>> kernels = [{"name": "exp", "reads": [], "nodes": [1]}, {"name": "sum", "reads": [1], "nodes": [2]}]
        >>> found = lifetimes(memory, kernels, {}, {2})
        >>> [(r["node"], r["from"], r["to"], r["offset"], r["keepers"][0]["why"]) for r in found["arrays"]]
        [(1, 0, 1, 0, 'read'), (2, 1, 1, 8, 'wanted')]
        >>> found["alive"], found["peak"], found["peak_kernel"]
        ([8, 12], 12, 1)
    """
    runs = _runs(memory)
    readers, cones = _readers(kernels, nodes), _cones(kernels, nodes)
    arrays = [one for run in runs for one in _arrays(run, len(kernels), runs)]
    for one in arrays:
        one["reads"] = [k for k in readers.get(one["node"], ()) if one["from"] < k <= one["to"]]
        one["keepers"] = _keepers(one, kernels, cones, nodes, wanted)
        one["why"] = min((keeper["why"] for keeper in one["keepers"]), key=STRONGEST.index)
    height = _stack(arrays)
    alive = _alive(memory, len(kernels))
    peak = max(range(len(alive)), key=alive.__getitem__, default=0)
    return {
        "arrays": arrays,
        "alive": alive,
        "peak": max(alive, default=0),
        "peak_kernel": peak,
        "height": height,
        "starts": [run[0]["kernel"] for run in runs],
    }


def _runs(memory: Sequence[Row]) -> list[list[Row]]:
    """A trace may hold several runs, each of which begins with nothing alive."""
    runs: list[list[Row]] = []
    before = 0
    for move in memory:
        change = move["bytes"] if move["action"] == "allocate" else -move["bytes"]
        if not runs or move["alive"] != before + change:
            runs.append([])
        runs[-1].append(move)
        before = move["alive"]
    return runs


def _arrays(run: Sequence[Row], kernels: int, runs: Sequence[Sequence[Row]]) -> list[Row]:
    """From allocation to release; what is not released stays until the end of its run."""
    following = [other[0]["kernel"] for other in runs if other[0]["kernel"] > run[0]["kernel"]]
    end = min(following, default=kernels) - 1
    arrays: dict[int, Row] = {}
    for move in run:
        if move["action"] == "allocate":
            arrays[move["node"]] = {
                "node": move["node"], "bytes": move["bytes"], "from": move["kernel"], "to": end, "stays": True,
            }  # fmt: skip
        elif move["node"] in arrays:
            arrays[move["node"]] |= {"to": move["kernel"], "stays": False}
    return list(arrays.values())


def _readers(kernels: Sequence[Row], nodes: Mapping[int, Row]) -> dict[int, list[int]]:
    """Array -> the kernels that read it, under its own name or as a view."""
    readers: dict[int, list[int]] = defaultdict(list)
    made = {i for kernel in kernels for i in kernel.get("stored", ())}
    for number, kernel in enumerate(kernels):
        for i in kernel.get("reads", ()):
            readers[_root(i, nodes, made)].append(number)
    return readers


def _root(node: int, nodes: Mapping[int, Row], made: set[int]) -> int:
    """The array that a reshape lies in."""
    while node not in made and nodes.get(node, {}).get("kind") == "reindex" and nodes[node]["inputs"]:
        node = nodes[node]["inputs"][0]
    return node


def _keepers(
    one: Row, kernels: Sequence[Row], cones: Sequence[Sequence[int]], nodes: Mapping[int, Row], wanted: set[int]
) -> list[Row]:  # fmt: skip
    """Who keeps an array alive, in words: whoever asked for it or holds it, then the kernels that still read it."""
    row = nodes.get(one["node"], {})
    found = []
    if one["node"] in wanted:
        found.append({"why": "wanted", "kernel": None, "text": "you asked for it"})
    elif row.get("held"):
        name = row.get("name")
        words = f"your variable {name} holds it" if name else "a Var holds it"
        found.append({"why": "held", "kernel": None, "text": words})
    elif one["stays"]:
        found.append({"why": "stays", "kernel": None, "text": "it is still there when the run ends: somebody holds it"})
    found += [_reader(k, one["node"], kernels[k]["name"], cones[k], nodes) for k in one["reads"]]
    return found or [{"why": "unread", "kernel": None, "text": "nothing: it is freed at once"}]


def _reader(number: int, array: int, name: str, cone: Sequence[int], nodes: Mapping[int, Row]) -> Row:
    """A kernel that reads it; what only a gradient needs of the forward pass was saved for it.

    A gradient's kernel may compute parts of the forward pass again; nodes know the kernel that computed them first.
    """
    reached, fresh = {array}, []
    for i in cone:
        if i != array and reached.intersection(nodes[i]["inputs"]):
            reached.add(i)
            views = nodes[i].get("kind") in ("reindex", "index")
            fresh += [nodes[i]] if not views and nodes[i].get("kernel", number) == number else []
    if fresh and fresh[0].get("gradient") and not nodes.get(array, {}).get("gradient"):
        text = f"saved for the gradient of {_meaning(fresh[0].get('twin'), nodes)}, in kernel {number}"
        return {"why": "saved", "kernel": number, "text": text}
    return {"why": "read", "kernel": number, "text": f"read by kernel {number}, {name}"}


def _cones(kernels: Sequence[Row], nodes: Mapping[int, Row]) -> list[list[int]]:
    """For each kernel: all nodes between what it reads and what it stores, inputs first."""
    made = {i for kernel in kernels for i in kernel.get("stored", ())}
    cones = []
    for kernel in kernels:
        found: set[int] = set()
        waiting = [i for i in kernel.get("nodes", ()) if i in nodes]
        while waiting:
            i = waiting.pop()
            if i not in found:
                found.add(i)
                waiting += [j for j in nodes[i]["inputs"] if j in nodes and j not in made]
        cones.append(sorted(found))
    return cones


def _meaning(twin: Any, nodes: Mapping[int, Row]) -> str:
    """What the learner wrote: the broadcast inside a matmul is the matmul."""
    row = nodes.get(twin, {})
    for _ in range(2):
        inside = row.get("kind") == "reindex" or (row.get("op") == "multiply" and not row.get("name"))
        if not inside:
            break
        readers = [n for n in nodes.values() if row.get("id") in n["inputs"] and n.get("twin") == row.get("twin")]
        if not readers or (row["kind"] != "reindex" and readers[0]["kind"] != "reindex_reduce"):
            break
        row = readers[0]
    return str(row.get("name") or row.get("op") or f"#{twin}")


def _stack(arrays: list[Row]) -> int:
    """Give each rectangle an offset where nothing else lies in its time: large ones first, as low as they fit."""
    placed: list[Row] = []
    for one in sorted(arrays, key=lambda a: (-a["bytes"] * (a["to"] - a["from"] + 1), a["from"])):
        others = [p for p in placed if p["from"] <= one["to"] and one["from"] <= p["to"]]
        one["offset"] = _gap(others, one["bytes"])
        placed.append(one)
    return max((a["offset"] + a["bytes"] for a in arrays), default=0)


def _gap(others: Sequence[Row], size: int) -> int:
    """The lowest place with room for `size` bytes."""
    at = 0
    for other in sorted(others, key=lambda o: o["offset"]):
        if other["offset"] - at >= size:
            break
        at = max(at, other["offset"] + other["bytes"])
    return at


def _alive(memory: Sequence[Row], kernels: int) -> list[int]:
    """The most bytes that are alive during each kernel: its outputs are there before its inputs are freed."""
    most = [0] * kernels
    latest, at = 0, -1
    for move in memory:
        k = move["kernel"]
        for between in range(at + 1, k):
            most[between] = latest
        at = max(at, k)
        most[k] = max(most[k], move["alive"])
        latest = move["alive"]
    for k in range(at + 1, kernels):
        most[k] = latest
    return most
