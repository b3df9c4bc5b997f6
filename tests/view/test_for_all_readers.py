"""The page by keyboard, by ear, in any colours: what a person needs who does not use a mouse."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from pages_for_view import LOOKS, hostile_view, looked_at, wait_until
from runs_for_view import add_second, plant
from slackwater.pipeline.metrics import Numbers
from slackwater.view import RunView
from slackwater.view.page import inline_page
from slackwater.view.serve import serve_view

# every text that is seen, with the contrast of its colour to what lies behind it (WCAG 2.2)
CONTRAST = """() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = parts(getComputedStyle(one).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !element.checkVisibility()) continue;
    if (["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(parts(element.closest("svg") ? style.fill : style.color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    found.push([ratio, element.tagName + "." + element.className, walk.currentNode.textContent.slice(0, 30)]);
  }
  return found;
}"""  # noqa: E501
FOCUSED = """() => {
  const one = document.activeElement, style = getComputedStyle(one), box = one.getBoundingClientRect();
  return { tag: one.tagName, id: one.id, label: one.getAttribute("aria-label") || one.textContent.slice(0, 40),
    outline: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    top: box.top + scrollY, left: box.left, seen: box.width > 0 && box.height > 0 };
}"""  # noqa: E501


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "run.html"
    file.write_text(inline_page(hostile_view().model()), encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize("look", LOOKS)
def test_every_text_stands_out_from_what_is_behind_it(browser, look, report):
    with looked_at(browser, look, report) as page:
        page.goto(report)
        page.wait_for_selector("#queries canvas")
        found = page.evaluate(CONTRAST)
        assert len(found) > 100
        assert [one for one in found if one[0] < 4.5] == []
        # and the measure can see a text that does not
        page.evaluate("document.getElementById('about').style.color = '#999'")
        assert [one for one in page.evaluate(CONTRAST) if one[0] < 4.5] or look == "dark"


def test_the_keyboard_reaches_everything_in_order_and_shows_where_it_is(browser, report):
    with looked_at(browser, "light", report) as page:
        page.goto(report)
        page.wait_for_selector("#queries canvas")
        wanted = page.locator("a[href], button, select, input, summary, [tabindex='0']").count()
        stops = []
        for _ in range(wanted):
            page.keyboard.press("Tab")
            stops.append(page.evaluate(FOCUSED))
        assert stops[0]["label"] == "Skip to the streams"
        assert [one for one in stops if not (one["outline"] and one["seen"])] == []
        assert [one for one in stops if not one["label"] and one["tag"] not in ("SELECT", "INPUT")
                ] == []
        places = {(one["label"], one["top"], one["left"]) for one in stops}
        assert len(places) == wanted, "a stop was left out"
        tops = [one["top"] for one in stops if one["tag"] == "DIV"]  # the tables
        assert tops == sorted(tops)
        for name in ("Show", "Named"):
            assert page.get_by_label(name, exact=True).count() == 1
        page.locator(".skip").focus()
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


def test_a_warning_is_announced_once_while_its_numbers_change(browser):
    view = RunView()
    numbers = Numbers(plant(), listeners=(view.take,))
    with numbers.told(), serve_view(view, every=0.05) as url, looked_at(
            browser, "light", f"http://{urlsplit(url).netloc}/") as page:
        page.goto(url)
        page.evaluate("""() => {
            window.announced = [];
            new MutationObserver(() => window.announced.push(
              document.getElementById("announce").textContent)
            ).observe(document.getElementById("announce"), { childList: true, subtree: true });
            window.rewritten = 0;
            new MutationObserver(() => { window.rewritten += 1; }).observe(
              document.getElementById("alerts"), { childList: true, characterData: true, subtree: true });
        }""")  # noqa: E501
        for at in range(8):
            add_second(numbers, at)
            page.get_by_role("cell", name=str(100 * (at + 1)), exact=True).first.wait_for()
        # the share of late rows is above its bound all the time, by ever other numbers
        wait_until(page, "window.rewritten > 2")
        late = [one for one in page.evaluate("window.announced") if "above the bound" in one]
        assert len(late) == 1
        live = page.evaluate("""[...document.querySelectorAll(
            "[aria-live], [role=status], [role=alert], [role=log]")].map((one) => one.id)""")
        assert live == ["announce"]


def test_new_results_leave_the_reader_where_he_was(browser):
    view = RunView()
    numbers = Numbers(plant(), listeners=(view.take,))
    with numbers.told(), serve_view(view, every=0.05) as url, looked_at(
            browser, "light", f"http://{urlsplit(url).netloc}/") as page:
        for at in range(30):
            add_second(numbers, at)
        page.goto(url)
        box = page.locator("#results .scroll")
        box.wait_for()
        box.focus()
        box.evaluate("(one) => { one.scrollTop = 80; }")
        add_second(numbers, 31)
        box.get_by_role("cell", name="38.5", exact=True).first.wait_for()  # 7.5 + 31
        assert page.evaluate("document.activeElement.className") == "scroll"
        assert box.evaluate("(one) => one.scrollTop") == 80


def test_nothing_moves_for_those_who_asked_for_stillness(browser, report):
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(report)
    page.wait_for_selector("#queries canvas")
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    moving = page.evaluate("""[...document.querySelectorAll("*")].filter((one) => {
        const style = getComputedStyle(one);
        return style.animationName !== "none" || parseFloat(style.transitionDuration) > 0;
    }).length""")
    assert moving == 0
    context.close()
