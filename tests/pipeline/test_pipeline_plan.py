"""What a pipeline becomes: its plan drawn, its queries, and no secret in any of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.cli import main
from slackwater.pipeline import PipelineError, parse
from slackwater.pipeline.draw import as_json, draw
from slackwater.pipeline.fingerprint import query_plan
from slackwater.pipeline.secrets import Secrets, hide_credentials
from slackwater.pipeline.sql_streams import sql_streams, with_quoted_streams

TEXT = """
name: plant
checkpoint: state/plant
sources:
  raw: {kind: kafka, servers: "broker:9092", topic: [a, b],
        columns: {time: timestamp, device: string, value: double},
        options: {kafka.sasl.jaas.config: "x password=topsecret;", kafka.client.id: me}}
  other: {kind: nats, servers: "nats://joe:hush-hush@nats:4222", stream: s, token: "${NATS_TOKEN}",
          columns: {time: timestamp, device: string, value: double}}
steps:
  clean: {reorder: raw, policy: tide(loss=0.1%), source: device}
  peaks: {query: "SELECT device, MAX(value) AS peak FROM clean [RANGE 30 s] GROUP BY device"}
  both: {sql: "SELECT *, '${NATS_TOKEN}' AS t FROM other o JOIN peaks USING (device)"}
sinks:
  peaks: {from: peaks, kind: postgres, url: "postgresql://me:p%40ss-word@db/x", table: t,
          key: device}
  late: {from: clean.late, kind: json, path: out/late}
  all: {from: both, kind: console}
spark: {spark.hadoop.fs.s3a.secret.key: wJalrXUt}
"""
SECRETS = ("topsecret", "hush-hush", "t0k3n", "p%40ss-word", "p@ss-word", "wJalrXUt")
DRAWN = """plant

raw: kafka servers=broker:9092 topic=a,b kafka.sasl.jaas.config=*** kafka.client.id=me
└─▶ clean: reorder policy=tide(loss=0.1%) source=device
    ├─▶ peaks: query SELECT device, MAX(value) AS peak FROM clean [RANGE 30 s] GROUP BY device arrival=time slack=0s
    │   ├─▶ both: sql SELECT *, '***' AS t FROM other o JOIN peaks USING (device)
    │   │   └─▶ [all] console (at least once)
    │   └─▶ [peaks] postgres url=postgresql://***@db/x table=t key=device (exactly once)
    └─late─▶ [late] json out/late (exactly once)

other: nats servers=nats://***@nats:4222 stream=s token=***
└─▶ both (above)

streaming queries: main, both
checkpoint: state/plant"""  # noqa: E501


def plant(text: str = TEXT):
    return parse(text, "plant.yaml", {"NATS_TOKEN": "t0k3n"})


def test_the_plan_is_drawn():
    assert draw(plant()) == DRAWN


def test_secrets_are_in_no_output():
    pipeline = plant()
    shown = [draw(pipeline), json.dumps(as_json(pipeline)), repr(pipeline.sources),
             repr(pipeline.sinks),
             json.dumps([query_plan(pipeline, q) for q in pipeline.queries])]
    for secret in SECRETS:
        assert not any(secret in text for text in shown), secret
        assert secret not in pipeline.secrets.redact(f"cannot log in with {secret}: refused")


def test_secrets_are_in_no_message():
    text = TEXT.replace("topic: [a, b]", "topic: [a, b], starting: t0k3n").replace(
        "table: t,", "tabel: t,").replace("peak FROM", "'topsecret' + FROM")
    with pytest.raises(PipelineError) as refused:
        plant(text)
    assert len(refused.value.mistakes) == 3
    assert not any(secret in str(refused.value) for secret in SECRETS)
    assert "***" in str(refused.value)


def test_queries_and_what_they_are_made_of():
    pipeline = plant()
    assert [(q.name, [s.name for s in q.sinks]) for q in pipeline.queries] == [
        ("main", ["peaks", "late"]), ("both", ["all"])]
    assert list(pipeline.upstream("both")) == ["other", "raw", "clean", "peaks", "both"]


def test_the_command(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("NATS_TOKEN", "t0k3n")
    file = tmp_path / "plant.yaml"
    file.write_text(TEXT)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["slackwater", "check", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        return int(end.value.code or 0), printed.out, printed.err

    assert command(str(file))[:2] == (0, DRAWN + "\n")
    code, out, _ = command(str(file), "--json")
    assert (code, json.loads(out)["columns"]["peaks"]) == (0, {"device": "string",
                                                              "peak": "double"})
    file.write_text(TEXT.replace("kind: console", "kind: consol"))
    code, out, err = command(str(file))
    assert (code, out) == (2, "")
    assert "one mistake" in err
    assert "did you mean 'console'?" in err
    code, out, _ = command(str(file), "--json")
    assert code == 2
    assert json.loads(out)["mistakes"][0]["line"] == 18
    code, _, err = command(str(tmp_path / "nothing.yaml"))
    assert (code, "No such file" in err) == (2, True)


@given(st.text(min_size=3).filter(lambda s: len(s.strip()) >= 3 and "*" not in s), st.text(),
       st.text())
def test_a_secret_is_gone_wherever_it_stands(secret: str, before: str, after: str):
    assert secret.strip() not in Secrets([secret]).redact(before + secret + after)


@given(st.text(st.characters(blacklist_characters="/?#'\"", blacklist_categories=["Z", "C"]),
               min_size=1))
def test_credentials_leave_an_address(password: str):
    shown = hide_credentials(f"postgresql://me:{password}@db.example:5432/x")
    assert shown == "postgresql://***@db.example:5432/x"


@pytest.mark.parametrize(("sql", "streams"), [
    ("SELECT a FROM s", ["s"]),
    ("select a from `s` where b in (select c from t.late)", ["s", "t.late"]),
    ("SELECT extract(hour FROM time), trim(BOTH 'x' FROM d) FROM s", ["s"]),
    ("SELECT 'FROM x' AS a -- FROM y\nFROM s /* FROM z */", ["s"]),
    ("SELECT * FROM a, b c, d AS e WHERE f > 1, 2", ["a", "b", "d"]),
    ("SELECT * FROM a JOIN b ON a.x = b.x LEFT JOIN c USING (x)", ["a", "b", "c"]),
    ("WITH t AS (SELECT * FROM a), u AS (SELECT * FROM t) SELECT * FROM u", ["a"]),
    ("SELECT * FROM (SELECT x FROM a) q, range(3) UNION ALL SELECT * FROM b", ["a", "b"]),
    ("SELECT 1", []),
])
def test_the_streams_of_sql(sql: str, streams: list[str]):
    assert sql_streams(sql) == streams


def test_streams_become_views():
    assert with_quoted_streams("SELECT clean.late FROM clean.late JOIN b ON b.x = 'clean.late'") \
        == "SELECT clean.late FROM `clean.late` JOIN `b` ON b.x = 'clean.late'"


def test_paths_are_relative_to_the_file(tmp_path: Path):
    pipeline = parse(TEXT, tmp_path / "plant.yaml", {"NATS_TOKEN": "t0k3n"})
    assert pipeline.checkpoint == str(tmp_path / "state" / "plant")
    assert pipeline.sinks["late"].config.path == str(tmp_path / "out" / "late")
