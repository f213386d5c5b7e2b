"""Registry: which networks are known by name, and which of them have weights?

    @zoo.register_model
    def tiny(pretrained=False, **settings):            a function that makes a network; its name is the network's
        return zoo.build_model_with_cfg(Tiny, "tiny", pretrained, **settings)

    default_cfgs = {"tiny.digits": zoo.PretrainedCfg(...)}     above it: what images it wants, where its weights are

A name may carry a tag behind a dot, which says where weights come from: "resnet34.tv_in1k" are torchvision's, trained
on ImageNet. Filters are those of file names: * stands for anything, ? for one letter, [ab] for one of these. Numbers in
names are sorted as numbers, so that resnet18 comes before resnet101.
"""

from __future__ import annotations

import difflib
import fnmatch
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from jt_edu.base.errors import ArgumentError, JtError
from jt_edu.models.published import at_hand

__all__ = [
    "PretrainedCfg", "UnknownModelError", "get_pretrained_cfg", "get_pretrained_cfg_value", "is_model",
    "is_model_in_modules", "is_model_pretrained", "list_models", "list_modules", "list_pretrained", "model_entrypoint",
    "register_model",
]  # fmt: skip
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet's red, green and blue
Words = str | Iterable[str] | None  # one word, or several


class UnknownModelError(JtError, RuntimeError):
    """A name that no network has.

    Example:
        >>> jt.zoo.create_model("resnet43")
        Traceback (most recent call last):
        UnknownModelError: Unknown model (resnet43). Try: resnet34 or resnet18 or resnet152.
    """


@dataclass(frozen=True)
class PretrainedCfg:
    """What a network wants to be given, and where its weights are.

    Args:
        url: where they were published; the name of the file ends in the first digits of its SHA-256.
        file: a file on this machine; it comes before `url`.
        architecture, tag: the network's name, and the name of these weights.
        input_size: (channels, height, width) of an image.
        fixed_input_size: whether the network is made for one size, which it is told as `img_size`.
        interpolation, crop_pct: how images are made smaller, and how much of them is seen, for validation.
        mean, std: of the channels; what is fed is (x - mean) / std.
        num_classes: scores of the weights.
        first_conv, classifier: names of the layers that depend on channels and classes.

    Example:
        >>> jt.zoo.get_pretrained_cfg("inception_v3").input_size
        (3, 299, 299)
    """

    url: str = ""
    file: str = ""
    architecture: str = ""
    tag: str = ""
    input_size: tuple[int, int, int] = (3, 224, 224)
    fixed_input_size: bool = False
    interpolation: str = "bilinear"
    crop_pct: float = 0.875
    mean: tuple[float, ...] = MEAN
    std: tuple[float, ...] = STD
    num_classes: int = 1000
    first_conv: str | tuple[str, ...] = ""
    classifier: str | tuple[str, ...] = ""

    def to_dict(self) -> dict[str, Any]:
        """As a dict, which networks have as `pretrained_cfg`."""
        return asdict(self)

    def is_here(self) -> bool:
        """Whether the weights can be loaded without a network."""
        return Path(self.file).is_file() if self.file else bool(self.url) and at_hand(self.url) is not None


@dataclass(frozen=True)
class Entry:
    """A network: the function that makes it, the module where it stands, and its weights by tag, the usual ones first.

    Example:
        >>> Entry(print, "here", {"": PretrainedCfg(), "mine": PretrainedCfg()}).names("net")
        ['net', 'net.mine']
    """

    function: Callable[..., Any]
    module: str
    cfgs: Mapping[str, PretrainedCfg] = field(default_factory=dict)

    def names(self, name: str) -> list[str]:
        """The name with each tag; the name alone where there is no tag."""
        return [f"{name}.{tag}" if tag else name for tag in self.cfgs] or [name]


ENTRIES: dict[str, Entry] = {}  # filled while jt_edu.zoo is imported, and by @register_model


def register_model(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function that makes a network be known under its name. Returns the function.

    It is called with `pretrained`, `pretrained_cfg`, `pretrained_cfg_overlay` and the settings of `create_model`. What
    its module says in `default_cfgs` about its weights is registered along with it.

    Example:
        >>> @jt.zoo.register_model
        ... def two_layers(pretrained=False, num_classes=10, **_):
        ...     return jt.nn.Sequential(jt.nn.Flatten(), jt.nn.Linear(64, num_classes))
        >>> jt.zoo.is_model("two_layers"), jt.zoo.create_model("two_layers", num_classes=3)(jt.ones(2, 8, 8)).shape
        (True, (2, 3))
    """
    add(function, function.__globals__.get("default_cfgs", {}))
    return function


def add(function: Callable[..., Any], cfgs: Mapping[str, PretrainedCfg]) -> None:
    """Register a function with those of the cfgs, by name and tag, that are its own."""
    name, module = function.__name__, function.__module__
    before = ENTRIES.get(name)
    if before and before.function.__module__ != module:  # a cell that is run again replaces what it made
        found = f"that of {before.function.__module__}"
        warnings.warn(f"{module} takes the name {name} from {found}. Give the function another name.", stacklevel=3)
    mine = {tag: cfg for key, cfg in cfgs.items() for arch, tag in [split_tag(key)] if arch == name}
    full = {tag: replace(cfg, architecture=name, tag=tag) for tag, cfg in mine.items()}
    ENTRIES[name] = Entry(function, module.rpartition(".")[2], full)


def split_tag(name: str) -> tuple[str, str]:
    """A name and its tag.

    Example:
        >>> split_tag("resnet34.tv_in1k"), split_tag("resnet34")
        (('resnet34', 'tv_in1k'), ('resnet34', ''))
    """
    name, _, tag = str(name).partition(".")
    return name, tag


# ---------------------------------------------------------------------------------------------------------- questions


def is_model(model_name: str) -> bool:
    """Whether a network is known by this name, tag or not.

    Example:
        >>> jt.zoo.is_model("resnet34"), jt.zoo.is_model("resnet34.tv_in1k"), jt.zoo.is_model("resnet35")
        (True, True, False)
    """
    return split_tag(model_name)[0] in ENTRIES


def model_entrypoint(model_name: str, module_filter: str | None = None) -> Callable[..., Any]:
    """The function that makes a network.

    Args:
        model_name: with a tag or without.
        module_filter: the module that it has to stand in.

    Raises:
        UnknownModelError: there is none of this name, or it stands elsewhere.

    Example:
        >>> jt.zoo.model_entrypoint("resnet34", module_filter="resnet").__name__
        'resnet34'
    """
    entry = entry_of(model_name)
    if module_filter and entry.module != module_filter:
        asked = f"Model ({model_name}) not found in module {module_filter}"
        raise UnknownModelError(asked, f"it in {entry.module}", f"module_filter={entry.module!r}")
    return entry.function


def entry_of(model_name: str) -> Entry:
    """What is registered under a name.

    Raises:
        UnknownModelError: nothing is; the error has the names that are most like it.

    Example:
        >>> entry_of("resnet34.tv_in1k").module
        'resnet'
    """
    name, _ = split_tag(model_name)
    if name not in ENTRIES:
        near = difflib.get_close_matches(name, ENTRIES, 3)
        raise UnknownModelError(f"Unknown model ({model_name})", attempt=" or ".join(near) or "jt.zoo.list_models()")
    return ENTRIES[name]


def list_models(
    filter: Words = "",  # noqa: A002 - timm's name
    module: Words = "",
    pretrained: bool = False,
    exclude_filters: Words = "",
    name_matches_cfg: bool = False,
    include_tags: bool | None = None,
) -> list[str]:
    """The names of networks, sorted so that 18 comes before 101.

    Args:
        filter: one pattern, or several of which one has to fit; "" lets all through.
        module: the module where they stand, or several.
        pretrained: only those whose weights are on this machine.
        exclude_filters: patterns of names that are left out.
        name_matches_cfg: only names for which a `PretrainedCfg` is registered.
        include_tags: names with their tags; None: if `pretrained`. A filter without a tag then fits any.

    Example:
        >>> jt.zoo.list_models("*resne*t*", module="resnet")[:4]
        ['resnet18', 'resnet34', 'resnet50', 'resnet101']
        >>> jt.zoo.list_models(["mnasnet*", "alex*"], exclude_filters="*_?3", include_tags=True)
        ['alexnet.tv_in1k', 'mnasnet0_5.tv_in1k', 'mnasnet0_75.tv_in1k', 'mnasnet1_0.tv_in1k', 'mnasnet1_3.tv_in1k']
    """
    tags = pretrained if include_tags is None else include_tags
    modules, wanted, unwanted = words(module), patterns(filter, tags), patterns(exclude_filters, tags)
    found = {name: entry for name, entry in ENTRIES.items() if not modules or entry.module in modules}
    names = {full for name, entry in found.items() for full in (entry.names(name) if tags else [name])}
    names = {name for name in names if not words(filter) or fits(name, wanted)}
    names = {name for name in names if not fits(name, unwanted)}
    if name_matches_cfg:
        names = {name for name in names if cfg_of(name)}
    if pretrained:
        names = {name for name in names if is_model_pretrained(name)}
    return sorted(names, key=natural)


def list_pretrained(filter: Words = "", exclude_filters: Words = "") -> list[str]:  # noqa: A002 - timm's name
    """The names, with tags, of networks whose weights are on this machine; patterns as in `list_models`.

    Example:
        >>> set(jt.zoo.list_pretrained("resnet*")) <= {f"resnet{n}.tv_in1k" for n in (18, 34, 50, 101, 152)}
        True
    """
    return list_models(filter, pretrained=True, exclude_filters=exclude_filters, include_tags=True)


def list_modules() -> list[str]:
    """The modules in which networks stand.

    Example:
        >>> [name for name in jt.zoo.list_modules() if name.startswith("mobile")]
        ['mobilenet', 'mobilenetv3']
    """
    return sorted({entry.module for entry in ENTRIES.values()})


def is_model_in_modules(model_name: str, module_names: Words) -> bool:
    """Whether a network stands in one of these modules.

    Example:
        >>> jt.zoo.is_model_in_modules("resnet34", ["vgg", "resnet"])
        True
    """
    entry = ENTRIES.get(split_tag(model_name)[0])
    return entry is not None and entry.module in words(module_names)


def is_model_pretrained(model_name: str) -> bool:
    """Whether the weights of a network are on this machine: in a file, or in a folder of downloaded ones.

    Example:
        >>> jt.zoo.is_model_pretrained("resnet34") == ("resnet34.tv_in1k" in jt.zoo.list_pretrained())
        True
    """
    found = cfg_of(model_name)
    return found is not None and found.is_here()


def get_pretrained_cfg(model_name: str, allow_unregistered: bool = True) -> PretrainedCfg | None:
    """What a network wants to be given, and where its weights are; without a tag, of the usual ones.

    Args:
        model_name: with a tag or without.
        allow_unregistered: None, where nothing is registered; else that is an error.

    Raises:
        UnknownModelError: it has weights, and none with this tag; or nothing is registered.

    Example:
        >>> jt.zoo.get_pretrained_cfg("resnet34").tag, jt.zoo.get_pretrained_cfg("resnet35")
        ('tv_in1k', None)
    """
    found, (name, tag) = cfg_of(model_name), split_tag(model_name)
    if found is None and name in ENTRIES and ENTRIES[name].cfgs:
        raise UnknownModelError(f"Invalid pretrained tag ({tag}) for {name}", attempt=" or ".join(ENTRIES[name].cfgs))
    if found is None and not allow_unregistered:
        raise UnknownModelError(f"Model architecture ({name}) has no pretrained cfg registered")
    return found


def get_pretrained_cfg_value(model_name: str, cfg_key: str) -> Any:
    """One value of `get_pretrained_cfg`; None, if a cfg has no such key.

    Example:
        >>> jt.zoo.get_pretrained_cfg_value("resnet34", "first_conv")
        'conv1'
    """
    return getattr(get_pretrained_cfg(model_name, allow_unregistered=False), cfg_key, None)


def cfg_of(model_name: str) -> PretrainedCfg | None:
    """What is registered for a name with this tag; without one, the first.

    Example:
        >>> cfg_of("resnet34").tag, cfg_of("resnet34.of_mine")
        ('tv_in1k', None)
    """
    name, tag = split_tag(model_name)
    cfgs = ENTRIES[name].cfgs if name in ENTRIES else {}
    return cfgs.get(tag) if tag else next(iter(cfgs.values()), None)


# ----------------------------------------------------------------------------------------------------------- patterns


def words(given: Words) -> list[str]:
    """One word or several, as a list.

    Example:
        >>> words("a"), words(("a", "b")), words(""), words(None)
        (['a'], ['a', 'b'], [], [])
    """
    return [given] if isinstance(given, str) and given else list(given or ())


def patterns(given: Words, tags: bool) -> list[str]:
    """Patterns; one without a tag fits names with any tag, where names have tags.

    Example:
        >>> patterns("resnet*", tags=True)
        ['resnet*', 'resnet*.*']
    """
    some = words(given)
    return [*some, *(f"{one.partition('.')[0]}.*" for one in some if tags and not split_tag(one)[1])]


def fits(name: str, some: list[str]) -> bool:
    """Whether one of the patterns fits a name.

    Example:
        >>> fits("resnet34", ["vgg*", "res*"])
        True
    """
    return any(fnmatch.fnmatch(name, one) for one in some)


def natural(name: str) -> list[Any]:
    """A key for sorting, in which numbers are numbers.

    Example:
        >>> sorted(["net101", "net18"], key=natural)
        ['net18', 'net101']
    """
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name.lower())]


def resolve(name: str, cfg: Any, overlay: Mapping[str, Any] | None) -> PretrainedCfg:
    """The cfg of a network that is about to be made: registered, by its tag, or given; then some values replaced.

    Raises:
        ArgumentError: a value that a cfg does not have.
        UnknownModelError: a tag that this network does not have.

    Example:
        >>> resolve("resnet34", "tv_in1k", {"crop_pct": 1.0}).crop_pct
        1.0
    """
    if isinstance(cfg, Mapping):
        base, changes = PretrainedCfg(architecture=name), {**cfg, **(overlay or {})}
    else:
        key = f"{name}.{cfg}" if isinstance(cfg, str) and cfg else name
        base = cfg if isinstance(cfg, PretrainedCfg) else get_pretrained_cfg(key) or PretrainedCfg(architecture=name)
        changes = dict(overlay or {})
    if not (cfg is None or isinstance(cfg, (str, Mapping, PretrainedCfg))):
        raise ArgumentError(
            "pretrained_cfg is a tag, a dict or a PretrainedCfg", repr(cfg), f"jt.zoo.get_pretrained_cfg({name!r})"
        )
    odd = sorted(set(changes) - set(asdict(base)))
    if odd:
        raise ArgumentError("a pretrained cfg has the values " + ", ".join(asdict(base)), ", ".join(odd))
    return replace(base, **changes)
