"""Loss scales, in PyTorch's words and in Apex's; and the levels."""

import contextlib
import io
import warnings

import numpy as np

import jt_edu as jt
from jt_edu import amp, nn
from jt_edu.base.context import current
from tests.arguments.rows import Given, Row, refuses, shows

F16, F32 = "float16", "float32"


def clean(ask):
    """An answer after which nothing is cast, and no level is chosen."""

    def call(**given):
        try:
            return ask(**given)
        finally:
            amp.init(enabled=False)
            current().rank_state.pop("amp", None)

    return call


def apex(whose, name, value, ask, fact=True):
    """A row about a fact, after which nothing is cast."""
    value, others = (value.value, value.others) if isinstance(value, Given) else (value, {})
    return shows(whose, name, value, clean(lambda **given: ask(**others, **given)), fact)


# GradScaler


def one(**given):
    """A parameter, its optimizer, and a scaler."""
    w = jt.array([1.0])
    return w, jt.optim.SGD([w], lr=0.25), amp.GradScaler(**given)


def states(overflows, **given):
    """The scale after each step."""
    _, sgd, scaler = one(**{"init_scale": 64.0, "growth_interval": 2, **given})
    scales = []
    for overflow in overflows:
        scaler.step(sgd, sgd.param_groups[0]["params"][0].sum() * (jt.inf if overflow else 1.0))
        scaler.update()
        scales.append(scaler.get_scale())
    return scales


def scaled_step(**given):
    """Where a step ends that was given a loss, or none."""
    w, sgd, scaler = one()
    scaler.scale(w.sum()).backward()
    scaler.step(sgd, **{name: (w * w).sum() for name in given})
    return w.item()


def kept(call, **given):
    """Whether a loss can be used once more after a step."""
    w = jt.array([1.0])
    loss = (w * w).sum()
    call(w, loss, **given)
    return bool(loss.node.behind)


def plain_step(w, loss, **given):
    amp.GradScaler(enabled=False).step(jt.optim.SGD([w], lr=0.25), loss, **given)


def updated(**given):
    _, _, scaler = one()
    scaler._found["an optimizer"] = True
    scaler.update(**given)
    return scaler.get_scale()


SCALER = [
    *refuses(amp.GradScaler, "device", "cuda", amp.GradScaler),
    *shows(amp.GradScaler, "init_scale", 4.0, lambda **k: amp.GradScaler(**k).get_scale(), 4.0),
    *shows(amp.GradScaler, "growth_factor", 4.0, lambda **k: states([False, False], **k), [64.0, 256.0]),
    *shows(amp.GradScaler, "backoff_factor", 0.25, lambda **k: states([True], **k), [16.0]),
    *shows(amp.GradScaler, "growth_interval", 1, lambda **k: states([False], **k), [128.0]),
    *shows(amp.GradScaler, "enabled", False, lambda **k: amp.GradScaler(**k).scale(jt.array(1.0)).item(), 1.0),
    *shows(amp.GradScaler.step, "loss", "a loss", scaled_step, 0.25),
    *shows(amp.GradScaler.step, "retain_graph", True, lambda **k: kept(plain_step, **k)),
    *shows(amp.GradScaler.update, "new_scale", 8.0, updated, 8.0),
]


# initialize


def level(opt_level="O2", **given):
    """A model and its optimizer."""
    jt.seed(0)
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    sgd = jt.optim.SGD(net.parameters(), lr=0.25)
    amp.initialize(net, sgd, **{"opt_level": opt_level, "verbosity": 0, **given})
    return net, sgd


def dtypes(**given):
    """Of a weight, of batch norm, and of a master."""
    net, sgd = level(**given)
    return [str(v.dtype) for v in (net[0].weight, net[1].weight, sgd.param_groups[0]["params"][0])]


def trace(overflows, **given):
    """The scale after each step."""
    net, sgd = level(**given)
    scales = []
    for overflow in overflows:
        sgd.step(net(jt.ones(2, 2)).mean() * (jt.inf if overflow else 1e-3))
        scales.append(amp.state_dict()["loss_scaler0"]["loss_scale"])
    return scales


def told(**given):
    """How many lines are printed."""
    with contextlib.redirect_stdout(io.StringIO()) as out, warnings.catch_warnings():
        amp.initialize(nn.Linear(1, 1), **given)
    return len(out.getvalue().splitlines())


def without_optimizers(**given):
    found = amp.initialize(nn.Linear(1, 1), verbosity=0, **given)
    return isinstance(found, tuple)


def product(**given):
    """In which dtype a product is computed."""
    level("O1", **given)
    return str((jt.ones(2, 2) @ jt.ones(2, 2)).dtype)


def output(**given):
    net, _ = level(**given)
    return str(net(jt.ones(2, 2)).dtype)


INITIALIZE = [
    *apex(amp.initialize, "optimizers", jt.optim.SGD([jt.ones(1)], lr=0.1), without_optimizers),
    *apex(amp.initialize, "enabled", False, dtypes, [F32, F32, F32]),
    *shows(amp.initialize, "opt_level", "O3", clean(lambda **k: str(
        amp.initialize(nn.Linear(1, 1), verbosity=0, **k).weight.dtype)), F16),
    *apex(amp.initialize, "cast_model_type", "bfloat16", dtypes, ["bfloat16", F32, F32]),
    *apex(amp.initialize, "patch_torch_functions", False, product, F32),
    *apex(amp.initialize, "keep_batchnorm_fp32", False, dtypes, [F16, F16, F32]),
    *apex(amp.initialize, "master_weights", False, dtypes, [F16, F32, F16]),
    *apex(amp.initialize, "loss_scale", 8.0, lambda **k: trace([True], **k), [8.0]),
    *apex(amp.initialize, "cast_model_outputs", F16, output, F16),
    *shows(amp.initialize, "num_losses", 2, clean(lambda **k: level(**k) and len(amp.state_dict())), 2),
    *apex(amp.initialize, "verbosity", 0, told, 0),
    *apex(amp.initialize, "min_loss_scale", 2.0**15, lambda **k: trace([True, True], **k), [2.0**15, 2.0**15]),
    *apex(amp.initialize, "max_loss_scale", 16.0, lambda **k: trace([False], **k), [16.0]),
]  # fmt: skip


# scale_loss, init, FP16_Optimizer


def by_number(**given):
    """The scales after an overflow."""
    net, sgd = level(num_losses=2)
    with amp.scale_loss(net(jt.ones(2, 2)).mean() * jt.inf, sgd, **given) as scaled:
        scaled.backward()
    return [s["loss_scale"] for s in amp.state_dict().values()]


def delayed(**given):
    """Whether a step may follow."""
    net, sgd = level()
    with amp.scale_loss(net(jt.ones(2, 2)).mean(), sgd, **given) as scaled:
        scaled.backward()
    return sgd._amp.aside is not None


def banned(**given):
    amp.init(**given)
    try:
        nn.functional.binary_cross_entropy(jt.array([0.5]).half(), jt.array([1.0]))
    except jt.DtypeError:
        return False
    return True


def printed(**given):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        amp.init(**given)
        jt.ones(2, 2) @ jt.ones(2, 2)
    return bool(out.getvalue())


def kept_casts(**given):
    amp.init(**given)
    net = nn.Linear(2, 2)
    net(jt.ones(1, 2))
    return len(current().threads.now.autocast.kept) > 0


def half(**given):
    """A float16 parameter and its FP16_Optimizer."""
    w = jt.array([1.0], F16)
    return w, amp.FP16_Optimizer(jt.optim.SGD([w], lr=0.25), **{"verbose": False, **given})


def overflowed(**given):
    """What is told of a step that is left out."""
    w = jt.array([1.0], F16)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        amp.FP16_Optimizer(jt.optim.SGD([w], lr=0.25), dynamic_loss_scale=True, **given).step((w * jt.inf).sum())
    return out.getvalue()


def waiting(**given):
    """Whether the masters wait for their gradients."""
    w, optimizer = half()
    optimizer.backward(w.sum(), **given)
    return optimizer.param_groups[0]["params"][0].grad is None


def clipped(**given):
    w = jt.array([3.0, 4.0], F16)
    optimizer = amp.FP16_Optimizer(jt.optim.SGD([w], lr=0.25))
    optimizer.backward((w * w / 2).sum())
    return optimizer.clip_master_grads(1.0, **given).item()


def forgotten(**given):
    w, optimizer = half()
    optimizer.backward(w.sum())
    optimizer.zero_grad(**given)
    return w.grad


def stepped(**given):
    w, optimizer = half()
    optimizer.backward(w.sum())
    optimizer.step(**{name: (w * 2).sum() for name in given})
    return w.item()


def backwards(w, loss, **given):
    amp.FP16_Optimizer(jt.optim.SGD([w], lr=0.25), static_loss_scale=8.0).backward(loss, **given)


OTHERS: list[Row] = [
    *shows(amp.scale_loss, "loss_id", 1, clean(by_number), [2.0**16, 2.0**15]),
    *shows(amp.scale_loss, "delay_unscale", True, clean(delayed)),
    *shows(amp.init, "enabled", False, clean(lambda **k: amp.init(**k).is_active()), False),
    *shows(amp.init, "loss_scale", 8.0, clean(lambda **k: amp.init(**k)._scaler.scale), 8.0),
    *shows(amp.init, "enable_caching", False, clean(kept_casts), False),
    *shows(amp.init, "verbose", True, clean(printed)),
    *shows(amp.init, "allow_banned", True, clean(banned)),
    *shows(amp.FP16_Optimizer, "static_loss_scale", 8.0, lambda **k: half(**k)[1].loss_scale, 8.0),
    *shows(amp.FP16_Optimizer, "dynamic_loss_scale", True, lambda **k: half(**k)[1].loss_scale, 2.0**32),
    *shows(amp.FP16_Optimizer, "dynamic_loss_args", {"init_scale": 4.0},
           lambda **k: half(dynamic_loss_scale=True, **k)[1].loss_scale, 4.0),
    *shows(amp.FP16_Optimizer, "verbose", False, overflowed, ""),
    *shows(amp.FP16_Optimizer.backward, "update_master_grads", False, waiting),
    *shows(amp.FP16_Optimizer.backward, "retain_graph", True, lambda **k: kept(backwards, **k)),
    *shows(amp.FP16_Optimizer.clip_master_grads, "norm_type", 1.0, clipped, 7.0),
    *shows(amp.FP16_Optimizer.zero_grad, "set_to_none", False, forgotten, np.zeros(1, F16)),
    *shows(amp.FP16_Optimizer.step, "closure", "a loss", stepped, 0.25),
]  # fmt: skip

ROWS = [*SCALER, *INITIALIZE, *OTHERS]
