"""Apex properties: what does each of the levels O0 to O3 mean, and what may be changed about it?

                              O0           O1             O2           O3
    cast_model_type           float32      None           float16      float16       parameters and inputs
    patch_torch_functions     False        True           False        False         operators cast
    keep_batchnorm_fp32       None         None           True         False
    master_weights            False        None           True         False         float32 copies
    loss_scale                1.0          "dynamic"      "dynamic"    1.0

A property that is given to `initialize` takes the place of the level's own, if the two make sense together.

Source: the table of `apex.amp.initialize` (NVIDIA Apex 0.1).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from jt_edu.amp.loss_scaler import WHO, LossScaler
from jt_edu.base.dtypes import DType, as_dtype, float16, float32
from jt_edu.base.errors import ArgumentError, DtypeError
from jt_edu.ir.builders import short
from jt_edu.ops.arguments import number, yes_or_no


@dataclass(frozen=True)
class Properties:
    """What `initialize` does.

    Args:
        enabled: False: nothing at all.
        opt_level: where the others come from.
        cast_model_type: the dtype of parameters and inputs; None or False leaves them as they are.
        patch_torch_functions: operators cast what they are given, by three lists.
        keep_batchnorm_fp32: batch norm stays float32 when the model is cast.
        master_weights: the optimizer moves float32 copies of halves.
        loss_scale: a number, or "dynamic".

    Example:
        >>> Properties(opt_level="O0").loss_scale
        1.0
    """

    enabled: bool = False
    opt_level: str | None = None
    cast_model_type: DType | bool | None = None
    patch_torch_functions: bool = False
    keep_batchnorm_fp32: bool | None = None
    master_weights: bool | None = None
    loss_scale: float | str = 1.0

    def __str__(self) -> str:
        return "\n".join(f"{name:22} : {value}" for name, value in asdict(self).items())


LEVELS: Mapping[str, Properties] = {
    "O0": Properties(True, "O0", float32, False, None, False, 1.0),
    "O1": Properties(True, "O1", None, True, None, None, "dynamic"),
    "O2": Properties(True, "O2", float16, False, True, True, "dynamic"),
    "O3": Properties(True, "O3", float16, False, False, False, 1.0),
}
BRIEF = {
    "O0": "float32 throughout",
    "O1": "operators cast what they are given; the weights stay float32",
    "O2": "a float16 model with float32 batch norm and float32 master weights",
    "O3": "float16 throughout",
}
WEIGHTS = ("cast_model_type", "keep_batchnorm_fp32", "master_weights")  # properties that O1 has no use for


def level(name: Any) -> Properties:
    """The properties of a level; its letter may be a small one, which is a warning.

    Raises:
        ArgumentError: no such level.

    Example:
        >>> level("O2").master_weights
        True
    """
    if isinstance(name, str) and name not in LEVELS and name.upper() in LEVELS:
        warnings.warn(f"opt_level={name!r} is read as {name.upper()!r}: write a capital letter O", stacklevel=4)
        name = name.upper()
    if not isinstance(name, str) or name not in LEVELS:
        zero = isinstance(name, str) and name.startswith("0")
        way = "'O" + name[1:] + "': the letter O, not the number zero" if zero else "'O1'"
        raise ArgumentError("opt_level is one of 'O0', 'O1', 'O2' and 'O3'", f"opt_level={name!r}", way)
    return LEVELS[name]


def overridden(chosen: Properties, wanted: Mapping[str, Any]) -> Properties:
    """A level with other properties, where they are not None.

    Raises:
        ArgumentError: a property that the level has no use for, or a value that it cannot have.

    Example:
        >>> overridden(level("O2"), {"loss_scale": "128.0", "keep_batchnorm_fp32": None}).loss_scale
        128.0
    """
    given = {name: _read(name, value) for name, value in wanted.items() if value is not None}
    for name, value in given.items():
        if chosen.opt_level == "O1" and name in WEIGHTS and not (name == WEIGHTS[0] and value in (False, float32)):
            found, way = f"{name}={value}", "opt_level='O2', in which the model is cast"
            raise ArgumentError("with O1 the weights stay float32, and only operators cast", found, way)
        if name == "patch_torch_functions" and value and chosen.opt_level != "O1":
            found = f"opt_level={chosen.opt_level!r}, patch_torch_functions=True"
            raise ArgumentError("operators cast what they are given with O1 only", found, "opt_level='O1'")
    return replace(chosen, **given)


def _read(name: str, value: Any) -> Any:
    """A property, as somebody may write it."""
    if name == "loss_scale":
        return scale_of(value)
    if name != "cast_model_type" or value is False:
        texts = {"True": True, "False": False} if name == "keep_batchnorm_fp32" else {}
        return yes_or_no("initialize", name, texts.get(value, value))
    if not (dtype := as_dtype(value)).is_float:
        raise DtypeError("a model is cast to a float dtype", f"cast_model_type={dtype}", "jt.float16 or jt.bfloat16")
    return dtype


def scale_of(value: Any) -> float | str:
    """A loss scale, as somebody may write it.

    Example:
        >>> scale_of("128.0"), scale_of("dynamic")
        (128.0, 'dynamic')
    """
    try:
        bare = float(value) if isinstance(value, str) and value != "dynamic" else value
        return bare if bare == "dynamic" else float(number(WHO, "loss_scale", bare, 0.0, above=True, finite=True))
    except ValueError:  # an ArgumentError is one
        found = f"loss_scale={short(value)}"
        raise ArgumentError("a loss scale is a number above 0, or 'dynamic'", found, "loss_scale='dynamic'") from None


def scaler_of(loss_scale: Any, least: float = 0.0, most: float = 2.0**24) -> LossScaler:
    """The rule that a loss scale stands for: a number that stays, or "dynamic".

    Example:
        >>> scaler_of("dynamic").scale, scaler_of(128).scale
        (65536.0, 128.0)
    """
    value = scale_of(loss_scale)
    return LossScaler(least=least, most=most) if value == "dynamic" else LossScaler(float(value), dynamic=False)
