"""A feed as a seed makes it: sources, rates, delays, and everything that goes wrong on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.durations import Duration, micros
from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.core.numbers import finite_fields
from slackwater.datasets.dataset import Dataset
from slackwater.datasets.delays import Delay, Lognormal
from slackwater.datasets.law import Float64
from slackwater.datasets.rates import Jittered, Rate
from slackwater.datasets.stalls import Stalls

__all__ = ["Feed", "generate"]

Int64 = NDArray[np.int64]
_STAMP = pa.timestamp("us", "UTC")
_POISON = tuple(int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) * 10**6 for year in (2099, 1970))


@dataclass(frozen=True)
class Feed:
    """What to generate. Everything random follows from `seed`.

    Parameters
    ----------
    sources
        How many sources.
    duration
        How long they produce.
    rate, delay
        Law of production and of transmission; several of them are dealt out to the sources in turn.
    stalls
        Silences with a backlog after them; None: none.
    in_order
        Whether the network keeps the order of each source (as one TCP connection does).
    skew, drift
        Standard deviation of each source's clock error, and of its drift in parts per million.
    churn
        Share of the sources that join after the start and leave before the end.
    duplicates
        Share of the rows that arrive a second time.
    poison
        Share of the rows whose time is rubbish: missing, in 2099 or in 1970.
    keys
        How many values the column `key` has.
    spread
        Phases of regular sources lie evenly over this part of the interval; None: at random.
    together
        How many sources share a phase.
    resolution
        Times are rounded to this.
    start
        Moment of the beginning, ISO 8601.
    name, seed
        Of the dataset, and of everything random.

    Examples
    --------
    >>> feed = generate(Feed(sources=3, duration="10s", poison=0.1, seed=7))
    >>> feed.table.column_names
    ['time', 'arrival', 'source', 'sequence', 'key', 'value', 'true_time']
    >>> len(feed), feed.table["time"].null_count > 0
    (150, True)
    """

    sources: int = 10
    duration: Duration = "10 minutes"
    rate: Rate | tuple[Rate, ...] = field(default_factory=Jittered)
    delay: Delay | tuple[Delay, ...] = field(default_factory=Lognormal)
    stalls: Stalls | None = None
    in_order: bool = False
    skew: Duration = 0
    drift: float = 0.0
    churn: float = 0.0
    duplicates: float = 0.0
    poison: float = 0.0
    keys: int = 1
    spread: float | None = None
    together: int = 1
    resolution: Duration = 1
    start: str = "2024-01-01T00:00:00Z"
    name: str = "feed"
    seed: int = 1

    def __post_init__(self) -> None:
        finite_fields(self)
        for name, least in (("duration", 1), ("skew", 0), ("resolution", 1)):
            value = micros(getattr(self, name), name=f"Feed.{name}", least=least)
            object.__setattr__(self, name, value)
        for name in ("sources", "keys", "together"):
            if getattr(self, name) < 1:
                raise ConfigError("is too small", step=f"Feed.{name}", expected="at least 1",
                                  got=getattr(self, name))
        for name in ("churn", "duplicates", "poison"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError("is a share", step=f"Feed.{name}", expected="between 0 and 1",
                                  got=getattr(self, name))
        if self.spread is not None and not 0 <= self.spread <= 1:
            raise ConfigError("is a part of the interval", step="Feed.spread",
                              expected="between 0 and 1", got=self.spread)
        try:
            datetime.fromisoformat(self.start)
        except ValueError:
            raise ConfigError("is not a moment", step="Feed.start", got=self.start,
                              expected="ISO 8601, as in 2024-01-01T00:00:00Z") from None


def generate(feed: Feed) -> Dataset:
    """Make the rows of a feed, in arrival order.

    Columns: `time` as the source's clock stamped it, `arrival`, `source`, `sequence` (the source's
    own count), `key`, `value`, and `true_time`, which no real system would know.
    """
    source, moment = _produced(feed)
    arrival = _arrivals(feed, source, moment)
    stamp = _stamped(feed, source, moment)
    sequence = _count_within(source)
    count = len(source)

    rng = _rng(feed, "values")
    key = rng.integers(0, feed.keys, count)
    value = np.round(20 + 5 * np.sin(moment / 60e6) + rng.standard_normal(count), 3)
    rows = np.arange(count)
    if feed.duplicates:
        rng = _rng(feed, "duplicates")
        again = np.flatnonzero(rng.random(count) < feed.duplicates)
        # sent anew because the answer stayed out: later than the first, by something like a delay
        wait = _delays(feed, source[again], moment[again], rng)
        rows = np.concatenate([rows, again])
        arrival = np.concatenate([arrival, arrival[again] + wait])

    start = datetime.fromisoformat(feed.start)
    origin = round((start if start.tzinfo else start.replace(tzinfo=UTC)).timestamp() * 1e6)
    time_us = _rounded(stamp, feed) + origin
    unusable = np.zeros(count, bool)
    if feed.poison:
        rng = _rng(feed, "poison")
        bad = np.flatnonzero(rng.random(count) < feed.poison)
        kind = rng.integers(0, 3, len(bad))
        unusable[bad[kind == 2]] = True
        time_us[bad[kind < 2]] = np.array(_POISON)[kind[kind < 2]]
    arrival_us = _rounded(arrival, feed) + origin
    order = np.argsort(arrival_us, kind="stable")
    rows = rows[order]
    table = pa.table({
        "time": _stamps(time_us[rows], unusable[rows]),
        "arrival": _stamps(arrival_us[order]),
        "source": _names("s", source[rows], feed.sources),
        "sequence": pa.array(sequence[rows]),
        "key": _names("k", key[rows], feed.keys),
        "value": pa.array(value[rows]),
        "true_time": _stamps(_rounded(moment, feed)[rows] + origin),
    })
    roles = Roles("time", "arrival", source="source", sequence="sequence")
    return Dataset(feed.name, table, roles)


def _rng(feed: Feed, what: str) -> np.random.Generator:
    """Each aspect has its own stream of chance: changing one leaves the others as they were."""
    return np.random.default_rng([feed.seed, *what.encode()])


def _produced(feed: Feed) -> tuple[Int64, Float64]:
    """Which source produced what when, source by source."""
    rng = _rng(feed, "rate")
    duration = float(micros(feed.duration))
    rates = feed.rate if isinstance(feed.rate, tuple) else (feed.rate,)
    chance = rng.random(feed.sources)
    group = np.arange(feed.sources) // feed.together * feed.together
    even = group / feed.sources * (feed.spread or 0.0)
    phases = chance[group] if feed.spread is None else even
    moments = [rates[s % len(rates)].moments(duration, phases[s], rng)
               for s in range(feed.sources)]
    if feed.churn:
        rng = _rng(feed, "churn")
        for s in np.flatnonzero(rng.random(feed.sources) < feed.churn):
            join, leave = np.sort(rng.uniform(0, duration, 2))
            moments[s] = moments[s][(moments[s] >= join) & (moments[s] < leave)]
    source = np.repeat(np.arange(feed.sources), [len(m) for m in moments])
    return source, np.concatenate(moments)


def _delays(feed: Feed, source: Int64, moment: Float64, rng: np.random.Generator) -> Float64:
    laws = feed.delay if isinstance(feed.delay, tuple) else (feed.delay,)
    at = moment / micros(feed.duration)
    if len(laws) == 1:
        return laws[0].sample(at, rng)
    delay = np.empty(len(moment))
    for n, law in enumerate(laws):
        mine = source % len(laws) == n
        delay[mine] = law.sample(at[mine], rng)
    return delay


def _arrivals(feed: Feed, source: Int64, moment: Float64) -> Float64:
    arrival = moment + _delays(feed, source, moment, _rng(feed, "delay"))
    if feed.stalls is None and not feed.in_order:
        return arrival
    rng = _rng(feed, "stalls")
    starts = np.searchsorted(source, np.arange(feed.sources + 1))
    for s in range(feed.sources):
        mine = arrival[starts[s]:starts[s + 1]]
        if feed.stalls is not None:
            feed.stalls.apply(mine, micros(feed.duration), rng)
        if feed.in_order:
            np.maximum.accumulate(mine, out=mine)
    return arrival


def _stamped(feed: Feed, source: Int64, moment: Float64) -> Float64:
    rng = _rng(feed, "clocks")
    skew = rng.normal(0.0, 1.0, feed.sources) * micros(feed.skew)
    drift = rng.normal(0.0, 1.0, feed.sources) * feed.drift * 1e-6
    return moment + skew[source] + moment * drift[source]


def _count_within(source: Int64) -> Int64:
    starts = np.flatnonzero(np.diff(source, prepend=-1))
    lengths = np.diff(starts, append=len(source))
    return np.arange(len(source)) - np.repeat(starts, lengths)


def _rounded(us: Float64, feed: Feed) -> Int64:
    step = micros(feed.resolution)
    return np.rint(us / step).astype(np.int64) * step


def _stamps(us: Int64, missing: NDArray[np.bool_] | None = None) -> pa.Array:
    return pa.array(us, pa.int64(), mask=missing).cast(_STAMP)


def _names(prefix: str, code: Int64, count: int) -> pa.Array:
    names = pa.array([f"{prefix}{n}" for n in range(count)])
    return names.take(pa.array(code))
