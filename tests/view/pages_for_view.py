"""Pages in a browser, and a run with hostile names to show in them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager

from runs_for_view import HOSTILE, add_second, plant
from slackwater.pipeline.metrics import Numbers
from slackwater.view import RunView

LOOKS = {"light": ("light", 1280), "dark": ("dark", 1280), "phone": ("light", 390)}
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
                None)
FRAMES = """
window.frames_ms = [];
window.long_ms = [];
new PerformanceObserver((list) => {
  for (const e of list.getEntries()) window.long_ms.push(e.duration);
}).observe({type: "long-animation-frame"});
new PerformanceObserver((list) => { for (const e of list.getEntries()) {
  if (e.name === "slackwater-frame") window.frames_ms.push(e.duration);
} }).observe({entryTypes: ["measure"]});
"""


@contextmanager
def looked_at(browser, look: str, allowed: str | tuple[str, ...]) -> Iterator:
    """A page that must neither complain nor ask for anything from elsewhere."""
    scheme, width = LOOKS[look]
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    page, complaints, asked = context.new_page(), [], []
    page.add_init_script(FRAMES)
    page.on("console", lambda said: complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    try:
        yield page
        assert complaints == []
        assert asked
        assert [url for url in asked if not url.startswith(allowed)] == []
        assert page.evaluate("window.hacked") is None, "a name in the data was run"
    finally:
        context.close()


def wait_until(page, expression: str, seconds: float = 120) -> None:
    """Playwright's own way evaluates texts in the page, which the page's policy forbids."""
    until = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < until, f"never: {expression}"
        page.wait_for_timeout(50)


def hostile_view(seconds: int = 30) -> RunView:
    view = RunView()
    numbers = Numbers(plant(), listeners=(view.take,))
    with numbers.told():
        for at in range(seconds):
            add_second(numbers, at)
    # names that no pipeline file may have, but a log may
    totals = dict(numbers.summary()["clean"])
    for name in (HOSTILE, "__proto__"):
        view.take({"at": "2100-01-01T00:00:00Z", "event": "batch", "query": name, "batch": 1,
                   "rows": 1, "seconds": 1.0, "state_rows": 1, "state_bytes": 1,
                   "streams": {name: totals}})
    view.take({"at": "2100-01-01T00:00:01Z", "event": "failed", "error": HOSTILE})
    return view
