"""Windows and SELECT queries keep the promises of the kernel protocol."""

from __future__ import annotations

import pytest

from slackwater.checks import sample_events, yield_checks
from slackwater.core.events import Roles
from slackwater.query import SelectQuery
from slackwater.reorder import Reorder
from slackwater.window import Aggregate, Window, Windowed
from tests.checks import as_param

EVENTS = sample_events()
ROLES = Roles("time", "arrival", key=("key",))
ASKED = (Aggregate("count"), Aggregate("sum", "value"), Aggregate("max", "value"),
         Aggregate("median", "value"), Aggregate("stddev", "value"), Aggregate("last", "row"),
         Aggregate("count_distinct", "type"))


def windowed(slide=None):
    return Windowed(Reorder("Static(buffer=100ms)", ROLES),
                    Window(ASKED, "300ms", slide, ("key",), Roles("time")))


def select(text, **options):
    return SelectQuery(text, EVENTS.schema, Roles("time", "arrival"), **options)


KERNELS = {
    "per row": (windowed(), "row", "key"),
    "sliding": (windowed("100ms"), None, "key"),
    "select per row": (select("SELECT row, key, AVG(value * 2) AS a, QUANTILE(value, 0.9) AS q "
                              "FROM s [RANGE 1 second] GROUP BY key", slack="50ms"), "row", "key"),
    "select sliding": (select("SELECT key, window_end, MAX(value) AS m FROM s [RANGE 1 s, SLIDE "
                              "500 ms] WHERE value > 8 GROUP BY key", policy="bsttda"), None,
                       "key"),
    "sessions": (Windowed(Reorder("Static(buffer=100ms)", ROLES),
                          Window(ASKED, None, None, ("key",), Roles("time"), "40ms")), None, "key"),
    "select sessions": (select("SELECT key, window_start, AVG(value) AS a, COUNT(DISTINCT type) AS "
                               "kinds FROM s [SESSION 60 ms] WHERE value > 8 GROUP BY key "
                               "HAVING COUNT(*) > 1", policy="bsttda"), None, "key"),
    "select with a drop ratio": (select("SELECT row, MAX(value) AS m FROM s [RANGE 1 s, DRATIO 5%]"
                                        ), "row", None),
}
CASES = [as_param.param(name, what, check)
         for name, (kernel, row, key) in KERNELS.items()
         for what, check in yield_checks(kernel, EVENTS, row=row, key=key)]


@pytest.mark.parametrize("check", CASES)
def test_window(check):
    check()


@pytest.mark.parametrize("name", [name for name in KERNELS if "select" not in name])
def test_ticks_do_not_matter_in_other_streams(name):
    """What a tick closes would have been late without it, too."""
    kernel, row, key = KERNELS[name]
    checks = [check for seed in range(5)
              for what, check in yield_checks(kernel, sample_events(seed=seed), row=row, key=key)
              if what == "ticks do not matter"]
    assert len(checks) == 5
    for check in checks:
        check()
