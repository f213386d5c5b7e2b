"""Errors of settings: what is raised, and what does code that was written for yacs catch?

    ConfigError                 (AssertionError)   a value, or a call, that makes no sense
    ├── UnknownSettingError     (KeyError)         a key that the config does not have, or that was renamed
    ├── FrozenError             (AttributeError)   a setting of a config that is frozen
    └── YamlError               (yaml.YAMLError)   a file that cannot be read, or is too much to read

Each is an ArgumentError, and so a ValueError, too.
"""

from __future__ import annotations

import yaml

from jt_edu.base.errors import ArgumentError, UnknownKeyError

__all__ = ["ConfigError", "FrozenError", "UnknownSettingError", "YamlError"]


class ConfigError(ArgumentError, AssertionError):
    """A value or a call that makes no sense.

    Example:
        >>> jt.config.CfgNode().merge_from_list(["LR"])
        Traceback (most recent call last):
        ConfigError: ...
    """


class UnknownSettingError(ConfigError, UnknownKeyError):
    """A key that the config does not have; the one most like it is told.

    Example:
        >>> jt.config.CfgNode({"MODEL": {"DEPTHS": [2, 2]}}).merge_from_list(["MODEL.DEPTS", "[2, 6]"])
        Traceback (most recent call last):
        UnknownSettingError: a config changes the settings that it has; found 'MODEL.DEPTS'. Try: MODEL.DEPTHS.
    """


class FrozenError(ConfigError, AttributeError):
    """A setting of a config that is frozen.

    Example:
        >>> cfg = jt.config.CfgNode({"LR": 0.1})
        >>> cfg.freeze()
        >>> cfg.LR = 0.2
        Traceback (most recent call last):
        FrozenError: a frozen config keeps its settings; found LR = 0.2. Try: cfg.defrost() before.
    """


class YamlError(ConfigError, yaml.YAMLError):  # type: ignore[misc]  # PyYAML has no types
    """A file that cannot be read as YAML, or is too much to read.

    Example:
        >>> jt.config.CfgNode.load_cfg("LR: [0.1")
        Traceback (most recent call last):
        YamlError: ...
    """
