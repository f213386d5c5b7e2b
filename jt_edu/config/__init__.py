"""config: settings in a file and on a command line, as yacs and argparse have them. This file is a door: names only."""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door
from jt_edu.config.argument_parser import ArgumentParser
from jt_edu.config.cfg_node import CN, CfgNode, load_cfg
from jt_edu.config.differences import Differences, diff
from jt_edu.config.errors import ConfigError, FrozenError, UnknownSettingError, YamlError

__all__ = ["ArgumentParser", "CN", "CfgNode", "ConfigError", "Differences", "FrozenError", "UnknownSettingError",
           "YamlError", "diff", "load_cfg"]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.config", __all__)
