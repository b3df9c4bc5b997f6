"""Figures 6 and 7 of paper 2, and Algorithm 7 in three readings: what the size of a block does."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import mean

from slackwater.correlate.replay import Measured
from slackwater.evaluate import pictures
from slackwater.papers.correlation.streams import Case, arrivals, measure
from slackwater.papers.outcome import Fact, Outcome, claim, write_table

__all__ = ["EXPERIMENTS"]

_READINGS = {"lookup-as-printed": "as printed", "lookup-as-told": "as its text tells",
             "lazy-lookup": "ours"}
_TIMED = ("lazy", "lazy-lookup")  # the other readings are compared by their hits alone
Rows = list[tuple[str, float, int, Measured]]


@cache
def _measured(quick: bool) -> Rows:
    stream = arrivals(500, 6 if quick else 30)
    blocks = (200, 400, 600) if quick else tuple(range(200, 2001, 200))
    cases = {(a, ct, block): Case(stream, a, ct=ct, block=block)
             for a in ("lazy", *_READINGS) for ct in (0.8, 0.5) for block in blocks}
    timed = {name: case for name, case in cases.items() if name[0] in _TIMED}
    found = measure(timed, 1 if quick else 4)
    found |= measure({name: case for name, case in cases.items() if name not in timed}, 1)
    return [(*name, found[name]) for name in cases]


def _table(out: Path, name: str, rows: Rows) -> Path:
    return write_table(out / f"{name}.csv",
                       ["algorithm", "confidence", "block", "seconds", "probes", "lookup_hits",
                        "hit_ratio", "pairs"],
                       [[a, ct, b, m.seconds, m.probes, m.lookup_hits, m.hit_ratio, m.pairs]
                        for a, ct, b, m in rows])


def figure6(out: Path, quick: bool) -> Outcome:
    """Execution times."""
    rows = [r for r in _measured(quick) if r[0] in _TIMED]
    files = [_table(out, "corr-fig6", rows)]
    with pictures.figure(pictures.WIDE, 3.2) as picture:
        left, right = picture.subplots(1, 2)
        for k, algorithm in enumerate(_TIMED):
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
    lazy = {b: m for a, ct, b, m in rows if (a, ct) == ("lazy", 0.8)}
    ends = [mean(lazy[b].seconds for b in some) for some in ((200, 400, 600), (1600, 1800, 2000))]
    probes = [lazy[b].probes for b in (200, 1000, 2000)]
    saved = probes[0] - probes[2]
    plain = measure({"simple": Case(arrivals(500, 30), "simple")}, 3)["simple"]
    each = plain.seconds / plain.probes  # with all that goes with it, so at most this
    return Outcome(files, [
        claim("probabilities computed with blocks of 200, 1000, 2000 (thousands), ct = 0.8",
              "(the text has times alone)", ", ".join(f"{p / 1e3:,.0f}" for p in probes),
              probes[0] - probes[1] > probes[1] - probes[2] > 0),
        claim("mean time of the three smallest blocks, of the three largest (ms), ct = 0.8",
              "“tend to decrease, however, the differences are diminishing”",
              ", ".join(f"{1e3 * e:.1f}" for e in ends), ends[1] < ends[0],
              f"larger blocks save {saved / 1e3:,.0f} thousand probabilities, at most "
              f"{1e9 * each:.1f} ns each or {1e3 * each * saved:.1f} ms in all; the "
              f"{lazy[2000].pairs / 1e6:.1f} million pairs, which no block size saves, take the "
              "rest"),
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
    settled = [max(late) - min(late) for ct in (0.8, 0.5)
               if (late := [ratio[ct, b] for b in blocks if b >= 1200])]
    facts = [
        claim("hit ratio with the smallest and the largest block, ct = 0.8",
              "“gradually improved”, “not much changing”",
              f"{ratio[0.8, blocks[0]]:.3f}, {ratio[0.8, blocks[-1]]:.3f}", rises),
        claim("the greatest step", "from 200 to 400",
              "; ".join(f"{a} to {b}" for a, b in steps), all(s == (200, 400) for s in steps)),
    ]
    if settled:
        facts.append(claim("range of the hit ratio from blocks of 1,200 on, ct = 0.8; 0.5",
                           "“stabilized”", "; ".join(f"{s:.3f}" for s in settled),
                           max(settled) < 0.02))
    return Outcome(files, facts)


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
        claim("pairs found", "all readings find the same",
              ", ".join(f"{m.pairs:,}" for m in at.values()), same),
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


EXPERIMENTS = {"corr-fig6": figure6, "corr-fig7": figure7, "corr-algorithm7": algorithm7}
"""By the names of the catalogue."""
