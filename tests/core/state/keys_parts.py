"""What the tests of keys share: small batches, a restart."""

from __future__ import annotations

import json

import pyarrow as pa

from slackwater.core.kernel import MemoryStore
from slackwater.core.state import Keys


def one(column, name="k"):
    return pa.record_batch({name: column})


def slots_of(*columns):
    """The slots of the rows of batches with one key column each, in one table of keys."""
    keys = Keys("k", ["k"], MemoryStore())
    return [keys.slots(one(column))[0].tolist() for column in columns]


def resumed(keys, store, **options):
    meta = json.loads(json.dumps(keys.save()))
    again = Keys(keys.name, keys.columns, store, **options)
    again.load(meta)
    return again
