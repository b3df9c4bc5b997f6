"""Files as they come, good and bad: every row is there afterwards, or the message says why not."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.core.errors import ConfigError, DataError, SlackwaterError, UnknownColumn
from slackwater.core.events import Roles
from slackwater.datasets import Feed, generate, read_dataset, write_table
from slackwater.datasets.dataset import in_arrival_order
from slackwater.evaluate import reorder_table
from slackwater.evaluate.run import usable_events
from slackwater.reorder import Reorder

S = 1_700_000_000


def write(tmp_path: Path, text: str, name: str = "events.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def rows_out(path: Path, **roles: str) -> tuple[int, int, int, list[str]]:
    """Ready, late, quarantined, and why, after a pass through the kernel."""
    dataset = read_dataset(path, **roles)  # type: ignore[arg-type]
    ready, late, bad = reorder_table(dataset.table, Reorder("sba", dataset.roles))
    assert ready.num_rows + late.num_rows + bad.num_rows == len(dataset)
    return ready.num_rows, late.num_rows, bad.num_rows, bad["_reason"].to_pylist()


@pytest.mark.parametrize("name", ["f.csv", "f.tsv", "f.jsonl", "f.parquet", "f.csv.gz"])
def test_what_is_written_is_read_back(tmp_path: Path, name: str) -> None:
    feed = generate(Feed(sources=3, duration="20s", duplicates=0.05, poison=0.1, skew="1s"))
    path = tmp_path / name
    if name.endswith(".gz"):
        write_table(feed.table, tmp_path / "plain.csv")
        path.write_bytes(gzip.compress((tmp_path / "plain.csv").read_bytes()))
    else:
        write_table(feed.table, path)
    back = read_dataset(path)
    assert back.name == "f"
    assert back.roles == feed.roles
    ours, theirs = usable_events(feed), usable_events(back)
    assert ours.quarantined == theirs.quarantined > 0
    assert ours.time.tolist() == theirs.time.tolist()
    assert ours.arrival.tolist() == theirs.arrival.tolist()
    assert back.table["value"].to_pylist() == feed.table["value"].to_pylist()
    assert back.table["source"].to_pylist() == feed.table["source"].to_pylist()


def test_rows_are_sorted_by_arrival_and_ties_keep_their_order(tmp_path: Path) -> None:
    path = write(tmp_path, f"time,arrival,n\n{S},{S + 9},a\n{S},{S + 5},b\n{S},{S + 9},c\n"
                           f"{S},{S + 5},d\n")
    assert read_dataset(path).table["n"].to_pylist() == ["b", "d", "a", "c"]


@given(st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=30))
def test_sorting_by_arrival_is_stable_whatever_is_missing(arrivals: list[int | None]) -> None:
    table = pa.table({"time": pa.array([0] * len(arrivals), pa.int64()),
                      "arrival": pa.array(arrivals, pa.int64()),
                      "n": pa.array(range(len(arrivals)), pa.int64())})
    rows = in_arrival_order(table, Roles("time", "arrival", unit="us")).to_pylist()
    # the oracle: a row without an arrival takes that of the row before it
    keys, last = [], -1
    for arrival in arrivals:
        last = last if arrival is None else arrival
        keys.append(last)
    expected = sorted(range(len(arrivals)), key=lambda n: keys[n])
    assert [row["n"] for row in rows] == expected


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 10**3), ("us", 10**6),
                                              ("ns", 10**9)])
def test_the_unit_is_told_from_the_whole_column(tmp_path: Path, unit: str, factor: int) -> None:
    path = write(tmp_path, f"time,arrival\n{S * factor},{(S + 1) * factor}\n0,{S * factor}\n"
                           f"{S * factor},{(S + 2) * factor}\n")
    dataset = read_dataset(path)
    assert dataset.roles.unit == unit
    assert dataset.delays().max() == S * 10**6  # the row from 1970


def test_wrong_unit_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, f"time,arrival\n{S}000,{S}100\n")
    with pytest.raises(DataError, match="declared in 's' but its values look like 'ms'"):
        read_dataset(path, unit="s")
    assert read_dataset(path, unit="ms").roles.unit == "ms"


def test_arrival_in_another_unit_than_time_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, f"time,arrival\n{S}000,{S}\n")
    with pytest.raises(DataError, match="'arrival' is declared in 'ms'"):
        read_dataset(path)


def test_unclear_unit_asks_for_one(tmp_path: Path) -> None:
    path = write(tmp_path, "time,arrival\n5,6\n7,8\n")
    with pytest.raises(DataError, match='say unit="ms"'):
        read_dataset(path)
    assert read_dataset(path, unit="ms").delays().tolist() == [1000, 1000]


def test_unknown_unit_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, f"time,arrival\n{S},{S}\n")
    with pytest.raises(ConfigError, match="s, ms, us or ns"):
        read_dataset(path, unit="minutes")


def test_unknown_column_suggests_one(tmp_path: Path) -> None:
    path = write(tmp_path, f"when,received\n{S},{S}\n")
    with pytest.raises(UnknownColumn, match="did you mean 'received'"):
        read_dataset(path, time="when", arrival="recieved")
    with pytest.raises(UnknownColumn, match="role 'time'"):
        read_dataset(path)
    with pytest.raises(UnknownColumn, match="role 'key'"):
        read_dataset(path, time="when", key=["room"])


def test_missing_times_are_quarantined(tmp_path: Path) -> None:
    path = write(tmp_path, f"time,arrival\n{S},{S}\n,{S + 1}\nNA,{S + 2}\n{S + 3},{S + 3}\n")
    ready, late, bad, why = rows_out(path)
    assert (ready, late, bad) == (2, 0, 2)
    assert why == ["no time in 'time'"] * 2


def test_unparseable_integer_times_are_quarantined_and_keep_their_text(tmp_path: Path) -> None:
    path = write(tmp_path, f"time,arrival\n{S},{S}\nnoon,{S + 1}\n{S + 3},{S + 3}\n")
    ready, late, bad, why = rows_out(path)
    assert (ready, late, bad) == (2, 0, 1)
    assert "is not a time" in why[0]
    assert read_dataset(path).table["time"].to_pylist()[1] == "noon"


def test_unparseable_iso_times_are_quarantined(tmp_path: Path) -> None:
    path = write(tmp_path, "time,arrival\n2024-01-01T00:00:00Z,2024-01-01T00:00:01Z\n"
                           "2024-13-01T00:00:00Z,2024-01-01T00:00:02Z\n"
                           "2024-01-01T00:00:02Z,soon\n")
    ready, late, bad, why = rows_out(path)
    assert (ready, late, bad) == (1, 0, 2)
    assert any("no readable arrival" in w for w in why)


def test_a_bad_cell_far_down_does_not_stop_the_reading(tmp_path: Path) -> None:
    """Arrow guesses types from the first megabyte; the odd cell comes after it."""
    lines = [f"{S + n},{S + n},{'x' * 40}" for n in range(40_000)]
    lines[-1] = f"oops,{S + 40_000},end"
    path = write(tmp_path, "time,arrival,note\n" + "\n".join(lines) + "\n")
    assert path.stat().st_size > 2 * 2**20
    ready, late, bad, _ = rows_out(path)
    assert (ready, late, bad) == (39_999, 0, 1)


def test_a_time_in_2099_is_quarantined_and_makes_nobody_late(tmp_path: Path) -> None:
    lines = [f"{S + n},{S + n}" for n in range(20)]
    lines.insert(5, f"4070908800,{S + 5}")
    path = write(tmp_path, "time,arrival\n" + "\n".join(lines) + "\n")
    ready, late, bad, why = rows_out(path)
    assert (ready, late, bad) == (20, 0, 1)
    assert why == ["more than 5m ahead of its arrival"]


def test_negative_delays_are_ordinary_events(tmp_path: Path) -> None:
    path = write(tmp_path, f"time,arrival\n{S + 2},{S}\n{S + 1},{S + 1}\n{S + 4},{S + 2}\n")
    assert rows_out(path)[:3] == (3, 0, 0)
    assert read_dataset(path).delays().tolist() == [-2_000_000, 0, -2_000_000]


def test_duplicate_rows_are_all_kept(tmp_path: Path) -> None:
    path = write(tmp_path, f"time,arrival\n{S},{S}\n{S},{S}\n{S},{S}\n")
    assert rows_out(path)[:3] == (3, 0, 0)


def test_no_arrival_column_means_the_order_of_the_rows(tmp_path: Path) -> None:
    path = write(tmp_path, f"time\n{S}\n{S + 9}\n{S + 3}\n")
    dataset = read_dataset(path)
    assert dataset.roles.arrival is None
    assert dataset.table["time"].to_pylist() == [S, S + 9, S + 3]
    events = usable_events(dataset)
    assert (events.arrival // 10**6 - S).tolist() == [0, 9, 9]


def test_a_header_alone_is_a_dataset_without_rows(tmp_path: Path) -> None:
    dataset = read_dataset(write(tmp_path, "time,arrival\n"))
    assert len(dataset) == 0
    assert rows_out(tmp_path / "events.csv")[:3] == (0, 0, 0)


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl", "e.parquet"])
def test_zero_bytes_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="the file is empty"):
        read_dataset(write(tmp_path, "", name))


@pytest.mark.parametrize(("name", "text", "message"), [
    ("blank.csv", "\n\n", "no header"),
    ("ragged.csv", "time,arrival\n1,2\n1,2,3\n", "line 3 has 3 cells"),
    ("short.csv", 'time,note\n1,"two\nlines"\n\n3\n', "line 5 has 1 cell"),
    ("latin.csv", "time,room\n1,K\xfcche\n".encode("latin-1"), "'room' is not UTF-8"),
    ("latin.jsonl", '{"time": 1, "room": "K\xfcche"}\n'.encode("latin-1"), "is not UTF-8"),
    ("fake.csv.gz", b"time\n1\n", "is not gz, or has been cut off"),
    ("fake.jsonl.zst", b'{"time": 1}\n', "is not zst, or has been cut off"),
    ("cut.csv.gz", gzip.compress(b"time\n" + b"1\n" * 5000)[:40], "is not gz, or has been cut"),
    ("double.csv", "time,time\n1,2\n", "more than once"),
    ("bad.jsonl", '{"time": 1}\nnot json\n', "line 2 is not JSON"),
    ("list.jsonl", "{\"time\": 1}\n[1]\n", "line 2 is not an object"),
    ("bad.parquet", "PAR1", "not a Parquet file"),
    ("events.xls", "x", "format that is not known"),
])
def test_unreadable_files_say_why(tmp_path: Path, name: str, text: str | bytes,
                                  message: str) -> None:
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SlackwaterError, match=message):
        read_dataset(file)


def test_a_missing_file_suggests_its_neighbour(tmp_path: Path) -> None:
    write(tmp_path, "time\n1\n", "sensor.csv")
    with pytest.raises(DataError, match=r"did you mean 'sensor\.csv'"):
        read_dataset(tmp_path / "senser.csv")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(DataError, match="no file in the folder"):
        read_dataset(tmp_path / "d.csv")


def test_a_folder_is_one_file(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    (folder / "day=1").mkdir(parents=True)
    write(folder, f"time,arrival,v\n{S},{S + 5},1\n", "b.csv")
    write(folder / "day=1", f'{{"time": {S + 1}, "arrival": {S + 1}, "w": 2}}\n', "a.jsonl")
    write(folder, "", "_SUCCESS")
    write(folder, "x", ".b.csv.crc")
    dataset = read_dataset(folder)
    assert dataset.name == "out"
    assert dataset.table.to_pylist() == [
        {"time": S + 1, "arrival": S + 1, "v": None, "w": 2},
        {"time": S, "arrival": S + 5, "v": 1, "w": None}]
    write(folder, f"time,arrival,v\n{S},{S},{{}}\n", "c.csv")
    with pytest.raises(DataError, match="columns of different kinds"):
        read_dataset(folder)


@pytest.mark.parametrize(("suffix", "codec"), [
    (".gz", "gzip"), (".zst", "zstd"), (".bz2", "bz2"), ("", None)])
@pytest.mark.parametrize("inner", [".csv", ".jsonl"])
def test_compressed_files_and_standard_input(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, codec: str | None,
        inner: str) -> None:
    table = pa.table({"time": [S, S + 1], "x": ["a", "b"]})
    path = tmp_path / f"rows{inner}{suffix}"
    write_table(table, path)
    assert (codec is None) == (path.read_bytes()[:1] in b"t{\"")
    assert read_dataset(path).name == "rows"
    assert read_dataset(path).table.equals(table)
    with path.open("rb") as stream:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
        dataset = read_dataset("-")
    assert (dataset.name, dataset.table.to_pylist()) == ("standard input", table.to_pylist())


def test_json_lines_with_mixed_kinds(tmp_path: Path) -> None:
    path = write(tmp_path, f'{{"time": {S}, "arrival": {S}}}\n\n'
                           f'{{"time": "noon", "arrival": {S + 1}, "extra": 1}}\n', "e.jsonl")
    ready, late, bad, why = rows_out(path)
    assert (ready, late, bad) == (1, 0, 1)
    assert "is not a time" in why[0]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_told_from_the_header(tmp_path: Path, separator: str) -> None:
    text = "\n".join([separator.join(["time", "arrival", '"a, b; c"']),
                      separator.join([f"{S}", f"{S}", "1"])])
    dataset = read_dataset(write(tmp_path, text + "\n"))
    assert dataset.table.column_names == ["time", "arrival", "a, b; c"]


def test_parquet_timestamps_without_zone_are_utc(tmp_path: Path) -> None:
    table = pa.table({"time": pa.array([S * 10**6], pa.timestamp("us")),
                      "arrival": pa.array([S * 10**3 + 5], pa.timestamp("ms", "UTC"))})
    pa.parquet.write_table(table, tmp_path / "e.parquet")
    assert read_dataset(tmp_path / "e.parquet").delays().tolist() == [5000]


def test_recordings_are_known_by_their_header(recordings: list[Path]) -> None:
    dataset = read_dataset(recordings[0])
    assert (dataset.name, len(dataset), dataset.roles.unit) == ("d-1", 9600, "ms")
    assert dataset.roles.source == "S.Device.ID"
    assert dataset.delays().mean() / 1000 == pytest.approx(123.8479, abs=1e-4)
    spent = dataset.processing_times()
    assert spent is not None
    assert spent.mean() / 1000 == pytest.approx(181.0709, abs=1e-4)


def test_a_recording_can_be_given_other_roles(recordings: list[Path]) -> None:
    dataset = read_dataset(recordings[0], time="C.Send.Time", key=["S.Device.ID"])
    assert (dataset.roles.time, dataset.roles.key) == ("C.Send.Time", ("S.Device.ID",))
