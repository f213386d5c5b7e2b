"""Ways out: what an error tells the learner to try can be done, and helps."""

import pytest

import jt_edu as jt

NAMES = {"jt": jt, "x": jt.ones(2, 3), "y": jt.ones(2, 3), "z": jt.ones(4, 5), "v": jt.ones(3)}
LOSS = (NAMES["x"] * 2).sum()


def way_out(call, **names):
    with pytest.raises(jt.JtError) as caught:
        eval(call, {**NAMES, **names})  # noqa: S307
    return str(caught.value).partition("Try: ")[2].splitlines()[0].removesuffix(".")


@pytest.mark.parametrize(
    ("call", "advice", "shape"),
    [
        ("x.reshape(4, 2)", "x.reshape(3, 2)", (3, 2)),
        ("x.reshape(4)", "x.reshape(6)", (6,)),
        ("x.reshape(2, 5)", "x.reshape(2, 3)", (2, 3)),
        ("x.permute(0, 1, 2)", "x.permute(1, 0)", (3, 2)),
        ("x.permute(0, 0)", "x.permute(1, 0)", (3, 2)),
        ("x.permute(1)", "x.permute(1, 0)", (3, 2)),
        ("x @ y", "x @ y.transpose(-1, -2)", (2, 2)),
        ("x @ jt.ones(2, 5)", "x.transpose(-1, -2) @ y", (3, 5)),
        ("jt.ones(2, 3) @ jt.ones(2)", "x.transpose(-1, -2) @ y", (3,)),
        ("jt.concat([x, jt.ones(2, 4)])", "jt.concat(vars, 1)", (2, 7)),
        ("jt.stack([x, jt.ones(2, 4)])", "jt.concat(vars, 1)", (2, 7)),
    ],
)
def test_what_is_written_as_code_runs(call, advice, shape):
    y = NAMES["y"] if "jt.ones(2" not in call else jt.ones(2, 5) if "5" in call else jt.ones(2)

    assert way_out(call) == advice
    assert eval(advice, {**NAMES, "y": y, "vars": [NAMES["x"], jt.ones(2, 4)]}).shape == shape  # noqa: S307


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        ("x.reshape(-1, 4)", "x.reshape(-1), which has one axis"),
        ("x @ z", "a y whose last axis but one has length 3"),
        ("v @ jt.ones(4)", "a y whose axis has length 3"),
        ("jt.concat([x, v])", "x.unsqueeze or x.reshape, until all have as many axes"),
        ("jt.concat([x, z])", "jt.pad, which makes an axis longer"),
        ("jt.stack([x, z])", "jt.pad, which makes an axis longer"),
        ("jt.split(x, [1, 1], 1)", "[1, 2]"),
        ("jt.split(x, [4, 1], 1)", "x.chunk(2)"),
        ("x[0, 0, 0, 0]", "2 fewer"),
        ("jt.why_no_grad(loss, x)", "jt.why_no_grad(x, loss)"),
    ],
)
def test_what_is_said_in_words_fits_the_fault(call, advice):
    assert way_out(call, loss=LOSS) == advice


@pytest.mark.parametrize("first", [(2, 3), (2,), (4, 3, 2), (3, 5), (5,), (1, 7)])
@pytest.mark.parametrize("second", [(2, 3), (2,), (3,), (3, 2), (4, 3), (6, 4, 2, 5)])
def test_what_lines_two_shapes_up_does(first, second):
    x, y = jt.ones(first), jt.ones(second)
    try:
        (x + y).shape  # noqa: B018
    except jt.ShapeError as error:
        advice = str(error).partition("Try: ")[2].splitlines()[0].removesuffix(".").partition(", for every")[0]
    else:
        return

    if "(" in advice:
        changed = eval(advice, {"x": x, "y": y})  # noqa: S307
        assert len((changed + y if advice.startswith("x") else x + changed).shape) == max(len(first), len(second), 2)
    else:
        assert advice == "shapes that agree on this axis, or one that has length 1 there"


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        ("jt.ones(2) << 1", "x.int64()"),
        ("~jt.ones(2)", "x.int64()"),
        ("jt.array([True]) - jt.array([True])", "x.int64() or x.float()"),
        ("jt.maximum(jt.array([1j]), 1)", "x.real or x.abs()"),
        ("jt.einsum('ij->ijj', x)", "'->ij'"),
        ("jt.einsum('ij->jki', x)", "'->ji'"),
    ],
)
def test_a_dtype_or_a_letter_that_is_refused_is_told_with_one_that_is_not(call, advice):
    assert way_out(call) == advice


def test_a_gradient_is_a_var_of_the_same_shape_or_none():
    x = jt.ones(2, 3)

    for wrong in (3, jt.ones(3), [[1.0, 2.0, 3.0]] * 2):
        with pytest.raises(jt.GradientError, match=r"Var of shape \(2, 3\)"):
            x.grad = wrong
    x.grad = g = jt.ones(2, 3)
    assert x.grad is g
    x.grad = None
    assert x.grad is None


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("v, i = x.max(1)", "x.max(dim), x.argmax(dim): max returns the values alone"),
        ("_, i = jt.max(x, dim=1)", "x.max(dim), x.argmax(dim): max returns the values alone"),
        ("v, i = x.min(1, keepdims=True)", "x.min(dim), x.argmin(dim): min returns the values alone"),
        ("i, v = x.argmax(1)", "x.argmax(dim), x.max(dim), or argmin and min: each of them returns one of the two"),
        ("(v, i), more = x.max(1), 3", "x.max(dim), x.argmax(dim): max returns the values alone"),
        ("for v, i in [x.max(1)]: pass", "x.max(dim), x.argmax(dim): max returns the values alone"),
        ("a, b = x", ""),
    ],
)
def test_a_pair_that_pytorch_would_have_answered_is_named_where_it_is_unpacked(line, advice):
    with pytest.raises(jt.ShapeError, match=r"unpacks into 4 rows; found 2 names") as caught:
        exec(line, {"jt": jt, "x": jt.ones(4, 3)})  # noqa: S102

    assert isinstance(caught.value, ValueError)
    assert str(caught.value).partition("Try: ")[2].removesuffix(".") == advice


def test_what_can_be_unpacked_is():
    a, b, c = jt.arange(3)
    first, *rest = jt.arange(3).max(keepdims=True)
    (row,) = jt.ones(1, 2)

    assert (a.item(), b.item(), c.item(), first.item(), rest, row.shape) == (0, 1, 2, 2, [], (2,))
    assert [p.shape for p in [*jt.ones(4, 3).max(1)]] == [()] * 4
    assert dict(zip("ab", jt.ones(2, 3), strict=True))["b"].shape == (3,)


def test_too_few_rows_are_told_as_well():
    with pytest.raises(jt.ShapeError, match=r"a Var of shape \(1, 2\) unpacks into 1 row; found 2 names"):
        exec("a, b = x", {"x": jt.ones(1, 2)})  # noqa: S102


def test_more_rows_than_one_byte_counts_can_be_unpacked():
    names = [f"n{k}" for k in range(300)]
    found: dict = {"x": jt.arange(300)}
    exec(f"{', '.join(names)} = x", found)  # noqa: S102

    assert found["n299"].item() == 299
