"""Values as JSON: one encoder for every command and file."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from slackwater.core.plain import plain, to_json
from slackwater.datasets.files import write_table

NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(("value", "text"), [
    (NOON, '"2024-01-01T12:00:00Z"'),
    (NOON.astimezone(dt.timezone(dt.timedelta(hours=1))), '"2024-01-01T12:00:00Z"'),
    (dt.datetime(2024, 1, 1, 12, 0, 0, 5), '"2024-01-01T12:00:00.000005Z"'),
    (dt.date(2024, 1, 1), '"2024-01-01"'),
    (dt.timedelta(milliseconds=1500), "1.5"),
    (float("nan"), "null"), (float("inf"), "null"), (np.float64("nan"), "null"),
    (np.int64(3), "3"), (True, "true"), (Decimal("1.10"), '"1.10"'), (b"\x01\xff", '"01ff"'),
    ({"a": [NOON, None], 3: (1.5,)}, '{"a": ["2024-01-01T12:00:00Z", null], "3": [1.5]}'),
    ("ä[/x]", '"ä[/x]"'),
])
def test_each_kind(value: object, text: str) -> None:
    assert to_json(value) == text
    assert json.loads(text) == json.loads(json.dumps(plain(value)))


def test_a_file_of_json_lines_has_the_same_values(tmp_path: Path) -> None:
    vienna = pa.array([NOON, None], pa.timestamp("us", "Europe/Vienna"))
    table = pa.table({
        "vienna": vienna, "naive": vienna.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us")),
        "x": [float("nan"), 0.5], "nested": [{"at": NOON, "v": float("inf")}, None],
        "whole": [1, 2], "raw": [b"\x00", None]})
    write_table(table, tmp_path / "out.jsonl")
    rows = [json.loads(line, parse_constant=pytest.fail)
            for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert rows[0] == {"vienna": "2024-01-01T12:00:00Z", "naive": "2024-01-01T12:00:00Z",
                       "x": None, "nested": {"at": "2024-01-01T12:00:00Z", "v": None},
                       "whole": 1, "raw": "00"}
    assert rows[1] == {"vienna": None, "naive": None, "x": 0.5, "nested": None, "whole": 2,
                       "raw": None}
