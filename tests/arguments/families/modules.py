"""Modules: what members, hooks, states and containers are asked for; reparametrisations; gradients that are clipped."""

import contextlib
import tempfile

import numpy as np

import jt_edu as jt
from jt_edu import nn
from tests.arguments.inputs import X, some
from tests.arguments.rows import Row, as_torch, calling, refuses, shows

Module, utils = nn.Module, nn.utils


def net() -> nn.Sequential:
    """A layer with parameters, and one with buffers."""
    return nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))


def names(found) -> list[str]:
    return [name for name, _ in found]


def visited(**given) -> list[str]:
    """Names on the way in and on the way out."""
    seen = []
    if "callback_leave" in given:
        given["callback_leave"] = lambda parents, name, module, n: seen.append(f"leave {name}")
    net().dfs([], "net", lambda parents, name, module, n: seen.append(f"enter {name}"), **given)
    return seen


def in_order(register, call):
    """Which of two hooks is called first."""

    def ask(**given):
        layer, seen = nn.Linear(4, 3), []
        getattr(layer, register)(lambda *args: seen.append("first"))
        getattr(layer, register)(lambda *args: seen.append("second"), **given)
        call(layer)
        return seen

    return ask


def forward(layer):
    layer(jt.array(X, "float32"))


def backward(layer):
    x = jt.array(X, "float32") * 1
    jt.grad(layer(x).sum(), x).sync()


def with_words(register):
    """How many arguments a hook is given."""

    def ask(**given):
        layer, seen = nn.Linear(4, 3), []
        getattr(layer, register)(lambda *args: seen.append(len(args)), **given)
        forward(layer)
        return seen

    return ask


def told_of_a_failure(**given):
    """What a hook hears of a call that fails."""
    layer, seen = nn.Linear(4, 3), []
    layer.register_forward_hook(lambda module, args, out: seen.append(out), **given)
    with contextlib.suppress(jt.ShapeError):
        layer(jt.ones(2, 5))
    return seen


def hooks() -> list[Row]:
    first = {"forward_hook": forward, "pre_forward_hook": forward, "backward_hook": backward,
             "output_backward_hook": backward, "input_backward_hook": backward}  # fmt: skip
    rows = []
    for name, call in first.items():
        register = f"register_{name}"
        rows += shows(getattr(Module, register), "prepend", True, in_order(register, call), ["second", "first"])
    for name, many in (("register_forward_hook", 4), ("register_pre_forward_hook", 3)):
        rows += shows(getattr(Module, name), "with_kwargs", True, with_words(name), [many])
    return rows + shows(Module.register_forward_hook, "always_call", True, told_of_a_failure, [None])


def taken(load):
    """Whether a state with a name too many is taken."""

    def ask(**given):
        state = {**net().state_dict(), "more": jt.zeros(1)}
        try:
            load(net(), state, **given)
        except jt.JtError:
            return "refused"
        return "taken"

    return ask


def from_file(module, state, **given):
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/state.npz", **{name: value.numpy() for name, value in state.items()})
        module.load(f"{folder}/state.npz", **given)


def buffered(**given):
    module = nn.Module()
    module.register_buffer("b", jt.zeros(1), **given)
    return list(module.state_dict())


def forgot(**given):
    layer = nn.Linear(4, 3)
    layer(jt.array(X, "float32")).sum().backward()
    layer.zero_grad(**given)
    return layer.bias.grad


MEMBERS = [
    *shows(Module.parameters, "recurse", False, lambda **k: len(net().parameters(**k)), 0),
    *shows(Module.named_parameters, "recurse", False, lambda **k: names(net().named_parameters(**k)), []),
    *shows(Module.named_parameters, "prefix", "a",
           lambda **k: names(net()[0].named_parameters(**k)), ["a.weight", "a.bias"]),
    *shows(Module.buffers, "recurse", False, lambda **k: len(list(net().buffers(**k))), 0),
    *shows(Module.named_buffers, "recurse", False, lambda **k: names(net().named_buffers(**k)), []),
    *shows(Module.named_buffers, "prefix", "a", lambda **k: names(net()[1].named_buffers(**k))[0], "a.running_mean"),
    *shows(Module.named_modules, "prefix", "a", lambda **k: names(net().named_modules(**k)), ["a", "a.0", "a.1"]),
    *shows(Module.state_dict, "prefix", "a.", lambda **k: list(net()[0].state_dict(**k)), ["a.weight", "a.bias"]),
    *shows(Module.state_dict, "keep_vars", True,
           lambda **k: [var.requires_grad for var in net()[0].state_dict(**k).values()], [True, True]),
    *shows(Module.dfs, "recurse", False, visited, ["enter net"]),
    *shows(Module.dfs, "callback_leave", "a function", visited,
           ["enter net", "enter 0", "leave 0", "enter 1", "leave 1", "leave net"]),
    *shows(Module.load_state_dict, "strict", False, taken(Module.load_state_dict), "taken"),
    *shows(Module.load, "strict", False, taken(from_file), "taken"),
    *shows(Module.register_buffer, "persistent", False, buffered, []),
    *shows(Module.requires_grad_, "wanted", False,
           lambda **k: nn.Linear(4, 3).requires_grad_(**k).weight.requires_grad, False),
    *shows(Module.train, "mode", False, lambda **k: net().eval().train(**k)[1].is_train, False),
    *shows(Module.zero_grad, "set_to_none", False, forgot, np.zeros(3, "float32")),
    *shows(Module.to, "dtype", "float16", lambda **k: str(nn.Linear(4, 3).to(**k).weight.dtype), "float16"),
    *refuses(Module.to, "device", "cuda", lambda **k: nn.Linear(4, 3).to(**k)),
    *shows(Module.to, "memory_format", jt.channels_last,
           lambda **k: nn.Conv2d(3, 4, 2).to(**k).weight.stride(), (12, 1, 6, 3)),
]  # fmt: skip

# ----------------------------------------------------------------------------------------------------------- containers

CONTAINERS = [
    *shows(nn.ModuleList, "modules", [nn.ReLU()], lambda **k: len(nn.ModuleList(**k)), 1),
    *shows(nn.ModuleDict, "modules", {"a": nn.ReLU()}, lambda **k: list(nn.ModuleDict(**k)), ["a"]),
    *shows(nn.ModuleDict.get, "default", 7, lambda **k: nn.ModuleDict().get("a", **k), 7),
    *shows(nn.ModuleList.pop, "key", 0,
           lambda **k: type(nn.ModuleList([nn.ReLU(), nn.Tanh()]).pop(**k)).__name__, "ReLU"),
    *shows(nn.ParameterDict, "parameters", {"a": [1.0]}, lambda **k: len(nn.ParameterDict(**k).parameters()), 1),
    *shows(nn.ParameterList, "values", [[1.0]], lambda **k: len(nn.ParameterList(**k).parameters()), 1),
    *shows(nn.Parameter, "requires_grad", False, lambda **k: nn.Parameter([1.0], **k).requires_grad, False),
]  # fmt: skip

# -------------------------------------------------------------------------------------- weights that are made of others


def normed(kind, **given) -> list[str]:
    return sorted(names(kind(nn.Linear(4, 3), **given).named_parameters()))


def undone(norm, remove):
    """Whether a bias is free again."""

    def ask(**given):
        layer = nn.Linear(4, 3)
        layer.weight_2 = jt.ones(2, 2)
        norm(norm(layer), name="weight_2")
        return sorted(names(remove(layer, **given).named_parameters()))

    return ask


def spectral(**given):
    """A layer after one call."""
    jt.set_global_seed(0)
    layer = nn.Linear(4, 3)
    layer.weight = jt.array(some(3, 4))
    utils.spectral_norm(layer, **given)(jt.ones(1, 4).double())
    return layer


def largest(**given) -> float:
    """The largest singular value after it, which should be 1."""
    return float(np.linalg.svd(spectral(**given).weight.numpy())[1][0])


def clipped(**given):
    p = jt.array([3.0, 4.0])
    (p * p / 2).sum().backward()
    return utils.clip_grad_norm_([p], 1.0, **given)


def endless(**given) -> str:
    p = jt.array([3.0, np.inf])
    (p * p / 2).sum().backward()
    try:
        utils.clip_grad_norm_([p], 1.0, **given)
    except jt.JtError:
        return "refused"
    return "clipped"


WEIGHTS = [
    *shows(utils.weight_norm, "name", "bias",
           lambda **k: normed(utils.weight_norm, **k), ["bias_g", "bias_v", "weight"]),
    *shows(utils.weight_norm, "dim", 1, lambda **k: utils.weight_norm(nn.Linear(4, 3), **k).weight_g.shape, (1, 4)),
    *shows(utils.remove_weight_norm, "name", "weight_2", undone(utils.weight_norm, utils.remove_weight_norm),
           ["bias", "weight_2", "weight_g", "weight_v"]),
    *shows(utils.spectral_norm, "name", "other", lambda **k: named_other(**k), ["bias", "other_orig", "weight"]),
    *shows(utils.spectral_norm, "n_power_iterations", 60, lambda **k: abs(largest(**k) - 1) < 1e-9),
    *shows(utils.spectral_norm, "eps", 100.0, lambda **k: bool(np.linalg.norm(spectral(**k).weight_u.numpy()) < 0.1)),
    *shows(utils.spectral_norm, "dim", 1, lambda **k: utils.spectral_norm(nn.Linear(4, 3), **k).weight_u.shape, (4,)),
    *shows(utils.remove_spectral_norm, "name", "weight_2", undone(utils.spectral_norm, utils.remove_spectral_norm),
           ["bias", "weight_2", "weight_orig"]),
    *shows(utils.clip_grad_norm_, "norm_type", 1.0, clipped, np.float32(7)),
    *shows(utils.clip_grad_norm_, "error_if_nonfinite", True, endless, "refused"),
]  # fmt: skip


def named_other(**given):
    layer = nn.Linear(4, 3)
    layer.other = jt.ones(2, 2)
    return sorted(names(utils.spectral_norm(layer, **given).named_parameters()))


# ----------------------------------------------------------------------------------------------- sizes told at the call

SIZES = [
    *calling(lambda lib: lib.nn.ConvTranspose2d(4, 6, 2, stride=3), [some(1, 4, 3, 3)], nn.ConvTranspose2d.execute,
             output_size=[9, 10]),
    *as_torch(lambda x, i, **k: nn.MaxUnpool1d(2)(x, i, **k), some(1, 1, 2), np.array([[[0, 2]]]),
              whose=nn.MaxUnpool1d.execute, twin=lambda t, x, i, **k: t.nn.MaxUnpool1d(2)(x, i, **k),
              output_size=[5]),
]  # fmt: skip


def pooled(**given):
    return nn.Pool(2, **given)(jt.array(some(1, 2, 7, 6)))


def as_pool2d(**given):
    """Jittor's layer is its function, which tests/arguments/families/images.py holds to PyTorch's."""
    return lambda torch: jt.pool2d(jt.array(some(1, 2, 7, 6)), 2, **given)


POOL = {"stride": 1, "padding": 1, "dilation": 2, "return_indices": True, "ceil_mode": True, "op": "mean"}
NEEDS = {"ceil_mode": {"stride": 3}}
POOLS = [
    row for word, value in POOL.items() for row in shows(
        nn.Pool, word, value, lambda w=word, **k: pooled(**NEEDS.get(w, {}), **k),
        as_pool2d(**NEEDS.get(word, {}), **{word: value}))
] + shows(nn.Pool, "count_include_pad", False, lambda **k: pooled(op="mean", padding=1, **k),
          as_pool2d(op="mean", padding=1, count_include_pad=False))  # fmt: skip

ROWS = [*MEMBERS, *hooks(), *CONTAINERS, *WEIGHTS, *SIZES, *POOLS]
