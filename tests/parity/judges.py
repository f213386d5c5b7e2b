"""Judges of gradients: PyTorch, and central differences, of first and second order.

first    d sum(y * v) / dx                for weights v that are all different
second   d sum(dx * u) / dx               and those again against central differences of dx
"""

import math

import numpy as np

import jt_edu as jt

STEP = 1e-6
MOST = 12  # elements of each input that are asked by differences, where PyTorch was asked about all


def weights(shape, turn):
    """Numbers that are all different, so that no two mistakes cancel."""
    return (np.cos(np.arange(math.prod(shape)) * 1.7 + turn) + 1.5).reshape(shape)


def weighed(y, turn):
    """One real number made of all of y, of ours or of PyTorch's."""
    w = weights(tuple(y.shape), turn)
    w = jt.array(w) if isinstance(y, jt.Var) else y.new_tensor(w, dtype=None if y.is_complex() else y.dtype)
    total = (y * w).sum()
    if "complex" in str(y.dtype):
        real, imag = (total.real(), total.imag()) if isinstance(y, jt.Var) else (total.real, total.imag)
        return real + imag * 0.5
    return total


def our_orders(function, arrays, orders=2):
    """The gradients of first and second order of a function of ours, as arrays."""
    xs = [jt.array(a) for a in arrays]
    loss, found = weighed(function(*xs), 0.3), []
    for order in range(orders):
        grads = [
            g if g is not None else x.zeros_like()
            for x, g in zip(xs, jt.grad(loss, xs, allow_unused=True), strict=True)
        ]
        found.append([g.numpy() for g in grads])
        if order + 1 < orders:
            loss = total([weighed(g, 1.1 + k) for k, g in enumerate(grads)])
    return found


def total(numbers):
    """Their sum, without a 0 to begin with."""
    first, *rest = numbers
    for n in rest:
        first = first + n
    return first


def torch_orders(torch, function, arrays, orders=2):
    """The same of a function of PyTorch's."""
    xs = [torch.tensor(a, requires_grad=True) for a in arrays]
    loss, found = weighed(function(*xs), 0.3), []
    for order in range(orders):
        if not loss.requires_grad:
            found.append([np.zeros_like(a) for a in arrays])
            continue
        grads = torch.autograd.grad(loss, xs, create_graph=True, allow_unused=True, materialize_grads=True)
        found.append([g.numpy(force=True) for g in grads])
        if order + 1 < orders:
            loss = total([weighed(g, 1.1 + k) for k, g in enumerate(grads)])
    return found


def differences(number, arrays, known=None):
    """Central differences of a real number by each element; for complex ones d/dRe + 1j d/dIm.

    Of large arrays only some elements are asked; the others are those that are `known`.
    """
    found = [np.zeros_like(a) for a in arrays] if known is None else [np.array(a) for a in known]
    for k, a in enumerate(arrays):
        parts = (1.0, 1j) if np.iscomplexobj(a) else (1.0,)
        for index in _all_or_some(a.shape, known is None or a.size <= MOST):
            found[k][index] = 0
            for part in parts:
                values = []
                for sign in (1, -1):
                    moved = a.copy()
                    moved[index] += sign * STEP * part
                    values.append(float(number(*arrays[:k], moved, *arrays[k + 1 :])))
                found[k][index] += part * (values[0] - values[1]) / (2 * STEP)
    return found


def _all_or_some(shape, all_of_them):
    """The places of an array; of a large one MOST, from the first to the last."""
    places = list(np.ndindex(shape))
    return places if all_of_them else [places[round(k)] for k in np.linspace(0, len(places) - 1, MOST)]


def by_differences(function, arrays, orders=2, known=(None, None)):
    """First order from values, second order from our first."""

    def value(*moved):
        return weighed(function(*map(jt.array, moved)), 0.3).item()

    def first(*moved):
        xs = [jt.array(a) for a in moved]
        grads = jt.grad(weighed(function(*xs), 0.3), xs, allow_unused=True)
        return total(
            [
                weighed(x.zeros_like() if g is None else g, 1.1 + k)
                for k, (x, g) in enumerate(zip(xs, grads, strict=True))
            ]
        ).item()

    return [differences(number, arrays, k) for number, k in zip((value, first)[:orders], known, strict=False)]


def expect_equal(ours, theirs, rtol, what):
    for order, (mine, yours) in enumerate(zip(ours, theirs, strict=True), 1):
        for k, (a, b) in enumerate(zip(mine, yours, strict=True)):
            assert a.shape == b.shape, f"{what}, order {order}, input {k}"
            scale = max(1.0, np.abs(b[np.isfinite(b)]).max(initial=0))
            np.testing.assert_allclose(a, b, rtol, rtol * scale, err_msg=f"{what}, order {order}, input {k}")


def judge(torch, ours, theirs, arrays, what="", *, smooth=True, orders=2):
    """Compare with PyTorch and, where the function is smooth at these numbers, with differences."""
    found = our_orders(ours, arrays, orders)
    if theirs is not None:
        expect_equal(found, torch_orders(torch, theirs, arrays, orders), 1e-9, f"{what}, PyTorch")
    if smooth:
        known = found if theirs is not None else (None, None)
        expect_equal(found, by_differences(ours, arrays, orders, known), 2e-6, f"{what}, differences")


def safe(a):
    """Numbers that stay clear of the corners of floor, abs and clamp."""
    return np.asarray(a + 0.11 * (np.abs(a - np.round(a)) < 0.1))
