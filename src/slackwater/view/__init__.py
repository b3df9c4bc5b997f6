"""A run to look at: its numbers as one plain model, a page that draws them, a report in one file.

Enters: the lines of a run log, from a file or from a run in this process.  Leaves: the model as
JSON, a page on loopback, an HTML file.  May import: core, evaluate (pictures), pipeline.
"""

from __future__ import annotations

from slackwater.view.run_view import RunView

__all__ = ["RunView"]
