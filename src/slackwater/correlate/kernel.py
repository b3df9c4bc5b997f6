"""The correlate kernel: what to pair, how sure to be, and how long to wait."""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.core.durations import Duration, micros
from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.core.kernel import Store
from slackwater.core.names import column_names
from slackwater.core.stage import Stage
from slackwater.correlate.distribution import UNIFORMLY, Distribution, as_pair
from slackwater.correlate.logic import CorrelateLogic
from slackwater.correlate.match import check_algorithm
from slackwater.correlate.predicate import Predicate
from slackwater.correlate.rows import By
from slackwater.correlate.tables import INTERVAL, check_confidence

__all__ = ["Correlate"]


@dataclass(frozen=True)
class Correlate(Stage):
    """Pair the rows of two streams whose times, each an interval, satisfy a timing condition.

    Any order of arrival within the maximum delay gives the same pairs, each exactly once: a row
    looks for partners among those of the other stream that came before it, then waits for those
    that come later, until none can come any more.

    Parameters
    ----------
    within, deadline, delay
        The predicate, one of the three: |left − right| ≤ d, left + d ≥ right, left + d ≤ right.
    confidence
        The probability with which the predicate must hold.
    by
        Columns that must be equal: names, or (left name, right name). A null equals nothing, so
        such a row is quarantined.
    roles
        Columns `time_min`, `time_max`, `arrival` (and unit), for both sides or (left, right).
        Without an arrival column the clock is the greatest `time_max` so far.
    distribution
        How the time is distributed over the interval, for both sides or (left, right).
    max_delay
        How long after its latest time a row may arrive, for both sides or (left, right); what
        comes later is `late`. The clock is that of the row's own side and key: its greatest
        arrival so far, or `tick`'s if that is greater.
    shortest, longest
        The lengths an interval may have; other rows are quarantined. They decide how long rows are
        held, so `longest` should not be lavish.
    horizon
        Needed for deadline and delay, whose partners would go on for ever: rows whose latest times
        are further apart do not pair.
    algorithm
        ``"lazy"`` (for production), ``"lazy-lookup"``, ``"eager"``, ``"simple-sort"``,
        ``"simple"``: the same pairs at different costs.
    block, every
        For the lazy ones: evaluate when so many rows of a side are waiting, or when so much time
        has passed since the first of them. With neither, a pushed batch is a block.
    probability
        Compute it for every pair; else it is null where the bounds decided without it.
    owner
        A boolean column, true in one copy of a row that was sent to several places (see `buckets`):
        only that copy is told of when it is late or quarantined. Not in the output.

    Examples
    --------
    >>> import pyarrow as pa
    >>> s = 1_700_000_000_000
    >>> config = Correlate(within="500ms", confidence=0.9, roles=Roles(
    ...     time_min="from", time_max="to", unit="ms"))
    >>> print(config.predicate)
    |left − right| ≤ 500ms
    >>> logic = config.start()
    >>> out = logic.push(pa.record_batch({"from": [s], "to": [s + 20], "a": ["x"]}), "left")
    >>> out = logic.push(pa.record_batch({"from": [s + 300], "to": [s + 340], "b": ["y"]}), "right")
    >>> out.ready.select(["a", "b", "from_right"]).to_pylist()
    [{'a': 'x', 'b': 'y', 'from_right': 1700000000300}]

    References
    ----------
    Lee, Lee: Lazy Approaches for Interval Timing Correlation of Sensor Data Streams. Sensors 2010.
    """

    within: Duration | None = None
    deadline: Duration | None = None
    delay: Duration | None = None
    confidence: float = 0.8
    by: By = ()
    roles: Roles | tuple[Roles, Roles] = INTERVAL
    distribution: Distribution | str | tuple[Distribution | str, Distribution | str] = UNIFORMLY
    max_delay: Duration | tuple[Duration, Duration] = "10s"
    shortest: Duration = 0
    longest: Duration = "1 minute"
    horizon: Duration | None = None
    algorithm: str = "lazy"
    block: int | None = None
    every: Duration | None = None
    probability: bool = False
    owner: str | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        check_confidence(self.confidence)
        put(self, "by", tuple(b if isinstance(b, str) else (b[0], b[1])
                              for b in column_names(self.by)))
        put(self, "roles", self.roles if isinstance(self.roles, tuple) else (self.roles,) * 2)
        put(self, "distribution", as_pair(self.distribution))
        delays = self.max_delay if isinstance(self.max_delay, tuple) else (self.max_delay,) * 2
        put(self, "max_delay", tuple(micros(d, name="max_delay") for d in delays))
        for name in ("shortest", "longest", "horizon", "every"):
            if getattr(self, name) is not None:
                put(self, name, micros(getattr(self, name), name=name))
        check_algorithm(self.algorithm)
        if self.block is not None and (not isinstance(self.block, int) or self.block < 1):
            raise ConfigError("a block needs at least one row", step="block", got=self.block)
        if (self.block or self.every is not None) and not self.algorithm.startswith("lazy"):
            raise ConfigError(f"{self.algorithm!r} evaluates at every row, not by blocks",
                              step="correlate",
                              hint='algorithm="lazy", or leave out block and every')
        if self.shortest > self.longest:  # type: ignore[operator]
            raise ConfigError("shortest is longer than longest: no interval would do",
                              step="correlate")
        if self.predicate.open and self.horizon is None:
            raise ConfigError(
                f"{self.predicate} is unbounded: state would grow for ever",
                step="correlate", hint='set horizon="1 hour", say')

    @property
    def predicate(self) -> Predicate:
        """The timing predicate."""
        return Predicate.of(within=self.within, deadline=self.deadline, delay=self.delay)

    def logic(self, store: Store) -> CorrelateLogic:
        """A logic with nothing held."""
        return CorrelateLogic(self, store)
