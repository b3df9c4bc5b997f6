"""Columns that may be null can be added while rows are held, over a restart or without one."""

from __future__ import annotations

import pyarrow as pa
import pytest

from slackwater import Reorder, Roles
from slackwater.checks import sample_events
from slackwater.core.errors import SnapshotError
from slackwater.core.kernel import MemoryStore
from slackwater.dedupe import Dedupe
from slackwater.synchronise import FrontierSync

ROLES = Roles("time", "arrival", "source", key=("key",))
KERNELS = {
    "reorder": Reorder("Static(buffer=200ms)", ROLES),
    "synchronise": FrontierSync(ROLES, max_delay="200ms"),
    "dedupe": Dedupe(Roles("time", "arrival", key=("key",)), within="20ms"),
}
EVENTS = sample_events(400)
CUT = 200


def with_site(rows: pa.RecordBatch, known: bool) -> pa.RecordBatch:
    """A column more, in the middle."""
    site = pa.array([f"site {n % 3}" if known else None for n in range(rows.num_rows)], pa.string())
    return rows.add_column(2, "site", site)


def rows_of(outs) -> dict[str, list[dict]]:
    return {kind: [row for out in outs for row in getattr(out, kind).to_pylist()]
            for kind in ("ready", "late", "quarantined")}


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_held_rows_have_null_in_it(kernel, restart):
    old, new = EVENTS.slice(0, CUT), with_site(EVENTS.slice(CUT), known=True)
    store = MemoryStore()
    logic = kernel.start(store)
    first = logic.push(old)
    if restart:
        logic = kernel.restore(logic.snapshot(), store)
    found = rows_of([logic.push(new), logic.finish()])
    if not isinstance(kernel, Dedupe):
        assert first.notes["held"] > 0, "rows are held when the column comes"

    logic = kernel.start()
    logic.push(with_site(old, known=False))
    expected = rows_of([logic.push(new), logic.finish()])
    assert found == expected
    assert any(row["site"] is not None for row in found["ready"])
    if not isinstance(kernel, Dedupe):
        assert any(row["site"] is None for row in found["ready"])


@pytest.mark.parametrize("change", ["gone", "other type", "not null"])
def test_other_changes_are_refused(change):
    logic = KERNELS["reorder"].start()
    logic.push(EVENTS.slice(0, CUT))
    rows = EVENTS.slice(CUT)
    if change == "gone":
        rows = rows.drop_columns(["value"])
    elif change == "other type":
        at = rows.schema.get_field_index("value")
        rows = rows.set_column(at, "value", rows["value"].cast(pa.string()))
    else:
        wide = with_site(rows, known=True)
        fields = [f.with_nullable(f.name != "site") for f in wide.schema]
        rows = pa.RecordBatch.from_arrays(wide.columns, schema=pa.schema(fields))
    with pytest.raises(SnapshotError, match="the columns have changed while rows are held"):
        logic.push(rows)
