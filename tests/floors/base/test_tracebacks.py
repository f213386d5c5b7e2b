"""What a learner reads of an error: their own lines, then the sentence; the calls inside jt_edu on request."""

import io
import json
import logging
import re
import subprocess
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.base.errors import ArgumentError, JtError, ShapeError
from jt_edu.base.plural import plural
from jt_edu.base.tracebacks import HOME, is_learners

HIDDEN = re.compile(r'hidden: \d+ calls? inside jt_edu; jt\.flags\.tracebacks = "full" shows everything')
PROGRAM = """
import pdb, sys, threading, traceback
import jt_edu as jt
from jt_edu import nn

net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(10, 4))

def mine(comm=None):
    return net(jt.ones(4, 8))

def ends():
    sys.stderr.write("-- next\\n")

thread = threading.Thread(target=mine)
thread.start()
thread.join()
ends()
try:
    jt.simulate(1)(mine)
except RuntimeError:
    traceback.print_exc()
ends()
try:
    mine()
except ValueError as error:
    traceback.format_exc()
    after = pdb.Pdb(stdout=sys.stderr)
    after.cmdqueue = ["where", "quit"]
    after.reset()
    after.interaction(None, error.__traceback__)
ends()
mine()
"""


def wrong():
    return nn.Linear(10, 4)(jt.ones(4, 16))


def raised(function, kind=Exception):
    with pytest.raises(kind) as caught:
        function()
    return caught.value


def innermost(error):
    """The end of its traceback, which is a line of ours."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def told(error):
    return "".join(traceback.format_exception(error))


def functions_in(text):
    return re.findall(r'File ".*", line \d+, in <?(\w+)', text)


def test_a_traceback_has_the_learners_lines_then_the_sentence_then_how_to_see_the_rest():
    error = raised(wrong)

    text = told(error)

    assert functions_in(text) == ["raised", "wrong"]
    sentence, hint = text.splitlines()[-2:]
    assert sentence == f"jt_edu.base.errors.ShapeError: {error}"
    assert HIDDEN.fullmatch(hint)


def test_full_tracebacks_have_every_frame_and_no_hint():
    error = raised(wrong)

    with jt.flag_scope(tracebacks="full"):
        text = told(error)

    assert functions_in(text)[-2:] == ["call", "linear"]
    assert not HIDDEN.search(text)


def test_the_flag_knows_two_words():
    with pytest.raises(ArgumentError, match='tracebacks is "short" or "full"; found \'long\''):
        jt.flags.tracebacks = "long"


def test_an_error_that_was_written_down_is_as_whole_as_before():
    error = raised(wrong)
    trace, names = error.__traceback__, set(vars(error))

    told(error)

    assert error.__traceback__ is trace
    assert set(vars(error)) == names
    assert any(frame.f_code.co_filename.startswith(HOME) for frame, _ in traceback.walk_tb(trace))


def test_notes_of_the_learners_stand_before_the_hint_and_stay():
    error = raised(wrong)
    error.add_note("in the third epoch")

    assert told(error).splitlines()[-2] == "in the third epoch"
    assert error.__notes__ == ["in the third epoch"]


def test_what_an_error_came_from_is_short_as_well_and_stays_its_cause():
    def again():
        try:
            wrong()
        except ShapeError as error:
            raise KeyError("mine") from error

    error = raised(again)
    cause = error.__cause__

    assert functions_in(told(error)) == ["again", "wrong", "raised", "again"]
    assert (error.__cause__, error.__suppress_context__) == (cause, True)


def test_a_cause_that_no_line_of_the_learners_led_to_is_left_out():
    """As a fault in a kernel, which the error that came of it has told in its own words."""
    cause = TypeError("inside").with_traceback(innermost(raised(wrong)))

    def again():
        raise KeyError("told") from cause

    error = raised(again)

    assert functions_in(told(error)) == ["raised", "again"]
    assert (error.__cause__, error.__suppress_context__) == (cause, True)


def test_the_learners_lines_further_in_are_shown_too():
    class Mine(nn.Module):
        def execute(self, x):
            return 1 / 0

    error = raised(lambda: nn.Sequential(nn.ReLU(), Mine())(jt.ones(2)))

    assert functions_in(told(error))[-1] == "execute"
    assert told(error).splitlines()[-3:-1] == ["ZeroDivisionError: division by zero", "  in Sequential > 1 Mine"]


@pytest.mark.parametrize(
    ("function", "args", "kind", "frames"),
    [(jt.matmul, (jt.ones(2, 3), jt.ones(2, 3)), ShapeError, []), (plural, ("x", "y"), ValueError, ["run", "plural"])],
)
def test_without_a_line_of_the_learners_our_errors_are_a_sentence_and_pythons_stay_whole(function, args, kind, frames):
    """An error of Python's is a mistake of ours then: whoever reports it needs to see where, in a thread as well."""
    with ThreadPoolExecutor() as threads:
        error = threads.submit(function, *args).exception()

    assert type(error) is kind
    assert functions_in(told(error)) == frames


def test_a_traceback_without_ours_is_whole_though_the_learner_has_no_line_in_it():
    with ThreadPoolExecutor() as threads:
        error = threads.submit(json.loads, "{").exception()

    assert functions_in(told(error))[:2] == ["run", "loads"]


def test_a_module_of_ours_that_the_learner_runs_by_name_shows_its_lines():
    """As `python -m jt_edu.test.test_resnet` does."""
    source = "import jt_edu as jt\ndef step():\n    jt.matmul(jt.ones(2, 3), jt.ones(2, 3))\n"
    ours = compile(source + "step()", HOME + "test/test_resnet.py", "exec")

    with ThreadPoolExecutor() as threads:
        error = threads.submit(exec, ours, {"__name__": "__main__"}).exception()

    assert functions_in(told(error)) == ["run", "module", "step"]


def test_what_runs_a_script_for_the_learner_is_hidden(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import jt_edu as jt\njt.ones(2) + jt.ones(3)\n")
    done = subprocess.run(
        [sys.executable, "-m", "jt_edu.run", script], capture_output=True, text=True, timeout=600, check=False
    )

    assert str(script) in done.stderr
    assert HOME not in done.stderr


def test_a_traceback_can_be_made_with_the_names_that_python_documents():
    error = raised(wrong)

    named = {"exc_type": type(error), "exc_value": error, "exc_traceback": error.__traceback__}
    text = "".join(traceback.TracebackException(**named, limit=None).format())

    assert text == told(error)


def test_a_folder_of_the_learners_may_be_called_as_our_widgets_are():
    assert is_learners("/course/jt_widgets/train.py")


def test_an_error_that_has_nothing_to_do_with_us_is_written_as_ever():
    error = raised(lambda: int("x"))

    assert told(error).splitlines()[-1] == "ValueError: invalid literal for int() with base 10: 'x'"


def test_a_group_of_errors_is_short():
    text = told(ExceptionGroup("two", [raised(wrong), raised(wrong)]))

    assert functions_in(text) == ["raised", "wrong"] * 2
    assert len(HIDDEN.findall(text)) == 2


def test_an_error_whose_class_forbids_attributes_is_written_down():
    @dataclass(frozen=True)
    class Frozen(Exception):  # noqa: N818
        word: str

    class Mine(nn.Module):
        def execute(self, x):
            raise Frozen("cold")

    net = Mine()

    assert HIDDEN.search(told(raised(lambda: net(jt.ones(1)), Frozen)))


def test_print_exc_and_logging_are_short(capsys):
    page = io.StringIO()
    logger = logging.getLogger("a test of tracebacks")
    logger.addHandler(logging.StreamHandler(page))

    logger.propagate = False
    try:
        wrong()
    except ValueError:
        traceback.print_exc()
        logger.exception("late")

    for text in (capsys.readouterr().err, page.getvalue()):
        assert functions_in(text)[-1] == "wrong"
        assert HIDDEN.search(text)


def test_pytest_finds_all_frames():
    with pytest.raises(JtError) as caught:
        wrong()

    assert str(caught.traceback[-1].path).startswith(HOME)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """What a program wrote to stderr: a thread of it, its ranks, a debugger and its end."""
    file = tmp_path_factory.mktemp("learner") / "train.py"
    file.write_text(PROGRAM)
    said = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=600, check=False)
    return dict(zip(("thread", "ranks", "debugger", "end"), said.stderr.split("-- next\n"), strict=True))


@pytest.mark.parametrize("where", ["thread", "ranks", "end"])
def test_threads_ranks_and_programs_end_with_the_learners_lines(program, where):
    text = program[where]

    assert functions_in(text)[-1] == {"ranks": "module"}.get(where, "mine")
    assert text.count("in mine") == 1
    assert HOME not in text
    assert HIDDEN.fullmatch(text.splitlines()[-1])
    assert "  in Sequential > 2 Linear(10, 4)\n" in text


def test_a_debugger_goes_to_the_line_that_raised(program):
    assert re.search(rf"> {re.escape(HOME)}.*linear\(\)", program["debugger"])
