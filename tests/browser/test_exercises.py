"""An exercise in JupyterLab: a wrong answer, a loop that never ends, the right one, and the board."""

from jt_exercises.author.masters import masters

EDIT = """([word, text]) => {
    const cells = window.jupyterapp.shell.currentWidget.content.model.cells;
    for (let k = 0; k < cells.length; k++) {
        if (cells.get(k).type === 'code' && cells.get(k).sharedModel.source.includes(word)) {
            cells.get(k).sharedModel.source = text;
            return k;
        }
    }
}"""
ACTIVE = "number => {window.jupyterapp.shell.currentWidget.content.activeCellIndex = number}"
CARD = ".jp-OutputArea-output [role=status]"


def test_an_answer_is_tried_wrong_then_endless_then_right_and_the_board_knows(open_page, artefacts):
    master = masters()["01.3"]
    solved = master.solved.partition("# %%\n")[2]
    wrong = next(w for w in master.wrong() if w.name == "overwrites").text.partition("# %%\n")[2]
    endless = solved.replace("    y.grad = 1.0\n", "    while True:\n        y.grad = 1.0\n")
    notebook = open_page("01_autograd_by_hand.ipynb")

    def answered(text, said):
        text = text.replace("def backward(y, order):", "print('tried')\ndef backward(y, order):")
        place = notebook.page.evaluate(EDIT, ['check("01.3"', text])
        notebook.page.evaluate(ACTIVE, place)
        notebook.execute("notebook:run-cell")
        card = notebook.page.locator(CARD)
        card.filter(has_text=said).wait_for()
        return card.inner_text()

    short = "from jt_exercises.exercise import find; object.__setattr__(find('01.3'), 'seconds', 3)\n"
    told = [answered(short + wrong, "not right")]
    notebook.look_at(notebook.page.evaluate(EDIT, ["nothing has this text", ""]) or 9)
    notebook.screenshot(artefacts / "exercise_wrong.png")
    told += [answered(short + endless, "did not end"), answered(solved, "✓ right")]
    notebook.screenshot(artefacts / "exercise_right.png")
    place = notebook.page.evaluate(EDIT, ['check("01.3"', "from jt_exercises import board\nboard()"])
    notebook.page.evaluate(ACTIVE, place)
    notebook.execute("notebook:run-cell")
    notebook.page.get_by_text("2 of 11 points").first.wait_for()
    notebook.screenshot(artefacts / "exercise_board.png")

    assert "two paths lead to b, and their gradients add" in told[0]
    assert "hint 1 of 3: Walk through the list from its end" in told[0]
    assert "hint 2 of 3" in told[1]
    assert "why: This is what jt.grad does" in told[2]
    assert notebook.complaints == []
