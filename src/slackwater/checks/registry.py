"""The promises of the kernel protocol: each with its name and the check that can see it broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from slackwater.checks.conservation import check_conservation
from slackwater.checks.cost import check_cost
from slackwater.checks.cuts import check_cuts
from slackwater.checks.end import check_end
from slackwater.checks.keys import check_keys
from slackwater.checks.order import check_lateness, check_order
from slackwater.checks.quarantine import check_quarantine
from slackwater.checks.repeatable import check_input, check_repeatable
from slackwater.checks.restarts import check_restarts, check_store
from slackwater.checks.state import check_forgotten, check_state
from slackwater.checks.subject import Subject
from slackwater.checks.ticks import check_silence, check_ticks
from slackwater.checks.watermark import check_watermark
from slackwater.core.durations import Duration, micros
from slackwater.core.kernel import Kernel

__all__ = ["CHECKS", "Check", "yield_checks"]


@dataclass(frozen=True)
class Check:
    """A promise.

    Parameters
    ----------
    name
        The promise in a few words; what a test is called.
    run
        Raises AssertionError if the promise is broken.
    needs
        Columns that must be named for the check: of ``row``, ``key``, ``time`` and ``arrival``.
    """

    name: str
    run: Callable[[Subject], None]
    needs: tuple[str, ...] = ()


CHECKS = (
    Check("ready rows are in order", check_order, ("row", "time")),
    Check("only what came too late is late", check_lateness, ("row", "time")),
    Check("every row leaves exactly once", check_conservation, ("row",)),
    Check("cuts do not matter", check_cuts),
    Check("restarts do not matter", check_restarts),
    Check("a store apart does not matter", check_store),
    Check("ticks do not matter", check_ticks, ("arrival",)),
    Check("silence ends the waiting", check_silence, ("arrival",)),
    Check("quarantined rows move nothing", check_quarantine),
    Check("the watermark never goes back", check_watermark),
    Check("keys do not see each other", check_keys, ("key",)),
    Check("nothing is held after the end", check_end),
    Check("the input is not changed", check_input),
    Check("the same input gives the same output", check_repeatable),
    Check("state is bounded", check_state),
    Check("silent keys are forgotten", check_forgotten, ("key", "arrival")),
    Check("a snapshot costs what has changed", check_cost, ("key",)),
)
"""All of them, in the order in which they are run."""


def yield_checks(
    kernel: Kernel,
    events: pa.RecordBatch,
    *,
    key: str | None = "key",
    row: str | None = "row",
    time: str | None = "time",
    arrival: str | None = "arrival",
    state_limit: int = 4,
    forgets: Duration = "366 days",
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Name and function of each check that the named columns allow.

    Parameters
    ----------
    kernel
        The configuration to check.
    events
        A stream for it, in arrival order, with a few rows that must be quarantined.
    key
        The key column, of text, which results have too; None: no checks that compare keys.
    row
        A column that tells input rows apart and that the kernel hands on, for the checks that
        follow single rows; None for kernels whose results are not their input's rows.
    time, arrival
        The columns of the two times, as timestamps or in microseconds; None: no checks of order,
        or of time that passes without an event.
    state_limit
        A stream 24 times as long may not make the state grow by more than this factor.
    forgets
        A key that was silent for so long must have been forgotten, and nothing waits longer.
    """
    subject = Subject(kernel, events, key, row, time, arrival, state_limit,
                      micros(forgets, name="forgets"))
    for check in CHECKS:
        if all(getattr(subject, need) is not None for need in check.needs):
            yield check.name, partial(check.run, subject)
