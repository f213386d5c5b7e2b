"""States for networks: numbers that neither blow a signal up nor let it die, the same in every run."""

import math

import numpy as np

import jt_edu as jt

NOISE = np.random.default_rng(7).standard_normal(1_000_003, dtype="float32")  # larger arrays repeat it
SPREAD = np.random.default_rng(8).uniform(0.5, 1.5, 4096).astype("float32")


def loaded(net):
    """The network with numbers of its own, ready for use, and its state: name -> array."""
    state = {name: _numbers(name, var.shape) for name, var in net.state_dict().items()}
    net.load_state_dict(state)
    return net.eval(), state


def _numbers(name, shape):
    if name.endswith("num_batches_tracked"):
        return np.zeros(shape, "int64")
    if len(shape) > 1:  # He's: a signal keeps its size through a layer and a ReLU
        return np.resize(NOISE * np.float32(math.sqrt(2 / math.prod(shape[1:]))), shape)
    return np.resize(NOISE * 0.1 if name.endswith(("bias", "running_mean")) else SPREAD, shape)


def tensors(torch, state, dtype):
    """A state for networks of PyTorch, which may change it: tensors of a float dtype."""
    turned = {name: torch.from_numpy(array) for name, array in state.items()}
    return {name: t.to(dtype, copy=t.ndim < 2) if t.is_floating_point() else t.clone() for name, t in turned.items()}


def image(*shape):
    return np.random.default_rng(0).standard_normal(shape, dtype="float32")


def scores(net, x):
    with jt.no_grad():
        return net(jt.array(x)).numpy()


def far_apart(out, expected):
    """The largest difference, as a part of the largest number that is expected (of 0.001, where that is about 0)."""
    expected = expected.detach().numpy()
    assert out.shape == expected.shape, f"shape {out.shape} for {expected.shape}"
    return np.abs(out - expected).max() / max(np.abs(expected).max(), 1e-3)
