"""Figures 6 and 7 of paper 2, and Algorithm 7 in three readings: what the size of a block does."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path

from slackwater.correlate.replay import Measured
from slackwater.evaluate import pictures
from slackwater.papers.correlation.streams import arrivals, measure
from slackwater.papers.outcome import Fact, Outcome, write_table

__all__ = ["EXPERIMENTS"]

_READINGS = {"lookup-as-printed": "as printed", "lookup-as-told": "as its text tells",
             "lazy-lookup": "ours"}
Rows = list[tuple[str, float, int, Measured]]


@cache
def _measured(quick: bool) -> Rows:
    stream = arrivals(500, 6 if quick else 30)
    blocks = (200, 400, 600) if quick else tuple(range(200, 2001, 200))
    return [(algorithm, ct, block, measure(stream, algorithm, ct=ct, block=block,
                                           repeat=1 if quick else 3))
            for algorithm in ("lazy", *_READINGS) for ct in (0.8, 0.5) for block in blocks]


def _table(out: Path, name: str, rows: Rows) -> Path:
    return write_table(out / f"{name}.csv",
                       ["algorithm", "confidence", "block", "seconds", "probes", "lookup_hits",
                        "hit_ratio", "pairs"],
                       [[a, ct, b, m.seconds, m.probes, m.lookup_hits, m.hit_ratio, m.pairs]
                        for a, ct, b, m in rows])


def figure6(out: Path, quick: bool) -> Outcome:
    """Execution times."""
    rows = [r for r in _measured(quick) if r[0] in ("lazy", "lazy-lookup")]
    files = [_table(out, "corr-fig6", rows)]
    with pictures.figure(pictures.WIDE, 3.2) as picture:
        left, right = picture.subplots(1, 2)
        for k, algorithm in enumerate(("lazy", "lazy-lookup")):
            for ct, dash in ((0.8, "-"), (0.5, "--")):
                mine = [(b, m) for a, c, b, m in rows if (a, c) == (algorithm, ct)]
                look = pictures.style_of(k)
                label = f"{algorithm}, ct = {ct}"
                left.plot([b for b, _ in mine], [1e3 * m.seconds for _, m in mine], dash,
                          label=label, **look)
                right.plot([b for b, _ in mine], [m.probes / 1e3 for _, m in mine], dash, **look)
        left.set(xlabel="tuples in a block", ylabel="execution time (ms)", ylim=(0, None),
                 title="(a) time")
        right.set(xlabel="tuples in a block", ylabel="probabilities computed (thousands)",
                  ylim=(0, None), title="(b) probes")
        picture.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    files += pictures.save(picture, out / "corr-fig6")
    if quick:
        return Outcome(files)
    took = {b: m.seconds for a, ct, b, m in rows if (a, ct) == ("lazy", 0.8)}
    falls = took[2000] < took[200] and took[2000] <= 1.05 * min(took.values())
    megabytes = next(m.pairs for a, _, b, m in rows if (a, b) == ("lazy", 2000)) * 16 / 1e6 / (
        2 * 500 * 30 / 2000)
    return Outcome(files, [
        Fact("time with blocks of 200, 1000, 2000 (ms)", "keeps falling, ever less",
             ", ".join(f"{1e3 * took[b]:.0f}" for b in (200, 1000, 2000)), falls,
             "" if falls else
             f"a block of 2000 hands over {megabytes:.0f} MB of pairs at once, more than the "
             "processor's cache holds, where the paper's machine was bound by its probabilities; "
             "the probabilities computed, beside it, do keep falling"),
    ])


def figure7(out: Path, quick: bool) -> Outcome:
    """Hit ratio of the look-up."""
    rows = [r for r in _measured(quick) if r[0] == "lazy-lookup"]
    files = [_table(out, "corr-fig7", rows), *_hits(out / "corr-fig7", rows,
                                                    {"lazy-lookup": "lazy with look-up"})]
    ratio = {(ct, b): m.hit_ratio for _, ct, b, m in rows}
    blocks = sorted({b for _, b in ratio})
    rises = all(ratio[ct, blocks[-1]] >= ratio[ct, blocks[0]] for ct in (0.8, 0.5))
    steps = [max((ratio[ct, b] - ratio[ct, a], (a, b)) for a, b in pairwise(blocks))[1]
             for ct in (0.8, 0.5)]
    return Outcome(files, [
        _claim("hit ratio with the smallest and the largest block, ct = 0.8",
               "“gradually improved”, “not much changing”", rises,
               f"{ratio[0.8, blocks[0]]:.3f}, {ratio[0.8, blocks[-1]]:.3f}", "see the data"),
        _claim("the greatest step", "from 200 to 400", all(s == (200, 400) for s in steps),
               "; ".join(f"{a} to {b}" for a, b in steps), "chance of the stream"),
    ])


def algorithm7(out: Path, quick: bool) -> Outcome:
    """The look-up as printed, as told, and ours: hit ratios."""
    rows = [r for r in _measured(quick) if r[0] in _READINGS]
    files = [_table(out, "corr-algorithm7", rows), *_hits(out / "corr-algorithm7", rows, _READINGS)]
    block = 400 if quick else 1000
    at = {a: m for a, ct, b, m in rows if (ct, b) == (0.8, block)}
    same = len({m.pairs for m in at.values()}) == 1
    return Outcome(files, [
        Fact(f"hit ratio with blocks of {block}, ct = 0.8: printed; told; ours", None,
             "; ".join(f"{at[a].hit_ratio:.3f}" for a in _READINGS)),
        _claim("pairs found", "all readings find the same", same,
               ", ".join(f"{m.pairs:,}" for m in at.values()), "see the data"),
    ])


def _hits(path: Path, rows: Rows, names: dict[str, str]) -> list[Path]:
    with pictures.figure(pictures.WIDE * 0.75, 3.2) as picture:
        axes = picture.subplots()
        for k, (algorithm, label) in enumerate(names.items()):
            for ct, dash in ((0.8, "-"), (0.5, "--")):
                points = [(b, m.hit_ratio) for a, c, b, m in rows if (a, c) == (algorithm, ct)]
                axes.plot(*zip(*points, strict=True), dash, label=f"{label}, ct = {ct}",
                          **pictures.style_of(k))
        axes.set(xlabel="tuples in a block", ylabel="hit ratio of the look-up", ylim=(0, 1))
        picture.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return pictures.save(picture, path)


def _claim(what: str, printed: str, holds: bool, ours: str, why: str) -> Fact:
    return Fact(what, printed, ours, holds, "" if holds else why)


EXPERIMENTS = {"corr-fig6": figure6, "corr-fig7": figure7, "corr-algorithm7": algorithm7}
"""By the names of the catalogue."""
