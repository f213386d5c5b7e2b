"""The form of a command line in JupyterLab: a field that is filled in changes the text, and the text the field."""

import nbformat

from tests.browser.page import expect

CELL = """import jt_edu as jt
import jt_widgets
parser = jt.config.ArgumentParser(prog="train.py")
_ = parser.add_argument("--lr", type=float, default=0.1)
_ = parser.add_argument("--fast", action="store_true")
jt_widgets.form(parser)"""


def test_a_field_changes_the_command_line_and_the_command_line_the_field(open_page, lab):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, lab.folder / "notebooks" / "form.ipynb")
    opened = open_page("form.ipynb")
    opened.run_all()
    form = opened.page.locator(".jp-OutputArea-output")
    rate, line, fast = form.get_by_label("--lr"), form.get_by_label("train.py"), form.get_by_label("--fast")

    rate.fill("0.5")
    rate.press("Enter")
    expect(line).to_have_value("--lr 0.5")
    expect(form.get_by_role("status")).to_have_text("Namespace(lr=0.5, fast=False)")

    line.fill("--fast --lr <b>")
    line.press("Enter")
    expect(form.get_by_role("status")).to_contain_text("invalid float value: '<b>'")
    expect(rate).to_have_value("0.5")

    line.fill("--fast --lr 2")
    line.press("Enter")
    expect(rate).to_have_value("2")
    expect(fast).to_be_checked()
    fast.uncheck()
    expect(line).to_have_value("--lr 2")
    assert opened.errors() == []
    assert opened.strangers == []
