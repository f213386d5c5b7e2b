"""Published: where are torchvision's weights, and are these they?

    the cache of jt_edu  /weights/resnet18-f37072fd.pth       looked at first; what is downloaded goes here
    PyTorch's            /hub/checkpoints/...                 where torchvision puts it
    download.pytorch.org /models/...                          if there is a network

The name of a file ends in the first digits of its SHA-256. They are compared whenever it is read, wherever it was.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from jt_edu.backends.cache_dir import root
from jt_edu.base.errors import ArgumentError
from jt_edu.nn.weight_files.packed import Refused, drafted

ADDRESS = "https://download.pytorch.org/models/"
SECONDS = 30.0  # without an answer
PIECE = 1 << 20  # bytes that are downloaded at a time
LARGEST = 1 << 30  # bytes of a file; the largest of torchvision's have half of it
FILES = {
    "alexnet": "alexnet-owt-7be5be79", "densenet121": "densenet121-a639ec97", "densenet161": "densenet161-8d451a50",
    "densenet169": "densenet169-b2777c0a", "densenet201": "densenet201-c1103571", "googlenet": "googlenet-1378be20",
    "inception_v3": "inception_v3_google-0cc3c7bd", "mnasnet0_5": "mnasnet0.5_top1_67.823-3ffadce67e",
    "mnasnet0_75": "mnasnet0_75-7090bc5f", "mnasnet1_0": "mnasnet1.0_top1_73.512-f206786ef8",
    "mnasnet1_3": "mnasnet1_3-a4c69d6f", "mobilenet_v2": "mobilenet_v2-b0353104",
    "mobilenet_v3_large": "mobilenet_v3_large-8738ca79", "mobilenet_v3_small": "mobilenet_v3_small-047dcff4",
    "resnet18": "resnet18-f37072fd", "resnet34": "resnet34-b627a593", "resnet50": "resnet50-0676ba61",
    "resnet101": "resnet101-63fe2227", "resnet152": "resnet152-394f9c45", "resnext50_32x4d": "resnext50_32x4d-7cdf4587",
    "resnext101_32x8d": "resnext101_32x8d-8ba56ff5", "shufflenet_v2_x0_5": "shufflenetv2_x0.5-f707e7126e",
    "shufflenet_v2_x1_0": "shufflenetv2_x1-5666bf0f80", "shufflenet_v2_x1_5": "shufflenetv2_x1_5-3c479a10",
    "shufflenet_v2_x2_0": "shufflenetv2_x2_0-8be3c8ee", "squeezenet1_0": "squeezenet1_0-b66bff10",
    "squeezenet1_1": "squeezenet1_1-b8a52dc0", "vgg11": "vgg11-8a719046", "vgg11_bn": "vgg11_bn-6002323d",
    "vgg13": "vgg13-19584684", "vgg13_bn": "vgg13_bn-abd245e5", "vgg16": "vgg16-397923af",
    "vgg16_bn": "vgg16_bn-6c64b313", "vgg19": "vgg19-dcbb9e9d", "vgg19_bn": "vgg19_bn-c79401a0",
    "wide_resnet50_2": "wide_resnet50_2-95faca4d", "wide_resnet101_2": "wide_resnet101_2-32ee1156",
}  # fmt: skip

SETTINGS = {  # of networks whose weights were trained on images normalized in another way
    "googlenet": {"transform_input": True}, "inception_v3": {"transform_input": True},
}  # fmt: skip


def path_of(network: str) -> Path:
    """The file with the published weights of a network; it is downloaded if this machine does not have it.

    Raises:
        ArgumentError: there are none, or they can be had neither from a folder nor from the network.
    """
    if network not in FILES:
        raise ArgumentError("weights are published for " + ", ".join(FILES), network, f"{network}()")
    return file_of(network, address_of(network))


def address_of(network: str) -> str:
    """Where the weights of a network were published; "" where they were not.

    Example:
        >>> address_of("resnet18"), address_of("resnet35")
        ('https://download.pytorch.org/models/resnet18-f37072fd.pth', '')
    """
    return f"{ADDRESS}{FILES[network]}.pth" if network in FILES else ""


def file_of(network: str, address: str) -> Path:
    """The file that was published at an address; it is downloaded if this machine does not have it.

    Raises:
        ArgumentError: it can be had neither from a folder nor from the network.
    """
    if file := at_hand(address):
        return file
    name, folder = address.rpartition("/")[2], root() / "weights"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return download(address, folder / name)
    except (OSError, Refused) as error:
        damaged = [f"{file} with another checksum than its name has, " for file in places(name) if file.is_file()]
        raise ArgumentError(
            f"{network}(pretrained=True) reads {name} from {folder}, or downloads it",
            f"{damaged[-1] if damaged else 'no such file, '}and from {address.removesuffix(name)}: {error}",
            f"download {address} where there is a network, and put it into that folder; "
            f"or {network}(), with random weights",
        ) from error


def places(name: str) -> list[Path]:
    """Where a file of this name would be: in the cache of jt_edu, in PyTorch's."""
    shared = Path(os.environ.get("TORCH_HOME") or "~/.cache/torch").expanduser() / "hub" / "checkpoints"
    return [root() / "weights" / name, shared / name]


def at_hand(address: str) -> Path | None:
    """The file that was published at an address, if this machine has it, and its checksum is right.

    Example:
        >>> at_hand("https://example.org/nothing-00000000.pth") is None
        True
    """
    name = address.rpartition("/")[2]
    return next((file for file in places(name) if file.is_file() and matches(name, digest(file))), None)


def digest(file: Path) -> str:
    """The SHA-256 of a file.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     count = pathlib.Path(folder, "empty").write_bytes(b"")
        ...     digest(pathlib.Path(folder, "empty"))[:8]
        'e3b0c442'
    """
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def matches(name: str, sha256: str) -> bool:
    """Whether a checksum begins as the name of a file ends.

    Example:
        >>> matches("resnet18-f37072fd.pth", "f37072fd47e89c5e827621c5baffa7500819f7896bbacec160b1a16c560e07ec")
        True
    """
    return sha256.startswith(Path(name).stem.rpartition("-")[2])


def download(address: str, target: Path) -> Path:
    """Download a file of which the name tells the checksum. Until all of it is there, it has another name.

    Raises:
        OSError: the network has it not.
        Refused: it is another file.
    """
    from http.client import HTTPException  # noqa: PLC0415 - takes long to load, and is seldom needed
    from urllib.request import urlopen  # noqa: PLC0415 - the same

    try:
        with urlopen(address, timeout=SECONDS) as answer:  # noqa: S310 - ADDRESS is https, and the checksum is known
            size = int(answer.headers.get("Content-Length") or 0)
            with drafted(target, "downloading", size) as (file, seen):
                found, done = hashlib.sha256(), 0
                while piece := answer.read(PIECE):
                    done += len(piece)
                    if done > LARGEST:
                        raise Refused(f"more than {LARGEST:,} bytes")
                    found.update(piece)
                    seen(file.write(piece))
                if not matches(target.name, found.hexdigest()):
                    raise Refused(f"{done:,} bytes with another checksum than the name has, {found.hexdigest()[:8]}")
    except HTTPException as error:
        raise ConnectionError(f"{error!r}") from error
    return target
