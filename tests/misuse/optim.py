"""Wrong calls of optimizers and schedules: what is asked of them, and what they answer."""

import math

import jt_edu as jt
from jt_edu import optim


def w():
    return [jt.array([1.0, 2.0])]


def sgd(**settings):
    return optim.SGD(w(), lr=0.1, **settings)


def graded():
    optimizer = sgd()
    (optimizer.param_groups[0]["params"][0] ** 2).sum().backward()
    return optimizer


def changed(name, value):
    """A step after a setting was spoilt."""
    p = w()
    optimizer = optim.Adam(p, lr=0.1)
    optimizer.param_groups[0][name] = value
    optimizer.step((p[0] * p[0]).sum())


CALLS = [
    ("parameters that nobody called", lambda: optim.SGD(w, 0.1), jt.ArgumentError, r"Try: model\.parameters\(\)"),
    ("a rate is a number", lambda: optim.Adam(w(), lr="fast"), jt.ArgumentError, "'fast'"),
    ("a rate is not negative", lambda: optim.RMSprop(w(), lr=-0.5), jt.ArgumentError, "-0.5"),
    ("a rate is finite", lambda: optim.SGD(w(), lr=math.inf), jt.ArgumentError,
     "SGD takes lr as a finite number from 0; found lr=inf"),
    ("a rate is not nan", lambda: optim.Adagrad(w(), lr=math.nan), jt.ArgumentError, "nan"),
    ("betas are below 1", lambda: optim.NAdam(w(), betas=(0.9, 1.0)), jt.ArgumentError, r"\(0.9, 1.0\)"),
    ("there are two betas", lambda: optim.RAdam(w(), betas=(0.9,)), jt.ArgumentError, r"\(0.9,\)"),
    ("betas are numbers", lambda: optim.Adamax(w(), betas=(0.9, None)), jt.ArgumentError, "None"),
    ("eps is not negative", lambda: optim.Adadelta(w(), eps=-1e-3), jt.ArgumentError, "-0.001"),
    ("alpha is at most 1", lambda: optim.RMSprop(w(), alpha=1.5), jt.ArgumentError, "1.5"),
    ("rho is at most 1", lambda: optim.Adadelta(w(), rho=2), jt.ArgumentError, "from 0 to 1; found rho=2"),
    ("an accumulator starts from 0 on", lambda: optim.Adagrad(w(), initial_accumulator_value=-1),
     jt.ArgumentError, "-1"),
    ("etas are around 1", lambda: optim.Rprop(w(), etas=(1.2, 0.5)), jt.ArgumentError, r"\(1.2, 0.5\)"),
    ("step sizes are in order", lambda: optim.Rprop(w(), step_sizes=(5.0, 1.0)), jt.ArgumentError, r"\(5.0, 1.0\)"),
    ("amsgrad is a flag", lambda: optim.Adam(w(), amsgrad=2), jt.ArgumentError, "True or False; found amsgrad=2"),
    ("maximize is a flag", lambda: optim.ASGD(w(), maximize="yes"), jt.ArgumentError, "'yes'"),
    ("momentum_decay is not negative", lambda: optim.NAdam(w(), momentum_decay=-2), jt.ArgumentError, "-2"),
    ("t0 is not negative", lambda: optim.ASGD(w(), t0=-7), jt.ArgumentError, "-7"),
    ("a rule takes floats", lambda: optim.LAMB([jt.array([1, 2])]), jt.DtypeError, "int64"),
    ("Lookahead wraps an optimizer", lambda: optim.Lookahead(w()), jt.ArgumentError, "list"),
    ("Lookahead wraps an optimizer with a rule for each parameter",
     lambda: optim.Lookahead(optim.LBFGS(w())), jt.ArgumentError,
     "found LBFGS, which moves all parameters as one"),
    ("Lookahead waits a step or more", lambda: optim.Lookahead(sgd(), k=0), jt.ArgumentError, "found k=0"),
    ("Lookahead follows at most all the way", lambda: optim.Lookahead(sgd(), alpha=1.5), jt.ArgumentError, "1.5"),
    ("a setting spoilt later is seen", lambda: changed("eps", -4), jt.ArgumentError, "-4"),
    ("betas spoilt later are seen", lambda: changed("betas", 0.9), jt.ArgumentError, "0.9"),
    ("a flag spoilt later is seen", lambda: changed("amsgrad", "no"), jt.ArgumentError, "'no'"),
    ("a group holds known settings", lambda: sgd().add_param_group({"params": w(), "rate": 1}),
     jt.ArgumentError, "rate"),
    ("a group holds parameters", lambda: sgd().add_param_group({"params": []}), jt.ArgumentError, "an empty list"),
    ("a group holds a list", lambda: optim.SGD([{"params": 5}], lr=0.1), jt.ArgumentError, r"found int.*\[w, b\]"),
    ("a group does not hold a module", lambda: optim.SGD([{"params": jt.nn.Linear(1, 1)}], lr=0.1),
     jt.ArgumentError, r"found Linear. Try: model\.parameters\(\)"),
    ("a loss is a Var", lambda: sgd().step(0.25), jt.ArgumentError, "float"),
    ("a closure returns the loss", lambda: sgd().step(lambda: 3), jt.ArgumentError, "int"),
    ("a loss depends on the parameters", lambda: sgd().step(jt.ones(2).sum()),
     jt.GradientError, "was not computed from"),
    ("a norm is not negative", lambda: graded().clip_grad_norm(-2), jt.ArgumentError, "-2"),
    ("a norm has a positive power", lambda: graded().clip_grad_norm(1, -3), jt.ArgumentError, "-3"),
    ("a limit is not negative", lambda: graded().clip_grad_value(-5), jt.ArgumentError, "-5"),
    ("only gradients are clipped", lambda: sgd().clip_grad_value(1), jt.GradientError, "0 gradients"),
    ("set_to_none is a flag", lambda: sgd().zero_grad("all"), jt.ArgumentError, "'all'"),
    ("a state is that of an optimizer", lambda: sgd().load_state_dict([1]), jt.ArgumentError, "list"),
    ("a state fits the shapes", lambda: optim.Adam(w()).load_state_dict(optim.Adam([jt.ones(3)]).state_dict()),
     jt.ShapeError, r"\(3,\) for \(2,\)"),
    ("a state is of the same rule", lambda: sgd().load_state_dict(optim.Adam(w()).state_dict()),
     jt.ShapeError, "betas"),
    ("LBFGS needs a function", lambda: optim.LBFGS(w()).step(jt.ones(1).sum()), jt.ArgumentError, "Var"),
    ("LBFGS steps with a function", lambda: optim.LBFGS(w()).step(), jt.ArgumentError, "found no function. Try: step"),
    ("LBFGS has one group", lambda: optim.LBFGS([{"params": w()}, {"params": w()}]), jt.ArgumentError, "a second one"),
    ("LBFGS knows one line search", lambda: optim.LBFGS(w(), line_search_fn="armijo"), jt.ArgumentError, "'armijo'"),
    ("LBFGS keeps a move or more", lambda: optim.LBFGS(w(), history_size=0), jt.ArgumentError, "found history_size=0"),
    ("LBFGS takes whole numbers of steps", lambda: optim.LBFGS(w(), max_iter=2.5), jt.ArgumentError, "2.5"),
    ("a state of LBFGS has a memory", lambda: optim.LBFGS(w()).load_state_dict(sgd().state_dict()),
     jt.ArgumentError, "dict"),
    ("a schedule is for an optimizer", lambda: optim.LinearLR(w()), jt.ArgumentError, "list"),
    ("an epoch is a number", lambda: optim.StepLR(sgd(), 2).step("next"), jt.ArgumentError, "'next'"),
    ("the last epoch is whole", lambda: optim.StepLR(sgd(), 2, last_epoch=1.5), jt.ArgumentError, "1.5"),
    ("step_size is whole", lambda: optim.StepLR(sgd(), 2.5), jt.ArgumentError, "2.5"),
    ("milestones are a list", lambda: optim.MultiStepLR(sgd(), 30), jt.ArgumentError, "30"),
    ("milestones are whole", lambda: optim.MultiStepLR(sgd(), [1.5]), jt.ArgumentError, "1.5"),
    ("gamma is not negative", lambda: optim.ExponentialLR(sgd(), -0.1), jt.ArgumentError, "-0.1"),
    ("a factor is at most 1", lambda: optim.ConstantLR(sgd(), factor=3), jt.ArgumentError,
     "ConstantLR takes factor.*found factor=3"),
    ("a line starts above 0", lambda: optim.LinearLR(sgd(), start_factor=0), jt.ArgumentError,
     "above 0 to 1.*start_factor=0"),
    ("a line has a length", lambda: optim.LinearLR(sgd(), total_iters=0), jt.ArgumentError, "found total_iters=0"),
    ("a power is a number", lambda: optim.PolynomialLR(sgd(), power="two"), jt.ArgumentError, "'two'"),
    ("T_max is an epoch or more", lambda: optim.CosineAnnealingLR(sgd(), 0), jt.ArgumentError, "found T_max=0"),
    ("T_mult is whole", lambda: optim.CosineAnnealingWarmRestarts(sgd(), 2, 1.5), jt.ArgumentError, "1.5"),
    ("cycles do not become shorter", lambda: optim.CosineLR(sgd(), 5, cycle_mul=0.5), jt.ArgumentError, "0.5"),
    ("there is a function for each group", lambda: optim.LambdaLR(sgd(), [math.sin] * 3), jt.ArgumentError, "1 group;"),
    ("a function is a function", lambda: optim.MultiplicativeLR(sgd(), 0.5), jt.ArgumentError, "0.5"),
    ("one cycle has a length", lambda: optim.OneCycleLR(sgd(), 0.1, epochs=3),
     jt.ArgumentError, "found epochs=3"),
    ("one cycle knows two ways", lambda: optim.OneCycleLR(sgd(), 0.1, 9, anneal_strategy="log"),
     jt.ArgumentError, "'log'"),
    ("one cycle goes up in a part", lambda: optim.OneCycleLR(sgd(), 0.1, 9, pct_start=1.2), jt.ArgumentError, "1.2"),
    ("momentum is cycled where there is some", lambda: optim.OneCycleLR(optim.Adagrad(w()), 0.1, 9), jt.ArgumentError,
     "Adagrad"),
    ("a cycle has a mode", lambda: optim.CyclicLR(sgd(), 0.1, 1, mode="square"), jt.ArgumentError, "'square'"),
    ("a scale is a function", lambda: optim.CyclicLR(sgd(), 0.1, 1, scale_fn=2), jt.ArgumentError, "scale_fn=2"),
    ("a way of a scale is looked at without a scale", lambda: optim.CyclicLR(sgd(), 0.1, 1, scale_mode="epochs"),
     jt.ArgumentError, "'cycle', 'iterations'; found scale_mode='epochs'"),
    ("a way of a scale needs a scale", lambda: optim.CyclicLR(sgd(), 0.1, 1, scale_mode="iterations"),
     jt.ArgumentError, "found scale_mode='iterations' without one"),
    ("a mode is looked at beside a scale", lambda: optim.CyclicLR(sgd(), 0.1, 1, mode="x", scale_fn=abs),
     jt.ArgumentError, "mode='x'"),
    ("a mode and a scale are one too many", lambda: optim.CyclicLR(sgd(), 0.1, 1, mode="triangular2", scale_fn=abs),
     jt.ArgumentError, "in the place of a mode"),
    ("gamma is for one mode", lambda: optim.CyclicLR(sgd(), 0.1, 1, gamma=0.5), jt.ArgumentError,
     "'exp_range' only; found gamma=0.5 with mode='triangular'"),
    ("gamma is not for a scale", lambda: optim.CyclicLR(sgd(), 0.1, 1, gamma=0.5, scale_fn=abs), jt.ArgumentError,
     "found gamma=0.5 with scale_fn"),
    ("one cycle has one length", lambda: optim.OneCycleLR(sgd(), 0.1, 9, epochs=3, steps_per_epoch=3),
     jt.ArgumentError, "found total_steps=9, epochs=3, steps_per_epoch=3"),
    ("a schedule of schedules starts at an epoch", lambda: optim.SequentialLR((o := sgd()), [optim.StepLR(o, 1)], [],
     last_epoch="x"), jt.ArgumentError, "SequentialLR takes last_epoch as a whole number from -1; found .*'x'"),
    ("a cycle takes steps", lambda: optim.CyclicLR(sgd(), 0.1, 1, step_size_down=0), jt.ArgumentError,
     "found step_size_down=0"),
    ("a plateau is of numbers", lambda: optim.ReduceLROnPlateau(sgd()).step("low"), jt.ArgumentError, "'low'"),
    ("a plateau makes rates smaller", lambda: optim.ReduceLROnPlateau(sgd(), factor=1.0), jt.ArgumentError, "1.0"),
    ("patience is whole", lambda: optim.ReduceLROnPlateau(sgd(), patience=-1), jt.ArgumentError, "-1"),
    ("a sequence has milestones", lambda: optim.SequentialLR(o := sgd(), [optim.StepLR(o, 2)], [3]), jt.ArgumentError,
     r"\[3\]"),
    ("a chain is of schedules", lambda: optim.ChainedScheduler([sgd()]), jt.ArgumentError, "SGD"),
    ("a chain is of one optimizer", lambda: optim.ChainedScheduler([optim.StepLR(sgd(), 2), optim.StepLR(sgd(), 2)]),
     jt.ArgumentError, "of another"),
    ("a chain is of the optimizer that is given", lambda: optim.ChainedScheduler([optim.StepLR(sgd(), 2)], sgd()),
     jt.ArgumentError, "StepLR of another"),
    ("a chain is not empty", lambda: optim.ChainedScheduler([]), jt.ArgumentError, r"found \[\]"),
    ("a plateau is no part of a chain",
     lambda: optim.ChainedScheduler([optim.ReduceLROnPlateau(sgd())]), jt.ArgumentError, "ReduceLROnPlateau"),
]  # fmt: skip
