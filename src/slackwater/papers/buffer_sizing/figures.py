"""Figures 5 to 9 of paper 3: the algorithms on the recordings and on the simulated sets.

The recordings are not ours to ship: where ``SLACKWATER_RECORDINGS`` names a folder that has them,
they are used.  S-7 … S-10, D-4 and D-5 may be missing there: each figure says what stands in.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slackwater.core.errors import DataError
from slackwater.datasets import SIMULATED, Dataset, find_recordings, read_dataset, simulated
from slackwater.datasets.recordings import FOLDER
from slackwater.evaluate import evaluate, pictures
from slackwater.evaluate.metrics import Metrics
from slackwater.evaluate.run import run, usable_events
from slackwater.evaluate.scatter import heat_picture, scatter_picture
from slackwater.evaluate.sweep import sweep
from slackwater.evaluate.table import compare, write_csv
from slackwater.papers.buffer_sizing.traces import trace_picture
from slackwater.papers.outcome import UNEXPLAINED, Fact, Outcome, claim, close, write_table

__all__ = ["EXPERIMENTS"]

_SWEEPS = (("sba", "buffer"), ("bsttwa", "offset"), ("bsttda", "offset"))
_D = ("d-1", "d-2", "d-3", "d-4", "d-5")


def fig5(out: Path, quick: bool) -> Outcome:
    """What one parameter does to the events compensated and to the buffer time.

    On the S recordings as in the paper, else on the D ones, else on simulated sets that differ.
    """
    recorded = _recorded("s")
    datasets = recorded or _recorded("d") or [simulated(n) for n in ("g-1", "g-5", "g-7")]
    values = range(0, 2001, 500 if quick else 100)
    events = [usable_events(d) for d in datasets[: 1 if quick else None]]
    found = [(name, parameter, sweep(e, name, parameter, [f"{v}ms" for v in values]))
             for name, parameter in _SWEEPS for e in events]
    names = ", ".join(d.name.upper() for d in datasets)
    files = [_write_sweeps(found, values, out / "reorder-fig5.csv")]
    with pictures.figure(pictures.WIDE, 4.0) as picture:
        grid = picture.subplots(2, len(_SWEEPS), sharex=True, sharey="row")
        for column, (name, parameter) in enumerate(_SWEEPS):
            upper, lower = grid[0, column], grid[1, column]
            for n, points in enumerate(p for f, _, p in found if f == name):
                look = {"color": pictures.COLOURS[n % len(pictures.COLOURS)]}
                upper.plot(values, [m.not_compensated_pct for m in points],
                           label=points[0].dataset.upper(), **look)
                lower.plot(values, [m.mean_buffer_ms for m in points], **look)
            upper.set_title(f"({'abc'[column]}) {name.upper()}", loc="left")
            lower.set_title(f"({'def'[column]})", loc="left")
            kind = "buffer time" if parameter == "buffer" else parameter
            lower.set_xlabel(f"parameter: {kind} (ms)")
        # what matters happens below one percent, and nothing left is the aim: log with a zero
        grid[0, 0].set_yscale("symlog", linthresh=0.1, linscale=0.4)
        grid[0, 0].set_yticks([0, 0.1, 1, 10, 100], ["0", "0.1", "1", "10", "100"])
        grid[0, 0].set_ylim(bottom=-0.01)
        grid[0, 0].set_ylabel("not compensated (% of\nout-of-order events)")
        grid[1, 0].set_ylabel("mean buffer time (ms)")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        picture.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    falls = all(points[-1].not_compensated <= points[0].not_compensated for *_, points in found)
    rises = all((points[-1].mean_buffer_ms or 0) > (points[0].mean_buffer_ms or 0)
                for *_, points in found)
    fact = claim("a greater parameter compensates more and costs buffer time",
                "“each parameter influences the behaviour in a different way”",
                "yes, for all three algorithms" if falls and rises else "no", falls and rises)
    return Outcome(files + pictures.save(picture, out / "reorder-fig5"), [fact],
                   missing="" if recorded else f"S-7 … S-10; {names} stand in")


def fig6(out: Path, quick: bool) -> Outcome:
    """Overfitting against not compensated events on the D recordings."""
    datasets = _needed("d", "Fig. 6")[: 2 if quick else None]
    rows, files = _scatter("reorder-fig6", datasets, out)
    by = {(m.dataset, m.policy): m for m in rows}
    here = [d.name for d in datasets]
    gone = [n.upper() for n in _D if n not in here]
    facts = [
        _claim("KSLACK leaves few events late at nearly the greatest buffer",
               "“throughout a low number … nearly the highest” buffer",
               all(by[n, "kslack"].not_compensated <= 20
                   and _buffer(by[n, "kslack"]) == max(_buffer(m) for m in rows if m.dataset == n)
                   for n in here),
               [(n, by[n, "kslack"].not_compensated) for n in here]),
        _claim("BSTTD and BSTTDA leave fewer events late than SBA",
               "“throughout good results”; “preferable over a static buffer”",
               all(by[n, p].not_compensated < by[n, "sba"].not_compensated
                   for n in here for p in ("bsttd", "bsttda")),
               [(n, *(by[n, p].not_compensated for p in ("bsttd", "bsttda", "sba")))
                for n in here]),
        _claim("BSKF is below average", "“performance … is below average”",
               all(sorted((by[n, p].not_compensated for p in ("sba", "bstt", "bsttwa", "bsttd",
                                                              "bsttda", "bskf", "kslack")),
                          reverse=True).index(by[n, "bskf"].not_compensated) <= 2 for n in here),
               [(n, by[n, "bskf"].not_compensated) for n in here]),
    ]
    return Outcome(files, facts, note=f"On {', '.join(n.upper() for n in here)}.",
                   partly=f"{', '.join(gone)} (missing)" if gone else "")


def fig7(out: Path, quick: bool) -> Outcome:
    """Overfitting against not compensated events on the S recordings."""
    _, files = _scatter("reorder-fig7", _needed("s", "Fig. 7")[: 2 if quick else None], out)
    return Outcome(files)


def fig8(out: Path, quick: bool) -> Outcome:
    """Overfitting against not compensated events on the simulated sets."""
    names = _simulated(quick)
    rows, files = _scatter("reorder-fig8", [simulated(n) for n in names], out)
    if quick:
        return Outcome(files)
    by = {(m.dataset, m.policy): m for m in rows}

    def pct(policy: str, *names: str) -> list[tuple[str, float]]:
        return [(n, round(by[n, policy].not_compensated_pct, 2)) for n in names]

    facts = [
        _claim("SBA of 1000 ms on the G sets (% not compensated)", "“throughout good results”",
               all(p < 1 for _, p in pct("sba", *names)), pct("sba", *names)),
        _claim("BSTTD on G-3, G-4, G-8", "fails: the delay changes, its spread does not",
               all(p > 10 for _, p in pct("bsttd", "g-3", "g-4", "g-8")),
               pct("bsttd", "g-3", "g-4", "g-8")),
        _claim("BSTTDA on G-3, G-4, G-8", "handles them",
               all(p < 1 for _, p in pct("bsttda", "g-3", "g-4", "g-8")),
               pct("bsttda", "g-3", "g-4", "g-8")),
        _claim("BSTT and BSTTWA on G-11 against the other sets", "good, except G-11",
               all(by["g-11", p].not_compensated_pct > 0 for p in ("bstt", "bsttwa")),
               [("bstt", *pct("bstt", "g-11")[0]), ("bsttwa", *pct("bsttwa", "g-11")[0])],
               _why_g11()),
        _claim("BSKF on G-5 and G-6", "“has a problem when transmission time variances increase”",
               max(p for _, p in pct("bskf", "g-5", "g-6")) > 0, pct("bskf", "g-5", "g-6")),
    ]
    facts += _spreads()
    return Outcome(files, facts)


def _why_g11() -> str:
    """What a buffer must be on G-11 to lose nothing, and the least that the two ever are."""
    events = usable_events(simulated("g-11"))
    needed = evaluate(simulated("g-11"), ["sba"])[0].min_buffer_ms or 0.0
    bstt, bsttwa = (run(events, policy).buffer / 1000 for policy in ("bstt", "bsttwa"))
    waiting = int(run(events, "bsttwa(fill=wait)").late.sum())
    below = int((bsttwa < needed).sum())
    return (f"a buffer of {needed:.0f} ms loses nothing of G-11, whose delays end at 901 ms as "
            f"printed; by their formulas BSTT's is never below {bstt.min():.0f} ms and BSTTWA's is "
            f"below {needed:.0f} at {below} of {len(events):,} arrivals, none of which costs it an "
            f"event: what they lost in the paper they lost with smaller buffers (BSTTWA, with "
            f"fill=wait, loses {waiting} events of the first second)")


def _spreads() -> list[Fact]:
    """The two deviations of the buffer time that section 6 prints for G-1."""
    events = usable_events(simulated("g-1"))

    def spread(policy: str) -> float:
        return round(float(run(events, policy).buffer.std()) / 1000, 1)

    return [
        close("deviation of BSTTD's buffer on G-1 (ms)", 12.7, spread("bsttd"), within=0.12,
              why="chance of the seed"),
        close("deviation of BSTT's buffer on G-1, growth to delay + offset (ms)", 58.7,
              spread("bstt(grow=jump)"), within=0.08, why="chance of the seed"),
        close("deviation of BSTT's buffer on G-1, growth as printed (ms)", 58.7, spread("bstt"),
              within=0.1, why="“currentBufferTime · 2 + offset” jumps by more than a second; the "
                              "printed deviation is that of a growth to delay + offset "
                              "(grow=jump), which the text does not have"),
    ]


def fig9(out: Path, quick: bool) -> Outcome:
    """Buffer time over the delays; panels (a) and (b) on S-9 as in the paper, else on a stand-in.
    """
    recorded = {p.stem: p for series in "sd" for p in find_recordings(series)}
    sudden = next((n for n in ("s-9", "d-3") if n in recorded), "g-7")
    panels = [("bsttwa", sudden), ("bsttda", sudden), ("bsttd", "g-8"), ("bsttda", "g-8"),
              ("bstt", "g-6"), ("kslack", "g-6")][: 2 if quick else None]
    sets = {n: usable_events(read_dataset(recorded[n]) if n in recorded else simulated(n))
            for n in dict.fromkeys(name for _, name in panels)}
    runs = [(f"({'abcdef'[i]}) {policy.upper()} on {name.upper()}", run(sets[name], policy))
            for i, (policy, name) in enumerate(panels)]
    rows: list[Sequence[Any]] = []
    for title, done in runs:
        events = done.events
        columns = (events.arrival, (events.arrival - events.time) / 1000, done.buffer / 1000,
                   done.late.astype(int))
        rows += [[title, a, d, round(b, 4), late]
                 for a, d, b, late in zip(*(c.tolist() for c in columns), strict=True)]
    table = write_table(out / "reorder-fig9.csv",
                        ["panel", "arrival_us", "delay_ms", "buffer_ms", "late"], rows)
    files = [table, *pictures.save(trace_picture(runs), out / "reorder-fig9")]
    late = [int(done.late.sum()) for _, done in runs]
    stand_in = "" if sudden == "s-9" else (f"panels (a), (b) (S-9 is missing; {sudden.upper()} "
                                           "stands in)")
    if quick:
        return Outcome(files, partly=stand_in)
    last = runs[5][1]
    facts = [
        _claim("(a), (b): BSTTDA follows a sudden change better than BSTTWA (events late)",
               "“failed to adapt”; “better adaptation”", late[1] < late[0], late[:2]),
        _claim("(c), (d): BSTTD loses the sine wave, BSTTDA does not (events late)",
               "“failed to adapt”; “good adaptation”", late[2] > 100 * max(late[3], 1),
               late[2:4]),
        _claim("(f): KSLACK's buffer does not come down on G-6 (ms, first and last)",
               "“does not sufficiently decrease”", last.buffer[-1] > 0.9 * last.buffer[1000],
               [round(float(last.buffer[1000]) / 1000), round(float(last.buffer[-1]) / 1000)]),
    ]
    return Outcome(files, facts, partly=stand_in)


def everything(out: Path, quick: bool) -> Outcome:
    """All seven algorithms on every recording that is there and on the simulated sets."""
    datasets = [*_recorded("d"), *_recorded("s"), *(simulated(n) for n in _simulated(quick))]
    rows = compare(datasets)
    files = [write_csv(rows, out / "reorder-all.csv"),
             *pictures.save(heat_picture(rows), out / "reorder-all")]
    by = {(m.dataset, m.policy): m for m in rows}
    facts = [
        Fact(f"BSTTDA on {n.upper()}: events late, mean buffer (ms); SBA late", None,
             f"{by[n, 'bsttda'].not_compensated}, {by[n, 'bsttda'].mean_buffer_ms:.1f}; "
             f"{by[n, 'sba'].not_compensated}")
        for n in _D if (n, "bsttda") in by]
    return Outcome(files, facts)


def _claim(what: str, printed: str, holds: bool, ours: Sequence[Any],
           why: str = UNEXPLAINED) -> Fact:
    text = "; ".join(f"{str(o[0]).upper()} {', '.join(map(str, o[1:]))}" if isinstance(o, tuple)
                     else str(o) for o in ours)
    return claim(what, printed, text, holds, why)


def _buffer(m: Metrics) -> float:
    return m.mean_buffer_ms or 0.0


def _simulated(quick: bool) -> list[str]:
    return list(SIMULATED)[: 3 if quick else None]


def _recorded(series: str) -> list[Dataset]:
    return [read_dataset(path) for path in find_recordings(series)]


def _needed(series: str, what: str) -> list[Dataset]:
    found = _recorded(series)
    if not found:
        which = "D-1 … D-5" if series == "d" else "S-7 … S-10"
        raise DataError(
            f"{what} is about the recordings {which}, which are not here",
            step="reproduce",
            expected=f"files {series}-7.csv … in the folder that {FOLDER} names",
            hint="they are at github.com/JR-DIGITAL/ooo-dataset (CC-BY-SA 4.0)")
    return found


def _scatter(name: str, datasets: Sequence[Dataset], out: Path) -> tuple[list[Metrics], list[Path]]:
    rows = compare(datasets)
    return rows, [write_csv(rows, out / f"{name}.csv"),
                  *pictures.save(scatter_picture(rows), out / name)]


def _write_sweeps(found: Sequence[tuple[str, str, list[Metrics]]], values: Sequence[int],
                  path: Path) -> Path:
    rows = []
    for name, parameter, points in found:
        for value, m in zip(values, points, strict=True):
            row = m.to_dict()
            rows.append([name, parameter, value, m.dataset, row["not_compensated_pct"],
                         row["mean_buffer_ms"], row["latency_ms"]["mean"]])
    return write_table(path, ["policy", "parameter", "value_ms", "dataset", "not_compensated_pct",
                              "mean_buffer_ms", "latency_mean_ms"], rows)


EXPERIMENTS = {"reorder-fig5": fig5, "reorder-fig6": fig6, "reorder-fig7": fig7,
               "reorder-fig8": fig8, "reorder-fig9": fig9, "reorder-all": everything}
"""By the names of the catalogue."""
