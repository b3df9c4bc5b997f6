"""Columns of times: every cell is read by itself, and nothing wraps around."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.core.errors import ConfigError, DataError
from slackwater.core.events import NEVER, Roles, event_times, usable_rows
from slackwater.core.times import FIRST_TIME, LAST_TIME

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def read(column: pa.Array, unit: str | None = None) -> list[int | None]:
    values, readable = event_times(column, unit=unit, name="time")
    assert (values[~readable] == 0).all(), "unreadable cells are 0, never a plausible time"
    return [int(v) if ok else None for v, ok in zip(values, readable, strict=True)]


def micros(when: datetime) -> int:
    return (when - EPOCH) // MICROSECOND


CELLS = ["1600-01-01T00:00:00Z", "2500-06-01T12:00:00Z", "rubbish", "2024-02-29",
         "2024-02-30", "2024-01-01 10:00:00+0100", "2024-01-01T10:00:00.1234567+01:00",
         "0001-01-01", "9999-12-31T23:59:59.999999", "0000-01-01", None, "", "now", "NaT",
         "2024-01-01T00:00:00", "1700000000", "1700000000.25", "-5", "99999999999999999999"]


@given(st.lists(st.sampled_from(CELLS)), st.sampled_from([None, "s", "ms", "us", "ns"]),
       st.randoms(use_true_random=False))
def test_a_cell_is_read_the_same_whatever_stands_beside_it(cells, unit, random):
    column = pa.array(cells, pa.string())
    whole = read(column, unit)
    assert whole == [read(pa.array([c], pa.string()), unit)[0] for c in cells]
    if cells:
        cut = random.randrange(len(cells))
        assert read(column.slice(0, cut), unit) + read(column.slice(cut), unit) == whole
        order = random.sample(range(len(cells)), len(cells))
        assert read(column.take(pa.array(order)), unit) == [whole[i] for i in order]


offsets = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda m: timezone(timedelta(minutes=m)))


@given(st.datetimes(timezones=offsets | st.just(UTC)), st.sampled_from(["T", " ", "t"]),
       st.sampled_from(["auto", "seconds", "milliseconds", "microseconds"]))
def test_every_iso_text_of_datetime_is_read_as_datetime_reads_it(when, between, places):
    text = when.isoformat(between, places)
    expected = micros(datetime.fromisoformat(text))
    inside = FIRST_TIME <= expected <= LAST_TIME
    assert read(pa.array([text])) == [expected if inside else None]


@pytest.mark.parametrize(("text", "expected"), [
    ("2024-03-01", datetime(2024, 3, 1, tzinfo=UTC)),
    ("20240301", datetime(2024, 3, 1, tzinfo=UTC)),
    ("20240301T101112Z", datetime(2024, 3, 1, 10, 11, 12, tzinfo=UTC)),
    ("2024-03-01T10", datetime(2024, 3, 1, 10, tzinfo=UTC)),
    ("2024-03-01T10:11+01", datetime(2024, 3, 1, 9, 11, tzinfo=UTC)),
    ("2024-03-01 10:11:12,5 -0130", datetime(2024, 3, 1, 11, 41, 12, 500_000, tzinfo=UTC)),
    (" 2024-03-01T10:11:12z ", datetime(2024, 3, 1, 10, 11, 12, tzinfo=UTC)),
    ("2024-03-01T10:11:12.9999999999", datetime(2024, 3, 1, 10, 11, 12, 999_999, tzinfo=UTC)),
    ("1969-12-31T23:59:59.9999999", datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
    ("2000-02-29", datetime(2000, 2, 29, tzinfo=UTC)),
])
def test_accepted_text(text, expected):
    assert read(pa.array([text])) == [micros(expected)]


@pytest.mark.parametrize("text", [
    "2024", "2024-03", "202403", "2024-3-1", "2024/03/01", "2024-0301", "1900-02-29", "2023-02-29",
    "2024-13-01", "2024-00-01", "2024-01-00", "2024-01-01T", "2024-01-01T24:00",
    "2024-01-01T10:60", "2024-01-01T10:10:60", "2024-01-01T10:10:10.", "2024-01-01T1:2",
    "2024-01-01T10:10:10+24:00", "2024-01-01T10:10:10+01:60", "2024-01-01T10:10:10+1",
    "2024-01-01Z", "2024-01-01T10:10ZZ", "2024-01-01T10:10:10 x", "12024-01-01", "today", "1e9",
    "2024-01-01T10:1010", "2024-01-01T1010:10", "+2024-01-01", "２０２４-01-01", "",
])
def test_refused_text(text):
    assert read(pa.array([text])) == [None]


def test_numbers_as_text_need_a_unit_and_are_exact():
    column = pa.array(["1700000000", "1700000000.000001", "-1", "-1.5", "1.", ".5", "--1"])
    assert read(column) == [None] * 7
    assert read(column, "s") == [1_700_000_000_000_000, 1_700_000_000_000_001, -1_000_000,
                                 -1_500_000, None, None, None]
    assert read(pa.array(["1999", "-1", "-1000", "9223372036854775807"]), "ns") == [
        1, -1, -1, 9_223_372_036_854_775]
    assert read(pa.array(["9223372036854775807", "9223372036854775808", "253402300800"]),
                "s") == [None] * 3


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(),
                                  pa.dictionary(pa.int32(), pa.string())])
def test_all_kinds_of_text_also_as_a_slice(kind):
    column = pa.array(["xx", None, "2024-01-01", "rubbish", "2024-01-02"]).cast(kind).slice(1, 3)
    assert read(column) == [None, micros(datetime(2024, 1, 1, tzinfo=UTC)), None]


LIMITS = {"min": np.iinfo(np.int64).min, "max": np.iinfo(np.int64).max}


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize("tz", [None, "UTC"])
def test_timestamps_out_of_range_do_not_wrap(unit, tz):
    # 2**64 microseconds, which 64 bits cannot tell from 0, and others that they cannot hold
    factor = {"s": 10**6, "ms": 10**3, "us": 10}[unit]
    column = pa.array([2**64 // factor, 2**62, *LIMITS.values()]).cast(pa.timestamp(unit, tz))
    assert read(column) == [None] * len(column)


def test_nanoseconds_are_rounded_down_on_both_sides_of_1970():
    column = pa.array([1, 1999, -1, -1000, -1001, LIMITS["min"], LIMITS["max"]], pa.int64())
    expected = [0, 1, -1, -1, -2, LIMITS["min"] // 1000, LIMITS["max"] // 1000]
    assert read(column.cast(pa.timestamp("ns"))) == expected
    assert read(column, "ns") == expected


def test_the_last_microsecond_of_9999_is_the_last_time():
    column = pa.array([FIRST_TIME - 1, FIRST_TIME, LAST_TIME, LAST_TIME + 1])
    expected = [None, FIRST_TIME, LAST_TIME, None]
    assert read(column, "us") == expected
    assert read(column.cast(pa.timestamp("us"))) == expected
    seconds = pa.array([FIRST_TIME // 10**6 - 1, FIRST_TIME // 10**6, LAST_TIME // 10**6,
                        LAST_TIME // 10**6 + 1])
    assert read(seconds, "s") == [None, FIRST_TIME, LAST_TIME - 999_999, None]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_integers_out_of_range_do_not_wrap(unit):
    factor = {"s": 10**6, "ms": 10**3, "us": 10}[unit]
    assert read(pa.array([2**64 // factor, *LIMITS.values()]), unit) == [None] * 3
    big = pa.array([2**63, 2**64 - 1, 2**63 + 1_700_000_000_000_000, 1_000], pa.uint64())
    assert read(big, unit)[:3] == [None] * 3
    assert read(big, unit)[3] is not None


def test_unsigned_nanoseconds_beyond_int64_are_times():
    assert read(pa.array([2**63, 2**64 - 1], pa.uint64()), "ns") == [
        2**63 // 1000, (2**64 - 1) // 1000]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32()])
def test_narrow_integers(kind):
    assert read(pa.array([100, None], kind), "s") == [100_000_000, None]
    assert read(pa.array([100, None], kind), "ns") == [0, None]


def test_floats():
    numbers = [1.5, float("nan"), float("inf"), -float("inf"), 1e300, -1e300, 1e13, None]
    assert read(pa.array(numbers), "s") == [1_500_000, *[None] * 7]
    # the year 10000 itself, which the last time rounds to as a float
    assert read(pa.array([float(LAST_TIME), float(FIRST_TIME)]), "us") == [None, FIRST_TIME]


def test_dates():
    days = pa.array([0, 1, -719_162, 2_932_896, 2_932_897, 2**31 - 1], pa.int32()).cast(pa.date32())
    day = 86_400_000_000
    assert read(days) == [0, day, FIRST_TIME, LAST_TIME + 1 - day, None, None]
    wide = pa.array([0, 2**62, -2**62], pa.int64()).cast(pa.date64())
    assert read(wide) == [0, None, None]
    assert read(pa.array([date(2024, 1, 1), None])) == [
        micros(datetime(2024, 1, 1, tzinfo=UTC)), None]


def test_numbers_without_a_unit_and_other_types_are_refused():
    with pytest.raises(ConfigError, match="unit is not declared"):
        read(pa.array([1]))
    with pytest.raises(DataError, match="cannot be read as a time"):
        read(pa.array([True]))


def test_a_difference_that_does_not_fit_int64_makes_no_row_plausible():
    rows = pa.record_batch({
        "time": pa.array([LIMITS["max"], LIMITS["min"], FIRST_TIME, LAST_TIME, 0]),
        "arrival": pa.array([LIMITS["min"], LIMITS["max"], LAST_TIME, FIRST_TIME, 0])})
    found = usable_rows(rows, Roles("time", "arrival", unit="us"), max_future_skew=1,
                        max_delay=1)
    assert found.good.tolist() == [False, False, False, False, True]
    assert found.arrival.tolist() == [NEVER, NEVER, LAST_TIME, FIRST_TIME, 0]
    assert [r.split("(")[0] for r in found.reason[:2]] == ["'time' is not a time "] * 2
    assert found.reason[2].endswith("older than its arrival")
    assert found.reason[3].endswith("ahead of its arrival")
