"""Generated kinds of streams, as (time, arrival, source) in seconds.

Delays of many laws (light and heavy tails, steps, ramps, a daily rhythm), sources that keep their
order and that do not, stalls and outages of the network, flushes and polls, sources that come, go
and end, a receiver whose clock is behind, and one source whose clock is wrong.  The last eleven
were made after the first version of `Tide` was settled, the last four of them later still.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from slackwater.evaluate.run import Events

__all__ = ["KINDS", "counted", "events_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Stream = tuple[Floats, Floats, Ints]
Kind = Callable[[np.random.Generator, int], Stream]

START = 1_700_000_000_000_000
WRONG = 3  # the source whose clock is wrong


def in_order(time: Floats, arrival: Floats, source: Ints) -> Floats:
    """Each source's events arrive in the order of their times, behind the slowest so far."""
    out = arrival.copy()
    for k in np.unique(source):
        mine = np.flatnonzero(source == k)
        mine = mine[np.argsort(time[mine], kind="stable")]
        out[mine] = np.maximum.accumulate(out[mine])
    return out


def poisson(rng: np.random.Generator, rows: int, sources: int = 10,
            rate: float = 100.0) -> tuple[Floats, Ints]:
    return np.cumsum(rng.exponential(1 / rate, rows)), rng.integers(0, sources, rows)


def regular(rng: np.random.Generator, rows: int, sources: int = 20,
            period: float = 0.2) -> tuple[Floats, Ints]:
    phase = rng.uniform(0, period, sources)
    turn = np.arange(rows)
    return phase[turn % sources] + turn // sources * period, turn % sources


def lognormal(rng: np.random.Generator, rows: int, median: float, sigma: float = 0.5) -> Floats:
    return np.asarray(median * np.exp(rng.normal(0, sigma, rows)))


def swapped(rng: np.random.Generator, rows: int) -> Stream:
    time, source = poisson(rng, rows)
    return time, time + lognormal(rng, rows, 0.1), source


def kept(rng: np.random.Generator, rows: int) -> Stream:
    time, source = poisson(rng, rows)
    return time, in_order(time, time + lognormal(rng, rows, 0.1), source), source


def steady(rng: np.random.Generator, rows: int) -> Stream:
    time, source = regular(rng, rows)
    return time, in_order(time, time + lognormal(rng, rows, 0.1), source), source


def heavy(rng: np.random.Generator, rows: int) -> Stream:
    time, source = poisson(rng, rows)
    return time, time + 0.05 * (1 + rng.pareto(1.5, rows)), source


def heavy_heads(rng: np.random.Generator, rows: int) -> Stream:
    time, source = poisson(rng, rows)
    return time, in_order(time, time + 0.05 * (1 + rng.pareto(1.5, rows)), source), source


def steps(rng: np.random.Generator, rows: int) -> Stream:
    time, source = poisson(rng, rows)
    level = rng.permutation([0.05, 0.1, 0.2, 0.4])[np.arange(rows) * 4 // rows]
    return time, time + level * np.exp(rng.normal(0, 0.5, rows)), source


def ramp(rng: np.random.Generator, rows: int) -> Stream:
    time, source = poisson(rng, rows)
    level = 0.05 + np.abs(np.arange(rows) / rows * 4 % 2 - 1)
    return time, time + level * np.exp(rng.normal(0, 0.4, rows)), source


def bursts(rng: np.random.Generator, rows: int) -> Stream:
    """Now and then all delays are two to five times as long, for two seconds."""
    time, source = poisson(rng, rows)
    level = np.full(rows, 0.1)
    for begin in rng.uniform(0, time[-1], max(1, rows // 5000)):
        level[(time > begin) & (time < begin + 2)] *= rng.uniform(2, 5)
    return time, time + level * np.exp(rng.normal(0, 0.5, rows)), source


def daily(rng: np.random.Generator, rows: int) -> Stream:
    """Ten days: by day five times as many events, and three times the delay."""
    day = np.cumsum(rng.exponential(1.0, rows))
    day *= 10 / day[-1]
    time = (day + 0.13 * np.sin(2 * np.pi * day)) * 86_400
    source = rng.integers(0, 10, rows)
    level = 5 * (2 - np.cos(2 * np.pi * time / 86_400))
    return time, time + level * np.exp(rng.normal(0, 0.6, rows)), source


def stalled(time: Floats, arrival: Floats, source: Ints, rng: np.random.Generator, every: float,
            length: float) -> Floats:
    """What a source would deliver during a stall (exponential) comes at its end."""
    arrival = arrival.copy()
    for k in np.unique(source):
        mine = np.flatnonzero(source == k)
        at = rng.exponential(every)
        while at < time[-1]:
            end = at + rng.exponential(length)
            held = mine[(arrival[mine] > at) & (arrival[mine] < end)]
            arrival[held] = end
            at = end + rng.exponential(every)
    return in_order(time, arrival, source)


def regular_stalls(rng: np.random.Generator, rows: int) -> Stream:
    time, source = regular(rng, rows)
    return time, stalled(time, time + lognormal(rng, rows, 0.1), source, rng, 300, 2), source


def fast_stalls(rng: np.random.Generator, rows: int) -> Stream:
    """A stall holds a hundred events; the twenty sources have one every six seconds."""
    time, source = regular(rng, rows, period=0.05)
    return time, stalled(time, time + lognormal(rng, rows, 0.08), source, rng, 120, 4), source


def poisson_stalls(rng: np.random.Generator, rows: int) -> Stream:
    time, source = poisson(rng, rows)
    return time, stalled(time, time + lognormal(rng, rows, 0.1), source, rng, 300, 2), source


def heads_of_line(rng: np.random.Generator, rows: int) -> Stream:
    """Stalls of two seconds, all alike."""
    time, source = poisson(rng, rows, rate=20.0)
    arrival = time + lognormal(rng, rows, 0.1, 0.3)
    for k in range(10):
        at = 0.0
        while at < time[-1]:
            at += rng.exponential(200)
            held = (source == k) & (arrival > at) & (arrival < at + 2)
            arrival[held] = at + 2
    return time, in_order(time, arrival, source), source


def outages(rng: np.random.Generator, rows: int) -> Stream:
    """Everything is held for up to a minute, ten times, and then delivered at once."""
    time, source = poisson(rng, rows)
    arrival = in_order(time, time + lognormal(rng, rows, 0.1), source)
    for at in rng.uniform(0.02, 1, 10) * time[-1]:
        end = at + rng.uniform(10, 60)
        arrival[(arrival > at) & (arrival < end)] = end
    return time, arrival, source


def mixed_rates(rng: np.random.Generator, rows: int) -> Stream:
    """Six sources, three of them a thousandth as busy."""
    share = np.array([1, 1, 1, 0.001, 0.001, 0.001])
    time, source = poisson(rng, rows)
    source = rng.choice(6, rows, p=share / share.sum())
    return time, in_order(time, time + lognormal(rng, rows, 0.1), source), source


def flushes(rng: np.random.Generator, rows: int) -> Stream:
    """Forwarders that send what they have every 10 to 60 seconds."""
    time, source = poisson(rng, rows, 8, 50.0)
    period = rng.uniform(10, 60, 8)[source]
    sent = np.ceil(time / period + source / 8) * period
    return time, in_order(time, sent + lognormal(rng, rows, 0.2), source), source


def polls(rng: np.random.Generator, rows: int) -> Stream:
    """Six hundred stations measure at the full hour and are asked during the hour after it."""
    stations = 600
    hour, source = np.arange(rows) // stations, np.arange(rows) % stations
    turn = rng.uniform(0, 3600, stations)[source]
    return hour * 3600.0, hour * 3600 + turn + rng.exponential(60, rows), source


def churn(rng: np.random.Generator, rows: int) -> Stream:
    """Sources live for a fiftieth of the stream each, thirty at a time."""
    time, source = poisson(rng, rows, 30)
    life = time[-1] / 50
    generation = np.floor(time / life + source / 30)
    number = (source + 30 * generation).astype(np.int64)
    source = np.unique(number, return_inverse=True)[1].astype(np.int64)
    return time, in_order(time, time + lognormal(rng, rows, 0.1), source), source


def receiver_behind(rng: np.random.Generator, rows: int) -> Stream:
    time, source = poisson(rng, rows, 16, 1000.0)
    arrival = in_order(time, time + lognormal(rng, rows, 0.003, 0.8), source)
    return time, arrival - 1.27, source


def clock_behind(rng: np.random.Generator, rows: int) -> Stream:
    """One source's clock is two and a half years behind."""
    time, arrival, source = kept(rng, rows)
    return np.where(source == WRONG, time - 8e7, time), arrival, source


def days_late(rng: np.random.Generator, rows: int) -> Stream:
    time, source = poisson(rng, rows, 50, 1 / 600)
    return time, time + np.exp(rng.normal(8, 2.0, rows)), source


def gps(rng: np.random.Generator, rows: int) -> Stream:
    """Vehicles with a fix every one to ten seconds; what a tunnel holds comes after it."""
    period = rng.uniform(1, 10, 40)
    span = rows / np.sum(1 / period)
    parts = []
    for k, every in enumerate(period):
        fixes = np.arange(rng.uniform(0, every), 1.01 * span, every)
        fixes += rng.uniform(-0.05, 0.05, len(fixes)) * every
        parts.append((fixes, np.full(len(fixes), k)))
    time, source = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(time)[:rows]
    time, source = time[order], source[order]
    return time, stalled(time, time + lognormal(rng, rows, 0.8, 0.6), source, rng, 600, 60), source


def whole_hours(rng: np.random.Generator, rows: int) -> Stream:
    """Two hundred stations report every ten minutes; one row in fifty is late by whole hours."""
    turn = np.arange(rows)
    time, source = turn // 200 * 600.0, turn % 200
    hours = rng.geometric(0.5, rows) * (rng.random(rows) < 0.02)
    return time, time + lognormal(rng, rows, 30, 0.7) + 3600.0 * hours, source


def commits(rng: np.random.Generator, rows: int) -> Stream:
    """Authors, few of them busy, who push hours to days of work at once."""
    share = rng.pareto(1.2, 300) + 0.05
    time = np.sort(rng.uniform(0, 3e8, rows))
    source = rng.choice(300, rows, p=share / share.sum())
    arrival = time.copy()
    for k in np.unique(source):
        every = np.exp(rng.normal(10.5, 1.3))
        pushes = np.cumsum(rng.exponential(every, int(4e8 / every) + 10))
        mine = np.flatnonzero(source == k)
        later = np.minimum(np.searchsorted(pushes, time[mine]), len(pushes) - 1)
        arrival[mine] = np.maximum(pushes[later], time[mine]) + rng.uniform(0, 2, len(mine))
    return time, arrival, source


def phones(rng: np.random.Generator, rows: int) -> Stream:
    """Two thousand phones; one in ten has a network only every two hours."""
    time, source = np.sort(rng.uniform(0, 3 * 86_400, rows)), rng.integers(0, 2000, rows)
    arrival = time + lognormal(rng, rows, 1.0, 1.0)
    phase = rng.uniform(0, 7200, 2000)[source]
    away = (rng.random(2000) < 0.1)[source]
    next_network = np.ceil((time + phase) / 7200) * 7200 - phase + rng.uniform(0, 5, rows)
    return time, in_order(time, np.where(away, next_network, arrival), source), source


def partitions(rng: np.random.Generator, rows: int) -> Stream:
    """Three partitions of a topic; the reader of one falls behind and catches up."""
    time, source = poisson(rng, rows, 3, 200.0)
    lag = np.abs(np.cumsum(rng.normal(0, 0.02, rows)))
    arrival = time + lognormal(rng, rows, 0.02) + np.where(source == 1, lag, 0)
    return time, in_order(time, arrival, source), source


def plant(rng: np.random.Generator, rows: int) -> Stream:
    """Twelve radio nodes, five events a second each, and now and then seconds of silence."""
    time, source = regular(rng, rows, 12)
    return time, stalled(time, time + lognormal(rng, rows, 0.05, 0.4), source, rng, 400, 6), source


def one_source(rng: np.random.Generator, rows: int) -> Stream:
    time, source = poisson(rng, rows, 1, 50.0)
    return time, time + lognormal(rng, rows, 0.1, 0.8), source


def archive(rng: np.random.Generator, rows: int) -> Stream:
    """Five thousand repositories, few of them busy, in whole seconds; one row in 200 is slow."""
    time = np.sort(rng.uniform(0, 2 * 86_400, rows))
    share = 1 / np.arange(1, 5001) ** 1.1
    source = rng.choice(5000, rows, p=share / share.sum())
    lag = rng.exponential(300, rows) * (rng.random(rows) < 0.005)
    return np.floor(time), np.floor(time + lognormal(rng, rows, 2.0, 0.7) + lag), source


def sessions(rng: np.random.Generator, rows: int) -> Stream:
    """Users of an app, who send every half minute; one session in fifty is sent hours later."""
    count, each = rows // 8, 12
    begin = np.sort(rng.uniform(0, 2 * 86_400, count))
    length = rng.exponential(120, count)
    hours = rng.exponential(6 * 3600, count)
    offline = rng.random(count) < 0.02
    user = rng.integers(0, 20_000, count)
    of = np.repeat(np.arange(count), each)
    since = rng.uniform(0, 1, len(of)) * length[of]
    sent = np.minimum(np.ceil(since / 30) * 30, length[of] + 1) + rng.exponential(0.3, count)[of]
    arrival = begin[of] + np.where(offline[of], (length + hours)[of], np.maximum(sent, since))
    kept = np.sort(np.argsort(arrival, kind="stable")[:rows])  # it ends while all goes on
    names = np.unique(user[of][kept], return_inverse=True)[1]
    return (begin[of] + since)[kept], arrival[kept], names.astype(np.int64)


def copies(rng: np.random.Generator, rows: int) -> Stream:
    """Ten senders, a batch every five seconds; one batch in ten is sent again within half a minute.
    """
    time, source = poisson(rng, rows)
    turn = np.ceil(time / 5).astype(np.int64)
    arrival = turn * 5 + source * 0.01
    again = (rng.random((10, turn[-1] + 1)) < 0.1)[source, turn]
    later = rng.uniform(1, 30, (10, turn[-1] + 1))[source, turn]
    time, source = np.append(time, time[again]), np.append(source, source[again])
    arrival = np.append(arrival, (arrival + later)[again])
    kept = np.argsort(arrival, kind="stable")[:rows]
    return time[kept], arrival[kept], source[kept]


def shifts(rng: np.random.Generator, rows: int) -> Stream:
    """Vehicles that report every half minute for some hours, are polled, and lose the network."""
    span = rows * 30 / 120
    begin = rng.uniform(-4 * 3600, span, int(120 * (span + 4 * 3600) / (6 * 3600)) + 1)
    end = begin + rng.uniform(3, 9, len(begin)) * 3600
    parts = [np.arange(max(b, 0) + rng.uniform(0, 30), max(e, 60), 30.0)
             for b, e in zip(begin, end, strict=True)]
    time = np.concatenate(parts)
    source = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    time += rng.uniform(-1, 1, len(time))
    order = np.argsort(time)[:rows]
    time, source = time[order], np.unique(source[order], return_inverse=True)[1]
    sent = stalled(time, time + lognormal(rng, len(time), 4, 0.6), source, rng, 5400, 60)
    return np.floor(time), np.ceil(sent / 15) * 15, source


KINDS: dict[str, Kind] = {kind.__name__: kind for kind in (
    swapped, kept, steady, heavy, heavy_heads, steps, ramp, bursts, daily, regular_stalls,
    fast_stalls, poisson_stalls, heads_of_line, outages, mixed_rates, flushes, polls, churn,
    receiver_behind, clock_behind, days_late, gps, whole_hours, commits, phones, partitions, plant,
    one_source, archive, sessions, copies, shifts)}


def events_of(name: str, seed: int, rows: int) -> Events:
    """One stream in arrival order."""
    time, arrival, source = KINDS[name](np.random.default_rng(seed), rows)
    order = np.argsort(arrival, kind="stable")
    moments = [(x[order] * 1e6).astype(np.int64) + START for x in (time, arrival)]
    names = tuple(f"s{k}" for k in range(int(source.max()) + 1))
    return Events(name, *moments, np.zeros(rows, np.int64), source[order].astype(np.int64),
                  None, names, 0)


def counted(events: Events) -> NDArray[np.bool_]:
    """The rows that the promise is about: not those of a source whose clock is wrong."""
    if events.name == clock_behind.__name__:
        return np.asarray(events.source != WRONG)
    return np.ones(len(events), bool)
