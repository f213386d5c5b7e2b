"""11.2: a stranger's names, and what a file and a network do not have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jt_edu import nn
from jt_edu.models.resnet import BasicBlock
from jt_exercises.backbones.foreign import COUNTER, theirs
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask, part, short

KINDS = ("missing", "unexpected", "with another shape")
Shapes = Mapping[str, tuple[int, ...]]
NET: Shapes = {"a.weight": (4, 3), "a.bias": (4,), "b.weight": (2, 4), "b.bias": (2,)}
FILES: list[Shapes] = [
    NET,
    {**NET, "epoch": (1,)},
    {k: v for k, v in NET.items() if k != "b.bias"},
    {**NET, "b.weight": (4, 2), "b.bias": (5,)},
    {"a.weight": (4, 3), "c.weight": (2, 4)},
    {},
]
DRAWN = 3  # cases besides


@exercise(
    "11.2",
    "whose name is that?",
    points=2,
    hints=(
        """Make a list of pairs, `("stage", "layer"), ("norm", "bn"), ...`, and call `name = name.replace(old, new)` for
        each, in order. What becomes of `stem.norm` if `norm` comes first?""",
        """The *gamma* of a batch norm is its weight, and *beta* its bias. What she calls `skip.conv` and `skip.norm` is
        `downsample.0` and `downsample.1` in ours.""",
        "`missing = [name for name in ours if name not in theirs]`",
    ),
    why="""`net.load_state_dict(renamed, strict=False)` passes over whatever does not match: a weight that was not found
    keeps its random numbers, and no error tells you. So read these lists each time.""",
)
def names(report: Callable[..., Any], rename: Callable[..., Any]) -> str:
    """Ask what two tables of shapes do not have in common, and for our name of each of theirs."""
    ours, hers = _shapes(4), {n: s for n, s in _shapes(10).items() if not n.endswith(COUNTER)}
    cases = [*((file, NET) for file in FILES), *map(_drawn, range(DRAWN)), ({**hers, "epoch": (1,)}, ours)]
    with part("report"):
        for file, net in cases:
            _report(report, file, net)
    with part("rename"):
        for name in hers:
            found = ask(rename, theirs(name), name="rename")
            if found != name:
                raise RefusedError(f"rename({theirs(name)!r}) is {short(found)}, and should be {name!r}")
        odd = ask(rename, "epoch", name="rename")
        if odd != "epoch":
            raise RefusedError(f"rename('epoch') is {short(odd)}: what has no name here keeps its own")
    missing, unexpected, other = _differences(*cases[-1])
    return (
        f"{len(hers)} names, {len(cases)} files. Hers lacks {len(missing)} counters such as `{missing[0]}`, has "
        f"`{unexpected[0]}` that nobody asked for, and another shape of {' and '.join(f'`{n}`' for n in other)}"
    )


def _shapes(classes: int) -> dict[str, tuple[int, ...]]:
    """What the notebook's network holds, in our names."""
    parts = {"conv1": nn.Conv2d(1, 16, 3, bias=False), "bn1": nn.BatchNorm2d(16), "fc": nn.Linear(32, classes)}
    parts |= {"layer1": BasicBlock(16, 16), "layer2": BasicBlock(16, 32, stride=2)}
    return {f"{part}.{name}": var.shape for part, layer in parts.items() for name, var in layer.state_dict().items()}


def _drawn(case: int) -> tuple[Shapes, Shapes]:
    """A file and a network, which share some names."""
    draw = random(2, case)
    file, net = (
        {f"layer{k}.weight": (int(draw.integers(1, 3)),) for k in range(9) if draw.random() < 0.7} for _ in range(2)
    )
    return file, net


def _differences(file: Shapes, net: Shapes) -> tuple[list[str], list[str], list[str]]:
    return (
        [name for name in net if name not in file],
        [name for name in file if name not in net],
        [name for name in net if name in file and file[name] != net[name]],
    )


def _report(report: Callable[..., Any], file: Shapes, net: Shapes) -> None:
    answer = ask(report, dict(file), dict(net), case=f"{dict(file)}, {dict(net)}", name="report")
    kinds = (tuple, list, set, frozenset)
    if not isinstance(answer, (tuple, list)) or len(answer) != 3 or not all(isinstance(a, kinds) for a in answer):
        raise RefusedError(f"it returns three lists of names, not {short(answer)}")
    mine, right = [sorted(map(str, a)) for a in answer], [sorted(a) for a in _differences(file, net)]
    if mine != right:
        k = next(k for k in range(3) if mine[k] != right[k])
        told = f"of a file with {short(dict(file))} for a network with {short(dict(net))}, {KINDS[k]}: {mine[k]}"
        raise RefusedError(f"{told}, and should be {right[k]}{_why(k, mine, right)}")


def _why(k: int, mine: list[list[str]], right: list[list[str]]) -> str:
    more = set(mine[k]) - set(right[k])
    if k < 2 and mine[:2] == right[1::-1]:
        return ": missing is what the network has and the file has not"
    if k == 0 and more and more <= set(right[2]):
        return ": an array of another shape is there, so it is not missing"
    if k == 2 and more and more <= set(right[0] + right[1]):
        return ": shapes are compared where both have the name"
    return ""
