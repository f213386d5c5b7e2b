"""The exercises inside of the notebooks: right answers are called right, wrong ones are not, empty ones neither."""

import contextlib
import io
import re
from functools import cache
from unittest import mock

import matplotlib as mpl
import pytest

import jt_edu as jt
from jt_exercises.author.masters import expanded
from tests.house.test_notebooks import FOLDER, build

mpl.use("Agg")
META = {
    "transposed = None": "transposed = x.reindex((5, 4), lambda i, j: (j, i))",
    "upside_down = None": "upside_down = x.reindex((4, 5), lambda i, j: (3 - i, j))",
    "every_second_column = None": "every_second_column = x.reindex((4, 3), lambda i, j: (i, j * 2))",
    "diagonal = None": "diagonal = x.reindex((4,), lambda i: (i, i))",
    "padded = None": "padded = x.reindex((6, 7), lambda i, j: (i - 1, j - 1))",
    "twice_as_wide = None": "twice_as_wide = x.reindex((4, 10), lambda i, j: (i, j // 2))",
    '''    """(n, m) times (m, p)."""
    return None
''': """    (n, m), p = a.shape, b.shape[1]
    A = a.reindex((n, m, p), lambda i, k, j: (i, k))
    B = b.reindex((n, m, p), lambda i, k, j: (k, j))
    return (A * B).reindex_reduce("add", (n, p), lambda i, k, j: (i, j))
""",
    '''    """An image (H, W) and a window (h, w)."""
    return None
''': """    (H, W), (h, w), s, p = image.shape, window.shape, stride, padding
    box = ((H + 2 * p - h) // s + 1, (W + 2 * p - w) // s + 1, h, w)
    seen = image.reindex(box, lambda y, x, i, j: (y * s + i - p, x * s + j - p))
    product = seen * window.reindex(box, lambda y, x, i, j: (i, j))
    return product.reindex_reduce("add", box[:2], lambda y, x, i, j: (y, x))
""",
    "def my_max_pool(image, size, stride, padding=0):\n    return None\n": """
def my_max_pool(image, size, stride, padding=0):
    (H, W), s, p = image.shape, stride, padding
    box = ((H + 2 * p - size) // s + 1, (W + 2 * p - size) // s + 1, size, size)
    seen = image.reindex(box, lambda y, x, i, j: (y * s + i - p, x * s + j - p), fill=-np.inf)
    return seen.reindex_reduce("maximum", box[:2], lambda y, x, i, j: (y, x))
""",
    '''    """dout has shape (4, 3), the gradient of x (6,)."""
    return None
''': """    return dout.reindex_reduce("add", (6,), lambda i, k: (i + k,))
""",
    '''    """dout has shape (2, 6), the gradient of x (6,)."""
    return None
''': """    return dout.reindex_reduce("add", (6,), lambda r, i: (5 - i,))
""",
    '''    """dout has shape (3,), the gradient of x (6,)."""
    return None
''': """    return dout.reindex((6,), lambda i: (i // 2,))
""",
    '''    """Row words[i] of the table, for each i."""
    return None
''': """    shape = (words.shape[0], table.shape[1])
    return table.reindex(shape, lambda i, j: (load(0, (i,)), j), extras=[words])
""",
    '''    """A table of `count` rows: row i of `rows` is added to its row words[i]."""
    return None
''': """    where = lambda i, j: (load(0, (i,)), j)
    return rows.reindex_reduce("add", (count, rows.shape[1]), where, extras=[words])
""",
    "signal.reindex((7, 3), lambda i, k: (i + k,))": "signal.reindex((7, 3), lambda i, k: (i + k - 1,))",
}
WRONG_META = {
    **META,
    "transposed = None": "transposed = x.reindex((4, 5), lambda i, j: (i, j))",
    "diagonal = None": "diagonal = x.reindex((4,), lambda i: (i, 0))",
    "upside_down = None": "upside_down = x[::-1]",
    "padded = None": "padded = x.reindex((6, 7), lambda i, j: (i, j))",
    '''    """dout has shape (2, 6), the gradient of x (6,)."""
    return None
''': """    return dout.reindex_reduce("last", (6,), lambda r, i: (5 - i,))
""",
}


def run(name, answers, solved=False):
    """What the cells of a notebook print when its gaps are filled; those for ranks are left out."""
    text = expanded((FOLDER / "source" / f"{name}.py").read_text(encoding="utf-8"), solved)
    for gap, answer in answers.items():
        assert text.count(gap) == 1, f"{gap!r} is there {text.count(gap)} times"
        text = text.replace(gap, answer)
    space, said = {"__name__": "a notebook", "display": lambda *_: None, "ranks": mock.MagicMock()}, io.StringIO()
    with contextlib.redirect_stdout(said):
        for number, (kind, body) in enumerate(build.cells(text), 1):
            if kind == "code" and not body.startswith("%%"):
                exec(compile(body, f"cell {number}", "exec"), space)  # noqa: S102 - cells of our own
    return said.getvalue()


@cache
def untouched(name):
    """What they print when nothing is filled in; run once for all tests here."""
    return run(name, {})


def verdicts(said):
    """How often each verdict stands at the beginning of a line."""
    words = ("right", "not right", "not done yet", "another shape")
    return {word: sum(line.startswith(word) for line in said.splitlines()) for word in words}


@pytest.fixture(autouse=True)
def _seeded():
    jt.set_global_seed(0)


REPAIRED = {"watched = jt.array(hidden.numpy())": "watched = hidden"}


def test_autograd_by_hand_says_right_to_right_answers():
    found = verdicts(said := run("01_autograd_by_hand", REPAIRED, solved=True))

    assert found == {"right": 5, "not right": 0, "not done yet": 0, "another shape": 0}, said
    assert "a gradient arrives: [[" in said


def test_autograd_by_hand_says_nothing_of_the_kind_to_an_empty_page():
    found = verdicts(said := untouched("01_autograd_by_hand"))

    assert (found["right"], found["not done yet"]) == (0, 5), said
    assert "dy/da 10.0   dy/db -24.0\nfrom short_grad: 10.0 -24.0\n" in said
    assert "GradientError" in said


def test_meta_operators_says_right_to_right_answers():
    found = verdicts(said := run("02_meta_operators", META))

    assert found == {"right": 6 + 1 + 4 + 2 + 3 + 3 + 1, "not right": 0, "not done yet": 0, "another shape": 0}, said


def test_meta_operators_says_nothing_of_the_kind_to_an_empty_page():
    found = verdicts(said := untouched("02_meta_operators"))

    assert found == {"right": 0, "not right": 0, "not done yet": 6 + 1 + 4 + 2 + 3 + 3, "another shape": 0}, said
    assert "not symmetric about the 6" in said


def test_meta_operators_says_what_is_wrong_with_wrong_answers():
    found = verdicts(said := run("02_meta_operators", WRONG_META))

    assert (found["not right"], found["another shape"]) == (4, 1), said
    assert "upside_down: yours is made by getitem, it should be made by reindex" in said


@pytest.mark.parametrize(("gap", "answer", "words"), [
    ("transposed = None", "transposed = a.T", "transposed: yours is made by ndarray"),
    ("(n, m) times (m, p).", "return a @ b", "my_matmul: yours is built with broadcast, matmul"),
    ("(n, m) times (m, p).", "return a.numpy() @ b.numpy()", "my_matmul: yours is built with ndarray"),
    ("An image (H, W) and a window (h, w).", "return jt.conv2d(image[None, None], window[None, None])[0, 0]",
     "padding 0: yours is built with conv2d, getitem"),
    ("dout has shape (4, 3), the gradient of x (6,).", "return dout.reshape(12)[:6]",
     "windows: yours is built with getitem"),
    ("Row words[i] of the table, for each i.", "return table[words]", "gather_rows: yours is built with getitem"),
])  # fmt: skip
def test_meta_operators_refuses_what_is_right_but_not_built_as_asked(gap, answer, words):
    gap = next((key for key in META if key.startswith(f'    """{gap}')), gap)
    said = run("02_meta_operators", {gap: answer if "= None" in gap else f"    {answer}\n"})

    assert words in said, said


def test_meta_operators_measures_that_a_product_spelled_out_is_a_product():
    said = untouched("02_meta_operators")

    assert said.count("1 kernel: BLAS") == 2
    assert said.count(" 1.0 MB at most") == 2
    assert "500.0 MB it would take" in said
    assert "built: [" in said and "('scatter', 'reindex_reduce')" in said
    assert "how often each is read: [1. 2. 3. 3. 2. 1.]" in said


@pytest.mark.parametrize(("name", "exercises"), [("13_many_ranks", 3), ("13b_training_together", 5)])
def test_pages_of_ranks_say_right_to_right_answers_and_your_turn_on_an_empty_page(name, exercises):
    solved, empty = verdicts(run(name, {}, solved=True)), verdicts(untouched(name))

    assert solved == {"right": exercises, "not right": 0, "not done yet": 0, "another shape": 0}
    assert empty == {"right": 0, "not right": 0, "not done yet": exercises, "another shape": 0}


def test_many_ranks_measures_what_it_claims():
    said = untouched("13_many_ranks")

    assert re.findall(r"it is: (\w+)", said) == ["hang", "luck", "works", "luck", "hang", "works"]
    assert len(re.findall(r"\([\d.]+, [+-]\d+%\)", said)) == 2 * 2 * 3  # measured, on two and on four ranks


def test_training_together_measures_what_it_claims():
    said = untouched("13b_training_together")

    assert all(float(away) < 1e-5 for away in re.findall(r"differs by ([\d.e-]+) at most", said))
    assert float(re.search(r"on 4 ranks, it differs by ([\d.e-]+)", said)[1]) > 1e-2
    rows = re.findall(r"^ +(\d+) +([\d.]+e[-+]\d+) +([\d.]+e[-+]\d+)$", said, re.MULTILINE)
    assert [int(mean) for mean, *_ in rows] == [0, 10, 100, 1000, 10_000]
    assert all(float(ours) < 1e-4 for *_, ours in rows)
    assert float(rows[-1][1]) > 1  # not one digit is right
    alone, four = re.findall(r"(\d) rank\(s\), last loss ([\d.]+)", said)
    assert (alone[0], four[0]) == ("1", "4")
    assert alone[1] == four[1]
    took = re.findall(r"layers: +(\d+) us; each waited for at once: +(\d+) us", said)
    early, late = ([int(us) for us in column] for column in zip(*took, strict=True))
    assert early == sorted(early) and late == sorted(late, reverse=True), said
    assert early[-1] == late[-1]  # one bucket has nothing to hide behind
