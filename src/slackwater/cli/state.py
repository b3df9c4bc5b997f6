"""`slackwater state show`: what a checkpoint holds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from slackwater.cli.show import print_json, print_table
from slackwater.core.errors import ConfigError

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Look into the state of a pipeline.")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@app.callback()
def _group() -> None:
    pass


@app.command()
def show(
    checkpoint: Annotated[str, typer.Argument(
        metavar="CHECKPOINT", show_default=False,
        help="The checkpoint folder of a pipeline, or of one streaming query.")],
    keys: Annotated[int, typer.Option(
        "--keys", min=0, help="Name so many keys per step and shard: those furthest back.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="JSON, and nothing else.")] = False,
) -> None:
    """Shards, keys, held rows, bytes, watermarks and the oldest held event of each step."""
    try:
        from slackwater.spark import local_session
        from slackwater.spark.run.state import read_state
    except ImportError as error:
        raise ConfigError("Spark is not installed", step="state", got=str(error),
                          hint="pip install 'slackwater[spark]'") from None
    if not as_json:
        typer.echo("starting Spark to read the state …", err=True)
    session = local_session()
    try:
        steps = read_state(session, checkpoint, most=keys)
    finally:
        session.stop()
    if as_json:
        print_json([step.to_json() for step in steps])
        return
    rows = [step.to_json() for step in steps]
    print_table(checkpoint, ["query", "step", "shard", "partition", "keys", "held", "bytes",
                             "watermark", "ahead", "oldest held"],
                [[r["query"], r["step"], r["shard"], r["partition"], r["keys"], r["held"],
                  r["bytes"], _moment(r["watermark"]), _moment(r["ahead"]),
                  _moment(r["oldest"])] for r in rows])
    marks = [[r["step"], r["shard"], mark["key"] or "(all)", mark["held"],
              _moment(mark["watermark"])] for r in rows for mark in r["marks"]]
    if marks:
        print_table("keys furthest back", ["step", "shard", "key", "held", "watermark"], marks)


def _moment(us: Any) -> str:
    if us is None:
        return "–"
    try:
        return (_EPOCH + timedelta(microseconds=us)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return f"{us} µs"
