"""Report: one run on a GPU, each part in its box of time, and what it found as JSON and as a page.

parity     0 to 45 % of the time      rows of the table on the GPU, and products on its tensor cores
training   to 65 %                    LeNet and ResNet-18 beside the CPU
speed      to the end                 a row after the other
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jt_edu as jt
from tests.bench.machine import allowed
from tests.gpu import checks, speed
from tests.gpu.checks import Agreement
from tests.gpu.speed import Speed

Clock = Callable[[], float]
PARITY, TRAINING = 0.45, 0.65  # of the time, until when
FEW = 40  # of the rows each so many-th, in a quick run


def run(
    folder: Path, seconds: float, *, quick: bool = False, clock: Clock = time.perf_counter, processes: int | None = None
) -> int:
    """All three parts; 0 if all numbers were right, else 1."""
    begin, gpu, capability = clock(), jt.cuda.get_device_name(), jt.cuda.get_device_capability()

    def until(share: float) -> Callable[[], float]:
        return lambda: begin + share * seconds - clock()

    rows = checks.in_turn(FEW if quick else 1)
    found = checks.parity(rows, until(PARITY), (0 if quick else allowed()) if processes is None else processes)
    nets: dict[str, dict[str, Any]] = {}
    speeds: list[Speed] = []

    def write() -> str:
        """After each part, so that nothing is lost where a later one ends the process."""
        facts = {
            "gpu": gpu, "capability": capability, "seconds": clock() - begin,
            "parity": asdict(found), "training": nets, "speed": [asdict(one) for one in speeds],
        }  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "gpu.json").write_text(json.dumps(facts, indent=1) + "\n")
        text = page(gpu, found, nets, speeds)
        (folder / "gpu.md").write_text(text)
        return text

    write()
    found.wrong |= checks.products(*[(33, 20, 34)] * quick)
    nets |= _trained(until(TRAINING), quick=quick)
    write()
    with jt.flag_scope(backend="cuda"):
        for one in jt.progress(speed.table_of(speed.TABLE, quick, until(1.0), clock)):
            speeds.append(one)
            write()
    print(write())
    return int(bool(found.wrong) or any(not net["right"] for net in nets.values()))


def _trained(left: Callable[[], float], *, quick: bool) -> dict[str, dict[str, Any]]:
    """The losses of each network on both sides, while there is time left."""
    found: dict[str, dict[str, Any]] = {}
    for name, sizes in checks.SIZES.items():
        if left() <= 0 or (quick and found):
            break
        try:
            ours, theirs = checks.trained(name, *sizes)
            found[name] = {"gpu": ours, "cpu": theirs, "right": checks.close(ours, theirs), "failed": ""}
        except jt.JtError as error:
            found[name] = {"gpu": [], "cpu": [], "right": False, "failed": str(error)}
    return found


# ---------------------------------------------------------------------------------------------------------------- page


def page(gpu: str, found: Agreement, nets: dict[str, dict[str, Any]], speeds: Sequence[Speed]) -> str:
    """What was found, in Markdown."""
    wrong = [f"* {name}: {why}" for name, why in found.wrong.items()]
    lines = [f"# jt_edu on {gpu}", "", "## Parity", ""]
    lines += [f"{found.right} rows are right, {len(found.wrong)} are wrong, {found.missing} were not reached.", *wrong]
    lines += ["", "## Training", "", "| network | losses of the GPU | of the CPU | |", "|---|---|---|---|"]
    for name, net in nets.items():
        losses = [" ".join(f"{loss:.4f}" for loss in net[side]) for side in ("gpu", "cpu")]
        lines.append(
            f"| {name} | {losses[0]} | {losses[1]} | {net['failed'] or ('same' if net['right'] else 'WRONG')} |"
        )
    lines += [
        "",
        "## Speed",
        "",
        "| | ms | of a copy | TFLOP/s | PyTorch, ms | PyTorch / jt_edu | host, µs a kernel |",
        "|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *map(_line, speeds), ""])


def _line(one: Speed) -> str:
    if one.ours is None:
        return f"| {one.name} | {one.failed} | | | | | |"
    share = f"{one.share:.0%}" if one.share is not None else ""
    tflops = f"{one.tflops:.2f}" if one.tflops is not None else ""
    peer = f"{one.peer:.3f} | {one.peer / one.ours:.2f}" if one.peer else "|"
    host = f"{one.host:.2f}" if one.host is not None else ""
    return f"| {one.name} | {one.ours:.3f} | {share} | {tflops} | {peer} | {host} |"
