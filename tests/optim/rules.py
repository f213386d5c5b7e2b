"""Every optimizer with every setting: what the tests of this folder run through."""

import numpy as np

from jt_edu import optim

# For each rule: settings that all its cases share, and the settings that are tried, one by one.
SETTINGS = {
    "SGD": ({"lr": 0.01}, [
        {"lr": 0.02}, {"momentum": 0.9}, {"weight_decay": 0.1}, {"momentum": 0.9, "dampening": 0.3},
        {"momentum": 0.8, "nesterov": True}, {"maximize": True, "lr": 1e-4},
        {"momentum": 0.8, "nesterov": True, "weight_decay": 0.01},
    ]),
    "ASGD": ({"lr": 0.01, "t0": 3.0}, [
        {"lr": 0.02}, {"lambd": 0.5}, {"alpha": 0.2, "lambd": 2.0}, {"t0": 10.0}, {"weight_decay": 0.1},
        {"maximize": True, "lr": 1e-4},
    ]),
    "Adam": ({"lr": 0.02}, [
        {}, {"lr": 0.01}, {"betas": (0.5, 0.7)}, {"eps": 0.3}, {"weight_decay": 0.2},
        {"amsgrad": True, "betas": (0.5, 0.6)}, {"maximize": True},
        {"weight_decay": 0.2, "decoupled_weight_decay": True},
    ]),
    "AdamW": ({"lr": 0.02}, [
        {}, {"lr": 0.01}, {"weight_decay": 0.5}, {"betas": (0.8, 0.9)}, {"eps": 0.2},
        {"amsgrad": True, "betas": (0.5, 0.6)},
        {"maximize": True},
    ]),
    "Adamax": ({"lr": 0.02}, [
        {"lr": 0.01}, {"betas": (0.5, 0.9)}, {"eps": 0.3}, {"weight_decay": 0.2}, {"maximize": True},
    ]),
    "NAdam": ({"lr": 0.02}, [
        {}, {"lr": 0.01}, {"betas": (0.5, 0.7)}, {"eps": 0.3}, {"weight_decay": 0.2}, {"momentum_decay": 0.3},
        {"weight_decay": 0.2, "decoupled_weight_decay": True}, {"maximize": True}, {"betas": (0.0, 0.9)},
    ]),
    "RAdam": ({"lr": 0.02}, [
        {}, {"lr": 0.01}, {"betas": (0.5, 0.7)}, {"betas": (0.9, 0.99)}, {"eps": 0.3}, {"weight_decay": 0.2},
        {"weight_decay": 0.2, "decoupled_weight_decay": True}, {"maximize": True, "lr": 1e-3},
    ]),
    "RMSprop": ({"lr": 0.01}, [
        {}, {"lr": 0.02}, {"alpha": 0.7}, {"eps": 0.3}, {"weight_decay": 0.2}, {"momentum": 0.8}, {"centered": True},
        {"centered": True, "momentum": 0.5, "weight_decay": 0.1, "alpha": 0.9}, {"maximize": True},
    ]),
    "Rprop": ({"lr": 0.05}, [
        {}, {"lr": 0.02}, {"etas": (0.3, 1.5)}, {"step_sizes": (0.01, 0.03)},
        {"maximize": True, "step_sizes": (0.01, 0.03)},
    ]),
    "Adagrad": ({"lr": 0.05}, [
        {}, {"lr": 0.02}, {"lr_decay": 0.2}, {"weight_decay": 0.2}, {"initial_accumulator_value": 0.7}, {"eps": 0.3},
        {"maximize": True},
    ]),
    "Adadelta": ({"lr": 1.0}, [
        {}, {"lr": 0.5}, {"rho": 0.5}, {"eps": 1e-2}, {"weight_decay": 0.2}, {"maximize": True},
    ]),
}  # fmt: skip

CASES = {f"{rule} {case}": (rule, {**base, **case}) for rule, (base, cases) in SETTINGS.items() for case in cases}

# Rules that PyTorch has not, with a number for every setting.
OWN = {
    "LAMB": lambda p: optim.LAMB(p, lr=0.02, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1),
    "Lookahead": lambda p: optim.Lookahead(optim.Adam(p, lr=0.02), alpha=0.7, k=3),
    "Lookahead of NAdam": lambda p: optim.Lookahead(optim.NAdam(p, lr=0.02), alpha=0.5, k=2),
    "groups": lambda p: optim.SGD([{"params": [p[0]], "lr": 0.02}, {"params": [p[1]], "momentum": 0.5}], lr=0.01),
    "groups of Adam": lambda p: optim.Adam(
        [{"params": p[:1], "betas": (0.3, 0.4), "amsgrad": True}, {"params": p[1:], "lr": 0.1}], lr=0.01
    ),
}

MAKERS = {
    **{
        name: lambda p, rule=rule, given=given: getattr(optim, rule)(p, **given)
        for name, (rule, given) in CASES.items()
    },
    **OWN,
}


class Problem:
    """Two parameters and a convex loss, so that rounding does not grow: the same for NumPy, PyTorch and us."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.start = [rng.normal(size=(2, 3)), rng.normal(size=3)]
        self.goal, self.slope = rng.normal(size=(2, 2, 3))

    def loss(self, w, b, like=lambda a: a):
        return ((w * like(self.slope) + b - like(self.goal)) ** 2).sum() + (w * w * w * w).sum()

    def gradients(self, w, b):
        """As NumPy arrays."""
        off = 2 * (w * self.slope + b - self.goal)
        return [off * self.slope + 4 * w**3, off.sum(0)]
