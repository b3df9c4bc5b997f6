"""`slackwater generate`: a feed from a seed, or one of the paper's simulated sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from slackwater.cli import options
from slackwater.cli.show import print_json, print_table, working
from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.datasets import SIMULATED, Dataset, Feed, Stalls, generate, simulated
from slackwater.datasets.delays import DELAYS
from slackwater.datasets.files import file_format, write_table
from slackwater.datasets.law import law_named
from slackwater.datasets.rates import RATES
from slackwater.evaluate import profile

__all__ = ["command"]

_FEED = "Feed"


def command(
    what: Annotated[str, typer.Argument(
        metavar="feed|g-1…g-12", help="A feed described by the options, or a set of paper 3.",
        show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", show_default=False,
                                      help="Where to write: .csv, .jsonl or .parquet.")],
    seed: Annotated[int, typer.Option(help="The same seed gives the same rows.")] = 1,
    sources: Annotated[int | None, typer.Option(
        rich_help_panel=_FEED, help="How many sources.  [default: 10]")] = None,
    duration: Annotated[str | None, typer.Option(
        rich_help_panel=_FEED, metavar="DURATION", help="How long they produce.  [default: 10m]",
    )] = None,
    rate: Annotated[list[str] | None, typer.Option(
        rich_help_panel=_FEED, metavar="LAW",
        help=f"Law of production: {', '.join(RATES)}; with parameters, as in "
             "poisson(interval=50ms). Several are dealt out to the sources in turn.")] = None,
    delay: Annotated[list[str] | None, typer.Option(
        rich_help_panel=_FEED, metavar="LAW",
        help=f"Law of transmission: {', '.join(n for n in DELAYS if n != 'mixed')}; with "
             "parameters, as in lognormal(median=80ms, sigma=0.6).")] = None,
    stalls: Annotated[str | None, typer.Option(
        rich_help_panel=_FEED, metavar="stalls(…)",
        help="Silences with a backlog after them, as in stalls(interval=2m, length=4s).")] = None,
    skew: Annotated[str | None, typer.Option(
        rich_help_panel=_FEED, metavar="DURATION", help="Deviation of the clocks.")] = None,
    drift: Annotated[float | None, typer.Option(
        rich_help_panel=_FEED, help="Drift of the clocks, parts per million.")] = None,
    churn: Annotated[float | None, typer.Option(
        rich_help_panel=_FEED, help="Share of the sources that join late and leave early.")] = None,
    duplicates: Annotated[float | None, typer.Option(
        rich_help_panel=_FEED, help="Share of the rows that come twice.")] = None,
    poison: Annotated[float | None, typer.Option(
        rich_help_panel=_FEED, help="Share of the rows with no time, or 2099 or 1970.")] = None,
    keys: Annotated[int | None, typer.Option(
        rich_help_panel=_FEED, help="How many values the key column has.")] = None,
    in_order: Annotated[bool | None, typer.Option(
        "--in-order", rich_help_panel=_FEED, help="The network keeps each source's order.")] = None,
    json: options.Json = False,
) -> None:
    """Make events from a seed, with the truth beside them (column true_time)."""
    file_format(out)
    given: dict[str, Any] = {
        "sources": sources, "duration": duration, "skew": skew, "drift": drift, "churn": churn,
        "duplicates": duplicates, "poison": poison, "keys": keys, "in_order": in_order,
        "rate": tuple(law_named(r, RATES, what="rate") for r in rate) if rate else None,
        "delay": tuple(law_named(d, DELAYS, what="delay") for d in delay) if delay else None,
        "stalls": law_named(stalls, {"stalls": Stalls}, what="stalls") if stalls else None,
    }
    asked = {name: value for name, value in given.items() if value is not None}
    with working("generate", quiet=json) as now:
        now(what)
        dataset = _made(what, seed, asked, out)
        now(f"{len(dataset):,} rows, writing {out.name}")
        write_table(dataset.table, out)
        now(f"{len(dataset):,} rows, measuring their disorder")
        found = profile(dataset).to_dict()
    share = found["out_of_order"]["by_time_pct"]
    summary = {"dataset": what.lower(), "file": str(out), "rows": len(dataset),
               "sources": found["sources"], "out_of_order_pct": share,
               "quarantined": found["quarantined"], "seed": seed}
    if json:
        print_json(summary)
    else:
        print_table("", list(summary), [list(summary.values())])


def _made(what: str, seed: int, asked: dict[str, Any], out: Path) -> Dataset:
    if what == "feed":
        return generate(Feed(name=out.stem, seed=seed, **asked))
    if what.lower() in SIMULATED:
        if asked:
            raise ConfigError(f"{what} is what the paper says it is", step="generate",
                              got=f"--{next(iter(asked)).replace('_', '-')}",
                              hint="only --seed changes it; describe your own with: generate feed")
        return simulated(what, seed)
    known = ["feed", *SIMULATED]
    raise ConfigError(f"there is nothing called {what!r} to generate", step="generate",
                      expected=", ".join(known), hint=did_you_mean(what, known))
