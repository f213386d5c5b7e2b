"""A saved page in a browser: what it asked for, what it complained of, and whether a person could use it.

`still(page)` waits until nothing on it will happen by itself any more. Nothing else here waits for a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.chromium import LIMIT, PATIENT
from tests.frontend import FOLDER

if TYPE_CHECKING:  # Playwright may be absent: then these tests are skipped
    from playwright.sync_api import BrowserContext, CDPSession, Page

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

# Counts what a page has still to do: frames that were asked for, timers that end soon, questions to Python. Observers
# speak after a frame, and ask for the next one; so a page is still when three frames in a row had nothing to do.
STILL = (
    PATIENT
    + """;(() => {
    const [frame, cancel] = [requestAnimationFrame, cancelAnimationFrame].map(one => one.bind(window));
    const [wait, clear] = [setTimeout, clearTimeout].map(one => one.bind(window));
    const coming = window.jtComing = new Set();
    const moves = () => document.getAnimations().some(one => one.playState === "running");
    window.requestAnimationFrame = hear => {
        const id = frame(now => { coming.delete(`frame ${id}`); hear(now); });
        coming.add(`frame ${id}`);
        return id;
    };
    window.cancelAnimationFrame = id => { coming.delete(`frame ${id}`); cancel(id); };
    window.setTimeout = (hear, ms = 0, ...given) => {
        const id = wait(() => { coming.delete(`timer ${id}`); hear(...given); }, ms);
        if (ms < 1000) coming.add(`timer ${id}`);
        return id;
    };
    window.clearTimeout = id => { coming.delete(`timer ${id}`); clear(id); };
    window.jtStill = async most => {
        for (let calm = 0, frames = 0; calm < 3; frames += 1) {
            if (frames > most) throw new Error(`the page does not come to rest: ${[...coming]}`);
            await new Promise(frame);
            calm = coming.size || moves() ? 0 : calm + 1;
        }
    };
})();"""
)

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
        self.context.set_default_timeout(1000 * LIMIT)
        self.context.add_init_script(STILL)

    def open(self, address: str, ready: str) -> Page:
        """The page, once it shows what `ready` names."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", lambda said: said.type in {"error", "warning"} and self.complaints.append(said.text))
        page.goto(address)
        page.wait_for_selector(ready)
        still(page)
        return page

    def _asked(self, request):
        if not request.url.startswith(LOCAL):
            self.strangers.append(request.url)


def still(page: Page) -> None:
    """Wait until the page is at rest: no frame, timer, transition or answer is to come."""
    page.evaluate("most => window.jtStill(most)", 60 * LIMIT)


def stop_clock(page: Page) -> None:
    """From here on time goes by when a test says so, with page.clock.run_for; `still` is of no use then.

    What was begun before goes on by the clock on the wall.
    """
    page.clock.install(time=0)
    page.clock.pause_at(1_000_000)


def frame_times(page: Page, script: str, moves: int, parts: int = 8) -> float:
    """Milliseconds that one of many moves takes of the page's thread, in the part of them that took least.

    `script` is JavaScript: (from, to) => a promise. It is the processor's time: whoever waits for it spends none.
    """
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    spent = []
    for k in range(parts):
        begin, end = k * moves // parts, (k + 1) * moves // parts
        before = _busy(session)
        page.evaluate(f"([from, to]) => ({script})(from, to)", [begin, end])
        spent.append((_busy(session) - before) / (end - begin) * 1000)
    return min(spent)


def _busy(session: CDPSession) -> float:
    """Seconds that the page's thread has worked."""
    return {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}["TaskDuration"]


def violations(page: Page) -> list[str]:
    """What axe-core has against the page, once it is at rest."""
    still(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return page.evaluate(RUN_AXE, RULES)
