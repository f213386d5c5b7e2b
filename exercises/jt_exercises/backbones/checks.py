"""Checks of notebook 11: each takes a learner's answer and says whether it is right; verdict.py knows how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import jt_edu as jt
from jt_edu import nn
from jt_edu.base.errors import JtError
from jt_edu.models.resnet import BasicBlock
from jt_exercises.backbones.foreign import theirs
from jt_exercises.verdict import NotDoneError, RefusedError, ask, exercise, short

NEAR = 1e-4
KINDS = ("missing", "unexpected", "with another shape")


@exercise("1 residual blocks")
def check_blocks(residual: Callable[..., Any], bottleneck: Callable[..., Any]) -> str:
    """Compare a residual block with its formula, and a bottleneck with the layers that it is made of."""
    x = jt.array(np.array([[1.0, -2.0, 3.0, -4.0]], np.float32))
    for around, told in ((None, "None"), (lambda v: 2 * v, "2 * x")):
        found = _numbers(ask(residual, x, lambda v: 1 - v, around, case=f"x, 1 - x, {told}"), "residual")
        straight, other = 1 - x.numpy(), x.numpy() * (1 if around is None else 2)
        right = np.maximum(straight + other, 0)
        if not _same(found, right):
            slips = {
                "the relu comes after the sum, and there is none here": straight + other,
                "what comes out of the body gets its relu with the sum, not before it": np.maximum(straight, 0) + other,
                "that is the body alone: x has to be added": np.maximum(straight, 0),
                "`around` says what is added: x itself only where it is None": np.maximum(straight + x.numpy(), 0),
            }
            raise RefusedError(f"residual(x, 1 - x, {told}) of x = [1, -2, 3, -4] {_came(found, right, slips)}")
    for inputs, channels, stride in ((16, 4, 1), (8, 4, 2), (256, 64, 1)):
        case = f"{inputs}, {channels}, {stride}"
        body = ask(bottleneck, inputs, channels, stride, case=case)
        _bottleneck(body, inputs, channels, stride, f"bottleneck({case})")
    return "the sum, its way around, and three convolutions"


def _bottleneck(body: Any, inputs: int, channels: int, stride: int, case: str) -> None:
    if not isinstance(body, nn.Sequential):
        raise RefusedError(f"{case} is an nn.Sequential of layers, not {short(type(body))}")
    kinds = [type(layer) for layer in body]
    if kinds == [nn.Conv2d, nn.BatchNorm2d, nn.ReLU] * 3:
        raise RefusedError(f"{case} ends with a relu: that of the block comes after the sum, so none stands here")
    if kinds != [nn.Conv2d, nn.BatchNorm2d, nn.ReLU] * 2 + [nn.Conv2d, nn.BatchNorm2d]:
        names = ", ".join(kind.__name__ for kind in kinds)
        raise RefusedError(
            f"{case} has {names}. Three convolutions are asked for, each with a BatchNorm2d behind it, and a ReLU "
            f"behind the first two of these"
        )
    convs, wanted = body[::3], [(inputs, channels, 1), (channels, channels, 3), (channels, 4 * channels, 1)]
    for number, (conv, (i, o, k)) in enumerate(zip(convs, wanted, strict=True), 1):
        mine = (conv.weight.shape[1], conv.weight.shape[0], conv.weight.shape[2])
        if mine != (i, o, k):
            shown = "{0} to {1} channels, {2} x {2}".format
            raise RefusedError(
                f"convolution {number} of {case} goes from {shown(*mine)}; it should be {shown(i, o, k)}"
            )
        if conv.bias is not None:
            raise RefusedError(f"convolution {number} of {case} has a bias, and the batch norm behind it takes that "
                               f"away again with the mean: bias=False")  # fmt: skip
    size = body(jt.ones(2, inputs, 8, 8)).shape
    if size != (2, 4 * channels, 8 // stride, 8 // stride):
        raise RefusedError(f"{case} makes (2, {inputs}, 8, 8) into {size}, and should make it "
                           f"{(2, 4 * channels, 8 // stride, 8 // stride)}: look at stride and padding")  # fmt: skip
    if stride > 1 and convs[1].stride[0] != stride:
        raise RefusedError(f"the stride of {case} is in a 1 x 1, which then never looks at three quarters of the "
                           f"places; the 3 x 3 sees them all: give it the stride")  # fmt: skip


@exercise("2 the weights of strangers")
def check_report(rename: Callable[[str], str], report: Callable[..., Any]) -> str:
    """Ask for our name of each of theirs, and for what two tables of shapes do not have in common."""
    names = [name for name in BasicBlock(2, 4, 2).state_dict() if not name.endswith("tracked")]
    ours = ["conv1.weight", "fc.weight", "fc.bias", *(name for name in names if name.startswith("bn1"))]
    ours += [f"layer{k}.{name}" for k in (1, 2) for name in names]
    for name in ours:
        found = ask(rename, theirs(name))
        if found != name:
            raise RefusedError(f"rename({theirs(name)!r}) is {found!r}, and should be {name!r}")
    odd = ask(rename, "epoch")
    if odd != "epoch":
        raise RefusedError(f"rename('epoch') is {odd!r}: what has no name here keeps its own")
    net: dict[str, tuple[int, ...]] = {"a.weight": (4, 3), "a.bias": (4,), "b.weight": (2, 4), "b.bias": (2,)}
    cases: list[tuple[dict[str, tuple[int, ...]], list[list[str]]]] = [
        (net, [[], [], []]),
        ({**net, "epoch": (1,)}, [[], ["epoch"], []]),
        ({k: v for k, v in net.items() if k != "b.bias"}, [["b.bias"], [], []]),
        ({**net, "b.weight": (4, 2), "b.bias": (5,)}, [[], [], ["b.weight", "b.bias"]]),
        ({"a.weight": (4, 3), "c.weight": (2, 4)}, [["a.bias", "b.weight", "b.bias"], ["c.weight"], []]),
    ]
    for came, right in cases:
        answer = ask(report, came, net, case=f"{came}, {net}")
        if not isinstance(answer, (tuple, list)) or len(answer) != 3:
            raise RefusedError(f"report returns three lists of names, not {short(answer)}")
        mine = [sorted(part) for part in answer]
        if mine != [sorted(part) for part in right]:
            raise RefusedError(_which(came, net, mine, right))
    return f"{len(ours)} names, {len(cases)} files"


def _which(came: Mapping[str, Any], net: Mapping[str, Any], mine: list[list[str]], right: list[list[str]]) -> str:
    k = next(k for k in range(3) if mine[k] != sorted(right[k]))
    told = f"of a file with {dict(came)} for a network with {dict(net)}, {KINDS[k]}: {mine[k]}"
    if mine[:2] == [sorted(right[1]), sorted(right[0])] and mine[0] != mine[1]:
        return f"{told}, and should be {right[k]}: missing is what the network has and the file has not"
    if k == 0 and set(mine[0]) - set(right[0]) <= set(right[2]) != set():
        return f"{told}, and should be {right[k]}: an array of another shape is there, so it is not missing"
    if k == 2 and set(mine[2]) - set(right[2]) <= set(right[0] + right[1]):
        return f"{told}, and should be {right[k]}: shapes are compared where both have the name"
    return f"{told}, and should be {right[k]}"


@exercise("3 fold the batch norm")
def check_fold(fold: Callable[..., Any]) -> str:
    """Compare what a folded convolution gives with convolution and batch norm, one after the other."""
    random = np.random.default_rng(3)
    for inputs, outputs, bias in ((3, 3, False), (2, 5, False), (3, 4, True)):
        conv, bn = nn.Conv2d(inputs, outputs, 3, bias=bias), nn.BatchNorm2d(outputs)
        for name, var in bn.state_dict(keep_vars=True).items():
            if name != "num_batches_tracked":
                low = 0.0005 if name == "running_var" else -1.0  # so small that eps counts
                var.update(random.uniform(low, 1.0 if low < 0 else 0.01, outputs).astype(np.float32))
        bn.eval()
        case = f"Conv2d({inputs}, {outputs}, 3, bias={bias}), BatchNorm2d({outputs})"
        answer = ask(fold, conv, bn, case=case)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise RefusedError(f"fold returns a weight and a bias, not {short(answer)}")
        weight, offset = (_numbers(part, "fold") for part in answer)
        for name, part, shape in (("weight", weight, conv.weight.shape), ("bias", offset, (outputs,))):
            if part.shape != shape:
                raise RefusedError(f"the {name} of fold({case}) has shape {part.shape}, and should have {shape}")
        _folded(conv, bn, weight, offset, f"fold({case})")
    return "with and without a bias of the convolution"


def _folded(conv: nn.Conv2d, bn: nn.BatchNorm2d, weight: Any, offset: Any, case: str) -> None:
    gamma, beta, mean, var = (
        v.numpy().astype(float) for v in (bn.weight, bn.bias, bn.running_mean, bn.running_var) if v is not None
    )
    own, begin = conv.weight.numpy(), 0.0 if conv.bias is None else conv.bias.numpy()

    def scaled(by: Any, axis: int = 0) -> Any:
        return own * np.expand_dims(by, tuple(k for k in range(4) if k != axis))

    scale = gamma / np.sqrt(var + bn.eps)
    if not _same(weight, scaled(scale)):
        slips = {
            "eps is left out": scaled(gamma / np.sqrt(var)),
            "that divides by the variance: its square root is the spread": scaled(gamma / (var + bn.eps)),
            "bn.weight is left out": scaled(1 / np.sqrt(var + bn.eps)),
            "the convolution is as it was": own,
        }
        if own.shape[0] == own.shape[1]:
            slips["the inputs are scaled, axis 1 of the weight; a batch norm scales outputs, axis 0"] = scaled(scale, 1)
        why = next((words for words, slip in slips.items() if _same(weight, slip)), "each output is scaled, by what?")
        raise RefusedError(f"the weight of {case} is wrong: {why}")
    if not _same(offset, beta + (begin - mean) * scale):
        slips = {
            "the bias of the convolution goes through the batch norm too": beta - mean * scale,
            "that bias is scaled as well": beta + begin - mean * scale,
            "the mean is subtracted before it is scaled": beta + begin * scale - mean,
            "the running mean is left out": beta + begin * scale,
            "the mean is subtracted": beta + (begin + mean) * scale,
            "bn.bias is left out": (begin - mean) * scale,
        }
        why = next(
            (words for words, slip in slips.items() if _same(offset, slip)), "what does a place of zeros become?"
        )
        raise RefusedError(f"the weight is right, the bias of {case} is not: {why}")


class Tiny(nn.Module):
    """A backbone and a head, called as those of the notebook."""

    def __init__(self) -> None:
        self.conv1, self.bn1 = nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4)
        self.fc = nn.Linear(4, 3)

    def execute(self, x: jt.Var) -> jt.Var:
        """(n, 1, h, w) -> scores (n, classes)."""
        scores: jt.Var = self.fc(self.bn1(self.conv1(x)).relu().mean((2, 3)))
        return scores


@exercise("4 freeze, and train a new head")
def check_new_head(new_head: Callable[..., Any]) -> str:
    """Train with the parameters that come back, and look what has changed besides the head."""
    random = np.random.default_rng(4)
    for classes in (5, 2):
        net, case = Tiny(), f"net, {classes}"
        old, before = net.fc, {name: var.numpy().copy() for name, var in net.state_dict().items()}
        answer = ask(new_head, net, classes, case=case)
        try:
            given = list(answer)
        except TypeError:
            raise RefusedError(f"new_head({case}) returns the parameters to train, not {short(answer)}") from None
        if net.fc is old:
            raise RefusedError(f"after new_head({case}) net.fc is the old one: put a new nn.Linear in its place")
        if not any(p.requires_grad for p in net.fc.parameters()):
            raise RefusedError(f"after new_head({case}) net.fc is frozen, too: freeze first, then make the head")
        fc = net.fc.weight.shape
        if fc != (classes, 4):
            raise RefusedError(f"after new_head({case}) net.fc.weight has shape {fc}, and should have {(classes, 4)}")
        started = net.fc.weight.numpy().copy()
        x = jt.array(random.normal(3.0, 2.0, (16, 1, 6, 6)).astype(np.float32))
        labels = jt.array(random.integers(0, classes, 16))
        _backbone_stays(net, before, given, x, labels)
        if np.array_equal(started, net.fc.weight.numpy()):
            raise RefusedError("after two steps the new head is as it was: return its parameters, and do not freeze it")
        loose = [name for name, p in net.named_parameters() if p.requires_grad and not name.startswith("fc")]
        if loose:
            raise RefusedError(f"{loose[0]} stays as it is, but its gradient is computed in vain: freeze it with "
                               f"`requires_grad_(False)`")  # fmt: skip
    return "the head learns, and nothing else moves"


def _backbone_stays(net: Tiny, before: Mapping[str, Any], given: list[Any], x: jt.Var, labels: jt.Var) -> None:
    try:
        optimizer = jt.optim.SGD(given, lr=0.5)
        for _ in range(2):
            optimizer.step(jt.cross_entropy_loss(net(x), labels))
        state = net.state_dict()
        jt.sync(list(state.values()))
    except JtError as error:
        raise RefusedError(f"a step with these parameters stopped with {type(error).__name__}: {error}") from error
    moved = [n for n, v in state.items() if not n.startswith("fc") and not np.array_equal(before[n], v.numpy())]
    for name in moved:
        if "running" not in name and "tracked" not in name:
            raise RefusedError(f"after two steps {name} of the backbone has changed: only the head may be returned")
    if moved:
        raise RefusedError(f"no weight of the backbone has changed, but {moved[0]} has: while it trains, a batch norm "
                           f"takes its statistics from the batch and remembers them. `eval()` stops that")  # fmt: skip


@exercise("5 attention")
def check_attention(attention: Callable[..., Any]) -> str:
    """Compare attention, with and without a mask, with its formula."""
    random = np.random.default_rng(5)
    for t, s, d, e, causal in ((3, 3, 4, 2, False), (4, 6, 9, 9, False), (5, 5, 16, 3, True), (1, 1, 2, 2, True)):
        q, k, v = (random.normal(size=shape).astype(np.float32) for shape in ((t, d), (s, d), (s, e)))
        case = f"q, k, v, causal={causal}"
        answer = ask(attention, *(jt.array(a) for a in (q, k, v)), causal, case=case)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise RefusedError(f"attention returns what comes out and the weights, not {short(answer)}")
        out, weights = (_numbers(part, "attention") for part in answer)
        allowed = np.tril(np.ones((t, s), bool)) if causal else np.ones((t, s), bool)
        right = _weights(q, k, allowed)
        if weights.shape != (t, s):
            raise RefusedError(f"for {t} queries and {s} keys the weights have shape {(t, s)}, not {weights.shape}")
        if not _same(weights, right):
            raise RefusedError(f"attention({case}), {t} queries, {s} keys: {_unlike(weights, q, k, allowed)}")
        if out.shape != (t, e) or not _same(out, right @ v):
            raise RefusedError(f"the weights of attention({case}) are right; what comes out is `weights @ v`")
    return "any number of queries and keys, with and without a mask"


def _weights(q: Any, k: Any, allowed: Any, scale: float | None = None, axis: int = 1) -> Any:
    scores = q.astype(float) @ k.T * (q.shape[1] ** -0.5 if scale is None else scale)
    powers = np.exp(scores - scores.max()) * allowed
    return powers / np.maximum(powers.sum(axis, keepdims=True), 1e-30)


def _unlike(weights: Any, q: Any, k: Any, allowed: Any) -> str:
    """What the weights are instead."""
    everything, scores = np.ones_like(allowed), q @ k.T * q.shape[1] ** -0.5
    powers = np.exp(np.where(allowed, scores, 0))
    slips = {
        "the scores are not divided by the square root of d": _weights(q, k, allowed, 1.0),
        "the scores are divided by d: its square root will do": _weights(q, k, allowed, 1 / q.shape[1]),
        "each column adds up to 1, and each row should: softmax over the keys, the last axis": _weights(
            q, k, allowed, axis=0
        ),
        "the mask is left out: with causal=True token i looks at the tokens up to i": _weights(q, k, everything),
        "the mask is the wrong way round: these look at what is still to come": _weights(q, k, allowed.T),
        "the masked weights are 0, but the rows no longer add up to 1: mask the scores, before the softmax": (
            _weights(q, k, everything) * allowed
        ),
        "a masked score of 0 still gets a weight: e to the 0 is 1. Let it be -inf": powers
        / powers.sum(1, keepdims=True),
    }
    if np.isnan(weights).any():
        return "some weights are nan: is there a row in which all is masked? Each token may look at itself"
    return next(
        (words for words, slip in slips.items() if _same(weights, slip)), "the weights are not softmax(q k' / √d)"
    )


def _numbers(answer: Any, name: str) -> np.ndarray[Any, Any]:
    if isinstance(answer, jt.Var):
        return np.asarray(answer.numpy())
    if answer is None:
        raise NotDoneError(f"a part of what {name} returns is None")
    return np.asarray(answer, float)


def _same(mine: Any, right: Any) -> bool:
    return np.shape(mine) == np.shape(right) and bool(np.allclose(mine, right, NEAR, NEAR))


def _came(found: Any, right: Any, slips: Mapping[str, Any]) -> str:
    why = next((words for words, slip in slips.items() if _same(found, slip)), "")
    return f"is {found.round(4).tolist()}, and should be {right.round(4).tolist()}{': ' * bool(why)}{why}"
