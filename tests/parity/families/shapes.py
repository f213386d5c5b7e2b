"""Shapes: views, borders, repetitions, stacks, splits, diagonals and grids beside NumPy's and PyTorch's."""

import numpy as np
import scipy.linalg

import jt_edu as jt
from tests.parity.inputs import EVERY, FLOATS, NUMBERS, WHOLE
from tests.parity.table import Row

ANY = (((),), ((0,),), ((1,),), ((5,),), ((3, 4),), ((2, 0, 3),), ((2, 1, 3, 2),))
LINES = (((0,),), ((1,),), ((4,),), ((7,),))
TABLES = (((0, 3),), ((1, 1),), ((2, 3),), ((5, 2),))
BOXES = (((1, 2, 1),), ((2, 3, 4),), ((2, 0, 3),), ((2, 1, 2, 3, 2),))
FROM_TWO = TABLES + BOXES
FROM_ONE = LINES + FROM_TWO


def row(name, ours, numpy, torch, shapes=ANY, dtypes=EVERY, **options):
    """One function of one Var, or of as many as the shapes say."""
    return Row(name, ours, numpy, torch, shapes, dtypes, **options)


def created(name, ours, numpy, torch=None, shapes=TABLES, dtypes=EVERY):
    """What is made from nothing, in the shape and dtype of the input: nothing to differentiate."""
    return Row(name, ours, numpy, torch, shapes, dtypes, orders=0, layouts=False)


def same(ours, shapes=ANY, **options):
    """A function of one argument that all three call the same."""
    name = ours.__name__
    return row(name, ours, getattr(np, name), lambda t, x: getattr(t, name)(x), shapes, **options)


# ---------------------------------------------------------------------------------------------------- another shape

RESHAPED = (
    row("reshape(-1)", lambda x: jt.reshape(x, -1), lambda x: x.reshape(-1), lambda t, x: x.reshape(-1)),
    row("reshape by varargs", lambda x: x.reshape(2, 3, -1), lambda x: x.reshape(2, 3, -1),
        lambda t, x: x.reshape(2, 3, -1), (((6,),), ((3, 4),), ((2, 3, 2, 1),))),
    row("reshape by a list", lambda x: jt.reshape(x, [3, -1]), lambda x: x.reshape(3, -1),
        lambda t, x: t.reshape(x, [3, -1]), (((6,),), ((2, 3, 4),), ((1, 3),), ((0, 3),))),
    row("reshape_as", lambda x: x.reshape_as(jt.ones((3, 2))), lambda x: x.reshape(3, 2),
        lambda t, x: x.reshape_as(t.ones(3, 2)), (((6,),), ((2, 3),), ((1, 6, 1),))),
    row("view by varargs", lambda x: x.view(2, -1), lambda x: x.reshape(2, -1), lambda t, x: x.view(2, -1),
        (((4,),), ((2, 3),), ((1, 2, 3),), ((2, 1, 1, 5),))),
    row("view by a tuple", lambda x: jt.view(x, (-1, 2)), lambda x: x.reshape(-1, 2), lambda t, x: x.view((-1, 2)),
        (((4,),), ((2, 3),), ((0, 2),))),
    row("view to one axis", lambda x: x.view(-1), lambda x: x.reshape(-1), lambda t, x: x.view(-1)),
    row("view to the same shape", lambda x: x.view(x.shape), lambda x: x, lambda t, x: x.view(x.shape)),
    row("view with new axes of 1", lambda x: x.view(1, *x.shape, 1), lambda x: x[None, ..., None],
        lambda t, x: x.view(1, *x.shape, 1)),
    row("view from the end of axes", lambda x: x.view(*x.shape[:-2], -1), lambda x: x.reshape(*x.shape[:-2], -1),
        lambda t, x: x.view(*x.shape[:-2], -1), (((2, 3),), ((2, 3, 4),), ((2, 1, 2, 3, 2),))),
    row("view of another", lambda x: x.view_as(jt.ones((2, 3))), lambda x: x.reshape(2, 3),
        lambda t, x: x.view_as(t.ones(2, 3)), (((6,),), ((3, 2),))),
    row("bits as int32", lambda x: x.view("int32"), lambda x: x.view(np.int32), lambda t, x: x.view(t.int32),
        (((0,),), ((5,),), ((2, 3),)), ("int32", "uint32", "float32"), orders=0, layouts=False),
    row("bits as float64", lambda x: jt.view(x, jt.float64), lambda x: x.view(np.float64),
        lambda t, x: x.view(t.float64), (((),), ((5,),), ((2, 3),)), ("int64", "float64"), orders=0, layouts=False),
    row("flatten", jt.flatten, np.ravel, lambda t, x: t.flatten(x)),
    row("flatten from 1", lambda x: x.flatten(1), lambda x: x.reshape(x.shape[0], int(np.prod(x.shape[1:]))),
        lambda t, x: x.flatten(1), FROM_TWO),
    row("flatten to -2", lambda x: x.flatten(0, -2), lambda x: x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1]),
        lambda t, x: x.flatten(0, -2), FROM_TWO),
    row("flatten in the middle", lambda x: jt.flatten(x, 1, 2),
        lambda x: x.reshape(x.shape[0], x.shape[1] * x.shape[2], *x.shape[3:]), lambda t, x: t.flatten(x, 1, 2), BOXES),
    row("flatten one axis", lambda x: x.flatten(1, 1), lambda x: x, lambda t, x: x.flatten(1, 1), FROM_TWO),
    row("flatten by words", lambda x: x.flatten(start_dim=-2, end_dim=-1),
        lambda x: x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1]),
        lambda t, x: x.flatten(start_dim=-2, end_dim=-1), FROM_TWO),
    same(jt.ravel),
    row("unflatten", lambda x: jt.unflatten(x, -1, (2, -1)), lambda x: x.reshape(*x.shape[:-1], 2, -1),
        lambda t, x: t.unflatten(x, -1, (2, -1)), (((4,),), ((3, 2),), ((2, 1, 6),))),
    row("unflatten the first", lambda x: x.unflatten(0, [3, 1, 2]), lambda x: x.reshape(3, 1, 2, *x.shape[1:]),
        lambda t, x: x.unflatten(0, [3, 1, 2]), (((6,),), ((6, 2),), ((6, 0),))),
    row("unsqueeze", lambda x: jt.unsqueeze(x, 0), lambda x: np.expand_dims(x, 0), lambda t, x: t.unsqueeze(x, 0)),
    row("unsqueeze at the end", lambda x: x.unsqueeze(-1), lambda x: x[..., None], lambda t, x: x.unsqueeze(-1)),
    row("unsqueeze before the last", lambda x: x.unsqueeze(dim=-2), lambda x: np.expand_dims(x, -2),
        lambda t, x: x.unsqueeze(dim=-2), FROM_ONE),
    row("expand_dims", lambda x: jt.expand_dims(x, axis=1), lambda x: np.expand_dims(x, 1), None, FROM_ONE),
    row("expand_dims by several", lambda x: jt.expand_dims(x, (0, -1)), lambda x: np.expand_dims(x, (0, -1)), None),
    same(jt.squeeze),
    row("squeeze an axis", lambda x: jt.squeeze(x, 1), lambda x: np.squeeze(x, 1), lambda t, x: x.squeeze(1),
        (((3, 1),), ((2, 1, 3),), ((0, 1),))),
    row("squeeze two axes", lambda x: x.squeeze(axis=(0, -1)), lambda x: np.squeeze(x, (0, -1)),
        lambda t, x: x.squeeze((0, -1)), (((1, 1),), ((1, 3, 1),))),
    row("atleast_1d", jt.atleast_1d, np.atleast_1d, lambda t, x: t.atleast_1d(x)),
    row("atleast_2d", jt.atleast_2d, np.atleast_2d, lambda t, x: t.atleast_2d(x)),
    row("atleast_3d", jt.atleast_3d, np.atleast_3d, lambda t, x: t.atleast_3d(x)),
    row("atleast_2d of two", lambda x: jt.atleast_2d(x, x + x)[1], lambda x: np.atleast_2d(x, x + x)[1],
        lambda t, x: t.atleast_2d(x, x + x)[1]),
    row("contiguous", lambda x: x.T.contiguous(), lambda x: x.T, lambda t, x: x.T.contiguous(), TABLES),
)  # fmt: skip

# ----------------------------------------------------------------------------------------------- axes in another order

TURNED = (
    row("permute", lambda x: jt.permute(x, 1, 0), lambda x: np.transpose(x, (1, 0)), lambda t, x: x.permute(1, 0),
        TABLES),
    row("permute by a tuple", lambda x: jt.permute(x, (2, 0, 1)), lambda x: np.transpose(x, (2, 0, 1)),
        lambda t, x: t.permute(x, (2, 0, 1)), BOXES[:3]),
    row("permute from the end", lambda x: x.permute(-1, 0, -2), lambda x: np.transpose(x, (-1, 0, -2)),
        lambda t, x: x.permute(-1, 0, -2), BOXES[:3]),
    row("permute five axes", lambda x: x.permute(4, 2, 0, 3, 1), lambda x: np.transpose(x, (4, 2, 0, 3, 1)),
        lambda t, x: x.permute(4, 2, 0, 3, 1), (*BOXES[3:], ((1, 2, 1, 2, 1),), ((2, 0, 2, 1, 1),))),
    row("permute nothing", lambda x: x.permute(0, 1, 2), lambda x: x, lambda t, x: x.permute(0, 1, 2), BOXES[:3]),
    row("permute and walk on", lambda x: x.permute(1, 0)[::-1].reshape(-1), lambda x: x.T[::-1].reshape(-1),
        lambda t, x: x.permute(1, 0).flip(0).reshape(-1), TABLES),
    row("transpose", lambda x: jt.transpose(x, 0, -1), lambda x: np.swapaxes(x, 0, -1),
        lambda t, x: t.transpose(x, 0, -1), FROM_ONE),
    row("transpose of all", jt.transpose, np.transpose, None),
    row("transpose by an order", lambda x: x.transpose((2, 0, 1)), lambda x: x.transpose(2, 0, 1), None, BOXES[:3]),
    row("swapaxes", lambda x: jt.swapaxes(x, 1, -1), lambda x: np.swapaxes(x, 1, -1),
        lambda t, x: t.swapaxes(x, 1, -1), FROM_TWO),
    row("swapdims", lambda x: jt.swapdims(x, 0, 1), lambda x: np.swapaxes(x, 0, 1), lambda t, x: t.swapdims(x, 0, 1),
        FROM_TWO),
    row("moveaxis", lambda x: jt.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, 0, -1),
        lambda t, x: t.moveaxis(x, 0, -1), FROM_ONE),
    row("moveaxis of two", lambda x: x.moveaxis((0, -1), (1, 0)), lambda x: np.moveaxis(x, (0, -1), (1, 0)),
        lambda t, x: x.moveaxis((0, -1), (1, 0)), FROM_TWO),
    row("movedim", lambda x: jt.movedim(x, -1, 0), lambda x: np.moveaxis(x, -1, 0), lambda t, x: t.movedim(x, -1, 0),
        FROM_ONE),
    row("T", lambda x: x.T, lambda x: x.T, None),
    row("t", lambda x: x.t(), lambda x: x.T, lambda t, x: x.t(), LINES + TABLES),
    row("mT", lambda x: x.mT, lambda x: np.swapaxes(x, -1, -2), lambda t, x: x.mT, FROM_TWO),
    row("matrix_transpose", jt.matrix_transpose, lambda x: np.swapaxes(x, -1, -2), lambda t, x: x.mT, FROM_TWO),
    row("flip", lambda x: jt.flip(x), np.flip, lambda t, x: x.flip(tuple(range(x.ndim)))),
    row("flip one axis", lambda x: jt.flip(x, -1), lambda x: np.flip(x, -1), lambda t, x: t.flip(x, (-1,)), FROM_ONE),
    row("flip no axis", lambda x: jt.flip(x, ()), lambda x: np.flip(x, ()), lambda t, x: t.flip(x, ())),
    row("squeeze no axis", lambda x: jt.squeeze(x, ()), lambda x: np.squeeze(x, ()), lambda t, x: t.squeeze(x, ())),
    row("flip by varargs", lambda x: x.flip(0, 1), lambda x: np.flip(x, (0, 1)), lambda t, x: x.flip(0, 1), FROM_TWO),
    row("flip by words", lambda x: x.flip(axis=(0, -1)), lambda x: np.flip(x, (0, -1)), None, FROM_TWO),
    same(jt.flipud, FROM_ONE),
    same(jt.fliplr, FROM_TWO),
    *(row(f"rot90 by {k}", lambda x, k=k: jt.rot90(x, k), lambda x, k=k: np.rot90(x, k),
          lambda t, x, k=k: t.rot90(x, k), FROM_TWO) for k in (1, 2, 3, 4, -1)),
    row("rot90 of other axes", lambda x: jt.rot90(x, 1, (-1, 0)), lambda x: np.rot90(x, 1, (-1, 0)),
        lambda t, x: t.rot90(x, 1, (-1, 0)), FROM_TWO),
    row("rot90 by axes", lambda x: jt.rot90(x, axes=(1, 0)), lambda x: np.rot90(x, axes=(1, 0)), None, FROM_TWO),
    row("roll as if of one axis", lambda x: jt.roll(x, 2), lambda x: np.roll(x, 2), lambda t, x: t.roll(x, 2)),
    row("roll backwards", lambda x: x.roll(-8, 0), lambda x: np.roll(x, -8, 0), lambda t, x: x.roll(-8, 0), FROM_ONE),
    row("roll two axes", lambda x: jt.roll(x, (1, -2), (0, -1)), lambda x: np.roll(x, (1, -2), (0, -1)),
        lambda t, x: t.roll(x, (1, -2), (0, -1)), FROM_TWO),
    row("roll an axis twice", lambda x: jt.roll(x, (1, 2), (0, 0)), lambda x: np.roll(x, (1, 2), (0, 0)),
        lambda t, x: t.roll(x, (1, 2), (0, 0)), FROM_ONE),
    row("roll two axes alike", lambda x: jt.roll(x, 1, axis=(0, 1)), lambda x: np.roll(x, 1, (0, 1)), None, FROM_TWO),
    row("roll by nothing", lambda x: x.roll(0, dims=0), lambda x: x, lambda t, x: x.roll(0, 0), FROM_ONE),
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------ a larger shape

LARGER = (
    row("expand", lambda x: jt.expand(x, 2, -1, 3), lambda x: np.broadcast_to(x, (2, x.shape[-2], 3)),
        lambda t, x: x.expand(2, -1, 3), (((4, 1),), ((4, 3),), ((1, 2, 1),), ((0, 1),))),
    row("expand_as", lambda x: x.expand_as(jt.ones((4, 2, 3))), lambda x: np.broadcast_to(x, (4, 2, 3)),
        lambda t, x: x.expand_as(t.ones(4, 2, 3)), (((),), ((3,),), ((2, 1),), ((4, 1, 1),))),
    row("broadcast_to", lambda x: jt.broadcast_to(x, (2, 3)), lambda x: np.broadcast_to(x, (2, 3)),
        lambda t, x: t.broadcast_to(x, (2, 3)), (((),), ((3,),), ((2, 1),), ((1, 1),), ((2, 3),))),
    row("broadcast_to five axes", lambda x: x.broadcast_to((2, 1, 3, 2, 2)),
        lambda x: np.broadcast_to(x, (2, 1, 3, 2, 2)), lambda t, x: x.broadcast_to((2, 1, 3, 2, 2)),
        (((2,),), ((3, 1, 2),), ((2, 1, 1, 1, 1),))),
    row("broadcast_to nothing", lambda x: jt.broadcast_to(x, (0, 3)), lambda x: np.broadcast_to(x, (0, 3)),
        lambda t, x: t.broadcast_to(x, (0, 3)), (((),), ((3,),), ((1, 1),), ((0, 1),))),
    *(row(f"broadcast_tensors, number {k}", lambda x, y, k=k: jt.broadcast_tensors(x, y)[k],
          lambda x, y, k=k: np.broadcast_arrays(x, y)[k], lambda t, x, y, k=k: t.broadcast_tensors(x, y)[k],
          (((), (2,)), ((3, 1), (1, 4)), ((2, 1, 3), (4, 1)), ((0,), (1,)))) for k in (0, 1)),
    row("broadcast_arrays", lambda x, y: jt.broadcast_arrays(x, y)[0], lambda x, y: np.broadcast_arrays(x, y)[0], None,
        (((3, 1), (1, 4)), ((), (2, 2)))),
    row("broadcast", lambda x: jt.broadcast(x, (3, 2, 4), [1]), lambda x: np.broadcast_to(x[:, None], (3, 2, 4)), None,
        (((3, 4),), ((1, 4),), ((3, 1),))),
    row("broadcast_shapes", lambda x, y: jt.ones(jt.broadcast_shapes(x.shape, y.shape, 1), dtype=x.dtype),
        lambda x, y: np.ones(np.broadcast_shapes(x.shape, y.shape, 1), x.dtype), None,
        (((), ()), ((3, 1), (1, 4)), ((2, 1, 3), (4, 1))), orders=0),
    row("tile", lambda x: jt.tile(x, (2, 3)), lambda x: np.tile(x, (2, 3)), lambda t, x: t.tile(x, (2, 3))),
    row("tile by one number", lambda x: jt.tile(x, 2), lambda x: np.tile(x, 2), lambda t, x: t.tile(x, (2,))),
    row("repeat", lambda x: x.repeat(2, 1, 2), lambda x: np.tile(x, (2, 1, 2)), lambda t, x: x.repeat(2, 1, 2),
        ANY[:6]),
    row("repeat no time", lambda x: jt.repeat(x, 0, 2), lambda x: np.tile(x, (0, 2)), lambda t, x: x.repeat(0, 2),
        ANY[:5]),
    row("repeat_interleave", lambda x: jt.repeat_interleave(x, 2), lambda x: np.repeat(x, 2),
        lambda t, x: t.repeat_interleave(x, 2)),
    row("repeat_interleave an axis", lambda x: x.repeat_interleave(3, dim=-1), lambda x: np.repeat(x, 3, -1),
        lambda t, x: x.repeat_interleave(3, -1), FROM_ONE),
    row("repeat_interleave no time", lambda x: jt.repeat_interleave(x, 0, axis=0), lambda x: np.repeat(x, 0, 0),
        lambda t, x: t.repeat_interleave(x, 0, 0), FROM_ONE),
    row("repeat_interleave by counts", lambda x: jt.repeat_interleave(x, np.array([2, 0, 1]), 1),
        lambda x: np.repeat(x, [2, 0, 1], 1), lambda t, x: t.repeat_interleave(x, t.tensor([2, 0, 1]), 1),
        (((2, 3),), ((1, 3, 2),), ((0, 3),)), layouts=False),
    row("repeat_interleave all by counts", lambda x: x.repeat_interleave([1, 3, 0, 2]),
        lambda x: np.repeat(x, [1, 3, 0, 2]), lambda t, x: x.repeat_interleave(t.tensor([1, 3, 0, 2])),
        (((4,),), ((2, 2),))),
    row("repeat_interleave by one count", lambda x: x.repeat_interleave(jt.array([2]), 0),
        lambda x: np.repeat(x, [2], 0), lambda t, x: x.repeat_interleave(t.tensor([2]), 0), FROM_ONE),
)  # fmt: skip

# -------------------------------------------------------------------------------------------------------------- borders


def bordered(mode, theirs, peer, pairs, shapes, negative=False):
    """One row for a mode and NumPy's pairs of widths; PyTorch pads the same where it knows how."""
    flat = [w for pair in reversed(pairs) for w in pair]
    last = len(pairs)
    return row(
        f"pad {mode} {pairs}",
        lambda x: jt.pad(x, flat, mode),
        None if negative else lambda x: np.pad(x, [(0, 0)] * (x.ndim - last) + pairs, theirs),
        None if peer is None else lambda t, x: t.nn.functional.pad(x[None, None], flat, peer)[0, 0],
        shapes,
        NUMBERS if peer is None else FLOATS,
        layouts=False,
    )


BORDERED = (
    *(
        bordered(mode, theirs, peer, pairs, (((4,),), ((5,),)) if len(pairs) == 1 else (((3, 4),), ((4, 3),)), negative)
        for mode, theirs, peer in (("reflect", "reflect", "reflect"), ("replicate", "edge", "replicate"),
                                   ("circular", "wrap", "circular"), ("symmetric", "symmetric", None))
        for pairs, negative in (([(1, 2)], False), ([(0, 3)], False), ([(2, 1), (0, 2)], False))
    ),
    *(
        bordered(mode, mode, None, pairs, shapes)
        for mode in ("reflect", "edge", "wrap", "symmetric")
        for pairs, shapes in (
            ([(9, 7)], (((1,),), ((2,),), ((5,),))),
            ([(1, 0), (0, 0), (2, 3)], (((2, 3, 2),), ((1, 1, 1),))),
            ([(0, 0)], (((0,),), ((3,),))),
        )
    ),
    row("pad circular, cropping", lambda x: x.pad((-1, 2), "circular"), lambda x: np.pad(x[1:], (0, 2), "wrap"), None,
        (((4,),), ((5,),))),
    row("pad reflect, cropping", lambda x: x.pad((2, -1), "reflect"), lambda x: np.pad(x, (2, 0), "reflect")[:-1], None,
        (((4,),), ((5,),))),
    row("pad with a number", lambda x: jt.pad(x, 1, value=1), lambda x: np.pad(x, 1, constant_values=1), None, ANY[:6]),
    row("pad with one pair", lambda x: jt.pad(x, ((1, 2),)), lambda x: np.pad(x, ((1, 2),)), None, ANY[:6]),
    row("pad with pairs", lambda x: jt.pad(x, ((1, 0), (0, 2)), "constant", 1),
        lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=1), None, TABLES),
    row("pad flat", lambda x: jt.pad(x, (1, 0, 2, 1), value=1), lambda x: np.pad(x, ((2, 1), (1, 0)),
        constant_values=1), lambda t, x: t.nn.functional.pad(x, (1, 0, 2, 1), value=1), TABLES),
    row("pad the last axis", lambda x: x.pad((1, 2)), lambda x: np.pad(x, [(0, 0)] * (x.ndim - 1) + [(1, 2)]),
        lambda t, x: t.nn.functional.pad(x, (1, 2)), FROM_ONE),
    row("pad and crop", lambda x: x.pad((2, -1), value=1), None,
        lambda t, x: t.nn.functional.pad(x, (2, -1), value=1), LINES[1:] + TABLES[1:]),
)  # fmt: skip

# --------------------------------------------------------------------------------------------------- stacks and splits

PAIRS = (((3,), (3,)), ((2, 3), (2, 3)), ((0, 2), (0, 2)), ((2, 1, 2, 1, 3), (2, 1, 2, 1, 3)))


def stacked(name, ours, shapes, *rest):
    """A function of a list, applied to x, y and x again."""
    return row(
        " ".join(map(str, (name, *rest))),
        lambda x, y: ours([x, y, x], *rest),
        lambda x, y: getattr(np, name)([x, y, x], *rest),
        lambda t, x, y: getattr(t, name)([x, y, x], *rest),
        shapes,
    )


STACKED = (
    stacked("concatenate", jt.concatenate, PAIRS, 0),
    stacked("concatenate", jt.concatenate, PAIRS, -1),
    row("concat", lambda x, y: jt.concat([x, y]), lambda x, y: np.concatenate([x, y]), lambda t, x, y: t.cat([x, y]),
        (((3,), (2,)), ((2, 3), (4, 3)), ((0,), (3,)), ((1, 2, 0), (2, 2, 0)))),
    row("cat along an axis", lambda x, y: jt.cat((x, y), dim=1), lambda x, y: np.concatenate([x, y], 1),
        lambda t, x, y: t.cat((x, y), dim=1), (((2, 3), (2, 1)), ((1, 0, 2), (1, 2, 2)))),
    row("concat by axis", lambda x, y: jt.concat([y, x], axis=-1), lambda x, y: np.concatenate([y, x], -1), None,
        (((2, 3), (2, 1)), ((3,), (0,)))),
    row("concat of seven", lambda x, y: jt.concat([x, y, x * y, x, y, x, x]),
        lambda x, y: np.concatenate([x, y, x * y, x, y, x, x]),
        lambda t, x, y: t.cat([x, y, x * y, x, y, x, x]), PAIRS),
    stacked("stack", jt.stack, (((), ()), *PAIRS)),
    stacked("stack", jt.stack, PAIRS, -1),
    stacked("stack", jt.stack, PAIRS, 1),
    row("stack by axis", lambda x, y: jt.stack((x, y), axis=-2), lambda x, y: np.stack((x, y), -2), None, PAIRS),
    stacked("hstack", jt.hstack, (((), ()), *PAIRS)),
    stacked("vstack", jt.vstack, (((), ()), *PAIRS)),
    stacked("dstack", jt.dstack, (((), ()), *PAIRS)),
    stacked("column_stack", jt.column_stack, PAIRS[:3]),
    row("row_stack", lambda x, y: jt.row_stack([x, y]), lambda x, y: np.vstack([x, y]),
        lambda t, x, y: t.vstack([x, y]), (((3,), (3,)), ((3,), (2, 3)))),
    row("column_stack of ranks", lambda x, y: jt.column_stack([x, y]), lambda x, y: np.column_stack([x, y]),
        lambda t, x, y: t.column_stack([x, y]), (((3,), (3, 2)), ((2, 2), (2,)))),
    row("append", lambda x, y: jt.append(x, y), lambda x, y: np.append(x, y), None,
        (((), ()), ((3,), (2, 2)), ((0,), (1,)))),
    row("append along an axis", lambda x, y: x.append(y, axis=1), lambda x, y: np.append(x, y, 1), None,
        (((2, 3), (2, 1)), ((1, 1, 2), (1, 2, 2)))),
    row("block_diag", lambda x, y: jt.block_diag(x, y, x), lambda x, y: scipy.linalg.block_diag(x, y, x),
        lambda t, x, y: t.block_diag(x, y, x), (((), (2,)), ((2, 3), (1, 2)), ((3, 1), (2, 2))),
        layouts=False),
)  # fmt: skip


def parts(name, ours, numpy, torch, shapes, places=(0, -1)):
    """A row for the first part and one for the last."""
    return tuple(
        row(
            f"{name}, part {k}",
            lambda x, k=k: ours(x)[k],
            numpy and (lambda x, k=k: numpy(x)[k]),
            torch and (lambda t, x, k=k: torch(t, x)[k]),
            shapes,
        )
        for k in places
    )


SPLIT = (
    *parts("split", lambda x: jt.split(x, 2), lambda x: np.split(x, range(2, len(x), 2)), lambda t, x: t.split(x, 2),
           (((5,),), ((4, 3),), ((3, 0),))),
    *parts("split by sizes", lambda x: x.split([1, 0, 2], dim=-1), lambda x: np.split(x, [1, 1], -1),
           lambda t, x: x.split([1, 0, 2], dim=-1), (((3,),), ((2, 3),), ((2, 1, 3),)), (0, 1, 2)),
    *parts("split by axis", lambda x: x.split(1, axis=1), lambda x: np.split(x, range(1, x.shape[1]), 1), None,
           (((2, 3),), ((2, 1, 3),))),
    *parts("chunk", lambda x: jt.chunk(x, 3), None, lambda t, x: t.chunk(x, 3), (((5,),), ((7, 2),), ((2, 2),))),
    *parts("chunk along the last", lambda x: x.chunk(2, dim=-1), None, lambda t, x: x.chunk(2, -1), FROM_ONE),
    *parts("chunk by axis", lambda x: x.chunk(2, axis=1), None, lambda t, x: x.chunk(2, 1), FROM_TWO),
    *parts("tensor_split", lambda x: jt.tensor_split(x, 3), lambda x: np.array_split(x, 3),
           lambda t, x: t.tensor_split(x, 3), FROM_ONE),
    *parts("tensor_split by places", lambda x: x.tensor_split((1, 3), dim=-1), lambda x: np.array_split(x, (1, 3), -1),
           lambda t, x: x.tensor_split((1, 3), dim=-1), FROM_ONE, (0, 1, 2)),
    *parts("tensor_split from the end", lambda x: x.tensor_split([-2], axis=0), lambda x: np.array_split(x, [-2]),
           lambda t, x: x.tensor_split([-2]), FROM_ONE),
    *parts("array_split", lambda x: jt.array_split(x, 4, axis=1), lambda x: np.array_split(x, 4, 1), None, FROM_TWO),
    *parts("hsplit", lambda x: jt.hsplit(x, 2), lambda x: np.hsplit(x, 2), lambda t, x: t.hsplit(x, 2),
           (((4,),), ((2, 4),), ((1, 2, 3),))),
    *parts("vsplit", lambda x: jt.vsplit(x, [1]), lambda x: np.vsplit(x, [1]), lambda t, x: t.vsplit(x, [1]), FROM_TWO),
    *parts("dsplit", lambda x: jt.dsplit(x, 2), lambda x: np.dsplit(x, 2), lambda t, x: t.dsplit(x, 2),
           (((1, 2, 4),), ((2, 1, 2, 3),))),
    *parts("unbind", jt.unbind, list, lambda t, x: t.unbind(x), (((3,),), ((2, 3),), ((2, 0),))),
    *parts("unbind the last axis", lambda x: x.unbind(dim=-1), lambda x: list(np.moveaxis(x, -1, 0)),
           lambda t, x: x.unbind(-1), (((3,),), ((2, 3),), ((2, 2, 1, 3),))),
    *parts("unbind by axis", lambda x: x.unbind(axis=1), lambda x: list(np.moveaxis(x, 1, 0)), None, (((2, 3),),)),
    *parts("split and concat", lambda x: [jt.concat(x.split(2)[::-1])] * 2,
           lambda x: [np.concatenate(np.split(x, range(2, len(x), 2))[::-1])] * 2,
           lambda t, x: [t.cat(x.split(2)[::-1])] * 2, (((5,),), ((4, 2),)), (0,)),
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------ diagonals

DIAGONAL = (
    *(row(f"diagonal {k}", lambda x, k=k: jt.diagonal(x, k), lambda x, k=k: np.diagonal(x, k),
          lambda t, x, k=k: t.diagonal(x, k), FROM_TWO) for k in (0, 1, -1, 9)),
    row("diagonal of other axes", lambda x: x.diagonal(1, -1, 0), lambda x: np.diagonal(x, 1, -1, 0),
        lambda t, x: x.diagonal(1, -1, 0), FROM_TWO),
    row("diagonal by axes", lambda x: x.diagonal(axis1=1, axis2=0), lambda x: np.diagonal(x, axis1=1, axis2=0), None,
        FROM_TWO),
    *(row(f"diag {k}", lambda x, k=k: jt.diag(x, k), lambda x, k=k: np.diag(x, k), lambda t, x, k=k: t.diag(x, k),
          LINES + TABLES) for k in (0, 2, -1)),
    *(row(f"diag_embed {k}", lambda x, k=k: jt.diag_embed(x, k), None, lambda t, x, k=k: t.diag_embed(x, k), FROM_ONE)
      for k in (0, 1, -2)),
    row("diag_embed of other axes", lambda x: x.diag_embed(1, 0, -1), None, lambda t, x: x.diag_embed(1, 0, -1),
        FROM_ONE),
    row("diagflat", lambda x: jt.diagflat(x), np.diagflat, lambda t, x: t.diagflat(x), ANY[:5]),
    row("diagflat aside", lambda x: x.diagflat(-1), lambda x: np.diagflat(x, -1), lambda t, x: x.diagflat(-1), ANY[:5]),
    row("trace", lambda x: x.trace(), lambda x: np.trace(x), None, FROM_TWO, loose=4),
    row("trace of other axes", lambda x: x.trace(1, 1, 0), lambda x: np.trace(x, 1, 1, 0), None, FROM_TWO, loose=4),
    row("trace by axes", lambda x: x.trace(axis1=-1, axis2=0), lambda x: np.trace(x, axis1=-1, axis2=0), None, FROM_TWO,
        loose=4),
    *(row(f"triu {k}", lambda x, k=k: jt.triu(x, k), lambda x, k=k: np.triu(x, k), lambda t, x, k=k: t.triu(x, k),
          FROM_TWO) for k in (0, 1, -2)),
    *(row(f"tril {k}", lambda x, k=k: jt.tril(x, k), lambda x, k=k: np.tril(x, k), lambda t, x, k=k: t.tril(x, k),
          FROM_TWO) for k in (0, -1, 2)),
    row("triu by k", lambda x: x.triu(k=1), lambda x: np.triu(x, k=1), None, FROM_TWO),
    row("tril by diagonal", lambda x: x.tril(diagonal=-1), lambda x: np.tril(x, -1),
        lambda t, x: x.tril(diagonal=-1), FROM_TWO),
    *(row(f"{name} {k}", lambda x, ours=ours, k=k: ours(*x.shape, k),
          lambda x, name=name, k=k: np.stack(getattr(np, name)(x.shape[0], k, x.shape[1])),
          lambda t, x, name=name, k=k: getattr(t, name)(*x.shape, k), TABLES, ("int64",), orders=0, layouts=False)
      for name, ours in (("triu_indices", jt.triu_indices), ("tril_indices", jt.tril_indices)) for k in (0, 1, -1)),
    created("tri", lambda x: jt.tri(*x.shape, dtype=x.dtype), lambda x: np.tri(*x.shape, dtype=x.dtype)),
    created("tri aside", lambda x: jt.tri(*x.shape, 1, x.dtype), lambda x: np.tri(*x.shape, 1, x.dtype)),
    row("diagonal_scatter", lambda x, y: jt.diagonal_scatter(x, y), None, lambda t, x, y: t.diagonal_scatter(x, y),
        (((3, 4), (3,)), ((3, 2), (2,)), ((2, 2, 3), (3, 2))), layouts=False),
    row("diagonal_scatter aside", lambda x, y: x.diagonal_scatter(y, -1, 1, 0), None,
        lambda t, x, y: x.diagonal_scatter(y, -1, 1, 0), (((3, 4), (3,)), ((4, 2), (1,))), layouts=False),
)  # fmt: skip

# -------------------------------------------------------------------------------------------------- from nothing, grids

MADE = (
    created("eye", lambda x: jt.eye(*x.shape, dtype=x.dtype), lambda x: np.eye(*x.shape, dtype=x.dtype),
            lambda t, x: t.eye(*x.shape, dtype=x.dtype)),
    created("eye aside", lambda x: jt.eye(*x.shape, x.dtype, k=-1), lambda x: np.eye(*x.shape, -1, x.dtype)),
    created("identity", lambda x: jt.identity(x.shape[0], x.dtype), lambda x: np.identity(x.shape[0], x.dtype)),
    created("empty_like", lambda x: jt.empty_like(x), np.zeros_like, shapes=ANY),
    created("empty_like of a dtype", lambda x: jt.empty_like(x, "int8"), lambda x: np.zeros_like(x, "int8"), shapes=ANY,
            dtypes=("float32", "int64")),
    created("zeros_like", jt.zeros_like, np.zeros_like, lambda t, x: t.zeros_like(x), ANY),
    created("ones_like", jt.ones_like, np.ones_like, lambda t, x: t.ones_like(x), ANY),
    created("full_like", lambda x: jt.full_like(x, 1), lambda x: np.full_like(x, 1), lambda t, x: t.full_like(x, 1),
            ANY),
    created("full", lambda x: jt.full(x.shape, 3, x.dtype), lambda x: np.full(x.shape, 3, x.dtype), None, ANY),
    created("zeros", lambda x: jt.zeros(x.shape, x.dtype), lambda x: np.zeros(x.shape, x.dtype), None, ANY),
    created("ones", lambda x: jt.ones(*x.shape, dtype=x.dtype), lambda x: np.ones(x.shape, x.dtype), None, ANY[1:]),
    *(created(f"linspace {a} to {b}", lambda x, a=a, b=b: jt.linspace(a, b, x.size, x.dtype),
              lambda x, a=a, b=b: np.linspace(a, b, x.size, dtype=x.dtype), None, LINES, FLOATS)
      for a, b in ((0, 1), (-3, 2.5), (5, -5), (2, 2))),
    created("linspace without its end", lambda x: jt.linspace(1, 4, x.size, x.dtype, endpoint=False),
            lambda x: np.linspace(1, 4, x.size, endpoint=False, dtype=x.dtype), None, LINES, FLOATS),
    created("linspace of whole numbers", lambda x: jt.linspace(0, 9, x.size, x.dtype),
            lambda x: np.linspace(0, 9, x.size, dtype=x.dtype), None, LINES, ("int64", "int8", "uint8")),
    created("logspace", lambda x: jt.logspace(-1, 2, x.size, dtype=x.dtype),
            lambda x: np.logspace(-1, 2, x.size, dtype=x.dtype), None, LINES, FLOATS),
    created("logspace to base 2", lambda x: jt.logspace(0, 3, x.size, 2.0, x.dtype, endpoint=False),
            lambda x: np.logspace(0, 3, x.size, False, 2.0, x.dtype), None, LINES, FLOATS),
    created("geomspace", lambda x: jt.geomspace(1, 1000, x.size, x.dtype),
            lambda x: np.geomspace(1, 1000, x.size, dtype=x.dtype), None, LINES, FLOATS),
    created("geomspace below 0", lambda x: jt.geomspace(-8, -1, x.size, x.dtype, endpoint=False),
            lambda x: np.geomspace(-8, -1, x.size, False, x.dtype), None, LINES, FLOATS),
    created("arange", lambda x: jt.arange(x.size, dtype=x.dtype), lambda x: np.arange(x.size).astype(x.dtype),
            None, LINES, ("int8", "int64", "uint8", "float32", "float64", "complex64")),
    created("arange by steps", lambda x: jt.arange(-1, x.size, 2, x.dtype), lambda x: np.arange(-1, x.size, 2, x.dtype),
            lambda t, x: t.arange(-1, x.numel(), 2, dtype=x.dtype), LINES, ("int8", "int64", "float32", "float64")),
    created("arange of fractions", lambda x: jt.arange(0.5, x.size, 0.75, x.dtype),
            lambda x: np.arange(0.5, x.size, 0.75, x.dtype), None, LINES, FLOATS),
    created("indices", lambda x: jt.indices(x.shape), lambda x: np.indices(x.shape), None, FROM_ONE, ("int64",)),
    created("indices of a dtype", lambda x: jt.indices(x.shape, x.dtype), lambda x: np.indices(x.shape, x.dtype), None,
            FROM_ONE, (*WHOLE, *FLOATS)),
)  # fmt: skip

GRIDS = (
    *(row(f"meshgrid {way}, number {k}", lambda x, y, z, way=way, k=k: jt.meshgrid(x, y, z, indexing=way)[k],
          lambda x, y, z, way=way, k=k: np.meshgrid(x, y, z, indexing=way)[k],
          lambda t, x, y, z, way=way, k=k: t.meshgrid(x, y, z, indexing=way)[k],
          (((2,), (3,), (4,)), ((1,), (0,), (2,)))) for way in ("ij", "xy") for k in (0, 1, 2)),
    row("meshgrid of one", lambda x: jt.meshgrid(x)[0], lambda x: np.meshgrid(x)[0], None, ANY[:4]),
    row("cartesian_prod", lambda x, y: jt.cartesian_prod(x, y), None, lambda t, x, y: t.cartesian_prod(x, y),
        (((2,), (3,)), ((1,), (4,)), ((0,), (2,)))),
    row("cartesian_prod of one", lambda x: jt.cartesian_prod(x), lambda x: x, lambda t, x: t.cartesian_prod(x), LINES),
    *(row(f"combinations of {r}", lambda x, r=r: jt.combinations(x, r), None, lambda t, x, r=r: t.combinations(x, r),
          LINES) for r in (1, 2, 3)),
    row("combinations with replacement", lambda x: jt.combinations(x, 2, True), None,
        lambda t, x: t.combinations(x, 2, True), LINES),
    row("vander", lambda x: jt.vander(x), np.vander, None, LINES, domain="small", loose=4),
    row("vander of three columns", lambda x: jt.vander(x, 3, increasing=True), lambda x: np.vander(x, 3, True),
        None, LINES, (*WHOLE, *FLOATS), domain="small"),
    row("unfold", lambda x: jt.unfold(x, 0, 2, 1), None, lambda t, x: x.unfold(0, 2, 1),
        (((2,),), ((5,),), ((3, 2),))),
    row("unfold with steps", lambda x: x.unfold(-1, 3, 2), None, lambda t, x: x.unfold(-1, 3, 2),
        (((3,),), ((2, 7),), ((2, 1, 4),))),
    row("unfold without overlap", lambda x: x.unfold(1, 1, 3), None, lambda t, x: x.unfold(1, 1, 3),
        (((2, 7),), ((1, 3, 2),))),
    row("sliding_window_view", lambda x: jt.sliding_window_view(x, 2, axis=0),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 0), None, (((4,),), ((3, 2),))),
    row("sliding_window_view of boxes", lambda x: jt.sliding_window_view(x, (2, 3)),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3)), None, (((2, 3),), ((4, 5),))),
    *(row(f"as_strided {size} by {stride} from {start}",
          lambda x, size=size, stride=stride, start=start: jt.as_strided(x, size, stride, start),
          None, lambda t, x, size=size, stride=stride, start=start: t.as_strided(x, size, stride, start),
          (((12,),), ((3, 4),), ((2, 1, 6),)), layouts=False)
      for size, stride, start in (((2, 3), (4, 1), 1), ((3, 3), (1, 2), 0), ((4,), (0,), 5), ((0, 2), (1, 1), 0),
                                  ((), (), 3), ((2, 2, 2), (1, 1, 1), 2))),
)  # fmt: skip

ROWS = (*RESHAPED, *TURNED, *LARGER, *BORDERED, *STACKED, *SPLIT, *DIAGONAL, *MADE, *GRIDS)
