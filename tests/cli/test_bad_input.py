"""Bad rows and bad files at the command: a message, or a place for every row."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slackwater.cli import main

S = 1_700_000_000
Reorder = Callable[..., tuple[int, dict[str, Any], str]]


@pytest.fixture
def reorder(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
            tmp_path: Path) -> Reorder:
    """Writes lines to a file, reorders it: exit code, summary, standard error."""
    monkeypatch.chdir(tmp_path)

    def run(text: str, *arguments: str) -> tuple[int, dict[str, Any], str]:
        Path("in.csv").write_text(text)
        monkeypatch.setattr(sys, "argv", ["slackwater", "reorder", "in.csv", "--out", "out.csv",
                                          "--policy", "sba", "--json", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        return int(end.value.code or 0), json.loads(printed.out or "{}"), printed.err

    return run


def rows(name: str) -> list[dict[str, str]]:
    with Path(name).open() as file:
        return list(csv.DictReader(file))


def counts(summary: dict[str, Any]) -> tuple[int, int, int]:
    assert summary["rows"] == summary["ready"] + summary["late"] + summary["quarantined"]
    for name, path in summary["files"].items():
        assert len(rows(path)) == summary[name]
    return summary["ready"], summary["late"], summary["quarantined"]


def steady(n: int, start: int = 0) -> list[str]:
    return [f"{S + start + k},{S + start + k},{k}" for k in range(n)]


def table(*lines: str) -> str:
    return "\n".join(["time,arrival,n", *lines]) + "\n"


def test_missing_times(reorder: Reorder) -> None:
    code, summary, _ = reorder(table(*steady(5), f",{S + 5},5", f"NA,{S + 6},6"))
    assert code == 0
    assert counts(summary) == (5, 0, 2)
    assert [r["_reason"] for r in rows("out.quarantined.csv")] == ["no time in 'time'"] * 2
    assert [r["n"] for r in rows("out.quarantined.csv")] == ["5", "6"]


def test_unparseable_times(reorder: Reorder) -> None:
    _, summary, _ = reorder(table(*steady(5), f"yesterday,{S + 5},5"))
    assert counts(summary) == (5, 0, 1)
    [row] = rows("out.quarantined.csv")
    assert (row["time"], row["n"]) == ("yesterday", "5")
    assert "is not a time" in row["_reason"]


def test_a_time_in_2099_makes_nobody_late(reorder: Reorder) -> None:
    lines = [*steady(5), f"4070908800,{S + 5},x", *steady(20, 6)]
    _, summary, _ = reorder(table(*lines))
    assert counts(summary) == (25, 0, 1)
    assert rows("out.quarantined.csv")[0]["_reason"] == "more than 5m ahead of its arrival"


def test_a_time_in_1970_is_late_or_quarantined_as_asked(reorder: Reorder) -> None:
    lines = [*steady(5), f"0,{S + 5},x", *steady(5, 6)]
    assert counts(reorder(table(*lines))[1]) == (10, 1, 0)
    assert counts(reorder(table(*lines), "--max-delay", "1 hour")[1]) == (10, 0, 1)
    assert "older than its arrival" in rows("out.quarantined.csv")[0]["_reason"]


def test_negative_delays(reorder: Reorder) -> None:
    lines = [f"{S + k + 2},{S + k},{k}" for k in range(5)]
    code, summary, _ = reorder(table(*lines))
    assert (code, counts(summary)) == (0, (5, 0, 0))
    assert [r["n"] for r in rows("out.csv")] == ["0", "1", "2", "3", "4"]


def test_duplicate_rows(reorder: Reorder) -> None:
    lines = [line for line in steady(5) for _ in range(2)]
    assert counts(reorder(table(*lines))[1]) == (10, 0, 0)


def test_unsorted_arrivals_are_sorted_first(reorder: Reorder) -> None:
    lines = steady(30)
    assert counts(reorder(table(*reversed(lines)))[1]) == (30, 0, 0)
    backwards = Path("out.csv").read_text()
    reorder(table(*lines))
    assert Path("out.csv").read_text() == backwards


def test_a_header_alone(reorder: Reorder) -> None:
    code, summary, _ = reorder(table())
    assert (code, counts(summary)) == (0, (0, 0, 0))
    assert set(summary["latency_ms"].values()) == {None}
    assert Path("out.csv").read_text().startswith('"time","arrival","n","_reason","_released"')


def test_zero_bytes(reorder: Reorder) -> None:
    code, _, err = reorder("")
    assert code == 2
    assert "the file is empty" in err
    assert not Path("out.csv").exists()


def test_unknown_column(reorder: Reorder) -> None:
    code, _, err = reorder(table(*steady(3)), "--arrival", "arival")
    assert code == 2
    assert "there is no column 'arival' for the role 'arrival'" in err
    assert "did you mean 'arrival'?" in err


def test_wrong_unit(reorder: Reorder) -> None:
    code, _, err = reorder(table(*steady(3)), "--unit", "ms")
    assert code == 2
    assert "declared in 'ms' but its values look like 's'" in err
    assert "hint" in err
    assert reorder(table(*steady(3)), "--unit", "s")[0] == 0


def test_late_rows_keep_their_columns_and_say_by_how_much(reorder: Reorder) -> None:
    lines = [*steady(10), f"{S + 1},{S + 10},tardy", *steady(3, 11)]
    assert counts(reorder(table(*lines))[1]) == (13, 1, 0)
    [row] = rows("out.late.csv")
    assert row["n"] == "tardy"
    assert "behind the watermark" in row["_reason"]
    assert row["_released"].startswith("2023-11-14 22:13:30")
