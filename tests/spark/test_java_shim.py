"""The `java` that Spark starts lies where nobody else can put one."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from slackwater.spark.session.java import _shimmed


def test_the_shim_lies_in_a_folder_of_the_user_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shim = _shimmed(Path("/opt/java"))
    java = shim / "bin" / "java"
    assert shim.is_relative_to(tmp_path / "cache")
    assert '"/opt/java/bin/java"' in java.read_text()
    for path in (shim, java.parent, java):
        assert not path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    assert stat.S_IMODE(shim.stat().st_mode) == 0o700
    assert _shimmed(Path("/opt/java")) == shim


def test_a_shim_that_others_can_write_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shim = _shimmed(Path("/opt/java"))
    java = shim / "bin" / "java"
    java.chmod(0o777)
    java.write_text("#!/bin/sh\necho mine\n")
    assert "mine" not in (_shimmed(Path("/opt/java")) / "bin" / "java").read_text()
    assert not java.stat().st_mode & stat.S_IWOTH
    shim.chmod(0o777)
    other = _shimmed(Path("/opt/java"))
    assert other != shim
    assert stat.S_IMODE(other.stat().st_mode) == 0o700


def test_a_link_or_a_missing_home_is_no_way_in(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "slackwater").symlink_to(elsewhere)
    for cache in (tmp_path / "cache", tmp_path / "file"):
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        shim = _shimmed(Path("/opt/java"))
        assert shim.parent == Path(tempfile.gettempdir())
        assert os.listdir(elsewhere) == []
        # a name that cannot be known before
        assert shim != _shimmed(Path("/opt/java"))
