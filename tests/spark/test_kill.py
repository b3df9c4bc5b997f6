"""A driver killed in the middle of its work loses nothing and doubles nothing."""

from __future__ import annotations

from kill_driver import run


def test_one_kill():
    assert run(kills=1, files=4, rows=1000, seed=5) == 1
