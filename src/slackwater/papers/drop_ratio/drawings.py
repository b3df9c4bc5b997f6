"""Figures 1 to 4 of paper 4, drawn from small runs of its methods."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from slackwater.core.events import Roles
from slackwater.evaluate import pictures
from slackwater.papers.drawing import arrow, bare, box, finish, lines_of_text
from slackwater.papers.drop_ratio.streams import RATE, START, paper_method, stream
from slackwater.papers.outcome import Outcome, claim
from slackwater.reorder import DropRatio, MaxDelay, Reorder
from slackwater.reorder.policies.drop_ratio_paper import buffer_size

__all__ = ["EXPERIMENTS"]

_ROLES = Roles("time", "arrival", unit="us")


def figure1(out: Path, quick: bool) -> Outcome:
    """The adaptive method's max delay over the delays it sees."""
    rng = np.random.default_rng(4)
    delay = np.abs(rng.normal(300, 60, 120))
    delay[[20, 80]] = 700, 620
    policy = MaxDelay(n=20)
    before, after = np.empty(120), np.empty(120)
    policy.buffers(delay * 1000, np.zeros(120, np.int64),
                   np.array([policy.initial_state()], float), before, after)
    m = after / 1000
    with pictures.figure(pictures.WIDE, 2.4) as picture:
        axes = picture.subplots()
        axes.plot(delay, linestyle="none", marker="o", color="#8899aa", markersize=3,
                  label="delay of a tuple")
        axes.plot(m, color=pictures.COLOURS[1], drawstyle="steps-post", label="max delay m")
        axes.set(xlabel="arrivals (W = 20)", ylabel="ms", ylim=(0, None))
        picture.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    second = float(delay[21:41].max())
    expected = (700 + second) / 2
    holds = abs(float(m[40]) - expected) < 1e-6
    return finish(picture, out, "dratio-fig1", ["arrival", "delay_ms", "m_ms"],
                  [[i, float(d), float(x)] for i, (d, x) in enumerate(zip(delay, m, strict=True))],
                  [claim("m after W arrivals without a greater delay (ms)",
                        "(m1 + m2) / 2", f"{m[40]:.1f} = (700 + {second:.1f}) / 2", holds)])


def figure2(out: Path, quick: bool) -> Outcome:
    """Generation and arrival of a few tuples; and that arrivals are Poisson with the same rate."""
    batch = stream(3, 50_000, sigma=1.0)
    arrival = batch["arrival"].to_numpy()
    steady = arrival[(arrival >= START) & (arrival < START + 5_000_000)]
    gaps = np.diff(steady) / 1e6
    rate, spread = 1 / gaps.mean(), gaps.std() / gaps.mean()
    rows = batch.slice(int(np.searchsorted(arrival, START)), 2000)
    few = rows.take(pa.array(np.arange(0, 2000, 200)))
    with pictures.figure(pictures.WIDE, 2.2) as picture:
        axes = picture.subplots()
        for t, a in zip(few["time"].to_pylist(), few["arrival"].to_pylist(), strict=True):
            axes.plot([(t - START) / 1e6, (a - START) / 1e6], [1, 0], color="#8899aa",
                      linewidth=0.8, marker="o", markersize=3)
        axes.set_yticks([1, 0], ["generation T", "arrival U"])
        axes.set(xlabel="seconds")
    holds = abs(rate / RATE - 1) < 0.02 and abs(spread - 1) < 0.03
    return finish(picture, out, "dratio-fig2", ["time_us", "arrival_us"],
                  [[t - START, a - START] for t, a in zip(few["time"].to_pylist(),
                                                          few["arrival"].to_pylist(),
                                                          strict=True)],
                  [claim("rate of arrivals (1/s); deviation ÷ mean of their gaps",
                        f"Poisson with λ (Equation 3): {RATE}; 1", f"{rate:.0f}; {spread:.2f}",
                        holds)])


def figure3(out: Path, quick: bool) -> Outcome:
    """Buffer and estimator, with what is in them after two seconds of a stationary stream."""
    batch = stream(5, 20_000, sigma=1.0)
    arrival = batch["arrival"].to_numpy()
    end = int(np.searchsorted(arrival, START + 2_000_000))
    policy = paper_method(0.01)
    logic = Reorder(policy, _ROLES).start()
    held = logic.push(batch.slice(0, end)).notes["held"]
    n = buffer_size(2.3263, 1.0, 1 / RATE)
    with pictures.figure(pictures.WIDE, 2.2) as picture:
        axes = picture.subplots()
        bare(axes, 12, 4)
        box(axes, 1.3, 2.8, f"stream\n{RATE:,} tuples/s", width=2.2)
        arrow(axes, (2.5, 2.8), (4.2, 2.8))
        box(axes, 5.9, 2.8, f"buffer: cells of 1 ms\n{held:,} tuples held", width=3.2, height=1.0,
            colour="#fdf3dd")
        arrow(axes, (7.6, 2.8), (9.4, 2.8))
        box(axes, 10.6, 2.8, "window operator", width=2.2)
        box(axes, 5.9, 0.9, f"estimator: {policy.samples} samples\nn = {n:,} tuples", width=3.2,
            height=1.0, colour="#fdf3dd")
        arrow(axes, (1.3, 2.3), (4.2, 0.9), "every 20th")
        arrow(axes, (5.9, 1.45), (5.9, 2.25), "size")
    close = abs(held / n - 1) < 0.1
    return finish(picture, out, "dratio-fig3", ["what", "tuples"],
                  [["held", held], ["size by Equation 11", n]],
                  [claim("tuples held against Equation 11", float(n), float(held), close)])


def figure4(out: Path, quick: bool) -> Outcome:
    """Algorithm 1 over a dozen tuples: what becomes of each."""
    warm = [(10 * i, 10 * i + 50) for i in range(40)]
    tried = [(395, 460), (95, 461), (110, 462), (400, 463), (85, 464)]
    batch = pa.record_batch({"time": [START + 1000 * t for t, _ in warm + tried],
                             "arrival": [START + 1000 * a for _, a in warm + tried]})
    policy = DropRatio(0.3, literal=True, heartbeat="earliest", sample_every=1, estimate_every=30,
                       tick="1ms")
    logic = Reorder(policy, _ROLES).start()
    logic.push(batch.slice(0, len(warm)))
    rows = []
    for i, (t, a) in enumerate(tried):
        got = logic.push(batch.slice(len(warm) + i, 1))
        fate = "dropped: t < t1" if got.late.num_rows else "kept"
        rows.append([t, a, fate])
    text = "buffer of 30 tuples, 40 in order before\n\n   t     arrives   fate\n"
    text += "\n".join(f"{t:5} {a:9}    {fate}" for t, a, fate in rows)
    with pictures.figure(pictures.WIDE * 0.7, 1.8) as picture:
        lines_of_text(picture.subplots(), text)
    drops = [t for t, _, fate in rows if fate != "kept"]
    return finish(picture, out, "dratio-fig4", ["t", "arrival", "fate"], rows, [
        claim("tuples dropped, of 395, 95, 110, 400, 85", "those before the earliest one held",
             ", ".join(map(str, drops)), drops == [95, 85])],
        "DropRatio(literal=True, heartbeat=\"earliest\"): Algorithm 1 to the letter.")


EXPERIMENTS = {"dratio-fig1": figure1, "dratio-fig2": figure2, "dratio-fig3": figure3,
               "dratio-fig4": figure4}
"""By the names of the catalogue."""
