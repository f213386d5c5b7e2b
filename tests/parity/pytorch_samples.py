"""PyTorch's own samples: the inputs with which PyTorch tests its functions, given to ours.

    python -m tests.parity.pytorch_samples fft linalg special       forward and gradient, function by function
    python -m tests.parity.pytorch_samples --complex                complex samples of everything that has a name here

PyTorch keeps a database of its functions, each with some tens of inputs: shapes, flags, odd layouts, batches. An input
is translated word by word (tensors, dtypes, shapes); one that says something that has no meaning here (a device, a
generator) is left out. Forward runs in single precision, gradients run in double, with a random gradient coming in.
What depends on a choice (the sign of an eigenvector) is compared by what PyTorch itself compares.
"""

import functools
import sys
import warnings
import zlib
from dataclasses import dataclass, field

import numpy as np

import jt_edu as jt

FORWARD, BACKWARD = ("float32", "complex64"), ("float64", "complex128")
CLOSE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-8, "complex128": 1e-8}
NOT_VALUES = {  # but shapes, or random numbers
    "bernoulli", "empty", "empty_like", "new_empty", "normal", "rand_like", "randint_like", "randn", "randn_like",
    "uniform",
}  # fmt: skip


def _spread(name):
    """PyTorch divides by n - 1, NumPy, Jittor and jt_edu by n, unless they are told."""

    def asked(x, *args, **named):
        if args and isinstance(args[0], bool):
            named["unbiased"], args = args[0], args[1:]
        if named.get("correction", 0) is None:
            del named["correction"]
        if not {"unbiased", "correction"} & set(named):
            named["correction"] = 1
        return getattr(jt, name)(x, *args, **named)

    return asked


def _gradient(x, spacing=None, dim=None, edge_order=1):
    steps = () if spacing is None else spacing if isinstance(spacing, (list, tuple)) else (spacing,)
    return jt.gradient(x, *steps, **({} if dim is None else {"axis": dim}), edge_order=edge_order)


ADAPTED = {  # PyTorch's words for what is said in another way here
    "polygamma": lambda x, n: jt.polygamma(n, x),
    "where": lambda x, condition, other: jt.where(condition, x, other),
    "einsum": lambda parts, text: jt.einsum(text, *parts),
    "trace": lambda x: jt.Var.trace(x),
    "equal": lambda x, y: x.shape == y.shape and bool((x == y).all()),
    "gradient": _gradient,
    "linalg.lstsq grad_oriented": lambda a, b, driver: jt.linalg.lstsq(a, b, driver=driver)[:2],
    "linalg.pinv singular": lambda a, b: jt.linalg.pinv(a @ b.mT),
    **{name: _spread(name) for name in ("var", "std", "var_mean", "std_mean")},
}


class NoMeaningError(Exception):
    """The sample says something that jt_edu has no word for."""


@functools.cache
def database():
    """Name -> PyTorch's entries for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db  # noqa: PLC0415  takes seconds
    found = {}
    for op in op_db:
        found.setdefault(op.name, []).append(op)
    return found


def ours(name, variant=""):
    """Our function of PyTorch's name, or None."""
    room, _, word = name.rpartition(".")
    for known in (f"{name} {variant}", name, word):
        if known in ADAPTED:
            return ADAPTED[known]
    place = {"fft": jt.fft, "linalg": jt.linalg, "special": jt, "": jt}.get(room) if hasattr(jt, "fft") else jt
    if place is None:
        return None
    found = getattr(place, word, None) or (getattr(jt.Var, word, None) if place is jt else None)
    return found.fget if isinstance(found, property) else found


def translated(torch, value, watch=None):
    """A sample's argument in our words; float tensors are noted in `watch`, as pairs (PyTorch's, ours)."""
    if isinstance(value, torch.Tensor):
        plain = value.detach().resolve_conj().resolve_neg()
        var = jt.array(plain.numpy().copy())
        if watch is not None and value.requires_grad:
            watch.append((value, var))
        return var
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, (torch.device, torch.layout, torch.memory_format, torch.Generator)):
        raise NoMeaningError(repr(value))
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, (list, tuple)):
        return type(value)(translated(torch, v, watch) for v in value)
    if isinstance(value, dict):
        return {k: translated(torch, v, watch) for k, v in value.items()}
    return value


def flat(answer):
    """The arrays of an answer, of ours or of PyTorch's."""
    if isinstance(answer, (list, tuple)):
        return [a for part in answer for a in flat(part)]
    if isinstance(answer, dict):
        return [a for part in answer.values() for a in flat(part)]
    return [answer]


def as_numpy(value):
    if isinstance(value, jt.Var):
        return value.numpy()
    if hasattr(value, "detach"):
        return value.detach().resolve_conj().resolve_neg().numpy()
    return np.asarray(value)


def same(mine, theirs, close):
    """Whether two arrays agree, up to `close` of the largest number in them."""
    a, b = as_numpy(mine), as_numpy(theirs)
    if a.shape != b.shape:
        raise AssertionError(f"shape {a.shape} for {b.shape}")
    if a.size == 0:
        return
    a, b = (v.astype(np.complex128 if np.iscomplexobj(v) else np.float64) for v in (a, b))
    largest = np.abs(b[np.isfinite(b)]).max(initial=1.0)
    np.testing.assert_allclose(a, b, rtol=close, atol=close * largest, equal_nan=True)


def call(torch, op, sample, ours_too):
    """(our answer, PyTorch's, pairs of inputs), both as PyTorch compares them: a symmetric input is kept symmetric."""
    pairs = []
    given = translated(torch, (sample.input, tuple(sample.args), dict(sample.kwargs)), pairs)
    wrap, process = op.gradcheck_wrapper, sample.output_process_fn_grad
    theirs = process(wrap(op, sample.input, *sample.args, **sample.kwargs))
    mine = process(wrap(ours_too, given[0], *given[1], **given[2]))
    return *(_in_order(torch, op.name, v) for v in (mine, theirs)), pairs


def _in_order(torch, name, answer):
    """Eigenvalues by size, since nobody says in which order they come."""
    if name not in ("linalg.eig", "linalg.eigvals"):
        return answer
    values = answer if name == "linalg.eigvals" else answer[0]
    plain = np.round(as_numpy(values), 4)
    order = np.lexsort((plain.imag, plain.real), axis=-1)
    where = jt.array(order) if isinstance(values, jt.Var) else torch.tensor(order)
    sort = jt.take_along_dim if isinstance(values, jt.Var) else torch.take_along_dim
    if name == "linalg.eigvals":
        return sort(values, where, -1)
    return sort(values, where, -1), sort(answer[1], where[..., None, :], -1)


def gradients(torch, mine, theirs, pairs, close):
    """Compare gradients of all inputs, of the sum of all float outputs times random numbers."""
    outs = [(a, b) for a, b in zip(flat(mine), flat(theirs), strict=True) if getattr(b, "requires_grad", False)]
    if not outs or not pairs:
        raise NoMeaningError("nothing to differentiate")
    seeds = []
    for k, (_, b) in enumerate(outs):
        rng = np.random.default_rng(k)
        seed = rng.standard_normal(b.shape)
        seeds.append(seed + 1j * rng.standard_normal(b.shape) if b.is_complex() else seed)
    close = max([close, *(CLOSE[str(t.dtype)[6:]] for t, _ in pairs if str(t.dtype)[6:] in CLOSE)])
    tensors = [torch.tensor(np.asarray(s), dtype=b.dtype) for s, (_, b) in zip(seeds, outs, strict=True)]
    wanted = torch.autograd.grad([b for _, b in outs], [t for t, _ in pairs], tensors, allow_unused=True)
    found = [None] * len(pairs)
    for (a, _), seed in zip(outs, seeds, strict=True):
        for k, g in enumerate(jt.vjp(a, [v for _, v in pairs], jt.array(np.asarray(seed)))):
            found[k] = g if found[k] is None else found[k] + g
    for g, w in zip(found, wanted, strict=True):
        if w is not None:
            same(g, w, close)


@dataclass
class Count:
    """How the samples of one function did."""

    forward: list[int] = field(default_factory=lambda: [0, 0])  # right, of all
    backward: list[int] = field(default_factory=lambda: [0, 0])
    faults: list[str] = field(default_factory=list)

    def add(self, which, fault):
        counted = getattr(self, which)
        counted[0] += fault is None
        counted[1] += 1
        if fault is not None:
            self.faults.append(f"{which}: {fault}")


def examine(torch, name, dtypes=FORWARD + BACKWARD, most=None):
    """Run the samples of a function; `most` of each entry and dtype."""
    count = Count()
    for op in database()[name]:
        function = ours(name, op.variant_test_name)
        for dtype in dtypes:
            kind, double = getattr(torch, dtype), dtype in BACKWARD
            if kind not in (op.supported_backward_dtypes("cpu") if double else op.supported_dtypes("cpu")):
                continue
            if double and not op.supports_autograd:
                continue
            torch.manual_seed(zlib.crc32(f"{name} {dtype}".encode()))
            for number, sample in enumerate(op.sample_inputs("cpu", kind, requires_grad=double)):
                if most is None or number < most:
                    _one(torch, op, sample, function, dtype, count, f"{dtype} {number}")
    return count


def _one(torch, op, sample, function, dtype, count, label):
    which = "backward" if dtype in BACKWARD else "forward"
    try:
        mine, theirs, pairs = call(torch, op, sample, function)
        if which == "forward":
            for a, b in zip(flat(mine), flat(theirs), strict=True):
                same(a, b, CLOSE[dtype])
        else:
            gradients(torch, mine, theirs, pairs, CLOSE[dtype])
    except NoMeaningError:
        return
    except Exception as error:  # noqa: BLE001 - a fault, whatever it is
        words = " ".join(str(error).split())
        count.add(
            which,
            f"{label} {sample.input if not hasattr(sample.input, 'shape') else tuple(sample.input.shape)} "
            f"{sample.args!s:.120} {sample.kwargs!s:.120}: {type(error).__name__} {words:.300}",
        )
    else:
        count.add(which, None)


def names(rooms):
    """PyTorch's names in these rooms that exist here."""
    return [n for n in sorted(database()) if n.startswith(tuple(f"{r}." for r in rooms)) and ours(n) is not None]


def main(arguments):
    import torch  # noqa: PLC0415  an oracle

    rooms = [a for a in arguments if not a.startswith("-")]
    asked = [n for n in sorted(database()) if n in rooms] + names(rooms)
    dtypes = FORWARD + BACKWARD
    if "--complex" in arguments:
        asked = [n for n in sorted(database()) if "." not in n and n not in NOT_VALUES and ours(n) is not None]
        dtypes = ("complex64", "complex128")
    total = Count()
    for name in asked:
        with warnings.catch_warnings(), jt.flag_scope(backend="python" if "--python" in arguments else "numba"):
            warnings.simplefilter("ignore")
            count = examine(torch, name, dtypes)
        for which in ("forward", "backward"):
            for k in (0, 1):
                getattr(total, which)[k] += getattr(count, which)[k]
        forward, backward = ("/".join(map(str, c)) for c in (count.forward, count.backward))
        print(f"{name:40} forward {forward:10} backward {backward}", flush=True)
        for fault in count.faults[: 40 if "-v" in arguments else 3]:
            print("    ", fault[:700])
    print(f"forward {total.forward[0]} of {total.forward[1]}, backward {total.backward[0]} of {total.backward[1]}")


if __name__ == "__main__":
    main(sys.argv[1:])
