"""Products of vectors, matrices and whole arrays beside NumPy's and PyTorch's: each with each of its arguments."""

import numpy as np

import jt_edu as jt
from tests.parity.inputs import BOOL, COMPLEX, EVERY, FLOATS, HALVES, NUMBERS, REALS
from tests.parity.table import Row

REAL_FLOATS = (*HALVES, *FLOATS)
FLOATING = (*FLOATS, *COMPLEX)  # what BLAS knows
SIGNED = tuple(d for d in NUMBERS if not d.startswith("uint"))

# ------------------------------------------------------------------------------------------------------------- matrices

STACKS = (
    ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((1, 1), (1, 1)), ((4, 1), (1, 5)),
     ((1, 3), (3, 1)),
    ((5, 2, 3), (3,)), ((3,), (5, 3, 2)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)), ((5, 2, 3), (1, 3, 4)), ((2, 1, 2, 3), (3, 3, 4)), ((2, 1, 1, 2, 3), (2, 1, 3, 2)),
    ((2, 1, 2, 1, 3), (1, 3, 1, 3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((2, 3), (3, 0)), ((0, 2, 3), (3, 4)),
    ((2, 2, 0), (0, 1)),
)  # fmt: skip
PAIRS = (((2, 3), (3, 4)), ((1, 3), (3, 1)), ((0, 2), (2, 3)), ((2, 0), (0, 3)), ((5, 1), (1, 5)))
BATCHES = (((2, 2, 3), (2, 3, 4)), ((1, 2, 3), (1, 3, 1)), ((0, 2, 3), (0, 3, 1)), ((3, 1, 0), (3, 0, 2)))


WIDE = {"int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "uint64", "int32": "int64", "uint32": "uint64"}


def summed(row):
    """A row whose whole numbers are added up, which NumPy does in their dtype: in one that has room for the sum."""
    long = row.name.startswith("matrix_power")  # products of products are in 64 bits

    def wide(x):
        once = WIDE.get(x.dtype.name, x.dtype.name)
        return x.astype(WIDE.get(once, once) if long else once)

    def numpy(*xs):
        alone = row.name.startswith(("dot", "inner")) and not all(x.ndim for x in xs)  # a number adds nothing up
        return row.numpy(*(xs if alone else map(wide, xs)))

    return row._replace(numpy=numpy)


def _sums(text):
    """Whether an einsum adds anything up."""
    before, arrow, after = text.replace(" ", "").replace("...", "").partition("->")
    letters = before.replace(",", "")
    return not set(letters) <= set(after if arrow else [c for c in letters if letters.count(c) == 1])


def _both(ours, name, shapes, numpy=np.matmul, dtypes=EVERY, domain="any", **options):
    return Row(
        name, ours, numpy, lambda t, *xs: getattr(t, name.split(" ")[0])(*xs), shapes, dtypes, domain, 8, **options
    )


MATRICES = (
    _both(jt.matmul, "matmul", STACKS),
    Row("x @ y", lambda x, y: x @ y, np.matmul, None, STACKS, EVERY, "unit", 8),
    Row("x @ x.T", lambda x: x @ x.transpose(-1, -2), lambda x: x @ np.swapaxes(x, -1, -2), lambda t, x: x @ x.mT,
        (((2, 3),), ((3, 2, 2),), ((0, 2),)), NUMBERS, "any", 8),
    Row("x.T @ y", lambda x, y: x.transpose(-1, -2) @ y, lambda x, y: np.swapaxes(x, -1, -2) @ y,
        lambda t, x, y: x.mT @ y, (((3, 2), (3, 4)), ((2, 3, 2), (2, 3, 1))), NUMBERS, "any", 8),
    Row("heads of an attention", lambda q, k: q.permute(0, 2, 1, 3) @ k.permute(0, 2, 3, 1),
        lambda q, k: q.transpose(0, 2, 1, 3) @ k.transpose(0, 2, 3, 1),
        lambda t, q, k: q.permute(0, 2, 1, 3) @ k.permute(0, 2, 3, 1), (((2, 3, 2, 2), (2, 1, 2, 2)),), FLOATING,
        "any", 8),
    _both(jt.mm, "mm", PAIRS),
    _both(lambda x, y: x.mm(y), "mm as a method", PAIRS[:2], dtypes=FLOATS),
    _both(jt.mv, "mv", (((2, 3), (3,)), ((1, 1), (1,)), ((0, 3), (3,)), ((3, 0), (0,)))),
    _both(jt.bmm, "bmm", BATCHES),
    Row("matrix_power 0", lambda x: jt.matrix_power(x, 0), lambda x: np.linalg.matrix_power(x, 0), None,
        (((3, 3),), ((2, 1, 1),), ((0, 2, 2),)), NUMBERS, "any", orders=0),
    *(
        Row(f"matrix_power {n}", lambda x, n=n: jt.matrix_power(x, n), lambda x, n=n: np.linalg.matrix_power(x, n),
            lambda t, x, n=n: t.linalg.matrix_power(x, n), (((2, 2),), ((1, 1),), ((2, 3, 3),), ((0, 2, 2),)),
            FLOATING, "unit", 16)
        for n in (1, 2, 3, 6)
    ),
    Row("matrix_power of whole numbers", lambda x: x.matrix_power(5), lambda x: np.linalg.matrix_power(x, 5), None,
        (((3, 3),), ((2, 2, 2),)), ("int32", "int64"), "few"),
    Row("multi_dot of three", lambda *xs: jt.multi_dot(xs), lambda *xs: np.linalg.multi_dot(xs),
        lambda t, *xs: t.linalg.multi_dot(xs), (((2, 3), (3, 4), (4, 1)), ((1, 5), (5, 1), (1, 3)),
        ((0, 2), (2, 3), (3, 2))),
        FLOATING, "unit", 16),
    Row("multi_dot of five", lambda *xs: jt.multi_dot(xs), lambda *xs: np.linalg.multi_dot(xs),
        lambda t, *xs: t.linalg.multi_dot(xs), (((2, 1), (1, 3), (3, 1), (1, 4), (4, 2)),), FLOATING, "unit", 32),
    Row("multi_dot between vectors", lambda *xs: jt.multi_dot(xs), lambda *xs: np.linalg.multi_dot(xs),
        lambda t, *xs: t.linalg.multi_dot(xs), (((2,), (2, 3), (3,)), ((2,), (2, 3), (3, 1)), ((2, 3), (3, 2), (2,))),
        FLOATING, "unit", 16),
    Row("chain_matmul", jt.chain_matmul, lambda *xs: np.linalg.multi_dot(xs), lambda t, *xs: t.linalg.multi_dot(xs),
        (((2, 3), (3, 1), (1, 2)), ((3, 1), (1, 2), (2, 2), (2, 1))), FLOATING, "unit", 16),
    Row("chain_matmul of one", jt.chain_matmul, lambda x: x, lambda t, x: x * 1, (((2, 3),),), FLOATS),
)  # fmt: skip

# ---------------------------------------------------------------------------------------------- products that are added

ADDED = tuple(
    Row(f"{name}{said}", lambda *xs, f=ours, o=options: f(*xs, **o),
        lambda s, x, y, p=product, o=options: _added(s, p(x, y), **o),
        lambda t, *xs, n=name, o=options: getattr(t, n)(*xs, **o), shapes, dtypes, "any", 8)
    for name, ours, product, shapes in (
        ("addmm", jt.addmm, np.matmul, (((2, 4), (2, 3), (3, 4)), ((4,), (2, 3), (3, 4)), ((1, 1), (2, 0), (0, 3)))),
        ("addmv", jt.addmv, np.matmul, (((2,), (2, 3), (3,)), ((1,), (3, 2), (2,)), ((), (2, 2), (2,)))),
        ("addr", jt.addr, np.outer, (((2, 3), (2,), (3,)), ((3,), (2,), (3,)), ((1, 1), (1,), (1,)))),
        ("baddbmm", jt.baddbmm, np.matmul, (((2, 2, 2), (2, 2, 3), (2, 3, 2)), ((2,), (3, 1, 2), (3, 2, 2)))),
        ("addbmm", jt.addbmm, lambda x, y: np.matmul(x, y).sum(0).astype(x.dtype),
         (((2, 2), (3, 2, 3), (3, 3, 2)), ((2,), (1, 2, 2), (1, 2, 2)))),
    )
    for said, options, dtypes in (
        ("", {}, SIGNED), (" with beta", {"beta": 2}, SIGNED), (" with alpha", {"alpha": 3}, SIGNED),
        (" with both", {"beta": 0.5, "alpha": -2.0}, FLOATING), (" without its start", {"beta": 0}, FLOATS),
    )
)  # fmt: skip


def _added(start, product, beta=1, alpha=1):
    """beta * start + alpha * product in the dtype of both."""
    return np.asarray(product * np.asarray(alpha).astype(product.dtype) + start * np.asarray(beta).astype(start.dtype))


# -------------------------------------------------------------------------------------------------- vectors and tensors

VECTORS = (
    Row("dot", jt.dot, np.dot, None,
        (((3,), (3,)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((2, 3, 4), (4,)), ((2, 3), (2, 3, 2)), ((), (3,)),
         ((2, 2), ()),
         ((0,), (0,)), ((2, 0), (0, 3)), ((1, 2, 1, 2), (2, 2, 2))), EVERY, "any", 8),
    Row("dot of vectors", jt.dot, np.dot, lambda t, x, y: t.dot(x, y), (((3,), (3,)), ((1,), (1,)), ((0,), (0,))),
        NUMBERS, "any", 8),
    Row("x.dot(y)", lambda x, y: x.dot(y), np.dot, None, (((2, 3), (3, 2)), ((4,), (4,))), FLOATS, "any", 8),
    Row("vdot", jt.vdot, np.vdot, None, (((3,), (3,)), ((2, 3), (2, 3)), ((2, 3), (6,)), ((), ()), ((0,), (0,))),
        NUMBERS, "any", 8),
    Row("vdot of vectors", jt.vdot, np.vdot, lambda t, x, y: t.vdot(x, y), (((3,), (3,)), ((1,), (1,))), FLOATING,
        "any", 8),
    Row("vecdot", jt.vecdot, np.vecdot, lambda t, x, y: t.linalg.vecdot(x, y),
        (((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 3)), ((2, 0), (2, 0)), ((0, 2), (1, 2))), NUMBERS, "any", 8),
    Row("vecdot of columns", lambda x, y: jt.vecdot(x, y, axis=-2), lambda x, y: np.vecdot(x, y, axis=-2),
        lambda t, x, y: t.linalg.vecdot(x, y, dim=-2), (((3, 2), (3, 2)), ((4, 3, 1), (3, 2))), NUMBERS, "any", 8),
    Row("vecdot along 0", lambda x, y: x.vecdot(y, 0), lambda x, y: np.vecdot(x, y, axis=0),
        lambda t, x, y: t.linalg.vecdot(x, y, dim=0), (((3, 2), (3, 2)), ((3,), (3,))), FLOATING, "any", 8),
    Row("inner", jt.inner, np.inner, lambda t, x, y: t.inner(x, y),
        (((3,), (3,)), ((2, 3), (3,)), ((2, 3), (4, 3)), ((2, 1, 3), (2, 3)), ((), (2, 2)), ((2,), ()),
         ((2, 0), (3, 0))),
        NUMBERS, "any", 8),
    Row("outer", jt.outer, np.outer, None, (((3,), (2,)), ((2, 2), (3,)), ((), (2,)), ((0,), (2,)), ((1,), (1,))),
        EVERY),
    Row("outer of vectors", lambda x, y: x.outer(y), np.outer, lambda t, x, y: t.outer(x, y), (((3,), (2,)),),
        FLOATING),
    Row("kron", jt.kron, np.kron, lambda t, x, y: t.kron(x, y),
        (((2,), (3,)), ((2, 2), (1, 3)), ((2, 3), (2,)), ((2,), (2, 2, 1)), ((1,), (1,)), ((), (3,)), ((0, 2), (2, 2)),
         ((1, 2, 1, 2), (2, 1, 2))), NUMBERS, "any"),
    Row("cross", jt.cross, np.cross, lambda t, x, y: t.linalg.cross(x, y, dim=-1),
        (((3,), (3,)), ((2, 3), (2, 3)), ((0, 3), (0, 3)), ((1, 2, 1, 3), (1, 2, 1, 3))), SIGNED, "any", 4),
    Row("cross that broadcasts", jt.cross, np.cross,
        lambda t, x, y: t.linalg.cross(*t.broadcast_tensors(x, y), dim=-1), (((2, 3), (1, 3)), ((4, 1, 3), (2, 3))),
        SIGNED, "any", 4),
    Row("cross of columns", lambda x, y: jt.cross(x, y, dim=0), lambda x, y: np.cross(x, y, axis=0),
        lambda t, x, y: t.linalg.cross(x, y, dim=0), (((3, 2), (3, 2)), ((3,), (3,))), SIGNED, "any", 4),
    Row("cross along an axis", lambda x, y: x.cross(y, axis=1), lambda x, y: np.cross(x, y, axis=1),
        lambda t, x, y: t.linalg.cross(x, y, dim=1), (((2, 3, 2), (2, 3, 2)),), SIGNED, "any", 4),
    Row("trilinear", jt.trilinear, lambda x, y, z, w: np.einsum("...i,...j,...k,oijk->...o", x, y, z, w),
        lambda t, x, y, z, w: t.einsum("...i,...j,...k,oijk->...o", x, y, z, w),
        (((2,), (3,), (1,), (4, 2, 3, 1)), ((5, 2), (5, 1), (1, 2), (3, 2, 1, 2))), FLOATING, "unit", 16),
    Row("trilinear with a bias", jt.trilinear,
        lambda x, y, z, w, b: np.einsum("...i,...j,...k,oijk->...o", x, y, z, w) + b,
        lambda t, x, y, z, w, b: t.einsum("...i,...j,...k,oijk->...o", x, y, z, w) + b,
        (((2, 2), (2, 1), (2, 2), (3, 2, 1, 2), (3,)),), FLOATING, "unit", 16),
)  # fmt: skip

TENSORDOT = tuple(
    Row(f"tensordot over {dims}", lambda x, y, d=dims: jt.tensordot(x, y, d),
        lambda x, y, d=dims: np.tensordot(x, y, d),
        lambda t, x, y, d=dims: t.tensordot(x, y, d), shapes, NUMBERS, "any", 8)
    for dims, shapes in (
        (0, (((2,), (3,)), ((2, 2), (2,)), ((0,), (2,)))),
        (1, (((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((1, 2, 3), (3, 1, 2)), ((2, 0), (0, 2)))),
        (2, (((2, 3), (2, 3)), ((4, 2, 3), (2, 3, 1)), ((1, 2, 1, 2), (1, 2)))),
        (((0,), (1,)), (((3, 2), (4, 3)), ((3,), (2, 3)))),
        (([1, 0], [0, 2]), (((2, 3), (3, 1, 2)), ((2, 3, 2), (3, 2, 2)))),
        (([-1, 0], [0, -1]), (((2, 3, 4), (4, 2)), ((2, 1, 2, 3), (3, 2, 2)))),
        (([], []), (((2,), (3,)), ((2, 1), ()))),
        (([0, 2], [2, 1]), (((2, 3, 4), (2, 4, 2)),)),
    )
)  # fmt: skip
BY_NAME = (
    Row("tensordot by the name axes", lambda x, y: jt.tensordot(x, y, axes=([0], [0])),
        lambda x, y: np.tensordot(x, y, axes=([0], [0])), None, (((3, 2), (3, 4)),), FLOATS, "any", 8),
    Row("tensordot by the name dims", lambda x, y: jt.tensordot(x, y, dims=1), lambda x, y: np.tensordot(x, y, 1), None,
        (((3, 2), (2, 4)),), FLOATS, "any", 8),
    Row("tensordot of two axes unless told", jt.tensordot, np.tensordot, lambda t, x, y: t.tensordot(x, y),
        (((3, 2, 1), (2, 1, 4)),), FLOATS, "any", 8),
)  # fmt: skip

# --------------------------------------------------------------------------------------------------------------- einsum

EINSUM = tuple(
    Row(f"einsum {text}", lambda *xs, s=text: jt.einsum(s, *xs), lambda *xs, s=text: np.einsum(s, *xs),
        lambda t, *xs, s=text: t.einsum(s, *xs), shapes, SIGNED if len(shapes[0]) < 3 else FLOATING,
        "any" if len(shapes[0]) < 3 else "unit", 16)
    for text, shapes in (
        ("i->i", (((3,),), ((0,),))),
        ("i->", (((3,),), ((0,),))),
        ("->", (((),),)),
        ("ij->ji", (((2, 3),), ((1, 2),))),
        ("ij->j", (((2, 3),), ((0, 2),))),
        ("ijk->ki", (((2, 3, 4),),)),
        ("ba", (((2, 3),),)),
        ("ii", (((3, 3),), ((1, 1),), ((0, 0),))),
        ("ii->i", (((3, 3),),)),
        ("iij->ij", (((2, 2, 3),),)),
        ("iji->j", (((2, 3, 2),),)),
        ("iii->i", (((2, 2, 2),),)),
        ("ijij->ji", (((2, 3, 2, 3),),)),
        ("...->...", (((2, 3),), ((),))),
        ("i...->...", (((2, 3),), ((2,),))),
        ("...ii->...i", (((2, 3, 3),), ((2, 2),))),
        ("...ij->...ji", (((2, 1, 2, 3),),)),
        ("ij,jk", (((2, 3), (3, 4)), ((1, 1), (1, 1)), ((2, 0), (0, 2)))),
        ("ij,jk->ki", (((2, 3), (3, 4)),)),
        ("ij,kj->ik", (((2, 3), (4, 3)),)),
        ("ji,jk->ik", (((3, 2), (3, 4)),)),
        (" i j , j k -> i k ", (((2, 3), (3, 4)),)),
        ("i,i", (((3,), (3,)), ((0,), (0,)))),
        ("i,j->ij", (((3,), (2,)),)),
        ("i,j->ji", (((3,), (2,)),)),
        ("i,j->", (((3,), (2,)),)),
        (",i->i", (((), (3,)),)),
        ("ij,ij->ij", (((2, 3), (2, 3)),)),
        ("ij,j->i", (((2, 3), (3,)), ((2, 1), (1,)))),
        ("ij,j->ij", (((2, 3), (3,)),)),
        ("ii,i->i", (((3, 3), (3,)),)),
        ("ij,jj->i", (((2, 3), (3, 3)),)),
        ("bij,bjk->bik", (((2, 3, 2), (2, 2, 4)), ((1, 2, 2), (1, 2, 1)))),
        ("bij,bj->bi", (((2, 3, 2), (2, 2)),)),
        ("ibk,kbj->bij", (((2, 3, 2), (2, 3, 4)),)),
        ("ibhd,jbhd->bhij", (((2, 1, 2, 3), (3, 1, 2, 3)),)),
        ("abc,cbd->ad", (((2, 3, 2), (2, 3, 2)),)),
        ("abc,bca->", (((2, 3, 2), (3, 2, 2)),)),
        ("abcd,cd->dcba", (((2, 1, 3, 2), (3, 2)),)),
        ("...ij,...jk->...ik", (((2, 3), (3, 2)), ((2, 2, 3), (3, 2)), ((2, 1, 2, 3), (3, 3, 1)))),
        ("...i,...i", (((2, 3), (3,)), ((3,), (2, 3)))),
        ("...,...", (((2, 3), (3,)), ((), (2,)))),
        ("a...b,b...c->a...c", (((2, 3, 2), (2, 3, 1)),)),
        ("a...,a->...", (((2, 3, 2), (2,)),)),
        ("ab,bc,cd", (((2, 3), (3, 2), (2, 4)),)),
        ("ab,bc,cd,de->ae", (((2, 3), (3, 2), (2, 4), (4, 1)),)),
        ("ea,fb,abcd,gc,hd->efgh", (((2, 2), (1, 3), (2, 3, 2, 1), (2, 2), (3, 1)),)),
        ("ia,ja,ka->ijk", (((2, 3), (1, 3), (2, 3)),)),
        ("i,i,i->i", (((3,), (3,), (3,)),)),
        ("i,j,k->kji", (((2,), (3,), (2,)),)),
        ("...i,ij,...j->...", (((2, 3), (3, 2), (2, 2)),)),
        ("ab,ac,ad->", (((2, 3), (2, 1), (2, 2)),)),
    )
)  # fmt: skip
LISTS = (
    Row("einsum by lists", lambda x, y: jt.einsum(x, [0, 1], y, [1, 2], [0, 2]),
        lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [0, 2]), lambda t, x, y: t.einsum(x, [0, 1], y, [1, 2], [0, 2]),
        (((2, 3), (3, 4)),), NUMBERS, "any", 8),
    Row("einsum by lists without a result", lambda x, y: jt.einsum(x, [2, 0], y, [0, 1]),
        lambda x, y: np.einsum(x, [2, 0], y, [0, 1]), lambda t, x, y: t.einsum(x, [2, 0], y, [0, 1]),
        (((2, 3), (3, 4)),), FLOATING, "any", 8),
    Row("einsum by lists with dots", lambda x, y: jt.einsum(x, [..., 0], y, [..., 0], [...]),
        lambda x, y: np.einsum(x, [..., 0], y, [..., 0], [...]),
        lambda t, x, y: t.einsum(x, [..., 0], y, [..., 0], [...]),
        (((2, 3), (3,)),), FLOATING, "any", 8),
    Row("einsum of a list of arrays", lambda x, y: jt.einsum("ij,jk", [x, y]), lambda x, y: np.einsum("ij,jk", x, y),
        lambda t, x, y: t.einsum("ij,jk", [x, y]), (((2, 3), (3, 4)),), FLOATING, "any", 8),
    Row("einsum with axes of length 1", lambda x, y: jt.einsum("ij,jk->ik", x, y),
        lambda x, y: np.einsum("ij,jk->ik", np.broadcast_to(x, (2, 3)), y), lambda t, x, y: t.einsum("ij,jk->ik", x, y),
        (((2, 1), (3, 4)),), FLOATING, "any", 8),
    Row("einsum of bools", lambda x, y: jt.einsum("ij,jk->ik", x, y), lambda x, y: np.einsum("ij,jk->ik", x, y), None,
        (((2, 3), (3, 4)),), BOOL),
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------ distances


def _cdist(p):
    """Differences of all pairs of rows, and their norm."""

    def distance(x, y):
        away = np.abs((x if x.dtype.kind == "f" else x.astype(float))[..., :, None, :] - y[..., None, :, :])
        if p == 0:
            return (away != 0).sum(-1).astype(away.dtype)
        return away.max(-1) if p == np.inf else ((away**p).sum(-1) ** (1 / p)).astype(away.dtype)

    return distance


ROWS_OF = (((2, 3), (4, 3)), ((1, 1), (1, 1)), ((3, 2, 2), (3, 1, 2)), ((1, 2, 3), (2, 3, 3)), ((0, 2), (3, 2)))


def _norm(t, x, y, p=2):
    """PyTorch's cdist has no second derivative; the norm of the differences has."""
    return t.linalg.vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, -1)


BY_ORDER = tuple(
    Row(f"cdist of order {p}", lambda x, y, p=p: jt.cdist(x, y, p), _cdist(p), lambda t, x, y, p=p: _norm(t, x, y, p),
        ROWS_OF, dtypes, "any", 8, orders=orders)
    for p, dtypes, orders in (
        (0, FLOATS, 0), (1, REALS, 1), (2, REAL_FLOATS, 2), (2.5, FLOATS, 2), (3, FLOATS, 2), (np.inf, FLOATS, 1)
    )
)  # fmt: skip
DISTANCES = (
    Row("cdist", jt.cdist, None, lambda t, x, y: t.cdist(x, y), ROWS_OF, FLOATS, "any", 8, orders=0),
    Row("cdist by the name p", lambda x, y: jt.cdist(x, y, p=1), None, lambda t, x, y: t.cdist(x, y, p=1), ROWS_OF[:3],
        FLOATS, "any", 8, orders=0),
)  # fmt: skip

ALONE = ("outer", "kron", "cross", "tensordot over 0", "tensordot over ([], [])")  # products that nothing is added to


def _of_sums(row):
    """The row, with the dtype that whole numbers are added up in."""
    if row.numpy is None or row.name.startswith(ALONE) or row.name.partition(" ")[2] in NO_SUMS:
        return row
    return summed(row)


NO_SUMS = {row.name.partition(" ")[2] for row in EINSUM if not _sums(row.name.partition(" ")[2])}
ROWS = tuple(map(_of_sums, MATRICES + ADDED + VECTORS + TENSORDOT + BY_NAME + EINSUM + LISTS)) + BY_ORDER + DISTANCES
