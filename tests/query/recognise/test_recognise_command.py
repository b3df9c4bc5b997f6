"""`slackwater query` with MATCH_RECOGNIZE: the text decides what kind of query it is."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from slackwater.cli import main

ROWS = """time,symbol,price
2024-01-01T00:00:01Z,x,9
2024-01-01T00:00:03Z,x,5
2024-01-01T00:00:02Z,x,7
2024-01-01T00:00:05Z,x,8
2024-01-01T00:00:04Z,x,6
2024-01-01T00:00:06Z,x,2
"""
QUERY = """SELECT * FROM prices MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY time
    MEASURES FIRST(price) AS top, LAST(down.price) AS bottom, LAST(up.price) AS rise
    PATTERN (start down+ up+)
    DEFINE down AS down.price < PREV(down.price), up AS up.price > PREV(up.price))"""


def test_a_file_with_rows_out_of_order(capsys: pytest.CaptureFixture[str],
                                       monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text(ROWS)
    monkeypatch.setattr(sys, "argv", ["slackwater", "query", QUERY, "--data",
                                      str(tmp_path / "prices.csv"), "--slack", "5s", "--json"])
    with pytest.raises(SystemExit) as end:
        main()
    printed = capsys.readouterr()
    assert not end.value.code, printed.err
    assert [json.loads(line) for line in printed.out.splitlines()] == [
        {"symbol": "x", "top": 9, "bottom": 5, "rise": 8}]
