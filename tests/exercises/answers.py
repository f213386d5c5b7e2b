"""Answers to exercises, right and wrong, as the text that a learner would write: for a check alone, for a notebook."""

import re

from tests.house.test_notebooks import FOLDER
from tests.story.test_course_answers import run


def made(code, **space):
    """The last function that a piece of code defines."""
    names = dict(space)
    exec(compile(code, "an answer", "exec"), names)  # noqa: S102 - answers of our own
    return names[re.findall(r"^def (\w+)\(", code, re.MULTILINE)[-1]]


def filled(name, *answers):
    """What a notebook prints when the stub of each function is replaced by an answer; ("gap", "text") as it is."""
    source, gaps = (FOLDER / "source" / f"{name}.py").read_text(encoding="utf-8"), {}
    for answer in answers:
        if isinstance(answer, tuple):
            gaps[answer[0]] = answer[1]
            continue
        function = re.findall(r"^def (\w+)\(", answer, re.MULTILINE)[-1]
        (stub,) = re.findall(rf'^def {function}\((?:.*\n)(?: +""".*"""\n)?(?: +return None\n)?', source, re.MULTILINE)
        gaps[stub] = answer
    return run(name, gaps)
