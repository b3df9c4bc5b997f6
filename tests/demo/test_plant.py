"""The demo's truth, worked out a second time from the rows themselves, slowly and plainly."""

from __future__ import annotations

import pyarrow as pa
import pytest

from slackwater.demo.plant import LINES, WINDOW, make_plant
from slackwater.demo.score import missing_readings, score_all

US = 1_000_000


@pytest.fixture(scope="module")
def plant():
    return make_plant()


@pytest.fixture(scope="module")
def rows(plant):
    times = [n for n in plant.table.column_names if n in ("time", "received")]
    table = plant.table
    for name in times:
        table = table.set_column(table.column_names.index(name), name,
                                 table[name].cast(pa.int64()))
    return table.to_pylist()


def leaks_in(events) -> set[tuple[str, int]]:
    """Drops with a closing before them, within 8 s, and no opening in between."""
    found = set()
    for line in LINES:
        mine = [(r["time"], r["what"]) for r in events if r["line"] == line]
        for at, (fell, what) in enumerate(mine):
            if what != "DROP":
                continue
            for when, before in reversed(mine[:at]):
                if before == "OPEN" or fell - when > 8 * US:
                    break
                if before == "CLOSED":
                    found.add((line, fell))
                    break
    return found


def means_of(rows) -> list[tuple[int, dict]]:
    groups: dict = {}
    for row in rows:
        start = row["time"] // (WINDOW * US) * WINDOW * US
        groups.setdefault((row["line"], start), []).append(row)
    return [(start + WINDOW * US, {
        "line": line, "start": start, "readings": len(group),
        **{end: sum(v) / len(v) if (v := [r[end] for r in group if r[end] is not None]) else None
           for end in ("inlet", "outlet")}}) for (line, start), group in groups.items()]


def test_the_rows_come_as_they_arrive(rows):
    arrivals = [r["received"] for r in rows]
    assert arrivals == sorted(arrivals)
    assert any(r["received"] - r["time"] > 10 * US for r in rows), "nothing stalled"


def test_in_order_the_rows_tell_the_truth(plant, rows):
    events = sorted((r for r in rows if r["what"] in ("OPEN", "CLOSED", "DROP")),
                    key=lambda r: r["time"])
    assert leaks_in(events) == plant.leaks
    given = {"means": means_of(rows), "leaks": [(fell, {"line": line, "fell": fell})
                                                for line, fell in plant.leaks],
             "heard": [(hiss, {"line": line, "fell": fell, "hissed": hiss})
                       for line, fell, hiss in plant.pairs]}
    scores = score_all(plant, given)
    for score in (scores.windows, scores.leaks, scores.heard):
        assert score.found
        assert not score.missed
        assert not score.invented
    assert scores.readings == 0


def test_as_they_arrive_they_do_not(plant, rows):
    events = [r for r in rows if r["what"] in ("OPEN", "CLOSED", "DROP")]
    found = leaks_in(events)
    assert plant.leaks - found
    assert found - plant.leaks


def test_what_is_left_out_is_counted(plant, rows):
    kept = [r for r in rows if r["received"] - r["time"] < 5 * US]
    given = {"means": means_of(kept), "leaks": [], "heard": []}
    judged = [r for r in rows if (r["time"] // (WINDOW * US) + 1) * WINDOW * US
              <= plant.judged_until]
    lost = sum(r["received"] - r["time"] >= 5 * US for r in judged)
    assert lost > 0
    assert sum(missing_readings(plant, given).values()) == lost
    assert score_all(plant, given).leaks.missed
