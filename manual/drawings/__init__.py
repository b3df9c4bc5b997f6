"""The drawings of the manual: small programs that write SVG.

Colours are names of classes. Outside the manual (a viewer, a forge) a style sheet inside the file
follows the system's light or dark theme; in the manual the drawing is part of the page, and the
page's own switch decides. ``python -m manual.drawings`` writes them all to docs/drawings.
"""

from __future__ import annotations

from functools import cache

from manual.drawings.canvas import Canvas
from manual.drawings.patterns import pattern_drawings
from manual.drawings.policies import policy_drawings
from manual.drawings.time import time_drawings

__all__ = ["drawings"]


@cache
def drawings() -> dict[str, str]:
    """Every drawing by its name, as SVG."""
    made: dict[str, Canvas] = {**time_drawings(), **policy_drawings(), **pattern_drawings()}
    return {name: canvas.svg(name) for name, canvas in made.items()}
