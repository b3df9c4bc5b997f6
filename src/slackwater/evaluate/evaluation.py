"""Several policies on one dataset, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slackwater.core.html import html_table

if TYPE_CHECKING:
    from slackwater.evaluate.metrics import Metrics

__all__ = ["Evaluation"]


class Evaluation(list["Metrics"]):
    """A list of `Metrics` that a notebook shows as one table."""

    def _repr_html_(self) -> str:
        title = ", ".join(dict.fromkeys(m.dataset for m in self))
        return html_table(title, ("policy", "events", "late", "late %", "mean wait ms",
                                  "mean latency ms", "p99 latency ms", "parameters"),
                          [(m.policy, m.events, m.not_compensated, m.late_pct, m.wait_ms["mean"],
                            m.latency_ms["mean"], m.latency_ms["p99"], m.parameters)
                           for m in self])
