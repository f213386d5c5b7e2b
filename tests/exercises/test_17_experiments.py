"""Notebook 17: right answers in other forms, what is said of mistakes, and what its cells print."""

import re

import pytest

from tests.exercises.forms import tells, verdict_of
from tests.story.test_course_answers import run, untouched

NEW = "float(value) if type(value) is int and type(node[name]) is float else value"
SHARES = "share * labels + (1 - share) * labels[order]"
MIXED = "keep * images + (1 - keep) * images[order]"
DICTS = "f := lambda d: {k: f(d[k]) if type(d[k]) is dict else d[k] for k in d}"  # a copy of dicts, and not of lists
ALSO = [  # of which exercise, and what is written instead of what; no less right
    ("17.1", "copy.deepcopy(defaults)", "__import__('json').loads(__import__('json').dumps(defaults))"),
    ("17.1", "raise KeyError(path)", "raise KeyError(f'there is no setting {path}')"),
    ("17.2", MIXED, "images[order] + keep * (images - images[order])"),
    ("17.2", "share = keep.mean()", "share = keep.sum() / keep.size"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "part", "instead"), ALSO)
def test_a_right_answer_in_another_form_passes(number, part, instead):
    found = verdict_of(number, part, instead)

    assert found.passed, found


MISTAKES = [  # of which exercise, what is written instead of what, and what is said of it
    ("17.1", "copy.deepcopy(defaults)", "{**defaults, **{k: dict(v) for k, v in defaults.items() if type(v) is dict}}",
     "the defaults are other ones afterwards"),
    ("17.1", "copy.deepcopy(defaults)", f"({DICTS})(defaults)",
     "share a dict or a list with the defaults"),
    ("17.1", 'path.split(".")', "[path]", "stopped with KeyError: 'TRAIN.OPTIMIZER.NAME'"),
    ("17.1", "raise KeyError(path)", "continue", "a typing error would pass unseen"),
    ("17.1", "raise KeyError(path)", "raise KeyError(name)", "Say the whole path"),
    ("17.1", "return settings", "pass", "it returns None: is a `return` missing?"),
    ("17.2", SHARES, "labels[order]", "these are the labels of the partners alone"),
    ("17.2", SHARES, "labels + labels[order]", "they add up to 2"),
    ("17.2", SHARES, "share * labels", "they do not add up to 1"),
    ("17.2", SHARES, "(labels + labels[order]) / 2", "half and half"),
    ("17.2", MIXED, "share * images + (1 - share) * images[order]", "`keep` as it is, not its mean"),
    ("17.2", MIXED, "(1 - keep) * images + keep * images[order]", "not of its partner"),
    ("17.2", MIXED, "keep * images + images[order]", "with the rest, 1 - keep"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "part", "instead", "words"), MISTAKES)
def test_a_mistake_is_told_in_words(number, part, instead, words):
    tells(number, part, instead, words)


def test_with_right_answers_a_label_of_the_notebook_says_how_much_is_kept():
    said = run("17_experiments", {}, solved=True, last="each label:")

    own, partner = re.search(r"each label: (\d+)% of the image's class, (\d+)% of its partner's", said).groups()
    assert int(own) + int(partner) in (99, 100, 101)  # both are rounded
    assert 30 < int(own) < 50  # the mean of exp(-1.5 r²) over the square


def test_the_notebook_runs_with_nothing_filled_in_and_measures_what_it_claims():
    said = untouched("17_experiments")

    assert "Try: TRAIN.EPOCHS or" in said and "Try: MODEL.LABEL_SMOOTHING." in said
    rows = dict(re.findall(r"^(\w+) +((?:\d+ +){3})[\d.]+ ", said, re.MULTILINE))
    wrong = {name: [int(n) for n in row.split()] for name, row in rows.items()}
    assert set(wrong) == {"plain", "Mixup", "mirrored", "averages", "bfloat16"}
    assert max(wrong["plain"]) <= 18  # 95 % are read
    assert min(wrong["mirrored"]) > max(wrong["plain"])
    assert re.search(r"^mirrored .+ worse +AUG.HFLIP 0.5, AUG.VFLIP 0.5$", said, re.MULTILINE)
    assert abs(sum(wrong["bfloat16"]) - sum(wrong["plain"])) <= 18
    updates = int(re.search(r"killed; what is left has \d epochs, and (\d+) updates", said)[1])
    assert updates % 4 == 0
    assert "the weights differ by 0.0 at most" in said
    assert re.findall(r"^(conv1|bn1|act1|pool|head\.fc) +float32 +bfloat16 *$", said, re.MULTILINE)[-1] == "head.fc"
    assert re.search(r"^weights: +float32$", said, re.MULTILINE)


def test_the_mistake_of_the_last_part_leaves_runs_equal_to_the_last_digit():
    losses = re.findall(
        r"^smoothing [\d.]+ +loss of the last epoch ([\d.]+)$", untouched("17_experiments"), re.MULTILINE
    )

    assert len(losses) == 3 and len(set(losses)) == 1
