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
