"""Schedules: the settings of tests/optim/test_schedules.py, each of them also left out; and where they start."""

import inspect
import math
import warnings

import jt_edu as jt
from jt_edu import optim
from jt_edu.optim import lr_scheduler
from tests.arguments.rows import Row, shows
from tests.floors.optim.test_optim import PLATEAUS
from tests.optim.test_schedules import SETTINGS, ours, picture, theirs, warm

EPOCHS = 20


def rates(schedule, optimizer, epochs=EPOCHS) -> list:
    """What it sets, epoch by epoch."""
    seen = [picture(optimizer)]
    for _ in range(epochs):
        schedule.step()
        seen.append(picture(optimizer))
    return seen


def of_torch(torch, name, **given) -> list:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        optimizer = theirs(torch, momentum=0.7)
        return rates(getattr(torch.optim.lr_scheduler, name)(optimizer, **given), optimizer)


def of_ours(name, **given) -> list:
    optimizer = ours(momentum=0.7)
    return rates(getattr(optim, name)(optimizer, **given), optimizer)


def settings(name: str) -> list[Row]:
    """A row for each setting, from the first case that tries it."""
    kind, (base, cases) = getattr(optim, name), SETTINGS[name]
    defaults = {p.name: p.default for p in inspect.signature(kind).parameters.values() if p.default is not p.empty}
    rows: dict[str, Row] = {}
    for case in cases:
        given = {**base, **case}
        for word in {**case, **base}:
            if word in defaults and word not in rows and defaults[word] != given[word]:
                rest = {n: v for n, v in given.items() if n != word}
                rows[word] = Row(
                    kind, word, given[word],
                    lambda rest=rest, **named: of_ours(name, **rest, **named),
                    lambda torch, given=given: of_torch(torch, name, **given),
                )  # fmt: skip
    return [*rows.values(), *started(kind, {**base, **cases[0]})]


def started(kind, given) -> list[Row]:
    """From the middle: the epoch after `last_epoch` comes next, and not the first."""
    return shows(kind, "last_epoch", 7, lambda **named: kind(ours(momentum=0.7), **given, **named).last_epoch, 8)


# ------------------------------------------------------------------------------------------------------- with a formula

WARM = {
    "lr_min": (0.05, {"low": 0.05}), "cycle_mul": (1.5, {"mul": 1.5, "limit": 3}),
    "cycle_decay": (0.5, {"decay": 0.5, "limit": 3}), "cycle_limit": (3, {"limit": 3}), "warmup_t": (4, {"warmup": 4}),
    "warmup_lr_init": (0.01, {"start": 0.01, "warmup": 4}), "warmup_prefix": (True, {"prefix": True, "warmup": 4}),
    "k_decay": (1.5, {"k": 1.5}),
}  # fmt: skip
BESIDE = {"limit": "cycle_limit", "warmup": "warmup_t"}


def cosines() -> list[Row]:
    rows = started(optim.CosineLR, {"t_initial": 10})
    for word, (value, told) in WARM.items():
        rest = {BESIDE[n]: v for n, v in told.items() if BESIDE.get(n, word) != word}

        def ask(rest=rest, **given):
            optimizer = ours()
            schedule = optim.CosineLR(optimizer, 5, **rest, **given)
            return [group[0][0] for group in rates(schedule, optimizer)]

        def fact(torch, told=told):
            return [warm(0.5, t, **{"n": 5, **told}) for t in range(EPOCHS + 1)]

        rows += shows(optim.CosineLR, word, value, ask, fact)
    return rows


# ------------------------------------------------------------------------------------------------------------- plateaus


def plateau(module, optimizer, **given) -> list:
    schedule = module.ReduceLROnPlateau(optimizer, **given)
    seen = []
    for epoch in range(40):
        schedule.step(math.cos(epoch / 5) + 0.3 * math.sin(7 * epoch))
        seen.append([group["lr"] for group in optimizer.param_groups])
    return seen


def plateaus() -> list[Row]:
    rows: dict[str, Row] = {}
    for case in (*PLATEAUS, {"patience": 0, "factor": 0.9, "eps": 0.02}):
        for word, value in case.items():
            rest = {n: v for n, v in case.items() if n != word}
            rows.setdefault(word, Row(
                optim.ReduceLROnPlateau, word, value,
                lambda rest=rest, **named: plateau(optim, ours(), **rest, **named),
                lambda torch, case=case: plateau(torch.optim.lr_scheduler, theirs(torch), **case),
            ))  # fmt: skip
    return list(rows.values())


# ------------------------------------------------------------------------------------ bases, and schedules of schedules


class Swing(lr_scheduler.Cycling):
    """One of a learner's own."""

    cycle_momentum = True

    def rates(self):
        return [0.1 * self.last_epoch] * 2

    def momenta(self):
        return [0.01 * self.last_epoch] * 2


class Halve(lr_scheduler.Scaled):
    """Another one."""

    def share(self, epoch):
        return 0.5**epoch


class Fall(optim.LRScheduler):
    """And a third."""

    def rate(self, base, epoch):
        return base / (1 + epoch)


def jumped(make):
    """The rates after a step to an epoch, or to the next one."""

    def ask(**given):
        optimizer = ours(momentum=0.7)
        schedule = make(optimizer)
        schedule.step(**given)
        return picture(optimizer)

    return ask


def walked(make, epochs):
    """The rates that a schedule comes to epoch by epoch."""

    def fact(torch):
        optimizer = ours(momentum=0.7)
        return rates(make(optimizer), optimizer, epochs)[-1]

    return fact


def parts(optimizer):
    return [Fall(optimizer), Fall(optimizer)]


def one_after_another(optimizer, **given):
    return optim.SequentialLR(optimizer, parts(optimizer), [3], **given)


def all_at_once(optimizer):
    return optim.ChainedScheduler([Fall(optimizer)])


def chained(**given):
    """A chain that is told another optimizer than its parts have."""
    return optim.ChainedScheduler([Fall(jt_optimizer())], **{name: jt_optimizer() for name in given})


def jt_optimizer():
    return optim.SGD([jt.zeros(1)], lr=1.0)


def _refused(**given) -> bool:
    try:
        chained(**given)
    except jt.ArgumentError:
        return True
    return False


BASES = [
    *started(Fall, {}),
    *(row for kind, own in ((lr_scheduler.Cycling, Swing), (lr_scheduler.Scaled, Halve), (optim.LRScheduler, Fall))
      for row in shows(kind, "last_epoch", 7, lambda own=own, **k: own(ours(), **k).last_epoch, 8)),
    *shows(optim.SequentialLR, "last_epoch", 7, lambda **k: one_after_another(ours(), **k).last_epoch, 8),
    *shows(optim.LRScheduler.step, "epoch", 5, jumped(Fall), walked(Fall, 5)),
    *shows(lr_scheduler.Cycling.step, "epoch", 5, jumped(Swing), walked(Swing, 5)),
    *shows(optim.SequentialLR.step, "epoch", 5, jumped(one_after_another), walked(one_after_another, 5)),
    *shows(optim.ChainedScheduler.step, "epoch", 5, jumped(all_at_once), walked(all_at_once, 5)),
    *shows(optim.ChainedScheduler, "optimizer", "another one", _refused),
]  # fmt: skip

ROWS = [*(row for name in SETTINGS for row in settings(name)), *cosines(), *plateaus(), *BASES]
