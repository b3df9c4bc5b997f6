"""The command, from its arguments to its exit code."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import slackwater
from slackwater.cli import main
from slackwater.datasets.recordings import FOLDER
from slackwater.evaluate import reorder_table
from slackwater.reorder import Reorder

Command = Callable[..., tuple[int, str, str]]
SEVEN = "sba,bstt,bsttwa,bsttd,bsttda,bskf,kslack"


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
            tmp_path: Path) -> Command:
    """Runs ``slackwater …`` in an empty folder: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(FOLDER, raising=False)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["slackwater", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        code = end.value.code
        return (0 if code is None else int(code)), printed.out, printed.err

    return run


def test_version_and_help(command: Command) -> None:
    assert command("--version") == (0, f"slackwater {slackwater.__version__}\n", "")
    code, out, _ = command("--help")
    assert code == 0
    for name in ("profile", "evaluate", "generate", "reorder", "reproduce"):
        assert name in out
        code, text, _ = command(name, "--help")
        assert code == 0
        assert "--json" in text


def test_evaluate_prints_one_json_array(command: Command, recordings: list[Path]) -> None:
    code, out, err = command("evaluate", *recordings[:2], "--policy", SEVEN, "--json")
    rows = json.loads(out)
    assert (code, err) == (0, "")
    assert [(r["dataset"], r["policy"]) for r in rows] == [
        (d, p) for d in ("d-1", "d-2") for p in SEVEN.split(",")]
    assert {"dataset", "policy", "events", "out_of_order", "not_compensated", "not_compensated_pct",
            "mean_buffer_ms", "min_buffer_ms", "overfitting_pct", "latency_ms"} <= rows[0].keys()
    assert list(rows[0]["latency_ms"]) == ["mean", "p50", "p95", "p99", "max"]
    assert (rows[0]["not_compensated"], rows[0]["min_buffer_ms"]) == (11, 4653)
    assert rows[4]["mean_buffer_ms"] == pytest.approx(1384.43, abs=0.05)


def test_profile_json_is_an_object_and_of_several_an_array(command: Command) -> None:
    code, out, _ = command("profile", "g-2", "--json")
    one = json.loads(out)
    assert code == 0
    assert list(one["delay_ms"]) == ["min", "p25", "p50", "mean", "p75", "p95", "p98", "p99", "max",
                                     "std"]
    assert list(one["out_of_order"]) == ["by_time", "by_time_pct", "by_sequence",
                                         "within_sources"]
    assert (one["events"], one["sources"]) == (30_000, 10)
    assert one["recommended"]["sba"]["buffer_ms"] == pytest.approx(6 * one["delay_ms"]["p98"])
    two = json.loads(command("profile", "g-2", "g-1", "--json")[1])
    assert [p["dataset"] for p in two] == ["g-2", "g-1"]
    assert two[0] == one


def test_tables_for_people(command: Command) -> None:
    code, out, err = command("evaluate", "g-2", "--policy", "sba, kslack(scale=1)")
    assert (code, err) == (0, "")
    assert "30,000 events" in out
    assert "SBA" in out
    assert "kslack(scale=1)" in out
    out = command("profile", "g-2")[1]
    assert "MeanPlusRange(n=600" in out


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_pictures(command: Command, suffix: str) -> None:
    code, out, _ = command("evaluate", "g-2", "--policy", "sba", "--json", "--picture",
                           f"e.{suffix}")
    assert code == 0
    assert len(json.loads(out)) == 1
    assert Path(f"e.{suffix}").stat().st_size > 1000


def test_profile_pictures_of_several_files(command: Command) -> None:
    assert command("profile", "g-2", "g-3", "--picture", "p.png")[0] == 0
    assert Path("p-g-2.png").exists()
    assert Path("p-g-3.png").exists()


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_generate_then_reorder_accounts_for_every_row(command: Command, suffix: str) -> None:
    code, out, _ = command(
        "generate", "feed", "--sources", 5, "--duration", "30s", "--rate", "poisson(interval=50ms)",
        "--delay", "lognormal(median=300ms, sigma=1)",
        "--stalls", "stalls(interval=10s, length=2s)",
        "--skew", "50ms", "--poison", 0.05, "--duplicates", 0.05, "--keys", 3, "--seed", 7,
        "--out", f"f.{suffix}", "--json")
    rows = json.loads(out)["rows"]
    assert code == 0
    assert rows > 2500
    code, out, _ = command("reorder", f"f.{suffix}", "--policy", "sba(buffer=1s)", "--by", "key",
                           "--out", f"deep/o.{suffix}", "--json")
    summary = json.loads(out)
    assert code == 0
    assert summary["rows"] == rows
    assert summary["ready"] + summary["late"] + summary["quarantined"] == rows
    assert min(summary["ready"], summary["late"], summary["quarantined"]) > 0
    assert summary["files"] == {"ready": f"deep/o.{suffix}", "late": f"deep/o.late.{suffix}",
                                "quarantined": f"deep/o.quarantined.{suffix}"}
    for name, path in summary["files"].items():
        assert _rows(Path(path)) == summary[name]


def _rows(path: Path) -> int:
    if path.suffix == ".parquet":
        return int(pa.parquet.read_table(path).num_rows)
    lines = path.read_text().splitlines()
    return len(lines) - (path.suffix == ".csv")


def test_reordered_rows_are_in_order_and_keep_their_columns(command: Command) -> None:
    assert command("generate", "g-1", "--out", "g.parquet")[0] == 0
    assert command("reorder", "g.parquet", "--out", "o.parquet")[0] == 0
    before, after = pa.parquet.read_table("g.parquet"), pa.parquet.read_table("o.parquet")
    assert after.column_names == [*before.column_names, "_reason", "_released"]
    times = after["time"].cast(pa.int64()).to_pylist()
    assert times == sorted(times)
    late = pa.parquet.read_table("o.late.parquet")
    assert late.num_rows + after.num_rows == before.num_rows
    assert all("behind the watermark" in why for why in late["_reason"].to_pylist())


def test_generate_a_published_set(command: Command) -> None:
    code, out, _ = command("generate", "g-12", "--out", "g.csv", "--json")
    summary = json.loads(out)
    assert code == 0
    assert summary["out_of_order_pct"] == pytest.approx(35.27, abs=3)
    again = Path("g.csv").read_bytes()
    command("generate", "g-12", "--out", "g.csv")
    assert Path("g.csv").read_bytes() == again
    figures = [json.loads(command("evaluate", file, "--policy", "bstt", "--json")[1])[0]
               for file in ("g.csv", "g-12")]
    assert figures[0] == figures[1] | {"dataset": "g"}


def test_spark_is_asked_only_when_wanted(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def elsewhere(table: pa.Table, kernel: Reorder) -> tuple[pa.Table, pa.Table, pa.Table]:
        asked.append(table.num_rows)
        return reorder_table(table, kernel)

    fake = types.ModuleType("slackwater.spark.files")
    fake.run_table = elsewhere  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "slackwater.spark", types.ModuleType("slackwater.spark"))
    monkeypatch.setitem(sys.modules, "slackwater.spark.files", fake)
    here = command("evaluate", "g-2", "--policy", "sba", "--json", "--literal")
    assert asked == []
    assert command("evaluate", "g-2", "--policy", "sba", "--json", "--literal", "--engine",
                   "spark") == here
    assert command("reorder", "g-2", "--out", "o.csv", "--engine", "spark")[0] == 0
    assert asked == [30_000, 30_000]


def test_without_spark_the_message_names_the_extra(command: Command,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "slackwater.spark", types.ModuleType("slackwater.spark"))
    monkeypatch.setitem(sys.modules, "slackwater.spark.files", None)
    code, _, err = command("evaluate", "g-2", "--engine", "spark")
    assert code == 2
    assert "pip install 'slackwater[spark]'" in err


def test_reproduce_lists_runs_and_leaves_out(command: Command) -> None:
    names = command("reproduce")[1].split()
    assert {"reorder-fig5", "reorder-table2"} <= set(names)
    code, out, err = command("reproduce", "reorder-fig7", "reorder-fig8", "--quick", "--out", "r",
                             "--json")
    report = json.loads(out)
    assert code == 1
    assert [Path(p).name for p in report["written"]["reorder-fig8"]] == [
        "reorder-fig8.csv", "reorder-fig8.png", "reorder-fig8.pdf"]
    assert "recordings" in report["left_out"]["reorder-fig7"]
    assert "left out reorder-fig7" in err


@pytest.mark.parametrize(("arguments", "message"), [
    (("evaluate", "missing.csv"), "there is no file"),
    (("evaluate", "g-2", "--policy", "slakk"), "did you mean"),
    (("evaluate", "g-2", "--policy", "sba(bufer=1s)"), "did you mean 'buffer'"),
    (("evaluate", "g-2", "--policy", ","), "names no policy"),
    (("evaluate", "g-2", "--time", "tme"), "did you mean 'time'"),
    (("evaluate", "g-2", "--by", "kye"), "did you mean 'key'"),
    (("profile", "g-2", "--picture", "p.doc"), ".png, .pdf or .svg"),
    (("generate", "g-13", "--out", "x.csv"), "nothing called 'g-13'"),
    (("generate", "g-1", "--sources", "3", "--out", "x.csv"), "only --seed changes it"),
    (("generate", "feed", "--delay", "gauss", "--out", "x.csv"), "there is no delay 'gauss'"),
    (("generate", "feed", "--out", "x.xls"), "format that is not known"),
    (("reorder", "g-2", "--out", "x"), "format that is not known"),
    (("reorder", "g-2", "--out", "x.csv", "--max-future-skew", "soon"), "max_future_skew"),
    (("reproduce", "reorder-fig55"), "did you mean 'reorder-fig5'"),
    (("reproduce", "reorder-fig5", "--data", "nowhere"), "is not a folder"),
    (("evaluate",), "Missing argument"),
    (("evaluate", "g-2", "--engine", "flink"), "flink"),
    (("evalute", "g-2"), "No such command"),
])
def test_mistakes_end_in_a_message_and_code_2(command: Command, arguments: tuple[str, ...],
                                              message: str) -> None:
    code, out, err = command(*arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_a_folder_that_cannot_be_written_is_a_message(command: Command) -> None:
    Path("file").write_text("")
    code, _, err = command("generate", "g-2", "--out", "file/x.csv")
    assert code == 2
    assert err.startswith("slackwater: file")


def test_tune_prints_a_policy_that_can_be_pasted(command: Command, tmp_path: Path) -> None:
    code, out, err = command("tune", "g-2", "--loss", "0.5%", "--sample", 5000, "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found["met"]
    assert found["chosen"]["loss"] <= 0.005
    points = [(t["loss"], t["latency_ms"]["mean"], t["pareto"]) for t in found["trials"]]
    for loss, latency, pareto in points:
        beaten = any(a < loss and b < latency for a, b, _ in points)
        assert not (pareto and beaten)
    code, out, _ = command("evaluate", "g-2", "--policy", found["policy"], "--json")
    assert code == 0, "what is printed is a policy as the other commands take it"
    code, out, _ = command("tune", "g-2", "--latency", "600ms", "--sample", 5000,
                           "--picture", tmp_path / "front.png")
    assert code == 0
    assert (tmp_path / "front.png").stat().st_size > 10_000
    code, _, err = command("tune", "g-2")
    assert code == 2
    assert "either loss or latency" in err
