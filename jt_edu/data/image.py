"""Images: pixels (h, w, 3) uint8 from a file.

.npy, .ppm and .pgm with 8 bits are read here. Pillow reads the rest, if it is installed; without it .png with 8 bits is
read here as well.

    PNG:  signature, then chunks of (length, name, content, checksum)
          IHDR width, height, ...     PLTE colours     IDAT packed rows     IEND
          each row: 1 byte that names a filter, then bytes as differences from their neighbours

Source: "Portable network graphics specification", second edition (ISO/IEC 15948).
"""

from __future__ import annotations

import importlib.util
import struct
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from jt_edu.base.errors import BackendError, ShapeError
from jt_edu.data.binary_io import FileError, path_of

EXTENSIONS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".npy")
MOST_PIXELS = 1 << 27  # a larger image is more likely an attack than a photograph
SIGNATURE = b"\x89PNG\r\n\x1a\n"
PILLOW_MODES = {  # of Pillow, by the number of channels; the first one unless another is asked for
    1: ("L",), 2: ("LA",), 3: ("RGB", "YCbCr", "HSV"), 4: ("RGBA", "CMYK", "RGBX"),
}  # fmt: skip
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # PNG: grey, RGB, palette, grey and alpha, RGB and alpha


def read_image(path: Any) -> np.ndarray[Any, Any]:
    """The pixels (h, w, 3) of an image, uint8: grey in three equal channels, and no alpha.

    Args:
        path: .npy, .ppm, .pgm, .png, and with Pillow .jpg, .bmp, .gif, .tif, .webp.

    Raises:
        FileError: the file is missing or damaged, too large, or of a format that this package cannot read.
        ArgumentError: `path` is no path.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as here:
        ...     file = pathlib.Path(here, "red.ppm")
        ...     count = file.write_bytes(b"P6 1 1 255 " + bytes([255, 0, 0]))
        ...     read_image(file)
        array([[[255,   0,   0]]], dtype=uint8)
    """
    file = path_of("read_image", path)
    if not file.is_file():
        raise FileError("an image is read from a file", f"no file {str(path)!r}")
    own = {".npy": _read_npy, ".ppm": _read_pnm, ".pgm": _read_pnm}.get(file.suffix.lower())
    if own is None and _pillow_is_here():
        own = _read_with_pillow
    elif own is None and file.suffix.lower() == ".png":
        own = read_png
    if own is None:
        raise FileError("without Pillow, images are .npy, .ppm, .pgm or .png", repr(str(path)), "pip install pillow")
    try:
        pixels = own(file)
    except FileError:
        raise
    except Exception as error:
        raise FileError("the file holds an image", f"{type(error).__name__}: {error} in {str(path)!r}") from error
    return _as_rgb(pixels, file)


def read_png(path: Path) -> np.ndarray[Any, Any]:
    """The pixels (h, w) or (h, w, channels) of a PNG with 8 bits; a palette is looked up."""
    content = path.read_bytes()
    if content[:8] != SIGNATURE:
        raise FileError("a PNG begins with its signature", f"{content[:8]!r} in {str(path)!r}")
    chunks = _chunks(content, path)
    w, h, bits, kind, *rest = struct.unpack(">IIBBBBB", chunks.get(b"IHDR", b""))
    if bits != 8 or kind not in CHANNELS or rest != [0, 0, 0]:
        found = f"{bits} bits, colour type {kind}, {rest} in {str(path)!r}"
        raise FileError("without Pillow, a PNG has 8 bits and is not interlaced", found, "pip install pillow")
    _check_size(h, w, path)
    n = CHANNELS[kind]
    packed = zlib.decompressobj()
    rows = packed.decompress(chunks.get(b"IDAT", b""), h * (w * n + 1) + 1)
    if len(rows) != h * (w * n + 1):
        raise FileError(f"{h} rows of {w} pixels are {h * (w * n + 1)} bytes", f"{len(rows)} in {str(path)!r}")
    table = np.frombuffer(rows, np.uint8).reshape(h, w * n + 1)
    pixels = _unfiltered(table[:, 0], table[:, 1:].reshape(h, w, n), path)
    if kind != 3:
        return pixels
    palette: np.ndarray[Any, Any] = np.frombuffer(chunks.get(b"PLTE", b""), np.uint8).reshape(-1, 3)
    return np.take(palette, pixels[..., 0], 0)


def _chunks(content: bytes, path: Path) -> dict[bytes, bytes]:
    """Chunks by name; those of one name are joined."""
    found: dict[bytes, list[bytes]] = {}
    at = 8
    while b"IEND" not in found:
        (length,), name = struct.unpack(">I", content[at : at + 4]), content[at + 4 : at + 8]
        end = at + 8 + length
        if content[end : end + 4] != struct.pack(">I", zlib.crc32(content[at + 4 : end])):
            raise FileError("the checksum of each chunk is right", f"another one for {name!r} in {str(path)!r}")
        found.setdefault(name, []).append(content[at + 8 : end])
        at = end + 4
    return {name: b"".join(parts) for name, parts in found.items()}


def _unfiltered(filters: np.ndarray[Any, Any], rows: np.ndarray[Any, Any], path: Path) -> np.ndarray[Any, Any]:
    """Bytes from differences: to the left (1), above (2), their mean (3), or the best of left, above, corner (4)."""
    pixels = np.zeros_like(rows)
    above = np.zeros_like(rows[0])
    for y, (kind, row) in enumerate(zip(filters.tolist(), rows, strict=True)):
        if kind > 4:
            raise FileError("the filter of a row is 0 to 4", f"{kind} in {str(path)!r}")
        if kind in (0, 2):
            pixels[y] = row + above * (kind == 2)
        elif kind == 1:
            pixels[y] = np.cumsum(row, 0, dtype=np.uint8)
        else:
            pixels[y] = np.stack([_along(kind, row[:, c], above[:, c]) for c in range(row.shape[1])], 1)
        above = pixels[y]
    return pixels


def _along(kind: int, row: np.ndarray[Any, Any], above: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """One channel of one row, pixel by pixel."""
    done, left, corner = [], 0, 0
    for difference, up in zip(row.tolist(), above.tolist(), strict=True):
        guess = (left + up) // 2
        if kind == 4:
            best = left + up - corner
            guess = min((left, up, corner), key=lambda near: abs(best - near))
        left, corner = (difference + guess) % 256, up
        done.append(left)
    return np.array(done, np.uint8)


def _read_npy(path: Path) -> np.ndarray[Any, Any]:
    with path.open("rb") as file:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _read_pnm(path: Path) -> np.ndarray[Any, Any]:
    """P5 (grey) or P6 (RGB): width, height, largest number, then bytes. A # begins a comment."""
    content, at, words = path.read_bytes(), 0, list[bytes]()
    while len(words) < 4:
        line = content[at : at + 1]
        if not line:
            raise FileError("the header has a kind, width, height and largest number", f"{words} in {str(path)!r}")
        if line.isspace():
            at += 1
        elif line == b"#":
            at = content.find(b"\n", at) + 1 or len(content)
        else:
            end = next((k for k in range(at, min(at + 12, len(content))) if content[k : k + 1].isspace()), at + 12)
            words, at = [*words, content[at:end]], end
    if not all(word.isdigit() for word in words[1:]):
        raise FileError("a width, a height and a largest number are digits", f"{words} in {str(path)!r}")
    kind, (w, h, most) = words[0], map(int, words[1:])
    if kind not in (b"P5", b"P6") or most != 255:
        raise FileError("a .ppm or .pgm is P6 or P5 with numbers to 255", f"{words} in {str(path)!r}")
    _check_size(h, w, path)
    n = 3 if kind == b"P6" else 1
    pixels = np.frombuffer(content, np.uint8, offset=at + 1)
    if pixels.size != h * w * n:
        raise FileError(f"{h} by {w} pixels are {h * w * n} bytes", f"{pixels.size} in {str(path)!r}")
    return pixels.reshape(h, w, n)


def _pillow_is_here() -> bool:
    return importlib.util.find_spec("PIL") is not None


def _read_with_pillow(path: Path) -> np.ndarray[Any, Any]:
    from PIL import Image  # noqa: PLC0415 - may be absent, and only this function needs it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # _check_size says it, with the name
        with Image.open(path) as image:
            _check_size(image.height, image.width, path)
            return pixels_of(image, f" in {str(path)!r}")


def pixels_of(image: Any, where: str = "") -> np.ndarray[Any, Any]:
    """An image of Pillow as uint8: of grey (h, w), of colours (h, w, 3) or (h, w, 4)."""
    if image.mode.startswith("I;16"):  # grey with 16 bits, of which the upper 8 are kept
        return (np.asarray(image) >> 8).astype(np.uint8)
    if image.mode in ("I", "F"):  # any numbers: nobody knows which of them is white
        raise FileError("an image has 8 or 16 bits", f"mode {image.mode!r}{where}", "np.asarray(image), as numbers")
    return np.array(image if image.mode in ("L", "RGB", "RGBA") else image.convert("RGB"))


def image_of(pixels: np.ndarray[Any, Any], mode: str | None = None) -> Any:
    """An image of Pillow of pixels (h, w) or (h, w, channels)."""
    h, w, channels = (*pixels.shape, 1)[:3]
    if mode is not None and mode not in PILLOW_MODES[channels]:
        found = f"{channels} of them for mode {mode!r}"
        raise ShapeError(
            "a mode of Pillow says how many channels an image has", found, " or ".join(PILLOW_MODES[channels])
        )
    if not _pillow_is_here():
        raise BackendError("images of Pillow come with Pillow", "no such package", "pip install pillow")
    from PIL import Image  # noqa: PLC0415 - may be absent, and few need it

    return Image.frombytes(mode or PILLOW_MODES[channels][0], (w, h), pixels.tobytes())


def _check_size(h: int, w: int, path: Path) -> None:
    if not 0 < h * w <= MOST_PIXELS:
        raise FileError(f"an image has from 1 to {MOST_PIXELS} pixels", f"{h} by {w} in {str(path)!r}")


def _as_rgb(pixels: np.ndarray[Any, Any], path: Path) -> np.ndarray[Any, Any]:
    """Three channels: grey is repeated, alpha is left out."""
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or not 1 <= pixels.shape[2] <= 4 or not pixels.size:
        raise FileError("an image is uint8, (h, w) or (h, w, channels)", f"{pixels.dtype} {pixels.shape} in {path}")
    return np.repeat(pixels[..., :1], 3, 2) if pixels.shape[2] < 3 else np.ascontiguousarray(pixels[..., :3])
