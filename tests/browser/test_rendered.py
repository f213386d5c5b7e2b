"""Markdown cells as JupyterLab itself renders them: no reader sees a mark that was meant for the renderer."""

import re

import nbformat

from tests.browser.conftest import NOTEBOOKS

RENDER = """async texts => {
    const mime = window.jupyterapp.shell.currentWidget.content.rendermime;
    const pages = [];
    for (const text of texts) {
        const renderer = mime.createRenderer("text/markdown");
        await renderer.renderModel(mime.createModel({data: {"text/markdown": text}}));
        const folds = renderer.node.querySelectorAll("details").length;
        renderer.node.querySelectorAll("code, pre, .MathJax").forEach(code => code.remove());
        pages.push([renderer.node.textContent, folds]);
    }
    return pages;
}"""
RAW = re.compile(r"`|\*\*|\]\(|</?\w+>")


def test_no_markdown_and_no_html_is_left_in_what_a_reader_sees(open_page):
    files = [file for file in sorted(NOTEBOOKS.glob("*.ipynb")) if "_" in file.name]
    cells = [(file.stem, c.source) for file in files for c in nbformat.read(file, 4).cells if c.cell_type == "markdown"]

    pages = open_page("00_start_here.ipynb").page.evaluate(RENDER, [source for _, source in cells])

    marks = [
        (name, match[0], text)
        for (name, _), (text, _) in zip(cells, pages, strict=True)
        for match in RAW.finditer(text)
    ]
    assert marks == []
    assert [folds for _, folds in pages] == [source.count("<details>") for _, source in cells]
    assert sum(folds for _, folds in pages) >= 10
