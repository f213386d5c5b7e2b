"""One question to two layers: do ours and PyTorch's compute the same, learn the same and remember the same?

    agrees(torch, nn.Linear(3, 2), torch.nn.Linear(3, 2), x)

takes over PyTorch's state, calls both in training mode `steps` times and once more in eval mode, all in float64, and
compares outputs, gradients of the inputs and of every parameter, and the state afterwards.
"""

import zlib

import numpy as np

import jt_edu as jt

CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def agrees(torch, ours, theirs, *inputs, train=True, steps=2, exact_keys=True, tolerance=None, **named):
    """Assert that our layer is PyTorch's, number by number.

    Args:
        torch: the module (the fixture of this name).
        ours, theirs: two layers made with the same arguments. What PyTorch left constant is drawn anew.
        inputs, named: arrays, or nested tuples and lists of them; anything else is handed to both as it is. Floats
            become float64 and have gradients, whole numbers stay whole.
        train: True for `steps` calls in training mode and one in eval mode; False for one in eval mode.
        steps: how many calls in training mode; the inputs of later ones are scaled.
        exact_keys: state_dict() has the same names in the same order; False: what both have is compared.
        tolerance: rtol and atol of all comparisons, 1e-9 by default.
    """
    seed = zlib.crc32(repr((theirs, [np.shape(x) for x in inputs if isinstance(x, np.ndarray)])).encode())
    print(f"agrees: numbers drawn with seed {seed}")
    close = CLOSE if tolerance is None else {"rtol": tolerance, "atol": tolerance}
    torch.manual_seed(seed)
    with jt.flag_scope(backend="python"):
        _share_state(torch, ours.double(), _varied(torch, theirs.double()), exact_keys)
        for step in range(steps if train else 0):
            ours.train(), theirs.train()
            _compare(torch, ours, theirs, _scaled(inputs, 1 + step / 2), named, close, f"training step {step}")
        ours.eval(), theirs.eval()
        _compare(torch, ours, theirs, inputs, named, close, "eval")


def _varied(torch, layer):
    """Parameters and buffers that all are one number say little: give them others, from 0.5 to 1.5."""
    with torch.no_grad():
        for var in [*layer.parameters(), *layer.buffers()]:
            if var.is_floating_point() and var.numel() and bool((var == var.reshape(-1)[0]).all()):
                var.copy_(torch.rand(var.shape) + 0.5)
    return layer


def _share_state(torch, ours, theirs, exact_keys):
    state = {name: value.detach().numpy().copy() for name, value in theirs.state_dict().items()}
    if exact_keys:
        assert list(ours.state_dict()) == list(state), "names in state_dict()"
        assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()], "parameters"
    ours.load_state_dict(state, strict=exact_keys)
    _compare_states(ours, theirs, {"rtol": 0, "atol": 0}, "after load_state_dict")


def _compare(torch, ours, theirs, inputs, named, close, when):
    mine, other = [], []
    arguments = _mapped(inputs, lambda a: _kept(mine, jt.array(_wide(a))))
    keywords = _mapped(named, lambda a: _kept(mine, jt.array(_wide(a))))
    out = flat(ours(*arguments, **keywords))
    arguments = _mapped(inputs, lambda a: _kept(other, _tensor(torch, a)))
    keywords = _mapped(named, lambda a: _kept(other, _tensor(torch, a)))
    expected = flat(theirs(*arguments, **keywords))
    _same_outputs(out, expected, close, when)
    _same_gradients(torch, (ours, theirs), (mine, other), (out, expected), close, when)
    _compare_states(ours, theirs, close, when)


def _same_outputs(out, expected, close, when):
    assert len(out) == len(expected), f"{when}: {len(out)} outputs for {len(expected)}"
    for k, (a, b) in enumerate(zip(out, expected, strict=True)):
        assert (a is None) == (b is None), f"{when}: output {k} is None once"
        if b is not None:
            assert a.shape == tuple(b.shape), f"{when}: output {k} of shape {a.shape} for {tuple(b.shape)}"
            assert str(a.dtype) == str(b.dtype).removeprefix("torch."), f"{when}: output {k} of dtype {a.dtype}"
            np.testing.assert_allclose(a.numpy(), b.detach().numpy(), **close, err_msg=f"{when}: output {k}")


def _same_gradients(torch, layers, inputs, outputs, close, when):
    """Of a sum of all outputs, each number with a weight of its own, for every float input and every parameter."""
    pairs = [(a, b) for a, b in zip(*outputs, strict=True) if b is not None and b.requires_grad]
    if not pairs:
        return
    ways = [np.cos(np.arange(b.numel()) + k).reshape(tuple(b.shape)) for k, (_, b) in enumerate(pairs)]
    ours, theirs = (dict(layer.named_parameters()) for layer in layers)
    names = [name for name in theirs if name in ours and theirs[name].requires_grad]
    known = [f"input {k}" for k, t in enumerate(inputs[1]) if t.requires_grad] + names
    asked = [m for m, t in zip(*inputs, strict=True) if t.requires_grad] + [ours[n] for n in names]
    wanted = [t for t in inputs[1] if t.requires_grad] + [theirs[n] for n in names]
    loss = sum(((b * torch.tensor(w)).sum() for (_, b), w in zip(pairs, ways, strict=True)), torch.zeros(()))
    expected = torch.autograd.grad(loss, wanted, allow_unused=True)
    own = sum(((a * w).sum() for (a, _), w in zip(pairs, ways, strict=True)), jt.array(np.zeros(())))
    found = jt.grad(own, asked, allow_unused=True)
    for name, m, g, e in zip(known, asked, found, expected, strict=True):
        a = np.zeros(m.shape) if g is None else g.numpy()
        b = np.zeros(m.shape) if e is None else e.to_dense().numpy()
        np.testing.assert_allclose(a, b, **close, err_msg=f"{when}: gradient of {name}")


def _compare_states(ours, theirs, close, when):
    state = ours.state_dict()
    for name, value in theirs.state_dict().items():
        if name in state:
            assert state[name].shape == tuple(value.shape), f"{when}: shape of {name}"
            np.testing.assert_allclose(state[name].numpy(), value.detach().numpy(), **close, err_msg=f"{when}: {name}")


# ------------------------------------------------------------------------------------------------ nested arguments


def flat(value):
    """The leaves of nested tuples, lists and dicts, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, (list, tuple)) else [value]


def _mapped(value, change):
    """The same nest with `change(array)` instead of each array."""
    if isinstance(value, dict):
        return {key: _mapped(part, change) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_mapped(part, change) for part in value])
    return change(value) if isinstance(value, np.ndarray) else value


def _scaled(inputs, factor):
    return _mapped(inputs, lambda a: np.asarray(a * factor) if a.dtype.kind == "f" else a)


def _kept(kept, value):
    kept.append(value)
    return value


def _wide(array):
    return array.astype("float64") if array.dtype.kind == "f" else array


def _tensor(torch, array):
    return torch.tensor(_wide(array), requires_grad=array.dtype.kind == "f")
