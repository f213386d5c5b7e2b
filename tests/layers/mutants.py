"""Files of weights as nobody would write them who means well: made of sound ones by a seeded generator."""

import io
import json
import pickle
import struct
import zipfile

import numpy as np

from jt_edu.nn.weight_files.torch_writer import Pickler

NUMBERS = (
    0, 1, 2, 3, 5, 63, 64, 255, 1 << 16, (1 << 31) - 1, 1 << 31, 1 << 40, (1 << 62) + 1, (1 << 63) - 1, 1 << 64, -1,
)  # fmt: skip
DANGEROUS = (
    "posix system", "os system", "builtins eval", "builtins exec", "__builtin__ eval", "subprocess Popen",
    "builtins open", "torch.hub load", "torch load", "jt_edu.nn.module Module", "numpy fromfile", "builtins getattr",
    "shutil rmtree", "collections OrderedDict.update", "torch._utils _rebuild_sparse_tensor", "operator attrgetter",
    "builtins bytearray",
)  # fmt: skip
ATTACKS = (  # after a dangerous name: each way in which a pickle can call, make or change something
    b"(X\x0c\x00\x00\x00touch mutanttR.", b"(X\x0c\x00\x00\x00touch mutantt\x81.", b")\x81}X\x01\x00\x00\x00a}sb.",
    b"(]t\x81}(X\x09\x00\x00\x00__class__h\x00ub.", b"}\x92.", b")R)R.", b"h\x00R.",
    b"0(X\x02\x00\x00\x00idiposix\nsystem\n.",
)  # fmt: skip


def program(value):
    """The pickle of a value, and its storages."""
    pickler = Pickler()
    pickler.put(value)
    return b"\x80\x02" + b"".join(pickler.parts) + b".", pickler.storages


def zipped(pickled, storages=(), method=zipfile.ZIP_STORED, root="archive", more=()):
    """A file in PyTorch's newer form."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr(f"{root}/data.pkl", pickled)
        for key, array in enumerate(storages):
            archive.writestr(f"{root}/data/{key}", array.tobytes())
        for name, data in more:
            archive.writestr(name, data)
    return file.getvalue()


def streamed(pickled, storages=(), keys=None, little=True):
    """A file in PyTorch's older form."""
    keys = [str(key) for key in range(len(storages))] if keys is None else keys
    head = [0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": little, "type_sizes": {}}]
    parts = [pickle.dumps(value, 2) for value in head]
    parts += [pickled, pickle.dumps(keys, 2)]
    for array in storages:  # of young dtypes, PyTorch counts bytes
        count = array.nbytes if array.dtype == "uint16" else array.size
        parts.append(struct.pack("<q", count) + array.tobytes())
    return b"".join(parts)


def tabled(table, data=b""):
    """A file of safetensors."""
    text = table if isinstance(table, bytes) else json.dumps(table).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(size, stride, offset=0, count=6, kind="Float", key="0"):
    """A pickle of one tensor, which may lead anywhere."""
    pickler = Pickler()
    pickler.parts.append(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((")
    pickler.put("storage")
    pickler.named(f"torch {kind}Storage")
    pickler.put_all(key, "cpu", count)
    pickler.parts.append(b"tQ")
    pickler.put_all(offset, tuple(size), tuple(stride), False)
    pickler.call("collections OrderedDict")
    return b"".join(pickler.parts) + b"tR."


def entry(dtype="F32", shape=(2, 3), places=(0, 24)):
    """A row of the table of a file of safetensors."""
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(places)}


STATE = {
    "weight": np.arange(6, dtype=np.float32).reshape(2, 3), "bias": np.zeros(2, np.float32),
    "count": np.array(3), "flags": np.array([True, False]),
}  # fmt: skip
SIX = np.arange(6, dtype=np.float32)


def sound():
    """Files as they should be, by suffix."""
    pickled, storages = program(
        {**STATE, "epoch": 3, "more": [1.5, (None, "x")], "young": np.arange(3, dtype="uint16")}
    )
    return {
        ".pth": zipped(pickled, storages, more=[("archive/version", "3\n"), ("archive/byteorder", "little")]),
        ".pt": streamed(pickled, storages),
        ".safetensors": tabled(
            {"__metadata__": {"format": "pt"}, "weight": entry(), "bias": entry("F32", [2], [24, 32])}, bytes(32)
        ),
    }


SOUND = sound()


def mutant(rng):
    """(suffix, content) of a file that is broken in one of ten ways."""
    return rng.choice(WAYS)(rng)


def _some(rng):
    suffix = str(rng.choice(list(SOUND)))
    return suffix, bytearray(SOUND[suffix])


def flipped(rng):
    suffix, data = _some(rng)
    for place in rng.integers(len(data), size=rng.integers(1, 9)):
        data[place] ^= int(rng.integers(1, 256))
    return suffix, data


def cut(rng):
    suffix, data = _some(rng)
    return suffix, data[: rng.integers(len(data))]


def moved(rng):
    suffix, data = _some(rng)
    begin, end, to = (int(k) for k in rng.integers(len(data), size=3))
    return suffix, data[:to] + data[min(begin, end) : max(begin, end)] + data[to + int(rng.integers(0, 9)) :]


def swollen(rng):
    """Somewhere stands a length that nobody has."""
    suffix, data = _some(rng)
    place, form = int(rng.integers(len(data) - 8)), rng.choice(["<I", "<Q", ">I", "<H"])
    size = struct.calcsize(form)
    data[place : place + size] = struct.pack(form, int(rng.choice(NUMBERS[:-2])) & (1 << 8 * size) - 1)
    return suffix, data


def strided(rng):
    """Sizes, strides and offsets that lead out of the storage, or promise more than there is."""
    axes = int(rng.integers(0, 5)) if rng.random() < 0.95 else 80
    size, stride = ([int(NUMBERS[k]) for k in rng.integers(len(NUMBERS), size=axes)] for _ in range(2))
    offset, count = (int(NUMBERS[k]) for k in rng.integers(len(NUMBERS), size=2))
    kind = str(rng.choice(["Float", "Double", "Bool", "BFloat16", "ComplexDouble"]))
    pickled = tensor(size, stride, offset, count if rng.random() < 0.5 else 6, kind)
    return (".pth", zipped(pickled, [SIX])) if rng.random() < 0.5 else (".pt", streamed(pickled, [SIX]))


def armed(rng):
    """Names that would run something, called in every way."""
    module, _, name = str(rng.choice(DANGEROUS)).partition(" ")
    begin = f"c{module}\n{name}\n" if rng.random() < 0.7 else ""
    pushed = b"".join(struct.pack("<cI", b"X", len(text)) + text.encode() for text in (module, name)) + b"\x93"
    pickled = b"\x80\x02" + (begin.encode() or pushed) + b"q\x00" + ATTACKS[rng.integers(len(ATTACKS))]
    return (".pth", zipped(pickled)) if rng.random() < 0.5 else (".pt", streamed(pickled))


def babbling(rng):
    """Instructions in any order, which often enough mean something."""
    codes = [
        b"(", b"]", b"}", b")", b"a", b"e", b"s", b"u", b"t", b"\x85", b"\x86", b"q\x00", b"h\x00", b"q\x01", b"h\x01",
        b"R", b"b", b"N", b"\x88", b"K\x05", b"J\xff\xff\xff\x7f", b"\x8a\x09" + bytes(8) + b"\x01",
        b"X\x01\x00\x00\x00a", b"l", b"d", b"Q", b"\x94", b"\x95" + b"\xff" * 8, b"r\xff\xff\xff\x7f", b"0", b"2", b"1",
        b"\x8f", b"\x81", b"P1\n", b"I99\n",
        b"ccollections\nOrderedDict\n", b"ctorch\nSize\n", b"ctorch._utils\n_rebuild_tensor_v2\n",
        b"ctorch\nFloatStorage\n",
    ]  # fmt: skip
    picked = [codes[k] for k in rng.integers(len(codes), size=rng.integers(1, 300))]
    pickled = b"\x80\x02" + b"".join(picked) + b"."
    return (".pth", zipped(pickled, [SIX])) if rng.random() < 0.5 else (".pt", streamed(pickled, [SIX]))


def tricky(rng):
    """A zip file with members as no writer makes them."""
    pickled, storages = program(STATE)
    names = [
        "../mutant", "/mutant", "archive/../../mutant", "archive\\data\\0", "archive/data/0", "C:/mutant",
        "archive/data.pkl", "other/data.pkl", "archive/.data/serialization_id", "archive/byteorder",
    ]  # fmt: skip
    name = str(rng.choice(names))
    method = zipfile.ZIP_DEFLATED if rng.random() < 0.3 else zipfile.ZIP_STORED
    data = zipped(pickled, storages, method, str(rng.choice(["archive", "..", "", "a/b", "ä"])))
    file = io.BytesIO(data)
    with zipfile.ZipFile(file, "a", method) as archive:
        archive.NameToInfo.clear()  # so that a name may be there twice
        archive.writestr(zipfile.ZipInfo(name), rng.bytes(int(rng.integers(40))))
    return ".pth", file.getvalue()


def misplaced(rng):
    """A table whose numbers, names and kinds are anything."""

    def anything():
        return [1.5, True, None, "x", [], {}, -1, *NUMBERS[:14]][rng.integers(20)]

    table = {name: entry() for name in "abc"[: rng.integers(1, 4)]}
    for row in table.values():
        where = rng.integers(6)
        if where < 3:
            row[["dtype", "shape", "data_offsets"][where]] = anything()
        elif where == 3:
            row["shape"] = [anything() for _ in range(rng.integers(5))]
        elif where == 4:
            row["data_offsets"] = [anything(), anything()]
        else:
            row["more"] = anything()
    return ".safetensors", tabled(table, bytes(24 * int(rng.integers(4))))


def deep(rng):
    """Lists in lists, as JSON and as a pickle; a pickle of lists that hold each other; and pickles in pickles."""
    depth = int(rng.integers(1, 30_000))
    if rng.random() < 0.3:
        return ".safetensors", tabled(b"{" + rng.choice([b'"a":{' * depth, b'"a":' + b"[" * depth]))
    doubled = b"]q\x00" + b"".join(b"](h\x00h\x00eq\x00" for _ in range(depth % 60))
    keyed = b")q\x00" + b"".join(b"h\x00h\x00\x86q\x00" for _ in range(depth % 60)) + b"}h\x00Ns"
    inner, storages = program({"pickle": pickle.dumps([1]).decode("latin-1")})
    forms = [b"]" * depth + b"a" * (depth - 1), b"\x85".join([b")"] + [b""] * depth), doubled, keyed, inner[2:-1]]
    return ".pth", zipped(b"\x80\x02" + forms[rng.integers(len(forms))] + b".", storages)


WAYS = np.array([flipped, flipped, cut, moved, swollen, strided, armed, babbling, tricky, misplaced, deep], object)
