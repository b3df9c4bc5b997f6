"""`slackwater demo`: the whole story in one command."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from slackwater.cli.show import print_json, print_parts, working

__all__ = ["command"]


def command(
    out: Annotated[Path, typer.Option(
        "--out", "-o", metavar="FOLDER", help="Where feed, results and the report are written."
    )] = Path("demo-output"),
    show: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    json: Annotated[bool, typer.Option("--json", help="What was found as JSON.")] = False,
) -> None:
    """A plant with unreliable sensors, seen by Spark alone and by Slackwater, and the truth."""
    from slackwater.demo import page, story
    from slackwater.evaluate.pictures import save_as
    from slackwater.view.findings import write_findings

    with working("demo", quiet=json, lines=True) as say:
        told = story.run_demo(out, say)
        say("drawing")
        parts, picture = page.parts(told), page.picture(told)
        report = out / "demo.html"
        write_findings(report, page.TITLE, parts, [("leaks and missing readings", picture)])
        save_as(picture, out / "demo.png")
    if json:
        print_json({**page.as_json(told), "report": str(report)})
    else:
        print_parts(parts)
        typer.echo(f"Done in {told.seconds:.0f} s. The same with a picture: {report}\n"
                   f"The run itself, as a page: slackwater dashboard {out / 'run.jsonl'}")
    if show:
        webbrowser.open(report.resolve().as_uri())
