"""From points to intervals."""

from __future__ import annotations

import pyarrow as pa
import pytest

from slackwater.core.errors import ConfigError, DataError, UnknownColumn
from slackwater.correlate import from_clock_error, from_ntp, from_sampling

ROWS = pa.table({"time": [1000, 2000, None], "err": [5.0, None, 1.0], "off": [30, -40, 1]})


def ends(table: pa.Table) -> list[tuple[int | None, int | None]]:
    return [tuple(None if v is None else v // 1000 for v in pair) for pair in
            zip(*(table[c].cast(pa.int64()).to_pylist() for c in ("time_min", "time_max")),
                strict=True)]


def test_clock_error_by_duration_or_column():
    assert ends(from_clock_error(ROWS, "250ms", unit="ms")) == [
        (750, 1250), (1750, 2250), (None, None)]
    assert ends(from_clock_error(ROWS, "err", unit="ms")) == [
        (995, 1005), (None, None), (None, None)]


@pytest.mark.parametrize(("stamped", "expected"), [
    ("end", (800, 1000)), ("start", (1000, 1200)), ("middle", (900, 1100))])
def test_sampling(stamped, expected):
    assert ends(from_sampling(ROWS, "200ms", stamped=stamped, unit="ms"))[0] == expected


def test_ntp():
    assert ends(from_ntp(ROWS, "off", unit="ms"))[:2] == [(970, 1000), (2000, 2040)]
    assert ends(from_ntp(ROWS, "off", delay="20ms", unit="ms"))[:2] == [(960, 980), (2030, 2050)]
    batch = ROWS.to_batches()[0]
    assert from_ntp(batch, "off", delay="off", unit="ms").num_columns == 5


def test_mistakes_are_told():
    with pytest.raises(UnknownColumn, match="did you mean"):
        from_ntp(ROWS, "offf", unit="ms")
    with pytest.raises(ConfigError, match="start, middle or end"):
        from_sampling(ROWS, "1s", stamped="begin", unit="ms")
    with pytest.raises(DataError, match="below zero"):
        from_clock_error(ROWS, "off", unit="ms")
    with pytest.raises(ConfigError, match="already"):
        from_clock_error(from_clock_error(ROWS, "1s", unit="ms"), "1s", unit="ms")
