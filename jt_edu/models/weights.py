"""Weights: where do a network's numbers come from, before it is trained?

resnet18()                     drawn, as its paper or torchvision draws them
resnet18(pretrained=True)      those that torchvision has published: from a folder of this machine, or downloaded
net.load("resnet18.pth")       read from a file: of `net.save`, of PyTorch, of safetensors
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from jt_edu import nn
from jt_edu.base.errors import ArgumentError
from jt_edu.models.published import SETTINGS, path_of

Network = TypeVar("Network", bound=nn.Module)
PUBLISHED = "IMAGENET1K_V1"  # torchvision's name for the weights that `pretrained=True` means


def head(features: int, num_classes: int) -> nn.Module:
    """The last layer of a network, which gives scores; nothing, where features are wanted: `num_classes` is 0.

    Example:
        >>> head(512, 10), head(512, 0)
        (Linear(in_features=512, out_features=10, bias=True), Identity())
    """
    return nn.Identity() if num_classes == 0 and num_classes is not False else nn.Linear(features, num_classes)


def asked_for(network: str, pretrained: Any, settings: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
    """Whether published weights are asked for, and the settings that the network's class is to be told.

    Args:
        network: how it is called, such as "resnet18".
        pretrained: True or False; torchvision's newer name for it, `weights`, may be among the settings.
        settings: those of the class, and `weights`.

    Raises:
        ArgumentError: other weights are asked for.

    Example:
        >>> asked_for("resnet18", False, {"num_classes": 10, "weights": None})
        (False, {'num_classes': 10})
    """
    weights = settings.get("weights")
    if pretrained not in (True, False, None) or weights not in (None, False, True, PUBLISHED):
        found = f"weights={weights!r}" if pretrained in (True, False, None) else f"pretrained={pretrained!r}"
        way = f"{network}(pretrained=True), or {network}() and .load(path) of a file"
        raise ArgumentError(f"{network} starts from random weights, or from torchvision's {PUBLISHED}", found, way)
    return bool(pretrained or weights), {name: value for name, value in settings.items() if name != "weights"}


def variant(
    name: str, family: type[Network], what: str, parameters: int, *args: Any, **named: Any
) -> Callable[..., Network]:
    """A function that makes one network of a family; it takes `pretrained`, and settings of the family.

    With `pretrained=True` it has torchvision's weights, or it is an error that says where to put them. Its `recipe` is
    (family, args, named).

    Args:
        name, family: of the function; the class, of whose module the function is.
        what: it is, in words.
        parameters: how many numbers it trains.
        args, named: what the class is to be told.

    Example:
        >>> slim = variant("slim", jt.models.MobileNetV2, "A third as wide", 408_938, width_mult=0.35, num_classes=10)
        >>> sum(p.size for p in slim().parameters()), slim.__doc__.partition(";")[0]
        (408938, 'A third as wide: 0.4 million parameters')
    """
    make: Callable[..., Network] = family

    def made(pretrained: Any = False, **settings: Any) -> Network:
        wanted, own = asked_for(name, pretrained, settings)
        file = path_of(name) if wanted else None  # before anything is made
        net = make(*args, **named, **{**(SETTINGS.get(name, {}) if wanted else {}), **own})
        if file:
            net.load(file)
        return net

    vars(made)["recipe"] = family, args, named
    made.__name__ = made.__qualname__ = name
    made.__module__ = family.__module__
    made.__annotations__["return"] = family.__name__
    made.__doc__ = f"""{what}: {parameters / 1e6:.1f} million parameters; `settings` are those of `{family.__name__}`.

    Example:
        >>> sum(p.size for p in {name}().parameters())
        {parameters}
    """
    return made
