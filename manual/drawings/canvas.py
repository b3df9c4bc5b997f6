"""Lines, dots, bars and words on a canvas, told in colours by their meaning."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

__all__ = ["STYLE", "Canvas"]

_LIGHT = {"ink": "#1f2933", "faint": "#7b8794", "rule": "#cbd2d9", "ready": "#0b6e4f",
          "late": "#b3261e", "held": "#9a5b00", "mark": "#1d4ed8", "wash": "#e3ecfb"}
_DARK = {"ink": "#e4e7eb", "faint": "#9aa5b1", "rule": "#4a5560", "ready": "#4cc38a",
         "late": "#ff8a80", "held": "#f0b429", "mark": "#8ab4ff", "wash": "#24324d"}


def _rules(colours: dict[str, str]) -> str:
    return "".join(f".f-{n}{{fill:{c}}}.s-{n}{{stroke:{c}}}" for n, c in colours.items())


STYLE = (".drawing text{font:14px system-ui,sans-serif}.drawing .small{font-size:12px}"
         ".drawing .code{font-family:ui-monospace,monospace;font-size:13px}"
         + _rules(_LIGHT) + "@media(prefers-color-scheme:dark){" + _rules(_DARK) + "}")


def page_style() -> str:
    """The same for the manual's pages, which have a switch between light and dark of their own."""
    names = "\n".join(f".drawing .f-{n} {{ fill: var(--drawn-{n}) }}\n"
                      f".drawing .s-{n} {{ stroke: var(--drawn-{n}) }}" for n in _LIGHT)

    def colours(where: str, given: dict[str, str]) -> str:
        return where + " { " + "; ".join(f"--drawn-{n}: {c}" for n, c in given.items()) + " }"

    return "\n".join([
        colours('[data-md-color-scheme="default"]', _LIGHT),
        colours('[data-md-color-scheme="slate"]', _DARK), names,
        ".drawing { display: block; max-width: 100%; height: auto; margin: 1em auto }",
        ".drawing text { font-family: system-ui, sans-serif; font-size: 14px }",
        ".drawing .small { font-size: 12px }",
        ".drawing .code { font-family: ui-monospace, monospace; font-size: 13px }"]) + "\n"


class Canvas:
    """What is drawn, in the order in which it is drawn.

    Parameters
    ----------
    width, height
        In pixels; a page scales it.
    title
        What it is, in a few words: its name for a screen reader.
    told
        What there is to see, for those who do not see it.
    """

    def __init__(self, width: int, height: int, title: str, told: str) -> None:
        self.width, self.height, self._title, self._told = width, height, title, told
        self._parts: list[str] = []

    def line(self, points: Sequence[tuple[float, float]], colour: str = "ink", *,
             width: float = 1.5, dashed: bool = False, arrow: bool = False) -> None:
        """A line through points; dashed, or with a head at its end."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self._parts.append(f'<polyline points="{path}" fill="none" class="s-{colour}" '
                           f'stroke-width="{width:g}"{dash}/>')
        if arrow:
            (x0, y0), (x1, y1) = points[-2:]
            length = max(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5, 1e-9)
            dx, dy = (x1 - x0) / length, (y1 - y0) / length
            head = [(x1, y1), (x1 - 9 * dx + 4 * dy, y1 - 9 * dy - 4 * dx),
                    (x1 - 9 * dx - 4 * dy, y1 - 9 * dy + 4 * dx)]
            self.shape(head, colour)

    def shape(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        """A filled polygon."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f'<polygon points="{path}" class="f-{colour}"/>')

    def dot(self, x: float, y: float, colour: str = "ink", *, size: float = 5,
            hollow: bool = False) -> None:
        """An event; hollow: one that is not there, or takes no part."""
        look = f'fill="none" stroke-width="2" class="s-{colour}"' if hollow \
            else f'class="f-{colour}"'
        self._parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{size:g}" {look}/>')

    def cross(self, x: float, y: float, colour: str = "late", size: float = 5) -> None:
        """An event that is late, or a match that is not one: told by shape as well as colour."""
        self.line([(x - size, y - size), (x + size, y + size)], colour, width=2.5)
        self.line([(x - size, y + size), (x + size, y - size)], colour, width=2.5)

    def bar(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """A filled rectangle."""
        self._parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
                           f'rx="2" class="f-{colour}"/>')

    def text(self, x: float, y: float, words: str, colour: str = "ink", *, at: str = "start",
             look: str = "") -> None:
        """Words; `at` is start, middle or end, `look` small or code."""
        self._parts.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{at}" '
                           f'class="f-{colour} {look}">{escape(words)}</text>')

    def svg(self, name: str) -> str:
        """The whole."""
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" role="img" '
            f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" aria-labelledby="{name}-title {name}-told">',
            f'<title id="{name}-title">{escape(self._title)}</title>',
            f'<desc id="{name}-told">{escape(self._told)}</desc>',
            f"<style>{STYLE}</style>", *self._parts, "</svg>"]) + "\n"
