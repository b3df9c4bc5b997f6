"""A checkpoint's folder outlives a power cut: its name is synced, not only what is in it."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from slackwater.spark.run.checkpoint import Checkpoint


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc")
def test_the_folders_of_a_new_checkpoint_are_synced(spark, tmp_path, monkeypatch):
    synced, real = set(), os.fsync

    def fsync(handle):
        synced.add(Path(os.readlink(f"/proc/self/fd/{handle}")))
        real(handle)

    monkeypatch.setattr("os.fsync", fsync)
    folder = tmp_path / "a" / "b"
    Checkpoint(SimpleNamespace(checkpoint=str(folder)), spark)._write({"format": 1})
    assert {tmp_path, tmp_path / "a", folder} <= synced
    assert any(file.parent == folder for file in synced), "the file itself is synced too"
    assert (folder / "slackwater.json").exists()
