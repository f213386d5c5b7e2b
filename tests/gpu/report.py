"""Report: one run on a GPU, each part in its box of time, and what it found as JSON and as a page.

compiling  0 to 25 % of the time      what training and the table of speed need, by all processors
kernels    to 30 %                    those that are written by hand, of the tests of the interpreter
parity     to 60 %                    rows of the table on the GPU, and products on its tensor cores
training   to 75 %                    LeNet and ResNet-18 beside the CPU, with CUDA graphs and without
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
from tests.bench.rows import in_short
from tests.gpu import checks, prepare, speed
from tests.gpu.checks import Agreement
from tests.gpu.speed import GOALS, Speed

Clock = Callable[[], float]
COMPILING, KERNELS, PARITY, TRAINING = 0.25, 0.3, 0.6, 0.75  # of the time, until when


def run(folder: Path, seconds: float, *, quick: bool = False, clock: Clock = time.perf_counter) -> int:
    """All parts; 0 if some numbers were found, and all of them are right, else 1. A quick run is one process."""
    begin, gpu, capability = clock(), jt.cuda.get_device_name(), jt.cuda.get_device_capability()
    processes = 0 if quick else allowed()

    def until(share: float) -> Callable[[], float]:
        return lambda: begin + share * seconds - clock()

    if processes:
        prepare.ahead(capability, until(COMPILING), processes)
    by_hand = checks.kernels(until(KERNELS), processes)
    found = checks.parity(checks.in_turn(checks.FEW if quick else 1), until(PARITY), processes)
    nets: dict[str, dict[str, Any]] = {}
    speeds: list[Speed] = []

    def write() -> str:
        """After each part, so that nothing is lost where a later one ends the process."""
        facts = {
            "gpu": gpu, "capability": capability, "seconds": clock() - begin,
            "kernels": asdict(by_hand), "parity": asdict(found), "training": nets,
            "speed": [asdict(one) | {"ratio": one.ratio, "reached": one.reached} for one in speeds],
        }  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "gpu.json").write_text(json.dumps(facts, indent=1) + "\n")
        text = page(gpu, by_hand, found, nets, speeds)
        (folder / "gpu.md").write_text(text)
        return text

    write()
    found.wrong |= checks.products(*[checks.SMALL] * quick)
    nets |= _trained(until(TRAINING), quick=quick)
    write()
    with jt.flag_scope(backend="cuda"):
        for one in jt.progress(speed.table_of(speed.TABLE, quick, until(1.0))):
            speeds.append(one)
            write()
    print(write())
    wrong = found.wrong or by_hand.wrong or any(net["right"] is False for net in nets.values())
    return int(bool(wrong) or not (found.right and by_hand.right))


def _trained(left: Callable[[], float], *, quick: bool) -> dict[str, dict[str, Any]]:
    """The losses of each network on both sides, while there is time left."""
    found: dict[str, dict[str, Any]] = {}
    for name, sizes in checks.SIZES.items():
        if quick and found:
            break
        if left() <= 0:
            found[name] = {"losses": {}, "right": None, "failed": "no time was left for it"}
            continue
        try:
            losses = checks.trained(name, *sizes)
            right = all(checks.close(ours, losses["cpu"]) for ours in losses.values())
            found[name] = {"losses": losses, "right": right, "failed": ""}
        except jt.JtError as error:
            found[name] = {"losses": {}, "right": False, "failed": in_short(error)}
    return found


# ---------------------------------------------------------------------------------------------------------------- page


def page(
    gpu: str, by_hand: Agreement, found: Agreement, nets: dict[str, dict[str, Any]], speeds: Sequence[Speed]
) -> str:
    """What was found, in Markdown."""
    lines = [f"# jt_edu on {gpu}", "", "## Numbers", ""]
    for what, agreement in {"kernels that are written by hand": by_hand, "rows of the parity table": found}.items():
        right, wrong, missing = agreement.right, agreement.wrong, agreement.missing
        lines.append(f"Of the {what}, {right} are right, {len(wrong)} are wrong, {missing} were not reached.")
        lines += ["", *(f"* {name}: {why}" for name, why in wrong.items()), ""] if wrong else [""]
    lines += ["## Training", "", "Each loss of the GPU has to be the CPU's to a thousandth.", ""]
    lines += ["| network | GPU, CUDA graphs | GPU, no graphs | CPU | |", "|---|---|---|---|---|"]
    for name, net in nets.items():
        sides = [" ".join(f"{loss:.4f}" for loss in net["losses"].get(side, ())) for side in checks.SIDES]
        lines.append(f"| {name} | {' | '.join(sides)} | {net['failed'] or ('same' if net['right'] else 'WRONG')} |")
    lines += ["", "## Speed", "", "Times are of the GPU's own clock; a copy moves 1 GB inside the GPU."]
    lines += ["PyTorch's `cudnn.allow_tf32` is off, as ours is: float32 is float32 but where a row says TF32.", ""]
    lines += ["| | ms | of a copy | TFLOP/s | PyTorch, ms | PyTorch / jt_edu | host, µs a kernel | goals |"]
    return "\n".join([*lines, "|---|---|---|---|---|---|---|---|", *map(_line, speeds), ""])


def _line(one: Speed) -> str:
    goals = "; ".join(f"{GOALS[name].format(goal)}: {_said(one, name)}" for name, goal in one.goals.items())
    if one.ours is None:
        return f"| {one.name} | {one.failed} | | | | | | {goals} |"
    share = f"{one.share:.0%}" if one.share is not None else ""
    tflops = f"{one.tflops:.2f}" if one.tflops is not None else ""
    peer = f"{one.peer:.3f} | {one.ratio:.2f}" if one.peer else "|"
    host = f"{one.host:.2f}" if one.host is not None else ""
    return f"| {one.name} | {one.ours:.3f} | {share} | {tflops} | {peer} | {host} | {goals} |"


def _said(one: Speed, goal: str) -> str:
    """Whether a goal was reached."""
    if one.reached[goal] is None:
        return "no PyTorch here" if goal == "ratio" and one.ours else "not measured"
    return "**reached**" if one.reached[goal] else "missed"
