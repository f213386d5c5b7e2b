"""Bundle: how does one file hold a view, its document and everything that draws it?

module(view)      the code that draws one view, for a notebook
page_html(...)    a page that works from a disk, with no network and no Jupyter, also in a sandboxed iframe
snapshot_html     the same inside a notebook: the page in a frame, on top of a picture and a table that always remain

The code of all views lies beside this file as static/jt.js, in parts; widgets/frontend/build.mjs makes it. A line above
each part says which views need it. A page may fetch nothing: its own Content-Security-Policy says so. So whatever
its view needs has to be in it; the rest of the parts would only make it large.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import uuid
import zlib
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from jt_edu.base.errors import ArgumentError

MOST_BYTES = 64_000_000  # of a document; the browser refuses more, too
MODULE = Path(__file__).parent / "static" / "jt.js"
NEEDED_BY = re.compile(r"^/\*! (.+) \*/$", re.MULTILINE)

# Every live view carries its module along, so it is packed behind four lines that unpack it in the browser.
UNPACK = """const bytes = Uint8Array.from(atob("{code}"), (letter) => letter.charCodeAt(0));
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
const address = URL.createObjectURL(new Blob([await new Response(stream).text()], {{ type: "text/javascript" }}));
export default (await import(address).finally(() => URL.revokeObjectURL(address))).default;
"""

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; \
style-src 'unsafe-inline'; img-src data: blob:"><meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,"><title>{title}</title>
<style>body{{margin:0;background:#fff}}main{{padding:16px}}@media(prefers-color-scheme:dark){{body{{background:#15171b}}\
}}</style></head>
<body class="jt-page"><main id="jt-standalone" data-view="{view}" data-state="{state}"><noscript>{static}</noscript>
</main>
<script type="application/octet-stream" id="jt-document">{document}</script>
<script type="application/octet-stream" id="jt-blocks">{blocks}</script>
<script type="application/octet-stream" id="jt-code">{code}</script>
<script>
(async () => {{
    const packed = Uint8Array.from(atob(document.getElementById("jt-code").textContent), c => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const script = Object.assign(document.createElement("script"), {{type: "module"}});
    script.textContent = await new Response(stream).text();
    document.head.append(script);
}})().catch(error => document.querySelector("main").append(`This page needs a newer browser (${{error}}).`));
</script></body></html>
"""

# The frame covers what is below it. Where a notebook is not trusted, the frame and `inert` are taken out, and the
# picture and the table remain.
SNAPSHOT = """<div style="display:grid">
<div inert style="grid-area:1/1;max-height:{height}px;overflow:auto">{static}</div>
<iframe title="{title}" sandbox="allow-scripts" style="grid-area:1/1;width:100%;height:{height}px;border:0" \
srcdoc="{page}"></iframe></div>"""


def pack(data: bytes) -> bytes:
    """Gzip that gives the same bytes every time."""
    return gzip.compress(data, compresslevel=6, mtime=0)  # the last 3 % would take four times as long


def pack_json(document: Mapping[str, Any]) -> bytes:
    """A document as packed UTF-8 JSON."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    data = text.encode("utf-8", "replace")
    if len(data) > MOST_BYTES:
        found = f"{len(data) / 1e6:,.0f} MB"
        attempt = "record a part of it: one block, or one step"
        raise ArgumentError("a view shows a page of at most 64 MB", found, attempt)
    return pack(data)


def write_whole(path: Path, text: str) -> None:
    """Put a text instead of a file, all of it or nothing: what was there stays until the new one is complete."""
    path = path.resolve()
    beside = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        beside.write_bytes(text.encode("utf-8", "replace"))
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def page_html(view: str, title: str, document: bytes, blocks: bytes, state: Mapping[str, Any], static: str = "") -> str:
    """A whole page. `document` and `blocks` are packed; `static` is HTML for a browser that runs no scripts."""
    return PAGE.format(
        title=escape(title), view=escape(view), state=escape(json.dumps(dict(state))), static=static,
        document=_text(document), blocks=_text(blocks), code=_packed(view),
    )  # fmt: skip


def snapshot_html(title: str, page: str, static: str, height: int = 640) -> str:
    """A page in a frame, on top of the static form of the same."""
    return SNAPSHOT.format(title=escape(title), page=escape(page), static=static, height=height)


def static_html(summary: str, svg: str, text: str) -> str:
    """A picture and a table that need no scripts and survive a notebook's sanitiser."""
    data = _text(svg.encode("utf-8", "replace"))
    image = f'<img alt="{escape(summary)}" src="data:image/svg+xml;base64,{data}">' if svg else ""
    return f'<div style="overflow-x:auto">{image}</div><pre>{escape(text)}</pre>'


def module(view: str) -> str:
    """The code that draws this view, as a module for anywidget."""
    return UNPACK.format(code=_packed(view))


def code_of(view: str) -> str:
    """The parts of the code that this view needs, in the order of the whole."""
    _, *parts = NEEDED_BY.split(MODULE.read_text(encoding="utf-8"))
    marked = zip(parts[::2], parts[1::2], strict=True)
    return "".join(text for views, text in marked if views == "*" or view in views.split())


@cache
def _packed(view: str) -> str:
    """As deflate in base64. A page unpacks it in its own way: it must not import from a blob, as widgets do."""
    packer = zlib.compressobj(9, wbits=-15)
    return _text(packer.compress(code_of(view).encode("utf-8")) + packer.flush())


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
