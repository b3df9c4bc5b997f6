"""What a checkpoint was written by, and whether it can go on with something else.

A query's state is made by its sources and steps.  What changes them is refused, unless the state
still means the same; what does not touch them (sinks, trigger, metrics, addresses, secrets) is
free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from slackwater import __version__
from slackwater.core.errors import SlackwaterError, SnapshotError
from slackwater.pipeline.connectors import SourceConfig
from slackwater.pipeline.document import MAIN, Pipeline, Query
from slackwater.pipeline.kernels import make_kernel
from slackwater.pipeline.option import shown
from slackwater.pipeline.steps import Step, StreamName

__all__ = ["FORMAT", "Change", "as_planned", "changes", "query_plan", "read_plan"]

FORMAT = 5

_FREE = ("servers", "registry", "options", "starting", "max_rows", "max_files_per_batch", "token",
         "user", "password")
"""Options of sources that say how to get at the rows, not which rows they are."""

_KERNEL_DECIDES = ("policy", "slack", "max_delay", "max_failures", "max_future_skew",
                   "max_matches", "sources", "quiet", "within")
"""Options of steps that a kernel may be restored with changed, if it agrees."""

_DEFAULT = "(default)"


@dataclass(frozen=True)
class Change:
    """Something that is not as it was when the checkpoint was written.

    `refused`: why the stored state cannot be gone on with.  `afresh`: the step that starts without
    it, for it held nothing.
    """

    where: str
    old: Any
    new: Any
    refused: str | None = None
    afresh: str | None = None

    def __str__(self) -> str:
        text = f"{self.where}: {_told(self.old)} → {_told(self.new)}"
        if self.afresh is not None:
            return f"{text}: it had released everything, and starts afresh"
        return text if self.refused is None else f"{text}: {self.refused}"


def _told(value: Any) -> str:
    return "(none)" if value is None else str(value)


def query_plan(pipeline: Pipeline, query: Query) -> dict[str, Any]:
    """What makes the state of a query, as plain values without secrets."""
    nodes = query.nodes
    plan = {
        "sources": {n: _source(pipeline.sources[n].config) for n in nodes
                    if n in pipeline.sources},
        "steps": {n: _step(pipeline.steps[n]) for n in nodes if n in pipeline.steps},
        "sinks": {s.name: getattr(s.config, "path", None) for s in query.sinks},
        "streams": {s.name: str(s.stream) for s in query.sinks},
    }
    return {name: pipeline.secrets.clean(part) for name, part in plan.items()}


def _source(config: SourceConfig) -> dict[str, Any]:
    kept = {name: value for name, value in shown(config).items() if name not in _FREE}
    return {"kind": config.kind, **kept}


def _step(step: Step) -> dict[str, Any]:
    return {"kind": step.kind, "inputs": [str(s) for s in step.inputs], "text": step.text,
            "options": {name: list(value) if isinstance(value, tuple) else value
                        for name, value in step.options.items()}, "ordered": step.ordered}


def _stored_step(name: str, plan: Mapping[str, Any]) -> Step:
    """The step that `_step` told of."""
    options = {n: tuple(v) if isinstance(v, list) else v for n, v in plan["options"].items()}
    return Step(name, plan["kind"], tuple(StreamName.parse(s) for s in plan["inputs"]),
                plan["text"], options, plan["ordered"])


def as_planned(old: Mapping[str, Any], pipeline: Pipeline) -> Pipeline:
    """A pipeline with the steps, and the streams of sinks, that a stored plan has.

    Its sources are those of now: what rows they give may not change, and how to get at them is
    known now.  So are its sinks, without those that are new.
    """
    steps: dict[str, Step] = {}
    streams: dict[str, str] = {}
    for plan in old["queries"].values():
        for name, step in plan["steps"].items():
            steps.setdefault(name, _stored_step(name, step))
        streams.update(plan["streams"])
    sinks = {name: replace(sink, stream=StreamName.parse(streams[name]))
             for name, sink in pipeline.sinks.items() if name in streams}
    return replace(pipeline, steps=steps, sinks=sinks)


def read_plan(plan: Any) -> dict[str, Any]:
    """A stored plan, or the reason why it cannot be one."""
    if not isinstance(plan, dict) or "format" not in plan:
        raise SnapshotError("slackwater.json is damaged", step="checkpoint",
                            hint="give another checkpoint folder, or run with --fresh")
    if plan["format"] != FORMAT:
        raise SnapshotError("the checkpoint was written by another release of slackwater",
                            step="checkpoint", expected=f"format {FORMAT}",
                            got=f"format {plan['format']}, slackwater {plan.get('slackwater')} "
                                f"(this is {__version__})",
                            hint="go on with that release, or run with --fresh")
    return plan


def changes(old: Mapping[str, Any], pipeline: Pipeline, *,
            drained: bool = False) -> Iterator[Change]:
    """What has changed since a plan was stored, each with the reason if it is refused.

    With `drained` the steps of the main query hold nothing, and may start afresh.
    """
    if old["name"] != pipeline.name:
        yield Change("name", old["name"], pipeline.name,
                     "the checkpoint is another pipeline's")
    for query in pipeline.queries:
        before = old["queries"].get(query.name)
        now = query_plan(pipeline, query)
        if before is None:
            yield Change(f"query {query.name}", None, "new: it reads its sources from the start")
            continue
        yield from _sources(before["sources"], now["sources"])
        apart = query.name != MAIN
        for name in sorted(before["steps"].keys() | now["steps"].keys()):
            for change in _step_changes(name, before["steps"].get(name), now["steps"].get(name),
                                        pipeline, apart=apart):
                yield (replace(change, refused=None, afresh=name)
                       if change.refused and drained and not apart else change)
        for name in now["sinks"].keys() - before["sinks"].keys():
            yield Change(f"sinks.{name}", None, "new: it gets rows from now on")
    here = {query.name for query in pipeline.queries}
    for name in old["queries"]:
        if name not in here:
            yield Change(f"query {name}", "there", None)


def _sources(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    for name in sorted(old.keys() | new.keys()):
        before, now = old.get(name), new.get(name)
        if before is None or now is None:
            yield Change(f"sources.{name}", before and before["kind"], now and now["kind"],
                         "the query would read other sources than its offsets are of")
            continue
        for option in sorted(before.keys() | now.keys()):
            if before.get(option) != now.get(option):
                yield Change(f"sources.{name}.{option}", before.get(option), now.get(option),
                             "the stored offsets are of other rows")


def _step_changes(name: str, before: Any, now: Any, pipeline: Pipeline, *,
                  apart: bool) -> Iterator[Change]:
    where = f"steps.{name}"
    if before is None or now is None:
        # in the main query each step has a state of its own
        came = "new: it sees rows from now on" if before is None else None
        yield Change(where, before and before["kind"], came if not apart else now and
                     now["kind"], "the stored state is of other steps" if apart else None)
        return
    for part in ("kind", "inputs", "text"):
        if _same_text(before[part]) != _same_text(now[part]):
            yield Change(f"{where}.{part}", before[part], now[part],
                         "the stored state is of another step")
    options = before["options"], now["options"]
    free = []
    for option in sorted(options[0].keys() | options[1].keys()):
        pair = options[0].get(option, _DEFAULT), options[1].get(option, _DEFAULT)
        if pair[0] == pair[1]:
            continue
        if option not in _KERNEL_DECIDES:
            yield Change(f"{where}.{option}", *pair, "the stored state depends on it")
        else:
            free.append(option)
    if free:
        refused = _kernel_refuses(before, pipeline.steps[name], pipeline)
        for option in free:
            yield Change(f"{where}.{option}", options[0].get(option, _DEFAULT),
                         options[1].get(option, _DEFAULT), refused)


def _same_text(value: Any) -> Any:
    return " ".join(value.split()) if isinstance(value, str) else value


def _kernel_refuses(old: Mapping[str, Any], step: Step, pipeline: Pipeline) -> str | None:
    """Ask the kernel itself: restore what the old one wrote, before any row, in the new one."""
    schemas = [pipeline.schemas.get(s) for s in step.inputs]
    before = _stored_step(step.name, old)
    try:
        one, two = make_kernel(before, schemas).kernel, make_kernel(step, schemas).kernel
        if one is not None and two is not None:
            two.restore(one.start().snapshot())
    except SlackwaterError as error:
        return error.problem
    return None
