"""A saved page in a browser: what it asked for, what it complained of, and whether a person could use it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.frontend import FOLDER

if TYPE_CHECKING:  # Playwright may be absent: then these tests are skipped
    from playwright.sync_api import BrowserContext, Page

LOCAL = ("file:", "data:", "blob:", "about:")
READY = ".jt-view:not([aria-busy])"
AXE = FOLDER / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN_AXE = """async rules => {
    const found = await axe.run(document, {runOnly: {type: "tag", values: rules}, resultTypes: ["violations"]});
    return found.violations.map(one =>
        `${one.id}: ${one.help}\\n` + one.nodes.slice(0, 5).map(node => `    ${node.html.slice(0, 160)}\\n        ` +
            node.any.concat(node.all, node.none).map(check => check.message).join("; ")).join("\\n"));
}"""

# What a person would call broken: letters too small, words outside of their box, boxes on top of each other.
GEOMETRY = """() => {
    const found = [], near = 1.5;
    const seen = element => element.checkVisibility({checkVisibilityCSS: true, checkOpacity: true});
    const name = element => `<${element.tagName.toLowerCase()} class="${element.getAttribute("class") ?? ""}">`;
    const box = element => element.getBoundingClientRect();
    for (const view of document.querySelectorAll(".jt-view")) {
        const words = document.createTreeWalker(view, NodeFilter.SHOW_TEXT);
        while (words.nextNode()) {
            const text = words.currentNode, parent = text.parentElement;
            const hidden = !text.data.trim() || !seen(parent) || parent.closest("title, desc, style, .jt-say");
            if (hidden) continue;
            const zoom = parent.getScreenCTM ? Math.abs(parent.getScreenCTM().a) : 1;
            const size = parseFloat(getComputedStyle(parent).fontSize) * zoom;
            if (size < 10.99) found.push(`${size.toFixed(1)} px is too small: "${text.data.slice(0, 40)}"`);
            const holder = parent.closest("[data-box]");
            if (!holder) continue;
            const range = document.createRange();
            range.selectNodeContents(text);
            const inner = range.getBoundingClientRect().toJSON(), outer = box(holder);
            const ends = getComputedStyle(parent).textOverflow === "ellipsis";
            if (ends) inner.right = Math.min(inner.right, box(parent).right);
            if (inner.left < outer.left - near || inner.right > outer.right + near ||
                inner.top < outer.top - near || inner.bottom > outer.bottom + near)
                found.push(`"${text.data.slice(0, 40)}" is outside of its ${name(holder)}`);
        }
        for (const element of view.querySelectorAll("*")) {
            if (!(element instanceof HTMLElement) || !seen(element) || element.matches(".jt-say")) continue;
            const style = getComputedStyle(element);
            const cut = style.overflowX === "hidden" && style.textOverflow !== "ellipsis";
            if (cut && element.scrollWidth > element.clientWidth + 1)
                found.push(`${name(element)} cuts off what it holds: "${element.innerText.slice(0, 40)}"`);
        }
        const boxes = [...view.querySelectorAll("[data-box]")].filter(seen);
        boxes.forEach((one, k) => boxes.slice(k + 1).forEach(other => {
            if (one.contains(other) || other.contains(one) || one.dataset.box !== other.dataset.box) return;
            const [a, b] = [box(one), box(other)];
            const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (across > near && down > near)
                found.push(`two boxes overlap: "${one.textContent.slice(0, 30)}", "${other.textContent.slice(0, 30)}"`);
        }));
    }
    return found.slice(0, 20);
}"""


@dataclass
class Visitor:
    """Opens pages and remembers what they did wrong."""

    context: BrowserContext
    strangers: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.context.on("request", self._asked)

    def open(self, address: str, ready: str) -> Page:
        """The page, once it shows what `ready` names."""
        page = self.context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", lambda said: said.type in {"error", "warning"} and self.complaints.append(said.text))
        page.goto(address)
        page.wait_for_selector(ready)
        return page

    def _asked(self, request):
        if not request.url.startswith(LOCAL):
            self.strangers.append(request.url)


def violations(page: Page) -> list[str]:
    """What axe-core has against the page."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return page.evaluate(RUN_AXE, RULES)
