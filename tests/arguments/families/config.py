"""Configs: what a tree is made of, and what is told of a name that is no more."""

import contextlib
from pathlib import Path
from tempfile import TemporaryDirectory

import jt_edu as jt
from tests.arguments.rows import shows

CfgNode = jt.config.CfgNode


def renamed(**given):
    cfg = CfgNode({"LR": 0.1})
    cfg.register_renamed_key("RATE", "LR", **given)
    return said(lambda: cfg.merge_from_list(["RATE", 1]))


def said(call):
    """What is told of a mistake."""
    try:
        call()
    except jt.JtError as error:
        return str(error)
    return ""


def merged(**given):
    """What a file says whose base lies in the folder above."""
    cfg = CfgNode({"LR": 0.1})
    with TemporaryDirectory() as folder:
        (Path(folder) / "below").mkdir()
        (Path(folder) / "base.yaml").write_text("LR: 0.2")
        (Path(folder) / "below" / "mine.yaml").write_text("BASE: [../base.yaml]")
        with contextlib.suppress(jt.config.YamlError):
            cfg.merge_from_file(Path(folder) / "below" / "mine.yaml", **dict.fromkeys(given, folder))
    return cfg.LR


ROWS = [
    *shows(CfgNode.merge_from_file, "within", "a folder", merged, 0.2),
    *shows(CfgNode, "init_dict", {"LR": 0.1}, lambda **k: dict(CfgNode(**k)), {"LR": 0.1}),
    *shows(CfgNode, "key_list", ["MODEL"], lambda **k: "MODEL.LR = 1j" in said(lambda: CfgNode({"LR": 1j}, **k))),
    *shows(
        CfgNode, "new_allowed", True, lambda **k: said(lambda: CfgNode(**k).merge_from_other_cfg(CfgNode({"A": 1}))), ""
    ),
    *shows(CfgNode.register_renamed_key, "message", "per image", lambda **k: renamed(**k).endswith("Note: per image.")),
]
