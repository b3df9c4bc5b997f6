"""Every row is accounted for: the last line, the remarks, the files, and tables that show cells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from slackwater.cli import main
from slackwater.cli.show import print_table
from slackwater.datasets.files import write_table

Command = Callable[..., tuple[int, str, str]]
COUNT = "SELECT time, COUNT(*) AS n FROM s [RANGE 10 s]"
JOIN = "SELECT a.id, b.lamp FROM Doors a, Lamps b WHERE |@a - @b| <= 2 s AND a.room = b.room"


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
            tmp_path: Path) -> Command:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["slackwater", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        return int(end.value.code or 0), printed.out, printed.err

    return run


def rows(name: str, *, delays: list[float], **columns: list[object]) -> None:
    start = 1_700_000_000_000_000
    times = [start + 1_000_000 * i for i in range(len(delays))]
    stamp = pa.timestamp("us", "UTC")
    write_table(pa.table({
        "time": pa.array(times, stamp),
        "arrival": pa.array([t + int(1e6 * d) for t, d in zip(times, delays, strict=True)], stamp),
        **columns}), Path(name))


def test_a_pattern_over_a_feed_with_delays_finds_its_matches(command: Command) -> None:
    """With a slack of zero every row was late: no match, exit 0 and not a word."""
    rows("feed.csv", delays=[2.0] * 40, source=["one"] * 40, type=list("AB") * 20)
    code, out, err = command("query", "EVENT SEQ(A a, B b) WITHIN 1 s RETURN a.time AS began",
                             "--data", "feed.csv", "--json")
    assert code == 0
    assert len(out.splitlines()) == 20
    assert err == ("40 rows: 40 ready, 0 late, 0 quarantined, 0 unusable; loss 0 %; "
                   "20 results\n")


def test_late_and_quarantined_rows_are_counted_said_and_written(command: Command) -> None:
    rows("feed.csv", delays=[0, 0, 6, 0, 0, 0, -900], v=list(range(7)))
    code, out, err = command("query", COUNT, "--data", "feed.csv", "--slack", "1s",
                             "--out", "n.csv", "--late-out", "rest.jsonl")
    assert (code, out) == (0, "n.csv\n")
    late, apart, last = err.splitlines()
    assert late == ("warning: 16.67 % of the rows were late; wait longer (slack), or let "
                    "Tide(loss=…) hold a bound; most often: came 3000 ms behind the watermark")
    assert apart.startswith("warning: 1 row quarantined; most often: ")
    assert last == "7 rows: 5 ready, 1 late, 1 quarantined, 0 unusable; loss 16.67 %; 5 results"
    assert len(Path("n.csv").read_text().splitlines()) == 6
    rest = [json.loads(line) for line in Path("rest.jsonl").read_text().splitlines()]
    assert [(r["_status"], r["v"]) for r in rest] == [("late", 2), ("quarantined", 6)]
    assert all(r["_reason"] for r in rest)


def test_all_rows_quarantined_is_said_with_the_reason(command: Command) -> None:
    Path("bad.csv").write_text("time,type\n" + "noon,A\n" * 3 + ",A\n")
    for text in (COUNT, "EVENT A a WITHIN 1 s"):
        code, _, err = command("query", text, "--data", "bad.csv")
        first, last = err.splitlines()
        assert code == 0
        assert first.startswith("warning: no row took part: 0 were late, 4 quarantined, 0 "
                                "unusable; most often: 'time' is not a time")
        assert first.endswith("(3 rows)")
        assert last == "4 rows: 0 ready, 0 late, 4 quarantined, 0 unusable; loss 0 %; 0 results"


def test_a_broken_promise_is_said(command: Command) -> None:
    delays = [0.0] * 300
    delays[150] = delays[151] = 60.0
    rows("feed.csv", delays=delays, source=["one"] * 300)
    _, _, err = command("query", COUNT, "--data", "feed.csv", "--policy", "Tide(loss=0.1%)",
                        "--json")
    said, last = err.splitlines()
    assert said.startswith("warning: 0.6667 % of the rows were late, where at most 0.1 % was "
                           "promised; most often: came ")
    assert "2 late" in last


def test_matches_are_a_table_for_people(command: Command) -> None:
    rows("feed.csv", delays=[0] * 4, type=list("ABBC"), v=[1, 2, 3, 4])
    code, out, _ = command("query", "EVENT SEQ(A a, B+ b[], C c) WITHIN 9 s RETURN c.v AS v",
                           "--data", "feed.csv", "--select", "skip_till_next", "--slack", "1s")
    head, line = out.splitlines()[2].split(), out.splitlines()[4]
    assert (code, head) == (0, ["match", "a", "b", "c", "v"])
    assert "2023-11-14T22:13:21Z … 2023-11-14T22:13:22Z (2)" in line
    assert "{" not in out
    assert line.rstrip().endswith("4")


def test_matches_can_be_written_as_csv(command: Command) -> None:
    rows("feed.csv", delays=[0] * 2, type=list("AB"))
    command("query", "EVENT SEQ(A a, B b) WITHIN 9 s", "--data", "feed.csv", "--slack", "1s",
            "--out", "m.csv.gz")
    with pa.input_stream("m.csv.gz") as stream:
        text = stream.read().decode()
    assert '""time"": ""2023-11-14T22:13:20Z""' in text


def test_a_join_reads_two_files_and_the_query_from_a_file(command: Command) -> None:
    rows("left.csv", delays=[0, 0, 0], id=[1, 2, 3], room=["x", "y", None])
    rows("right.parquet", delays=[0, 0], lamp=["hall", "attic"], room=["y", "y"])
    Path("join.sql").write_text(JOIN)
    for data in (("left.csv", "right.parquet"), ("Lamps=right.parquet", "Doors=left.csv")):
        code, out, err = command("query", "--file", "join.sql", "--time", "time", "--json",
                                 *(part for file in data for part in ("--data", file)),
                                 "--late-out", "rest.csv")
        assert code == 0, err
        assert [json.loads(line) for line in out.splitlines()] == [
            {"id": 2, "lamp": "hall"}, {"id": 2, "lamp": "attic"}]
        assert err.splitlines() == [
            "warning: 1 row unusable; most often: no value in key column 'room'",
            "5 rows: 4 ready, 0 late, 0 quarantined, 1 unusable; loss 0 %; 2 results"]
    assert "unusable" in Path("rest.csv").read_text()
    code, _, err = command("query", "--file", "join.sql", "--data", "left.csv")
    assert code == 2
    assert "one file for each of Doors, Lamps" in err
    assert command("query", COUNT, "--data", "left.csv", "--data", "right.parquet")[0] == 2
    assert command("query", JOIN, "--file", "join.sql", "--data", "left.csv")[0] == 2
    assert "both the query and its rows" in command("query", "--file", "-", "--data", "-")[2]


def test_correlate_takes_points_and_counts_rows(command: Command) -> None:
    rows("left.csv", delays=[0, 0, 0], id=[1, 2, 3], on=[True, False, None])
    rows("right.csv", delays=[0, 0], lamp=["hall", "[/attic]"])
    code, out, err = command("correlate", "left.csv", "right.csv", "--time", "time", "--within",
                             "500ms")
    assert code == 0
    assert "[/attic]" in out
    assert "false" in out
    assert err == "5 rows: 5 ready, 0 late, 0 quarantined, 0 unusable; loss 0 %; 2 results\n"
    code, _, err = command("correlate", "left.csv", "right.csv", "--within", "5s")
    assert code == 2
    assert "--time COLUMN, if times are points" in err


def test_too_many_pairs_are_refused_in_words(command: Command) -> None:
    rows("left.csv", delays=[0] * 2000)
    code, _, err = command("correlate", "left.csv", "left.csv", "--time", "time", "--within", "1h",
                           "--max-pairs", "1000000")
    assert code == 2
    assert "more than 1,000,000 pairs are too many" in err
    assert "max_pairs" in err
    assert command("correlate", "left.csv", "left.csv", "--time", "time", "--within", "1h",
                   "--max-pairs", "4000000", "--out", "p.parquet")[0] == 0
    assert pa.parquet.read_metadata("p.parquet").num_rows == 4_000_000


def test_cells_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("t", ("[red]x", "b"), [("[/x]", True), ("[red]a[/red]", False), ("\x1b[31m", None)])
    out = capsys.readouterr().out
    for text in ("[red]x", "[/x]", "[red]a[/red]", "true", "false", "\\x1b[31m"):
        assert text in out


def test_a_table_keeps_to_the_width(capsys: pytest.CaptureFixture[str],
                                    monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    columns = [f"column {i}" for i in range(9)]
    print_table("t", columns, [[f"a long text in cell {i}" for i in range(9)]])
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 40
    assert "… and 7 columns that did not fit" in " ".join(out.split())


def test_version_loads_nothing_heavy() -> None:
    code = ("import sys; sys.argv = ['slackwater', '--version']\nfrom slackwater.cli import main\n"
            "try: main()\nfinally: print(sorted({m.split('.')[0] for m in sys.modules} & {'typer', "
            "'pyarrow', 'numpy', 'numba', 'rich', 'pandas', 'pyspark', 'matplotlib'}))")
    best = 9.0
    for _ in range(5):
        begun = time.perf_counter()
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              env=dict(os.environ))
        best = min(best, time.perf_counter() - begun)
        assert said.stdout.splitlines()[1:] == ["[]"]
    assert best < 0.3
