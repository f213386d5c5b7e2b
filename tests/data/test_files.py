"""Files: what is written in a format is read again; what is damaged, hostile or missing is an error with its name."""

import collections
import gzip
import io
import itertools
import pickle
import re
import struct
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import data
from jt_edu.base.errors import ArgumentError
from jt_edu.data import image as image_module
from jt_edu.data.binary_io import Reader
from jt_edu.data.cifar import read_plain_pickle

# -------------------------------------------------------------------------------------------------------------- MNIST


def idx(array, kind=8):
    header = struct.pack(f">HBB{array.ndim}I", 0, kind, array.ndim, *array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.fixture
def digits(rng):
    return rng.integers(0, 256, (7, 28, 28), dtype=np.uint8), rng.integers(0, 10, 7, dtype=np.uint8)


def write_mnist(folder, images, labels, part="train", packed=False):
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in ((f"{part}-images-idx3-ubyte", images), (f"{part}-labels-idx1-ubyte", labels)):
        content = idx(array)
        (folder / f"{name}{'.gz' * packed}").write_bytes(gzip.compress(content) if packed else content)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("inside", ["", "MNIST/raw"])
def test_mnist_is_read_packed_or_not_from_both_places(tmp_path, digits, packed, inside):
    images, labels = digits
    write_mnist(tmp_path / inside, images, labels, packed=packed)
    write_mnist(tmp_path / inside, images[:2], labels[:2], "t10k", packed)
    train = data.MNIST(tmp_path, batch_size=7)
    ((x, y),) = train

    np.testing.assert_array_equal(x.numpy(), images)
    np.testing.assert_array_equal(y.numpy(), labels)
    assert (x.dtype, y.dtype) == ("uint8", "int64")
    assert data.MNIST(str(tmp_path), train=False).total_len == 2
    assert train.classes[int(train[0][1])] == data.MNIST.CLASSES[labels[0]]


def test_transforms_change_the_image_and_the_label(tmp_path, digits):
    write_mnist(tmp_path / "FashionMNIST/raw", *digits)
    fashion = data.FashionMNIST(tmp_path, transform=data.transform.ToTensor(), target_transform=lambda k: -k)
    image, label = fashion[3]

    np.testing.assert_allclose(image, digits[0][3][None] / 255, atol=1e-7)
    assert label == -int(digits[1][3])
    assert len(fashion.classes) == 10


@pytest.mark.parametrize(("kind", "dtype"), [(8, "u1"), (9, "i1"), (11, "i2"), (12, "i4"), (13, "f4"), (14, "f8")])
def test_idx_files_hold_six_types_of_numbers(tmp_path, kind, dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    (tmp_path / "a").write_bytes(idx(array, kind))

    read = data.read_idx(tmp_path / "a")
    np.testing.assert_array_equal(read, array)
    assert read.dtype == dtype


GOOD = idx(np.arange(6, dtype=np.uint8).reshape(2, 3))
HUGE = struct.pack(">HBB3I", 0, 8, 3, 60_000, 1 << 31, 1 << 31)
BOMB = gzip.compress(struct.pack(">HBBI", 0, 8, 1, 10) + bytes(50_000_000), mtime=0)


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"", "a", "2 more bytes"), (GOOD[:3], "a", "2 more bytes"), (GOOD[:7], "a", "8 more bytes"),
        (GOOD[:-1], "a", "6 more bytes.*5 in"), (GOOD + b"x", "a", "more bytes"), (b"PK" + GOOD[2:], "a", "50 4b"),
        (b"\0\0\x0a" + GOOD[3:], "a", "0a"), (b"\0\0\x08\xff" + GOOD[4:], "a", "ff"), (HUGE, "a", "at most 16"),
        (gzip.compress(HUGE, mtime=0), "a.gz", "at most"), (BOMB, "a.gz", "more bytes"), (GOOD, "a.gz", "[Gg]zip"),
        (gzip.compress(GOOD, mtime=0)[:-12], "a.gz", "a.gz"),
        (gzip.compress(GOOD, mtime=0)[:-8] + b"12345678", "a.gz", "CRC"),
    ],
)  # fmt: skip
def test_damaged_idx_files_are_refused_by_name(tmp_path, content, name, words):
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(data.FileError, match=words) as caught:
        data.read_idx(path)
    assert str(path) in str(caught.value)


def test_a_small_file_that_unpacks_to_much_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    size = 100_000_000
    (tmp_path / "a.gz").write_bytes(gzip.compress(struct.pack(">HBBI", 0, 8, 1, size) + bytes(size), mtime=0))
    read = files_read(monkeypatch)

    with pytest.raises(data.FileError, match=r"100000000 more bytes.*at most 67108864.*not packed"):
        data.read_idx(tmp_path / "a.gz")

    assert sum(read) <= 8


def test_mnist_refuses_a_file_by_its_header_and_reads_no_numbers(tmp_path, digits, monkeypatch):
    images, labels = digits
    write_mnist(tmp_path, images, labels)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(np.zeros(5_000_000, np.uint8)))
    read = files_read(monkeypatch)

    with pytest.raises(data.FileError, match=r"3 axes.*\(5000000,\)"):
        data.MNIST(tmp_path)

    assert sum(read) <= 8


def files_read(monkeypatch):
    """How many bytes were asked of idx files, piece by piece."""
    asked, take = [], Reader._read
    monkeypatch.setattr(Reader, "_read", lambda self, count: asked.append(count) or take(self, count))
    return asked


def test_large_files_are_read_in_pieces_and_are_all_there(tmp_path, rng):
    array = rng.integers(0, 256, 3_000_001, dtype=np.uint8)
    (tmp_path / "a.gz").write_bytes(gzip.compress(idx(array), 1, mtime=0))

    np.testing.assert_array_equal(data.read_idx(tmp_path / "a.gz"), array)


def test_labels_in_order_may_be_packed_tightly(tmp_path):
    array = np.repeat(np.arange(10, dtype=np.uint8), 1_000_000)
    (tmp_path / "a.gz").write_bytes(gzip.compress(idx(array), mtime=0))

    np.testing.assert_array_equal(data.read_idx(tmp_path / "a.gz"), array)


@pytest.mark.parametrize("read", [data.read_idx, data.read_image], ids=lambda f: f.__name__)
@pytest.mark.parametrize("path", [None, 0, b"x"])
def test_what_is_no_path_is_refused_and_named(read, path):
    with pytest.raises(ArgumentError, match=f"{read.__name__} reads a file.*{re.escape(repr(path))}"):
        read(path)


def test_mnist_files_that_do_not_belong_together_are_refused(tmp_path, digits):
    images, labels = digits
    with pytest.raises(data.FileError, match=r"train-images-idx3-ubyte.*jt_edu downloads nothing"):
        data.MNIST(tmp_path)
    for wrong, words in (
        ((images, labels[:-1]), "7 images, 6 labels"), ((images[0], labels), "3 axes"),
        ((images, labels + 90), "0 to 9"), ((images, images), "1 axis"),
    ):  # fmt: skip
        write_mnist(tmp_path, *wrong)
        with pytest.raises(data.FileError, match=words):
            data.MNIST(tmp_path)


# -------------------------------------------------------------------------------------------------------------- CIFAR


def photographs(rng, n, classes):
    return rng.integers(0, 256, (n, 3072), dtype=np.uint8), rng.integers(0, classes, n).tolist()


def reduced(array, module="numpy.core.multiarray"):
    """An array as NumPy 1 under Python 2 wrote it: the words of the published files."""
    out = io.BytesIO()
    n, width = array.shape
    out.write(b"\x80\x02}q\x01(U\x04dataq\x02c" + module.encode() + b"\n_reconstruct\nq\x03")
    out.write(b"cnumpy\nndarray\nq\x04K\x00\x85U\x01b\x87Rq\x05")
    out.write(b"(K\x01" + b"M" + struct.pack("<H", n) + b"M" + struct.pack("<H", width) + b"\x86")
    out.write(
        b"cnumpy\ndtype\nq\x06U\x02u1K\x00K\x01\x87Rq\x07(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    )
    out.write(b"\x89T" + struct.pack("<i", array.size) + array.tobytes() + b"tb")
    return out


@pytest.mark.parametrize("form", ["binary", "python 2", "protocol 2", "protocol 4"])
def test_cifar10_is_read_from_every_form(tmp_path, rng, form):
    parts = {f"data_batch_{k}": photographs(rng, k, 10) for k in range(1, 6)} | {"test_batch": photographs(rng, 2, 10)}
    folder = tmp_path / ("cifar-10-batches-bin" if form == "binary" else "cifar-10-batches-py")
    folder.mkdir()
    for name, (pixels, labels) in parts.items():
        if form == "binary":
            table = np.concatenate([np.array(labels, np.uint8)[:, None], pixels], 1)
            (folder / f"{name}.bin").write_bytes(table.tobytes())
        elif form == "python 2":
            out = reduced(pixels)
            out.write(b"U\x06labels](" + b"".join(b"K" + bytes([k]) for k in labels) + b"eu.")
            (folder / name).write_bytes(out.getvalue())
        else:
            content = {b"data": pixels, b"labels": labels, b"batch_label": b"one", "filenames": ["a.png"]}
            (folder / name).write_bytes(pickle.dumps(content, protocol=int(form[-1])))
    train, test = data.CIFAR10(tmp_path, batch_size=15), data.CIFAR10(folder, train=False)
    ((x, y),) = train

    assert (x.shape, test.total_len) == ((15, 32, 32, 3), 2)
    assert y.tolist() == [k for name in list(parts)[:5] for k in parts[name][1]]
    expected = np.concatenate([parts[name][0] for name in list(parts)[:5]]).reshape(-1, 3, 32, 32)
    np.testing.assert_array_equal(np.moveaxis(x.numpy(), -1, 1), expected)
    assert train.classes[0] == "airplane"


@pytest.mark.parametrize("form", ["binary", "pickled"])
def test_cifar100_takes_the_fine_labels(tmp_path, rng, form):
    pixels, fine = photographs(rng, 4, 100)
    coarse = [k // 5 for k in fine]
    if form == "binary":
        table = np.concatenate([np.array([coarse, fine], np.uint8).T, pixels], 1)
        (tmp_path / "train.bin").write_bytes(table.tobytes())
    else:
        content = {b"data": pixels, b"coarse_labels": coarse, b"fine_labels": fine}
        (tmp_path / "train").write_bytes(pickle.dumps(content, protocol=2))
    fifth = data.CIFAR100(tmp_path)
    groups = data.CIFAR100(tmp_path, coarse=True)

    assert [fifth[k][1] for k in range(4)] == fine
    assert [groups[k][1] for k in range(4)] == coarse


class Evil:
    def __init__(self, word, *arguments):
        self.word, self.arguments = word, arguments

    def __reduce__(self):
        return self.word, self.arguments


def hostile():
    deep = "x"
    for _ in range(50):
        deep = [deep, deep]
    good = pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [0, 1]}, protocol=2)
    yield "runs a program", pickle.dumps({b"data": Evil(exec, "import sys; sys.evil = 1")}), "builtins.exec"
    yield "calls eval", pickle.dumps(Evil(eval, "setattr(__import__('sys'), 'evil', 1)")), "builtins.eval"
    yield "asks for an attribute", b"cnumpy\nndarray.tofile\n.", "ndarray.tofile"
    yield "names another class", pickle.dumps({b"data": collections.OrderedDict()}), "OrderedDict"
    yield "holds objects", pickle.dumps({b"data": np.array([{}, []], object), b"labels": []}, protocol=2), "O8"
    yield "holds floats", pickle.dumps({b"data": np.zeros((2, 3072)), b"labels": [0, 1]}, protocol=2), "f8"
    yield "is cut off", good[:-40], "cifar"
    yield "promises more than it has", good.replace(b"M\x00\x0c", b"M\x01\x0c"), "bytes for an array"
    yield "puts a state on a word", b"cnumpy\ndtype\n}(U\x01aK\x01ub.", "state"
    yield "makes a new dtype", b"cnumpy\ndtype\n)\x81.", "cifar"
    yield "borrows memory", b"\x80\x02}r\xff\xff\xff\x7f.", "entry 'data'"
    yield "promises bytes without end", b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.", "cifar"
    doubled = (
        b")q\x01" + b"h\x01\x86q\x01" * 60
    )  # a tuple that holds another one twice, which holds another one twice, ...
    yield "has a name without end", b"}(" + doubled + b"K\x01u.", "a tuple as a key"
    yield "has one name without end", b"}" + doubled + b"K\x01s.", "a tuple as a key"
    yield "is made of names without end", b"(" + doubled + b"K\x01d.", "a tuple as a key"
    yield "has a deep name", b"}" + b")" + b"\x85" * 2000 + b"K\x01s.", "a tuple as a key"
    yield "is a set without end", b"\x8f(" + doubled + b"\x90.", "EMPTY_SET"
    yield "is a frozen set without end", b"(" + doubled + b"\x91.", "FROZENSET"
    yield "is a dtype without end", b"cnumpy\ndtype\n(" + doubled + b"tR.", "dtype"
    yield (
        "is an array without end",
        b"cnumpy\ndtype\n(U\x02u1tR(K\x01(tK\x01K\x00" + doubled + b"tb.",
        "something else than bytes",
    )
    yield "is a list", pickle.dumps([1]), "list"
    yield "is no pickle", b"MZ" * 50, "cifar"
    yield "is empty", b"", "cifar"
    yield "is deep", pickle.dumps(deep), "list"
    yield "has no data", pickle.dumps({b"labels": [0]}), "'data'"
    yield "has no labels", pickle.dumps({b"data": np.zeros((1, 3072), np.uint8)}, protocol=2), "'labels'"
    for labels in ([0], [0, 10], [0, "1"], [0, -1], [0, 1 << 70], [0, True]):
        content = {b"data": np.zeros((2, 3072), np.uint8), b"labels": labels}
        yield f"labels {labels}", pickle.dumps(content, protocol=2), "labels"
    yield "small images", pickle.dumps({b"data": np.zeros((2, 100), np.uint8), b"labels": [0, 1]}, protocol=2), "100"


@pytest.mark.parametrize(
    ("content", "words"), [pytest.param(c, w, id=name.replace(" ", "_")) for name, c, w in hostile()]
)
def test_a_pickle_that_is_no_photographs_is_refused_and_never_run(tmp_path, content, words):
    path = tmp_path / "cifar" / "test_batch"
    path.parent.mkdir()
    path.write_bytes(content)

    with pytest.raises(data.FileError, match=words) as caught:
        data.CIFAR10(path.parent, train=False)
    assert "test_batch" in str(caught.value)
    assert not hasattr(sys, "evil")


def test_a_hostile_pickle_changes_nothing_for_the_next_reader(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"cnumpy\ndtype\n(N}U\x08__call__K\x01s\x86b.")
    with pytest.raises(data.FileError):
        read_plain_pickle(path)
    path.write_bytes(pickle.dumps({b"data": np.ones((1, 2), np.uint8)}, protocol=2))

    assert read_plain_pickle(path)[b"data"].array.tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("content", "words"), [(b"", "0 bytes"), (bytes(3072), "3072 bytes"), (bytes([10]) * 3073, "10 to 10")]
)
def test_damaged_binary_photographs_are_refused(tmp_path, content, words):
    (tmp_path / "test_batch.bin").write_bytes(content)

    with pytest.raises(data.FileError, match=f"{words}.*test_batch.bin"):
        data.CIFAR10(tmp_path, train=False)


# ------------------------------------------------------------------------------------------------------------- images


@pytest.fixture(params=["Pillow", "without Pillow"])
def reader(request, monkeypatch):
    if request.param == "Pillow":
        pytest.importorskip("PIL")
    else:
        monkeypatch.setattr(image_module, "_pillow_is_here", lambda: False)
    return request.param


def png(pixels, filters=(0,), kind=None, palette=None, bits=8, interlaced=0, pieces=0):
    """A PNG with these filters, one row after the other."""
    h, w, n = pixels.shape
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[n] if kind is None else kind
    rows, above = [], np.zeros((w, n), int)
    for y in range(h):
        row = pixels[y].astype(int)
        left, corner = (np.vstack([np.zeros((1, n), int), x[:-1]]) for x in (row, above))
        best = left + above - corner
        distance = np.abs(np.stack([best - left, best - above, best - corner]))
        paeth = np.choose(distance.argmin(0), [left, above, corner])
        guess = [0 * row, left, above, (left + above) // 2, paeth][filters[y % len(filters)]]
        rows.append(bytes([filters[y % len(filters)]]) + ((row - guess) % 256).astype(np.uint8).tobytes())
        above = row
    packed = zlib.compress(b"".join(rows))
    parts = [(b"IHDR", struct.pack(">IIBBBBB", w, h, bits, kind, 0, 0, interlaced))]
    parts += [] if palette is None else [(b"PLTE", palette.tobytes())]
    cuts = range(pieces, len(packed), pieces) if pieces else [10]
    data = [packed[a:b] for a, b in itertools.pairwise([0, *cuts, len(packed)])]
    parts += [(b"tEXt", b"hello\0world"), *((b"IDAT", part) for part in data), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts
    )


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("filters", [(0,), (1,), (2,), (3,), (4,), (4, 3, 2, 1, 0)], ids=str)
def test_png_files_are_read_with_every_filter(tmp_path, rng, reader, channels, filters):
    pixels = rng.integers(0, 256, (7, 5, channels), dtype=np.uint8)
    (tmp_path / "a.png").write_bytes(png(pixels, filters))

    expected = pixels[..., :3] if channels > 2 else pixels[..., [0, 0, 0]]
    np.testing.assert_array_equal(data.read_image(tmp_path / "a.png"), expected)


def test_a_palette_is_looked_up(tmp_path, rng, reader):
    palette, numbers = rng.integers(0, 256, (9, 3), dtype=np.uint8), rng.integers(0, 9, (4, 4, 1), dtype=np.uint8)
    (tmp_path / "a.png").write_bytes(png(numbers, kind=3, palette=palette))

    np.testing.assert_array_equal(data.read_image(tmp_path / "a.png"), palette[numbers[..., 0]])


def test_an_image_in_many_small_chunks_is_read_as_fast_as_one_in_two(tmp_path, rng):
    pixels = rng.integers(0, 256, (2000, 2000, 1), dtype=np.uint8)
    (tmp_path / "a.png").write_bytes(png(pixels, pieces=32))

    start = time.process_time()
    found = image_module.read_png(tmp_path / "a.png")

    assert time.process_time() - start < 4  # as long as copying all before each chunk took
    np.testing.assert_array_equal(found, pixels)


@pytest.mark.parametrize("name", ["a.png", "a.tif"])
def test_of_grey_images_with_16_bits_the_upper_8_are_kept(tmp_path, name):
    grey = np.uint16([[0, 255, 256], [30_000, 65_279, 65_535]])
    pytest.importorskip("PIL.Image").fromarray(grey).save(tmp_path / name)

    pixels = data.read_image(tmp_path / name)

    assert pixels[..., 0].tolist() == [[0, 0, 1], [117, 254, 255]]
    np.testing.assert_array_equal(pixels, pixels[..., [0, 0, 0]])


def test_an_image_of_any_numbers_is_refused(tmp_path):
    pytest.importorskip("PIL.Image").fromarray(np.float32([[0.0, 1e6]])).save(tmp_path / "a.tif")

    with pytest.raises(data.FileError, match=r"8 or 16 bits.*'F'"):
        data.read_image(tmp_path / "a.tif")


def test_our_reader_agrees_with_pillow_on_its_own_files(tmp_path, rng):
    image = pytest.importorskip("PIL.Image")
    smooth = (np.add.outer(np.arange(40), np.arange(30))[..., None] * [1, 2, 3] + rng.integers(0, 9, (40, 30, 3))) % 256
    image.fromarray(smooth.astype(np.uint8)).save(tmp_path / "a.png")

    np.testing.assert_array_equal(image_module.read_png(tmp_path / "a.png"), smooth)


@pytest.mark.parametrize("name", ["a.ppm", "a.pgm", "a.npy", "grey.npy"])
def test_plain_formats_need_no_library(tmp_path, rng, reader, name):
    pixels = rng.integers(0, 256, (4, 5, 3), dtype=np.uint8)
    path = tmp_path / name
    if name == "a.npy":
        np.save(path, pixels)
    elif name == "grey.npy":
        np.save(path, pixels[..., 0])
    else:
        kind, content = (b"P6", pixels) if name == "a.ppm" else (b"P5", pixels[..., 0])
        path.write_bytes(kind + b"\n# a comment\n5 4\n255\n" + content.tobytes())

    expected = pixels if name in ("a.ppm", "a.npy") else pixels[..., [0, 0, 0]]
    np.testing.assert_array_equal(data.read_image(path), expected)


WHITE = np.full((2, 2, 3), 255, np.uint8)


def npy(array, **more):
    out = io.BytesIO()
    np.save(out, array, **more)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.png", b""), ("a.png", b"no image"), ("a.png", png(WHITE)[:-44]), ("a.png", png(WHITE)[:40]),
        ("a.png", png(WHITE).replace(b"IHDR\0\0\0\2", b"IHDR\0\0\0\3")), ("b.png", png(WHITE, bits=7)),
        ("a.png", png(np.zeros((0, 1, 3), np.uint8))), ("a.ppm", b"P6 2 2 255 abc"), ("a.ppm", b"P6 2 2"),
        ("a.ppm", b"P3 1 1 255 1 2 3"), ("a.ppm", b"P6 -1 -1 255 "), ("a.ppm", b"P6 99999999 99999999 255 "),
        ("a.ppm", b"P6 x y 255 "), ("a.ppm", b"P6 1_0 1 255 " + bytes(30)),
        ("a.npy", b"no array"), ("a.npy", npy(np.zeros((2, 2)))),
        ("a.npy", npy(np.array([{}]), allow_pickle=True)), ("a.npy", npy(WHITE)[:-1]), ("a.npy", npy(WHITE[0, 0])),
    ],
)  # fmt: skip
def test_damaged_images_are_refused_by_name(tmp_path, reader, name, content):
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(data.FileError) as caught:
        data.read_image(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (png(WHITE, bits=16), "16 bits"), (png(WHITE, interlaced=1), "interlaced"),
        (png(WHITE).replace(b"tEXt", b"tEXu"), "checksum.*tEXu"),
    ],
)  # fmt: skip
def test_our_reader_says_what_it_does_not_read(tmp_path, monkeypatch, content, words):
    monkeypatch.setattr(image_module, "_pillow_is_here", lambda: False)
    (tmp_path / "a.png").write_bytes(content)

    with pytest.raises(data.FileError, match=words):
        data.read_image(tmp_path / "a.png")


def test_huge_images_are_refused_before_they_are_unpacked(tmp_path, reader):
    content = png(WHITE)
    header = b"IHDR" + struct.pack(">IIBBBBB", 1 << 20, 1 << 20, 8, 2, 0, 0, 0)
    huge = content[:12] + header + struct.pack(">I", zlib.crc32(header)) + content[33:]
    (tmp_path / "a.png").write_bytes(huge)

    with pytest.raises(data.FileError, match=r"1048576 by 1048576|decompression bomb"):
        data.read_image(tmp_path / "a.png")


def test_without_pillow_photographs_ask_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(image_module, "_pillow_is_here", lambda: False)
    (tmp_path / "a.jpg").write_bytes(b"...")

    with pytest.raises(data.FileError, match="pip install pillow"):
        data.read_image(tmp_path / "a.jpg")


# ------------------------------------------------------------------------------------------------------------ folders


@pytest.fixture
def zoo(tmp_path):
    for name, light in (("dog/b.PPM", 1), ("cat/a.ppm", 2), ("cat/deep/z.ppm", 3), ("cat/notes.txt", 0)):
        path = tmp_path / "zoo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"P6 1 1 255 " + bytes([light] * 3))
    (tmp_path / "zoo" / "readme.txt").touch()
    return tmp_path / "zoo"


def test_folders_are_classes_in_sorted_order(zoo):
    folder = data.ImageFolder(zoo, batch_size=3)
    ((x, y),) = folder

    assert (folder.classes, folder.class_to_idx) == (["cat", "dog"], {"cat": 0, "dog": 1})
    assert [(path[len(str(zoo)) + 1 :], k) for path, k in folder.samples] == [
        ("cat/a.ppm", 0),
        ("cat/deep/z.ppm", 0),
        ("dog/b.PPM", 1),
    ]
    assert x.numpy()[:, 0, 0, 0].tolist() == [2, 3, 1]
    assert (y.tolist(), folder.targets, folder.imgs) == ([0, 0, 1], [0, 0, 1], folder.samples)


def test_a_folder_takes_its_files_as_it_is_told(zoo):
    text = data.DatasetFolder(
        zoo / "..", len, is_valid_file=lambda path: path.endswith("notes.txt"), target_transform=str
    )
    assert text.total_len == 1
    assert text[0][1] == "0"
    sizes = data.DatasetFolder(zoo, lambda path: Path(path).stat().st_size, (".ppm",), transform=lambda n: n + 1)
    assert sizes[0] == (15, 0)


def test_workers_read_folders_too(zoo):
    loader = data.DataLoader(data.ImageFolder(zoo, data.transform.ToTensor()), 2, num_workers=1)

    assert [x.shape for x, _ in loader] == [(2, 3, 1, 1), (1, 3, 1, 1)]


def test_folders_without_examples_are_refused(zoo):
    (zoo / "eel").mkdir()
    with pytest.raises(data.FileError, match="for eel"):
        data.ImageFolder(zoo)
    with pytest.raises(data.FileError, match="no folder in"):
        data.ImageFolder(zoo / "eel")
    with pytest.raises(data.FileError, match="nowhere"):
        data.ImageFolder(zoo / "nowhere")
    with pytest.raises(ArgumentError, match="extensions or by is_valid_file"):
        data.DatasetFolder(zoo, len)


def test_links_are_followed_and_lead_nowhere_twice(zoo, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "c.ppm").write_bytes(b"P6 1 1 255 " + bytes([4] * 3))
    (zoo / "dog" / "elsewhere").symlink_to(tmp_path / "more", target_is_directory=True)
    (zoo / "dog" / "again").symlink_to(tmp_path / "more", target_is_directory=True)
    (zoo / "cat" / "same").symlink_to(zoo / "cat" / "a.ppm")
    (zoo / "cow").symlink_to(tmp_path / "more", target_is_directory=True)

    folder = data.ImageFolder(zoo)

    assert [(path[len(str(zoo)) + 1 :], k) for path, k in folder.samples] == [
        ("cat/a.ppm", 0), ("cat/deep/z.ppm", 0), ("cow/c.ppm", 1), ("dog/again/c.ppm", 2), ("dog/b.PPM", 2),
    ]  # fmt: skip
    assert folder[3][0].max() == 4


def test_links_in_circles_and_many_ways_to_one_folder_end(zoo):
    def link(name, to):
        (zoo / name).symlink_to(to, target_is_directory=True)

    before = data.ImageFolder(zoo).samples
    link("cat/round", zoo / "cat")
    link("dog/home", zoo)  # where all the others are
    link("self", zoo / "self")
    link("cat/self", zoo / "cat" / "self")
    for k in range(60):  # 2 ** 60 ways to the last of them
        (zoo / "cat" / f"x{k}").mkdir()
        for name in ("left", "right"):
            link(f"cat/x{k}/{name}", zoo / "cat" / f"x{(k + 1) % 60}")

    folder = data.ImageFolder(zoo)

    assert [s for s in folder.samples if s[1] == 0] == [s for s in before if s[1] == 0]
    assert len([s for s in folder.samples if s[1] == 1]) == 3


def test_a_damaged_image_in_a_folder_is_named(zoo):
    (zoo / "cat" / "a.ppm").write_bytes(b"P6")

    with pytest.raises(jt.JtError, match=r"a\.ppm"):
        list(data.ImageFolder(zoo))


def test_an_array_of_nothing_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "empty").write_bytes(struct.pack(">BBBBIII", 0, 0, 14, 3, 0, 2**32 - 1, 2**32 - 1))

    with pytest.raises(data.FileError, match="a shape that an array can have"):
        data.read_idx(tmp_path / "empty")


@pytest.mark.parametrize(
    ("wrong", "way"), [("download", "nothing is downloaded"), ("trian", "train"), ("transfrom", "transform")]
)
def test_a_data_set_says_which_argument_it_does_not_take(tmp_path, wrong, way):
    with pytest.raises(jt.ArgumentError, match=f"MNIST takes no argument {wrong}.*{way}"):
        data.MNIST(tmp_path, **{wrong: True})
    with pytest.raises(jt.ArgumentError, match=f"CIFAR100 takes no argument {wrong}.*{way}"):
        data.CIFAR100(tmp_path, **{wrong: True})
    with pytest.raises(
        jt.ArgumentError, match=f"ImageFolder takes no argument {wrong}.*{'root' if wrong == 'trian' else way}"
    ):
        data.ImageFolder(tmp_path, **{wrong: True})
