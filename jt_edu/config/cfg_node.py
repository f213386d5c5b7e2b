"""CfgNode: a tree of settings, read by name, merged with files, and frozen: which settings does an experiment have?

    cfg = CfgNode({"MODEL": {"NAME": "swin", "DEPTHS": [2, 2, 6, 2]}})
    cfg.MODEL.DEPTHS                    reads
    cfg.MODEL.DEPTHS = [2, 2, 18, 2]    sets
    cfg.merge_from_file("base.yaml")    sets what the file says; a key that is not here, or another type, is refused
    cfg.freeze()                        from now on cfg.MODEL.NAME = "vit" is refused

It behaves as yacs 0.1.8 (docs/decisions/091), also where that surprises:

    cfg["LR"] = 1, cfg.update(...), cfg.clear() and merging go through a frozen config: freeze guards attributes
    cfg.clear() empties it, and returns None
    CfgNode({"A": {}}, new_allowed=True) allows new keys at the top only; set_new_allowed(True) also below

Source: https://github.com/rbgirshick/yacs, its README.
"""

from __future__ import annotations

import copy
import io
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from jt_edu.base.did_you_mean import unknown
from jt_edu.config import merging, yaml_files
from jt_edu.config.differences import html
from jt_edu.config.errors import ConfigError, FrozenError, UnknownSettingError, YamlError

_log = logging.getLogger("jt_edu.config")  # by default Python shows warnings


class CfgNode(dict[Any, Any]):
    """A dict whose keys are attributes as well, and whose dicts are CfgNodes.

    Args:
        init_dict: settings, dicts inside of each other; copied.
        key_list: the names that lead here, for errors.
        new_allowed: whether a merge may bring keys that are not here.

    Raises:
        ConfigError: a value is none of text, number, bool, list, tuple, None and dict.

    Example:
        >>> print(CfgNode({"NAME": "test", "MODEL": {"DEPTH": 18, "BACKBONE": "resnet"}}))
        MODEL:
          BACKBONE: resnet
          DEPTH: 18
        NAME: test

    Source: https://github.com/rbgirshick/yacs.
    """

    IMMUTABLE, DEPRECATED_KEYS = "__immutable__", "__deprecated_keys__"
    RENAMED_KEYS, NEW_ALLOWED = "__renamed_keys__", "__new_allowed__"

    def __init__(
        self, init_dict: Mapping[Any, Any] | None = None, key_list: Sequence[Any] | None = None,
        new_allowed: bool = False,
    ) -> None:  # fmt: skip
        given, path = {} if init_dict is None else init_dict, list(key_list or ())
        if not isinstance(given, dict):
            raise ConfigError("a config is made of a dict", f"{given!r}, of type {type(given).__name__}", "key: value")
        super().__init__({k: self._leaf_or_node(v, [*path, k]) for k, v in copy.deepcopy(dict(given)).items()})
        vars(self).update({self.IMMUTABLE: False, self.DEPRECATED_KEYS: set(), self.RENAMED_KEYS: {}})
        vars(self)[self.NEW_ALLOWED] = new_allowed

    @classmethod
    def _leaf_or_node(cls, value: Any, path: list[Any]) -> Any:
        return cls(value, key_list=path) if isinstance(value, dict) else merging.checked(value, _joined(path))

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise unknown("this config", name, {"cfg": [str(key) for key in self]})

    def __setattr__(self, name: str, value: Any) -> None:
        if self.is_frozen():
            raise FrozenError("a frozen config keeps its settings", f"{name} = {value!r}", "cfg.defrost() before")
        if name in vars(self):
            raise ConfigError("a config keeps its own state", name, "another name")
        self[name] = merging.checked(value, name, (CfgNode,))

    def __str__(self) -> str:
        rows = sorted(self.items(), key=lambda pair: (type(pair[0]).__name__, pair[0]))
        return "\n".join(f"{k}:{_between(v)}{v}".replace("\n", "\n  ") for k, v in rows)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({super().__repr__()})"

    def _repr_html_(self) -> str:
        return html(self)

    # ----------------------------------------------------------------------------------------------- YAML

    def dump(self, **kwargs: Any) -> str:
        """The settings as YAML; `kwargs` are those of yaml.safe_dump. Tuples become lists.

        Example:
            >>> CfgNode({"DEPTHS": (2, 2), "NAME": "swin"}).dump(default_flow_style=True).strip()
            '{DEPTHS: [2, 2], NAME: swin}'
        """
        try:
            return str(yaml.safe_dump(_plain(self, []), **kwargs))
        except yaml.YAMLError as error:
            raise YamlError("a config is written as YAML", str(error), "texts, numbers and lists") from None

    @classmethod
    def load_cfg(cls, cfg_file_obj_or_str: Any) -> CfgNode:
        """A config from a text of YAML, or from an open file that ends in .yaml or .yml.

        Raises:
            YamlError: a .py file, which would have to be run; a text that is no YAML, or too large (yaml_files.py).
            ConfigError: neither a text nor an open file.

        Example:
            >>> CfgNode.load_cfg("LR: 0.1").LR
            0.1
        """
        given = cfg_file_obj_or_str
        if isinstance(given, str):
            return cls(yaml_files.read(given))
        if not isinstance(given, io.IOBase):
            raise ConfigError("load_cfg takes a text or an open file", repr(given), "merge_from_file, for a path")
        path = Path(str(getattr(given, "name", "")))
        yaml_files.check_suffix(path, {"", *yaml_files.YAML})
        return cls(yaml_files.settings_in(given, path.name))

    # ---------------------------------------------------------------------------------------------- merging

    def merge_from_file(self, cfg_filename: str | Path, within: str | Path | None = None) -> None:
        """Set what a YAML file says, after the files that it names under BASE, as Swin Transformer's configs do.

        Args:
            cfg_filename: the file.
            within: the folder that all of BASE must lie in; by default that of the file.

        Raises:
            UnknownSettingError: a key that is not here. ConfigError: a value of another type (merging.py).
            YamlError: a file that cannot be read; bases that name each other, or lie somewhere else.

        Example:
            >>> CfgNode().merge_from_file("default.py")
            Traceback (most recent call last):
            YamlError: ...
        """
        for one in [type(self)(said) for said in yaml_files.with_bases(cfg_filename, within)]:
            if "BASE" not in self and yaml_files.bases_of(one) is not None:
                del one["BASE"]
            self.merge_from_other_cfg(one)

    def merge_from_other_cfg(self, cfg_other: CfgNode) -> None:
        """Set what another config says. Texts are read as literals: "1e-3" is a number.

        Raises:
            UnknownSettingError: a key that is not here. ConfigError: a value of another type (merging.py).

        Example:
            >>> cfg = CfgNode({"LR": 0.1, "SIZES": (1, 2)})
            >>> cfg.merge_from_other_cfg(CfgNode({"SIZES": [3]}))
            >>> cfg
            CfgNode({'LR': 0.1, 'SIZES': (3,)})
        """
        if not isinstance(cfg_other, CfgNode):
            raise ConfigError("a config is merged with a CfgNode", repr(cfg_other), "CfgNode(...) of it")
        self._merge(cfg_other, self, [])

    def _merge(self, other: CfgNode, root: CfgNode, path: list[Any]) -> None:
        for key, given in other.items():
            full, value = _joined([*path, key]), self._decode_cfg_value(copy.deepcopy(given))
            if key in self:
                value = merging.fitting(value, self[key], full)
                if isinstance(value, CfgNode):
                    self[key]._merge(value, root, [*path, key])
                    continue
            elif not self.is_new_allowed():
                if root._passed_over(full):
                    continue
                raise merging.unknown_setting(full, root)
            self[key] = value

    def merge_from_list(self, cfg_list: Sequence[Any]) -> None:
        """Set pairs of a path and a value, such as the rest of a command line.

        Raises:
            UnknownSettingError: a path that leads nowhere. ConfigError: an odd number, a value of another type.

        Example:
            >>> cfg = CfgNode({"MODEL": {"DEPTHS": [2, 2]}})
            >>> cfg.merge_from_list(["MODEL.DEPTHS", "[2, 6]"])
            >>> cfg.MODEL.DEPTHS
            [2, 6]
        """
        if len(cfg_list) % 2:
            raise ConfigError("merge_from_list takes pairs of a path and a value", repr(list(cfg_list)))
        for full, given in zip(cfg_list[::2], cfg_list[1::2], strict=True):
            if self._passed_over(full):
                continue
            node: Any = self
            *around, key = str(full).split(".")
            for step in around:
                node = node.get(step) if isinstance(node, CfgNode) else None
            if not isinstance(node, CfgNode) or key not in node:
                raise merging.unknown_setting(str(full), self)
            node[key] = merging.fitting(self._decode_cfg_value(given), node[key], str(full))

    @classmethod
    def _decode_cfg_value(cls, value: Any) -> Any:
        return cls(value) if isinstance(value, dict) else merging.literal(value)

    # -------------------------------------------------------------------------------------- state of the tree

    def freeze(self) -> None:
        """Refuse to set attributes, here and below. Items can be set all the same, and clear() empties: as in yacs.

        Example:
            >>> cfg = CfgNode({"LR": 0.1})
            >>> cfg.freeze()
            >>> cfg["LR"] = 0.2
            >>> cfg.LR, cfg.clear(), cfg
            (0.2, None, CfgNode({}))
        """
        self._state(self.IMMUTABLE, True)

    def defrost(self) -> None:
        """Let attributes be set again, here and below."""
        self._state(self.IMMUTABLE, False)

    def is_frozen(self) -> bool:
        """Whether attributes are refused."""
        return bool(vars(self)[self.IMMUTABLE])

    def set_new_allowed(self, is_new_allowed: bool) -> None:
        """Whether a merge may bring keys that are not here, here and below."""
        self._state(self.NEW_ALLOWED, is_new_allowed)

    def is_new_allowed(self) -> bool:
        """Whether a merge may bring keys that are not here."""
        return bool(vars(self)[self.NEW_ALLOWED])

    def _state(self, name: str, value: bool) -> None:
        vars(self)[name] = value
        for below in self.values():
            if isinstance(below, CfgNode):
                below._state(name, value)

    def clone(self) -> CfgNode:
        """A copy that shares nothing, frozen if this is."""
        return copy.deepcopy(self)

    # --------------------------------------------------------------------------------- keys that are no more

    def register_deprecated_key(self, key: str) -> None:
        """Pass over this path in merges, with a warning."""
        self._register(self.DEPRECATED_KEYS, key)
        vars(self)[self.DEPRECATED_KEYS].add(key)

    def register_renamed_key(self, old_name: str, new_name: str, message: str | None = None) -> None:
        """Refuse this path in merges, and tell the new one, and the message.

        Example:
            >>> cfg = CfgNode({"LR": 0.1})
            >>> cfg.register_renamed_key("RATE", "LR", message="per image")
            >>> cfg.merge_from_list(["RATE", 0.2])
            Traceback (most recent call last):
            UnknownSettingError: RATE was renamed to LR; found 'RATE'. Try: LR. Note: per image.
        """
        self._register(self.RENAMED_KEYS, old_name)
        vars(self)[self.RENAMED_KEYS][old_name] = (new_name, message) if message else new_name

    def _register(self, where: str, key: str) -> None:
        if key in vars(self)[where]:
            raise ConfigError("a path is registered once", repr(key), "leaving the second one out")

    def key_is_deprecated(self, full_key: str) -> bool:
        """Whether a path is passed over in merges; if it is, a warning is logged."""
        found = full_key in vars(self)[self.DEPRECATED_KEYS]
        if found:
            _log.warning("%s is no longer a setting, and is passed over", full_key)
        return found

    def _passed_over(self, full_key: str) -> bool:
        """Whether a path that is no more may stand in a merge; one that has another name may not."""
        found = self.key_is_deprecated(full_key)
        if not found and self.key_is_renamed(full_key):
            self.raise_key_rename_error(full_key)
        return found

    def key_is_renamed(self, full_key: str) -> bool:
        """Whether a path has another name now."""
        return full_key in vars(self)[self.RENAMED_KEYS]

    def raise_key_rename_error(self, full_key: str) -> None:
        """Raise the error that tells the new name of a path."""
        new = vars(self)[self.RENAMED_KEYS].get(full_key)
        name, message = new if isinstance(new, tuple) else (new, "")
        if name is None:
            raise UnknownSettingError("this path was not renamed", repr(full_key))
        raise UnknownSettingError(
            f"{full_key} was renamed to {name}", repr(full_key), f"{name}{'. Note: ' if message else ''}{message}"
        )


CN = CfgNode  # as everybody writes it


def load_cfg(cfg_file_obj_or_str: Any) -> CfgNode:
    """CfgNode.load_cfg: a config from a text of YAML, or from an open file that ends in .yaml or .yml.

    Example:
        >>> load_cfg("MODEL: {NAME: swin}").MODEL.NAME
        'swin'
    """
    return CfgNode.load_cfg(cfg_file_obj_or_str)


def _plain(value: Any, path: list[Any]) -> Any:
    """The same as a dict, for PyYAML."""
    if isinstance(value, CfgNode):
        return {key: _plain(below, [*path, key]) for key, below in value.items()}
    return merging.checked(value, _joined(path))


def _joined(path: list[Any]) -> str:
    return ".".join(map(str, path))


def _between(value: Any) -> str:
    return "\n" if isinstance(value, CfgNode) else " "
