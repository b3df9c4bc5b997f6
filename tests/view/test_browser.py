"""The page and the report in a real browser: light, dark, on a phone, and under load."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from runs_for_view import HOSTILE, add_second, plant
from slackwater.pipeline import metrics
from slackwater.pipeline.metrics import Numbers
from slackwater.view import RunView
from slackwater.view.page import inline_page
from slackwater.view.serve import serve_view

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
                None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")

LOOKS = {"light": ("light", 1280), "dark": ("dark", 1280), "phone": ("light", 390)}
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


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as started:
        # in a container the sandbox of Chromium cannot start; the pages are our own
        one = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield one
        one.close()


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


def check_page(page, width: int) -> None:
    page.wait_for_selector("#streams article canvas")
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "it scrolls sideways"
    assert page.locator("#overview tbody tr").count() == 5
    assert page.locator("img").count() == 0
    for place in ("#overview", "#streams", "#alerts", "#sources", "#results", "#queries"):
        assert HOSTILE in page.locator(place).text_content()
    assert page.locator("main").count() == page.locator("header[role=banner], body > header"
                                                        ).count() == 1
    unlabelled = page.evaluate("""[...document.querySelectorAll('[role=img], [role=region]')]
        .filter((e) => !e.getAttribute('aria-label')).length""")
    assert unlabelled == 0
    # behind each chart is a table, which the keyboard opens
    page.locator("#streams summary").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#streams details[open] tbody tr")


@pytest.mark.parametrize("look", LOOKS)
def test_the_live_page(browser, look, tmp_path):
    with serve_view(hostile_view(), every=0.2) as url:
        base = f"http://{urlsplit(url).netloc}/"
        with looked_at(browser, look, base) as page:
            page.goto(url)
            assert page.url == base, "the token has left the address bar"
            check_page(page, LOOKS[look][1])
            page.screenshot(path=tmp_path / f"page-{look}.png", full_page=True)
            assert page.evaluate("document.documentElement.dataset.theme") == LOOKS[look][0]
            page.get_by_role("button", name="Dark").click()
            other = "light" if LOOKS[look][0] == "dark" else "dark"
            assert page.evaluate("document.documentElement.dataset.theme") == other


@pytest.mark.parametrize("look", LOOKS)
def test_the_report(browser, look, tmp_path):
    file = tmp_path / "run.html"
    file.write_text(inline_page(hostile_view().model()), encoding="utf-8")
    with looked_at(browser, look, file.as_uri()) as page:
        page.goto(file.as_uri())
        check_page(page, LOOKS[look][1])
        page.screenshot(path=tmp_path / f"report-{look}.png", full_page=True)


def test_the_page_keeps_up_with_a_run(browser):
    view = RunView()
    with serve_view(view, every=0.1) as url, looked_at(
            browser, "light", f"http://{urlsplit(url).netloc}/") as page:
        page.goto(url)
        page.get_by_role("heading", name="Waiting for a run").wait_for()
        numbers = Numbers(plant(), listeners=(view.take,))
        with numbers.told():
            for at in range(3):
                add_second(numbers, at)
            cells = page.locator("#overview tbody tr").nth(1)
            cells.get_by_text("300", exact=True).wait_for()
            late = numbers.streams["clean"].late
            assert cells.locator("td, th").all_text_contents()[5] == str(late)
            assert page.locator("#state").text_content() == "running"
        page.get_by_text("stopped").wait_for()


def test_a_frame_takes_less_than_100_ms_with_200_sources(browser, monkeypatch):
    monkeypatch.setattr(metrics, "_SOURCES_EVERY", 0.0)  # all of them in every change
    view = RunView()
    numbers = Numbers(plant(), listeners=(view.take,))
    stop = threading.Event()

    def run() -> None:
        with numbers.told():
            for at in range(600):  # ten minutes of history, then as it comes
                add_second(numbers, at, rows=10_000, sources=200)
            at = 600
            while not stop.wait(0.25):  # 4 changes in a second, each of a second's rows
                add_second(numbers, at, rows=10_000, sources=200)
                at += 1

    feed = threading.Thread(target=run)
    feed.start()
    try:
        with serve_view(view, every=0.25) as url, looked_at(
                browser, "light", f"http://{urlsplit(url).netloc}/") as page:
            page.goto(url)
            for _ in range(240):
                if page.evaluate("window.frames_ms.length") > 32:
                    break
                page.wait_for_timeout(250)
            assert page.locator("#sources tbody tr").count() == 200
            frames = sorted(page.evaluate("window.frames_ms.slice(1)"))
            # the browser's own count of frames over 50 ms, with layout and painting
            long = page.evaluate("window.long_ms.slice(1)")
    finally:
        stop.set()
        feed.join()
    print(f"{len(frames)} frames: median {frames[len(frames) // 2]:.1f} ms, "
          f"p95 {frames[int(len(frames) * 0.95)]:.1f} ms, longest {frames[-1]:.1f} ms; "
          f"whole frames over 50 ms: {sorted(round(one) for one in long)}")
    assert len(frames) >= 24
    assert frames[int(len(frames) * 0.95)] < 100
    assert sum(one >= 100 for one in long) <= len(frames) // 10


def test_the_report_of_a_command(browser, tmp_path):
    from slackwater.evaluate import pictures
    from slackwater.view.findings import Sheet, write_findings

    with pictures.figure() as picture:
        picture.subplots().plot([1, 2, 3])
    file = tmp_path / "found.html"
    write_findings(file, HOSTILE, [HOSTILE, Sheet("t", ["a"], [[HOSTILE], [1]])],
                   [(HOSTILE, picture)])
    with looked_at(browser, "phone", (file.as_uri(), "data:image/svg+xml")) as page:
        page.goto(file.as_uri())
        assert page.evaluate("document.images[0].complete && document.images[0].naturalWidth > 0")
        assert page.locator("td").first.text_content() == HOSTILE
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
