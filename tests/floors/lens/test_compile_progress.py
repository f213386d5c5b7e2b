"""Who waits for kernels is told how many are still to come; who does not wait sees nothing."""

import io
from types import SimpleNamespace

import pytest

import jt_edu as jt
from jt_edu.lens.compile_progress import shown
from jt_edu.runtime import plan


class Terminal(io.StringIO):
    """Text that says it is a terminal, and what a terminal would show of it."""

    def isatty(self):
        return True

    def lines(self):
        """What the line said, one time after the other."""
        return [text.rstrip() for text in self.getvalue().split("\r") if text.strip()]

    def screen(self):
        """What is left of it."""
        cells = {}
        for text in self.getvalue().split("\r"):
            cells.update(enumerate(text))
        return "".join(cells[k] for k in sorted(cells)).rstrip()


def step(key, program=None, kind="loops"):
    """As much of a step of a plan as counts."""
    return SimpleNamespace(source=SimpleNamespace(key=key), program=program, kind=kind)


def clock(*times):
    """A clock that shows these times, one after the other."""
    return iter(times).__next__


def compiled(steps, out, *times):
    """What remains when all steps have been gone over."""
    assert list(shown(steps, out, clock(*times))) == steps
    return out


def test_after_a_second_a_line_tells_which_kernel_and_how_long_it_will_take():
    out = compiled([step(key) for key in "abcd"], Terminal(), 0.0, 2.0, 4.0, 6.0)

    assert out.lines() == [
        "compiling kernel 2 of 4  ######..................  0:06 left",
        "compiling kernel 3 of 4  ############............  0:04 left",
        "compiling kernel 4 of 4  ##################......  0:02 left",
    ]


def test_in_the_end_nothing_is_left_of_it():
    out = compiled([step(key) for key in "abc"], Terminal(), 0.0, 100.0, 101.0)

    assert (len(out.lines()), out.screen()) == (2, "")
    assert out.getvalue().endswith("\r")


@pytest.mark.parametrize(
    ("sentence", "steps", "times"),
    [
        ("it takes less than a second", [step(key) for key in "abc"], (0.0, 0.5, 0.9)),
        ("there is one kernel", [step("a")], (0.0, 9.0)),
        ("all have been compiled", [step("a", program=print), step("b", program=print)], (0.0,)),
        ("one is done by NumPy", [step("a"), step("b", kind="host")], (0.0, 9.0)),
        ("they are the same kernel", [step("a"), step("a"), step("a")], (0.0, 9.0)),
    ],
)
def test_no_line_is_shown_where(sentence, steps, times):
    assert compiled(steps, Terminal(), *times).getvalue() == "", sentence


def test_a_file_and_a_missing_console_get_nothing(monkeypatch):
    assert compiled([step("a"), step("b")], io.StringIO(), 0.0, 9.0).getvalue() == ""

    monkeypatch.setattr("sys.stderr", None)
    assert len(list(shown([step("a"), step("b")], None, clock(0.0, 9.0)))) == 2


def test_one_of_two_that_compile_at_the_same_time_has_the_line():
    first, second = Terminal(), Terminal()
    one = shown([step(key) for key in "abc"], first, clock(0.0, 2.0, 3.0))
    next(one), next(one)

    compiled([step(key) for key in "abc"], second, 0.0, 2.0, 3.0)
    list(one)
    third = compiled([step(key) for key in "abc"], Terminal(), 0.0, 2.0, 3.0)

    assert (len(first.lines()), second.getvalue(), len(third.lines())) == (2, "", 2)


def test_the_line_is_gone_when_a_kernel_cannot_be_compiled():
    out = Terminal()

    def compile_all():
        for k, _ in enumerate(shown([step(key) for key in "abc"], out, clock(0.0, 2.0, 3.0))):
            if k == 2:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        compile_all()
    assert (len(out.lines()), out.screen()) == (2, "")


def test_every_plan_is_compiled_under_its_eyes(monkeypatch):
    seen = []
    monkeypatch.setattr(plan, "shown", lambda steps: seen.append(len(steps)) or shown(steps, Terminal()))

    with jt.flag_scope(backend="python"):
        jt.sync([jt.ones(3).sum(), jt.ones(2, 3) @ jt.ones(3, 2)])

    assert seen == [4]  # two sides, their product, and a sum; a single kernel has nothing to count
    monkeypatch.undo()
    assert plan.shown is shown
