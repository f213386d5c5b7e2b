"""Auto-augment by a string: what does "rand-m9-mstd0.5-inc1" do to an image?

    rand-m9-n3-mstd0.5     3 operators of magnitude 9, more or less: normally distributed, with a deviation of 0.5
    original-mstd0.5       a policy that a search has found: v0, original; v0r, originalr (Posterize grows); 3a
    augmix-m5-w4-d2        4 chains of 2 operators of a magnitude up to 5, mixed with the image itself

A magnitude is a number of tenths: LEVELS says what each operator makes of it. Images are moved by Pillow's rule.

Source: the strings are timm's (Wightman, "PyTorch image models"); the methods are of Cubuk et al. (arXiv:1805.09501,
arXiv:1909.13719), Hendrycks et al. 2019, "AugMix" (arXiv:1912.02781) and Touvron et al. 2022, "DeiT III"
(arXiv:2204.07118).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.data.transform.auto_augment import BLENDS, Augment
from jt_edu.data.transform.base import below, drawn, filler, uniform
from jt_edu.data.transform.operators import operate
from jt_edu.data.transform.policies import policy_of
from jt_edu.data.transform.resample import interpolation_of
from jt_edu.ops.arguments import number, whole, yes_or_no

__all__ = ["augment_and_mix_transform", "auto_augment_transform", "rand_augment_transform"]

Level = Callable[[float, "Look", tuple[int, ...]], float]  # a part of what is usual, an image -> what an operator takes
GREY = (128, 128, 128)
HPARAMS: dict[str, Any] = {
    "translate_const": 250, "translate_pct": 0.45, "img_mean": GREY, "interpolation": ("bilinear", "bicubic"),
    "magnitude_std": 0, "magnitude_max": 10,
}  # fmt: skip


class Look:
    """How operators of an image are scaled, and how those that move it read it."""

    def __init__(self, who: str, hparams: Mapping[str, Any] | None, **said: Any) -> None:
        given = {**HPARAMS, **said, **(hparams or {})}
        for wrong in given.keys() - HPARAMS.keys():
            raise ArgumentError(f"{who} takes hparams with the names " + ", ".join(HPARAMS), repr(wrong))
        ways, self.fill = given["interpolation"], given["img_mean"]
        self.ways = [interpolation_of(who, way, "bicubic") for way in ((ways,) if isinstance(ways, str) else ways)]
        filler(self.fill, np.zeros((np.size(self.fill), 1, 1), np.uint8))
        self.translate_const = number(who, "translate_const", given["translate_const"], 0, finite=True)
        self.translate_pct = number(who, "translate_pct", given["translate_pct"], 0, finite=True)
        self.std = number(who, "magnitude_std", given["magnitude_std"], 0)
        self.most = number(who, "magnitude_max", given["magnitude_max"], 0, above=True)


def _sign() -> int:
    return 1 - 2 * below(2)


LEVELS: dict[str, Level] = {
    **dict.fromkeys(BLENDS, lambda part, *_: part * 1.8 + 0.1),
    **dict.fromkeys((f"{name}Increasing" for name in BLENDS), lambda part, *_: max(0.1, 1 + _sign() * part * 0.9)),
    **dict.fromkeys(("ShearX", "ShearY"), lambda part, *_: _sign() * part * 0.3),
    **dict.fromkeys(("TranslateX", "TranslateY"), lambda part, look, _: _sign() * part * look.translate_const),
    "TranslateXRel": lambda part, look, shape: _sign() * part * look.translate_pct * shape[-1],
    "TranslateYRel": lambda part, look, shape: _sign() * part * look.translate_pct * shape[-2],
    "Rotate": lambda part, *_: _sign() * part * 30,
    "Posterize": lambda part, *_: int(part * 4),
    "PosterizeIncreasing": lambda part, *_: 4 - int(part * 4),
    "PosterizeOriginal": lambda part, *_: 4 + int(part * 4),
    "Solarize": lambda part, *_: min(256, int(part * 256)),
    "SolarizeIncreasing": lambda part, *_: 256 - min(256, int(part * 256)),
    "SolarizeAdd": lambda part, *_: min(128, int(part * 110)),
    "Desaturate": lambda part, *_: 0.5 - min(0.5, part * 0.5),
    "GaussianBlur": lambda part, *_: min(2.0, 0.1 + part * 1.9),
    "GaussianBlurRand": lambda part, *_: uniform(0.1, 2 * min(1.0, part)),
}
PLAIN = ("AutoContrast", "Equalize", "Invert")
CALLED = {"Desaturate": "Color"}  # an operator under another name
SUFFIXES = re.compile("(?<=.)(Increasing|Original|Rand|Rel)$")

RAND = (*PLAIN, "Rotate", "Posterize", "Solarize", "SolarizeAdd", "Color", "Contrast", "Brightness", "Sharpness",
        "ShearX", "ShearY", "TranslateXRel", "TranslateYRel")  # fmt: skip
GROWING = tuple(f"{name}Increasing" if f"{name}Increasing" in LEVELS else name for name in RAND)
MIXING = tuple(name for name in GROWING if name not in ("Invert", "SolarizeAdd"))
LIKELY = {  # sets that "t" names: how likely operators are beside the others
    "3a": {1.0: "SolarizeIncreasing Desaturate GaussianBlur"},
    "3aw": {
        6.0: "SolarizeIncreasing Desaturate GaussianBlur", 3.0: "Rotate", 2.0: "ShearX ShearY",
        1.0: "PosterizeIncreasing AutoContrast ColorIncreasing SharpnessIncreasing ContrastIncreasing "
             "BrightnessIncreasing Equalize Invert",
    },
    "weights": {
        3.0: "Rotate", 2.0: "ShearX ShearY", 1.0: "TranslateXRel TranslateYRel",
        0.25: "ColorIncreasing SharpnessIncreasing AutoContrast",
        0.05: "SolarizeIncreasing SolarizeAdd ContrastIncreasing BrightnessIncreasing Equalize PosterizeIncreasing "
              "Invert",
    },
}  # fmt: skip
WEIGHTS = {name: {op: likely for likely, ops in some.items() for op in ops.split()} for name, some in LIKELY.items()}


class Op:
    """One operator with a likelihood and a magnitude in tenths."""

    def __init__(self, name: str, prob: float, magnitude: float, look: Look) -> None:
        self.name, self.prob, self.magnitude, self.look = name, prob, magnitude, look

    def __call__(self, planes: Any) -> Any:
        """Planes of bytes, changed or not."""
        if uniform(0, 1) >= self.prob:
            return planes
        look, level = self.look, LEVELS.get(self.name)
        value = 0.0 if level is None else level(self._drawn() / 10, look, planes.shape)
        name = CALLED.get(self.name) or SUFFIXES.sub("", self.name)
        if name.startswith("Translate"):  # timm's way round
            value = -value
        return operate(name, planes, value, look.ways[below(len(look.ways))], look.fill, pillows=True)

    def _drawn(self) -> float:
        look, magnitude = self.look, self.magnitude
        if look.std == math.inf:
            magnitude = uniform(0, magnitude)
        elif look.std:
            magnitude = float(drawn("normal", magnitude, look.std))
        return max(0.0, min(magnitude, look.most))

    def __repr__(self) -> str:
        return f"{self.name}(p={self.prob:g}, m={self.magnitude:g})"


class RandAugment(Augment):
    """RandAugment as a string says it: "rand-m9-n2-p0.5-mstd0.5-inc1".

    Args:
        config_str: "rand", and any of: m, magnitude in tenths (10); n, how many operators (2); p, the likelihood of
            each (0.5); mstd, deviation of the magnitude, beyond 100 evenly from 0 to m; mmax, the largest magnitude
            (10); inc1, operators that grow with the magnitude; tweights, t3a, t3aw: another set of operators.
        hparams: translate_const (pixels), translate_pct (part of a side), img_mean (the colour beyond the rim),
            interpolation ("bilinear", "bicubic", "nearest", or several to draw from), magnitude_std, magnitude_max;
            they win over the string.
        transforms: names of operators, or name -> weight, or the name of a set.

    Call: pixels (h, w, c) or planes (..., c, h, w) -> the same shape.

    Raises:
        ArgumentError: a part of the string, a name or a number makes no sense.

    Example:
        >>> rand_augment_transform("rand-m9-mstd0.5-inc1")(np.zeros((4, 5, 3), np.uint8)).shape
        (4, 5, 3)

    Source: Cubuk et al. 2019 (arXiv:1909.13719).
    """

    def __init__(self, config_str: str, hparams: Mapping[str, Any] | None = None, transforms: Any = None) -> None:
        who = "rand_augment_transform"
        said = _read(who, config_str, "rand", {"m": 10, "n": 2, "p": 0.5, "mstd": 0, "mmax": 10, "inc": 0, "t": None})
        std = math.inf if said["mstd"] > 100 else said["mstd"]
        look = Look(who, hparams, magnitude_std=std, magnitude_max=said["mmax"])
        named = said["t"] if transforms is None else transforms
        names = _set(who, named, yes_or_no(who, "inc", said["inc"]))
        prob, layers, weights = number(who, "p", said["p"], 0, 1), whole(who, "n", said["n"], 0), None
        if isinstance(names, Mapping):
            weights = np.array([number(who, "each weight", w, 0, finite=True) for w in names.values()])
            layers = whole(who, "n (operators with weights are not drawn twice)", layers, 0, int((weights > 0).sum()))
            weights = weights / (weights.sum() or 1)
        self.ops = [Op(name, prob, said["m"], look) for name in names]
        self.num_layers, self.choice_weights = layers, weights

    def augmented(self, planes: Any) -> Any:
        """Planes of bytes after the operators that were drawn."""
        freely = self.choice_weights is None
        for k in drawn("choice", len(self.ops), self.num_layers, replace=freely, p=self.choice_weights):
            planes = self.ops[k](planes)
        return planes


class AutoAugment(Augment):
    """A policy that a search has found, as a string says it: "v0", "original-mstd0.5".

    Args:
        config_str: "v0", "original", "v0r", "originalr" or "3a", and mstd, the deviation of the magnitude.
        hparams: as for `rand_augment_transform`.

    Call: pixels (h, w, c) or planes (..., c, h, w) -> the same shape.

    Raises:
        ArgumentError: there is no such policy, or a part of the string makes no sense.

    Example:
        >>> auto_augment_transform("3a").policy
        [[Solarize(p=1, m=5)], [Desaturate(p=1, m=10)], [GaussianBlurRand(p=1, m=10)]]

    Source: Cubuk et al. 2018 (arXiv:1805.09501).
    """

    def __init__(self, config_str: str, hparams: Mapping[str, Any] | None = None) -> None:
        who, name = "auto_augment_transform", str(config_str).split("-")[0]
        if name not in POLICIES:
            raise ArgumentError(f"{who} takes a policy: " + ", ".join(POLICIES), repr(config_str), "'original-mstd0.5'")
        said = _read(who, config_str, name, {"mstd": 0})
        look = Look(who, hparams, magnitude_std=said["mstd"])
        policy, posterize = POLICIES[name]
        lines = THREE if policy == "3a" else policy_of(policy)
        self.policy = [[Op(posterize if n == "Posterize" else n, p, m, look) for n, p, m in line] for line in lines]

    def augmented(self, planes: Any) -> Any:
        """Planes of bytes after one line."""
        for op in self.policy[below(len(self.policy))]:
            planes = op(planes)
        return planes


THREE = [[("Solarize", 1.0, 5.0)], [("Desaturate", 1.0, 10.0)], [("GaussianBlurRand", 1.0, 10.0)]]
POLICIES = {  # name -> whose lines, and what becomes of Posterize in them
    "v0": ("v0", "Posterize"), "v0r": ("v0", "PosterizeIncreasing"), "original": ("imagenet", "PosterizeOriginal"),
    "originalr": ("imagenet", "PosterizeIncreasing"), "3a": ("3a", "Posterize"),
}  # fmt: skip


class AugMixAugment(Augment):
    """AugMix as a string says it: "augmix-m5-w4-d2".

        (1 - m) image + m (sum of w[k] chain k (image)),    m from Beta(a, a), w from Dirichlet(a, ..., a)

    Args:
        config_str: "augmix", and any of: m, magnitude in tenths (3); w, how many chains (3); d, how many operators
            each has (from 1 to 3, drawn); a (1); mstd, deviation of the magnitude, by default evenly from 0 to m.
        hparams: as for `rand_augment_transform`.

    Call: pixels (h, w, c) or planes (..., c, h, w) -> the same shape.

    Raises:
        ArgumentError: a part of the string makes no sense.

    Example:
        >>> augment_and_mix_transform("augmix-m5-w4-d2")(np.zeros((4, 5, 3), np.uint8)).shape
        (4, 5, 3)

    Source: Hendrycks et al. 2019 (arXiv:1912.02781).
    """

    def __init__(self, config_str: str, hparams: Mapping[str, Any] | None = None) -> None:
        who = "augment_and_mix_transform"
        said = _read(who, config_str, "augmix", {"m": 3, "w": 3, "d": -1, "a": 1.0, "mstd": math.inf})
        look = Look(who, hparams, magnitude_std=said["mstd"])
        self.alpha = number(who, "a", said["a"], 0, above=True, finite=True)
        self.ops = [Op(name, 1.0, said["m"], look) for name in MIXING]
        self.width, self.depth = whole(who, "w", said["w"], 1), whole(who, "d", said["d"], -1)

    def augmented(self, planes: Any) -> Any:
        """Planes of bytes, mixed."""
        weights = drawn("dirichlet", [self.alpha] * self.width)
        most, mixed = float(drawn("beta", self.alpha, self.alpha)), np.zeros(planes.shape, np.float32)
        for weight in weights:
            chain = planes
            for _ in range(self.depth if self.depth > 0 else 1 + below(3)):
                chain = self.ops[below(len(self.ops))](chain)
            mixed += np.float32(weight) * chain
        return np.rint((1 - most) * planes + most * mixed).clip(0, 255).astype(np.uint8)


rand_augment_transform, auto_augment_transform = RandAugment, AutoAugment  # timm's names
augment_and_mix_transform = AugMixAugment


def _read(who: str, config_str: Any, first: str, said: dict[str, Any]) -> dict[str, Any]:
    """The parts of a string: a name of `said` and a number each."""
    head, *parts = str(config_str).split("-")
    for part in parts:
        found = re.fullmatch(r"t(\w+)|([a-z]+)(\d+\.?\d*)", part)
        key = found and ("t" if found[1] else found[2])
        if found is None or key not in said:
            asked = f"{who} takes a string of {first} and parts {', '.join(said)}, each with a value"
            raise ArgumentError(asked, f"{part!r} in {config_str!r}", f"{first}-{next(iter(said))}9")
        value = found[1] or found[3]
        said[key] = value if found[1] else float(value) if "." in value else int(value)
    if head != first:
        raise ArgumentError(f"{who} takes a string that begins with {first}", repr(config_str), f"'{first}-m9'")
    return said


def _set(who: str, named: Any, growing: bool) -> Any:
    """Names of operators, and perhaps their weights."""
    if named is None:
        return GROWING if growing else RAND
    known = [*LEVELS, *PLAIN]
    if isinstance(named, str):
        if named not in WEIGHTS:
            raise ArgumentError(f"{who} takes a set of operators: " + ", ".join(WEIGHTS), repr(named))
        return [*WEIGHTS["3a"]] if named == "3a" else WEIGHTS[named]
    for wrong in [name for name in named if name not in known] or ([] if named else [named]):
        raise ArgumentError(f"{who} takes names of operators: " + ", ".join(known), repr(wrong))
    return named
