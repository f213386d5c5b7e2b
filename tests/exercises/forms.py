"""Answers to an exercise in other forms: a part of its solution is written in another way."""

from jt_exercises.author.masters import masters
from jt_exercises.author.validate import one_verdict

MASTERS = masters()


def verdict_of(number, part, instead):
    """What the check says of the solution with another text in place of a part, which is there once."""
    statement, mark, code = MASTERS[number].solved.rpartition("# %%\n")
    assert code.count(part) == 1, part
    return one_verdict(number, statement + mark + code.replace(part, instead))


def tells(number, part, instead, words):
    """Hold a check to its words; where there is no answer, no try is used up."""
    found = verdict_of(number, part, instead)
    assert not found.passed and words in found.words, found
    assert (found.passed is None) == ("returns None" in words)
