"""`slackwater profile`: how disordered are these events, and what does that suggest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from slackwater.cli import options
from slackwater.cli.show import number, print_json, print_parts, progress
from slackwater.evaluate import Profile, profile
from slackwater.view.findings import Part, Sheet, write_findings

__all__ = ["command"]


def command(
    files: options.Files,
    time: options.Time = None,
    arrival: options.Arrival = None,
    source: options.Source = None,
    sequence: options.Sequence = None,
    by: options.By = None,
    unit: options.Unit = None,
    max_future_skew: options.FutureSkew = "5 minutes",
    max_delay: options.MaxDelay = None,
    json: options.Json = False,
    picture: options.Picture = None,
    report: options.Report = None,
) -> None:
    """Measure disorder: delays, events out of order, recommended start values of each policy."""
    found, pictures = [], []
    with progress("profile", len(files), quiet=json) as step:
        for file in files:
            dataset = options.load(file, time=time, arrival=arrival, source=source,
                                   sequence=sequence, by=by, unit=unit)
            found.append(profile(dataset, max_future_skew=max_future_skew,
                                 max_delay=max_delay))
            if picture is not None:
                from slackwater.evaluate.pictures import save_as
                from slackwater.evaluate.profile_picture import profile_picture

                save_as(profile_picture(dataset), _numbered(picture, dataset.name, len(files)))
            if report is not None:
                from slackwater.evaluate.profile_picture import profile_picture

                pictures.append((f"delays of {dataset.name} over time, and their distribution",
                                 profile_picture(dataset)))
            step(dataset.name)
    if report is not None:
        write_findings(report, f"Disorder of {', '.join(p.dataset for p in found)}",
                       [part for one in found for part in _parts(one)], pictures)
    if json:
        print_json([p.to_dict() for p in found] if len(found) > 1 else found[0].to_dict())
        return
    for one in found:
        print_parts(_parts(one))


def _numbered(picture: Path, name: str, files: int) -> Path:
    """One picture per file: with several, the dataset's name goes into the picture's."""
    return picture if files == 1 else picture.with_stem(f"{picture.stem}-{name}")


def _parts(found: Profile) -> Iterator[Part]:
    figures = found.to_dict()
    disorder = figures["out_of_order"]
    yield Sheet(found.dataset, ("events", "quarantined", "sources", "out of order", "% of events",
                                "within sources", "sequence breaks", "min buffer ms"),
                [(found.events, found.quarantined, found.sources, disorder["by_time"],
                  disorder["by_time_pct"], found.within_sources, disorder["by_sequence"],
                  found.min_buffer_ms)])
    yield Sheet("delay (ms)", list(found.delay_ms), [list(found.delay_ms.values())])
    yield from found.words()
    yield found.recommended_line()
    advice = found.recommended()
    if advice is not None:
        yield Sheet(
            f"start values, from p98 of the {found.p98_of}: {number(advice['p98_ms'])} ms",
            ("paper", "policy"),
            [(name.upper(), value["policy"]) for name, value in advice.items()
             if isinstance(value, dict)])
