"""The model of a run: the same from the run itself, from its log, and by its changes."""

from __future__ import annotations

import json

import pytest

from runs_for_view import add_second, plant, watched_session
from slackwater.core.errors import SlackwaterError
from slackwater.pipeline.metrics import Numbers
from slackwater.view import RunView
from slackwater.view.read_log import LogReader, find_log


def ran(log, seconds: int = 5) -> tuple[Numbers, RunView]:
    live = RunView()
    numbers = Numbers(plant(log), listeners=(live.take,))
    with numbers.told():
        for at in range(seconds):
            add_second(numbers, at)
        numbers.refused({"out": 2})
        numbers.tell()
    return numbers, live


def from_log(log) -> RunView:
    view = RunView()
    reader = LogReader(log, view.take)
    reader.read()
    reader.check()
    return view


def test_the_page_of_a_run_and_of_its_log_have_the_same_numbers(tmp_path):
    log = tmp_path / "run.jsonl"
    _, live = ran(log)
    logged = from_log(log)
    assert live.model() == logged.model()
    assert json.loads(json.dumps(live.model())) == logged.model(), "it is plain JSON"


def test_its_numbers_are_the_runs_and_the_logs(tmp_path):
    log = tmp_path / "run.jsonl"
    numbers, live = ran(log)
    model = live.model()
    last = json.loads(log.read_text().splitlines()[-1])
    assert last["event"] == "stop"
    totals = {name: one["totals"] for name, one in model["streams"].items()}
    assert totals == last["streams"] == json.loads(json.dumps(numbers.summary()))
    query = numbers.queries["main"]
    assert model["queries"]["main"]["totals"] == {
        "batches": query.batches, "rows": query.rows, "seconds": round(query.seconds, 3),
        "last": query.last, "number": 4, "state_rows": query.state_rows,
        "state_bytes": query.state_bytes}
    assert {(s, n): (rows, late) for s, n, _, rows, late, _, _ in model["sources"]} == {
        key: (one.rows, one.late) for key, one in numbers.sources.items()}
    assert model["refused"] == numbers.dead_letters
    assert [one["row"]["peak"] for one in model["results"]] == [7.5, 8.5, 9.5, 10.5, 11.5]
    assert all(len(one["times"]) == 2 for one in model["results"])
    late = model["streams"]["clean"]["history"]["late"]
    assert late[0] == 0, "the first rows are in the throughput"
    assert late[-1] == numbers.streams["clean"].late
    assert any("above the bound of 0.50%" in one for _, one in model["alerts"])
    assert any("has refused 2 rows" in one for _, one in model["alerts"])


def applied(model: dict, delta: dict) -> dict:
    """What a page does with a change."""
    if delta["whole"]:
        return delta
    out = {**model, **delta, "whole": True}
    for part in ("streams", "queries"):
        out[part] = dict(model[part])
        for name, one in delta[part].items():
            before, block = model[part].get(name), one["history"]
            if before is not None and block is None:
                block = before["history"]
            elif before is not None and block["start"]:
                kept = before["history"]
                block = {c: block[c] if c == "generation" else 0 if c == "start"
                         else kept[c][:block["start"]] + block[c] for c in kept}
            out[part][name] = {**one, "history": block}
    sources = {tuple(s[:2]): s for s in (*model["sources"], *delta["sources"])}
    out["sources"] = list(sources.values())
    out["results"] = [*model["results"], *delta["results"]][-60:]
    return out


def test_changes_add_up_to_the_model(tmp_path):
    view = RunView()
    numbers = Numbers(plant(), listeners=(view.take,))
    model, mark = view.changes(None)
    with numbers.told():
        for at in range(900):  # so many that the history is thinned
            add_second(numbers, at)
            if at % 7 == 0:
                delta, mark = view.changes(mark)
                model = applied(model, delta)
    delta, mark = view.changes(mark)
    model, whole = applied(model, delta), view.model()
    order = ["streams", "queries", "results", "sources", "alerts", "state"]
    assert {n: model[n] for n in order} == {n: whole[n] for n in order}
    assert len(whole["streams"]["clean"]["history"]["t"]) <= 720
    nothing, _ = view.changes(mark)
    assert not any(nothing[part] for part in ("streams", "queries", "sources", "results"))


def test_a_source_that_falls_silent_is_said_to_be():
    view = RunView()
    view.take({"at": "2024-01-01T00:00:00Z", "event": "start", "pipeline": "p"})
    began = view.began
    for second in (20, 25, 31):  # it took Spark 20 s to start: the first source is not new
        view.take({"at": f"2024-01-01T00:00:{second:02d}Z", "event": "sources",
                   "sources": {"s": {"a": [second, 0, began + second],
                                     **({"b": [1, 0, began + second]} if second == 31 else {})}}})
    def status(after: float) -> list[str]:
        return [one[2] for one in view.model(began + after)["sources"]]
    assert status(32) == ["live", "new"]
    assert status(60) == ["idle", "idle"]
    assert status(110) == ["silent", "silent"]
    assert view.model(began + 110)["alerts"] == [
        ["silent s", "s: 2 sources silent: a, b"]]


def test_the_log_need_hold_no_rows_of_the_data(tmp_path):
    log = tmp_path / "run.jsonl"
    numbers = Numbers(plant(log, results=False))
    with numbers.told():
        add_second(numbers, 0)
    assert '"results"' not in log.read_text()


def test_a_torn_or_strange_log_is_read_as_far_as_it_goes(tmp_path):
    log = tmp_path / "run.jsonl"
    ran(log)
    whole = log.read_bytes()
    log.write_bytes(b'[1]\nnonsense\n{"event": "batch"}\n' + whole
                    + b'{"at": "2024-01-01T00:00:00Z", "event": "batch", "query": 5}\n'
                    + b'{"at": "2024-01-01T00:00:00Z", "eve')
    view = RunView()
    reader = LogReader(log, view.take)
    reader.read()
    assert view.state == "stopped"
    assert (view.model()["unreadable"], reader.skipped) == (1, 3)
    with log.open("ab") as more:
        more.write(b'nt": "failed", "error": "boom"}\n')
    reader.read()
    assert (view.state, view.error) == ("failed", "boom")


def test_a_growing_log_is_followed_and_a_new_one_begun_anew(tmp_path):
    log, view = tmp_path / "run.jsonl", RunView()
    reader = LogReader(log, view.take)
    assert reader.read() == 0
    ran(log, 2)
    reader.read()
    assert view.model()["queries"]["main"]["totals"]["batches"] == 2
    ran(log, 3)  # appended: another run
    reader.read()
    assert view.model()["queries"]["main"]["totals"]["batches"] == 3
    log.unlink()
    ran(log, 1)
    reader.read()
    assert view.model()["queries"]["main"]["totals"]["batches"] == 1


def test_which_log_is_meant(tmp_path):
    with pytest.raises(SlackwaterError, match="has no run log"):
        find_log(tmp_path)
    (tmp_path / "data.jsonl").write_text('{"time": 1}\n')
    ran(tmp_path / "run.jsonl", 1)
    assert find_log(tmp_path) == find_log(tmp_path / "run.jsonl") == tmp_path / "run.jsonl"
    with pytest.raises(SlackwaterError, match="is not a run log"):
        from_log(tmp_path / "data.jsonl")
    with pytest.raises(SlackwaterError, match="no such run log"):
        from_log(tmp_path / "absent.jsonl")


def test_a_watched_session_shows_what_its_watermark_drops():
    view = RunView()
    watched_session(view)
    model = view.model()
    query = model["queries"]["orders"]
    assert (query["totals"]["rows"], query["totals"]["watermark"]["dropped"]) == (8000, 35)
    assert query["history"]["dropped"] == [0, 5, 10, 0, 5, 10, 0, 5]
    assert model["alerts"] == [["dropped orders", "orders: Spark's watermark has dropped at least "
                                "35 rows (0.44%); a delay of 34 s would have kept all."]]
    view.take({"at": "2024-01-01T00:01:00Z", "event": "ended", "query": "orders",
               "error": "the disk is full"})
    assert model["alerts"][0] in view.model()["alerts"]
    assert ["ended orders", "The query orders failed: the disk is full"] in view.model()["alerts"]
    watched_session(view, 1)  # another session, in the same log
    assert view.model()["alerts"] == []
