"""A live view without Jupyter: the bundle draws a model whose questions go straight to a View in this process."""

import asyncio
import base64
from concurrent.futures import ThreadPoolExecutor

from tests.chromium import LIMIT
from tests.widgets.page import READY, STILL, still

DRAW = """async ([code, traits]) => {
    const bytes = text => new DataView(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer);
    const read = given => ({...given, document: bytes(given.document), blocks: bytes(given.blocks)});
    const listeners = {};
    let held = read(traits);
    const tell = (name, content) => (listeners[name] ?? []).forEach(listener => listener(content));
    const model = {
        get: name => held[name],
        set: (name, value) => { held = {...held, [name]: value}; },
        save_changes: () => undefined,
        on: (name, listener) => { (listeners[name] ??= []).push(listener); },
        off: (name, listener) => { listeners[name] = (listeners[name] ?? []).filter(one => one !== listener); },
        send: async content => {
            window.jtComing.add(content);
            const {answers, traits} = await window.askPython(content);
            window.jtComing.delete(content);
            const fresh = {...read(traits), state: held.state};
            const moved = traits.changed;
            held = fresh;
            if (moved) tell("change:document");
            answers.forEach(answer => tell("msg:custom", answer));
        },
    };
    const views = await import("data:text/javascript;base64," + code);
    const element = document.createElement("div");
    document.querySelector("main").append(element);
    window.endView = views.default.render({model, el: element});
    window.heldState = () => held.state;
}"""


def draw_live(page, view):
    """Draw a View into a page; what it asks is answered here. The page is at rest afterwards."""
    known = [view.document]

    def answer(content):
        answers = []
        view.send = answers.append
        view._hear(view, content, [])
        changed, known[0] = known[0] != view.document, view.document
        return {"answers": answers, "traits": {**_traits(view), "changed": changed}}

    body = "<main><h1>Live</h1><h2>A notebook</h2></main>"
    page.set_content(f'<!doctype html><html lang="en"><title>Live</title>{body}</html>')
    page.expose_function("askPython", answer)
    page.evaluate(STILL)
    page.evaluate(DRAW, [base64.b64encode(view._esm.encode()).decode(), _traits(view)])
    page.wait_for_selector(READY)
    still(page)
    return page


def _traits(view):
    texts = {name: base64.b64encode(getattr(view, name)).decode() for name in ("document", "blocks")}
    return {"view": view.view, "state": dict(view.state), "session": "", **texts}


def finish(training):
    """Run a coroutine to its end, in a thread of its own: in this one a browser that is driven may have a loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, training).result(LIMIT)
