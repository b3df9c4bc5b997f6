"""A store that notes what is read and written."""

from __future__ import annotations

from slackwater.core.kernel import MemoryStore


class Watched(MemoryStore):
    def __init__(self, *args):
        super().__init__(*args)
        self.read, self.written = [], []

    def get(self, name):
        self.read.append(name)
        return super().get(name)

    def put(self, name, blob):
        self.written.append(name)
        super().put(name, blob)
