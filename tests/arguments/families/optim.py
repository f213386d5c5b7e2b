"""Optimisers: the settings of tests/optim/rules.py, each of them also left out; LBFGS; and the methods of all."""

import inspect

import numpy as np

import jt_edu as jt
from jt_edu import optim
from tests.arguments.rows import Given, Row, shows
from tests.optim.rules import SETTINGS, Problem
from tests.optim.test_rules import lamb, lookahead, walk

STEPS = 7  # RAdam begins to divide in the sixth


def ours(make) -> list[np.ndarray]:
    """The parameters after some steps of a rule of ours."""
    return list(walk(make, STEPS))[-1]


def theirs(torch, make) -> list[np.ndarray]:
    """The same of PyTorch, which keeps its own counts in float64 too."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        problem = Problem()
        params = [torch.tensor(a, requires_grad=True) for a in problem.start]
        optimizer = make(params)
        for _ in range(STEPS):
            optimizer.zero_grad()
            problem.loss(*params, like=torch.tensor).backward()
            optimizer.step()
    finally:
        torch.set_default_dtype(before)
    return params


def rule(name: str) -> list[Row]:
    """A row for each setting, from the first case that tries it."""
    kind, (base, cases) = getattr(optim, name), SETTINGS[name]
    rows: dict[str, Row] = {}
    for case in cases:
        given = {**base, **case}
        for word in {**case, **base}:
            if word not in rows and word != "t0" and inspect.signature(kind).parameters[word].default != given[word]:
                rows[word] = _setting(kind, word, given)
    return list(rows.values())


def _setting(kind, word, given) -> Row:
    """With PyTorch; without the setting, but with the others of its case."""
    rest = {name: value for name, value in given.items() if name != word}
    return Row(
        kind,
        word,
        given[word],
        lambda **named: ours(lambda p: kind(p, **rest, **named)),
        lambda torch: theirs(torch, lambda p: getattr(torch.optim, kind.__name__)(p, **given)),
    )


# ------------------------------------------------------------------------------------------------- rules with a formula

TOLD = {"lr": 0.02, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1}


def averages() -> list[Row]:
    """When ASGD begins to average its places."""

    def ask(**given):
        problem = Problem()
        params = [jt.array(a) for a in problem.start]
        rule = optim.ASGD(params, **given)
        for _ in range(STEPS):
            rule.step(problem.loss(*params))
        return [bool(np.allclose(s["average"].numpy(), p.numpy())) for s, p in zip(rule.state, params, strict=True)]

    return shows(optim.ASGD, "t0", 3.0, ask, [False, False])


def lambs() -> list[Row]:
    rows = []
    for word, tried in TOLD.items():
        rest = {name: value for name, value in TOLD.items() if name != word}
        rows += shows(optim.LAMB, word, tried, lambda rest=rest, **g: ours(lambda p: optim.LAMB(p, **rest, **g)),
                      lambda torch: list(lamb(Problem(), steps=STEPS, **TOLD))[-1])  # fmt: skip
    uphill = {**TOLD, "lr": -0.02, "weight_decay": 0.0}
    return rows + shows(
        optim.LAMB, "maximize", True, lambda **g: ours(lambda p: optim.LAMB(p, **{**TOLD, "weight_decay": 0.0}, **g)),
        lambda torch: list(lamb(Problem(), steps=STEPS, **uphill))[-1],
    )  # fmt: skip


def lookaheads() -> list[Row]:
    def ask(**given):
        return ours(lambda p: optim.Lookahead(optim.SGD(p, lr=0.01), **given))

    def fact(torch):
        return list(lookahead(Problem(), 0.7, 3, STEPS))[-1]

    return [
        *shows(optim.Lookahead, "alpha", 0.7, lambda **k: ask(k=3, **k), fact),
        *shows(optim.Lookahead, "k", 3, lambda **k: ask(alpha=0.7, **k), fact),
    ]


# ---------------------------------------------------------------------------------------------------------------- LBFGS


def climbed(library, **given):
    """Where two steps of LBFGS end, on a bent valley."""
    w = library.tensor(np.array([-1.2, 1.0, 0.5]))
    if hasattr(w, "requires_grad_"):
        w.requires_grad_()
    optimizer = library.optim.LBFGS([w], **given)

    def loss():
        out = ((w[1:] - w[:-1] * w[:-1]) ** 2).sum() * 10 + ((1 - w) ** 2).sum()
        if library is not jt:
            optimizer.zero_grad()
            out.backward()
        return out

    for _ in range(2):
        optimizer.step(loss)
    return w


VALLEY = {"lr": 0.05, "max_iter": 4}
LBFGS = {
    "lr": 0.04, "max_iter": 3, "max_eval": Given(2, max_iter=4), "tolerance_grad": 20.0, "tolerance_change": 0.5,
    "history_size": 1, "line_search_fn": "strong_wolfe",
}  # fmt: skip


def directions() -> list[Row]:
    rows = []
    for word, tried in LBFGS.items():
        value = tried.value if isinstance(tried, Given) else tried
        rest = {name: number for name, number in VALLEY.items() if name != word}
        rows += shows(optim.LBFGS, word, value, lambda rest=rest, **k: climbed(jt, **rest, **k),
                      lambda torch, all_={**rest, word: value}: climbed(torch, **all_))  # fmt: skip
    return rows


# -------------------------------------------------------------------------------------------------- methods of them all


def one():
    """A parameter and its rule."""
    w = jt.array([3.0, 4.0])
    return w, optim.SGD([w], lr=0.5)


def stepped(**given):
    w, rule = one()
    rule.backward((w * 2).sum())
    rule.step(**{name: (w * w).sum() for name in given})
    return w


def again(first: str, **given) -> bool:
    """Whether another optimizer can use a loss after this one."""
    w, rule = one()
    v, other = one()
    loss = (w * v).sum()
    getattr(rule, first)(loss, **given)
    try:
        other.step(loss)
    except jt.GradientError:
        return False
    return True


def clipped(**given):
    w, rule = one()
    rule.backward((w * jt.array([3.0, 4.0])).sum())
    return rule.clip_grad_norm(1.0, **given)


def forgotten(**given):
    w, rule = one()
    rule.backward(w.sum())
    rule.zero_grad(**given)
    return w.grad


def prepared(**given):
    w, rule = one()
    loss = (w * w).sum()
    rule.pre_step(loss if "loss" not in given else (w * 3).sum(), **{k: v for k, v in given.items() if k != "loss"})
    return loss, rule.param_groups[0]["grads"][0].tolist()


class ByHand(optim.Optimizer):
    """No rule at all."""


METHODS = [
    *shows(optim.Optimizer, "defaults", {"lr": 0.25}, lambda **k: ByHand([jt.ones(1)], **(k or {"lr": 1.0})).lr, 0.25),
    *shows(optim.Optimizer.pre_step, "loss", "another", lambda **k: prepared(**k)[1], [3.0, 3.0]),
    *shows(optim.Optimizer.pre_step, "retain_graph", True,
           lambda **k: jt.why_no_grad(prepared(**k)[0], prepared(**k)[0]) and bool(prepared(**k)[0].node.behind)),
    *shows(optim.Optimizer.step, "loss", "a loss", stepped, np.array([-1.0, -1.0], "float32")),
    *shows(optim.Optimizer.step, "retain_graph", True, lambda **k: again("step", **k)),
    *shows(optim.Optimizer.backward, "retain_graph", True, lambda **k: again("backward", **k)),
    *shows(optim.Optimizer.clip_grad_norm, "norm_type", 1.0, clipped, np.float32(7)),
    *shows(optim.Optimizer.zero_grad, "set_to_none", False, forgotten, np.zeros(2, "float32")),
]  # fmt: skip

ROWS = [
    *(row for name in SETTINGS for row in rule(name)),
    *averages(),
    *lambs(),
    *lookaheads(),
    *directions(),
    *METHODS,
]
