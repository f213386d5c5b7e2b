"""Mixed precision: dtypes, lists and devices of regions; what a Function of one's own is given."""

import jt_edu as jt
from tests.arguments.rows import refuses, shows

amp = jt.amp


def _product(**given):
    with amp.autocast(**given):
        return str((jt.ones(1, 1) @ jt.ones(1, 1)).dtype)


def _power(**given):
    with amp.autocast(**given):
        return str((jt.ones(1).half() ** 2).dtype)


def _casts(**given):
    w = jt.array([[1.0]])
    with jt.trace() as t, amp.autocast(**given):
        _ = w @ w.half(), w @ w.half()
    return sum(b.inputs == (w.node.id,) and b.dtype == "bfloat16" for b in t.built)


def _forward(**given):
    seen = []

    class Noted(jt.Function):
        @amp.custom_fwd(**given)
        def execute(self, x):
            seen.append(str(x.dtype))
            return x * 1

    with amp.autocast():
        Noted.apply(jt.ones(1).half())
    return seen


def _decorates(make, fwd):
    return lambda **given: callable(make(**given)) and getattr(make(**given), "__wrapped__", None) is fwd


def _plain(self, x):
    return x


ROWS = [
    *refuses(amp.autocast, "device_type", "cuda", _product),
    *shows(amp.autocast, "dtype", "float16", _product, "float16"),
    *shows(amp.autocast, "enabled", False, _product, "float32"),
    *shows(amp.autocast, "cache_enabled", False, _casts, 2),
    *shows(amp.autocast, "lists", "apex", _power, "float32"),
    *refuses(amp.is_autocast_enabled, "device_type", "cudda", amp.is_autocast_enabled),
    *refuses(amp.get_autocast_dtype, "device_type", "cudda", amp.get_autocast_dtype),
    *shows(amp.custom_fwd, "fwd", _plain, _decorates(amp.custom_fwd, _plain)),
    *refuses(amp.custom_fwd, "device_type", "cudda", amp.custom_fwd),
    *shows(amp.custom_fwd, "cast_inputs", "float32", _forward, ["float32"]),
    *shows(amp.custom_bwd, "bwd", _plain, _decorates(amp.custom_bwd, _plain)),
    *refuses(amp.custom_bwd, "device_type", "cudda", amp.custom_bwd),
]
