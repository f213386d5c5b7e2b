"""A notebook that ran without a browser: the last line says how much there is to see in it."""

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.headless import VIEW, shown


def test_pictures_and_views_are_counted_however_they_are_drawn():
    drawn = [{"image/svg+xml": "<svg/>", "text/html": "..."}, {"image/png": "...", "text/plain": "<Figure>"}]
    both, seen = {"image/svg+xml": "<svg/>", "image/png": "..."}, {VIEW: {}, "text/plain": "View"}
    outputs = [new_output("display_data", data) for data in (*drawn, both, seen, {"text/plain": "3"})]
    printed = new_output("stream", text="image/png")
    cells = [new_markdown_cell("# a"), new_code_cell("1", outputs=outputs), new_code_cell("2", outputs=[printed])]

    assert shown(new_notebook(cells=cells)) == "3 pictures, 1 view"
    assert shown(new_notebook()) == "0 pictures, 0 views"
