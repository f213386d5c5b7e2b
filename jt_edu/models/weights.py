"""Weights: where do a network's numbers come from, before it is trained?

    resnet18()                     drawn, as its paper or torchvision draws them
    net.load("resnet18.npz")       read from a file that `net.save` wrote, or that somebody wrote from another framework

Jittor's constructors take `pretrained`, and download weights if it is True. Ours take it too, so that programs for
Jittor run; but nothing is downloaded here, and a network that is asked for what it cannot have says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from jt_edu import nn
from jt_edu.base.errors import ArgumentError

Network = TypeVar("Network", bound=nn.Module)


def untrained(network: str, pretrained: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a network that begins with weights of its own.

    Args:
        network: how it is called, such as "resnet18".
        pretrained: False; torchvision's newer name for it, `weights`, may be None among the settings.
        settings: what the network's class is to be told.

    Raises:
        ArgumentError: weights are asked for.

    Example:
        >>> untrained("resnet18", False, {"num_classes": 10, "weights": None})
        {'num_classes': 10}
    """
    asked = {"pretrained": pretrained, "weights": settings.get("weights")}
    for name, value in asked.items():
        if value is not None and value is not False:
            raise ArgumentError(
                f"{network} starts from random weights: none are downloaded", f"{name}={value!r}",
                f"{network}(), then .load(path) of an .npz file, or .load_state_dict(names and arrays): keys, shapes "
                "and order are torchvision's",
            )  # fmt: skip
    return {name: value for name, value in settings.items() if name != "weights"}


def variant(
    name: str, family: type[Network], what: str, parameters: int, *args: Any, **named: Any
) -> Callable[..., Network]:
    """A function that makes one network of a family; it takes `pretrained`, and settings of the family.

    Args:
        name: of the function.
        family: the class, of whose module the function is.
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
        return make(*args, **named, **untrained(name, pretrained, settings))

    made.__name__ = made.__qualname__ = name
    made.__module__ = family.__module__
    made.__annotations__["return"] = family.__name__
    made.__doc__ = f"""{what}: {parameters / 1e6:.1f} million parameters; `settings` are those of `{family.__name__}`.

    Example:
        >>> sum(p.size for p in {name}().parameters())
        {parameters}
    """
    return made
