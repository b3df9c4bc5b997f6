"""What the tests of keys share: a store that is watched, small batches, a restart."""

from __future__ import annotations

import json

import pyarrow as pa

from slackwater.core.kernel import MemoryStore
from slackwater.core.state import Keys


class Watched(MemoryStore):
    """A store that notes what is read and written."""

    def __init__(self, *args):
        super().__init__(*args)
        self.read, self.written = [], []

    def get(self, name):
        self.read.append(name)
        return super().get(name)

    def put(self, name, blob):
        self.written.append(name)
        super().put(name, blob)


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
