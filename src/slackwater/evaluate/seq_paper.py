"""The experiments of paper 5: Li, Liu, Ding, Rundensteiner, Mani, ICDCS Workshops 2007.

All on ``SEQ(A, B, C, D, E, F)`` without a key, one event a second of a type drawn from the six, a
share of them delayed by up to K.  The matcher runs as in the paper, event by event in the order of
arrival (``sort_batches=False``); its times are processor times of compiled code.

- `seq-fig6`: what AIS-CLOCK saves in building the stacks (inserting, setting and resetting RIPs),
  and in all.
- `seq-fig7`: what the stack partition (divider) saves in sequences built, that is, in the memory
  for intermediate results.  The paper gives ((K + W) / W)^S as the order of the ratio.
- `seq-fig8`: what it saves in time.
- `seq-fig9`: what being ready for disorder costs on ordered input, against a matcher with no slack,
  which needs to hold nothing beyond the window.

Building the stacks alone, AIS-CLOCK saves up to 4 %, where the paper sees 8 to 43: without it an
insertion still finds its place by bisection, whose first look is at the top of the stack, and looks
at RIPs from the top of the next stack down to the event's time only.  What the clock does save is
construction that is bound to find nothing, so the time for matching is drawn beside it.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.events import Roles
from slackwater.evaluate import pictures
from slackwater.pattern import Component, Match
from slackwater.pattern.live import Live
from slackwater.pattern.loop import build
from slackwater.pattern.schedule import schedule
from slackwater.query.event_query import event_query

__all__ = ["EXPERIMENTS"]

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
TYPES = "ABCDEF"
WINDOW = 20
ROLES = Roles("time", type="type", unit="us")


def stream(events: int, share: float, slack: int, seed: int = 5) -> pa.RecordBatch:
    """Events in arrival order, a share of them delayed by up to `slack` seconds."""
    chance = np.random.default_rng(seed)
    times = START + np.arange(events) * SECOND
    delay = np.where(chance.random(events) < share,
                     chance.integers(SECOND, slack * SECOND + 1, events), 0)
    order = np.argsort(times + delay, kind="stable")
    kinds = pa.array(list(TYPES)).take(pa.array(chance.integers(0, len(TYPES), events)))
    return pa.record_batch({"time": times[order], "type": kinds})


def out_of_order(rows: pa.RecordBatch) -> float:
    """The share of events that come after a later one, in percent."""
    times = rows["time"].to_numpy()
    return float((times < np.maximum.accumulate(times)).mean() * 100)


def matcher(slack: int, **options: Any) -> Match:
    """The matcher of the paper's query."""
    parts = ", ".join(f"{t} {t.lower()}" for t in TYPES)
    return event_query(f"EVENT SEQ({parts}) WITHIN {WINDOW} seconds", ROLES, slack=f"{slack}s",
                       sort_batches=False, max_matches=10**9, **options)


def run_time(kernel: Match, rows: pa.RecordBatch, repeats: int) -> tuple[float, int]:
    """Processor seconds (the best of some runs), and how many sequences were built."""
    best, built = float("inf"), 0
    for _ in range(repeats):
        logic = kernel.start()
        begin = time.process_time()
        for at in range(0, rows.num_rows, 10_000):
            built = logic.push(rows.slice(at, 10_000)).notes["built"]
        best = min(best, time.process_time() - begin)
    return best, built


def in_turns(kernels: dict[str, Match], rows: pa.RecordBatch, repeats: int) -> dict[str, float]:
    """`run_time` of some matchers in turns, so that a busy machine disturbs all alike."""
    best = dict.fromkeys(kernels, float("inf"))
    for _ in range(repeats):
        for name, kernel in kernels.items():
            best[name] = min(best[name], run_time(kernel, rows, 1)[0])
    return best


def stack_times(rows: pa.RecordBatch, repeats: int) -> tuple[float, float]:
    """Processor seconds for building the stacks alone, without and with AIS-CLOCK.

    Measured in turns, so that a busy machine disturbs both alike; the best of some runs.
    """
    plan = schedule(tuple(Component(t.lower(), (t,)) for t in TYPES), (), [],
                    window=WINDOW * SECOND, strict=False, prune=True, limit=1)
    n = rows.num_rows
    none = np.zeros(n, np.int64)
    mask = 1 << np.array([TYPES.index(t) for t in rows["type"].to_pylist()], np.int64)
    best = [float("inf"), float("inf")]
    for run in range(2 * repeats):
        live = Live(plan, 0)
        live.append(time=rows["time"].to_numpy(), seq=none, n=np.arange(n), stream=none, part=none,
                    mask=mask, value=np.zeros((0, n), np.int64), known=np.zeros((0, n), bool),
                    payload=rows)
        stacks, order = live.reserve(1, 0), np.arange(n)
        begin = time.process_time()
        build(order, live["part"], live["mask"], plan, live.events(), stacks, run % 2 == 1)
        best[run % 2] = min(best[run % 2], time.process_time() - begin)
    return best[0], best[1]


def fig6(out: Path, quick: bool) -> list[Path]:
    """Time for building the stacks, and for matching, with and without AIS-CLOCK."""
    sizes = [2_000, 4_000] if quick else [20_000, 40_000, 60_000, 80_000, 100_000]
    shares, slack, repeats = (0.9, 0.3), 100, 2 if quick else 6
    kernels = {"without": matcher(slack, use_clock=False), "with": matcher(slack)}
    warm = stream(1000, 0.5, slack)
    stack_times(warm, 1)
    in_turns(kernels, warm, 1)
    rows: list[dict[str, Any]] = []
    for share in shares:
        for size in sizes:
            data = stream(size, share, slack)
            off, on = stack_times(data, 6 * repeats)
            match = in_turns(kernels, data, repeats)
            rows.append({"events": size, "delayed_pct": share * 100,
                         "out_of_order_pct": round(out_of_order(data), 1),
                         "stacks_without_ms": off * 1e3, "stacks_with_ms": on * 1e3,
                         "stacks_gain_pct": (1 - on / off) * 100,
                         "match_without_ms": match["without"] * 1e3,
                         "match_with_ms": match["with"] * 1e3,
                         "match_gain_pct": (1 - match["with"] / match["without"]) * 100})
    files = [_write(rows, out / "seq-fig6.csv")]
    with pictures.figure(pictures.WIDE, 2.8) as picture:
        axes = picture.subplots(1, 2, sharey=True)
        for n, (ax, share) in enumerate(zip(axes, shares, strict=True)):
            some = [r for r in rows if r["delayed_pct"] == share * 100]
            x = [r["events"] / 1000 for r in some]
            for what, line in (("match", "-"), ("stacks", "--")):
                for i, clock in enumerate(("without", "with")):
                    label = f"{clock} AIS-CLOCK" if what == "match" else None
                    ax.plot(x, [r[f"{what}_{clock}_ms"] for r in some], line, label=label,
                            **pictures.style_of(i))
            for r, position in zip(some, x, strict=True):
                ax.annotate(f"{-r['match_gain_pct']:+.0f} %", (position, r["match_with_ms"]),
                            textcoords="offset points", xytext=(0, -11), ha="center", fontsize=7)
            ax.set_title(f"({'ab'[n]}) {some[-1]['out_of_order_pct']:.0f} % out of order",
                         loc="left")
            ax.set_xlabel("events (thousands)")
            ax.margins(x=0.08)
            ax.set_ylim(bottom=0)
        axes[0].set_ylabel("processor time (ms);\ndashed: building the stacks alone")
        axes[0].legend(loc="upper left")
    return files + pictures.save(picture, out / "seq-fig6")


def _partition(quick: bool) -> list[dict[str, Any]]:
    """With and without the divider, over the slack and the share of in-order events."""
    rows = []
    slacks = (5, 20) if quick else (5, 10, 20, 30, 40)
    size, repeats = (400, 1) if quick else (10_000, 2)
    run_time(matcher(5), stream(200, 0.5, 5), 1)
    for share in (0.1, 0.5, 0.9):
        for slack in slacks:
            data = stream(size, share, slack)
            off, built_off = run_time(matcher(slack, use_partition=False), data, repeats)
            on, built_on = run_time(matcher(slack), data, repeats)
            rows.append({"slack_s": slack, "delayed_pct": share * 100,
                         "out_of_order_pct": round(out_of_order(data), 1),
                         "built_without": built_off, "built_with": built_on,
                         "memory_ratio": built_off / max(built_on, 1),
                         "time_without_ms": off * 1e3, "time_with_ms": on * 1e3,
                         "time_ratio": off / on})
    return rows


def fig7(out: Path, quick: bool) -> list[Path]:
    """How many sequences are built, with and without the stack partition."""
    return _gain(_partition(quick), out / "seq-fig7", "built_without", "built_with", "memory_ratio",
                 "sequences built", theory=True)


def fig8(out: Path, quick: bool) -> list[Path]:
    """The time it takes, with and without the stack partition."""
    return _gain(_partition(quick), out / "seq-fig8", "time_without_ms", "time_with_ms",
                 "time_ratio", "processor time (ms)", theory=False)


def _gain(rows: list[dict[str, Any]], path: Path, without: str, with_: str, ratio: str, label: str,
          *, theory: bool) -> list[Path]:
    files = [_write(rows, path.with_suffix(".csv"))]
    shares = sorted({r["delayed_pct"] for r in rows})
    with pictures.figure(pictures.WIDE, 2.8) as picture:
        left, right = picture.subplots(1, 2)
        for n, share in enumerate(shares):
            some = [r for r in rows if r["delayed_pct"] == share]
            x = [r["slack_s"] for r in some]
            name = f"{some[-1]['out_of_order_pct']:.0f} % out of order"
            look = pictures.style_of(n)
            left.plot(x, [r[without] for r in some], linestyle="--", **look)
            left.plot(x, [r[with_] for r in some], label=name, **look)
            right.plot(x, [r[ratio] for r in some], label=name, **look)
        if theory:
            k = np.linspace(min(x), max(x), 50)
            right.plot(k, ((k + WINDOW) / WINDOW) ** (len(TYPES) - 1), color="#999999", zorder=0,
                       label="((K + W) / W)$^{S−1}$")
        for ax, title in ((left, "(a) dashed: without the divider"), (right, "(b) gain")):
            ax.set_yscale("log")
            if ax is right:
                ax.yaxis.set_major_formatter("{x:g}")
                ax.yaxis.set_minor_formatter(lambda x, _: f"{x:g}" if f"{x:g}"[0] in "25" else "")
            ax.set_xlabel("slack K (s)")
            ax.set_title(title, loc="left")
        left.set_ylabel(label)
        right.set_ylabel("without ÷ with")
        right.legend(loc="upper left")
    return files + pictures.save(picture, path)


def fig9(out: Path, quick: bool) -> list[Path]:
    """Ordered input: ready for disorder against relying on order."""
    sizes = [2_000, 4_000] if quick else [20_000, 40_000, 60_000, 80_000, 100_000]
    slack, repeats = 100, 2 if quick else 8
    rows: list[dict[str, Any]] = []
    kernels = {"ordered": matcher(0), "ready": matcher(slack)}
    for kernel in kernels.values():
        run_time(kernel, stream(1000, 0.0, slack), 1)
    for size in sizes:
        data = stream(size, 0.0, slack)
        best = in_turns(kernels, data, repeats)
        rows.append({"events": size, "ordered_ms": best["ordered"] * 1e3,
                     "ready_ms": best["ready"] * 1e3,
                     "overhead_pct": (best["ready"] / best["ordered"] - 1) * 100})
    files = [_write(rows, out / "seq-fig9.csv")]
    with pictures.figure(pictures.WIDE / 2 + 0.6, 2.8) as picture:
        ax = picture.subplots()
        x: NDArray[np.float64] = np.array([r["events"] / 1000 for r in rows])
        width = (x[1] - x[0]) * 0.35
        for i, (name, label) in enumerate((("ordered_ms", "relies on order"),
                                           ("ready_ms", f"ready for {slack} s of disorder"))):
            ax.bar(x + (i - 0.5) * width, [r[name] for r in rows], width, label=label,
                   color=pictures.COLOURS[i])
        for r, position in zip(rows, x, strict=True):
            ax.annotate(f"{r['overhead_pct']:+.1f} %", (position, max(r["ready_ms"],
                                                                      r["ordered_ms"])),
                        textcoords="offset points", xytext=(0, 3), ha="center", fontsize=7)
        ax.set_xticks(x)
        ax.set_xlabel("events, all in order (thousands)")
        ax.set_ylabel("processor time (ms)")
        ax.legend(loc="upper left")
        ax.grid(axis="x", visible=False)
        ax.margins(y=0.15)
    return files + pictures.save(picture, out / "seq-fig9")


def _write(rows: Sequence[dict[str, Any]], path: Path) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({k: round(v, 4) if isinstance(v, float) else v for k, v in r.items()}
                         for r in rows)
    return path


EXPERIMENTS: dict[str, Callable[[Path, bool], list[Path]]] = {
    "seq-fig6": fig6, "seq-fig7": fig7, "seq-fig8": fig8, "seq-fig9": fig9,
}
"""By the name under which `slackwater reproduce` knows them."""
