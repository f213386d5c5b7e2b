"""ArgumentParser: a command line means the same to argparse, to ours, and to the form of a notebook."""

import argparse
import shlex
from pathlib import Path

import pytest

import jt_edu as jt
import jt_widgets
from jt_edu.config import ArgumentParser, ConfigError

FLAG = argparse.BooleanOptionalAction


def training(make):
    """Options of every kind."""
    parser = make(prog="train.py", description="Train a <network>.", epilog="And wait.")
    parser.add_argument("data", type=Path, help="a folder")
    parser.add_argument("extra", nargs="*", type=int)
    parser.add_argument("--lr", type=float, default=0.1, help="rate (%(default)s) of %(prog)s, in %%")
    parser.add_argument("-o", "--opt", choices=["sgd", "adam"], default="sgd")
    parser.add_argument("--size", type=int, choices=range(1, 4))
    parser.add_argument("--name", default="run")
    parser.add_argument("-v", action="count", default=0)
    parser.add_argument("--amp", action=FLAG, default=None)
    parser.add_argument("--tag", action="append")
    parser.add_argument("--pair", action="append", nargs=2, type=int)
    parser.add_argument("--more", action="extend", nargs="+")
    parser.add_argument("--also", action="append_const", const=3, dest="fixed")
    parser.add_argument("--log", nargs="?", const="log.csv")
    parser.add_argument("--depths", nargs="*", type=int)
    parser.add_argument("--shape", nargs=3, type=int)
    parser.add_argument("--secret", help=argparse.SUPPRESS)
    group = parser.add_argument_group("saving", "where to")
    group.add_argument("--no-save", action="store_false", dest="save")
    group.add_argument("--fast", action="store_const", const=7)
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--cpu", action="store_true")
    either.add_argument("--gpu", type=int)
    return parser


def plus(make):
    """Another prefix, a file of arguments, parents, and an option that is resolved."""
    parent = make(add_help=False, prefix_chars="+")
    parent.add_argument("+f", "++foo", help="old")
    parser = make(
        prog="plus", prefix_chars="+", fromfile_prefix_chars="@", parents=[parent], conflict_handler="resolve"
    )
    parser.add_argument("++foo", type=int, required=True)
    parser.add_argument("++bar", action="store_true")
    parser.add_argument("rest", nargs="?", default="r")
    return parser


def commands(make):
    """A command with arguments of its own."""
    parser = make(prog="many")
    parser.add_argument("--seed", type=int)
    parts = parser.add_subparsers(dest="command", required=True)
    train, test = parts.add_parser("train"), parts.add_parser("test")
    train.add_argument("--lr", type=float)
    test.add_argument("file")
    return parser


LINES = [
    (training, line) for line in [
        "d", "d 1 2 3", "d --lr 0.5",
        "d --lr=-3", "--lr 1e-3 d", "d -o adam", "d --opt=sgd", "d --size 2", "d --size 02",
        "d --name 'two words'", "d --name=--odd", "d -vvv", "d -v --amp", "d --no-amp", "d --amp --no-amp --amp",
        "d --tag a --tag 'b c'", "d --pair 1 2 --pair 3 4", "d --more x y --more z", "d --also --also", "d --log",
        "d --log mine.csv", "--depths 2 2 18 2 -- d", "d --depths", "d --shape 1 2 3", "d --secret s", "d --no-save",
        "d --fast --cpu", "d --gpu 1", "--cpu -- -d 4", "d --opt adam --lr 3 -v --log --depths 1", "d --dep 7",
    ]
] + [
    (plus, "++foo 3"), (plus, "x ++foo 3 ++bar"), (plus, "+f old ++foo 1"), (plus, "@words"),
    (commands, "train --lr 0.5"), (commands, "--seed 3 test f"),
]  # fmt: skip
WRONG = [
    (training, "", "the following arguments are required: data"),
    (training, "d --lr fast", "argument --lr: invalid float value: 'fast'"),
    (training, "d -o lion", "argument -o/--opt: invalid choice: 'lion'"),
    (training, "d --cpu --gpu 1", "not allowed with argument --cpu"),
    (training, "d --shape 1 2", "expected 3 arguments"),
    (training, "d --nothing", "unrecognized arguments: --nothing"),
    (training, "d --name 'open", "No closing quotation"),
    (training, "d --help", "Train a <network>."),
    (plus, "@none", "No such file"),
    (commands, "walk", "invalid choice: 'walk'"),
]


def fields(form):
    return {field.option or field.action.dest: field for field in form.fields.values()}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    (tmp_path / "words").write_text("++foo\n5\n++bar\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("build", "line"), LINES, ids=[line for _, line in LINES])
def test_a_command_line_means_the_same_to_argparse_to_ours_and_to_the_form(build, line):
    wanted = build(argparse.ArgumentParser).parse_args(shlex.split(line))
    form = build(ArgumentParser).to_widgets()

    assert build(ArgumentParser).parse_args(shlex.split(line)) == wanted
    form.command_line = line
    assert form.namespace == wanted
    assert form.command_line == line


@pytest.mark.parametrize(("build", "line"), LINES, ids=[line for _, line in LINES])
def test_widgets_that_are_set_one_by_one_write_a_line_that_means_the_same(build, line):
    shown, typed = build(ArgumentParser).to_widgets(), build(ArgumentParser).to_widgets()
    shown.command_line = line

    for name, field in fields(typed).items():
        other = fields(shown)[name]
        if other.tick is not None:
            field.tick.value = other.tick.value
        field.words.value = other.words.value

    assert typed.namespace == shown.namespace
    again = build(ArgumentParser).to_widgets()
    again.command_line = typed.command_line
    assert {n: f.words.value for n, f in fields(again).items()} == {n: f.words.value for n, f in fields(typed).items()}


@pytest.mark.parametrize(("build", "line", "words"), WRONG, ids=[line or "nothing" for _, line, _ in WRONG])
def test_what_the_parser_refuses_is_said_in_the_form_and_nothing_exits(build, line, words, capsys):
    form = build(ArgumentParser).to_widgets()
    form.command_line = "d" if build is training else "++foo 1" if build is plus else "train"
    before = {name: field.words.value for name, field in fields(form).items()}

    form.command_line = line

    assert words in form.message
    assert "<network>" not in form.told.value
    with pytest.raises(jt.ArgumentError, match="this form has no namespace yet"):
        _ = form.namespace
    assert {name: field.words.value for name, field in fields(form).items()} == before
    assert capsys.readouterr() == ("", "")


def test_the_name_of_a_program_is_shown_whole_beside_its_line():
    form = ArgumentParser("python -m jt_edu.zoo.train").to_widgets()

    assert form.line.description == "python -m jt_edu.zoo.train"
    assert form.line.style.description_width == "initial"  # as wide as its words, and not those of an argument


def test_a_widget_changes_its_own_words_and_the_text_changes_widgets():
    form = training(ArgumentParser).to_widgets()
    form.command_line = "d -vv --tag a"
    by_name = fields(form)

    by_name["--lr"].words.value = "0.5"
    assert form.command_line == "d --lr 0.5 -v -v --tag a"
    by_name["--lr"].words.value = "fast"
    assert "invalid float value: 'fast'" in form.message
    by_name["--lr"].words.value = ""
    by_name["--opt"].words.value = "adam"
    by_name["--amp"].words.value = "--no-amp"
    by_name["--log"].tick.value = True
    assert form.command_line == "d --opt adam -v -v --no-amp --tag a --log"
    by_name["--log"].words.value = "my log.csv"
    by_name["--depths"].words.value = "2 2"
    by_name["--tag"].words.value = "b\n'c d'\n"
    assert form.namespace.log == "my log.csv"
    assert (form.namespace.depths, form.namespace.tag, form.namespace.amp) == ([2, 2], ["b", "c d"], False)
    assert by_name["--depths"].tick.value
    by_name["--depths"].tick.value = False
    assert by_name["--depths"].words.value == ""
    assert form.namespace.depths is None

    form.command_line = "e --amp --size 2 --no-save"
    values = {name: field.words.value for name, field in by_name.items()}
    assert (values["--amp"], values["--size"], values["--no-save"], values["-v"]) == ("--amp", "2", True, 0)
    assert (values["data"], values["--tag"], values["--log"]) == ("e", "", "")


def test_a_quotation_that_does_not_end_in_a_field_is_said():
    form = training(ArgumentParser).to_widgets()

    fields(form)["--depths"].words.value = "'1"

    assert form.message == "No closing quotation"


def test_the_form_shows_groups_help_defaults_and_what_is_required():
    form = training(ArgumentParser).to_widgets()
    texts = [getattr(w, "value", "") for w in form.children]
    by_name = fields(form)

    assert texts[0] == "<p>Train a &lt;network&gt;.</p>"
    assert "<b>saving</b> where to" in texts
    assert "<i>at most one of --cpu | --gpu</i>" in texts
    assert by_name["--lr"].words.placeholder == "0.1"
    assert by_name["--lr"].box.children[-1].value == "<small>rate (0.1) of train.py, in %</small>"
    assert by_name["data"].words.description == "data *"
    assert by_name["--opt"].words.options == (("sgd", ""), ("sgd", "sgd"), ("adam", "adam"))
    assert by_name["--secret"].box not in form.children
    assert "--help" not in by_name
    assert fields(commands(ArgumentParser).to_widgets())["command"].words.description == "train|test *"


def test_what_an_arguments_type_raises_is_said_in_the_form():
    parser = ArgumentParser(prog="p", exit_on_error=False)
    parser.add_argument("--k", type=lambda text: {}[text])
    parser.add_argument("--many", choices=range(10_000), type=int, metavar="N")
    form = parser.to_widgets()

    form.command_line = "--k 3"
    assert form.message == "KeyError: '3'"
    form.command_line = "--many x"
    assert "invalid int value" in form.message
    assert type(fields(form)["--many"].words).__name__ == "Text"


def test_the_documented_answers_of_parse_args_and_parse_known_args():
    parser = ArgumentParser()
    parser.add_argument("--foo", action="store_true")
    parser.add_argument("bar")

    assert repr(parser.parse_args(["--foo", "BAR"])) == "Namespace(foo=True, bar='BAR')"
    known = parser.parse_known_args(["--foo", "--badger", "BAR", "spam"])
    assert repr(known) == "(Namespace(foo=True, bar='BAR'), ['--badger', 'spam'])"
    with pytest.raises(SystemExit):
        parser.parse_args(["--badger", "BAR"])


def test_the_rest_of_a_command_line_changes_a_config():
    parser = ArgumentParser()
    parser.add_argument("--opts", nargs=argparse.REMAINDER, default=[])
    cfg = jt.config.CfgNode({"MODEL": {"DEPTHS": [2, 2]}})

    cfg.merge_from_list(parser.parse_args(["--opts", "MODEL.DEPTHS", "[2, 6]"]).opts)

    assert cfg.MODEL.DEPTHS == [2, 6]


def test_a_parser_of_python_has_a_form_as_well_and_something_else_has_none():
    form = jt_widgets.form(training(argparse.ArgumentParser))

    form.command_line = "d --lr 0.5"

    assert (form.namespace.lr, type(form)) == (0.5, type(training(ArgumentParser).to_widgets()))
    with pytest.raises(jt.ArgumentError, match=r"a form is that of an ArgumentParser; found Namespace"):
        jt_widgets.form(form.namespace)


def test_without_ipywidgets_a_form_says_what_to_install(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError("No module named 'ipywidgets'", name="ipywidgets")

    monkeypatch.setattr("jt_edu.config.argument_parser.resolve_name", missing)

    with pytest.raises(ConfigError, match=r"no package ipywidgets\. Try: %pip install ipywidgets"):
        ArgumentParser().to_widgets()
