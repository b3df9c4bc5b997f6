"""Advice on watermarks: the simulated rule against its definition, targets, and the command."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.cli import main
from slackwater.core.errors import ConfigError, DataError
from slackwater.datasets import read_dataset, simulated
from slackwater.evaluate.advise import advise
from slackwater.evaluate.progress import Progress, read_progress
from slackwater.evaluate.run import Events, usable_events
from slackwater.evaluate.spark_watermark import FixedWatermark, by_count, by_trigger

START = 1_700_000_000_000
SHARED = Path(os.environ.get("SLACKWATER_DATASETS", Path(__file__).parents[3] / "shared/datasets"))


def events(times: list[int], arrivals: list[int] | None = None) -> Events:
    moment = 1000 * (np.array(times, np.int64) + START)
    arrival = moment if arrivals is None else 1000 * (np.array(arrivals, np.int64) + START)
    return Events("made", moment, arrival, np.zeros(len(times), np.int64), None, None, (), 0)


def by_definition(batches: list[list[int]], delay: int) -> int:
    """Spark's rule, one micro-batch after the other."""
    judged_by = closes = greatest = -START
    dropped = 0
    for batch in batches:
        dropped += sum(t <= judged_by for t in batch)
        greatest = max([greatest, *batch])
        judged_by, closes = closes, max(closes, greatest - delay)
    return dropped


@given(st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=5), min_size=1, max_size=8),
       st.integers(0, 40))
def test_the_rule_is_that_of_its_definition(batches: list[list[int]], delay: int) -> None:
    stream = events([t for batch in batches for t in batch])
    cuts = by_count(np.arange(len(stream)), 1)
    of_row = np.repeat(np.arange(len(batches)), [len(batch) for batch in batches])
    marked = FixedWatermark(stream, type(cuts)(of_row, np.arange(len(batches)), ""))
    assert marked.under(delay).dropped == by_definition(batches, delay)
    for loss in (0.0, 0.1, 0.5):
        least = marked.least_delay(loss)
        assert marked.under(least).loss <= loss
        assert least == 0 or marked.under(least - 1).loss > loss


def test_an_interval_without_rows_is_a_micro_batch() -> None:
    """Spark runs one without data, so the next rows are judged by all that came before."""
    at = [0, 1000, 2000, 9000]
    stream = events([0, 1000, 2000, 0], at)
    close = FixedWatermark(stream, by_trigger(stream.arrival - stream.arrival[0], 1_000_000))
    assert close.cuts.of_row.tolist() == [0, 1, 2, 4]
    assert close.needed_ms.tolist() == [0, 0, 0, 2001]


def test_latency_counts_to_the_micro_batch_that_closes() -> None:
    stream = events([0, 1000, 2000, 3000], [0, 1000, 2000, 3000])
    marked = FixedWatermark(stream, by_trigger(stream.arrival, 1_000_000))
    # with a delay of 1 s, what happened at 0 is passed by the greatest time 1000, one batch later
    found = marked.under(1000)
    assert (found.dropped, found.open) == (0, 2)
    assert found.latency_ms["mean"] == 3000
    assert marked.under(0).latency_ms["mean"] == 2000
    assert marked.longest_delay(2500) == 0
    assert marked.longest_delay(1500) is None


def test_both_targets() -> None:
    sample = simulated("g-2")
    by_loss = advise(sample, delay="0s", loss="0.5%", trigger="20ms")
    assert by_loss.now is not None
    assert by_loss.now.loss > 0.005 >= by_loss.fixed.loss
    assert by_loss.fixed.met
    assert by_loss.policy.what == "Tide(loss=0.5%)"
    text = by_loss.diff()
    assert '- df.withWatermark("time", "0 seconds")' in text
    assert '+ ordered = reorder(df, "Tide(loss=0.5%)", time="time", arrival="arrival", ' in text
    by_latency = advise(sample, latency="8s", trigger="2s")
    assert by_latency.now is None
    assert by_latency.fixed.latency_ms["mean"] <= 8000
    assert by_latency.policy.latency_ms["mean"] <= 8000
    hopeless = advise(sample, latency="1ms", trigger="2s")
    assert not hopeless.fixed.met
    assert not hopeless.policy.met
    assert "does not meet" in " ".join(hopeless.words())
    assert "<table>" in hopeless._repr_html_()


def test_mistakes() -> None:
    with pytest.raises(ConfigError, match="one target"):
        advise(simulated("g-2"), loss="1%", latency="1s")
    bare = simulated("g-2")
    bare = type(bare)("bare", bare.table, type(bare.roles)("time"))
    with pytest.raises(DataError, match="when rows arrived"):
        advise(bare)


def report(batch: int, least: int, greatest: int, watermark: int, dropped: int) -> dict:
    def text(ms: int) -> str:
        moment = np.datetime64(START + ms, "ms")
        return f"{moment}Z"

    return {"id": "q-1", "name": None, "batchId": batch, "timestamp": text(greatest + 500),
            "durationMs": {"triggerExecution": 100},
            "eventTime": {"min": text(least), "max": text(greatest), "watermark": text(watermark)},
            "stateOperators": [{"numRowsDroppedByWatermark": dropped}],
            "sources": [{"numInputRows": 10}]}


REPORTS = [report(0, 0, 100, 0, 0), report(1, 50, 200, 80, 0), report(2, 10, 300, 180, 3),
           report(3, 250, 400, 280, 0)]


def test_progress_says_what_a_delay_would_keep() -> None:
    book = Progress()
    for one in [*REPORTS, REPORTS[-1], {**REPORTS[-1], "sources": []}]:
        book.add(one)
    (query,) = book.queries.values()
    assert (query.name, query.rows, query.dropped, query.delay_ms) == ("q-1", 40, 3, 20)
    # the rows of batch 2 were judged by the greatest time of batch 0
    assert query.needs() == [(0, 10), (0, 10), (91, 10), (0, 10)]
    assert (query.least_delay(0), query.least_delay(0.25)) == (91, 0)


@given(st.lists(st.tuples(st.integers(0, 900), st.integers(0, 100_000), st.booleans()),
                min_size=8, max_size=60), st.integers(2, 9))
def test_numbers_of_a_long_query_are_those_of_all_its_micro_batches(steps, most) -> None:
    """A listener keeps the latest micro-batches, and sums of the others."""
    whole, bounded, greatest, marked = Progress(), Progress(), 0, 0
    for at, (forward, back, late) in enumerate(steps):
        marked = max(marked, greatest - 700)  # the watermark does not go back
        greatest += forward
        one = report(at, max(greatest - back, 0), greatest, marked, 3 if late else 0)
        whole.add(one)
        bounded.add(one).bound(most)
        (mine,) = bounded.queries.values()
        assert len(mine.batches) < 2 * most
    (all_of_them,) = whole.queries.values()
    got, wanted = mine.to_dict(), all_of_them.to_dict()
    del got["keeps_all_ms"], wanted["keeps_all_ms"]  # rounded, if it is an earlier one's
    assert got == pytest.approx(wanted)
    for loss in (0, 0.05, 0.3):
        exact = all_of_them.least_delay(loss)
        assert exact <= mine.least_delay(loss) <= 1.01 * exact


@pytest.mark.parametrize("name", ["p.json", "p.jsonl", "log/events_1_app.zstd"])
def test_progress_files_and_event_logs(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    if name == "p.json":
        file.write_text(json.dumps(REPORTS))
    elif name == "p.jsonl":
        file.write_text("".join(f"{json.dumps(one)}\n" for one in REPORTS))
    else:
        lines = [{"Event": "SparkListenerJobStart"}, *(
            {"Event": "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent",
             "progress": one} for one in REPORTS)]
        with pa.output_stream(str(file), compression="zstd") as sink:
            sink.write("".join(f"{json.dumps(line)}\n" for line in lines).encode())
            sink.write(b'{"batchId": 4, "id"')
        file = file.parent
    (query,) = read_progress(file).queries.values()
    assert query.dropped == 3
    (tmp_path / "none.json").write_text("{}")
    with pytest.raises(DataError, match="no progress report"):
        read_progress(tmp_path / "none.json")


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
        *arguments: object) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["slackwater", "advise", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    printed = capsys.readouterr()
    return int(end.value.code or 0), printed.out, printed.err


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
                     tmp_path: Path) -> None:
    code, out, _ = run(capsys, monkeypatch, "g-2", "--delay", "0s", "--loss", "1%",
                       "--trigger", "20ms")
    assert code == 0
    assert "are silently dropped by withWatermark" in out
    assert '+ df.withWatermark("time", ' in out
    code, out, _ = run(capsys, monkeypatch, "g-2", "--batches", "50", "--json")
    told = json.loads(out)
    assert (told["now"], told["target"]) == (None, "a loss of at most 0.1 %")
    file = tmp_path / "p.json"
    file.write_text(json.dumps(REPORTS))
    code, out, _ = run(capsys, monkeypatch, "--progress", file, "--loss", "0.1%")
    assert '- .withWatermark("…", "20 milliseconds")' in out
    assert '+ .withWatermark("…", "91 milliseconds")   # drops at most 0 %' in out
    code, out, _ = run(capsys, monkeypatch, "--progress", file, "--json", "--latency", "1s")
    assert json.loads(out)[0]["dropped"] == 3
    code, _, err = run(capsys, monkeypatch)
    assert (code, "SAMPLE, or --progress FILE" in err) == (2, True)


def test_a_stream_in_order_loses_nothing() -> None:
    found = advise(events(list(range(0, 60_000, 100))), delay="0s", loss="1%")
    assert found.now is not None
    assert (found.now.late, found.fixed.what) == (0, 'withWatermark("time", "0 seconds")')
    assert "drops no row of this sample" in found.words()[0]
    assert found.policy.what == "DropRatio(ratio=1%)"


def test_the_loss_on_a_recorded_feed() -> None:
    """The figures that Spark itself gives for this feed, in 20 and in 1,000 micro-batches."""
    file = SHARED / "feeds" / "winlog-forwarding.csv.gz"
    if not file.exists():
        pytest.skip("the feeds are not beside the project (SLACKWATER_DATASETS names their folder)")
    events = usable_events(read_dataset(file))
    for batches, dropped in ((20, 32_493), (1000, 61_509)):
        assert FixedWatermark(events, by_count(events.arrival, batches)).under(
            60_000).dropped == dropped
