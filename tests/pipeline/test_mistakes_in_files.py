"""Mistakes in pipeline files: all in one go, each with its line and a hint."""

from __future__ import annotations

from pathlib import Path

import pytest

from slackwater.pipeline import PipelineError, load, parse

HERE = Path(__file__).parent
GOOD = """
name: demo
sources:
  raw: {kind: kafka, servers: "localhost:9092", topic: t,
        columns: {time: timestamp, site: string, device: string, kind: string, value: double}}
steps:
  clean: {reorder: raw, policy: tide, source: device}
  peaks: {query: "SELECT device, MAX(value) AS peak FROM clean [RANGE 30 s] GROUP BY device"}
sinks:
  out: {from: peaks, kind: parquet, path: out/peaks}
"""


def mistakes(text: str, environment: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(PipelineError) as refused:
        parse(text, HERE / "pipeline.yaml", environment or {})
    return [str(m) for m in refused.value.mistakes]


def with_line(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


def test_ten_mistakes_ten_messages():
    with pytest.raises(PipelineError) as refused:
        load(HERE / "ten_mistakes.yaml", {})
    told = [str(m) for m in refused.value.mistakes]
    assert told == (HERE / "ten_mistakes.txt").read_text().strip().split("\n\n")
    assert len(told) == 10
    assert str(refused.value).count("\n  hint:") == 9  # a port needs none


def test_a_good_file_has_none():
    assert list(parse(GOOD, HERE / "pipeline.yaml", {}).steps) == ["clean", "peaks"]


@pytest.mark.parametrize(("old", "new", "line", "words"), [
    ("name: demo", "name: 5 demo", 2, "is not a name"),
    ("name: demo", "name: demo\nname: other", 3, "'name' is there twice"),
    ("name: demo", "name: demo\ntrigger: 2", 3, "a duration needs a unit"),
    ("name: demo", "name: demo\nmetrics: {prot: 9400}", 3, "did you mean 'port'?"),
    ("kind: kafka", "kind: kafak", 4, "did you mean 'kafka'?"),
    ("kind: kafka, ", "", 4, "kind is missing"),
    ("topic: t", "topics: t", 4, "did you mean 'topic'?"),
    ("topic: t", "topic: []", 4, "the list is empty"),
    ("localhost:9092", "localhost:99092", 4, "is not the address of a server"),
    ("topic: t", "topic: t, starting: newest", 4, "one of earliest, latest"),
    ("topic: t", "topic: t, max_rows: 0", 4, "a whole number from 1"),
    ("topic: t", "topic: t, format: avro", 4, "without their schema"),
    ("topic: t", "topic: t, format: avro, schema: gone.avsc", 4, "gone.avsc (No such file"),
    ("topic: t", "topic: t, format: avro, schema: '{}'", 4, "one of a record with fields"),
    ("value: double", "_raw: string", 5, "a name that Slackwater gives itself"),
    ("value: double", "value: text", 5, "did you mean 'string'?"),
    ("reorder: raw", "reordr: raw", 7, "did you mean 'reorder'?"),
    ("reorder: raw", "reorder: raw, sql: x", 7, "a step does one thing"),
    ("reorder: raw", "reorder: row", 7, "did you mean 'raw'?"),
    ("reorder: raw", "reorder: raw.ready.x", 7, "a stream has no rows called"),
    ("reorder: raw", "reorder: peaks", 7, "peaks → clean → peaks"),
    ("policy: tide", "policy: tide(los=1%)", 7, "did you mean 'loss'?"),
    ("policy: tide", "policy: tide(loss=200%)", 7, "Tide.loss"),
    ("policy: tide", "max_future_skew: soon", 7, "is not a duration"),
    ("policy: tide", "align: maybe", 7, "needs true or false"),
    ("policy: tide", "time: tiem", 7, "did you mean 'time'?"),
    ("policy: tide", "by: [site, sight]", 7, "there is no column 'sight'"),
    ("policy: tide", "by: [site], scope: [device]", 7, "scope names device"),
    ("policy: tide", "unit: seconds", 7, "one of s, ms, us, ns"),
    ("SELECT device", "SELECT devise", 8, "did you mean 'device'?"),
    ("SELECT device", "SELEKT device", 8, "did you mean 'SELECT'"),
    ("RANGE 30 s", "RANGE 30", 8, "need a duration with a unit"),
    ("FROM clean", "FROM clena", 8, "did you mean 'clean'?"),
    ('device"}', 'device", emit: final}', 8, "there is no option 'emit'"),
    ("query: \"SELECT device, MAX(value) AS peak FROM clean [RANGE 30 s] GROUP BY device\"",
     "query: \"EVENT SEQ(A a, B b) WITHIN 1 s\"", 8, "from is missing"),
    ("query: \"SELECT device, MAX(value) AS peak FROM clean [RANGE 30 s] GROUP BY device\"",
     "sql: \"SELECT 1\"", 8, "reads no stream"),
    ("from: peaks", "from: peaks.later", 10, "did you mean 'late'?"),
    ("from: peaks, ", "", 10, "from is missing"),
    ("kind: parquet, path: out/peaks", "kind: parquet", 10, "path is missing"),
    ("out/peaks}", "out/peaks}\n  two: {from: clean, kind: json, path: out/peaks/x}", 11,
     "the same folder as the sink 'out' in line 10"),
    ("out/peaks", ".slackwater/demo/x", 10, "the same folder as the checkpoint"),
    ("kind: parquet, path: out/peaks", "kind: kafka, servers: b, topic: t, key: peek", 10,
     "did you mean 'peak'?"),
    ("kind: parquet, path: out/peaks", "kind: postgres, url: 'mysql://h/d', table: t", 10,
     "is not the address of a PostgreSQL database"),
])
def test_one_mistake_one_message(old: str, new: str, line: int, words: str):
    told = mistakes(with_line(old, new))
    assert len(told) == 1, told
    assert told[0].startswith(f"line {line}, ")
    assert words in told[0]


def test_late_rows_of_what_has_none():
    text = with_line("  out:", "  a: {from: raw.late, kind: console}\n"
                     "  b: {from: high.late, kind: console}\n  out:").replace(
        "sinks:", "  high: {sql: SELECT * FROM peaks}\nsinks:")
    one, two = mistakes(text)
    assert "is a source: it has no late rows" in one
    assert "is Spark's SQL: it has no late rows" in two


def test_a_missing_parameter_is_told_once_and_a_default_is_taken():
    text = with_line("localhost:9092", "${SERVERS}")
    assert [m.splitlines()[0].partition(": ")[2] for m in mistakes(text)] == [
        "sources.raw.servers: the environment variable SERVERS is not set"]
    for given, env, want in (("${S:-a:1}", {}, "a:1"), ("${S:-a:1}", {"S": "b:2"}, "b:2")):
        pipeline = parse(with_line("localhost:9092", given), "p.yaml", env)
        assert pipeline.sources["raw"].config.servers == want


def test_a_parameter_has_the_type_that_it_looks_like():
    text = GOOD + "metrics:\n  port: ${PORT:-9400}\n"
    assert parse(text, "p.yaml", {}).metrics.port == 9400
    assert parse(text, "p.yaml", {"PORT": "9401"}).metrics.port == 9401
    assert "is not a port" in mistakes(text, {"PORT": "http"})[0]


def test_not_yaml():
    assert "this is not YAML" in mistakes("a: [1, 2")[0]
    assert "quotes" in mistakes("sources: {raw: {servers: ${SERVERS}}}")[0]
    assert "the file is empty" in mistakes("")[0]
    assert "a pipeline is a mapping" in mistakes("- a")[0]
    assert "an anchor contains itself" in mistakes("a: &x [*x]")[0]


def test_what_is_missing_altogether():
    told = mistakes("name: x")
    assert len(told) == 2
    assert "there are no sinks" in told[0]
    assert "there are no sources" in told[1]


def test_a_query_in_a_block_is_drawn_at_its_line():
    text = GOOD.replace("""{query: "SELECT device, MAX(value) AS peak FROM clean [RANGE 30 s] """
                        """GROUP BY device"}""", """
    query: |
      SELECT device,
             MAX(vlaue) AS peak
      FROM clean [RANGE 30 s]
      GROUP BY device""")
    told, = mistakes(text)
    assert told.startswith("line 11, ")
    assert "MAX(vlaue)" in told
    assert "            ^^^^^" in told


def test_columns_are_followed_through_the_steps():
    text = GOOD.replace("sinks:", """
  high: {sql: "SELECT * FROM peaks WHERE peak > 3"}
  again: {query: "SELECT peek FROM high [RANGE 1 s]", time: device}
sinks:""")
    told, = mistakes(text)
    assert "expected: one of device, peak" in told


def test_nothing_is_said_of_columns_that_only_spark_knows():
    text = GOOD.replace("sinks:", """
  free: {sql: "SELECT device AS d, count(*) AS n FROM peaks GROUP BY device"}
  again: {reorder: free, time: whatever, by: [d]}
sinks:""")
    assert parse(text, HERE / "p.yaml", {}).steps["again"].options["time"] == "whatever"


def test_sparks_watermark_behind_keys_that_are_apart():
    text = with_line("reorder: raw", "reorder: raw, by: [site]").replace(
        "sinks:", "  s: {sql: SELECT * FROM clean, watermark: time}\nsinks:")
    told, = mistakes(text)
    assert "align: true" in told
    parse(text.replace("by: [site]", "by: [site], align: true"), HERE / "p.yaml", {})


def test_steps_that_lead_nowhere_are_noted():
    text = GOOD.replace("sinks:", "  idle: {reorder: raw}\nsinks:")
    note, = parse(text, HERE / "p.yaml", {}).notes
    assert note.where == "steps.idle"


def test_a_select_over_ordered_rows_waits_for_nothing():
    """Nor where it brings keys together that are put in order apart: they are merged first."""
    for text in (GOOD, with_line("reorder: raw", "reorder: raw, by: [site]")):
        step = parse(text, "p.yaml", {}).steps["peaks"]
        assert step.ordered
        assert (step.options["slack"], step.options["arrival"]) == ("0s", "time")


def test_a_pattern_over_ordered_rows_goes_by_their_time():
    text = GOOD.replace("sinks:", """
  found: {query: "EVENT SEQ(A a, B b) WITHIN 1 s", from: clean, type: kind}
  direct: {query: "EVENT SEQ(A a, B b) WITHIN 1 s", from: raw, type: kind}
sinks:""")
    steps = parse(text, "p.yaml", {}).steps
    assert steps["found"].options["arrival"] == "time"
    assert "arrival" not in steps["direct"].options


def test_names_that_differ_by_case_only():
    text = GOOD.replace("sinks:", "  Clean: {reorder: raw}\nsinks:")
    assert "upper and lower case" in mistakes(text)[0]


def test_a_missing_folder_of_a_source(tmp_path):
    (tmp_path / "data").mkdir()
    text = ("sources: {a: {kind: files, path: dota, format: json, columns: {x: int}}}\n"
            "sinks: {o: {from: a, kind: console}}")
    with pytest.raises(PipelineError, match="did you mean 'data'"):
        parse(text, tmp_path / "p.yaml", {})
    parse(text.replace("dota", "data"), tmp_path / "p.yaml", {})
    parse(text.replace("dota", "'new-*.json'"), tmp_path / "p.yaml", {})
