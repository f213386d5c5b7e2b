"""Card: what is a network, at a glance?

    print(jt.zoo.model_card("resnet34"))

    resnet34     class ResNet of module resnet
    images       (3, 224, 224), less (0.485, 0.456, 0.406), divided by (0.229, 0.224, 0.225)
    numbers      21,797,672 to train
    operations   7.35 G for an image
    features     512
    maps         64 of 112 x 112, 64 of 56 x 56, 128 of 28 x 28, 256 of 14 x 14, 512 of 7 x 7
    weights      tv_in1k: not on this machine

Nothing runs for it: shapes are known without numbers, and operations are counted in the graph.
"""

from __future__ import annotations

import html
from typing import Any

from jt_edu.introspect.explain import in_words
from jt_edu.lens.model_summary import summary
from jt_edu.zoo.factory import create_model
from jt_edu.zoo.registry import entry_of, resolve, split_tag

__all__ = ["ModelCard", "model_card"]


class ModelCard:
    """What there is to say about a network: `rows`, name -> text. Printed it is text; a notebook shows a table.

    Example:
        >>> ModelCard({"features": "512", "images": "(3, 224, 224)"})
        features   512
        images     (3, 224, 224)
    """

    def __init__(self, rows: dict[str, str]) -> None:
        self.rows = rows

    def __repr__(self) -> str:
        width = max(map(len, self.rows))
        return "\n".join(f"{name.ljust(width)}   {text}" for name, text in self.rows.items())

    def _repr_html_(self) -> str:
        cell = '<t{0} style="text-align:left">{1}</t{0}>'
        rows = [cell.format("h", name) + cell.format("d", html.escape(text)) for name, text in self.rows.items()]
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def model_card(model_name: str, **kwargs: Any) -> ModelCard:
    """How large a network is, what it is given, what comes out, and whether its weights are here.

    Args:
        model_name: as in `create_model`.
        kwargs: as in `create_model`, such as num_classes and in_chans.

    Raises:
        UnknownModelError: no network has this name.

    Example:
        >>> card = jt.zoo.model_card("resnet18", num_classes=10, in_chans=1)
        >>> card.rows["numbers"], card.rows["maps"].split(", ")[0]
        ('11,175,370 to train', '64 of 112 x 112')
    """
    net: Any = create_model(model_name, **kwargs)
    name, tag = split_tag(model_name)
    cfg = resolve(name, kwargs.get("pretrained_cfg") or tag, kwargs.get("pretrained_cfg_overlay"))
    channels, *size = cfg.input_size
    shape = kwargs.get("in_chans") or channels, *size
    whole = summary(net, (1, *shape)).rows[0]
    maps = [f"{m['num_chs']} of {' x '.join(str(-(-n // m['reduction'])) for n in size)}" for m in net.feature_info]
    weights = f"{cfg.tag or 'untagged'}: {'' if cfg.is_here() else 'not '}on this machine"
    return ModelCard({
        name: f"class {type(net).__name__} of module {entry_of(name).module}",
        "images": f"{shape}, less {cfg.mean}, divided by {cfg.std}",
        "numbers": f"{whole.parameters:,} to train",
        "operations": f"{in_words(whole.operations, '').strip()} for an image",
        "features": str(net.num_features),
        "maps": ", ".join(maps),
        "weights": weights if cfg.url or cfg.file else "none are published",
    })  # fmt: skip
