"""Rules: which call of ours does a call of PyTorch become, and with which arguments?

    "ReLU":  (inplace=False)                    -> nn.ReLU()              `delete`
    "PReLU": (num_parameters=1, init=0.25)      -> nn.PReLU(init_=...)    `links`
    "MaxPool2d": (kernel_size, stride=None, ..) -> nn.Pool(..., op='maximum')   `extras`

Arguments are bound as Python binds them, on the syntax tree. What must be given stands first, the rest has names.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.pytorch_converter.names import Refused


@dataclass(frozen=True)
class Rule:
    """How the arguments of a call are handed on: names and defaults of both, and what else happens to them."""

    pytorch_args: str
    target: str  # "nn.Pool"; "" for a method, which keeps its name
    jittor_args: str
    extras: Mapping[str, str] = field(default_factory=dict)  # what is added
    links: Mapping[str, str] = field(default_factory=dict)  # which name it has here
    delete: tuple[str, ...] = ()  # what is left out

    def __call__(self, call: ast.Call, who: str) -> ast.expr:
        """The call with these arguments for the target."""
        given = bound(call, self.pytorch_args, who)
        wanted, star = parameters_of(self.jittor_args)
        kept = {self.links.get(name, name): value for name, value in given.items() if name not in self.delete}
        kept |= {name: ast.parse(text, mode="eval").body for name, text in self.extras.items()}
        for name in kept:
            if name not in wanted and name != star:
                raise Refused(f"{who} has no argument {name!r} here", f"one of {', '.join(wanted) or 'none'}")
        first = [kept.pop(name) for name, required in wanted.items() if required and name in kept]
        first += [kept.pop(star)] if star in kept else []
        target = ast.parse(self.target, mode="eval").body if self.target else call.func
        return ast.Call(target, first, [ast.keyword(name, value) for name, value in kept.items()])


def parameters_of(text: str) -> tuple[dict[str, bool], str]:
    """The names of a list of parameters, whether each must be given, and the name behind a star."""
    try:
        (body,) = ast.parse(f"lambda {text}: 0").body
        arguments = body.value.args  # type: ignore[attr-defined]
    except (SyntaxError, ValueError, AttributeError):
        raise ArgumentError("parameters are written as in Python: 'size, stride=1'", repr(text)) from None
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    required = len(names) - len(arguments.defaults)
    wanted = {name: place < required for place, name in enumerate(names)}
    wanted |= {a.arg: default is None for a, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)}
    return wanted, arguments.vararg.arg if arguments.vararg else ""


def bound(call: ast.Call, parameters: str, who: str) -> dict[str, ast.expr]:
    """Which argument goes to which parameter. What stands behind a star is one tuple."""
    names, star = parameters_of(parameters)
    given: dict[str, ast.expr] = dict(zip(names, call.args, strict=False))
    rest = call.args[len(names) :]
    if rest and not star:
        raise Refused(f"{who} takes {len(names)} arguments, not {len(call.args)}", ", ".join(names))
    if rest:
        given[star] = rest[0] if len(rest) == 1 else ast.Tuple(rest, ast.Load())
    for keyword in call.keywords:
        if keyword.arg not in names or keyword.arg in given:
            raise Refused(f"{who} does not take {keyword.arg!r}, or has it already", ", ".join(names))
        given[keyword.arg] = keyword.value
    missing = [name for name, required in names.items() if required and name not in given]
    if missing:
        raise Refused(f"{who} lacks {', '.join(missing)}", ", ".join(names))
    return given


# Calls whose arguments change: those of PyTorch, the call here. A name of PyTorch's in it stands for what was given.
CALLS = {
    "torch.cuda.is_available": ("", "bool(jt.has_cuda)"),
    "torch.device": ("type", "type"),
    "torch.jit.is_scripting": ("", "False"),
    "torch.jit.is_tracing": ("", "False"),
    "torch.jit.annotate": ("the_type, the_value", "the_value"),
    "torch.Tensor": ("data", "jt.float32(data)"),
    "torch.equal": ("input, other", "jt.equal(input, other).all().item()"),
}
IDLE = ("_log_api_usage_once", "torch.fx.wrap")  # torchvision counts its networks; FX does not look inside a function
SAMPLES = ("torch.var", "torch.std")  # divided by n - 1
FILLS = {  # what is written into a Tensor where it stands, by the functions that fill parameters
    "normal_": "init.normal_", "uniform_": "init.uniform_", "fill_": "init.constant_", "zero_": "init.zeros_",
}  # fmt: skip
_CONV = (
    "in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode='zeros'"
)
_UP = "in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1"
_POOL = "kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False"
_MEAN = "kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True"
_NORM = "num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True"
_MADE = "generator=None, dtype=None, device=None"
RULES = {  # the last part of a name of torch or torch.nn -> Jittor's call
    "Conv2d": Rule(_CONV, "nn.Conv", _CONV),
    "ConvTranspose2d": Rule(_UP, "nn.ConvTranspose", _UP),
    "MaxPool2d": Rule(_POOL, "nn.Pool", f"{_POOL}, op=''", {"op": "'maximum'"}),
    "AvgPool2d": Rule(_MEAN, "nn.Pool", f"{_MEAN}, op=''", {"op": "'mean'"}),
    "BatchNorm2d": Rule(_NORM, "nn.BatchNorm", _NORM),
    "ReLU": Rule("inplace=False", "nn.ReLU", "", delete=("inplace",)),
    "ReLU6": Rule("inplace=False", "nn.ReLU6", "", delete=("inplace",)),
    "LeakyReLU": Rule("negative_slope=0.01, inplace=False", "nn.LeakyReLU", "scale=0.01",
                      links={"negative_slope": "scale"}, delete=("inplace",)),
    "PReLU": Rule("num_parameters=1, init=0.25", "nn.PReLU", "num_parameters=1, init_=0.25", links={"init": "init_"}),
    "cat": Rule("tensors, dim=0", "jt.concat", "tensors, dim=0"),
    "randint": Rule(f"low, high, size, {_MADE}", "jt.randint", f"low, high, size, {_MADE}"),  # low must be given
}  # fmt: skip
METHODS = {
    "view": Rule("*shape", "", "*shape"),
    "permute": Rule("*dims", "", "*dims"),
}


def from_dict(rules: Mapping[str, Any] | None) -> dict[str, Rule]:
    """Rules as Jittor writes them in `ex_pjmaps`."""
    found = {}
    for name, rule in (rules or {}).items():
        ours = rule["jittor"]
        target = f"{ours['module']}.{ours['name']}".strip(".")
        settings = (rule.get("extras") or {}, rule.get("links") or {}, tuple(rule.get("delete") or ()))
        found[name] = Rule(rule["pytorch"]["args"], target, ours["args"], *settings)
    return found
