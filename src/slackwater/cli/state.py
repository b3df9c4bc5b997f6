"""`slackwater state`: what a checkpoint holds, and how it is divided."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from slackwater.cli.show import print_json, print_table
from slackwater.core.errors import ConfigError

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True,
                  help="See the state of a pipeline, or repartition it.")

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
        "--keys", min=0, help="Name this many keys per step and shard: those furthest back.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="JSON, and nothing else.")] = False,
) -> None:
    """Shards, keys, held rows, bytes, watermarks and the oldest held event of each step."""
    with _session("read", quiet=as_json) as session:
        from slackwater.spark.run.state import read_state

        steps = read_state(session, checkpoint, most=keys)
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


@app.command()
def migrate(
    checkpoint: Annotated[str, typer.Argument(
        metavar="CHECKPOINT", show_default=False,
        help="The checkpoint folder of a pipeline, or of one streaming query. Nothing may run "
             "with it.")],
    partitions: Annotated[int, typer.Option(
        "--partitions", min=1, show_default=False,
        help="How many tasks share the state from the next start on.")],
    as_json: Annotated[bool, typer.Option("--json", help="JSON, and nothing else.")] = False,
) -> None:
    """Give the state another number of partitions: nothing is lost, results are the same."""
    with _session("move", quiet=as_json) as session:
        from slackwater.spark.run.partitions import migrate_state

        moved = migrate_state(session, checkpoint, partitions)
    if as_json:
        print_json([query.to_json() for query in moved])
        return
    print_table(checkpoint, ["query", "partitions before", "now", "shards of each step"],
                [[m.query, m.before, m.after,
                  ", ".join(f"{step} {count}" for step, count in m.steps.items()) or "–"]
                 for m in moved])
    for m in moved:
        for step, count in m.steps.items():
            if count < partitions:
                typer.echo(f"{step}: its state is in {_times(count)}, and so in at most as many "
                           "partitions" + (
                               " (rows of all keys are together, or steps that feed each other "
                               "have no key in common)" if count == 1 else
                               "; a new checkpoint can have more with shards:"), err=True)


def _times(shards: int) -> str:
    return "one shard" if shards == 1 else f"{shards} shards"


@contextmanager
def _session(purpose: str, *, quiet: bool) -> Iterator[Any]:
    """A Spark of this machine, for one command."""
    try:
        from slackwater.spark import local_session
    except ImportError as error:
        raise ConfigError("Spark is not installed", step="state", got=str(error),
                          hint="pip install 'slackwater[spark]'") from None
    if not quiet:
        typer.echo(f"starting Spark to {purpose} the state …", err=True)
    session = local_session()
    try:
        yield session
    finally:
        session.stop()


def _moment(us: Any) -> str:
    if us is None:
        return "–"
    try:
        return (_EPOCH + timedelta(microseconds=us)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return f"{us} µs"
