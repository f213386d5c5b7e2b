"""Weights: where do a network's numbers come from, before it is trained?

    resnet18()                     drawn, as its paper or torchvision draws them
    net.load("resnet18.npz")       read from a file that `net.save` wrote, or that somebody wrote from another framework

Jittor's constructors take `pretrained`, and download weights if it is True. Ours take it too, so that programs for
Jittor run; but nothing is downloaded here, and a network that is asked for what it cannot have says so.
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.errors import ArgumentError


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
                f"{network} begins with weights drawn at random: none are downloaded", f"{name}={value!r}",
                f"{network}(), then .load(path) of an .npz file, or .load_state_dict(names and arrays): keys, shapes "
                "and order are torchvision's",
            )  # fmt: skip
    return {name: value for name, value in settings.items() if name != "weights"}
