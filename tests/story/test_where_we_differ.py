"""docs/where_we_differ.md tells the truth: every line of code on it runs, and every statement is followed by some."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "where_we_differ.md").read_text(encoding="utf-8")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.filterwarnings("ignore:no variable holds the Var", "ignore:a loss of shape")
def test_every_line_of_code_answers_as_the_page_says(tmp_path):
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(code, {"folder": str(tmp_path)}, "where_we_differ.md", None, 0)
    said: list[str] = []

    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)

    assert result.attempted > 40
    assert result.failed == 0, "".join(said)


def test_every_statement_is_followed_by_code_that_shows_it():
    parts = re.split(r"\n(?=\*\*)", PAGE)[1:]

    assert len(parts) >= 15
    assert [part.split("\n")[0] for part in parts if "```python" not in part] == []


def test_pytorch_answers_as_the_page_says(torch):
    x, whole, parts = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([1, 2]), torch.zeros(2, 3)
    parts[0][1] = 5
    parts.view(-1)[2] = 7

    assert round(x.var().item(), 4) == 1.6667
    assert x.median().item() == 2.0
    assert {(whole / 2).dtype, (torch.ones(2) + whole).dtype} == {torch.float32}
    assert parts.tolist()[0] == [0.0, 5.0, 7.0]
    assert type(torch.ones(2, 2).max(1)).__name__ == "max"  # values and indices
    assert torch.randint(10, (3,)).shape == (3,)
    assert (x.var(correction=None).item(), x.reshape(2, 2).norm(p=2)) == (x.var(correction=1).item(), x.norm())
    assert torch.sort(x).indices.tolist() == [0, 1, 2, 3]
    assert torch.nonzero(parts).tolist() == [[0, 1], [0, 2]]
    assert whole.repeat(2).tolist() == [1, 2, 1, 2]
    assert torch.meshgrid(whole, torch.arange(3), indexing="ij")[0].shape == (2, 3)
    assert torch.take_along_dim(parts, torch.tensor([3])).shape == (1,)
    assert torch.zeros(2, 3, 4)[1, :, [0, 1]].shape == (3, 2)
    with pytest.raises(IndexError):
        x[torch.tensor([], dtype=torch.bool)]
    pixels = torch.tensor([[[[0, 3]]]], dtype=torch.uint8)
    resized = torch.nn.functional.interpolate(pixels, size=(1, 4), mode="bilinear")
    assert (resized.tolist(), resized.dtype) == ([[[[0, 1, 2, 3]]]], torch.uint8)
    ties = torch.tensor([2.0, 2.0, 1.0], requires_grad=True)
    ties.median().backward()
    assert ties.grad.tolist() == [0.5, 0.5, 0.0]
    descent = torch.optim.SGD([ties], 0.1)
    descent.param_groups[0]["initial_lr"] = 0.1
    assert torch.optim.lr_scheduler.ExponentialLR(descent, gamma=0.5, last_epoch=3).get_last_lr() == [0.1]
    for refused in (lambda: whole**-1, whole.mean, lambda: torch.nn.Linear(2, 3)(torch.ones(1, 2).double())):
        with pytest.raises(RuntimeError):
            refused()


def test_numpy_answers_as_the_page_says():
    x, whole = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 2])

    assert (x.var(), np.median(x)) == (1.25, 2.5)
    assert {(whole / 2).dtype, whole.mean().dtype, (np.ones(2, np.float32) + whole).dtype} == {np.dtype("float64")}
    assert np.isfinite(np.sin(2e15))
    assert np.array(2**63, np.uint64) != np.array(2**63 - 1, np.int64)
    assert (np.array([-7]) // 2, np.array([-7]) % 2) == (-4, 1)
    with pytest.raises(ValueError, match="negative"):
        _ = whole**-1
    assert np.linalg.norm(np.array([[1.0, 2.0], [3.0, 4.0]]), 1) == 6.0
    assert [len(part) for part in (np.sort(x), np.nonzero([[0, 5], [6, 0]]))] == [4, 2]
    assert np.repeat(whole, 2).tolist() == [1, 1, 2, 2]
    assert np.meshgrid(np.arange(2), np.arange(3))[0].shape == (3, 2)
    assert np.zeros((2, 3, 4))[1, :, [0, 1]].shape == (2, 3)
    assert x[np.array([], bool)].shape == (0,)


def test_the_readme_leads_to_it():
    assert "(docs/where_we_differ.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
